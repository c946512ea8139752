"""Posable gives a body to a target: one skeleton, one set of limits and one kind of answer for five ways of posing.

```python
import posable as ps

motion = ps.load("boxing.bvh")
body = ps.Humanoid(motion.skeleton)
```

Importing this costs a few milliseconds: a room is loaded when one of its names is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# Where each public name lives; the only list of them.
_HOMES = {
    "compute": ["FormatError", "MissingExtraError", "PosableError", "ShapeError", "Status", "UnknownNameError"],
    "skeleton": ["Character", "Frames", "Motion", "Pose", "Skeleton", "SkinnedMesh"],
    "limits": ["Limits"],
    "formats": ["load", "save"],
    "collision": ["Scene", "Volumes"],
    "limb": ["Limb", "LimbRange", "Sensorimotor", "SwivelTable", "Target"],
    "body": ["MARKERS", "ROLES", "CanonicalPose", "Humanoid", "figure", "samples"],
    "reach": ["Behaviour", "Posture", "Reach", "ReachAnswer", "Reacher"],
    "reconstruct": ["Calibration", "Prior", "SequentialIK"],
    "classic": [],
    "express": ["ERIK", "Chain", "MotionFilter"],
    "edit": ["MotionEditor", "retarget"],
}
_HOME = {name: room for room, names in _HOMES.items() for name in names}

__all__ = ["__version__", *_HOME]

if TYPE_CHECKING:
    from .body import MARKERS, ROLES, CanonicalPose, Humanoid, figure, samples
    from .collision import Scene, Volumes
    from .compute import FormatError, MissingExtraError, PosableError, ShapeError, Status, UnknownNameError
    from .edit import MotionEditor, retarget
    from .express import ERIK, Chain, MotionFilter
    from .formats import load, save
    from .limb import Limb, LimbRange, Sensorimotor, SwivelTable, Target
    from .limits import Limits
    from .reach import Behaviour, Posture, Reach, ReachAnswer, Reacher
    from .reconstruct import Calibration, Prior, SequentialIK
    from .skeleton import Character, Frames, Motion, Pose, Skeleton, SkinnedMesh


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
        globals()[name] = value  # next time, no detour
        return value
    if name in _HOMES or name in {"math", "scale", "evaluate", "studio", "cli"}:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
