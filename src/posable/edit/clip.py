"""`Clip`: a motion analysed for editing: the DoF that are edited, their rates, the velocities of parts.

Komura et al. 2004, section 6, steer a figure of 60 DoF by hands, feet and head. Here they are found on any body: the
root, and every joint on the path from it to those five parts but the clavicles, which keep the clip's rotations
(`specs/edit.md`, section 1). On a CMU rig that makes the paper's 60. A DoF whose rate is zero over the whole clip is
locked: it has no weight to find and it never moves. A whole limb that never moves in the clip is not locked, or it
could not be dragged: its weights are the mean ones.

Rates of balls and of the root are body angular velocities by central differences, w = log(R(t-1)^T R(t+1)) / (2 dt),
never rates of Euler angles (the paper's Theta; its erratum K7). Differences of noise are noise, and weights fitted to
noise are too, so the clip is smoothed first: 8 Hz, second order, forwards and backwards, at any frame rate. The parts'
velocities are J times the DoF rates, not differences of their positions, so that the fit is consistent.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..body import Humanoid
from ..compute import PosableError, ShapeError, UnknownNameError, check_stop
from ..compute.types import Bools, Floats, Ints
from ..math import conjugate, log, multiply, normalize, rotate
from ..skeleton import Motion, Pose

EFFECTORS = ("left_hand", "right_hand", "left_foot", "right_foot", "head")
"""The parts that the paper's weights are fitted to, in the order of all tables here."""
LEFT_ALONE = ("left_shoulder", "right_shoulder")
LOCKED = 1e-9  # [rad/s], [m/s]: a DoF that never moves faster is locked
CUTOFF = 8.0  # [Hz]


@dataclass(frozen=True, eq=False)
class Parts:
    """The edited DoF and the end effectors of one body."""

    body: Humanoid
    effectors: tuple[str, ...]
    """(E,) roles."""
    joints: Ints
    """(E,) their joints."""
    dofs: Ints
    """(n,) which of `skeleton.dofs` are edited, in their order."""
    moving: Bools
    """(n,) DoF that move in the clip: those that have weights to find."""
    free: Bools
    """(n,) DoF that may be moved: not locked."""

    @property
    def fitted(self) -> Ints:
        """Rows of `dofs` that have weights to find."""
        return np.flatnonzero(self.moving)

    def names(self) -> tuple[str, ...]:
        """Return the names (n,) of the edited DoF."""
        names = self.body.skeleton.dofs.names
        return tuple(names[d] for d in self.dofs)


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

    @cached_property
    def peak_acceleration(self) -> float:
        """The largest acceleration of a joint in the world [m/s2]; 0 for fewer than three frames."""
        positions = self.body.skeleton.forward(self.motion.pose).positions
        return float(np.linalg.norm(np.diff(positions, 2, axis=0), axis=-1).max(initial=0.0)) * self.fps**2

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


def joint_of(body: Humanoid, part: str | int) -> int:
    """Return the joint of a part: a role, or the name or index of any joint."""
    if isinstance(part, str) and part in body.roles:
        return body.roles[part]
    if isinstance(part, str) and part not in body.skeleton.names:
        raise UnknownNameError("part of this body", part, (*body.roles, *body.skeleton.names))
    return body.skeleton.index(part)


def frame_of(frame: Any, count: int) -> int:
    """Return a frame's number, counted from the end where it is negative; raises where there is no such frame."""
    try:
        at = int(frame)
    except (TypeError, ValueError):
        at = count
    if at != frame or not -count <= at < count:
        raise PosableError(f"frame {frame!r} does not exist; there are frames 0 to {count - 1}")
    return at % count


def part_of(body: Humanoid, joint: int) -> str:
    """Return the role of a joint, else its name."""
    joint = body.skeleton.index(joint)
    return next((role for role, known in body.roles.items() if known == joint), body.skeleton.names[joint])


def edited_dofs(body: Humanoid, effectors: Sequence[str] = EFFECTORS) -> Ints:
    """Return the DoF (n,) of the joints between the root and the effectors, without those of the clavicles."""
    skeleton = body.skeleton
    left_alone = {body.roles[role] for role in LEFT_ALONE if role in body.roles}
    joints_between = {
        j for part in (*EFFECTORS, *effectors) if part in body.roles for j in skeleton.path(body.roles[part])
    }
    return np.flatnonzero(np.isin(skeleton.dofs.joint, sorted(joints_between - left_alone)))


