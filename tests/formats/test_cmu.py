import csv
import shutil

import numpy as np
import pytest

import posable as ps
from posable.compute import FormatError
from posable.formats import cmu as repair
from posable.skeleton import Skeleton

from .example_motions import LITTLE_BVH

UNIT = 0.0254 / 0.45


@pytest.fixture
def alone(cmu, tmp_path, monkeypatch):
    """A clip in a folder of its own, with none of the data set's tables at hand."""
    monkeypatch.delenv("POSABLE_DATA", raising=False)

    def _alone(name, *, called=None):
        return shutil.copy(cmu / f"{name}.bvh", tmp_path / f"{called or name}.bvh")

    return _alone


def test_lost_bones_come_back_and_nothing_else_changes(cmu):
    plain = ps.load(cmu / "17_10.bvh", scale=UNIT)
    mended = ps.load(cmu / "17_10.bvh", repair="cmu")
    changed = {
        name
        for name, a, b in zip(plain.skeleton.names, plain.skeleton.offsets, mended.skeleton.offsets, strict=True)
        if (a != b).any()
    }
    assert changed == {"Neck", "LeftShoulder", "RightShoulder", "LeftFingerBase", "LThumb", "RightFingerBase", "RThumb"}
    assert (mended.pose.rotations == plain.pose.rotations).all()
    assert (mended.pose.translation == plain.pose.translation).all()
    assert len(mended) == len(plain) == 2784
    hand, finger = (mended.skeleton.offsets[mended.skeleton.index(n)] for n in ("RightHand", "RightFingerBase"))
    assert np.allclose(finger, hand / 2)


def test_every_clip_can_be_mended_and_says_what_was_done(cmu):
    with (cmu / "clips.csv").open(newline="") as file:
        rates = {row["clip"]: float(row["fps_true"]) for row in csv.DictReader(file)}
    for path in sorted(cmu.glob("*.bvh"))[::4]:
        motion = ps.load(path, repair="cmu", first_frame=1)
        assert motion.fps == rates[path.stem]
        notes = " ".join(motion.notes)
        assert "thorax" in notes and "wrist" in notes and "0.056444" in notes
        assert "T-pose" not in notes, "it was dropped"
        assert any("T-pose" in note for note in ps.load(path, repair="cmu").notes)
        assert ("header says 120" in notes) == (motion.fps == 60)
        thorax = np.linalg.norm(motion.skeleton.offsets[motion.skeleton.index("Neck")])
        assert 0.08 < thorax < 0.13


def test_the_estimate_is_near_the_true_thorax_of_every_known_subject(cmu, alone):
    with (cmu / "thorax.csv").open(newline="") as file:
        known = {int(row["subject"]): [float(row[c]) for c in "xyz"] for row in csv.DictReader(file)}
    errors = []
    seen = set()
    for path in sorted(cmu.glob("*.bvh"), key=lambda p: p.stat().st_size):
        subject = repair.subject_of(path)
        if subject in seen or subject not in known:
            continue
        seen.add(subject)
        motion = ps.load(alone(path.stem), repair="cmu")
        assert any("estimated" in note for note in motion.notes)
        estimate = motion.skeleton.offsets[motion.skeleton.index("Neck")]
        errors.append(np.linalg.norm(estimate - np.array(known[subject]) * UNIT))
    assert len(errors) > 20
    assert np.median(errors) < 0.004  # m; a thorax is 0.12 m long
    assert max(errors) < 0.012


def test_true_vectors_are_found_next_to_the_clip_and_in_the_data_folder(cmu, alone, tmp_path, monkeypatch):
    path = alone("09_01")
    with (cmu / "thorax.csv").open(newline="") as file:
        (true,) = ([float(row[c]) for c in "xyz"] for row in csv.DictReader(file) if int(row["subject"]) == 9)
    monkeypatch.setenv("POSABLE_DATA", str(cmu.parent))
    motion = ps.load(path, repair="cmu")
    assert np.allclose(motion.skeleton.offsets[motion.skeleton.index("Neck")], np.array(true) * UNIT)
    assert any("subject 9's own, by thorax.csv" in note for note in motion.notes)
    monkeypatch.delenv("POSABLE_DATA")
    (tmp_path / "thorax.csv").write_text("subject,x,y,z\n09,0,3,0\n")
    motion = ps.load(path, repair="cmu")
    assert np.allclose(motion.skeleton.offsets[motion.skeleton.index("Neck")], [0, 3 * UNIT, 0])


