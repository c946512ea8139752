"""Posable gives a body to a target: one skeleton, one set of limits and one kind of answer for five ways of posing.

```python
import posable as ps

motion = ps.load("boxing.bvh")
body = ps.Humanoid(motion.skeleton)
```

Importing this costs a few milliseconds: a room is loaded when one of its names is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .compute.lazy import lazy_names

__version__ = "0.1.0"

# Where each public name lives; the only list of them.
_HOMES = {
    "compute": ["FormatError", "MissingExtraError", "PosableError", "ShapeError", "Status", "UnknownNameError"],
    "skeleton": [
        "Character",
        "Frames",
        "Motion",
        "MotionSolution",
        "Pose",
        "PoseSolution",
        "Skeleton",
        "SkinnedMesh",
        "Solution",
    ],
    "limits": ["Limits"],
    "formats": ["load", "save"],
    "collision": ["Scene", "Volumes"],
    "limb": ["Limb", "LimbRange", "Sensorimotor", "SwivelTable", "Target"],
    "body": ["MARKERS", "ROLES", "CanonicalPose", "HandShape", "Humanoid", "figure"],
    "reach": ["Behaviour", "Posture", "ReachSolution", "ReachStep", "Reacher", "load_targets"],
    "reconstruct": ["Calibration", "Points", "Prior", "SequentialIK", "load_points"],
    "classic": [],
    "express": ["ERIK", "Chain", "MotionFilter"],
    "edit": ["AutoPose", "MotionEditor"],
    "robots": ["Retargeter", "RobotSolution", "retarget"],
    "evaluate": ["JointAngles", "joint_angles"],
    "live": [],
}

__all__ = ["__version__", *(name for names in _HOMES.values() for name in names), "reconstruct", "samples"]

if TYPE_CHECKING:
    from . import (
        body,
        classic,
        cli,
        collision,
        compute,
        edit,
        evaluate,
        express,
        formats,
        jobs,
        limb,
        limits,
        live,
        math,
        reach,
        render,
        robots,
        samples,
        skeleton,
        studio,
    )
    from .body import MARKERS, ROLES, CanonicalPose, HandShape, Humanoid, figure
    from .collision import Scene, Volumes
    from .compute import FormatError, MissingExtraError, PosableError, ShapeError, Status, UnknownNameError
    from .edit import AutoPose, MotionEditor
    from .evaluate import JointAngles, joint_angles
    from .express import ERIK, Chain, MotionFilter
    from .formats import load, save
    from .limb import Limb, LimbRange, Sensorimotor, SwivelTable, Target
    from .limits import Limits
    from .reach import Behaviour, Posture, Reacher, ReachSolution, ReachStep, load_targets
    from .reconstruct import Calibration, Points, Prior, SequentialIK, load_points, reconstruct
    from .robots import Retargeter, RobotSolution, retarget
    from .skeleton import (
        Character,
        Frames,
        Motion,
        MotionSolution,
        Pose,
        PoseSolution,
        Skeleton,
        SkinnedMesh,
        Solution,
    )


_ROOMS = (*_HOMES, "math", "samples", "jobs", "render", "studio", "cli")

__getattr__, __dir__ = lazy_names(__name__, _HOMES, rooms=_ROOMS)
