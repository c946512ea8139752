"""glTF documents to write: a new one for a motion, or the one its skeleton came from with another animation.

A new document has nodes, a skin, a mesh to look at, and the animation. Many viewers show nothing without a mesh, so a
skeleton that has none gets octahedral bones. End sites become leaf nodes. What glTF has no place for (frame rate, joint
kinds, which leaves are end sites) is noted in `extras.posable`; so are the bones, which are for other programs and not
taken for the body's own look when the file is loaded.

In the document of a skeleton's own file, node transforms, meshes, skins, materials, textures, VRM data and unknown
extensions stay as they are. The motion becomes the first animation, the one viewers play. It takes the place of the
animation of the same name (normally the one it was loaded from), of which the tracks that move no joint of ours (faces,
cameras, props) stay. The file's other animations follow, unless the caller drops them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import __version__
from ... import math as pm
from ...compute import PosableError
from ...compute.types import Floats
from ...skeleton import Frames, Motion, Pose, Skeleton, SkinnedMesh
from ...skeleton.character import bone_mesh, vertex_normals
from ..trees import fold
from .accessors import ARRAY_BUFFER, ELEMENT_ARRAY_BUFFER, Accessors, Packer
from .animation import PATHS, Tracks, animation_names
from .checked_json import JsonObject
from .document import Document
from .mesh import from_srgb
from .nodes import NodeTree, read_nodes

IDENTITY = (1.0, 0.0, 0.0, 0.0)
# Extensions that refer to no accessor and no buffer view.
HARMLESS = ("KHR_materials_", "KHR_texture_", "KHR_lights_", "KHR_mesh_quantization", "EXT_texture_", "VRM")
PICTURE_TYPES = {".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".webp": "image/webp"}
LARGEST = 1e18  # [m]: float32 ends at 3e38, and normals and boxes of viewers are made of squares
SAME_POSITION = 1e-4  # [m]: offsets of "the same" skeleton may differ by no more


def new_document(motion: Motion, *, looks: bool = True) -> tuple[dict[str, Any], bytes]:
    """A document for a motion, and its binary chunk; without `looks` one that has no mesh."""
    skeleton = motion.skeleton
    check_lengths(skeleton)
    document: dict[str, Any] = {
        "asset": {"version": "2.0", "generator": f"Posable {__version__}"},
        "scene": 0,
        "nodes": _nodes(skeleton),
        "accessors": [],
        "bufferViews": [],
    }
    binary = bytearray()
    packer = Packer(document["accessors"], document["bufferViews"], binary)
    rest = skeleton.forward(skeleton.rest)
    roots = [0, *(_add_meshes(document, packer, skeleton, rest) if looks else ())]
    document["scenes"] = [{"name": motion.name or "motion", "nodes": roots}]
    if len(motion):
        tracks = Tracks(motion, packer)
        pose = motion.pose
        for j in range(len(skeleton)):
            if j == 0:
                tracks.add_translation(0, pose.translation, skeleton.offsets[0], always=True)
            elif pose.offsets is not None:
                tracks.add_translation(j, pose.offsets[:, j], skeleton.offsets[j])
            tracks.add_rotation(j, pose.rotations[:, j], skeleton.rest_rotations[j])
        document["animations"] = [tracks.animation()]
    return document, bytes(binary)


@np.errstate(over="ignore")  # infinite is too large as well
def check_lengths(skeleton: Skeleton, pose: Pose | None = None) -> None:
    """Refuse a skeleton, and a pose of it, that is larger than numbers of float32, which viewers work with."""
    lengths = [np.abs(skeleton.offsets).sum(axis=0), skeleton.end_offsets]
    lengths += [mesh.vertices for mesh in (skeleton.character.meshes if skeleton.character else ())]
    if pose is not None:
        lengths += [pose.translation] if pose.offsets is None else [pose.translation, pose.offsets]
    reach = max(float(np.abs(some).max(initial=0.0)) for some in lengths)
    if not reach < LARGEST:
        raise PosableError(
            f"the skeleton reaches {reach:g} m far; a file for viewers, whose numbers are float32, holds lengths below "
            f"{LARGEST:g} m: scale it down (skeleton.scaled), or save a .npz"
        )


def _nodes(skeleton: Skeleton) -> list[dict[str, Any]]:
    """A node a joint, in order, then one an end site."""
    joints = len(skeleton)
    children: list[list[int]] = [[] for _ in range(joints)]
    for j, parent in enumerate(skeleton.parents.tolist()[1:], start=1):
        children[parent].append(j)
    for e, parent in enumerate(skeleton.end_parents.tolist()):
        children[parent].append(joints + e)
    nodes: list[dict[str, Any]] = []
    for j, name in enumerate(skeleton.names):
        node: dict[str, Any] = {"name": name}
        if children[j]:
            node["children"] = children[j]
        if skeleton.offsets[j].any():
            node["translation"] = skeleton.offsets[j].tolist()
        if (skeleton.rest_rotations[j] != IDENTITY).any():
            node["rotation"] = skeleton.rest_rotations[j][[1, 2, 3, 0]].tolist()
        if skeleton.kinds[j] != ("ball" if j else "free"):
            node["extras"] = {"posable": {"kind": skeleton.kinds[j], "axes": skeleton.axes[j].reshape(-1).tolist()}}
        nodes.append(node)
    for name, offset in zip(skeleton.end_names, skeleton.end_offsets):
        nodes.append({"name": name, "translation": offset.tolist(), "extras": {"posable": {"end": name}}})
    return nodes


def _add_meshes(document: dict[str, Any], packer: Packer, skeleton: Skeleton, rest: Frames) -> list[int]:
    """Add the skeleton's own meshes, or bones; the indices of the nodes that carry them."""
    own = skeleton.character.meshes if skeleton.character else ()
    meshes = own or (bone_mesh(skeleton, rest),)
    document |= {"materials": [], "meshes": [], "skins": []}
    skins: dict[bytes, int] = {}
    nodes = []
    for mesh in meshes:
        key = mesh.bind_positions.tobytes() + mesh.bind_orientations.tobytes()
        if key not in skins:
            skins[key] = len(document["skins"])
            inverse = packer.add(_inverse_binds(mesh.bind_positions, mesh.bind_orientations), "MAT4")
            document["skins"].append(
                {"inverseBindMatrices": inverse, "skeleton": 0, "joints": list(range(len(skeleton)))}
            )
        surface = {"metallicFactor": 0.0, "roughnessFactor": 0.8}
        document["materials"].append({"name": mesh.name, "pbrMetallicRoughness": surface})
        primitive = _primitive(packer, mesh, len(skeleton)) | {"material": len(document["materials"]) - 1}
        document["meshes"].append({"name": mesh.name, "primitives": [primitive]})
        nodes.append(len(document["nodes"]))
        node = {"name": mesh.name, "mesh": len(document["meshes"]) - 1, "skin": skins[key]}
        document["nodes"].append(node if own else node | {"extras": {"posable": {"bones": True}}})
    return nodes


