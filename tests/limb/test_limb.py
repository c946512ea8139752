"""The limb solver as its users meet it: specification limb-and-reach, section 9, checks A1 to A8."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

import posable.math as pm
from posable.compute import PosableError, ShapeError, Status, UnknownNameError
from posable.limb import LIMBS, Limb, Search
from posable.limits import Hinge, JointLimit, Limits
from tests.counts import rows

UPPER, LOWER = 0.31, 0.26


def limb(name: str = "right_arm", **options: object) -> Limb:
    return Limb(name, UPPER, LOWER, **options)


def goals(n: int, seed: int = 0, least: float = 0.0501, most: float = UPPER + LOWER):
    """Random reachable places, orientations and swivels."""
    rng = np.random.default_rng(seed)
    directions = rng.normal(size=(n, 3))
    directions /= np.linalg.norm(directions, axis=-1, keepdims=True)
    return directions * rng.uniform(least, most, (n, 1)), pm.normalize(rng.normal(size=(n, 4))), rng.uniform(-3, 3, n)


def slow_forward(values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Forward kinematics by scipy's rotations, straight from the specification's section 1."""
    zero = np.zeros(len(values))
    swing = Rotation.from_rotvec(np.stack([values[:, 0], values[:, 1], zero], -1))
    base = swing * Rotation.from_rotvec(np.stack([zero, zero, values[:, 2]], -1))
    middle = base * Rotation.from_rotvec(np.stack([zero, values[:, 3], zero], -1))
    mid = base.apply([0, 0, UPPER])
    end = mid + middle.apply([0, 0, LOWER])
    twist = Rotation.from_rotvec(np.stack([zero, zero, values[:, 4]], -1))
    turned = middle * twist * Rotation.from_rotvec(np.stack([values[:, 5], values[:, 6], zero], -1))
    return mid, end, turned.as_quat(scalar_first=True)


@pytest.mark.parametrize("name", LIMBS)
def test_a_reached_target_is_reached_exactly(name: str):
    place, turn, swivel = goals(100_000)
    answer = limb(name).solve(place, turn, swivel=swivel)
    mid, end, turned = slow_forward(answer.values)
    done = answer.ok
    assert done.mean() > 0.9999  # the rest stands where a swing or a reference is undefined
    assert np.abs(end - place).max() < 1e-9
    assert pm.angle(turned, turn).max() < 1e-9
    assert np.isfinite(answer.values).all()
    assert np.abs(answer.values[:, [2, 4]]).max() <= math.pi
    sign = -1 if name == "left_arm" else 1
    assert (answer.values[:, 3] * sign >= 0).all()
    np.testing.assert_allclose(answer.position_error, 0, atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(mid, axis=-1), UPPER, atol=1e-12)


def test_the_compiled_forward_kinematics_is_the_specification_s():
    values = np.random.default_rng(1).uniform(-3, 3, size=(1000, 7))
    frames = limb().forward(values)
    mid, end, turned = slow_forward(values)
    np.testing.assert_allclose(frames.mid, mid, atol=1e-13)
    np.testing.assert_allclose(frames.end, end, atol=1e-13)
    assert pm.angle(frames.orientation, turned).max() < 1e-13


@pytest.mark.parametrize(("right", "left"), [("right_arm", "left_arm"), ("right_leg", "left_leg")])
def test_a_left_limb_is_the_mirror_image_of_the_right(right: str, left: str):
    place, turn, swivel = goals(rows(10_000), 2)
    one = limb(right).solve(place, turn, swivel=swivel)
    flip = np.array([-1, 1, 1]) if right == "right_arm" else np.array([1, -1, 1])
    turns = np.array([1, 1, -1, -1]) if right == "right_arm" else np.array([1, -1, 1, -1])
    other = limb(left).solve(place * flip, turn * turns, swivel=swivel)
    signs = np.array([1, -1, -1, -1, -1, 1, -1]) if right == "right_arm" else np.array([-1, 1, -1, 1, -1, -1, 1])
    both = one.ok & other.ok
    np.testing.assert_allclose(other.values[both], (one.values * signs)[both], atol=1e-9)


