"""Edits over time: they fade, add up, can be changed and removed, and leave contacts and other frames alone."""

import numpy as np
import pytest

import posable as ps
import posable.math as pm
from posable import Status
from posable.edit.bounds import clip_boxes
from posable.edit.contacts import Contact, find_contacts
from posable.edit.edits import EASES, bell
from posable.edit.repair import ramp

from .conftest import excess, stiffer


def fresh(case, **options):
    made = ps.MotionEditor(case.motion, case.body, **options)
    made.logs = case.editor.logs
    return made


def peak_acceleration(motion):
    positions = motion.skeleton.forward(motion.pose).positions
    return np.linalg.norm(np.diff(positions, 2, axis=0), axis=-1).max() * motion.fps**2


@pytest.mark.parametrize("displacement", [(0.0, 0.12, 0.16), (0.2, 0.0, 0.0), (0.0, -0.2, 0.0)])
def test_an_edit_reaches_its_target_keeps_contacts_and_does_not_jerk(case, displacement):
    editor, frame = fresh(case), len(case.motion) // 2
    target = case.positions_of("left_hand")[frame] + displacement
    edit = editor.edit(frame=frame, part="left_hand", target=target, spread=0.5)
    assert edit.status is Status.REACHED and edit.ok and edit.position_error <= 1e-3
    np.testing.assert_allclose(case.positions_of("left_hand", editor.motion)[frame], target, atol=1e-3)
    assert edit.slid <= 5e-4
    for contact in editor.contacts:
        if contact.on == "ground":
            down = slice(contact.first, contact.last + 1)
            moved = case.positions_of(contact.part, editor.motion)[down] - case.positions_of(contact.part)[down]
            assert np.linalg.norm(moved, axis=-1).max() <= 5e-4
    assert peak_acceleration(editor.motion) <= 1.5 * peak_acceleration(case.motion)


