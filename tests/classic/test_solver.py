"""What all iterative methods promise, on any skeleton."""

import numpy as np
import pytest

import posable as ps
import posable.math as pm
from posable.classic import CCD, DLS, DLSSVD, FABRIK, PIK, SDLS, Effector, JacobianTranspose, Pseudoinverse, Stop
from posable.compute.extent import EXTENT
from posable.limits import Ellipse, Hinge, Interval, JointLimit, Limits

from .skeletons import chain, leaves, tree, two_links

KINDS = [CCD, FABRIK, JacobianTranspose, Pseudoinverse, DLS, DLSSVD, SDLS, PIK]


def tight_limits(skeleton):
    """An ellipse and a twist for every ball."""
    joint = JointLimit(Ellipse((0.4, 0.3)), Interval(-0.2, 0.3), direction=(0.0, 1.0, 0.0), axis=(1.0, 0.0, 0.0))
    return Limits({name: joint for name, kind in zip(skeleton.names, skeleton.kinds) if kind == "ball"})


def excess(skeleton, limits, pose):
    """How far each limited joint lies outside [rad]."""
    names = list(limits.names)
    joints = [skeleton.index(name) for name in names]
    local = pm.multiply(pm.conjugate(skeleton.rest_rotations[joints]), pose.rotations[..., joints, :])
    return limits.excess(names, local)


def random_targets(rng, count, effectors):
    """Within reach, far, and absurdly far."""
    size = 10.0 ** rng.choice([-1.0, 0.0, 1.0, 6.0, 200.0], count, p=[0.3, 0.4, 0.2, 0.05, 0.05])
    return rng.normal(size=(count, effectors, 3)) * size[:, None, None]


