"""Make the FBX and USD files of tests/data: a little person, as Blender exports it in several ways.

    python -m venv /somewhere && /somewhere/bin/pip install bpy
    python tools/make_blender_files.py /somewhere/bin/python

Beside each file stands where Blender has the joints in every frame of each take, in metres, Y up (`.npz`): before the
export, straight from its scene, and, of FBX, after an import by Blender itself, which is noted as a distance.
bpy is GPL: it makes files and judges them from outside, nothing of ours imports it.

Made with bpy 5.0.1; its own importer has the joints within 2e-6 m of where they were.
"""

import subprocess
import sys
from pathlib import Path

DATA = Path(__file__).parents[1] / "tests" / "data"

MAKE = """
import math, sys
import bpy
import numpy as np
from mathutils import Euler, Vector

BONES = {  # name: (parent, head, tail) [m], Z up, facing -Y as Blender's figures do
    "Hips": (None, (0, 0, 0.95), (0, 0, 1.1)),
    "Spine": ("Hips", (0, 0, 1.1), (0, 0.01, 1.4)),
    "Neck": ("Spine", (0, 0.01, 1.4), (0, 0, 1.5)),
    "Head": ("Neck", (0, 0, 1.5), (0, 0, 1.7)),
}
for side, sign in (("Left", 1), ("Right", -1)):
    BONES[side + "Arm"] = ("Spine", (sign * 0.18, 0.01, 1.4), (sign * 0.46, 0.02, 1.4))
    BONES[side + "ForeArm"] = (side + "Arm", (sign * 0.46, 0.02, 1.4), (sign * 0.7, 0, 1.4))
    BONES[side + "Hand"] = (side + "ForeArm", (sign * 0.7, 0, 1.4), (sign * 0.8, 0, 1.4))
    BONES[side + "UpLeg"] = ("Hips", (sign * 0.1, 0, 0.93), (sign * 0.1, -0.01, 0.5))
    BONES[side + "Leg"] = (side + "UpLeg", (sign * 0.1, -0.01, 0.5), (sign * 0.1, 0, 0.09))
    BONES[side + "Foot"] = (side + "Leg", (sign * 0.1, 0, 0.09), (sign * 0.1, -0.12, 0.02))


def scene(turn, size):
    bpy.ops.wm.read_factory_settings(use_empty=True)
    data = bpy.data.armatures.new("Person")
    person = bpy.data.objects.new("Person", data)
    bpy.context.scene.collection.objects.link(person)
    bpy.context.view_layer.objects.active = person
    bpy.ops.object.mode_set(mode="EDIT")
    for name, (parent, head, tail) in BONES.items():
        bone = data.edit_bones.new(name)
        bone.head, bone.tail, bone.roll = Vector(head) / size, Vector(tail) / size, 0.3
        bone.parent = data.edit_bones[parent] if parent else None
    bpy.ops.object.mode_set(mode="OBJECT")
    person.rotation_euler, person.scale = turn, (size, size, size)
    person.location = (0.2, -0.1, 0.0)
    corners, faces, groups = [], [], {}
    for name, (_, head, tail) in BONES.items():
        first = len(corners)
        for end in (head, tail):
            for x, y in ((-0.04, -0.04), (0.04, -0.04), (0.04, 0.04), (-0.04, 0.04)):
                corners.append((Vector(end) + Vector((x, y, 0.5 * x))) / size)
        faces += [tuple(first + k for k in face) for face in ((0, 1, 2, 3), (4, 5, 6, 7), (0, 1, 5, 4), (2, 3, 7, 6))]
        groups[name] = list(range(first, first + 8))
    mesh = bpy.data.meshes.new("Body")
    mesh.from_pydata(corners, [], faces)
    body = bpy.data.objects.new("Body", mesh)
    bpy.context.scene.collection.objects.link(body)
    body.parent = person
    for name, some in groups.items():
        body.vertex_groups.new(name=name).add(some, 0.7 if name != "Hips" else 1.0, "REPLACE")
        if name != "Hips":
            body.vertex_groups["Hips"].add(some, 0.3, "ADD")
    body.modifiers.new("Armature", "ARMATURE").object = person
    material = bpy.data.materials.new("Red")
    material.diffuse_color = (0.8, 0.1, 0.1, 1.0)
    mesh.materials.append(material)
    return person


def animate(person, size, takes):
    rng = np.random.default_rng(5)
    person.animation_data_create()
    for take, frames in takes:
        action = bpy.data.actions.new(take)
        action.use_fake_user = True
        person.animation_data.action = action
        for bone in person.pose.bones:
            bone.rotation_mode = "XYZ"
            turns = rng.normal(size=(3, 3)) * 0.6
            for frame, turn in zip((1, frames // 2, frames), turns):
                bone.rotation_euler = turn
                bone.keyframe_insert("rotation_euler", frame=frame)
            if bone.name == "Hips":
                for frame, away in zip((1, frames), rng.normal(size=(2, 3)) * 0.2 / size):
                    bone.location = away
                    bone.keyframe_insert("location", frame=frame)


def places(person, action, frames):
    person.animation_data.action = action
    if getattr(person.animation_data, "action_suitable_slots", None):
        person.animation_data.action_slot = person.animation_data.action_suitable_slots[0]
    found = []
    for frame in frames:
        bpy.context.scene.frame_set(frame)
        heads = [person.matrix_world @ bone.head for bone in person.pose.bones]
        found.append([(h.x, h.z, -h.y) for h in heads])
    return np.array(found)


WAYS = {
    "blender_default": ((0, 0, 0), 1.0, {}),
    "blender_centimetres": ((0.3, 0.2, 0.9), 0.01, {"apply_scale_options": "FBX_SCALE_UNITS", "add_leaf_bones": False}),
    "blender_z_up": (
        (0, 0, 0), 1.0, {"axis_forward": "Y", "axis_up": "Z", "primary_bone_axis": "X", "secondary_bone_axis": "-Z",
        "armature_nodetype": "ROOT", "global_scale": 2.54, "use_armature_deform_only": True},
    ),
}
for name, (turn, size, options) in WAYS.items():
    person = scene(turn, size)
    animate(person, size, (("Wave", 12), ("Turn", 9)) if name == "blender_default" else (("Wave", 12),))
    bpy.context.scene.render.fps = 30
    target = sys.argv[1] + "/fbx/" + name
    keep, worst = {"names": [bone.name for bone in person.pose.bones], "size": options.get("global_scale", 1.0)}, 0.0
    for action in bpy.data.actions:
        keep[action.name] = places(person, action, range(1, int(action.frame_range[1]) + 1))
    bpy.ops.export_scene.fbx(filepath=target + ".fbx", bake_anim_simplify_factor=0.0, **options)
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.ops.import_scene.fbx(filepath=target + ".fbx")
    person = next(one for one in bpy.context.scene.objects if one.type == "ARMATURE")
    order = [[bone.name for bone in person.pose.bones].index(one) for one in keep["names"]]
    for action in bpy.data.actions:
        for take in {"Wave", "Turn"} & set(action.name.split("|")) & set(keep):
            seen = places(person, action, range(1, len(keep[take]) + 1))[:, order]
            worst = max(worst, float(np.abs(seen / keep["size"] - keep[take]).max()))
    np.savez_compressed(target + ".npz", imported=worst, **keep)
    print("made", name, sorted(keep), "Blender's own importer is", worst, "m away")

for name, turn, size in (("blender_plain.usdc", (0, 0, 0), 1.0), ("blender_turned.usda", (0.3, 0.2, 0.9), 0.01)):
    person = scene(turn, size)
    animate(person, size, (("Wave", 12),))
    bpy.context.scene.render.fps, bpy.context.scene.frame_start, bpy.context.scene.frame_end = 30, 1, 12
    keep = places(person, bpy.data.actions["Wave"], range(1, 13))
    target = sys.argv[1] + "/usd/" + name
    bpy.ops.wm.usd_export(filepath=target, export_animation=True, export_armatures=True, generate_preview_surface=False,
                          export_materials=False)
    np.savez_compressed(target + ".npz", names=[bone.name for bone in person.pose.bones], Wave=keep)
    print("made", name)
"""


def main(python: str) -> int:
    for kind in ("fbx", "usd"):
        (DATA / kind).mkdir(parents=True, exist_ok=True)
    done = subprocess.run([python, "-c", MAKE, str(DATA)], capture_output=True, text=True, check=False)
    print("\n".join(line for line in done.stdout.splitlines() if line.startswith("made")))
    if done.returncode or "made" not in done.stdout:
        print(done.stdout[-2000:], done.stderr[-3000:])
    return done.returncode


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    sys.exit(main(sys.argv[1]))
