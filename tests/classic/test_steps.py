"""One step of each method, judged by NumPy and SciPy."""

import math

import numpy as np
import pytest
from scipy.optimize import lsq_linear

import posable as ps
import posable.math as pm
from posable.classic import CCD, DLS, DLSSVD, FABRIK, PIK, SDLS, Effector, JacobianTranspose, Pseudoinverse, Stop

from .skeletons import chain, leaves, stacked, tree, two_links

ONE = Stop(tolerance=0.0, improvement=0.0, iterations=1, angle=0.0)
FAR = 1e3  # [rad]: no step is cut short


def one_step(kind, seed, **options):
    """(solver, start, targets, turns, step taken) of a random tree; the step is along the DoF list."""
    rng = np.random.default_rng([seed, 1])
    skeleton = tree(seed, kinds=("ball", "hinge", "slide", "fixed"))
    ends = leaves(skeleton)
    effectors = [
        Effector(j, tuple(rng.normal(size=3) * 0.2), bool(rng.integers(2)), float(rng.uniform(0.5, 2.0))) for j in ends
    ]
    solver = kind(skeleton, effectors, stop=ONE, **options)
    start = skeleton.from_values(rng.normal(size=len(skeleton.dofs)) * 0.4)
    goal = skeleton.from_values(skeleton.values(start) + rng.normal(size=len(skeleton.dofs)) * 1e-3)
    frames = skeleton.forward(goal)
    targets = np.array([frames.point(e.joint, e.point) for e in effectors])
    turns = np.array([frames.orientations[skeleton.index(e.joint)] for e in effectors])
    answer = solver.solve(targets, turns, start=start)
    return solver, start, targets, turns, steps_of(skeleton, start, answer.pose), answer


def steps_of(skeleton, start, pose):
    """The DoF steps between two poses that are near each other."""
    step = np.zeros(len(skeleton.dofs))
    local = pm.log(pm.multiply(pm.conjugate(start.rotations), pose.rotations))
    for d, (joint, kind, axis) in enumerate(zip(skeleton.dofs.joint, skeleton.dofs.kind, skeleton.dofs.axis)):
        if kind == "rotation":
            step[d] = local[joint] @ axis
        elif pose.offsets is not None:
            home = skeleton.offsets if start.offsets is None else start.offsets
            step[d] = pm.rotate(pm.conjugate(pose.rotations[joint]), pose.offsets[joint] - home[joint]) @ axis
    return step


def kept(solver, jacobian, error, step, answer):
    """Whether the step was kept: an answer is the best pose, which may be the start."""
    return answer.iterations == 1 and np.abs(step).max() > 0.0


@pytest.mark.parametrize("seed", range(12))
def test_the_pseudoinverse_takes_numpys_least_norm_step(seed):
    solver, start, targets, turns, step, answer = one_step(Pseudoinverse, seed, max_step=FAR, threshold=1e-9)
    jacobian, error = stacked(solver, start, targets, turns)
    if kept(solver, jacobian, error, step, answer):
        np.testing.assert_allclose(step, np.linalg.pinv(jacobian, rcond=1e-9) @ error, atol=1e-8)


@pytest.mark.parametrize("kind", [DLS, DLSSVD])
@pytest.mark.parametrize("seed", range(12))
def test_damped_least_squares_is_scipys_regularised_minimum(kind, seed):
    damping = 10.0 ** np.random.default_rng(seed).uniform(-2, 0.5)
    solver, start, targets, turns, step, _ = one_step(kind, seed, damping=damping, max_step=FAR)
    jacobian, error = stacked(solver, start, targets, turns)
    wide = np.concatenate([jacobian, damping * np.eye(jacobian.shape[1])])
    expected = lsq_linear(wide, np.concatenate([error, np.zeros(jacobian.shape[1])]), method="bvls").x
    np.testing.assert_allclose(step, expected, atol=1e-8)


