"""The array faces: one call for one rotation or any batch, agreeing with scipy and with the kernels."""

import itertools
import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation, Slerp

import posable.math as pm
from posable.compute import PosableError
from posable.math import quaternion
from posable.math.quaternion import swing_twist

from . import cases

Q = cases.random_rotations(2_000, 1)
P = cases.random_rotations(2_000, 2)
V = np.random.default_rng(3).normal(size=(2_000, 3))
D = cases.random_directions(2_000, 4)
SHAPES = [(), (1,), (5,), (2, 3), (2, 1, 3), (0,), (2, 0)]


def scipy_of(q):
    return Rotation.from_quat(q, scalar_first=True)


def same(a, b, tolerance=1e-13):
    """Whether two sets of quaternions (..., 4) are the same rotations."""
    return np.minimum(np.abs(a - b).max(axis=-1), np.abs(a + b).max(axis=-1)).max(initial=0.0) < tolerance


def test_products_turns_and_maps_agree_with_scipy():
    assert same(pm.multiply(P, Q), (scipy_of(P) * scipy_of(Q)).as_quat(scalar_first=True))
    assert same(pm.conjugate(Q), scipy_of(Q).inv().as_quat(scalar_first=True))
    assert np.allclose(pm.rotate(Q, V), scipy_of(Q).apply(V), atol=1e-13)
    assert same(pm.exp(V), Rotation.from_rotvec(V).as_quat(scalar_first=True))
    assert np.allclose(pm.log(Q), scipy_of(Q).as_rotvec(), atol=1e-12)
    assert np.allclose(pm.to_matrix(Q), scipy_of(Q).as_matrix(), atol=1e-14)
    assert np.allclose(pm.angle(P, Q), (scipy_of(P).inv() * scipy_of(Q)).magnitude(), atol=1e-12)
    assert same(pm.axis_angle(D, V[:, 0]), Rotation.from_rotvec(D * V[:, :1]).as_quat(scalar_first=True))


def test_slerp_agrees_with_scipy():
    for p, q in zip(P[:50], Q[:50], strict=True):
        times = np.linspace(0, 1, 7)
        expected = Slerp([0, 1], scipy_of(np.stack([p, q])))(times).as_quat(scalar_first=True)
        assert same(pm.slerp(p, q, times), expected, 1e-12)


@pytest.mark.parametrize("order", ["".join(p) for p in itertools.product("XYZ", repeat=3)])
def test_euler_angles_of_every_order_agree_with_scipy(order):
    if order[0] == order[1] or order[1] == order[2]:
        pytest.skip("scipy has no such order")
    expected = Rotation.from_euler(order, V).as_quat(scalar_first=True)
    assert same(pm.from_euler(order, V), expected)
    assert same(pm.from_euler(order.lower(), V), expected)


