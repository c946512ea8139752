"""The bytes of a glTF document in one binary chunk, without those that nothing in it uses any more.

A file that is loaded, edited and saved again and again must not grow: what only a dropped animation used is left out.
An extension may refer to accessors or buffer views in ways we do not know; a file with such a one is kept whole.
"""

from __future__ import annotations

from typing import Any

from .accessors import Accessors
from .checked_json import Place
from .document import Document

# Extensions that refer to no accessor and no buffer view.
HARMLESS = ("KHR_materials_", "KHR_texture_", "KHR_lights_", "KHR_mesh_quantization", "EXT_texture_", "VRM")
PICTURE_TYPES = {".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".webp": "image/webp"}


def repacked(document: Document) -> tuple[dict[str, Any], bytearray]:
    """The document's JSON (changed in place) with one buffer, and that buffer's bytes. Pictures beside it move in."""
    root = document.root
    accessors = Accessors(document)
    extensions = root.value.get("extensionsUsed", [])
    understood = isinstance(extensions, list) and all(str(name).startswith(HARMLESS) for name in extensions)
    if understood:
        _drop_unused(root, "accessors", _accessor_uses(root))
        _drop_unused(root, "bufferViews", _view_uses(root))
        accessors = Accessors(document)
    binary = bytearray()
    if understood and _bytes_of_views(accessors) <= 4 * _bytes_of_buffers(document) + 2**20:
        for index, view in enumerate(accessors.views):
            data = accessors.view_bytes(index)
            _align(binary)
            view.value.update(buffer=0, byteOffset=len(binary), byteLength=len(data))
            binary += data
    else:  # views that lie over one another would multiply: keep the buffers as they are, one behind the other
        starts = []
        for index in range(document.count("buffers")):
            _align(binary)
            starts.append(len(binary))
            binary += document.buffer(index)
        for view in accessors.views:
            _move_view(view, starts)
    _take_in_pictures(document, binary)
    root.value.pop("buffers", None)
    return root.value, binary


def _accessor_uses(root: Place) -> list[tuple[dict[str, Any], str]]:
    """Every place that refers to an accessor, as (object, key)."""
    uses: list[tuple[dict[str, Any], str]] = []
    for mesh in root.items("meshes"):
        for primitive in mesh.items("primitives"):
            uses.append((primitive.value, "indices"))
            for attributes in (primitive.object("attributes"), *primitive.items("targets")):
                uses += [(attributes.value, key) for key in attributes.value]
    uses += [(skin.value, "inverseBindMatrices") for skin in root.items("skins")]
    for animation in root.items("animations"):
        for sampler in animation.items("samplers"):
            uses += [(sampler.value, "input"), (sampler.value, "output")]
    return uses


def _view_uses(root: Place) -> list[tuple[dict[str, Any], str]]:
    """Every place that refers to a buffer view, as (object, key)."""
    uses: list[tuple[dict[str, Any], str]] = []
    for accessor in root.items("accessors"):
        sparse = accessor.object("sparse")
        uses += [(place.value, "bufferView") for place in (accessor, sparse.object("indices"), sparse.object("values"))]
    return uses + [(image.value, "bufferView") for image in root.items("images")]


def _drop_unused(root: Place, key: str, uses: list[tuple[dict[str, Any], str]]) -> None:
    """Remove the members of an array that nothing refers to, and renumber the references."""
    members = root.items(key)
    met: set[int] = set()
    seen: set[tuple[int, str]] = set()
    renumbered: list[tuple[dict[str, Any], str]] = []
    for holder, name in uses:
        index = Place(root.path, holder, key).index(name, len(members), key)
        if index is not None and (id(holder), name) not in seen:
            seen.add((id(holder), name))  # an object that two places share is renumbered once
            met.add(index)
            renumbered.append((holder, name))
    order = {old: new for new, old in enumerate(sorted(met))}
    for holder, name in renumbered:
        holder[name] = order[holder[name]]
    root.value[key] = [members[old].value for old in order]


def _move_view(view: Place, starts: list[int]) -> None:
    """Point a view at the joined buffer; also the compressed twin that EXT_meshopt_compression keeps beside it."""
    holders = [view]
    compressed = view.object("extensions").object("EXT_meshopt_compression")
    if compressed.has("buffer"):
        holders.append(compressed)
    for holder in holders:
        buffer = holder.index("buffer", len(starts), "buffers")
        if buffer is not None:
            holder.value["byteOffset"] = holder.integer("byteOffset", default=0) + starts[buffer]
            holder.value["buffer"] = 0


def _take_in_pictures(document: Document, binary: bytearray) -> None:
    """Put pictures that lie beside the file into it, so that the new one is complete; missing ones stay missing."""
    views = document.root.value.setdefault("bufferViews", [])
    for image in document.root.items("images"):
        uri = image.text("uri")
        kind = PICTURE_TYPES.get(uri[uri.rfind(".") :].lower()) or image.text("mimeType")
        if uri[:5].lower() in ("", "data:") or not kind or not document.has_file(image, uri):
            continue
        data = document.resource(image, uri)
        _align(binary)
        image.value.update(bufferView=len(views), mimeType=kind)
        del image.value["uri"]
        views.append({"buffer": 0, "byteOffset": len(binary), "byteLength": len(data)})
        binary += data


def _bytes_of_views(accessors: Accessors) -> int:
    return sum(view.integer("byteLength", low=1) for view in accessors.views)


def _bytes_of_buffers(document: Document) -> int:
    return sum(len(document.buffer(index)) for index in range(document.count("buffers")))


def _align(binary: bytearray) -> None:
    binary += b"\0" * (-len(binary) % 4)
