"""More points than six, fewer, and orientations."""

import numpy as np
import pytest

import posable as ps
import posable.math as pm
from posable.body.collision.clearance import SelfCollision
from posable.reconstruct import SequentialIK
from tests.body.bodies import file_body
from tests.reconstruct.test_sik import random_points, turned

ELBOWS = ("left_lower_arm", "right_lower_arm")
KNEES = ("left_lower_leg", "right_lower_leg")
HEAD_AND_HANDS = ("head", "left_hand", "right_hand")
SETS = {
    "head and hands": HEAD_AND_HANDS,
    "head, hands and hips": ("hips", *HEAD_AND_HANDS),
    "hips alone": ("hips",),
    "head alone": ("head",),
    "without feet": ps.MARKERS[:4],
    "without hands": ("hips", "head", "left_foot", "right_foot"),
    "one foot, one hand": ("right_foot", "hips", "left_hand", "head"),
    "elbow without hand": ("hips", "head", "left_lower_arm", "left_foot", "right_foot"),
    "hips and feet": ("hips", "left_foot", "right_foot"),
    "all": (*ps.MARKERS, *ELBOWS, *KNEES, "upper_chest"),
}


@pytest.fixture(scope="module")
def body():
    return ps.figure()


@pytest.fixture(scope="module")
def motion(body):
    return ps.samples.dance(body)


def points_of(body, pose, markers):
    frames = body.skeleton.forward(pose)
    return np.ascontiguousarray(frames.positions[..., [body.index(role) for role in markers], :])


def orientations_of(body, pose, roles=ps.MARKERS):
    frames = body.skeleton.forward(pose)
    return {role: body.canonical_orientation(frames, body.index(role)) for role in roles}


def inside_limits(body, pose, tolerance=1e-6):
    posture = body.canonical(pose)
    roles = [role for role in posture.roles if role in body.limits]
    rows = [posture.roles.index(role) for role in roles]
    return body.limits.contains(roles, posture.rotations[..., rows, :], tolerance).all()


@pytest.mark.parametrize("name", SETS)
def test_any_set_of_points_gives_a_believable_body_on_them(name, body, motion):
    markers = SETS[name]
    solver = SequentialIK(body, markers=markers)
    points = points_of(body, motion.pose, markers)
    answer = solver.solve(points)
    assert answer.marker_errors.shape == points.shape[:-1]
    assert np.isfinite(answer.pose.rotations).all() and inside_limits(body, answer.pose)
    found = points_of(body, answer.pose, markers)
    np.testing.assert_allclose(np.linalg.norm(found - points, axis=-1), answer.marker_errors, atol=1e-9)
    six = [k for k, role in enumerate(markers) if role in ps.MARKERS]
    if name == "one foot, one hand":  # nothing says where the body faces
        six = [markers.index("hips"), markers.index("head")]
    assert (answer.marker_errors[:, six].max(axis=-1) < 1e-6).mean() > 0.8
    feet = points_of(body, answer.pose, ("left_foot", "right_foot"))
    assert feet[..., 1].min() > -0.05


def test_the_order_of_points_does_not_matter(body, motion):
    points = points_of(body, motion.pose, ps.MARKERS)[::5]
    order = [3, 0, 5, 1, 4, 2]
    shuffled = SequentialIK(body, markers=[ps.MARKERS[k] for k in order]).solve(points[:, order])
    usual = SequentialIK(body).solve(points)
    np.testing.assert_array_equal(shuffled.pose.rotations, usual.pose.rotations)
    np.testing.assert_array_equal(shuffled.marker_errors, usual.marker_errors[:, order])
    np.testing.assert_array_equal(shuffled.status, usual.status)


@pytest.mark.parametrize("parts", [ELBOWS, KNEES])
def test_elbows_and_knees_that_are_known_are_nearer_than_guessed_ones(parts, body, motion):
    known = SequentialIK(body, markers=(*ps.MARKERS, *parts)).solve(points_of(body, motion.pose, (*ps.MARKERS, *parts)))
    guessed = SequentialIK(body).solve(body.markers(motion.pose))
    truth = points_of(body, motion.pose, parts)
    far = [np.linalg.norm(points_of(body, a.pose, parts) - truth, axis=-1).mean() for a in (known, guessed)]
    assert far[0] < 0.6 * far[1]
    assert known.marker_errors[:, :6].max() < 0.03


