"""Feet that step and heels that lift where a target is out of reach, and the balance of what results."""

import warnings

import numpy as np
import pytest
from scipy.spatial import ConvexHull

import posable as ps
from posable.body.balance import HALF_WIDTH, TIP, hull_margin
from posable.body.collision.clearance import clearance
from posable.collision import Scene
from posable.compute import PosableError
from tests.body.bodies import file_body

FAR = np.array([[-0.2, 1.3, 1.1], [-1.2, 1.2, 0.2], [-0.4, 1.2, -0.9], [0.7, 1.1, 0.6], [-0.2, 2.05, 0.2]])
FEET = ("left_foot", "right_foot")


@pytest.fixture(scope="module")
def body():
    return ps.figure()


def stepping(body):
    return ps.Reacher(body, right=ps.Behaviour.example("normal", body=body), feet="step")


def positions(body, pose, *parts):
    return body.skeleton.forward(pose).positions[..., [body.index(part) for part in parts], :]


def on_ground(body, goals):
    """Where goals for the figure are for a body of another height that stands elsewhere."""
    figure = ps.figure()
    stood, stands = (positions(one, one.neutral_pose, *FEET).mean(axis=0) for one in (figure, body))
    return stands + (goals - stood) * body.height / figure.height


@pytest.mark.parametrize("name", [None, "MakeHuman", "CMU"])
def test_a_target_out_of_reach_is_reached_with_a_step_or_on_tiptoe(data_dir, name):
    body = ps.figure() if name is None else file_body(data_dir, name)
    goals = on_ground(body, FAR)
    stays = ps.Reacher(body, right=ps.Behaviour.example("normal", body=body)).solve(right=ps.Target(goals))
    answer = stepping(body).solve(right=ps.Target(goals))
    assert stays.ok.sum() <= 1 and answer.ok.sum() >= 3
    hand = positions(body, answer.pose, "right_hand")[:, 0]
    assert np.linalg.norm(hand - goals, axis=-1)[answer.ok].max() < 1e-8
    before, after = positions(body, body.neutral_pose, *FEET), positions(body, answer.pose, *FEET)
    moved = np.linalg.norm(after - before, axis=-1)
    steps = np.linalg.norm(answer.step, axis=-1)
    # One foot steps, as far as is said; the other stays, but for its heel.
    for row in np.flatnonzero(steps > 0.0):
        other = int(np.argmin(moved[row]))
        assert moved[row].max() == pytest.approx(steps[row], abs=1e-6 + 0.2 * answer.heels[row].max())
        assert moved[row, other] < 1e-6 + 0.2 * answer.heels[row, other]
        assert after[row, :, 1] == pytest.approx(before[:, 1], abs=1e-6 + 0.2 * answer.heels[row].max())
    assert (steps[:4] > 0.05).all() and steps[4] == 0.0 and (stays.ok[4] or (answer.heels[4] > 0.02).all())


def test_the_ball_of_a_foot_that_lifts_its_heel_stays_and_its_toes_stay_flat(body):
    answer = stepping(body).solve(right=ps.Target(FAR[4:]))
    frames, before = body.skeleton.forward(answer.pose), body.neutral_frames
    for side in ("left", "right"):
        toes, foot = body.index(f"{side}_toes"), body.index(f"{side}_foot")
        assert np.abs(frames.positions[0, toes] - before.positions[toes]).max() < 1e-6
        assert np.abs(frames.orientations[0, toes] - before.orientations[toes]).max() < 1e-6
        assert frames.positions[0, foot, 1] > before.positions[foot, 1] + 0.005


def test_the_shortest_step_that_will_do_is_taken(body):
    goals = np.stack([np.full(12, -0.2), np.full(12, 1.3), np.linspace(0.7, 1.1, 12)], axis=-1)
    answer = stepping(body).solve(right=ps.Target(goals))
    assert answer.ok.all()
    steps = np.linalg.norm(answer.step, axis=-1)
    assert steps[0] == 0.0 and (np.diff(steps) > -0.02).all() and steps[-1] > 0.4
    still = ps.Reacher(body, right=ps.Behaviour.example("normal")).solve(right=ps.Target(goals))
    assert np.array_equal(steps == 0.0, still.ok)
    np.testing.assert_array_equal(answer.pose.rotations[still.ok], still.pose.rotations[still.ok])


