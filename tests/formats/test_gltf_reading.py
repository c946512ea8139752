"""glTF, GLB and VRM files are read as three.js reads them, whatever their nodes look like."""

import base64
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation, Slerp

import posable.math as pm
from posable.compute import PosableError, UnknownNameError
from posable.formats import character_animations, character_motion, gltf, load

from .gltf_files import CHARACTERS, VRM, Gltf, played

UPRIGHT = [0.0, 0.0, 0.0, 1.0]


def start_of(motion):
    """When the first frame is, in the file's own time: CesiumMan and RiggedSimple start at 1/24 s."""
    return 1 / 24 if any("starts at" in note for note in motion.notes) else 0.0


@pytest.mark.parametrize("name", CHARACTERS)
def test_joints_and_skinned_vertices_are_where_threejs_has_them(name, data_dir, node):
    path = data_dir / "characters" / name
    motion = load(path)
    chosen = sorted({0, 1, len(motion) // 3, len(motion) // 2, len(motion) - 1})
    if name == "SimpleSkin.gltf":  # its other keys are rounded to 1.0002 long, which three.js takes for a scale
        chosen = [0, 60, 72, 132]
    theirs = played(node, path, [start_of(motion) + i / motion.fps for i in chosen])
    ours = motion.skeleton.forward(motion.pose[chosen])
    size = np.abs(ours.positions).max()
    for j, joint in enumerate(motion.skeleton.names):
        np.testing.assert_allclose(ours.positions[:, j], theirs["nodes"][joint], atol=3e-6 * max(1.0, size))
    meshes = list(theirs["vertices"].items())
    assert len(motion.skeleton.character.meshes) == len(meshes)
    for mesh in motion.skeleton.character.meshes:
        plain = mesh.name.replace(".", "")  # three.js drops dots from names
        places = [p for key, p in meshes if key == plain] or [meshes[0][1]]  # a nameless mesh is the only one
        np.testing.assert_allclose(mesh.posed(ours), places[0], atol=5e-6 * max(1.0, size))


@pytest.mark.parametrize(
    ("name", "joints", "animations", "frames", "fps"),
    [
        ("CesiumMan.glb", 19, 1, 48, 24.0),
        ("RiggedFigure.glb", 19, 1, 31, 24.0),
        ("RiggedSimple.glb", 2, 1, 50, 24.0),
        ("SimpleSkin.gltf", 2, 1, 133, 24.0),
        ("Fox.glb", 24, 3, 83, 24.0),
        ("KayKit_Knight.glb", 41, 76, 33, 30.0),
        (VRM, 53, 0, 1, 30.0),
    ],
)
def test_sample_files_have_the_joints_and_frames_their_makers_say(name, joints, animations, frames, fps, data_dir):
    path = data_dir / "characters" / name
    motion = load(path)
    assert len(gltf.animations(path)) == animations
    assert (len(motion.skeleton), len(motion), motion.fps) == (joints, frames, fps)


def test_an_animation_is_chosen_by_name_or_number(data_dir):
    path = data_dir / "characters" / "Fox.glb"
    assert gltf.animations(path) == ["Survey", "Walk", "Run"]
    by_name, by_number = load(path, animation="Walk"), load(path, animation=1)
    assert by_name.name == "Walk"
    np.testing.assert_array_equal(by_name.pose.rotations, by_number.pose.rotations)
    assert len(load(path, animation="Run")) != len(by_name)
    with pytest.raises(UnknownNameError, match="Walk"):
        load(path, animation="Wolk")
    with pytest.raises(PosableError, match="it has 3"):
        load(path, animation=3)


def test_a_character_has_the_other_animations_of_its_file_at_hand(data_dir, tmp_path):
    path = data_dir / "characters" / "Fox.glb"
    character = load(path).skeleton.character
    assert character_animations(character) == ["Survey", "Walk", "Run"] and character_animations(None) == []
    for name in ("Walk", "Run"):
        found, expected = character_motion(character, name), load(path, animation=name)
        assert found.name == name and np.array_equal(found.pose.rotations, expected.pose.rotations)
    with pytest.raises(PosableError, match="Survey"):
        character_motion(character, "Fly")
    with pytest.raises(PosableError, match="file is not known"):
        character_motion(character.scaled(2.0), "Walk")


def test_a_file_can_be_sampled_at_any_rate(data_dir):
    path = data_dir / "characters" / "Fox.glb"
    coarse, fine = load(path), load(path, fps=96.0)
    assert fine.fps == 96.0
    np.testing.assert_allclose(fine.pose.rotations[::4], coarse.pose.rotations, atol=1e-12)


def test_a_scale_makes_metres_of_other_units(data_dir):
    path = data_dir / "characters" / "Fox.glb"
    big, small = load(path), load(path, scale=0.01)
    ours, theirs = small.skeleton.forward(small.pose), big.skeleton.forward(big.pose)
    np.testing.assert_allclose(ours.positions, 0.01 * theirs.positions, atol=1e-12)
    mesh = small.skeleton.character.meshes[0]
    np.testing.assert_allclose(mesh.posed(ours), 0.01 * big.skeleton.character.meshes[0].posed(theirs), atol=1e-9)


def test_a_vrm_file_says_who_is_who(data_dir):
    skeleton = load(data_dir / "characters" / VRM).skeleton
    roles = skeleton.character.roles
    assert roles["hips"] == "hips" and roles["left_upper_arm"] == "upper_arm.L"
    assert roles["right_thumb_metacarpal"] == "thumb.proximal.R" and roles["left_toes"] == "toes.L"
    assert set(roles.values()) <= set(skeleton.names)
    assert skeleton.names[0] == "hips"


def test_a_vrm_0_figure_is_turned_to_face_us(tmp_path):
    nodes = [
        {"name": "Hips", "translation": [0, 1, 0], "children": [1]},
        {"name": "Thumb", "translation": [0.5, 0, -0.25]},
    ]
    built = Gltf(nodes)
    bones = [{"bone": "hips", "node": 0}, {"bone": "leftThumbProximal", "node": 1}]
    built.json["extensions"] = {"VRM": {"humanoid": {"humanBones": bones}}}
    skeleton = load(built.write(tmp_path / "old.vrm")).skeleton
    assert skeleton.character.roles == {"hips": "Hips", "left_thumb_metacarpal": "Thumb"}
    places = skeleton.forward(skeleton.rest).positions
    np.testing.assert_allclose(places, [[0, 1, 0], [-0.5, 1, 0.25]], atol=1e-12)


def test_axis_nodes_scales_and_helpers_above_and_between_joints_are_folded_in(tmp_path, node):
    """A centimetre armature lying on its back, a helper between two joints, a matrix with a scale."""
    turn = Rotation.from_euler("xyz", [0.3, -0.7, 1.1])
    matrix = np.eye(4)
    matrix[:3, :3], matrix[:3, 3] = 2.0 * turn.as_matrix(), [10, 20, 30]
    lying = [-np.sqrt(0.5), 0, 0, np.sqrt(0.5)]
    nodes = [
        {"name": "Armature", "rotation": lying, "scale": [0.01, 0.01, 0.01], "translation": [1, 0, 0], "children": [1]},
        {"name": "a", "translation": [0, 90, 5], "rotation": [0, 0.6, 0, 0.8], "children": [2]},
        {"name": "helper", "matrix": matrix.T.reshape(-1).tolist(), "children": [3, 5]},
        {"name": "b", "translation": [0, 30, 0], "children": [4]},
        {"name": "b_end", "translation": [0, 10, 0]},
        {"name": "prop", "translation": [5, 0, 0]},
    ]
    built = Gltf(nodes).skin([1, 3])
    times = np.linspace(0, 1, 13)
    turns = Rotation.from_rotvec(np.outer(times, [1.0, 2.0, -0.5])).as_quat()
    places = np.outer(1 - times, [0, 90, 5]) + np.outer(times, [40, 80, -7])
    built.animate([(1, "rotation", times, turns, "LINEAR"), (1, "translation", times, places, "LINEAR")])
    path = built.write(tmp_path / "folded.glb")
    motion = load(path)
    assert motion.skeleton.names == ("a", "helper", "b")
    assert motion.skeleton.end_names == ("b_end",)
    frames = motion.skeleton.forward(motion.pose)
    theirs = played(node, path, motion.times)
    for j, name in enumerate(motion.skeleton.names):
        np.testing.assert_allclose(frames.positions[:, j], theirs["nodes"][name], atol=1e-6)
    np.testing.assert_allclose(frames.ends[:, 0], theirs["nodes"]["b_end"], atol=1e-6)


def test_an_animated_node_above_the_skeleton_moves_it(tmp_path, node):
    nodes = [{"name": "carrier", "children": [1]}, {"name": "a", "translation": [0, 1, 0]}]
    times = [0.0, 0.5, 1.0]
    turns = Rotation.from_rotvec(np.outer([0, 1, 2], [0, np.pi / 2.5, 0])).as_quat()
    built = (
        Gltf(nodes)
        .skin([1])
        .animate([(0, "rotation", times, turns, "LINEAR"), (0, "translation", times, np.eye(3), "LINEAR")])
    )
    path = built.write(tmp_path / "carried.glb")
    motion = load(path)
    assert motion.skeleton.names == ("a",)
    theirs = played(node, path, motion.times)
    np.testing.assert_allclose(motion.pose.translation, theirs["nodes"]["a"], atol=1e-6)


def test_a_growing_joint_moves_those_below_it_and_says_so(tmp_path, node):
    nodes = [{"name": "a", "children": [1]}, {"name": "b", "translation": [0, 1, 0]}]
    built = Gltf(nodes).skin([0, 1])
    built.animate([(0, "scale", [0.0, 1.0], [[1, 1, 1], [2, 2, 2]], "LINEAR")])
    path = built.write(tmp_path / "growing.glb")
    motion = load(path)
    assert any("changes its scale" in note for note in motion.notes)
    theirs = played(node, path, motion.times)
    np.testing.assert_allclose(motion.skeleton.forward(motion.pose).positions[:, 1], theirs["nodes"]["b"], atol=1e-6)


@pytest.mark.parametrize("interpolation", ["STEP", "LINEAR", "CUBICSPLINE"])
@pytest.mark.parametrize("path", ["rotation", "translation"])
def test_keys_are_joined_as_threejs_joins_them(interpolation, path, tmp_path, node):
    rng = np.random.default_rng(5)
    times = np.array([0.0, 0.25, 0.5, 1.0, 1.5], np.float32)
    width = 4 if path == "rotation" else 3
    keys = rng.normal(size=(len(times), width))
    if path == "rotation":
        keys /= np.linalg.norm(keys, axis=1, keepdims=True)
        keys *= np.sign(keys[:, :1] * keys[0, 0])  # neighbours not exactly opposite
    if interpolation == "CUBICSPLINE":
        tangents = 0.3 * rng.normal(size=(len(times), 2, width))
        keys = np.stack([tangents[:, 0], keys, tangents[:, 1]], axis=1).reshape(-1, width)
    nodes = [
        {"name": "root", "children": [1]},
        {"name": "a", "children": [2]},
        {"name": "tip", "translation": [0, 1, 0]},
    ]
    built = Gltf(nodes).skin([0, 1, 2]).animate([(1, path, times, keys, interpolation)])
    file = built.write(tmp_path / "keys.glb")
    motion = load(file, fps=64.0)
    # three.js decides steps in float32: just beside a key it may be on either side
    inside = [i for i in range(len(motion)) if np.abs(i / 64 - times).min() > 1e-3]
    theirs = played(node, file, [i / 64 for i in inside])
    ours = motion.skeleton.forward(motion.pose[inside])
    np.testing.assert_allclose(ours.positions[:, 2], theirs["nodes"]["tip"], atol=2e-6)


@given(st.integers(0, 2**32), st.integers(2, 9))
def test_linear_rotations_are_slerped_and_keys_are_met_exactly(seed, count):
    rng = np.random.default_rng(seed)
    times = np.cumsum(rng.uniform(0.05, 0.5, count))
    turns = Rotation.random(count, rng=rng)
    values = turns.as_quat()[:, [3, 0, 1, 2]]
    from posable.formats.gltf.animation import Channel

    channel = Channel(0, "rotation", times, values, "LINEAR")
    at = np.concatenate([times, rng.uniform(times[0], times[-1], 20)])
    oracle = Slerp(times, turns)(at).as_quat()[:, [3, 0, 1, 2]]
    assert pm.angle(channel.sample(at), oracle).max() < 1e-7
    assert pm.angle(channel.sample(times), values).max() < 1e-7
    held = channel.sample(np.array([times[0] - 1, times[-1] + 1]))
    np.testing.assert_array_equal(held, values[[0, -1]])


@pytest.mark.parametrize(
    ("times", "fps"),
    [
        ([0, 1.25], 24.0),
        (np.arange(10) / 30, 30.0),
        (np.arange(10) / 25, 25.0),
        (np.arange(3000) / 120, 120.0),
        ([0, 1 / 30, 1 / 24], 120.0),
        ([0, 0.1234567, 0.3], 60.0),
        ([0.5], 24.0),
    ],
)
def test_the_frame_rate_is_the_lowest_usual_one_that_meets_all_keys(times, fps, tmp_path):
    built = Gltf([{"name": "a"}]).animate([(0, "translation", times, np.ones((len(times), 3)), "LINEAR")])
    assert load(built.write(tmp_path / "rate.glb")).fps == fps


def test_buffers_may_lie_in_the_file_next_to_it_or_be_written_out(tmp_path):
    built = Gltf([{"name": "a"}]).animate([(0, "translation", [0, 1], [[0, 0, 0], [1, 2, 3]], "LINEAR")])
    (tmp_path / "my data.bin").write_bytes(built.binary)
    inline = "data:application/octet-stream;base64," + base64.b64encode(built.binary).decode()
    for uri in ("my%20data.bin", "./my%20data.bin", inline):
        document = {**built.json, "buffers": [{"byteLength": len(built.binary), "uri": uri}]}
        path = tmp_path / "test.gltf"
        path.write_text(json.dumps(document))
        np.testing.assert_allclose(load(path).pose.translation[-1], [1, 2, 3])


def test_strided_sparse_and_normalised_accessors_are_decoded(tmp_path):
    """A vertex buffer interleaved as engines like it, weights as bytes, one vertex replaced by a sparse accessor."""
    built = Gltf([{"name": "a"}, {"name": "mesh", "mesh": 0, "skin": 0}]).skin([0])
    rows = np.zeros(4, dtype=[("place", "<f4", 3), ("joints", "u1", 4), ("weights", "u1", 4)])
    rows["place"] = np.arange(12).reshape(4, 3)
    rows["weights"][:, 0] = 255
    at = len(built.binary)
    built.binary += rows.tobytes()
    view = {"buffer": 0, "byteOffset": at, "byteLength": rows.nbytes, "byteStride": rows.itemsize}
    built.json["bufferViews"].append(view)
    number = len(built.json["bufferViews"]) - 1
    indices, values = built.array([2], "uint16"), built.array([[7.0, 8.0, 9.0]])
    sparse = {
        "count": 1,
        "indices": {"bufferView": built.json["accessors"][indices]["bufferView"], "componentType": 5123},
        "values": {"bufferView": built.json["accessors"][values]["bufferView"]},
    }
    first = len(built.json["accessors"])
    common = {"bufferView": number, "count": 4}
    built.json["accessors"] += [
        {**common, "byteOffset": 0, "componentType": 5126, "type": "VEC3", "sparse": sparse},
        {**common, "byteOffset": 12, "componentType": 5121, "type": "VEC4"},
        {**common, "byteOffset": 16, "componentType": 5121, "type": "VEC4", "normalized": True},
    ]
    attributes = {"POSITION": first, "JOINTS_0": first + 1, "WEIGHTS_0": first + 2}
    built.json["meshes"] = [{"primitives": [{"attributes": attributes, "mode": 5}]}]
    mesh = load(built.write(tmp_path / "packed.glb")).skeleton.character.meshes[0]
    np.testing.assert_array_equal(mesh.vertices, [[0, 1, 2], [3, 4, 5], [7, 8, 9], [9, 10, 11]])
    np.testing.assert_array_equal(mesh.faces, [[0, 1, 2], [2, 1, 3]])
    np.testing.assert_array_equal(mesh.weights.sum(axis=1), 1)


def test_colours_come_from_factor_texture_and_vertices(tmp_path, data_dir):
    pytest.importorskip("PIL")
    knight = load(data_dir / "characters" / "KayKit_Knight.glb").skeleton.character.meshes
    cape = next(mesh for mesh in knight if mesh.name == "Knight_Cape")
    red, green, blue, alpha = cape.colours.mean(axis=0)
    assert red > 150 and green < 100 and blue < 110 and alpha == 255  # the knight's cape is red

    built = Gltf([{"name": "a", "mesh": 0}]).animate([(0, "rotation", [0], [UPRIGHT], "LINEAR")])
    triangle, paint = built.array(np.eye(3)), built.array([[1, 1, 1], [0.5, 1, 1], [0, 0, 0]])
    primitive = {"attributes": {"POSITION": triangle, "COLOR_0": paint}, "material": 0}
    built.json["meshes"] = [{"primitives": [primitive]}]
    built.json["materials"] = [{"pbrMetallicRoughness": {"baseColorFactor": [1, 0.2140411, 0, 1]}}]
    mesh = load(built.write(tmp_path / "paint.glb")).skeleton.character.meshes[0]
    np.testing.assert_array_equal(mesh.colours, [[255, 127, 0, 255], [188, 127, 0, 255], [0, 0, 0, 255]])


def test_a_file_of_two_characters_gives_the_larger_and_says_so(tmp_path):
    nodes = [{"name": "a", "children": [1]}, {"name": "b"}, {"name": "lonely"}]
    motion = load(Gltf(nodes).skin([0, 1]).skin([2]).write(tmp_path / "two.glb"))
    assert motion.skeleton.names == ("a", "b")
    assert any("left out" in note for note in motion.notes)


def test_joints_without_a_name_or_with_a_neighbours_name_get_their_own(tmp_path):
    nodes = [{"name": "x", "children": [1, 2]}, {"name": "x"}, {}]
    assert load(Gltf(nodes).skin([0, 1, 2]).write(tmp_path / "names.glb")).skeleton.names == ("x", "x_1", "node_2")


def test_the_order_of_a_skin_is_kept_where_parents_come_first(tmp_path):
    nodes = [{"name": "a", "children": [1, 3]}, {"name": "b", "children": [2]}, {"name": "c"}, {"name": "d"}]
    assert load(Gltf(nodes).skin([0, 3, 1, 2]).write(tmp_path / "s.glb")).skeleton.names == ("a", "d", "b", "c")
    assert load(Gltf(nodes).skin([2, 3, 1, 0]).write(tmp_path / "s.glb")).skeleton.names == ("a", "b", "c", "d")