def test_the_swivel_says_where_the_elbow_is():
    arm, leg = limb("right_arm"), limb("right_leg")
    knee = leg.forward(leg.solve([0, 0, 0.5], swivel=0.0).values).mid
    np.testing.assert_allclose(knee, [-0.1362, 0, 0.2785], atol=1e-4)  # forward: -x is +Z of the body
    answer = leg.solve([0, 0, 0.5], swivel=0.0)
    np.testing.assert_allclose(answer.values[:4], [0, -0.455, 0, 1.006], atol=1e-3)
    out = leg.forward(leg.solve([0, 0, 0.5], swivel=0.5).values).mid
    assert out[1] < -0.01  # outwards: the right leg's outside is -y
    ahead = [0.45, 0, 0]  # a hand straight ahead
    down = arm.forward(arm.solve(ahead, swivel=0.0).values).mid
    up = arm.forward(arm.solve(ahead, swivel=math.pi / 2).values).mid
    assert down[1] < -0.1 and up[2] > 0.1  # elbow down, then out to the side


@pytest.mark.parametrize("name", LIMBS)
def test_a_stretched_limb_is_as_well_defined_as_a_bent_one(name: str):
    direction = np.array([0.3, -0.5, 0.8]) / np.linalg.norm([0.3, -0.5, 0.8])
    gaps = np.array([1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 0.0])
    place = direction * ((UPPER + LOWER) * (1 - gaps))[:, None]
    answer = limb(name).solve(place, [1, 0, 0, 0], swivel=0.4)
    assert answer.ok.all()
    _, end, turned = slow_forward(answer.values)
    assert np.abs(end - place).max() < 1e-9
    assert pm.angle(turned, [1, 0, 0, 0]).max() < 1e-9
    assert abs(answer.values[-1, 2] - answer.values[-2, 2]) < 1e-3  # the paper's Eq. 4 jumps here by up to pi


@pytest.mark.parametrize("gap", [1e-2, 1e-5, 1e-8, 0.0])
def test_a_folded_limb_is_as_well_defined_as_a_bent_one(gap: float):
    place = np.array([0.6, 0.0, -0.8]) * (UPPER - LOWER) * (1 + gap)
    answer = limb().solve(place, [1, 0, 0, 0], swivel=0.4)
    assert answer.ok
    assert np.abs(slow_forward(answer.values[None])[1] - place).max() < 1e-9


@pytest.mark.parametrize(
    ("length", "far", "near"),
    [(1.001 * (UPPER + LOWER), True, False), (0.999 * (UPPER - LOWER), False, True), (0.0, False, True)],
)
def test_what_is_out_of_reach_says_so_and_gives_the_closest(length: float, far: bool, near: bool):
    place = np.array([0.6, 0.0, 0.8]) * length
    answer = limb().solve(place, [1, 0, 0, 0])
    assert answer.status is Status.UNREACHABLE and not answer.ok
    assert bool(answer.too_far) == far and bool(answer.too_near) == near
    assert np.isfinite(answer.values).all()
    nearest = max(length - (UPPER + LOWER), (UPPER - LOWER) - length)
    assert answer.position_error == pytest.approx(nearest, abs=1e-12)
    assert answer.orientation_error == pytest.approx(0, abs=1e-9)


