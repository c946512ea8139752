"""Times contenders side by side and tells how they compare.

A number of microseconds says as much about the machine and its neighbours as about the code, so contenders are run
interleaved, round after round in a rotating order, and compared by the median of their times: what slows one slows all.

A benchmark is a module `bench_NAME.py` with a function `run() -> list[Table]`:

    from benchmarks.harness import Contender, compare

    def run():
        return [compare("Reading a clip", [Contender("posable", read_ours), Contender("other", read_theirs)])]
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from posable.evaluate.speed.machine import in_words, machine

RESULTS = Path(__file__).parent / "results"
ROOT = Path(__file__).parents[1]


@dataclass
class Contender:
    """Something that does the job once when called; `units` is how many of the unit that is (poses, files)."""

    name: str
    run: Callable[[], object]
    units: float = 1.0
    note: str = ""


@dataclass
class Row:
    """One contender's result. `value` is in the table's unit; low and high are the quartiles of its rounds."""

    name: str
    value: float
    low: float
    high: float
    ratio: float
    note: str = ""


@dataclass
class Table:
    """The results of one comparison."""

    title: str
    unit: str
    baseline: str
    rows: list[Row] = field(default_factory=list)
    note: str = ""

    def markdown(self) -> str:
        """The table as people read it, values with three digits."""
        lines = [f"**{self.title}**", "", f"| | {self.unit} | quartiles | ratio | |", "|---|---|---|---|---|"]
        for row in self.rows:
            spread = f"{_short(row.low)} to {_short(row.high)}" if row.low != row.high else ""
            lines.append(f"| {row.name} | {_short(row.value)} | {spread} | {_short(row.ratio)} | {row.note} |")
        if self.note:
            lines += ["", self.note]
        return "\n".join(lines)


@dataclass
class Sheet:
    """Several measures of several contenders: a row each, with a column for each measure."""

    title: str
    rows: list[dict[str, str]] = field(default_factory=list)
    note: str = ""

    def markdown(self) -> str:
        """The table as people read it."""
        return "\n\n".join(filter(None, [f"**{self.title}**", self.table(), self.note]))

    def table(self) -> str:
        """The rows alone."""
        heads = list(dict.fromkeys(head for row in self.rows for head in row))
        lines = [f"| {' | '.join(heads)} |", "|" + "---|" * len(heads)]
        return "\n".join([*lines, *(f"| {' | '.join(row.get(head, '') for head in heads)} |" for row in self.rows)])


def compare(
    title: str,
    contenders: Sequence[Contender],
    *,
    unit: str = "µs",
    baseline: str | None = None,
    seconds: float = 3.0,
    rounds: int = 25,
    note: str = "",
) -> Table:
    """Run the contenders interleaved for about `seconds` each; ratios are to `baseline` (default: the first one).

    Each is called once unmeasured (it may compile or load), then in every round as often as takes about a millisecond
    or its share of the time, so that the clock's grain does not show. Times are per unit of work.
    """
    scale = {"s": 1.0, "ms": 1e3, "µs": 1e6, "ns": 1e9}[unit]
    calls = []
    for contender in contenders:
        contender.run()
        once = _timed(contender.run, 1)
        calls.append(max(1, round(min(1e-2, seconds / rounds) / max(once, 1e-9))))
        rounds = min(rounds, max(5, int(seconds / max(once, 1e-9))))
    times: list[list[float]] = [[] for _ in contenders]
    for turn in range(rounds):
        for k in range(len(contenders)):
            at = (k + turn) % len(contenders)
            taken = _timed(contenders[at].run, calls[at])
            times[at].append(scale * taken / calls[at] / contenders[at].units)
    return table(title, unit, {c.name: (t, c.note) for c, t in zip(contenders, times)}, baseline=baseline, note=note)


def table(
    title: str,
    unit: str,
    samples: dict[str, tuple[Sequence[float], str]],
    *,
    baseline: str | None = None,
    note: str = "",
) -> Table:
    """A table from samples of each contender (name to values and a note), for measures other than a call's time."""
    baseline = baseline or next(iter(samples))
    reference = statistics.median(samples[baseline][0])
    rows = []
    for name, (values, remark) in samples.items():
        quartiles = statistics.quantiles(values, n=4) if len(values) > 1 else [values[0]] * 3
        middle = statistics.median(values)
        rows.append(Row(name, middle, quartiles[0], quartiles[2], middle / reference, remark))
    return Table(title, unit, baseline, rows, note)


def save(name: str, tables: Sequence[Table | Sheet]) -> None:
    """Write `results/NAME.json` (all facts, with the machine's) and `results/NAME.md` (the tables, for the docs)."""
    RESULTS.mkdir(exist_ok=True)
    facts = {"machine": machine(), "tables": [asdict(one) for one in tables]}
    (RESULTS / f"{name}.json").write_text(json.dumps(facts, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    text = "\n\n".join([*(one.markdown() for one in tables), f"*{in_words(facts['machine'])}.*"])
    (RESULTS / f"{name}.md").write_text(text + "\n", encoding="utf-8")


def fresh_python(code: str, **environment: str) -> tuple[float, str]:
    """Seconds that a new interpreter takes to run `code`, start included, and what it printed."""
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return time.perf_counter() - start, done.stdout


def data_dir() -> Path | None:
    """Real motion and robots: `$POSABLE_DATA`, else `../shared/data` beside the repository, else None."""
    named = os.environ.get("POSABLE_DATA")
    folder = Path(named) if named else ROOT.parent / "shared" / "data"
    return folder if folder.is_dir() else None


def _timed(run: Callable[[], object], times: int) -> float:
    start = time.perf_counter()
    for _ in range(times):
        run()
    return time.perf_counter() - start


def _short(value: float) -> str:
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"
