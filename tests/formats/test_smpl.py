"""AMASS files: made by the published layout, judged by scipy, by the feet of the clips they were made of, by NumPy."""

import zipfile

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import posable as ps
from posable.compute import FormatError, PosableError
from posable.formats.smpl.joints import BODY, HANDS, NAMES, smpl_skeleton

from .test_fuzz_readers import _check, _mutated

PARENTS = [-1, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 9, 12, 13, 14, 16, 17, 18, 19]
RNG = np.random.default_rng(7)


def members(frames=5, width=156, **changes):
    """A file of AMASS's first release, its rotations at random."""
    rng = np.random.default_rng([3, frames, width])
    made = {
        "trans": rng.normal(size=(frames, 3)),
        "gender": np.array("female"),
        "mocap_framerate": np.array(120.0),
        "betas": rng.normal(size=16),
        "dmpls": rng.normal(size=(frames, 8)),
        "poses": rng.normal(size=(frames, width)),
    }
    return {name: value for name, value in (made | changes).items() if value is not None}


def saved(tmp_path, pack=np.savez, **arrays):
    pack(tmp_path / "clip.npz", **arrays)
    return tmp_path / "clip.npz"


def world_of(poses, parents):
    """(F, J, 3, 3) orientations of joints, multiplied down the tree by scipy."""
    local = Rotation.from_rotvec(poses.reshape(-1, 3)).as_matrix().reshape(len(poses), -1, 3, 3)
    world = local.copy()
    for j in range(1, len(parents)):
        world[:, j] = world[:, parents[j]] @ local[:, j]
    return world


