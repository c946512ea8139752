"""Behaviours in files: JSON that a person can read, edited by hand or by the studio, and read back to the last bit."""

from __future__ import annotations

import math
from dataclasses import asdict
from os import PathLike
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np

from ..compute import FormatError, PosableError
from ..compute.documents import read_document, write_document
from ..limb.model import Search, checked_search
from ..limits import Ellipse
from .behaviour import MAX_KEYS, Behaviour
from .posture import Key, Posture, Weight

FORMAT = "posable-behaviour/1"
MAX_BYTES = 8_000_000
MAX_NAME = 200  # characters

Name = Annotated[str, msgspec.Meta(max_length=MAX_NAME)]
Pair = tuple[float, float]
Quaternion = tuple[float, float, float, float]


class EllipseEntry(msgspec.Struct, forbid_unknown_fields=True):
    """Radii and centre [rad]."""

    radii: Pair
    centre: Pair


class WeightEntry(msgspec.Struct, forbid_unknown_fields=True):
    """As `Weight`."""

    kind: str
    k: float


class SearchEntry(msgspec.Struct, forbid_unknown_fields=True):
    """As `Search` [rad]."""

    preferred: float
    low: float
    high: float
    step: float
    growth: float
    refine: Annotated[int, msgspec.Meta(ge=0, le=60)] = 6


class KeyEntry(msgspec.Struct, forbid_unknown_fields=True):
    """As `Key`; `rotations` by role, or null where the key is interpolated."""

    id: Annotated[int, msgspec.Meta(ge=0, le=2**31)]
    at: Annotated[list[float], msgspec.Meta(min_length=2, max_length=3)]
    rotations: dict[str, Quaternion] | None
    hips: tuple[float, float, float] = (0.0, 0.0, 0.0)
    outer: bool = False
    search: SearchEntry | None = None
    name: Name = ""


class BehaviourFile(msgspec.Struct, forbid_unknown_fields=True):
    """The whole file."""

    format: str
    limb: str
    parts: Annotated[list[str], msgspec.Meta(max_length=32)]
    interpolation: str
    weight: WeightEntry
    ellipse: EllipseEntry
    keys: Annotated[list[KeyEntry], msgspec.Meta(max_length=MAX_KEYS)]
    name: Name = ""


def save(behaviour: Behaviour, path: str | PathLike[str]) -> None:
    """Write a behaviour, whole or not at all."""
    document: dict[str, Any] = {
        "format": FORMAT,
        "name": behaviour.name,
        "limb": behaviour.limb,
        "parts": list(behaviour.parts),
        "interpolation": behaviour.interpolation,
        "weight": {"kind": behaviour.weight.kind, "k": behaviour.weight.k},
        "ellipse": {"radii": list(behaviour.ellipse.radii), "centre": list(behaviour.ellipse.centre)},
        "keys": [_entry(key) for key in behaviour.keys],
    }
    write_document(path, document, BehaviourFile)


def load(path: str | PathLike[str]) -> Behaviour:
    """Read a behaviour; an error names the field of the file that is wrong."""
    where = Path(path)
    content = read_document(where, BehaviourFile, FORMAT, MAX_BYTES)
    behaviour = _without_keys(where, content)
    _read_keys(where, behaviour, content.keys)
    return behaviour


def _without_keys(where: Path, content: BehaviourFile) -> Behaviour:
    """Return the behaviour without its keys, made field by field, so that an error names the one that is wrong."""
    given: dict[str, Any] = {}
    for field, make in (
        ("limb", lambda: {"limb": content.limb, "parts": ()}),
        ("interpolation", lambda: {"interpolation": content.interpolation}),
        ("parts", lambda: {"parts": content.parts}),
        ("weight", lambda: {"weight": Weight(content.weight.kind, content.weight.k)}),
        ("ellipse", lambda: {"ellipse": Ellipse(content.ellipse.radii, content.ellipse.centre)}),
    ):
        try:
            given |= make()
            behaviour = Behaviour(**given, name=content.name)
        except PosableError as error:
            raise FormatError(where, str(error), field) from None
    return behaviour


def _read_keys(where: Path, behaviour: Behaviour, entries: list[KeyEntry]) -> None:
    expected = [key.at for key in behaviour.keys]
    outer = [entry for entry in entries if entry.outer]
    if len(outer) != len(expected):
        raise FormatError(where, f"has {len(outer)} outer keys; expected {len(expected)}", "keys")
    for row, entry in enumerate(entries):
        if entry.outer:
            corner = next((at for at in expected if len(entry.at) == 2 and math.dist(entry.at, at) < 1e-9), None)
            if corner is None:
                raise FormatError(where, f"it is at {entry.at}; expected a free one of {expected}", f"keys[{row}].at")
            expected.remove(corner)
    behaviour._keys = {}
    for row, entry in enumerate(entries):
        try:
            if entry.id in behaviour._keys:
                raise PosableError(f"id {entry.id} occurs twice")
            posture = None if entry.rotations is None else _posture(behaviour, entry)
            if entry.outer and posture is None:
                raise PosableError("an outer key must have rotations")
            at = tuple(entry.at) if entry.outer else behaviour._checked_position(entry.at)
            search = None if entry.search is None else checked_search(Search(**msgspec.structs.asdict(entry.search)))
            behaviour._insert(Key(entry.id, at, posture, entry.outer, search, entry.name))
        except PosableError as error:
            raise FormatError(where, str(error), f"keys[{row}]") from None
    behaviour._next = 1 + max((entry.id for entry in entries), default=-1)


def _posture(behaviour: Behaviour, entry: KeyEntry) -> Posture | None:
    given = entry.rotations or {}
    missing = [part for part in behaviour.parts if part not in given]
    extra = [part for part in given if part not in behaviour.parts]
    if missing or extra:
        raise PosableError(f"its rotations lack {missing} and have {extra} too many; expected those of `parts`")
    rotations = [given[part] for part in behaviour.parts] or np.zeros((0, 4))
    return behaviour._checked(Posture(behaviour.parts, rotations, entry.hips))


def _entry(key: Key) -> dict[str, Any]:
    hips, rotations = [0.0, 0.0, 0.0], None
    if key.posture is not None:
        hips = key.posture.hips.tolist()
        rotations = dict(zip(key.posture.parts, key.posture.rotations.tolist(), strict=True))
    return {
        "id": key.id,
        "name": key.name,
        "at": list(key.at),
        "outer": key.outer,
        "hips": hips,
        "rotations": rotations,
        "search": None if key.search is None else asdict(key.search),
    }
