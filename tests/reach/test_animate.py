"""Reach motions: the hand on its straight way with a bell-shaped speed, the body with it, frame after frame."""

import math

import numpy as np
import pytest

import posable as ps
import posable.math as pm
from posable.body.collision.clearance import clearance
from posable.reach import Fitts, Pace

GOAL = (-0.25, 1.25, 0.5)
FEET = ("left_foot", "right_foot")
FAST = {"fps": 30, "duration": 0.5}


@pytest.fixture(scope="module")
def body():
    return ps.figure()


@pytest.fixture(scope="module")
def reacher(body):
    behaviour = ps.Behaviour.default(body, "right_arm")
    return ps.Reacher(body, right=behaviour, left=behaviour.mirrored())


def place(body, poses, part="right_hand"):
    """Where a part is in poses, (..., 3)."""
    return body.skeleton.forward(poses).positions[..., body.index(part), :]


def off_the_line(points, start, end):
    """[m] of each point from the line between two."""
    ahead = (end - start) / np.linalg.norm(end - start)
    way = points - start
    return np.linalg.norm(way - (way @ ahead)[:, None] * ahead, axis=-1)


def random_goals(count, seed):
    return np.random.default_rng(seed).uniform([-0.75, 0.6, -0.1], [0.2, 1.8, 0.7], (count, 3))


@pytest.mark.parametrize("goal", [(-0.3, 0.5, 0.6), (-0.2, 0.2, 0.5), (-0.6, 0.7, 0.2), (-0.3, 0.9, 0.4)])
@pytest.mark.parametrize("hands", ["right", "both"])
def test_the_body_helps_in_time_for_a_hand_that_goes_down(body, reacher, goal, hands):
    """The hanging arm is as long as it gets: on the way to something low the body must bend from the first frame on."""
    if hands == "both" and goal[0] == -0.6:
        pytest.skip("so far apart they do not reach")
    other = None if hands == "right" else ps.Target((-goal[0], *goal[1:]))
    told = reacher.animate(right=ps.Target(goal), left=other)
    hand = place(body, told.motion.pose)
    assert told.ok.all() and off_the_line(hand, hand[0], np.array(goal)).max() < 1e-9
    joints = body.skeleton.forward(told.motion.pose).positions
    step = np.linalg.norm(np.diff(joints, axis=0), axis=-1).max(axis=-1)
    fastest = np.linalg.norm(np.diff(hand, axis=0), axis=-1).max()
    assert step[0] < 0.2 * fastest, "and yet nothing jumps when it begins"


def test_the_speed_of_the_hand_is_a_bell_and_its_way_a_line(body, reacher):
    told = reacher.animate(right=ps.Target(GOAL), fps=240, duration=1.0)
    assert told.ok.all() and len(told.motion) == 241 and told.motion.fps == 240
    hand = place(body, told.motion.pose)
    speed = np.linalg.norm(np.diff(hand, axis=0), axis=-1) * 240
    mean = np.linalg.norm(hand[-1] - hand[0])
    assert speed.max() / mean == pytest.approx(1.875, abs=0.01)
    assert abs(speed.argmax() + 0.5 - 120) <= 0.5
    assert max(speed[0], speed[-1]) < 1e-3 * mean  # s(1/240) * 240
    assert np.abs(np.diff(speed)[[0, -1]]).max() * 240 < 0.3 * mean  # the acceleration's peak is 5.8 times the mean
    assert off_the_line(hand, hand[0], np.array(GOAL)).max() < 1e-9
    share = (hand - hand[0]) @ (hand[-1] - hand[0]) / mean**2
    t = np.linspace(0, 1, 241)
    np.testing.assert_allclose(share, 10 * t**3 - 15 * t**4 + 6 * t**5, atol=1e-9)


