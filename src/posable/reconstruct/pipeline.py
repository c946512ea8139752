"""From files to bodies: `load_points` and `reconstruct`, the whole way from tracked points to a motion.

Points come from a CSV file, from a motion whose own joints serve as markers, or from `Points` that a program made. They
are calibrated (trackers are not joints), the body is chosen (a character, the built-in figure, the motion's own), the
points are scaled to it, and `SequentialIK` tracks them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..body import MARKERS, Humanoid, figure
from ..compute import FormatError, PosableError, UnknownNameError
from ..compute.types import Floats
from ..formats import load
from ..formats.doubts import DWARF, GIANT, likely_unit
from ..formats.points_csv import UNITS, Points, read_points
from ..skeleton import Motion, Skeleton
from .sik import TRACKABLE, SequentialIK

if TYPE_CHECKING:
    from ..collision import Scene
    from .calibration import Calibration
    from .solutions import ReconstructMotionSolution

__all__ = ["Points", "load_points", "reconstruct"]

CSV = ".csv"
STATURE = 1.75  # [m] of the figure whose proportions fill in what the points do not show
TALL = 95.0  # percentile of the distances between points that counts as the body's own length
TALLEST = 10.0  # [m] of a figure
LOWER = ("hips", "left_foot", "right_foot", "left_lower_leg", "right_lower_leg")


def load_points(
    path: str | os.PathLike[str],
    *,
    fps: float | None = None,
    units: str = "m",
    up: str = "y",
    first_frame: int = 0,
    markers: Sequence[str] = MARKERS,
    orientations: Sequence[str] = (),
    scale: float | None = None,
    repair: str | None = None,
) -> Points:
    """Read tracked points from a CSV file, or take them from a motion of a person.

    Args:
        path: a CSV file with a line of names (hips_x, hips_y, hips_z, head_x, ..., and time [s]) and a line a frame,
            where an empty cell is a lost point; or any motion that `load` reads.
        fps: frames a second; by default the file's own rate, which a CSV file without times does not have.
        units: of a CSV file: m (default), cm, mm, in or ft.
        up: the axis that is up in a CSV file: y (default) or z.
        first_frame: number of frames to drop from the beginning, default 0.
        markers: the parts of a motion that become points, by default the six `MARKERS`; a CSV file names its own.
        orientations: the parts of a motion whose orientations are taken too, by default none; a CSV file names its own.
        scale: length of one unit of a motion file [m], as for `load`; default None.
        repair: "cmu" mends clips of the CMU conversion, as for `load`; default None.
    """
    options: dict[str, Any] = {"fps": fps, "first_frame": first_frame, "scale": scale, "repair": repair}
    return source_points(path, markers, orientations, units=units, up=up, **options)[0]


def reconstruct(
    source: str | os.PathLike[str] | Points | Motion,
    *,
    body: Humanoid | None = None,
    height: float | None = None,
    fit: bool = True,
    weights: Sequence[float] = (1.0, 1.0, 0.0),
    calibration: Calibration | str | os.PathLike[str] | None = None,
    scene: Scene | None = None,
    smoothing: float | None = None,
    lock_feet: bool = False,
) -> ReconstructMotionSolution:
    """Reconstruct the motion of a whole body from tracked points.

    Args:
        source: `Points` (`load_points` reads them), a `Motion` whose own six points are taken, or a file of either.
        body: the body that is reconstructed; by default the motion's own, or the built-in figure.
        height: stature of the built-in figure [m]; by default as tall as the points are.
        fit: whether points are scaled to the size of `body` or `height`; default True.
        weights: (3,) of wrists, ankles and the frame before in the pelvis' heading; default (1, 1, 0).
        calibration: how trackers sit on the person, or its file; default none.
        scene: obstacles that arms and legs keep out of; default none.
        smoothing: time constant [s] below which motion is smoothed, without lag; default none.
        lock_feet: whether feet that stand are locked where they came to stand; default False.
    """
    if body is not None and height is not None:
        raise PosableError("give body or height, not both")
    if isinstance(source, Points):
        points, own = source, None
    elif isinstance(source, Motion):
        points, own = motion_points(source, MARKERS, ())
    else:
        points, own = source_points(source, MARKERS, ())
    made = calibration_of(calibration)
    if made is not None:
        points = calibrated(points, made)
    chosen, scales = body_for(points, own, body, height, fit, made)
    points = fitted(points, *scales)
    return SequentialIK(chosen, weights, markers=points.names, scene=scene).track(
        points.positions,
        fps=points.fps,
        orientations=points.orientations or None,
        smoothing=smoothing,
        lock_feet=lock_feet,
    )


def source_points(
    path: str | os.PathLike[str],
    markers: Sequence[str],
    orientations: Sequence[str],
    *,
    fps: float | None = None,
    units: str = "m",
    up: str = "y",
    first_frame: int = 0,
    roles: Mapping[str, str] | None = None,
    **loading: Any,
) -> tuple[Points, Humanoid | None]:
    """Return (the points of a file, the body that they are of where the file has one); options as of `load_points`.

    `roles`: joints of a motion that are parts which their names do not tell.
    """
    file = Path(path)
    if file.suffix.lower() == CSV:
        points = read_points(file, TRACKABLE, MARKERS, fps=fps, units=units, up=up, first_frame=first_frame)
        return replace(points, notes=(*points.notes, *_doubts(points))), None
    if up != "y":
        loading["up"] = up
    motion = load(file, fps=fps, first_frame=first_frame, **loading)
    if not len(motion):
        raise PosableError(f"{file}: has no frames")
    try:
        return motion_points(motion, tuple(markers), orientations, roles)
    except UnknownNameError:
        raise
    except PosableError as error:
        raise FormatError(file, str(error)) from None


def motion_points(
    motion: Motion, markers: Sequence[str], orientations: Sequence[str], roles: Mapping[str, str] | None = None
) -> tuple[Points, Humanoid]:
    """Return (the markers of a motion, its body)."""
    body = Humanoid(motion.skeleton, roles_on(motion.skeleton, roles))
    frames = motion.skeleton.forward(motion.pose)
    positions = frames.positions[:, [body.index(role) for role in markers]]
    rotations = {role: body.canonical_orientation(frames, body.index(role)) for role in orientations}
    return Points(tuple(markers), positions, motion.fps, rotations, tuple(motion.notes)), body


def body_for(
    points: Points,
    own: Humanoid | None,
    character: Humanoid | None,
    height: float | None,
    fit: bool,
    calibration: Calibration | None = None,
) -> tuple[Humanoid, tuple[float, float]]:
    """Return (the body, the factors by which points above the hips and those of the legs are scaled to fit it)."""
    if character is not None:
        body = character
    elif height is not None:
        body = figure(height)
    elif own is not None:
        return own, (1.0, 1.0)
    elif calibration is not None:
        return calibration.scaled(figure(STATURE)), (1.0, 1.0)
    else:
        tall = _stature(points)
        if tall > TALLEST:
            raise PosableError(_size_note(points, tall))
        return figure(tall), (1.0, 1.0)
    if not fit:
        return body, (1.0, 1.0)
    theirs, ours = _sizes(points) if own is None else _own_sizes(own), _own_sizes(body)
    return body, (ours[0] / theirs[0], ours[1] / theirs[1])


def roles_on(skeleton: Skeleton, roles: Mapping[str, str] | None) -> dict[str, str] | None:
    """Return those of the roles whose joints a skeleton has; None for none, as `Humanoid` takes them."""
    return {role: joint for role, joint in (roles or {}).items() if joint in skeleton.names} or None


def character_of(path: str | os.PathLike[str] | None, roles: Mapping[str, str] | None = None) -> Humanoid | None:
    """Return the body of a character's file, read once for all the files of a process."""
    if path is None:
        return None
    file = Path(path)
    changed = file.stat().st_mtime_ns if file.exists() else 0
    return _character(str(file), file.absolute(), changed, tuple(sorted((roles or {}).items())))