@pytest.mark.parametrize(
    "table", ["", "subject\n9\n", "subject,x,y,z\n9,nan,0,1\n", "x" * 200_000, "\0\0", "9,1,2,3\n"]
)
def test_a_broken_table_is_no_reason_to_fail(alone, tmp_path, table):
    path = alone("09_01")
    (tmp_path / "thorax.csv").write_text(table)
    (tmp_path / "clips.csv").write_bytes(b"\xff\xfe" + table.encode())
    assert any("estimated" in note for note in ps.load(path, repair="cmu").notes)


@pytest.mark.parametrize(
    ("called", "fps"), [("61_01", 60), ("139_2", 60), ("143_01", 60), ("01_03", 120), ("dance", 120)]
)
def test_without_tables_the_subject_in_the_name_tells_the_rate(alone, called, fps):
    motion = ps.load(alone("09_01", called=called), repair="cmu")
    assert motion.fps == fps
    assert any(f"{fps} frames a second" in note for note in motion.notes)


def test_scale_and_rate_can_still_be_told(alone):
    motion = ps.load(alone("09_01", called="61_01"), repair="cmu", scale=1.0, fps=120)
    assert motion.fps == 120
    assert np.linalg.norm(motion.skeleton.offsets[motion.skeleton.index("LeftLeg")]) > 5
    assert any("120 frames a second, as given" in note for note in motion.notes)
    assert any("one file unit is 1 m, as given" in note for note in motion.notes)


@pytest.mark.parametrize("scale", [1.0, 0.01])
def test_a_clip_that_somebody_changed_to_metres_is_mended_in_metres(cmu, tmp_path, scale):
    ps.save(ps.load(cmu / "09_01.bvh", scale=UNIT), tmp_path / "09_01.bvh", scale=scale)
    (tmp_path / "thorax.csv").write_bytes((cmu / "thorax.csv").read_bytes())
    mended, expected = ps.load(tmp_path / "09_01.bvh", repair="cmu"), ps.load(cmu / "09_01.bvh", repair="cmu")
    assert np.abs(mended.skeleton.offsets - expected.skeleton.offsets).max() < 1e-9
    assert any("metres already" in note or "0.01 m" in note for note in mended.notes)


def test_a_clip_in_a_unit_nobody_knows_asks_for_the_scale(cmu, tmp_path):
    path = tmp_path / "09_01.bvh"
    ps.save(ps.load(cmu / "09_01.bvh"), path, scale=0.01)
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0].strip(), *lines[1:]]))  # an editor that trims lines
    with pytest.raises(FormatError, match=r"a thigh of 7\d\d\.?\d* units .* give scale="):
        ps.load(path, repair="cmu")


def test_a_plain_load_trusts_the_file_but_says_what_it_is(cmu):
    motion = ps.load(cmu / "61_07.bvh")
    assert motion.fps == 120
    assert "repair='cmu'" in motion.notes[0]


def test_other_skeletons_are_refused_with_the_reason(tmp_path):
    path = tmp_path / "17_10.bvh"
    path.write_text(LITTLE_BVH)
    with pytest.raises(FormatError, match="no joint 'LHipJoint'"):
        ps.load(path, repair="cmu")


def test_a_clip_is_not_mended_twice(cmu, tmp_path):
    ps.save(ps.load(cmu / "09_01.bvh", repair="cmu"), tmp_path / "09_01.bvh")
    with pytest.raises(FormatError, match="'Neck' has an offset already"):
        ps.load(tmp_path / "09_01.bvh", repair="cmu")


def test_a_skeleton_of_the_right_names_but_another_shape_is_refused(cmu):
    skeleton = ps.load(cmu / "09_01.bvh").skeleton
    assert repair.is_conversion(skeleton)
    parents = skeleton.parents.copy()
    parents[skeleton.index("Head")] = skeleton.index("Neck")
    assert not repair.is_conversion(Skeleton(skeleton.names, parents, skeleton.offsets))
    assert not repair.is_conversion(Skeleton(skeleton.names, skeleton.parents, skeleton.offsets * 0))
