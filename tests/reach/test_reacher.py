"""Whole-body reaching: the hand on its target, the feet where they stood, the body as its behaviour says."""

import math

import numpy as np
import pytest

import posable as ps
import posable.math as pm
from posable.body.collision.clearance import SelfCollision
from posable.limb import Search
from posable.reach import Posture, Weight
from tests.body.bodies import file_body

PARTS = ("hips", "spine", "chest", "upper_chest", "neck", "head", "left_upper_arm")
FEET = ("left_foot", "right_foot")


def leaning(limb="right_arm", weight=None, parts=PARTS):
    """Leans towards the target and crouches, the more the lower it is."""
    behaviour = ps.Behaviour("right_arm", parts, weight=weight)
    for x, y in [(0.0, 0.6), (1.0, 0.6), (-0.8, 0.4), (0.3, -0.3), (0.6, 1.3)]:
        behaviour.add((x, y))
    for key in behaviour.keys:
        down, ahead = key.at
        bow = pm.exp([0.12 * max(down, 0.0) + 0.05, 0.1 * ahead - 0.05, 0.0])
        posture = Posture.neutral(parts).rotated(**dict.fromkeys(("spine", "chest", "upper_chest"), bow))
        posture = posture.rotated(hips=pm.exp([0.15 * max(down, 0.0), 0.1 * ahead, 0.0]))
        behaviour.set(key.id, posture.shifted((-0.03, -0.05 - 0.12 * max(down, 0.0), 0.02)))
    return behaviour if limb == "right_arm" else behaviour.mirrored()


@pytest.fixture(scope="module")
def body():
    return ps.figure()


@pytest.fixture(scope="module")
def reacher(body):
    return ps.Reacher(body, right=leaning())


def targets(count, seed=0):
    return np.random.default_rng(seed).uniform([-1.0, 0.4, -0.4], [0.4, 2.0, 0.9], (count, 3))


def places(body, pose, *parts):
    frames = body.skeleton.forward(pose)
    joints = [body.index(part) for part in parts]
    return frames.positions[..., joints, :], frames.orientations[..., joints, :]


def check(body, answer, goals, start, part="right_hand"):
    hand = places(body, answer.pose, part)[0][..., 0, :]
    ok = np.asarray(answer.ok)
    assert np.linalg.norm(hand - goals, axis=-1)[ok].max(initial=0.0) < 1e-9
    before, after = places(body, start, *FEET), places(body, answer.pose, *FEET)
    assert np.abs(after[0] - before[0]).max() < 1e-9
    assert pm.angle(after[1], np.broadcast_to(before[1], after[1].shape)).max() < 1e-9
    assert np.isfinite(answer.pose.rotations).all()


def inside_limits(body, pose, limits=None):
    posture, limits = body.canonical(pose), body.limits if limits is None else limits
    roles = [role for role in posture.roles if role in limits]
    rows = [posture.roles.index(role) for role in roles]
    return limits.contains(roles, posture.rotations[..., rows, :], 1e-6)


def test_the_hand_is_on_its_target_and_the_feet_stay(body, reacher):
    goals = targets(4000)
    answer = reacher.solve(right=ps.Target(goals))
    assert 0.3 < answer.ok.mean() < 1.0
    check(body, answer, goals, body.neutral_pose)
    assert inside_limits(body, answer.pose).all()


def test_without_limits_more_is_reached_and_joints_go_beyond_them(body, reacher):
    goals = targets(1000, 11)
    free, limited = (one.solve(right=goals) for one in (ps.Reacher(body, right=leaning(), limits=None), reacher))
    check(body, free, goals, body.neutral_pose)
    assert free.ok.sum() > limited.ok.sum()
    assert not inside_limits(body, free.pose)[free.ok].all()


def test_other_limits_than_the_bodys_hold_the_trunk_and_the_arm(body, reacher):
    stiff = {"spine": 0.2, "chest": 0.2, "upper_chest": 0.2, "right_lower_arm": 0.6}
    limits = body.limits.replace(**{role: body.limits[role].scaled(factor) for role, factor in stiff.items()})
    goals = targets(1000, 12)
    answer = ps.Reacher(body, right=leaning(), limits=limits).solve(right=goals)
    check(body, answer, goals, body.neutral_pose)
    assert 0.02 < answer.ok.mean() < reacher.solve(right=goals).ok.mean()
    assert inside_limits(body, answer.pose, limits)[answer.ok].all()
    assert not inside_limits(body, reacher.solve(right=goals).pose, limits).all()
    with pytest.raises(ps.PosableError, match="limits"):
        ps.Reacher(body, right=leaning(), limits="bodies")


