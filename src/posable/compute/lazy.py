"""Packages whose names are imported when they are first used.

Numba alone takes longer to import than everything the package does at start, so a room that needs it only for some of
its names lists where those live:

    __getattr__, __dir__ = lazy_names(__name__, {"scene": ["Scene"]})

A room uses the rooms above it only (docs/rooms.md). Where users expect a call that a later room answers, as
`motion.show()`, the call asks for that room by name: `later_room("render")`. `tests/test_rooms.py` lists who may.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any


def lazy_names(
    package: str, homes: Mapping[str, Iterable[str]], rooms: Iterable[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the module functions `__getattr__` and `__dir__` of a package whose names live in its submodules.

    Args:
        package: the package's `__name__`.
        homes: submodule to the names that live there.
        rooms: submodules that are themselves public names.
    """
    home = {name: module for module, names in homes.items() for name in names}
    submodules = set(rooms)

    def get(name: str) -> Any:
        if name in home:
            from .arguments import explained  # not before the first name is used: it brings NumPy

            value = explained(getattr(importlib.import_module(f"{package}.{home[name]}"), name))
            setattr(sys.modules[package], name, value)  # the next access does not come here
            return value
        if name in submodules:
            return importlib.import_module(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    def listed() -> list[str]:
        return sorted({*sys.modules[package].__dict__.get("__all__", ()), *submodules})

    return get, listed


def later_room(name: str) -> Any:
    """Return a room of the package by its name, imported at the moment of this call."""
    return importlib.import_module(f"posable.{name}")
