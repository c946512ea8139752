"""A robot's motion as root positions, root orientations and joint values in the robot's own world, and back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...compute import PosableError
from ...compute.types import Floats
from ...math import conjugate, multiply, normalize, rotate
from ...skeleton import Motion, Pose, Skeleton
from ...skeleton.robot import UP
from .orders import Layout, joint_layout, robot_of

SMALLEST = 1e-3  # the length of a quaternion that still says a rotation


@dataclass(frozen=True, eq=False)
class RobotValues:
    """Where the root is and what the joints' values are, in a world with z up and x ahead."""

    layout: Layout
    fps: float
    positions: Floats
    """(F, 3) of the root's frame [m]."""
    orientations: Floats
    """(F, 4) of the root's frame, `wxyz`; of two neighbours the same half of all quaternions."""
    joints: Floats
    """(F, N) [rad or m] as the robot's file counts them."""

    @property
    def qpos(self) -> Floats:
        """(F, 7 + N): MuJoCo's, of a robot with a free root."""
        return np.concatenate([self.positions, self.orientations, self.joints], axis=1)


def robot_values(motion: Motion, order: str = "mujoco") -> RobotValues:
    """Return the values of a robot's motion, joints in an order of `ORDERS`."""
    skeleton = motion.skeleton
    robot, layout = robot_of(skeleton), joint_layout(skeleton, order)
    if not motion.pose.is_finite():
        raise PosableError("the motion has numbers that are not finite; such a file would be of no use")
    back = conjugate(UP[robot.up])
    joints = _counted(skeleton, layout, skeleton.values(motion.pose)[:, layout.dofs]) + robot.reference[layout.dofs]
    return RobotValues(
        layout,
        float(motion.fps),
        rotate(back, motion.pose.translation),
        _same_half(multiply(back, motion.pose.rotations[:, 0])),
        joints,
    )


def robot_motion(
    skeleton: Skeleton,
    layout: Layout,
    positions: Floats,
    orientations: Floats,
    joints: Floats,
    fps: float,
    name: str = "",
    notes: tuple[str, ...] = (),
) -> Motion:
    """Return the motion of a robot with these values: the inverse of `robot_values`.

    Args:
        skeleton: the robot's.
        layout: which joint each column is.
        positions: (F, 3) of the root [m], z up.
        orientations: (F, 4) of the root, `wxyz`; of any length that is not zero.
        joints: (F, N) [rad or m].
        fps: frames a second.
        name: of the motion.
        notes: of the motion.
    """
    robot = robot_of(skeleton)
    lengths = np.linalg.norm(orientations, axis=-1)
    if (lengths < SMALLEST).any():
        raise PosableError(f"frame {int(np.argmin(lengths))} has a root quaternion of length zero")
    values = np.zeros((len(joints), len(skeleton.dofs)))
    values[:, layout.dofs] = joints - robot.reference[layout.dofs]
    posed, up = skeleton.from_values(values), np.array(UP[robot.up])
    rotations = posed.rotations.copy()
    rotations[:, 0] = multiply(up, normalize(orientations))
    offsets = posed.offsets
    return Motion(skeleton, Pose(rotate(up, positions), rotations, offsets), fps, name, notes)


def _counted(skeleton: Skeleton, layout: Layout, values: Floats) -> Floats:
    """Return values (F, N) of joints as motors count them: rotations tell an angle only up to full turns.

    The one around the middle of a joint's limits (an upper arm of the H1 turns by 4.45 rad); of a joint without limits
    the one nearest to the frame before.
    """
    robot, made = robot_of(skeleton), values.copy()
    for column, dof in enumerate(layout.dofs.tolist()):
        if skeleton.dofs.kind[dof] != "rotation":
            continue
        lower, upper = float(robot.lower[dof]), float(robot.upper[dof])
        if np.isfinite(lower) and np.isfinite(upper):
            middle = 0.5 * (lower + upper)
            made[:, column] += 2.0 * np.pi * np.round((middle - made[:, column]) / (2.0 * np.pi))
        else:
            made[:, column] = np.unwrap(made[:, column])
    return made


def _same_half(quaternions: Floats) -> Floats:
    """Return quaternions (F, 4), each with the sign that is nearer to the one before it; the first with w >= 0.

    Those who interpolate a file's numbers one by one would turn the long way round.
    """
    if not len(quaternions):
        return quaternions
    signs = np.sign((quaternions[1:] * quaternions[:-1]).sum(axis=1))
    first = 1.0 if quaternions[0, 0] >= 0.0 else -1.0
    return np.asarray(quaternions * np.cumprod([first, *np.where(signs < 0.0, -1.0, 1.0)])[:, None])
