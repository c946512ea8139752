"""Prioritised IK: what is above is never given up for what is below."""

import numpy as np
import pytest

import posable.math as pm
from posable.classic import DLS, PIK, Effector, Stop
from posable.skeleton import Skeleton

from .skeletons import chain
from .test_solver import excess, tight_limits

ON = -1.0  # [m]: go on where an iteration makes it worse
FINE = Stop(tolerance=1e-4, improvement=ON, iterations=150)


def two_arms():
    """A trunk of three balls with two arms of two bones: their tips cannot be anywhere at once."""
    names = ["t0", "t1", "t2", "la", "lb", "lt", "ra", "rb", "rt"]
    parents = [-1, 0, 1, 2, 3, 4, 2, 6, 7]
    offsets = [[0, 0, 0], [0, 0.3, 0], [0, 0.3, 0], [0.2, 0, 0], [0.3, 0, 0], [0.3, 0, 0], [-0.2, 0, 0], [-0.3, 0, 0]]
    kinds = ["ball"] * 5 + ["fixed"] + ["ball"] * 2 + ["fixed"]
    return Skeleton(names, parents, [*offsets, [-0.3, 0, 0]], kinds=kinds)


def conflicts(count, seed):
    """Targets that the left tip can reach and that draw the right one too far away for both."""
    rng = np.random.default_rng(seed)
    left = np.array([0.5, 0.7, 0.2]) + rng.normal(size=(count, 3)) * 0.2
    right = np.array([-2.0, 0.5, 0.0]) + rng.normal(size=(count, 3))
    return np.stack([left, right], axis=1)


def start_of(skeleton, count, seed):
    return skeleton.from_values(np.random.default_rng(seed).normal(size=(count, len(skeleton.dofs))) * 0.2)


def test_a_higher_level_is_met_as_if_the_lower_were_not_there():
    skeleton, targets = two_arms(), conflicts(400, 0)
    start = start_of(skeleton, 400, 1)
    alone = PIK(skeleton, [Effector("lt")], stop=FINE).solve(targets[:, :1], start=start)
    both = PIK(skeleton, [Effector("lt"), Effector("rt", level=2)], stop=FINE).solve(targets, start=start)
    assert alone.ok.mean() > 0.99
    assert (both.effector_errors[alone.ok, 0] <= 1e-4).mean() > 0.93
    assert (both.effector_errors[alone.ok, 0] < 0.01).mean() > 0.99
    shared = DLS(skeleton, [Effector("lt"), Effector("rt")], stop=FINE).solve(targets, start=start)
    assert np.median(shared.effector_errors[:, 0]) > 0.1  # without priorities they meet half-way


def test_the_order_of_levels_decides_who_gives_way():
    skeleton, targets = two_arms(), conflicts(200, 2)
    start = start_of(skeleton, 200, 3)
    far = np.linalg.norm(targets[:, 1] - [0.0, 0.6, 0.0], axis=-1) > 1.0
    first = PIK(skeleton, [Effector("lt"), Effector("rt", level=2)], stop=FINE).solve(targets, start=start)
    second = PIK(skeleton, [Effector("lt", level=2), Effector("rt")], stop=FINE).solve(targets, start=start)
    assert (first.effector_errors[far, 0] < second.effector_errors[far, 0] + 0.01).mean() > 0.99
    assert (first.effector_errors[far, 1] > second.effector_errors[far, 1] - 0.05).mean() > 0.95
    assert np.median(second.effector_errors[far, 0]) > 20.0 * np.median(first.effector_errors[far, 0])


def test_a_step_of_a_lower_level_does_not_move_the_higher_to_first_order():
    skeleton = two_arms()
    rng = np.random.default_rng(4)
    once = Stop(tolerance=1e-6, improvement=ON, iterations=1)
    solver = PIK(skeleton, [Effector("lt"), Effector("rt", level=2)], stop=once)
    for _ in range(200):
        start = skeleton.from_values(rng.normal(size=len(skeleton.dofs)) * 0.5)
        frames = skeleton.forward(start)
        pull = rng.normal(size=3) * 1e-4
        targets = np.stack([frames.point("lt"), frames.point("rt") + pull])
        moved = skeleton.forward(solver.solve(targets, start=start).pose)
        assert np.linalg.norm(moved.point("lt") - targets[0]) < 1e-6
        assert np.linalg.norm(moved.point("rt") - targets[1]) < 0.01 * np.linalg.norm(pull)


@pytest.mark.parametrize("levels", [3, 5, 8])
def test_any_number_of_levels(levels):
    skeleton = chain(10, 0.2)
    effectors = [Effector(f"j{10 - k}", level=k + 1) for k in range(levels)]
    rng = np.random.default_rng(levels)
    goal = skeleton.forward(skeleton.from_values(rng.normal(size=(50, len(skeleton.dofs))) * 0.3))
    targets = np.stack([goal.point(e.joint) for e in effectors], axis=1)
    start = start_of(skeleton, 50, levels)
    answer = PIK(skeleton, effectors, stop=Stop(1e-3, ON, 100)).solve(targets, start=start)
    assert answer.ok.mean() > 0.95
    targets[:, -1] += 5.0  # the lowest asks for the impossible
    answer = PIK(skeleton, effectors, stop=Stop(1e-3, ON, 100)).solve(targets, start=start)
    assert (answer.effector_errors[:, 0] < 5e-3).mean() > 0.95


def test_limits_are_inequalities_around_which_the_rest_is_solved():
    """With a joint at its limit the others do its share: more is reached than by clamping alone."""
    skeleton = chain(5)
    limits = tight_limits(skeleton)
    rng = np.random.default_rng(6)
    values = rng.uniform(-1.0, 1.0, size=(500, len(skeleton.dofs))) * 0.25
    targets = skeleton.forward(skeleton.from_values(values)).positions[:, [5]]
    start = skeleton.from_values(
        rng.uniform(-1.0, 1.0, size=(500, len(skeleton.dofs))) * 0.2
    )  # a straight chain is stuck
    stop = Stop(1e-3, ON, 60)
    prior = PIK(skeleton, [Effector("j5")], limits=limits, stop=stop).solve(targets, start=start)
    assert excess(skeleton, limits, prior.pose).max() < 1e-9
    assert prior.ok.mean() > 0.97


def test_what_is_free_is_drawn_to_the_relaxed_posture_and_nothing_else_is():
    skeleton = chain(6)
    rng = np.random.default_rng(7)
    relaxed = skeleton.from_values(rng.normal(size=len(skeleton.dofs)) * 0.2)
    start = skeleton.from_values(rng.normal(size=(100, len(skeleton.dofs))) * 0.5)
    targets = skeleton.forward(start).positions[:, [6]]
    stop = Stop(1e-3, ON, 200, settled=1e-4)
    drawn = PIK(skeleton, [Effector("j6")], relaxed=relaxed, attraction=0.2, stop=stop).solve(targets, start=start)
    assert drawn.ok.mean() > 0.98
    away = [pm.angle(pose.rotations[..., :6, :], relaxed.rotations[:6]).mean() for pose in (start, drawn.pose)]
    assert away[1] < 0.6 * away[0]
    free = PIK(skeleton, [Effector("j6")], stop=stop).solve(targets, start=start)
    np.testing.assert_allclose(free.pose.rotations, start.rotations, atol=1e-15)
