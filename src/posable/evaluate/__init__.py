"""Measures, tables and plots that say how good an answer is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..compute.arguments import explain_mistakes
from ..compute.lazy import lazy_names

if TYPE_CHECKING:
    from .angles import JointAngles, joint_angles
    from .express import ExpressRow, evaluate_block, evaluate_express, evaluate_tracks, express_table
    from .reconstruct import Evaluation, evaluate_clip, evaluate_reconstruct, find_method, method_names
    from .robots import RetargetMeasures, evaluate_retarget, retarget_table

__all__ = [
    "Evaluation",
    "ExpressRow",
    "JointAngles",
    "RetargetMeasures",
    "evaluate_block",
    "evaluate_clip",
    "evaluate_express",
    "evaluate_reconstruct",
    "evaluate_retarget",
    "evaluate_tracks",
    "express_table",
    "find_method",
    "joint_angles",
    "method_names",
    "retarget_table",
]

_HOMES = {
    "angles": ("JointAngles", "joint_angles"),
    "express": ("ExpressRow", "evaluate_block", "evaluate_express", "evaluate_tracks", "express_table"),
    "reconstruct": ("Evaluation", "evaluate_clip", "evaluate_reconstruct", "find_method", "method_names"),
    "robots": ("RetargetMeasures", "evaluate_retarget", "retarget_table"),
}

__getattr__, __dir__ = lazy_names(__name__, _HOMES)

explain_mistakes(__name__)
