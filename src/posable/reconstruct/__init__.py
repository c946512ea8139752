"""A whole body from six points: Sequential IK."""

from .answers import RebuildAnswer, RebuildMotion
from .sik import SequentialIK
from .stream import RebuildStream

__all__ = ["RebuildAnswer", "RebuildMotion", "RebuildStream", "SequentialIK"]
