"""Six-point adapters: the iterative methods on a humanoid, called as `SequentialIK` is (Unzueta et al. 2008, 9).

The pelvis is placed on its point, oriented as Sequential IK estimates it (specification reconstruct, erratum 22). The
spine's joints, clavicles, shoulders and hips are balls, elbows and knees hinges, everything else stays as in the
neutral pose. Every frame starts from the one before it, the first from the relaxed pose (a straight limb is singular:
no step of these methods shortens it). For the same reason elbows and knees bend to one side only and stay a degree
short of straight, whatever the body's limits let them do. Lengths of the paper (1 cm, 1 mm, a damping of 75) are
those of a body of 1.84 m and scale with the body (erratum 15).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..body import MARKERS
from ..body.packed import PackedBody
from ..compute import PosableError, ShapeError, Status
from ..compute.extent import rows_in_extent
from ..compute.types import ArrayLike, Bools, Floats, Records, floats
from ..limits.nearest import HINGE
from ..math import axis_angle, conjugate, multiply, rotate
from ..reconstruct.solutions import (
    ReconstructMotionSolution,
    ReconstructSolution,
    motion_solution,
)
from ..skeleton import Motion, Pose, Skeleton
from .iterative import (
    BLOCK,
    CCD,
    DLS,
    DLSSVD,
    FABRIK,
    PIK,
    SDLS,
    Effector,
    IterativeIK,
    JacobianTranspose,
    Pseudoinverse,
    Stop,
)
from .model import GUARD, IDENTITY

if TYPE_CHECKING:
    from ..body import Humanoid
    from ..limits import Limits

PAPER_HEIGHT = 1.84
"""[m]: as tall as the paper's three bodies are on average by its own measure, which is `Humanoid.joint_height`."""
MIN_BEND = 0.02  # [rad] of elbows and knees
POINTS_HINT = " in the order of MARKERS"
BALLS = ("shoulder", "upper_arm", "upper_leg")
HINGES = {"lower_arm": (-1.0, 0.0, 0.0), "lower_leg": (1.0, 0.0, 0.0)}
"""Canonical axes of flexion."""


class SixPointMethod(ABC):
    """Bodies from six points, whatever the method."""

    body: Humanoid

    def solve(self, points: ArrayLike) -> ReconstructSolution:
        """Bodies from points (..., 6, 3) [m] in the world, in the order of `MARKERS`; each has no frame before it."""
        given = floats(points, "points", 6, 3, hint=POINTS_HINT)
        flat = given.reshape(-1, 6, 3)
        blocks = [flat[first : first + BLOCK] for first in range(0, max(len(flat), 1), BLOCK)]
        with np.errstate(over="ignore", invalid="ignore"):  # of points that are none, whose rows are INVALID
            parts = [self._reconstructed(block, len(block)) for block in blocks]
        translation, rotations, errors, status = (np.concatenate(column) for column in zip(*parts, strict=True))
        shape, count = given.shape[:-2], len(self.body.skeleton)
        pose = Pose(translation.reshape(*shape, 3), rotations.reshape(*shape, count, 4))
        return ReconstructSolution(pose, status, errors, given, lost=lost_points(given))

    def track(self, points: ArrayLike, *, fps: float = 60.0) -> ReconstructMotionSolution:
        """Reconstruct a motion from points (F, 6, 3), each frame after the one before it; fps in frames/s."""
        given = floats(points, "points", 6, 3, hint=POINTS_HINT)
        if given.ndim != 3:
            raise ShapeError(f"points have shape {given.shape}; expected (F, 6, 3)")
        with np.errstate(over="ignore", invalid="ignore"):
            translation, rotations, errors, status = self._reconstructed(given, 1)
        motion = Motion(self.body.skeleton, Pose(translation, rotations), fps)
        frames = ReconstructSolution(motion.pose, status, errors, given, lost=lost_points(given))
        return motion_solution(motion, frames)

    @abstractmethod
    def _reconstructed(self, points: Floats, tracks: int) -> tuple[Floats, Floats, Floats, Any]:
        """Return (translation, rotations, marker errors (N, 6), status) of rows that are tracks of equal length."""


