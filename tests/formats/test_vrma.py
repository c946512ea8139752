"""VRM animations: judged by the Khronos validator, and by a reader of a few lines of NumPy and scipy."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import posable as ps
from posable.compute import FormatError, PosableError
from posable.skeleton import Character, Motion, Pose, Skeleton

from .gltf_files import glb, parts, validated
from .test_fuzz_readers import _fuzz

REQUIRED = ["hips", "spine", "head"] + [
    side + part
    for side in ("left", "right")
    for part in ("UpperArm", "LowerArm", "Hand", "UpperLeg", "LowerLeg", "Foot")
]


def packed(path, document, binary):
    path.write_bytes(glb(document, binary))


def array_of(document, binary, accessor):
    entry = document["accessors"][accessor]
    view = document["bufferViews"][entry["bufferView"]]
    width = {"SCALAR": 1, "VEC3": 3, "VEC4": 4}[entry["type"]]
    start = view.get("byteOffset", 0) + entry.get("byteOffset", 0)
    return np.frombuffer(binary, "<f4", entry["count"] * width, start).reshape(-1, width).astype(float)


def played(path):
    """Bone to world positions (F, 3) and rotations, and to those at rest: a reader that shares nothing with ours."""
    document, binary = parts(path)
    nodes, animation = document["nodes"], document["animations"][0]
    parents = {child: k for k, node in enumerate(nodes) for child in node.get("children", ())}
    keys = {}
    for channel in animation["channels"]:
        sampler = animation["samplers"][channel["sampler"]]
        values = array_of(document, binary, sampler["output"])
        keys[channel["target"]["node"], channel["target"]["path"]] = values
    frames = max(len(values) for values in keys.values())

    def world(node, moving):
        still = nodes[node].get("translation", [0, 0, 0]), nodes[node].get("rotation", [0, 0, 0, 1])
        moved = keys.get((node, "translation"), [still[0]]) if moving else [still[0]]
        rotated = keys.get((node, "rotation"), [still[1]]) if moving else [still[1]]
        moved, rotated = (np.array(np.broadcast_to(a, (frames, len(a[0])))) for a in (moved, rotated))
        if node not in parents:
            return moved, Rotation.from_quat(rotated)
        above, turn = world(parents[node], moving)
        return above + turn.apply(moved), turn * Rotation.from_quat(rotated)

    bones = document["extensions"]["VRMC_vrm_animation"]["humanoid"]["humanBones"]
    places = {name: (world(bone["node"], True), world(bone["node"], False)) for name, bone in bones.items()}
    return document, keys, {bone["node"]: name for name, bone in bones.items()}, places


def camel(role):
    first, *others = role.split("_")
    return first + "".join(word.capitalize() for word in others)


@pytest.mark.parametrize("who", ["figure", "cmu", "vrm"])
def test_a_written_file_is_a_t_pose_whose_bones_go_where_the_persons_do(who, tmp_path, data_dir, cmu):
    if who == "figure":
        motion = ps.samples.walk(duration=0.5)
    elif who == "cmu":
        motion = ps.load(cmu / "17_10.bvh", repair="cmu", first_frame=1)[100:200]
    else:
        motion = ps.load(data_dir / "characters" / "VRMC_materials_mtoon_UV_Animation_Test.vrm")
        body = ps.Humanoid(motion.skeleton)
        motion = ps.retarget(ps.samples.walk(duration=0.5), ps.figure(), body).motion
    ps.save(motion, tmp_path / "a.vrma")
    document, keys, bones, places = played(tmp_path / "a.vrma")
    assert document["extensionsUsed"] == ["VRMC_vrm_animation"]
    assert document["extensions"]["VRMC_vrm_animation"]["specVersion"] == "1.0"
    assert set(REQUIRED) <= set(places) and not {"leftEye", "rightEye"} & set(places) and "meshes" not in document
    assert [bones.get(node) for node, path in keys if path == "translation"] == ["hips"]
    assert not [path for _, path in keys if path == "scale"]
    still = {name: rest[0][0] for name, (_, rest) in places.items()}
    for side, sign in (("left", 1.0), ("right", -1.0)):
        arm = still[f"{side}Hand"] - still[f"{side}UpperArm"]
        leg = still[f"{side}Foot"] - still[f"{side}UpperLeg"]
        assert sign * arm[0] > 0.95 * np.linalg.norm(arm) and -leg[1] > 0.95 * np.linalg.norm(leg)
    body = ps.Humanoid(motion.skeleton)
    frames = body.skeleton.forward(motion.pose)
    posture = body.canonical(motion.pose)
    world = posture.world()
    for role in ("hips", "head", "left_upper_arm", "right_lower_leg", "left_foot"):
        # What a bone does from the T-pose on is what the person's does from its own.
        (_, rotated), (_, rest) = places[camel(role)]
        canonical = Rotation.from_quat(world[:, posture.roles.index(role)], scalar_first=True)
        lifted = {"left_upper_arm": Rotation.from_euler("z", 90, degrees=True)}.get(role, Rotation.identity())
        found = rotated * rest.inv() * lifted
        assert (found * canonical.inv()).magnitude().max() < (2e-6 if who != "vrm" else 0.2), role
    exact = 2e-6 if who != "cmu" else 0.06  # bones of a spine between those that VRM knows are cut short
    for role in ("left_hand", "right_hand", "left_foot", "right_foot", "head"):
        place = places[camel(role)][0][0] - places["hips"][0][0]
        truth = frames.positions[:, body.roles[role]] - frames.positions[:, body.roles["hips"]]
        assert np.linalg.norm(place - truth, axis=-1).max() < exact, role
    moved = places["hips"][0][0] - frames.positions[:, body.roles["hips"]]
    assert np.abs(moved).max() < 2e-6


def test_the_validator_has_no_word_against_it(tmp_path, node, cmu):
    ps.save(ps.samples.walk(duration=0.3), tmp_path / "a.vrma")
    ps.save(ps.load(cmu / "17_10.bvh", repair="cmu")[:5], tmp_path / "b.vrma")
    for report in validated(node, tmp_path / "a.vrma", tmp_path / "b.vrma"):
        said = [one["code"] for one in report["messages"]]
        # It knows no VRM: the extension is unknown to it, and nodes that nothing but the animation refers to are fine.
        assert set(said) <= {"UNSUPPORTED_EXTENSION", "NODE_EMPTY"}, report


def test_it_opens_like_any_motion_and_its_map_says_who_is_who(tmp_path):
    walk = ps.samples.walk(duration=0.5)
    ps.save(walk, tmp_path / "walk.vrma")
    again = ps.load(tmp_path / "walk.vrma")
    assert again.fps == walk.fps and len(again) == len(walk)
    body, other = ps.Humanoid(walk.skeleton), ps.Humanoid(again.skeleton)
    assert set(body.roles) == set(other.roles)
    one, two = body.canonical(walk.pose), other.canonical(again.pose)
    assert ps.math.angle(one.world(), two.world()).max() < 2e-6
    assert ps.retarget(again, other, ps.figure(1.6)).motion.fps == walk.fps


def test_fingers_of_a_vrm_file_stay(tmp_path, data_dir):
    avatar = ps.load(data_dir / "characters" / "VRMC_materials_mtoon_UV_Animation_Test.vrm")
    fingers = {role for role in avatar.skeleton.character.roles if "index" in role or "thumb" in role}
    ps.save(avatar, tmp_path / "a.vrma")
    bones = parts(tmp_path / "a.vrma")[0]["extensions"]["VRMC_vrm_animation"]["humanoid"]["humanBones"]
    assert {camel(role) for role in fingers} <= set(bones)


def test_hips_below_a_root_that_moves_go_where_they_did(tmp_path, data_dir):
    avatar = ps.load(data_dir / "characters" / "VRMC_materials_mtoon_UV_Animation_Test.vrm").skeleton
    rng = np.random.default_rng(8)
    skeleton = Skeleton(
        ["above", *avatar.names],
        [-1, 0, *(avatar.parents[1:] + 1)],
        [[0.3, 0.2, 0.1], *avatar.offsets],
        rest_rotations=[[1, 0, 0, 0], *avatar.rest_rotations],
        character=Character(roles=avatar.character.roles),
    )
    rotations = np.repeat(skeleton.rest_rotations[None], 6, axis=0)
    rotations[:, 0] = ps.math.normalize(rng.normal(size=(6, 4)))
    rotations[:, 1:] = ps.math.multiply(rotations[:, 1:], ps.math.exp(0.3 * rng.normal(size=(6, len(avatar), 3))))
    motion = Motion(skeleton, Pose(rng.normal(size=(6, 3)), rotations), 30.0)
    ps.save(motion, tmp_path / "a.vrma")
    _, _, _, positions = played(tmp_path / "a.vrma")
    truth = skeleton.forward(motion.pose).positions
    for role in ("hips", "head", "left_hand", "right_foot"):
        own = truth[:, skeleton.index(avatar.character.roles[role])]
        assert np.abs(positions[camel(role)][0][0] - own).max() < 1e-5, role


def with_expression(path):
    """Add a track of an expression to a file: its weight is the x of a node of its own."""
    document, binary = parts(path)
    node, count = len(document["nodes"]), 3
    weights = np.array([[0, 0, 0], [1, 0, 0], [0.5, 0, 0]], "<f4").tobytes()
    times = np.array([0.0, 0.2, 0.4], "<f4").tobytes()
    document["nodes"].append({"name": "happy"})
    document["scenes"][0]["nodes"].append(node)
    document["extensions"]["VRMC_vrm_animation"]["expressions"] = {"preset": {"happy": {"node": node}}}
    first = len(document["accessors"])
    for data, kind in ((times, "SCALAR"), (weights, "VEC3")):
        document["bufferViews"].append({"buffer": 0, "byteOffset": len(binary), "byteLength": len(data)})
        entry = {"bufferView": len(document["bufferViews"]) - 1, "componentType": 5126, "count": count, "type": kind}
        document["accessors"].append(entry | ({"min": [0.0], "max": [0.4]} if kind == "SCALAR" else {}))
        binary += data
    document["buffers"][0]["byteLength"] = len(binary)
    animation = document["animations"][0]
    sampler = {"input": first, "output": first + 1}
    animation["channels"].append(
        {"sampler": len(animation["samplers"]), "target": {"node": node, "path": "translation"}}
    )
    animation["samplers"].append(sampler)
    packed(path, document, binary)


def test_expressions_stay_in_a_file_that_is_written_anew(tmp_path):
    ps.save(ps.samples.walk(duration=0.5), tmp_path / "a.vrma")
    with_expression(tmp_path / "a.vrma")
    motion = ps.load(tmp_path / "a.vrma")
    assert "happy" not in motion.skeleton.names
    ps.save(motion[::2], tmp_path / "b.vrma")
    document, binary = parts(tmp_path / "b.vrma")
    node = document["extensions"]["VRMC_vrm_animation"]["expressions"]["preset"]["happy"]["node"]
    assert document["nodes"][node]["name"] == "happy"
    channels = [c for c in document["animations"][0]["channels"] if c["target"]["node"] == node]
    weights = array_of(document, binary, document["animations"][0]["samplers"][channels[0]["sampler"]]["output"])
    assert weights[:, 0].tolist() == [0.0, 1.0, 0.5]


def test_what_is_no_person_cannot_be_a_vrm_animation(tmp_path):
    from .example_motions import random_motion

    with pytest.raises(PosableError, match="cannot tell who is who"):
        ps.save(random_motion(1), tmp_path / "a.vrma")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("wrong", [{"hips": {"node": 999}}, {"hips": {"node": "a"}}, [], 7])
def test_a_map_that_names_no_node_is_refused_with_its_place(tmp_path, wrong):
    ps.save(ps.samples.walk(duration=0.2), tmp_path / "a.vrma")
    document, binary = parts(tmp_path / "a.vrma")
    document["extensions"]["VRMC_vrm_animation"]["humanoid"]["humanBones"] = wrong
    packed(tmp_path / "a.vrma", document, binary)
    with pytest.raises(FormatError, match="humanBones"):
        ps.load(tmp_path / "a.vrma")


def test_mutated_files_give_a_motion_or_one_error(tmp_path):
    ps.save(ps.samples.walk(duration=0.05), tmp_path / "seed.vrma")
    accepted = _fuzz(tmp_path, "a.vrma", [(tmp_path / "seed.vrma").read_bytes()], 300, seed=3)
    assert 0 < accepted < 300


def test_the_command_line_takes_it_both_ways(tmp_path, capsys):
    from posable.cli.app import app

    ps.save(ps.samples.walk(duration=0.5), tmp_path / "walk.bvh")
    for words in (["convert", "walk.bvh", "walk.vrma"], ["info", "walk.vrma"], ["convert", "walk.vrma", "again.bvh"]):
        with pytest.raises(SystemExit) as ended:
            app([word if word in ("convert", "info") else str(tmp_path / word) for word in words])
        assert ended.value.code == 0, words
    assert "walk.vrma: a person" in capsys.readouterr().out
