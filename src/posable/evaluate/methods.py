"""Methods by name: ours, and anybody's by import path."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..classic import METHODS
from ..compute import PosableError, UnknownNameError
from ..reconstruct import SequentialIK

if TYPE_CHECKING:
    from ..body import Humanoid

Maker = Callable[["Humanoid", Sequence[float]], Any]

_PUBLISHED = {"elbows_out": False, "limit_rates": False}
_SEQUENTIAL: dict[str, dict[str, Any]] = {
    "sik": {"prior": None, **_PUBLISHED},
    "sik_literal": {"paper_spine": True, **_PUBLISHED},
    "sik_prior": {},
}
"""Variants of `SequentialIK`: name to the options it is made with; "sik" is the method as published, with the decisions
of specification reconstruct, "sik_literal" the same with the paper's own spine, "sik_prior" ours as it comes."""


def method_names() -> tuple[str, ...]:
    """The methods that `find_method` knows by name."""
    return (*_SEQUENTIAL, *METHODS)


def find_method(name: str) -> Maker:
    """Return the class of a method, made from a body and the pelvis' weights: by name, or "package.module:Class"."""
    if name in _SEQUENTIAL:
        options = _SEQUENTIAL[name]
        return lambda body, weights: SequentialIK(body, weights, **options)
    if name in METHODS:
        classic = METHODS[name]
        return lambda body, weights: classic(body, weights)
    if ":" not in name:
        raise UnknownNameError("method", name, (*method_names(), "package.module:Class"))
    made = _imported(name)
    takes_weights = "weights" in inspect.signature(made).parameters
    return lambda body, weights: made(body, weights=weights) if takes_weights else made(body)


def _imported(path: str) -> Any:
    module, _, attribute = path.partition(":")
    try:
        found: Any = importlib.import_module(module)
    except ImportError as error:
        raise PosableError(f"method {path!r}: {error}; expected 'package.module:Class' on the import path") from error
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise PosableError(f"method {path!r}: {module!r} has no {attribute!r}")
        found = getattr(found, part)
    if not callable(found):
        raise PosableError(f"method {path!r} is {type(found).__name__}; expected a class that takes a body")
    return found
