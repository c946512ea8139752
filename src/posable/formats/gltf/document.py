"""The container of a glTF document: `.gltf` text or `.glb`/`.vrm` chunks, and the buffers next to it.

`pygltflib` was tried first and not taken: it remakes a document from its own classes (defaults appear, unknown members
of a file vanish), took 6.9 s for a character that `json` parses in 0.02 s, accepts wrong chunk lengths, and its errors
name no place. A document therefore stays the dictionary that `json` made, so that what we do not understand survives.

A URI is read only if it is `data:` or a plain relative path that stays inside the file's own folder.
"""

from __future__ import annotations

import base64
import binascii
import json
import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from ...compute import FormatError, PosableError, atomic_write
from ...compute.files import inside_folder, read_bytes
from .checked_json import JsonObject, parse_json

GLB_MAGIC = b"glTF"
JSON_CHUNK = 0x4E4F534A
BIN_CHUNK = 0x004E4942
MAX_JSON = 2**30  # bytes, of which most are buffers written out as base64
MAX_FILE = 2**32  # bytes of a file, or of one next to it


@dataclass(frozen=True)
class Document:
    """A parsed glTF file: the JSON as it came, and the bytes of its buffers (read when first needed)."""

    path: Path
    json: dict[str, Any]
    chunk: bytes | None = None  # a GLB's binary chunk: buffer 0 when that has no URI
    loaded: dict[int, memoryview] = field(default_factory=dict)
    files: dict[Path, bytes] = field(default_factory=dict)  # each read once, however many URIs name it
    paths: dict[str, Path] = field(default_factory=dict)  # of those files by their URI
    size: int = 0  # bytes of the file itself

    def __repr__(self) -> str:
        return f"Document({str(self.path)!r})"

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the views on the bytes: another process makes them anew."""
        return {**vars(self), "loaded": {}}

    @property
    def root(self) -> JsonObject:
        """The document's outermost object, for typed look-ups."""
        return JsonObject(self.path, self.json)

    @property
    def bytes_read(self) -> int:
        """Bytes of the file and of those next to it that were read so far, each counted once."""
        return self.size + sum(map(len, self.files.values()))

    def count(self, key: str) -> int:
        """How many members one of the document's arrays has."""
        value = self.json.get(key, [])
        return len(value) if isinstance(value, list) else 0

    def buffer(self, index: int) -> memoryview:
        """The bytes of a buffer: `byteLength` of them, never more."""
        if index not in self.loaded:
            entry = self.root.item("buffers", index)
            length = entry.integer("byteLength", low=1)
            if entry.has("uri"):
                data = self.resource(entry, entry.text("uri"), length)
            elif index == 0 and self.chunk is not None:
                data = self.chunk
            else:
                entry.fail("has neither a URI nor a binary chunk")
            if len(data) < length:
                entry.fail(f"is {length}, but only {len(data)} bytes are there", "byteLength")
            self.loaded[index] = memoryview(data)[:length]
        return self.loaded[index]

    def has_file(self, owner: JsonObject, uri: str) -> bool:
        """Whether what a URI names is there; one that leads out of the folder is an error all the same."""
        return uri[:5].lower() == "data:" or _inside(owner, uri).is_file()

    def resource(self, owner: JsonObject, uri: str, length: int = MAX_FILE) -> bytes:
        """The bytes of what a URI names, at least the first `length` where it has as many.

        Only `data:` and paths inside the file's folder are read.
        """
        if uri[:5].lower() == "data:":
            return _data_uri(owner, uri)
        target = self.paths.get(uri) or _inside(owner, uri)
        if uri not in self.paths and not target.is_file():
            owner.fail(f"names {uri[:80]!r}, and there is no such file next to this one", "uri")
        self.paths[uri] = target
        have = len(self.files.get(target, b""))
        if have < min(length, target.stat().st_size):
            # At least twice as much as before: buffers that ask for a byte more each would otherwise read it all, and
            # keep it, as often as there are buffers.
            try:
                self.files[target] = read_bytes(target, MAX_FILE, first=max(length, 2 * have))
            except FormatError as error:
                owner.fail(str(error), "uri")
        return self.files.get(target, b"")


