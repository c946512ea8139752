"""Human motion on humanoid robots: within limits of joints and motors, on feet that stand, not through themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..compute.lazy import lazy_names

if TYPE_CHECKING:
    from .retargeting import RobotSolution, retarget
    from .stream import Retargeter, RetargetStream, RobotFrame

_HOMES = {
    "retargeting": ["RobotSolution", "retarget"],
    "stream": ["RetargetStream", "Retargeter", "RobotFrame"],
}

__all__ = ["RetargetStream", "Retargeter", "RobotFrame", "RobotSolution", "retarget"]

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
