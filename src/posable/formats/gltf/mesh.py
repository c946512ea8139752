"""Meshes of a glTF document as `SkinnedMesh`es on a skeleton's joints.

A skin moves a vertex v to the weighted sum of `W_j(t) B_j v`, with joint j's world matrix and its inverse bind matrix.
Ours moves it by rigid motions from a bind pose. They are the same for the bind pose `G inv(B_j)`, whatever matrix G is;
we take `G = W_0(rest) B_0`, which makes the bind pose the rest pose in files where it is that. A mesh without a skin
that hangs on a joint (a helmet, a sword) is bound to that joint alone.

Each vertex gets one colour: base colour factor times texture times vertex colour. That is enough to recognise a
character and no renderer: the texture is read at the vertices only, with Pillow where that is installed (it comes with
the studio); without it the factor alone decides.
"""

from __future__ import annotations

import io
import warnings
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ... import math as pm
from ...compute.types import Floats
from ...skeleton import Frames, SkinnedMesh
from ..trees import Folded, split_matrices
from .accessors import Accessors
from .checked_json import JsonObject
from .document import Document
from .nodes import NodeTree, mark

TRIANGLES, FAN = 4, 6  # and 5: a strip
MAX_MESHES = 1000
MAX_PRIMITIVES = 4000
MAX_COPIES = 8000  # of primitives, in all meshes that nodes show
# Bytes of memory that are counted for what is made of the file's arrays, with what is made on the way.
VERTEX, CORNER, WEIGHT = 250, 40, 40
COPIED_VERTEX, COPIED_WEIGHT, COPIED_FACE, BOUND_JOINT, BIND_MATRIX = 64, 12, 24, 56, 600
# Pictures unpack to many times their bytes.
FREE_PIXELS = 2**25  # of one picture in any document
PIXELS_PER_BYTE = 2  # and for each byte of its files
PICTURES_PIXELS = 4  # of all pictures, times what one may have
UNPACKING, UNPACKING_PER_BYTE = 200_000_000, 8  # bytes of memory while one picture is unpacked, and for each byte
PIXEL, SCANNED_PIXEL, WEBP_PIXEL = 4, 9, 16  # bytes that a pixel takes then: the libraries keep copies
SCANS = 10  # of a progressive JPEG as programs write them; each goes through all pixels
SCAN = b"\xff\xda"  # begins one; in what is packed, a byte of 255 has no other behind it than 0 or a restart
MAX_SIDE = 2048  # pixels of a picture that is kept: colours of vertices need no more
PICTURES = ("PNG", "JPEG", "WEBP")


@dataclass(frozen=True)
class Primitive:
    """The triangles of one material: vertices in the mesh's own frame, joints as indices into the skin's list."""

    vertices: Floats
    faces: NDArray[np.int32]
    joints: NDArray[np.int32] | None
    weights: Floats | None
    colours: NDArray[np.uint8]


@dataclass(frozen=True)
class Bind:
    """A skin at the moment of binding: our joints of its own (S,), the matrix G, and all joints' frames (J, ...)."""

    joints: NDArray[np.int32]
    to_world: Floats
    positions: Floats
    orientations: Floats
    exact: bool