def test_a_known_chest_bends_the_spine_where_it_is(body, motion):
    markers = (*ps.MARKERS, "upper_chest")
    known = SequentialIK(body, markers=markers).solve(points_of(body, motion.pose, markers))
    guessed = SequentialIK(body).solve(body.markers(motion.pose))
    truth = points_of(body, motion.pose, ("upper_chest",))[:, 0]
    far = [np.linalg.norm(points_of(body, a.pose, ("upper_chest",))[:, 0] - truth, axis=-1) for a in (known, guessed)]
    np.testing.assert_allclose(far[0], known.marker_errors[:, 6], atol=1e-9)
    assert far[0].mean() < 0.5 * far[1].mean()
    assert (known.marker_errors[:, :2].max(axis=-1) < 1e-6).mean() > 0.9


def test_known_orientations_are_had_and_points_still_met(body, motion):
    points, turns = body.markers(motion.pose), orientations_of(body, motion.pose)
    answer = SequentialIK(body).solve(points, turns)
    found = orientations_of(body, answer.pose)
    for role in ps.MARKERS:
        off = pm.angle(found[role], turns[role])
        np.testing.assert_allclose(off, answer.marker_orientation_errors[role], atol=1e-6)
        assert np.median(off) < 0.02, role
    np.testing.assert_allclose(found["hips"], turns["hips"] * np.sign((found["hips"] * turns["hips"]).sum(-1))[:, None])
    assert (answer.marker_errors.max(axis=-1) < 1e-6).mean() > 0.8
    assert inside_limits(body, answer.pose)


@pytest.mark.parametrize("prior", ["default", None])
def test_a_turned_head_turns_the_spine_by_shares_and_stays_where_it_is(prior, body):
    points = body.markers(body.neutral_pose)
    turn = pm.axis_angle([0.0, 1.0, 0.0], 0.8)
    answer = SequentialIK(body, prior=prior).solve(points, {"head": turn, "hips": [1.0, 0.0, 0.0, 0.0]})
    assert answer.ok and answer.marker_orientation_errors["head"] < 1e-6
    frames = body.skeleton.forward(answer.pose)
    yaws = [2.0 * np.arctan2(q[2], q[0]) for q in (body.canonical_orientation(frames, joint) for joint in body.spine)]
    assert (np.diff(yaws) > -1e-6).all() and yaws[-1] == pytest.approx(0.8, abs=1e-6)
    # People turn the neck, and the chest by an eighth of it (`tools/fit_twist.py`); no joint does it alone.
    assert 0.05 * 0.8 < yaws[body.chest] < 0.25 * 0.8 and np.diff(yaws).max() < 0.6 * 0.8


def test_unknown_orientations_are_as_if_they_were_not_given(body, motion):
    points = body.markers(motion.pose)[::9]
    none = {role: np.full(4, np.nan) for role in ps.MARKERS}
    solver = SequentialIK(body)
    one, other = solver.solve(points), solver.solve(points, none)
    np.testing.assert_array_equal(one.pose.rotations, other.pose.rotations)
    assert all(np.isnan(off).all() for off in other.marker_orientation_errors.values())


def test_random_orientations_keep_limits_and_points(body):
    rng = np.random.default_rng(5)
    points = random_points(1500, 6)
    turns = {role: pm.normalize(rng.normal(size=(1500, 4))) for role in ps.MARKERS}
    for role in ps.MARKERS:
        turns[role][rng.random(1500) < 0.4] = np.nan
    turns["head"][0], turns["hips"][1] = 0.0, np.inf
    answer = SequentialIK(body).solve(points, turns)
    assert np.isfinite(answer.pose.rotations).all() and np.isfinite(answer.pose.translation).all()
    assert inside_limits(body, answer.pose)
    assert ((answer.marker_errors < 1e-6).all(axis=-1) == answer.ok).all()
    found = points_of(body, answer.pose, ps.MARKERS)
    np.testing.assert_allclose(np.linalg.norm(found - points, axis=-1), answer.marker_errors, atol=1e-9)


