"""Human motion on humanoid robots: within joint limits and motors' speeds, on feet that stand, without self-collision."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..compute.lazy import lazy_names

if TYPE_CHECKING:
    from .retargeting import RobotSolution, retarget

_HOMES = {"retargeting": ["RobotSolution", "retarget"]}

__all__ = ["RobotSolution", "retarget"]

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