@pytest.mark.parametrize("pack", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("width", [66, 72, 156, 165])
def test_orientations_are_those_that_scipy_makes_of_the_axis_angles_with_z_turned_up(tmp_path, width, pack):
    arrays = members(width=width)
    motion = ps.load(saved(tmp_path, pack, **arrays))
    assert motion.fps == 120 and len(motion) == 5 and len(motion.skeleton) == width // 3
    assert tuple(motion.skeleton.names[:22]) == BODY
    frames = motion.skeleton.forward(motion.pose)
    turn = Rotation.from_euler("x", -90, degrees=True).as_matrix()
    expected = turn @ world_of(arrays["poses"][:, :66], PARENTS)
    found = Rotation.from_quat(frames.orientations[:, :22], scalar_first=True).as_matrix().reshape(5, 22, 3, 3)
    assert np.abs(found - expected).max() < 1e-12
    # What the pelvis does is what the file says, but for where the floor is.
    moved = frames.positions[:, 0] - arrays["trans"] @ turn.T
    assert np.ptp(moved, axis=0).max() < 1e-12


def test_both_releases_name_the_same_motion(tmp_path):
    old = members(width=165)
    poses = old["poses"]
    parts = dict(
        zip(("root_orient", "pose_body", "pose_jaw", "pose_eye", "pose_hand"), np.split(poses, [3, 66, 69, 75], 1))
    )
    new = members(poses=None, mocap_framerate=None, dmpls=None, **parts, mocap_frame_rate=np.array(120))
    new |= {"trans": old["trans"], "betas": old["betas"], "surface_model_type": np.array("smplx")}
    one, other = (ps.load(saved(tmp_path, **arrays)) for arrays in (old, new))
    assert (one.pose.rotations == other.pose.rotations).all() and (one.pose.translation == other.pose.translation).all()
    assert one.skeleton.names == other.skeleton.names == NAMES
    del new["pose_jaw"], new["pose_eye"]
    assert ps.load(saved(tmp_path, **new)).skeleton.names == (*BODY, *HANDS)


def test_the_t_pose_stands_on_the_floor_as_large_as_the_figure_its_arms_out():
    skeleton = smpl_skeleton(NAMES)
    frames = skeleton.forward(skeleton.rest)
    at = dict(zip((*skeleton.names, *skeleton.end_names), np.concatenate([frames.positions, frames.ends])))
    assert at["head_tip"][1] == pytest.approx(1.75, abs=1e-9)
    assert min(place[1] for place in at.values()) == pytest.approx(0.0, abs=1e-9)
    for side, sign in (("left", 1.0), ("right", -1.0)):
        arm = [at[f"{side}_{part}"] for part in ("shoulder", "elbow", "wrist")]
        assert np.ptp([place[1] for place in arm]) < 1e-9 and (np.diff([sign * place[0] for place in arm]) > 0.2).all()
        assert at[f"{side}_thumb1"][2] > at[f"{side}_index1"][2] > at[f"{side}_pinky1"][2]
    body = ps.Humanoid(skeleton)
    figure = ps.figure(1.75)
    assert len(body.roles) == 22
    for name, length in figure.measures.items():
        if name not in ("hand", "foot"):
            assert body.measures[name] == pytest.approx(length, abs=1e-6), name


@pytest.mark.parametrize("clip", ["02_01", "17_10", "49_06"])
def test_a_clip_written_for_amass_comes_back_with_its_posture_and_its_feet_stand_on_the_floor(cmu, tmp_path, clip):
    motion = ps.load(cmu / f"{clip}.bvh", repair="cmu", first_frame=1)[:700]
    body = ps.Humanoid(motion.skeleton)
    ps.save(motion, tmp_path / "clip.npz", layout="amass")
    again = ps.load(tmp_path / "clip.npz")
    other = ps.Humanoid(again.skeleton)
    one, two = body.canonical(motion.pose), other.canonical(again.pose)
    # Joints of the spine are other ones, and share its bend by arc length.
    roles = [role for role in one.roles if role not in ("spine", "chest", "upper_chest", "neck")]
    rows = [[posture.roles.index(role) for role in roles] for posture in (one, two)]
    off = ps.math.angle(one.world()[..., rows[0], :], two.world()[..., rows[1], :])
    assert off.max() < 1e-9
    assert np.abs(np.diff(again.pose.translation[:, [0, 2]] - motion.pose.translation[:, [0, 2]], axis=0)).max() < 1e-9
    # Who stands is asked of the clip itself, by the height and speed of the ball of its foot.
    for side in ("left", "right"):
        ball = motion.skeleton.forward(motion.pose).positions[:, body.roles[f"{side}_toes"]]
        speed = np.linalg.norm(np.gradient(ball, 1 / motion.fps, axis=0), axis=1)
        stands = (speed < 0.15) & (ball[:, 1] < np.percentile(ball[:, 1], 5) + 0.03)
        height = again.skeleton.forward(again.pose).positions[stands, other.roles[f"{side}_toes"], 1]
        assert stands.sum() > 20 and abs(np.median(height) - 0.45 * 0.039 * other.height) < 0.03


@pytest.mark.parametrize("height", [1.45, 1.75, 2.0])
def test_the_size_of_the_body_is_the_one_whose_feet_do_not_slide(tmp_path, height):
    walk = ps.samples.walk(ps.figure(height), duration=4.0)
    ps.save(walk, tmp_path / "walk.npz", layout="amass")
    again = ps.load(tmp_path / "walk.npz")
    assert ps.Humanoid(again.skeleton).height == pytest.approx(height, rel=0.02)
    assert any("keeps standing feet from sliding" in note for note in again.notes)
    moved = ps.Humanoid(again.skeleton).leg_length - ps.figure(height).leg_length
    assert abs(again.pose.translation[:, 1].mean() - walk.pose.translation[:, 1].mean()) < abs(moved) + 0.02


def test_a_body_on_which_no_foot_stands_is_left_as_large_as_the_figure(tmp_path):
    arrays = members(frames=40, poses=np.zeros((40, 156)), trans=np.cumsum(np.full((40, 3), 0.2), axis=0))
    motion = ps.load(saved(tmp_path, **arrays))
    assert ps.Humanoid(motion.skeleton).height == pytest.approx(1.75, abs=1e-6)
    assert "no foot stands: the floor is under the lowest one" in motion.notes


def test_what_was_read_is_written_with_the_same_axis_angles_and_the_other_files_body(tmp_path):
    arrays = members(frames=7, width=165)
    arrays["poses"] *= 0.9  # below half a turn each, so that one axis angle is meant
    one = saved(tmp_path, **arrays)
    motion = ps.load(one)
    ps.save(motion, tmp_path / "again.npz", layout="amass", character=one)
    with np.load(tmp_path / "again.npz", allow_pickle=False) as again:
        small = np.linalg.norm(arrays["poses"].reshape(7, -1, 3), axis=-1) < np.pi
        assert np.abs(again["poses"] - arrays["poses"]).reshape(7, -1, 3)[small].max() < 1e-12
        assert np.ptp(again["trans"] - arrays["trans"], axis=0).max() < 1e-12
        assert (again["betas"] == arrays["betas"]).all() and str(again["gender"]) == "female"
        assert float(again["mocap_framerate"]) == float(again["mocap_frame_rate"]) == 120.0
        assert again["pose_body"].shape == (7, 63) and again["root_orient"].shape == (7, 3)


def test_a_model_of_the_user_gives_the_bones_by_its_regressor(tmp_path):
    rng = np.random.default_rng(2)
    vertices, count = 60, 24
    model = {
        "v_template": rng.normal(size=(vertices, 3)),
        "shapedirs": rng.normal(size=(vertices, 3, 10)) * 0.01,
        "J_regressor": rng.dirichlet(np.ones(vertices), size=count),
        "kintree_table": np.array([{"a": 1}], dtype=object),  # a pickle that nobody unpickles
    }
    np.savez(tmp_path / "model.npz", **model)
    arrays = members(frames=3, poses=np.zeros((3, 156)))
    motion = ps.load(saved(tmp_path, **arrays), body_model=tmp_path / "model.npz")
    joints = model["J_regressor"] @ (model["v_template"] + model["shapedirs"] @ arrays["betas"][:10])
    turn = Rotation.from_euler("x", -90, degrees=True).as_matrix()
    placed = (joints[:22] + arrays["trans"][:, None]) @ turn.T
    found = motion.skeleton.forward(motion.pose).positions[:, :22]
    assert np.ptp(found - placed, axis=(0, 1))[[0, 2]].max() < 1e-9  # y: the floor is found
    assert np.abs((found - found[:, :1]) - (placed - placed[:, :1])).max() < 1e-9
    with pytest.raises(FormatError, match=r"pickles \(\.pkl\) are not read"):
        ps.load(saved(tmp_path, **arrays), body_model=tmp_path / "model.pkl")
    for wrong in ({"v_template": np.zeros((3, 3))}, {"J_regressor": np.zeros((5, vertices))}, {"shapedirs": None}):
        np.savez(tmp_path / "wrong.npz", **{k: v for k, v in (model | wrong).items() if v is not None})
        with pytest.raises(FormatError, match=r"wrong\.npz"):
            ps.load(saved(tmp_path, **arrays), body_model=tmp_path / "wrong.npz")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"trans": None}, "member 'trans'.*missing"),
        ({"poses": np.zeros((5, 100))}, "has 100 numbers a frame"),
        ({"trans": np.zeros((4, 3))}, "4 frames"),
        ({"poses": np.full((5, 156), np.nan)}, "joint 0 in frame 0"),
        ({"poses": np.full((5, 156), 1e200)}, "joint 0 in frame 0"),
        ({"trans": np.full((5, 3), np.inf)}, "not finite"),
        ({"mocap_framerate": np.array(0.0)}, "frames a second"),
        ({"mocap_framerate": np.array(["a"])}, "frames a second"),
        ({"poses": np.array([{}], dtype=object)}, "pickle"),
        ({"poses": np.array(["a"])}, "member 'poses'"),
        ({"poses": None, "pose_body": np.zeros((5, 63))}, "'root_orient'.*missing"),
        ({"poses": None, "root_orient": np.zeros((4, 3)), "pose_body": np.zeros((5, 63))}, "5 frames"),
    ],
)
def test_what_is_wrong_is_said_with_its_member(tmp_path, changes, said):
    with pytest.raises(FormatError, match=said):
        ps.load(saved(tmp_path, **members(**changes)))