def test_the_hanging_arm_is_no_singularity_but_in_the_paper_s_reference():
    hanging = [0, -0.45, 0]
    assert limb().solve(hanging, [1, 0, 0, 0]).status is Status.REACHED
    told = limb(reference="paper").solve(hanging, [1, 0, 0, 0])
    assert told.status is Status.SINGULAR
    assert told.position_error < 1e-9  # the posture is right all the same; only its swivel has no meaning
    path = np.stack([np.linspace(-0.1, 0.1, 201), np.full(201, -0.45), np.full(201, 0.001)], -1)
    elbows = {
        name: limb(reference=name).forward(limb(reference=name).solve(path, swivel=math.radians(30)).values).mid
        for name in ("transport", "paper")
    }
    steps = {name: np.linalg.norm(np.diff(mid, axis=0), axis=-1).max() for name, mid in elbows.items()}
    assert steps["transport"] <= 1.0e-3
    assert steps["paper"] > 0.1  # what the transported reference is for


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_bad_row_is_invalid_and_leaves_its_neighbours_alone(bad: float):
    place, turn, _ = goals(5)
    alone = limb().solve(place, turn)
    place[1, 2], turn[3] = bad, 0.0
    told = limb().solve(place, turn)
    assert told.status.tolist() == [0, 5, 0, 5, 0]
    np.testing.assert_array_equal(told.values[[0, 2, 4]], alone.values[[0, 2, 4]])
    np.testing.assert_array_equal(told.values[[1, 3]], 0)
    assert np.isinf(told.position_error[[1, 3]]).all()


@pytest.mark.parametrize("size", [1e3, 1e5, 9.9e5, 1e6])
def test_a_target_at_the_end_of_the_world_is_out_of_reach_and_not_invalid(size: float):
    answer = limb().solve([size, -size, size], [1, 0, 0, 0])
    assert answer.status is Status.UNREACHABLE and bool(answer.too_far)
    end = slow_forward(answer.values[None])[1][0]
    np.testing.assert_allclose(end, np.array([1, -1, 1]) * (UPPER + LOWER) / math.sqrt(3), atol=1e-9)


@given(st.lists(st.floats(allow_nan=True, allow_infinity=True), min_size=8, max_size=8))
def test_any_numbers_give_a_finite_posture_and_a_status(numbers: list[float]):
    for options in ({}, {"limits": HUMAN}):
        answer = limb(**options).solve(numbers[:3], numbers[3:7], preferred=numbers[7])
        assert np.isfinite(answer.values).all()
        assert answer.status in list(Status)


HUMAN = Limits.human()


def inside(name: str, values: np.ndarray) -> np.ndarray:
    """Whether postures are inside the human limits, by the body's own canonical rotations and not by the kernels."""
    from posable.limb.model import ROLES, SIDES

    side = SIDES[name]
    frame = Rotation.from_matrix(np.array(side.axes, dtype=float).T)
    zero = Rotation.from_quat(side.zero, scalar_first=True)
    nought = np.zeros(len(values))
    base = Rotation.from_rotvec(np.stack([values[:, 0], values[:, 1], nought], -1))
    base = base * Rotation.from_rotvec(np.stack([nought, nought, values[:, 2]], -1))
    middle = Rotation.from_rotvec(np.stack([nought, values[:, 3], nought], -1))
    middle = middle * Rotation.from_rotvec(np.stack([nought, nought, values[:, 4]], -1))
    end = Rotation.from_rotvec(np.stack([values[:, 5], values[:, 6], nought], -1))
    canonical = [frame * base * frame.inv() * zero]
    canonical += [zero.inv() * frame * q * frame.inv() * zero for q in (middle, end)]
    return np.all(
        [
            HUMAN.contains(role, q.as_quat(scalar_first=True), 1e-7)
            for role, q in zip(ROLES[name], canonical, strict=True)
        ],
        axis=0,
    )


