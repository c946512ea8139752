"""Millions of rotations, limits drawn at random, and every role of the human body."""

import math
import os

import numpy as np
import pytest

from posable.compute import PosableError
from posable.limits import Cone, Ellipse, Hinge, Interval, JointLimit, Limits
from posable.limits.human import ROLES

from . import oracle

pytestmark = pytest.mark.soak
SEED = int(os.environ.get("POSABLE_SEED", "0"))
HUMAN = Limits.human()


def hard_rotations(count: int, seed: int) -> np.ndarray:
    """Uniform rotations, tiny ones, half turns, and ones with components that are zero or denormal."""
    rng = np.random.default_rng([SEED, seed])
    q = rng.normal(size=(count, 4))
    kind = rng.integers(0, 6, size=count)
    q[kind == 1, 1:] *= 10.0 ** rng.uniform(-320, -1, size=((kind == 1).sum(), 1))
    q[kind == 2, 0] *= 10.0 ** rng.uniform(-320, -1, size=(kind == 2).sum())
    q[kind == 3] *= rng.integers(0, 2, size=((kind == 3).sum(), 4))
    q[kind == 4] = np.round(q[kind == 4])
    zero = ~q.any(axis=1)
    q[zero] = [1.0, 0.0, 0.0, 0.0]
    return q / np.linalg.norm(q, axis=1, keepdims=True)


def random_limit(rng: np.random.Generator) -> JointLimit:
    """A limit of any shape, size and side, as long as it is one."""
    while True:
        try:
            kind = rng.integers(0, 4)
            if kind == 0:
                low = rng.uniform(-6, 6)
                swing = Hinge(low, low + rng.uniform(0, 7), rng.choice([0.0, rng.uniform(0, 1.5)]))
            elif kind == 1:
                swing = Ellipse(tuple(rng.uniform(0.1, 2, 2) * rng.choice([0, 0.01, 1], 2)), tuple(rng.normal(0, 1, 2)))
            elif kind == 2:
                knots = rng.integers(3, 14)
                theta = np.sort(rng.uniform(-3.1, 3.1, knots - 2))
                psi = rng.uniform(0.1, math.pi, knots - 1)
                swing = Cone((-math.pi, *theta, math.pi), (*psi, psi[0]))
            else:
                swing = None
            low = rng.uniform(-6, 6)
            twist = rng.choice(np.array([None, Interval(low, low + rng.uniform(0, 7))], dtype=object))
            frame = np.linalg.qr(rng.normal(size=(3, 3)))[0]
            return JointLimit(swing, twist, tuple(frame[0]), tuple(frame[1]), bool(rng.integers(0, 2)))
        except PosableError:
            continue


@pytest.mark.parametrize("role", ROLES)
def test_a_million_rotations_of_every_role_keep_every_promise(role, drawn):
    count = drawn(1_000_000)
    q, start = hard_rotations(count, 1), hard_rotations(count, 2)
    check(HUMAN, role, q, start)


def check(limits: Limits, role: str, q: np.ndarray, start: np.ndarray) -> None:
    for approximate in (False, True):
        once = limits.clamp(role, q, approximate=approximate)
        assert np.isfinite(once).all()
        assert np.abs(np.linalg.norm(once, axis=1) - 1.0).max() < 1e-12
        assert limits.excess(role, once).max() < 1e-9
        assert (limits.clamp(role, once, approximate=approximate) == once).all()
        inside = limits.contains(role, q, tolerance=0.0)
        assert (once[inside] == q[inside]).all()
    held = limits.clamp_from(role, start, q)
    assert np.isfinite(held).all()
    assert (limits.excess(role, held) <= limits.excess(role, start) + 1e-9).all()
    assert (limits.clamp_from(role, start, start) == start).all()


@pytest.mark.parametrize("block", range(20))
def test_limits_drawn_at_random_keep_every_promise(block, drawn):
    rng = np.random.default_rng([SEED, 3, block])
    for k in range(drawn(50, each=4_000)):
        limits = Limits({"joint": random_limit(rng)})
        q, start = hard_rotations(4_000, 100 + 50 * block + k), hard_rotations(4_000, 9000 + 50 * block + k)
        check(limits, "joint", q, start)


@pytest.mark.parametrize("block", range(20))
def test_no_boundary_point_is_nearer_than_the_one_clamping_finds(block, drawn):
    rng = np.random.default_rng([SEED, 4, block])
    for k in range(drawn(20, each=60)):
        limit = random_limit(rng)
        if limit.swing is None:
            continue
        limits = Limits({"joint": JointLimit(limit.swing, None, limit.direction, limit.axis, limit.is_mirrored)})
        q = oracle.random_rotations(60, seed=20_000 + 20 * block + k)
        before, _ = oracle.bone_and_twist(limits["joint"], q)
        after, _ = oracle.bone_and_twist(limits["joint"], limits.clamp("joint", q))
        edge = oracle.boundary(limit.swing, 4001)
        outside = limits.excess("joint", q) > 0
        for a, b in zip(before[outside], after[outside], strict=True):
            assert oracle.angle(a, b) <= oracle.angle(edge, a).min() + 1e-9, limit
