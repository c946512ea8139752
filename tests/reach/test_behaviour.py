"""Behaviours: keys on the swing plane, how they interpolation, and how they are edited."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import posable as ps
import posable.math as pm
from posable.limb import Search
from posable.limits import Ellipse
from posable.reach import Posture, Weight, drivable_parts
from posable.reach.field import triangulate

PARTS = ("hips", "spine", "chest", "head")
DEGREE = math.pi / 180.0


def random_posture(rng, parts=PARTS):
    return Posture(parts, pm.exp(rng.normal(size=(len(parts), 3)) * 0.4), rng.normal(size=3) * 0.1)


def swings(behaviour, rng, count, spread=0.98):
    """Inside the ellipse."""
    angle, radius = rng.uniform(0, 2 * math.pi, count), spread * np.sqrt(rng.uniform(0, 1, count))
    unit = np.stack([np.cos(angle), np.sin(angle)], axis=-1) * radius[:, None]
    return np.array(behaviour.ellipse.centre) + unit * behaviour.ellipse.radii


def designed(seed=0, count=9, interpolation="linear", limb="right_arm"):
    rng = np.random.default_rng(seed)
    behaviour = ps.Behaviour(limb, PARTS, interpolation=interpolation)
    for key in behaviour.keys:
        behaviour.set(key.id, random_posture(rng))
    for at in swings(behaviour, rng, count):
        behaviour.add(at, random_posture(rng))
    return behaviour


def differ(one, other):
    """The largest difference of two postures, in quaternion entries and leg lengths."""
    return max(np.abs(one.rotations - other.rotations).max(), np.abs(one.hips - other.hips).max())


@pytest.mark.parametrize("interpolation", ["linear", "smooth"])
@pytest.mark.parametrize("seed", range(5))
def test_a_behaviour_is_exact_at_its_keys(interpolation, seed):
    behaviour = designed(seed, 12, interpolation)
    for key in behaviour.keys:
        if not key.outer:
            assert differ(behaviour.posture_at(key.at), key.posture) < 1e-9


@pytest.mark.parametrize("interpolation", ["linear", "smooth"])
def test_a_behaviour_is_continuous_and_defined_everywhere(interpolation):
    behaviour = designed(1, 15, interpolation)
    at = np.random.default_rng(2).uniform(-math.pi, math.pi, (5000, 2))
    one, other = behaviour.posture_at(at), behaviour.posture_at(at + 1e-6)
    assert np.isfinite(one.rotations).all()
    assert differ(one, other) < 1e-3


def test_weights_of_keys_are_shares():
    behaviour = designed()
    field, turns, numbers = behaviour.packed
    ones = np.ones_like(numbers)
    from posable.reach.field import interpolate_rows

    at = np.random.default_rng(3).uniform(-3, 3, (2000, 3)) * [1, 1, 0]
    weights, told = np.empty((len(at), len(field.keys))), np.empty((len(at), ones.shape[1]))
    interpolate_rows(len(at), field, (turns, ones), at, weights, np.empty((len(at), len(PARTS), 4)), told)
    assert weights.min() >= 0.0
    np.testing.assert_allclose(weights.sum(axis=-1), 1.0, atol=1e-12)
    assert (np.count_nonzero(weights, axis=-1) <= 3).all()


def test_a_key_without_a_posture_changes_nothing_until_it_is_set():
    behaviour = designed()
    at = np.random.default_rng(4).uniform(-3, 3, (3000, 2))
    before = behaviour.posture_at(at)
    key = behaviour.add((0.3, 0.4))
    assert (behaviour.posture_at(at).rotations == before.rotations).all()
    assert differ(behaviour.posture(key), behaviour.posture_at((0.3, 0.4))) == 0.0
    behaviour.set(key, Posture.neutral(PARTS))
    assert differ(behaviour.posture_at((0.3, 0.4)), Posture.neutral(PARTS)) < 1e-12
    behaviour.remove(key)
    assert (behaviour.posture_at(at).rotations == before.rotations).all()


def test_keys_are_moved_duplicated_and_renamed():
    behaviour = designed()
    key = behaviour.add((0.2, 0.2), Posture.neutral(PARTS), name="low")
    behaviour.move(key, (0.5, 0.1))
    assert behaviour.key(key).at == (0.5, 0.1)
    other = behaviour.duplicate(key, (-0.5, 0.1))
    assert differ(behaviour.posture(other), Posture.neutral(PARTS)) == 0.0
    behaviour.rename(other, "high")
    assert [behaviour.key(k).name for k in (key, other)] == ["low", "high"]


def test_a_copy_is_independent():
    behaviour = designed()
    other = behaviour.copy()
    other.remove(other.keys[-1].id)
    assert len(behaviour.keys) == len(other.keys) + 1


@pytest.mark.parametrize("interpolation", ["linear", "smooth"])
def test_the_other_arms_behaviour_is_the_mirror_image(interpolation):
    behaviour = designed(5, interpolation=interpolation)
    at = np.random.default_rng(6).uniform(-2.5, 2.5, (2000, 2))
    mirrored = behaviour.mirrored()
    assert mirrored.limb == "left_arm"
    assert differ(behaviour.posture_at(at).mirrored(), mirrored.posture_at(at * [1, -1])) < 1e-9
    assert differ(mirrored.mirrored().posture_at(at), behaviour.posture_at(at)) < 1e-12


def test_keys_around_the_shoulder_are_exact_and_bounded_far_away():
    rng = np.random.default_rng(7)
    behaviour = ps.Behaviour("right_arm", PARTS, interpolation="around", weight=Weight("constant", 1.0))
    for at in rng.normal(size=(12, 3)):
        behaviour.add(at, random_posture(rng))
    for key in behaviour.keys:
        assert differ(behaviour.posture_at(key.at), key.posture) < 1e-9
    far = behaviour.locate(rng.normal(size=(1000, 3)) * 100.0, 0.6)[0]
    assert (
        np.linalg.norm(far, axis=-1).max() <= np.linalg.norm([key.at for key in behaviour.keys], axis=-1).max() + 1e-9
    )
    assert np.isfinite(behaviour.posture_at(far).rotations).all()


def test_searches_blend_like_postures():
    behaviour = ps.Behaviour("right_arm", PARTS)
    low, high = (behaviour.add(at, Posture.neutral(PARTS)) for at in ((0.0, 0.2), (0.0, 1.0)))
    behaviour.set_search(low, Search(0.0, -0.2, 1.0))
    behaviour.set_search(high, Search(1.0, 0.2, 2.0))
    assert behaviour.search((0.0, 0.2)).preferred == pytest.approx(0.0, abs=1e-12)
    assert behaviour.search((0.0, 0.6)).preferred == pytest.approx(0.5)
    assert behaviour.search((0.0, 0.6)).high == pytest.approx(1.5)


def test_the_weight_function_has_the_papers_values():
    weight = Weight("quadratic", 0.8)
    np.testing.assert_allclose(weight([0.0, 0.5, 1.0, 1 / math.sqrt(0.8), 5.0]), [0.0, 0.2, 0.8, 1.0, 1.0], atol=1e-12)
    smooth = Weight("smooth", 0.8)
    h = 1e-6
    ends = np.array([0.0, 1 / math.sqrt(0.8)])
    np.testing.assert_allclose((smooth(ends + h) - smooth(ends - h)) / (2 * h), 0.0, atol=1e-5)


def test_swings_are_directions_in_the_arms_frame():
    behaviour = designed()
    directions = np.array([[0, -1, 0], [1, 0, 0], [0, 1, 0.2], [0, 0, 1]], dtype=float) * 0.5
    at, weight = behaviour.locate(directions, 1.0)
    np.testing.assert_allclose(at[0], [math.pi / 2, 0], atol=1e-12)
    np.testing.assert_allclose(at[1], [0, math.pi / 2], atol=1e-12)
    np.testing.assert_allclose(at[3], [0, 0], atol=1e-12)
    np.testing.assert_allclose(weight, behaviour.weight(np.linalg.norm(directions, axis=-1)), atol=1e-12)


@given(st.floats(-4, 4), st.floats(-4, 4))
@settings(max_examples=200, deadline=None)
def test_swings_outside_the_ellipse_come_to_its_nearest_point(x, y):
    from posable.reach.field import into_ellipse

    behaviour = BEHAVIOUR
    at = np.array(into_ellipse(behaviour.packed[0].header[0], x, y))
    offset = (np.array([x, y]) - behaviour.ellipse.centre) / behaviour.ellipse.radii
    if offset @ offset <= 1.0:
        np.testing.assert_array_equal(at, [x, y])
        return
    rim = behaviour.ellipse.boundary(np.linspace(0, 2 * math.pi, 20001))
    assert np.linalg.norm(at - [x, y]) <= np.linalg.norm(rim - [x, y], axis=-1).min() + 1e-9
    inside = (at - behaviour.ellipse.centre) / behaviour.ellipse.radii
    assert inside @ inside == pytest.approx(1.0, abs=1e-9)


BEHAVIOUR = designed()


def test_towards_the_far_side_the_behaviour_fades_and_does_not_leap():
    behaviour = designed()
    turn = np.linspace(0, 2 * math.pi, 400)
    close = np.stack([1e-4 * np.cos(turn), 1e-4 * np.sin(turn), -np.ones_like(turn)], axis=-1)
    _, weight = behaviour.locate(close, 1.0)
    assert weight.max() < 1e-6


def test_symmetric_keys_are_triangulated_alike_in_any_order():
    grid = np.array([[x, y] for x in range(4) for y in range(4)], dtype=float) / 4

    def sides(points, triangles):
        return {frozenset(map(tuple, points[list(t)])) for t in triangles.tolist()}

    known = sides(grid, triangulate(grid))
    assert len(known) == 18
    for seed in range(20):
        shuffled = np.random.default_rng(seed).permutation(grid)
        assert sides(shuffled, triangulate(shuffled)) == known


def test_triangles_cover_the_ellipse_whatever_the_keys():
    for seed in range(10):
        behaviour = designed(seed, 30)
        field = behaviour.packed[0]
        at = swings(behaviour, np.random.default_rng(seed), 2000, 1.0)
        rows = field.barycentric
        first = rows[:, 0] + rows[:, 1] * at[:, :1] + rows[:, 2] * at[:, 1:]
        second = rows[:, 3] + rows[:, 4] * at[:, :1] + rows[:, 5] * at[:, 1:]
        least = np.minimum(np.minimum(first, second), 1 - first - second)
        assert least.max(axis=-1).min() > -1e-9


def test_mistakes_are_named():
    behaviour = designed()
    with pytest.raises(ps.PosableError, match="outer"):
        behaviour.remove(behaviour.keys[0].id)
    with pytest.raises(ps.PosableError, match="outer"):
        behaviour.move(behaviour.keys[0].id, (0, 0))
    with pytest.raises(ps.PosableError, match="outside the behaviour's ellipse"):
        behaviour.add((3.0, 0.0))
    with pytest.raises(ps.PosableError, match="already at"):
        behaviour.add(behaviour.keys[-1].at)
    with pytest.raises(ps.UnknownNameError, match="key"):
        behaviour.set(999, None)
    with pytest.raises(ps.PosableError, match="lacks head"):
        behaviour.add((0, 0), Posture.neutral(("hips", "spine", "chest")))
    with pytest.raises(ps.UnknownNameError, match="right_hand"):
        ps.Behaviour("right_arm", ["right_hand"])
    with pytest.raises(ps.UnknownNameError, match="arm"):
        ps.Behaviour("right_leg", PARTS)
    with pytest.raises(ps.PosableError, match="shrink"):
        ps.Behaviour("right_arm", PARTS, ellipse=Ellipse((2.0, 2.0), (0.1, 0.1)))
    with pytest.raises(ps.ShapeError):
        behaviour.posture_at([1.0])
    with pytest.raises(ps.PosableError, match="finite"):
        Posture(PARTS, np.zeros((4, 4)))


def test_a_posture_read_from_a_pose_does_not_depend_on_where_the_body_stands():
    body = ps.figure()
    posture = random_posture(np.random.default_rng(8), drivable_parts("right_arm"))
    neutral = body.canonical(body.neutral_pose)

    def posed(turn, place):
        rotations = {part: posture.rotation(part) for part in posture.parts if part in neutral.roles}
        rotations["hips"] = pm.multiply(turn, posture.rotation("hips"))
        hips = place + neutral.hips
        start = body.pose(neutral.rotated(hips=turn).replace(hips=hips))
        moved = neutral.rotated(**rotations).replace(hips=hips + pm.rotate(turn, posture.hips))
        return Posture.of(body, body.pose(moved), start, posture.parts)

    here = posed(np.array([1.0, 0, 0, 0]), np.zeros(3))
    there = posed(pm.axis_angle([0, 1, 0], 2.0), np.array([3.0, 0.5, -2.0]))
    assert differ(here, posture) < 1e-9
    assert differ(there, posture) < 1e-9


def test_a_behaviour_that_is_restyled_keeps_its_keys_and_what_is_not_given():
    made = ps.Behaviour.default(ps.figure(), "right_arm")
    at, keys = np.random.default_rng(5).uniform(-0.5, 0.5, (20, 2)), made.keys
    weight, before = made.weight, made.posture_at(at)
    other = "smooth" if made.interpolation == "linear" else "linear"
    made.restyle(interpolation=other)
    assert made.interpolation == other and made.weight == weight and made.keys == keys
    assert np.abs(made.posture_at(at).rotations - before.rotations).max() > 1e-3
    made.restyle(weight=Weight("constant", 0.5), name="calm")
    assert made.weight == Weight("constant", 0.5) and made.interpolation == other and made.name == "calm"
    made.restyle()
    assert made.weight == Weight("constant", 0.5) and made.interpolation == other and made.name == "calm"
    with pytest.raises(ps.PosableError, match="their keys differ"):
        made.restyle(interpolation="around")
    with pytest.raises(ps.UnknownNameError, match="interpolation 'linaer'"):
        made.restyle(interpolation="linaer")
