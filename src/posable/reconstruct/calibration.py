"""`Calibration`: where trackers sit on a person, and how long the person's legs, trunk and arms are.

A tracker is strapped somewhere on a part: its position is the joint's plus an offset that rotates with the part, its
orientation the part's times a constant rotation. Both are found in one of two ways:

- `from_pose`: the person stands for a moment in a known pose, neutral or T. Offsets and rotations then follow from how
  tall the person is.
- `fit`: from seconds of any motion, once offsets are known or small: the lengths of legs, trunk and arms, because parts
  have constant lengths.

Some things cannot be observed. A head tracker 5 cm higher on a shorter person looks the same as one 5 cm lower on a
taller one: give `height` where it is known. All trackers worn 2 cm further forward look the same as a person who stands
2 cm further forward. Six trackers in motion do not show where on their parts they sit: between two of them there is
always a joint whose bend is not known, and what is usual for people (shins upright over feet, spines evenly bent) is
off by more than trackers are; tried on captured motion, offsets found that way were wrong by 10 cm and more. Therefore
offsets come from a pose. Without orientations a joint may lie in any direction from its tracker.

A tracker of an elbow, a knee or the chest may be strapped to either of the two parts that meet there: in the pose both
are oriented alike, and the offset rotates with the tracker. How large a person is, is measured by the six `MARKERS`.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import numpy as np

from ..body.canonical import CanonicalPose
from ..body.measures import expected_stature, sole_of
from ..body.roles import MARKERS
from ..compute import FormatError, PosableError, ShapeError, UnknownNameError
from ..compute.documents import read_document, write_document
from ..compute.types import ArrayLike, Floats, floats
from ..math import axis_angle, conjugate, multiply, normalize, rotate
from ..skeleton import Pose
from .sik import TRACKABLE, SequentialIK

if TYPE_CHECKING:
    from ..body import Humanoid

PARTS = ("legs", "trunk", "arms")
"""What has a scale of its own: legs from the hip joints down, arms from the shoulders on, and the rest."""
POSES = ("neutral", "t")
LONGEST = 98.0  # percentile over the motion that counts as the longest: a few moments may be wrong
STRETCHED = 0.995  # of its length that a leg has when it is straight
FORMAT = "posable-calibration/1"
MAX_BYTES = 1_000_000
UP, IDENTITY = (0.0, 1.0, 0.0), np.array([1.0, 0.0, 0.0, 0.0])


@dataclass(frozen=True, eq=False)
class Calibration:
    """Where trackers sit on a person, and how the person's lengths compare with a body's. Immutable."""

    markers: tuple[str, ...]
    """(M,) the part that each tracker is on, of those that can be tracked (`reconstruct.sik.TRACKABLE`)."""
    offsets: Floats
    """(M, 3) [m] from the part's joint to its tracker, in the part's canonical frame."""
    rotations: Floats
    """(M, 4) the tracker's orientation relative to the part's canonical one; the identity where it is not known."""
    scales: dict[str, float] = field(default_factory=lambda: dict.fromkeys(PARTS, 1.0))
    """How much longer `PARTS` of the person are than those of the body."""

    def __post_init__(self) -> None:
        count = len(self.markers)
        for name, shape in (("offsets", (count, 3)), ("rotations", (count, 4))):
            array = np.array(getattr(self, name), dtype=np.float64)
            if array.shape != shape or not np.isfinite(array).all():
                raise ShapeError(f"{name} have shape {array.shape}; expected {shape} finite numbers")
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        _check_parts(self.markers)
        if set(self.scales) != set(PARTS) or not all(0.0 < s < 100.0 for s in self.scales.values()):
            raise PosableError(f"scales are {self.scales}; expected {', '.join(PARTS)}, each above 0")

    @classmethod
    def from_pose(
        cls,
        body: Humanoid,
        points: ArrayLike,
        orientations: Mapping[str, ArrayLike] | None = None,
        *,
        pose: Pose | str = "neutral",
        height: float | None = None,
        markers: Sequence[str] = MARKERS,
    ) -> Calibration:
        """Calibrate trackers on a person who stands in a known pose on the floor y = 0, anywhere, facing anywhere.

        The joints of the body in the pose are laid under the trackers: rotated about the vertical, on the floor, scaled
        to the height or to what fits, and so that trackers are on average above their joints.

        Args:
            body: whose proportions the person has, but for their size.
            points: (M, 3) [m] of the trackers, or (F, M, 3) of some moments, which are averaged.
            orientations: role to (4,) or (F, 4) of the trackers, as they report them.
            pose: "neutral" (arms hanging, palms in), "t" (arms out to the sides, palms down), or any pose of the body.
            height: sole to top of the head [m]; without it the size that fits the points best.
            markers: the part that each tracker is on.
        """
        names = tuple(markers)
        given, rotated = _checked_trackers(points, orientations or {}, names)
        _check_parts(names)
        seen = np.isfinite(given).all(axis=(1, 2))
        if not seen.any():
            raise PosableError("every moment has a point that is not finite; expected one with all trackers seen")
        positions = given[seen].mean(axis=0)
        joints, parts = _standing(body, _named_pose(body, pose), names)
        if height is not None and not (math.isfinite(height) and height > 0.0):
            raise PosableError(f"height is {height} m; expected a number above 0")
        main = _main(names)
        scale = _scale(joints[main], positions[main]) if height is None else height / expected_stature(body)
        heading = axis_angle(UP, _yaw(joints[main], positions[main]))
        laid = rotate(heading, joints * scale)
        shift = (positions - laid)[main].mean(axis=0) * [1.0, 0.0, 1.0]
        offsets, rotations = np.empty((len(names), 3)), np.tile(IDENTITY, (len(names), 1))
        for k, role in enumerate(names):
            part = multiply(heading, parts[k])
            offsets[k] = rotate(conjugate(part), positions[k] - laid[k] - shift)
            if role in rotated:
                rotations[k] = multiply(conjugate(part), _mean_rotation(rotated[role]))
        return cls(names, offsets, rotations, dict.fromkeys(PARTS, scale))

    @classmethod
    def fit(
        cls,
        body: Humanoid,
        points: ArrayLike,
        orientations: Mapping[str, ArrayLike] | None = None,
        *,
        start: Calibration | None = None,
        markers: Sequence[str] = MARKERS,
    ) -> Calibration:
        """Measure a person who moves: some seconds in which they walk, bend, turn and reach.

        - Trunk: hips and head are never further apart than the spine is long, and now and then as far.
        - Legs: hip joint to ankle is never longer than the leg, and now and then nearly as long: everybody who stands
          or walks straightens a knee.
        - Arms go with the trunk. Few motions stretch an arm, and six points do not show well enough where the shoulder
          is when one does: tried on captured motion, arms came out between 0.7 and 1.4 of their length.

        Args:
            body: whose proportions are scaled to the person's.
            points: (F, M, 3) [m] of the trackers.
            orientations: role to (F, 4) of the trackers, as they report them.
            start: a calibration from a pose, whose rotations and offsets are taken over. Without it trackers are taken
                to sit on the joints, oriented as the parts are.
            markers: the part that each tracker is on.
        """
        names = tuple(markers)
        given, rotated = _checked_trackers(points, orientations or {}, names)
        first = start or cls(names, np.zeros((len(names), 3)), np.tile(IDENTITY, (len(names), 1)))
        if first.markers != names:
            raise PosableError(f"start is of {first.markers}; these trackers are on {names}")
        if "hips" not in names:
            raise PosableError(f"trackers are on {names}; expected one on the hips: all lengths are counted from there")
        positions, parts = first.apply(given, rotated)
        main = _main(names)
        seen = np.isfinite(positions[:, main]).all(axis=(1, 2))
        if seen.sum() < 10:
            raise PosableError(f"{int(seen.sum())} moments have all trackers seen; expected some seconds of motion")
        joints = {names[k]: positions[seen, k] for k in main}
        parts = {role: q[seen] for role, q in parts.items() if np.isfinite(q[seen]).all()}
        pelvis = parts["hips"] if "hips" in parts else _reconstructed_pelvis(body, joints)
        return cls(names, first.offsets, first.rotations, _measured(body, joints, pelvis, first.scales["trunk"]))

    def apply(
        self, points: ArrayLike, orientations: Mapping[str, ArrayLike] | None = None
    ) -> tuple[Floats, dict[str, Floats]]:
        """Return (points (..., M, 3) [m] of the joints, orientations of the parts by role) from trackers' reports.

        A tracker whose orientation is not known keeps its position: the direction of its joint is not known either.
        """
        given = floats(points, "points", len(self.markers), 3).copy()
        rotated = {}
        for role, value in (orientations or {}).items():
            k = self._index(role)
            rotated[role] = multiply(floats(value, f"the orientation of {role!r}", 4), conjugate(self.rotations[k]))
            moved = given[..., k, :] - rotate(rotated[role], self.offsets[k])
            known = np.isfinite(rotated[role]).all(axis=-1, keepdims=True)
            given[..., k, :] = np.where(known, moved, given[..., k, :])
        return given, rotated

    def trackers(self, points: ArrayLike, orientations: Mapping[str, ArrayLike]) -> tuple[Floats, dict[str, Floats]]:
        """Return what trackers would report of joints (..., M, 3) [m] and parts: the inverse of `apply`."""
        given = floats(points, "points", len(self.markers), 3).copy()
        rotated = {}
        for role, value in orientations.items():
            k, part = self._index(role), floats(value, f"the orientation of {role!r}", 4)
            given[..., k, :] += rotate(part, self.offsets[k])
            rotated[role] = multiply(part, self.rotations[k])
        return given, rotated

    def scaled(self, body: Humanoid) -> Humanoid:
        """Return the body with the person's lengths. Its meshes are left out unless all scales are the same."""
        return scaled_body(body, self.scales)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the calibration to a JSON file that a person can read."""
        rows = zip(self.markers, self.offsets.tolist(), self.rotations.tolist(), strict=True)
        document = {
            "format": FORMAT,
            "trackers": [{"part": role, "offset": offset, "rotation": rotation} for role, offset, rotation in rows],
            "scales": {name: float(scale) for name, scale in self.scales.items()},
        }
        write_document(path, document, _CalibrationFile)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Calibration:
        """Read a calibration that `save` wrote."""
        found = read_document(path, _CalibrationFile, FORMAT, MAX_BYTES)
        rotations = np.array([tracker.rotation for tracker in found.trackers])
        with np.errstate(over="ignore"):
            unit = np.abs(np.linalg.norm(rotations, axis=-1) - 1.0) <= 1e-3
        if not unit.all():
            raise FormatError(path, "has a rotation that is not a unit quaternion", "trackers")
        offsets = np.array([tracker.offset for tracker in found.trackers])
        try:
            return cls(tuple(tracker.part for tracker in found.trackers), offsets, rotations, dict(found.scales))
        except PosableError as error:
            raise FormatError(path, str(error)) from error

    def _index(self, role: str) -> int:
        if role not in self.markers:
            raise UnknownNameError("part with a tracker", role, self.markers)
        return self.markers.index(role)


class _TrackerEntry(msgspec.Struct, forbid_unknown_fields=True):
    """A tracker in a file: its part, its offset [m] and its rotation there."""

    part: str
    offset: tuple[float, float, float]
    rotation: tuple[float, float, float, float]


class _CalibrationFile(msgspec.Struct, forbid_unknown_fields=True):
    """A calibration's file."""

    format: str
    trackers: Annotated[list[_TrackerEntry], msgspec.Meta(min_length=1, max_length=64)]
    scales: dict[str, float]