@pytest.mark.parametrize("kind", KINDS)
def test_limits_hold_and_poses_are_finite_for_any_target(kind):
    skeleton = chain(5)
    limits = tight_limits(skeleton)
    solver = kind(skeleton, [Effector("j5"), Effector("j3", (0.1, 0.0, 0.0))], limits=limits)
    targets = random_targets(np.random.default_rng(0), 1500, 2)
    answer = solver.solve(targets)
    beyond = (np.abs(targets) > EXTENT).any(axis=(1, 2))
    assert beyond.any() and ((answer.status == ps.Status.INVALID) == beyond).all()
    assert np.isfinite(answer.pose.rotations).all() and np.isfinite(answer.effector_errors[~beyond]).all()
    assert excess(skeleton, limits, answer.pose).max() < 1e-9
    assert (answer.ok == (answer.effector_errors <= solver.stop.tolerance).all(axis=-1)).all()
    assert (answer.iterations <= 2 * solver.stop.iterations).all()
    places = skeleton.forward(answer.pose).positions
    lengths = np.linalg.norm(np.diff(places, axis=1), axis=-1)
    np.testing.assert_allclose(lengths, 0.3, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_trees_of_all_kinds_of_joints_come_nearer_and_never_break(kind, seed):
    skeleton = tree(seed)
    effectors = [Effector(j, (0.05, 0.0, 0.1)) for j in leaves(skeleton)]
    solver = kind(skeleton, effectors, stop=Stop(1e-3, 0.0, 30))
    rng = np.random.default_rng(seed)
    start = skeleton.from_values(rng.normal(size=(60, len(skeleton.dofs))) * 0.3)
    goal = skeleton.from_values(rng.normal(size=(60, len(skeleton.dofs))) * 0.3)
    frames, before = skeleton.forward(goal), skeleton.forward(start)
    targets = np.stack([frames.point(e.joint, e.point) for e in effectors], axis=1)
    answer = solver.solve(targets, start=start)
    assert np.isfinite(answer.pose.rotations).all()
    first = np.stack([before.point(e.joint, e.point) for e in effectors], axis=1)
    told = skeleton.forward(answer.pose)
    last = np.stack([told.point(e.joint, e.point) for e in effectors], axis=1)
    np.testing.assert_allclose(np.linalg.norm(last - targets, axis=-1), answer.effector_errors, atol=1e-9)
    worse = answer.effector_errors.sum(axis=1) > np.linalg.norm(first - targets, axis=-1).sum(axis=1) + 1e-9
    if kind is not CCD:  # its chains do not know of each other: a later one may move an earlier one's effector
        assert not worse.any()
    for joint, kinds in enumerate(skeleton.kinds):  # a joint moves only as its kind says
        if kinds in ("hinge", "fixed", "slide"):
            turn = pm.log(pm.multiply(pm.conjugate(skeleton.rest_rotations[joint]), answer.pose.rotations[:, joint]))
            axis = skeleton.axes[joint, 0] if kinds == "hinge" else np.zeros(3)
            np.testing.assert_allclose(np.cross(turn, axis) if kinds == "hinge" else turn, 0.0, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_a_row_that_is_no_number_is_invalid_and_leaves_its_neighbours_alone(kind):
    skeleton = chain(4)
    solver = kind(skeleton, [Effector("j4")])
    targets = np.random.default_rng(1).normal(size=(30, 1, 3)) * 0.5
    clean = solver.solve(targets)
    targets[[3, 11], 0, 1] = np.nan, np.inf
    answer = solver.solve(targets)
    assert (answer.status[[3, 11]] == ps.Status.INVALID).all() and np.isinf(answer.effector_errors[[3, 11]]).all()
    np.testing.assert_array_equal(answer.pose.rotations[[3, 11]], np.tile(skeleton.rest_rotations, (2, 1, 1)))
    others = np.delete(np.arange(30), [3, 11])
    np.testing.assert_array_equal(answer.pose.rotations[others], clean.pose.rotations[others])


@pytest.mark.parametrize("kind", KINDS)
def test_one_and_many_are_the_same_call(kind):
    skeleton = chain(4)
    solver = kind(skeleton, [Effector("j4")])
    targets = np.random.default_rng(2).normal(size=(3, 5, 1, 3)) * 0.6
    many = solver.solve(targets)
    assert many.status.shape == (3, 5) and many.effector_errors.shape == (3, 5, 1) and many.status.dtype == np.int8
    one = solver.solve(targets[1, 2])
    assert isinstance(one.status, ps.Status) and one.ok == many.ok[1, 2]
    np.testing.assert_array_equal(one.pose.rotations, many.pose.rotations[1, 2])
    assert solver.solve(targets[:0]).status.shape == (0, 5)


@pytest.mark.parametrize("kind", KINDS)
def test_tracking_goes_on_from_frame_to_frame(kind):
    skeleton = chain(4)
    solver = kind(skeleton, [Effector("j4")], stop=Stop(1e-3, 0.0, 40))
    t = np.linspace(0.0, 6.0, 120)
    path = np.stack([0.5 * np.cos(t), 0.6 + 0.2 * np.sin(2 * t), 0.4 * np.sin(t)], axis=-1)[:, None]
    path[50] = np.nan
    told = solver.track(path, fps=30.0)
    assert told.motion.fps == 30.0 and len(told.motion) == 120
    good = np.delete(np.arange(120), 50)
    assert told.ok[good].mean() > 0.95 and told.status[50] == ps.Status.INVALID
    np.testing.assert_array_equal(told.motion.pose.rotations[50], told.motion.pose.rotations[49])
    turns = pm.angle(told.motion.pose.rotations[2:], told.motion.pose.rotations[1:-1])
    assert turns.max() < 0.8
    assert len(solver.track(path[:0]).motion) == 0


def test_a_joint_that_starts_outside_its_limit_never_goes_further_out():
    skeleton = chain(4)
    limits = tight_limits(skeleton)
    rng = np.random.default_rng(3)
    start = skeleton.from_values(rng.normal(size=(300, len(skeleton.dofs))) * 0.8)
    before = excess(skeleton, limits, start)
    for kind in KINDS:
        solver = kind(skeleton, [Effector("j4")], limits=limits)
        after = excess(skeleton, limits, solver.solve(rng.normal(size=(300, 1, 3)) * 0.6, start=start).pose)
        assert (after <= before + 1e-9).all()


def test_a_hinge_stays_inside_its_interval():
    skeleton = two_links()
    limit = JointLimit(Hinge(0.0, 2.0), direction=(1.0, 0.0, 0.0), axis=(0.0, 0.0, 1.0))
    for kind in KINDS:
        solver = kind(skeleton, [Effector("tip")], limits=Limits({"b": limit}), stop=Stop(1e-3, 0.0, 60))
        angle = np.linspace(-3.0, 3.0, 200)
        targets = np.stack([1.4 * np.cos(angle), 1.4 * np.sin(angle), 0.0 * angle], axis=-1)[:, None]
        start = skeleton.from_values(np.stack([angle - 0.6, np.full(200, 0.8)], axis=-1))
        answer = solver.solve(targets, start=start)
        bend = skeleton.values(answer.pose)[:, 1]
        assert bend.min() > -1e-9 and bend.max() < 2.0 + 1e-9
        assert answer.ok.mean() > 0.95


def test_the_status_says_when_a_limit_is_in_the_way():
    skeleton = two_links()
    limit = JointLimit(Hinge(0.0, 0.2), direction=(1.0, 0.0, 0.0), axis=(0.0, 0.0, 1.0))
    solver = DLS(skeleton, [Effector("tip")], limits=Limits({"b": limit}), stop=Stop(1e-3, 0.0, 100))
    assert solver.solve([[0.5, 0.0, 0.0]]).status == ps.Status.LIMITS
    assert DLS(skeleton, [Effector("tip")]).solve([[5.0, 0.0, 0.0]]).status == ps.Status.UNREACHABLE


def test_joints_that_may_not_move_do_not():
    skeleton = tree(5)
    effectors = [Effector(j) for j in leaves(skeleton)]
    rng = np.random.default_rng(5)
    for kind in KINDS:
        solver = kind(skeleton, effectors, moving=[1, 2, 3])
        start = skeleton.from_values(rng.normal(size=len(skeleton.dofs)) * 0.3)
        pose = solver.solve(rng.normal(size=(len(effectors), 3)), start=start).pose
        still = [j for j in range(len(skeleton)) if j not in (1, 2, 3)]
        np.testing.assert_allclose(pose.rotations[still], start.rotations[still], atol=1e-15)


def test_a_free_root_goes_along():
    skeleton = chain(3).replace(kinds=["free", "ball", "ball", "fixed"])
    for kind in (DLS, DLSSVD, SDLS, PIK, FABRIK, Pseudoinverse):
        answer = kind(skeleton, [Effector("j3")], stop=Stop(1e-3, 0.0, 200)).solve([[3.0, 1.0, -2.0]])
        assert answer.ok, kind


def test_wrong_calls_say_what_is_wrong():
    skeleton = chain(3)
    solver = DLS(skeleton, [Effector("j3")])
    with pytest.raises(ps.ShapeError, match="one an effector"):
        solver.solve(np.zeros((2, 3)))
    with pytest.raises(ps.PosableError, match="no effectors"):
        DLS(skeleton, [])
    with pytest.raises(ps.UnknownNameError):
        DLS(skeleton, [Effector("j9")])
    with pytest.raises(ps.PosableError, match="not above"):
        CCD(skeleton, [Effector("j1", base="j3")])
    with pytest.raises(ps.PosableError, match="level"):
        PIK(skeleton, [Effector("j3", level=0)])
    with pytest.raises(ps.PosableError, match="attraction"):
        PIK(skeleton, [Effector("j3")], attraction=2.0)
    with pytest.raises(ps.PosableError, match="orientations"):
        DLS(skeleton, [Effector("j3", oriented=True)]).solve(np.zeros((1, 3)))
    with pytest.raises(ps.ShapeError, match="start"):
        solver.solve(np.zeros((1, 3)), start=chain(4).rest)
    with pytest.raises(ps.PosableError, match="tolerance"):
        DLS(skeleton, [Effector("j3")], stop=Stop(tolerance=-1.0))


@pytest.mark.parametrize("kind", [CCD, DLS])
def test_a_pose_that_misses_an_orientation_is_not_reached_however_near_its_point_is(kind):
    skeleton, rng = chain(4), np.random.default_rng(5)
    solver = kind(skeleton, [Effector("j4", oriented=True)], limits=tight_limits(skeleton), stop=Stop(0.2))
    goal = skeleton.forward(skeleton.from_values(rng.normal(size=(40, len(skeleton.dofs))) * 0.03))
    joint = skeleton.index("j4")
    target, wish = goal.positions[:, [joint]], goal.orientations[:, [joint]].copy()
    wish[::2] = pm.multiply(pm.axis_angle([0.0, 0.0, 1.0], 2.5), wish[::2])  # further than its limits allow
    answer = solver.solve(target, orientations=wish)
    found = skeleton.forward(answer.pose)
    apart = pm.angle(found.orientations[:, joint], wish[:, 0])
    near = np.linalg.norm(found.positions[:, joint] - target[:, 0], axis=-1) <= solver.stop.tolerance
    assert (answer.ok == near & (apart <= solver.stop.angle)).all() and answer.ok.any() and (near & ~answer.ok).any()


@pytest.mark.parametrize("method", [CCD, FABRIK, DLS], ids=lambda method: method.__name__)
def test_a_start_that_is_no_pose_is_invalid_and_spoils_no_other(method):
    body = ps.figure().skeleton
    solver = method(body, [Effector("l_wrist")], stop=Stop(iterations=5))
    targets = np.tile([[0.3, 1.0, 0.2]], (4, 1, 1))
    good = ps.Pose.stack([body.rest] * 4)
    rotations, translation = good.rotations.copy(), good.translation.copy()
    rotations[0, 3], rotations[1, 2], translation[2, 1] = 0.0, np.nan, 2e6
    answer = solver.solve(targets, start=ps.Pose(translation, rotations))
    wanted = solver.solve(targets, start=good)
    assert (answer.status[:3] == ps.Status.INVALID).all() and answer.pose.is_finite()
    np.testing.assert_array_equal(answer.pose.rotations[3], wanted.pose.rotations[3])
    assert answer.status[3] == wanted.status[3]
    track = solver.track(targets, start=ps.Pose(translation[2], rotations[2]))
    assert track.status[0] == ps.Status.INVALID and ps.Status.INVALID not in track.status[1:]
    assert track.motion.pose.is_finite()
