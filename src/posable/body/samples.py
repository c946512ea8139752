"""Built-in motions, made by formula, so that everything runs with no file at hand.

Each takes a body (the built-in figure when None), a duration [s] and frames a second, and gives a Motion on that
body's skeleton. They are written in canonical rotations and solved for the body's own proportions: feet stay where
they are put, on any rig with roles. Without a duration the ones that go round (walk, run, boxing, dance) last whole
cycles: the frame after the last is the first again, further along for those that travel.
"""

from __future__ import annotations

from .samples_gait import run, walk

NAMES = ("walk", "run")
"""Names of the built-in motions; each is a function of this module."""

__all__ = ["NAMES", "run", "walk"]