def test_which_foot_steps_is_that_of_the_side_or_of_the_hand(body):
    goals = np.array([[-1.2, 1.2, 0.2], [1.1, 1.2, 0.3], [-0.2, 1.3, 1.1]])
    moved = positions(body, stepping(body).solve(right=ps.Target(goals)).pose, *FEET) - positions(
        body, body.neutral_pose, *FEET
    )
    assert np.argmax(np.linalg.norm(moved, axis=-1), axis=-1).tolist() == [1, 0, 1]
    left = ps.Reacher(body, left=ps.Behaviour.example("normal", "left_arm"), feet="step")
    mirrored = positions(body, left.solve(left=ps.Target(goals * [-1, 1, 1])).pose, *FEET) - positions(
        body, body.neutral_pose, *FEET
    )
    np.testing.assert_allclose(mirrored[:, ::-1] * [-1.0, 1.0, 1.0], moved, atol=1e-6)


def test_what_no_step_reaches_is_approached_and_said(body):
    far = np.array([-0.2, 1.2, 2.6])
    still = ps.Reacher(body, right=ps.Behaviour.example("normal")).solve(right=far)
    answer = stepping(body).solve(right=far)
    assert answer.status == ps.Status.UNREACHABLE and answer.position_error < still.position_error - 0.2
    hand = positions(body, answer.pose, "right_hand")[0]
    assert np.linalg.norm(hand - far) == pytest.approx(float(answer.position_error), abs=1e-6)
    bad = stepping(body).solve(right=ps.Target([[np.nan, 1.0, 1.0], FAR[0]]))
    assert bad.status.tolist() == [ps.Status.INVALID, ps.Status.REACHED]


def test_a_motion_steps_without_sliding_or_jumping(body):
    answer = stepping(body).animate(right=FAR[0], fps=60)
    assert answer.ok.all()
    ankles = positions(body, answer.motion.pose, *FEET)
    staying, moving = ankles[:, 0], ankles[:, 1]
    assert (
        np.abs(positions(body, answer.motion.pose, "left_toes") - positions(body, answer.motion[0], "left_toes")).max()
        < 1e-6
    )
    assert np.ptp(staying[:, [0, 2]], axis=0).max() < 0.05  # its heel may lift
    assert moving[:, 1].max() > moving[0, 1] + 0.05 and moving[-1, 1] == pytest.approx(moving[0, 1], abs=0.01)
    everything = body.skeleton.forward(answer.motion.pose).positions
    assert np.linalg.norm(np.diff(everything, axis=0), axis=-1).max() < 0.06  # [m] a frame: the hand at its fastest
    assert np.linalg.norm(np.diff(everything, 2, axis=0), axis=-1).max() < 0.012


def test_the_centre_of_mass_is_where_a_plain_sum_has_it_and_a_lean_is_out_of_balance(body):
    standing = body.balance(body.neutral_pose)
    assert 0.53 * body.height < standing.center_of_mass[1] < 0.59 * body.height  # people: 55 to 57 %
    assert abs(standing.center_of_mass[0]) < 1e-9 and standing.margin > 0.03
    # Moved as a whole, it moves along; feet and all, the margin stays.
    moved = body.balance(
        body.neutral_pose.replace(translation=body.neutral_pose.translation + np.array([1.0, 0.5, -2.0]))
    )
    np.testing.assert_allclose(moved.center_of_mass - standing.center_of_mass, [1.0, 0.5, -2.0], atol=1e-9)
    assert moved.margin == pytest.approx(float(standing.margin), abs=1e-9)
    # Hips pulled ahead of standing feet by more than a foot is long.
    ahead = body.neutral_pose.replace(translation=body.neutral_pose.translation + np.array([0.0, -0.15, 0.35]))
    for foot in FEET:
        ahead = body.place(ahead, foot, ps.Target(positions(body, body.neutral_pose, foot)[0])).pose
    margin = body.balance(ahead).margin
    assert margin < -0.05
    batch = body.balance(ps.samples.walk(body).pose)
    assert batch.margin.shape == batch.center_of_mass.shape[:1]


def around(body, distances=(1.1, 1.5)):
    """Targets on all sides of the right shoulder, at these distances [arm lengths]."""
    angles = np.linspace(0.0, 2.0 * np.pi, 16, endpoint=False)
    away = np.array([[np.sin(a), height, np.cos(a)] for a in angles for height in (-0.6, 0.0, 0.4)])
    away *= body.limb("right_arm").length / np.linalg.norm(away, axis=-1, keepdims=True)
    shoulder = body.neutral_frames.positions[body.index("right_upper_arm")]
    return np.concatenate([shoulder + distance * away for distance in distances])


def new_contacts(body, start, pose, scene=None):
    """(...) whether a pose touches itself or the scene where the start did not."""
    seen = clearance(body)
    before, after = (seen.contacts(body.skeleton.forward(one), scene) for one in (start, pose))
    return (after & ~before).any(axis=-1)


