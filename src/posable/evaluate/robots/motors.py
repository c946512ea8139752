"""The demands of a motion on the joints of a robot: limits, speeds, accelerations, jerks, and jumps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...compute.types import Bools, Floats, Ints
from ...skeleton import Motion

ROUNDING = 1e-6  # [rad] or [m] beyond a limit, and of a speed: what numbers lose on their way through a file
JUMP = 0.2  # [rad]: no smaller step is a jump
JUMP_RATIO = 4.0
"""A step is a jump where it is this many times as long as the eight steps around it, their median."""
AROUND = 4


@dataclass(frozen=True, eq=False)
class JointRates:
    """The joints of a robot over time, the root left out."""

    dofs: Ints
    """(N,) of the skeleton."""
    rotates: Bools
    """(N,) whether it is a rotation [rad], not a length [m]."""
    excess: Floats
    """(F, N) how far beyond its limits each is [rad or m]; 0 inside."""
    speeds: Floats
    """(F - 1, N) [rad/s or m/s]."""
    accelerations: Floats
    """(F - 2, N) [rad/s² or m/s²]."""
    jerks: Floats
    """(F - 3, N) [rad/s³ or m/s³]."""
    too_fast: Bools
    """(F - 1, N) where a motor is asked for more than its file says it can."""
    jumps: Bools
    """(F - 1, N) steps that jump."""


def joint_rates(motion: Motion) -> JointRates:
    """Return what a robot's motion asks of its joints, by plain differences of their values."""
    skeleton, fps = motion.skeleton, motion.fps
    robot = skeleton.robot
    assert robot is not None
    dofs = np.array([d for d, j in enumerate(skeleton.dofs.joint.tolist()) if j], dtype=np.int64)
    rotates = np.array([skeleton.dofs.kind[d] == "rotation" for d in dofs.tolist()], dtype=np.bool_)
    values = skeleton.values(motion.pose)[:, dofs]
    steps = np.diff(values, axis=0)
    steps = np.where(rotates, (steps + np.pi) % (2.0 * np.pi) - np.pi, steps)  # an angle is known up to full turns
    return JointRates(
        dofs,
        rotates,
        _excess(values, rotates, robot.lower[dofs], robot.upper[dofs]),
        np.abs(steps) * fps,
        np.abs(np.diff(steps, axis=0)) * fps**2,
        np.abs(np.diff(steps, n=2, axis=0)) * fps**3,
        np.abs(steps) * fps > robot.velocity[dofs] * (1.0 + ROUNDING),
        _jumps(np.abs(steps)) & rotates,
    )


def _excess(values: Floats, rotates: Bools, lower: Floats, upper: Floats) -> Floats:
    """Return how far values (F, N) are beyond their limits, of an angle whichever full turn is nearest."""
    best = np.full(values.shape, np.inf)
    for full in (-1.0, 0.0, 1.0):
        shifted = values + np.where(rotates, 2.0 * np.pi * full, 0.0)
        best = np.minimum(best, np.maximum(np.maximum(lower - shifted, shifted - upper), 0.0))
    return np.where(best > ROUNDING, best, 0.0)


def _jumps(steps: Floats) -> Bools:
    """Return which steps (F - 1, N) [rad] are far longer than those around them."""
    count = len(steps)
    found = np.zeros(steps.shape, np.bool_)
    for frame in np.flatnonzero((steps > JUMP).any(axis=1)).tolist():
        around = [k for k in range(max(0, frame - AROUND), min(count, frame + AROUND + 1)) if k != frame]
        usual = np.median(steps[around], axis=0) if around else np.zeros(steps.shape[1])
        found[frame] = (steps[frame] > JUMP) & (steps[frame] > JUMP_RATIO * usual)
    return found
