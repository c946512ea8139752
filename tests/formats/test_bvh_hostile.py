"""BVH files that are broken or mean harm: one error with the place, at once, without filling memory."""

import tracemalloc

import numpy as np
import pytest

import posable as ps
from posable.compute import FormatError

from .example_motions import LITTLE_BVH

NUMBERS = "1 2 3 90 0 0 0 90 0 10 20 30"


@pytest.fixture
def refuse(tmp_path):
    """Assert that a text is refused with a message, using little memory."""

    def _refuse(text, message, most=20e6):
        path = tmp_path / "bad.bvh"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        tracemalloc.start()
        try:
            with pytest.raises(FormatError, match=message) as caught:
                ps.load(path)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert peak < most + 10 * path.stat().st_size
        assert len(str(caught.value)) < 600
        return caught.value

    return _refuse


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("Frames: 2", "Frames: 1000000000", "line 31: 'Frames: 1000000000' of 12 numbers do not fit"),
        ("Frames: 2", "Frames: 99999999999999999999999", "line 30: 'Frames:' must be followed by a whole number"),
        ("Frames: 2", "Frames: -1", "line 30: 'Frames:' must be followed by a whole number, not '-1'"),
        ("Frames: 2", "Frames: two", "line 30: .*not 'two'"),
        ("Frames: 2", "Frames: 3", "line 33: 'Frames:' says 3, the file has 2"),
        ("Frames: 2", "Frames: 1", "line 33: 'Frames:' says 1, the file has more than 1"),
        (NUMBERS, NUMBERS + " 40", "line 33: a frame has 12 numbers, this line more than 12"),
        (NUMBERS, NUMBERS[:-3], "line 33: a frame has 12 numbers, this line 11"),
        (NUMBERS, NUMBERS.replace("90 0 10", "90 nan 10"), "line 33: expected a finite number, found 'nan'"),
        (NUMBERS, NUMBERS.replace("90 0 10", "90 -inf 10"), "line 33: expected a finite number, found '-inf'"),
        (NUMBERS, NUMBERS.replace("90 0 10", "90 1,5 10"), "line 33: expected a finite number, found '1,5'"),
        (NUMBERS, NUMBERS.replace("90 0 10", "90 1e400 10"), "line 33: expected a finite number, found '1e400'"),
        ("HIERARCHY\n", "", "line 1: a BVH file begins with 'HIERARCHY', not 'ROOT'"),
        ("ROOT Hips", "JOINT Hips", "line 2: expected 'ROOT', found 'JOINT'"),
        ("OFFSET 0 0.5 0", "OFFSET 0 0.5", "line 9: expected a finite number, found 'CHANNELS'"),
        ("OFFSET 0 0.5 0", "OFFSET 0 inf 0", "line 8: expected a finite number, found 'inf'"),
        ("OFFSET 0 0.5 0", "OFFSET 0 1_0 0", "line 8: expected a finite number, found '1_0'"),
        ("\t\tOFFSET 0 0.5 0\n", "", "line 13: joint 'Chest' has no OFFSET"),
        ("CHANNELS 6", "CHANNELS 7", "line 6: unknown channel 'JOINT'"),
        ("CHANNELS 6", "CHANNELS 5", "line 5: expected OFFSET, .*found 'Yrotation'"),
        ("CHANNELS 6", "CHANNELS 999999999", "line 5: CHANNELS must be followed by a number up to"),
        (
            "Xrotation Yrotation Zrotation\n\t\tEnd",
            "Xrotation Yrotation Wrotation\n\t\tEnd",
            "line 9: unknown channel 'Wrotation'",
        ),
        ("6 Xposition Yposition", "6 Xposition Xposition", "line 5: joint 'Hips' has Xposition twice"),
        ("\t\tEnd Site\n", "\t\tCHANNELS 0\n\t\tEnd Site\n", "line 10: joint 'Chest' has CHANNELS twice"),
        ("End Site", "End Point", "line 10: expected 'Site' after 'End', found 'Point'"),
        ("\t\t\tOFFSET 0 0.25 0\n", "", "line 12: an End Site has one OFFSET, not '}'"),
        ("OFFSET 0 0.25 0\n", "OFFSET 0 0.25 0\n JOINT x\n", "line 13: expected '}' after the End Site's OFFSET"),
        ("JOINT Chest\n\t{", "JOINT Chest\n\t}", "line 7: a joint's name must be followed by '{'"),
        ("}\nMOTION", "}\n}\nMOTION", "line 29: expected 'MOTION'.*found '}' after the root"),
        ("}\nMOTION", "}\nROOT Second\n{\nOFFSET 0 0 0\n}\nMOTION", "line 29: .*found a second ROOT"),
        ("}\nMOTION", "MOTION", "line 28: the hierarchy ends where '}' was expected"),
        ("MOTION\n", "MOVES\n", "line 29: expected 'MOTION'.*found 'MOVES'"),
        ("Frame Time: 0.033333", "", "MOTION"),
        ("Hips", "Hi\0ps", "line 2: is not text"),
    ],
)
def test_each_fault_is_told_with_its_line(refuse, old, new, message):
    assert old in LITTLE_BVH
    refuse(LITTLE_BVH.replace(old, new, 1), message)


