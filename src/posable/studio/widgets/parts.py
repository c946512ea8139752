"""The parts of a body by the names under which lists of the panel have them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...edit.clip import part_of
from ..view.theme import words

if TYPE_CHECKING:
    from ...body import Humanoid

FIRST = ("left_hand", "right_hand", "left_foot", "right_foot", "head", "hips", "chest")
"""Parts at the head of a list."""


def parts_by_name(body: Humanoid, joints: bool) -> dict[str, str]:
    """Return the parts of a body by their names in a list: roles, the usual ones first, then perhaps all joints."""
    roles = sorted(body.roles, key=lambda role: FIRST.index(role) if role in FIRST else len(FIRST))
    listed = {words(role): role for role in roles}
    for joint in range(len(body.skeleton)) if joints else ():
        part = part_of(body, joint)
        if part not in body.roles:
            listed[part if words(part) in listed else words(part)] = part
    return listed