def test_a_motion_begins_in_its_starting_pose_and_ends_as_the_reacher_solves(body, reacher):
    start = ps.samples.dance(body)[100]
    told = reacher.animate(right=ps.Target(GOAL), start=start, **FAST)
    np.testing.assert_array_equal(told.motion.pose.rotations[0], start.rotations)
    np.testing.assert_array_equal(told.motion.pose.translation[0], start.translation)
    assert told.weight[0] == 0.0 and told.status[0] == ps.Status.REACHED
    end = reacher.solve(right=ps.Target(GOAL), start=start)
    assert end.ok and told.ok[-1]
    np.testing.assert_allclose(told.motion.pose.translation[-1], end.pose.translation, atol=1e-12)
    assert told.weight[-1] == end.weight
    assert np.linalg.norm(place(body, told.motion[-1]) - GOAL) < 1e-9


def test_nothing_leaps_in_the_first_frames(body, reacher):
    """At rest the body bends for no hanging hand, however much its behaviour would."""
    told = reacher.animate(right=ps.Target(GOAL), fps=480, duration=1.0)
    joints = body.skeleton.forward(told.motion.pose).positions
    moved = np.linalg.norm(np.diff(joints, axis=0), axis=-1).max(axis=-1)
    assert moved[0] < 5e-3  # a stretched arm or leg bends as the root of what its end moves
    assert moved.max() < 0.015


@pytest.mark.parametrize("k", range(12))
def test_every_frame_has_a_status_and_holds_what_it_says(body, reacher, k):
    """Random targets, near and far: on the line where reached, feet held, inside the limits, finite."""
    goal = random_goals(12, 1)[k]
    told = reacher.animate(right=ps.Target(goal), fps=30)
    frames = len(told.motion)
    assert told.status.shape == told.position_error.shape == told.weight.shape == told.jumped.shape == (frames,)
    assert told.status.dtype == np.int8 and np.isfinite(told.motion.pose.rotations).all()
    hand = place(body, told.motion.pose)
    assert off_the_line(hand[told.ok], hand[0], goal).max(initial=0.0) < 1e-9
    assert (told.first_failure is None) == told.ok.all()
    for foot in FEET:
        assert np.abs(place(body, told.motion.pose, foot) - place(body, body.neutral_pose, foot)).max() < 1e-9
    posture = body.canonical(told.motion.pose)
    roles = [role for role in posture.roles if role in body.limits]
    rows = [posture.roles.index(role) for role in roles]
    assert body.limits.contains(roles, posture.rotations[:, rows], 1e-6).all()


@pytest.mark.parametrize("k", range(8))
def test_elbows_leap_only_where_they_say_so(body, reacher, k):
    """The hand goes at most a millimetre a frame; the elbow's frame of 20 mm is flagged."""
    goal = random_goals(8, 2)[k]
    way = np.linalg.norm(goal - place(body, body.neutral_pose))
    seconds = 2.0
    told = reacher.animate(right=ps.Target(goal), fps=math.ceil(1.875 * way / 1e-3 / seconds), duration=seconds)
    hand = place(body, told.motion.pose)
    assert np.linalg.norm(np.diff(hand[told.ok], axis=0), axis=-1).max(initial=0.0) < 1.01e-3 or not told.ok.all()
    elbow = np.linalg.norm(np.diff(place(body, told.motion.pose, "right_lower_arm"), axis=0), axis=-1)
    assert elbow[~told.jumped[1:]].max() < 0.02


def test_the_hand_turns_on_the_shorter_way_and_arrives_turned(body, reacher):
    turn = pm.axis_angle([1.0, 0.0, 0.0], -1.4)
    told = reacher.animate(right=ps.Target(GOAL, turn), **FAST)
    turned = body.canonical_orientation(body.skeleton.forward(told.motion.pose), body.index("right_hand"))
    t = np.linspace(0, 1, len(told.motion))
    wanted = pm.slerp(turned[0], turn, 10 * t**3 - 15 * t**4 + 6 * t**5)
    assert told.ok.sum() > 10
    assert pm.angle(turned, wanted)[told.ok].max() < 1e-9
    longer = reacher.animate(right=ps.Target(GOAL, -turn), **FAST)  # the same orientation
    np.testing.assert_allclose(longer.motion.pose.rotations, told.motion.pose.rotations, atol=1e-12)


