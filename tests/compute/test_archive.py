"""Archives of arrays: exact both ways, and anything else refused by name."""

import io
import zipfile

import numpy as np
import pytest

from posable.compute import FormatError
from posable.compute.archive import read_archive, write_archive

MEMBERS = {"numbers": ("<f8", 2), "bytes": ("|u1", 1), "words": ("U", 1), "one": ("<i8", 0)}
GOOD = {
    "numbers": np.arange(6.0).reshape(2, 3),
    "bytes": np.arange(5, dtype=np.uint8),
    "words": np.array(["a", "longer", ""]),
    "one": np.int64(7),
}
MOST = 100_000


@pytest.fixture
def file(tmp_path):
    write_archive(tmp_path / "good.npz", GOOD)
    return tmp_path / "good.npz"


def described(descr: str, shape: tuple[int, ...], body: bytes = b"") -> bytes:
    data = io.BytesIO()
    np.lib.format.write_array_header_1_0(data, {"descr": descr, "fortran_order": False, "shape": shape})
    return data.getvalue() + body


def test_what_is_written_is_read_and_numpy_reads_it_too(file):
    back = read_archive(file, MEMBERS, MOST)
    with np.load(file, allow_pickle=False) as archive:
        for name, array in GOOD.items():
            np.testing.assert_array_equal(back[name], array)
            np.testing.assert_array_equal(archive[name], array)
            assert back[name].dtype == np.asarray(array).dtype and back[name].flags.writeable


def test_the_same_arrays_make_the_same_bytes(file, tmp_path):
    write_archive(tmp_path / "again.npz", GOOD)
    assert (tmp_path / "again.npz").read_bytes() == file.read_bytes()


def test_arrays_turned_over_are_written_straight(tmp_path):
    write_archive(tmp_path / "a.npz", {"numbers": np.asfortranarray(GOOD["numbers"])})
    np.testing.assert_array_equal(read_archive(tmp_path / "a.npz", MEMBERS, MOST)["numbers"], GOOD["numbers"])


WRONG = {
    "one of ours": {"numbers": np.zeros((1, 1)), "more": np.zeros(1)},
    "'<f8'": {"numbers": np.zeros((2, 2), np.float32)},
    "2 axes": {"numbers": np.zeros(4)},
    "2 axes of": {"numbers": np.asfortranarray(np.arange(6.0).reshape(2, 3))},
    "not finite": {"numbers": np.full((1, 1), np.inf)},
    "kind object": {"words": np.array([{}], dtype=object)},
}


@pytest.mark.parametrize("says", WRONG)
def test_other_arrays_are_refused_by_name(tmp_path, says):
    np.savez(tmp_path / "bad.npz", **WRONG[says])
    with pytest.raises(FormatError, match=says) as told:
        read_archive(tmp_path / "bad.npz", MEMBERS, MOST)
    assert "bad.npz" in str(told.value) and "member" in str(told.value)


HOSTILE = {
    "more bytes than it has": described("<f8", (10**6, 10**6)),
    "fewer": described("<f8", (1, 1), b"\0" * 16),
    "a negative length": described("<f8", (-1, -1), b"\0" * 8),
    "no description": b"\x93NUMPY\x01\x00",
    "a later version": b"\x93NUMPY\x03\x00" + b"\0" * 50,
    "code for a description": b"\x93NUMPY\x01\x00\x20\x00" + b"__import__('os').getcwd()       ",
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_member_that_lies_about_itself_is_refused(tmp_path, what):
    with zipfile.ZipFile(tmp_path / "bad.npz", "w") as archive:
        archive.writestr("numbers.npy", HOSTILE[what])
    with pytest.raises(FormatError, match="numbers"):
        read_archive(tmp_path / "bad.npz", MEMBERS, MOST)


def test_text_without_width_or_of_no_characters_is_refused(tmp_path):
    for body in (described("<U0", (10**9,)), described("<U1", (1,), b"\0\xd8\0\0")):
        with zipfile.ZipFile(tmp_path / "bad.npz", "w") as archive:
            archive.writestr("words.npy", body)
        with pytest.raises(FormatError, match=r"bad\.npz"):
            read_archive(tmp_path / "bad.npz", MEMBERS, MOST)


def test_compressed_doubled_large_and_missing_files_are_refused(file, tmp_path):
    np.savez_compressed(tmp_path / "bad.npz", **GOOD)
    with pytest.raises(FormatError, match="compressed"):
        read_archive(tmp_path / "bad.npz", MEMBERS, MOST)
    with zipfile.ZipFile(file) as archive:
        data = archive.read("one.npy")
    with zipfile.ZipFile(tmp_path / "bad.npz", "w") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("one.npy", data)
        archive.writestr("one.npy", data)
    with pytest.raises(FormatError, match="twice"):
        read_archive(tmp_path / "bad.npz", MEMBERS, MOST)
    with pytest.raises(FormatError, match="files up to 10 are read"):
        read_archive(file, MEMBERS, 10)
    with pytest.raises(FormatError, match="no such file"):
        read_archive(tmp_path / "nowhere.npz", MEMBERS, MOST)


def test_damaged_files_are_read_or_refused_and_nothing_else(file, tmp_path):
    data = file.read_bytes()
    rng = np.random.default_rng(0)
    for case in range(300):
        broken = bytearray(data if case % 3 else data[: rng.integers(0, len(data))])
        for at in rng.integers(0, max(len(broken), 1), case % 7) if broken else ():
            broken[at] = rng.integers(0, 256)
        (tmp_path / "bad.npz").write_bytes(bytes(broken))
        try:
            back = read_archive(tmp_path / "bad.npz", MEMBERS, MOST)
        except FormatError:
            continue
        assert all(array.ndim == MEMBERS[name][1] for name, array in back.items())
