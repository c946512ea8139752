"""Several end points that share joints: all are told honestly, and shared joints are one."""

import numpy as np
import pytest

import posable as ps
import posable.math as pm
from posable.compute import PosableError, UnknownNameError
from posable.express import Chain, Link, Tree
from posable.express.aim_kernels import RANDOM_STARTS
from posable.skeleton import Skeleton


@pytest.fixture(scope="module")
def tree():
    """A trunk of three joints with two arms of three."""
    names = ["t1", "t2", "t3", "a1", "a2", "a3", "b1", "b2", "b3"]
    axes = np.array([[0, 1.0, 0], [1.0, 0, 0], [0, 0, 1.0], *[[1.0, 0, 0], [0, 0, 1.0], [0, 1.0, 0]] * 2])
    skeleton = Skeleton(
        names,
        [-1, 0, 1, 2, 3, 4, 2, 6, 7],
        [[0, 0, 0], *[[0, 0.2, 0]] * 2, [0.1, 0.1, 0], *[[0.1, 0.1, 0]] * 2, [-0.1, 0.1, 0], *[[-0.1, 0.1, 0]] * 2],
        kinds=["hinge"] * 9,
        axes=axes,
    )

    def chain(way):
        links = [Link(j, axes[j], False, k) for k, j in enumerate(way)]
        limits = [(-1.5, 1.5)] * 6
        return Chain(skeleton, links, limits, tip=way[-1], pointing=(0, 1, 0), names=[names[j] for j in way])

    return Tree({"a": chain([0, 1, 2, 3, 4, 5]), "b": chain([0, 1, 2, 6, 7, 8])})


def test_shared_joints_have_one_angle_and_errors_are_those_of_the_whole_pose(tree):
    rng = np.random.default_rng(0)
    postures = {name: rng.uniform(-1, 1, (40, 6)) for name in tree.chains}
    targets = {name: pm.normalize(rng.normal(size=(40, 4))) for name in tree.chains}
    answer = tree.solve(postures, targets)
    np.testing.assert_array_equal(answer.angles["a"][:, :3], answer.angles["b"][:, :3])
    frames = tree.skeleton.forward(answer.pose)
    for name, chain in tree.chains.items():
        assert (answer.angles[name] >= chain.lower).all() and (answer.angles[name] <= chain.upper).all()
        end = frames.orientations[:, chain.tip]
        over = pm.multiply(end, (0.0, 0.0, 1.0, 0.0))
        apart = [np.linalg.norm(targets[name] - sign * one, axis=-1) for one in (end, over) for sign in (1, -1)]
        np.testing.assert_allclose(
            answer.chains[name].orientation_score, np.min(apart, axis=0) / np.sqrt(2), atol=1e-12
        )
    np.testing.assert_allclose(answer.error, sum(one.error for one in answer.chains.values()))


def test_targets_that_a_posture_meets_are_met_by_both(tree):
    rng = np.random.default_rng(1)
    shared = rng.uniform(-1, 1, (30, 3))
    postures = {name: np.concatenate([shared, rng.uniform(-1, 1, (30, 3))], axis=1) for name in tree.chains}
    targets = {name: chain.forward(postures[name]).orientations[:, -1] for name, chain in tree.chains.items()}
    assert tree.solve(postures, targets).error.max() < 1e-6


def test_one_end_point_alone_is_its_chain(tree):
    target = pm.axis_angle((0.0, 0.0, 1.0), 0.7)
    alone = ps.ERIK(tree.chains["a"]).solve(np.zeros(6), target)
    answer = tree.solve({"a": np.zeros(6)}, {"a": target})
    assert answer.error <= alone.error + 1e-6
    assert answer.ok == alone.ok and answer.pose.shape == ()


def test_wrong_trees_are_named(tree):
    with pytest.raises(UnknownNameError, match="end point 'c'"):
        tree.solve({}, {"c": (1, 0, 0, 0)})
    with pytest.raises(PosableError, match="no target"):
        tree.solve({}, {})
    with pytest.raises(PosableError, match="another skeleton"):
        Tree({"a": tree.chains["a"], "b": Chain.from_axes("XYX")})


