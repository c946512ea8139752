"""`HandShape`: how the fingers of a hand are bent, on any hand.

A shape has the canonical rotations of the 15 joints of a left hand; a right hand gets their mirror image. Shapes blend
joint by joint by slerp. `SHAPES` are a few that are named; their angles were chosen by eye on the built-in figure, and
lie inside the limits of a person.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from ...compute import PosableError, UnknownNameError, number
from ...compute.types import ArrayLike, Floats, floats
from ...math import axis_angle, multiply, normalize, slerp
from ...skeleton import Pose
from ..canonical import MIRROR
from ..roles import FINGERS
from .frames import ACROSS

if TYPE_CHECKING:
    from ..humanoid import Humanoid

SIDES = ("left", "right")
JOINTS = tuple(role.removeprefix("left_") for role in FINGERS if role.startswith("left_"))
"""(15,) the joints of a hand in the order of a shape's rotations: "thumb_metacarpal", ..., "little_distal"."""
_STRAIGHT = (0.0, 0.0, 0.0, 0.0)
_SHAPES: dict[str, dict[str, tuple[float, ...]]] = {
    "flat": {},
    "open": {
        "thumb": (-12.0, 12.0, 0.0, 0.0, -5.0),
        "index": (0.0, 0.0, 0.0, -9.0),
        "middle": (0.0, 0.0, 0.0, -1.0),
        "ring": (0.0, 0.0, 0.0, 7.0),
        "little": (0.0, 0.0, 0.0, 16.0),
    },
    "stretched": {
        "thumb": (-22.0, -12.0, 0.0, -8.0, -16.0),
        "index": (-28.0, -4.0, -6.0, -14.0),
        "middle": (-30.0, -4.0, -6.0, -2.0),
        "ring": (-28.0, -4.0, -6.0, 9.0),
        "little": (-26.0, -4.0, -6.0, 20.0),
    },
    "relaxed": {
        "thumb": (16.0, 28.0, 5.0, 12.0, 16.0),
        "index": (20.0, 28.0, 14.0, -3.0),
        "middle": (27.0, 32.0, 16.0, 0.0),
        "ring": (32.0, 34.0, 17.0, 2.0),
        "little": (36.0, 34.0, 18.0, 4.0),
    },
    "fist": {
        "thumb": (24.0, 46.0, 12.0, 38.0, 48.0),
        "index": (78.0, 104.0, 62.0, 0.0),
        "middle": (82.0, 104.0, 62.0, 0.0),
        "ring": (84.0, 104.0, 62.0, 0.0),
        "little": (86.0, 102.0, 62.0, 0.0),
    },
    "point": {
        "thumb": (22.0, 46.0, 12.0, 42.0, 52.0),
        "index": (3.0, 4.0, 2.0, 0.0),
        "middle": (80.0, 102.0, 62.0, 0.0),
        "ring": (84.0, 104.0, 62.0, 0.0),
        "little": (86.0, 102.0, 62.0, 0.0),
    },
    "pinch": {
        "thumb": (20.0, 54.0, 12.0, 10.0, 24.0),
        "index": (52.0, 44.0, 22.0, 0.0),
        "middle": (30.0, 32.0, 16.0, 1.0),
        "ring": (26.0, 28.0, 14.0, 4.0),
        "little": (22.0, 26.0, 13.0, 8.0),
    },
    "ready": {
        "thumb": (-6.0, 62.0, 12.0, -4.0, -8.0),
        "index": (-6.0, 0.0, 0.0, -5.0),
        "middle": (-6.0, 0.0, 0.0, 0.0),
        "ring": (-6.0, 0.0, 0.0, 4.0),
        "little": (-6.0, 0.0, 0.0, 9.0),
    },
    "closed": {
        "thumb": (50.0, 62.0, 12.0, 60.0, 78.0),
        "index": (92.0, 112.0, 84.0, 0.0),
        "middle": (92.0, 112.0, 84.0, 0.0),
        "ring": (92.0, 112.0, 84.0, 0.0),
        "little": (92.0, 112.0, 84.0, 0.0),
    },
}
"""Degrees by finger: flexion of its three joints, and how far it is spread towards the little finger's side. Of the
thumb: flexion across the palm, how far it is in front of the palm, its rotation about itself, and the flexion of its
two other joints."""
SHAPES = tuple(_SHAPES)
"""Names of shapes, which are a flat, an open, a stretched and a relaxed hand, a fist, one that points, a pinch of thumb
and index finger, one that is ready to grasp, and one closed further than a fist, which a grasp ends in where nothing is
held."""


