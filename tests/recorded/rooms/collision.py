"""Scenes and volumes."""

import tempfile
from pathlib import Path

import numpy as np

import posable as ps

from ..calls import call
from ..inputs import body, few, room, sample

PYRAMID = ([(0, 0, 0), (0.3, 0, 0), (0, 0.9, 0), (0, 0, 0.3)], [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)])


def _asked(scene: ps.Scene, poses: ps.Pose) -> dict[str, object]:
    volumes, skeleton = body().volumes, body().skeleton
    found: dict[str, list] = {"touches": [], "near": [], "touching": [], "distance": [], "nearest": []}
    for k in range(poses.shape[0]):
        frames = skeleton.forward(poses[k])
        at = (volumes, frames.positions, frames.orientations)
        away, thing, part = scene.distance(*at)
        found["touches"].append(scene.touches(*at))
        found["near"].append(scene.touches(*at, margin=0.1))
        found["touching"].append([list(pair) for pair in scene.contacts(*at, margin=0.05)])
        found["distance"].append(away)
        found["nearest"].append([thing, part])
    return found


@call()
def scene_of_primitives():
    return _asked(room(), few(sample("reach"), 6))


@call()
def each_kind_of_thing():
    poses = few(sample("boxing"), 5)
    scenes = {
        "box": ps.Scene().box("a", (0.3, 0.2, 0.1), (0.2, 1.2, 0.5), (0.9, 0.3, 0.1, 0.2)),
        "sphere": ps.Scene().sphere("a", 0.1, (0.2, 1.2, 0.5)),
        "capsule": ps.Scene().capsule("a", 0.08, 0.4, (0.2, 1.2, 0.5), (0.7, 0.7, 0.0, 0.1), end_radius=0.04),
        "ellipsoid": ps.Scene().ellipsoid("a", (0.2, 0.1, 0.05), (0.2, 1.2, 0.5), (0.9, 0.0, 0.4, 0.1)),
        "plane": ps.Scene().plane("a", (0.0, 0.1, 0.0), (0.1, 1.0, 0.1)),
    }
    return {name: _asked(scene, poses) for name, scene in scenes.items()}


@call()
def scene_moved_and_saved():
    scene = room().move("table", position=(0.1, 0.9, 0.5)).remove("lamp")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "room.json"
        scene.save(path)
        text, again = path.read_text(encoding="utf-8"), ps.Scene.load(path)
    text = text.replace('"obstacles": [', '"things": [')  # the name of the list when this was recorded
    return {"names": scene.names, "text": text, "again": _asked(again, few(sample("dance"), 3))}


@call(extra="coal")
def scene_with_a_mesh():
    scene = ps.Scene().mesh("statue", *PYRAMID, position=(0.1, 0.9, 0.3), orientation=(0.9, 0.1, 0.2, 0.3))
    return _asked(scene, few(sample("reach"), 4))


@call()
def volumes_of_the_figure():
    volumes = body().volumes
    vertices, faces = volumes.mesh(3, detail=8)
    whole = volumes.tessellated(8)
    return {
        "names": volumes.names,
        "joints": volumes.joints,
        "kinds": volumes.kinds,
        "start": volumes.start,
        "end": volumes.end,
        "radii": volumes.radii,
        "rotations": volumes.rotations,
        "scaled": volumes.scaled(1.2).radii,
        "vertices": vertices,
        "faces": faces,
        "tessellated": whole.vertices,
        "normals": whole.normals,
        "tessellated_joints": whole.joints,
    }


@call()
def volumes_made_by_hand():
    volumes = ps.Volumes(
        [0, 1],
        ["capsule", "ellipsoid"],
        [[0, 0, 0], [0, 0.1, 0]],
        [[0, 0.3, 0], [0, 0.1, 0]],
        [[0.05, 0.04, 0], [0.1, 0.2, 0.05]],
    )
    positions = np.array([[0.2, 1.3, 0.3], [-0.3, 1.1, 0.3]])
    turned = np.array([[0.8, 0.6, 0.0, 0.0], [0.6, 0.0, 0.0, 0.8]])
    away, thing, part = room().distance(volumes, positions, turned)
    return {"distance": away, "nearest": [thing, part], "touches": room().touches(volumes, positions, turned)}
