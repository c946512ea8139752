"""Errors of expression while aiming to look at: histograms and normal curves, as Figures 10 to 13 of Ribeiro 2019."""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np

from ..compute import PosableError, atomic_write, require
from .express import BINS, ExpressRow

COLUMNS = ("error", "orientation error", "posture error × 0.2")
THRESHOLD = 0.04


def plot_errors(rows: Sequence[ExpressRow], path: str | os.PathLike[str], *, most: float = 0.16) -> None:
    """Draw histograms of the three errors over their normal curves, a colour a row.

    Args:
        rows: of one skeleton by several methods, or of several skeletons by one.
        path: of the picture; its suffix says the format.
        most: the largest error that is shown; what lies beyond is given in the legend of the first.
    """
    if not rows:
        raise PosableError("no rows to draw")
    figures = require("matplotlib.figure", "plots")
    sheet = figures.Figure(figsize=(13.0, 6.0), layout="constrained")
    axes = sheet.subplots(2, 3, sharex=True)
    middles, width = 0.5 * (BINS[1:] + BINS[:-1]), BINS[1] - BINS[0]
    one_skeleton = len({row.skeleton for row in rows}) == 1
    fine = np.linspace(0.0, most, 400)
    for row in rows:
        name = row.method if one_skeleton else f"{row.skeleton} {row.method}"
        for c in range(3):
            fraction = row.histogram[c] / max(1, row.samples)
            beyond = float(fraction[middles > most].sum())
            label = f"{name}: mean {row.mean[c]:.4f}" + (f", {100 * beyond:.1f} % beyond" if beyond > 5e-4 else "")
            axes[0, c].stairs(100 * fraction, BINS, label=label, linewidth=1.4)
            spread = max(row.deviation[c], width / 4)
            normal = np.exp(-0.5 * ((fine - row.mean[c]) / spread) ** 2) / (spread * np.sqrt(2 * np.pi))
            axes[1, c].plot(fine, normal / normal.max(), label=name, linewidth=1.4)
    for c, title in enumerate(COLUMNS):
        axes[0, c].set_title(title)
        axes[0, c].legend(frameon=False, fontsize=8)
        for axis in axes[:, c]:
            axis.set_xlim(0.0, most)
            axis.set_ylim(bottom=0.0)
            axis.axvline(THRESHOLD, color="0.6", linewidth=0.8, linestyle="--")
            axis.grid(alpha=0.25)
    axes[0, 0].set_ylabel("samples [%]")
    axes[1, 0].set_ylabel("normal curve, of its peak")
    sheet.suptitle(f"Skeleton {rows[0].skeleton}" if one_skeleton else f"Skeletons, {rows[0].method}")
    with atomic_write(path) as temporary:
        sheet.savefig(temporary, dpi=110)
