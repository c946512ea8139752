"""Bodies: who is who on any rig, postures that fit every body, the built-in figure and its motions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .canonical import CanonicalPose, SpineShape
from .humanoid import Humanoid
from .matching import find_roles
from .roles import LIMBS, MARKERS, ROLES

if TYPE_CHECKING:
    from . import samples
    from .hanim import MEASURES, figure

__all__ = [
    "LIMBS",
    "MARKERS",
    "MEASURES",
    "ROLES",
    "CanonicalPose",
    "Humanoid",
    "SpineShape",
    "figure",
    "find_roles",
    "samples",
]


def __getattr__(name: str) -> Any:
    import importlib

    if name in {"figure", "MEASURES"}:
        return getattr(importlib.import_module(".hanim", __name__), name)
    if name == "samples":
        return importlib.import_module(".samples", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
