"""Motions edited by dragging: weights and velocities from motion data, dragging, warping, retargeting."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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
_HOME = {name: module for module, names in _HOMES.items() for name in names}

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


def __getattr__(name: str) -> Any:
    import importlib

    if name in _HOME:
        return getattr(importlib.import_module(f".{_HOME[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
