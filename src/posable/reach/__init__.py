"""Reaching with the whole body: behaviours an artist designs on the swing plane, and the solver that follows them."""

from .answers import HandAnswer, ReachAnswer
from .behaviour import Behaviour, Key, Weight
from .posture import Posture, drivable_parts
from .reacher import Reacher

__all__ = ["Behaviour", "HandAnswer", "Key", "Posture", "ReachAnswer", "Reacher", "Weight", "drivable_parts"]
