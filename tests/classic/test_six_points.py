"""The classic methods from six points: called as Sequential IK is, on any body."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import posable as ps
import posable.math as pm
from posable.body.packed import LIMBS
from posable.classic import METHODS, TGBSIK, Effector
from posable.evaluate import evaluate_clip
from posable.evaluate.reconstruct import CLIPS
from tests.body.bodies import file_body
from tests.conftest import ROOT


@pytest.fixture(scope="module")
def body():
    return ps.figure()


@pytest.fixture(scope="module")
def walk(body):
    return body.markers(ps.samples.walk(body).pose)[:80]


@pytest.fixture(scope="module")
def solvers(body):
    return {name: made(body) for name, made in METHODS.items()}


def random_points(count, seed):
    rng = np.random.default_rng(seed)
    base = np.array([[0, 1, 0], [0, 1.55, 0], [0.4, 1, 0.2], [-0.4, 1, 0.2], [0.12, 0.1, 0], [-0.12, 0.1, 0]])
    return base + rng.normal(size=(count, 6, 3)) * rng.uniform(0.02, 0.6, (count, 1, 1))


@pytest.mark.parametrize("name", METHODS)
def test_a_walk_is_reconstructed(name, body, solvers, walk):
    told = solvers[name].track(walk, fps=30.0)
    assert told.motion.fps == 30.0 and told.marker_errors.shape == (80, 6) and told.status.shape == (80,)
    found = body.markers(told.motion.pose)
    np.testing.assert_allclose(np.linalg.norm(found - walk, axis=-1), told.marker_errors, atol=1e-9)
    assert np.median(told.marker_errors) < 0.01
    assert np.percentile(told.marker_errors, 90) < (0.12 if name == "fabrik" else 0.06)
    if name in ("pseudoinverse", "sdls", "pik", "tgbsik", "pik_from_sik"):
        assert told.ok.all()


@pytest.mark.parametrize("name", METHODS)
def test_limits_hold_whatever_the_points(name, body, solvers):
    answer = solvers[name].solve(random_points(400, 0))
    assert np.isfinite(answer.pose.rotations).all() and np.isfinite(answer.pose.translation).all()
    posture = body.canonical(answer.pose)
    roles = [role for role in posture.roles if role in body.limits]
    rows = [posture.roles.index(role) for role in roles]
    assert body.limits.contains(roles, posture.rotations[..., rows, :], 1e-6).all()


@pytest.mark.parametrize("name", METHODS)
def test_hostile_points_give_a_finite_body_and_a_true_status(name, solvers):
    points = random_points(24, 1)
    points[0], points[1] = 0.0, points[1, :1]
    points[2, 3], points[3, 0, 1], points[4] = np.nan, np.inf, 9e5
    points[5, 1] = points[5, 0]
    answer = solvers[name].solve(points)
    assert np.isfinite(answer.pose.rotations).all() and np.isfinite(answer.pose.translation).all()
    assert (answer.status[[2, 3]] == ps.Status.INVALID).all() and np.isinf(answer.marker_errors[[2, 3]]).all()
    assert not (answer.status[[0, 1, 4, 5, *range(6, 24)]] == ps.Status.INVALID).any()
    clean = solvers[name].solve(points[6:])
    np.testing.assert_allclose(clean.pose.rotations, answer.pose.rotations[6:], atol=1e-12)


@pytest.mark.parametrize("name", METHODS)
def test_a_lost_point_costs_only_its_frames(name, solvers, walk):
    broken = walk[:30].copy()
    broken[10:12, 2] = np.nan
    told = solvers[name].track(broken)
    assert (told.status[10:12] == ps.Status.INVALID).all()
    assert (np.delete(told.status, [10, 11]) != ps.Status.INVALID).all()
    assert np.isfinite(told.motion.pose.rotations).all()


@pytest.mark.parametrize("name", METHODS)
def test_points_moved_and_turned_give_the_same_body_moved_and_turned(name, body, solvers, walk):
    turn, shift = pm.normalize(np.array([0.4, 0.3, -0.7, 0.5])), np.array([3.0, -1.0, 2.0])
    some = walk[::8]
    here, there = solvers[name].solve(some), solvers[name].solve(pm.rotate(turn, some) + shift)
    one = pm.rotate(turn, body.skeleton.forward(here.pose).positions) + shift
    same = np.abs(body.skeleton.forward(there.pose).positions - one) < 1e-5
    assert same.mean() > (0.95 if name == "tgbsik" else 0.999)  # two swivels may cost the same


@pytest.mark.parametrize("name", METHODS)
def test_mirrored_points_give_a_mirrored_body(name, body, solvers, walk):
    some = walk[::8]
    one = solvers[name].solve(some)
    other = solvers[name].solve(some[:, [0, 1, 3, 2, 5, 4]] * [-1.0, 1.0, 1.0])
    middle = [body.index(f"{side}_lower_{part}") for part in ("arm", "leg") for side in ("left", "right")]
    a = body.skeleton.forward(other.pose).positions[:, middle]
    b = body.skeleton.forward(one.pose).positions[:, [middle[k] for k in (1, 0, 3, 2)]] * [-1.0, 1.0, 1.0]
    away = np.linalg.norm(a - b, axis=-1)
    assert np.median(away) < 1e-5
    assert away.max() < 0.05 or name == "tgbsik"  # two swivels may cost the same


@pytest.mark.parametrize("name", METHODS)
def test_size_does_not_matter(name, walk):
    small, usual = METHODS[name](ps.figure(0.5)), METHODS[name](ps.figure(1.75))
    some, scale = walk[::16], 0.5 / 1.75
    one, other = small.solve(some * scale), usual.solve(some)
    sized = small.body.skeleton.forward(one.pose).positions / scale
    same = np.abs(sized - usual.body.skeleton.forward(other.pose).positions) < 1e-5
    assert same.mean() > (0.95 if name == "tgbsik" else 0.999)  # two swivels may cost the same


@pytest.mark.parametrize("name", ["CMU", "MakeHuman", "VRM", "CesiumMan", "RiggedFigure"])
def test_they_work_on_other_bodies(name, body, data_dir):
    other = file_body(data_dir, name)
    points = other.markers(other.pose(body.canonical(ps.samples.dance(body).pose)))[:40]
    for method, made in METHODS.items():
        told = made(other).track(points)
        assert np.isfinite(told.motion.pose.rotations).all(), method
        assert (
            np.median(told.marker_errors) < (0.05 if method == "jacobian_transpose" else 0.02) * other.joint_height
        ), method


def test_one_and_many_are_the_same_call(solvers, walk):
    for name, solver in solvers.items():
        many = solver.solve(walk[:6].reshape(2, 3, 6, 3))
        one = solver.solve(walk[4])
        assert many.status.shape == (2, 3) and isinstance(one.status, ps.Status), name
        np.testing.assert_allclose(one.pose.rotations, many.pose.rotations[1, 1], atol=1e-12)
        assert solver.solve(walk[:0]).status.shape == (0,) and len(solver.track(walk[:0]).motion) == 0


def test_kma_starts_from_neutral_in_every_frame(solvers, walk):
    told, alone = solvers["kma"].track(walk[:20]), solvers["kma"].solve(walk[:20])
    np.testing.assert_allclose(told.motion.pose.rotations, alone.pose.rotations, atol=1e-12)


def swing_and_twist(body, limb, frames, elbow, end, side):
    """(N, 2) [rad] swing and twist of the upper bone from the neutral pose, for elbows (N, 3) and ends (N, 3)."""
    carrier = body.limb(limb).packed["carrier"][0]
    turn = Rotation.from_quat(frames.orientations[:, carrier], scalar_first=True)
    turn = turn * Rotation.from_quat(body.neutral_frames.orientations[carrier], scalar_first=True).inv()
    base = frames.positions[:, body.limb_joints(limb)[0]]
    bone, rest = turn.inv().apply(elbow - base), turn.inv().apply(end - elbow)
    bone /= np.linalg.norm(bone, axis=-1, keepdims=True)
    x = side * np.cross(bone, rest)
    x /= np.maximum(np.linalg.norm(x, axis=-1, keepdims=True), 1e-300)  # a straight limb has no hinge
    matrix = np.stack([x, -bone, np.cross(x, -bone)], axis=-1)
    swing = np.arccos(np.clip(-bone[:, 1], -1.0, 1.0))
    # The swing alone takes X along; the twist is the rest of the way to the hinge, about the bone.
    axis = np.cross([0.0, -1.0, 0.0], bone)
    axis /= np.maximum(np.linalg.norm(axis, axis=-1, keepdims=True), 1e-12)
    swung = Rotation.from_rotvec(axis * swing[:, None]).apply([1.0, 0.0, 0.0])
    cosine, sine = np.sum(swung * matrix[..., 0], axis=-1), np.sum(np.cross(swung, matrix[..., 0]) * -bone, axis=-1)
    return np.stack([swing, np.arctan2(sine, cosine)], axis=-1)


@pytest.mark.parametrize("weight", [1.0, 0.0, 5.0])
def test_tgbsik_takes_the_swivel_of_least_swing_and_twist(body, weight):
    """No elbow or knee on the circle costs less than the one taken, by a cost of our own; without limits."""
    points = np.concatenate([body.markers(ps.samples.dance(body).pose)[::10][:40], random_points(20, 8)])
    told = TGBSIK(body, limits=None, twist_weight=weight).solve(points)
    frames = body.skeleton.forward(told.pose)
    for k, limb in enumerate(LIMBS):
        side = -1.0 if limb.endswith("arm") else 1.0
        base, mid, end = (frames.positions[:, joint] for joint in body.limb_joints(limb))
        axis = (end - base) / np.linalg.norm(end - base, axis=-1, keepdims=True)
        centre = base + axis * np.sum((mid - base) * axis, axis=-1, keepdims=True)
        radius = np.linalg.norm(mid - centre, axis=-1)
        bent = (radius > 0.02) & (told.marker_errors[:, 2 + k] < 1e-6)
        assert bent.sum() > 8
        costs = []
        for angle in [0.0, *np.linspace(0.05, 2.0 * np.pi - 0.05, 120)]:
            elbow = centre + Rotation.from_rotvec(angle * axis).apply(mid - centre)
            both = swing_and_twist(body, limb, frames, elbow, end, side)
            costs.append(both[:, 0] ** 2 + weight * both[:, 1] ** 2)
        here, others = costs[0][bent], np.min(costs[1:], axis=0)[bent]
        assert (here <= others + 0.01).all(), (limb, (here - others).max())


LEVELS_OF_SIX = ((0,), (4, 5), (2, 3), (1,))  # markers: hips, feet, hands, head


def missing(body, n, seed):
    """Points of a walk with one of the hands or feet out of reach in each."""
    points = body.markers(ps.samples.dance(body).pose)[:: 420 // n][:n].copy()
    rng = np.random.default_rng(seed)
    points[np.arange(len(points)), rng.integers(2, 6, len(points))] += rng.normal(size=(len(points), 3)) * 0.2
    return points


def test_pik_from_sik_is_nowhere_further_from_the_points_than_sik(body, walk, solvers):
    """By level, a higher one first: what is within the tolerance counts as met, as it does for the method."""
    points = np.concatenate([walk[::4], missing(body, 40, 5), random_points(40, 5)])
    sik = ps.SequentialIK(body, prior=None, elbows_out=False, limit_rates=False).solve(points)
    told = solvers["pik_from_sik"].solve(points)
    sik_errors, errors = (np.linalg.norm(body.markers(one.pose) - points, axis=-1) for one in (sik, told))
    np.testing.assert_allclose(told.marker_errors, errors, atol=1e-12)
    tolerance = 0.01 * body.joint_height / 1.84
    np.testing.assert_array_equal(told.ok, (errors <= tolerance).all(axis=1))
    settled = np.zeros(len(points), bool)  # a level above is better: the ones below may be worse
    for level in LEVELS_OF_SIX:
        now, before = (np.maximum(e[:, level], tolerance).sum(axis=1) for e in (errors, sik_errors))
        assert (settled | (now <= before + 1e-9)).all(), level
        settled |= now < before
    assert settled.mean() > 0.3


def test_the_pelvis_helps_where_sequential_ik_leaves_a_foot_short(body, solvers):
    points = missing(body, 140, 6)
    sik = ps.SequentialIK(body, prior=None, elbows_out=False, limit_rates=False).solve(points)
    short = sik.marker_errors[:, 4:].max(axis=1) > 0.02
    assert short.sum() > 8
    told = solvers["pik_from_sik"].solve(points)
    feet = [np.linalg.norm(body.markers(one.pose) - points, axis=-1)[short, 4:].max(axis=1) for one in (sik, told)]
    assert (feet[1] < feet[0] - 1e-4).mean() > 0.7
    turned = pm.angle(told.pose.rotations[:, 0], sik.pose.rotations[:, 0])
    assert (turned[short] > np.radians(0.5)).mean() > 0.7
    hips_last = METHODS["pik_from_sik"](body, levels={"hips": 50}).solve(points)
    feet_first = np.linalg.norm(body.markers(hips_last.pose) - points, axis=-1)
    assert np.median(feet_first[short, 4:].max(axis=1)) < 0.5 * np.median(feet[1])
    assert (feet_first[short, 0] > 0.005).mean() > 0.5


def test_a_users_constraint_is_met_by_its_level(body):
    """An elbow pulled away: above the points it is met; below them only where they permit it."""
    points = body.markers(ps.samples.dance(body).pose)[::11][:40]
    sik = ps.SequentialIK(body, prior=None).solve(points)
    elbow = body.index("left_lower_arm")
    rng = np.random.default_rng(9)
    wish = body.skeleton.forward(sik.pose).positions[:, elbow] + rng.normal(size=(len(points), 3)) * 0.08
    found = {}
    for level in (5, 35, 50):
        made = METHODS["pik_from_sik"](body, constraints=[Effector(elbow, level=level)])
        told = made.solve(points, wish[:, None])
        away = np.linalg.norm(body.skeleton.forward(told.pose).positions[:, elbow] - wish, axis=-1)
        np.testing.assert_allclose(told.constraint_errors[:, 0], away, atol=1e-12)
        errors = np.linalg.norm(body.markers(told.pose) - points, axis=-1)
        np.testing.assert_allclose(told.marker_errors, errors, atol=1e-12)
        np.testing.assert_allclose(told.position_error, np.maximum(errors.max(axis=1), away), atol=1e-12)
        found[level] = away, errors, told
    tolerance = 0.01 * body.joint_height / 1.84 + 1e-9
    first, last = found[5], found[50]
    assert (first[0] <= tolerance).mean() > 0.9
    assert (first[1][:, 2] > tolerance).mean() > 0.5  # the hand gave way
    plain = METHODS["pik_from_sik"](body).solve(points).marker_errors
    assert (np.maximum(last[1], tolerance) <= np.maximum(plain, tolerance) + 2e-3).all()  # nothing gave way for it
    assert (last[0] > tolerance).mean() > 0.5
    assert not last[2].ok[last[0] > tolerance].any()
    assert (last[0] < np.linalg.norm(wish - body.skeleton.forward(sik.pose).positions[:, elbow], axis=-1)).mean() > 0.5
    middle = found[35]  # between hands and head: hands hold, and the head may give way
    above = [0, 2, 3, 4, 5]
    assert (np.maximum(middle[1][:, above], tolerance) <= np.maximum(plain[:, above], tolerance) + 2e-3).all()


def test_an_oriented_constraint_and_a_track(body, walk):
    head = body.index("head")
    frames = body.skeleton.forward(ps.SequentialIK(body, prior=None).solve(walk[:12]).pose)
    wish = pm.multiply(pm.exp([0.0, 0.4, 0.0]), frames.orientations[:, head])
    made = METHODS["pik_from_sik"](body, constraints=[Effector(head, oriented=True, level=5)])
    told = made.track(walk[:12], frames.positions[:, [head]], wish[:, None], fps=30.0)
    after = body.skeleton.forward(told.motion.pose)
    np.testing.assert_allclose(
        told.constraint_orientation_errors[:, 0], pm.angle(after.orientations[:, head], wish), atol=1e-6
    )
    assert (told.constraint_orientation_errors < 0.02).all() and told.motion.fps == 30.0
    with pytest.raises(ps.PosableError, match="orientations"):
        made.solve(walk[:12], frames.positions[:, [head]])
    with pytest.raises(ps.PosableError, match="targets"):
        made.solve(walk[:12])
    with pytest.raises(ps.UnknownNameError):
        METHODS["pik_from_sik"](body, levels={"nose": 3})


def test_wrong_calls_say_what_is_wrong(body, solvers):
    for name, solver in solvers.items():
        with pytest.raises(ps.ShapeError, match="6, 3"):
            solver.solve(np.zeros((5, 3)))
        with pytest.raises(ps.ShapeError):
            solver.track(np.zeros((2, 2, 6, 3)))
        with pytest.raises(ps.PosableError, match="weights"):
            METHODS[name](body, (0, 0, 0))


def documented(clip):
    """Method to its position error in the table of docs/classic.md, which `posable evaluate reconstruct` wrote."""
    text = (ROOT / "docs" / "classic.md").read_text(encoding="utf-8")
    column = 1 + list(CLIPS).index(clip)
    rows = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("| `")]
    return {row[0].strip(" `"): float(row[column]) for row in rows if len(row) > 8}


@pytest.mark.parametrize("clip", ["90_05"])
def test_the_jump_kick_measures_as_documented(clip, cmu):
    """Errors of the docs' table to its last digit, so that a change of any method shows; the other clips are in the
    benchmark. Beside them the paper's, which the docs compare with, are those of its Table 1.
    """
    names = list(METHODS)
    found = evaluate_clip(cmu / f"{clip}.bvh", names)["methods"]
    told = documented(clip)
    assert set(names) <= set(told)
    for name in names:
        assert found[name]["finite"] and found[name]["position"] == pytest.approx(told[name], abs=6e-5), name
    assert found["dls"]["position"] == pytest.approx(found["dls_svd"]["position"], abs=1e-4)


def test_a_straight_limb_that_is_folded_ends_inside_its_limits(body, solvers):
    """An elbow that starts straight, which is below the bend that these methods keep, went as far beyond its end."""
    answer = solvers["pik_from_sik"].solve(random_points(1000, [0, 99])[620:640])
    posture = body.canonical(answer.pose)
    excess = body.limits.excess("right_lower_arm", posture.rotation("right_lower_arm"))
    assert excess.max() < 1e-6


@pytest.mark.soak
@pytest.mark.parametrize("name", METHODS)
def test_many_random_points_never_break_anything(name, body, solvers, drawn):
    for seed in range(drawn(100, each=1000)):
        points = random_points(1000, [seed, 99])
        points[::97] *= 1e5
        answer = solvers[name].solve(points)
        assert np.isfinite(answer.pose.rotations).all()
        posture = body.canonical(answer.pose)
        roles = [role for role in posture.roles if role in body.limits]
        rows = [posture.roles.index(role) for role in roles]
        assert body.limits.contains(roles, posture.rotations[..., rows, :], 1e-6).all()