class MeshReader:
    """Reads the meshes that the joints of a skeleton carry, at its rest pose."""

    def __init__(self, document: Document, accessors: Accessors, tree: NodeTree, joints: list[int]) -> None:
        self.document, self.accessors, self.tree, self.joints = document, accessors, tree, joints
        self.joint_of = {node: j for j, node in enumerate(joints)}
        self.meshes = document.root.items("meshes")
        self.skins = document.root.items("skins")
        self.colours = Colours(document, accessors)
        self.primitives: dict[int, list[Primitive] | None] = {}
        self.primitive_count = 0
        self.copies = 0
        self.binds: dict[int, Bind | None] = {}
        self.notes: list[str] = []

    def read(self, folded: Folded, rest: Frames) -> tuple[SkinnedMesh, ...]:
        """Every mesh that a joint moves; others (a floor, a light's shade) are left out and reported."""
        worlds = _matrices(rest.orientations, rest.positions, folded.scale)
        carriers, transforms = self._carried(worlds)
        found: list[SkinnedMesh] = []
        for node in self.tree.order:
            entry = self.tree.objects[node]
            index = entry.index("mesh", len(self.meshes), "meshes")
            if index is None or mark(entry).has("bones"):
                continue
            skin = entry.index("skin", len(self.skins), "skins")
            carrier = carriers[node]
            name = self.tree.name(node)
            if skin is None and carrier < 0:
                self.notes.append(f"the mesh {name!r} hangs on no joint and is not shown")
                continue
            if index not in self.primitives:
                self.primitives[index] = self._primitives(self.meshes[index])
            primitives = self.primitives[index]
            if primitives is None or len(found) >= MAX_MESHES or not self._may_copy(primitives):
                self.notes.append(
                    f"the file has too many meshes, or copies of one; those from {name[:60]!r} on are not shown"
                )
                break
            if not primitives:
                continue
            if skin is not None:
                mesh = self._skinned(name, primitives, skin, worlds, rest)
            else:
                mesh = self._rigid(name, primitives, carrier, transforms[node], rest)
            if mesh is not None and _is_finite(mesh):
                found.append(mesh)
        self.notes += self.colours.notes
        return tuple(found)

    def _may_copy(self, primitives: list[Primitive]) -> bool:
        """Whether the budget allows one more mesh of these primitives: nodes may repeat a mesh."""
        wide = max((p.joints.shape[1] for p in primitives if p.joints is not None), default=1)
        vertices = sum(len(p.vertices) for p in primitives)
        faces = sum(len(p.faces) for p in primitives)
        carried = vertices * (COPIED_VERTEX + COPIED_WEIGHT * wide) + COPIED_FACE * faces
        self.copies += len(primitives)
        return self.copies <= MAX_COPIES and self.accessors.budget.take(carried + BOUND_JOINT * len(self.joints))

    def _carried(self, worlds: Floats) -> tuple[list[int], dict[int, Floats]]:
        """For each node the nearest joint at or above it (-1: none), and the world matrices of those that have one."""
        tree = self.tree
        carriers = [-1] * len(tree.objects)
        transforms: dict[int, Floats] = {}
        relative = _matrices(tree.rotation, tree.translation, tree.scale)
        for node in tree.order:
            above = tree.parents[node]
            if node in self.joint_of:
                carriers[node] = self.joint_of[node]
                transforms[node] = worlds[carriers[node]]
            elif above >= 0 and carriers[above] >= 0:
                carriers[node] = carriers[above]
                transforms[node] = transforms[above] @ relative[node]
        return carriers, transforms

    def _skinned(
        self, name: str, primitives: list[Primitive], index: int, worlds: Floats, rest: Frames
    ) -> SkinnedMesh | None:
        skin = self.skins[index]
        if index not in self.binds:
            self.binds[index] = self._bind(skin, worlds, rest)
        bind = self.binds[index]
        if bind is None:
            self.notes.append(f"the mesh {name!r} is moved by joints that were left out, and is not shown")
            return None
        if not bind.exact:
            self.notes.append(f"the skin of {name!r} scales its joints unevenly; the mesh is shown without that")
        joints, weights = [], []
        for primitive in primitives:
            if primitive.joints is None or primitive.weights is None:
                self.notes.append(f"the mesh {name!r} has a skin and no weights, and is not shown")
                return None
            if primitive.joints.max(initial=0) >= len(bind.joints):
                most = primitive.joints.max()
                skin.fail(f"has {len(bind.joints)} joints; a vertex of {name!r} names joint {most}", "joints")
            joints.append(bind.joints[primitive.joints])
            weights.append(primitive.weights)
        return _merged(name, primitives, bind.to_world, joints, weights, bind.positions, bind.orientations)

    def _bind(self, skin: JsonObject, worlds: Floats, rest: Frames) -> Bind | None:
        """The bind pose of a skin, as rigid frames of all joints (those it does not move: at rest).

        None where it moves nothing, or joints that are not among ours.
        """
        nodes = skin.indices("joints", len(self.tree.objects), "nodes")
        if not nodes or any(node not in self.joint_of for node in nodes):
            return None
        where = np.array([self.joint_of[node] for node in nodes], dtype=np.int32)
        if not self.accessors.budget.take(BIND_MATRIX * len(where) + BOUND_JOINT * len(self.joints)):
            skin.fail("the file asks for more joints of skins than its size warrants", "joints")
        inverse = self._inverse_binds(skin, len(nodes))
        to_world = worlds[where[0]] @ inverse[0]
        positions, orientations = rest.positions.copy(), rest.orientations.copy()
        regular = np.abs(np.linalg.det(inverse)) >= 1e-18
        joints = where[regular]
        binds = to_world @ np.linalg.inv(inverse[regular])
        scale, rotations, whole = split_matrices(binds[:, :3, :3])
        own = np.linalg.norm(worlds[joints, :3, :3], axis=1)
        positions[joints], orientations[joints] = binds[:, :3, 3], rotations
        even = np.abs(scale - own).max(axis=1, initial=0.0) <= 1e-3 * own.max(axis=1, initial=0.0)
        exact = bool(regular.all() and whole.all() and even.all())
        return Bind(where, to_world, positions, orientations, exact)

    def _rigid(
        self, name: str, primitives: list[Primitive], carrier: int, to_world: Floats, rest: Frames
    ) -> SkinnedMesh:
        joints = [np.full((len(p.vertices), 1), carrier, dtype=np.int32) for p in primitives]
        weights = [np.ones((len(p.vertices), 1)) for p in primitives]
        return _merged(name, primitives, to_world, joints, weights, rest.positions, rest.orientations)

    def _inverse_binds(self, skin: JsonObject, count: int) -> Floats:
        """(count, 4, 4) inverse bind matrices, rows first."""
        index = skin.index("inverseBindMatrices", len(self.accessors), "accessors")
        if index is None:
            return np.tile(np.eye(4), (count, 1, 1))
        flat = self.accessors.floats(index, ("MAT4",), skin, "inverseBindMatrices")
        if len(flat) < count:
            skin.fail(f"has {len(flat)} matrices for {count} joints", "inverseBindMatrices")
        return flat[:count].reshape(count, 4, 4).transpose(0, 2, 1)

    def _primitives(self, mesh: JsonObject) -> list[Primitive] | None:
        """The triangles of a mesh; None where they are more than the document's size warrants."""
        found = []
        for primitive in mesh.items("primitives"):
            if primitive.integer("mode", high=6, default=TRIANGLES) < TRIANGLES:
                continue  # points and lines
            if "KHR_draco_mesh_compression" in primitive.object("extensions").value:
                self.notes.append(f"{primitive.where} is compressed (Draco) and is not shown; it is kept when saved")
                continue
            self.primitive_count += 1
            made = self._primitive(primitive) if self.primitive_count <= MAX_PRIMITIVES else None
            if made is None:
                return None
            found.append(made)
        return found

    def _primitive(self, primitive: JsonObject) -> Primitive | None:
        attributes = primitive.object("attributes")

        def attribute(key: str) -> int | None:
            return attributes.index(key, len(self.accessors), "accessors")

        index = attribute("POSITION")
        if index is None:
            attributes.fail("is missing", "POSITION")
        vertices = self.accessors.floats(index, ("VEC3",), attributes, "POSITION")
        if not self.accessors.budget.take(VERTEX * len(vertices)):
            return None
        faces = self._faces(primitive, len(vertices))
        if faces is None:
            return None
        joints, weights = [], []
        for number in range(4):  # JOINTS_0, JOINTS_1, ...: four joints a vertex each
            at = attribute(f"JOINTS_{number}"), attribute(f"WEIGHTS_{number}")
            if at[0] is None or at[1] is None:
                break
            numbers = self.accessors.array(at[0], ("VEC4",), attributes, f"JOINTS_{number}")
            weight = self.accessors.floats(at[1], ("VEC4",), attributes, f"WEIGHTS_{number}")
            if numbers.dtype.kind != "u" or len(numbers) != len(vertices) or len(weight) != len(vertices):
                attributes.fail(f"does not fit {len(vertices)} vertices", f"JOINTS_{number}")
            if not self.accessors.budget.take(4 * WEIGHT * len(vertices)):
                return None
            joints.append(numbers.astype(np.int32))
            weights.append(np.clip(weight, 0.0, None))
        colours = self.colours.of(primitive, attributes, len(vertices))
        if not joints:
            return Primitive(vertices, faces, None, None, colours)
        every = np.concatenate(weights, axis=1)
        total = every.sum(axis=1, keepdims=True)
        every = np.where(total > 1e-9, every / np.where(total > 1e-9, total, 1.0), np.eye(1, every.shape[1]))
        numbers = np.concatenate(joints, axis=1)
        return Primitive(vertices, faces, np.where(every > 0, numbers, numbers[:, :1]), every, colours)

    def _faces(self, primitive: JsonObject, count: int) -> NDArray[np.int32] | None:
        """(T, 3) the triangles; None where they are more than the document's size warrants."""
        index = primitive.index("indices", len(self.accessors), "accessors")
        corners: NDArray[Any] = np.arange(count, dtype=np.uint32)
        if index is not None:
            corners = self.accessors.array(index, ("SCALAR",), primitive, "indices")
            if corners.dtype.kind != "u" or corners.max(initial=0) >= count:
                primitive.fail(f"names a vertex that is not among the {count} there are", "indices")
        if not self.accessors.budget.take(CORNER * len(corners)):
            return None
        corners = corners.astype(np.int32)
        mode = primitive.integer("mode", high=6, default=TRIANGLES)
        if mode == TRIANGLES:
            return corners[: len(corners) // 3 * 3].reshape(-1, 3)
        if len(corners) < 3:
            return np.empty((0, 3), np.int32)
        if mode == FAN:
            return np.stack([np.full(len(corners) - 2, corners[0]), corners[1:-1], corners[2:]], axis=1)
        strip = np.stack([corners[:-2], corners[1:-1], corners[2:]], axis=1)
        strip[1::2] = strip[1::2, [1, 0, 2]]  # every other triangle of a strip is wound the other way
        return strip


def _matrices(orientations: Floats, positions: Floats, scale: Floats) -> Floats:
    """(J, 4, 4) of rotations, positions and scales."""
    found = np.zeros((len(positions), 4, 4))
    found[:, :3, :3] = pm.to_matrix(orientations) * scale[:, None, :]
    found[:, :3, 3], found[:, 3, 3] = positions, 1.0
    return found


def _is_finite(mesh: SkinnedMesh) -> bool:
    return all(np.isfinite(a).all() for a in (mesh.vertices, mesh.bind_positions, mesh.bind_orientations))


def _merged(
    name: str,
    primitives: list[Primitive],
    to_world: Floats,
    joints: list[NDArray[np.int32]],
    weights: list[Floats],
    positions: Floats,
    orientations: Floats,
) -> SkinnedMesh:
    """One mesh of several primitives: vertices one after the other, joints padded to the widest."""
    width = max(block.shape[1] for block in joints)
    starts = np.cumsum([0, *(len(p.vertices) for p in primitives)])
    vertices = np.concatenate([p.vertices for p in primitives])
    faces = np.concatenate([p.faces + np.int32(start) for p, start in zip(primitives, starts)])
    world = vertices @ to_world[:3, :3].T + to_world[:3, 3]
    if np.linalg.det(to_world[:3, :3]) < 0:
        faces = faces[:, ::-1].copy()  # a mirroring transform has triangles inside out
    return SkinnedMesh(
        name=name,
        vertices=world,
        faces=faces,
        joints=np.concatenate([_widened(block, width, "edge") for block in joints]),
        weights=np.concatenate([_widened(block, width, "constant") for block in weights]),
        bind_positions=positions,
        bind_orientations=orientations,
        colours=np.concatenate([p.colours for p in primitives]),
    )


def _widened(block: NDArray[Any], width: int, mode: Literal["edge", "constant"]) -> NDArray[Any]:
    """Return rows made `width` wide: by their last value, or by zeros."""
    missing = width - block.shape[1]
    return np.pad(block, ((0, 0), (0, missing)), mode=mode) if missing else block


class Colours:
    """Reads vertex colours, each texture once."""

    def __init__(self, document: Document, accessors: Accessors) -> None:
        self.document, self.accessors = document, accessors
        self.materials = document.root.items("materials")
        self.textures = document.root.items("textures")
        self.images = document.root.items("images")
        self.pictures: dict[int, NDArray[np.uint8] | None] = {}
        self.unpacked: dict[Any, NDArray[np.uint8] | None] = {}  # the same by the bytes they are made of
        self.pixels = 0
        self.notes: list[str] = []

    def of(self, primitive: JsonObject, attributes: JsonObject, count: int) -> NDArray[np.uint8]:
        """(count, 4) RGBA in sRGB of a primitive's vertices."""
        linear = np.ones((count, 4))
        index = primitive.index("material", len(self.materials), "materials")
        opaque = True
        if index is not None:
            material = self.materials[index]
            opaque = material.text("alphaMode", "OPAQUE") != "BLEND"
            surface = material.object("pbrMetallicRoughness")
            linear *= np.clip(surface.numbers("baseColorFactor", 4, (1.0, 1.0, 1.0, 1.0)), 0.0, 1.0)
            if surface.has("baseColorTexture"):
                linear *= self._textured(surface.object("baseColorTexture"), attributes, count)
        painted = attributes.index("COLOR_0", len(self.accessors), "accessors")
        if painted is not None:
            own = np.clip(self.accessors.floats(painted, ("VEC3", "VEC4"), attributes, "COLOR_0"), 0.0, 1.0)
            if len(own) != count:
                attributes.fail(f"has {len(own)} colours for {count} vertices", "COLOR_0")
            linear[:, : own.shape[1]] *= own
        if opaque:
            linear[:, 3] = 1.0
        return to_srgb(linear)

    def _textured(self, reference: JsonObject, attributes: JsonObject, count: int) -> Floats:
        """(count, 4) linear colours of a texture at the vertices; ones where it cannot be read."""
        texture = reference.index("index", len(self.textures), "textures")
        channel = f"TEXCOORD_{reference.integer('texCoord', high=8, default=0)}"
        at = attributes.index(channel, len(self.accessors), "accessors")
        if texture is None or at is None:
            return np.ones((1, 4))
        image = self.textures[texture].index("source", len(self.images), "images")
        if image is None:
            return np.ones((1, 4))
        if image not in self.pictures:
            self.pictures[image] = self._picture(self.images[image])
        picture = self.pictures[image]
        if picture is None:
            return np.ones((1, 4))
        coordinates = self.accessors.floats(at, ("VEC2",), attributes, channel)
        if len(coordinates) != count:
            attributes.fail(f"has {len(coordinates)} texture coordinates for {count} vertices", channel)
        height, width = picture.shape[:2]
        size = np.array([width, height])
        column, row = (np.floor((coordinates % 1.0) * size).astype(np.int64) % size).T  # textures repeat
        return from_srgb(picture[row, column])

    def _picture(self, image: JsonObject) -> NDArray[np.uint8] | None:
        """The pixels (H, W, 4) of an image, or None with a note."""
        try:
            from PIL import Image
        except ImportError:
            self._note("textures need Pillow (pip install 'posable[studio]'); plain colours are shown")
            return None
        view = image.index("bufferView", len(self.accessors.views), "buffer views")
        key: Any = image.text("uri")
        if view is not None:
            window = self.accessors.view_bytes(view)
            key = view_key(self.accessors.views[view])
        elif self.document.has_file(image, key):
            window = memoryview(self.document.resource(image, key))
        else:
            self._note(f"{image.where} is not next to the file; plain colours are shown")
            return None
        if key not in self.unpacked:
            self.unpacked[key] = self._unpacked(image, Image, bytes(window))
        return self.unpacked[key]

    def _unpacked(self, image: JsonObject, pillow: Any, data: bytes) -> NDArray[np.uint8] | None:
        most = FREE_PIXELS + PIXELS_PER_BYTE * self.document.bytes_read
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", pillow.DecompressionBombWarning)  # the bound below is a tighter one
                picture = pillow.open(io.BytesIO(data), formats=PICTURES)
                whole = picture.size[0] * picture.size[1]
                picture.draft("RGB", (MAX_SIDE, MAX_SIDE))  # of a JPEG, fewer pixels are unpacked
                width, height = picture.size
                self.pixels += width * height
                unpacking = width * height * (WEBP_PIXEL if picture.format == "WEBP" else PIXEL)
                if picture.format == "JPEG" and (scans := data.count(SCAN)) > 1:  # all of it is held, and gone through
                    self.pixels += whole * (scans // SCANS)
                    unpacking = whole * SCANNED_PIXEL
                stored = min(width, MAX_SIDE), min(height, MAX_SIDE)
                if width * height > most or self.pixels > PICTURES_PIXELS * most:
                    raise ValueError(f"{picture.size} pixels")
                if unpacking > UNPACKING + UNPACKING_PER_BYTE * self.document.bytes_read:
                    raise ValueError(f"{picture.size} pixels unpacked")
                if not self.accessors.budget.take(4 * stored[0] * stored[1]):
                    raise ValueError(f"{stored} pixels stored")
                if stored != picture.size:
                    picture = picture.resize(stored, pillow.Resampling.NEAREST)
                return np.asarray(picture.convert("RGBA"))
        except Exception as error:  # Pillow lets many kinds out of its decoders, and a texture is no reason to fail
            self._note(f"{image.where} cannot be read as a picture ({type(error).__name__}); plain colours are shown")
            return None

    def _note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)


def view_key(view: JsonObject) -> tuple[int, int, int]:
    """Which bytes a buffer view is on: views with the same key show the same."""
    return view.integer("buffer"), view.integer("byteOffset", default=0), view.integer("byteLength")


def to_srgb(linear: Floats) -> NDArray[np.uint8]:
    """Linear colours 0 to 1 (..., 4) as sRGB bytes; alpha stays linear."""
    curved = np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * np.maximum(linear, 0.0031308) ** (1 / 2.4) - 0.055)
    curved[..., 3] = linear[..., 3]
    return np.asarray(np.rint(255 * np.clip(curved, 0.0, 1.0)), dtype=np.uint8)


def from_srgb(colours: NDArray[Any]) -> Floats:
    """SRGB bytes (..., 4) as linear colours 0 to 1; alpha stays linear."""
    fraction = colours / 255.0
    linear = np.where(fraction <= 0.04045, fraction / 12.92, ((fraction + 0.055) / 1.055) ** 2.4)
    linear[..., 3] = fraction[..., 3]
    return np.asarray(linear, dtype=np.float64)
