"""A robot's pose from a posture in canonical rotations: the nearest that its motors can do, limits as bounds.

Part by part from the pelvis outwards: the joints of a part are rotated until the part's orientation in the world is the
posture's, or as near as they come (damped least squares on the rotation that is left, from several starts). Of a bone
the direction counts three times as much as the twist. Motors that move joints of two legs (NAO's hips) take the mean of
what the legs ask for, and the legs make up for it. `ps.retarget` does more: feet that stand, hands in their places, no
self-collision, speeds.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from ...compute.types import Bools, Floats, Ints
from ...math import axis_angle, conjugate, log, multiply, rotate
from ...skeleton import Pose, Skeleton
from ..canonical import CanonicalPose
from ..roles import LIMBS, TRUNK, parent_role
from .parts import RobotParts

if TYPE_CHECKING:
    from ..humanoid import Humanoid

ABOUT_ITSELF = 1.0 / 3.0  # weight of a bone's twist
STEPS, DAMPING, LONGEST_STEP = 40, 1e-6, 0.6
AT_BOUND = 1e-9


def nearest_pose(body: Humanoid, posture: CanonicalPose, base: Pose, hips: Floats) -> Pose:
    """Return the pose of a robot nearest to a posture, inside the limits of its joints.

    Args:
        body: the robot.
        posture: one, or a batch; parts that it lacks follow the part above them.
        base: what joints of no part do; broadcasts with the posture.
        hips: (..., 3) [m] where the joint of the hips goes.
    """
    batch = np.broadcast_shapes(posture.shape, base.shape, hips.shape[:-1])
    return _Posing(body, posture, base, hips, batch).pose()


def clamped(skeleton: Skeleton, pose: Pose) -> Pose:
    """Return the pose of a robot with every joint inside its limits, and followers where their leaders put them."""
    robot = skeleton.robot
    if robot is None:
        return pose
    values = np.clip(joint_values(skeleton, pose), robot.lower, robot.upper)
    return skeleton.from_values(np.clip(robot.coupled(values), robot.lower, robot.upper))


def joint_values(skeleton: Skeleton, pose: Pose) -> Floats:
    """Return (..., D) the values of a robot's pose as its motors count them.

    A rotation does not tell whole turns: of the values that it may mean, the one nearest to the middle of the limits.
    """
    values, robot = skeleton.values(pose), skeleton.robot
    if robot is None:
        return values
    hinge = np.array([skeleton.kinds[j] == "hinge" for j in skeleton.dofs.joint])
    known = hinge & np.isfinite(robot.lower) & np.isfinite(robot.upper)
    middle = 0.5 * (np.where(known, robot.lower, 0.0) + np.where(known, robot.upper, 0.0))
    return values - np.where(known, 2.0 * np.pi * np.round((values - middle) / (2.0 * np.pi)), 0.0)


class _Posing:
    def __init__(
        self, body: Humanoid, posture: CanonicalPose, base: Pose, hips: Floats, batch: tuple[int, ...]
    ) -> None:
        assert body.robot_parts is not None
        self.body, self.batch = body, batch
        self.skeleton: Skeleton = body.skeleton
        self.parts: RobotParts = body.robot_parts
        dofs = len(self.skeleton.dofs)
        self.n = int(np.prod(batch))
        values = joint_values(self.skeleton, base)
        self.values: Floats = np.broadcast_to(values, (*batch, dofs)).reshape(self.n, dofs).copy()
        robot = self.skeleton.robot
        self.low = np.full(dofs, -np.inf) if robot is None else robot.lower
        self.high = np.full(dofs, np.inf) if robot is None else robot.upper
        for joint in {j for limb in self.parts.limbs.values() for j in limb.joints} | {
            *self.parts.trunk,
            *self.parts.neck,
        }:
            self.values[:, self.dofs((joint,))] = 0.0
        self.values = np.clip(self.values, self.low, self.high)
        self.frames: dict[int, Floats] = {}
        world = posture.world()
        roles = list(body.roles)
        followed = [role if role in posture.roles else parent_role(role, posture.roles) or "hips" for role in roles]
        canonical = world[..., [posture.roles.index(role) for role in followed], :]
        canonical = np.broadcast_to(canonical, (*batch, len(roles), 4)).reshape(self.n, len(roles), 4)
        self.canonical = {role: canonical[:, k] for k, role in enumerate(roles)}
        self.hips = np.broadcast_to(hips, (*batch, 3)).reshape(self.n, 3)

    def pose(self) -> Pose:
        parts = self.parts
        self.fit_trunk()
        self.place("hips", parts.hips)
        if parts.neck:
            self.fit(parts.neck, "head", 1.0)
        self.fit_limbs(())
        if parts.shared:
            self.couple()
        return self.made()

    # Parts

    def target(self, role: str, joint: int) -> Floats:
        """(n, 4) the orientation in the world that a joint's frame should have."""
        return multiply(self.canonical[role], self.body._neutral[joint])

    def fit_limbs(self, fixed: Sequence[int]) -> None:
        for name, limb in self.parts.limbs.items():
            upper, lower, end = LIMBS[name]
            for role, joints, twist_weight in (
                (upper, limb.base, ABOUT_ITSELF),
                (lower, limb.mid, ABOUT_ITSELF),
                (end, limb.end, 1.0),
            ):
                if joints:
                    self.fit(joints, role, twist_weight, fixed)

    def couple(self) -> None:
        """Give motors that joints of two parts share the mean of what the parts ask for, and fit the rest again."""
        fixed: list[int] = []
        for leader in self.parts.shared_dofs.tolist():
            followers = [m for m in self.parts.shared if m.leader == leader]
            requested = [self.values[:, leader]]
            requested += [
                (self.values[:, m.dof] - m.offset) / m.multiplier for m in followers if abs(m.multiplier) > 1e-9
            ]
            self.values[:, leader] = np.clip(np.mean(requested, axis=0), self.low[leader], self.high[leader])
            for m in followers:
                value = m.multiplier * self.values[:, leader] + m.offset
                self.values[:, m.dof] = np.clip(value, self.low[m.dof], self.high[m.dof])
            fixed += [leader, *(m.dof for m in followers)]
        self.frames.clear()
        self.place("hips", self.parts.hips)
        self.fit_limbs(fixed)

    def fit_trunk(self) -> None:
        """Set the waist's joints so that the chest is rotated against the pelvis as requested."""
        parts = self.parts
        chest = next((role for role in TRUNK[::-1] if role in self.canonical), "hips")
        to_pelvis = tuple(j for j in parts.trunk[::-1] if j in self.skeleton.path(parts.hips))
        to_chest = tuple(j for j in parts.trunk if j not in to_pelvis)
        if to_pelvis:  # the root is the chest, or between: keep the chest, rotate the pelvis under it
            self.place(chest, parts.chest)
            self.fit(to_pelvis, "hips", 1.0)
        if to_chest:
            self.place("hips", parts.hips)
            self.fit(to_chest, chest, 1.0)

    # Frames

    def place(self, role: str, joint: int) -> None:
        """Rotate the root so that the frame of a role's joint is in the world as the posture says."""
        self.frames.clear()
        self.frames[0] = np.tile([1.0, 0.0, 0.0, 0.0], (self.n, 1))
        under = self.orientation(joint)
        self.frames.clear()
        self.frames[0] = multiply(self.target(role, joint), conjugate(under))

    def orientation(self, joint: int) -> Floats:
        """(n, 4) of a joint in the world, at the values found so far."""
        if joint not in self.frames:
            above = self.orientation(int(self.skeleton.parents[joint]))
            self.frames[joint] = multiply(above, self.local(joint, self.values))
        return self.frames[joint]

    def local(self, joint: int, values: Floats) -> Floats:
        """(n, 4) the rotation of a joint against the one above, at values (n, D)."""
        rest = self.skeleton.rest_rotations[joint]
        rotation = np.broadcast_to(rest, (len(values), 4))
        if self.skeleton.kinds[joint] == "hinge":
            d = self.skeleton.dofs.of(joint).start
            rotation = multiply(rest, axis_angle(self.skeleton.axes[joint, 0], values[:, d]))
        return np.asarray(rotation)

    def dofs(self, joints: Sequence[int]) -> Ints:
        found = [d for j in joints for d in range(*self.skeleton.dofs.of(j).indices(len(self.skeleton.dofs)))]
        return np.array(found, dtype=np.int64)

    # Fitting

    def fit(self, joints: Sequence[int], role: str, twist_weight: float, fixed: Sequence[int] = ()) -> None:
        """Set the joints of one part so that the last one's frame is in the world as the posture says."""
        free = [j for j in joints if self.skeleton.kinds[j] == "hinge" and self.dofs((j,))[0] not in fixed]
        if not free:
            return
        dofs, target = self.dofs(free), self.target(role, joints[-1])
        path = self.rigid_path(joints[0], joints[-1])
        above = self.orientation(int(self.skeleton.parents[joints[0]]))
        weights = np.array([1.0, twist_weight, 1.0])
        to_canonical = conjugate(multiply(target, conjugate(self.body._neutral[joints[-1]])))
        best, least = self.values[:, dofs].copy(), np.full(self.n, np.inf)
        for start in self.starts(dofs):
            values = self.values.copy()
            values[:, dofs] = start
            missed = self.descend(values, path, free, dofs, above, target, to_canonical, weights)
            better = missed < least - 1e-9
            best[better], least[better] = values[better][:, dofs], missed[better]
            if (least < 1e-9).all():
                break
        self.values[:, dofs] = best
        for joint in [j for j in self.frames if joints[0] in self.skeleton.path(j)]:
            del self.frames[joint]

    def starts(self, dofs: Ints) -> list[Floats]:
        """Values to start from: zero, then a third into the range from either end."""
        low = np.where(np.isfinite(self.low[dofs]), self.low[dofs], -np.pi)
        high = np.where(np.isfinite(self.high[dofs]), self.high[dofs], np.pi)
        thirds = [(low[k] + (high[k] - low[k]) / 3, low[k] + 2 * (high[k] - low[k]) / 3) for k in range(len(dofs))]
        return [np.clip(np.zeros(len(dofs)), low, high), *(np.array(corner) for corner in product(*thirds))]

    def rigid_path(self, first: int, last: int) -> list[int]:
        """The joints of the rig from one down to another, fixed ones included."""
        path = self.skeleton.path(last)
        return list(path[path.index(first) :])

    def descend(
        self,
        values: Floats,
        path: Sequence[int],
        free: Sequence[int],
        dofs: Ints,
        above: Floats,
        target: Floats,
        to_canonical: Floats,
        weights: Floats,
    ) -> Floats:
        """Bring values (n, D) nearer to the target in place; return what is missed, a square of an angle (n,)."""
        low, high = self.low[dofs], self.high[dofs]

        def errors() -> tuple[Floats, list[Floats]]:
            at, axes = above, []
            for joint in path:
                at = multiply(at, self.local(joint, values))
                if joint in free:
                    axes.append(rotate(to_canonical, rotate(at, self.skeleton.axes[joint, 0])) * weights)
            left = log(multiply(target, conjugate(at)))
            return rotate(to_canonical, left) * weights, axes

        error, axes = errors()
        missed = (error * error).sum(axis=-1)
        for _ in range(STEPS):
            jacobian = np.stack(axes, axis=-1)
            gradient = np.einsum("nij,ni->nj", jacobian, error)
            locked: Bools = ((values[:, dofs] <= low + AT_BOUND) & (gradient < 0)) | (
                (values[:, dofs] >= high - AT_BOUND) & (gradient > 0)
            )
            jacobian = np.where(locked[:, None, :], 0.0, jacobian)
            gradient = np.where(locked, 0.0, gradient)
            gram = np.einsum("nij,nik->njk", jacobian, jacobian) + DAMPING * np.eye(len(dofs))
            step = np.linalg.solve(gram, gradient[..., None])[..., 0]
            longest = np.abs(step).max(axis=-1, keepdims=True)
            step = step * np.minimum(1.0, LONGEST_STEP / np.maximum(longest, 1e-12))
            before = values[:, dofs].copy()
            values[:, dofs] = np.clip(before + step, low, high)
            error, axes = errors()
            now = (error * error).sum(axis=-1)
            worse = now > missed
            if worse.any():
                values[np.ix_(worse, dofs)] = np.clip(before[worse] + 0.25 * step[worse], low, high)
                error, axes = errors()
                now = (error * error).sum(axis=-1)
                still = now > missed
                values[np.ix_(still, dofs)] = before[still]
                now = np.where(still, missed, now)
            done = bool((missed - now < 1e-15).all())
            missed = now
            if done:
                break
        return np.asarray(missed)

    # The pose

    def made(self) -> Pose:
        robot = self.skeleton.robot
        values = self.values if robot is None else np.clip(robot.coupled(self.values), self.low, self.high)
        pose = self.skeleton.from_values(values)
        rotations = pose.rotations.copy()
        rotations[:, 0] = self.frames[0]
        if robot is not None and robot.mimics:
            self.values = values
            self.place("hips", self.parts.hips)
            rotations[:, 0] = self.frames[0]
        frames = self.skeleton.forward(Pose(np.zeros((self.n, 3)), rotations, pose.offsets))
        translation = self.hips - frames.positions[:, self.body.roles["hips"]]
        shaped = Pose(translation, rotations, pose.offsets)
        return shaped.reshape(*self.batch) if self.batch else shaped[0]
