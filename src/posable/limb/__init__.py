"""Arms and legs: the exact solver, its swivel search, and the range that people use (`LimbRange`)."""

from ..compute.arguments import explain_mistakes
from .limb import Limb, LimbObstacles
from .model import LIMB_VALUES, LIMBS, Search
from .range.limb_range import Correction, LimbRange, Margins, RangeReport, Spans
from .solution import LimbFrames, LimbSolution, LimbTrackSolution, Target, as_target
from .swivel import Sensorimotor, SwivelTable

__all__ = [
    "LIMBS",
    "LIMB_VALUES",
    "Correction",
    "Limb",
    "LimbFrames",
    "LimbObstacles",
    "LimbRange",
    "LimbSolution",
    "LimbTrackSolution",
    "Margins",
    "RangeReport",
    "Search",
    "Sensorimotor",
    "Spans",
    "SwivelTable",
    "Target",
    "as_target",
]

explain_mistakes(__name__)