def read_document(path: Path) -> Document:
    """Read a `.gltf`, `.glb` or `.vrm` file; which of them it is, its first bytes decide."""
    data = read_bytes(path, MAX_FILE)
    chunk = None
    text = data
    if data[:4] == GLB_MAGIC:
        text, chunk = _chunks(path, data)
    if len(text) > MAX_JSON:
        raise FormatError(path, f"its JSON text has {len(text)} bytes; at most {MAX_JSON} are read")
    document = Document(path, parse_json(path, text), chunk, size=len(data))
    asset = document.root.object("asset")
    version = asset.text("version")
    if not version.startswith("2."):
        asset.fail(
            f"is {version!r}; glTF 2.0 is read (a 1.0 file can be converted by the tool that made it)", "version"
        )
    return document


def write_document(path: Path, document: dict[str, Any], binary: bytes) -> None:
    """Write a document whose one buffer is `binary`: chunks for `.glb` and `.vrm`, one text for `.gltf`.

    The file is complete in itself (a `.gltf` carries its buffer as a data URI), so that it is never half written.
    """
    binary += b"\0" * (-len(binary) % 4)
    document = dict(document)
    document.pop("buffers", None)
    if binary:
        document["buffers"] = [{"byteLength": len(binary)}]
    as_text = path.suffix.lower() == ".gltf"
    if as_text and binary:
        encoded = base64.b64encode(binary).decode("ascii")
        document["buffers"] = [{"byteLength": len(binary), "uri": f"data:application/octet-stream;base64,{encoded}"}]
    try:
        text = json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":"), indent=None).encode()
    except RecursionError:
        raise PosableError(f"cannot write {str(path)!r}: the character's file nests its members too deeply") from None
    except ValueError as error:  # a number that JSON does not know, or text that is no Unicode
        raise PosableError(f"cannot write {str(path)!r}: {error}") from None
    with atomic_write(path) as temporary:
        temporary.write_bytes(text if as_text else pack_glb(text, binary))


def pack_glb(text: bytes, binary: bytes) -> bytes:
    """A GLB file of a JSON text and a binary chunk, each padded to four bytes."""
    text += b" " * (-len(text) % 4)
    binary += b"\0" * (-len(binary) % 4)
    parts = struct.pack("<II", len(text), JSON_CHUNK) + text
    if binary:
        parts += struct.pack("<II", len(binary), BIN_CHUNK) + binary
    if len(parts) + 12 > 0xFFFFFFFF:
        raise PosableError(f"a GLB file holds at most 4 GiB; this one would have {len(parts)} bytes: save fewer frames")
    return struct.pack("<4sII", GLB_MAGIC, 2, len(parts) + 12) + parts


def _chunks(path: Path, data: bytes) -> tuple[bytes, bytes | None]:
    """The JSON text and the binary chunk of a GLB file (glTF 2.0, section 4.4)."""
    if len(data) < 20:
        raise FormatError(path, f"a GLB file of {len(data)} bytes; its headers alone have 20", "byte 0")
    _, version, total = struct.unpack_from("<4sII", data)
    if version != 2:
        raise FormatError(path, f"GLB version {version}; version 2 is read", "byte 4")
    if total > len(data):
        raise FormatError(path, f"says it has {total} bytes and has {len(data)}: it is cut short", "byte 8")
    text = binary = None
    at = 12
    while at + 8 <= total:
        length, kind = struct.unpack_from("<II", data, at)
        if at + 8 + length > total:
            left = total - at - 8
            raise FormatError(path, f"a chunk says it has {length} bytes; {left} are left", f"byte {at}")
        if text is None and kind != JSON_CHUNK:
            raise FormatError(path, f"the first chunk has type {kind:#x}; expected JSON", f"byte {at + 4}")
        if text is None:
            text = data[at + 8 : at + 8 + length]
        elif kind == BIN_CHUNK and binary is None:
            binary = data[at + 8 : at + 8 + length]
        at += 8 + length  # other kinds of chunk are to be passed over
    if text is None:
        raise FormatError(path, "has no JSON chunk", "byte 12")
    return text, binary


def _data_uri(owner: JsonObject, uri: str) -> bytes:
    head, comma, body = uri.partition(",")
    if not comma or not head.lower().endswith(";base64"):
        owner.fail(f"is {uri[:40]!r}...; a data URI must be base64", "uri")
    try:
        return base64.b64decode(body, validate=True)
    except (binascii.Error, ValueError) as error:
        owner.fail(f"is no valid base64: {error}", "uri")


def _inside(owner: JsonObject, uri: str) -> Path:
    """The file a relative URI names, if it lies in the document's folder or below."""
    target = inside_folder(owner.path.resolve().parent, unquote(uri))
    if target is None:
        owner.fail(f"is {uri[:80]!r}; only data: and relative paths inside the file's folder are read", "uri")
    return target
