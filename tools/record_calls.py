"""Write what batches are called with, `posable/compute/calls.json`.

    python -m tools.record_calls              # while the calls of tests/uses.py run

Every batch of the package has to be reached, and has one way in which it is called: `tests/compute/test_calls.py` says
which is not.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from posable.compute import Batch, atomic_write
from posable.compute.calls import FILE, described
from tests.uses import USES


def recorded() -> dict[str, set[str]]:
    """Return what each batch is called with while the package's functions run."""
    found: dict[str, set[str]] = {}
    run = Batch.__call__

    def recording(batch: Batch, n: int, *arguments: object) -> None:
        name = f"{batch.function.__module__}.{batch.function.__name__}"
        found.setdefault(name, set()).add(described(arguments))
        run(batch, n, *arguments)

    Batch.__call__ = recording  # type: ignore[method-assign]
    try:
        for use in USES:
            use()
    finally:
        Batch.__call__ = run  # type: ignore[method-assign]
    return {name: ways for name, ways in found.items() if name.startswith("posable.")}


def main() -> int:
    found = recorded()
    several = {name: ways for name, ways in found.items() if len(ways) > 1}
    for name, ways in several.items():
        print(f"{name} is called in {len(ways)} ways:", *sorted(ways), sep="\n    ", file=sys.stderr)
    with atomic_write(FILE) as path:
        table = {name: min(ways) for name, ways in sorted(found.items())}
        path.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")
    return 1 if several else 0


if __name__ == "__main__":
    sys.exit(main())