@pytest.mark.parametrize("kind", [DLS, DLSSVD])
@pytest.mark.parametrize("seed", range(8))
def test_maciejewskis_damping_keeps_steps_short_and_is_none_where_none_is_needed(kind, seed):
    solver, start, targets, turns, step, _ = one_step(kind, seed, longest=1e-4, max_step=FAR)
    jacobian, error = stacked(solver, start, targets, turns)
    values = np.linalg.svd(jacobian, compute_uv=False)
    smallest = values[values > 1e-9].min()
    if values.min() > 1e-6:  # with singular rows the two count the smallest value differently
        ratio = np.linalg.norm(error) / 1e-4
        damping = (
            0.0
            if smallest >= ratio
            else math.sqrt(smallest * (ratio - smallest))
            if 2 * smallest >= ratio
            else ratio / 2
        )
        expected = jacobian.T @ np.linalg.solve(jacobian @ jacobian.T + damping**2 * np.eye(len(error)), error)
        np.testing.assert_allclose(step, expected, atol=2e-6)
    assert np.linalg.norm(step) <= 1e-4 * 1.001


@pytest.mark.parametrize("seed", range(12))
def test_the_transpose_goes_the_best_way_along_the_gradient(seed):
    solver, start, targets, turns, step, answer = one_step(JacobianTranspose, seed, max_step=FAR)
    jacobian, error = stacked(solver, start, targets, turns)
    along = jacobian @ jacobian.T @ error
    expected = jacobian.T @ error * (error @ along) / (along @ along)
    if kept(solver, jacobian, error, step, answer):
        np.testing.assert_allclose(step, expected, atol=1e-8)


def sdls_by_the_book(jacobian, error, most):
    """Buss and Kim 2005, section 4, in the words of the paper."""
    u, s, wt = np.linalg.svd(jacobian, full_matrices=False)
    total = np.zeros(jacobian.shape[1])
    for k in range(len(s)):
        if s[k] <= 1e-12 * s[0]:
            continue
        n = sum(np.linalg.norm(u[r : r + 3, k]) for r in range(0, len(error), 3))
        rho = sum(np.linalg.norm(jacobian[r : r + 3], axis=0) for r in range(0, len(error), 3))
        m = (np.abs(wt[k]) * rho).sum() / s[k]
        gamma = most * min(1.0, n / m)
        part = (u[:, k] @ error) / s[k] * wt[k]
        total += part * min(1.0, gamma / np.abs(part).max())
    return total * min(1.0, most / np.abs(total).max())


@pytest.mark.parametrize("seed", range(12))
def test_sdls_is_the_papers_sum_of_limited_directions(seed):
    solver, start, targets, turns, step, answer = one_step(SDLS, seed, max_step=0.002)
    jacobian, error = stacked(solver, start, targets, turns)
    if kept(solver, jacobian, error, step, answer):
        np.testing.assert_allclose(step, sdls_by_the_book(jacobian, error, 0.002), atol=1e-8)


@pytest.mark.parametrize("kind", [DLS, DLSSVD, SDLS, Pseudoinverse, JacobianTranspose, CCD, FABRIK, PIK])
def test_two_links_in_a_plane_reach_what_trigonometry_says(kind):
    skeleton = two_links()
    solver = kind(skeleton, [Effector("tip")], stop=Stop(1e-7, 0.0, 3000))
    rng = np.random.default_rng(3)
    angle, far = rng.uniform(-np.pi, np.pi, 300), rng.uniform(0.5, 1.9, 300)
    targets = np.stack([far * np.cos(angle), far * np.sin(angle), 0.0 * far], axis=-1)[:, None]
    start = skeleton.from_values(np.stack([angle + 0.4, np.full(300, -0.8)], axis=-1))
    answer = solver.solve(targets, start=start)
    assert answer.ok.mean() > (0.9 if kind is JacobianTranspose else 0.99)
    elbow = skeleton.values(answer.pose)[answer.ok, 1]
    expected = np.arccos((far**2 - 2.0) / 2.0)[answer.ok]
    np.testing.assert_allclose(np.abs(elbow), expected, atol=1e-5)


