"""Plots of evaluations.

Reconstructed motions: errors over time, as Figures 14 to 18 of Unzueta et al. 2008, and frames of the original beside
those of each method, as Figures 19 to 21; `PLOTS` and `PICTURES` list the paper's own. Expression while aiming:
histograms of the errors over their normal curves, as Figures 10 to 13 of Ribeiro 2019.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..body import MARKERS, Humanoid
from ..compute import PosableError, UnknownNameError, atomic_write, require
from ..math import rotate
from ..render.picture import portrait, strip
from ..skeleton import Motion, Pose
from .angles import JointAngles
from .express import BINS, ExpressRow
from .reconstruct import PAPER, Weights, find_method, motion_of, weights_of

MEASURES = {"position_frames": "position error, of the height", "orientation_frames": "orientation error [rad]"}
FRAMES = 8  # in a row of a picture
APART = 0.6  # of the height, between two figures
COLUMNS = ("error", "orientation error", "posture error × 0.2")  # of the histograms
THRESHOLD = 0.04

TABLE_1 = tuple(PAPER["position"])
"""The methods of Table 1, in its order."""

PLOTS: dict[int, tuple[str, tuple[str, ...], tuple[int, int] | None]] = {
    14: ("17_10", ("jacobian_transpose",), None),
    15: ("17_10", ("ccd",), None),
    16: ("17_10", TABLE_1, (1500, 2500)),
    17: ("90_05", TABLE_1, (100, 500)),
    18: ("01_03", TABLE_1, (1500, 2500)),
}
"""The paper's figures of errors over time: clip, methods, frames."""

PICTURES: dict[int, tuple[str, int]] = {19: ("17_10", 2507), 20: ("90_05", 327), 21: ("01_03", 675)}
"""The paper's figures of bodies: clip and frame (counted from 1)."""


def plot_errors(
    clip: Mapping[str, Any],
    path: str | os.PathLike[str],
    *,
    methods: Sequence[str] | None = None,
    frames: tuple[int, int] | None = None,
) -> None:
    """Draw the errors of every frame over time, a line a method.

    Args:
        clip: what `evaluate_clip` said with `per_frame=True`.
        path: of the picture; its suffix says the format.
        methods: which of the clip's; all when not given.
        frames: from which frame up to which; all when not given.
    """
    shown = list(clip["methods"]) if methods is None else list(methods)
    for name in shown:
        if name not in clip["methods"]:
            raise UnknownNameError("method of this clip", name, clip["methods"])
    window = slice(0, clip["frames"]) if frames is None else slice(max(frames[0], 0), frames[1])
    figures = require("matplotlib.figure", "plots")
    sheet = figures.Figure(figsize=(9.0, 6.4), layout="constrained")
    axes = sheet.subplots(2, 1, sharex=True)
    times = (np.arange(clip["frames"]) / clip["fps"])[window]
    colours = require("matplotlib", "plots").colormaps["tab10" if len(shown) <= 10 else "tab20"].colors
    for axis, (measure, label) in zip(axes, MEASURES.items(), strict=True):
        for name, colour in zip(shown, colours, strict=False):
            facts = clip["methods"][name]
            if measure not in facts:
                raise PosableError(f"{clip['clip']}: has no errors of every frame; evaluate with per_frame=True")
            axis.plot(times, facts[measure][window], linewidth=1.0, color=colour, label=name)
        axis.set_ylabel(label)
        axis.set_ylim(bottom=0.0)
        axis.grid(alpha=0.3)
    axes[0].set_title(f"{clip['clip']}: {clip['frames']} frames from {_named(clip)}")
    sheet.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=5, frameon=False)
    axes[1].set_xlabel("seconds")
    _save(sheet, path)


def picture_frames(
    clip: str | os.PathLike[str] | Motion,
    methods: Sequence[str],
    path: str | os.PathLike[str],
    *,
    weights: Weights = "paper",
    frames: int = FRAMES,
    body: Humanoid | None = None,
    markers: Sequence[str] = MARKERS,
    orientations: Sequence[str] = (),
) -> None:
    """Draw frames of a clip, and below them the same frames as each method reconstructed them.

    Args:
        clip: a motion, or a file of one, as `evaluate_clip` has it.
        methods: names, as there.
        path: of the picture; its suffix says the format.
        weights: as there.
        frames: how many, spread evenly over the clip.
        body: as there.
        markers: as there.
        orientations: as there.
    """
    figures = require("matplotlib.figure", "plots")
    motion, name = motion_of(clip)
    body = Humanoid(motion.skeleton) if body is None else body
    chosen, moved = weights_of(name, weights), motion.skeleton.forward(motion.pose)
    points = moved.positions[:, [body.index(role) for role in markers]]
    known = {role: body.canonical_orientation(moved, body.index(role)) for role in orientations}
    options = {"fps": motion.fps} | ({"orientations": known} if known else {})
    rows = {name: motion}
    for method in methods:
        rows[method] = find_method(method, markers, orientations)(body, chosen).track(points, **options).motion
    moments = np.unique(np.linspace(0, len(motion) - 1, frames).round().astype(np.int64))
    apart = APART * body.joint_height  # the same in every row, so that figures stand below each other
    pictures = [strip(shown, frames=moments, height=240, spacing=apart) for shown in rows.values()]
    high, wide = sum(image.shape[0] for image in pictures), max(image.shape[1] for image in pictures)
    sheet = figures.Figure(figsize=(wide / 120.0, high / 120.0 + 0.25 * len(rows)), dpi=120, layout="constrained")
    for axis, label, image in zip(np.atleast_1d(sheet.subplots(len(rows), 1)), rows, pictures, strict=True):
        axis.imshow(image)
        axis.set_title(label, loc="left", fontsize=9)
        axis.axis("off")
    _save(sheet, path)


