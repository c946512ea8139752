"""Measures, tables, plots and pictures: what tells how good an answer is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .picture import portrait, save_picture, strip

if TYPE_CHECKING:
    from .methods import find_method, method_names
    from .reconstruct import Evaluation, evaluate_clip, evaluate_reconstruct

__all__ = [
    "Evaluation",
    "evaluate_clip",
    "evaluate_reconstruct",
    "find_method",
    "method_names",
    "portrait",
    "save_picture",
    "strip",
]

_LATER = {
    "reconstruct": ("Evaluation", "evaluate_clip", "evaluate_reconstruct"),
    "methods": ("find_method", "method_names"),
}


def __getattr__(name: str) -> Any:
    import importlib

    for module, names in _LATER.items():
        if name in names:
            return getattr(importlib.import_module(f".{module}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
