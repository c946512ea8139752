"""FBX files: Blender's, and drawn ones judged by plain matrices that share nothing with the reader."""

from pathlib import Path

import numpy as np
import pytest

import posable as ps
from posable.compute import FormatError, PosableError, UnknownNameError
from posable.formats import animations

from .fbx_files import TICKS, Scene, binary, little, mesh, properties, skin, text

DATA = Path(__file__).parents[1] / "data" / "fbx"
FORMS = ("binary", "packed", "text")
ORDERS = ("XYZ", "XZY", "YZX", "YXZ", "ZXY", "ZYX")


def turn(axis, degrees):
    c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    made, (i, j) = np.eye(4), [(1, 2), (2, 0), (0, 1)]["XYZ".index(axis)]
    made[i, i] = made[j, j] = c
    made[i, j], made[j, i] = -s, s
    return made


def turned(angles, order="XYZ"):
    """FBX's "XYZ" turns about x first."""
    made = np.eye(4)
    for axis in order:
        made = turn(axis, angles["XYZ".index(axis)]) @ made
    return made


def moved(by):
    made = np.eye(4)
    made[:3, 3] = by
    return made


def local_matrix(given, translation, rotation, scale):
    zero = np.zeros(3)
    part = {
        name: np.asarray(given.get(name, zero), dtype=float)
        for name in ("RotationOffset", "RotationPivot", "ScalingOffset", "ScalingPivot", "PreRotation", "PostRotation")
    }
    return (
        moved(translation)
        @ moved(part["RotationOffset"])
        @ moved(part["RotationPivot"])
        @ turned(part["PreRotation"])
        @ turned(rotation, ORDERS[given.get("RotationOrder", 0)])
        @ np.linalg.inv(turned(part["PostRotation"]))
        @ moved(-part["RotationPivot"])
        @ moved(part["ScalingOffset"])
        @ moved(part["ScalingPivot"])
        @ np.diag([scale] * 3 + [1.0])
        @ moved(-part["ScalingPivot"])
    )


@pytest.mark.parametrize("way", ["blender_default", "blender_centimetres", "blender_z_up"])
def test_joints_are_where_blender_has_them_in_every_frame_of_every_take(way):
    path = DATA / f"{way}.fbx"
    with np.load(path.with_suffix(".npz")) as truth:
        names, size = truth["names"].tolist(), float(truth["size"])
        assert float(truth["imported"]) < 1e-6
        for take in animations(path):
            motion, places = ps.load(path, animation=take), truth[take.split("|")[1]]
            assert motion.fps == 30 and len(motion) == len(places)
            order = [motion.skeleton.index(name) for name in names]
            found = motion.skeleton.forward(motion.pose).positions[:, order] / size
            assert np.abs(found - places).max() < 2e-6
    assert len(animations(path)) == (2 if way == "blender_default" else 1)


def test_blenders_rest_pose_and_mesh_are_those_of_its_armature():
    motion = ps.load(DATA / "blender_default.fbx")
    skeleton = motion.skeleton
    rest = skeleton.forward(skeleton.rest).positions
    assert np.abs(rest[skeleton.index("LeftHand")] - [0.9, 1.4, 0.1]).max() < 1e-5  # the armature stands at 0.2, -0.1
    (body,) = skeleton.character.meshes
    assert len(body.vertices) == 16 * 8 and np.abs(body.weights.sum(axis=1) - 1).max() < 1e-9
    assert body.colours[0].tolist() == [231, 231, 231, 255]  # 0.8 is linear
    assert np.ptp(body.vertices, axis=0)[1] == pytest.approx(1.7, abs=0.1)
    assert set(ps.Humanoid(skeleton).roles) >= {"hips", "left_hand", "right_foot", "head"}
    assert skeleton.end_names[0] == "Head_end"


