"""C3D: labelled markers of a motion-capture room, read with our own reader of its 512-byte blocks.

`read_markers` gives the markers as they are, gaps as NaN. `read`, which `posable.load` calls, makes a person of them
where they are those of Plug-in Gait or CMU's 41: joints from markers (`marker_sets`), a figure with the lengths between
those joints, and its motion by `posable.reconstruct`, which bridges gaps, which is noted. Analog
channels are left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...compute import FormatError, PosableError
from ...compute.lazy import later_room
from ...compute.types import Bools, Floats
from ...math import between, conjugate, from_matrix, multiply, normalize
from ...skeleton import Motion, Pose
from .blocks import C3dFile
from .marker_sets import HEAD, Joints, joints_of, lacking, standard_name

UNITS = {"MM": 0.001, "CM": 0.01, "M": 1.0, "IN": 0.0254, "FT": 0.3048, "DM": 0.1}
STATURES = (0.6, 2.6)  # [m] of a person
LEG = 0.245 + 0.246  # of the stature of the built-in figure (`posable.body.MEASURES`)
MEASURED = {
    "thigh": ("upper_leg", "lower_leg"),
    "calf": ("lower_leg", "foot"),
    "upper_arm": ("upper_arm", "lower_arm"),
    "forearm": ("lower_arm", "hand"),
}
AS_MEASURED: dict[str, Any] = {"prior": None, "limits": None, "elbows_out": False}
"""Of `SequentialIK`: elbows and knees are known, so nothing of what is usual for people is asked."""
SHOULDERS = 0.836  # of the torso, from the hips to the line of the shoulders of the built-in figure
UPRIGHT = ("calf", "thigh", "pelvis", "torso", "neck")
UNLIKE = 0.4  # a length further from the figure's, as a fraction, is nobody's
TRACKED = (
    "hips",
    "head",
    *(f"{side}_{part}" for side in ("left", "right") for part in ("hand", "foot", "lower_arm", "lower_leg")),
)
SIDES = ("left", "right")
BLOCK = 4096  # frames at once
ORIENTED = ("hips", "head", "left_hand", "right_hand", "left_foot", "right_foot")


@dataclass(frozen=True, eq=False)
class Markers:
    """Labelled points over time."""

    labels: tuple[str, ...]
    """(M,) as in the file."""
    positions: Floats
    """(F, M, 3) [m], y up; NaN where a marker was not seen."""
    fps: float
    """Frames a second."""
    notes: tuple[str, ...] = ()
    """What was assumed."""

    def __len__(self) -> int:
        return len(self.positions)

    def __repr__(self) -> str:
        return f"Markers({len(self.labels)} markers, {len(self)} frames at {self.fps:g} fps)"


def read_markers(path: Path, *, up: str | None = None) -> Markers:
    """Read the markers of a file.

    Args:
        path: the file.
        up: its axis that is up, "y" or "z". By default the one along which heads are above heels, where there are such
            markers and people stand; else what the file says of its screen, else "z".
    """
    if up not in (None, "y", "z"):
        raise PosableError(f"up={up!r}: expected 'y' or 'z'")
    file = C3dFile(path)
    labels = file.words("POINT", "LABELS")[: file.points]
    labels += [f"marker_{k}" for k in range(len(labels), file.points)]
    seen: dict[str, int] = {}
    for k, label in enumerate(labels):
        seen[label] = seen.get(label, 0) + 1
        labels[k] = f"{label}_{seen[label]}" if seen[label] > 1 or not label else label
    notes = []
    said = "".join(file.words("POINT", "UNITS")[:1]).strip().upper()
    if said not in UNITS:
        notes.append(f"the file's unit is {said[:20]!r}; taken as millimetres")
    positions = file.read_points()
    positions *= UNITS.get(said, 0.001)
    axis, how = _up_axis(positions, labels, "".join(file.words("POINT", "Y_SCREEN")[:1]), up)
    if how:
        notes.append(how)
    if axis == "z":
        for first in range(0, len(positions), BLOCK):
            rows = positions[first : first + BLOCK]
            rows[..., 1:] = np.stack([rows[..., 2], -rows[..., 1]], axis=-1)
    return Markers(tuple(labels), positions, file.rate, tuple(notes))


def read(path: Path, *, fps: float | None = None, up: str | None = None) -> Motion:
    """Read the motion of a person from the markers of a file; the options are those of `posable.load`."""
    markers = read_markers(path, up=up)
    rate = fps or markers.fps
    names = [standard_name(label) for label in markers.labels]
    if missing := lacking(set(names)):
        raise FormatError(
            path,
            f"has no markers {', '.join(missing[:8])}{', ...' if len(missing) > 8 else ''}, which a body is fitted to "
            f"(Plug-in Gait, CMU's 41); it has {', '.join(markers.labels[:8])[:120]}, ...; "
            "posable.formats.read_markers gives the markers as they are",
        )
    placed = {name: markers.positions[:, k] for k, name in reversed(list(enumerate(names)))}
    joints = joints_of(placed)
    points = np.stack([joints.positions[role] for role in TRACKED], axis=1)
    whole: Bools = np.asarray(np.isfinite(points).all(axis=-1))
    if not whole.all(axis=1).any():
        raise FormatError(path, "has no frame in which all joints have their markers")
    body = _body(path, joints)
    # The figure's hips are above the line of its hip joints.
    points[:, 0] += body.measures["pelvis"] * joints.axes["hips"][..., 1]
    rotations = {role: _quaternions(joints.axes[role]) for role in ORIENTED if role in joints.axes}
    solver = later_room("reconstruct").SequentialIK(body, markers=TRACKED, **AS_MEASURED)
    followed = solver.track(points, fps=rate, orientations=rotations).motion.pose
    notes = [
        *markers.notes,
        f"{len(names)} markers became a figure of {body.height:.2f} m, its limbs as long as theirs",
    ]
    lost = int((~whole).any(axis=1).sum())
    if lost:
        roles = [role.replace("_", " ") for k, role in enumerate(TRACKED) if not whole[:, k].all()]
        notes.append(f"markers were lost in {lost} of {len(whole)} frames ({', '.join(roles)}); the gaps are bridged")
    pose = _with_arms(body, followed, joints)
    return Motion(body.skeleton, pose, rate, path.stem, tuple(notes))


def _with_arms(body: Any, pose: Pose, joints: Joints) -> Pose:
    """Return the poses with clavicles that reach for the shoulders' markers, and arms that bend where elbows are.

    `SequentialIK` knows no shoulders. Where markers were lost, its own answer stays: elbows and hands where it has
    them, and clavicles between what they did before and after. A block of frames at once is posed.
    """
    aimed = {}
    for side in SIDES:
        known: Bools = np.asarray(np.isfinite(joints.positions[f"{side}_upper_arm"]).all(axis=-1))
        if known.any():
            parts = [_clavicles(body, pose[rows], joints, side, rows) for rows in _blocks(len(known))]
            aimed[body.index(f"{side}_shoulder")] = _bridged(np.concatenate(parts), known)
    rotations = pose.rotations.copy()
    for rows in _blocks(len(rotations)):
        for joint, local in aimed.items():
            rotations[rows, joint] = local[rows]
        rotations[rows] = _with_hands(body, pose[rows], rotations[rows], joints, rows)
    return Pose(pose.translation, rotations)


def _clavicles(body: Any, pose: Pose, joints: Joints, side: str, rows: slice) -> Floats:
    """Return rotations (F, 4) of a clavicle that reaches for its shoulder's marker, in some rows of all frames."""
    tracked = body.skeleton.forward(pose)
    clavicle, shoulder = body.index(f"{side}_shoulder"), body.index(f"{side}_upper_arm")
    base, seen = tracked.positions[:, clavicle], joints.positions[f"{side}_upper_arm"][rows]
    now, known = tracked.positions[:, shoulder] - base, np.isfinite(seen).all(axis=-1, keepdims=True)
    aimed = between(_directions(now), _directions(np.where(known, seen - base, now)))
    above = tracked.orientations[:, body.skeleton.parents[clavicle]]
    return multiply(conjugate(above), multiply(aimed, tracked.orientations[:, clavicle]))