def picture_frame(
    clip: str | os.PathLike[str] | Motion,
    frame: int,
    path: str | os.PathLike[str],
    *,
    methods: Sequence[str] = TABLE_1,
    weights: Weights = "paper",
) -> None:
    """Draw the original and what each method made of one frame, side by side, seen from before the body.

    Args:
        clip: as `evaluate_clip` takes it.
        frame: which, counted from 0; methods that remember go through all frames before it.
        path: of the picture; its suffix says the format.
        methods: which.
        weights: as `evaluate_clip` takes them.
    """
    figures = require("matplotlib.figure", "plots")
    motion, name = motion_of(clip)
    if not 0 <= frame < len(motion):
        raise PosableError(f"frame is {frame}; the clip has frames 0 to {len(motion) - 1}")
    body = Humanoid(motion.skeleton)
    poses = {"original": motion[frame]}
    points = body.markers(motion.pose)[: frame + 1]
    for method in methods:
        solver = find_method(method)(body, weights_of(name, weights))
        poses[method] = solver.track(points, fps=motion.fps).motion[frame]
    columns = min(5, len(poses))
    rows = math.ceil(len(poses) / columns)
    sheet = figures.Figure(figsize=(2.4 * columns, 3.3 * rows), dpi=110, layout="constrained")
    axes = np.ravel(sheet.subplots(rows, columns))
    view = (_facing(body, motion[frame]) + 0.6, 0.12)
    for axis in axes:
        axis.axis("off")
    for axis, (label, pose) in zip(axes, poses.items(), strict=False):
        axis.imshow(portrait(body, pose, view=view, size=(330, 450), samples=2))
        axis.set_title(label, fontsize=10)
    sheet.suptitle(f"{name}, frame {frame + 1}", fontsize=11)
    _save(sheet, path)


def plot_histograms(rows: Sequence[ExpressRow], path: str | os.PathLike[str], *, most: float = 0.16) -> None:
    """Draw histograms of the three errors over their normal curves, a colour a row.

    Args:
        rows: of one skeleton by several methods, or of several skeletons by one.
        path: of the picture; its suffix says the format.
        most: the largest error that is shown; what lies beyond is given in the legend of the first.
    """
    if not rows:
        raise PosableError("no rows to draw")
    figures = require("matplotlib.figure", "plots")
    sheet = figures.Figure(figsize=(13.0, 6.0), dpi=110, layout="constrained")
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
    _save(sheet, path)


def plot_angles(angles: JointAngles, path: str | os.PathLike[str], *, title: str = "") -> None:
    """Draw joint angles over time, a line each [degrees].

    Args:
        angles: what `joint_angles` gave.
        path: of the picture; its suffix says the format.
        title: above the plot.
    """
    figures = require("matplotlib.figure", "plots")
    sheet = figures.Figure(figsize=(9.0, 4.2), layout="constrained")
    axis = sheet.subplots()
    colours = require("matplotlib", "plots").colormaps["tab10" if len(angles.names) <= 10 else "tab20"].colors
    for name, column, colour in zip(angles.names, angles.degrees.T, colours, strict=False):
        axis.plot(angles.times, column, linewidth=1.2, color=colour, label=name)
    axis.set_xlabel("seconds")
    axis.set_ylabel("degrees")
    axis.set_title(title)
    axis.grid(alpha=0.3)
    sheet.legend(*axis.get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False)
    _save(sheet, path)


def _named(clip: Mapping[str, Any]) -> str:
    """Return in words the points that a clip was reconstructed from."""
    if set(clip["markers"]) == set(MARKERS):
        return "six points" + (" and orientations" if clip["orientations"] else "")
    return f"{', '.join(clip['markers'])}" + (" with orientations" if clip["orientations"] else "")


def _facing(body: Humanoid, pose: Pose) -> float:
    """The azimuth that looks at the pelvis from before it [rad]."""
    pelvis = body.canonical_orientation(body.skeleton.forward(pose), body.roles["hips"])
    ahead = rotate(pelvis, [0.0, 0.0, 1.0])
    return math.atan2(float(ahead[0]), float(ahead[2]))


def _save(sheet: Any, path: str | os.PathLike[str]) -> None:
    with atomic_write(path) as temporary:
        try:
            sheet.savefig(temporary)
        except ValueError as error:  # a suffix that matplotlib does not know; it lists those it does
            raise PosableError(f"cannot write {os.fspath(path)!r}: {error}") from error
