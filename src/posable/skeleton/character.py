"""`Character`: the skinned meshes of a skeleton, and what a file format needs to write the character back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..compute.types import Floats
from .skinning import Skinning

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .skeleton import Frames


@dataclass(frozen=True, eq=False)
class SkinnedMesh:
    """A triangle mesh bound to the joints of a skeleton, deformed by linear blend skinning."""

    name: str
    vertices: Floats
    """(V, 3) [m], in the world of the skeleton at the moment of binding."""
    faces: NDArray[np.int32]
    """(T, 3) indices into the vertices, counter-clockwise from outside."""
    joints: NDArray[np.int32]
    """(V, K) indices of the joints that carry a vertex."""
    weights: Floats
    """(V, K) their weights; each row sums to 1."""
    bind_positions: Floats
    """(J, 3) [m] positions of all joints of the skeleton at the moment of binding."""
    bind_orientations: Floats
    """(J, 4) their orientations."""
    colours: NDArray[np.uint8] = field(default_factory=lambda: np.empty((0, 4), np.uint8))
    """(V, 4) RGBA, or no rows where the file has none."""

    def __repr__(self) -> str:
        return f"SkinnedMesh({self.name[:40]!r}, {len(self.vertices)} vertices, {len(self.faces)} triangles)"

    def posed(self, frames: Frames) -> Floats:
        """Return (..., V, 3) [m]: the vertices where the joints of `frames` carry them, by linear blend skinning."""
        return self._skinning.posed(frames)

    @cached_property
    def _skinning(self) -> Skinning:
        return Skinning.of_meshes((self,))

    def scaled(self, factor: float) -> SkinnedMesh:
        """The same mesh on a skeleton scaled by `factor`."""
        return replace(self, vertices=self.vertices * factor, bind_positions=self.bind_positions * factor)


@dataclass(frozen=True, eq=False)
class Character:
    """The look of a skeleton, and its file. It hangs on the skeleton, so any motion made on it keeps the look."""

    meshes: tuple[SkinnedMesh, ...] = ()
    roles: Mapping[str, str] | None = None
    """Body part to joint name, where the file itself says who is who (VRM)."""
    source: Any = None
    """What the format that read the file needs to write it back unchanged but for its motion."""

    def __repr__(self) -> str:
        names = ", ".join(repr(mesh.name[:40]) for mesh in self.meshes[:3]) + (", ..." if len(self.meshes) > 3 else "")
        return f"Character({len(self.meshes)} meshes{': ' if names else ''}{names}; {len(self.roles or ())} roles)"

    def scaled(self, factor: float) -> Character:
        """The same look on a skeleton scaled by `factor`; the file's own document keeps its size and is let go."""
        return replace(self, meshes=tuple(mesh.scaled(factor) for mesh in self.meshes), source=None)
