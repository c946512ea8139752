"""How the body answers an edit: the limb first, pins and contacts kept over all frames, nothing pops.

All of it is recomputed from the edited motion alone. Some frames are those of edits that had failed.
"""

import numpy as np
import pytest

import posable as ps
import posable.math as pm
from posable import Status
from posable.edit.contacts import Contact
from posable.edit.leg_reach import SECONDS, WEIGHTS, Foothold, root_displacement
from posable.edit.repair import planted_path, ramp, slide
from posable.edit.scopes import chain_of
from posable.edit.transforms import ACROSS, ALONG, relative_motion

UNSEEN = {"03_01": 180, "13_39": 175, "16_18": 240}  # uneven ground, a jump, a turn
PARTS = ("left_hand", "right_hand", "head", "left_foot", "right_foot", "hips")


@pytest.fixture(scope="module", params=list(UNSEEN))
def unseen(request, cmu):
    motion = ps.load(cmu / f"{request.param}.bvh", repair="cmu", first_frame=1)[::2][: UNSEEN[request.param]]
    return ps.MotionEditor(motion)


def positions(editor, motion):
    return editor.body.skeleton.forward(motion.pose).positions


def peak_acceleration(places, fps):
    return np.linalg.norm(np.diff(places, 2, axis=0), axis=-1).max() * fps**2


def moved_at(body, before, after, part):
    a, b = (body.skeleton.forward(pose).positions[..., body.roles[part], :] for pose in (before, after))
    return float(np.linalg.norm(b - a, axis=-1).max())


def test_random_edits_do_not_pop_or_say_so_and_what_is_reached_keeps_its_contacts(unseen):
    rng, editor = np.random.default_rng(14), unseen
    motion, body = editor.original, editor.body
    before = positions(editor, motion)
    calm = 1.5 * peak_acceleration(before, motion.fps)
    popped = []
    for k in range(8):
        part, distance = PARTS[k % 6], (0.1, 0.2, 0.4)[k % 3]
        frame, way = int(rng.integers(5, len(motion) - 5)), rng.normal(size=3)
        displacement = way * distance / np.linalg.norm(way)
        edit = editor.edit(frame=frame, part=part, displacement=displacement)
        after = positions(editor, editor.motion)
        popped.append(peak_acceleration(after, motion.fps) > calm)
        away = np.linalg.norm(after[frame, body.roles[part]] - before[frame, body.roles[part]] - displacement)
        assert edit.position_error == pytest.approx(away, abs=1e-9)
        if edit.ok:
            assert away <= 1e-3 and not popped[-1]
            for contact in editor.contacts:
                if contact.on == "ground" and contact.part[:5] != part[:5]:
                    held = slice(contact.first, contact.last + 1), body.roles[contact.part]
                    assert np.linalg.norm(after[held] - before[held], axis=-1).max() <= 1e-3
        edit.remove()
    assert not any(popped)


def test_a_hand_lifted_in_a_walk_is_lifted_by_its_arm():
    body = ps.figure()
    walk = ps.samples.walk(body)
    editor = ps.MotionEditor(walk, body)
    elbow = body.roles["right_lower_arm"]
    edit = editor.edit(frame=44, part="right_hand", displacement=(0.0, 0.18, 0.0))
    assert edit.status is Status.REACHED
    bent = np.degrees(pm.angle(walk[44].rotations[elbow], editor.motion[44].rotations[elbow]))
    assert bent > 60.0
    assert moved_at(body, walk[44], editor.motion[44], "head") < 0.01
    assert moved_at(body, walk[44], editor.motion[44], "hips") < 0.01
    assert moved_at(body, walk.pose, editor.motion.pose, "left_foot") < 0.01
    upper, lower, hand = (body.skeleton.forward(editor.motion[44]).positions[body.roles[f"right_{part}"]]
                          for part in ("upper_arm", "lower_arm", "hand"))  # fmt: skip
    assert lower[1] < upper[1] + 0.02 and hand[1] > lower[1] - 0.25, "no elbow is lifted to the ear"


