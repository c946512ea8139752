import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from posable.compute import PosableError
from posable.formats.euler import euler_axes, euler_from_quaternions, quaternions_from_euler

from .example_motions import angles_between

ORDERS = ["".join(order) for order in itertools.permutations("XYZ")]
angle = st.one_of(st.floats(-400, 400), st.sampled_from([k * np.pi / 4 for k in range(-8, 9)]))


def _tricky_angles(seed, count=2000):
    rng = np.random.default_rng(seed)
    angles = rng.uniform(-np.pi, np.pi, (count, 3))
    angles[: count // 4, 1] = np.pi / 2 - rng.choice([0.0, 1e-16, 1e-13, 1e-9, 1e-5, 1e-2], count // 4)
    angles[count // 4 : count // 2, 1] *= 0
    angles[::5] = np.round(angles[::5] / (np.pi / 2)) * (np.pi / 2)
    angles[1::2, 1] *= -1
    return angles


@pytest.mark.parametrize("order", [*ORDERS, "X", "ZX", "XYX", "ZXZY"])
def test_quaternions_agree_with_scipy(order):
    axes = ["XYZ".index(letter) for letter in order]
    angles = np.random.default_rng(3).uniform(-7, 7, (3000, len(order)))
    ours = quaternions_from_euler(axes, angles)
    theirs = Rotation.identity(3000)
    for k, axis in enumerate(axes):
        theirs = theirs * Rotation.from_rotvec(angles[:, [k]] * np.eye(3)[axis])
    assert angles_between(ours, theirs.as_quat(scalar_first=True)).max() < 1e-12
    assert np.abs(np.linalg.norm(ours, axis=-1) - 1).max() < 1e-14


@pytest.mark.parametrize("order", ORDERS)
def test_angles_found_give_the_rotation_back_even_in_gimbal_lock(order):
    rotations = quaternions_from_euler(euler_axes(order), _tricky_angles(7))
    again = quaternions_from_euler(euler_axes(order), euler_from_quaternions(order, rotations))
    assert angles_between(rotations, again).max() < 5e-12


@given(st.sampled_from(ORDERS), st.lists(st.tuples(angle, angle, angle), min_size=1, max_size=8))
def test_any_angles_survive_the_way_there_and_back(order, triples):
    rotations = quaternions_from_euler(euler_axes(order), np.array(triples))
    again = quaternions_from_euler(euler_axes(order), euler_from_quaternions(order, rotations))
    assert angles_between(rotations, again).max() < 5e-12


@pytest.mark.parametrize("order", ORDERS)
def test_a_motion_through_gimbal_lock_has_angles_that_do_not_jump(order):
    time = np.linspace(0, 6 * np.pi, 3001)
    smooth = np.stack([0.4 * np.sin(time), time, 0.3 * np.cos(2 * time)], axis=-1)  # the middle angle turns thrice
    rotations = quaternions_from_euler(euler_axes(order), smooth)
    angles = euler_from_quaternions(order, rotations)
    assert np.abs(np.diff(angles, axis=0)).max() < 0.03


@pytest.mark.parametrize("order", ORDERS)
def test_a_body_resting_in_gimbal_lock_does_not_wander(order):
    still = np.tile([[0.3, np.pi / 2, 0.0]], (50, 1))
    angles = euler_from_quaternions(order, quaternions_from_euler(euler_axes(order), still))
    assert np.abs(np.diff(angles, axis=0)).max() < 1e-12


def test_a_sign_flip_of_the_quaternion_changes_no_angle():
    rng = np.random.default_rng(11)
    rotations = quaternions_from_euler((2, 1, 0), np.cumsum(rng.normal(size=(200, 3)) * 0.05, axis=0))
    flips = rng.choice([-1.0, 1.0], size=(200, 1))
    assert np.allclose(euler_from_quaternions("ZYX", rotations), euler_from_quaternions("ZYX", rotations * flips))


def test_empty_and_single_frames_are_motions_too():
    assert euler_from_quaternions("ZYX", np.empty((0, 5, 4))).shape == (0, 5, 3)
    assert quaternions_from_euler((0, 1, 2), np.empty((0, 5, 3))).shape == (0, 5, 4)
    assert (quaternions_from_euler((), np.empty((2, 0))) == [1, 0, 0, 0]).all()
    assert euler_from_quaternions("ZYX", np.array([[1.0, 0, 0, 0]])).tolist() == [[0, 0, 0]]


@pytest.mark.parametrize("order", ["", "XY", "XYX", "XYZX", "ABC"])
def test_an_order_that_is_none_is_named(order):
    with pytest.raises(PosableError, match="give one of XYZ"):
        euler_axes(order)