@pytest.mark.parametrize("part", ["left_hand", "right_hand", "head", "hips"])
def test_edits_at_any_frame_reach_their_targets_keep_contacts_and_do_not_jerk(case, part):
    """The first and the last frame among them, which have a change on one side only."""
    last = len(case.motion) - 1
    calm, before = 1.5 * peak_acceleration(case.motion), case.positions_of(part)
    displacement = np.array([0.08, -0.05, 0.0]) * (0.5 if part == "hips" else 1.0)
    for frame in (0, last // 4, 3 * last // 4, last):
        editor = fresh(case)
        edit = editor.edit(frame=frame, part=part, displacement=displacement, spread=0.5)
        moved = case.positions_of(part, editor.motion) - before
        assert edit.ok and np.linalg.norm(moved[frame] - displacement) <= 1e-3, frame
        assert edit.position_error == pytest.approx(np.linalg.norm(moved[frame] - displacement), abs=1e-9)
        outside = np.abs(np.arange(last + 1) - frame) >= 0.5 * case.motion.fps
        assert not moved[outside].any() and moved[~outside].any(axis=1).mean() > 0.9
        assert peak_acceleration(editor.motion) <= calm, frame
        for contact in editor.contacts:
            if contact.on == "ground":
                down = slice(contact.first, contact.last + 1)
                slid = case.positions_of(contact.part, editor.motion)[down] - case.positions_of(contact.part)[down]
                assert np.linalg.norm(slid, axis=-1).max() <= 1e-3, (frame, contact)


@pytest.mark.parametrize("limits", ["clip", "body", ("clip", "body")])
def test_frames_around_an_edit_stay_inside_the_limits_too(case, limits):
    editor = fresh(case, limits=limits)
    edit = editor.edit(frame=len(case.motion) // 2, part="left_hand", displacement=(0.25, 0.25, 0.0), spread=0.5)
    assert edit.ok and edit.slid <= 5e-4 and np.isin(edit.limited, edit.rows).all()
    assert peak_acceleration(editor.motion) <= 1.5 * peak_acceleration(case.motion)
    if "body" in limits:
        before, after = (excess(case.body, case.body.limits, m.pose) for m in (case.motion, editor.motion))
        assert (after <= before + 1e-6).all()
    if "clip" in limits:
        for box in clip_boxes(case.clip):
            vectors = pm.log(pm.multiply(pm.conjugate(box["reference"]), editor.motion.pose.rotations[:, box["joint"]]))
            assert (vectors >= box["low"] - 1e-6).all() and (vectors <= box["high"] + 1e-6).all()


def test_contacts_that_limits_do_not_allow_are_measured(pitch):
    stiff = stiffer(pitch.body.limits)  # legs so much longer must bend more for their feet to stay
    editor = fresh(pitch, limits=stiff)
    bones = {f"{side}_{part}": 1.3 for side in ("left", "right") for part in ("lower_leg", "foot")}
    edit = editor.stretch(bones, frame=40, spread=0.3)
    before, after = (excess(pitch.body, stiff, m.pose) for m in (pitch.motion, editor.motion))
    assert (after <= before + 1e-6).all() and len(edit.limited)


def test_a_stretch_whose_feet_do_not_stay_is_not_reached(pitch):
    for factor in (1.05, 5.0):  # legs of several metres take the feet from the ground
        editor = fresh(pitch)
        edit = editor.stretch({"left_foot": factor, "left_lower_leg": factor}, frame=40, spread=0.3)
        slid = 0.0
        for contact in editor.contacts:
            if contact.on == "ground":
                moved = (
                    pitch.positions_of(contact.part, m)[contact.first : contact.last + 1]
                    for m in (pitch.motion, editor.motion)
                )
                slid = max(slid, np.linalg.norm(np.subtract(*moved), axis=-1).max())
        assert edit.ok == (slid <= 1e-3) == (factor < 2.0) and edit.slid == pytest.approx(slid, abs=1e-9)


def test_frames_around_an_edit_stay_in_a_learned_range(case):
    known = ps.LimbRange.builtin("left_arm")
    editor = fresh(case, limits=("clip", known))
    editor.edit(frame=len(case.motion) // 2, part="left_hand", displacement=(0.25, 0.25, 0.0), spread=0.5)
    arm = case.body.limb("left_arm", limits=None)
    (began, ended), fitting = (arm.read(m.pose) for m in (case.motion, editor.motion)), known.for_limb(arm)
    inside = fitting.contains(began.position, began.swivel)
    assert inside.any() and fitting.contains(ended.position, ended.swivel)[inside].all()


def test_frames_outside_the_window_keep_every_bit(case):
    editor = fresh(case)
    edit = editor.edit(frame=30, part="left_hand", displacement=(0.0, 0.1, 0.1), spread=0.2)
    outside = np.abs(np.arange(len(case.motion)) - 30) >= 0.2 * case.motion.fps
    assert set(edit.rows) == set(np.flatnonzero(~outside))
    np.testing.assert_array_equal(editor.motion.pose.rotations[outside], case.motion.pose.rotations[outside])
    np.testing.assert_array_equal(editor.motion.pose.translation[outside], case.motion.pose.translation[outside])


def test_an_edit_of_nothing_changes_no_bit(pitch):
    editor = fresh(pitch)
    edit = editor.edit(frame=30, part="left_hand", displacement=(0.0, 0.0, 0.0))
    np.testing.assert_array_equal(editor.motion.pose.rotations, pitch.motion.pose.rotations)
    assert edit.ok and len(edit.rows) == 0


def test_edits_add_up_and_are_changed_and_removed_one_by_one(pitch):
    editor = fresh(pitch)
    start = pitch.positions_of("left_hand")[20]
    first = editor.edit(frame=20, part="left_hand", target=start + np.array([0.0, 0.1, 0.0]), spread=0.3)
    alone = editor.motion
    second = editor.edit(frame=30, part="right_hand", displacement=(0.0, 0.0, 0.1), spread=0.3)
    both = editor.motion
    assert len(editor.edits) == 2 and first.ok and second.ok
    second.remove()
    np.testing.assert_array_equal(editor.motion.pose.rotations, alone.pose.rotations)
    second = editor.edit(frame=30, part="right_hand", displacement=(0.0, 0.0, 0.1), spread=0.3)
    np.testing.assert_array_equal(editor.motion.pose.rotations, both.pose.rotations)
    first.change(target=start + np.array([0.0, 0.15, 0.0]))
    assert first.ok and second.ok
    first.change(frame=22, spread=0.2)
    np.testing.assert_allclose(first.settings["frame"], 22)
    first.remove()
    only = fresh(pitch)
    only.edit(frame=30, part="right_hand", displacement=(0.0, 0.0, 0.1), spread=0.3)
    np.testing.assert_array_equal(editor.motion.pose.rotations, only.motion.pose.rotations)
    with pytest.raises(ps.PosableError, match="was removed"):
        first.change(spread=0.1)
    editor.clear()
    assert editor.motion is pitch.motion and editor.edits == ()


def test_edits_moved_in_time_displace_their_parts_as_much_there(pitch):
    hand, displacement = pitch.positions_of("left_hand"), np.array([0.0, 0.05, 0.02])
    edit = fresh(pitch).edit(frame=30, part="left_hand", target=hand[30] + displacement, spread=0.2)
    edit.move(40, spread=0.3)
    assert edit.target_frames == (40,) and edit.settings["spread"] == 0.3 and edit.ok
    np.testing.assert_allclose(edit.settings["target"], hand[40] + displacement, atol=1e-12)
    edit.move(10_000)
    assert edit.target_frames == (len(pitch.motion) - 1,), "it stays in the motion"
    warp = fresh(pitch).warp([(frame, "left_hand", hand[frame] + displacement) for frame in (20, 30)], spread=0.2)
    warp.move(25)
    assert warp.target_frames == (25, 35)
    for frame, _, target in warp.settings["constraints"]:
        np.testing.assert_allclose(target, hand[frame] + displacement, atol=1e-12)


def test_mobility_is_between_0_and_1_at_every_frame(pitch):
    mobility = fresh(pitch).mobility
    assert mobility.shape == (len(pitch.motion), len(pitch.body.skeleton))
    np.testing.assert_array_equal(np.nanmin(mobility, axis=1), 0.0)
    np.testing.assert_allclose(np.nanmax(mobility, axis=1), 1.0)


def test_edits_of_a_snapshot_come_back_to_the_last_bit(pitch):
    editor = fresh(pitch)
    first = editor.edit(frame=40, part="left_hand", displacement=(0.0, 0.05, 0.0), spread=0.2)
    second = editor.edit(frame=60, part="head", displacement=(0.02, 0.0, 0.0), spread=0.2)
    before, motion, rows = editor.snapshot, editor.motion, first.rows
    first.change(frame=45, spread=0.1)
    second.remove()
    editor.restore(before)
    assert editor.edits == (first, second) and editor.motion is motion
    assert first.settings["frame"] == 40 and np.array_equal(first.rows, rows)
    second.remove()
    assert editor.edits == (first,), "what came back belongs to its editor again"
    with pytest.raises(ps.PosableError, match="another motion"):
        ps.MotionEditor(pitch.motion[:30], pitch.body).restore(before)


def test_a_change_that_fails_leaves_the_edit_as_it_was(pitch):
    editor = fresh(pitch)
    edit = editor.edit(frame=30, part="left_hand", displacement=(0.0, 0.05, 0.0))
    before = editor.motion
    for wrong in ({"frame": 1000}, {"spread": -1.0}, {"ease": "soft"}, {"colour": 1}, {"part": "tail"}):
        with pytest.raises(ps.PosableError):
            edit.change(**wrong)
    assert editor.motion is before and edit.settings["part"] == "left_hand"
    with pytest.raises(ps.PosableError, match="frames"):
        editor.edit(frame=30, part="left_hand", displacement=(0.0, 0.05, 0.0), frames=(40, 50))
    assert editor.motion is before and len(editor.edits) == 1


def test_a_frame_range_and_an_ease_say_how_an_edit_fades(pitch):
    editor = fresh(pitch)
    edit = editor.edit(frame=30, part="left_hand", displacement=(0.0, 0.05, 0.0), frames=(20, 60), ease="smooth")
    assert edit.rows.min() >= 20 and edit.rows.max() <= 60
    for ease in EASES:
        curve = bell(100, 60.0, 50, 0.5, ease)
        assert curve[50] == 1.0 and curve[20] == curve[80] == 0.0
        assert (np.diff(curve[20:51]) > 0).all() and (np.diff(curve[50:81]) < 0).all()
        np.testing.assert_allclose(curve[20:51], curve[80:49:-1], atol=1e-12)
    assert bell(9, 60.0, 3, 0.0).tolist() == [0, 0, 0, 1, 0, 0, 0, 0, 0]


def test_a_dragged_foot_leaves_the_ground_and_the_other_stays(pitch):
    editor = fresh(pitch)
    contact = next(c for c in editor.contacts if c.part == "right_foot")
    frame = (contact.first + contact.last) // 2
    edit = editor.edit(frame=frame, part="right_foot", displacement=(0.0, 0.1, 0.0), spread=0.2)
    rise = pitch.positions_of("right_foot", editor.motion)[frame] - pitch.positions_of("right_foot")[frame]
    np.testing.assert_allclose(rise, (0.0, 0.1, 0.0), atol=2e-3)
    assert edit.ok


def test_feet_are_found_on_the_ground_of_a_walk_with_known_steps():
    body = ps.figure()
    walk = ps.samples.walk(body)
    clip = ps.MotionEditor(walk, body).clip
    found = find_contacts(clip)
    assert {c.part for c in found} == {"left_foot", "right_foot", "left_toes", "right_toes"}, "hands touch nothing"
    heights = body.skeleton.forward(walk.pose).positions[:, :, 1]
    for contact in found:
        foot = heights[contact.first : contact.last + 1, body.roles[contact.part]]
        assert foot.max() < heights[:, body.roles[contact.part]].min() + 0.12
    down = np.zeros(len(walk), bool)
    for contact in found:
        down[contact.first : contact.last + 1] = True
    assert down.mean() > 0.6  # somebody who walks has a foot on the ground


def hands_together(body, frames=40):
    """A still figure with its palms before its chest."""
    pose = body.neutral_pose
    for side, x in (("left", 0.045), ("right", -0.045)):
        pose = body.place(pose, f"{side}_hand", ps.Target((x, 1.15, 0.32))).pose
    sway = 0.02 * np.sin(np.linspace(0.0, 3.0, frames))
    translation = pose.translation + np.stack([sway, 0 * sway, 0 * sway], axis=1)
    return ps.Motion(body.skeleton, ps.Pose(translation, np.tile(pose.rotations, (frames, 1, 1))), 60.0)


def test_a_hand_that_rests_on_the_other_follows_it():
    body = ps.figure()
    motion = hands_together(body)
    contact = Contact("right_hand", "left_hand", 0, len(motion) - 1)
    editor = ps.MotionEditor(motion, body, limits=None, weights="identity", contacts=[contact])
    edit = editor.edit(frame=20, part="left_hand", displacement=(0.0, 0.08, 0.05), spread=0.2)
    assert edit.ok

    def seen(poses):
        frames = body.skeleton.forward(poses)
        left, right = (frames.positions[:, body.roles[f"{side}_hand"]] for side in ("left", "right"))
        return np.linalg.norm(right - left, axis=-1)

    np.testing.assert_allclose(seen(editor.motion.pose), seen(motion.pose), atol=2e-3)


def test_hands_that_touch_are_found():
    body = ps.figure()
    clip = ps.MotionEditor(hands_together(body), body).clip
    pairs = {frozenset((c.part, c.on)) for c in find_contacts(clip)}
    assert frozenset(("left_hand", "right_hand")) in pairs


def test_a_contacts_hold_grows_and_fades():
    inside = (np.arange(40) >= 10) & (np.arange(40) <= 20)
    weights = ramp(inside, 6.0)
    assert (weights[10:21] == 1.0).all() and weights[2] == weights[30] == 0.0
    assert (np.diff(weights[3:11]) > 0.0).all() and (np.diff(weights[20:28]) < 0.0).all()


def test_a_warp_puts_several_parts_at_several_frames(case):
    editor = fresh(case)
    ends = [(20, "left_hand", (0.0, 0.08, 0.0)), (20, "right_hand", (0.0, 0.0, 0.06)), (45, "left_hand", (0.06, 0, 0))]
    constraints = [(frame, part, case.positions_of(part)[frame] + displacement) for frame, part, displacement in ends]
    warp = editor.warp(constraints, spread=0.3)
    assert warp.ok and (warp.position_error <= 1e-3).all() and warp.slid <= 5e-4
    for frame, part, target in constraints:
        np.testing.assert_allclose(case.positions_of(part, editor.motion)[frame], target, atol=1e-3)
    untouched = np.setdiff1d(np.arange(len(case.motion)), warp.rows)
    np.testing.assert_array_equal(editor.motion.pose.rotations[untouched], case.motion.pose.rotations[untouched])
    warp.remove()
    assert editor.motion is case.motion


def test_a_warp_lets_go_between_keys_that_are_far_apart(pitch):
    editor = fresh(pitch)
    constraints = [(f, "left_hand", pitch.positions_of("left_hand")[f] + (0.0, 0.05, 0.0)) for f in (15, 80)]
    warp = editor.warp(constraints, spread=0.2)
    assert warp.ok and 48 not in warp.rows
    with pytest.raises(ps.PosableError, match="at least one"):
        editor.warp([])


def test_bones_can_change_their_length_for_a_while_and_feet_stay(pitch):
    editor = fresh(pitch)
    edit = editor.stretch({"left_lower_arm": 1.5, "left_hand": 1.5, "left_lower_leg": 1.1}, frame=40, spread=0.3)
    frames = pitch.body.skeleton.forward(editor.motion.pose)
    upper = (
        frames.positions[:, pitch.body.roles["left_lower_arm"]]
        - frames.positions[:, pitch.body.roles["left_upper_arm"]]
    )
    lengths = np.linalg.norm(upper, axis=1)
    assert lengths[40] == pytest.approx(1.5 * lengths[0], rel=1e-9) and lengths.max() == lengths[40]
    assert edit.slid <= 5e-4
    outside = np.setdiff1d(np.arange(len(pitch.motion)), edit.rows)
    np.testing.assert_array_equal(editor.motion.pose.rotations[outside], pitch.motion.pose.rotations[outside])
    with pytest.raises(ps.PosableError, match=r"0\.1 to 10"):
        editor.stretch({"left_hand": 0.0}, frame=40)


def test_an_edited_motion_is_saved_and_read_back(pitch, tmp_path):
    editor = fresh(pitch)
    editor.edit(frame=30, part="left_hand", displacement=(0.0, 0.1, 0.0))
    for name in ("pitch.bvh", "pitch.glb"):
        ps.save(editor.motion, tmp_path / name)
        again = ps.load(tmp_path / name)
        positions = again.skeleton.forward(again.pose).positions[30]
        hand = positions[again.skeleton.index("LeftFingerBase")]
        np.testing.assert_allclose(hand, pitch.positions_of("left_hand", editor.motion)[30], atol=1e-4)


def test_an_edit_with_orientation_is_reached_where_position_and_orientation_are_and_nowhere_else(case):
    editor, frame, joint = fresh(case), len(case.motion) // 2, case.body.roles["left_hand"]
    here = case.body.skeleton.forward(case.motion[frame]).orientations[joint]
    reached = []
    for rotation in (0.05, 1.5, 3.0):
        for axis in np.eye(3):
            orientation = pm.multiply(pm.axis_angle(axis, rotation), here)
            edit = editor.edit(
                frame=frame,
                part="left_hand",
                displacement=(0.0, 0.0, 0.0),
                orientation=orientation,
                pins=("hips", "head"),
            )
            rotated = case.body.skeleton.forward(editor.motion[frame]).orientations[joint]
            assert edit.orientation_error == pytest.approx(float(pm.angle(rotated, orientation)), abs=1e-7)
            pins = [case.body.roles[pin] for pin in ("hips", "head")]
            before, after = (case.body.skeleton.forward(m[frame]).positions[pins] for m in (case.motion, editor.motion))
            slid = max(edit.slid, np.linalg.norm(after - before, axis=-1).max())
            assert edit.ok == (edit.orientation_error <= 5e-3 and edit.position_error <= 1e-3 and slid <= 1e-3)
            reached.append(edit.ok)
            edit.remove()
    assert any(reached[:3]) and not all(reached), "a hand on a pinned body rotates a little, not by any angle"


def test_limits_of_an_editor_are_exchanged_for_what_is_worked_out_from_then_on(case):
    editor, frame = fresh(case, limits="clip"), len(case.motion) // 2
    contacts, far = editor.contacts, {"frame": frame, "part": "left_hand", "displacement": (0.3, 0.4, 0.3)}
    clip = editor.drag(**far)
    editor.limits = None
    free = editor.drag(**far)
    assert editor.limits is None and editor.contacts is contacts
    unlimited = fresh(case, limits=None).drag(**far)
    assert np.array_equal(free.pose.rotations, unlimited.pose.rotations)
    editor.limits = iter(["clip", "body"])
    assert editor.limits == ("clip", "body")
    with pytest.raises(ps.PosableError, match="nowhere"):
        editor.limits = "nowhere"
    assert editor.limits == ("clip", "body")
    editor.limits = "clip"
    assert np.array_equal(editor.drag(**far).pose.rotations, clip.pose.rotations)


def test_a_part_is_the_same_by_role_by_name_and_by_number():
    body = ps.figure()
    editor = ps.MotionEditor(ps.samples.walk(body)[:60], body, weights="identity")
    contact = next(contact for contact in editor.contacts if contact.part == "left_foot")
    joint, motions = body.index("left_foot"), []
    for part in ("left_foot", body.skeleton.names[joint], joint):
        edit = editor.edit(
            frame=(contact.first + contact.last) // 2, part=part, displacement=(0.0, 0.05, 0.0), spread=0.2
        )
        assert edit.ok, "a foot that is lifted gives up its own contact"
        motions.append(editor.motion)
        editor.clear()
    for motion in motions[1:]:
        np.testing.assert_array_equal(motion.pose.rotations, motions[0].pose.rotations)
