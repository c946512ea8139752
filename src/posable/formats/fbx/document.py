"""An FBX document: objects with properties, and the connections between them.

Objects have numbers; a connection hangs one on another ("OO": a bone on a bone, a cluster on a skin), or on a property
of it ("OP": a curve's node on "Lcl Rotation"). Properties that an object does not state come from the template of its
kind. Versions 7.1 to 7.7 are read, binary and text; older ones name objects instead of numbering them.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ...compute import FormatError
from ...compute.files import read_bytes
from ...compute.types import Floats
from .records import LOOK, MAGIC, Record, Source, read_binary
from .text import read_text

MAX_FILE = 2**32
OLDEST, NEWEST = 7000, 8000
TICKS = 46_186_158_000  # of FBX's clock a second; newer files may count another
NEW_TICKS = 141_120_000
RATES: tuple[float, ...] = (
    *(0.0, 120.0, 100.0, 60.0, 50.0, 48.0, 30.0, 30.0, 30 / 1.001, 30 / 1.001),
    *(25.0, 24.0, 1000.0, 24 / 1.001, 0.0, 96.0, 72.0, 60 / 1.001, 120 / 1.001),
)
"""Frames a second of each `TimeMode`; 0: none, or one of its own."""
CUSTOM_RATE = 14


@dataclass(eq=False)
class FbxObject:
    """An object: its kind ("Model", "Deformer", ...), its name, and what it is in particular ("LimbNode", "Skin")."""

    number: int
    kind: str
    name: str
    sort: str
    record: Record
    template: dict[str, Record] = field(default_factory=dict, repr=False)

    @cached_property
    def properties(self) -> dict[str, Record]:
        """The properties that the object itself states."""
        return read_properties(self.record)

    def numbers(self, name: str, default: tuple[float, ...]) -> Floats:
        """A property of some numbers; the template's, or the default, where the object does not state it."""
        for table in (self.properties, self.template):
            if name in table:
                values = [table[name].number(4 + k) for k in range(len(default))]
                if all(value is not None for value in values):
                    return np.array(values, dtype=np.float64)
        return np.array(default, dtype=np.float64)

    def integer(self, name: str, default: int) -> int:
        """A property that is one whole number."""
        for table in (self.properties, self.template):
            if name in table and len(table[name].values) > 4:
                return table[name].integer(4, default)
        return default


@dataclass(eq=False)
class Document:
    """A parsed file: its objects by number, and what hangs on what."""

    path: Path
    version: int
    source: Source
    objects: dict[int, FbxObject]
    below: dict[int, list[tuple[int, str]]]
    """(object, property) for all that hangs on an object, in the file's order; the property is empty for the object."""
    above: dict[int, list[tuple[int, str]]]
    settings: FbxObject
    ticks: int = TICKS

    def __repr__(self) -> str:
        return f"Document({str(self.path)!r}, version {self.version}, {len(self.objects)} objects)"

    def of_kind(self, kind: str, sort: str = "") -> list[FbxObject]:
        """All objects of a kind, and of a sort of it where one is given."""
        return [one for one in self.objects.values() if one.kind == kind and sort in ("", one.sort)]

    def on(self, item: FbxObject, kind: str) -> list[tuple[FbxObject, str]]:
        """The objects of a kind that hang on an object, with the property they hang on."""
        return self._connected(self.below.get(item.number, []), kind)

    def holders(self, item: FbxObject, kind: str) -> list[tuple[FbxObject, str]]:
        """The objects of a kind that an object hangs on."""
        return self._connected(self.above.get(item.number, []), kind)

    def _connected(self, pairs: list[tuple[int, str]], kind: str) -> list[tuple[FbxObject, str]]:
        """The objects of a kind among some connections, each once; looking costs, or a file could ask for ever."""
        self.source.take(LOOK * len(pairs), "Connections")
        found = ((self.objects[number], name) for number, name in dict.fromkeys(pairs) if number in self.objects)
        return [(one, name) for one, name in found if one.kind == kind]

    @property
    def unit(self) -> float:
        """Metres in a unit of the file."""
        factor = float(self.settings.numbers("UnitScaleFactor", (1.0,))[0])
        if not 1e-9 < factor < 1e9:
            raise FormatError(
                self.path, f"is {factor}; expected centimetres in a unit", "GlobalSettings.UnitScaleFactor"
            )
        return 0.01 * factor

    @property
    def axes(self) -> Floats:
        """(3, 3) the rotation from the file's axes to ours (Y up, Z forward)."""
        rows = np.zeros((3, 3))
        for row, (name, default) in enumerate((("CoordAxis", 0), ("UpAxis", 1), ("FrontAxis", 2))):
            axis, sign = self.settings.integer(name, default), self.settings.integer(f"{name}Sign", 1)
            if axis not in (0, 1, 2):
                raise FormatError(self.path, f"is {axis}; expected 0, 1 or 2", f"GlobalSettings.{name}")
            rows[row, axis] = -1.0 if sign < 0 else 1.0
        if abs(np.linalg.det(rows)) < 0.5:
            raise FormatError(self.path, "names one axis twice", "GlobalSettings.UpAxis")
        rows[0] = np.cross(rows[1], rows[2])  # FBX is right-handed, whatever the sign of the third axis says
        return rows

    @property
    def fps(self) -> float | None:
        """Frames a second that the file states; None where it does not."""
        mode = self.settings.integer("TimeMode", 0)
        rate = RATES[mode] if 0 <= mode < len(RATES) else 0.0
        if mode == CUSTOM_RATE:
            rate = float(self.settings.numbers("CustomFrameRate", (0.0,))[0])
        return rate if 0.1 <= rate < 1e4 else None


