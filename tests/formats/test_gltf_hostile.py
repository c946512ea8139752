"""A broken or malicious glTF file gets one error with the place in it, soon, and takes no more memory than it may."""

import contextlib
import json
import random
import resource
import struct
import tempfile
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from posable.compute import FormatError, PosableError
from posable.formats import load, save

from .gltf_files import VRM, Gltf, glb, parts

SMALL = ("RiggedSimple.glb", "RiggedFigure.glb", "SimpleSkin.gltf", "Fox.glb", VRM)
MEGABYTE = 2**20


def little():
    """Two joints, a triangle on them, and a clip: a file with something of everything."""
    nodes = [
        {"name": "a", "children": [1]},
        {"name": "b", "translation": [0, 1, 0]},
        {"name": "skin", "mesh": 0, "skin": 0},
    ]
    built = Gltf(nodes).skin([0, 1], np.tile(np.eye(4), (2, 1, 1)))
    attributes = {
        "POSITION": built.array(np.eye(3)),
        "JOINTS_0": built.array([[0, 1, 0, 0]] * 3, "uint8"),
        "WEIGHTS_0": built.array([[0.5, 0.5, 0, 0]] * 3),
    }
    built.json["meshes"] = [{"primitives": [{"attributes": attributes, "indices": built.array([0, 1, 2], "uint16")}]}]
    built.animate(
        [
            (1, "rotation", [0, 1], [[0, 0, 0, 1], [0, 1, 0, 0]], "LINEAR"),
            (0, "translation", [0, 1], np.eye(3)[:2], "LINEAR"),
        ]
    )
    return built


def test_the_little_file_itself_is_fine(tmp_path):
    motion = load(little().write(tmp_path / "fine.glb"))
    assert len(motion.skeleton) == 2 and len(motion.skeleton.character.meshes) == 1


# (what is put where, the place the error names)
BROKEN = {
    "an accessor past the end of its view": ("accessors/1/count", 1000, "accessors[1].count"),
    "a huge count": ("accessors/1/count", 10**15, "accessors[1].count"),
    "a negative count": ("accessors/1/count", -1, "accessors[1].count"),
    "a count that is text": ("accessors/1/count", "3", "accessors[1].count"),
    "a huge offset": ("accessors/1/byteOffset", 10**15, "accessors[1].count"),
    "a view past the end of its buffer": ("bufferViews/1/byteLength", 10**6, "bufferViews[1].byteLength"),
    "a view of no buffer": ("bufferViews/1/buffer", 3, "bufferViews[1].buffer"),
    "an accessor of no view": ("accessors/1/bufferView", 99, "accessors[1].bufferView"),
    "zeros without end": (
        "accessors/1",
        {"componentType": 5126, "type": "VEC3", "count": 10**12},
        "accessors[1].count",
    ),
    "an unknown component": ("accessors/1/componentType", 5127, "accessors[1].componentType"),
    "an unknown type": ("accessors/1/type", "VEC9", "meshes[0].primitives[0].attributes.POSITION"),
    "a stride too short": ("bufferViews/1/byteStride", 4, "bufferViews[1].byteStride"),
    "a buffer longer than its bytes": ("buffers/0/byteLength", 10**9, "buffers[0].byteLength"),
    "nodes in a circle": ("nodes/1/children", [0], "nodes[0]"),
    "a node below itself": ("nodes/1/children", [1], "nodes[1].children"),
    "a node with two parents": ("nodes/2/children", [1], "nodes[2].children"),
    "a child that is not there": ("nodes/1/children", [7], "nodes[1].children[0]"),
    "a joint that is not there": ("skins/0/joints", [0, 17], "skins[0].joints[1]"),
    "a mesh that is not there": ("nodes/2/mesh", 3, "nodes[2].mesh"),
    "a rotation of no length": ("nodes/1/rotation", [0, 0, 0, 0], "nodes[1].rotation"),
    "a rotation of three numbers": ("nodes/1/rotation", [0, 0, 1], "nodes[1].rotation"),
    "a place that is text": ("nodes/1/translation", [0, "x", 0], "nodes[1].translation[1]"),
    "a place beyond all numbers": ("nodes/1/translation", [10**400, 0, 0], "nodes[1].translation[0]"),
    "nodes that are no list": ("nodes", {"a": 1}, "nodes"),
    "a node that is a number": ("nodes/1", 3, "nodes[1]"),
    "no nodes": ("nodes", [], "nodes"),
    "an old version": ("asset/version", "1.0", "asset.version"),
    "a channel without its sampler": ("animations/0/channels/0/sampler", 5, "animations[0].channels[0].sampler"),
    "a channel for no node": ("animations/0/channels/0/target/node", 5, "animations[0].channels[0].target.node"),
    "keys of another length": ("animations/0/samplers/0/output", 8, "animations[0].samplers[0].output"),
    "an unknown interpolation": (
        "animations/0/samplers/0/interpolation",
        "MAGIC",
        "animations[0].samplers[0].interpolation",
    ),
    "fewer bind matrices than joints": ("accessors/0/count", 1, "skins[0].inverseBindMatrices"),
    "a frame rate of nothing": ("animations/0/extras", {"posable": {"fps": -1}}, "animations[0].extras.posable.fps"),
    "a joint kind of nothing": ("nodes/1/extras", {"posable": {"kind": "knee"}}, "nodes[1].extras.posable.kind"),
    "a hinge without axis": (
        "nodes/1/extras",
        {"posable": {"kind": "hinge", "axes": [0, 0, 0, 0, 0, 0]}},
        "nodes[1].extras.posable.axes",
    ),
}