def scaled_body(body: Humanoid, scales: Mapping[str, float]) -> Humanoid:
    """Return a body with other lengths of `PARTS` and the same canonical frames and limits."""
    from ..body import Humanoid

    skeleton = body.skeleton
    part = np.array([_part_of(body, j) for j in range(len(skeleton))])
    own = np.array([scales[name] for name in part])
    # A joint's offset is as long as the part that carries it: the hip joints' belong to the trunk.
    carried = np.array([scales[part[max(int(p), 0)]] for p in skeleton.parents])
    same = len(set(scales.values())) == 1
    character = skeleton.character.scaled(scales["trunk"]) if same and skeleton.character is not None else None
    made = skeleton.replace(
        offsets=skeleton.offsets * carried[:, None],
        end_offsets=skeleton.end_offsets * own[skeleton.end_parents][:, None],
        character=character,
    )
    neutral = body.neutral_pose
    roles: dict[str, Any] = {role: skeleton.names[j] for role, j in (body.roles | body.fingers).items()}
    standing = Pose(neutral.translation * scales["legs"], neutral.rotations)
    return Humanoid(made, roles=roles, limits=body.limits, standing=standing)


def _part_of(body: Humanoid, joint: int) -> str:
    """Return the one of `PARTS` that a joint rotates."""
    path = set(body.skeleton.path(joint))
    for name, role in (("legs", "upper_leg"), ("arms", "upper_arm")):
        if path & {body.roles[f"left_{role}"], body.roles[f"right_{role}"]}:
            return name
    return "trunk"


