"""What we write, the Khronos validator passes, three.js plays the same, and we load back the same."""

import json
import pickle
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import posable.math as pm
from posable.compute import FormatError, PosableError
from posable.formats import gltf, load, save
from posable.formats.gltf.accessors import Packer
from posable.formats.gltf.animation import Tracks
from posable.skeleton import Motion, Pose, Skeleton
from posable.skeleton.character import bone_mesh

from ..skeleton.random_skeletons import random_skeleton
from .example_motions import random_motion, world
from .gltf_files import CHARACTERS, VRM, Gltf, parts, played, validated


def positions(motion, names=None):
    return world(motion, names)[0]


def without_look(motion):
    return motion.replace(skeleton=motion.skeleton.replace(character=None))


def random_moves(skeleton, seed, frames=7, fps=30.0):
    """A motion in which every DoF of a skeleton moves, slides included."""
    values = np.random.default_rng(seed).uniform(-1.5, 1.5, (frames, len(skeleton.dofs)))
    return Motion(skeleton, skeleton.from_values(values), fps, "moves")


@pytest.mark.parametrize("clip", ["02_01.bvh", "09_01.bvh", "13_39.bvh", "16_35.bvh", "49_06.bvh", "90_05.bvh"])
def test_a_clip_comes_back_from_glb_within_a_hundredth_of_a_millimetre(clip, cmu, tmp_path):
    motion = load(cmu / clip)
    save(motion, tmp_path / "clip.glb")
    save(load(tmp_path / "clip.glb"), tmp_path / "clip.bvh")
    back = load(tmp_path / "clip.bvh")
    assert len(back) == len(motion) and back.fps == pytest.approx(motion.fps, rel=1e-6)
    np.testing.assert_allclose(positions(back), positions(motion), atol=1e-5)


def test_a_long_clip_keeps_every_frame_although_key_times_are_float32(cmu, tmp_path):
    motion = load(cmu / "01_03.bvh")
    save(motion, tmp_path / "long.glb")
    back = load(tmp_path / "long.glb")
    assert len(back) == len(motion) and back.fps == motion.fps
    assert np.abs(positions(back) - positions(motion)).max() < 1e-5


@given(st.integers(0, 2**32), st.integers(1, 14), st.integers(1, 9))
@settings(max_examples=300)
def test_any_skeleton_comes_back_with_its_kinds_axes_order_and_ends(seed, joints, frames):
    skeleton = random_skeleton(seed, joints)
    motion = random_moves(skeleton, seed, frames, fps=float(np.random.default_rng(seed).uniform(1, 200)))
    back = _back(motion)
    assert back.skeleton.same_as(skeleton, 1e-12)
    np.testing.assert_allclose(back.skeleton.axes, skeleton.axes, atol=1e-12)
    np.testing.assert_array_equal(back.skeleton.end_parents, skeleton.end_parents)
    np.testing.assert_allclose(back.skeleton.end_offsets, skeleton.end_offsets, atol=1e-15)
    assert back.skeleton.end_names == skeleton.end_names
    assert (len(back), back.fps, back.name) == (len(motion), motion.fps, motion.name)
    size = max(1.0, np.abs(positions(motion)).max())
    np.testing.assert_allclose(positions(back), positions(motion), atol=2e-6 * size)
    assert pm.angle(back.pose.rotations, motion.pose.rotations).max() < 1e-6


@given(st.integers(0, 2**32))
def test_moved_joints_come_back_where_they_were(seed):
    motion = random_motion(seed, rest=True, moved=True)
    back = _back(motion)
    np.testing.assert_allclose(back.pose.offsets[:, 1:], motion.pose.offsets[:, 1:], atol=1e-6)
    np.testing.assert_allclose(positions(back), positions(motion), atol=3e-6)


