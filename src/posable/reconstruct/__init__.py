"""A whole body from six points: Sequential IK."""

from .answers import RebuildAnswer, RebuildMotion
from .calibration import Calibration
from .prior import Prior
from .sik import SequentialIK
from .stream import RebuildStream

__all__ = ["Calibration", "Prior", "RebuildAnswer", "RebuildMotion", "RebuildStream", "SequentialIK"]