def _primitive(packer: Packer, mesh: SkinnedMesh, joints: int) -> dict[str, Any]:
    positions = mesh.vertices.astype(np.float32)
    numbers, weights = _four_joints(mesh.joints, mesh.weights)
    attributes = {
        "POSITION": packer.add(positions, "VEC3", ARRAY_BUFFER, bounds=True),
        "NORMAL": packer.add(_normals(positions, mesh.faces), "VEC3", ARRAY_BUFFER),
        "JOINTS_0": packer.add(numbers.astype(np.uint8 if joints <= 256 else np.uint16), "VEC4", ARRAY_BUFFER),
        "WEIGHTS_0": packer.add(weights.astype(np.float32), "VEC4", ARRAY_BUFFER),
    }
    if len(mesh.colours):
        linear = np.rint(65535 * from_srgb(mesh.colours)).astype(np.uint16)
        attributes["COLOR_0"] = packer.add(linear, "VEC4", ARRAY_BUFFER, normalized=True)
    corners = mesh.faces.reshape(-1).astype(np.uint16 if len(positions) < 65535 else np.uint32)
    return {"attributes": attributes, "indices": packer.add(corners, "SCALAR", ELEMENT_ARRAY_BUFFER)}


def _four_joints(joints: NDArray[Any], weights: Floats) -> tuple[NDArray[Any], Floats]:
    """Return the joints (0 where unused) and the four largest weights of each vertex, which sum to one in float32."""
    order = np.argsort(-weights, axis=1, kind="stable")[:, :4]
    largest = np.take_along_axis(weights, order, axis=1)
    largest = largest / largest.sum(axis=1, keepdims=True)
    largest[largest < 1e-6] = 0.0
    largest = np.pad(largest, ((0, 0), (0, 4 - largest.shape[1])))
    largest[:, 0] += 1.0 - largest.astype(np.float32).sum(axis=1)
    numbers = np.pad(np.take_along_axis(joints, order, axis=1), ((0, 0), (0, 4 - order.shape[1])))
    return np.where(largest > 0, numbers, 0), largest


