"""Built-in motions, made by formula, so that everything runs with no file at hand.

Each takes a body (the built-in figure when None), a duration [s] and frames a second, and gives a Motion on that
body's skeleton. They are written in canonical rotations and solved for the body's own proportions: feet stay where
they are put, on any rig with roles. Without a duration the ones that go round (walk, run, boxing, dance) last whole
cycles: the frame after the last is the first again, further along for those that travel.
"""

from __future__ import annotations

from ..compute.arguments import explain_mistakes
from .boxing import boxing
from .dance import dance
from .gait import run, walk
from .reach import reach
from .throw import throw

NAMES = ("walk", "run", "boxing", "reach", "dance", "throw")
"""Names of the built-in motions; each is a function of this module."""

__all__ = ["NAMES", "boxing", "dance", "reach", "run", "throw", "walk"]

explain_mistakes(__name__)
