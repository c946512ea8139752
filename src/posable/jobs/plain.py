"""Results as files that anybody may open: a tree of JSON and the arrays it points to, in one NumPy archive.

Nothing is pickled, so a store that came from a stranger can at worst hold wrong numbers. Floats and arrays come back
with the same bits. What JSON does not know comes back as what it does: tuples as lists, NumPy's numbers as Python's.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..compute import FormatError, PosableError
from ..compute.archive import PLAIN, archive_bytes, read_any_archive

FORMAT, VERSION = "posable-result", 1
MOST_BYTES = 1 << 34
ARRAY = "$array"  # {"$array": 2} in the tree is the archive's member array_2


def packed(identity: str, result: Any) -> bytes:
    """The file of a result, with the identity of what it was made from."""
    arrays: list[NDArray[Any]] = []
    about = {"format": FORMAT, "version": VERSION, "item": identity, "result": _tree(result, arrays, "the result")}
    text = json.dumps(about, ensure_ascii=False).encode("utf-8", "surrogatepass")
    members = {"about": np.frombuffer(text, np.uint8)}
    return archive_bytes(members | {f"array_{k}": array for k, array in enumerate(arrays)})


def unpacked(path: str | os.PathLike[str]) -> tuple[str, Any]:
    """(identity, result) of a file; FormatError unless it is whole and one of ours."""
    arrays = read_any_archive(path, MOST_BYTES)
    try:
        about = json.loads(arrays.pop("about").tobytes().decode("utf-8", "surrogatepass"))
        if (about["format"], about["version"]) != (FORMAT, VERSION):
            raise FormatError(path, f"is no {FORMAT} of version {VERSION}")
        identity = about["item"]
        if not isinstance(identity, str):
            raise TypeError("item is no text")
        return identity, _value(about["result"], arrays)
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise FormatError(path, f"is no result as we write them: {error}") from error


def plain(value: Any, what: str) -> Any:
    """`value` as JSON knows it, without arrays: what settings and items may be."""
    arrays: list[NDArray[Any]] = []
    tree = _tree(value, arrays, what)
    if arrays:
        raise PosableError(f"{what} has an array in it; expected numbers, text, lists, dicts and paths")
    return tree


def _tree(value: Any, arrays: list[NDArray[Any]], where: str) -> Any:
    """`value` with arrays taken out and named by their number."""
    if value is None or isinstance(value, bool):
        return value
    for kind in (str, int, float):
        if isinstance(value, kind):
            return kind(value)  # of a NumPy number or an enumeration, its value
    if isinstance(value, np.generic) and value.dtype.kind in "biufU":
        return value.item()
    if isinstance(value, np.ndarray) and value.dtype.kind in PLAIN:
        arrays.append(value)
        return {ARRAY: len(arrays) - 1}
    try:
        if isinstance(value, list | tuple):
            return [_tree(part, arrays, f"{where}[{k}]") for k, part in enumerate(value)]
        if isinstance(value, Mapping):
            return {_key(name, where): _tree(part, arrays, f"{where}[{name!r}]") for name, part in value.items()}
        if isinstance(value, os.PathLike):
            return os.fsdecode(value)
    except RecursionError:
        raise PosableError("it is nested too deeply, or in itself") from None
    told = f"array of {value.dtype}" if isinstance(value, np.ndarray) else type(value).__name__
    raise PosableError(f"{where} is a {told}; expected numbers, text, None, lists, dicts, paths and arrays of numbers")


def _key(name: Any, where: str) -> str:
    if not isinstance(name, str) or name.startswith("$"):
        raise PosableError(f"{where} has the key {name!r}; keys are text that does not begin with $")
    return str(name)


def _value(tree: Any, arrays: Mapping[str, NDArray[Any]]) -> Any:
    """What a tree was made from."""
    if isinstance(tree, list):
        return [_value(part, arrays) for part in tree]
    if isinstance(tree, dict):
        if ARRAY in tree:
            return arrays[f"array_{tree[ARRAY]}"]
        return {name: _value(part, arrays) for name, part in tree.items()}
    return tree
