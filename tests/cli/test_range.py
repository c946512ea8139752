"""`posable range` as a person meets it."""

import json
from pathlib import Path

import numpy as np
import pytest

import posable as ps
from posable.body import Humanoid


@pytest.fixture
def clips(tmp_path: Path) -> Path:
    folder = tmp_path / "clips"
    folder.mkdir()
    ps.save(ps.samples.dance(), folder / "dance.bvh")
    ps.save(ps.samples.reach(), folder / "reach.bvh")
    (folder / "notes.txt").write_text("not a motion")
    return folder


@pytest.mark.parametrize("command", ["fit", "show", "check", "correct"])
def test_every_command_has_help_with_an_example(posable, command: str):
    code, out, _ = posable("range", command, "--help")
    assert code == 0 and "Usage" in out and "Example: posable range" in out


def test_a_range_is_fitted_shown_and_used_to_check(posable, clips: Path, tmp_path: Path):
    file = tmp_path / "arm.npz"
    code, out, _ = posable("range", "fit", clips, file, "--json", "-", "--min-count", 1)
    assert code == 0
    told = json.loads(out)
    assert told["limb"] == "right_arm" and len(told["sources"]) == 2 and told["bytes"] == file.stat().st_size
    code, out, _ = posable("range", "show", file, "--verbose")
    assert code == 0 and "dance" in out and "right_arm" in out
    code, out, _ = posable("range", "check", file, clips / "dance.bvh", "--json", "-")
    assert code == 0
    (row,) = json.loads(out)["files"]
    assert row["frames"] == len(ps.samples.dance()) and row["percent"] < 3.0


def test_a_compact_range_is_smaller(posable, clips: Path, tmp_path: Path):
    code, _, _ = posable(
        "range", "fit", clips / "dance.bvh", tmp_path / "leg.npz", "--limb", "left_leg", "--harmonics", 3
    )
    assert code == 0
    assert (tmp_path / "leg.npz").stat().st_size < 1700
    assert ps.LimbRange.load(tmp_path / "leg.npz").name == "left_leg"


def test_a_range_is_drawn(posable, tmp_path: Path):
    pytest.importorskip("matplotlib")
    code, _, _ = posable("range", "show", "left_leg", "--picture", tmp_path / "leg.png")
    assert code == 0
    assert (tmp_path / "leg.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("options", [[], ["--smooth"], ["--margin", 3]])
def test_a_corrected_motion_is_inside(posable, clips: Path, tmp_path: Path, options: list):
    """A dance with the elbow turned inside out comes back."""
    motion = ps.load(clips / "dance.bvh")
    body = Humanoid(motion.skeleton)
    arm = body.limb("right_arm", limits=None)
    reading = arm.read(motion.pose)
    turned = arm.solve(reading.position, reading.orientation, swivel=reading.swivel + np.pi)
    wrong, right = tmp_path / "wrong.bvh", tmp_path / "right.bvh"
    ps.save(motion.replace(pose=arm.pose(motion.pose, turned.values)), wrong)
    code, out, _ = posable("range", "check", "right_arm", wrong, "--json", "-")
    before = json.loads(out)["files"][0]["outside"]
    assert code == 0 and before > 0.5 * len(motion)
    code, out, _ = posable("range", "correct", "right_arm", wrong, right, "--json", "-", *options)
    assert code == 0
    assert json.loads(out)["frames_changed"] >= before
    found, back = ps.LimbRange.builtin("right_arm"), ps.load(right)
    limb = Humanoid(back.skeleton).limb("right_arm", limits=None)
    reading = limb.read(back.pose)
    margins = found.for_limb(limb).margins(reading.position, reading.swivel)
    # BVH keeps six digits of angles
    assert min(margins.direction.min(), margins.distance.min(), margins.swivel.min()) > -1e-4


def test_a_corrected_motion_keeps_its_limits_when_asked(posable, tmp_path: Path):
    """A dance with the elbow turned inside out and the hand twisted: inside the limits after it, where it was not."""
    motion = ps.samples.dance()
    arm = Humanoid(motion.skeleton).limb("right_arm", limits=None)
    values = arm.read(motion.pose).values + np.array([0.0, 0.0, 0.9, 0.0, 0.0, 1.2, -0.9])
    wrong = motion.replace(pose=arm.pose(motion.pose, values))
    ps.save(wrong, tmp_path / "wrong.npz")
    outside, told = {}, {}
    for name, options in (("free", []), ("limited", ["--limits"])):
        code, out, _ = posable(
            "range", "correct", "right_arm", tmp_path / "wrong.npz", tmp_path / f"{name}.npz", "--json", "-", *options
        )
        assert code == 0
        told[name] = json.loads(out)
        outside[name] = out_of_limits(ps.load(tmp_path / f"{name}.npz"))
    assert outside["free"].sum() > 0.3 * len(motion) and not outside["limited"].any()
    assert "limits_changed" not in told["free"]
    assert told["limited"]["frames_changed"] >= told["limited"]["limits_changed"] > 0
    assert told["limited"]["left_outside"] < 0.5 * len(motion)


def out_of_limits(motion: ps.Motion) -> np.ndarray:
    """(F,): frames in which a joint of the right arm is outside its limits by more than rounding."""
    body = Humanoid(motion.skeleton)
    posture = body.canonical(motion.pose)
    bad = np.zeros(len(motion), np.bool_)
    for role in ("right_upper_arm", "right_lower_arm", "right_hand"):
        turned = posture.rotations[:, posture.roles.index(role)]
        moved = body.limits.clamp([role], turned[:, None])[:, 0]
        bad |= np.abs((turned * moved).sum(-1)) < np.cos(0.5e-6)
    return bad


def test_a_motion_that_is_inside_everywhere_is_written_as_it_was(posable, tmp_path: Path):
    source, output = tmp_path / "walk.npz", tmp_path / "inside.npz"
    ps.save(ps.samples.walk(duration=0.5), source)
    code, out, _ = posable("range", "correct", "right_arm", source, output, "--json", "-")
    assert code == 0 and json.loads(out)["frames_changed"] == 0
    np.testing.assert_array_equal(ps.load(output).pose.rotations, ps.load(source).pose.rotations)


def test_mistakes_are_told_in_one_line(posable, tmp_path: Path):
    for args, says in (
        (["show", "right_hand"], "did you mean 'right_arm'"),
        (["fit", tmp_path, tmp_path / "x.npz"], "no motions"),
        (["check", "right_arm", tmp_path / "nowhere.bvh"], "no such file"),
    ):
        code, _, err = posable("range", *args)
        assert code == (2 if "did you mean" in says else 1) and says in err and err.count("\n") == 1
