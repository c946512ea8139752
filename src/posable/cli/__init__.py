"""The `posable` command: the same jobs as in Python, for people at a terminal and for scripts.

Exit codes: 0 done, 1 the job failed (one line on stderr says why), 2 the command line was wrong.
"""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line; the entry point of the `posable` script."""
    from ..compute import MissingExtraError, require

    try:
        require("typer", "cli")
        require("rich", "cli")
    except MissingExtraError as error:
        print(f"posable: {error}", file=sys.stderr)
        raise SystemExit(1) from None
    from .app import run

    run()
