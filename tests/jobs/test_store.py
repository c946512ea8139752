"""What is kept, and what a damaged or hostile store can do."""

import io
import json
import math
import os
import pickle
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

import posable as ps
from posable.compute.archive import archive_bytes
from posable.jobs import run
from posable.jobs.store import read_result, result_bytes

from . import jobs
from .test_run import bits

ARRAYS = st.sampled_from(["<f8", "<f4", "<i8", "|u1", "|b1", "<c16", "<U3"]).flatmap(
    lambda kind: npst.arrays(kind, npst.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
)
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | ARRAYS
KEYS = st.text().filter(lambda name: not name.startswith("$"))
RESULTS = st.recursive(LEAVES, lambda part: st.lists(part, max_size=4) | st.dictionaries(KEYS, part, max_size=4))


@given(result=RESULTS)
def test_a_result_comes_back_with_the_same_bits(result, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "result.npz"
    path.write_bytes(result_bytes("who", result))
    identity, again = read_result(path)
    assert identity == "who" and bits(again) == bits(result)
    assert result_bytes("who", again) == path.read_bytes()


def test_what_json_does_not_know_comes_back_as_what_it_does(tmp_path: Path):
    path = tmp_path / "a.npz"
    given = (1, np.float32(0.1), np.int8(3), np.bool_(True), np.str_("x"), ps.Status.LIMITS, Path("a/b"))
    path.write_bytes(result_bytes("", given))
    again = read_result(path)[1]
    assert again == [1, float(np.float32(0.1)), 3, True, "x", 2, os.fspath(Path("a/b"))]
    assert [type(value) for value in again] == [int, float, int, bool, str, int, str]


@pytest.mark.parametrize(
    "result", [{1: 2}, {"$array": 0}, {1, 2}, b"bytes", object(), np.array([object()]), np.array(["2020"], "M8[Y]")]
)
def test_what_cannot_be_kept_is_refused(result):
    with pytest.raises(ps.PosableError, match=r"expected|keys are text"):
        result_bytes("", result)


def test_a_result_that_holds_itself_is_refused():
    loop: list = []
    loop.append(loop)
    with pytest.raises(ps.PosableError, match="nested"):
        result_bytes("", loop)


def one_file(tmp_path: Path) -> Path:
    (path,) = tmp_path.rglob("[!.]*.npz")
    return path


def about(**changed) -> bytes:
    text = {"format": "posable-result", "version": 1, "item": "[0, 2]", "result": 1.0} | changed
    return archive_bytes({"about": np.frombuffer(json.dumps(text).encode(), np.uint8)})


class Bomb:
    """Writes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return (Path.touch, (self.path,))


def zipped(name: str, data: bytes, how: int = zipfile.ZIP_STORED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", how) as archive:
        archive.writestr(name, data)
    return file.getvalue()


def test_a_damaged_or_foreign_file_is_made_again_and_nothing_in_it_is_run(tmp_path: Path):
    whole = run(jobs.drawn, [(0, 2)], store=tmp_path, workers=1)
    expected, path = bits(whole.results[0]), one_file(tmp_path)
    good, mark = path.read_bytes(), tmp_path / "exploded"
    pickled = io.BytesIO()
    np.save(pickled, np.array([Bomb(mark)], object), allow_pickle=True)
    flipped = bytearray(good)
    flipped[good.index(whole.results[0]["samples"].tobytes()) + 5] ^= 1
    deep = json.dumps(0.0).join(("[" * 100_000, "]" * 100_000)).encode()
    for bad in (
        b"",
        good[:-1],
        good[: len(good) // 2],
        bytes(flipped),
        pickle.dumps(Bomb(mark)),
        zipped("about.npy", pickled.getvalue()),
        zipped("about.npy", b"\x80" * 1000, zipfile.ZIP_DEFLATED),
        zipped("../../evil.npy", pickled.getvalue()),
        archive_bytes({"about": np.frombuffer(deep, np.uint8)}),
        archive_bytes({"about": np.zeros(3)}),
        archive_bytes({}),
        about(item="[0, 3]"),
        about(item=3),
        about(version=2),
        about(format="other"),
        about(result={"$array": 0}),
        about(result={"$array": [1]}),
    ):
        path.write_bytes(bad)
        report = run(jobs.drawn, [(0, 2)], store=tmp_path, workers=1)
        assert report.computed == 1 and bits(report.results[0]) == expected
        assert path.read_bytes() == good
    assert not mark.exists()
    path.unlink()
    path.mkdir()
    with pytest.raises(ps.PosableError, match="folder"):
        run(jobs.drawn, [(0, 2)], store=tmp_path, workers=1)


def test_every_file_cut_short_or_scrambled_is_seen(tmp_path: Path):
    path = tmp_path / "a.npz"
    good = result_bytes("who", {"a": np.arange(3.0), "b": math.pi})
    rng = np.random.default_rng(5)
    for _ in range(500):
        data = bytearray(good)
        if rng.random() < 0.5:
            data = data[: rng.integers(len(good))]
        else:
            data[rng.integers(len(good))] ^= 1 << rng.integers(8)
        path.write_bytes(bytes(data))
        try:
            identity, again = read_result(path)
        except ps.FormatError:
            continue
        # What a zip file does not sum (dates, attributes) may change; what it carries may not.
        assert identity == "who" and bits(again) == bits({"a": np.arange(3.0), "b": math.pi})


def test_half_files_of_killed_runs_are_removed_when_they_are_old(tmp_path: Path):
    run(jobs.drawn, [(0, 2)], store=tmp_path, workers=1)
    folder = one_file(tmp_path).parent
    old, new = folder / ".old.abc.npz", folder / ".new.abc.npz"
    for path in (old, new):
        path.write_bytes(b"half")
    os.utime(old, (time.time() - 7200,) * 2)
    run(jobs.drawn, [(0, 2)], store=tmp_path, workers=1)
    assert new.exists() and not old.exists()