def _with_hands(body: Any, pose: Pose, rotations: Floats, joints: Joints, rows: slice) -> Floats:
    """Return rotations (F, J, 4) with arms whose wrists and elbows are where they were seen, in rows of all frames.

    Args:
        body: of the poses.
        pose: (F,) before clavicles were moved: hands stay oriented as there, and unseen ones where they are.
        rotations: (F, J, 4) to be changed.
        joints: where joints were seen, in all frames.
        rows: which of them.
    """
    tracked, made = body.skeleton.forward(pose), Pose(pose.translation, rotations)
    target_of = later_room("limb").Target
    for side in SIDES:
        hand, elbow = (body.index(f"{side}_{part}") for part in ("hand", "lower_arm"))
        ends, poles = (
            np.where(np.isfinite(seen), seen, tracked.positions[:, joint])
            for seen, joint in (
                (joints.positions[f"{side}_hand"][rows], hand),
                (joints.positions[f"{side}_lower_arm"][rows], elbow),
            )
        )
        # Limits of the wrist would move the elbow: the arm is placed first, and the hand rotated as it was then.
        made = body.place(made, f"{side}_hand", target_of(ends, pole=poles)).pose
        above = body.skeleton.forward(made).orientations[:, body.skeleton.parents[hand]]
        made.rotations[:, hand] = multiply(conjugate(above), tracked.orientations[:, hand])
    return made.rotations


def _blocks(count: int) -> list[slice]:
    return [slice(first, first + BLOCK) for first in range(0, count, BLOCK)]


def _directions(vectors: Floats) -> Floats:
    return np.asarray(vectors / np.maximum(np.sqrt((vectors * vectors).sum(axis=-1, keepdims=True)), 1e-9))


