"""Expression while aiming: chains of one-axis joints, ERIK, and motion that motors can follow."""

from .chain import Chain, ChainFrames, Link
from .erik import ERIK
from .filter import FilterStream, MotionFilter
from .skeletons import SKELETONS
from .solutions import ErikMotionSolution, ErikSolution
from .stream import ErikStream
from .tree import Tree, TreeSolution

__all__ = [
    "ERIK",
    "SKELETONS",
    "Chain",
    "ChainFrames",
    "ErikMotionSolution",
    "ErikSolution",
    "ErikStream",
    "FilterStream",
    "Link",
    "MotionFilter",
    "Tree",
    "TreeSolution",
]