def test_an_orientation_is_reached_too(body, reacher):
    goals = targets(2000, 1)
    turn = pm.normalize(np.random.default_rng(2).normal(size=(2000, 4)))
    answer = reacher.solve(right=ps.Target(goals, turn))
    frames = body.skeleton.forward(answer.pose)
    turned = body.canonical_orientation(frames, body.index("right_hand"))
    assert answer.ok.sum() > 50
    assert pm.angle(turned, turn)[answer.ok].max() < 1e-9


def test_a_batch_is_the_same_as_its_rows(body, reacher):
    goals = targets(40, 3)
    together = reacher.solve(right=ps.Target(goals))
    for k, goal in enumerate(goals):
        alone = reacher.solve(right=ps.Target(goal))
        np.testing.assert_allclose(alone.pose.rotations, together.pose.rotations[k], atol=1e-12)
        assert int(alone.status) == together.status[k]


def test_many_rows_are_worked_through_in_blocks(reacher, monkeypatch):
    from posable.reach import reacher as module

    goals = targets(50, 4).reshape(5, 10, 3)
    whole = reacher.solve(right=ps.Target(goals))
    monkeypatch.setattr(module, "BLOCK", 7)
    blocks = reacher.solve(right=ps.Target(goals))
    np.testing.assert_array_equal(whole.pose.rotations, blocks.pose.rotations)
    np.testing.assert_array_equal(whole.weight, blocks.weight)
    assert blocks.status.shape == (5, 10)


def test_the_weight_is_what_the_distance_asks_for(body, reacher):
    arm = body.limb("right_arm")
    goals = targets(500, 5)
    answer = reacher.solve(right=ps.Target(goals))
    shoulder = places(body, body.neutral_pose, "right_upper_arm")[0][0]
    d = np.linalg.norm(goals - shoulder, axis=-1) / arm.length
    local = arm_frame(body, goals)
    inside = np.arccos(local[:, 2] / np.linalg.norm(local, axis=-1)) < 2.0  # towards the far side it fades
    np.testing.assert_allclose(answer.right.requested_weight[inside], reacher.right.weight(d)[inside], atol=1e-12)


def arm_frame(body, goals):
    frames = body.skeleton.forward(body.neutral_pose)
    frame, origin = body.limb("right_arm").frame(frames)
    return pm.rotate(pm.conjugate(frame), goals - origin)


def test_at_weight_zero_the_body_is_exactly_the_starting_pose(body, reacher):
    start = ps.samples.walk(body)[7]
    answer = reacher.solve(right=ps.Target(targets(20, 6)), start=start, weight=0.0)
    arm = {body.index(role) for role in ("right_upper_arm", "right_lower_arm", "right_hand")}
    rest = [j for j in range(len(body.skeleton)) if j not in arm]
    np.testing.assert_array_equal(
        answer.pose.rotations[:, rest], np.broadcast_to(start.rotations[rest], (20, len(rest), 4))
    )
    np.testing.assert_array_equal(answer.pose.translation, np.broadcast_to(start.translation, (20, 3)))


def test_at_weight_one_the_body_has_the_blended_posture(body, reacher):
    goal = np.array([-0.35, 1.1, 0.45])
    at, _ = reacher.right.locate(arm_frame(body, goal), body.limb("right_arm").length)
    answer = reacher.solve(right=ps.Target(goal), weight=1.0)
    assert answer.weight == 1.0
    found = Posture.of(body, answer.pose, body.neutral_pose, PARTS)
    wanted = reacher.right.posture_at(at)
    np.testing.assert_allclose(found.rotations, wanted.rotations, atol=1e-9)
    np.testing.assert_allclose(found.hips, wanted.hips, atol=1e-9)