def drawn(seed, form, path, frames=5, joints=6):
    """A random rig with everything that a model may state, and where its joints are by plain matrices."""
    rng = np.random.default_rng(seed)
    scene = Scene(7500 if seed % 2 else 7400, UpAxis=2, FrontAxis=1, FrontAxisSign=-1, UnitScaleFactor=2.54)
    numbers, rows, parents = [], [], []
    times = np.arange(frames) / 30
    _, layer = scene.take("Drawn", 0.0, times[-1])
    for j in range(joints):
        parent = int(rng.integers(0, j)) if j else -1
        given = {
            "RotationOrder": int(rng.integers(0, 6)),
            "RotationActive": 1,
            **{name: rng.uniform(-90, 90, 3) for name in ("PreRotation", "PostRotation")},
            **{
                name: rng.normal(size=3)
                for name in ("RotationOffset", "RotationPivot", "ScalingOffset", "ScalingPivot")
            },
        }
        scale = float(rng.uniform(0.5, 2.0))
        still = {
            "LclTranslation": rng.normal(size=3),
            "LclRotation": rng.uniform(-180, 180, 3),
            "LclScaling": (scale,) * 3,
        }
        number = scene.model(f"joint{j}", numbers[parent] if j else 0, **given, **still)
        turns = np.repeat(still["LclRotation"][None], frames, axis=0)
        places = np.repeat(still["LclTranslation"][None], frames, axis=0)
        if j % 3 != 2:
            turns = rng.uniform(-170, 170, (frames, 3)).astype(np.float32).astype(float)
            scene.animate(layer, number, "Rotation", times, turns)
        if j % 2 == 0:
            places = rng.normal(size=(frames, 3)).astype(np.float32).astype(float)
            scene.animate(layer, number, "Translation", times, places)
        numbers.append(number)
        parents.append(parent)
        rows.append((given, places, turns, scale))
    scene.save(path, form)
    axes = np.array([[1, 0, 0], [0, 0, 1], [0, -1, 0]]) * 0.0254
    found = np.empty((frames, joints, 3))
    for f in range(frames):
        worlds = []
        for parent, (given, places, turns, scale) in zip(parents, rows):
            own = local_matrix(given, places[f], turns[f], scale)
            worlds.append(own if parent < 0 else worlds[parent] @ own)
        found[f] = [axes @ world[:3, 3] for world in worlds]
    return found


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("seed", range(8))
def test_joints_are_where_pivots_pre_and_post_rotations_and_orders_put_them(seed, form, tmp_path):
    truth = drawn(seed, form, tmp_path / "a.fbx")
    motion = ps.load(tmp_path / "a.fbx")
    order = [motion.skeleton.index(f"joint{j}") for j in range(truth.shape[1])]
    found = motion.skeleton.forward(motion.pose).positions[:, order]
    assert motion.fps == 30 and len(motion) == len(truth)
    assert np.abs(found - truth).max() < 1e-9 * max(1.0, np.abs(truth).max())


def test_the_three_forms_of_a_file_give_one_motion(tmp_path):
    motions = []
    for form in FORMS:
        for version in (7100, 7700):
            (tmp_path / "a.fbx").write_bytes(little(form, version))
            motions.append(ps.load(tmp_path / "a.fbx"))
    for one in motions[1:]:
        assert np.array_equal(one.pose.rotations, motions[0].pose.rotations)
        assert np.array_equal(
            one.skeleton.character.meshes[0].vertices, motions[0].skeleton.character.meshes[0].vertices
        )


def bones(scene, *names):
    numbers = [0]
    for name in names:
        numbers.append(scene.model(name, numbers[-1], LclTranslation=(0.0, 1.0, 0.0)))
    return numbers[1:]


def hips_x(scene, path, **options):
    motion = ps.load(scene.save(path), **options)
    return motion.pose.translation[:, 0]


def test_constant_segments_stay_and_those_of_the_next_key_do_not_wait(tmp_path):
    for flags, truth in ((2, [0, 0, 0, 5]), (2 | 0x100, [0, 5, 5, 5])):
        scene = Scene()
        (hips,) = bones(scene, "Hips")
        _, layer = scene.take("Step", 0, 0.1)
        scene.animate(layer, hips, "Translation", [0, 0.1], [[0, 0, 0], [5, 0, 0]], flags=flags)
        assert hips_x(scene, tmp_path / "a.fbx").tolist() == truth


def test_cubic_segments_follow_the_slopes_of_their_keys(tmp_path):
    scene = Scene()
    (hips,) = bones(scene, "Hips")
    _, layer = scene.take("Ease", 0, 1.0)
    keys = [(3.0, -2.0, 0, 0), (0, 0, 0, 0)]  # the slope behind the first key, and the one before the second
    scene.animate(layer, hips, "Translation", [0, 1], [[0, 0, 0], [5, 0, 0]], flags=[8 | 0x400] * 2, data=keys)
    t = np.arange(31) / 30
    truth = 3.0 * (t**3 - 2 * t**2 + t) + 5 * (3 * t**2 - 2 * t**3) - 2.0 * (t**3 - t**2)
    assert np.abs(hips_x(scene, tmp_path / "a.fbx") - truth).max() < 1e-6


