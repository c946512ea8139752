"""Lists of edits in JSON files, so that the same edits can be made again, by people and by programs.

```json
{"posable": "edits", "version": 1, "edits": [
    {"frame": 60, "part": "left_hand", "displacement": [0, 0.2, 0.1], "spread": 0.5},
    {"frame": 90, "part": "head", "target": [0.1, 1.6, 0.3], "pins": ["right_hand", ["hips", 80, 100]]},
    {"warp": [{"frame": 40, "part": "right_hand", "target": [0, 1.1, 0.4]}], "spread": 0.3},
    {"stretch": {"left_lower_arm": 1.2}, "frame": 60},
    {"key": {"neck": [0, 0.3, 0]}, "translation": [0, -0.05, 0], "frame": 75, "muted": true}
]}
```

Names and meanings are those of `MotionEditor.edit`, `warp`, `stretch` and `key`; an edit with `"muted": true` is in the
list and not in the motion.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..compute import FormatError, PosableError, UnknownNameError, atomic_write
from .clip import part_of

if TYPE_CHECKING:
    from .editor import MotionEditor
    from .edits import Edit

MAX_BYTES = 16_000_000
MAX_EDITS = 10_000
MAX_PINS = 1000
MAX_VALUE = 1e6
"""Of the numbers of positions and orientations: a part a thousand kilometres away is a mistake."""
EXPECTED = 'a list of edits as {"posable": "edits", "version": 1, "edits": [...]}'
EDIT = (
    "frame",
    "part",
    "target",
    "displacement",
    "orientation",
    "spread",
    "ease",
    "frames",
    "pins",
    "contacts",
    "mode",
    "scope",
    "softness",
)
WARP = ("warp", "spread", "contacts", "scope")
STRETCH = ("stretch", "frame", "spread", "ease", "frames", "contacts")
KINDS = ("warp", "stretch", "key", "muted")
"""Names that say what an edit is; the others are arguments."""
KEY = ("key", "translation", "part", "scope", "frame", "spread", "ease", "frames", "contacts")


def save_edits(edits: Sequence[Edit], path: str | os.PathLike[str]) -> None:
    """Write edits as a list that `load_edits` reads."""
    import msgspec

    rows = [_row(edit) for edit in edits]
    text = msgspec.json.format(msgspec.json.encode({"posable": "edits", "version": 1, "edits": rows}), indent=1)
    with atomic_write(path) as temporary:
        temporary.write_bytes(text + b"\n")


def load_edits(path: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """Return the edits of a file, checked as far as that goes without a motion; `make_edits` makes them."""
    from ..compute.documents import read_json

    document = read_json(path, dict[str, Any], MAX_BYTES, EXPECTED)
    rows = document.get("edits")
    if document.get("posable") != "edits" or document.get("version") != 1 or not isinstance(rows, list):
        raise FormatError(path, f"is not a list of edits; expected {EXPECTED}")
    if not 1 <= len(rows) <= MAX_EDITS:
        raise FormatError(path, f"has {len(rows)} edits; expected 1 to {MAX_EDITS}", "edits")
    for k, row in enumerate(rows):
        try:
            _check(row)
        except PosableError as error:
            raise FormatError(path, str(error), f"edits[{k}]") from None
    return rows


def make_edits(editor: MotionEditor, rows: Sequence[dict[str, Any]]) -> list[Edit]:
    """Make edits, in order, on top of those that the editor has: all of them, or on an error none.

    The error names the edit by its number in the list, counted from 1.
    """
    before = editor.snapshot
    made: list[Edit] = []
    try:
        for row in rows:
            made.append(_made(editor, row))
    except PosableError as error:
        editor.restore(before)
        raise PosableError(f"edit {len(made) + 1} of the list: {error}") from None
    except BaseException:
        editor.restore(before)
        raise
    return made


def _made(editor: MotionEditor, row: dict[str, Any]) -> Edit:
    edit = _applied(editor, row)
    if row.get("muted"):
        edit.mute()
    return edit


def _applied(editor: MotionEditor, row: dict[str, Any]) -> Edit:
    options = {name: value for name, value in row.items() if name not in KINDS and value is not None}
    for name in ("frames", "softness"):
        if isinstance(options.get(name), list):
            options[name] = tuple(options[name])
    if "warp" in row:
        return editor.warp([(one["frame"], one["part"], one["target"]) for one in row["warp"]], **options)
    if "stretch" in row:
        return editor.stretch(row["stretch"], **options)
    if "key" in row:
        return editor.key(rotations=row["key"], **options)
    return editor.edit(**options)


def _check(row: Any) -> None:
    """Check the names of a row and the types of its values."""
    if not isinstance(row, dict):
        raise PosableError(f"is {row!r}; expected an object")
    names = WARP if "warp" in row else STRETCH if "stretch" in row else KEY if "key" in row else EDIT
    for name in row:
        if name not in (*names, "muted"):
            raise UnknownNameError("name in an edit", name, (*names, "muted"))
    if "warp" in row:
        if not isinstance(row["warp"], list) or not all(isinstance(one, dict) for one in row["warp"]):
            raise PosableError("its warp is not a list of objects with frame, part and target")
        for one in row["warp"]:
            if set(one) != {"frame", "part", "target"} or None in one.values():
                raise PosableError(f"a constraint of its warp is {one}; expected frame, part and target")
            _check_values(one)
    elif "stretch" in row:
        bones = row["stretch"]
        if not isinstance(bones, dict) or not all(_is_number(factor) for factor in bones.values()):
            raise PosableError("its stretch is not an object of parts and factors")
    elif "key" in row:
        if not isinstance(row["key"], dict) or len(row["key"]) > MAX_EDITS:
            raise PosableError("its key is not an object of joints and rotation vectors")
        for name, vector in row["key"].items():
            if vector is None:
                raise PosableError(f"the rotation of {name} is null; expected 3 numbers")
            _check_values({"displacement": vector})
    needed = ("frame", "part") if names is EDIT else ("frame",) if names in (STRETCH, KEY) else ()
    missing = [name for name in needed if row.get(name) is None]
    if missing:
        raise PosableError(f"lacks {', '.join(missing)}")
    _check_values(row)


def _check_values(row: dict[str, Any]) -> None:
    """Check the types of a row's values."""
    lengths = {"target": 3, "displacement": 3, "orientation": 4, "frames": 2, "softness": 2, "translation": 3}
    for name, length in lengths.items():
        value = row.get(name)
        numbers = isinstance(value, list) and len(value) == length and all(map(_is_number, value))
        if value is not None and not (numbers and all(abs(number) <= MAX_VALUE for number in value)):
            raise PosableError(f"{name} is {value!r}; expected {length} numbers, none beyond a million")
    kinds: dict[str, tuple[type, ...]] = {
        "frame": (int,), "part": (str,), "spread": (int, float), "ease": (str,), "mode": (str,), "scope": (str,),
        "contacts": (bool,), "pins": (list,), "muted": (bool,),
    }  # fmt: skip
    for name, types in kinds.items():
        value = row.get(name)
        fits = isinstance(value, types) and (bool in types or not isinstance(value, bool))
        if value is not None and not fits:
            raise PosableError(f"{name} is {value!r}; expected {' or '.join(t.__name__ for t in types)}")
    pins = row.get("pins") or ()
    if len(pins) > MAX_PINS or not all(map(_is_pin, pins)):
        raise PosableError(
            f"pins are {pins!r}; expected names of parts, or [part, first frame, last frame], {MAX_PINS} at most"
        )


