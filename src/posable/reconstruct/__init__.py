"""A whole body from six points, or from more or fewer: Sequential IK; from files to a motion in one call.

The room itself can be called: `ps.reconstruct("points.csv")` is `pipeline.reconstruct`.
"""

import sys
from types import ModuleType

from ..compute.arguments import explain_mistakes
from .calibration import Calibration
from .pipeline import Points, load_points, reconstruct
from .prior import Prior
from .sik import ReconstructStream, SequentialIK
from .solutions import ReconstructMotionSolution, ReconstructSolution

__all__ = [
    "Calibration",
    "Points",
    "Prior",
    "ReconstructMotionSolution",
    "ReconstructSolution",
    "ReconstructStream",
    "SequentialIK",
    "load_points",
    "reconstruct",
]

explain_mistakes(__name__)


class _CallableRoom(ModuleType):
    """`posable.reconstruct` is the room and the call: the import system binds the name to this module."""

    __call__ = staticmethod(reconstruct)


sys.modules[__name__].__class__ = _CallableRoom
