"""The commands, put together."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from .. import __version__
from ..compute import PosableError
from . import edit, evaluate, express, files, reach, reconstruct
from . import range as limb_range
from .output import Command, at_terminal, forget_notes

app = typer.Typer(
    name="posable",
    help="Poses articulated figures: give it a target and it gives back a body.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command, example in (
    (files.info, "posable info boxing.bvh --repair cmu"),
    (files.view, "posable view boxing.bvh    or: posable view boxing.bvh --picture boxing.png"),
    (files.convert, "posable convert boxing.bvh boxing.glb --repair cmu --first-frame 1"),
    (reach.reach, "posable reach grasp.bvh --to -0.3,1.2,0.5 --to -0.1,0.6,0.4 --behaviour tired"),
    (reconstruct.reconstruct, "posable reconstruct tracked.csv dance.glb --body knight.glb --units cm"),
    (express.express, "posable express C targets.csv angles.csv --posture 0,0.6,-0.9,0.3,0"),
    (edit.edit, "posable edit pitch.bvh out.bvh --frame 60 --part left_hand --by 0,0.2,0.1"),
    (edit.retarget, "posable retarget boxing.bvh knight_boxes.glb --body knight.glb --repair cmu"),
    (evaluate.bench, "posable bench --json speed.json"),
    (files.studio, "posable studio    or: posable studio boxing.bvh knight.glb"),
):
    app.command(epilog=f"Example: {example}", cls=Command)(command)
app.add_typer(files.data, name="data")
app.add_typer(limb_range.app, name="range")
app.add_typer(evaluate.app, name="evaluate")


def _show_version(requested: bool) -> None:
    if requested:
        typer.echo(f"posable {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and stop.", is_eager=True, callback=_show_version)
    ] = False,
) -> None:
    """Options of the command itself."""


def run() -> None:
    """Run the command line and end with its exit code; a failure is one line on stderr, never a traceback."""
    forget_notes()
    try:
        app()
    except PosableError as error:
        _fail(str(error))
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    except BrokenPipeError:  # `posable info ... | head`: the reader has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(0) from None
    except OSError as error:
        _fail(f"{error.filename}: {error.strerror}" if error.filename else str(error))


def _fail(message: str) -> None:
    """End with a failure, on one line whatever the message has, and without advice that only Python can follow."""
    message = message.split("\nSay it: Humanoid")[0].split("; give Humanoid a pose")[0]
    print(f"posable: {at_terminal(' '.join(map(str.strip, message.splitlines())))}", file=sys.stderr)
    raise SystemExit(1)