@lru_cache(maxsize=1)
def _character(path: str, absolute: Path, changed: int, roles: tuple[tuple[str, str], ...]) -> Humanoid:
    """Read a character; under the same name in another folder, or changed, it is another."""
    skeleton = load(path).skeleton
    return Humanoid(skeleton, roles_on(skeleton, dict(roles)))


def calibration_of(given: Calibration | str | os.PathLike[str] | None) -> Calibration | None:
    """Return a calibration, loaded where a file is given."""
    from .calibration import Calibration

    return given if given is None or isinstance(given, Calibration) else Calibration.load(given)


def calibrated(points: Points, calibration: Calibration) -> Points:
    """Return points of joints from those of trackers; what the calibration does not know stays."""
    lacking = [role for role in calibration.markers if role not in points.names]
    if lacking:
        raise PosableError(f"there is no {', '.join(lacking)}, which the calibration is for")
    known = {role: q for role, q in points.orientations.items() if role in calibration.markers}
    moved, rotated = calibration.apply(points.of(calibration.markers), known)
    positions = points.positions.copy()
    positions[:, [points.names.index(role) for role in calibration.markers]] = moved
    return replace(points, positions=positions, orientations=points.orientations | rotated)


def fitted(points: Points, upper: float, legs: float) -> Points:
    """Return points of one body as another has them: scaled by `legs`, above the hips by `upper`.

    So feet on the floor stay there. Without hips everything is scaled by `legs`.
    """
    if (upper, legs) == (1.0, 1.0):
        return points
    scaled = legs * points.positions
    if "hips" in points.names:
        above = [k for k, name in enumerate(points.names) if name not in LOWER]
        hips = points.of(["hips"])
        scaled[:, above] = legs * hips + upper * (points.positions[:, above] - hips)
    return replace(points, positions=scaled)