def _bridged(rotations: Floats, known: Bools) -> Floats:
    """Return rotations (F, 4) with those that are not `known` (F,) between their neighbours in time."""
    rows = np.flatnonzero(known)
    signs = np.cumprod(
        np.concatenate([[1.0], np.where((rotations[rows[1:]] * rotations[rows[:-1]]).sum(1) < 0, -1, 1)])
    )
    same_half = rotations[rows] * signs[:, None]
    frames = np.arange(len(rotations))
    return normalize(np.stack([np.interp(frames, rows, same_half[:, k]) for k in range(4)], axis=-1))


def _body(path: Path, joints: Joints) -> Any:
    """Return a figure whose limbs are as long as the distances between joints, in the median of frames."""
    at = joints.positions
    measured = {
        name: float(np.mean([_median(at[f"{side}_{a}"] - at[f"{side}_{b}"]) for side in ("left", "right")]))
        for name, (a, b) in MEASURED.items()
    }
    height = (measured["thigh"] + measured["calf"]) / LEG
    if not STATURES[0] < height < STATURES[1]:
        raise FormatError(path, f"its legs are those of a person of {height:.3g} m: is its unit what the file says?")
    measured["pelvis_width"] = _median(at["left_upper_leg"] - at["right_upper_leg"])
    measured["torso_width"] = _median(at["left_upper_arm"] - at["right_upper_arm"])
    room = later_room("body")
    usual = {name: fraction * height for name, fraction in room.MEASURES.items()}
    for name, length in measured.items():
        if not abs(length / usual[name] - 1.0) < UNLIKE:  # never true of NaN
            raise FormatError(path, f"its {name.replace('_', ' ')} of {length:.3g} m is nobody's of {height:.2f} m")
    # Shoulders and head are where they are above the hips; joints of a spine are on no marker.
    hips = at["hips"] + usual["pelvis"] * joints.axes["hips"][..., 1]
    trunk = _median(0.5 * (at["left_upper_arm"] + at["right_upper_arm"]) - hips) / SHOULDERS
    measured["torso"] = float(np.clip(trunk, 0.7 * usual["torso"], 1.3 * usual["torso"]))
    neck = _median(at["head"] - hips) - measured["torso"]
    measured["neck"] = float(np.clip(neck, 0.7 * usual["neck"], 1.5 * usual["neck"]))
    measured["pelvis"] = usual["pelvis"]
    rest = 1.0 - sum(room.MEASURES[name] for name in UPRIGHT)
    return room.figure(rest * height + sum(measured[name] for name in UPRIGHT), **measured)


def _median(between: Floats) -> float:
    lengths = np.sqrt((between * between).sum(axis=-1))
    seen = lengths[np.isfinite(lengths)]
    return float(np.median(seen)) if len(seen) else float("nan")


def _quaternions(axes: Floats) -> Floats:
    """Return orientations (F, 4) of parts with these axes (F, 3, 3); NaN where markers were not seen."""
    known = np.isfinite(axes).all(axis=(1, 2))
    made = np.full((len(axes), 4), np.nan)
    made[known] = from_matrix(axes[known]) if known.any() else np.zeros((0, 4))
    return made


def _up_axis(positions: Floats, labels: list[str], screen: str, up: str | None) -> tuple[str, str]:
    """Return the axis that is up, and a note where it was not said."""
    if up is not None:
        return up, ""
    names = [standard_name(label) for label in labels]
    groups = [[k for k, name in enumerate(names) if name in group] for group in (HEAD, ("LHEE", "RHEE"))]
    said = screen.strip().upper().removeprefix("+")
    said = said.lower() if said in ("Y", "Z") else ""
    if all(groups):
        rows = np.unique(np.linspace(0, len(positions) - 1, 200).astype(np.int64))
        high, low = (_middle(positions[rows][:, group]) for group in groups)
        upright = high - low
        upright = upright[np.isfinite(upright).all(axis=1)]
        upright /= np.maximum(np.linalg.norm(upright, axis=-1, keepdims=True), 1e-12)
        middle = np.median(upright, axis=0) if len(upright) else np.zeros(3)
        for axis, along in (("y", middle[1]), ("z", middle[2])):
            if along > 0.8:
                other = f"; the file says {said} of its screen" if said and said != axis else ""
                return axis, f"{axis} is up, since heads are above heels along it{other}"
    return (said, "") if said else ("z", "the file does not say which axis is up; taken as z")


def _middle(markers: Floats) -> Floats:
    """Return the mean (N, 3) of those of markers (N, K, 3) that were seen; NaN where none was."""
    seen = np.isfinite(markers).all(axis=-1, keepdims=True)
    count = seen.sum(axis=1)
    total = np.where(seen, markers, 0.0).sum(axis=1)
    return np.asarray(np.where(count > 0, total / np.maximum(count, 1), np.nan))
