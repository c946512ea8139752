"""Motions edited by dragging: weights and velocities from motion data, dragging, warping, retargeting."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..compute.lazy import lazy_names

if TYPE_CHECKING:
    from .answers import DragAnswer
    from .contacts import Contact, find_contacts
    from .edit_list import load_edits, make_edits, save_edits
    from .editor import MotionEditor
    from .edits import DragEdit, Edit, StretchEdit, WarpEdit
    from .history import Kept
    from .parts import EFFECTORS
    from .retargeting import Retargeted, retarget
    from .transforms import relative_motion
    from .weights import FitReport

_HOMES = {
    "answers": ["DragAnswer"],
    "contacts": ["Contact", "find_contacts"],
    "edit_list": ["load_edits", "make_edits", "save_edits"],
    "editor": ["MotionEditor"],
    "edits": ["DragEdit", "Edit", "StretchEdit", "WarpEdit"],
    "history": ["Kept"],
    "parts": ["EFFECTORS"],
    "retargeting": ["Retargeted", "retarget"],
    "transforms": ["relative_motion"],
    "weights": ["FitReport"],
}

__all__ = [
    "EFFECTORS",
    "Contact",
    "DragAnswer",
    "DragEdit",
    "Edit",
    "FitReport",
    "Kept",
    "MotionEditor",
    "Retargeted",
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
