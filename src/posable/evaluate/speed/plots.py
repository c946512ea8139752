"""Plots of a run: the times of the solvers, and how times grow."""

from __future__ import annotations

import os
from typing import Any

from ...compute import atomic_write, require
from .record import TIMES, Row, Run

COLOURS = {"one": "#4c72b0", "core": "#55a868", "cores": "#c44e52", "gpu": "#a05195"}

__all__ = ["plot_growth", "plot_times"]


def plot_times(run: Run, path: str | os.PathLike[str], note: str = "") -> None:
    """Draw the times of every solver, one line each: one call, and an input of a batch on one core and on all.

    Args:
        run: what was measured.
        path: of the picture, .png.
        note: stored in the picture (PNG's text "Source"), to find out what it was drawn of.
    """
    rows = list(reversed(run.rows))
    sheet = _sheet(9.0, 0.9 + 0.26 * len(rows))
    axis = sheet.subplots()
    for key, title in TIMES.items():
        if (key == "cores" and not run.is_calm) or (key == "gpu" and not run.gpu):
            continue
        at = [(k, middle) for k, row in enumerate(rows) if (middle := row.middle(key)) is not None]
        axis.scatter([x for _, x in at], [k for k, _ in at], s=26, color=COLOURS[key], label=title, zorder=3)
    axis.set_xscale("log")
    axis.set_yticks(range(len(rows)), [_label(row) for row in rows], fontsize=8)
    axis.set_ylim(-0.7, len(rows) - 0.3)
    axis.grid(axis="x", which="major", linewidth=0.6)
    axis.grid(axis="y", linewidth=0.3)
    axis.set_xlabel("µs an input")
    sheet.legend(loc="outside upper right", ncols=len(TIMES), fontsize=8)
    _save(sheet, path, note)


def plot_growth(run: Run, path: str | os.PathLike[str], note: str = "") -> None:
    """Draw how times grow with rows, joints and obstacles; see `plot_times`."""
    plots = list(dict.fromkeys(one.plot for one in run.growth))
    sheet = _sheet(4.2 * max(1, len(plots)), 3.9)
    for axis, plot in zip(sheet.subplots(1, max(1, len(plots)), squeeze=False)[0], plots, strict=False):
        lines = [one for one in run.growth if one.plot == plot]
        for one in lines:
            axis.plot(one.x, one.y, marker="o", markersize=3, linewidth=1.2, label=one.name)
        axis.set_xscale("symlog" if min(lines[0].x) == 0 else "log", **({"linthresh": 1} if 0 in lines[0].x else {}))
        axis.set_yscale("log")
        axis.set_xlabel(lines[0].along)
        axis.set_ylabel(lines[0].unit)
        axis.grid(linewidth=0.4)
        axis.legend(fontsize=7)
    _save(sheet, path, note)


def _label(row: Row) -> str:
    return row.title if row.solver == "posable" else f"{row.title}: {row.solver}"


def _sheet(width: float, height: float) -> Any:
    return require("matplotlib.figure", "plots").Figure(figsize=(width, height), layout="constrained")


def _save(sheet: Any, path: str | os.PathLike[str], note: str) -> None:
    with atomic_write(path) as temporary:
        sheet.savefig(temporary, dpi=110, format="png", metadata={"Source": note, "Software": None})