def find_parts(body: Humanoid, rates: Floats, effectors: Sequence[str] = EFFECTORS) -> Parts:
    """Find the edited, moving and locked DoF of a clip.

    Args:
        body: the body of the clip.
        rates: (F, D) rates of all its DoF.
        effectors: the end effectors.
    """
    if len(set(effectors)) != len(effectors) or not effectors:
        raise PosableError(f"parts {tuple(effectors)}: give at least one, each once")
    joints = np.array([joint_of(body, part) for part in effectors], dtype=np.int64)
    dofs = edited_dofs(body, effectors)
    moving = np.abs(rates[:, dofs]).max(axis=0, initial=0.0) > LOCKED
    free = moving.copy()
    for chain in _chains(body):
        rows = np.isin(body.skeleton.dofs.joint[dofs], chain)
        if not moving[rows].any():
            free |= rows
    return Parts(body, tuple(effectors), joints, dofs, moving, free)


def _chains(body: Humanoid) -> list[list[int]]:
    """Return the joints of the root, the spine and the four limbs, which are locked together or not at all."""
    skeleton, hips = body.skeleton, body.roles["hips"]
    trunk = {*skeleton.path(hips), *body.spine}
    chains = [list(skeleton.path(hips)), [j for j in body.spine if j != hips]]
    for part in EFFECTORS[:4]:
        if part in body.roles:
            chains.append([j for j in skeleton.path(body.roles[part]) if j not in trunk])
    return chains


def smoothed(motion: Motion, cutoff: float = CUTOFF) -> Pose:
    """Return the clip's poses (F,) after a Butterworth low-pass filter of `cutoff` [Hz], with no delay.

    A clip too slow (fps below 2.2 times the cutoff) or too short (under 4 frames) to filter comes back as it is.
    """
    pose, frames = motion.pose, len(motion)
    if frames < 4 or motion.fps < 2.2 * cutoff:
        return pose
    from scipy.signal import butter, sosfiltfilt

    sections = butter(2, cutoff, fs=motion.fps, output="sos")
    pad = min(3 * (2 * len(sections) + 1), frames - 1)

    def filtered(values: Floats) -> Floats:
        check_stop()
        return np.asarray(sosfiltfilt(sections, values, axis=0, padlen=pad))

    rotations = normalize(filtered(_unrolled(pose.rotations)))
    offsets = None if pose.offsets is None else filtered(pose.offsets)
    return Pose(filtered(pose.translation), rotations, offsets)


def dof_rates(body: Humanoid, pose: Pose, fps: float) -> Floats:
    """Return the rate (F, D) of every DoF [rad/s], [m/s], by central differences; one-sided at the clip's ends.

    Where a file moves the hips by a joint's offset instead of the root, that counts as the root's translation.
    """
    skeleton, frames = body.skeleton, pose.shape[0]
    rates = np.zeros((frames, len(skeleton.dofs)))
    if frames < 2:
        return rates
    before, after = np.maximum(np.arange(frames) - 1, 0), np.minimum(np.arange(frames) + 1, frames - 1)
    seconds = ((after - before) / fps)[:, None]
    spin = log(multiply(conjugate(pose.rotations[before]), pose.rotations[after])) / seconds[..., None]
    values = skeleton.values(pose)
    steps = (values[after] - values[before]) / seconds
    travel = (_hips_path(body, pose)[after] - _hips_path(body, pose)[before]) / seconds
    for j, kind in enumerate(skeleton.kinds):
        rows = skeleton.dofs.of(j)
        if kind == "free":
            rates[:, rows] = np.concatenate([travel, spin[:, j]], axis=1)
        elif kind == "ball":
            rates[:, rows] = spin[:, j]
        elif kind == "hinge":
            rates[:, rows] = spin[:, j] @ skeleton.axes[j, 0][:, None]
        else:
            rates[:, rows] = steps[:, rows]
    return rates


def stacked_jacobians(body: Humanoid, pose: Pose, joints: Ints, dofs: Ints) -> Floats:
    """Return the Jacobians (F, 6 E, n) of joints, positions then rotations in the world, for the DoF in `dofs`."""
    frames = body.skeleton.forward(pose)
    rows = [body.skeleton.jacobian(pose, int(j), frames=frames)[..., dofs] for j in joints]
    return np.concatenate(rows, axis=-2)


def _hips_path(body: Humanoid, pose: Pose) -> Floats:
    """Return the path (F, 3) of the root [m], with the displacement of the hips by joint offsets that change."""
    position = pose.translation.copy()
    if pose.offsets is None:
        return position
    world = body.skeleton.forward(pose).orientations
    for j in body.skeleton.path(body.roles["hips"])[1:]:
        moved = pose.offsets[:, j] - pose.offsets[:1, j]
        position += rotate(world[:, body.skeleton.parents[j]], moved)
    return position


def _unrolled(q: Floats) -> Floats:
    """Return quaternions (F, J, 4), each with the sign nearest to the one before: else a filter mixes q and -q."""
    flips = np.where((q[1:] * q[:-1]).sum(axis=-1) < 0.0, -1.0, 1.0)
    signs = np.concatenate([np.ones((1, *flips.shape[1:])), np.cumprod(flips, axis=0)])
    return np.asarray(q * signs[..., None])