def test_a_step_touches_nothing_that_the_start_did_not_touch(body):
    """The foot stands on no crate, and the thigh is not in the hand that hangs beside it."""
    scene = Scene().box("crate", (0.3, 0.3, 0.3), (-0.15, 0.15, 0.45)).box("stool", (0.3, 0.4, 0.3), (-0.75, 0.2, 0.0))
    goals = around(body)
    for obstacles in (None, scene):
        reacher = ps.Reacher(body, right=ps.Behaviour.example("normal"), scene=obstacles, feet="step")
        answer = reacher.solve(right=ps.Target(goals))
        assert (np.linalg.norm(answer.step, axis=-1) > 0.0)[answer.ok].sum() > 20
        assert not new_contacts(body, body.neutral_pose, answer.pose, obstacles)[answer.ok].any()
        hand = positions(body, answer.pose, "right_hand")[:, 0]
        assert np.linalg.norm(hand - goals, axis=-1)[answer.ok].max() < 1e-9


def test_a_foot_that_swings_through_something_says_so(body):
    bar = Scene().box("bar", (0.3, 0.1, 0.1), (-0.15, 0.05, 0.25))
    reacher = ps.Reacher(body, right=ps.Behaviour.example("normal"), scene=bar, feet="step")
    answer = reacher.animate(right=FAR[0], fps=30)
    touches = new_contacts(body, body.neutral_pose, answer.motion.pose, bar)
    assert touches.any() and not touches[answer.ok].any()
    assert {contact[1] for contact in answer.contact if contact is not None} == {"bar"}


def test_a_body_that_has_stepped_comes_back_without_a_jump(body):
    steps = [ps.ReachStep(FAR[0]), ps.ReachStep([-0.2, 1.2, 0.4])]
    answer = stepping(body).animate(steps=steps, fps=60)
    everything = body.skeleton.forward(answer.motion.pose).positions
    assert answer.ok.all() and np.linalg.norm(np.diff(everything, 2, axis=0), axis=-1).max() < 0.012


def test_toes_that_stay_flat_carry_a_body_on_tiptoe(body):
    """The margin is that of the convex hull of the toes, from the pose by plain geometry."""
    answer = stepping(body).solve(right=ps.Target(FAR[4:]))
    assert (answer.heels > 0.2).all()
    corners = []
    for side in ("left", "right"):
        ankle, ball = body.neutral_frames.positions[[body.index(f"{side}_foot"), body.index(f"{side}_toes")]]
        foot = (ball - ankle)[[0, 2]]
        width = HALF_WIDTH * np.array([foot[1], -foot[0]])
        now = positions(body, answer.pose, f"{side}_toes")[0, 0, [0, 2]]
        corners += [now + forward + aside for forward in (0.0, TIP * foot) for aside in (-width, width)]
    hull = ConvexHull(corners)
    inside = -(hull.equations @ [*answer.balance.center_of_mass[0, [0, 2]], 1.0]).max()
    assert inside > 0.0 and answer.balance.margin[0] == pytest.approx(inside, abs=1e-9)


def test_the_margin_of_a_hull_is_exact_inside_and_outside():
    rng = np.random.default_rng(0)
    for _ in range(60):
        points, counts = rng.normal(size=(9, 2)) + rng.normal(size=2), rng.uniform(size=9) < 0.7
        if counts.sum() < 3:
            continue
        hull = ConvexHull(points[counts])
        corners = points[counts][hull.vertices]
        expected = -hull.equations[:, 2].max()
        if expected < 0.0:  # the nearest point of the nearest edge
            along = np.roll(corners, -1, axis=0) - corners
            where = np.clip(-(corners * along).sum(axis=-1) / (along**2).sum(axis=-1), 0.0, 1.0)
            expected = -np.linalg.norm(corners + where[:, None] * along, axis=-1).min()
        assert hull_margin(points[None], counts[None])[0] == pytest.approx(expected, abs=1e-12)


def test_feet_that_do_not_exist_are_named(body):
    for feet in ("hop", None, np.array([1, 0])):
        with pytest.raises(PosableError, match="'step'"):
            ps.Reacher(body, right=ps.Behaviour.example("normal"), feet=feet)


def test_targets_at_the_end_of_the_world_are_out_of_reach_without_a_warning(body):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for far in ([0.0, 9e5, 0.0], [-4e5, 0.0, 4e5]):
            assert stepping(body).solve(right=far).status == ps.Status.UNREACHABLE
        for beyond in ([0.0, 1e300, 0.0], [-1e155, 0.0, 1e155]):
            assert stepping(body).solve(right=beyond).status == ps.Status.INVALID
        assert stepping(body).solve(right=ps.Target(np.zeros((0, 3)))).balance.margin.shape == (0,)
