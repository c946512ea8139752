"""Volumes of a body that has a skin: fitted to the vertices that each part carries."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...collision.fitting import fit_volumes
from ..roles import parent_role

if TYPE_CHECKING:
    from ...collision import Volumes
    from ...compute.types import Floats, Ints
    from ..humanoid import Humanoid

NEEDED = 0.8
"""The share of a body's parts that must have a volume; a skin that covers less (a helmet, gloves) is not the body's."""


def skin_volumes(body: Humanoid) -> Volumes | None:
    """One volume for each part with a skin, or None where the skeleton has no skin or one that covers too little.

    Joints without a role (fingers, twist joints, hair) give what they carry to the nearest part above them.
    """
    character = body.skeleton.character
    if character is None or not character.meshes:
        return None
    part_of = _parts(body)
    points = np.concatenate([mesh.vertices for mesh in character.meshes])
    owners = np.concatenate(
        [part_of[mesh.joints[np.arange(len(mesh.joints)), mesh.weights.argmax(axis=1)]] for mesh in character.meshes]
    )
    first = character.meshes[0]
    positions, orientations = first.bind_positions, first.bind_orientations
    for mesh in character.meshes[1:]:
        if not np.allclose(mesh.bind_positions, positions, atol=1e-4):
            return None  # bound in different poses: there is no one pose to fit in
    names = {joint: role for role, joint in body.roles.items()}
    made = fit_volumes(points, owners, positions, orientations, _tips(body, positions), names)
    return made if len(made) >= NEEDED * len(body.roles) else None


def _parts(body: Humanoid) -> Ints:
    """(J,) the nearest joint with a role at or above each joint; the hips for those above them."""
    parts = np.full(len(body.skeleton), body.index("hips"))
    roles = set(body.roles.values())
    for joint, parent in enumerate(body.skeleton.parents):
        parts[joint] = joint if joint in roles else (parts[parent] if parent >= 0 else body.index("hips"))
    return parts


def _tips(body: Humanoid, positions: Floats) -> dict[int, Floats]:
    """Where the bone of each limb part ends: at the next part of the limb."""
    tips = {}
    for role, joint in body.roles.items():
        if any(part in role for part in ("lower_arm", "hand", "lower_leg", "foot")):
            above = parent_role(role, body.roles)
            if above is not None:
                tips[body.index(above)] = positions[joint]
    return tips
