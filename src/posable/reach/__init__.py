"""Reaching with the whole body: behaviours an artist designs on the swing plane, and the solver that follows them."""

from ..compute.arguments import explain_mistakes
from .behaviour import Behaviour
from .learn import LearnReport, MotionReport
from .motion import Fitts, Pace, ReachStep, ReachStream, load_targets
from .posture import Key, Posture, Weight, drivable_parts
from .reacher import Reacher
from .solutions import HandSolution, ReachMotionSolution, ReachSolution

__all__ = [
    "Behaviour",
    "Fitts",
    "HandSolution",
    "Key",
    "LearnReport",
    "MotionReport",
    "Pace",
    "Posture",
    "ReachMotionSolution",
    "ReachSolution",
    "ReachStep",
    "ReachStream",
    "Reacher",
    "Weight",
    "drivable_parts",
    "load_targets",
]

explain_mistakes(__name__)