def test_nothing_is_unpickled_and_members_nobody_asks_for_stay_unread(tmp_path):
    arrays = members(marker_data=np.array([print], dtype=object))
    assert len(ps.load(saved(tmp_path, **arrays))) == 5


class Touches:
    """A pickle that makes a file when it is read."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


@pytest.mark.parametrize(
    "changes",
    [
        {"poses": lambda poses: poses.astype("f4"), "trans": lambda trans: trans.astype("f4")},
        {"poses": lambda poses: poses.astype(">f8")},
        {"poses": np.asfortranarray},
        {"poses": lambda poses: poses.reshape(len(poses), -1, 3)},
        {"gender": None},
        {"betas": None, "gender": None, "dmpls": None},
        {"gender": lambda _: np.array(b"neutral")},
        {"gender": lambda _: np.array(None, dtype=object), "betas": lambda _: np.array([{}], dtype=object)},
        {"betas": lambda betas: betas[None, :10]},
        {"mocap_framerate": lambda rate: rate.reshape(1)},
        {"mocap_framerate": lambda rate: rate.astype("i4")},
    ],
    ids=[
        "f32",
        "big-endian",
        "columns",
        "row a joint",
        "no gender",
        "bare",
        "bytes",
        "pickles",
        "betas",
        "list",
        "int",
    ],
)
@pytest.mark.parametrize("width", [66, 72, 156, 165])
def test_members_as_programs_write_them_make_the_same_motion(tmp_path, width, changes):
    plain = members(width=width)
    other = {name: changes[name](value) if changes.get(name) else value for name, value in plain.items()}
    other = {name: value for name, value in other.items() if changes.get(name, value) is not None}
    one, two = (ps.load(saved(tmp_path, **arrays)) for arrays in (plain, other))
    assert one.skeleton.names == two.skeleton.names and one.fps == two.fps == 120
    assert np.abs(one.pose.rotations - two.pose.rotations).max() < 1e-6
    assert np.abs(one.pose.translation - two.pose.translation).max() < 1e-6


@pytest.mark.parametrize("name", ["poses", "trans", "mocap_framerate", "gender", "betas", "dmpls"])
def test_a_hostile_pickle_is_never_read(tmp_path, name):
    made = tmp_path / "made"
    path = saved(tmp_path, **members(**{name: np.array([Touches(made)], dtype=object)}))
    if name in ("poses", "trans", "mocap_framerate"):
        with pytest.raises(FormatError, match=f"member '{name}'.*pickle"):
            ps.load(path)
    else:
        assert len(ps.load(path)) == 5
    assert not made.exists()
    np.load(path, allow_pickle=True)[name]  # what it would have done
    assert made.exists()


def test_an_archive_of_another_kind_is_told_from_ours_and_those_of_amass(tmp_path):
    arrays = {"global_orient": np.zeros((5, 3)), "body_pose": np.zeros((5, 63)), "transl": np.zeros((5, 3))}
    with pytest.raises(
        FormatError, match="'root_orient' and 'pose_body': its members are body_pose, global_orient, tr"
    ):
        ps.load(saved(tmp_path, **arrays))


def test_an_archive_that_unpacks_to_gigabytes_is_refused_before_it_does(tmp_path):
    path = saved(tmp_path, np.savez_compressed, **members(frames=100_000, poses=np.zeros((100_000, 156)), dmpls=None))
    assert path.stat().st_size < 3_000_000 and zipfile.ZipFile(path).getinfo("poses.npy").file_size > 100_000_000
    with pytest.raises(FormatError, match="unpacks to"):
        ps.load(path)


def test_options_for_other_archives_are_refused(tmp_path):
    walk = ps.samples.walk(duration=0.2)
    ps.save(walk, tmp_path / "ours.npz")
    with pytest.raises(PosableError, match="up="):
        ps.load(tmp_path / "ours.npz", up="z")
    with pytest.raises(PosableError, match="layout='amass'"):
        ps.save(walk, tmp_path / "b.npz", character=tmp_path / "ours.npz")
    with pytest.raises(PosableError, match="up='x'"):
        ps.load(saved(tmp_path, **members()), up="x")


def test_y_up_is_read_as_it_is_and_a_lying_figure_is_remarked(tmp_path):
    path = saved(tmp_path, **members(poses=np.zeros((5, 156)), trans=np.zeros((5, 3))))
    upright, lying = ps.load(path, up="y"), ps.load(path)
    assert np.abs(upright.pose.rotations[:, 0] - [1, 0, 0, 0]).max() < 1e-12
    assert not any("lies" in note for note in upright.notes)
    assert any("up='y'" in note for note in lying.notes)


def test_mutated_files_give_a_motion_or_one_error(tmp_path):
    seeds = []
    for pack in (np.savez, np.savez_compressed):
        seeds.append(saved(tmp_path, pack, **members(frames=2, width=66, dmpls=None)).read_bytes())
    accepted = 0
    for case in range(600):
        path = tmp_path / "a.npz"
        path.write_bytes(_mutated(seeds[case % 2], np.random.default_rng([5, case])))
        accepted += _check(path)
    assert 0 < accepted < 600


def test_the_command_line_converts_both_ways_and_says_who_is_who(tmp_path, capsys):
    from posable.cli.app import app

    ps.save(ps.samples.walk(duration=1.0), tmp_path / "walk.bvh")
    for words in (
        ["convert", f"{tmp_path}/walk.bvh", f"{tmp_path}/walk.npz", "--layout", "amass"],
        ["info", f"{tmp_path}/walk.npz"],
        ["convert", f"{tmp_path}/walk.npz", f"{tmp_path}/again.glb", "--up", "z"],
        ["retarget", f"{tmp_path}/walk.npz", f"{tmp_path}/figure.bvh"],
    ):
        with pytest.raises(SystemExit) as ended:
            app(words)
        assert ended.value.code == 0, words
    out = capsys.readouterr().out
    assert "walk.npz: a person" in out
    assert len(ps.load(tmp_path / "again.glb")) == len(ps.load(tmp_path / "walk.bvh"))