@pytest.mark.parametrize("name", LIMBS)
def test_every_posture_is_inside_the_limits_whatever_the_target(name: str):
    one = limb(name, limits=HUMAN)
    place, turn, _ = goals(rows(6_000), 3, 0.0, 0.8)  # the soak draws a million
    free, whole = one.solve(place), one.solve(place, turn)
    for answer in (whole, free, one.solve(place, turn, swivel=1.0)):
        assert np.isfinite(answer.values).all()
        assert inside(name, answer.values).all()
        _, end, _ = slow_forward(answer.values)
        np.testing.assert_allclose(np.linalg.norm(end - place, axis=-1), answer.position_error, atol=1e-9)
        assert answer.position_error[answer.ok].max() < 1e-9
        told = set(np.unique(answer.status))
        assert told <= {Status.REACHED, Status.UNREACHABLE, Status.LIMITS, Status.SINGULAR}
    assert free.ok.mean() > whole.ok.mean() > 0.005


@pytest.mark.parametrize("name", LIMBS)
def test_what_the_limits_allow_is_found(name: str):
    """Postures inside the limits, read as targets: the search finds one at almost all of them."""
    rng = np.random.default_rng(4)
    one = limb(name, limits=HUMAN)
    values = rng.uniform(-1.6, 1.6, size=(60_000, 7))
    values[:, 3] = rng.uniform(0.05, 2.4, len(values)) * (-1 if name == "left_arm" else 1)
    values = values[inside(name, values)]
    assert len(values) > 1000
    frames = one.forward(values)
    wide = Search(0.5, -math.pi, math.pi, math.radians(1), math.radians(0.4))
    answer = limb(name, limits=HUMAN, search=wide).solve(frames.end, frames.orientation)
    assert answer.ok.mean() > 0.97


def test_the_search_stops_at_once_where_the_preferred_swivel_is_fine():
    place = [0.4, -0.1, 0.2]
    arm = limb(limits=HUMAN)
    answer = arm.solve(place)
    assert answer.ok and answer.tests == 1 and answer.swivel == pytest.approx(math.radians(30))
    assert arm.solve(place, preferred=0.3).swivel == pytest.approx(0.3)
    assert arm.solve([place, place], preferred=lambda places: places[..., 0]).swivel.tolist() == [0.4, 0.4]


def test_the_search_tests_at_most_forty_and_finds_the_edge():
    arm = limb(limits=HUMAN)
    place, turn, _ = goals(3000, 5, 0.2)
    answer = arm.solve(place, turn)
    assert answer.tests.max() <= 40 + arm.search.refine
    failed = answer.failures
    assert (failed["limits"] + failed["singular"] <= answer.tests).all()
    searched = answer.ok & (answer.tests > 1)
    grid = np.arange(arm.search.low, arm.search.high, math.radians(0.1))
    near = 0
    first = np.flatnonzero(searched)[:60]
    scans = arm.solve(place[first, None], turn[first, None], swivel=grid).ok  # at once: on all cores
    for i, scan in zip(first, scans, strict=True):
        side = grid > arm.search.preferred if answer.swivel[i] > arm.search.preferred else grid <= arm.search.preferred
        best = grid[scan & side][np.argmin(np.abs(grid[scan & side] - arm.search.preferred))]
        near += abs(best - answer.swivel[i]) <= math.radians(0.2)
    assert near >= 55  # growing steps may leap over an interval narrower than they are


def test_the_true_reason_of_a_failure_is_told():
    stiff = HUMAN.replace(right_lower_arm=JointLimit(swing=Hinge(0.5, 1.0), axis=(-1.0, 0.0, 0.0)))
    arm = limb(limits=stiff)
    told = arm.solve([0.4, -0.38, 0.1])
    assert told.status is Status.LIMITS  # the elbow would have to be straighter than it can be
    assert told.position_error > 0.005
    assert abs(told.values[3]) == pytest.approx(0.5, abs=1e-9)
    far = arm.solve([2.0, 0, 0])
    assert far.status is Status.UNREACHABLE and bool(far.too_far)


