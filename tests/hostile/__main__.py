"""Reads every hostile file of the list and prints what it took: `python -m tests.hostile [part of a name]`."""

import sys
import tempfile
from pathlib import Path

from . import all_cases
from .measure import Child


def main() -> int:
    """Print a line a case; the exit code says whether one broke the rule."""
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    broken = 0
    with Child() as child:
        for case in all_cases().values():
            if wanted not in case.name:
                continue
            with tempfile.TemporaryDirectory() as name:
                path = case.make(Path(name))
                outcome = child.read(case.reader, path)
            wrong = outcome.broken(1.0)
            broken += bool(wrong)
            print(
                f"{'BROKEN' if wrong else '      '} {outcome.seconds:6.2f} s {outcome.peak / 1e6:5.0f} MB "
                f"{outcome.size / 1e6:6.2f} MB of file  {case.name}: {wrong or outcome.ended} {outcome.message[:150]}",
                flush=True,
            )
    return bool(broken)


if __name__ == "__main__":
    raise SystemExit(main())
