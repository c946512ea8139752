"""How Posable says that something is wrong: errors that name the value and the way out, and `Status`.

Nothing about geometry raises: a solver returns a `Status`; wrong shapes, unknown names, broken files and impossible
settings do, with one of the classes below. `PosableError` catches them all.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import math
from collections.abc import Callable, Iterable
from enum import IntEnum
from os import PathLike
from types import ModuleType
from typing import ParamSpec, TypeVar

from .nearest import nearest_names

P = ParamSpec("P")
R = TypeVar("R")
LONGEST = 4000  # characters of a message: a value of a million numbers is named by its beginning
LONGEST_OF_FILES = 800  # characters of a message about a file, whose values are a stranger's
LONGEST_NAME = 80  # characters of an unknown name that are shown


class PosableError(ValueError):
    """The base of every error Posable raises on purpose."""

    def __init__(self, message: str) -> None:
        super().__init__(message if len(message) <= LONGEST else f"{message[: LONGEST - 600]} ... {message[-500:]}")


class ShapeError(PosableError):
    """An array whose shape does not fit; the message names what came and what was expected."""


class UnknownNameError(PosableError):
    """A name that nobody knows; the message lists those nearest to it (`nearest_names`), or what is known."""

    def __init__(self, kind: str, name: object, known: Iterable[str]) -> None:
        self.name = name
        self.known = tuple(known)
        close = nearest_names(str(name), self.known)
        hint = f"did you mean {' or '.join(map(repr, close))}?" if close else f"known: {_listed(self.known)}"
        shown = name[:LONGEST_NAME] + "..." if isinstance(name, str) and len(name) > LONGEST_NAME else name
        super().__init__(f"unknown {kind} {shown!r}; {hint}")


class UnknownOptionError(UnknownNameError, TypeError):
    """A keyword that a function does not take; the message has the closest one that it does take."""

    def __init__(self, name: str, known: Iterable[str]) -> None:
        super().__init__("option", name, known)


class FormatError(PosableError):
    """A file that cannot be read or written; the message names the file and the place in it.

    `location` is as precise as the format allows: "line 12", "accessors[3].count", "frame 7".
    """

    def __init__(self, path: str | PathLike[str], message: str, location: str | None = None) -> None:
        self.path = str(path)
        self.location = location
        if len(message) > LONGEST_OF_FILES:
            message = f"{message[: LONGEST_OF_FILES - 150]} ... {message[-100:]}"
        where = f"{self.path}, {location[:LONGEST_NAME]}" if location else self.path
        super().__init__(f"{where}: {message}")


class ExtentError(PosableError):
    """A length [m] or a rate [1/s] is not finite, or beyond what the world has (`compute.extent`)."""


class MissingExtraError(PosableError):
    """An optional package is not installed; the message has the command that installs it."""


def checked_keywords(function: Callable[P, R]) -> Callable[P, R]:
    """Let a function answer an unknown keyword with the closest one it takes: "did you mean 'scale'?".

    Decorates public functions with many options. Type checkers and `help` see the function's own signature.
    """
    takes = inspect.signature(function).parameters.values()
    known = [one.name for one in takes if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)]
    options = [one.name for one in takes if one.kind == one.KEYWORD_ONLY]

    @functools.wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        for name in kwargs:
            if name not in known:
                raise UnknownOptionError(name, options)
        return function(*args, **kwargs)

    return checked


def require(module: str, extra: str) -> ModuleType:
    """Import an optional package, or say which extra brings it.

    Heavy packages are imported by the function that needs them, never at the top of a room.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] != module.split(".")[0]:
            raise  # the package is there, something inside it is not: not ours to explain
        raise MissingExtraError(
            f"this needs the package {module.split('.')[0]!r}; install it with: pip install 'posable[{extra}]'"
        ) from error


def expect(kind: type, value: object, name: str, hint: str = "") -> None:
    """Raise where a caller passed another type, such as an array where a pose was expected."""
    if not isinstance(value, kind):
        raise PosableError(f"{name} is a {type(value).__name__}; expected a {kind.__name__}{hint}")


def number(value: object) -> float:
    """Return a setting as a float; NaN where it is not a number, so that the check which follows refuses it."""
    if isinstance(value, str | bytes):
        return math.nan
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return math.nan


def _listed(names: tuple[str, ...], max_names: int = 12) -> str:
    if not names:
        return "none"
    shown = ", ".join(map(repr, names[:max_names]))
    return shown if len(names) <= max_names else f"{shown} and {len(names) - max_names} more"


class Status(IntEnum):
    """The outcome of one solve; batches carry an int8 array of these values."""

    REACHED = 0
    """The target is met within the solver's documented tolerance."""
    UNREACHABLE = 1
    """No posture meets it; the pose is the closest one, the residual says how close."""
    LIMITS = 2
    """Only postures outside the joint limits meet it."""
    COLLISION = 3
    """Only colliding postures meet it."""
    SINGULAR = 4
    """The target lies where the method has no defined answer."""
    INVALID = 5
    """The input is no target at all (NaN, infinite, zero quaternion)."""

    @property
    def ok(self) -> bool:
        """Whether the target was reached."""
        return self is Status.REACHED

    def __str__(self) -> str:
        """Return the name: what is printed is a word."""
        return self.name

    def __format__(self, spec: str) -> str:
        """Return the name, or the number where the format is one of numbers."""
        return format(int(self), spec) if spec else self.name