@dataclass(frozen=True, eq=False)
class HandShape:
    """How fingers are bent: canonical rotations of the joints of a left hand.

    ```python
    fist = ps.HandShape.named("fist")
    half = fist.blend("open", 0.5)
    pose = body.pose_hand(pose, "right", half)
    ```
    """

    rotations: Floats
    """(..., 15, 4) `wxyz`, in the order of `JOINTS`."""

    def __init__(self, rotations: ArrayLike) -> None:
        given = floats(rotations, "rotations", len(JOINTS), 4)
        sizes = np.linalg.norm(given, axis=-1)
        if not (np.isfinite(sizes).all() and (sizes > 1e-9).all()):
            raise PosableError("rotations of a hand shape must be unit quaternions, wxyz")
        object.__setattr__(self, "rotations", normalize(given))

    def __repr__(self) -> str:
        return f"HandShape({'x'.join(map(str, self.rotations.shape[:-2])) or 'one hand'})"

    @staticmethod
    def named(name: str) -> HandShape:
        """Return one of `SHAPES`."""
        if name not in _SHAPES:
            raise UnknownNameError("hand shape", name, SHAPES)
        return _named(name)

    @staticmethod
    def of(body: Humanoid, pose: Pose, side: str) -> HandShape:
        """Return the shape of a hand in a pose, or in a batch; joints that the body has not are straight."""
        fingers = fingers_of(body, side)
        posture = body.canonical(pose)
        rotations = np.tile([1.0, 0.0, 0.0, 0.0], (*posture.shape, len(JOINTS), 1))
        for joint in fingers:
            rotations[..., JOINTS.index(joint), :] = posture.rotation(f"{side}_{joint}")
        return HandShape(rotations if side == "left" else rotations * MIRROR)

    @staticmethod
    def grip(body: Humanoid, radius: float, kind: str = "cylinder", side: str = "left") -> HandShape:
        """Return the shape of a body's hand around a cylinder that lies across its palm, or a ball in it.

        Args:
            body: whose hand is closed on it; the shape fits hands of the same size.
            radius: of what is held [m], up to 10.
            kind: "cylinder" or "ball".
            side: "left" or "right": the hand that is measured, where they differ.
        """
        from .closing import grip

        return grip(body, radius, kind, side)

    def blend(self, other: HandShape | str, weight: ArrayLike) -> HandShape:
        """Return the shape that is this one at weight 0 and `other` at weight 1; weights (...) give a batch."""
        target = as_shape(other)
        amount = floats(weight, "weight")
        if not np.isfinite(amount).all():
            raise PosableError(f"weight is {weight!r}; expected finite numbers, 0 for this shape and 1 for the other")
        return HandShape(slerp(self.rotations, near(self.rotations, target.rotations), amount[..., None]))


def as_shape(shape: HandShape | str) -> HandShape:
    """Return a shape that was given as such or by its name."""
    if isinstance(shape, str):
        return HandShape.named(shape)
    if not isinstance(shape, HandShape):
        raise PosableError(f"hand shape is {shape!r}; expected a HandShape or one of {', '.join(SHAPES)}")
    return shape


def fingers_of(body: Humanoid, side: str) -> dict[str, int]:
    """Return the joints of a hand's fingers, by their names in `JOINTS`; raises where there are none."""
    if side not in SIDES:
        raise UnknownNameError("side", side, SIDES)
    found = {role.removeprefix(f"{side}_"): j for role, j in body.fingers.items() if role.startswith(side)}
    if not found:
        raise PosableError(
            f"this body has no fingers on its {side} hand; ps.figure(fingers=True) has, and rigs whose fingers have "
            "names or roles={...}"
        )
    return found


def pose_hand(body: Humanoid, pose: Pose, side: str, shape: HandShape | str, weight: ArrayLike = 1.0) -> Pose:
    """Return the pose with a hand in a shape: see `Humanoid.pose_hand`."""
    fingers = fingers_of(body, side)
    amount = np.asarray(number(weight) if np.ndim(weight) == 0 else floats(weight, "weight"))
    if not ((amount >= 0.0) & (amount <= 1.0)).all():
        raise PosableError(f"weight is {weight!r}; expected numbers from 0, as the hand is, to 1, the shape")
    blended = HandShape.of(body, pose, side).blend(as_shape(shape), amount)
    rotations = blended.rotations if side == "left" else blended.rotations * MIRROR
    changes = {f"{side}_{joint}": rotations[..., JOINTS.index(joint), :] for joint in fingers}
    return with_fingers(body, pose, inside_limits(body, changes))


def with_fingers(body: Humanoid, pose: Pose, changes: Mapping[str, Floats]) -> Pose:
    """Return the pose with canonical rotations (..., 4) of joints of fingers, by role; all others to the last bit."""
    posed = body.pose(body.canonical(pose).rotated(**changes), base=pose)
    batch, joints = posed.shape, [body.fingers[role] for role in changes]
    exact = np.broadcast_to(pose.rotations, (*batch, *pose.rotations.shape[-2:])).copy()
    exact[..., joints, :] = posed.rotations[..., joints, :]
    offsets = None if pose.offsets is None else np.broadcast_to(pose.offsets, (*batch, *pose.offsets.shape[-2:]))
    return Pose(np.broadcast_to(pose.translation, (*batch, 3)), exact, offsets)


def inside_limits(body: Humanoid, rotations: Mapping[str, Floats]) -> dict[str, Floats]:
    """Return canonical rotations (..., 4) by role, inside the body's limits where it has some for them."""
    return {role: body.limits.clamp(role, q) if role in body.limits else q for role, q in rotations.items()}


def near(one: Floats, other: Floats) -> Floats:
    """Return rotations with the signs that make slerp take the shorter arc."""
    return np.asarray(other * np.where(np.sum(one * other, axis=-1, keepdims=True) < 0.0, -1.0, 1.0))


@cache
def _named(name: str) -> HandShape:
    angles, rotations = _SHAPES[name], []
    flexed, spread, ahead = np.array([0.0, 0.0, -1.0]), np.array([1.0, 0.0, 0.0]), np.array([0.0, -1.0, 1.0])
    first, second, third, sideways = range(4)
    for finger in ("thumb", "index", "middle", "ring", "little"):
        if finger == "thumb":
            across, front, about, middle, last = np.radians(angles.get(finger, (0.0,) * 5))
            root = multiply(axis_angle(ACROSS, -front), axis_angle(spread, across))
            root = multiply(root, axis_angle(ahead / np.sqrt(2.0), about))
            rotations += [root, axis_angle(spread, middle), axis_angle(spread, last)]
            continue
        bent = np.radians(angles.get(finger, _STRAIGHT))
        root = multiply(axis_angle(spread, bent[sideways]), axis_angle(flexed, bent[first]))
        rotations += [root, axis_angle(flexed, bent[second]), axis_angle(flexed, bent[third])]
    return HandShape(np.array(rotations))
