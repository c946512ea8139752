"""`Clip`: a motion analysed for editing: rates of its DoF, moving parts, velocities of parts."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..body import Humanoid
from ..compute import PosableError, ShapeError
from ..compute.types import Floats, Ints
from ..skeleton import Motion, Pose
from .parts import EFFECTORS, Parts, find_parts
from .rates import CUTOFF, dof_rates, smoothed, stacked_jacobians


@dataclass(frozen=True, eq=False)
class Clip:
    """A motion analysed for editing; made by `read_clip`."""

    motion: Motion
    body: Humanoid
    smooth: Pose
    """(F,) the motion after a low-pass filter of 8 Hz."""
    rates: Floats
    """(F, n) rates of the edited DoF [rad/s], [m/s]."""
    parts: Parts

    def __len__(self) -> int:
        return len(self.motion)

    @property
    def fps(self) -> float:
        """Frames per second."""
        return self.motion.fps

    def jacobians(self, frames: Ints) -> Floats:
        """Return the Jacobians (K, 6 E, m) of the effectors at some frames, for the DoF that move."""
        columns = self.parts.dofs[self.parts.fitted]
        return stacked_jacobians(self.body, self.smooth[frames], self.parts.joints, columns)

    def velocities(self, joints: Sequence[int]) -> Floats:
        """Return velocities (F, E, 6) of joints in the world, linear [m/s] then angular [rad/s]: J times the rates."""
        rows = np.empty((len(self), len(joints), 6))
        skeleton, dofs = self.body.skeleton, self.parts.dofs
        for start in range(0, len(self), 512):  # long clips piece by piece: a Jacobian takes 6 numbers a DoF
            piece = slice(start, start + 512)
            frames = skeleton.forward(self.smooth[piece])
            for e, joint in enumerate(joints):
                jacobian = skeleton.jacobian(self.smooth[piece], joint, frames=frames)[..., dofs]
                rows[piece, e] = np.einsum("frd,fd->fr", jacobian, self.rates[piece])
        return rows

    @property
    def digest(self) -> str:
        """A hash of this motion on this skeleton, for files made from it."""
        pose, skeleton = self.motion.pose, self.body.skeleton
        parts = [pose.translation, pose.rotations, skeleton.offsets, self.parts.dofs, self.parts.joints]
        parts += [] if pose.offsets is None else [pose.offsets]
        found = hashlib.sha256(f"{self.fps} {skeleton.names} {skeleton.kinds}".encode())
        for array in parts:
            found.update(np.ascontiguousarray(array).tobytes())
        return found.hexdigest()


def read_clip(motion: Motion, body: Humanoid, effectors: Sequence[str] = EFFECTORS, cutoff: float = CUTOFF) -> Clip:
    """Analyse a motion for editing.

    Args:
        motion: with at least one frame.
        body: the body that performs it, a `Humanoid` on the motion's skeleton.
        effectors: the end effectors; roles or names of joints.
        cutoff: of the low-pass filter before rates are taken [Hz].
    """
    if motion.pose.joint_count != len(body.skeleton):
        raise ShapeError(f"the motion has {motion.pose.joint_count} joints, the body {len(body.skeleton)}")
    if len(motion) == 0:
        raise PosableError("the motion has no frames; an editor needs at least one")
    if not motion.pose.is_finite():
        raise PosableError("the motion has numbers that are not finite; repair or cut it first")
    smooth = smoothed(motion, cutoff)
    rates = dof_rates(body, smooth, motion.fps)
    parts = find_parts(body, rates, effectors)
    edited = np.ascontiguousarray(rates[:, parts.dofs])
    edited[:, ~parts.moving] = 0.0
    return Clip(motion, body, smooth, edited, parts)