def _check_parts(markers: tuple[str, ...]) -> None:
    for role in markers:
        if role not in TRACKABLE:
            raise UnknownNameError("part that can be calibrated", role, TRACKABLE)


def _main(markers: tuple[str, ...]) -> list[int]:
    """Return the rows of `MARKERS`; of all parts where there are fewer than two of those."""
    found = [k for k, role in enumerate(markers) if role in MARKERS]
    return found if len(found) > 1 else list(range(len(markers)))


def _checked_trackers(
    points: ArrayLike, orientations: Mapping[str, ArrayLike], markers: tuple[str, ...]
) -> tuple[Floats, dict[str, Floats]]:
    """Return (points (F, M, 3) [m], unit orientations (F, 4) by role) of trackers."""
    given = floats(points, "points")
    given = given[None] if given.ndim == 2 else given
    if given.ndim != 3 or given.shape[1:] != (len(markers), 3):
        raise ShapeError(f"points have shape {np.shape(points)}; expected (F, {len(markers)}, 3)")
    rotated = {}
    for role, value in orientations.items():
        if role not in markers:
            raise UnknownNameError("part with a tracker", role, markers)
        q = floats(value, f"orientations of {role!r}")
        if q.shape not in ((4,), (len(given), 4)):
            raise ShapeError(f"orientations of {role!r} have shape {q.shape}; expected ({len(given)}, 4)")
        rotated[role] = normalize(np.broadcast_to(q, (len(given), 4)))
    return given, rotated


