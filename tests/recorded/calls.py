"""The list of recorded calls: `@call` adds one, `all_calls` has them all."""

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from . import rooms


@dataclass(frozen=True)
class Call:
    """One recorded call."""

    room: str
    name: str
    function: Callable[..., dict[str, Any]]
    files: tuple[str, ...]
    """Files of the data folder that it needs; the function is given their paths."""
    extra: str
    """A package that it needs and that is not installed with Posable itself."""
    within: float
    """How far its numbers may be from the recorded ones on another machine; see `compare`."""
    fitted: dict[str, float]
    """The same for single results, by name: fits whose iterations end before they converge."""

    @property
    def key(self) -> str:
        """Room and name: "limb.search"."""
        return f"{self.room}.{self.name}"


_CALLS: dict[str, Call] = {}


def call(
    *files: str, extra: str = "", within: float = 1e-7, fitted: dict[str, float] | None = None
) -> Callable[..., Any]:
    """Record what a function returns: a dictionary of names to anything that `flat.flatten` takes.

    The room is the module's name, the name that of the function.
    """

    def add(function: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
        room = function.__module__.rpartition(".")[2]
        made = Call(room, function.__name__, function, files, extra, within, fitted or {})
        if made.key in _CALLS:
            raise ValueError(f"there are two calls of the name {made.key!r}")
        _CALLS[made.key] = made
        return function

    return add


def all_calls() -> dict[str, Call]:
    """Every call by its key, room after room."""
    for module in pkgutil.iter_modules(rooms.__path__):
        importlib.import_module(f"{rooms.__name__}.{module.name}")
    return dict(_CALLS)
