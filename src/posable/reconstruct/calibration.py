"""`Calibration`: trackers are not joints, and people are not the body at hand.

A tracker is strapped somewhere on a part: its place is the joint's plus an offset that turns with the part, its
orientation the part's times a constant turn. And the person's legs, trunk and arms are longer or shorter than the
body's. Both are found in one of two ways:

- `from_pose`: the person stands for a moment in a pose that is known, neutral or T. Offsets and turns then follow
  from how big the person is.
- `fit`: from seconds of any motion, once offsets are known or small: how long legs, trunk and arms are, because parts
  have the constant lengths they must have.

What this cannot tell. A head tracker 5 cm higher on a shorter person looks the same as one 5 cm lower on a taller one:
give `height` where it is known. All trackers worn 2 cm further forward look the same as a person who stands 2 cm
further forward. Six trackers in motion do not tell where on their parts they sit: between two of them there is always a
joint whose bend is not known, and what is usual for people (shins upright over feet, spines evenly bent) is off by more
than trackers are; tried on captured motion, offsets found that way were wrong by 10 cm and more. That is what the pose
is for. And without orientations a joint may lie in any direction from its tracker.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..body.roles import MARKERS
from ..compute import PosableError, ShapeError, UnknownNameError
from ..compute.types import ArrayLike, Floats, floats
from ..math import axis_angle, conjugate, multiply, normalize, rotate

if TYPE_CHECKING:
    from ..body import Humanoid
    from ..skeleton import Pose

PARTS = ("legs", "trunk", "arms")
"""What is longer or shorter by itself: legs from the hip joints down, arms from the shoulders on, and the rest."""


@dataclass(frozen=True, eq=False)
class Calibration:
    """Where trackers sit on a person, and how the person's lengths compare with a body's. Immutable."""

    markers: tuple[str, ...]
    """(M,) which part each tracker is on."""
    offsets: Floats
    """(M, 3) [m] from the part's joint to its tracker, in the part's canonical frame."""
    rotations: Floats
    """(M, 4) the tracker's orientation seen from the part's canonical one; the identity where it is not known."""
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
        for role in self.markers:
            if role not in MARKERS:
                raise UnknownNameError("part that can be calibrated", role, MARKERS)
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
        """From trackers on a person who stands in a known pose on the floor y = 0, anywhere, facing anywhere.

        Args:
            body: whose proportions the person has, but for their size.
            points: (M, 3) [m] of the trackers, or (F, M, 3) of some moments, which are averaged.
            orientations: role to (4,) or (F, 4) of the trackers, as they report them.
            pose: "neutral" (arms hanging, palms in), "t" (arms out to the sides, palms down), or any pose of the body.
            height: sole to top of the head [m]; without it the size is what fits the points best.
            markers: which part each tracker is on.
        """
        from .calibration_pose import calibrate_from_pose

        return calibrate_from_pose(body, points, orientations or {}, pose, height, tuple(markers))

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
        """The lengths of a person who moves: some seconds in which they walk, bend, turn and reach.

        Args:
            body: whose proportions are scaled to the person's.
            points: (F, M, 3) [m] of the trackers.
            orientations: role to (F, 4) of the trackers, as they report them.
            start: what is known already, from a pose: turns and offsets, which are kept. Without it trackers are taken
                to sit on the joints, turned as the parts are.
            markers: which part each tracker is on.
        """
        from .calibration_fit import calibrate_from_motion

        return calibrate_from_motion(body, points, orientations or {}, start, tuple(markers))

    def apply(
        self, points: ArrayLike, orientations: Mapping[str, ArrayLike] | None = None
    ) -> tuple[Floats, dict[str, Floats]]:
        """(points (..., M, 3) [m] of the joints, orientations of the parts by role) from what trackers report.

        A tracker whose orientation is not known keeps its place: nobody can say in which direction its joint lies.
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
        """The inverse of `apply`: what trackers would report of joints (..., M, 3) and parts."""
        given = floats(points, "points", len(self.markers), 3).copy()
        rotated = {}
        for role, value in orientations.items():
            k, part = self._index(role), floats(value, f"the orientation of {role!r}", 4)
            given[..., k, :] += rotate(part, self.offsets[k])
            rotated[role] = multiply(part, self.rotations[k])
        return given, rotated

    def scaled(self, body: Humanoid) -> Humanoid:
        """The body with the person's lengths. Its meshes are left out unless all scales are the same."""
        return scaled_body(body, self.scales)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the calibration to a JSON file."""
        from .calibration_file import write

        write(path, self)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Calibration:
        """Read a calibration that `save` wrote."""
        from .calibration_file import read

        return read(path)

    def _index(self, role: str) -> int:
        if role not in self.markers:
            raise UnknownNameError("part with a tracker", role, self.markers)
        return self.markers.index(role)


def scaled_body(body: Humanoid, scales: Mapping[str, float]) -> Humanoid:
    """A body with other lengths of `PARTS`; the same canonical frames and limits."""
    from ..body import Humanoid
    from ..skeleton import Pose

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
    roles: dict[str, Any] = {role: skeleton.names[j] for role, j in body.roles.items()}
    standing = Pose(neutral.translation * scales["legs"], neutral.rotations)
    return Humanoid(made, roles=roles, limits=body._limits, standing=standing)


def _part_of(body: Humanoid, joint: int) -> str:
    """Which of `PARTS` a joint turns."""
    path = set(body.skeleton.path(joint))
    for name, role in (("legs", "upper_leg"), ("arms", "upper_arm")):
        if path & {body.roles[f"left_{role}"], body.roles[f"right_{role}"]}:
            return name
    return "trunk"


def checked_trackers(
    points: ArrayLike, orientations: Mapping[str, ArrayLike], markers: tuple[str, ...]
) -> tuple[Floats, dict[str, Floats]]:
    """(F, M, 3) points and (F, 4) unit orientations, of trackers."""
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


def mean_rotation(rotations: Floats) -> Floats:
    """(4,) the mean of orientations (F, 4): the largest eigenvector of their outer products; NaN are left out."""
    seen = rotations[np.isfinite(rotations).all(axis=-1)]
    if not len(seen):
        return np.array([1.0, 0.0, 0.0, 0.0])
    return np.asarray(np.linalg.eigh(seen.T @ seen)[1][:, -1])


def upright(angle: float) -> Floats:
    """(4,) the rotation by an angle [rad] about the vertical."""
    return axis_angle([0.0, 1.0, 0.0], angle)
