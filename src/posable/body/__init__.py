"""Bodies: who is who on any rig, postures that fit every body, the built-in figure and its motions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..compute.arguments import explain_mistakes
from ..compute.lazy import lazy_names
from .canonical import CanonicalPose, SpineShape
from .humanoid import Humanoid
from .roles import FINGERS, LIMBS, MARKERS, ROLES
from .roles.matching import find_roles

if TYPE_CHECKING:
    from .hand import HandShape, HandSolution
    from .hanim import MEASURES, figure

__all__ = [
    "FINGERS",
    "LIMBS",
    "MARKERS",
    "MEASURES",
    "ROLES",
    "CanonicalPose",
    "HandShape",
    "HandSolution",
    "Humanoid",
    "SpineShape",
    "figure",
    "find_roles",
]

__getattr__, __dir__ = lazy_names(__name__, {"hanim": ["MEASURES", "figure"], "hand": ["HandShape", "HandSolution"]})

explain_mistakes(__name__)
