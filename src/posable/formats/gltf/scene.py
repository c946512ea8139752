"""The scene of a glTF file as far as a skeleton does not keep it: which VRM it is, nodes above, scales."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ...compute.types import Floats
from ...skeleton import Character
from ..trees import fold
from .nodes import faces_backwards, read_nodes
from .write import GltfSource, transform_above


@dataclass(frozen=True, eq=False)
class Scene:
    """Of the file that a character is from; of any other character as if nothing stood above its root."""

    is_vrm: bool = False
    """Whether it is a VRM file of any version, whose rest pose is a T-pose."""
    is_vrm1: bool = False
    """Whether it is a VRM 1 file, whose joints have rotations of their own at rest."""
    position: Floats = field(default_factory=lambda: np.zeros(3))
    """(3,) [m] of what the skeleton's root hangs on."""
    orientation: Floats = field(default_factory=lambda: np.array([1.0, 0.0, 0.0, 0.0]))
    """(4,) of it."""
    scale: float = 1.0
    """By which it scales the root's position: metres for each of its units."""
    scales: Floats | None = None
    """(J,) by which each joint scales the positions of its children."""


def scene_of(character: Character | None) -> Scene:
    """Return the scene of the file that a character was read from."""
    source = None if character is None else character.source
    if not isinstance(source, GltfSource):
        return Scene()
    extensions = source.document.root.object("extensions")
    vrm1 = extensions.has("VRMC_vrm")
    tree = read_nodes(source.document)
    rotation, position, scale = transform_above(tree, source.nodes[0], source.world)
    scales = fold(tree, list(source.nodes), source.world, {}).scale.mean(axis=-1)
    is_vrm = vrm1 or faces_backwards(source.document)
    return Scene(is_vrm, vrm1, position, rotation, float(scale.mean()), scales)
