"""Arms and legs: the exact solver, its swivel search, and what a limb does (`LimbRange`)."""

from .answers import LimbAnswer, LimbFrames, Target
from .limb import Limb, Obstacles
from .model import LIMBS, Search
from .preferred import Sensorimotor, SwivelTable
from .range_answers import Correction, Margins, RangeReport, Spans
from .ranges import LimbRange

__all__ = [
    "LIMBS",
    "Correction",
    "Limb",
    "LimbAnswer",
    "LimbFrames",
    "LimbRange",
    "Margins",
    "Obstacles",
    "RangeReport",
    "Search",
    "Sensorimotor",
    "Spans",
    "SwivelTable",
    "Target",
]
