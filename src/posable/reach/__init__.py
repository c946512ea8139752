"""Reaching with the whole body: behaviours an artist designs on the swing plane, and the solver that follows them."""

from .animate import Fitts, Pace, ReachMotion, ReachStep, load_targets
from .answers import HandAnswer, ReachAnswer
from .behaviour import Behaviour
from .learn import LearnReport, MotionReport
from .posture import Key, Posture, Weight, drivable_parts
from .reacher import Reacher
from .stream import ReachStream

__all__ = [
    "Behaviour",
    "Fitts",
    "HandAnswer",
    "Key",
    "LearnReport",
    "MotionReport",
    "Pace",
    "Posture",
    "ReachAnswer",
    "ReachMotion",
    "ReachStep",
    "ReachStream",
    "Reacher",
    "Weight",
    "drivable_parts",
    "load_targets",
]
