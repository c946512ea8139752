import io
import zipfile

import numpy as np
import pytest

import posable as ps
from posable.compute import FormatError, PosableError
from posable.skeleton import Motion, Pose

from ..skeleton.random_skeletons import random_skeleton
from .example_motions import random_motion

FIELDS = ("parents", "offsets", "rest_rotations", "axes", "end_parents", "end_offsets")


def _full_motion(seed):
    """Every kind of joint, end sites, joint translations, names in any script, notes."""
    rng = np.random.default_rng(seed)
    skeleton = random_skeleton(seed)
    names = ("Hüfte", "", "名前", "a b\n", *skeleton.names[4:])
    skeleton = skeleton.replace(names=names, end_names=("tip", "tip", ""))
    rotations = rng.normal(size=(7, len(skeleton), 4))
    rotations /= np.linalg.norm(rotations, axis=-1, keepdims=True)
    pose = Pose(rng.normal(size=(7, 3)), rotations, rng.normal(size=(7, len(skeleton), 3)))
    return Motion(skeleton, pose, 29.97, "dänce", ("one note", "", "another ✓"))


@pytest.mark.parametrize("seed", range(20))
def test_everything_comes_back_to_the_last_bit(tmp_path, seed):
    motion = _full_motion(seed)
    ps.save(motion, tmp_path / "a.npz")
    again = ps.load(tmp_path / "a.npz")
    for field in FIELDS:
        a, b = getattr(motion.skeleton, field), getattr(again.skeleton, field)
        assert a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes(), field
    assert again.skeleton.packed.tobytes() == motion.skeleton.packed.tobytes()
    for field in ("names", "kinds", "end_names"):
        assert getattr(again.skeleton, field) == getattr(motion.skeleton, field)
    for field in ("translation", "rotations", "offsets"):
        assert getattr(again.pose, field).tobytes() == getattr(motion.pose, field).tobytes()
    assert (again.fps, again.name, again.notes) == (motion.fps, motion.name, motion.notes)


@pytest.mark.parametrize("frames", [0, 1])
def test_motions_of_no_frame_or_one_come_back(tmp_path, frames):
    motion = random_motion(3, frames=frames)
    ps.save(motion, tmp_path / "a.npz")
    again = ps.load(tmp_path / "a.npz")
    assert len(again) == frames
    assert again.pose.offsets is None
    assert again.notes == ()


def test_a_clip_keeps_the_notes_of_its_repair(cmu, tmp_path):
    motion = ps.load(cmu / "09_01.bvh", repair="cmu")
    ps.save(motion, tmp_path / "a.npz")
    assert ps.load(tmp_path / "a.npz").notes == motion.notes


def test_numpy_itself_reads_the_file(tmp_path):
    motion = random_motion(4)
    ps.save(motion, tmp_path / "a.npz")
    with np.load(tmp_path / "a.npz", allow_pickle=False) as arrays:
        assert str(arrays["format"]) == "posable-motion"
        assert int(arrays["version"]) == 1
        assert (arrays["rotations"] == motion.pose.rotations).all()


