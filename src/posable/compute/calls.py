"""The arguments of batches: one table (`calls.json`) for the library that is built and for the code of GPUs.

Each batch stands there with the types of its arguments after the number of rows, in words such as

    f8[2]                                   an array of float64 with two axes, in C order
    posable.skeleton.forward.JOINT[1]       an array of records, whose dtype that module names
    i8, f8, ?                               a whole number, a number, a bool
    (f8[1] i8)                              a tuple
    posable.edit.rig.Rig(f8[1] i8)          a named tuple of that class

`python -m tools.record_calls` writes it, from what the package's own functions call.
"""

from __future__ import annotations

import importlib
import inspect
import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from .errors import PosableError

FILE = Path(__file__).with_name("calls.json")
WORD = re.compile(r"[\w.?]+\[\d+\]|[\w.]+\(|[\w.?]+|\(|\)")
SCALARS: dict[str, type] = {"f8": float, "i8": int, "?": bool}


@dataclass(frozen=True)
class Kind:
    """The kind of one argument: an array where it has a dtype, a tuple where it has parts, else a scalar.

    Attributes:
        scalar: float, int or bool; None for arrays and tuples.
        dtype: of an array's items.
        axes: of an array.
        parts: of a tuple.
        named: the class of a named tuple; None for a plain one.
        order: of an array: "C", or as only GPUs have it "F", where rows lie beside each other and the last axis is the
            outermost, or "A", whatever its strides.
        single: of an array of float64, whether its memory has float32, as only GPUs have it.
    """

    scalar: type | None = None
    dtype: np.dtype[Any] | None = None
    axes: int = 0
    parts: tuple[Kind, ...] = ()
    named: type | None = None
    order: str = field(default="C", repr=False)  # not in the keys of what was compiled before
    single: bool = field(default=False, repr=False)


def leaves(kinds: Sequence[Kind]) -> Iterator[Kind]:
    """Yield the arrays and scalars of arguments from left to right, tuples taken apart."""
    for kind in kinds:
        if kind.dtype is not None or kind.scalar is not None:
            yield kind
        else:
            yield from leaves(kind.parts)


@lru_cache(maxsize=1)
def calls() -> dict[str, str]:
    """Return the arguments of every batch of the package, by its full name."""
    table: dict[str, str] = json.loads(FILE.read_text(encoding="utf-8"))
    return table


def changed(
    kinds: Sequence[Kind], parameters: Sequence[str], names: Sequence[str], change: Callable[[Kind], Kind]
) -> tuple[Kind, ...]:
    """Return the kinds of arguments with a change to the arrays of these names, also in named tuples."""
    made = []
    for name, kind in zip(parameters, kinds, strict=True):
        if kind.dtype is not None:
            kind = change(kind) if name in names else kind
        elif kind.named is not None:
            fields: Any = kind.named
            kind = replace(kind, parts=changed(kind.parts, fields._fields, names, change))
        made.append(kind)
    return tuple(made)


def described(arguments: Sequence[Any]) -> str:
    """Return the types of arguments in the words of the table."""
    return " ".join(map(_word, arguments))


def parsed(text: str) -> tuple[Kind, ...]:
    """Return the kinds of arguments that the words of the table name."""
    words = iter(WORD.findall(text))
    return tuple(_kinds(words))


def _word(argument: Any) -> str:
    if isinstance(argument, tuple):
        named = f"{type(argument).__module__}.{type(argument).__qualname__}" if hasattr(argument, "_fields") else ""
        return f"{named}({described(argument)})"
    if isinstance(argument, np.ndarray):
        if not argument.flags.c_contiguous:
            raise PosableError(f"an array of shape {argument.shape} is not in C order; give np.ascontiguousarray of it")
        return f"{_dtype_name(argument.dtype)}[{argument.ndim}]"
    if isinstance(argument, bool | np.bool_):
        return "?"
    if isinstance(argument, int | np.integer):
        return "i8"
    if isinstance(argument, float | np.floating):
        return "f8"
    raise PosableError(f"a batch is called with {argument!r}; expected arrays, numbers and tuples of them")


def _dtype_name(dtype: np.dtype[Any]) -> str:
    """Return the letters of a plain dtype; of records, the place where their dtype stands."""
    if dtype.names is None:
        return dtype.str.lstrip("<|=") if dtype != np.bool_ else "?"
    for module_name, module in sorted(sys.modules.items()):
        if module_name.startswith("posable."):
            for name, value in vars(module).items():
                if isinstance(value, np.dtype) and value == dtype and value.names and _is_made_in(module, name):
                    return f"{module_name}.{name}"
    raise PosableError(f"records of {dtype} have no name: make their dtype a constant of a module")


@cache
def _is_made_in(module: ModuleType, name: str) -> bool:
    """Return whether a constant is made in a module, rather than imported there."""
    return re.search(rf"^{name}\b.*=", inspect.getsource(module), re.MULTILINE) is not None


def _kinds(words: Iterator[str]) -> Iterator[Kind]:
    for word in words:
        if word == ")":
            return
        if word.endswith("("):
            named = _named(word[:-1]) if word != "(" else None
            yield Kind(parts=tuple(_kinds(words)), named=named)
        elif word.endswith("]"):
            name, axes = word[:-1].split("[")
            yield Kind(dtype=_named(name) if "." in name else np.dtype(name), axes=int(axes))
        else:
            yield Kind(scalar=SCALARS[word])


@cache
def _named(path: str) -> Any:
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)