def changed(document, way, value):
    """A document with one value replaced."""
    document = json.loads(json.dumps(document))
    *keys, last = [int(key) if key.isdigit() else key for key in way.split("/")]
    inside = document
    for key in keys:
        inside = inside[key]
    inside[last] = value
    return document


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_file_is_one_error_that_names_the_place(what, tmp_path):
    way, value, place = BROKEN[what]
    built = little()
    document = changed({**built.json, "buffers": [{"byteLength": len(built.binary)}]}, way, value)
    path = tmp_path / "broken.glb"
    path.write_bytes(glb(document, built.binary))
    with pytest.raises(FormatError) as caught:
        load(path)
    assert caught.value.location == place
    assert str(path) in str(caught.value)


CONTAINERS = {
    "nothing": b"",
    "four bytes": b"glTF",
    "a header alone": struct.pack("<4sII", b"glTF", 2, 12),
    "another version": glb({"asset": {"version": "2.0"}}, version=3),
    "a length beyond the file": glb({"asset": {"version": "2.0"}}, total=10**6),
    "a chunk longer than the file": glb({"asset": {"version": "2.0"}}, json_length=10**9),
    "binary before JSON": struct.pack("<4sIIII", b"glTF", 2, 24, 4, 0x004E4942) + b"\0\0\0\0",
    "rubbish": bytes(range(256)) * 8,
    "JSON that is a list": glb([]),
    "JSON that breaks off": glb(b'{"asset": {"version'),
    "JSON that is not UTF-8": glb(b'{"asset": "\xff\xfe"}'),
    "JSON with NaN": glb(b'{"asset": {"version": "2.0"}, "nodes": [{"translation": [NaN, 0, 0]}]}'),
    "JSON as deep as the sea": glb(b"[" * 200_000 + b"]" * 200_000),
    "millions of values": glb(b'{"asset": {"version": "2.0"}, "nodes": [' + b"{}," * 5_500_000 + b"{}]}"),
    "a number of ten thousand digits": glb(b'{"asset": ' + b"9" * 10_000 + b"}"),
}


