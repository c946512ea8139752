"""Measures, tables, plots and pictures: what tells how good an answer is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .picture import portrait, save_picture, strip

if TYPE_CHECKING:
    from .express import ExpressRow, evaluate_block, evaluate_express, evaluate_tracks, express_table
    from .methods import find_method, method_names
    from .reconstruct import Evaluation, evaluate_clip, evaluate_reconstruct

__all__ = [
    "Evaluation",
    "ExpressRow",
    "evaluate_block",
    "evaluate_clip",
    "evaluate_express",
    "evaluate_reconstruct",
    "evaluate_tracks",
    "express_table",
    "find_method",
    "method_names",
    "portrait",
    "save_picture",
    "strip",
]

_LATER = {
    "express": ("ExpressRow", "evaluate_block", "evaluate_express", "evaluate_tracks", "express_table"),
    "reconstruct": ("Evaluation", "evaluate_clip", "evaluate_reconstruct"),
    "methods": ("find_method", "method_names"),
}


def __getattr__(name: str) -> Any:
    import importlib

    for module, names in _LATER.items():
        if name in names:
            return getattr(importlib.import_module(f".{module}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
