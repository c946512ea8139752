"""Rebuilt motions to look at: errors over time, as Figures 14 to 18 of Unzueta et al. 2008, and frames of the original
beside those of each method, as Figures 19 to 21.

The paper picked its frames by hand and does not say which; here they are spread evenly over the clip.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..body import Humanoid
from ..compute import PosableError, atomic_write, require
from ..skeleton import Motion
from .methods import find_method
from .picture import strip
from .reconstruct import Weights, _motion_of, _weights_of

MEASURES = {"position_frames": "position error, of the height", "orientation_frames": "orientation error [rad]"}
FRAMES = 8  # in a row of a picture
APART = 0.6  # of the height, between two figures


def plot_errors(clip: Mapping[str, Any], path: str | os.PathLike[str]) -> None:
    """Draw the errors of every frame over time, a line a method.

    Args:
        clip: what `evaluate_clip` said with `per_frame=True`.
        path: of the picture; its suffix says the format.
    """
    figures = require("matplotlib.figure", "plots")
    sheet = figures.Figure(figsize=(9.0, 6.4), layout="constrained")
    axes = sheet.subplots(2, 1, sharex=True)
    times = np.arange(clip["frames"]) / clip["fps"]
    for axis, (measure, label) in zip(axes, MEASURES.items(), strict=True):
        for name, facts in clip["methods"].items():
            if measure not in facts:
                raise PosableError(f"{clip['clip']}: has no errors of every frame; evaluate with per_frame=True")
            axis.plot(times, facts[measure], linewidth=1.0, label=name)
        axis.set_ylabel(label)
        axis.set_ylim(bottom=0.0)
        axis.grid(alpha=0.3)
    axes[0].set_title(f"{clip['clip']}: {clip['frames']} frames from six points")
    axes[0].legend(ncols=4, frameon=False)
    axes[1].set_xlabel("seconds")
    _save(sheet, path)


def picture_frames(
    clip: str | os.PathLike[str] | Motion,
    methods: Sequence[str],
    path: str | os.PathLike[str],
    *,
    weights: Weights = "paper",
    frames: int = FRAMES,
) -> None:
    """Draw frames of a clip, and below them the same frames as each method rebuilt them.

    Args:
        clip: a motion, or a file of one, as `evaluate_clip` has it.
        methods: names, as there.
        path: of the picture; its suffix says the format.
        weights: as there.
        frames: how many, spread evenly over the clip.
    """
    figures = require("matplotlib.figure", "plots")
    motion, name = _motion_of(clip)
    body = Humanoid(motion.skeleton)
    points, chosen = body.markers(motion.pose), _weights_of(name, weights)
    rows = {name: motion}
    for method in methods:
        rows[method] = find_method(method)(body, chosen).track(points, fps=motion.fps).motion
    moments = np.unique(np.linspace(0, len(motion) - 1, frames).round().astype(np.int64))
    apart = APART * body.height  # the same in every row, so that figures stand below each other
    pictures = [strip(shown, frames=moments, height=240, spacing=apart) for shown in rows.values()]
    high, wide = sum(image.shape[0] for image in pictures), max(image.shape[1] for image in pictures)
    sheet = figures.Figure(figsize=(wide / 120.0, high / 120.0 + 0.25 * len(rows)), dpi=120, layout="constrained")
    for axis, label, image in zip(np.atleast_1d(sheet.subplots(len(rows), 1)), rows, pictures, strict=True):
        axis.imshow(image)
        axis.set_title(label, loc="left", fontsize=9)
        axis.axis("off")
    _save(sheet, path)


def _save(sheet: Any, path: str | os.PathLike[str]) -> None:
    with atomic_write(path) as temporary:
        try:
            sheet.savefig(temporary)
        except ValueError as error:  # a suffix that matplotlib does not know; it lists those it does
            raise PosableError(f"cannot write {os.fspath(path)!r}: {error}") from error