class SixPointIK(SixPointMethod):
    """The base of the iterative methods on a body. Immutable.

    Args:
        body: the body; the points are its joints.
        weights: of wrists, ankles and the frame before in the pelvis' heading.
        limits: "body": this body's; None: none; or other ones.
    """

    kind: ClassVar[type[IterativeIK]]
    balanced: ClassVar[bool] = True
    """Whether hips and head divide the error that the spine leaves."""
    begins_straight: ClassVar[bool] = False
    """Whether a frame may start with straight elbows and knees."""

    def __init__(
        self, body: Humanoid, weights: Sequence[float] = (1.0, 1.0, 0.0), limits: Limits | str | None = "body"
    ) -> None:
        body.require_person(type(self).__name__)
        self.body, self._weights = body, checked_weights(weights)
        self.limits = body.limits_for(limits)
        self._scale = body.joint_height / PAPER_HEIGHT
        self.skeleton = self._working()
        """The body's skeleton with the joints that these methods move."""
        self._solver = self._make()
        packed = PackedBody(body, limits)
        guards, rows = _body_guards(packed, self.skeleton), _hinge_limits(packed.limits, self.begins_straight)
        self._solver._problem = self._solver._problem._replace(limits=rows, curves=packed.curves, guards=guards)
        if self.balanced:
            self._solver._set(balance=0)

    def _working(self) -> Skeleton:
        """The body's skeleton with the joints that the method moves."""
        return working_skeleton(self.body)

    def _make(self) -> IterativeIK:
        """The method, with the paper's settings."""
        return self.kind(self.skeleton, self._effectors(), stop=self._stop())

    def _stop(self) -> Stop:
        return Stop(tolerance=0.01 * self._scale, improvement=0.001 * self._scale)

    def _effectors(self) -> list[Effector]:
        """Head, hands and feet, in the order of `MARKERS`; chains for CCD: the spine, clavicle and arm, the legs."""
        roles, names = self.body.roles, self.skeleton.names
        spine = [j for j in self.body.spine if self.skeleton.kinds[j] == "ball"]
        bases = [spine[0] if spine else roles["head"]]
        bases += [roles.get(f"{side}_shoulder", roles[f"{side}_upper_arm"]) for side in ("left", "right")]
        bases += [roles[f"{side}_upper_leg"] for side in ("left", "right")]
        return [Effector(names[roles[role]], base=base) for role, base in zip(MARKERS[1:], bases, strict=True)]

    def _reconstructed(self, points: Floats, tracks: int) -> tuple[Floats, Floats, Floats, Any]:
        roots, starts = self._begin(points, tracks)
        targets = np.ascontiguousarray(points[:, 1:])
        frames = self._solver._run(targets, np.empty((0, 5, 4)), starts, tracks, roots)
        hips = np.linalg.norm(frames.translation - roots[:, :3], axis=-1)
        hips = np.where(frames.status == Status.INVALID, np.inf, hips)
        missed = (frames.status == Status.REACHED) & (hips > self._solver.stop.tolerance)
        status = np.where(missed, Status.UNREACHABLE, frames.status)
        errors = np.concatenate([hips[:, None], frames.position_error], axis=1)
        return frames.translation, frames.rotations, errors, status

    def _begin(self, points: Floats, tracks: int) -> tuple[Floats, Pose]:
        """Return (roots (N, 7), starts): where roots go, and the poses that the first frames start from."""
        return self._roots(points, tracks), Pose.stack([relaxed_pose(self.body, self.skeleton)])

    def _roots(self, points: Floats, tracks: int) -> Floats:
        """Return (N, 7) position and orientation of the root, with the hips on their point; NaN where points are."""
        orientation, neutral = pelvis(points, self._weights, tracks), self.body.neutral_frames
        hips = neutral.positions[self.body.roles["hips"]] - neutral.positions[0]
        position = points[:, 0] - rotate(orientation, hips)
        return np.concatenate([position, multiply(orientation, neutral.orientations[0])], axis=1)


class SixPointCCD(SixPointIK):
    """CCD: the spine, then each clavicle and arm together, and the legs."""

    kind = CCD


class SixPointFABRIK(SixPointIK):
    """FABRIK, all points together."""

    kind = FABRIK


class SixPointTranspose(SixPointIK):
    """The Jacobian transpose."""

    kind = JacobianTranspose


class SixPointPseudoinverse(SixPointIK):
    """The pseudo-inverse."""

    kind = Pseudoinverse


class SixPointSDLS(SixPointIK):
    """Selectively damped least squares."""

    kind = SDLS


class SixPointDLS(SixPointIK):
    """Damped least squares with the paper's damping of 75, which is 0.75 m at 1.84 m (erratum 15)."""

    kind = DLS

    def _make(self) -> IterativeIK:
        return self.kind(self.skeleton, self._effectors(), stop=self._stop(), damping=0.75 * self._scale)


class SixPointDLSSVD(SixPointDLS):
    """The same through singular values."""

    kind = DLSSVD


class SixPointPIK(SixPointIK):
    """Prioritised IK: hips first (placed exactly), then ankles, wrists and the head; the rest is relaxed."""

    kind = PIK
    balanced = False
    levels: ClassVar[tuple[int, ...]] = (3, 2, 2, 1, 1)
    attraction: ClassVar[float] = 0.1

    def _make(self) -> IterativeIK:
        pairs = zip(self._effectors(), self.levels, strict=True)
        effectors = [Effector(one.joint, level=level) for one, level in pairs]
        relaxed = relaxed_pose(self.body, self.skeleton)
        return PIK(self.skeleton, effectors, stop=self._stop(), relaxed=relaxed, attraction=self.attraction)


