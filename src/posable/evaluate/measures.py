"""The measures of a reconstructed motion (Unzueta et al. 2008, section 9; specification reconstruct, sections 2 and 3).

All are pure functions of two motions of one skeleton. The paper scores 22 joints: root, sacroiliac and vl5, which lie
in one place, the rest of the spine up to the base of the skull, and clavicle, shoulder, elbow, wrist, hip, knee and
ankle of both sides. Rotations are local to the scored joint above; the root's is that in the world.

Those who reconstruct bodies from a headset score the 22 joints of SMPL (`smpl_joints`), and tell the mean joint
position error (MPJPE), the mean joint rotation error (MPJRE: here the angle between two rotations; some print the mean
of the absolute components of the difference of rotation vectors, which is about half of it) and the mean jerk, which
they call jitter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..body.roles import ROLES, parent_role
from ..compute import ShapeError
from ..compute.types import Floats, Ints
from ..math import angle, conjugate, multiply
from ..skeleton import Frames

if TYPE_CHECKING:
    from ..body import Humanoid

SIDED = ("shoulder", "upper_arm", "lower_arm", "hand", "upper_leg", "lower_leg", "foot")


@dataclass(frozen=True, eq=False)
class Scored:
    """The joints that count, and which of them each hangs on."""

    names: tuple[str, ...]
    joints: Ints
    """(K,) joints of the skeleton."""
    parents: Ints
    """(K,) index into `joints`; -1: the world."""


def scored_joints(body: Humanoid) -> Scored:
    """The scored joints of a body: hips (twice: root and sacroiliac), all other joints of the spine, and both sides'.

    On the CMU rig these are the paper's 22; a rig with another spine, or without clavicles, has as many as it has.
    """
    skeleton = body.skeleton
    names = ["hips", "sacroiliac", *(skeleton.names[j] for j in body.spine[1:])]
    joints, parents = [body.spine[0], *body.spine], [-1, 0, *range(1, len(body.spine))]
    parents[2:3] = [0]  # vl5 hangs on the root, not on the sacroiliac
    chest = 1 + body.chest
    for side in ("left", "right"):
        above = chest
        for part in SIDED:
            if part == "upper_leg":
                above = 1
            role = f"{side}_{part}"
            if role in body.roles:
                names.append(role)
                joints.append(body.roles[role])
                parents.append(above)
                above = len(joints) - 1
    return Scored(tuple(names), np.array(joints), np.array(parents))


def smpl_joints(body: Humanoid) -> Scored:
    """The 22 joints of SMPL's body: every part that has a role, as many of them as the rig has."""
    names = tuple(role for role in ROLES if role in body.roles)
    above = [parent_role(role, names) for role in names]
    parents = [-1 if role is None else names.index(role) for role in above]
    return Scored(names, np.array([body.roles[role] for role in names]), np.array(parents))


def position_errors(original: Floats, reconstructed: Floats, height: float) -> Floats:
    """(F, K): distances between joints (F, K, 3), as fractions of the body's height."""
    _same_shape(original, reconstructed)
    return np.asarray(np.linalg.norm(reconstructed - original, axis=-1) / height)


def orientation_errors(original: Floats, reconstructed: Floats) -> Floats:
    """(F, K) [rad]: angles between local rotations (F, K, 4)."""
    _same_shape(original, reconstructed)
    return angle(original, reconstructed)


def root_mean_square(errors: Floats) -> float:
    """The paper's number for a clip: errors (F, K) averaged over the joints, then their root mean square over frames.

    Frames that are not finite (nothing was reconstructed) count as they are: the result is then not finite either.
    """
    means = errors.mean(axis=-1)
    return float(np.sqrt((means * means).mean())) if means.size else 0.0


def local_rotations(frames: Frames, scored: Scored) -> Floats:
    """(F, K, 4): rotations of the scored joints in the frame of the scored joint above."""
    world = frames.orientations[..., scored.joints, :]
    local = world.copy()
    below = scored.parents >= 0
    local[..., below, :] = multiply(conjugate(world[..., scored.parents[below], :]), world[..., below, :])
    return local


def accelerations(positions: Floats, fps: float) -> Floats:
    """(F - 2, K) [m/s^2]: how strongly joints (F, K, 3) are accelerated, by second differences."""
    return np.asarray(np.linalg.norm(np.diff(positions, n=2, axis=0), axis=-1) * fps * fps)


def jitter(original: Floats, reconstructed: Floats, fps: float) -> float:
    """[m/s^2]: how far the joints' accelerations (vectors) lie from the original's, mean over frames and joints."""
    _same_shape(original, reconstructed)
    strays = accelerations(reconstructed - original, fps)
    return float(strays.mean()) if strays.size else 0.0


def jerk(positions: Floats, fps: float) -> float:
    """[m/s^3]: the mean jerk of joints (F, K, 3), by third differences: others' jitter, of one motion alone."""
    jerks = np.linalg.norm(np.diff(positions, n=3, axis=0), axis=-1) * fps**3
    return float(jerks.mean()) if jerks.size else 0.0


def _same_shape(original: Floats, reconstructed: Floats) -> None:
    if original.shape != reconstructed.shape:
        raise ShapeError(
            f"the original has shape {original.shape}, the reconstructed {reconstructed.shape}; expected the same"
        )