def test_two_hands_leave_and_arrive_together(body, reacher):
    right, left = (-0.25, 1.1, 0.45), (0.3, 1.4, 0.35)
    told = reacher.animate(right=ps.Target(right), left=ps.Target(left), fps=60)
    assert told.ok.all()
    for part, goal in (("right_hand", right), ("left_hand", left)):
        hand = place(body, told.motion.pose, part)
        assert np.linalg.norm(hand[-1] - goal) < 1e-9
        assert off_the_line(hand, hand[0], np.array(goal)).max() < 1e-9
        speed = np.linalg.norm(np.diff(hand, axis=0), axis=-1)
        assert speed.max() / speed.mean() == pytest.approx(1.875, abs=0.01)
    longest = max(np.linalg.norm(place(body, body.neutral_pose, "left_hand") - left), 0.0)
    assert told.motion.duration == pytest.approx(longest / 0.6, abs=1 / 60)


def test_a_sequence_goes_through_its_targets_and_holds(body, reacher):
    first, second, third = (-0.35, 1.2, 0.45), (0.25, 1.3, 0.4), (-0.1, 1.0, 0.45)
    steps = [
        ps.ReachStep(right=ps.Target(first), hold=0.2),
        ps.ReachStep(left=ps.Target(second), duration=0.5),
        ps.ReachStep(right=ps.Target(third), hold=0.1),
    ]
    told = reacher.animate(steps=steps, fps=60)
    a, b, c = told.arrivals
    assert told.ok.all() and len(told.motion) == c + 7 and b == a + 12 + 30
    right, left = (place(body, told.motion.pose, part) for part in ("right_hand", "left_hand"))
    assert np.abs(right[a : b + 1] - first).max() < 1e-9  # held, also while the other hand moves
    assert np.abs(left[b:] - second).max() < 1e-9
    assert np.abs(right[c:] - third).max() < 1e-9
    assert off_the_line(left[a + 12 : b + 1], left[a + 12], np.array(second)).max() < 1e-9
    joints = body.skeleton.forward(told.motion.pose).positions
    moved = np.linalg.norm(np.diff(joints, axis=0), axis=-1).max(axis=-1)
    assert moved.max() < 0.09 and moved[[a - 1, b - 1, c - 1]].max() < 1e-3  # all of it comes to rest
    for foot in FEET:
        assert np.ptp(place(body, told.motion.pose, foot), axis=0).max() < 1e-9


def test_a_hand_stays_turned_through_targets_without_an_orientation(body, reacher):
    turn = pm.axis_angle([1.0, 0.0, 0.0], -1.4)
    steps = [ps.ReachStep(right=ps.Target(GOAL, turn)), ps.ReachStep(right=ps.Target((-0.3, 1.1, 0.5)))]
    told = reacher.animate(steps=steps, **FAST)
    turned = body.canonical_orientation(body.skeleton.forward(told.motion.pose), body.index("right_hand"))
    later = np.arange(len(told.motion)) >= told.arrivals[0]
    assert told.ok[later].any()
    assert pm.angle(turned, turn)[later & told.ok].max() < 1e-9


def test_a_pole_turns_the_elbow_gently(body, reacher):
    out = reacher.animate(right=ps.Target(GOAL, pole=(-1.5, 1.2, 0.2)), fps=120, duration=1.0)
    free = reacher.animate(right=ps.Target(GOAL), fps=120, duration=1.0)
    elbow = place(body, out.motion.pose, "right_lower_arm")
    assert elbow[-1, 0] < place(body, free.motion[-1], "right_lower_arm")[0] - 0.02
    assert not out.jumped.any()
    speed = np.linalg.norm(np.diff(elbow, axis=0), axis=-1) * 120
    assert speed[-1] < 0.05 * speed.max()


