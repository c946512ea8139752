"""Expression while aiming: chains of one-axis joints, ERIK, and motion that motors can follow."""

from ..compute.arguments import explain_mistakes
from .chain import SKELETONS, Chain, ChainFrames, Link
from .erik import ERIK, ErikStream
from .filter import FilterStream, MotionFilter
from .solutions import ErikMotionSolution, ErikSolution
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

explain_mistakes(__name__)
