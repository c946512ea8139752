"""Accessors: typed arrays inside a glTF document's buffers, decoded with every bound checked, and packed.

Decoding never reads past a buffer view and never makes more numbers than the file's size warrants: accessors may
overlap or have no data at all (zeros), so a small file could otherwise ask for any amount of memory. What is made of
them further on (keys, vertices, frames, pictures) counts against the same budget.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...compute.types import Floats
from .checked_json import JsonObject
from .document import Document

COMPONENTS: dict[int, np.dtype[Any]] = {
    5120: np.dtype("<i1"),
    5121: np.dtype("<u1"),
    5122: np.dtype("<i2"),
    5123: np.dtype("<u2"),
    5125: np.dtype("<u4"),
    5126: np.dtype("<f4"),
}
WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT2": 4, "MAT3": 9, "MAT4": 16}
ARRAY_BUFFER, ELEMENT_ARRAY_BUFFER = 34962, 34963
FREE_BYTES = 100_000_000  # of memory that reading any document may take, however small it is
PER_BYTE = 32  # and this many for each byte of its files


class Budget:
    """The memory that reading a document may take: it grows with the files that were read, each counted once."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.spent = 0

    def take(self, count: int) -> bool:
        """Spend `count` bytes before they are allocated; where they are not left, spend none and return False."""
        if self.spent + count > FREE_BYTES + PER_BYTE * self.document.bytes_read:
            return False
        self.spent += count
        return True


