"""Rates of a clip's DoF and velocities of its parts (`specs/edit.md`, section 1).

Rates of balls and of the root are body angular velocities by central differences, w = log(R(t-1)^T R(t+1)) / (2 dt),
never rates of Euler angles (the paper's Theta; its erratum K7). Differences of noise are noise, and weights fitted to
noise are too, so the clip is smoothed first: 8 Hz, second order, forwards and backwards, at any frame rate. The parts'
velocities are J times the DoF rates, not differences of their positions, so that the fit is consistent.
"""

from __future__ import annotations

import numpy as np

from ..body import Humanoid
from ..compute.types import Floats, Ints
from ..math import conjugate, log, multiply, normalize, rotate
from ..skeleton import Motion, Pose

CUTOFF = 8.0  # [Hz]


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