def _mean_rotation(rotations: Floats) -> Floats:
    """Return the mean (4,) of orientations (F, 4): the largest eigenvector of their outer products, without NaN."""
    seen = rotations[np.isfinite(rotations).all(axis=-1)]
    return np.asarray(np.linalg.eigh(seen.T @ seen)[1][:, -1]) if len(seen) else IDENTITY


def _named_pose(body: Humanoid, pose: Pose | str) -> Pose:
    if not isinstance(pose, str):
        return pose
    if pose not in POSES:
        raise UnknownNameError("pose", pose, POSES)
    if pose == "neutral":
        return body.neutral_pose
    roles = tuple(body.roles)
    rotations = np.tile(IDENTITY, (len(roles), 1))
    for role, sign in (("left_upper_arm", 1.0), ("right_upper_arm", -1.0)):
        rotations[roles.index(role)] = axis_angle((0.0, 0.0, 1.0), sign * math.pi / 2.0)
    return body.pose(CanonicalPose(roles, rotations, np.array(UP)))


def _standing(body: Humanoid, pose: Pose, markers: tuple[str, ...]) -> tuple[Floats, Floats]:
    """Return (joints (M, 3) [m] with the soles on the floor, their canonical orientations (M, 4))."""
    frames = body.skeleton.forward(pose)
    ankles = [frames.positions[body.index(f"{s}_foot")][1] - sole_of(body, s).depth for s in ("left", "right")]
    joints = np.array([frames.positions[body.index(role)] for role in markers]) - [0.0, min(ankles), 0.0]
    return joints, np.array([body.canonical_orientation(frames, body.index(role)) for role in markers])


def _yaw(joints: Floats, positions: Floats) -> float:
    """Return how far the person faces to the left of the body [rad], by least squares, seen from above."""
    a, b = (x - x.mean(axis=0) for x in (joints, positions))
    return math.atan2(float((a[:, 2] * b[:, 0] - a[:, 0] * b[:, 2]).sum()), float((a * b)[:, [0, 2]].sum()))


def _scale(joints: Floats, positions: Floats) -> float:
    """Return how much taller the person is, by least squares of heights above the floor."""
    scale = float((joints[:, 1] @ positions[:, 1]) / (joints[:, 1] @ joints[:, 1]))
    if not 0.05 < scale < 20.0:
        raise PosableError(f"trackers are {scale:.3g} times as high as the body's joints; expected y up, in metres")
    return scale


def _measured(body: Humanoid, joints: Mapping[str, Floats], pelvis: Floats, trunk: float) -> dict[str, float]:
    """Return the scales from joints (F, 3) [m] and the canonical orientation (F, 4) of the pelvis.

    `trunk` is its scale where no head is tracked.
    """
    neutral = body.neutral_frames.positions
    hips = neutral[body.index("hips")]
    if "head" in joints:
        longest = float(np.linalg.norm(neutral[body.index("head")] - hips))
        trunk = float(np.percentile(np.linalg.norm(joints["head"] - joints["hips"], axis=-1), LONGEST)) / longest
    legs = []
    for side in ("left", "right"):
        if f"{side}_foot" in joints:
            hip = joints["hips"] + rotate(pelvis, (neutral[body.index(f"{side}_upper_leg")] - hips) * trunk)
            far = np.linalg.norm(joints[f"{side}_foot"] - hip, axis=-1)
            legs.append(float(np.percentile(far, LONGEST)) / (STRETCHED * body.limb(f"{side}_leg").length))
    return {"legs": float(np.mean(legs)) if legs else trunk, "trunk": trunk, "arms": trunk}


def _reconstructed_pelvis(body: Humanoid, joints: Mapping[str, Floats]) -> Floats:
    """Return canonical orientations (F, 4) of a pelvis without orientation, as `SequentialIK` finds them."""
    solution = SequentialIK(body, markers=tuple(joints)).solve(np.stack(list(joints.values()), axis=1))
    return body.canonical_orientation(body.skeleton.forward(solution.pose), body.index("hips"))
