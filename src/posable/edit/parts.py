"""The degrees of freedom that an editor moves, and the end effectors that steer them.

Komura et al. 2004, section 6, steer a figure of 60 DoF by hands, feet and head. Here they are found on any body: the
root, and every joint on the path from it to those five parts but the clavicles, which keep the clip's rotations
(`specs/edit.md`, section 1). On a CMU rig that makes the paper's 60.

A DoF whose rate is zero over the whole clip is locked: it has no weight to find and it never moves. A whole limb that
never moves in the clip is not locked, or it could not be dragged: its weights are the mean ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..body import Humanoid
from ..compute import PosableError, UnknownNameError
from ..compute.types import Bools, Floats, Ints

EFFECTORS = ("left_hand", "right_hand", "left_foot", "right_foot", "head")
"""The parts that the paper's weights are fitted to, in the order of all tables here."""
LEFT_ALONE = ("left_shoulder", "right_shoulder")
LOCKED = 1e-9  # [rad/s], [m/s]: a DoF that never moves faster is locked


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


def joint_of(body: Humanoid, part: str | int) -> int:
    """Return the joint of a part: a role, or the name or index of any joint."""
    if isinstance(part, str) and part in body.roles:
        return body.roles[part]
    if isinstance(part, str) and part not in body.skeleton.names:
        raise UnknownNameError("part of this body", part, (*body.roles, *body.skeleton.names))
    return body.skeleton.index(part)


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