def _stature(points: Points) -> float:
    """Return the height [m] of the tracked person, from sole to crown, if the proportions are usual."""
    return STATURE * sum(_sizes(points)) / sum(_own_sizes(figure(STATURE)))


def _doubts(points: Points) -> list[str]:
    """Return notes on points whose unit or whose upper axis is hardly right."""
    notes = []
    try:
        tall = _stature(points)
    except PosableError:  # they do not show how large the person is
        return []
    if not DWARF <= tall <= GIANT:
        notes.append(_size_note(points, tall))
    if {"hips", "head"} <= set(points.names):
        hips, head = np.moveaxis(points.of(["hips", "head"]), 1, 0)
        spine = (head - hips)[np.isfinite(head - hips).all(axis=-1)]
        _, up, ahead = np.median(spine / np.linalg.norm(spine, axis=-1, keepdims=True), axis=0)
        if abs(up) < 0.3 and ahead > 0.8:
            notes.append(
                "the head is in front of the hips, not above, in most frames: the file's z axis may be up; up='z'"
            )
    return notes


def _size_note(points: Points, tall: float) -> str:
    unit = UNITS[points.units]
    name, factor = likely_unit(tall / unit)
    short = next((short for short, metres in UNITS.items() if name and metres == factor), None)
    advice = f"units={short!r}" if short else f"positions times {factor / unit:g}"
    size = f"the points show a person {tall:.3g} m tall, a {'giant' if tall > GIANT else 'dwarf'}"
    return f"{size}: one unit was taken for {unit:g} m; {advice} would make it {tall * factor / unit:.3g} m"


def _own_sizes(body: Humanoid) -> tuple[float, float]:
    """Return (hips to head, hips to ankles) [m] of a body that stands."""
    hips, head, _, _, left, right = body.markers(body.neutral_pose)
    legs = 0.5 * (np.linalg.norm(left - hips) + np.linalg.norm(right - hips))
    return float(np.linalg.norm(head - hips)), float(legs)


def _sizes(points: Points) -> tuple[float, float]:
    """Return (hips to head, hips to ankles) [m] of the tracked person; human proportions fill in missing points."""
    usual = figure(STATURE)
    trunk, legs = _own_sizes(usual)
    seen = _distance(points, ["head"]), _distance(points, ["left_foot", "right_foot"])
    ratios = [None if far is None else far / own for far, own in zip(seen, (trunk, legs), strict=True)]
    known = [ratio for ratio in ratios if ratio is not None]
    if not known and "head" in points.names:  # how high the head is over the floor
        standing = usual.markers(usual.neutral_pose)[MARKERS.index("head"), 1]
        known = [_tallest(points.of(["head"])[:, 0, 1]) / float(standing)]
    if not known or not min(known) > 0.0:
        raise PosableError("the points do not show how large the body is; give a height, or a body without fitting")
    upper, lower = (known[0] if ratio is None else ratio for ratio in ratios)
    return upper * trunk, lower * legs


def _distance(points: Points, roles: Sequence[str]) -> float | None:
    """Return the stretched distance [m] from the hips to these parts, the mean of those tracked; None without any."""
    found = []
    for role in roles:
        if {"hips", role} <= set(points.names):
            hips, part = np.moveaxis(points.of(["hips", role]), 1, 0)
            found.append(_tallest(np.linalg.norm(hips - part, axis=-1)))
    seen = [length for length in found if np.isfinite(length)]
    return sum(seen) / len(seen) if seen else None


def _tallest(lengths: Floats) -> float:
    known = lengths[np.isfinite(lengths)]
    return float(np.percentile(known, TALL)) if len(known) else float("nan")
