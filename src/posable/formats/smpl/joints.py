"""SMPL's joints: names, tree, and a T-pose that is the built-in figure's or that of the user's own model file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ...compute import FormatError
from ...compute.lazy import later_room
from ...compute.types import Floats
from ...skeleton import Skeleton
from .members import read_members

# fmt: off
BODY = (
    "pelvis", "left_hip", "right_hip", "spine1", "left_knee", "right_knee", "spine2", "left_ankle", "right_ankle",
    "spine3", "left_foot", "right_foot", "neck", "left_collar", "right_collar", "head", "left_shoulder",
    "right_shoulder", "left_elbow", "right_elbow", "left_wrist", "right_wrist",
)
# fmt: on
"""The body's joints in the order of all SMPL models, named as the package smplx does."""
_PARENTS = (-1, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 9, 12, 13, 14, 16, 17, 18, 19)
_FINGERS = ("index", "middle", "pinky", "ring", "thumb")
HANDS = tuple(f"{side}_{finger}{k}" for side in ("left", "right") for finger in _FINGERS for k in (1, 2, 3))
FACE = ("jaw", "left_eye", "right_eye")
NAMES = (*BODY, *FACE, *HANDS)
"""All joints of SMPL-X in its order. SMPL-H has no face, SMPL one joint a hand instead of fingers."""
STATURE = 1.75  # [m] of the figure that bones are taken from

_OF_FIGURE = {
    "pelvis": "HumanoidRoot", "spine1": "vl5", "spine2": "vt10", "spine3": "vt5", "neck": "vc7", "head": "skullbase",
    "hip": "hip", "knee": "knee", "ankle": "ankle", "foot": "metatarsal", "collar": "sternoclavicular",
    "shoulder": "shoulder", "elbow": "elbow", "wrist": "wrist",
}  # fmt: skip
_KNUCKLES = {
    "index": (0.48, 0.0, 0.12), "middle": (0.50, 0.0, 0.01), "ring": (0.47, 0.0, -0.09), "pinky": (0.42, 0.0, -0.18),
    "thumb": (0.14, -0.03, 0.13),
}  # fmt: skip
"""Where fingers begin, in lengths of the hand: along it, up, and forward of a hand that points sideways."""
_PHALANGES = {"thumb": ((0.15, -0.05, 0.14), (0.12, 0.0, 0.09), (0.10, 0.0, 0.05))} | {
    finger: tuple((length * part, 0.0, 0.0) for part in (0.24, 0.14, 0.12))
    for finger, length in (("index", 0.95), ("middle", 1.0), ("ring", 0.95), ("pinky", 0.8))
}


def smpl_skeleton(names: tuple[str, ...], offsets: Floats | None = None) -> Skeleton:
    """Return a skeleton of some of SMPL's joints, in their T-pose, the frames those of the world.

    Args:
        names: of the joints, the body's first.
        offsets: (22, 3) [m] of the body's joints; those of the built-in figure when not given. Hands and face follow
            the length of the forearm.
    """
    figure = _figure_offsets()
    body = figure if offsets is None else offsets
    forearm, own = BODY.index("left_wrist"), np.linalg.norm(body[BODY.index("left_wrist")])
    hand = _HAND * float(own / np.linalg.norm(figure[forearm]))
    parents, rows = list(_PARENTS), list(body)
    ends: list[tuple[int, Any, str]] = []
    for name in names[len(BODY) :]:
        above, offset = _below(name, hand)
        parents.append(names.index(above))
        rows.append(np.array(offset))
    rows[0] = np.array([0.0, float(-min(_heights(parents, rows))), 0.0])
    for name in names:
        tip = _tip(name, names, hand)
        if tip is not None:
            ends.append((names.index(name), tip, f"{name}_tip"))
    ankles = [("left_ankle", "left_heel"), ("right_ankle", "right_heel")]
    stretch = hand / _HAND
    sole = _SOLE * stretch
    for name, heel in ankles:
        ends.append((names.index(name), (0.0, -sole[0], -sole[1]), heel))
    rows[0] = rows[0] + np.array([0.0, sole[2], 0.0])
    return Skeleton(
        names,
        parents,
        np.array(rows),
        end_parents=[joint for joint, _, _ in ends],
        end_offsets=np.array([offset for _, offset, _ in ends]),
        end_names=[name for *_, name in ends],
    )


