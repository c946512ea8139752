"""Does Blender read the BVH files we write as we mean them? An independent judge, in an environment of its own.

    python -m venv /somewhere && /somewhere/bin/pip install bpy
    python tools/check_blender.py /somewhere/bin/python [CLIP.bvh ...]

Motions of every Euler order, with joint translations and with rest rotations, and any clips named, are saved, imported
by Blender's own importer (`import_anim.bvh`, its default settings) and compared: the world place of every joint in
every frame. Blender computes in 32 bits, and its bone frames lose two more digits where a bone points nearly along its
-Y axis, so the tolerance is 5e-5 m. bpy is GPL: it judges from outside, nothing of ours imports it.

Found with bpy 5.0.1: people (clips 17_10, 61_07, 49_06) within 1e-6 m, random trees of joints within 2e-5 m, for all
six Euler orders, joint translations, rest rotations and centimetres.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import posable as ps
from posable.skeleton import Motion, Pose, Skeleton

TOLERANCE = 5e-5  # m
FRAMES = 60

IMPORT = """
import sys
import bpy
import numpy as np
for path in sys.argv[1:]:
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.ops.import_anim.bvh(filepath=path, update_scene_fps=True)
    armature = next(o for o in bpy.context.scene.objects if o.type == "ARMATURE")
    scene = bpy.context.scene
    places = []
    first, last = (round(end) for end in armature.animation_data.action.frame_range)
    for frame in range(first, last + 1):
        scene.frame_set(frame)
        heads = [armature.matrix_world @ bone.head for bone in armature.pose.bones]
        places.append([(h.x, h.z, -h.y) for h in heads])  # Blender is Z up
    names = [bone.name for bone in armature.pose.bones]
    np.savez(path + ".npz", names=names, places=places, fps=scene.render.fps / scene.render.fps_base)
print("bpy", bpy.app.version_string)
"""


def main(python: str, clips: list[str]) -> int:
    motions = dict(_made_up())
    for clip in clips:
        motions[Path(clip).stem] = ps.load(clip, repair="cmu" if ps.load(clip).notes else None)[:FRAMES], {}
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"{name}.bvh" for name in motions]
        for path, (motion, options) in zip(paths, motions.values(), strict=True):
            ps.save(motion, path, **options)
        done = subprocess.run([python, "-c", IMPORT, *map(str, paths)], capture_output=True, text=True, check=False)
        if done.returncode:
            print(done.stdout[-2000:], done.stderr[-2000:])
            return 2
        print(next(line for line in done.stdout.splitlines() if line.startswith("bpy")))
        worst = max(
            _compare(path, motion, options) for path, (motion, options) in zip(paths, motions.values(), strict=True)
        )
    print(f"worst {worst:.2e} m, tolerance {TOLERANCE:.0e} m")
    return int(worst > TOLERANCE)


def _compare(path: Path, motion: Motion, options: dict[str, object]) -> float:
    with np.load(f"{path}.npz") as seen:
        names, places, fps = seen["names"].tolist(), seen["places"], float(seen["fps"])
    ours = motion.skeleton.forward(motion.pose).positions / float(options.get("scale", 1.0))
    if len(places) != len(motion) or sorted(names) != sorted(motion.skeleton.names):
        print(f"{path.stem}: {len(places)} frames of {len(names)} joints, not {len(motion)} of {len(motion.skeleton)}")
        return np.inf
    order = [names.index(name) for name in motion.skeleton.names]
    apart = float(np.abs(places[:, order] - ours).max() * float(options.get("scale", 1.0)))
    print(f"{path.stem:16s} {len(places):4d} frames {len(names):3d} joints {fps:7.3f} fps: {apart:.2e} m apart")
    return apart


def _made_up():
    for seed, order in enumerate(["XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX"]):
        yield f"order_{order}", (_motion(seed), {"order": order})
    yield "translations", (_motion(7, moved=True), {})
    yield "rest_rotations", (_motion(8, rest=True), {})
    yield "centimetres", (_motion(9), {"scale": 0.01})


def _motion(seed: int, *, rest: bool = False, moved: bool = False, joints: int = 12) -> Motion:
    rng = np.random.default_rng(seed)
    parents = [-1, *(int(rng.integers(0, j)) for j in range(1, joints))]
    skeleton = Skeleton(
        [f"joint{j}" for j in range(joints)],
        parents,
        rng.normal(size=(joints, 3)) * 0.2,
        rest_rotations=rng.normal(size=(joints, 4)) if rest else None,
        end_parents=[joints - 1],
        end_offsets=[[0, 0.1, 0]],
    )
    rotations = rng.normal(size=(FRAMES, joints, 4))
    rotations /= np.linalg.norm(rotations, axis=-1, keepdims=True)
    places = skeleton.offsets + rng.normal(size=(FRAMES, joints, 3)) * 0.1 if moved else None
    return Motion(skeleton, Pose(rng.normal(size=(FRAMES, 3)), rotations, places), 30)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    sys.exit(main(sys.argv[1], sys.argv[2:]))