def test_durations_come_from_speed_fitts_law_or_the_caller(body, reacher):
    way = np.linalg.norm(place(body, body.neutral_pose) - GOAL)

    def duration(**options):
        return reacher.animate(right=ps.Target(GOAL), fps=100, **options).motion.duration

    assert duration() == pytest.approx(way / 0.6, abs=0.005)
    assert duration(duration=Pace(speed=1.2)) == pytest.approx(way / 1.2, abs=0.005)
    assert duration(duration=Fitts(width=0.02)) == pytest.approx(0.1 + 0.1 * math.log2(2 * way / 0.02), abs=0.005)
    assert duration(duration=0.37) == pytest.approx(0.37, abs=1e-9)
    assert duration(duration=lambda distance: 2 * distance) == pytest.approx(2 * way, abs=0.005)
    assert Pace()(0.01) == 0.25 and Fitts()(0.0) == 0.1
    near = place(body, body.neutral_pose) + np.array([0.0, 0.001, 0.0])
    assert reacher.animate(right=ps.Target(near), fps=100).motion.duration == pytest.approx(0.25)


def test_a_target_out_of_reach_is_approached_and_told(body, reacher):
    told = reacher.animate(right=ps.Target((-0.3, 1.3, 2.0)), fps=30)
    failed = told.first_failure
    assert failed is not None and failed > 5 and told.status[-1] == ps.Status.UNREACHABLE
    assert told.ok[:failed].all() and told.position_error[-1] > 0.5
    hand = place(body, told.motion.pose)
    distance = np.linalg.norm(hand - np.array([-0.3, 1.3, 2.0]), axis=-1)
    assert (np.diff(distance) < 1e-3).all()  # never away from it
    assert told.weight[-1] > 0.9  # bending on brings the hand no nearer
    assert np.linalg.norm(np.diff(hand, axis=0), axis=-1).max() < 0.1


@pytest.mark.parametrize(
    "target",
    [
        ps.Target((math.nan, 1.0, 0.4)),
        ps.Target((math.inf, 1.0, 0.4)),
        ps.Target(GOAL, (0.0, 0.0, 0.0, 0.0)),
        ps.Target(GOAL, (math.nan, 0.0, 0.0, 1.0)),
    ],
)
def test_a_bad_target_holds_the_body_still_and_does_not_spoil_the_next(body, reacher, target):
    steps = [
        ps.ReachStep(right=ps.Target((-0.3, 1.1, 0.4))),
        ps.ReachStep(right=target),
        ps.ReachStep(right=ps.Target(GOAL)),
    ]
    told = reacher.animate(steps=[*steps[:2]], **FAST)
    a, b = told.arrivals
    assert (told.status[a + 1 :] == ps.Status.INVALID).all() and told.ok[: a + 1].all()
    np.testing.assert_array_equal(told.motion.pose.rotations[a:], told.motion.pose.rotations[[a] * (b - a + 1)])
    if target.orientation is None:
        again = reacher.animate(steps=steps, **FAST)
        assert again.ok[b + 1 :].all() and np.linalg.norm(place(body, again.motion[-1]) - GOAL) < 1e-9


def test_an_obstacle_in_the_way_of_the_elbow_is_avoided_frame_by_frame(body):
    goal = ps.Target((-0.35, 1.15, 0.45))
    behaviour = ps.Behaviour.default(body, "right_arm")
    free = ps.Reacher(body, right=behaviour).animate(right=goal, fps=60)
    elbow = place(body, free.motion.pose, "right_lower_arm")
    scene = ps.Scene().sphere("ball", 0.05, elbow[-1] + np.array([0.0, -0.02, 0.0]))
    told = ps.Reacher(body, right=behaviour, scene=scene).animate(right=goal, fps=60)
    whole = clearance(body)
    assert whole.touches(body.skeleton.forward(free.motion.pose), scene).any()
    assert told.ok.all()
    assert not whole.touches(body.skeleton.forward(told.motion.pose), scene).any()
    hand = place(body, told.motion.pose)
    assert off_the_line(hand, hand[0], hand[-1]).max() < 1e-9


