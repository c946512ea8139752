"""The methods that pose limbs in closed form, and prioritised IK from Sequential IK's pose.

KMA (Kulpa, Multon and Arnaldi 2005): the spine by CCD from the neutral pose in every frame, limbs by the closed form of
Tolani, Goswami and Badler (2000) with their swivel at a fixed reference. TGBSIK: Sequential IK's pelvis, spine and
clavicles, with the swivel of least swing and twist of shoulder or hip. Both as Unzueta et al. 2008, section 9, say.
Where a swivel lies outside the limits, the limb solver takes the nearest inside, so that hands and feet stay on their
points; the paper clamps the joints and loses them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..body import MARKERS
from ..body.packed import LIMBS
from ..compute import PosableError, ShapeError, Status, UnknownNameError, expect
from ..compute.extent import rows_in_extent
from ..compute.types import ArrayLike, Bools, Floats, Ints, floats
from ..limb import Target
from ..math import between, conjugate, from_matrix, multiply, rotate, swing_twist
from ..reconstruct import SequentialIK
from ..reconstruct.solutions import (
    ReconstructMotionSolution,
    ReconstructSolution,
    motion_solution,
)
from ..skeleton import Motion, Pose, Skeleton
from .iterative import CCD, PIK, Effector, IterativeIK, Stop
from .six_points import (
    POINTS_HINT,
    SixPointIK,
    SixPointMethod,
    SixPointPIK,
    lost_points,
    working_skeleton,
)

if TYPE_CHECKING:
    from ..body import Humanoid
    from ..body.limb.body_limb import BodyLimb
    from ..limits import Limits

MET = 1e-6  # [m]: as of Sequential IK
ALIGNED = 1e-3  # sine of the angle at which a reference is too near to the limb's line
ROUND, FINE = 31, 10
"""Steps of the swivel's search in half a circle and in one of those: 0.1 and 0.01 rad, as the spine's."""


class KMA(SixPointIK):
    """Kulpa, Multon and Arnaldi's method as Unzueta et al. adapted it: the spine by CCD, limbs in closed form.

    Clavicles do not move. Elbows swivel towards -Y of the estimated pelvis (-Z where that is along the limb), knees
    towards +Z (+Y).
    """

    kind = CCD

    def __init__(
        self, body: Humanoid, weights: Sequence[float] = (1.0, 1.0, 0.0), limits: Limits | str | None = "body"
    ) -> None:
        super().__init__(body, weights, limits)
        self._limbs = {limb: body.limb(limb, limits=limits) for limb in LIMBS}

    def _make(self) -> IterativeIK:
        solver = CCD(self.skeleton, self._effectors()[:1], stop=self._stop())
        solver._set(fresh=1)
        return solver

    def _reconstructed(self, points: Floats, tracks: int) -> tuple[Floats, Floats, Floats, Any]:
        roots = self._roots(points, tracks)
        start = Pose.stack([self.body.neutral_pose])
        frames = self._solver._run(points[:, 1:2], np.empty((0, 1, 4)), start, tracks, roots)
        pose = Pose(frames.translation, frames.rotations)
        pelvis = multiply(roots[:, 3:], conjugate(self.body.neutral_frames.orientations[0]))
        poles = [self._pole(limb, pose, points[:, 2 + k], pelvis) for k, limb in enumerate(LIMBS)]
        return with_limbs(self.body, self._limbs, pose, points, poles, self._solver.stop.tolerance)

    def _pole(self, limb: str, pose: Pose, end: Floats, pelvis: Floats) -> Floats:
        """Return (N, 3) [m] a point that the elbow or knee swivels towards, for ends of the limb (N, 3)."""
        base = self.body.limb_joints(limb)[0]
        position = self.body.skeleton.forward(pose).positions[:, base]
        usual, other = ((0, -1, 0), (0, 0, -1)) if limb.endswith("arm") else ((0, 0, 1), (0, 1, 0))
        reach = end - position
        length = np.maximum(np.linalg.norm(reach, axis=-1, keepdims=True), 1e-300)
        first, second = rotate(pelvis, usual), rotate(pelvis, other)
        across = np.linalg.norm(np.cross(first, reach / length), axis=-1, keepdims=True)
        return position + np.where(across > ALIGNED, first, second)


class TGBSIK(SixPointMethod):
    """Tolani, Goswami and Badler's limbs on Sequential IK's trunk.

    The swivel is that of the least swing^2 + weight twist^2 of shoulder or hip from the neutral pose, searched through
    the whole circle in steps of 0.1 and then 0.01 rad.

    Args:
        body: the body; the points are its joints.
        weights: of wrists, ankles and the frame before in the pelvis' heading.
        limits: "body": this body's; None: none; or other ones.
        twist_weight: weight of the squared twist against the squared swing.
    """

    def __init__(
        self,
        body: Humanoid,
        weights: Sequence[float] = (1.0, 1.0, 0.0),
        limits: Limits | str | None = "body",
        twist_weight: float = 1.0,
    ) -> None:
        if not (math.isfinite(twist_weight) and twist_weight >= 0.0):
            raise PosableError(f"twist_weight is {twist_weight}; expected 0 or more")
        body.require_person(type(self).__name__)
        self.body, self.twist_weight = body, twist_weight
        self._trunk = plain_sequential(body, weights, limits)
        self._limbs = {limb: body.limb(limb, limits=limits) for limb in LIMBS}

    def _reconstructed(self, points: Floats, tracks: int) -> tuple[Floats, Floats, Floats, Any]:
        pose = trunk_pose(self._trunk, points, tracks)
        poles = [self._best_elbows(limb, pose, points[:, 2 + k]) for k, limb in enumerate(LIMBS)]
        return with_limbs(self.body, self._limbs, pose, points, poles, MET)

    def _best_elbows(self, limb: str, pose: Pose, end: Floats) -> Floats:
        """Return (N, 3) [m] elbows or knees of the least cost, for ends of the limb (N, 3)."""
        frames = self.body.skeleton.forward(pose)
        base = self.body.limb_joints(limb)[0]
        solver = self._limbs[limb]
        carrier = self._carrier(limb, frames.orientations)
        goal = rotate(conjugate(carrier), end - frames.positions[:, base])
        step = 2.0 * math.pi / (2 * ROUND + 1)
        # The same set in both directions: a mirrored limb finds the mirror image.
        angles: Floats = step * np.arange(-ROUND, ROUND + 1, dtype=np.float64)
        side = -1.0 if limb.endswith("arm") else 1.0  # an elbow bends the forearm forwards, a knee the calf backwards
        best = angles[np.argmin(self._costs(solver.upper, solver.lower, goal, angles[None], side), axis=1)]
        near: Floats = best[:, None] + step / FINE * np.arange(-FINE, FINE + 1, dtype=np.float64)
        costs = self._costs(solver.upper, solver.lower, goal, near, side)
        swivel = near[np.arange(len(near)), np.argmin(costs, axis=1)]
        elbow = _elbows(solver.upper, solver.lower, goal, swivel[:, None])[:, 0]
        return frames.positions[:, base] + rotate(carrier, elbow)

    def _carrier(self, limb: str, world: Floats) -> Floats:
        """(N, 4): canonical orientation of what the limb hangs on: clavicle or hips."""
        side = limb.partition("_")[0]
        roles = self.body.roles
        role = "hips" if limb.endswith("leg") else f"{side}_shoulder"
        joint = roles[role] if role in roles else int(self.body.spine[self.body.chest])
        return multiply(world[:, joint], conjugate(self.body.neutral_orientation(joint)))

    def _costs(self, upper: float, lower: float, goal: Floats, swivel: Floats, side: float) -> Floats:
        """(N, S): swing^2 + weight twist^2 of the upper bone for elbows at the given swivels."""
        elbow = _elbows(upper, lower, goal, swivel)
        bone = elbow / upper
        rest = goal[:, None] - elbow
        # The bone is -Y and the hinge X of the joint's frame: the limb's plane holds both bones.
        x = side * np.cross(bone, rest)
        length = np.linalg.norm(x, axis=-1, keepdims=True)
        x = np.where(length > 1e-9, x / np.maximum(length, 1e-300), _across(bone))
        y = -bone
        orientation = from_matrix(np.stack([x, y, np.cross(x, y)], axis=-1))
        swing, twist = swing_twist(orientation, [0.0, 1.0, 0.0])
        angle = 2.0 * np.arctan2(np.linalg.norm(swing[..., 1:], axis=-1), np.abs(swing[..., 0]))
        return np.asarray(angle**2 + self.twist_weight * np.asarray(twist) ** 2)


class PrioritisedSolution(ReconstructSolution):
    """Bodies from six points and constraints of the user's own: REACHED where all of them are within tolerance."""

    def __init__(
        self,
        pose: Pose,
        statuses: Ints,
        marker_errors: Floats,
        points: Floats,
        lost: Bools,
        constraint_errors: Floats,
        constraint_orientation_errors: Floats,
    ) -> None:
        super().__init__(pose, statuses, marker_errors, points, lost=lost)
        fields = self.__dict__
        fields["constraint_errors"] = constraint_errors
        fields["constraint_orientation_errors"] = constraint_orientation_errors

    if TYPE_CHECKING:
        constraint_errors: Floats
        """(..., C) [m] between each constraint's point and its target in the returned pose."""
        constraint_orientation_errors: Floats
        """(..., C) [rad]; 0 for constraints whose orientation is free."""

    @property
    def position_error(self) -> Floats:
        """(...) [m]: the largest error of all markers and constraints."""
        return np.asarray(np.maximum(super().position_error, self.constraint_errors.max(axis=-1, initial=0.0)))

    @property
    def orientation_error(self) -> Floats:
        """(...) [rad]: see `Solution`."""
        largest = self.constraint_orientation_errors.max(axis=-1, initial=0.0)
        return np.asarray(np.maximum(super().orientation_error, largest))