def test_a_hand_further_than_its_arm_takes_the_trunk_along_and_a_scope_says_how_much():
    body = ps.figure()
    walk = ps.samples.walk(body)
    editor, up = ps.MotionEditor(walk, body), {"frame": 44, "part": "right_hand", "displacement": (0.0, 0.1, 0.75)}
    far, alone, half = (editor.drag(**up, scope=scope) for scope in ("auto", "limb", "half"))
    assert far.ok and moved_at(body, walk[44], far.pose, "chest") > 0.05
    assert not alone.ok, "the arm is too short"
    limb, upper = chain_of(body, body.roles["right_hand"])
    for solution, free in ((alone, limb), (half, upper)):
        others = sorted(set(range(len(body.skeleton))) - free)
        np.testing.assert_array_equal(solution.pose.rotations[others], walk[44].rotations[others])
        np.testing.assert_array_equal(solution.pose.translation, walk[44].translation)
    assert half.position_error < alone.position_error


def test_chains_of_parts_are_those_of_the_body():
    body = ps.figure()

    def names(joints):
        return {role for role, joint in body.roles.items() if joint in joints}

    arm, upper = map(names, chain_of(body, body.roles["left_hand"]))
    assert {"left_upper_arm", "left_lower_arm", "left_hand"} <= arm <= {*arm, "left_shoulder"}
    assert {"chest", "head", "right_hand"} <= upper and not {"hips", "left_foot"} & upper
    leg, lower = map(names, chain_of(body, body.roles["right_foot"]))
    assert {"right_upper_leg", "right_lower_leg", "right_foot"} == leg & {*leg} and {"hips", "left_foot"} <= lower
    assert "chest" in names(chain_of(body, body.roles["head"])[0])
    assert {"hips", "left_foot", "right_foot"} <= names(chain_of(body, body.roles["hips"])[0])


def test_a_continuous_target_gives_continuous_poses():
    body = ps.figure()
    walk = ps.samples.walk(body)
    editor = ps.MotionEditor(walk, body)
    ways = np.linspace(0.0, 0.6, 61)[:, None] * np.array([0.3, 0.6, 0.74])
    solutions = editor.drag(frame=44, part="right_hand", displacement=ways)
    places = body.skeleton.forward(solutions.pose).positions[np.asarray(solutions.ok)]
    assert len(places) > 40
    assert np.linalg.norm(np.diff(places, axis=0), axis=-1).max() < 0.05, "the hand itself goes a centimetre a step"


def test_pins_hold_in_all_frames_that_change_and_win_over_contacts():
    body = ps.figure()
    pose = body.neutral_pose
    for side, x in (("left", 0.045), ("right", -0.045)):
        pose = body.place(pose, f"{side}_hand", ps.Target((x, 1.15, 0.32))).pose
    motion = ps.Motion(body.skeleton, pose.reshape(1)[np.zeros(60, np.int64)], 60.0)
    touch = [Contact("right_hand", "left_hand", 10, 50), Contact("head", "left_hand", 10, 50)]
    editor = ps.MotionEditor(motion, body, weights="identity", contacts=touch)
    edit = editor.edit(
        frame=30, part="left_hand", displacement=(0.0, 0.15, 0.1), pins=("right_hand", "head", "hips"), spread=0.3
    )
    for pin in ("right_hand", "head", "hips"):
        assert moved_at(body, motion.pose, editor.motion.pose, pin) <= 1e-3
    assert edit.ok and edit.slid <= 1e-3, "the arm does it, and nothing else need move"


def test_a_pin_holds_in_its_own_frames_and_lets_go_smoothly(unseen):
    editor, frame = unseen, 60
    way = {"frame": frame, "part": "left_hand", "displacement": (0.0, 0.1, 0.3), "scope": "whole"}
    edit = editor.edit(**way, pins=[("head", 55, 65)], spread=0.8)
    free = editor.edit(**way, spread=0.8)
    free.remove()
    assert moved_at(editor.body, editor.original.pose[55:66], editor.motion.pose[55:66], "head") <= 1e-3
    edit.change(pins=("head",))
    assert moved_at(editor.body, editor.original.pose, editor.motion.pose, "head") <= 1e-3
    with pytest.raises(ps.PosableError, match="before it begins"):
        edit.change(pins=[("head", 65, 55)])
    with pytest.raises(ps.PosableError, match="first and last frame"):
        edit.change(pins=[("head", 65)])
    edit.remove()