def test_reaching_goes_wherever_the_body_stands_and_whichever_way_it_faces(body, reacher):
    turn, place = pm.axis_angle([0, 1, 0], 2.1), np.array([2.0, 0.3, -5.0])
    neutral = body.canonical(body.neutral_pose)
    hips = pm.rotate(turn, neutral.hips) + place / body.leg_length
    start = body.pose(neutral.rotated(hips=turn).replace(hips=hips), base=body.neutral_pose)
    goals = targets(300, 7)
    here = reacher.solve(right=ps.Target(goals))
    there = reacher.solve(right=ps.Target(pm.rotate(turn, goals) + place), start=start)
    np.testing.assert_allclose(there.weight, here.weight, atol=1e-9)
    joints = [j for j in range(len(body.skeleton)) if j != body.roles["hips"]]
    same = here.ok & there.ok
    assert (here.ok == there.ok).mean() > 0.99
    np.testing.assert_allclose(
        pm.angle(there.pose.rotations[same][:, joints], here.pose.rotations[same][:, joints]), 0.0, atol=1e-6
    )


def test_the_left_hand_is_the_mirror_image_of_the_right(body):
    right, left = ps.Reacher(body, right=leaning()), ps.Reacher(body, left=leaning("left_arm"))
    start = body.clamp(ps.samples.walk(body)[3])
    goals = targets(200, 8)
    one = right.solve(right=ps.Target(goals), start=start)
    other = left.solve(left=ps.Target(goals * [-1, 1, 1]), start=body.mirrored(start))
    np.testing.assert_allclose(one.weight, other.weight, atol=1e-9)
    np.testing.assert_array_equal(one.status, other.status)


def test_two_hands_reach_together_and_share_the_body(body):
    reacher = ps.Reacher(body, right=leaning(), left=leaning("left_arm"))
    goals = targets(1000, 9)
    other = goals * [-1, 1, 1] + np.random.default_rng(10).normal(size=goals.shape) * 0.1
    answer = reacher.solve(right=ps.Target(goals), left=ps.Target(other))
    check(body, answer, goals, body.neutral_pose)
    check(body, answer, other, body.neutral_pose, "left_hand")
    assert answer.ok.sum() > 100


def test_two_arms_that_reach_do_not_pass_through_each_other(body):
    both = ps.Reacher(body, right=leaning(), left=leaning("left_arm"))
    rng = np.random.default_rng(5)
    right, left = (ps.Target(rng.uniform([-0.4, 0.8, 0.2], [0.4, 1.5, 0.6], (1500, 3))) for _ in range(2))
    answer = both.solve(right=right, left=left)
    touches = SelfCollision.of(body).touches(body.skeleton.forward(answer.pose))
    assert answer.ok.mean() > 0.4 and not touches[answer.ok].any()
    assert (answer.left.status == ps.Status.COLLISION).any()  # some cross, and say so


def test_where_an_arm_comes_from_is_not_in_the_way_of_the_other(body):
    both = ps.Reacher(body, right=leaning(), left=leaning("left_arm"))
    before = body.place(body.neutral_pose, "left_hand", ps.Target([-0.2, 1.2, 0.35])).pose
    right = ps.Target(np.random.default_rng(6).uniform([-0.35, 1.0, 0.2], [-0.05, 1.35, 0.5], (400, 3)))
    left = ps.Target([0.3, 1.3, 0.4])
    told = both.solve(right=right, left=left, start=before)
    np.testing.assert_array_equal(told.right.status, both.solve(right=right, left=left).right.status)
    blocked = body.place(before, "right_hand", right, self_collision=True)  # here the left arm stays, and is in the way
    assert (told.ok & (blocked.status == ps.Status.COLLISION)).any()


def test_with_the_same_posture_on_both_sides_handedness_does_not_matter(body):
    parts = ("hips", "spine", "chest")
    posture = Posture(parts, pm.exp([[0.1, 0, 0], [0.2, 0, 0], [0.1, 0, 0]]), (0, -0.1, 0))
    right = ps.Behaviour("right_arm", parts, weight=Weight("constant", 1.0))
    for key in right.keys:
        right.set(key.id, posture)
    told = [
        ps.Reacher(body, right=right, left=right.mirrored(), handedness=h).solve(
            right=ps.Target([-0.3, 1.2, 0.4]), left=ps.Target([0.3, 1.1, 0.4])
        )
        for h in (0.0, 0.3, 1.0)
    ]
    for answer in told[1:]:
        np.testing.assert_allclose(answer.pose.rotations, told[0].pose.rotations, atol=1e-12)


