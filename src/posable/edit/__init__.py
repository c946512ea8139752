"""Editing by dragging: weights and velocities from motion data, dragging, warping, retargeting, autoposing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..compute.arguments import explain_mistakes
from ..compute.lazy import lazy_names

if TYPE_CHECKING:
    from .autopose import AutoPose, AutoPoseSolution
    from .clip import EFFECTORS
    from .contacts import Contact, find_contacts
    from .dragging import DragSolution
    from .edit_list import load_edits, make_edits, save_edits
    from .editor import MotionEditor
    from .edits import DragEdit, Edit, KeyEdit, Snapshot, StretchEdit, WarpEdit
    from .retargeting import RetargetSolution, retarget
    from .transforms import relative_motion
    from .weights import FitReport

_HOMES = {
    "autopose": ["AutoPose", "AutoPoseSolution"],
    "clip": ["EFFECTORS"],
    "contacts": ["Contact", "find_contacts"],
    "dragging": ["DragSolution"],
    "edit_list": ["load_edits", "make_edits", "save_edits"],
    "editor": ["MotionEditor"],
    "edits": ["DragEdit", "Edit", "KeyEdit", "Snapshot", "StretchEdit", "WarpEdit"],
    "retargeting": ["RetargetSolution", "retarget"],
    "transforms": ["relative_motion"],
    "weights": ["FitReport"],
}

__all__ = [
    "EFFECTORS",
    "AutoPose",
    "AutoPoseSolution",
    "Contact",
    "DragEdit",
    "DragSolution",
    "Edit",
    "FitReport",
    "KeyEdit",
    "MotionEditor",
    "RetargetSolution",
    "Snapshot",
    "StretchEdit",
    "WarpEdit",
    "find_contacts",
    "load_edits",
    "make_edits",
    "relative_motion",
    "retarget",
    "save_edits",
]

__getattr__, __dir__ = lazy_names(__name__, _HOMES)

explain_mistakes(__name__)