def test_a_step_that_is_moved_is_moved_as_a_whole():
    body = ps.figure()
    walk = ps.samples.walk(body)
    editor = ps.MotionEditor(walk, body)
    contacts = [c for c in editor.contacts if c.part == "left_foot" and c.first > 5 and c.last < len(walk) - 20]
    contact = max(contacts, key=lambda c: c.last - c.first)
    frame = (contact.first + contact.last) // 2
    frames = (max(contact.first - 25, 0), min(contact.last + 25, len(walk) - 1))
    editor.edit(frame=frame, part="left_foot", displacement=(0.04, 0.0, 0.0), frames=frames)
    before, after = (body.skeleton.forward(m.pose).positions[:, body.roles["left_foot"]] for m in (walk, editor.motion))
    moved = (after - before)[contact.first : contact.last + 1]
    np.testing.assert_allclose(moved, np.broadcast_to((0.04, 0.0, 0.0), moved.shape), atol=2e-3)


@pytest.fixture(scope="module")
def walking():
    body = ps.figure()
    return ps.MotionEditor(ps.samples.walk(body), body)


@pytest.mark.parametrize(
    ("frame", "displacement"), [(145, (-0.06, -0.01, -0.08)), (44, (0.08, 0.0, -0.06)), (77, (-0.04, -0.17, -0.1))]
)
def test_hips_pulled_aside_in_a_walk_bend_the_knees_and_no_foot_leaves_its_place(walking, frame, displacement):
    editor, body = walking, walking.body
    edit = editor.edit(frame=frame, part="hips", displacement=displacement)
    before, after = (positions(editor, motion) for motion in (editor.original, editor.motion))
    edit.remove()
    assert edit.status is Status.REACHED
    np.testing.assert_allclose((after - before)[frame, body.roles["hips"]], displacement, atol=1e-3)
    for contact in editor.contacts:
        held = slice(contact.first, contact.last + 1), body.roles[contact.part]
        assert np.linalg.norm(after[held] - before[held], axis=-1).max() <= 1e-3
    for role in ("left_toes", "right_toes"):
        assert after[:, body.roles[role], 1].min() > before[:, body.roles[role], 1].min() - 1e-3, "under the floor"
    fps = editor.original.fps
    assert peak_acceleration(after, fps) <= 1.5 * peak_acceleration(before, fps)


def test_a_step_is_moved_as_a_whole_also_where_the_change_ends_soon_after_it(walking):
    editor, body = walking, walking.body
    edit = editor.edit(frame=113, part="right_foot", displacement=(0.08, 0.0, 0.06))
    before, after = (positions(editor, motion) for motion in (editor.original, editor.motion))
    edit.remove()
    assert edit.status is Status.REACHED and edit.rows[0] < 95 < 118 < edit.rows[-1] < 145
    standing = slice(95, 119), body.roles["right_foot"]  # the heel; a few frames later the ball leaves the ground too
    np.testing.assert_allclose((after - before)[standing][:, [0, 2]], np.tile((0.08, 0.06), (24, 1)), atol=1e-3)
    fps = editor.original.fps
    assert peak_acceleration(after, fps) <= 1.5 * peak_acceleration(before, fps)


def test_a_head_bowed_deeply_in_a_walk_is_bowed_smoothly_over_feet_that_stand(cmu):
    motion = ps.load(cmu / "02_01.bvh", repair="cmu", first_frame=1)[::2]
    editor, way = ps.MotionEditor(motion), np.array((0.028, -0.34, 0.209))
    edit = editor.edit(frame=136, part="head", displacement=way)
    before, after, body = positions(editor, motion), positions(editor, editor.motion), editor.body
    assert edit.status is Status.REACHED
    np.testing.assert_allclose((after - before)[136, body.roles["head"]], way, atol=1e-3)
    assert peak_acceleration(after, motion.fps) <= 1.5 * peak_acceleration(before, motion.fps)
    for contact in editor.contacts:
        if contact.on == "ground":
            held = slice(contact.first, contact.last + 1), body.roles[contact.part]
            assert np.linalg.norm(after[held] - before[held], axis=-1).max() <= 1e-3