def test_matrices_go_there_and_back_also_at_half_turns():
    half = np.concatenate([np.zeros((2_000, 1)), D], axis=1)
    near = np.concatenate([np.full((2_000, 1), 1e-9), D], axis=1)
    for q in (Q, half, near, np.array([[1.0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])):
        back = pm.from_matrix(pm.to_matrix(q))
        assert same(back, q, 1e-14) and (back[:, 0] >= 0.0).all()


def test_between_and_swing_twist_are_their_kernels():
    found = pm.between(D, V)
    assert np.allclose(pm.rotate(found, D), V / np.linalg.norm(V, axis=1, keepdims=True), atol=1e-14)
    swing, twist = pm.swing_twist(Q, D)
    twist2, swing2 = pm.twist_swing(Q, D)
    assert same(pm.multiply(swing, pm.axis_angle(D, twist)), Q) and (twist == twist2).all()
    assert same(pm.multiply(pm.axis_angle(D, twist2), swing2), Q)
    for i in range(20):
        q, d = tuple(Q[i]), tuple(D[i])
        assert (found[i] == quaternion.between(d, tuple(V[i]))).all()
        s, t = swing_twist(q, d)
        assert np.allclose(swing[i], s, atol=1e-15) and twist[i] == pytest.approx(t, abs=1e-15)


def test_normalize_makes_unit_length_and_the_zero_quaternion_the_identity():
    scaled = Q * np.random.default_rng(5).uniform(1e-300, 1e300, size=(2_000, 1))
    assert same(pm.normalize(scaled), Q)
    assert pm.normalize(np.zeros(4)).tolist() == [1.0, 0.0, 0.0, 0.0]


@pytest.mark.parametrize("shape", SHAPES)
def test_every_batch_shape_gives_what_its_rows_give(shape):
    n = math.prod(shape)
    p, q, v, d = P[:n].reshape(*shape, 4), Q[:n].reshape(*shape, 4), V[:n].reshape(*shape, 3), D[:n].reshape(*shape, 3)
    t = V[:n, 0].reshape(shape)
    calls = {
        "multiply": (pm.multiply, (p, q)),
        "conjugate": (pm.conjugate, (q,)),
        "rotate": (pm.rotate, (q, v)),
        "exp": (pm.exp, (v,)),
        "log": (pm.log, (q,)),
        "axis_angle": (pm.axis_angle, (d, t)),
        "between": (pm.between, (d, v)),
        "slerp": (pm.slerp, (p, q, t)),
        "normalize": (pm.normalize, (q,)),
        "angle": (pm.angle, (p, q)),
        "to_matrix": (pm.to_matrix, (q,)),
        "from_matrix": (pm.from_matrix, (pm.to_matrix(q),)),
        "from_euler": (lambda a: pm.from_euler("ZYX", a), (v,)),
        "swing": (lambda a, b: pm.swing_twist(a, b)[0], (q, d)),
        "twist": (lambda a, b: pm.twist_swing(a, b)[0], (q, d)),
    }
    for name, (function, arguments) in calls.items():
        whole = function(*arguments)
        assert whole.shape[: len(shape)] == shape and whole.dtype == np.float64 and whole.flags.c_contiguous, name
        for index in np.ndindex(shape):
            assert (function(*(a[index] for a in arguments)) == whole[index]).all(), name


def test_leading_axes_broadcast():
    assert pm.multiply(P[:3, None], Q[:5]).shape == (3, 5, 4)
    assert (pm.multiply(P[:3, None], Q[:5])[2, 4] == pm.multiply(P[2], Q[4])).all()
    assert pm.rotate(Q[0], V[:7]).shape == (7, 3) and pm.rotate(Q[:7], V[0]).shape == (7, 3)
    assert pm.slerp(P[0], Q[0], np.linspace(0, 1, 9)).shape == (9, 4)
    assert pm.axis_angle((0, 1, 0), np.zeros((2, 2))).shape == (2, 2, 4)
    assert pm.swing_twist(Q[:6].reshape(2, 3, 4), (0.0, 1.0, 0.0))[1].shape == (2, 3)


def test_lists_integers_float32_and_any_layout_are_taken():
    assert pm.rotate([0, 1, 0, 0], [0, 1, 0]).tolist() == [0.0, -1.0, 0.0]
    expected = pm.multiply(P, Q)
    assert (pm.multiply(np.asfortranarray(P), Q[::-1][::-1]) == expected).all()
    assert np.allclose(pm.multiply(P.astype(np.float32), Q), expected, atol=1e-6)


def test_many_rows_on_all_cores_give_what_one_core_gives():
    q = cases.random_rotations(20_000, 6)
    assert (pm.multiply(q, q[::-1])[:100] == pm.multiply(q[:100], q[::-1][:100])).all()


@pytest.mark.parametrize("call", [
    lambda: pm.multiply(np.zeros(3), np.zeros(4)),
    lambda: pm.rotate(np.zeros(4), np.zeros(4)),
    lambda: pm.multiply(np.zeros((2, 4)), np.zeros((3, 4))),
    lambda: pm.exp(1.0),
    lambda: pm.from_matrix(np.zeros((3, 4))),
    lambda: pm.from_euler("XYW", np.zeros(3)),
    lambda: pm.from_euler("XY", np.zeros(2)),
])  # fmt: skip
def test_wrong_shapes_and_orders_are_refused_with_what_came(call):
    with pytest.raises(PosableError):
        call()