def _normals(vertices: NDArray[np.float32], faces: NDArray[np.int32]) -> NDArray[np.float32]:
    """Return (V, 3) unit normals; up where no triangle has an area."""
    normals = vertex_normals(vertices.astype(np.float64), faces.astype(np.int64))
    unit = np.where(np.linalg.norm(normals, axis=1, keepdims=True) > 0.5, normals, [0.0, 1.0, 0.0])
    return np.asarray(unit, dtype=np.float32)


def _inverse_binds(positions: Floats, orientations: Floats) -> NDArray[np.float32]:
    """(J, 16) inverse bind matrices, columns first."""
    back = pm.conjugate(orientations)
    matrices = np.zeros((len(positions), 4, 4))
    matrices[:, :3, :3] = pm.to_matrix(back)
    matrices[:, :3, 3] = -pm.rotate(back, positions)
    matrices[:, 3, 3] = 1.0
    return matrices.transpose(0, 2, 1).reshape(-1, 16).astype(np.float32)


@dataclass(frozen=True, eq=False)
class GltfSource:
    """The file a skeleton came from, stored in `Character.source`: what writing needs to change only the motion.

    `nodes` (J,) are the document's nodes of the skeleton's joints; `world` is the rotation (wxyz) and the scale [m per
    unit] that reading put above the file's own scene.
    """

    document: Document
    nodes: tuple[int, ...]
    world: tuple[Floats, float]

    def __repr__(self) -> str:
        return f"GltfSource({str(self.document.path)!r}, {len(self.nodes)} joints)"

    def fits(self, skeleton: Skeleton) -> bool:
        """Whether the skeleton still has the joints of the file."""
        if len(skeleton) != len(self.nodes):
            return False
        parents = read_nodes(self.document).parents
        above = [self.nodes[parent] for parent in skeleton.parents.tolist()[1:]]
        return above == [parents[node] for node in self.nodes[1:]]


def edited_document(motion: Motion, source: GltfSource, *, keep: bool) -> tuple[dict[str, Any], bytes]:
    """The source's document with the motion as its first animation, and its binary chunk.

    `keep` says whether the document's other animations stay.
    """
    tree = read_nodes(source.document)
    original = source.document
    changed = Document(original.path, json.loads(json.dumps(original.json)), original.chunk, original.loaded)
    names = animation_names(changed)
    same = names.index(motion.name) if motion.name in names else None
    others = changed.json.get("animations", [])
    replaced = others[same] if same is not None else None
    stay = [animation for i, animation in enumerate(others) if i != same] if keep else []
    ours: dict[str, Any] = {"name": motion.name or "motion", "channels": [], "samplers": []}
    if replaced is not None:
        ours |= _foreign_tracks(changed, replaced, {*source.nodes, *tree.ancestors(source.nodes[0])})
    changed.json["animations"] = [ours, *stay]
    document, binary = repacked(changed)
    packer = Packer(document.setdefault("accessors", []), document.setdefault("bufferViews", []), binary)
    if len(motion):
        animation = _animation(motion, source, tree, packer)
        _without_matrices(document, tree, {channel["target"]["node"] for channel in animation["channels"]})
        first = document["animations"][0]
        shift = len(animation["samplers"])
        for channel in first["channels"]:
            channel["sampler"] += shift
        animation["channels"] += first["channels"]
        animation["samplers"] += first["samplers"]
        document["animations"][0] = first | animation
    _mark_kinds(document, motion.skeleton, source.nodes)
    if not document["animations"][0]["channels"]:
        del document["animations"][0]
    if not document["animations"]:
        del document["animations"]
    return {key: value for key, value in document.items() if value != []}, bytes(binary)


