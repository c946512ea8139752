"""Is it allowed, how far outside, and where to: for every shape, against plain versions and by properties."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from posable.compute import PosableError
from posable.limits import Cone, Ellipse, Hinge, Interval, JointLimit, Limits

from . import oracle

rad = math.radians
SHOULDER = Cone.from_degrees({-180: 50, -135: 35, -90: 45, -45: 120, 0: 175, 45: 178, 90: 178, 135: 110, 180: 50})
HIP = Cone.from_degrees({-180: 25, -135: 25, -90: 30, -45: 90, 0: 130, 45: 120, 90: 60, 135: 45, 180: 25})
CLAVICLE = {"direction": (1.0, 0.0, 0.0), "axis": (0.0, 1.0, 0.0)}
LIMITS = Limits(
    {
        "free": JointLimit(),
        "shoulder": JointLimit(SHOULDER, Interval(rad(-100), rad(100))),
        "right_shoulder": JointLimit(SHOULDER, Interval(rad(-100), rad(80)), is_mirrored=True),
        "hip": JointLimit(HIP, Interval(rad(-60), rad(60))),
        "three_knots": JointLimit(Cone((-math.pi, 0.3, math.pi), (0.9, 2.0, 0.9)), None),
        "wide": JointLimit(Ellipse((rad(120), rad(80))), Interval(rad(150), rad(220))),
        "off_centre": JointLimit(Ellipse((rad(30), rad(70)), (rad(20), rad(-65))), Interval(-0.2, 0.4)),
        "thin": JointLimit(Ellipse((rad(1), rad(60)), (0.1, 0.0)), Interval(-1, 1)),
        "clavicle": JointLimit(Ellipse((0.5, 0.4), (0.1, 0.3)), Interval(-0.5, 0.5), **CLAVICLE),
        "right_clavicle": JointLimit(
            Ellipse((0.5, 0.4), (0.1, 0.3)), Interval(-0.5, 0.4), is_mirrored=True, **CLAVICLE
        ),
        "elbow": JointLimit(Hinge(0.0, rad(160), rad(10)), Interval(rad(-90), rad(85)), axis=(-1.0, 0.0, 0.0)),
        "wheel": JointLimit(Hinge(-math.pi, math.pi, 0.3), None),
        "backward": JointLimit(Hinge(rad(100), rad(250), 0.2), Interval(-3, 3)),
    }
)
NAMES = LIMITS.names
unit_parts = st.floats(-1, 1, allow_nan=False)
quaternions = st.tuples(unit_parts, unit_parts, unit_parts, unit_parts).filter(lambda q: np.linalg.norm(q) > 1e-3)


@pytest.mark.parametrize("name", NAMES)
def test_what_is_inside_agrees_with_the_plain_version(name):
    q = oracle.random_rotations(20_000, seed=1)
    bone, twist = oracle.bone_and_twist(LIMITS[name], q)
    shape = LIMITS[name].swing
    expected = oracle.twist_excess(LIMITS[name], twist) == 0.0
    if shape is not None:
        expected &= oracle.swing_inside(shape, bone)
    assert (LIMITS.contains(name, q, tolerance=0.0) == expected).all()


@pytest.mark.parametrize("name", NAMES)
def test_the_excess_is_the_distance_to_a_boundary_scanned_point_by_point(name):
    q = oracle.random_rotations(150, seed=2)
    bone, twist = oracle.bone_and_twist(LIMITS[name], q)
    swing = oracle.swing_excess(LIMITS[name].swing, bone, 20_001)
    expected = np.maximum(swing, oracle.twist_excess(LIMITS[name], twist))
    found = LIMITS.excess(name, q)
    assert (found <= expected + 1e-12).all()  # never farther than the best of the scan
    assert (found >= expected - 1e-3).all()  # and the scan, 20 001 points a curve, is that near


@pytest.mark.parametrize("name", NAMES)
def test_a_clamped_bone_lies_on_the_boundary_and_no_other_boundary_point_is_nearer(name):
    shape = LIMITS[name].swing
    if shape is None:
        pytest.skip("nothing to clamp")
    q = oracle.random_rotations(120, seed=3)
    before, _ = oracle.bone_and_twist(LIMITS[name], q)
    after, _ = oracle.bone_and_twist(LIMITS[name], LIMITS.clamp(name, q))
    outside = ~oracle.swing_inside(shape, before)
    assert np.allclose(after[~outside], before[~outside], atol=1e-12)
    edge = oracle.boundary(shape, 20_001)
    for a, b in zip(before[outside], after[outside], strict=True):
        assert oracle.angle(a, b) <= oracle.angle(edge, a).min() + 1e-12
        assert oracle.angle(edge, b).min() < 4e-4


@pytest.mark.parametrize("name", [n for n in NAMES if isinstance(LIMITS[n].swing, Ellipse)])
@pytest.mark.parametrize("approximate", [False, True])
def test_clamping_to_an_ellipse_ends_on_the_curve_to_the_last_digits(name, approximate):
    ellipse = LIMITS[name].swing
    q = oracle.random_rotations(2_000, seed=4)
    q = q[LIMITS.excess(name, q) > 1e-6]
    bone, _ = oracle.bone_and_twist(LIMITS[name], LIMITS.clamp(name, q, approximate=approximate))
    s = np.cross([0.0, 0.0, 1.0], bone)[:, :2]
    s *= (np.arctan2(np.linalg.norm(s, axis=1), bone[:, 2]) / np.linalg.norm(s, axis=1))[:, None]
    before, _ = oracle.bone_and_twist(LIMITS[name], q)
    moved = ~oracle.swing_inside(ellipse, before)
    value = (((s - ellipse.centre) / ellipse.radii) ** 2).sum(axis=1)
    assert np.allclose(value[moved], 1.0, atol=1e-12 / min(ellipse.radii))


def test_the_approximate_rule_for_ellipses_is_the_nearest_point_of_the_plane():
    ellipse = LIMITS["wide"].swing
    s = np.random.default_rng(5).uniform(-1, 1, size=(300, 2)) * 2.2
    s = s[((s / ellipse.radii) ** 2).sum(axis=1) > 1]
    q = swing_rotations(LIMITS["wide"], s)
    bone, _ = oracle.bone_and_twist(LIMITS["wide"], LIMITS.clamp("wide", q, approximate=True))
    psi = np.arctan2(np.hypot(bone[:, 0], bone[:, 1]), bone[:, 2])
    found = np.stack([-bone[:, 1], bone[:, 0]], -1) * (psi / np.hypot(bone[:, 0], bone[:, 1]))[:, None]
    edge = ellipse.boundary(np.linspace(0, 2 * np.pi, 20_001))
    for a, b in zip(s, found, strict=True):
        assert np.linalg.norm(a - b) <= np.linalg.norm(edge - a, axis=1).min() + 1e-12


def test_the_approximate_rule_for_cones_keeps_the_direction():
    q = oracle.random_rotations(5_000, seed=6)
    before, _ = oracle.bone_and_twist(LIMITS["hip"], q)
    after, _ = oracle.bone_and_twist(LIMITS["hip"], LIMITS.clamp("hip", q, approximate=True))
    theta = np.arctan2(before[:, 0], before[:, 1])
    turned = np.arctan2(after[:, 0], after[:, 1]) - theta
    assert np.abs(np.angle(np.exp(1j * turned))).max() < 1e-12
    psi = np.arctan2(np.hypot(after[:, 0], after[:, 1]), after[:, 2])
    assert (psi <= oracle.cone_limit(HIP, theta) + 1e-12).all()


@pytest.mark.parametrize("approximate", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_clamping_ends_inside_leaves_the_inside_alone_and_twice_changes_no_bit(name, approximate):
    q = oracle.random_rotations(50_000, seed=7)
    once = LIMITS.clamp(name, q, approximate=approximate)
    inside = LIMITS.contains(name, q, tolerance=0.0)
    assert (once[inside] == q[inside]).all()
    assert LIMITS.contains(name, once).all()
    assert LIMITS.excess(name, once).max() < 1e-12
    assert (LIMITS.clamp(name, once, approximate=approximate) == once).all()
    assert np.allclose(np.linalg.norm(once, axis=1), 1.0, atol=1e-12)


@settings(max_examples=1500)
@given(st.sampled_from(NAMES), quaternions)
def test_q_and_minus_q_are_one_rotation(name, q):
    a, b = LIMITS.clamp(name, q), LIMITS.clamp(name, -np.array(q))
    assert min(np.abs(a - b).max(), np.abs(a + b).max()) < 1e-12
    assert LIMITS.excess(name, q) == LIMITS.excess(name, -np.array(q))


@settings(max_examples=1500)
@given(st.sampled_from(NAMES), st.tuples(*[st.floats(width=64)] * 4))
def test_nothing_is_ever_nan_whatever_comes_in(name, q):
    once = LIMITS.clamp(name, q)
    assert np.isfinite(once).all()
    assert np.isfinite(LIMITS.clamp(name, q, approximate=True)).all()
    assert np.isfinite(LIMITS.clamp_from(name, q, q)).all()
    excess = LIMITS.excess(name, q)
    rotation = np.isfinite(q).all() and np.any(q)
    assert (0.0 <= excess < math.inf) if rotation else excess == math.inf


@pytest.mark.parametrize("bad", [(0, 0, 0, 0), (np.nan, 0, 0, 0), (np.inf, 0, 0, 1), (1, np.nan, np.inf, 0)])
def test_what_is_no_rotation_is_not_allowed_and_clamps_as_the_identity(bad):
    for name in NAMES:
        assert not LIMITS.contains(name, bad)
        assert (LIMITS.clamp(name, bad) == LIMITS.clamp(name, (1, 0, 0, 0))).all()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("off", [0.0, 1e-300, 1e-17, 1e-12, 1e-9, 1e-5])
def test_a_bone_turned_straight_back_is_clamped_and_finite(name, off):
    limit = LIMITS[name]
    a1, a2, d = oracle.axes(limit)
    around = np.linspace(0, 2 * np.pi, 24, endpoint=False)
    axis = np.cos(around)[:, None] * a1 + np.sin(around)[:, None] * a2
    q = np.concatenate([np.full((24, 1), 0.5 * off), axis + 0.3 * off * d], axis=1)
    q = q * oracle.MIRROR if limit.is_mirrored else q
    once = LIMITS.clamp(name, q)
    assert np.isfinite(once).all()
    assert LIMITS.contains(name, once).all()
    assert (LIMITS.clamp(name, once) == once).all()


@pytest.mark.parametrize("name", NAMES)
def test_starting_outside_one_may_stay_or_come_back_but_never_go_further_out(name):
    start, q = oracle.random_rotations(30_000, seed=8), oracle.random_rotations(30_000, seed=9)
    held = LIMITS.clamp_from(name, start, q)
    assert (LIMITS.excess(name, held) <= LIMITS.excess(name, start) + 1e-12).all()
    assert (LIMITS.clamp_from(name, start, start) == start).all()  # it may stay
    inside = LIMITS.clamp(name, q)
    assert (LIMITS.clamp_from(name, start, inside) == inside).all()  # it may come back
    within = LIMITS.contains(name, start, tolerance=0.0)
    assert np.allclose(held[within], inside[within], atol=1e-12)  # who starts inside stays inside
    assert (LIMITS.clamp_from(name, start, held) == held).all()


@pytest.mark.parametrize("name", NAMES)
def test_a_start_that_is_no_rotation_widens_nothing(name):
    q = oracle.random_rotations(100, seed=10)
    assert (LIMITS.clamp_from(name, np.zeros(4), q) == LIMITS.clamp(name, q)).all()


def test_a_twist_beyond_one_end_may_not_jump_beyond_the_other():
    start, q = twist_rotation("shoulder", rad(110)), twist_rotation("shoulder", rad(-110))
    held = LIMITS.clamp_from("shoulder", start, q)
    assert np.allclose(held, twist_rotation("shoulder", rad(-100)), atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_clamping_the_swing_leaves_the_twist_alone_and_the_other_way_round(name):
    q = oracle.random_rotations(2_000, seed=11)
    limit = LIMITS[name]
    before, twist = oracle.bone_and_twist(limit, q)
    after, turned = oracle.bone_and_twist(limit, LIMITS.clamp(name, q))
    calm = (oracle.twist_excess(limit, twist) == 0.0) & (before[:, 2] > -0.99) & (after[:, 2] > -0.99)
    assert (np.abs(np.angle(np.exp(1j * (turned - twist)))[calm]) < 1e-9).all()
    inside = np.ones(len(q), bool) if limit.swing is None else oracle.swing_inside(limit.swing, before)
    assert (np.abs((after - before)[inside]) < 1e-12).all()


@pytest.mark.parametrize("name", ["shoulder", "hip", "wide", "off_centre", "clavicle", "elbow"])
def test_clamping_is_continuous_near_the_limits(name):
    """Within a tenth of a radian outside, a step of 1e-7 rad moves the answer by no more than a few times that."""
    q = LIMITS.clamp(name, oracle.random_rotations(40_000, seed=12))
    rng = np.random.default_rng(13)
    q = oracle_normalized(q + rng.normal(size=q.shape) * 0.03)
    bone, twist = oracle.bone_and_twist(LIMITS[name], q)
    near = (LIMITS.excess(name, q) < 0.1) & (bone[:, 2] > -0.9) & (oracle.twist_excess(LIMITS[name], twist) < 0.1)
    q = q[near]
    step = oracle_normalized(q + rng.normal(size=q.shape) * 1e-7)
    moved = oracle.rotation_distance(LIMITS.clamp(name, q), LIMITS.clamp(name, step))
    assert (moved <= 20 * oracle.rotation_distance(q, step) + 1e-12).all()


@pytest.mark.parametrize("name", ["shoulder", "hip", "off_centre", "clavicle", "elbow"])
def test_mirroring_the_joint_mirrors_everything_to_the_last_bit(name):
    limits = Limits({"left_joint": LIMITS[name], "right_joint": LIMITS[name].mirrored()})
    q = oracle.random_rotations(20_000, seed=14)
    for approximate in (False, True):
        left = limits.clamp("left_joint", q, approximate=approximate)
        assert (limits.clamp("right_joint", q * oracle.MIRROR, approximate=approximate) == left * oracle.MIRROR).all()
    assert (limits.excess("left_joint", q) == limits.excess("right_joint", q * oracle.MIRROR)).all()
    assert limits.mirrored() == limits


def test_one_rotation_a_batch_and_all_the_joints_at_once_give_the_same():
    q = oracle.random_rotations(6 * len(NAMES), seed=15).reshape(2, 3, len(NAMES), 4)
    together = LIMITS.clamp(NAMES, q)
    assert LIMITS.contains(NAMES, q).shape == (2, 3, len(NAMES))
    assert (LIMITS.clamp_from(NAMES, q, q) == q).all()
    for k, name in enumerate(NAMES):
        batch = LIMITS.clamp(name, q[:, :, k])
        assert (batch == together[:, :, k]).all()
        assert (LIMITS.clamp(name, q[1, 2, k]) == batch[1, 2]).all()
        assert LIMITS.excess(name, q[1, 2, k]).shape == ()
    assert LIMITS.clamp("hip", np.empty((0, 4))).shape == (0, 4)


def test_many_rows_on_all_cores_give_what_one_core_gives():
    q = oracle.random_rotations(5_000, seed=16)
    parts = np.concatenate([LIMITS.clamp("shoulder", part) for part in np.array_split(q, 10)])
    assert (LIMITS.clamp("shoulder", q) == parts).all()


def test_the_start_broadcasts_against_the_goals():
    q = oracle.random_rotations(7, seed=17)
    assert LIMITS.clamp_from("hip", (1, 0, 0, 0), q).shape == (7, 4)
    assert LIMITS.clamp_from("hip", q, (1, 0, 0, 0)).shape == (7, 4)


def test_wrong_shapes_and_names_say_what_would_have_been_accepted():
    with pytest.raises(PosableError, match=r"\(\.\.\., 4\)"):
        LIMITS.clamp("hip", np.zeros(3))
    with pytest.raises(PosableError, match=r"\(\.\.\., 2, 4\)"):
        LIMITS.clamp(["hip", "elbow"], np.zeros((3, 4)))
    with pytest.raises(PosableError, match="'hip'"):
        LIMITS.clamp("hipp", np.zeros(4))
    with pytest.raises(PosableError, match="broadcast"):
        LIMITS.clamp_from("hip", np.zeros((2, 4)), np.zeros((3, 4)))
    with pytest.raises(PosableError, match="JointLimit"):
        LIMITS.replace(hip=3)


def test_replacing_a_joint_keeps_the_others():
    tighter = LIMITS.replace(hip=JointLimit(Ellipse((0.1, 0.1)), None))
    assert tighter["elbow"] == LIMITS["elbow"] and tighter["hip"] != LIMITS["hip"]
    assert tighter.names == LIMITS.names and len(tighter.packed) == len(NAMES)
    assert "neck" not in LIMITS and "neck" in LIMITS.replace(neck=JointLimit())


def swing_rotations(limit: JointLimit, s: np.ndarray) -> np.ndarray:
    """Rotations (n, 4) with the swing vectors s (n, 2) and no twist."""
    size = np.linalg.norm(s, axis=1, keepdims=True)
    return np.concatenate([np.cos(size / 2), (s @ oracle.axes(limit)[:2]) * np.sin(size / 2) / size], axis=1)


def twist_rotation(name: str, twist: float) -> np.ndarray:
    return np.array([math.cos(twist / 2), *(math.sin(twist / 2) * np.array(LIMITS[name].direction))])


def oracle_normalized(q: np.ndarray) -> np.ndarray:
    return q / np.linalg.norm(q, axis=-1, keepdims=True)
