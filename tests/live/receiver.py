"""A renderer that shows a VRM, written from the protocol's text and the files' formats, with nothing of Posable.

It reads the nodes of a glTF file, puts them into Unity's frame as UniVRM does (VRM 1 mirrored in x, VRM 0 in z), and
applies what `/VMC/Ext/Bone/Pos` says: local position and local rotation of the bone with that name. Packets are read
by python-osc.
"""

import json
import struct
from pathlib import Path

import numpy as np
from pythonosc.osc_bundle import OscBundle
from pythonosc.osc_message import OscMessage

OLD_THUMBS = {"thumbProximal": "ThumbProximal", "thumbIntermediate": "ThumbIntermediate", "thumbDistal": "ThumbDistal"}
NEW_THUMBS = {"ThumbMetacarpal": "ThumbProximal", "ThumbProximal": "ThumbIntermediate"}


def messages(packet: bytes) -> list[OscMessage]:
    if not packet.startswith(b"#bundle"):
        return [OscMessage(packet)]
    found = []
    for element in OscBundle(packet):
        found += messages(element.dgram) if isinstance(element, OscBundle) else [element]
    return found


def matrix(xyzw: np.ndarray) -> np.ndarray:
    x, y, z, w = xyzw
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


class Renderer:
    def __init__(self, path: Path) -> None:
        data = path.read_bytes()
        size = struct.unpack_from("<I", data, 12)[0]
        document = json.loads(data[20 : 20 + size])
        extensions = document["extensions"]
        self.old = "VRMC_vrm" not in extensions
        self.flip = np.array([1.0, 1.0, -1.0]) if self.old else np.array([-1.0, 1.0, 1.0])
        signs = np.array([-1.0, -1.0, 1.0, 1.0]) if self.old else np.array([1.0, -1.0, -1.0, 1.0])
        nodes = document["nodes"]
        self.parents = [-1] * len(nodes)
        for k, node in enumerate(nodes):
            for child in node.get("children", []):
                self.parents[child] = k
        self.position = [self.flip * node.get("translation", [0.0, 0.0, 0.0]) for node in nodes]
        self.rotation = [signs * node.get("rotation", [0.0, 0.0, 0.0, 1.0]) for node in nodes]
        self.scale = [np.array(node.get("scale", [1.0, 1.0, 1.0])) for node in nodes]
        self.names = [node.get("name", "") for node in nodes]
        self.bones: dict[str, int] = {}
        if self.old:
            for bone in extensions["VRM"]["humanoid"]["humanBones"]:
                self.bones[bone["bone"][0].upper() + bone["bone"][1:]] = bone["node"]
        else:
            for name, bone in extensions["VRMC_vrm"]["humanoid"]["humanBones"].items():
                unity = name[0].upper() + name[1:]
                for new, other in NEW_THUMBS.items():
                    if unity.endswith(new):
                        unity = unity[: -len(new)] + other
                        break
                self.bones[unity] = bone["node"]
        self.root = np.zeros(3), np.array([0.0, 0.0, 0.0, 1.0])
        self.applied: set[str] = set()
        self.other: dict[str, list] = {}

    def receive(self, packet: bytes) -> None:
        assert len(packet) <= 1200
        for message in messages(packet):
            if message.address == "/VMC/Ext/Bone/Pos":
                name, *numbers = message.params
                self.position[self.bones[name]] = np.array(numbers[:3])
                self.rotation[self.bones[name]] = np.array(numbers[3:])
                self.applied.add(name)
            elif message.address == "/VMC/Ext/Root/Pos":
                self.root = np.array(message.params[1:4]), np.array(message.params[4:8])
            else:
                self.other.setdefault(message.address, []).append(message.params)

    def world(self) -> np.ndarray:
        """(N, 4, 4) of all nodes, in the file's scene: right-handed, y up; of VRM 0 rotated to face +Z."""
        made: dict[int, np.ndarray] = {}

        def of(node: int) -> np.ndarray:
            if node not in made:
                local = np.eye(4)
                local[:3, :3] = matrix(self.rotation[node]) * self.scale[node]
                local[:3, 3] = self.position[node]
                if self.parents[node] < 0:
                    above = np.eye(4)
                    above[:3, :3], above[:3, 3] = matrix(self.root[1]), self.root[0]
                else:
                    above = of(self.parents[node])
                made[node] = above @ local
            return made[node]

        mirror = np.diag([-1.0, 1.0, 1.0, 1.0])  # from Unity back; what faces +Z there faces +Z here
        return np.array([mirror @ of(node) @ mirror for node in range(len(self.parents))])