@dataclass(frozen=True, eq=False, repr=False)
class PrioritisedMotionSolution(ReconstructMotionSolution):
    """The same over time; fields as of `PrioritisedSolution`, a row a frame."""

    constraint_errors: Floats = field(default_factory=lambda: np.zeros(0))
    constraint_orientation_errors: Floats = field(default_factory=lambda: np.zeros(0))


class PIKFromSIK(SixPointPIK):
    """Prioritised IK that starts every frame from Sequential IK's pose and is drawn to it: the paper's section 10.

    Where Sequential IK meets all six points nothing is left to do; where it does not, the whole body helps, the pelvis
    too: it is a free joint here, and only its position has a point. What the paper wants this for are constraints of
    the user's own with priorities: each has a level among those of the points, and a higher one (a smaller number) is
    never given up for a lower one.

    Args:
        body: the body; the points are its joints.
        weights: of wrists, ankles and the frame before in the pelvis' heading.
        limits: "body": this body's; None: none; or other ones.
        constraints: points of the body with targets of their own, each an `Effector` (joint, point on it [m], oriented,
            weight, level); targets are given to `solve` and `track`. Default none.
        levels: levels of the six points by name; those not named are `LEVELS`: hips 10, feet 20, hands 30, head 40. A
            constraint of level 5 goes before all of them, one of 25 between feet and hands, one of 50 behind.
        stop: when to stop; default the paper's tolerance and improvement for this body, and 60 iterations.
    """

    begins_straight = True
    LEVELS: ClassVar[dict[str, int]] = {
        "hips": 10, "head": 40, "left_hand": 30, "right_hand": 30, "left_foot": 20, "right_foot": 20,
    }  # fmt: skip

    def __init__(
        self,
        body: Humanoid,
        weights: Sequence[float] = (1.0, 1.0, 0.0),
        limits: Limits | str | None = "body",
        *,
        constraints: Sequence[Effector] = (),
        levels: Mapping[str, int] | None = None,
        stop: Stop | None = None,
    ) -> None:
        body.require_person(type(self).__name__)
        for one in constraints:
            expect(Effector, one, "a constraint", ": Effector(joint, level=...)")
        for name, level in (levels or {}).items():
            if name not in self.LEVELS:
                raise UnknownNameError("point", name, MARKERS)
            if level < 1:
                raise PosableError(f"the level of {name} is {level}; expected 1 or more")
        self.constraints = tuple(constraints)
        self._point_levels, self._own_stop = {**self.LEVELS, **(levels or {})}, stop
        super().__init__(body, weights, limits)
        self._sequential = plain_sequential(body, weights, limits)

    def solve(
        self, points: ArrayLike, targets: ArrayLike | None = None, orientations: ArrayLike | None = None
    ) -> PrioritisedSolution:
        """Bodies from points (..., 6, 3) [m] in the world, in the order of `MARKERS`; each has no frame before it.

        Args:
            points: the six points.
            targets: (..., C, 3) [m] of the constraints, in their order; needed where there are any.
            orientations: (..., C, 4) `wxyz` of oriented constraints' joints in the world; rows of others are not read.
        """
        given = floats(points, "points", 6, 3, hint=POINTS_HINT)
        shape, flat = given.shape[:-2], given.reshape(-1, 6, 3)
        return self._prioritised(flat, self._targets(targets, orientations, shape), len(flat), given)

    def track(
        self,
        points: ArrayLike,
        targets: ArrayLike | None = None,
        orientations: ArrayLike | None = None,
        *,
        fps: float = 60.0,
    ) -> PrioritisedMotionSolution:
        """Reconstruct a motion from points (F, 6, 3); targets and orientations as of `solve`, a row a frame."""
        given = floats(points, "points", 6, 3, hint=POINTS_HINT)
        if given.ndim != 3:
            raise ShapeError(f"points have shape {given.shape}; expected (F, 6, 3)")
        found = self._prioritised(given, self._targets(targets, orientations, given.shape[:1]), 1, given)
        motion = motion_solution(Motion(self.body.skeleton, found.pose, fps), found)
        return PrioritisedMotionSolution(
            **{one.name: getattr(motion, one.name) for one in fields(motion)},
            constraint_errors=found.constraint_errors,
            constraint_orientation_errors=found.constraint_orientation_errors,
        )

    def _working(self) -> Skeleton:
        skeleton = working_skeleton(self.body)
        return skeleton.replace(kinds=["free", *skeleton.kinds[1:]])

    def _make(self) -> IterativeIK:
        joints = (self.body.index("hips"), *(one.joint for one in self._effectors()))
        points = [Effector(joint, level=self._point_levels[role]) for role, joint in zip(MARKERS, joints, strict=True)]
        effectors = [*points, *self.constraints]
        order = sorted({one.level for one in effectors})  # the kernels count levels without gaps
        effectors = [replace(one, level=1 + order.index(one.level)) for one in effectors]
        stop = self._own_stop or replace(self._stop(), iterations=60)
        solver = PIK(self.skeleton, effectors, stop=stop, attraction=self.attraction)  # drawn to the start
        solver._set(fresh=1)
        return solver

    def _targets(
        self, targets: ArrayLike | None, orientations: ArrayLike | None, shape: tuple[int, ...]
    ) -> tuple[Floats, Floats]:
        """Return (N, C, 3) targets and (N, C, 4) orientations of the constraints."""
        count, names = len(self.constraints), "targets (..., C, 3) and orientations (..., C, 4)"
        if targets is None and count:
            raise PosableError(f"there are {count} constraints; give their targets (..., {count}, 3)")
        oriented = any(one.oriented for one in self.constraints)
        if orientations is None and oriented:
            raise PosableError(f"some constraints are oriented; give their orientations (..., {count}, 4)")
        positions = np.zeros((count, 3)) if targets is None else floats(targets, "targets", count, 3)
        rotations = np.tile([1.0, 0.0, 0.0, 0.0], (count, 1))
        if orientations is not None:
            rotations = floats(orientations, "orientations", count, 4)
        try:
            positions, rotations = (
                np.broadcast_to(positions, (*shape, count, 3)),
                np.broadcast_to(rotations, (*shape, count, 4)),
            )
        except ValueError:
            raise ShapeError(f"{names} do not fit points of shape {(*shape, 6, 3)}") from None
        n = math.prod(shape)
        return positions.reshape(n, count, 3), rotations.reshape(n, count, 4)

    @np.errstate(over="ignore", invalid="ignore")  # of points that are none, whose rows are INVALID
    def _prioritised(
        self, points: Floats, own: tuple[Floats, Floats], tracks: int, given: Floats
    ) -> PrioritisedSolution:
        """Return the solution of rows that are poses alone, or one track; measured on the returned poses."""
        n, count = len(points), len(self.constraints)
        sound = rows_in_extent(points, 2) & rows_in_extent(own[0], 2)
        start = trunk_pose(self._sequential, points, tracks)
        roots = np.concatenate([start.translation, start.rotations[:, 0]], axis=1)
        roots[~sound] = np.nan
        orientations = np.empty((0, 6 + count, 4))
        if any(one.oriented for one in self.constraints):
            orientations = np.concatenate([np.tile([1.0, 0.0, 0.0, 0.0], (n, 6, 1)), own[1]], axis=1)
        targets = np.concatenate([points, own[0]], axis=1)
        frames = self._solver._run(targets, orientations, start, n, roots)
        pose, shape = Pose(frames.translation, frames.rotations), given.shape[:-2]
        bad = frames.status == Status.INVALID
        errors = np.where(bad[:, None], np.inf, np.linalg.norm(self.body.markers(pose) - points, axis=-1))
        lost = lost_points(given)
        shaped = Pose(pose.translation.reshape(*shape, 3), pose.rotations.reshape(*shape, *pose.rotations.shape[1:]))
        away = np.where(bad[:, None], np.inf, frames.position_error[:, 6:]).reshape(*shape, count)
        angle = np.where(bad[:, None], np.inf, frames.orientation_error[:, 6:]).reshape(*shape, count)
        return PrioritisedSolution(shaped, frames.status, errors, given, lost, away, angle)


