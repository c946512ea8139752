"""Shapes are plain values: what they refuse, their splines, their degenerate cases."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from posable.compute import PosableError
from posable.limits import Cone, Ellipse, Hinge, Interval, JointLimit, Limits

from . import oracle

rad = math.radians
angles = st.floats(-20, 20)
knot_angles = st.lists(st.floats(0.05, 3.1), min_size=3, max_size=12)


@given(angles, st.floats(0, 7), angles)
def test_an_interval_holds_what_it_clamps_and_leaves_the_inside_alone(low, width, angle):
    interval = Interval(low, low + width)
    clamped = interval.clamp(angle)
    assert interval.contains(clamped)
    assert interval.clamp(clamped) == clamped
    if interval.contains(angle, tolerance=0.0):
        assert clamped == angle


@given(angles, st.floats(0, 6), angles)
def test_an_interval_clamps_to_the_nearer_end_around_the_circle(low, width, angle):
    interval = Interval(low, low + width)

    def apart(a, b):
        return abs(math.remainder(a - b, math.tau))

    if not interval.contains(angle, tolerance=0.0):
        nearest = min(apart(angle, interval.low), apart(angle, interval.high))
        assert apart(angle, float(interval.clamp(angle))) == pytest.approx(nearest, abs=1e-9)


def test_an_interval_takes_arrays():
    interval = Interval(-1.0, 2.0)
    assert interval.clamp([[-2.0, 0.5], [2.5, -1.0]]).tolist() == [[-1.0, 0.5], [2.0, -1.0]]
    assert interval.contains([0.0, 3.0]).tolist() == [True, False]


@given(knot_angles)
def test_a_cone_is_the_clamped_cubic_spline_of_scipy(psi):
    psi = [*psi, psi[0]]
    try:
        cone = Cone(tuple(np.linspace(-math.pi, math.pi, len(psi))), tuple(psi))
    except PosableError:
        return  # the spline dips below 0
    theta = np.linspace(-math.pi, math.pi, 997)
    assert np.allclose(cone.limit(theta), np.minimum(oracle.cone_limit(cone, theta), math.pi), atol=1e-9)
    assert np.allclose(cone.limit(theta + 4 * math.pi), cone.limit(theta), atol=1e-9)


def test_a_cone_has_one_slope_at_both_ends():
    """Unzueta 2008, Eq. 3."""
    cone = Cone.from_degrees({-180: 25, -120: 35, 20: 80, 120: 60, 180: 25})
    h = 1e-6
    slopes = [(cone.limit(t + h) - cone.limit(t)) / h for t in (-math.pi, math.pi - h)]
    expected = 0.5 * ((35 - 25) / 60 + (25 - 60) / 60)
    assert slopes == pytest.approx([expected, expected], abs=1e-4)


def test_a_cone_that_passes_pi_is_not_limited_there():
    cone = Cone.from_degrees({-180: 50, -90: 45, 0: 175, 45: 178, 90: 178, 135: 110, 180: 50})
    assert oracle.cone_limit(cone, np.linspace(-math.pi, math.pi, 999)).max() > math.pi
    assert cone.limit(rad(70)) == math.pi
    limits = Limits({"arm": JointLimit(cone, None)})
    assert limits.contains("arm", (0.0, 1.0, 0.0, 0.0))  # straight up: turned back all the way


@pytest.mark.parametrize("radii", [(0.0, 0.0), (0.0, 0.5), (0.5, 0.0)])
@pytest.mark.parametrize("centre", [(0.0, 0.0), (0.4, -0.7)])
def test_an_ellipse_may_shrink_to_a_segment_or_a_point(radii, centre):
    limits = Limits({"joint": JointLimit(Ellipse(radii, centre), None)})
    q = oracle.random_rotations(500, seed=1)
    for approximate in (False, True):
        once = limits.clamp("joint", q, approximate=approximate)
        assert np.isfinite(once).all() and limits.contains("joint", once).all()
        assert (limits.clamp("joint", once, approximate=approximate) == once).all()
    bone, _ = oracle.bone_and_twist(limits["joint"], limits.clamp("joint", q))
    edge = oracle.boundary(Ellipse(radii, centre), 4001)
    assert max(oracle.angle(edge, b).min() for b in bone) < 1e-3
    before, _ = oracle.bone_and_twist(limits["joint"], q)
    for a, b in zip(before, bone, strict=True):
        assert oracle.angle(a, b) <= oracle.angle(edge, a).min() + 1e-9


def test_a_hinge_without_slack_is_one_axis_and_a_full_one_turns_freely():
    limits = Limits({"hinge": JointLimit(Hinge(-math.pi, math.pi), Interval(0.0, 0.0))})
    q = oracle.random_rotations(500, seed=2)
    once = limits.clamp("hinge", q)
    assert np.abs(once[:, 2:]).max() < 1e-12
    turn = np.linspace(-3.1, 3.1, 50)
    pure = np.stack([np.cos(turn / 2), np.sin(turn / 2), 0 * turn, 0 * turn], axis=-1)
    assert limits.contains("hinge", pure).all() and (limits.clamp("hinge", pure) == pure).all()


def test_a_twist_of_a_full_turn_or_none_given_limits_nothing():
    q = oracle.random_rotations(500, seed=3)
    for twist in (None, Interval(-math.pi, math.pi), Interval(1.0, 1.0 + math.tau)):
        assert Limits({"joint": JointLimit(None, twist)}).contains("joint", q, tolerance=0.0).all()


@pytest.mark.parametrize("make", [
    lambda: Interval(1.0, 0.0),
    lambda: Interval(math.nan, 1.0),
    lambda: Interval(0.0, math.inf),
    lambda: Hinge(0.0, 1.0, -0.1),
    lambda: Hinge(0.0, 1.0, 2.0),
    lambda: Ellipse((-1.0, 1.0)),
    lambda: Ellipse((1.0,)),
    lambda: Ellipse((1.0, math.nan)),
    lambda: Ellipse((1.0, 3.2)),
    lambda: Ellipse((1.0, 1.0), (2.5, 0.0)),
    lambda: Cone((-math.pi, math.pi), (1.0, 1.0)),
    lambda: Cone((-math.pi, 0.0, math.pi), (1.0, 1.0)),
    lambda: Cone((-math.pi, 0.0, 3.0), (1.0, 1.0, 1.0)),
    lambda: Cone((-math.pi, 0.0, math.pi), (1.0, 1.0, 1.1)),
    lambda: Cone((-math.pi, 1.0, 0.0, math.pi), (1.0, 1.0, 1.0, 1.0)),
    lambda: Cone((-math.pi, 0.0, math.pi), (1.0, 3.5, 1.0)),
    lambda: Cone((-math.pi, -1.0, 1.0, math.pi), (0.01, 3.0, 0.01, 0.01)),
    lambda: JointLimit(swing="wide"),
    lambda: JointLimit(twist=(0.0, 1.0)),
    lambda: JointLimit(direction=(0.0, -1.0, 0.0), axis=(0.0, 1.0, 0.0)),
    lambda: JointLimit(direction=(0.0, -2.0, 0.0)),
    lambda: JointLimit(Cone((-math.pi, 0.0, math.pi), (1.0, 2.0, 1.0))).scaled(0.5),
])  # fmt: skip
def test_what_cannot_be_a_limit_is_refused_with_its_value(make):
    with pytest.raises(PosableError):
        make()


def test_ranges_make_the_ellipse_that_spans_them():
    ellipse = Ellipse.from_ranges((-0.2, 0.6), (-1.0, 0.4))
    assert ellipse.radii == pytest.approx((0.4, 0.7)) and ellipse.centre == pytest.approx((0.2, -0.3))
    s = ellipse.boundary(np.linspace(0, math.tau, 401))
    assert s.min(axis=0) == pytest.approx([-0.2, -1.0], abs=1e-4) and s.max(axis=0) == pytest.approx(
        [0.6, 0.4], abs=1e-4
    )
