"""Files whose structure is drawn: how many there are of each thing, what refers to what, how deep, and what is shared.

Numbers of things are drawn evenly in their logarithm, so that none, a few and very many come up; references are drawn
so that some lead to one thing, some to all in turn, some to nothing.
"""

from __future__ import annotations

import json
import os
import random

import numpy as np

from . import archive_cases, rig_cases, robot_cases, text_cases, trajectory_cases
from .cases import written
from .gltf_cases import document, png, zeros

KINDS = ("SCALAR", "VEC2", "VEC3", "VEC4", "MAT4")


def many(rng, most):
    """A number from 0 to `most`, small ones as often as large ones."""
    return int((most + 1) ** rng.random()) - (rng.random() < 0.2)


def references(rng, count, size):
    """A function of k: which of `size` things the k-th of `count` refers to; rarely one that does not exist."""
    one, wrong = rng.randrange(max(size, 1)), rng.random() < 0.05
    kind = rng.randrange(4)
    last = max(size - 1, 0)
    choices = (lambda k: one, lambda k: k % max(size, 1), lambda k: rng.randrange(max(size, 1)), lambda k: min(k, last))
    return (lambda k: size + k) if wrong else choices[kind]


def draw_gltf(rng, folder, most):
    """Nodes, accessors, meshes, skins, images and channels that refer to each other."""
    nodes = max(1, many(rng, most))
    chain = rng.random() < 0.3
    tree = [{"name": rng.choice(["a", f"n{k}", "x" * many(rng, 50)])} for k in range(nodes)]
    for k in range(1, nodes):
        above = k - 1 if chain else rng.randrange(k) if rng.random() < 0.3 else 0
        tree[above].setdefault("children", []).append(k)
    binary = bytes(many(rng, 10 * most)) if rng.random() < 0.7 else b""
    views = [
        {"buffer": 0, "byteOffset": rng.randrange(max(len(binary) // 2, 1)), "byteLength": max(1, len(binary) // 2)}
        for _ in range(many(rng, 20))
    ]
    # Accessors that fit each other, some of them many times, and now and then one that fits nothing.
    accessors, of = [], {}
    for count in {max(1, many(rng, 100 * most)) for _ in range(3)}:
        for kind in (*KINDS, "JOINTS"):
            of.setdefault(kind, []).append(len(accessors))
            accessors.append(zeros(count, "VEC4" if kind == "JOINTS" else kind))
            accessors[-1]["componentType"] = 5121 if kind == "JOINTS" else 5126
            size = count * {"SCALAR": 4, "VEC2": 8, "VEC3": 12, "VEC4": 16, "MAT4": 64, "JOINTS": 4}[kind]
            fitting = [k for k, view in enumerate(views) if view["byteLength"] >= size]
            if fitting and rng.random() < 0.7:
                accessors[-1]["bufferView"] = rng.choice(fitting)
    set_of = references(rng, most, len(of["VEC3"])) if rng.random() < 0.2 else lambda k: k % len(of["VEC3"])

    def at(kind, k):
        return of[kind][set_of(k)] if set_of(k) < len(of[kind]) and rng.random() < 0.999 else len(accessors) - 1

    primitives = []
    for k in range(many(rng, most)):
        attributes = {"POSITION": at("VEC3", k)}
        if rng.random() < 0.5:
            attributes |= {"JOINTS_0": at("JOINTS", k), "WEIGHTS_0": at("VEC4", k)}
        if rng.random() < 0.5:
            attributes |= {"TEXCOORD_0": at("VEC2", k), "COLOR_0": at("VEC4", k)}
        primitives.append({"attributes": attributes, "mode": rng.choice((4, 5, 6)), "material": rng.randrange(3)})
    for k in range(many(rng, nodes)):
        tree[k] |= {"mesh": 0} | ({"skin": 0} if rng.random() < 0.3 else {})
    sampler, target = references(rng, most, 8), references(rng, most, nodes)
    samplers = [
        {"input": at("SCALAR", k), "output": at("VEC3", k), "interpolation": rng.choice(("LINEAR", "STEP"))}
        for k in range(8)
    ]
    channels = [
        {"sampler": sampler(k), "target": {"node": target(k), "path": rng.choice(("translation", "scale"))}}
        for k in range(many(rng, most))
    ]
    content = document(nodes=tree, accessors=accessors, bufferViews=views, meshes=[{"primitives": primitives}])
    content["images"] = [{"uri": "p.png"}] * many(rng, 30)
    content["textures"] = [{"source": k} for k in range(len(content["images"]))]
    content["materials"] = [
        {"pbrMetallicRoughness": {"baseColorTexture": {"index": k}} if k < len(content["images"]) else {}}
        for k in range(3)
    ]
    joint = references(rng, most, nodes)
    content["skins"] = [{"joints": [joint(k) for k in range(many(rng, most))]} for _ in range(many(rng, 3))]
    content["animations"] = [{"samplers": samplers, "channels": channels}] * many(rng, 3)
    if binary:
        written(folder / "b.bin", binary)
        content["buffers"] = [{"uri": rng.choice(("b.bin", "a.gltf")), "byteLength": len(binary)}]
    if content["images"]:
        written(folder / "p.png", png(max(1, many(rng, 4000)), max(1, many(rng, 4000))))
    return "load", written(folder / "a.gltf", content)


def draw_urdf(rng, folder, most):
    """Links, joints, mimics and visuals."""
    count = many(rng, most)
    parent = references(rng, count, count + 1) if rng.random() < 0.3 else lambda k: rng.choice((k, 0, max(k - 1, 0)))
    leader = references(rng, count, max(count, 1))
    share = rng.random()
    inside = lambda k: f'<mimic joint="j{leader(k)}"/>' if rng.random() < share else "<a/>" * many(rng, 20)  # noqa: E731
    kind = rng.choice(("fixed", "revolute", "prismatic", "continuous", "floating", "magic"))
    return "load", rig_cases.robot(folder, count, parent, kind, inside, "<a>" * many(rng, 100) if share < 0.1 else "")


def draw_mjcf(rng, folder, most):
    """Classes, includes, bodies, frames, joints, shapes, meshes, constraints and keyframes that refer to each other."""
    classes, bodies, files = many(rng, most), many(rng, most), many(rng, 30)
    class_of, joint_of, mesh_of = (references(rng, n, n) for n in (classes, bodies, files))
    named = rng.random() < 0.5 and classes > 0
    text, depth = "", 0
    for k in range(bodies):
        child = f" class='c{class_of(k)}'" if named else ""
        text += f"<body name='b{k}' pos='0 {rng.random()} 0' euler='0 {k} 1'>"
        text += (
            f"<joint name='j{k}'{child} range='-1 {-2 if rng.random() < 2e-4 else 1}'/>" if rng.random() < 0.8 else ""
        )
        text += f"<geom size='1 1 1' type='{rng.choice(('sphere', 'box', 'capsule'))}'/>" * many(rng, 20)
        text += f"<geom type='mesh' mesh='m{mesh_of(k)}'/>" * (files > 0 and rng.random() < 0.3)
        depth += 1
        if depth > 100 or rng.random() < 0.6:
            text += "</body>"
            depth -= 1
    text += "</body>" * depth
    nested = rng.random() < 0.2
    rows = "".join(
        f"<default class='c{k}'><geom size='{k + 1}'/>{'' if nested else '</default>'}" for k in range(classes)
    )
    before = f"<default>{rows}{'</default>' * (nested * classes)}</default>" if classes else ""
    for k in range(files):
        stl = robot_cases.triangles(many(rng, 50))
        written(folder / f"m{k}.stl", stl if rng.random() < 0.95 else stl[:-1])
    before += f"<asset>{''.join(f'<mesh file={chr(34)}m{k}.stl{chr(34)}/>' for k in range(files))}</asset>"
    constraints = "".join(f"<joint joint1='j{k}' joint2='j{joint_of(k)}'/>" for k in range(many(rng, bodies)))
    before += (
        f"<equality>{constraints}</equality><keyframe><key name='home' qpos='{'0 ' * many(rng, bodies)}1'/></keyframe>"
    )
    if rng.random() < 0.2:
        written(folder / "b.xml", f"<mujoco>{before}</mujoco>")
        before = "<include file='b.xml'/>" * rng.choice((1, 1, 2))
    return rng.choice(("load", "save")), robot_cases.mjcf(folder, before, f"<body name='a'><freejoint/>{text}</body>")


def draw_mhskel(rng, folder, most):
    """Bones, joints of many vertices, weights, and side files that are missing or odd."""
    count = max(1, many(rng, most))
    above = references(rng, count, count) if rng.random() < 0.3 else lambda k: rng.randrange(k) if k else -1
    names = [f"b{k}" for k in range(count)]
    joint = references(rng, count, 5)
    bones = {
        names[k]: rig_cases.bone(
            names[above(k)] if 0 <= above(k) < count and k else None, f"j{joint(k)}", f"j{joint(k + 1)}"
        )
        for k in range(count)
    }
    joints = {f"j{k}": [rng.randrange(4) for _ in range(max(1, many(rng, most)))] for k in range(6)}
    if rng.random() < 0.1:
        joints["j0"] = [4]
    weights = {rng.choice(names): [[rng.randrange(4), 0.5]] * many(rng, most) for _ in range(many(rng, 10))}
    if rng.random() < 0.1:
        os.mkfifo(folder / "w.mhw")
        return "load", rig_cases.rig(folder, bones, joints, weights, weights_file="w.mhw")
    base = rig_cases.BASE + "\nf" + " 1" * many(rng, most) + "\ng x" * many(rng, most)
    return "load", rig_cases.rig(folder, bones, joints, weights, base)


def draw_bvh(rng, folder, most):
    """Joints, channels and frames, whose number may lie."""
    channels = rng.choice(("", "CHANNELS 1 Xrotation ", "CHANNELS 3 Xposition Yrotation Zrotation "))
    count, frames = many(rng, most), many(rng, most)
    made = rng.choice((text_cases.chain, text_cases.star))(count, channels)
    numbers = frames * (1 + count * int((channels or "C 0").split()[1]))
    said = frames if rng.random() < 0.8 else many(rng, 10**9)
    return "load", text_cases.bvh(folder, made, said, "1 " * min(numbers, 10 * most))


def draw_amc(rng, folder, most):
    """Bones with and without channels, and frames of them."""
    bones = many(rng, most)
    dof = rng.choice(("", "dof rx\n", "dof rx ry rz\n"))
    above = references(rng, bones, max(bones, 1)) if rng.random() < 0.3 else lambda k: k - 1
    written(folder / "a.asf", text_cases.asf(bones, dof, above))
    body = "".join(f"b{k} {'1 ' * (len(dof.split()) - 1)}\n" for k in range(bones)) if dof else ""
    frames = many(rng, max(1, 10 * most // max(len(body), 1)) if body else 10 * most)
    return "load", written(folder / "a.amc", "".join(f"{k + 1}\nroot 1\n{body}" for k in range(frames)))


def draw_points(rng, folder, most):
    """Columns, lines, lost points and times with gaps."""
    lines = many(rng, most)
    cells = rng.choice(("1,1,1", ",,", "nan,,1", '"1",1,1', "1e8,1,1"))
    step, time = rng.choice((1.0, 0.01, 1e-6)), 0.0
    text = text_cases.POINT + ",time" * (rng.random() < 0.05) + "\n"
    for _ in range(lines):
        time += step * (1.0 if rng.random() < 0.999 else 10 ** (8 * rng.random()))
        text += f"{time!r},{cells}\n"
    return "points", text_cases.points(folder, text)


def draw_targets(rng, folder, most):
    """Targets of all kinds, one of which may be wrong."""
    row = {"x": 0, "y": 1, "z": rng.choice((0.5, None, "a" * many(rng, most), True))}
    rows = [{"x": 0, "y": 1, "z": 2}] * many(rng, most) + [{"x": 1, "y": 1, "z": 1, "hand": "left", "together": True}]
    if rng.random() < 0.5:
        rows += [row, {rng.choice(("x", "hand", "q" * many(rng, most))): many(rng, 10**300)}]
    return "targets", written(folder / "a.json", rows)


def draw_npz(rng, folder, most):
    """A motion of many joints, frames, notes or end sites, with one member that does not fit."""
    members = archive_cases.motion(max(1, many(rng, most)), many(rng, 50))
    count = many(rng, most)
    members |= {"end_parents": np.full(count, rng.choice((0, 0, 9))), "end_offsets": np.zeros((count, 3))}
    members |= {
        "end_names": np.array(["e"] * count, dtype="U1"),
        "notes": np.array(["n"] * many(rng, most), dtype="U1"),
    }
    if rng.random() < 0.5:
        name = rng.choice(list(members))
        shape = tuple(many(rng, 10 ** rng.randrange(1, 15)) * (rng.random() < 0.7) for _ in range(rng.randrange(4)))
        kind = rng.choice(("<f8", "<i8", "<U3", "|u1", "|O"))
        text = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}"
        members[name] = archive_cases.described(text)
    return "load", archive_cases.archive(folder, members)


def draw_trajectory(rng, folder, most):
    """A robot of joints that move and others that do not, and its motion in one of the kinds of files."""
    moving, still = many(rng, min(most, 3000) // 4), many(rng, min(most, 9000))
    below = robot_cases.joints(moving) + "".join(f"<body name='s{k}'/>" for k in range(still))
    trajectory_cases.robot(folder, f"<body name='a'><freejoint/>{below}</body>")
    frames, width = many(rng, 4 * most // (1 + moving // 10)), 7 + moving + (rng.random() < 0.1)
    values = trajectory_cases.qpos(max(frames, 0), width)
    if values.size and rng.random() < 0.1:
        values[rng.randrange(len(values)), rng.randrange(width)] = rng.choice((1e308, -1e7, float("nan"), 1e-320, 0.0))
    kind = rng.randrange(4)
    if kind == 0:
        names = ",".join([f"root_{axis}" for axis in "xyz"] + [f"root_q{axis}" for axis in "xyzw"])
        names += "".join(f",j{k}" for k in range(moving)) + "".join(f",n{k}" for k in range(many(rng, most)))
        cells = ",".join(map(repr, (values[0] if len(values) else [0.0]))).replace("np.float64", "")
        text = (names + "\n") * (rng.random() < 0.3) + (cells.replace("(", "").replace(")", "") + "\n") * len(values)
        return "motion", written(folder / "a.csv", text)
    if kind == 1:
        return "motion", written(folder / "a.npy", archive_cases.npy(values))
    if kind == 2:
        return "motion", trajectory_cases.stored(folder, qpos=values, fps=rng.choice((30, 1e-12, 1e308, [1, 2])))
    bodies = rng.choice((1 + moving, 1 + moving + still))
    few = max(1, frames // bodies)
    return "motion", trajectory_cases.stored(folder, **trajectory_cases.tracking(few, bodies, moving))


def draw_document(rng, folder, most):
    """A scene, a list of edits, a calibration or a behaviour of nested values, with its own outermost members."""

    def value(depth):
        kind = rng.randrange(7) if depth else rng.randrange(4)
        if kind < 4:
            return rng.choice((0, -1, 1e308, "head", "a" * many(rng, 100), None, True, 10 ** many(rng, 400)))
        if kind == 4:
            return [value(depth - 1)] * many(rng, most)
        if kind == 5:
            return [value(depth - 1) for _ in range(many(rng, 6))]
        return {
            rng.choice(("kind", "name", "frame", "part", "at", f"k{k}")): value(depth - 1) for k in range(many(rng, 8))
        }

    reader, outer, key = rng.choice(
        (
            ("scene", {"format": "posable-scene/1"}, "obstacles"),
            ("edits", {"posable": "edits", "version": 1}, "edits"),
            ("calibration", {"format": "posable-calibration/1", "scales": {}}, "trackers"),
            ("behaviour", {"format": "posable-behaviour/1", "limb": "right_arm"}, "keys"),
        )
    )
    spheres = [{"kind": "sphere", "name": f"s{k}", "radius": 1.0} for k in range(many(rng, 100))]
    edits = [{"frame": k, "part": "head", "target": [0, 0, 0]} for k in range(many(rng, 100))]
    rows = {"scene": spheres, "edits": edits}.get(reader, [])
    more = value(3)
    outer[key] = rows + more if isinstance(more, list) else rows
    text = json.dumps(outer)
    return reader, written(folder / "a.json", text if len(text) < 4_000_000 else text[:4_000_000])


DRAWN = {
    "gltf": draw_gltf,
    "urdf": draw_urdf,
    "mjcf": draw_mjcf,
    "mhskel": draw_mhskel,
    "bvh": draw_bvh,
    "amc": draw_amc,
    "points": draw_points,
    "targets": draw_targets,
    "npz": draw_npz,
    "documents": draw_document,
    "trajectories": draw_trajectory,
}


def draw(kind, seed, folder, most):
    """Write file number `seed` of a kind, with up to `most` of each thing: (reader, path)."""
    return DRAWN[kind](random.Random(f"{kind} {seed}"), folder, most)