def branching(arm: int, **options) -> Tree:
    """A trunk of three joints with two arms of `arm` joints each: with one, both cannot aim at once."""
    names = ["t1", "t2", "t3"] + [f"{side}{k}" for side in "ab" for k in range(arm)]
    turning = [[1.0, 0, 0], [0, 0, 1.0], [0, 1.0, 0]][:arm]
    axes = np.array([[0, 1.0, 0], [1.0, 0, 0], [0, 0, 1.0], *turning, *turning])
    parents = [-1, 0, 1, 2, *range(3, 2 + arm), 2, *range(3 + arm, 2 + 2 * arm)]
    offsets = [[0, 0, 0], [0, 0.2, 0], [0, 0.2, 0], *[[0.1, 0.1, 0]] * arm, *[[-0.1, 0.1, 0]] * arm]
    skeleton = Skeleton(names, parents, offsets, kinds=["hinge"] * len(names), axes=axes)

    def chain(way):
        links = [Link(j, axes[j], False, k) for k, j in enumerate(way)]
        limits = [(-1.5, 1.5)] * len(way)
        return Chain(skeleton, links, limits, tip=way[-1], pointing=(0, 1, 0), names=[names[j] for j in way])

    a, b = [0, 1, 2, *range(3, 3 + arm)], [0, 1, 2, *range(3 + arm, 3 + 2 * arm)]
    return Tree({"a": chain(a), "b": chain(b)}, **options)


def true_angles(tree, answer, targets):
    """{name: (N,) [rad]} of the tips from their targets in the returned pose; upside down counts as well."""
    frames, found = tree.skeleton.forward(answer.pose), {}
    for name, chain in tree.chains.items():
        end = frames.orientations[:, chain.tip]
        over = pm.multiply(end, (0.0, 0.0, 1.0, 0.0))
        found[name] = np.minimum(pm.angle(end, targets[name]), pm.angle(over, targets[name]))
    return found


def test_the_heavier_end_point_is_nearer_to_its_target():
    """Both cannot be met, so the weights decide who misses; equal ones share."""
    rng = np.random.default_rng(3)
    targets = {name: pm.exp(rng.normal(size=(60, 3)) * 0.6) for name in "ab"}
    postures = dict.fromkeys("ab", np.zeros((60, 4)))
    missed = []
    for weights in ({"a": 30.0}, {}, {"b": 30.0}):
        tree = branching(1, weights=weights)
        missed.append(true_angles(tree, tree.solve(postures, targets), targets))
    first, even, second = missed
    assert np.median(first["a"]) < 0.5 * np.median(even["a"]) and np.median(even["a"]) < np.median(second["a"])
    assert (first["a"] <= second["a"] + 0.02).mean() > 0.95 and (second["b"] <= first["b"] + 0.02).mean() > 0.95
    assert np.median(second["b"]) < 0.5 * np.median(even["b"])
    tree = branching(1, weights={"a": 30.0})
    answer = tree.solve(postures, targets)
    np.testing.assert_allclose(answer.error, 30.0 * answer.chains["a"].error + answer.chains["b"].error)


def test_the_search_goes_on_until_the_worst_end_point_aims():
    """Targets of random postures, from postures that are far away: one tip that aims does not end the search."""
    tree, rng = branching(3), np.random.default_rng(4)
    shared = rng.uniform(-1.4, 1.4, (80, 3))
    goal = {name: np.concatenate([shared, rng.uniform(-1.4, 1.4, (80, 3))], axis=1) for name in "ab"}
    targets = {name: tree.chains[name].forward(goal[name]).orientations[:, -1] for name in "ab"}
    postures = {name: rng.uniform(-1.4, 1.4, (80, 6)) for name in "ab"}
    answer = tree.solve(postures, targets)
    worst = np.maximum(*true_angles(tree, answer, targets).values())
    assert (worst < 1e-3).all(), np.sort(worst)[-5:]
    # Where both cannot aim, one of them does, and still every start is tried.
    tree = branching(1)
    targets = {name: pm.exp(rng.normal(size=(30, 3)) * 0.6) for name in "ab"}
    answer = tree.solve(dict.fromkeys("ab", np.zeros((30, 4))), targets)
    missed = np.maximum(*true_angles(tree, answer, targets).values()) > 0.01
    assert missed.any() and (answer.chains["a"].iterations[missed] > RANDOM_STARTS).all()
