"""Tables of a run, for people."""

from __future__ import annotations

from collections.abc import Sequence

from .record import Change, Row, Run

__all__ = ["changed_rows", "floor_rows", "growth_rows", "solver_rows"]


def solver_rows(run: Run, cases: Sequence[str] = ()) -> list[dict[str, str]]:
    """Return a row for each solver, of these cases or of all."""
    return [_solver_row(run, row) for row in run.rows if not cases or row.case in cases]


def floor_rows(run: Run) -> list[dict[str, str]]:
    """Return what nothing on the machine can be faster than, and how near forward kinematics of a batch comes to it."""
    floors = [one for one in run.floors if run.is_calm or one[0].endswith("one core")]
    rows = [{"": name, "value": f"{value:.3g} {unit}", "reached": ""} for name, value, unit in floors]
    forward = next((row for row in run.rows if row.case == "forward" and not row.is_peer), None)
    for row, (name, value, unit) in zip(rows, floors, strict=True):
        if forward is not None and unit == "µs a pose":
            key = "core" if name.endswith("one core") else "cores"
            measured = forward.middle(key)
            row["reached"] = f"{measured:.3g} µs, {measured / value:.2g} times the floor" if measured else ""
    return rows


def growth_rows(run: Run) -> list[list[dict[str, str]]]:
    """Return a table for each plot: a row for each line, with its times along the plot."""
    tables = []
    for plot in dict.fromkeys(one.plot for one in run.growth):
        lines = [one for one in run.growth if one.plot == plot]
        head = f"{lines[0].unit}, by {lines[0].along.partition(',')[0]}"
        tables.append(
            [{head: one.name} | dict(zip(map(_count, one.x), map(_short, one.y), strict=True)) for one in lines]
        )
    return tables


def changed_rows(found: Sequence[Change]) -> list[dict[str, str]]:
    """Return a row for each time that is another one than before."""
    return [
        {
            "job": one.title,
            "solver": one.solver,
            "time": one.time,
            "before (µs)": _short(one.before),
            "now (µs)": _short(one.now),
            "": f"{one.ratio:.2f} times as long" if one.ratio > 1.0 else f"{1.0 / one.ratio:.2f} times as fast",
        }
        for one in found
    ]


def _solver_row(run: Run, row: Row) -> dict[str, str]:
    cores = f"batch, {run.threads} cores (µs)"
    return {
        "job": row.title,
        "solver": row.solver,
        "one call (µs)": _short(row.middle("one")),
        "batch of": f"{row.inputs:,} {row.unit}s" if row.core else "",
        "batch, one core (µs)": _short(row.middle("core")),
        **({cores: _short(row.middle("cores")), "times as fast": _ratio(row.scaling)} if run.is_calm else {}),
        **({"GPU (µs)": _short(row.middle("gpu"))} if run.gpu else {}),
        "done": "" if row.done is None else f"{100 * row.done:.1f} %",
        "says so": "" if row.claimed is None else f"{100 * row.claimed:.1f} %",
        "wrongly": "" if row.wrongly is None else f"{100 * row.wrongly:.1f} %",
        "what is done": "; ".join(filter(None, (row.demand, row.note))),
    }


def _count(value: float) -> str:
    return f"{value:,.0f}"


def _ratio(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _short(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.3g}" if value < 1000 else f"{value:,.0f}"
