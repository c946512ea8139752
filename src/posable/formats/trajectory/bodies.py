"""Positions, orientations and velocities of all bodies of a robot, in a world with z up."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...compute.types import Floats
from ...math import conjugate, log, multiply, rotate
from ...skeleton import Motion
from ...skeleton.robot import UP
from .orders import Layout, robot_of
from .values import RobotValues


@dataclass(frozen=True, eq=False)
class BodyMotion:
    """The bodies of a layout over time, in a world with z up."""

    positions: Floats
    """(F, B, 3) of their frames' origins [m]."""
    orientations: Floats
    """(F, B, 4) `wxyz`."""
    velocities: Floats
    """(F, B, 3) of their frames' origins [m/s]."""
    angular_velocities: Floats
    """(F, B, 3) in the world [rad/s]."""
    joint_velocities: Floats
    """(F, N) [rad/s or m/s]."""


def body_motion(motion: Motion, values: RobotValues) -> BodyMotion:
    """Return how the bodies of a robot move.

    Args:
        motion: of a robot.
        values: of that motion.
    """
    skeleton, layout = motion.skeleton, values.layout
    back = conjugate(UP[robot_of(skeleton).up])
    frames = skeleton.forward(motion.pose)
    positions, orientations = rotate(back, frames.positions), multiply(back, frames.orientations)
    rates = np.zeros((len(motion), len(skeleton.dofs)))
    joint_velocities = rate(values.joints, values.fps)
    rates[:, layout.dofs] = joint_velocities
    linear, angular = np.zeros_like(positions), np.zeros_like(positions)
    linear[:, 0] = rate(values.positions, values.fps)
    angular[:, 0] = rotation_rate(values.orientations, values.fps)
    for j in range(1, len(skeleton)):
        above, kind = int(skeleton.parents[j]), skeleton.kinds[j]
        angular[:, j] = angular[:, above]
        arm = positions[:, j] - positions[:, above]
        linear[:, j] = linear[:, above] + np.cross(angular[:, above], arm)
        if kind in ("hinge", "slide"):
            along = rotate(orientations[:, j], skeleton.axes[j, 0]) * rates[:, skeleton.dofs.of(j)]
            (angular if kind == "hinge" else linear)[:, j] += along
    shown = layout.bodies
    return BodyMotion(
        positions[:, shown], orientations[:, shown], linear[:, shown], angular[:, shown], joint_velocities
    )


def rate(values: Floats, fps: float) -> Floats:
    """Return rates (F, ...) [a second]: central differences, one-sided in the first and the last frame."""
    if len(values) < 2:
        return np.zeros_like(values)
    return np.asarray(np.gradient(values, 1.0 / fps, axis=0))


def rotation_rate(orientations: Floats, fps: float) -> Floats:
    """Return angular velocities (F, 3) in the world [rad/s]: from the frame before to the one after, as `rate`."""
    count = len(orientations)
    if count < 2:
        return np.zeros((count, 3))
    before, after = np.maximum(np.arange(count) - 1, 0), np.minimum(np.arange(count) + 1, count - 1)
    rotated = log(multiply(orientations[after], conjugate(orientations[before])))
    return np.asarray(rotated * (fps / (after - before))[:, None])


def root_frame_positions(body: BodyMotion) -> Floats:
    """Return positions (F, B, 3) [m] of the bodies in the frame of the root."""
    away = body.positions - body.positions[:, :1]
    return rotate(conjugate(body.orientations[:, :1]), away)


__all__ = ["BodyMotion", "Layout", "body_motion", "rate", "root_frame_positions", "rotation_rate"]