def test_a_motion_that_stands_still_keeps_its_length(tmp_path):
    skeleton = Skeleton(["a", "b"], [-1, 0], [[0, 1, 0], [0, 1, 0]])
    still = Motion(skeleton, Pose(np.tile([0.0, 1.0, 0.0], (50, 1)), np.tile([1.0, 0, 0, 0], (50, 2, 1))), 60.0)
    save(still, tmp_path / "still.glb")
    back = load(tmp_path / "still.glb")
    assert (len(back), back.fps) == (50, 60.0) and back.pose.offsets is None


@pytest.mark.parametrize("suffix", [".glb", ".gltf"])
def test_new_files_pass_the_validator_without_a_word(suffix, tmp_path, node, data_dir, cmu):
    robots = data_dir / "robots" / "mjcf"
    motions = {
        "clip": load(cmu / "16_35.bvh"),
        "one_frame": load(cmu / "16_35.bvh")[:1],
        "no_frame": load(cmu / "16_35.bvh")[:0],
        "one_joint": random_motion(1, joints=1),
        "moved": random_motion(2, moved=True, rest=True),
        "robot": random_moves(load(data_dir / "robots" / "panda.urdf").skeleton, 3),
        "humanoid_with_meshes": random_moves(load(robots / "unitree_g1" / "g1.xml").skeleton, 6),
        "humanoid_without": random_moves(load(robots / "h1" / "h1_mjx_feetonly.xml").skeleton, 7),
        "many": random_motion(4, frames=2, joints=400),
        "person": load(data_dir / "characters" / "makehuman" / "cmu_mb.mhskel"),
        "scaled": without_source(load(data_dir / "characters" / "Fox.glb")),
        "points": random_moves(Skeleton(["a", "b"], [-1, 0], np.zeros((2, 3))), 5),
    }
    paths = []
    for name, motion in motions.items():
        paths.append(tmp_path / f"{name}{suffix}")
        save(motion, paths[-1])
        assert len(load(paths[-1]).skeleton) == len(motion.skeleton)
    for report in validated(node, *paths):
        found = [message for message in report["messages"] if message["severity"] < 2]
        assert not found, (report["path"], found[:3])


def without_source(motion):
    """The same motion on a skeleton of another size: its meshes are written anew, its file is let go."""
    pose = motion.pose
    offsets = None if pose.offsets is None else 0.01 * pose.offsets
    return motion.replace(
        skeleton=motion.skeleton.scaled(0.01), pose=Pose(0.01 * pose.translation, pose.rotations, offsets)
    )


@pytest.mark.parametrize("name", [*CHARACTERS, VRM])
def test_saving_a_character_adds_no_complaint_of_the_validator(name, data_dir, tmp_path, node):
    before, after = data_dir / "characters" / name, tmp_path / name
    motion = load(before)
    save(motion.replace(name="mine", pose=motion.pose.replace(translation=motion.pose.translation + 1.0)), after)
    reports = validated(node, before, after)
    assert reports[1]["numErrors"] == 0
    counts = [
        sorted(message["code"] for message in report["messages"] if message["severity"] < 2) for report in reports
    ]
    assert counts[1] == counts[0]


@pytest.mark.parametrize("name", CHARACTERS)
def test_threejs_plays_an_edited_character_as_we_do(name, data_dir, tmp_path, node):
    motion = load(data_dir / "characters" / name)
    rng = np.random.default_rng(7)
    swing = pm.exp(0.5 * rng.normal(size=(1, len(motion.skeleton), 3)))
    pose = motion.pose
    edited = motion.replace(
        pose=Pose(pose.translation + np.array([0.3, 0.1, -0.2]), pm.multiply(pose.rotations, swing), pose.offsets),
        name="edited",
    )
    path = tmp_path / name
    save(edited, path)
    _plays_alike(edited, path, node, meshes=name != "SimpleSkin.gltf")  # its mesh has no name in the file


@pytest.mark.parametrize("seed", range(4))
def test_threejs_plays_a_new_file_as_we_do(seed, tmp_path, node):
    motion = random_moves(random_skeleton(seed, 15), seed, frames=6)
    save(motion, tmp_path / "new.glb")
    _plays_alike(motion, tmp_path / "new.glb", node)