def test_weighted_tangents_are_bezier_curves(tmp_path):
    scene = Scene()
    (hips,) = bones(scene, "Hips")
    _, layer = scene.take("Ease", 0, 1.0)
    bits = np.array([6000 | (8000 << 16), 0], np.uint32).view(np.float32)
    keys = [(1.0, 0.5, bits[0], 0), (0, 0, 0, 0)]
    flags = [8 | 0x400 | 0x3000000, 8 | 0x400]
    scene.animate(layer, hips, "Translation", [0, 1], [[0, 0, 0], [2, 0, 0]], flags=flags, data=keys)
    s = np.linspace(0, 1, 200_001)
    x, y = [
        3 * (1 - s) ** 2 * s * a + 3 * (1 - s) * s**2 * b + s**3 * c
        for a, b, c in ((0.6, 0.2, 1), (0.6, 2 - 0.8 * 0.5, 2))
    ]
    truth = np.interp(np.arange(31) / 30, x, y)
    for form in FORMS:
        motion = ps.load(scene.save(tmp_path / "a.fbx", form))
        assert np.abs(motion.pose.translation[:, 0] - truth).max() < 1e-5


def test_automatic_tangents_pass_smoothly_through_keys_on_a_line(tmp_path):
    scene = Scene()
    (hips,) = bones(scene, "Hips")
    _, layer = scene.take("Line", 0, 1.0)
    times = np.array([0, 0.2, 0.5, 0.6, 1.0])
    scene.animate(
        layer, hips, "Translation", times, np.stack([3 * times, 0 * times, 0 * times], axis=1), flags=8 | 0x100
    )
    found = hips_x(scene, tmp_path / "a.fbx")
    assert np.abs(found - 3 * np.arange(31) / 30).max() < 1e-6


@pytest.mark.parametrize(("way", "truth"), [("C", 1.0), ("R", 0.5), ("A", 3.5), ("M", 0.5), ("K", 3.5)])
def test_curves_go_on_beyond_their_keys_as_they_say(way, truth, tmp_path):
    scene = Scene()
    (hips,) = bones(scene, "Hips")
    _, layer = scene.take("Beyond", 0, 3.5)
    scene.animate(layer, hips, "Translation", [0, 1], [[0, 0, 0], [1, 0, 0]], flags=4, data=(1, 1, 0, 0), after=way)
    assert hips_x(scene, tmp_path / "a.fbx")[-1] == pytest.approx(truth, abs=1e-6)


def test_layers_add_to_those_below_by_their_weight(tmp_path):
    for mode, truth in ((0, 2.0 + 0.25 * 4.0), (1, 4.0), (2, 0.75 * 2.0 + 0.25 * 4.0)):
        scene = Scene()
        (hips,) = bones(scene, "Hips")
        stack, layer = scene.take("Layers", 0, 0.1)
        scene.animate(layer, hips, "Translation", [0, 0.1], [[2, 0, 0]] * 2)
        above = scene.layer(stack, "Above", BlendMode=mode, Weight=25.0)
        scene.animate(above, hips, "Translation", [0, 0.1], [[4, 0, 0]] * 2)
        assert hips_x(scene, tmp_path / "a.fbx") == pytest.approx(truth)


def test_rotations_of_layers_are_composed(tmp_path):
    scene = Scene()
    (hips,) = bones(scene, "Hips")
    stack, layer = scene.take("Layers", 0, 0.1)
    scene.animate(layer, hips, "Rotation", [0, 0.1], [[30, 40, 50]] * 2)
    scene.animate(scene.layer(stack, "Above"), hips, "Rotation", [0, 0.1], [[-20, 60, 10]] * 2)
    motion = ps.load(scene.save(tmp_path / "a.fbx"))
    truth = turned([30, 40, 50]) @ turned([-20, 60, 10])
    assert np.abs(ps.math.to_matrix(motion.pose.rotations[0, 0]) - truth[:3, :3]).max() < 1e-9


