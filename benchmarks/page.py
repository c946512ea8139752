"""Writes docs/measurements.md and its pictures from what was recorded: `python -m benchmarks page`.

The page says nothing of its own below its heading `BEGIN`: all of it is made of `results/`, so that a figure on it is
one that was recorded. A test makes it again and compares (`tests/test_measurements.py`).
"""

from __future__ import annotations

import ast
import hashlib
from pathlib import Path

from posable.evaluate.speed import Run, read_run
from posable.evaluate.speed.machine import in_words
from posable.evaluate.speed.plots import plot_growth, plot_times
from posable.evaluate.speed.tables import floor_rows, growth_rows, solver_rows

from .harness import RESULTS, ROOT, Sheet

PAGE = ROOT / "docs" / "measurements.md"
SOLVERS = RESULTS / "solvers.json"
PICTURES = {"measurements-times.png": plot_times, "measurements-growth.png": plot_growth}
BEGIN = "<!-- Below: made by `python -m benchmarks page` of what was recorded. -->"
ORDER = ("calls", "forward", "limb_peers", "reach", "reconstruct", "trackers", "express", "edit", "edit_peers")
"""The order of the other tables; those not named here follow by name."""


def write() -> None:
    """Write the page and its pictures."""
    PAGE.write_text(page(), encoding="utf-8")
    run = read_run(SOLVERS)
    for name, plot in PICTURES.items():
        plot(run, PAGE.parent / "_static" / name, fingerprint())


def page() -> str:
    """The page: its own words, then what was recorded."""
    words = PAGE.read_text(encoding="utf-8").partition(BEGIN)[0]
    return "\n\n".join([words + BEGIN, _solvers(read_run(SOLVERS)), *map(_tables, _others())]) + "\n"


def fingerprint() -> str:
    """What the pictures were drawn of; they carry it."""
    return hashlib.sha256(SOLVERS.read_bytes()).hexdigest()


def _solvers(run: Run) -> str:
    if run.is_calm:
        calm = f"The machine was elsewhere in {run.busy:.1%} of the time."
    else:
        calm = (
            f"The machine did something else in {run.busy:.0%} of the time: processor times hold then; those of all "
            "cores are left out."
        )
    where = f"*{in_words(run.machine)}. {calm}*"
    parts = [
        "## Every solver",
        Sheet("", solver_rows(run)).table(),
        where,
        "![Times of the solvers, a line each](_static/measurements-times.png)",
        "## Floors",
        Sheet("", floor_rows(run)).table(),
        "## How times grow",
        "![Times along rows, joints and obstacles](_static/measurements-growth.png)",
        *(Sheet("", rows).table() for rows in growth_rows(run)),
        "All on one core, processor time.",
    ]
    return "\n\n".join(parts)


def _others() -> list[str]:
    names = sorted(path.stem for path in RESULTS.glob("*.md"))
    return sorted(names, key=lambda name: (ORDER.index(name) if name in ORDER else len(ORDER), name))


def _tables(name: str) -> str:
    """Recorded tables under the words that their module opens with."""
    source = Path(__file__).parent / f"bench_{name}.py" if name != "soak" else ROOT / "tools" / "soak.py"
    opening = ast.get_docstring(ast.parse(source.read_text(encoding="utf-8")))
    text = (RESULTS / f"{name}.md").read_text(encoding="utf-8").rstrip()
    return f"## {name.replace('_', ' ').capitalize()}\n\n{opening}\n\n{text}"