@pytest.mark.parametrize("name", ["right_arm", "right_leg"])
def test_the_closest_posture_is_close_to_the_best_one(name: str):
    """Against brute force over the limb's four place-giving values."""
    from scipy.spatial import cKDTree

    one = limb(name, limits=HUMAN)
    rng = np.random.default_rng(6)
    values = np.zeros((400_000, 7))
    values[:, :3] = rng.uniform([-3, -3, -2.2], [3, 3, 2.2], (len(values), 3))
    values[:, 3] = rng.uniform(0, 2.79, len(values))
    values = values[inside(name, values)]
    tree = cKDTree(slow_forward(values)[1])
    place = np.concatenate([goals(2000, 7, 0.1, 0.7)[0], goals(2000, 8, 0.0, 1.5)[0]])
    answer = one.solve(place)
    failed = ~answer.ok
    assert failed.sum() > 1000
    best, _ = tree.query(place[failed])
    worse = answer.position_error[failed] - best
    assert np.median(worse) < 0.0
    assert np.quantile(worse, 0.95) < 0.006
    assert worse.max() < 0.025


def test_where_only_the_wrist_fails_the_hand_is_in_place_and_turned_as_near_as_a_swivel_allows():
    """Against a scan of every swivel in the search's bounds, each with the nearest wrist inside the limits."""
    arm = limb(limits=HUMAN)
    place, turn, _ = goals(1500, 9, 0.2, 0.55)
    answer = arm.solve(place, turn)
    reachable = arm.solve(place).ok & ~answer.ok
    assert reachable.sum() > 200
    assert answer.position_error[reachable].max() < 1e-9
    grid = np.linspace(arm.search.low, arm.search.high, 73)
    scan = arm.solve(place[reachable][:, None], turn[reachable][:, None], swivel=grid)
    least = np.where(scan.position_error < 1e-9, scan.orientation_error, np.inf).min(axis=1)
    worse = answer.orientation_error[reachable] - least
    assert np.median(worse) < math.radians(1)
    assert np.quantile(worse, 0.95) < math.radians(10)


def test_batches_broadcast_and_agree_with_single_calls():
    arm = limb(limits=HUMAN)
    place, turn, _ = goals(12, 8)
    grid = arm.solve(place.reshape(3, 4, 3), turn.reshape(3, 4, 4))
    assert grid.values.shape == (3, 4, 7) and grid.status.shape == (3, 4)
    for k in range(12):
        alone = arm.solve(place[k], turn[k])
        np.testing.assert_array_equal(alone.values, grid.values.reshape(12, 7)[k])
    spread = arm.solve(place[0], turn, swivel=np.zeros((5, 1)))
    assert spread.values.shape == (5, 12, 7)
    assert arm.solve(np.empty((0, 3))).values.shape == (0, 7)
    many, turns, _ = goals(3000, 9)
    np.testing.assert_array_equal(arm.solve(many, turns).values[:50], arm.solve(many[:50], turns[:50]).values)


def test_what_cannot_be_is_refused_with_the_reason():
    with pytest.raises(UnknownNameError, match="did you mean 'right_arm'"):
        Limb("rigth_arm", 0.3, 0.3)
    with pytest.raises(PosableError, match="upper bone is 0"):
        Limb("right_arm", 0, 0.3)
    with pytest.raises(UnknownNameError, match="swivel reference"):
        limb(reference="other")
    with pytest.raises(PosableError, match="low <= high"):
        limb(search=Search(0, 1, -1))
    with pytest.raises(ShapeError, match="position"):
        limb().solve([0, 0])
    with pytest.raises(ShapeError, match="orientation"):
        limb().solve([0, 0, 0.3], [1, 0, 0])
    with pytest.raises(ShapeError):
        limb().solve(np.zeros((3, 3)), np.zeros((4, 4)))
    with pytest.raises(PosableError, match="not both"):
        limb().solve([0, 0, 0.3], swivel=0, preferred=1)
    with pytest.raises(PosableError, match="no flexion"):
        limb(limits=HUMAN.replace(right_lower_arm=JointLimit(swing=Hinge(-1.0, -0.5), axis=(-1.0, 0.0, 0.0))))