def _altered(tmp_path, **changes):
    """A good file with some members exchanged; None leaves one out."""
    ps.save(random_motion(5), tmp_path / "good.npz")
    with np.load(tmp_path / "good.npz") as arrays:
        members = dict(arrays) | changes
    np.savez(tmp_path / "bad.npz", **{name: value for name, value in members.items() if value is not None})
    return tmp_path / "bad.npz"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"version": np.int64(2)}, "version 2; this Posable reads version 1"),
        ({"format": "other"}, "no motion of Posable"),
        ({"rotations": None}, "member 'rotations' is missing"),
        ({"rotations": np.ones((20, 8, 4)) / 2}, "8 joints, the skeleton 9"),
        ({"rotations": np.ones((20, 9, 4))}, "no unit quaternion"),
        ({"rotations": np.full((20, 9, 4), np.nan)}, "member 'rotations': has numbers that are not finite"),
        ({"rotations": np.ones((20, 9, 4), np.float32)}, "member 'rotations': has numbers of kind float32"),
        ({"rotations": np.asfortranarray(np.ones((20, 9, 4)))}, "member 'rotations'"),
        ({"translation": np.zeros((19, 3))}, "translation"),
        ({"parents": np.array([-1, 2, 1, 0, 0, 0, 0, 0, 0])}, "comes before its parent"),
        ({"parents": np.array([-1, 0, 0, 0, 0, 0, 0, 0, 99])}, "comes before its parent"),
        ({"parents": np.zeros(9, np.int64)}, "root"),
        ({"names": np.array(["a"] * 9)}, "two joints are called 'a'"),
        ({"kinds": np.array(["rubber"] * 9)}, "joint kind 'rubber'"),
        ({"end_parents": np.array([0, 1, 2, 9])}, "end sites hang on joints"),
        ({"fps": np.float64(-1)}, "fps"),
        ({"notes": np.array([{"a": 1}], dtype=object)}, "member 'notes'"),
        ({"extra": np.zeros(3)}, "member 'extra'"),
    ],
)
def test_a_file_whose_parts_do_not_fit_is_refused_with_the_part(tmp_path, changes, message):
    with pytest.raises(FormatError, match=message):
        ps.load(_altered(tmp_path, **changes))


def _member(header, body=b""):
    """The bytes of an array with any header."""
    text = header.encode() + b" " * (-(len(header) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + body


@pytest.mark.parametrize(
    "header",
    [
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000, 1000000, 4), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (-1, -1, 4), }",
        "{'descr': '<U0', 'fortran_order': False, 'shape': (1000000000000, 1, 1), }",
        "{'descr': '|O', 'fortran_order': False, 'shape': (1, 1, 1), }",
        "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1, 1, 1), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': 'abc', }",
        "__import__('os').system('false')",
        "(" * 3000,
        "\0" * 50,
    ],
)
def test_a_header_that_lies_costs_no_memory_and_runs_no_code(tmp_path, header):
    with zipfile.ZipFile(tmp_path / "bad.npz", "w") as archive:
        archive.writestr("rotations.npy", _member(header, b"\0" * 64))
    with pytest.raises(FormatError, match="member 'rotations'"):
        ps.load(tmp_path / "bad.npz")


def test_a_zip_bomb_is_refused_before_it_unpacks(tmp_path):
    with zipfile.ZipFile(tmp_path / "bomb.npz", "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        archive.writestr("rotations.npy", bytes(50_000_000))
    assert (tmp_path / "bomb.npz").stat().st_size < 100_000
    with pytest.raises(FormatError, match="compressed"):
        ps.load(tmp_path / "bomb.npz")


def test_a_member_may_not_be_there_twice(tmp_path):
    array = io.BytesIO()
    np.save(array, np.zeros(3))
    with zipfile.ZipFile(tmp_path / "bad.npz", "w") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("offsets.npy", _member("{'descr': '<f8', 'fortran_order': False, 'shape': (0, 3), }"))
        archive.writestr("offsets.npy", array.getvalue())
    with pytest.raises(FormatError, match="twice"):
        ps.load(tmp_path / "bad.npz")


@pytest.mark.parametrize("data", [b"", b"PK", b"PK\x05\x06" + bytes(18), b"\x93NUMPY", bytes(1000), b"HIERARCHY\n"])
def test_what_is_no_archive_is_refused(tmp_path, data):
    (tmp_path / "a.npz").write_bytes(data)
    with pytest.raises(FormatError):
        ps.load(tmp_path / "a.npz")


def test_a_motion_that_could_not_be_read_back_is_not_written(tmp_path):
    motion = random_motion(6)
    motion.pose.rotations[2, 3] = 0
    with pytest.raises(PosableError, match="no unit quaternions"):
        ps.save(motion, tmp_path / "a.npz")
    with pytest.raises(PosableError, match="code zero"):
        ps.save(random_motion(6).replace(name="a\0b"), tmp_path / "a.npz")
    assert not list(tmp_path.iterdir())
