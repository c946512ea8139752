"""Pages that play a motion in a browser (`posable.render.Player`): written, never read.

What they draw comes from a later room, which knows bodies and meshes.
"""

from __future__ import annotations

from pathlib import Path

from ..compute.lazy import later_room
from ..skeleton import Motion
from .gltf.write import check_lengths


def write(motion: Motion, path: Path) -> None:
    """Write a page that plays the motion."""
    check_lengths(motion.skeleton, motion.pose)
    later_room("render").Player(motion).save(path)
