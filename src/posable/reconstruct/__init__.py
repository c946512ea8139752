"""A whole body from six points: Sequential IK."""

from .answers import ReconstructMotionSolution, ReconstructSolution
from .calibration import Calibration
from .prior import Prior
from .sik import SequentialIK
from .stream import ReconstructStream

__all__ = [
    "Calibration",
    "Prior",
    "ReconstructMotionSolution",
    "ReconstructSolution",
    "ReconstructStream",
    "SequentialIK",
]