def on_character(motion: Motion, skeleton: Skeleton, name: str | PathLike[str]) -> Motion:
    """The motion on a character's skeleton, which must have the same joints; they may come in another order."""
    own = motion.skeleton
    missing = [joint for joint in skeleton.names if joint not in own.names]
    extra = [joint for joint in own.names if joint not in skeleton.names]
    if missing or extra:
        what = f"the motion lacks {_listed(missing)}" if missing else f"the character lacks {_listed(extra)}"
        raise PosableError(f"the motion is not one of {name}: {what}; the joints must be the same")
    order = [own.index(joint) for joint in skeleton.names]
    for j, joint in enumerate(skeleton.names[1:], start=1):
        above, expected = own.names[own.parents[order[j]]], skeleton.names[skeleton.parents[j]]
        if above != expected:
            raise PosableError(f"the motion is not one of {name}: {joint!r} hangs on {above!r}, there on {expected!r}")
        apart = float(np.linalg.norm(own.offsets[order[j]] - skeleton.offsets[j]))
        if apart > SAME_POSITION * max(1.0, float(np.linalg.norm(skeleton.offsets[j]))):
            raise PosableError(
                f"the motion is not one of {name}: {joint!r} lies {1000 * apart:.3g} mm from its position there; "
                "bodies of other lengths need retargeting"
            )
    pose = motion.pose
    offsets = None if pose.offsets is None else pose.offsets[:, order]
    return motion.replace(skeleton=skeleton, pose=Pose(pose.translation, pose.rotations[:, order], offsets))


def _animation(motion: Motion, source: GltfSource, tree: NodeTree, packer: Packer) -> dict[str, Any]:
    """The motion as an animation of the file's nodes: the root without what lies above it, offsets without scales."""
    nodes = list(source.nodes)
    still = fold(tree, nodes, source.world, {})
    pose, skeleton = motion.pose, motion.skeleton
    tracks = Tracks(motion, packer)
    rotation, position, scale = transform_above(tree, nodes[0], source.world)
    back = pm.conjugate(rotation)
    root = pm.rotate(back, pose.translation - position) / scale
    tracks.add_translation(nodes[0], root, tree.translation[nodes[0]], always=True)
    tracks.add_rotation(nodes[0], pm.multiply(back, pose.rotations[:, 0]), tree.rotation[nodes[0]])
    for j, node in enumerate(nodes[1:], start=1):
        size = still.scale[skeleton.parents[j]]
        if (np.abs(size) > 1e-9).all():  # what a zero scale hides stays where the file has it
            offsets = skeleton.offsets[None, j] if pose.offsets is None else pose.offsets[:, j]
            unmoved = np.abs(offsets - still.offsets[j]).max() <= 1e-9 * max(1.0, float(np.abs(still.offsets[j]).max()))
            if not unmoved:
                tracks.add_translation(node, offsets / size, tree.translation[node])
        tracks.add_rotation(node, pose.rotations[:, j], tree.rotation[node])
    return tracks.animation()


def transform_above(tree: NodeTree, root: int, world: tuple[Floats, float]) -> tuple[Floats, Floats, Floats]:
    """Return (rotation (4,), position (3,) [m], scale (3,)) of the frame in which the root's own transform is given."""
    chain = tree.ancestors(root)
    if not chain:
        return world[0], np.zeros(3), np.full(3, world[1])
    folded = fold(tree, chain, world, {})
    rotation, position = folded.rotations[0], folded.translation
    for k in range(1, len(chain)):
        position = position + pm.rotate(rotation, folded.offsets[k])
        rotation = pm.multiply(rotation, folded.rotations[k])
    return rotation, position, np.where(np.abs(folded.scale[-1]) > 1e-9, folded.scale[-1], 1.0)


def _without_matrices(document: dict[str, Any], tree: NodeTree, nodes: set[int]) -> None:
    """Write the matrix of an animated node as translation, rotation and scale, as glTF wants it."""
    for node in nodes:
        members = document["nodes"][node]
        if members.pop("matrix", None) is not None:
            members["translation"] = tree.translation[node].tolist()
            members["rotation"] = tree.rotation[node][[1, 2, 3, 0]].tolist()
            members["scale"] = tree.scale[node].tolist()


def _mark_kinds(document: dict[str, Any], skeleton: Skeleton, nodes: tuple[int, ...]) -> None:
    """Note the joints' kinds where they are not what reading would take them for."""
    for j, node in enumerate(nodes):
        extras = document["nodes"][node].get("extras", {})
        ours = extras.get("posable", {}) if isinstance(extras, dict) else {}
        kind = skeleton.kinds[j]
        if isinstance(extras, dict) and isinstance(ours, dict) and ours.get("kind", "ball" if j else "free") != kind:
            ours = ours | {"kind": kind, "axes": skeleton.axes[j].reshape(-1).tolist()}
            document["nodes"][node]["extras"] = extras | {"posable": ours}


