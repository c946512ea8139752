"""Rotations on arrays."""

import numpy as np

import posable.math as pm

from ..calls import call
from ..inputs import directions, rotations

SPECIAL = np.array([[1.0, 0, 0, 0], [0, 0, 1.0, 0], [0, 0, 0, 0], [-1.0, 1e-9, 0, 0], [0.5, 0.5, -0.5, 0.5]])


def _many(seed: int) -> np.ndarray:
    return np.concatenate([rotations(20, seed), SPECIAL])


@call()
def products():
    p, q, v = _many(0), _many(1), directions(25, 2)
    return {
        "multiply": pm.multiply(p, q),
        "conjugate": pm.conjugate(p),
        "normalize": pm.normalize(3.0 * p),
        "rotate": pm.rotate(p, v),
        "angle": pm.angle(p, q),
        "slerp": pm.slerp(p, q, np.linspace(-0.2, 1.2, 25)),
        "broadcast": pm.multiply(p[:3, None], q[None, :4]),
    }


@call()
def conversions():
    q, angles = _many(3), np.random.default_rng(4).uniform(-4.0, 4.0, (12, 3))
    return {
        "log": pm.log(q),
        "exp": pm.exp(np.concatenate([angles, np.zeros((1, 3)), angles[:2] * 1e-9])),
        "axis_angle": pm.axis_angle(directions(12), angles[:, 0]),
        "to_matrix": pm.to_matrix(q),
        "from_matrix": pm.from_matrix(pm.to_matrix(q)),
        **{order: pm.from_euler(order, angles) for order in ("XYZ", "ZYX", "YXZ", "ZXY", "YZX", "XZY")},
    }


@call()
def swings_and_twists():
    q, axes = _many(5), directions(25, 6)
    swing, twist = pm.swing_twist(q, axes)
    twist_first, swing_last = pm.twist_swing(q, (0.0, 1.0, 0.0))
    a, b = directions(25, 7), directions(25, 8)
    a[-1], b[-1], b[-2] = (0, 1, 0), (0, -1, 0), a[-2]
    return {
        "swing": swing,
        "twist": twist,
        "twist_first": twist_first,
        "swing_last": swing_last,
        "between": pm.between(a, b),
    }


@call()
def many_rows():
    """More than a block, so that it is shared between threads."""
    p, q = rotations(20000, 9), rotations(20000, 10)
    return {"multiply": pm.multiply(p, q), "log": pm.log(p), "slerp": pm.slerp(p, q, 0.3)}
