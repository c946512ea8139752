"""Keys: a pose at one frame that fades over the frames around, and edits that are muted."""

import numpy as np
import pytest

from posable import samples
from posable.body import figure
from posable.compute import PosableError
from posable.edit import KeyEdit, MotionEditor
from posable.edit.edit_list import load_edits, make_edits, save_edits
from posable.limb import Target

BODY = figure()
WALK = samples.walk(BODY)[:90]
PARTS = ("left_hand", "right_hand", "left_foot", "right_foot")


def positions(pose) -> np.ndarray:
    return BODY.skeleton.forward(pose).positions


def placed(frame: int, part: str, displacement: tuple[float, float, float]):
    """A pose with one hand or foot elsewhere, found by the exact solver of limbs."""
    target = positions(WALK[frame])[BODY.index(part)] + displacement
    return BODY.place(WALK[frame], part, Target(target), self_collision=False).pose


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("frame", [0, 45, 89])
def test_a_key_is_met_at_its_frame_and_leaves_far_frames_as_they_were_to_the_last_bit(part: str, frame: int):
    editor = MotionEditor(WALK, BODY)
    pose = placed(frame, part, (0.03, 0.12, 0.1))
    edit = editor.key(frame=frame, pose=pose, part=part, scope="limb", spread=0.3)
    assert edit.ok and "logs" not in vars(editor), "nothing is fitted for it"
    joint = BODY.index(part)
    assert np.linalg.norm(positions(editor.motion[frame])[joint] - positions(pose)[joint]) < 1e-3
    far = np.abs(np.arange(len(WALK)) - frame) > 0.3 * WALK.fps
    assert np.array_equal(editor.motion.pose.rotations[far], WALK.pose.rotations[far])
    assert np.array_equal(editor.motion.pose.translation[far], WALK.pose.translation[far])
    steps = np.diff(positions(editor.motion.pose)[:, joint], axis=0, n=2)
    before = np.diff(positions(WALK.pose)[:, joint], axis=0, n=2)
    assert np.abs(steps).max() < np.abs(before).max() + 0.01, "it comes and goes without a jump"


def test_a_whole_pose_is_taken_exactly_where_contacts_are_left_out():
    editor, neutral = MotionEditor(WALK, BODY), BODY.neutral_pose.replace(translation=WALK[45].translation)
    assert editor.key(frame=45, pose=neutral, contacts=False).ok
    assert np.abs(positions(editor.motion[45]) - positions(neutral)).max() < 1e-9


def test_a_limb_that_was_placed_leaves_the_rest_of_the_body_alone():
    editor = MotionEditor(WALK, BODY)
    editor.key(frame=45, pose=placed(45, "left_hand", (0.0, 0.2, 0.15)), part="left_hand", scope="limb")
    arm = {BODY.index(role) for role in ("left_upper_arm", "left_lower_arm", "left_hand")}
    others = [j for j in range(len(BODY.skeleton)) if j not in arm]
    assert np.array_equal(editor.motion.pose.rotations[:, others], WALK.pose.rotations[:, others])


def test_a_key_that_is_moved_does_there_what_it_did_here():
    editor = MotionEditor(WALK, BODY)
    edit = editor.key(frame=30, pose=placed(30, "left_hand", (0.0, 0.1, 0.1)), part="left_hand", spread=0.2)
    edit.move(60)
    assert edit.target_frames == (60,) and edit.rows.min() > 45
    assert np.array_equal(editor.motion.pose.rotations[:45], WALK.pose.rotations[:45])
    assert np.abs(editor.motion.pose.rotations[60] - WALK.pose.rotations[60]).max() > 0.02


def test_a_muted_edit_is_in_the_list_and_not_in_the_motion():
    editor = MotionEditor(WALK, BODY)
    first = editor.key(frame=30, pose=placed(30, "left_hand", (0.0, 0.1, 0.1)), part="left_hand", spread=0.2)
    alone = editor.motion
    second = editor.key(frame=60, pose=placed(60, "right_hand", (0.0, 0.1, 0.1)), part="right_hand", spread=0.2)
    both = editor.motion
    second.mute()
    assert editor.edits == (first, second) and np.array_equal(editor.motion.pose.rotations, alone.pose.rotations)
    first.mute()
    assert np.array_equal(editor.motion.pose.rotations, WALK.pose.rotations)
    snapshot = editor.snapshot
    for edit in (first, second):
        edit.mute(False)
    assert np.array_equal(editor.motion.pose.rotations, both.pose.rotations)
    editor.restore(snapshot)
    assert first.muted and second.muted and np.array_equal(editor.motion.pose.rotations, WALK.pose.rotations)


def test_keys_and_muted_edits_come_back_from_a_file(tmp_path):
    editor = MotionEditor(WALK, BODY)
    editor.key(frame=30, pose=placed(30, "left_foot", (0.0, 0.1, 0.1)), part="left_foot", scope="limb", spread=0.2)
    editor.key(frame=60, pose=placed(60, "right_hand", (0.0, 0.1, 0.1)), part="right_hand").mute()
    save_edits(editor.edits, tmp_path / "edits.json")
    again = MotionEditor(WALK, BODY)
    made = make_edits(again, load_edits(tmp_path / "edits.json"))
    assert [type(edit) for edit in made] == [KeyEdit, KeyEdit] and [edit.muted for edit in made] == [False, True]
    assert np.array_equal(again.motion.pose.rotations, editor.motion.pose.rotations)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "a pose or rotations"),
        ({"rotations": {"tail": (0, 0, 1)}}, "tail"),
        ({"rotations": {"neck": (0, 1)}}, "neck"),
        ({"rotations": {}, "part": "tail"}, "tail"),
        ({"rotations": {}, "frame": 900}, "frame 900"),
    ],
)
def test_a_key_that_makes_no_sense_is_refused_and_leaves_everything_as_it_was(settings, message):
    editor = MotionEditor(WALK, BODY)
    with pytest.raises(PosableError, match=message):
        editor.key(**{"frame": 10, **settings})
    assert editor.edits == () and editor.motion is WALK


def test_a_pose_alone_is_keyed_and_stays():
    editor = MotionEditor(WALK[30:31], BODY)
    pose = placed(30, "left_hand", (0.0, 0.2, 0.1))
    assert editor.key(frame=0, pose=pose, part="left_hand").ok
    assert np.allclose(editor.motion[0].rotations, pose.rotations, atol=1e-9)


@pytest.mark.parametrize("part", ["head", "hips", "chest", "left_lower_arm"])
def test_a_plain_drag_needs_no_weights_and_leaves_feet_where_they_stand(part: str):
    editor = MotionEditor(WALK, BODY)
    solution = editor.drag(frame=30, part=part, displacement=(0.0, -0.04, 0.03), mode="frozen", fitted=False)
    assert solution.ok and "logs" not in vars(editor)
    now, was = positions(solution.pose), positions(WALK[30])
    assert np.linalg.norm(now[BODY.index(part)] - was[BODY.index(part)] - (0.0, -0.04, 0.03)) < 1e-3
    standing = [c.part for c in editor.contacts if c.on == "ground" and c.first <= 30 <= c.last]
    for foot in standing:
        assert np.linalg.norm(now[BODY.index(foot)] - was[BODY.index(foot)]) < 2e-3
