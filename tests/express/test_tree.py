"""Several end points that share joints: all are told honestly, and shared joints are one."""

import numpy as np
import pytest

import posable as ps
import posable.math as pm
from posable.compute import PosableError, UnknownNameError
from posable.express import Chain, Link, Tree
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
