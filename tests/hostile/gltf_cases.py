"""glTF files that make much of little: shared accessors, channels, primitives, images, joints, buffers, nodes."""

from __future__ import annotations

import base64
import io
import json
import os
import struct
import zlib

import numpy as np

from ..formats.gltf_files import Gltf, glb
from .cases import case, written

ASSET = {"version": "2.0"}
ZEROS = {"componentType": 5126, "type": "SCALAR"}


def document(**members):
    """A document of two nodes, with other members."""
    return {"asset": ASSET, "nodes": [{"name": "a", "children": [1]}, {"name": "b"}]} | members


def zeros(count, kind):
    """An accessor without a buffer view: zeros."""
    return {"componentType": 5126, "type": kind, "count": count}


def png(width, height, depth=1, kind=0):
    """A picture of one colour, which takes hardly any bytes."""

    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    channels = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[kind]
    row = bytes(1 + (width * depth * channels + 7) // 8)
    packer = zlib.compressobj(9)
    data = b"".join(packer.compress(row * 64) for _ in range(height // 64)) + packer.compress(row * (height % 64))
    head = struct.pack(">IIBBBBB", width, height, depth, kind, 0, 0, 0)
    palette = chunk(b"PLTE", bytes(6)) if kind == 3 else b""
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + palette
        + chunk(b"IDAT", data + packer.flush())
        + chunk(b"IEND", b"")
    )


def textured(folder, pictures, images=None):
    """A mesh with a primitive for each of some images, which are views on `pictures`."""
    nodes = [{"name": "a", "children": [1]}, {"name": "b", "mesh": 0}]
    built = Gltf(nodes)
    built.json["skins"] = [{"joints": [0, 1]}]
    attributes = {"POSITION": built.array(np.eye(3)), "TEXCOORD_0": built.array(np.zeros((3, 2)))}
    views = []
    for picture in pictures:
        built.json["bufferViews"].append({"buffer": 0, "byteOffset": len(built.binary), "byteLength": len(picture)})
        built.binary += picture + bytes(-len(picture) % 4)
        views.append(len(built.json["bufferViews"]) - 1)
    built.json["images"] = [{"bufferView": views[k]} for k in images or range(len(views))]
    count = len(built.json["images"])
    built.json["textures"] = [{"source": k} for k in range(count)]
    surface = [{"pbrMetallicRoughness": {"baseColorTexture": {"index": k}}} for k in range(count)]
    built.json["materials"] = surface
    built.json["meshes"] = [{"primitives": [{"attributes": attributes, "material": k} for k in range(count)]}]
    return built.write(folder / "a.glb")


def animated(folder, accessors, samplers, channels, **members):
    """A document with one animation, without any bytes."""
    animation = {"samplers": samplers, "channels": channels}
    return written(folder / "a.gltf", document(accessors=accessors, animations=[animation], **members))


def moves(node, path, sampler=0):
    """A channel."""
    return {"sampler": sampler, "target": {"node": node, "path": path}}


@case("load")
def gltf_a_thousand_channels_on_zeros(folder):
    accessors = [zeros(100_000, "SCALAR"), zeros(100_000, "VEC3")]
    nodes = [{"children": list(range(1, 500))}] + [{} for _ in range(499)]
    channels = [moves(k, path) for k in range(500) for path in ("translation", "scale")]
    return animated(folder, accessors, [{"input": 0, "output": 1}], channels, nodes=nodes)


@case("load")
def gltf_a_thousand_samplers_on_zeros(folder):
    accessors = [zeros(100_000, "SCALAR"), zeros(100_000, "VEC3")]
    nodes = [{"children": list(range(1, 500))}] + [{} for _ in range(499)]
    channels = [moves(k // 2, ("translation", "scale")[k % 2], k) for k in range(1000)]
    return animated(folder, accessors, [{"input": 0, "output": 1}] * 1000, channels, nodes=nodes)


@case("load")
def gltf_one_key_for_a_thousand_nodes(folder):
    built = Gltf([{"children": list(range(1, 1000))}] + [{} for _ in range(999)])
    times, values = built.array([0, 16]), built.array([[0, 0, 0, 1]] * 2)
    built.json["animations"] = [
        {"samplers": [{"input": times, "output": values}], "channels": [moves(k, "rotation") for k in range(1000)]}
    ]
    return built.write(folder / "a.glb")


@case("load")
def gltf_keys_that_use_all_free_rows(folder):
    built = Gltf([{"children": list(range(1, 1000))}] + [{} for _ in range(999)])
    built.json["animations"] = []
    times, values, sizes = built.array([0, 16]), built.array([[0, 0, 0, 1]] * 2), built.array(np.ones((2, 3)))
    samplers = [{"input": times, "output": values}, {"input": times, "output": sizes}]
    paths = (("rotation", 0), ("translation", 1), ("scale", 1))
    channels = [moves(k, path, sampler) for k in range(1000) for path, sampler in paths]
    built.json["animations"] = [{"samplers": samplers, "channels": channels}]
    return built.write(folder / "a.glb")


@case("load", large=True)
def gltf_two_hundred_thousand_channels_on_one_sampler(folder):
    channels = [moves(k % 2, "translation") for k in range(200_000)]
    return animated(folder, [zeros(100, "SCALAR"), zeros(100, "VEC3")], [{"input": 0, "output": 1}], channels)


@case("load")
def gltf_channels_of_one_node_with_many_keys(folder):
    channels = [moves(0, "translation") for _ in range(5000)]
    return animated(folder, [zeros(90_000, "SCALAR"), zeros(90_000, "VEC3")], [{"input": 0, "output": 1}], channels)


@case("load")
def gltf_a_thousand_primitives_on_zeros(folder):
    primitive = {"attributes": {"POSITION": 0}}
    nodes = [{"children": [1]}, {"mesh": 0}]
    meshes = [{"primitives": [primitive] * 1000}]
    skins = [{"joints": [0, 1]}]
    content = document(nodes=nodes, meshes=meshes, skins=skins, accessors=[zeros(300_000, "VEC3")])
    return written(folder / "a.gltf", content)


@case("load")
def gltf_a_thousand_meshes_on_zeros(folder):
    nodes = [{"children": list(range(1, 1001))}] + [{"mesh": k} for k in range(1000)]
    meshes = [{"primitives": [{"attributes": {"POSITION": 0}}]} for _ in range(1000)]
    content = document(nodes=nodes, meshes=meshes, skins=[{"joints": [0]}], accessors=[zeros(100_000, "VEC3")])
    return written(folder / "a.gltf", content)


@case("load")
def gltf_weights_and_colours_on_zeros(folder):
    joints = zeros(100_000, "VEC4") | {"componentType": 5121}
    names = {
        "POSITION": 0,
        "COLOR_0": 1,
        **{f"JOINTS_{k}": 2 for k in range(4)},
        **{f"WEIGHTS_{k}": 1 for k in range(4)},
    }
    nodes = [{"children": [1]}, {}, {"mesh": 0, "skin": 0}]
    content = document(
        nodes=nodes,
        meshes=[{"primitives": [{"attributes": names}] * 100}],
        skins=[{"joints": [0, 1]}],
        accessors=[zeros(100_000, "VEC3"), zeros(100_000, "VEC4"), joints],
    )
    return written(folder / "a.gltf", content)


@case("load")
def gltf_many_corners_of_three_vertices(folder):
    corners = {"componentType": 5121, "type": "SCALAR", "count": 900_000}
    primitives = [{"attributes": {"POSITION": 0}, "indices": 1, "mode": 6}] * 500
    nodes = [{"children": [1]}, {"mesh": 0}]
    accessors = [zeros(3, "VEC3"), corners]
    content = document(nodes=nodes, meshes=[{"primitives": primitives}], skins=[{"joints": [0]}], accessors=accessors)
    return written(folder / "a.gltf", content)


@case("load")
def gltf_fifty_thousand_tiny_primitives(folder):
    nodes = [{"children": [1]}, {"mesh": 0}]
    meshes = [{"primitives": [{"attributes": {"POSITION": 0}}] * 50_000}]
    content = document(nodes=nodes, meshes=meshes, skins=[{"joints": [0, 1]}], accessors=[zeros(3, "VEC3")])
    return written(folder / "a.gltf", content)


@case("load")
def gltf_a_large_picture_of_one_bit(folder):
    return textured(folder, [png(8192, 8192)])


@case("load")
def gltf_sixty_pictures_on_one_view(folder):
    return textured(folder, [png(4096, 4096)], [0] * 60)


@case("load")
def gltf_sixty_pictures_of_four_channels(folder):
    picture = png(2048, 2048, 8, 6)
    return textured(folder, [picture + bytes(k) for k in range(60)])


@case("load", large=True)
def gltf_a_picture_of_sixteen_bits(folder):
    return textured(folder, [png(5000, 5000, 16, 6), png(100_000, 300, 8, 2), png(6000, 5000, 8, 3)])


@case("load")
def gltf_a_joint_named_a_hundred_thousand_times(folder):
    nodes = [{"children": [1]}, {"mesh": 0, "skin": 0}]
    content = document(
        nodes=nodes,
        meshes=[{"primitives": [{"attributes": {"POSITION": 0, "JOINTS_0": 1, "WEIGHTS_0": 2}}]}],
        skins=[{"joints": [0] * 100_000}],
        accessors=[zeros(3, "VEC3"), zeros(3, "VEC4") | {"componentType": 5121}, zeros(3, "VEC4")],
    )
    return written(folder / "a.gltf", content)


@case("load")
def gltf_large_skins_of_many_meshes(folder):
    count = 10_000
    nodes = [{"children": list(range(1, count))}] + [{} for _ in range(count - 1)]
    nodes += [{"mesh": 0, "skin": k % 5} for k in range(900)]
    content = document(
        nodes=nodes,
        meshes=[{"primitives": [{"attributes": {"POSITION": 0, "JOINTS_0": 1, "WEIGHTS_0": 2}}]}],
        skins=[{"joints": list(range(count))}] * 5,
        accessors=[zeros(3, "VEC3"), zeros(3, "VEC4") | {"componentType": 5121}, zeros(3, "VEC4")],
    )
    return written(folder / "a.gltf", content)


@case("load")
def gltf_a_file_that_is_its_own_buffer(folder):
    views = [{"buffer": k, "byteLength": 20_000} for k in range(200)]
    accessors = [{"bufferView": k, "componentType": 5121, "type": "VEC3", "count": 6000} for k in range(200)]
    primitives = [{"attributes": {"POSITION": k}} for k in range(200)]
    content = document(
        nodes=[{"children": [1]}, {"mesh": 0}],
        buffers=[{"uri": "a.gltf", "byteLength": 20_000}] * 200,
        bufferViews=views,
        accessors=accessors,
        meshes=[{"primitives": primitives}],
        skins=[{"joints": [0]}],
    )
    return written(folder / "a.gltf", json.dumps(content) + " " * 100_000)


@case("save")
def gltf_its_own_buffer_saved_again(folder):
    views = [{"buffer": k, "byteLength": 2_000_000} for k in range(200)]
    content = document(
        buffers=[{"uri": "a.gltf", "byteLength": 2_000_000}] * 200,
        bufferViews=views,
        extensionsUsed=["UNKNOWN_extension"],
    )
    return written(folder / "a.gltf", json.dumps(content) + " " * 2_000_000)


@case("load", large=True)
def gltf_fifty_thousand_matrices(folder):
    matrix = [1, 0, 0, 0, 0, 1, 0, 0, 0, 0.5, 1, 0, 1, 1, 1, 1]
    nodes = [{"children": list(range(1, 50_000))}] + [{"matrix": matrix} for _ in range(49_999)]
    return written(folder / "a.gltf", document(nodes=nodes))


@case("load")
def gltf_a_chain_of_fifty_thousand_nodes(folder):
    nodes = [{"children": [k + 1]} for k in range(49_999)] + [{}]
    return written(folder / "a.gltf", document(nodes=nodes))


@case("load")
def gltf_a_chain_above_the_root(folder):
    nodes = [{"children": [k + 1]} for k in range(49_999)] + [{}]
    accessors = [zeros(2, "SCALAR"), zeros(2, "VEC3")]
    return animated(folder, accessors, [{"input": 0, "output": 1}], [moves(49_999, "translation")], nodes=nodes)


@case("load")
def gltf_a_moving_chain_above_the_root(folder):
    nodes = [{"children": [k + 1]} for k in range(3999)] + [{}]
    built = Gltf(nodes)
    times, values = built.array([0, 4]), built.array(np.zeros((2, 3)))
    channels = [moves(k, "scale") for k in range(4000)]
    built.json["skins"] = [{"joints": [3999]}]
    built.json["animations"] = [{"samplers": [{"input": times, "output": values}], "channels": channels}]
    return built.write(folder / "a.glb")


@case("load")
def gltf_names_that_are_all_alike(folder):
    nodes = [{"name": "a", "children": list(range(1, 20_000))}] + [{"name": "a"} for _ in range(19_999)]
    return written(folder / "a.gltf", document(nodes=nodes))


@case("load")
def gltf_names_of_a_megabyte(folder):
    nodes = [{"name": "a" * 10**6, "children": [1]}, {"name": "a" * 10**6, "rotation": [0, 0, 0, 0]}]
    return written(folder / "a.gltf", document(nodes=nodes))


@case("load")
def gltf_sparse_accessors_on_nothing(folder):
    sparse = {
        "count": 1,
        "indices": {"bufferView": 0, "componentType": 5125},
        "values": {"bufferView": 0},
    }
    accessors = [zeros(100_000, "VEC4") | {"sparse": sparse}] * 200 + [zeros(100_000, "SCALAR")]
    samplers = [{"input": 200, "output": k} for k in range(200)]
    channels = [moves(k, "rotation", k) for k in range(200)]
    nodes = [{"children": list(range(1, 200))}] + [{} for _ in range(199)]
    uri = "data:;base64," + base64.b64encode(bytes(16)).decode()
    return animated(
        folder, accessors, samplers, channels, nodes=nodes,
        buffers=[{"byteLength": 16, "uri": uri}], bufferViews=[{"buffer": 0, "byteLength": 16}],
    )  # fmt: skip


@case("load")
def gltf_objects_without_members(folder):
    return written(
        folder / "a.gltf", b'{"asset":{"version":"2.0"},"nodes":[{}],"meshes":[' + b"{}," * 1_500_000 + b"{}]}"
    )


@case("load")
def gltf_arrays_in_arrays(folder):
    return written(
        folder / "a.gltf", b'{"asset":{"version":"2.0"},"nodes":[{}],"extras":[' + b"[[0]]," * 1_600_000 + b"0]}"
    )


@case("load", large=True)
def gltf_members_of_all_names(folder):
    text = ",".join(f'"{k:x}":0' for k in range(900_000))
    return written(folder / "a.gltf", '{"asset":{"version":"2.0"},"nodes":[{}],"extras":{' + text + "}}")


@case("save")
def gltf_extras_nested_as_deep_as_they_are_read(folder):
    extras = "[" * 900 + "]" * 900
    return written(folder / "a.gltf", '{"asset":{"version":"2.0"},"nodes":[{}],"extras":' + extras + "}")


@case("load")
def gltf_numbers_of_many_digits(folder):
    return written(
        folder / "a.gltf", '{"asset":{"version":"2.0"},"nodes":[{"translation":[0.' + "1" * 10**6 + ",0,0]}]}"
    )


@case("load")
def gltf_a_buffer_that_is_a_pipe(folder):
    os.mkfifo(folder / "a.bin")
    content = document(
        buffers=[{"uri": "a.bin", "byteLength": 24}],
        bufferViews=[{"buffer": 0, "byteLength": 24}],
        accessors=[zeros(2, "VEC3") | {"bufferView": 0}, zeros(2, "SCALAR")],
        animations=[{"samplers": [{"input": 1, "output": 0}], "channels": [moves(0, "translation")]}],
    )
    return written(folder / "a.gltf", content)


@case("load")
def gltf_a_picture_that_is_a_device(folder):
    textured(folder, [png(2, 2)])
    text = (folder / "a.glb").read_bytes()
    (folder / "p.png").symlink_to("/dev/zero")
    size = struct.unpack_from("<I", text, 12)[0]
    content = json.loads(text[20 : 20 + size])
    content["images"] = [{"uri": "p.png"}]
    return written(folder / "b.glb", glb(content, text[28 + size :]))


@case("load")
def gltf_a_small_use_of_a_large_buffer(folder):
    with (folder / "a.bin").open("wb") as file:
        file.truncate(8_000_000_000)
    content = document(
        buffers=[{"uri": "a.bin", "byteLength": 24}],
        bufferViews=[{"buffer": 0, "byteLength": 24}],
        accessors=[zeros(2, "VEC3") | {"bufferView": 0}, zeros(2, "SCALAR")],
        animations=[{"samplers": [{"input": 1, "output": 0}], "channels": [moves(0, "translation")]}],
    )
    return written(folder / "a.gltf", content)


@case("load", large=True)
def gltf_roles_without_end(folder):
    bones = [{"bone": f"bone{k}", "node": k % 2} for k in range(200_000)]
    return written(folder / "a.vrm", document(extensions={"VRM": {"humanoid": {"humanBones": bones}}}))


@case("load")
def gltf_ten_thousand_animations_named_alike(folder):
    animation = {"name": "a", "samplers": [], "channels": []}
    return written(folder / "a.gltf", document(animations=[animation] * 100_000))


def many_buffers(folder, buffers):
    """A node for each of some buffers, whose keys' time lies in it."""
    count = len(buffers)
    accessors = [{"bufferView": k, "componentType": 5126, "type": "SCALAR", "count": 1} for k in range(count)]
    nodes = [{"children": list(range(1, count))}] + [{} for _ in range(count - 1)]
    return animated(
        folder,
        [*accessors, zeros(1, "VEC3")],
        [{"input": k, "output": count} for k in range(count)],
        [moves(k, "translation", k) for k in range(count)],
        nodes=nodes,
        buffers=buffers,
        bufferViews=[{"buffer": k, "byteLength": 4} for k in range(count)],
    )


@case("load")
def gltf_buffers_of_one_file_each_a_byte_longer(folder):
    written(folder / "b.bin", bytes(8_000_000))
    return many_buffers(folder, [{"uri": "b.bin", "byteLength": 7_999_000 + k} for k in range(400)])


@case("load")
def gltf_six_thousand_buffers(folder):
    return many_buffers(folder, [{"uri": "data:;base64,AAAAAA==", "byteLength": 4}] * 6000)


@case("load")
def gltf_six_thousand_buffers_next_to_it(folder):
    written(folder / "b.bin", bytes(16))
    return many_buffers(folder, [{"uri": "b.bin", "byteLength": 4}] * 6000)


def picture(kind, width, height, mode="L", **options):
    """A picture of one colour, as Pillow writes it."""
    from PIL import Image

    file = io.BytesIO()
    Image.new(mode, (width, height)).save(file, kind, **options)
    return file.getvalue()


def scans(width, height, more, mode="L"):
    """A progressive JPEG whose last scan comes again and again: a few bytes, and a way through all pixels."""
    data = picture("JPEG", width, height, mode, progressive=True)
    return data[:-2] + data[data.rindex(b"\xff\xda") : -2] * more + data[-2:]


@case("load")
def gltf_a_picture_of_fifteen_hundred_scans(folder):
    return textured(folder, [scans(4096, 4096, 1500)])


@case("load")
def gltf_a_tiny_picture_of_many_scans(folder):
    return textured(folder, [scans(64, 64, 50_000)])


@case("load", large=True)
def gltf_a_picture_whose_scans_are_held(folder):
    return textured(folder, [scans(30_000, 30_000, 0)])


@case("load")
def gltf_a_large_webp(folder):
    return textured(folder, [picture("WEBP", 5790, 5790, "RGBA", lossless=True, method=0)])


@case("load")
def gltf_sixty_small_webps(folder):
    return textured(folder, [picture("WEBP", 1500, 1500, "RGBA", lossless=True, method=0)], images=[0] * 60)