@pytest.mark.parametrize("what", CONTAINERS)
@pytest.mark.parametrize("suffix", [".glb", ".gltf", ".vrm"])
def test_a_broken_container_is_one_error(what, suffix, tmp_path):
    path = tmp_path / f"broken{suffix}"
    path.write_bytes(CONTAINERS[what])
    with pytest.raises(FormatError):
        load(path)


def test_a_file_cut_anywhere_is_one_error(tmp_path):
    whole = little().write(tmp_path / "whole.glb").read_bytes()
    for length in range(0, len(whole) - 1, 7):
        (tmp_path / "cut.glb").write_bytes(whole[:length])
        with pytest.raises(FormatError):
            load(tmp_path / "cut.glb")


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("accessor", ["keys", "times", "bind matrices", "vertices"])
def test_numbers_that_are_none_are_found_in_the_buffers(number, accessor, tmp_path):
    built = little()
    index = {"bind matrices": 0, "vertices": 1, "times": 5, "keys": 6}[accessor]
    start = built.json["bufferViews"][built.json["accessors"][index]["bufferView"]]["byteOffset"]
    binary = bytearray(built.binary)
    struct.pack_into("<f", binary, start + 4, number)
    built.binary = bytes(binary)
    with pytest.raises(FormatError) as caught:
        load(built.write(tmp_path / "nan.glb"))
    assert caught.value.location == f"accessors[{index}]"


URIS = ["../secret.bin", "sub/../../secret.bin", "/etc/passwd", "file:///etc/passwd", "http://example.org/x.bin"]
URIS += [
    "..\\secret.bin",
    "C:\\x.bin",
    "%2e%2e/secret.bin",
    "data:text/plain,abc",
    "data:;base64,@@@@",
    "link.bin",
    "\0",
]
URIS += ["missing.bin", "x" * 5000, "", "loop", "."]


# A picture that is not there, or is no picture, is no reason to refuse a skeleton.
FORGIVEN = {"data:;base64,@@@@", "missing.bin", "", ".", "data:text/plain,abc"}
CASES = [("buffer", uri) for uri in URIS] + [("picture", uri) for uri in URIS if uri not in FORGIVEN]


