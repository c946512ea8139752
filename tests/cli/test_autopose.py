"""`posable autopose` as a person meets it."""

import json
from pathlib import Path

import numpy as np
import pytest

import posable as ps


def part(motion: ps.Motion, role: str) -> np.ndarray:
    """(3,) where a part of the only body is."""
    body = ps.Humanoid(motion.skeleton)
    return body.skeleton.forward(motion.pose).positions[0, body.index(role)]


def test_it_has_help_with_an_example(posable):
    code, out, _ = posable("autopose", "--help")
    assert code == 0 and "Usage" in out and "Example: posable autopose" in out


@pytest.mark.parametrize("suffix", [".npz", ".bvh", ".glb"])
def test_parts_are_where_they_were_put_in_the_file_written(posable, tmp_path: Path, suffix: str):
    file = tmp_path / f"crouch{suffix}"
    code, out, _ = posable(
        *("autopose", file, "--to", "right_hand=-0.2,1.1,0.45", "--by", "head=0,-0.3,0.1", "--json", "-")
    )
    found = json.loads(out)
    assert code == 0 and found["met"] and found["status"] == "reached" and found["frames"] == 1
    assert set(found["planted"]) == {"left_foot", "right_foot"} and len(found["parts"]) == 2
    motion, body = ps.load(file), ps.figure()
    near = {".npz": 1e-6, ".bvh": 1e-4, ".glb": 1e-4}[suffix]  # what each format stores of a number
    assert np.linalg.norm(part(motion, "right_hand") - [-0.2, 1.1, 0.45]) < near
    was = body.skeleton.forward(body.neutral_pose).positions[body.index("head")]
    assert np.linalg.norm(part(motion, "head") - was - [0.0, -0.3, 0.1]) < near


def test_a_frame_of_a_motion_is_posed_on_its_body_and_what_is_left_out_is_released(posable, tmp_path: Path):
    walk, out_file = tmp_path / "walk.bvh", tmp_path / "posed.npz"
    motion = ps.samples.walk()
    ps.save(motion, walk)
    code, _, _ = posable("autopose", out_file, "--start", walk, "--frame", 30, "--by", "left_hand=0,0,0")
    assert code == 0
    now = ps.load(out_file)
    there = motion.skeleton.forward(motion[30]).positions
    found = now.skeleton.forward(now[0]).positions
    assert np.linalg.norm(found - there, axis=-1).max() < 2e-3  # nothing was moved


def test_an_orientation_goes_with_the_position(posable, tmp_path: Path):
    file = tmp_path / "palm.npz"
    code, out, _ = posable("autopose", file, "--to", "right_hand=-0.2,1.1,0.4,0.8253,-0.5646,0,0", "--json", "-")
    row = json.loads(out)["parts"][0]
    assert code == 0 and row["away_mm"] < 1e-3 and row["off_degrees"] < 1e-4


def test_what_cannot_be_met_is_said_and_strict_fails(posable, tmp_path: Path):
    words = ("--to", "hips=0,0.9,0", "--to", "left_hand=3,1,0", "--strict")
    code, out, _ = posable("autopose", tmp_path / "far.npz", *words)
    assert code == 3 and "off" in out and (tmp_path / "far.npz").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "nothing to pose"),
        (("--to", "head"), "PART=X,Y,Z"),
        (("--to", "nose=0,1,0"), "nose"),
        (("--to", "head=0,1"), "expected x,y,z"),
        (("--to", "head=0,nan,1"), "expected x,y,z"),
        (("--to", "head=0,1,0", "--by", "head=0,1,0"), "already"),
        (("--by", "head=0,0,0,1,0,0,0"), "--to"),
        (("--to", "head=0,160,0"), "head=0,160,0"),
        (("--by", "head=0,0,0", "--frame", "3"), "--start"),
    ],
)
def test_wrong_command_lines_say_what_is_expected_and_write_nothing(posable, tmp_path: Path, words, said):
    file = tmp_path / "out.npz"
    code, _, error = posable("autopose", file, *words)
    assert code in (1, 2) and said in error and not file.exists()
