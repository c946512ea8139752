"""Who is who in a VRM file: the humanoid bone map of VRM 0 and VRM 1, in our role names.

Roles are VRM 1's names in snake_case. VRM 0 names the joints of a thumb one joint further out (its "proximal" is what
VRM 1 calls "metacarpal"), and its figures face -Z where ours face +Z: such a file is rotated by half a turn as it is
read, and back as it is written.
"""

from __future__ import annotations

import re

from .document import Document

THUMBS = {"thumb_proximal": "thumb_metacarpal", "thumb_intermediate": "thumb_proximal"}


def humanoid_nodes(document: Document) -> dict[str, int]:
    """Role to node index, from the file's humanoid map; empty where it has none."""
    extensions = document.root.object("extensions")
    count = document.count("nodes")
    roles: dict[str, int] = {}
    if extensions.has("VRMC_vrm"):
        for name, bone in extensions.object("VRMC_vrm").object("humanoid").object("humanBones").members():
            node = bone.index("node", count, "nodes")
            if node is not None:
                roles[_snake(name)] = node
    elif extensions.has("VRM"):
        for bone in extensions.object("VRM").object("humanoid").items("humanBones"):
            node = bone.index("node", count, "nodes")
            role = _snake(bone.text("bone"))
            for old, new in THUMBS.items():
                if role.endswith(old):
                    role = role.replace(old, new)
                    break
            if node is not None and role:
                roles[role] = node
    return roles


def faces_backwards(document: Document) -> bool:
    """Whether the file is a VRM 0 figure, which faces -Z."""
    extensions = document.root.object("extensions")
    return extensions.has("VRM") and not extensions.has("VRMC_vrm")


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z])([A-Z])", r"_\1", name).lower()