def plain_sequential(body: Humanoid, weights: Sequence[float], limits: Limits | str | None) -> SequentialIK:
    """Sequential IK as published."""
    return SequentialIK(body, weights, None, limits, elbows_out=False, limit_rates=False)


def trunk_pose(sequential: SequentialIK, points: Floats, tracks: int) -> Pose:
    """Sequential IK's poses of rows that are poses alone, or one track."""
    return sequential.solve(points).pose if tracks == len(points) else sequential.track(points).motion.pose


def with_limbs(
    body: Humanoid,
    limbs: dict[str, BodyLimb],
    pose: Pose,
    points: Floats,
    poles: list[Floats],
    tolerance: float,
) -> tuple[Floats, Floats, Floats, Any]:
    """Return (translation, rotations, marker errors, status) of poses (N,) with hands and feet on their points.

    Args:
        body: the body of the poses.
        limbs: its limbs by name.
        pose: with the trunk as it will be.
        points: (N, 6, 3) [m].
        poles: (N, 3) [m] for each limb, in the order of `LIMBS`: where its elbow or knee swivels to.
        tolerance: [m] within which a point is met.
    """
    sound = rows_in_extent(points, 2)
    found = np.full(len(points), int(Status.REACHED))
    here = pose
    for k, name in enumerate(LIMBS):
        placed = limbs[name].place(here, Target(points[:, 2 + k], pole=poles[k]))
        here = placed.pose
        found = np.where((found == Status.REACHED) & (placed.position_error > tolerance), placed.status, found)
    rotations = np.where(sound[:, None, None], here.rotations, pose.rotations)
    done = Pose(pose.translation, rotations)
    residual = np.linalg.norm(body.markers(done) - points, axis=-1)
    met = (residual <= tolerance).all(axis=1)
    status = np.where(met, Status.REACHED, np.where(found == Status.REACHED, Status.UNREACHABLE, found))
    status = np.where(sound, status, Status.INVALID)
    return pose.translation, rotations, np.where(sound[:, None], residual, np.inf), status


def _elbows(upper: float, lower: float, goal: Floats, swivel: Floats) -> Floats:
    """(N, S, 3) [m]: where the joint between two bones can be for goals (N, 3), at swivels (N or 1, S) [rad].

    Out of reach the limb is straight towards its goal, or folded.
    """
    length = np.maximum(np.linalg.norm(goal, axis=-1, keepdims=True), 1e-9)
    along = goal / length
    hanging = between([0.0, -1.0, 0.0], along)
    first, second = rotate(hanging, [0.0, 0.0, 1.0]), rotate(hanging, [1.0, 0.0, 0.0])
    reach = np.clip((upper**2 + length**2 - lower**2) / (2.0 * length), -upper, upper)
    radius = np.sqrt(np.maximum(upper**2 - reach**2, 0.0))
    around = np.cos(swivel)[..., None] * first[:, None] + np.sin(swivel)[..., None] * second[:, None]
    return np.asarray((reach * along)[:, None] + radius[:, None] * around)


def _across(bone: Floats) -> Floats:
    """Unit vectors across bones that have no plane, nearest to where X is without a twist."""
    return rotate(between([0.0, -1.0, 0.0], bone), [1.0, 0.0, 0.0])
