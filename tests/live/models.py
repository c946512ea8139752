"""VRM files for the tests: all 55 bones, nodes above the hips and between bones, rotations of their own (VRM 1)."""

import json
import struct
from pathlib import Path

import numpy as np

FINGERS = ("thumb", "index", "middle", "ring", "little")


def quat(axis, angle: float) -> np.ndarray:
    axis = np.asarray(axis, float) / np.linalg.norm(axis)
    return np.append(np.sin(angle / 2) * axis, np.cos(angle / 2))  # xyzw


def rotated(q: np.ndarray, v: np.ndarray) -> np.ndarray:
    u = q[:3]
    return v + 2 * np.cross(u, np.cross(u, v) + q[3] * v)


def product(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    return np.append(
        p[3] * q[:3] + q[3] * p[:3] + np.cross(p[:3], q[:3]),
        p[3] * q[3] - p[:3] @ q[:3],
    )


def skeleton() -> list[tuple[str, str | None, np.ndarray]]:
    """(bone in VRM 1's name, the one above, position [m] in a T-pose facing +Z)."""
    rows = [("hips", None, (0, 0.98, 0)), ("spine", "hips", (0, 1.08, 0)), ("chest", "spine", (0, 1.2, -0.01))]
    rows += [("upperChest", "chest", (0, 1.32, -0.01)), ("neck", "upperChest", (0, 1.47, 0))]
    rows += [("head", "neck", (0, 1.56, 0.01)), ("jaw", "head", (0, 1.57, 0.05))]
    for side, s in (("left", 1.0), ("right", -1.0)):
        rows += [
            (f"{side}Eye", "head", (0.03 * s, 1.63, 0.07)),
            (f"{side}Shoulder", "upperChest", (0.03 * s, 1.42, 0)),
            (f"{side}UpperArm", f"{side}Shoulder", (0.17 * s, 1.42, 0)),
            (f"{side}LowerArm", f"{side}UpperArm", (0.45 * s, 1.42, 0)),
            (f"{side}Hand", f"{side}LowerArm", (0.7 * s, 1.42, 0)),
            (f"{side}UpperLeg", "hips", (0.09 * s, 0.93, 0)),
            (f"{side}LowerLeg", f"{side}UpperLeg", (0.09 * s, 0.5, 0.005)),
            (f"{side}Foot", f"{side}LowerLeg", (0.09 * s, 0.09, -0.01)),
            (f"{side}Toes", f"{side}Foot", (0.09 * s, 0.02, 0.12)),
        ]
        for k, finger in enumerate(FINGERS):
            above, parts = f"{side}Hand", ("Proximal", "Intermediate", "Distal")
            if finger == "thumb":
                parts = ("Metacarpal", "Proximal", "Distal")
            for n, part in enumerate(parts):
                name = f"{side}{finger.capitalize()}{part}"
                rows.append((name, above, ((0.73 + 0.03 * n) * s, 1.42, 0.04 - 0.02 * k)))
                above = name
    return [(name, above, np.array(at, float)) for name, above, at in rows]


def write_vrm(path: Path, version: int, seed: int = 0) -> Path:
    """A VRM without meshes. VRM 1: random rotations at rest, a scaled and rotated node above; VRM 0: none."""
    draw = np.random.default_rng(seed)
    turn = quat((0, 1, 0), np.pi) if version == 0 else quat((0, 1, 0), 0.0)
    nodes: list[dict] = [{"name": "Scene", "translation": [0.0, 0.0, 0.0], "children": []}]
    world = [(np.zeros(3), quat((0, 1, 0), 0.0), 1.0)]
    if version == 1:
        nodes[0] |= {"rotation": quat((1, 2, 0), 0.4).tolist(), "translation": [0.05, 0.1, -0.2], "scale": [0.5] * 3}
        world = [(np.array([0.05, 0.1, -0.2]), quat((1, 2, 0), 0.4), 0.5)]
    index: dict[str | None, int] = {None: 0}

    def add(name: str, parent: int, at: np.ndarray, orientation: np.ndarray) -> int:
        origin, over, scale = world[parent]
        back = over * [-1, -1, -1, 1]
        node = {"name": name, "translation": (rotated(back, at - origin) / scale).tolist()}
        node["rotation"] = product(back, orientation).tolist()
        nodes.append(node)
        world.append((at, orientation, scale))
        nodes[parent].setdefault("children", []).append(len(nodes) - 1)
        return len(nodes) - 1

    for name, above, at in skeleton():
        at = rotated(turn, at)
        orientation = quat((0, 1, 0), 0.0)
        if version == 1:
            orientation = quat(draw.normal(size=3), draw.uniform(0, 3))
        parent = index[above]
        if name in ("neck", "leftHand", "rightFoot"):  # a node without a role between two bones
            middle = 0.5 * (world[parent][0] + at)
            between = quat(draw.normal(size=3), 1.0) if version == 1 else orientation
            parent = add(f"between {name}", parent, middle, between)
        index[name] = add(name, parent, at, orientation)
    if version == 1:
        human = {name: {"node": index[name]} for name, *_ in skeleton()}
        extensions = {"VRMC_vrm": {"specVersion": "1.0", "humanoid": {"humanBones": human}}}
    else:
        old = {"ThumbMetacarpal": "ThumbProximal", "ThumbProximal": "ThumbIntermediate"}
        bones = []
        for name, *_ in skeleton():
            called = name
            for new, other in old.items():
                if name.endswith(new):
                    called = name[: -len(new)] + other
                    break
            bones.append({"bone": called, "node": index[name]})
        extensions = {"VRM": {"specVersion": "0.0", "humanoid": {"humanBones": bones}}}
    document = {
        "asset": {"version": "2.0"},
        "scene": 0,
        "scenes": [{"nodes": [0]}],
        "nodes": nodes,
        "extensions": extensions,
        "extensionsUsed": list(extensions),
    }
    text = json.dumps(document).encode()
    text += b" " * (-len(text) % 4)
    path.write_bytes(struct.pack("<4sIIII", b"glTF", 2, 20 + len(text), len(text), 0x4E4F534A) + text)
    return path