def test_takes_are_chosen_by_name_or_number_and_the_first_that_moves_by_default(tmp_path):
    scene = Scene()
    hips, _ = bones(scene, "Hips", "Spine")
    scene.take("Take 001", 0, 1)
    for k, name in enumerate(("Walk", "Run")):
        _, layer = scene.take(name, 0, 0.1)
        scene.animate(layer, hips, "Translation", [0, 0.1], [[k + 1, 0, 0]] * 2)
    path = scene.save(tmp_path / "a.fbx")
    assert animations(path) == ["Take 001", "Walk", "Run"]
    assert ps.load(path).name == "Walk" and any("3 takes" in note for note in ps.load(path).notes)
    assert (
        ps.load(path, animation="Run").pose.translation[0, 0] == 2 == ps.load(path, animation=2).pose.translation[0, 0]
    )
    assert len(ps.load(path, animation="Take 001")) == 1
    with pytest.raises(UnknownNameError, match="did you mean 'Run'"):
        ps.load(path, animation="run")
    with pytest.raises(PosableError, match="it has 3"):
        ps.load(path, animation=3)


def test_a_take_lasts_as_long_as_it_says_and_is_sampled_at_the_rate_of_its_keys(tmp_path):
    for fps, mode, truth in ((30, 6, 30), (120, 6, 120), (25, 11, 25), (24, 11, 24)):
        scene = Scene(TimeMode=mode)
        (hips,) = bones(scene, "Hips")
        _, layer = scene.take("Walk", 1 / fps, 4 / fps)
        times = np.arange(9) / fps
        scene.animate(layer, hips, "Translation", times, np.arange(27).reshape(9, 3))
        motion = ps.load(scene.save(tmp_path / "a.fbx"))
        assert motion.fps == truth and motion.pose.translation[:, 0].tolist() == [3, 6, 9, 12]
    assert len(ps.load(tmp_path / "a.fbx", fps=48)) == 7


def test_other_clocks_are_read(tmp_path):
    scene = Scene(7700)
    (hips,) = bones(scene, "Hips")
    _, layer = scene.take("Walk")
    scene.animate(
        layer, hips, "Translation", np.array([0, 1, 2]) / 30 * 141_120_000 / TICKS, np.arange(9).reshape(3, 3)
    )
    records = scene.records()
    records[0] = (
        "FBXHeaderExtension",
        [],
        [("FBXHeaderVersion", [1004], []), ("FBXVersion", [7700], []), ("OtherFlags", [], [("TCDefinition", [0], [])])],
    )
    for data in (binary(records, 7700), text(records)):
        (tmp_path / "a.fbx").write_bytes(data)
        motion = ps.load(tmp_path / "a.fbx")
        assert motion.fps == 30 and len(motion) == 3


def test_meshes_follow_their_clusters_and_the_rest_pose_is_the_one_they_were_bound_in(tmp_path):
    scene = Scene(UnitScaleFactor=1.0)
    root = scene.model("Hips", LclTranslation=(0, 90, 0), LclRotation=(0, 0, 45))
    spine = scene.model("Spine", root, LclTranslation=(0, 30, 0), LclRotation=(20, 0, 0))
    _, layer = scene.take("Bend", 0, 1 / 30)
    scene.animate(layer, spine, "Rotation", [0, 1 / 30], [[0, 0, 0], [0, 0, 90]])
    binds = [moved((0, 100, 0)), moved((0, 130, 0))]
    lying = moved((0, 100, 0))
    vertices = [[-5, 0, 0], [5, 0, 0], [5, 60, 0], [-5, 60, 0], [0, 80, 0]]
    _, geometry = mesh(scene, "Body", vertices, [(0, 1, 2, 3), (3, 2, 4)], GeometricTranslation=(0.0, 0.0, 7.0))
    clusters = [
        (root, [0, 1], [1.0, 2.0], binds[0], np.linalg.inv(binds[0]) @ lying),
        (spine, [2, 3, 4], [1.0, 1.0, 0.5], binds[1], np.linalg.inv(binds[1]) @ lying),
    ]
    skin(scene, geometry, clusters)
    motion = ps.load(scene.save(tmp_path / "a.fbx"))
    skeleton = motion.skeleton
    rest = skeleton.forward(skeleton.rest)
    assert np.abs(rest.positions - [[0, 1.0, 0], [0, 1.3, 0]]).max() < 1e-12
    (body,) = skeleton.character.meshes
    assert body.colours.tolist() == [[231, 124, 124, 255]] * 5  # linear 0.8, 0.2, 0.2
    assert body.faces.tolist() == [[0, 1, 2], [0, 2, 3], [3, 2, 4]]
    assert np.abs(body.vertices - np.add(vertices, [0, 100, 7]) / 100).max() < 1e-12
    frames = skeleton.forward(motion.pose)
    worlds = moved((0, 90, 0)) @ turned([0, 0, 45])
    for f, bend in enumerate((0, 90)):
        places = [worlds, worlds @ moved((0, 30, 0)) @ turned([0, 0, bend])]
        carried = [places[j] @ np.linalg.inv(binds[j]) for j in range(2)]
        truth = [(carried[int(v > 1)] @ [*np.add(vertices[v], [0, 100, 7]), 1.0])[:3] / 100 for v in range(5)]
        assert np.abs(body.posed(frames)[f] - truth).max() < 1e-9


