"""How much of a behaviour an arm needs: as much as brings its target within comfortable reach, without jumps."""

import numpy as np
import pytest

import posable as ps
import posable.math as pm
from posable.compute import PosableError
from posable.reach import Posture, Weight
from posable.reach.need import FULL

PARTS = ("hips", "spine", "chest")


def bowing(angle=0.5, hips=(0.0, -0.1, 0.0), weight=None):
    """The same posture whatever the direction: a bow forward."""
    behaviour = ps.Behaviour("right_arm", PARTS, weight=weight or Weight("needed", 0.75))
    posture = Posture.neutral(PARTS).rotated(spine=pm.axis_angle([1.0, 0.0, 0.0], angle))
    for key in behaviour.keys:
        behaviour.set(key.id, posture.shifted(hips))
    return behaviour


@pytest.fixture(scope="module")
def body():
    return ps.figure()


def stretch(body, pose, goals):
    """(N,) distance from the right shoulder to its target [arm lengths], recomputed from the pose."""
    shoulder = body.skeleton.forward(pose).positions[..., body.index("right_upper_arm"), :]
    return np.linalg.norm(goals - shoulder, axis=-1) / body.limb("right_arm").length


def ahead(body, distances):
    shoulder = body.neutral_frames.positions[body.index("right_upper_arm")]
    return shoulder + np.asarray(distances)[:, None] * body.limb("right_arm").length * np.array([0.0, -0.2, 0.98])


def test_the_body_bends_until_the_target_is_comfortable_and_no_further(body):
    goals = ahead(body, np.linspace(0.3, 1.25, 200))
    answer = ps.Reacher(body, right=bowing(), self_collision=False).solve(right=ps.Target(goals))
    at_rest, bent = stretch(body, body.neutral_pose, goals), stretch(body, answer.pose, goals)
    assert (answer.weight[at_rest <= 0.75] == 0.0).all() and (answer.weight[at_rest > 0.8] > 0.0).all()
    reached = answer.weight < 0.9
    assert (at_rest[reached] > 1.05).any()
    assert (bent[reached] <= FULL + 1e-3).all() and (bent[answer.weight > 0.0] >= 0.75 - 1e-3).all()
    assert (np.diff(answer.weight[reached]) >= -1e-9).all()


def test_a_behaviour_that_leads_away_is_not_taken(body):
    """Leaning back brings nothing ahead nearer, so nothing of it is taken; nor by `extend`."""
    goals = ahead(body, np.linspace(0.8, 1.3, 20))
    for weight in (Weight("needed", 0.75), Weight("quadratic", 1e-6)):
        answer = ps.Reacher(body, right=bowing(-0.5, (0.0, -0.02, -0.05), weight)).solve(right=ps.Target(goals))
        assert answer.weight.max() < 1e-5


def test_a_valley_stops_the_body_where_the_shoulder_is_nearest(body):
    """A deep bow takes the shoulder down past a target far ahead: the weight stays where it is nearest."""
    goals = np.array([[-0.18, 1.45, 0.85], [-0.18, 1.55, 0.8]])
    reacher = ps.Reacher(body, right=bowing(1.4, (0.0, -0.02, 0.0)), self_collision=False, limits=None)
    weights = np.linspace(0.0, 1.0, 101)
    nearest = [
        weights[np.argmin([float(stretch(body, reacher.solve(right=goal, weight=w).pose, goal)) for w in weights])]
        for goal in goals
    ]
    assert min(nearest) > 0.2 and max(nearest) < 0.95
    assert (reacher.solve(right=ps.Target(goals)).weight <= np.array(nearest) + 0.02).all()


def test_the_paper_s_weight_is_raised_for_an_arm_that_is_too_short(body):
    goals = ahead(body, np.linspace(0.5, 1.2, 141))
    small = bowing(weight=Weight("quadratic", 0.1))
    without, with_it = (
        ps.Reacher(body, right=small, extend=extend, self_collision=False).solve(right=ps.Target(goals))
        for extend in (False, True)
    )
    assert np.allclose(without.weight, 0.1 * stretch(body, body.neutral_pose, goals) ** 2)
    assert (with_it.weight >= without.weight - 1e-12).all() and with_it.ok.sum() > 1.2 * without.ok.sum()
    short = stretch(body, without.pose, goals)
    assert (with_it.weight == without.weight)[short <= 0.85].all() and (with_it.weight > without.weight)[
        short > 0.9
    ].all()
    assert np.abs(np.diff(with_it.weight)).max() < 0.03  # of steps of 3 mm


def test_two_hands_that_share_a_body_have_more_of_it(body):
    right, left = bowing(), bowing().mirrored()
    goals = np.array([[-0.2, 0.95, 0.58], [-0.2, 0.95, 0.5]])
    reacher = ps.Reacher(body, right=right, left=left, self_collision=False)
    answer = reacher.solve(right=ps.Target(goals), left=ps.Target(goals * [-1.0, 1.0, 1.0]))
    assert answer.ok.all() and (answer.weight > 0.1).all()


def test_the_weight_of_two_hands_does_not_jump_where_both_request_nothing(body):
    """There the posture that they have in common is undefined, so nothing may be taken of it."""
    reacher = ps.Reacher(body, right=ps.Behaviour.example("normal"), left=ps.Behaviour.example("normal", "left_arm"))
    for centre, direction, other in (
        ((-0.2728, 0.8812, -0.0909), (0.682, -0.078, -0.727), (0.2128, 0.9083, 0.0116)),
        ((-0.303, 0.9512, -0.2268), (-0.228, -0.25, 0.941), (-0.2281, 1.6885, -0.3831)),
    ):
        line = np.array(centre) + np.linspace(-0.15, 0.15, 301)[:, None] * np.array(direction)
        answer = reacher.solve(right=ps.Target(line), left=ps.Target(np.broadcast_to(other, line.shape)))
        assert np.ptp(answer.weight) > 0.1 and np.abs(np.diff(answer.weight)).max() < 0.04  # of steps of 1 mm


def test_a_hanging_hand_hardly_moves_the_body(body):
    hangs = body.neutral_frames.positions[body.index("right_hand")]
    for name in ("normal", "tired", "energetic"):
        answer = ps.Reacher(body, right=ps.Behaviour.example(name)).solve(right=hangs)
        assert answer.ok and answer.weight < 0.15


def test_comfort_beyond_the_arm_and_weights_without_a_body_are_refused():
    with pytest.raises(PosableError, match=r"0\.95"):
        Weight("needed", 0.99)
    with pytest.raises(PosableError, match="requested_weight"):
        Weight("needed", 0.7)(1.0)


def test_a_body_that_helps_a_hand_down_moves_as_evenly_as_the_hand(body):
    """The first reach of the README: its arm hangs, where comfortable and stretched are a hundredth apart."""
    reacher, target = ps.Reacher(body, right=ps.Behaviour.default(body, "right_arm")), np.array([-0.3, 0.5, 0.6])
    rest = body.neutral_frames.positions[body.index("right_hand")]
    goals = rest + np.linspace(0.2, 0.7, 200)[:, None] * (target - rest)
    steps = np.diff(reacher.solve(right=ps.Target(goals)).weight)
    assert steps.min() > 0.3 * steps.mean(), "no stairs"
    motion = reacher.animate(right=ps.Target(target)).motion
    places = motion.skeleton.forward(motion.pose).positions
    shaking = np.linalg.norm(np.diff(places, 2, axis=0), axis=-1) * motion.fps**2
    assert shaking.max() < 12.0, f"{motion.skeleton.names[shaking.max(axis=0).argmax()]} at {shaking.max():.0f} m/s²"