def test_threejs_plays_a_vrm_figure_as_we_do(data_dir, tmp_path, node):
    skeleton = load(data_dir / "characters" / VRM).skeleton
    motion = random_moves(skeleton, 5)
    save(motion, tmp_path / "person.vrm")
    _plays_alike(motion, tmp_path / "person.vrm", node, meshes=False)  # quads without a skin hang on its hips


def test_a_joint_that_became_a_hinge_stays_one(data_dir, tmp_path):
    motion = load(data_dir / "characters" / "RiggedSimple.glb")
    axes = np.tile(np.eye(3)[[2, 0]], (2, 1, 1))
    hinged = motion.skeleton.replace(kinds=("free", "hinge"), axes=axes)
    for _ in range(2):
        save(motion.replace(skeleton=hinged), tmp_path / "hinge.glb")
        hinged = load(tmp_path / "hinge.glb").skeleton
        assert hinged.kinds == ("free", "hinge")
        np.testing.assert_array_equal(hinged.axes[1, 0], [0, 0, 1])
    save(motion.replace(skeleton=hinged.replace(kinds=("free", "ball"))), tmp_path / "ball.glb")
    assert load(tmp_path / "ball.glb").skeleton.kinds == ("free", "ball")


def test_threejs_plays_a_clip_with_bones_as_we_do(cmu, tmp_path, node):
    motion = load(cmu / "16_35.bvh")
    save(motion, tmp_path / "clip.glb")
    _plays_alike(motion, tmp_path / "clip.glb", node)


