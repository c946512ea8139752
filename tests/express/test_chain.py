"""Chains are views of skeletons: their joints are where the skeleton's are, and read back as they were set."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import posable as ps
import posable.math as pm
from posable.compute import PosableError, UnknownNameError
from posable.express import SKELETONS, Chain, Link
from posable.skeleton import Skeleton


def paper_forward(axes, lengths, angles):
    """Specification express, section 1, one chain at a time."""
    vectors = {"X": np.array([1.0, 0, 0]), "Y": np.array([0, 1.0, 0]), "Z": np.array([0, 0, 1.0])}
    frame, place, places = np.eye(3), np.zeros(3), [np.zeros(3)]
    for letter, length, angle in zip(axes, lengths, angles):
        x, y, z = vectors[letter]
        k = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
        frame = frame @ (np.eye(3) + np.sin(angle) * k + (1 - np.cos(angle)) * k @ k)
        place = place + length * frame[:, 1]
        places.append(place)
    return np.array(places), frame


@given(st.text("XYZ", min_size=1, max_size=8), st.integers(0, 2**31))
def test_a_chain_stands_where_the_specification_has_it(axes, seed):
    rng = np.random.default_rng(seed)
    lengths, angles = rng.uniform(0.05, 0.5, len(axes)), rng.uniform(-np.pi, np.pi, len(axes))
    frames = Chain.from_axes(axes, lengths, (-np.pi, np.pi)).forward(angles)
    places, turned = paper_forward(axes, lengths, angles)
    assert frames.positions.shape == (len(axes) + 1, 3)
    np.testing.assert_allclose(frames.positions, places, atol=1e-12)
    np.testing.assert_allclose(pm.to_matrix(frames.orientations[-1]), turned, atol=1e-12)
    np.testing.assert_allclose(frames.pointing, turned[:, 1], atol=1e-12)


def test_any_leading_axes_broadcast():
    angles = np.random.default_rng(0).uniform(-1, 1, (2, 3, 5))
    frames = SKELETONS["C"].forward(angles)
    assert frames.positions.shape == (2, 3, 6, 3) and frames.orientations.shape == (2, 3, 6, 4)
    np.testing.assert_array_equal(frames.positions[1, 2], SKELETONS["C"].forward(angles[1, 2]).positions)


@pytest.mark.parametrize("part", ["left_arm", "right_arm", "left_leg", "right_leg", "spine"])
def test_values_of_a_limb_or_the_spine_read_back_as_they_were_set(part):
    chain = Chain.from_body(ps.figure(), part)
    rng = np.random.default_rng(1)
    values = rng.uniform(chain.lower, chain.upper, (50, len(chain)))
    values = np.clip(values, -1.5, 1.5)  # a turn of the middle axis by more reads back as another triple
    np.testing.assert_allclose(chain.read(chain.pose(values)), values, atol=1e-9)
    frames = chain.skeleton.forward(chain.pose(values))
    np.testing.assert_allclose(chain.forward(values).positions[:, -1], frames.positions[:, chain.tip], atol=1e-12)


def test_left_and_right_limbs_are_mirror_images():
    body = ps.figure()
    for limb in ("arm", "leg"):
        left, right = Chain.from_body(body, f"left_{limb}"), Chain.from_body(body, f"right_{limb}")
        values = np.random.default_rng(2).uniform(left.lower, left.upper, (20, len(left)))
        a, b = left.forward(values).positions, right.forward(values).positions
        np.testing.assert_allclose(a * [-1, 1, 1], b, atol=1e-6)


def test_a_path_of_a_skeleton_has_its_hinges_slides_and_balls():
    skeleton = Skeleton(
        "abcdef",
        [-1, 0, 1, 2, 3, 4],
        [[0, 0, 0], *[[0, 0.1, 0.02]] * 5],
        kinds=["free", "hinge", "hinge_twist", "slide", "fixed", "ball"],
        axes=[[1.0, 0, 0]] * 6,
        end_parents=[5],
        end_offsets=[[0, 0.2, 0]],
    )
    chain = Chain.from_skeleton(skeleton, "b", "f", {"d.slide": (0.0, 0.1)})
    assert chain.names == ("b.angle", "c.flexion", "c.twist", "d.slide", "f.bend", "f.side", "f.twist")
    values = np.random.default_rng(3).uniform(-1, 1, (30, 7))
    np.testing.assert_allclose(chain.read(chain.pose(values)), values, atol=1e-9)
    full = skeleton.from_values(np.concatenate([np.zeros((30, 6)), values[:, :4], np.zeros((30, 3))], axis=1))
    part = np.where(np.arange(7) < 4, values, 0.0)
    np.testing.assert_allclose(chain.pose(part).rotations, full.rotations, atol=1e-12)
    np.testing.assert_allclose(chain.pose(part).offsets[:, 3], full.offsets[:, 3], atol=1e-12)


@pytest.mark.parametrize("along", [(0.3, 0.0, 0.0), (0.0, 0.0, -0.2), (0.1, 0.2, 0.3)])
def test_a_twist_of_a_joint_leaves_the_middle_of_what_hangs_on_it_where_it_is(along):
    """The bones of a joint that branches; where they cancel each other out, it is the first bone that is twisted."""
    along = np.array(along)
    across = np.cross(along, [0.3, -0.5, 0.9])
    for bones in ([along, -along], [along + across, along - across], [along]):
        offsets = [[0.0, 0.0, 0.0], [0.0, 1.0, 0.0], *bones]
        skeleton = Skeleton(["root", "hub", *"ab"[: len(bones)]], [-1, 0, *[1] * len(bones)], offsets)
        chain = Chain.from_skeleton(skeleton, "hub", "a")
        assert chain.names[:3] == ("hub.bend", "hub.side", "hub.twist")
        rest = skeleton.forward(chain.pose(np.zeros(len(chain)))).positions
        for d, moves in enumerate((True, True, False)):
            values = np.zeros(len(chain))
            values[d] = 0.7
            positions = skeleton.forward(chain.pose(values)).positions
            middle = slice(2, 3) if np.allclose(sum(bones), 0.0) else slice(2, None)
            moved = np.linalg.norm((positions - rest)[middle].mean(axis=0))
            assert (moved > 0.1) == moves and (moves or moved < 1e-12), (bones, d)


def test_wrong_chains_are_refused_by_name():
    with pytest.raises(UnknownNameError, match="axis 'W'"):
        Chain.from_axes("XWY")
    with pytest.raises(PosableError, match="at least one joint"):
        Chain.from_axes("")
    with pytest.raises(PosableError, match="lengths are"):
        Chain.from_axes("XY", [0.1, 0.0])
    with pytest.raises(PosableError, match="low <= high"):
        Chain.from_axes("XY", limits=(1, -1))
    with pytest.raises(PosableError, match="limits have shape"):
        Chain.from_axes("XY", limits=[(0, 1)] * 3)
    with pytest.raises(UnknownNameError, match="part 'tail'"):
        Chain.from_body(ps.figure(), "tail")
    skeleton = Skeleton("ab", [-1, 0], np.zeros((2, 3)), kinds=["fixed", "hinge"], axes=[[1, 0, 0]] * 2)
    with pytest.raises(PosableError, match="expected a direction"):
        Chain(skeleton, [Link(1, np.eye(3)[0], False, 0)], [(0, 1)], tip="b", pointing=(0, 0, 0), names=["b"])
    with pytest.raises(PosableError, match="does not hang on"):
        Chain.from_skeleton(skeleton, "b", "a")


@pytest.mark.parametrize("part", ["left_arm", "right_arm", "left_leg", "spine"])
def test_values_inside_the_limits_are_read_back_from_their_pose(part: str):
    chain = Chain.from_body(ps.figure(), part)
    rng = np.random.default_rng(3)
    values = chain.lower + (chain.upper - chain.lower) * rng.uniform(0.02, 0.98, (200, len(chain)))
    np.testing.assert_allclose(chain.read(chain.pose(values)), values, rtol=0, atol=1e-7)


def test_two_rotations_beyond_a_right_angle_are_read_back():
    skeleton = Skeleton(["a"], [-1], [[0.0, 0.0, 0.0]], kinds=["ball"])
    links = [Link(0, np.array([1.0, 0, 0]), False, 0), Link(0, np.array([0, 1.0, 0]), False, 1)]
    chain = Chain(skeleton, links, [(-3.0, 3.0)] * 2, tip=0, tip_offset=(0, 1, 0), pointing=(0, 1, 0), names=["x", "y"])
    values = np.random.default_rng(4).uniform(-2.9, 2.9, (100, 2))
    np.testing.assert_allclose(chain.read(chain.pose(values)), values, rtol=0, atol=1e-9)