def lost_points(points: Floats) -> Bools:
    """Return (..., 6) which points are not finite, or beyond the extent."""
    return ~rows_in_extent(points)


def checked_weights(weights: Sequence[float]) -> Floats:
    """The pelvis' weights as an array (3,)."""
    given = np.array(weights, dtype=np.float64)
    if given.shape != (3,) or not np.isfinite(given).all() or (given < 0.0).any() or given.sum() == 0.0:
        raise PosableError(f"weights are {weights}; expected three numbers, 0 or more, not all 0")
    return given


def pelvis(points: Floats, weights: Floats, tracks: int) -> Floats:
    """(N, 4): Sequential IK's estimate of the pelvis, canonical in the world, for tracks of points (N, 6, 3)."""
    from .kernels import pelvis_rows

    out = np.empty((len(points), 4))
    if len(points):
        pelvis_rows(tracks, weights, np.ascontiguousarray(points), out)
    return out


def working_skeleton(body: Humanoid) -> Skeleton:
    """The body's skeleton at rest in its neutral pose, with the joints that six points can move, and no others.

    Of joints of the spine without a role only the last below an unmoved head bends: it moves what the head's limit is
    about, as `Neck1` of the CMU rig does.
    """
    skeleton, roles, neutral = body.skeleton, body.roles, body.neutral_frames
    kinds, axes = ["fixed"] * len(skeleton), np.zeros((len(skeleton), 2, 3))
    axes[:, 0, 0], axes[:, 1, 1] = 1.0, 1.0
    for k, row in enumerate(body.packed.spine):
        if row["bends"] and (body.spine_roles[k] or k == len(body.spine) - 2):
            kinds[row["joint"]] = "ball"
    for side in ("left", "right"):
        for part in BALLS:
            if f"{side}_{part}" in roles:
                kinds[roles[f"{side}_{part}"]] = "ball"
        for part, axis in HINGES.items():
            joint = roles[f"{side}_{part}"]
            kinds[joint] = "hinge"
            axes[joint, 0] = rotate(conjugate(neutral.orientations[joint]), axis)
    return skeleton.replace(kinds=kinds, axes=axes, rest_rotations=body.neutral_pose.rotations, robot=None)


def relaxed_pose(body: Humanoid, skeleton: Skeleton) -> Pose:
    """Standing with arms and legs slightly bent, elbows backwards and knees forward (section 9, PIK)."""
    rotations = skeleton.rest_rotations.copy()
    neutral = skeleton.forward(skeleton.rest).orientations
    for side in ("left", "right"):
        for part, angle in (("upper_arm", 0.2), ("lower_arm", -0.4), ("upper_leg", -0.2), ("lower_leg", 0.4)):
            joint = body.roles[f"{side}_{part}"]
            rotation = axis_angle(rotate(conjugate(neutral[joint]), [1.0, 0.0, 0.0]), angle)
            rotations[joint] = multiply(rotations[joint], rotation)
    return Pose(skeleton.rest.translation, rotations)


def _hinge_limits(limits: Records, begins_straight: bool) -> Records:
    """Return limits with the lower end of hinges raised to `MIN_BEND`.

    A joint that starts outside its limits may be as far outside at either end. So where limbs may start straight, the
    upper end is lowered by as much as the lower one is raised.
    """
    rows = limits.copy()
    hinges = rows["kind"] == HINGE
    high = rows["c1"] + rows["r1"]
    own = rows["c1"] - rows["r1"]
    low = np.minimum(np.maximum(own, MIN_BEND), high)
    high = np.maximum(high - (low - own), low) if begins_straight else high
    rows["c1"] = np.where(hinges, 0.5 * (low + high), rows["c1"])
    rows["r1"] = np.where(hinges, 0.5 * (high - low), rows["r1"])
    return rows


def _body_guards(packed: PackedBody, skeleton: Skeleton) -> Records:
    """Return the limits (J,) of the joints that move, which apply to canonical rotations."""
    body, guards = packed.body, np.zeros(len(skeleton), GUARD)
    guards["row"], guards["before"], guards["after"] = -1, IDENTITY, IDENTITY
    orientations, roles = body.neutral_frames.orientations, {joint: role for role, joint in body.roles.items()}
    for joint in np.flatnonzero([kind not in ("fixed", "free") for kind in skeleton.kinds]).tolist():
        role = roles.get(joint, "head")  # a joint of the spine without a role moves the head alone
        guards["row"][joint] = packed.drive["limit"][body.roles[role]]
        guards["before"][joint] = orientations[skeleton.parents[joint]]
        guards["after"][joint] = conjugate(orientations[joint])
    return guards