def test_everything_known_and_turned_gives_the_same_body_turned(body, motion):
    markers = SETS["all"]
    pose = motion.pose[::11]
    points, turns = points_of(body, pose, markers), orientations_of(body, pose)
    q, shift = pm.normalize(np.array([0.4, 0.3, -0.7, 0.5])), np.array([3.0, -1.0, 2.0])
    solver = SequentialIK(body, prior=None, markers=markers)
    here = solver.solve(points, turns)
    there = solver.solve(turned(points, q, shift), {role: pm.multiply(q, turn) for role, turn in turns.items()})
    expected = turned(body.skeleton.forward(here.pose).positions, q, shift)
    np.testing.assert_allclose(body.skeleton.forward(there.pose).positions, expected, atol=1e-5)


@pytest.mark.parametrize("name", SETS)
def test_points_turned_about_the_vertical_give_the_same_body_turned(name, body, motion):
    markers = SETS[name]
    if "left_hand" not in markers and "left_foot" not in markers:
        pytest.skip("nothing says where it faces")
    points = points_of(body, motion.pose[::11], markers)
    q, shift = pm.axis_angle([0.0, 1.0, 0.0], 1.9), np.array([3.0, 0.0, 2.0])
    solver = SequentialIK(body, markers=markers)
    here, there = solver.solve(points), solver.solve(turned(points, q, shift))
    if name == "one foot, one hand":
        return  # nor do these; the pose is only finite
    expected = turned(body.skeleton.forward(here.pose).positions, q, shift)
    np.testing.assert_allclose(body.skeleton.forward(there.pose).positions, expected, atol=1e-5)


@pytest.mark.parametrize("name", ["CMU", "MakeHuman", "VRM", "CesiumMan"])
def test_more_and_fewer_points_work_on_other_bodies(name, body, motion, data_dir):
    other = file_body(data_dir, name)
    pose = other.pose(body.canonical(motion.pose[::4]))
    chest = next(role for role in ("upper_chest", "chest", "hips") if role in other.roles)
    for markers in (HEAD_AND_HANDS, tuple(dict.fromkeys((*ps.MARKERS, *ELBOWS, chest)))):
        answer = SequentialIK(other, markers=markers).solve(
            points_of(other, pose, markers), orientations_of(other, pose, ("head", "left_hand", "right_foot"))
        )
        assert np.isfinite(answer.pose.rotations).all()
        assert (answer.marker_errors[:, :3] < 1e-6).all(axis=-1).mean() > 0.6


def test_arms_are_out_of_the_trunk_where_they_can_be(body, motion):
    rng = np.random.default_rng(7)
    points = body.markers(motion.pose)
    points = points[rng.integers(len(points), size=600)]
    points[:, 2:4] = points[:, :1] + rng.uniform([-0.3, 0.0, -0.1], [0.3, 0.45, 0.35], (600, 2, 3))

    def depth(elbows_out):
        answer = SequentialIK(body, prior=None, elbows_out=elbows_out).solve(points)
        from posable.body.limb.elbows import elbow_out

        return answer, [elbow_out(body, limb, answer.pose).changed for limb in ("left_arm", "right_arm")]

    without, sunk = depth(False)
    with_it, left = depth(True)
    np.testing.assert_array_equal(without.status, with_it.status)
    np.testing.assert_allclose(without.marker_errors, with_it.marker_errors, atol=1e-9)
    assert np.mean(left) < 0.6 * np.mean(sunk)