def _foreign_tracks(document: Document, animation: dict[str, Any], ours: set[int]) -> dict[str, Any]:
    """An animation reduced to the tracks that move no node of ours."""
    entry = next(one for one in document.root.items("animations") if one.value is animation)
    samplers = entry.items("samplers")
    reduced: dict[str, Any] = {key: value for key, value in animation.items() if key != "extras"}
    reduced |= {"channels": [], "samplers": []}
    for channel in entry.items("channels"):
        target = channel.object("target")
        index = channel.index("sampler", len(samplers), f"samplers in {entry.where}")
        moves_ours = target.text("path") in PATHS and target.value.get("node") in ours
        if index is not None and not moves_ours:
            reduced["channels"].append(channel.value | {"sampler": len(reduced["samplers"])})
            reduced["samplers"].append(samplers[index].value)
    return reduced


def _listed(names: list[str]) -> str:
    shown = ", ".join(map(repr, names[:3]))
    return shown if len(names) <= 3 else f"{shown} and {len(names) - 3} more"


def repacked(document: Document) -> tuple[dict[str, Any], bytearray]:
    """Return the document's JSON (changed in place) with one buffer, and that buffer's bytes.

    A file that is loaded, edited and saved again and again must not grow: bytes that only a dropped animation used are
    left out. An extension may refer to accessors or buffer views in ways we do not know; a file with such a one stays
    whole. Pictures next to it move in.
    """
    root = document.root
    accessors = Accessors(document)
    extensions = root.value.get("extensionsUsed", [])
    understood = isinstance(extensions, list) and all(str(name).startswith(HARMLESS) for name in extensions)
    if understood:
        _drop_unused(root, "accessors", _accessor_uses(root))
        _drop_unused(root, "bufferViews", _view_uses(root))
        accessors = Accessors(document)
    binary = bytearray()
    buffers = [document.buffer(index) for index in range(document.count("buffers"))]
    distinct = {(id(buffer.obj), len(buffer)): buffer for buffer in buffers}  # several may name one file
    most = 4 * sum(map(len, distinct.values())) + 2**20
    if understood and sum(view.integer("byteLength", low=1) for view in accessors.views) <= most:
        for index, view in enumerate(accessors.views):
            data = accessors.view_bytes(index)
            _align(binary)
            view.value.update(buffer=0, byteOffset=len(binary), byteLength=len(data))
            binary += data
    else:  # views that lie over one another would multiply: keep the buffers as they are, one behind the other
        starts = {}
        for key, buffer in distinct.items():
            _align(binary)
            starts[key] = len(binary)
            binary += buffer
        joined = [starts[id(buffer.obj), len(buffer)] for buffer in buffers]
        for view in accessors.views:
            _move_view(view, joined)
    _take_in_pictures(document, binary)
    root.value.pop("buffers", None)
    return root.value, binary


def _accessor_uses(root: JsonObject) -> list[tuple[dict[str, Any], str]]:
    """Return everything that refers to an accessor, as (object, key)."""
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


def _view_uses(root: JsonObject) -> list[tuple[dict[str, Any], str]]:
    """Return everything that refers to a buffer view, as (object, key)."""
    uses: list[tuple[dict[str, Any], str]] = []
    for accessor in root.items("accessors"):
        sparse = accessor.object("sparse")
        uses += [(entry.value, "bufferView") for entry in (accessor, sparse.object("indices"), sparse.object("values"))]
    return uses + [(image.value, "bufferView") for image in root.items("images")]


def _drop_unused(root: JsonObject, key: str, uses: list[tuple[dict[str, Any], str]]) -> None:
    """Remove the members of an array that nothing refers to, and renumber the references."""
    members = root.items(key)
    met: set[int] = set()
    seen: set[tuple[int, str]] = set()
    renumbered: list[tuple[dict[str, Any], str]] = []
    for holder, name in uses:
        index = JsonObject(root.path, holder, key).index(name, len(members), key)
        if index is not None and (id(holder), name) not in seen:
            seen.add((id(holder), name))  # an object that is used twice is renumbered once
            met.add(index)
            renumbered.append((holder, name))
    order = {old: new for new, old in enumerate(sorted(met))}
    for holder, name in renumbered:
        holder[name] = order[holder[name]]
    root.value[key] = [members[old].value for old in order]


def _move_view(view: JsonObject, starts: list[int]) -> None:
    """Point a view at the joined buffer; also the compressed twin that EXT_meshopt_compression adds to it."""
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
    """Put pictures that lie next to the file into it, so that the new one is complete; missing ones stay missing."""
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


def _align(binary: bytearray) -> None:
    binary += b"\0" * (-len(binary) % 4)
