"""Arms and legs: the exact solver, its swivel search, and what a limb does (`LimbRange`)."""

from .answers import LimbFrames, LimbSolution, Target
from .limb import Limb, LimbObstacles
from .model import LIMBS, Search
from .range.limb_range import LimbRange
from .range.results import Correction, Margins, RangeReport, Spans
from .swivel.preferred import Sensorimotor, SwivelTable

__all__ = [
    "LIMBS",
    "Correction",
    "Limb",
    "LimbFrames",
    "LimbObstacles",
    "LimbRange",
    "LimbSolution",
    "Margins",
    "RangeReport",
    "Search",
    "Sensorimotor",
    "Spans",
    "SwivelTable",
    "Target",
]