def test_the_knee_of_a_leg_that_swings_can_be_dragged(unseen):
    editor, body = unseen, unseen.body
    standing = np.zeros(len(editor.original), bool)
    for contact in editor.contacts:
        if contact.part in ("right_foot", "right_toes"):
            standing[contact.first : contact.last + 1] = True
    swinging = [f for f in np.flatnonzero(~standing) if 20 < f < len(standing) - 20]
    made = 0
    for frame in swinging[:: max(1, len(swinging) // 4)]:
        edit = editor.edit(frame=frame, part="right_lower_leg", displacement=(0.0, 0.05, 0.0))
        before, after = (positions(editor, motion) for motion in (editor.original, editor.motion))
        made += bool(edit.ok)
        lifted = (after - before)[frame, body.roles["right_lower_leg"]]
        assert not edit.ok or np.linalg.norm(lifted - (0.0, 0.05, 0.0)) <= 1e-3
        edit.remove()
    assert made >= 3, "its foot is in the air and comes along"


def test_a_change_within_a_frame_is_made_and_not_called_reached_and_later_edits_are_not_to_blame(walking):
    editor, up = walking, {"part": "right_hand", "displacement": (0.0, 0.18, 0.0)}
    quick = editor.edit(frame=44, **up, spread=0.0)
    before, after = (positions(editor, motion) for motion in (editor.original, editor.motion))
    ratio = peak_acceleration(after, 60.0) / peak_acceleration(before, 60.0)
    assert quick.position_error <= 1e-3 and ratio > 1.5 and quick.jolt == pytest.approx(ratio / 1.5, rel=1e-6)
    assert quick.status is Status.LIMITS
    later = editor.edit(frame=48, part="left_hand", displacement=(0.0, 0.1, 0.1))
    editor.clear()
    assert later.status is Status.REACHED and later.jolt <= 1.0


def test_where_a_whole_drag_would_pop_most_of_it_is_made(cmu):
    motion = ps.load(cmu / "02_01.bvh", repair="cmu", first_frame=1)[::2]
    editor, way = ps.MotionEditor(motion), np.array((-0.51, -0.25, -0.19))
    body = editor.body
    edit = editor.edit(frame=149, part="left_lower_arm", displacement=way)
    before, after = positions(editor, motion), positions(editor, editor.motion)
    made = (after - before)[149, body.roles["left_lower_arm"]] @ way / (way @ way)
    assert edit.answer.ok and not edit.ok, "one frame can do it, the motion cannot"
    assert made > 0.7 and edit.jolt <= 1.0 and edit.slid <= 1e-3
    assert peak_acceleration(after, motion.fps) <= 1.5 * peak_acceleration(before, motion.fps)


def test_planted_paths_do_not_slide_and_ramps_are_smooth():
    rows, fps = np.arange(10, 70), 60.0
    fade = np.sin(np.linspace(0.0, np.pi, len(rows)))[:, None] ** 2
    standing = np.zeros(90, bool)
    standing[14:21] = standing[30:46] = True
    path = planted_path(fade * (0.1, 0.05, 0.0), rows, standing, [40], fps)
    key = int(np.flatnonzero(rows == 40)[0])
    np.testing.assert_allclose(path[20:36, 0], fade[key, 0] * 0.1, atol=1e-6)
    np.testing.assert_allclose(path[4:11, 0], 0.0, atol=1e-6)
    np.testing.assert_allclose(path[:, 1], fade[:, 0] * 0.05)
    inside = np.zeros(60, bool)
    inside[20:30] = True
    weight = ramp(inside, 10.0)
    assert (weight[20:30] == 1.0).all() and weight[9] == weight[40] == 0.0 and (np.diff(weight[9:21]) > 0.0).all()
    still, standing = np.zeros((20, 3)), np.zeros(20, bool)
    standing[5:15] = True
    sliding = still + np.linspace(0.0, 0.19, 20)[:, None] * (1.0, 0.0, 0.0)
    assert slide(still, sliding, standing) == pytest.approx(0.09)
    assert slide(still, sliding + np.array([0.0, 0.05, 0.0]), standing) == 0.0, "a foot that is lifted does not slide"


def test_a_drag_means_the_motion_along_it_and_the_part_alone_across_it(unseen):
    editor = unseen
    velocity = editor.clip.velocities([editor.body.roles["left_hand"]])[:, 0, :3]
    frame = int(np.linalg.norm(velocity, axis=-1).argmax())
    along = velocity[frame] / np.linalg.norm(velocity[frame])
    across = np.cross(along, [0.0, 1.0, 0.0])
    across /= np.linalg.norm(across)
    with_it, off_it = (editor.drag(frame=frame, part="left_hand", displacement=0.05 * d) for d in (along, across))
    assert abs(with_it.frame - frame) > 0.5 and off_it.frame == frame
    assert ALONG > ACROSS and relative_motion(along, along, along)[0] == pytest.approx(along[0], rel=0.01)


def test_a_softness_is_the_same_for_a_drag_and_for_an_edit(unseen):
    editor, way = unseen, {"frame": 40, "part": "left_hand", "displacement": (0.0, 0.1, 0.2), "scope": "whole"}
    soft = editor.drag(**way, softness=(3.0, 3.0), contacts=False)
    edit = editor.edit(**way, softness=(3.0, 3.0), contacts=False)
    np.testing.assert_array_equal(edit.answer.pose.rotations, soft.pose.rotations)
    assert not np.array_equal(soft.pose.rotations, editor.drag(**way, contacts=False).pose.rotations)
    edit.remove()


def test_a_root_gives_way_as_little_and_as_smoothly_as_an_optimiser_finds():
    """The hips of a standing figure are lifted and put down again, one foot stands all the time."""
    from scipy.optimize import minimize

    body, count, fps = ps.figure(), 12, 20.0
    pose = body.neutral_pose.reshape(1)[np.zeros(count, np.int64)]
    lift = 0.12 * np.sin(np.linspace(0.0, np.pi, count))[:, None] * (0.5, 1.0, 0.3)
    old = body.skeleton.forward(pose)
    new = body.skeleton.forward(ps.Pose(pose.translation + lift, pose.rotations))
    hip, knee, ankle = (body.roles[f"left_{part}"] for part in ("upper_leg", "lower_leg", "foot"))
    hold = Foothold("left_foot", old.positions[:, ankle], np.ones(count, bool))
    nearness, rows = np.zeros(count), np.arange(5, 5 + count)
    nearness[0] = 1.0
    found = root_displacement(body, [hold], old, new, nearness, rows, 40, fps)
    length = np.linalg.norm(np.diff(old.positions[0, [hip, knee, ankle]], axis=0), axis=-1).sum()
    straight = np.linalg.norm(old.positions[0, hip] - old.positions[0, ankle])
    reach = max(0.99 * length, straight)

    def cost(values):
        moved = values.reshape(count, 3)
        around = np.concatenate([np.zeros((2, 3)), moved, np.zeros((2, 3))])
        far = np.linalg.norm(new.positions[:, hip] + moved - old.positions[:, ankle], axis=-1) - reach
        bends = (SECONDS * fps) ** 4 * (np.diff(around, 2, axis=0) ** 2).sum()
        return (
            (moved**2).sum() + bends + WEIGHTS[1] * (np.maximum(far[1:], 0.0) ** 2).sum() + 1e6 * (moved[0] ** 2).sum()
        )

    best = minimize(cost, np.zeros(3 * count), method="L-BFGS-B", options={"maxiter": 5000, "ftol": 1e-15})
    assert cost(found.ravel()) <= best.fun * 1.01 + 1e-9
    np.testing.assert_allclose(found, best.x.reshape(count, 3), atol=2e-3)
    after = np.linalg.norm(new.positions[:, hip] + found - old.positions[:, ankle], axis=-1)
    assert (after <= reach + 1e-3).all() and np.abs(found[0]).max() < 1e-6
    assert not root_displacement(body, [hold], old, old, nearness, rows, 40, fps).any(), "nothing is too short"


@pytest.mark.parametrize("bad", [(np.nan, 0.0, 0.0), (0.0, np.inf, 0.0)])
def test_edits_to_nowhere_are_invalid_change_nothing_and_say_so(walking, bad):
    editor = walking
    for given in ({"displacement": bad}, {"target": bad}):
        edit = editor.edit(frame=44, part="right_hand", **given)
        assert edit.status is Status.INVALID and edit.position_error == np.inf
        np.testing.assert_array_equal(editor.motion.pose.rotations, editor.original.pose.rotations)
        np.testing.assert_array_equal(editor.motion.pose.translation, editor.original.pose.translation)
        edit.remove()
    with pytest.raises(ps.PosableError, match="expected numbers"):
        editor.edit(frame=44, part="right_hand", displacement=("up", 0.0, 0.0))
    with pytest.raises(ps.PosableError, match=r"expected 0\.1 to 10"):
        editor.stretch({"left_hand": "long"}, frame=44)
    assert not editor.edits


def test_a_foot_that_swings_is_not_pushed_through_the_ground(walking):
    """One step of the left foot is not marked as a contact: hips that go down there must not push the foot down."""
    body, motion = walking.body, walking.original
    others = [c for c in walking.contacts if not (c.part.startswith("left") and c.first <= 84 <= c.last)]
    assert len(others) == len(walking.contacts) - 2
    editor = ps.MotionEditor(motion, body, weights="identity", contacts=others)
    edit = editor.edit(frame=84, part="hips", displacement=(0.0, -0.1, 0.0))
    before, after = positions(editor, motion), positions(editor, editor.motion)
    assert edit.ok and (after - before)[84, body.roles["hips"], 1] == pytest.approx(-0.1, abs=1e-3)
    for role in ("left_foot", "left_toes", "right_foot", "right_toes"):
        assert after[:, body.roles[role], 1].min() > before[:, body.roles[role], 1].min() - 6e-3


@pytest.mark.parametrize(
    ("part", "displacement"), [("hips", (0.0, -0.12, 0.0)), ("hips", (0.0, -0.1, 0.1)), ("head", (0.0, -0.3, 0.2))]
)
def test_somebody_who_stands_on_straight_legs_bends_them_evenly(part, displacement):
    """A leg that is straight must bend as the square root of the way down: the fade of the hips allows for it."""
    body = ps.figure()
    still = ps.Motion(body.skeleton, ps.Pose.stack([body.neutral_pose] * 120), 60.0)
    editor = ps.MotionEditor(still, body)
    edit = editor.edit(frame=60, part=part, displacement=displacement)
    before, after = positions(editor, still), positions(editor, editor.motion)
    assert edit.ok
    np.testing.assert_allclose((after - before)[60, body.roles[part]], displacement, atol=1e-3)
    feet = [body.roles[foot] for foot in ("left_foot", "right_foot", "left_toes", "right_toes")]
    assert np.abs((after - before)[:, feet]).max() < 1e-3
    posture = body.canonical(editor.motion.pose)
    for role in body.limits.names:
        if role in body.roles:
            assert body.limits.contains(role, posture.rotation(role), 1e-6).all(), role  # knees bend forward
    plain = np.linalg.norm(displacement) * (np.pi / 0.5) ** 2 / 2.0  # [m/s2] of a cosine over half a second
    assert peak_acceleration(after, still.fps) < 3.0 * plain


def test_hips_pushed_aside_on_straight_legs_move_and_feet_hardly():
    body = ps.figure()
    still = ps.Motion(body.skeleton, ps.Pose.stack([body.neutral_pose] * 120), 60.0)
    editor = ps.MotionEditor(still, body)
    edit = editor.edit(frame=60, part="hips", displacement=(0.08, -0.03, 0.0))
    before, after = positions(editor, still), positions(editor, editor.motion)
    assert edit.status in (Status.REACHED, Status.LIMITS) and edit.position_error < 1e-3
    feet = [body.roles[foot] for foot in ("left_foot", "right_foot")]
    assert np.linalg.norm((after - before)[:, feet], axis=-1).max() < 0.01
    assert peak_acceleration(after, still.fps) < 6.0


def test_knees_and_elbows_of_hinges_stay_inside_their_limits():
    """The figure's knees and elbows are hinges, a captured rig's are balls: both keep the body's limits."""
    body = ps.figure()
    walk = ps.samples.walk(body, duration=2.0)
    editor, rng = ps.MotionEditor(walk, body), np.random.default_rng(3)
    before = body.canonical(walk.pose)
    for part in ("left_hand", "right_hand", "hips", "left_foot", "right_foot", "head"):
        frames = rng.integers(0, len(walk), 25)
        displacements = rng.normal(size=(25, 3)) * rng.uniform(0.05, 0.4, (25, 1))
        posture = body.canonical(editor.drag(frame=frames, part=part, displacement=displacements).pose)
        for role in body.limits.names:
            if role in body.roles:
                inside = body.limits.contains(role, before.rotation(role)[frames], 0.0)
                assert body.limits.contains(role, posture.rotation(role), 1e-6)[inside].all(), (part, role)