class Accessors:
    """Decodes the accessors of a document, each once."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.objects = document.root.items("accessors")
        self.views = document.root.items("bufferViews")
        self.budget = Budget(document)
        self.decoded: dict[int, NDArray[Any]] = {}
        self.converted: dict[int, Floats] = {}

    def __len__(self) -> int:
        return len(self.objects)

    def array(self, index: int, kinds: tuple[str, ...], user: JsonObject, key: str) -> NDArray[Any]:
        """The numbers of an accessor as `(count, width)` (or `(count,)` for scalars), in the file's own type.

        `kinds` are the accessor types that make sense there; `user` and `key` name the member that refers to it.
        """
        accessor = self.objects[index]
        kind = accessor.text("type")
        if kind not in kinds:
            user.fail(f"points to accessor {index} of type {kind!r}; expected {' or '.join(kinds)}", key)
        if index not in self.decoded:
            self.decoded[index] = self._decode(accessor, kind)
        return self.decoded[index]

    def floats(self, index: int, kinds: tuple[str, ...], user: JsonObject, key: str) -> Floats:
        """The numbers of an accessor as finite float64, read only; normalised integers become -1 to 1 or 0 to 1."""
        raw = self.array(index, kinds, user, key)
        if index not in self.converted:
            self.converted[index] = self._converted(index, raw)
        return self.converted[index]

    def _converted(self, index: int, raw: NDArray[Any]) -> Floats:
        values: Floats = raw.astype(np.float64)
        if raw.dtype.kind in "iu" and self.objects[index].flag("normalized"):
            values = np.maximum(values / np.iinfo(raw.dtype).max, -1.0)
        if not np.isfinite(values).all():
            row = int(np.argwhere(~np.isfinite(values))[0][0])
            self.objects[index].fail(f"element {row} is not finite")
        values.flags.writeable = False  # whoever refers to the accessor shares them
        return values

    def _decode(self, accessor: JsonObject, kind: str) -> NDArray[Any]:
        count = accessor.integer("count", low=1)
        code = accessor.integer("componentType")
        if code not in COMPONENTS:
            accessor.fail(f"is {code}; expected one of {sorted(COMPONENTS)}", "componentType")
        component, width = COMPONENTS[code], WIDTHS[kind]
        view = accessor.index("bufferView", len(self.views), "buffer views")
        rows = None
        if view is not None:
            rows = self._rows(accessor, view, accessor.integer("byteOffset", default=0), count, component, kind)
        copies = 2 if accessor.has("sparse") else 1
        if not self.budget.take(count * width * (copies * component.itemsize + 8)):  # 8: as float64
            accessor.fail(f"is {count}: the file asks for more numbers than its size warrants", "count")
        flat = np.zeros((count, width), component) if rows is None else rows
        if accessor.has("sparse"):
            flat = self._sparse(accessor.object("sparse"), flat, component, kind)
        return flat[:, 0] if kind == "SCALAR" else flat

    def _rows(
        self, accessor: JsonObject, view_index: int, start: int, count: int, component: np.dtype[Any], kind: str
    ) -> NDArray[Any]:
        """`count` elements from a buffer view, with its stride; a view on the bytes where they lie tight."""
        view = self.views[view_index]
        data = self.view_bytes(view_index)
        width = WIDTHS[kind]
        columns, pad = _matrix_padding(kind, component.itemsize)
        tight = columns * (width // columns * component.itemsize + pad)
        stride = view.integer("byteStride", low=1, high=65535, default=0) or tight
        if stride < tight:
            view.fail(f"is {stride}; an element of {accessor.where} has {tight} bytes", "byteStride")
        if start + (count - 1) * stride + tight > len(data):
            need = start + (count - 1) * stride + tight
            accessor.fail(f"is {count}: that needs {need} bytes of {view.where}, which has {len(data)}", "count")
        raw = np.frombuffer(data, np.uint8)[start:]
        window = np.lib.stride_tricks.as_strided(raw, (count, tight), (stride, 1), writeable=False)
        if pad:
            window = window.reshape(count, columns, -1)[:, :, : width // columns * component.itemsize]
        return np.ascontiguousarray(window).reshape(count, -1).view(component)

    def view_bytes(self, index: int) -> memoryview:
        """The bytes of a buffer view."""
        view = self.views[index]
        if "EXT_meshopt_compression" in view.object("extensions").value:
            view.fail("is compressed (EXT_meshopt_compression), which is not read: export it without compression")
        buffer = view.index("buffer", self.document.count("buffers"), "buffers")
        if buffer is None:
            view.fail("is missing", "buffer")
        data = self.document.buffer(buffer)
        start, length = view.integer("byteOffset", default=0), view.integer("byteLength", low=1)
        if start + length > len(data):
            view.fail(f"is {length} from byte {start} on; buffers[{buffer}] has {len(data)} bytes", "byteLength")
        return memoryview(data)[start : start + length]

    def _sparse(self, sparse: JsonObject, base: NDArray[Any], component: np.dtype[Any], kind: str) -> NDArray[Any]:
        """The base array with some elements replaced (glTF 2.0, section 3.6.2.3)."""
        count = sparse.integer("count", low=1, high=len(base))
        where, what = sparse.object("indices"), sparse.object("values")
        code = where.integer("componentType")
        if code not in (5121, 5123, 5125):
            where.fail(f"is {code}; expected 5121, 5123 or 5125", "componentType")
        views = [part.index("bufferView", len(self.views), "buffer views") for part in (where, what)]
        if views[0] is None or views[1] is None:
            sparse.fail("needs buffer views for its indices and its values")
        rows = self._rows(where, views[0], where.integer("byteOffset", default=0), count, COMPONENTS[code], "SCALAR")
        values = self._rows(what, views[1], what.integer("byteOffset", default=0), count, component, kind)
        if rows.max() >= len(base):
            where.fail(f"names element {rows.max()} of {len(base)}")
        patched = base.copy()
        patched[rows[:, 0]] = values
        return patched


class Packer:
    """Packs arrays into one binary chunk, with a buffer view and an accessor for each."""

    def __init__(self, accessors: list[dict[str, Any]], views: list[dict[str, Any]], binary: bytearray) -> None:
        self.accessors, self.views, self.binary = accessors, views, binary

    def add(
        self,
        values: NDArray[Any],
        kind: str,
        target: int | None = None,
        *,
        bounds: bool = False,
        normalized: bool = False,
    ) -> int:
        """Append an array and return its accessor's index.

        `bounds` adds the exact minimum and maximum, which positions and key times must have; `normalized` says that
        whole numbers stand for 0 to 1.
        """
        component = next(code for code, dtype in COMPONENTS.items() if dtype == values.dtype)
        accessor: dict[str, Any] = {
            "bufferView": self.add_bytes(np.ascontiguousarray(values).tobytes(), target),
            "componentType": component,
            "count": len(values),
            "type": kind,
        }
        if normalized:
            accessor["normalized"] = True
        if bounds:
            rows = values.reshape(len(values), -1)
            accessor |= {"min": rows.min(axis=0).tolist(), "max": rows.max(axis=0).tolist()}
        self.accessors.append(accessor)
        return len(self.accessors) - 1

    def add_bytes(self, data: bytes, target: int | None = None) -> int:
        """Append bytes, aligned to four, and return their buffer view's index."""
        self.binary += b"\0" * (-len(self.binary) % 4)
        view: dict[str, Any] = {"buffer": 0, "byteOffset": len(self.binary), "byteLength": len(data)}
        if target is not None:
            view["target"] = target
        self.binary += data
        self.views.append(view)
        return len(self.views) - 1


def _matrix_padding(kind: str, itemsize: int) -> tuple[int, int]:
    """Columns of an element, and the bytes that pad each to four (glTF 2.0, section 3.6.2.4)."""
    if not kind.startswith("MAT"):
        return 1, 0
    columns = math.isqrt(WIDTHS[kind])
    return columns, -columns * itemsize % 4