def _is_pin(value: object) -> bool:
    if isinstance(value, list):
        return len(value) == 3 and isinstance(value[0], str) and all(type(frame) is int for frame in value[1:])
    return isinstance(value, str)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _row(edit: Edit) -> dict[str, Any]:
    """Return an edit as it is written; parts by name, since an index means another joint on another rig."""
    row = {name: _plain(value) for name, value in edit.settings.items() if value is not None}
    if "part" in row:
        row["part"] = _part(edit, row["part"])
    if "pins" in row:
        row["pins"] = [
            [_part(edit, pin[0]), *pin[1:]] if isinstance(pin, list) else _part(edit, pin) for pin in row["pins"]
        ]
    if "constraints" in row:
        constraints = [(frame, _part(edit, part), target) for frame, part, target in row.pop("constraints")]
        row["warp"] = [dict(zip(("frame", "part", "target"), constraint, strict=True)) for constraint in constraints]
    if edit.muted:
        row["muted"] = True
    if "rotations" in row:
        row["key"] = row.pop("rotations")
    if "bones" in row:
        row["stretch"] = {_part(edit, part): factor for part, factor in row.pop("bones").items()}
    return row


def _part(edit: Edit, part: str | int) -> str:
    return part if isinstance(part, str) else part_of(edit._owner().body, part)


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, tuple | list):
        return [_plain(one) for one in value]
    if isinstance(value, dict):
        return {_plain(key): _plain(one) for key, one in value.items()}
    return value