def test_a_growing_obstacle_lowers_the_weight_evenly_to_nothing(body):
    behaviour = leaning(weight=Weight("constant", 1.0))
    goal = ps.Target([-0.35, 0.9, 0.45])
    weights, reasons = [], []
    for radius in np.linspace(0.01, 0.3, 40):
        scene = ps.Scene().sphere("ball", float(radius), (0.05, 1.45, 0.42))
        answer = ps.Reacher(body, right=behaviour, scene=scene).solve(right=goal)
        weights.append(float(answer.weight)), reasons.append(answer.reason)
    assert weights[0] == 1.0 and weights[-1] < 0.5
    assert (np.diff(weights) <= 1e-6).all()
    assert np.abs(np.diff(weights)).max() < 0.25
    assert reasons[-1] == ps.Status.COLLISION


def test_what_touches_at_the_start_may_go_on_touching(body):
    floor = ps.Scene().box("chair", (0.4, 0.1, 0.4), (0.0, 0.85, -0.1))
    behaviour = leaning(weight=Weight("constant", 1.0))
    answer = ps.Reacher(body, right=behaviour, scene=floor).solve(right=ps.Target([-0.35, 1.2, 0.45]))
    assert answer.weight > 0.0


def test_a_leg_that_cannot_hold_its_foot_lowers_the_weight(body):
    behaviour = ps.Behaviour("right_arm", ("hips", "spine"), weight=Weight("constant", 1.0))
    for key in behaviour.keys:
        behaviour.set(key.id, Posture.neutral(("hips", "spine")).shifted((0.0, 0.2, 0.0)))  # up: the legs are straight
    answer = ps.Reacher(body, right=behaviour).solve(right=ps.Target([-0.35, 1.2, 0.4]))
    assert answer.reason == ps.Status.UNREACHABLE
    assert answer.lowered and answer.weight < 0.01
    check(body, answer, np.array([-0.35, 1.2, 0.4]), body.neutral_pose)


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("joint", ["lower_leg", "foot"])
def test_a_reach_whose_foot_has_left_its_place_is_not_reached(body, side, joint, monkeypatch):
    """A hundred-thousandth of a radian at a knee or an ankle, after the solver has found everything, takes it back."""
    goal, moved = np.array([-0.35, 1.2, 0.4]), body.index(f"{side}_{joint}")
    place_hands = ps.Reacher._place_hands

    def careless(self, rows, *rest):
        place_hands(self, rows, *rest)
        rows.rotations[1, :, moved] = pm.multiply(rows.rotations[1, :, moved], pm.axis_angle([1.0, 0.0, 0.0], 1e-5))

    for feet in (True, False):
        stream = ps.Reacher(body, right=leaning(), feet=feet).stream(settle=0.0)
        assert stream.step(right=goal).ok
        with monkeypatch.context() as patched:
            patched.setattr(ps.Reacher, "_place_hands", careless)
            answer = stream.step(right=goal)
        before, after = places(body, body.neutral_pose, f"{side}_foot"), places(body, answer.pose, f"{side}_foot")
        away, turned = np.linalg.norm(after[0] - before[0]), pm.angle(after[1], before[1]).max()
        assert answer.right.ok and (away > 1e-6 or turned > 5e-6)
        assert answer.ok == (not feet)  # free feet were not promised


def test_an_arm_that_is_too_short_raises_the_weight_without_a_jump(body):
    behaviour = leaning(weight=Weight("quadratic", 0.3))
    with_it, without = (ps.Reacher(body, right=behaviour, extend=extend) for extend in (True, False))
    path = np.linspace([-0.3, 0.9, 0.5], [-0.35, 0.8, 0.75], 400)
    one, other = with_it.solve(right=ps.Target(path)), without.solve(right=ps.Target(path))
    assert one.ok.sum() > other.ok.sum()
    raised = one.weight > one.right.requested_weight + 1e-6
    assert raised.any()
    assert np.abs(np.diff(one.weight)).max() < 0.1


def test_keys_guide_the_elbow(body):
    behaviour = leaning()
    goal = ps.Target([-0.3, 1.2, 0.35])
    usual = ps.Reacher(body, right=behaviour).solve(right=goal)
    for key in behaviour.keys:
        behaviour.set_search(key.id, Search(1.2, 0.0, 2.0))
    guided = ps.Reacher(body, right=behaviour).solve(right=goal)
    assert usual.ok and guided.ok
    assert guided.right.swivel == pytest.approx(1.2, abs=0.05)
    assert usual.right.swivel == pytest.approx(math.radians(30), abs=0.05)