def test_a_live_stream_follows_and_settles(body, reacher):
    """Dragged targets: the body joins in within the settling time, then each answer is the reacher's own."""
    stream = reacher.stream(60)
    told = [stream.step(right=ps.Target(GOAL)) for _ in range(60)]
    weights = np.array([float(one.weight) for one in told])
    assert (np.diff(weights) >= 0).all() and weights[0] < 0.1 * weights[-1]
    assert weights[15:] == pytest.approx(float(reacher.solve(right=ps.Target(GOAL)).weight))
    assert all(one.ok for one in told)
    held = told[-1].pose
    bad = stream.step(right=ps.Target((math.nan, 0.0, 0.0)))
    assert bad.status is ps.Status.INVALID
    np.testing.assert_array_equal(bad.pose.rotations, held.rotations)
    back = stream.step(right=ps.Target(GOAL), dt=0.1)
    np.testing.assert_allclose(back.pose.rotations, held.rotations, atol=1e-9)
    stream.reset()
    np.testing.assert_array_equal(stream.pose.rotations, body.neutral_pose.rotations)
    assert float(stream.step(right=ps.Target(GOAL)).weight) == pytest.approx(weights[0])


def test_impossible_calls_are_told(body, reacher):
    goal = ps.Target(GOAL)
    only_right = ps.Reacher(body, right=reacher.right)
    for call, says in (
        (lambda: reacher.animate(), "nothing to reach"),
        (lambda: reacher.animate(right=goal, steps=[ps.ReachStep(right=goal)]), "not both"),
        (lambda: reacher.animate(right=goal, duration=0.0), "takes 0.0 s"),
        (lambda: reacher.animate(right=goal, duration=lambda d: math.nan), "takes nan s"),
        (lambda: reacher.animate(right=goal, fps=0), "fps is 0"),
        (lambda: reacher.animate(right=ps.Target([GOAL, GOAL])), "expected (3,)"),
        (lambda: reacher.animate(right=goal, start=ps.samples.walk(body).pose), "expected one pose"),
        (lambda: only_right.animate(left=goal), "no behaviour"),
        (lambda: ps.ReachStep(), "needs a target"),
        (lambda: ps.ReachStep(right=goal, hold=-1.0), "hold is -1.0"),
        (lambda: reacher.stream(settle=-1.0), "settle is -1.0"),
    ):
        with pytest.raises(ps.PosableError) as error:
            call()
        assert says in str(error.value)


@pytest.mark.parametrize("name", ["normal", "tired", "energetic"])
def test_the_hand_passes_close_to_the_body_without_touching_it(body, name):
    """Kallmann 2008, Figure 11: from behind to the front, close to the body, with no collision and no flagged jump."""
    back, front = (-0.22, 1.0, -0.25), (-0.1, 1.1, 0.42)
    steps = [ps.ReachStep(right=ps.Target(back), duration=2.0), ps.ReachStep(right=ps.Target(front), duration=2.0)]
    behaviour = ps.Behaviour.example(name, "right_arm", body)
    told = ps.Reacher(body, right=behaviour).animate(steps=steps)
    careless = ps.Reacher(body, right=behaviour, self_collision=False).animate(steps=steps)
    whole = clearance(body)
    assert told.ok.all() and not told.jumped.any()
    assert not whole.touches(body.skeleton.forward(told.motion.pose)).any()
    if name == "normal":  # close indeed
        assert whole.touches(body.skeleton.forward(careless.motion.pose)).any()
    hand = place(body, told.motion.pose)[told.arrivals[0] :]
    assert off_the_line(hand, np.array(back), np.array(front)).max() < 1e-9


def test_targets_of_a_file_are_steps_of_a_motion(tmp_path):
    """The file's own hand and hold win over the defaults, in both formats."""
    (tmp_path / "a.csv").write_text("x, y, z, hand, hold\n-0.3, 1.2, 0.4, , \n0.3, 1.1, 0.4, left, 0.2\n")
    (tmp_path / "a.json").write_text(
        '[{"x": -0.3, "y": 1.2, "z": 0.4}, {"x": 0.3, "y": 1.1, "z": 0.4, "hand": "left", "hold": 0.2}]'
    )
    for name in ("a.csv", "a.json"):
        first, second = ps.load_targets(tmp_path / name, hold=0.1)
        assert first.left is None and first.right.position == (-0.3, 1.2, 0.4) and first.hold == 0.1
        assert second.right is None and second.left.position == (0.3, 1.1, 0.4) and second.hold == 0.2
