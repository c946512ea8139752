"""`posable bench`: how fast every solver is on this machine, what its answers do, and what became slower."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..compute.files import check_writable
from .ending import Ending, Summary, usage
from .output import check_picture_path, counted, note, progress

if TYPE_CHECKING:
    from ..evaluate.speed import Change, Run


def bench(
    ending: Ending,
    cases: Annotated[
        list[str] | None, typer.Argument(metavar="CASE", help="As limb, reach, six, classic; all when not given.")
    ] = None,
    seconds: Annotated[
        float, typer.Option(metavar="SECONDS", min=0.01, help="About how long each time is taken, at most.")
    ] = 1.0,
    passes: Annotated[int, typer.Option(min=1, max=100, help="New processes, each of which measures it all.")] = 3,
    growth: Annotated[
        bool, typer.Option("--growth", help="Measure too how times grow with rows, joints and obstacles; the floors.")
    ] = False,
    against: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Name what is slower or faster than in this record.")
    ] = None,
    record: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Compare with the record in FILE, and put this run in its place."),
    ] = None,
    plot: Annotated[Path | None, typer.Option(metavar="FILE", help="Draw the times, .png.")] = None,
) -> None:
    """Measure every solver with one input and in batches, beside other libraries that are installed.

    What the answers do is recomputed from the answers. One call and one core are processor time, all cores wall-clock
    time, medians over rounds and passes. Slower is what every pass of now and of two further runs takes a tenth longer
    than every pass before; with --strict that ends with exit code 3, and the record stays as it is.
    """
    from ..evaluate.speed import bench as measure
    from ..evaluate.speed import confirmed, read_run, write_run
    from ..evaluate.speed.gpu import why_not
    from ..evaluate.speed.plots import plot_times
    from ..evaluate.speed.tables import changed_rows, floor_rows, solver_rows

    if plot is not None:
        check_picture_path(plot)
    if record is not None:
        check_writable(record)
    other = against or (record if record is not None and record.exists() else None)
    before = None if other is None else read_run(other)
    with progress("measuring") as fraction, usage():
        run = measure(cases or (), seconds=seconds, passes=passes, with_growth=growth, progress=fraction)
    found: list[Change] = []
    if before is not None:
        run, found = confirmed(run, before, seconds=seconds, passes=passes)
    slower = [one for one in found if one.ratio > 1.0]
    if record is not None and not (ending.strict and slower):
        write_run(run, record)
    if plot is not None:
        plot_times(run, plot)
    if why := why_not():
        note(why)
    if not run.is_calm:
        note(f"the machine did something else in {run.busy:.0%} of the time: times of all cores mean little")
    tables = {"": solver_rows(run), "floors": floor_rows(run), "since the record": changed_rows(found)}
    facts = {"slower": len(slower), "busy": run.busy, "threads": run.threads, "machine": run.machine}
    listed = {"rows": [_facts(row) for row in run.rows], "changes": [_facts(one) for one in found]}
    ending.conclude(Summary(_sentence(run, before, slower), not slower), facts, printed=tables, listed_as_json=listed)


def _sentence(run: Run, before: Run | None, slower: list[Change]) -> str:
    text = f"{counted(len(run.rows), 'solver')} measured"
    if before is None:
        return text
    if not run.is_same_machine(before):
        return f"{text}; the record is of another machine or Python, so nothing is compared"
    if not slower:
        return f"{text}; nothing is slower than in the record"
    return f"{text}; slower: {', '.join(f'{one.title} ({one.solver}, {one.time}, {one.ratio:.2f})' for one in slower)}"


def _facts(struct: object) -> dict[str, object]:
    return {name: getattr(struct, name) for name in type(struct).__struct_fields__}  # type: ignore[attr-defined]