def test_scales_that_are_not_inherited_lengthen_one_bone_only(tmp_path):
    for inherit, length in ((1, 4.0), (2, 2.0)):
        scene = Scene()
        root = scene.model("Hips", LclTranslation=(0, 0, 0), LclScaling=(2, 2, 2))
        spine = scene.model("Spine", root, LclTranslation=(0, 1, 0), LclScaling=(2, 2, 2), InheritType=inherit)
        scene.model("Head", spine, LclTranslation=(0, 1, 0), InheritType=inherit)
        skeleton = ps.load(scene.save(tmp_path / "a.fbx")).skeleton
        assert skeleton.offsets[1:, 1].tolist() == [2.0, length]


def test_nodes_above_the_hips_move_the_root_and_other_trees_are_left_out(tmp_path):
    scene = Scene()
    above = scene.model("Armature", 0, "Null", LclRotation=(90, 0, 0), LclScaling=(0.5, 0.5, 0.5))
    scene.model("Hips", above, LclTranslation=(0, 2, 0))
    scene.model("Lamp", 0, "Null", LclTranslation=(7, 7, 7))
    _, layer = scene.take("Go", 0, 1 / 30)
    scene.animate(layer, above, "Translation", [0, 1 / 30], [[0, 0, 0], [1, 0, 0]])
    motion = ps.load(scene.save(tmp_path / "a.fbx"))
    assert motion.skeleton.names == ("Hips",)
    assert np.abs(motion.pose.translation - [[0, 0, 1], [1, 0, 1]]).max() < 1e-12


def test_a_rig_of_mixamo_is_a_person(tmp_path):
    parts = ["Hips", "Spine", "Spine1", "Spine2", "Neck", "Head", "HeadTop_End"]
    scene = Scene(UnitScaleFactor=1.0)
    made, at = {}, 0
    for name in parts:
        at = made[name] = scene.model(f"mixamorig:{name}", at, LclTranslation=(0, 15.0, 0))
    for side, sign in (("Left", 1.0), ("Right", -1.0)):
        at = made["Spine2"]
        arm = (("Shoulder", (5, 10, 0)), ("Arm", (12, 0, 0)), ("ForeArm", (27, 0, 0)), ("Hand", (25, 0, 0)))
        for name, (x, y, z) in arm:
            at = scene.model(f"mixamorig:{side}{name}", at, LclTranslation=(sign * x, y, z))
        at = made["Hips"]
        leg = (("UpLeg", (9, -5, 0)), ("Leg", (0, -43, 0)), ("Foot", (0, -43, 0)), ("ToeBase", (0, -6, 12)))
        for name, (x, y, z) in leg:
            at = scene.model(f"mixamorig:{side}{name}", at, LclTranslation=(sign * x, y, z))
    body = ps.Humanoid(ps.load(scene.save(tmp_path / "a.fbx")).skeleton)
    assert len(body.roles) == 22 and body.skeleton.end_names == ("mixamorig:HeadTop_End",)


# Files from strangers.


def refused(tmp_path, data, match):
    (tmp_path / "a.fbx").write_bytes(data)
    with pytest.raises(FormatError, match=match):
        ps.load(tmp_path / "a.fbx")