def test_a_file_cut_anywhere_is_refused_or_a_whole_motion(tmp_path):
    path = tmp_path / "cut.bvh"
    for length in range(1, len(LITTLE_BVH)):
        path.write_text(LITTLE_BVH[:length])
        try:
            motion = ps.load(path)
        except FormatError as error:
            assert error.location is not None
        else:
            # Only the last number can be cut without a trace, as "30" to "3".
            assert len(motion) == 2 and length >= len(LITTLE_BVH) - 2


@pytest.mark.parametrize(
    "data",
    [
        b"\n",
        b"HIERARCHY",
        "\ufeffHIERARCHY\nROOT".encode("utf-16-le"),
        bytes(range(256)) * 50,
        b"{" * 1000,
        b"PK\x03\x04" + bytes(200),
        b"MOTION\nFrames: 5\nFrame Time: 1\n",
        b"HIERARCHY ROOT " + b"x " * 10_000,
    ],
)
def test_rubbish_is_refused(refuse, data):
    refuse(data, "bad.bvh, line 1|bad.bvh, line 2")


def test_random_bytes_are_refused(refuse):
    rng = np.random.default_rng(1)
    for size in (1, 10, 1000, 100_000):
        refuse(rng.bytes(size), "line")


def test_a_million_braces_and_a_million_joints_are_refused_quickly(refuse):
    joint = "JOINT j\n{\nOFFSET 0 0 0\nCHANNELS 0\n"
    root = "HIERARCHY\n" + joint.replace("JOINT", "ROOT")
    refuse(root + joint * 50_000, "more than 10000 joints")
    refuse(root + "}" + "}" * 1_000_000, "ends|after the root")
    refuse(root + "End Site { OFFSET 0 0 0 }\n" * 50_000, "more than 10000 end sites")
    refuse(root + "JOINT " + "name " * 100_000, "must be followed by '{'")


def test_a_million_words_that_are_no_numbers_are_refused_at_the_first(refuse):
    head = "HIERARCHY\nROOT r\n{\nOFFSET 0 0 0\nCHANNELS 1 Xrotation\n}\nMOTION\nFrames: 1000001\nFrame Time: 1\n"
    refuse(head + "1e-300\n" + "x\n" * 1_000_000, "line 11: expected a finite number, found 'x'", most=40e6)


def test_few_channels_of_many_joints_cannot_be_blown_up(refuse):
    joint = "JOINT j%d\n{\nOFFSET 0 0 0\nCHANNELS 0\n}\n"
    head = (
        "HIERARCHY\nROOT r\n{\nOFFSET 0 0 0\nCHANNELS 1 Xrotation\n" + "".join(joint % k for k in range(9000)) + "}\n"
    )
    refuse(f"{head}MOTION\nFrames: 200000\nFrame Time: 1\n" + "0\n" * 200_000, "do not fit")


def test_frames_without_channels_cannot_be_blown_up(refuse):
    head = "HIERARCHY\nROOT r\n{\nOFFSET 0 0 0\nCHANNELS 0\n}\nMOTION\nFrames: %d\nFrame Time: 1\n"
    refuse(head % 10**12, "do not fit")
    refuse(head % 10**6, "do not fit")


def test_lengths_that_overflow_once_scaled_are_refused(tmp_path):
    path = tmp_path / "far.bvh"
    path.write_text(LITTLE_BVH.replace("1 2 3 90", "1e305 2 3 90"))
    assert np.isfinite(ps.load(path).pose.translation).all()
    with pytest.raises(FormatError, match="not finite once multiplied"):
        ps.load(path, scale=1e5)
    path.write_text(LITTLE_BVH.replace("OFFSET 0 0.25 0", "OFFSET 0 1e305 0"))
    with pytest.raises(FormatError, match="not finite once multiplied"):
        ps.load(path, scale=1e5)


def test_a_header_of_a_billion_frames_takes_no_memory(tmp_path):
    resource = pytest.importorskip("resource")  # not on every system
    path = tmp_path / "bad.bvh"
    path.write_text(LITTLE_BVH.replace("Frames: 2", "Frames: 1000000000"))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(FormatError):
        ps.load(path)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000  # KiB