def test_the_head_looks_at_the_target(body):
    goal = np.array([-0.6, 1.0, 0.5])
    behaviour = leaning()

    def off(gaze):
        answer = ps.Reacher(body, right=behaviour, gaze=gaze).solve(right=ps.Target(goal))
        frames = body.skeleton.forward(answer.pose)
        head = body.index("head")
        ahead = pm.rotate(body.canonical_orientation(frames, head), [0, 0, 1])
        way = goal - frames.positions[head]
        return math.acos(float(ahead @ way) / float(np.linalg.norm(way)))

    assert off(1.0) < 0.5 * off(0.0)
    assert off(1.0) < math.radians(15)


def test_somebody_who_sits_keeps_the_hips(body):
    answer = ps.Reacher(body, right=leaning(), hips=False, feet=False).solve(right=ps.Target([-0.4, 1.1, 0.5]))
    np.testing.assert_array_equal(answer.pose.translation, body.neutral_pose.translation)
    np.testing.assert_array_equal(answer.pose.rotations[0], body.neutral_pose.rotations[0])
    assert not np.allclose(answer.pose.rotations, body.neutral_pose.rotations)


def test_bad_rows_are_invalid_and_leave_their_neighbours_alone(body, reacher):
    goals = targets(6, 11)
    clean = reacher.solve(right=ps.Target(goals))
    spoilt = goals.copy()
    spoilt[1, 0], spoilt[4, 2] = np.nan, np.inf
    answer = reacher.solve(right=ps.Target(spoilt))
    assert answer.status[1] == answer.status[4] == ps.Status.INVALID
    kept = [0, 2, 3, 5]
    np.testing.assert_array_equal(answer.pose.rotations[kept], clean.pose.rotations[kept])
    np.testing.assert_array_equal(answer.pose.rotations[1], body.neutral_pose.rotations)
    single = reacher.solve(right=ps.Target([np.nan, 0, 0]))
    assert single.status == ps.Status.INVALID
    turned = reacher.solve(right=ps.Target(goals, np.zeros((6, 4))))
    assert (turned.status == ps.Status.INVALID).all()


def test_hostile_targets_give_finite_poses(body, reacher):
    shoulder = places(body, body.neutral_pose, "right_upper_arm")[0][0]
    goals = np.array(
        [
            shoulder,
            shoulder + 1e-12,
            shoulder - [0, 0.5, 0],
            [1e6, 0, 0],
            [1e150, 1, 1],
            shoulder + np.array([0.5, 0, 0]),
        ]
    )
    answer = reacher.solve(right=ps.Target(goals))
    assert np.isfinite(answer.pose.rotations).all() and np.isfinite(answer.pose.translation).all()
    assert inside_limits(body, answer.pose).all()


@pytest.mark.parametrize("name", ["CMU", "MakeHuman", "VRM"])
def test_a_behaviour_works_on_other_bodies(name, data_dir):
    other = file_body(data_dir, name)
    reacher = ps.Reacher(other, right=leaning())
    scale = other.limb("right_arm").length
    shoulder = places(other, other.neutral_pose, "right_upper_arm")[0][0]
    goals = shoulder + np.random.default_rng(12).uniform([-1, -1, -0.3], [0.5, 1, 1.2], (400, 3)) * scale
    answer = reacher.solve(right=ps.Target(goals))
    assert answer.ok.sum() > 40
    check(other, answer, goals, other.neutral_pose)


def test_a_captured_start_is_no_obstacle(cmu):
    motion = ps.load(cmu / "13_10.bvh", repair="cmu")
    body = ps.Humanoid(motion.skeleton)
    reacher = ps.Reacher(body, right=leaning())
    start = motion[0]
    goal = places(body, start, "right_upper_arm")[0][0] + body.limb("right_arm").length * np.array([0.1, -0.2, 0.7])
    answer = reacher.solve(right=ps.Target(goal), start=start)
    assert answer.ok and answer.weight > 0.0
    check(body, answer, goal, start)