def _plays_alike(motion, path, node, meshes=True):
    """Joints, end sites and vertices at frames, and joints between frames, as the loaded file has them and as meant."""
    back = load(path)
    times = motion.times[:: max(1, len(motion) // 5)]
    between = times[:-1] + 0.37 / motion.fps
    theirs = played(node, path, [*times, *between])
    pose = back.at(np.concatenate([times, between]))
    for moving, count in ((motion, len(times)), (back, len(times) + len(between))):
        frames = moving.skeleton.forward(moving.at(np.concatenate([times, between])[:count]))
        size = max(1.0, np.abs(frames.positions).max())
        for j, name in enumerate(moving.skeleton.names):
            np.testing.assert_allclose(frames.positions[:, j], theirs["nodes"][name][:count], atol=5e-6 * size)
        for e, name in enumerate(moving.skeleton.end_names):
            np.testing.assert_allclose(frames.ends[:, e], theirs["nodes"][name][:count], atol=5e-6 * size)
    shown = back.skeleton.character.meshes or (bone_mesh(back.skeleton, back.skeleton.forward(back.skeleton.rest)),)
    for mesh in shown if meshes else ():
        ours = mesh.posed(back.skeleton.forward(pose))
        size = max(1.0, np.abs(ours).max())
        np.testing.assert_allclose(ours, theirs["vertices"][mesh.name.replace(".", "")], atol=5e-6 * size)


@pytest.mark.parametrize("name", [*CHARACTERS, VRM])
def test_all_but_the_motion_stays_in_a_characters_file(name, data_dir, tmp_path):
    source = data_dir / "characters" / name
    motion = load(source)
    save(motion.replace(name="mine"), tmp_path / name)
    (before, _), (after, _) = parts(source), parts(tmp_path / name)
    moved = {"accessors", "bufferViews", "buffers", "animations"}
    for key in {*before, *after} - moved - {"meshes", "skins", "images", "nodes"}:
        assert after[key] == before[key], key
    for now, then in zip(after["nodes"], before["nodes"], strict=True):
        if "matrix" not in then or "matrix" in now:
            assert now == then
    assert after["animations"][0]["name"] == "mine"
    assert [a.get("name") for a in after["animations"][1:]] == [a.get("name") for a in before.get("animations", [])]
    # meshes, skins and pictures are the same bytes, wherever they now lie
    for ours, theirs in zip(_shown(tmp_path / name), _shown(source), strict=True):
        np.testing.assert_array_equal(ours.vertices, theirs.vertices)
        np.testing.assert_array_equal(ours.weights, theirs.weights)
        np.testing.assert_array_equal(ours.bind_positions, theirs.bind_positions)
        np.testing.assert_array_equal(ours.colours, theirs.colours)


def _shown(path):
    return load(path).skeleton.character.meshes


def test_a_character_travels_to_another_process_and_is_saved_there(data_dir, tmp_path):
    motion = load(data_dir / "characters" / "SimpleSkin.gltf")
    save(pickle.loads(pickle.dumps(motion)), tmp_path / "there.glb")
    save(motion, tmp_path / "here.glb")
    assert (tmp_path / "there.glb").read_bytes() == (tmp_path / "here.glb").read_bytes()


def test_the_bones_made_for_viewers_are_no_look_of_the_body(tmp_path):
    save(random_motion(3), tmp_path / "bones.glb")
    assert len(parts(tmp_path / "bones.glb")[0]["meshes"]) == 1
    back = load(tmp_path / "bones.glb")
    assert back.skeleton.character.meshes == ()
    save(back, tmp_path / "again.glb")
    assert len(parts(tmp_path / "again.glb")[0]["meshes"]) == 1


def test_other_animations_stay_as_they_were(data_dir, tmp_path):
    source = data_dir / "characters" / "Fox.glb"
    run = load(source, animation="Run")
    save(run.replace(pose=run.pose.replace(translation=run.pose.translation + 1.0)), tmp_path / "fox.glb")
    assert gltf.animations(tmp_path / "fox.glb") == ["Run", "Survey", "Walk"]
    for name in ("Survey", "Walk"):
        before, after = load(source, animation=name), load(tmp_path / "fox.glb", animation=name)
        np.testing.assert_array_equal(after.pose.rotations, before.pose.rotations)
        np.testing.assert_array_equal(after.pose.translation, before.pose.translation)
    np.testing.assert_allclose(load(tmp_path / "fox.glb").pose.translation, run.pose.translation + 1.0, atol=1e-5)
    save(run, tmp_path / "alone.glb", keep_animations=False)
    assert gltf.animations(tmp_path / "alone.glb") == ["Run"]


def test_saving_again_and_again_does_not_grow_the_file(data_dir, tmp_path):
    path = tmp_path / "fox.glb"
    save(load(data_dir / "characters" / "Fox.glb"), path)
    sizes = set()
    for _ in range(4):
        save(load(path), path)
        sizes.add(path.stat().st_size)
    assert len(sizes) == 1


def test_a_character_of_knights_keeps_only_the_bytes_it_needs(data_dir, tmp_path):
    source = data_dir / "characters" / "KayKit_Knight.glb"
    save(load(source, animation="Walking_A"), tmp_path / "walk.glb", keep_animations=False)
    assert (tmp_path / "walk.glb").stat().st_size < source.stat().st_size / 4
    ours, theirs = load(tmp_path / "walk.glb"), load(source, animation="Walking_A")
    np.testing.assert_allclose(positions(ours), positions(theirs), atol=1e-6)


def test_tracks_that_move_no_joint_stay_in_the_replaced_animation(tmp_path):
    nodes = [{"name": "a"}, {"name": "lamp"}]
    built = Gltf(nodes).skin([0])
    still = [[0, 0, 0], [0, 0, 0]]
    built.animate(
        [(0, "translation", [0, 1], still, "LINEAR"), (1, "translation", [0, 1], [[0, 0, 0], [1, 2, 3]], "LINEAR")]
    )
    motion = load(built.write(tmp_path / "lamp.glb"))
    save(motion, tmp_path / "saved.glb")
    document, _ = parts(tmp_path / "saved.glb")
    (animation,) = document["animations"]
    assert {channel["target"]["node"] for channel in animation["channels"]} == {0, 1}
    assert len({channel["sampler"] for channel in animation["channels"]}) == len(animation["channels"])


def test_unknown_extensions_keep_the_file_whole(tmp_path):
    built = Gltf([{"name": "a"}]).animate([(0, "translation", [0, 1], [[0, 0, 0], [1, 2, 3]], "LINEAR")])
    secret = built.array(np.arange(9.0))
    built.json |= {"extensionsUsed": ["ACME_secret"], "extensions": {"ACME_secret": {"accessor": secret}}}
    save(load(built.write(tmp_path / "in.glb")), tmp_path / "out.glb")
    document, binary = parts(tmp_path / "out.glb")
    accessor = document["accessors"][document["extensions"]["ACME_secret"]["accessor"]]
    start = document["bufferViews"][accessor["bufferView"]]["byteOffset"]
    np.testing.assert_array_equal(np.frombuffer(binary, "<f4", 9, start), np.arange(9.0))


def test_buffers_and_pictures_next_to_a_file_move_into_what_is_saved(tmp_path, node):
    picture = bytes.fromhex(
        "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de"
        "0000000c49444154789c63f8cfc0000003010100c9fe92ef0000000049454e44ae426082"
    )
    built = Gltf([{"name": "a", "mesh": 0}]).animate([(0, "translation", [0, 1], [[0, 0, 0], [1, 2, 3]], "LINEAR")])
    attributes = {"POSITION": built.array(np.eye(3)), "TEXCOORD_0": built.array(np.zeros((3, 2)))}
    built.json |= {
        "meshes": [{"primitives": [{"attributes": attributes, "material": 0}]}],
        "materials": [{"pbrMetallicRoughness": {"baseColorTexture": {"index": 0}}}],
        "textures": [{"source": 0}],
        "images": [{"uri": "red.png"}],
        "buffers": [{"byteLength": len(built.binary), "uri": "data.bin"}],
    }
    folder = tmp_path / "beside"
    folder.mkdir()
    (folder / "red.png").write_bytes(picture)
    (folder / "data.bin").write_bytes(built.binary)
    (folder / "in.gltf").write_text(json.dumps(built.json))
    for name in ("out.glb", "out.gltf"):
        save(load(folder / "in.gltf"), tmp_path / name)
        document, _ = parts(tmp_path / name)
        assert document["images"][0]["mimeType"] == "image/png" and "uri" not in document["images"][0]
        assert load(tmp_path / name).skeleton.character.meshes[0].colours[0].tolist() == [255, 0, 0, 255]
    assert all(report["numErrors"] == 0 for report in validated(node, tmp_path / "out.glb", tmp_path / "out.gltf"))


def test_a_motion_is_put_on_a_character_with_the_same_joints(data_dir, tmp_path):
    source = data_dir / "characters" / "RiggedFigure.glb"
    motion = without_look(load(source))
    order = [0, *reversed(range(1, 5)), *range(5, 19)]
    skeleton = motion.skeleton
    shuffled = _reordered(motion, _valid_order(skeleton, order))
    save(shuffled, tmp_path / "figure.glb", character=source)
    back = load(tmp_path / "figure.glb")
    assert back.skeleton.character.meshes[0].name == "Proxy"
    np.testing.assert_allclose(positions(back, skeleton.names), positions(motion), atol=1e-6)


def _valid_order(skeleton, order):
    """The joints in a given order of preference, parents first."""
    placed: list[int] = []
    while len(placed) < len(skeleton):
        placed.append(next(j for j in order if j not in placed and (j == 0 or skeleton.parents[j] in placed)))
    return placed


def _reordered(motion, order):
    old = motion.skeleton
    parents = [-1 if old.parents[j] < 0 else order.index(old.parents[j]) for j in order]
    skeleton = Skeleton(
        [old.names[j] for j in order], parents, old.offsets[order], rest_rotations=old.rest_rotations[order]
    )
    pose = motion.pose
    offsets = None if pose.offsets is None else pose.offsets[:, order]
    return Motion(skeleton, Pose(pose.translation, pose.rotations[:, order], offsets), motion.fps, motion.name)


def test_a_motion_of_another_body_is_refused_with_the_difference(data_dir, cmu, tmp_path):
    figure = data_dir / "characters" / "RiggedFigure.glb"
    with pytest.raises(PosableError, match=r"expected the path of a \.glb"):
        save(load(cmu / "16_35.bvh"), tmp_path / "out.glb", character=cmu / "16_35.bvh")
    with pytest.raises(FormatError, match="No such file"):
        save(load(cmu / "16_35.bvh"), tmp_path / "out.glb", character=tmp_path / "nobody.glb")
    with pytest.raises(PosableError, match="lacks 'torso_joint_1'"):
        save(load(cmu / "16_35.bvh"), tmp_path / "out.glb", character=figure)
    motion = without_look(load(figure))
    longer = motion.skeleton.offsets.copy()
    longer[3] *= 1.5
    with pytest.raises(PosableError, match=f"{motion.skeleton.names[3]!r} lies .* mm from its position"):
        taller = motion.replace(
            skeleton=motion.skeleton.replace(offsets=longer), pose=motion.pose.replace(offsets=None)
        )
        save(taller, tmp_path / "out.glb", character=figure)
    assert list(tmp_path.iterdir()) == []


def test_only_a_vrm_character_becomes_a_vrm_file(data_dir, tmp_path):
    with pytest.raises(PosableError, match=r"write a \.glb"):
        save(load(data_dir / "characters" / "Fox.glb"), tmp_path / "fox.vrm")
    assert list(tmp_path.iterdir()) == []
    save(load(data_dir / "characters" / VRM), tmp_path / "person.vrm")
    save(load(data_dir / "characters" / VRM), tmp_path / "person.glb")
    for name in ("person.vrm", "person.glb"):
        assert (
            load(tmp_path / name).skeleton.character.roles
            == load(data_dir / "characters" / VRM).skeleton.character.roles
        )


def test_a_vrm_0_figure_goes_back_facing_its_own_way(tmp_path):
    nodes = [{"name": "h", "translation": [0, 1, 0], "children": [1]}, {"name": "t", "translation": [0.5, 0, -0.25]}]
    built = Gltf(nodes)
    built.json["extensions"] = {"VRM": {"humanoid": {"humanBones": [{"bone": "hips", "node": 0}]}}}
    motion = load(built.skin([0, 1]).write(tmp_path / "in.vrm"))
    moved = motion.replace(pose=motion.pose.replace(translation=np.array([[0.0, 1.0, 2.0]])))  # two metres forward
    save(moved, tmp_path / "out.vrm")
    document, binary = parts(tmp_path / "out.vrm")
    channel = document["animations"][0]["channels"][0]
    accessor = document["accessors"][document["animations"][0]["samplers"][channel["sampler"]]["output"]]
    start = document["bufferViews"][accessor["bufferView"]]["byteOffset"]
    np.testing.assert_allclose(np.frombuffer(binary, "<f4", 3, start), [0, 1, -2], atol=1e-6)
    np.testing.assert_allclose(positions(load(tmp_path / "out.vrm")), positions(moved), atol=1e-6)


def test_frames_that_float32_times_cannot_tell_apart_are_refused():
    """It takes seventeen million frames, a day and a half at 120 a second: a stand-in has their last ones."""
    members = {"times": (2**24 + np.arange(5)) / 120.0, "fps": 120.0, "duration": 2**24 / 120.0}
    late = type("LastFrames", (), {**members, "__len__": lambda self: 5})
    with pytest.raises(PosableError, match="float32"):
        Tracks(late(), Packer([], [], bytearray()))


def _back(motion):
    """A motion after a trip through a file."""
    with tempfile.TemporaryDirectory() as folder:
        save(motion, Path(folder) / "trip.glb")
        return load(Path(folder) / "trip.glb")