@pytest.mark.parametrize(("kind", "uri"), CASES)
def test_a_uri_reads_nothing_outside_the_files_folder(kind, uri, tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    (tmp_path / "secret.bin").write_bytes(b"secret" * 100)
    (folder / "link.bin").symlink_to(tmp_path / "secret.bin")
    (folder / "loop").symlink_to(folder / "loop")
    built = little()
    document = {**built.json, "buffers": [{"byteLength": len(built.binary)}]}
    place = "buffers[0].uri"
    if kind == "buffer":
        document["buffers"][0]["uri"] = uri
    else:
        coordinates = len(document["accessors"])
        document["accessors"].append({"bufferView": 1, "componentType": 5126, "count": 3, "type": "VEC2"})
        primitive = document["meshes"][0]["primitives"][0]
        primitive["attributes"]["TEXCOORD_0"], primitive["material"] = coordinates, 0
        document["materials"] = [{"pbrMetallicRoughness": {"baseColorTexture": {"index": 0}}}]
        document |= {"textures": [{"source": 0}], "images": [{"uri": uri}]}
        place = "images[0].uri"
    path = folder / "reads.glb"
    path.write_bytes(glb(document, built.binary))
    with pytest.raises(FormatError) as caught:
        load(path)
    assert caught.value.location == place


def bomb_of_frames(built):
    built.json["animations"] = []
    return built.animate([(0, "translation", [0.0, 1e9], np.eye(3)[:2], "LINEAR")])


def bomb_of_overlaps(built):
    """Ten thousand accessors over the same megabyte."""
    built.binary += bytes(MEGABYTE)
    built.json["bufferViews"].append({"buffer": 0, "byteOffset": 0, "byteLength": MEGABYTE})
    view = len(built.json["bufferViews"]) - 1
    at = len(built.json["accessors"])
    one = {"bufferView": view, "componentType": 5126, "count": MEGABYTE // 16 // 4 * 4, "type": "VEC4"}
    built.json["accessors"] += [one] * 10_000
    times = {"componentType": 5126, "count": one["count"], "type": "SCALAR"}
    built.json["accessors"].append(times)
    samplers = [{"input": at + 10_000, "output": at + k} for k in range(10_000)]
    channels = [{"sampler": k, "target": {"node": 0, "path": "rotation"}} for k in range(10_000)]
    built.json["animations"] = [{"samplers": samplers, "channels": channels}]
    return built


def bomb_of_copies(built):
    """Ten thousand nodes that show one mesh of thirty thousand vertices."""
    attributes = built.json["meshes"][0]["primitives"][0]["attributes"]
    many = np.zeros((30_000, 3))
    attributes |= {"POSITION": built.array(many)}
    attributes.pop("JOINTS_0")
    first = len(built.json["nodes"])
    built.json["nodes"] += [{"mesh": 0}] * 10_000
    built.json["nodes"][0]["children"] = [1, *range(first, first + 10_000)]
    del built.json["nodes"][2]["skin"]
    return built


def bomb_of_nodes(built):
    built.json["nodes"] += [{}] * 300_000
    return built


def bomb_of_depth(built):
    """Ten thousand joints in one chain, each with a mesh: allowed, and read without recursion."""
    first = len(built.json["nodes"])
    built.json["nodes"] += [{"children": [first + k + 1], "mesh": 0} for k in range(10_000)] + [{}]
    built.json["nodes"][1]["children"] = [first]
    return built


def bomb_of_skins(built):
    """A skeleton of five thousand joints and two thousand skins, each of two joints."""
    first = len(built.json["nodes"])
    built.json["nodes"] += [{}] * 5000
    built.json["nodes"][0]["children"] = [1, *range(first, first + 5000)]
    built.json["skins"][0] = {"joints": [0, 1, *range(first, first + 5000)]}
    built.json["skins"] += [{"joints": [0, 1]}] * 2000
    built.json["nodes"] += [{"mesh": 0, "skin": 1 + k} for k in range(2000)]
    return built


@pytest.mark.parametrize(
    "bomb", [bomb_of_frames, bomb_of_overlaps, bomb_of_copies, bomb_of_nodes, bomb_of_depth, bomb_of_skins]
)
def test_a_small_file_cannot_ask_for_much_memory(bomb, tmp_path):
    path = bomb(little()).write(tmp_path / "bomb.glb")
    assert path.stat().st_size < 4 * MEGABYTE
    tracemalloc.start()
    try:
        with contextlib.suppress(FormatError):
            load(path)
    finally:
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert peak < 400 * MEGABYTE


def test_a_picture_that_unpacks_to_gigabytes_is_not_unpacked(tmp_path):
    """A PNG header that promises 60000 by 60000 pixels."""
    import zlib

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", 60_000, 60_000, 8, 6, 0, 0, 0)
    picture = (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(bytes(10**6)))
        + chunk(b"IEND", b"")
    )
    built = little()
    attributes = built.json["meshes"][0]["primitives"][0]["attributes"]
    attributes["TEXCOORD_0"] = built.array(np.zeros((3, 2)))
    built.json["meshes"][0]["primitives"][0]["material"] = 0
    built.json["materials"] = [{"pbrMetallicRoughness": {"baseColorTexture": {"index": 0}}}]
    (tmp_path / "bomb.png").write_bytes(picture)
    built.json |= {"textures": [{"source": 0}], "images": [{"uri": "bomb.png"}]}
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    motion = load(built.write(tmp_path / "textured.glb"))
    assert any("picture" in note or "Pillow" in note for note in motion.notes)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200 * 1024


# Fuzzing: real files with bytes and members changed. Whatever comes, it is a motion or a PosableError.

VALUES = [0, -1, 1, 2, 3, 10**9, 10**18, 1e300, -1e300, 1e-300, 0.5, None, True, "", "a", "..", [], {}, [0], [[]]]
VALUES += [[0, 0, 0], [0, 0, 0, 0], [1e300] * 3, [0] * 16, "SCALAR", "VEC3", "VEC4", "MAT4", 5120, 5121, 5123, 5126]
VALUES += ["CUBICSPLINE", "STEP", 4, 5, 6]


def ways(value, way=()):
    """Every place in a document, as a tuple of keys."""
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, member in members:
        yield (*way, key)
        yield from ways(member, (*way, key))


def mutated(path: Path, rng: random.Random, places) -> bytes:
    data = bytearray(path.read_bytes())
    kind = rng.random()
    if kind < 0.25:
        for _ in range(rng.randint(1, 8)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        return bytes(data)
    if kind < 0.3:
        return bytes(data[: rng.randrange(len(data))])
    if kind < 0.35:
        at = rng.randrange(len(data))
        data[at : at + rng.randint(1, 50)] = rng.randbytes(rng.randint(0, 50))
        return bytes(data)
    document, binary = parts(path)
    for _ in range(rng.randint(1, 3)):
        *keys, last = rng.choice(places)
        inside = document
        try:
            for key in keys:
                inside = inside[key]
            if rng.random() < 0.2:
                del inside[last]
            elif rng.random() < 0.1 and isinstance(inside, list):
                inside.append(json.loads(json.dumps(rng.choice(inside))))
            else:
                inside[last] = rng.choice(VALUES)
        except (KeyError, IndexError, TypeError):
            continue  # an earlier change took the place away
    return glb(document, binary) if binary else json.dumps(document).encode()


def fuzz(seeds, data_dir, tmp_path):
    files = [data_dir / "characters" / name for name in SMALL]
    files.append(little().write(tmp_path / "little.glb"))
    places = {path: list(ways(parts(path)[0])) for path in files}
    read = 0
    for seed in seeds:
        rng = random.Random(seed)
        path = rng.choice(files)
        broken = tmp_path / f"broken{path.suffix}"
        broken.write_bytes(mutated(path, rng, places[path]))
        try:
            motion = load(broken)
            frames = motion.skeleton.forward(motion.pose)
            assert np.isfinite(frames.positions).all(), seed
            read += 1
            save(motion, tmp_path / "again.glb")
            load(tmp_path / "again.glb")
        except PosableError as error:
            assert len(str(error)) < 1000, seed
        except Exception as error:
            raise AssertionError(f"seed {seed}, {path.name}: {type(error).__name__}: {error}") from error
    return read


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=8), inner, max_size=5),
    max_leaves=8,
)
LITTLE = little()
LITTLE_WAYS = list(ways({**LITTLE.json, "buffers": [{"byteLength": len(LITTLE.binary)}]}))


@given(st.lists(st.tuples(st.sampled_from(LITTLE_WAYS), ANYTHING), min_size=1, max_size=3))
@settings(max_examples=500)
def test_any_json_anywhere_in_a_file_is_read_or_refused(changes):
    document = json.loads(json.dumps({**LITTLE.json, "buffers": [{"byteLength": len(LITTLE.binary)}]}))
    for (*keys, last), value in changes:
        inside = document
        try:
            for key in keys:
                inside = inside[key]
            inside[last] = value
        except (KeyError, IndexError, TypeError):
            continue
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "any.glb"
        path.write_bytes(glb(document, LITTLE.binary))
        with contextlib.suppress(PosableError):
            save(load(path), Path(folder) / "again.glb")


@pytest.mark.filterwarnings("error")
def test_thousands_of_mutated_files_are_read_or_refused(data_dir, tmp_path):
    assert fuzz(range(1500), data_dir, tmp_path) > 150  # some mutations are harmless: the readers are really reached


@pytest.mark.soak
@pytest.mark.filterwarnings("error")
def test_a_million_mutated_files_are_read_or_refused(data_dir, tmp_path, drawn):
    fuzz(range(10**6, 10**6 + drawn(10**6)), data_dir, tmp_path)