def test_feet_and_hands_stay_above_a_floor(body):
    floor = ps.Scene().plane("floor")
    points = body.markers(body.neutral_pose)
    points[4:, 1] -= 0.15
    points[:4, 1] -= 0.15
    answer = SequentialIK(body, scene=floor).solve(points)
    frames = body.skeleton.forward(answer.pose)
    assert answer.status == ps.Status.COLLISION
    for side in ("left", "right"):
        from posable.body.measures import sole_points

        heel, _ = sole_points(body, side)
        foot = body.index(f"{side}_foot")
        soles = frames.positions[foot] + pm.rotate(frames.orientations[foot], heel)
        assert soles[:, 1].min() > -1e-3
    np.testing.assert_allclose(answer.marker_errors[:4], 0.0, atol=1e-6)
    assert (answer.marker_errors[4:] > 0.1).all()


def test_an_elbow_keeps_out_of_a_box_beside_it(body):
    points = body.markers(body.neutral_pose)
    points[2], points[4:, 1] = points[0] + np.array([0.35, 0.25, 0.3]), points[4:, 1] + 0.1
    free = SequentialIK(body).solve(points)
    elbow = points_of(body, free.pose, ("left_lower_arm",))[0]
    scene = ps.Scene().box("box", (0.08, 0.08, 0.08), elbow + np.array([0.0, -0.02, -0.02]))
    answer = SequentialIK(body, scene=scene).solve(points)
    assert answer.ok
    moved = points_of(body, answer.pose, ("left_lower_arm",))[0]
    assert np.linalg.norm(moved - elbow) > 0.03


def test_wrong_markers_and_orientations_say_what_is_wrong(body):
    with pytest.raises(ps.PosableError, match="left_eye"):
        SequentialIK(body, markers=("head", "left_eye"))
    with pytest.raises(ps.PosableError, match="hips or the head"):
        SequentialIK(body, markers=("left_hand", "right_hand"))
    with pytest.raises(ps.PosableError, match="once"):
        SequentialIK(body, markers=("head", "head"))
    solver = SequentialIK(body)
    points = body.markers(body.neutral_pose)
    with pytest.raises(ps.PosableError, match="left_toes"):
        solver.solve(points, {"left_toes": [1, 0, 0, 0]})
    with pytest.raises(ps.ShapeError, match="head"):
        solver.solve(points, {"head": [1, 0, 0]})


def test_limbs_keep_out_of_each_other_and_points_are_met_all_the_same(body):
    """Hands crossed before the trunk, at the head, at the knees; feet crossed: judged by volumes placed by the pose."""
    rng = np.random.default_rng(7)
    base = body.markers(body.neutral_pose)
    points = np.tile(base, (400, 1, 1))
    points[:, 2:4] += rng.uniform([-0.15, 0.2, 0.3], [0.15, 0.7, 0.45], (400, 2, 3))
    points[:, 2:4, 0] -= 0.15 * np.array([1.0, -1.0])
    points[200:, 4:6, 0] *= rng.uniform(-0.2, 1.0, (200, 1))
    points[200:, 4:6, 1] += rng.uniform(0.0, 0.15, (200, 2))
    apart, ahead = SelfCollision.of(body), {"hips": [1.0, 0.0, 0.0, 0.0]}
    free = SequentialIK(body, prior=None, elbows_out=False).solve(points, ahead)
    clear = SequentialIK(body, prior=None).solve(points, ahead)
    before, after = (apart.touches(body.skeleton.forward(answer.pose)).mean() for answer in (free, clear))
    assert before > 0.5 and after < 0.42 * before
    assert (clear.marker_errors <= free.marker_errors + 1e-6).all(), "points come before collisions"
    assert inside_limits(body, clear.pose)
    mirrored = points[:, [0, 1, 3, 2, 5, 4]] * [-1.0, 1.0, 1.0]
    other = body.skeleton.forward(body.mirrored(SequentialIK(body, prior=None).solve(mirrored, ahead).pose)).positions
    joints = [body.index(role) for role in ("left_lower_arm", "right_lower_arm", "left_lower_leg", "right_lower_leg")]
    away = np.linalg.norm(body.skeleton.forward(clear.pose).positions[:, joints] - other[:, joints], axis=-1)
    assert np.mean(away.max(axis=1) < 1e-4) > 0.97
