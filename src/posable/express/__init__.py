"""Expression while aiming: chains of one-axis joints, ERIK, and motion that motors can follow."""

from .answers import ErikAnswer, ErikTrack
from .chain import Chain, ChainFrames, Link
from .erik import ERIK
from .filter import FilterStream, MotionFilter
from .skeletons import SKELETONS
from .stream import ErikStream
from .tree import Tree, TreeAnswer

__all__ = [
    "ERIK",
    "SKELETONS",
    "Chain",
    "ChainFrames",
    "ErikAnswer",
    "ErikStream",
    "ErikTrack",
    "FilterStream",
    "Link",
    "MotionFilter",
    "Tree",
    "TreeAnswer",
]
