"""Runs the benchmarks named on the command line, or all of them, one after the other, and writes the page of the docs.

`page` writes the page alone, of what was recorded before.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

from .harness import save


def main(wanted: list[str]) -> int:
    from . import page  # what a benchmark needs is imported when it runs

    known = sorted(path.stem.removeprefix("bench_") for path in Path(__file__).parent.glob("bench_*.py"))
    if unknown := [name for name in wanted if name not in [*known, "page"]]:
        print(f"unknown benchmark {', '.join(unknown)}; known: {', '.join(known)}", file=sys.stderr)
        return 2
    for name in [name for name in wanted or known if name != "page"]:
        print(f"\n# {name}\n", flush=True)
        tables = importlib.import_module(f"benchmarks.bench_{name}").run()
        if tables:
            save(name, tables)
        print("\n\n".join(one.markdown() for one in tables), flush=True)
    page.write()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
