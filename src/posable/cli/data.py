"""`posable data`: real motion to work with, by name."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .output import JsonOption, busy, print_line, show_table, write_json

app = typer.Typer(help="Real motion to work with: the CMU clips by name.", no_args_is_help=True)


@app.command("list", epilog="Example: posable data list")
def list_data(json: JsonOption = None) -> None:
    """List the clips that can be fetched."""
    from ..formats.datasets import list_clips

    rows = list_clips()
    if not write_json(json, rows):
        show_table("CMU clips", rows)


@app.command("fetch", epilog="Example: posable data fetch 17_10 90_05 --to clips")
def fetch_data(
    names: Annotated[list[str], typer.Argument(metavar="CLIP", help="Names as `posable data list` shows them.")],
    to: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Where to put them; the cache when not given.")
    ] = None,
    json: JsonOption = None,
) -> None:
    """Fetch clips, from the mirror in $POSABLE_DATA or from their public repository, and check their hashes."""
    from ..formats.datasets import fetch

    with busy("fetching"):
        paths = fetch(names, to)
    if not write_json(json, {"paths": [str(path) for path in paths]}):
        for path in paths:
            print_line(str(path))