def model_offsets(path: Path, betas: Floats, count: int) -> Floats:
    """Return offsets (count, 3) [m] of the body's joints, the first one's from the origin, by a model's regressor.

    Args:
        path: the user's own SMPL, SMPL-H or SMPL-X model as `.npz`; the `.pkl` of the same download runs any program
            that somebody put in it, and is not read.
        betas: of the file of the motion; as many are used as the model has.
        count: of joints, at the beginning of the model's.
    """
    if path.suffix.lower() != ".npz":
        raise FormatError(path, "is no .npz; SMPL's models are there as .npz too, and pickles (.pkl) are not read")
    arrays = read_members(path, ("v_template", "shapedirs", "J_regressor"))
    shapes = {"v_template": (None, 3), "shapedirs": (None, 3, None), "J_regressor": (None, None)}
    for name, shape in shapes.items():
        array = arrays.get(name)
        if array is None or array.dtype.kind != "f" or array.ndim != len(shape) or not np.isfinite(array).all():
            raise FormatError(path, "is missing, or not what a model of SMPL has there", f"member {name!r}")
    vertices, shapedirs, regressor = (arrays[name].astype(np.float64) for name in shapes)
    if not (len(shapedirs) == len(vertices) == regressor.shape[1] and vertices.shape[1] == shapedirs.shape[1] == 3):
        raise FormatError(path, "v_template, shapedirs and J_regressor are not of one body")
    if len(regressor) < count:
        raise FormatError(path, f"has {len(regressor)} joints; expected {count} or more", "member 'J_regressor'")
    used = min(len(betas), shapedirs.shape[2])
    shaped = vertices + shapedirs[..., :used] @ betas[:used]
    joints = regressor[:count] @ shaped
    if not (np.abs(joints) < 100.0).all():
        raise FormatError(path, "puts joints hundreds of metres away")
    offsets = joints.copy()
    offsets[1:] -= joints[list(_PARENTS[1:count])]
    return np.asarray(offsets)


def _figure_offsets() -> Floats:
    """Return offsets (22, 3) [m] of the built-in figure's joints, its arms held out sideways."""
    skeleton = later_room("body").figure(STATURE).skeleton
    at = np.zeros((len(skeleton), 3))
    for j in range(1, len(skeleton)):  # all its frames are the world's at rest
        at[j] = at[skeleton.parents[j]] + skeleton.offsets[j]
    rows = []
    for name in BODY:
        side, _, part = name.rpartition("_")
        own = at[skeleton.index(_OF_FIGURE[part] if not side else f"{side[0]}_{_OF_FIGURE[part]}")]
        if part in ("elbow", "wrist"):  # below the shoulder: the hanging arm swings up
            base, sign = at[skeleton.index(f"{side[0]}_shoulder")], 1.0 if side == "left" else -1.0
            x, y, z = own - base
            own = base + np.array([-sign * y, sign * x, z])
        rows.append(own)
    placed = np.array(rows)
    offsets = placed.copy()
    offsets[1:] -= placed[list(_PARENTS[1:])]
    return offsets


_HAND = 0.108 * STATURE  # [m], as `body.MEASURES` has it
_SOLE = np.array([0.039, 0.25 * 0.152, 0.45 * 0.039]) * STATURE
"""[m] of the figure: the ankle above the sole, the heel behind the ankle, the joint of the toes above the sole."""


def _heights(parents: list[int], offsets: list[Floats]) -> list[float]:
    heights = [0.0]
    for j in range(1, len(parents)):
        heights.append(heights[parents[j]] + float(offsets[j][1]))
    return heights


def _below(name: str, hand: float) -> tuple[str, tuple[float, ...]]:
    """Return the joint above one of a hand or the face, and the offset from there [m]."""
    if name in FACE:
        across = {"left_eye": 0.17, "right_eye": -0.17}.get(name, 0.0)
        return "head", (
            across * hand,
            (0.05 if name == "jaw" else 0.35) * hand,
            (0.05 if name == "jaw" else 0.4) * hand,
        )
    side, _, part = name.partition("_")
    sign = 1.0 if side == "left" else -1.0
    if part == "hand":
        return f"{side}_wrist", (sign * 0.5 * hand, 0.0, 0.0)
    finger, number = part[:-1], int(part[-1])
    x, y, z = _KNUCKLES[finger] if number == 1 else _PHALANGES[finger][number - 2]
    above = f"{side}_wrist" if number == 1 else f"{side}_{finger}{number - 1}"
    return above, (sign * x * hand, y * hand, z * hand)


def _tip(name: str, names: tuple[str, ...], hand: float) -> tuple[float, float, float] | None:
    """Return the end site of a joint [m], where it has one."""
    side, _, part = name.rpartition("_")
    sign = 1.0 if side == "left" else -1.0
    if name == "head":
        return 0.0, 0.0735 / 0.108 * hand, 0.0
    if part == "foot":
        return 0.0, float(-_SOLE[2] * hand / _HAND), 0.28 * 0.152 / 0.108 * hand
    if part == "wrist" and f"{side}_middle1" not in names and f"{side}_hand" not in names:
        return sign * hand, 0.0, 0.0
    if part == "hand":
        return sign * 0.5 * hand, 0.0, 0.0
    if part[:-1] in _FINGERS and part.endswith("3"):
        x, y, z = _PHALANGES[part[:-1]][2]
        return sign * x * hand, y * hand, z * hand
    return None
