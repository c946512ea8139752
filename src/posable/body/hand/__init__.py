"""Fingers: their canonical frames, the shapes of a hand, and closing a hand on what it holds."""

from __future__ import annotations

from ...compute.lazy import lazy_names

__getattr__, __dir__ = lazy_names(__name__, {"shapes": ["HandShape"], "closing": ["HandSolution"]})
