"""The volumes of a body, the scene around it, and collision queries between them.

`Volumes` are the space that a body occupies, `Scene` the named obstacles around it; `kernels` has the compiled queries
of solvers (contact, distance, depth), `pairs` decides which of a body's own volumes are worth testing, `fitting` makes
volumes from the mesh of a character.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..compute.arguments import explain_mistakes
from ..compute.lazy import lazy_names
from .volumes import VolumeMesh, Volumes

if TYPE_CHECKING:
    from .scene import Scene

__all__ = ["Scene", "VolumeMesh", "Volumes"]

__getattr__, __dir__ = lazy_names(__name__, {"scene": ["Scene"]})  # it compiles kernels

explain_mistakes(__name__)
