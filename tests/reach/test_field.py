"""How keys are weighed, by all three blends: exact at keys, smooth where it says so, and quiet beyond its keys."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import Delaunay

from posable.limb.model import SEARCHES
from posable.math import exp, log
from posable.reach import Behaviour, Posture, Weight
from posable.reach.behaviour import ELLIPSE
from posable.reach.field import furthest_key, outer_keys, spline_of

PARTS = ("hips", "spine", "head")
INTERPOLATIONS = ("linear", "smooth", "around")


def posture(rng: np.random.Generator, size: float = 0.4) -> Posture:
    return Posture(PARTS, exp(rng.normal(0.0, size, (len(PARTS), 3))), rng.normal(0.0, 0.1, 3))


def places(rng: np.random.Generator, interpolation: str, count: int, inside: float = 0.97) -> np.ndarray:
    """Random swings inside the ellipse, or places around the shoulder."""
    if interpolation == "around":
        way = rng.normal(size=(count, 3))
        return 1.6 * way / np.linalg.norm(way, axis=-1, keepdims=True) * rng.uniform(0, 1, (count, 1)) ** (1 / 3)
    angle, size = rng.uniform(0, math.tau, count), inside * np.sqrt(rng.uniform(0, 1, count))
    unit = np.stack([size * np.cos(angle), size * np.sin(angle)], axis=-1)
    return np.array(ELLIPSE.centre) + unit * np.array(ELLIPSE.radii)


def behaviour(seed: int, interpolation: str, count: int, apart: float = 0.05) -> Behaviour:
    """Random keys, none nearer to another than `apart`."""
    rng = np.random.default_rng(seed)
    made = Behaviour("right_arm", PARTS, interpolation=interpolation, weight=Weight("constant", 1.0))
    for key in made.keys:
        made.set(key.id, posture(rng))
    for place in places(rng, interpolation, count):
        if all(math.dist(place, key.at) > apart for key in made.keys):
            made.add(place, posture(rng))
    return made


def apart(a: Posture, b: Posture) -> float:
    """The largest difference of any number of two postures."""
    return max(float(np.abs(a.rotations - b.rotations).max(initial=0.0)), float(np.abs(a.hips - b.hips).max()))


@pytest.mark.parametrize("interpolation", INTERPOLATIONS)
@pytest.mark.parametrize("count", [1, 2, 5, 12, 40])
def test_a_behaviour_is_exact_at_its_keys(interpolation, count):
    for seed in range(5):
        made = behaviour(seed, interpolation, count)
        for row, key in enumerate(made.keys):
            if key.outer:
                continue
            counts = made.key_weights(key.at)
            counts[row] -= 1.0
            assert np.abs(counts).max() < 1e-9
            said = made.posture_at(key.at)
            assert apart(said, key.posture) < 1e-9


@pytest.mark.parametrize("interpolation", INTERPOLATIONS)
@settings(max_examples=60)
@given(seed=st.integers(0, 10**6), count=st.integers(1, 60))
def test_the_keys_shares_sum_to_one_everywhere(interpolation, seed, count):
    made = behaviour(seed, interpolation, count)
    rng = np.random.default_rng(seed)
    asked = np.concatenate(
        [places(rng, interpolation, 40), 20.0 * rng.normal(size=(10, 3 if interpolation == "around" else 2))]
    )
    counts = made.key_weights(asked)
    assert np.abs(counts.sum(axis=-1) - 1.0).max() < 1e-9
    if interpolation == "linear":
        assert counts.min() >= 0.0 and (counts > 0.0).sum(axis=-1).max() <= 3


@pytest.mark.parametrize("interpolation", INTERPOLATIONS)
def test_shares_say_what_blending_does(interpolation):
    made = behaviour(3, interpolation, 9)
    made.add(places(np.random.default_rng(77), interpolation, 1)[0])  # one that follows the field counts nothing
    asked = places(np.random.default_rng(5), interpolation, 200)
    counts = made.key_weights(asked)
    assert (counts[:, -1] == 0.0).all()
    hips = np.array([key.posture.hips if key.posture else np.zeros(3) for key in made.keys])
    assert np.abs(counts @ hips - made.posture_at(asked).hips).max() < 1e-12


@pytest.mark.parametrize("interpolation", ["smooth", "around"])
def test_a_smooth_blend_has_no_corner_by_finite_differences(interpolation):
    """The slope just before and just behind any point is the same, keys and edges of triangles included."""
    made, rng = behaviour(11, interpolation, 12), np.random.default_rng(2)
    asked = np.concatenate([places(rng, interpolation, 300, 0.9), [key.at for key in made.keys if not key.outer]])
    asked = asked[np.linalg.norm(asked, axis=-1) < 1.5] if interpolation == "around" else asked
    way = rng.normal(size=asked.shape)
    way /= np.linalg.norm(way, axis=-1, keepdims=True)

    def corner(h: float) -> float:
        a, b, c = (made.key_weights(asked + k * h * way) for k in (-1, 0, 1))
        return float(np.abs((c - b) - (b - a)).max() / h)

    assert corner(1e-4) < 0.15 * corner(1e-3) < 0.05  # differences of slopes go to 0 with the step: no corner


def test_a_linear_blend_is_continuous_and_has_the_corners_it_admits():
    made, rng = behaviour(11, "linear", 12), np.random.default_rng(2)
    asked = places(rng, "linear", 4000)
    near = asked + 1e-7 * rng.normal(size=asked.shape)
    assert np.abs(made.key_weights(near) - made.key_weights(asked)).max() < 1e-5


@pytest.mark.parametrize("interpolation", INTERPOLATIONS)
def test_what_a_behaviour_says_never_leaps_from_one_target_to_the_next(interpolation):
    made, rng = behaviour(4, interpolation, 15), np.random.default_rng(8)
    for _ in range(20):
        ends = rng.normal(size=(2, 3))
        line = ends[0] + np.linspace(0, 1, 2001)[:, None] * (ends[1] - ends[0])
        if np.linalg.norm(line, axis=-1).min() < 0.2:
            continue
        at, u = made.locate(line, 0.6)
        said = made.posture_at(at)
        turns = u[:, None, None] * log(said.rotations)
        assert np.abs(np.diff(turns, axis=0)).max() < 0.05
        assert np.abs(np.diff(u[:, None] * said.hips, axis=0)).max() < 0.02


FEW = {
    "one": [[0.4, -0.2, 0.5]],
    "one at the shoulder": [[0.0, 0.0, 0.0]],
    "two": [[0.4, -0.2, 0.5], [0.9, 0.1, 0.2]],
    "three on a line": [[0.2, 0.0, 0.1], [0.4, 0.0, 0.2], [0.8, 0.0, 0.4]],
    "three": [[0.4, -0.2, 0.5], [0.9, 0.1, 0.2], [0.1, -0.8, 0.1]],
    "a plane": [[x, y, 0.5] for x in (-0.5, 0.0, 0.6) for y in (-0.7, 0.1, 0.8)],
    "nearly a plane": [[x, y, 0.5 + 0.001 * ((3 * x + 5 * y) % 1)] for x in (-0.5, 0.0, 0.6) for y in (-0.7, 0.1, 0.8)],
    "two close ones": [[0.4, -0.2, 0.5], [0.4, -0.2, 0.51], [-0.4, 0.3, 0.5]],
}


@pytest.mark.parametrize("which", FEW)
def test_few_keys_around_the_shoulder_do_not_explode_anywhere(which):
    made, rng = (
        Behaviour("right_arm", PARTS, interpolation="around", weight=Weight("constant", 1.0)),
        np.random.default_rng(1),
    )
    for place in FEW[which]:
        made.add(place, posture(rng))
    asked = rng.normal(size=(3000, 3)) * rng.choice([0.3, 1.0, 30.0], (3000, 1))
    counts = made.key_weights(asked)
    assert np.abs(counts.sum(axis=-1) - 1.0).max() < 1e-9
    most = 80.0 if which == "two close ones" else 5.0  # a difference over a centimetre is a slope, and goes on a while
    assert np.abs(counts).sum(axis=-1).max() < most
    for row, key in enumerate(made.keys):
        assert abs(made.key_weights(key.at)[row] - 1.0) < 1e-9


def test_a_single_key_around_the_shoulder_holds_everywhere():
    made = Behaviour("right_arm", PARTS, interpolation="around")
    only = posture(np.random.default_rng(0))
    made.add([0.3, -0.4, 0.6], only)
    for place in np.random.default_rng(1).normal(size=(50, 3)) * 3.0:
        assert apart(made.posture_at(place), only) < 1e-9


def test_beyond_the_furthest_key_the_sphere_through_it_holds():
    made = behaviour(6, "around", 8)
    reach = furthest_key(np.array([key.at for key in made.keys]))
    way = np.array([0.6, 0.0, 0.8])
    for far in (reach, 2.0 * reach, 50.0 * reach):
        assert apart(made.posture_at(far * way), made.posture_at(reach * way)) < 1e-12
        at, _ = made.locate(far * way * 0.6, 0.6)
        assert np.abs(at - reach * way).max() < 1e-12


def test_outer_keys_enclose_every_place_that_is_asked_for():
    keys = places(np.random.default_rng(3), "around", 20)
    corners, shares = outer_keys(keys)
    assert np.abs(shares.sum(axis=-1) - 1.0).max() < 1e-12 and shares.min() > 0.0
    way = np.random.default_rng(4).normal(size=(500, 3))
    ball = furthest_key(keys) * way / np.linalg.norm(way, axis=-1, keepdims=True)
    assert (Delaunay(1.0000001 * corners).find_simplex(ball) >= 0).all()


def test_an_outer_key_has_most_of_the_key_nearest_to_it():
    """By the inverse fourth power of the distance, so that far out a behaviour does what its nearest keys do."""
    keys = places(np.random.default_rng(12), "around", 9)
    positions, weights = outer_keys(keys)
    for position, shares in zip(positions, weights):
        apart = [math.dist(position, key) for key in keys]
        expected = [sum((one / other) ** 4 for other in apart) ** -1 for one in apart]
        np.testing.assert_allclose(shares, expected, rtol=1e-12)
        assert np.argmax(shares) == np.argmin(apart)


@pytest.mark.parametrize("flat", [True, False])
def test_the_spline_is_the_smoothest_one_by_an_independent_solver(flat):
    from scipy.interpolate import RBFInterpolator

    rng = np.random.default_rng(7)
    keys, asked = rng.normal(size=(14, 3)), rng.normal(size=(50, 3))
    if flat:
        keys[:, 2] = asked[:, 2] = 0.0
    values = rng.normal(size=(14, 2))
    used = slice(0, 2) if flat else slice(0, 3)
    told = RBFInterpolator(keys[:, used], values, kernel="cubic", degree=1)(asked[:, used])
    r = np.linalg.norm(asked[:, None] - keys[None], axis=-1)
    basis = np.concatenate([r**3, np.ones((50, 1)), asked], axis=1)
    assert np.abs(basis @ spline_of(keys).T @ values - told).max() < 1e-8


@pytest.mark.parametrize("interpolation", INTERPOLATIONS)
def test_a_mirrored_behaviour_says_the_mirrored_thing(interpolation):
    made = behaviour(9, interpolation, 10)
    other = made.mirrored()
    asked = np.random.default_rng(1).normal(size=(300, 3)) * 0.6
    there = asked * [-1.0, 1.0, 1.0] if other.limb == "left_arm" else asked
    (a, u), (b, v) = made.locate(asked, 0.6), other.locate(there, 0.6)
    assert np.abs(u - v).max() < 1e-12
    said, theirs = made.posture_at(a).mirrored(), other.posture_at(b)
    assert apart(said, theirs) < 1e-9


@pytest.mark.parametrize("interpolation", INTERPOLATIONS)
def test_searches_blend_like_postures(interpolation):
    made = behaviour(2, interpolation, 6)
    wide = replace(SEARCHES["arm"], step=0.3, growth=0.0, low=-1.0, high=2.0)
    for key in made.keys[::2]:
        made.set_search(key.id, wide)
    inner = next(key for key in made.keys if key.search is not None and not key.outer)
    there = made.search(inner.at)
    assert (there.step, there.growth, there.low, there.high) == pytest.approx((0.3, 0.0, -1.0, 2.0), abs=1e-9)
    usual = next(key for key in made.keys if key.search is None and not key.outer)
    assert made.search(usual.at).step == pytest.approx(SEARCHES["arm"].step, abs=1e-9)


def test_an_empty_behaviour_around_says_what_it_lacks():
    from posable import PosableError

    made = Behaviour("right_arm", PARTS, interpolation="around")
    with pytest.raises(PosableError, match="at least one key"):
        made.posture_at([0.1, 0.2, 0.3])
    made.add([0.1, 0.2, 0.3], Posture.neutral(PARTS))
    for wrong in ([0.1, 0.2], [[0.1]], [math.nan, 0.0, 0.0], 3.0):
        with pytest.raises(PosableError, match="at has shape"):
            made.posture_at(wrong)
