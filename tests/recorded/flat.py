"""Results as flat dictionaries of plain values, small enough to be kept.

A value is a NumPy array (a number is one without axes) or a text. Arrays of more than `MOST` numbers are kept as a
digest of all of them and `SAMPLE` of them, evenly spread: the digest tells whether a bit changed, the sample how much.
Bytes (of a file) are kept as their digest alone.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any

import numpy as np

import posable as ps

MOST, SAMPLE = 400, 96
DIGEST = " sha256"
"""Ends the name of a digest."""

Flat = dict[str, np.ndarray | str]


def flatten(result: Mapping[str, Any]) -> Flat:
    """Names with dots between the levels to arrays and texts."""
    found: Flat = {}
    _add(found, "", result)
    return found


def stacked(results: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Results of the same kind, one a step of a stream, as one with a first axis more."""
    rows = [flatten(result) for result in results]
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    return {name: column if isinstance(column[0], str) else np.stack(column) for name, column in columns.items()}


def _add(found: Flat, name: str, value: Any) -> None:
    if isinstance(value, Mapping):
        for key, part in value.items():
            _add(found, f"{name}.{key}" if name else str(key), part)
    elif isinstance(value, ps.Motion):
        _add(found, name, {"pose": value.pose, "fps": float(value.fps)})
    elif isinstance(value, ps.Pose):
        offsets = {} if value.offsets is None else {"offsets": value.offsets}
        _add(found, name, {"translation": value.translation, "rotations": value.rotations, **offsets})
    elif isinstance(value, ps.Frames):
        _add(found, name, {"positions": value.positions, "orientations": value.orientations})
    elif isinstance(value, bytes):
        found[name + DIGEST] = hashlib.sha256(value).hexdigest()[:32]
    elif value is None or isinstance(value, str):
        found[name] = str(value)
    elif isinstance(value, Enum):
        found[name] = np.array(int(value.value), np.int8)
    elif isinstance(value, list | tuple) and not _numbers(value):
        found[name] = json.dumps(value)
    else:
        _add_array(found, name, np.asarray(value))


def _numbers(value: list[Any] | tuple[Any, ...]) -> bool:
    return len(value) > 0 and np.asarray(value, dtype=object).ravel()[0].__class__ not in (str, tuple, list)


def _add_array(found: Flat, name: str, array: np.ndarray) -> None:
    if array.dtype.kind not in "biuf":
        raise TypeError(f"{name} has dtype {array.dtype}; expected numbers")
    if array.size <= MOST:
        found[name] = np.array(array)
        return
    plain = np.ascontiguousarray(array)
    if array.dtype.kind == "f":  # one zero and one NaN, as `np.array_equal` has it
        plain = np.where(np.isnan(plain), np.array(np.nan, plain.dtype), plain + np.array(0.0, plain.dtype))
    told = f"{plain.dtype.str} {plain.shape} ".encode() + plain.tobytes()
    found[name + DIGEST] = hashlib.sha256(told).hexdigest()[:32]
    found[name] = plain.ravel()[np.linspace(0, plain.size - 1, SAMPLE).astype(np.int64)]
