"""A whole body from six points: Sequential IK."""

from .answers import RebuildAnswer, RebuildMotion
from .calibration import Calibration
from .sik import SequentialIK
from .stream import RebuildStream

__all__ = ["Calibration", "RebuildAnswer", "RebuildMotion", "RebuildStream", "SequentialIK"]
