"""glTF documents made by hand, and the two independent readers that judge ours: written without our own packing."""

import json
import struct
import subprocess
from pathlib import Path

import numpy as np

CODES = {"float32": 5126, "uint8": 5121, "uint16": 5123, "uint32": 5125, "int8": 5120, "int16": 5122}
KINDS = {1: "SCALAR", 2: "VEC2", 3: "VEC3", 4: "VEC4", 16: "MAT4"}
CHARACTERS = (
    "CesiumMan.glb",
    "RiggedFigure.glb",
    "RiggedSimple.glb",
    "SimpleSkin.gltf",
    "Fox.glb",
    "KayKit_Knight.glb",
)
VRM = "VRMC_materials_mtoon_UV_Animation_Test.vrm"


class Gltf:
    """A document that grows: nodes, arrays, animations."""

    def __init__(self, nodes):
        children = {child for node in nodes for child in node.get("children", [])}
        roots = [i for i in range(len(nodes)) if i not in children]
        self.json = {
            "asset": {"version": "2.0"},
            "scene": 0,
            "scenes": [{"nodes": roots}],
            "nodes": nodes,
            "accessors": [],
            "bufferViews": [],
        }
        self.binary = b""

    def array(self, values, dtype="float32", **members):
        values = np.asarray(values, dtype)
        rows = values.reshape(len(values), -1)
        self.json["bufferViews"].append({"buffer": 0, "byteOffset": len(self.binary), "byteLength": values.nbytes})
        self.binary += values.tobytes() + b"\0" * (-values.nbytes % 4)
        accessor = {
            "bufferView": len(self.json["bufferViews"]) - 1,
            "componentType": CODES[dtype],
            "count": len(values),
            "type": KINDS[rows.shape[1]],
            "min": rows.min(axis=0).tolist(),
            "max": rows.max(axis=0).tolist(),
        }
        self.json["accessors"].append(accessor | members)
        return len(self.json["accessors"]) - 1

    def animate(self, channels, name="clip"):
        """`channels`: (node, path, times, values, interpolation)."""
        animation = {"name": name, "channels": [], "samplers": []}
        for node, path, times, values, interpolation in channels:
            animation["channels"].append(
                {"sampler": len(animation["samplers"]), "target": {"node": node, "path": path}}
            )
            animation["samplers"].append(
                {"input": self.array(times), "output": self.array(values), "interpolation": interpolation}
            )
        self.json.setdefault("animations", []).append(animation)
        return self

    def skin(self, joints, inverse=None):
        skin = {"joints": list(joints)}
        if inverse is not None:
            columns_first = np.asarray(inverse, np.float32).transpose(0, 2, 1).reshape(-1, 16)
            skin["inverseBindMatrices"] = self.array(columns_first)
        self.json.setdefault("skins", []).append(skin)
        return self

    def write(self, path: Path):
        document = dict(self.json)
        if self.binary:
            document["buffers"] = [{"byteLength": len(self.binary)}]
        path.write_bytes(glb(document, self.binary))
        return path


def glb(document, binary=b"", *, json_length=None, total=None, version=2):
    """The bytes of a GLB file; lengths in its headers can be made to lie."""
    text = document if isinstance(document, bytes) else json.dumps(document).encode()
    text += b" " * (-len(text) % 4)
    body = struct.pack("<II", len(text) if json_length is None else json_length, 0x4E4F534A) + text
    if binary:
        binary += b"\0" * (-len(binary) % 4)
        body += struct.pack("<II", len(binary), 0x004E4942) + binary
    return struct.pack("<4sII", b"glTF", version, 12 + len(body) if total is None else total) + body


def parts(path: Path):
    """(document, binary) of a GLB or glTF file, by no code of ours."""
    data = path.read_bytes()
    if data[:4] != b"glTF":
        return json.loads(data), b""
    (length,) = struct.unpack_from("<I", data, 12)
    return json.loads(data[20 : 20 + length]), data[28 + length :]


def validated(node: Path, *paths: Path):
    """The reports of the Khronos validator, one a file: numErrors, numWarnings, messages."""
    done = subprocess.run(["node", "validate.mjs", *map(str, paths)], cwd=node, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def played(node: Path, path: Path, times, animation=0):
    """What three.js makes of a file at some times: places of nodes by name, places of vertices by mesh."""
    command = ["node", "sample.mjs", str(path), str(animation), ",".join(repr(float(t)) for t in times)]
    done = subprocess.run(command, cwd=node, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