@pytest.mark.parametrize("kind", [DLS, DLSSVD, SDLS, Pseudoinverse, CCD, FABRIK, PIK])
def test_a_chain_of_balls_reaches_all_it_can_and_stretches_towards_the_rest(kind):
    skeleton = chain(5)
    solver = kind(skeleton, [Effector("j5")], stop=Stop(1e-3, -1.0, 300))
    rng = np.random.default_rng(4)
    way = rng.normal(size=(400, 1, 3))
    way /= np.linalg.norm(way, axis=-1, keepdims=True)
    far = rng.uniform(0.2, 2.5, (400, 1, 1))
    start = skeleton.from_values(rng.normal(size=(400, len(skeleton.dofs))) * 0.5)
    answer = solver.solve(way * far, start=start)
    near = far[:, 0, 0] < 1.4
    assert answer.ok[near].mean() > 0.97
    assert not answer.ok[far[:, 0, 0] > 1.51].any()
    beyond = far[:, 0, 0] > 1.7
    np.testing.assert_allclose(answer.effector_errors[beyond, 0], far[beyond, 0, 0] - 1.5, atol=0.05)


def test_ccd_turns_the_last_joint_most():
    """What the paper calls snake-like: joints near the effector move first."""
    skeleton = chain(6)
    answer = CCD(skeleton, [Effector("j6")], stop=Stop(1e-3, 0.0, 1)).solve([[0.3, 1.6, 0.0]])
    turns = pm.angle(answer.pose.rotations[:6], [1.0, 0.0, 0.0, 0.0])
    assert turns[5] > turns[0] and turns[5] == max(turns)


@pytest.mark.parametrize("kind", ["hinge", "hinge_twist"])
@pytest.mark.parametrize("oriented", [False, True])
def test_ccd_rotates_a_joint_about_each_of_its_axes_to_where_the_tip_is_nearest(kind, oriented):
    """The flexion first, with the twist that the joint has; then the twist. Judged by trying every angle."""
    every, moved = np.linspace(-np.pi, np.pi, 2001), 0
    for seed in range(12):
        rng = np.random.default_rng([seed, 8])
        axes = np.stack([np.linalg.qr(rng.normal(size=(3, 3)))[0][:2] for _ in range(3)])
        rests = rng.normal(size=(3, 4))
        skeleton = ps.Skeleton(
            ["base", "joint", "tip"],
            [-1, 0, 1],
            rng.normal(size=(3, 3)) * 0.4,
            rest_rotations=rests / np.linalg.norm(rests, axis=1, keepdims=True),
            kinds=["fixed", kind, "fixed"],
            axes=axes,
        )
        effector = Effector("tip", tuple(rng.normal(size=3) * 0.3), oriented)
        start, goal = rng.uniform(-2.5, 2.5, (2, len(skeleton.dofs)))
        frames = skeleton.forward(skeleton.from_values(goal))
        target = frames.point("tip", effector.point) + rng.normal(size=3) * 0.05
        facing = rng.normal(size=4)
        facing /= np.linalg.norm(facing)
        solver = CCD(skeleton, [effector], stop=ONE)
        size = float(solver._problem.settings["rotation_length"][0])

        def off(values, effector=effector, skeleton=skeleton, target=target, facing=facing, size=size):
            """Square of the distance [m], and of those between the axes, as long as a rotation counts."""
            frames = skeleton.forward(skeleton.from_values(values))
            found = ((frames.point("tip", effector.point) - target) ** 2).sum(-1)
            if effector.oriented:
                apart = pm.to_matrix(frames.orientations[..., 2, :]) - pm.to_matrix(facing)
                found = found + size**2 * (apart**2).sum(axis=(-1, -2))
            return found

        pose = solver.solve(target[None], facing[None], start=skeleton.from_values(start)).pose
        values, now = skeleton.values(pose), np.array(start)
        if np.allclose(values, start):  # nearer by position and orientation together, and further by one of them
            continue
        moved += 1
        for d in range(len(values)):
            now[d] = values[d]
            tried = np.tile(now, (len(every), 1))
            tried[:, d] = every
            assert off(now) <= off(tried).min() + 1e-9, (seed, d)
    assert moved >= 10


