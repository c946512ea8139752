"""A whole body from six points: Sequential IK."""

from .sik import RebuildAnswer, RebuildMotion, SequentialIK

__all__ = ["RebuildAnswer", "RebuildMotion", "SequentialIK"]