def read_document(path: Path) -> Document:
    """Read a file; which form it has, its first bytes decide."""
    source = Source(path, read_bytes(path, MAX_FILE))
    version, root = read_binary(source) if source.data.startswith(MAGIC) else _text(source)
    if not OLDEST <= version < NEWEST:
        advice = "save it again as FBX 2011 or later (7.1 to 7.7)"
        source.fail(f"is FBX {version / 1000:.1f}; {advice}" if version else "states no version", "FBXVersion")
    templates = {} if (definitions := root.first("Definitions")) is None else _templates(definitions)
    listed = root.first("Objects")
    objects: dict[int, FbxObject] = {}
    for record in listed.records if listed is not None else ():
        values = record.values
        if not values or not isinstance(values[0], int):
            continue
        name = record.text(1)
        name = name.split("\0")[0] if "\0" in name else name.rpartition("::")[2]
        number = values[0]
        objects.setdefault(
            number, FbxObject(number, record.name, name, record.text(2), record, templates.get(record.name, {}))
        )
    below, above = _connections(root, objects)
    settings = root.first("GlobalSettings") or root
    ticks = _ticks(root.first("FBXHeaderExtension"))
    return Document(
        path, version, source, objects, below, above, FbxObject(0, "GlobalSettings", "", "", settings), ticks
    )


def read_properties(record: Record) -> dict[str, Record]:
    """The properties of a record by name: `P: "Lcl Rotation", "Lcl Rotation", "", "A", 0, 90, 0`."""
    table = record.first("Properties70")
    return {one.text(0): one for one in table.records if one.name == "P"} if table is not None else {}


def _text(source: Source) -> tuple[int, Record]:
    if b"FBXHeaderExtension" not in source.data[:100_000]:
        source.fail("is no FBX file", "byte 0")
    return read_text(source)


def _templates(definitions: Record) -> dict[str, dict[str, Record]]:
    found: dict[str, dict[str, Record]] = {}
    for kind in definitions.all("ObjectType"):
        template = kind.first("PropertyTemplate")
        if template is not None:
            found.setdefault(kind.text(0), read_properties(template))
    return found


def _connections(root: Record, objects: dict[int, FbxObject]) -> tuple[dict[int, Any], dict[int, Any]]:
    below: dict[int, list[tuple[int, str]]] = defaultdict(list)
    above: dict[int, list[tuple[int, str]]] = defaultdict(list)
    table = root.first("Connections")
    for record in table.records if table is not None else ():
        if len(record.values) < 3 or record.text(0) not in ("OO", "OP"):
            continue
        one, other = record.integer(1), record.integer(2)
        name = record.text(3) if record.text(0) == "OP" else ""
        if one in objects and (other in objects or other == 0) and one != other:
            below[other].append((one, name))
            above[one].append((other, name))
    return below, above


def _ticks(header: Record | None) -> int:
    flags = header.first("OtherFlags") if header is not None else None
    clock = flags.first("TCDefinition") if flags is not None else None
    since = header.first("FBXHeaderVersion") if header is not None else None
    if clock is None or since is None or since.integer(0) < 1004:
        return TICKS
    return TICKS if clock.integer(0) == 127 else NEW_TICKS