def test_fabrik_keeps_bones_and_puts_the_tip_of_a_free_chain_on_its_target_in_a_few_rounds():
    skeleton = chain(6)
    rng = np.random.default_rng(5)
    targets = rng.normal(size=(500, 1, 3)) * 0.5
    start = skeleton.from_values(rng.normal(size=(500, len(skeleton.dofs))) * 0.3)
    answer = FABRIK(skeleton, [Effector("j6")], stop=Stop(1e-3, 0.0, 50)).solve(targets, start=start)
    assert answer.ok.mean() > 0.98
    assert np.median(answer.iterations) <= 10
    places = skeleton.forward(answer.pose).positions
    np.testing.assert_allclose(np.linalg.norm(np.diff(places, axis=1), axis=-1), 0.3, atol=1e-9)


@pytest.mark.parametrize("kind", [DLS, SDLS, PIK, CCD, FABRIK])
def test_orientations_are_met_where_they_are_asked_for(kind):
    skeleton = chain(6)
    solver = kind(skeleton, [Effector("j5", (0.0, 0.1, 0.0), oriented=True)], stop=Stop(1e-3, 0.0, 300, 1e-3))
    rng = np.random.default_rng(6)
    goal = skeleton.from_values(rng.normal(size=(100, len(skeleton.dofs))) * 0.5)
    frames = skeleton.forward(goal)
    start = skeleton.from_values(skeleton.values(goal) + rng.normal(size=(100, len(skeleton.dofs))) * 0.2)
    targets = frames.point("j5", (0.0, 0.1, 0.0))[:, None]
    turns = frames.orientations[:, [5]]
    answer = solver.solve(targets, turns, start=start)
    assert answer.ok.mean() > (0.9 if kind in (CCD, FABRIK) else 0.98)
    found = skeleton.forward(answer.pose)
    reached = answer.ok
    np.testing.assert_allclose(found.point("j5", (0.0, 0.1, 0.0))[reached], targets[reached, 0], atol=1.1e-3)
    assert pm.angle(found.orientations[reached, 5], turns[reached, 0]).max() < 1.1e-3


def test_damping_that_is_wrong_is_refused():
    skeleton = chain(2)
    for options in ({"damping": -1.0}, {"longest": 0.0}, {"max_step": math.inf}):
        with pytest.raises(ps.PosableError):
            DLS(skeleton, [Effector("j2")], **options)


@pytest.mark.parametrize("kind", [CCD, FABRIK, DLS, PIK])
def test_the_errors_of_a_solution_are_those_of_its_worst_effector_in_the_returned_pose(kind):
    skeleton = tree(5, kinds=("ball", "hinge", "fixed"))
    rng, ends = np.random.default_rng(10), leaves(tree(5, kinds=("ball", "hinge", "fixed")))
    effectors = [Effector(j, tuple(rng.normal(size=3) * 0.2), k % 2 == 0) for k, j in enumerate(ends)]
    assert len(effectors) > 2
    targets = rng.normal(size=(30, len(ends), 3)) * 0.5
    facing = rng.normal(size=(30, len(ends), 4))
    facing /= np.linalg.norm(facing, axis=-1, keepdims=True)
    answer = kind(skeleton, effectors, stop=Stop(1e-3, 0.0, 20)).solve(targets, facing)
    frames = skeleton.forward(answer.pose)
    away = np.stack([frames.point(one.joint, one.point) for one in effectors], axis=1) - targets
    away = np.linalg.norm(away, axis=-1)
    off = np.stack([pm.angle(frames.orientations[:, one.joint], facing[:, k]) for k, one in enumerate(effectors)], 1)
    off[:, [not one.oriented for one in effectors]] = 0.0
    np.testing.assert_allclose(answer.effector_errors, away, rtol=0, atol=1e-9)
    np.testing.assert_allclose(answer.position_error, away.max(axis=1), rtol=0, atol=1e-9)
    np.testing.assert_allclose(answer.orientation_error, off.max(axis=1), rtol=0, atol=1e-6)
    assert (away.max(axis=1) > away.min(axis=1) + 0.01).mean() > 0.5  # it matters which one counts