@pytest.mark.parametrize("form", FORMS)
def test_files_cut_short_anywhere_are_read_or_refused(form, tmp_path):
    data = little(form)
    whole = 0
    for length in range(0, len(data), max(1, len(data) // 300)):
        (tmp_path / "a.fbx").write_bytes(data[:length])
        try:
            motion = ps.load(tmp_path / "a.fbx")
        except FormatError as error:
            assert "a.fbx" in str(error)
        else:
            whole += 1
            assert motion.pose.is_finite()
    assert whole < 60


def test_what_is_no_fbx_file_or_of_another_version_is_refused(tmp_path):
    refused(tmp_path, b"Hello, I am no FBX file at all", "is no FBX file")
    refused(tmp_path, binary(Scene(6100).records(), 6100), "is FBX 6.1; save it again as FBX 2011 or later")
    refused(tmp_path, binary(Scene(9000).records(), 9000), "is FBX 9.0")
    data = bytearray(little())
    data[22] = 1
    refused(tmp_path, bytes(data), "high byte first")
    refused(tmp_path, binary(Scene().records()), "has 0 models")


def test_arrays_that_unpack_to_more_than_they_say_are_refused_without_unpacking(tmp_path):
    scene = Scene()
    hips, _ = bones(scene, "Hips", "Spine")
    _, layer = scene.take("Walk", 0, 0.1)
    scene.animate(layer, hips, "Translation", np.arange(3000) / 30, np.zeros((3000, 3)))
    data = binary(scene.records(), packed=True)
    at = data.index(b"KeyTime") + 7 + 1
    for length, said in (
        (3001, "unpacks to"),
        (2**31, "more memory than its size warrants"),
        (5, "values at|unpacks to"),
    ):
        changed = data[:at] + length.to_bytes(4, "little") + data[at + 4 :]
        if length != 5:
            refused(tmp_path, changed, said)
        else:
            (tmp_path / "a.fbx").write_bytes(changed)
            with pytest.raises(FormatError):
                ps.load(tmp_path / "a.fbx")


def test_circles_are_refused(tmp_path):
    scene = Scene()
    one, other = scene.add("Model", "A", "LimbNode"), scene.add("Model", "B", "LimbNode")
    scene.connect(one, other)
    scene.connect(other, one)
    refused(tmp_path, binary(scene.records()), "'A' hangs on itself")
    scene = Scene()
    one = scene.add("Model", "A", "LimbNode")
    scene.connect(one, one)
    assert len(ps.load(scene.save(tmp_path / "a.fbx")).skeleton) == 1


def test_takes_and_keys_that_cannot_be_are_refused(tmp_path):
    def clip(**changes):
        scene = Scene()
        (hips,) = bones(scene, "Hips")
        _, layer = scene.take("Walk", 0, changes.pop("stop", 0.1))
        times, values = changes.pop("times", [0, 0.1]), changes.pop("values", np.zeros((2, 3)))
        scene.animate(layer, hips, "Translation", times, values, **changes)
        return binary(scene.records())

    refused(tmp_path, clip(stop=1e6), "frames at 30 fps are too many")
    refused(tmp_path, clip(times=[0.1, 0.0]), "goes back in time at key 1")
    refused(tmp_path, clip(values=np.full((2, 3), np.nan)), "not finite")
    refused(tmp_path, clip(times=[0, 0.1, 0.2]), "has 2 values at 3 times")
    refused(tmp_path, clip(data=[0, 0, 0]), "kinds of keys")


def test_records_nested_without_end_cost_nothing(tmp_path):
    record = ("A", [], [])
    for _ in range(300):
        record = ("A", [1], [record])
    data = binary([record, *Scene().records()])
    refused(tmp_path, data, "has 0 models")
    deep = b"; FBX 7.4.0\nFBXHeaderExtension: {\n" + b"A: {\n" * 100_000
    refused(tmp_path, deep, "a brace where none can be")


def test_settings_that_are_no_axes_or_units_are_refused(tmp_path):
    for name, value, match in (
        ("UpAxis", 7, "expected 0, 1 or 2"),
        ("UpAxis", 2, "one axis twice"),
        ("UnitScaleFactor", 0.0, "centimetres"),
    ):
        scene = Scene(**{name: value})
        bones(scene, "Hips")
        refused(tmp_path, binary(scene.records()), match)


def test_what_a_template_says_counts_where_a_model_says_nothing(tmp_path):
    scene = Scene()
    root = scene.model("Hips", PreRotation=(0, 0, 90))
    scene.model("Spine", root, LclTranslation=(1, 0, 0))
    template = ("PropertyTemplate", ["FbxNode"], [properties(RotationActive=0)])
    records = [*scene.records()[:2], ("Definitions", [], [("ObjectType", ["Model"], [template])]), *scene.records()[2:]]
    for data, truth in ((binary(records), [1, 0, 0]), (binary(scene.records()), [0, 1, 0]), (text(records), [1, 0, 0])):
        (tmp_path / "a.fbx").write_bytes(data)
        motion = ps.load(tmp_path / "a.fbx")
        assert np.abs(motion.skeleton.forward(motion.pose).positions[0, 1] - truth).max() < 1e-12