def ball(radius):
    """A closed mesh of some hundred triangles."""
    turn, tilt = np.meshgrid(np.linspace(0, 2 * np.pi, 17)[:-1], np.linspace(0, np.pi, 9))
    points = radius * np.stack([np.sin(tilt) * np.cos(turn), np.cos(tilt), np.sin(tilt) * np.sin(turn)], axis=-1)
    k = np.arange(8 * 16).reshape(8, 16)
    right = np.roll(k, -1, axis=1)
    faces = np.concatenate([np.stack([k, right, k + 16], -1), np.stack([right, right + 16, k + 16], -1)])
    return points.reshape(-1, 3), faces.reshape(-1, 3)


@pytest.mark.parametrize("extend", [False, True])
def test_a_body_bends_only_as_far_as_a_mesh_lets_it(body, extend):
    pytest.importorskip("coal")
    behaviour = leaning(weight=Weight("constant", 1.0))
    goals = np.array([[-0.35, 0.9, 0.45], [np.nan, 0.0, 0.0], [-0.3, 0.2, 0.9]])
    scene = ps.Scene()
    reacher = ps.Reacher(body, right=behaviour, scene=scene, extend=extend)
    free = reacher.solve(right=ps.Target(goals))
    scene.mesh("ball", *ball(0.25), (0.05, 1.45, 0.42))  # the reacher sees what comes into its scene later
    answer = reacher.solve(right=ps.Target(goals))
    assert free.weight[0] == 1.0 and 0.0 < answer.weight[0] < 0.9
    assert answer.reason[0] == ps.Status.COLLISION and answer.status[1] == ps.Status.INVALID
    check(body, reacher.solve(right=ps.Target(goals[0])), goals[0], body.neutral_pose)


def test_wrong_calls_say_what_is_wrong(body, reacher):
    with pytest.raises(ps.PosableError, match="mirrored"):
        ps.Reacher(body, left=leaning())
    with pytest.raises(ps.PosableError, match="needs a behaviour"):
        ps.Reacher(body)
    with pytest.raises(ps.PosableError, match="no behaviour for that hand"):
        reacher.solve(left=ps.Target([0, 1, 0]))
    with pytest.raises(ps.PosableError, match="at least one target"):
        reacher.solve()
    with pytest.raises(ps.PosableError, match="weight"):
        reacher.solve(right=ps.Target([0, 1, 0]), weight=2.0)
    with pytest.raises(ps.PosableError, match="gaze"):
        ps.Reacher(body, right=leaning(), gaze=3.0)
    with pytest.raises(ps.ShapeError):
        reacher.solve(right=ps.Target([0, 1]))


@pytest.mark.parametrize("outside", [0.01, 0.3])
def test_a_wrist_that_starts_outside_its_limits_fails_no_target(outside):
    """Captured wrists are outside more often than not; a target without an orientation brings them back."""
    body = ps.figure()
    hand, elbow = body.index("right_hand"), body.index("right_lower_arm")
    posture = body.canonical(body.neutral_pose)
    assert body.limits.contains("right_hand", posture.rotation("right_hand"))
    along = np.array([1.0, 0.0, 0.0])
    bent = next(
        angle
        for angle in np.arange(0.0, 3.0, 0.005)
        if not body.limits.contains("right_hand", pm.axis_angle(along, angle))
    )
    rotations = body.neutral_pose.rotations.copy()
    world = pm.multiply(pm.axis_angle(along, bent + outside), body.neutral_frames.orientations[hand])
    rotations[hand] = pm.multiply(pm.conjugate(body.neutral_frames.orientations[elbow]), world)
    start = body.neutral_pose.replace(rotations=rotations)
    assert not body.limits.contains("right_hand", body.canonical(start).rotation("right_hand"), 1e-6)
    goals = np.random.default_rng(0).uniform([-0.6, 0.8, 0.1], [0.2, 1.7, 0.6], (60, 3))
    reacher = ps.Reacher(body, right=ps.Behaviour.example("normal"), self_collision=False)
    ordinary = reacher.solve(right=ps.Target(goals))
    for answer in (reacher.solve(right=ps.Target(goals), start=start), body.place(start, "right_hand", goals)):
        assert answer.ok.sum() > 20
        frames = body.skeleton.forward(answer.pose)
        assert np.linalg.norm(frames.positions[:, hand] - goals, axis=-1)[answer.ok].max() < 1e-9
        wrist = body.canonical(answer.pose).rotation("right_hand")
        assert body.limits.contains("right_hand", wrist, 1e-6)[answer.ok].all()
    assert reacher.solve(right=ps.Target(goals), start=start).ok.sum() > 0.9 * ordinary.ok.sum()
