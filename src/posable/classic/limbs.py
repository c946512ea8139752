"""The methods that pose limbs in closed form, and prioritised IK from Sequential IK's pose.

KMA (Kulpa, Multon and Arnaldi 2005): the spine by CCD from the neutral pose in every frame, limbs by the closed form of
Tolani, Goswami and Badler (2000) with their swivel at a fixed reference. TGBSIK: Sequential IK's pelvis, spine and
clavicles, with the swivel of least swing and twist of shoulder or hip. Both as Unzueta et al. 2008, section 9, say.
Where a swivel lies outside the limits, the limb solver takes the nearest inside, so that hands and feet stay on their
points; the paper clamps the joints and loses them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..body.packed import LIMBS
from ..compute import PosableError, Status
from ..compute.types import Floats
from ..limb import Target
from ..math import between, conjugate, from_matrix, multiply, rotate, swing_twist
from ..reconstruct import SequentialIK
from ..skeleton import Pose
from .iterative import CCD, IterativeIK
from .six_points import SixPointIK, SixPointMethod, SixPointPIK

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


class PIKFromSIK(SixPointPIK):
    """Prioritised IK that starts every frame from Sequential IK's pose and is drawn to it: the paper's section 10.

    Where Sequential IK meets all six points nothing is left to do; where it does not, the whole body helps.
    """

    def __init__(
        self, body: Humanoid, weights: Sequence[float] = (1.0, 1.0, 0.0), limits: Limits | str | None = "body"
    ) -> None:
        super().__init__(body, weights, limits)
        self._sequential = plain_sequential(body, weights, limits)

    def _make(self) -> IterativeIK:
        solver = super()._make()
        solver._set(fresh=1)
        solver._problem = solver._problem._replace(relaxed=np.empty((0, len(self.skeleton), 4)))  # drawn to the start
        return solver

    def _begin(self, points: Floats, tracks: int) -> tuple[Floats, Pose]:
        pose = trunk_pose(self._sequential, points, tracks)
        roots = np.concatenate([pose.translation, pose.rotations[:, 0]], axis=1)
        roots[~np.isfinite(points).all(axis=(1, 2))] = np.nan
        return roots, pose


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
    sound = np.asarray(np.isfinite(points).all(axis=(1, 2)))
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
