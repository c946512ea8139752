"""The `posable` command: the same jobs as in Python, for people at a terminal and for scripts.

Exit codes are those of `ending`: 0 done, 1 the job failed (one line on stderr says why), 2 the command line was wrong;
with `--strict` 3 where a target was not met.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading

AGAIN = "POSABLE_UV_AGAIN"  # in the environment: uv runs this for the second time
LONGEST_END = 0.5  # [s] that the end of the program waits for threads of a studio that was closed


def main() -> None:
    """Run the command line; the entry point of the `posable` script."""
    from ..compute import MissingExtraError, require

    extra = ""
    try:
        for module, extra in _needed(sys.argv[1:]):
            require(module, extra)
    except MissingExtraError as error:
        _run_with(extra)
        print(f"posable: {error}; with uv, in a clone: uvx --from '.[{extra}]' posable", file=sys.stderr)
        raise SystemExit(1) from None
    try:
        from . import files
        from .app import run
    except KeyboardInterrupt:  # stopped before the first command was read
        raise SystemExit(130) from None
    try:
        run()
    finally:
        if files.studio_has_run:  # Python would wait at its end for a thread that reads a large file, say
            last = threading.Timer(LONGEST_END, os._exit, (0,))
            last.daemon = True
            last.start()


def _run_with(extra: str) -> None:
    """Run the same command with an extra, where uv runs this one: it made this environment a moment ago, for this.

    So `uvx --from . posable studio` works. Returns where uv does not, or where it has tried already.
    """
    uv = os.environ.get("UV", "")  # uv tells its children where it is
    if not uv or os.environ.get(AGAIN) or sys.platform == "win32":  # which has no exec
        return
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        found = json.loads(distribution("posable").read_text("direct_url.json") or "{}").get("url", "")
    except PackageNotFoundError:
        return
    source = f"posable[{extra}]" + (f" @ {found}" if found else "")
    with contextlib.suppress(OSError):
        os.execve(uv, [uv, "tool", "run", "--from", source, "posable", *sys.argv[1:]], {**os.environ, AGAIN: "1"})


def _needed(arguments: list[str]) -> list[tuple[str, str]]:
    """Return the packages that a command line needs before anything else, each with the extra that brings it.

    Somebody who asks for the studio is told once what to install, and not after typer of viser.
    """
    studio = any(argument in ("studio", "view") for argument in arguments[:1]) and "--picture" not in arguments
    extra = "studio" if studio else "cli"
    return [("typer", extra), ("rich", extra), *([("viser", extra)] if studio and "--help" not in arguments else [])]
