"""Distances between placed volumes and obstacles: against coal, against brute force, and against themselves."""

import itertools

import numpy as np
import pytest

from posable.collision.kernels import KINDS, in_frame

from .pairs_of_shapes import gaps, matrix, obstacles, overlapping, shape, three, turns, volume_shape, volumes

PAIRS = list(itertools.product(("capsule", "ellipsoid"), KINDS))
TAPERED = [("capsule", kind) for kind in KINDS] + [("ellipsoid", "capsule")]


def drawn(kind, other, n, seed=0, tapered=False):
    rng = np.random.default_rng([seed, KINDS.index(other), len(kind)])
    rows, walls = volumes(rng, kind, n, tapered), obstacles(rng, other, n, tapered)
    return rows, rng.normal(scale=0.35, size=(n, 3)), turns(rng, n), walls


@pytest.mark.parametrize(("kind", "other"), PAIRS)
def test_coal_measures_the_same_distance(kind, other):
    coal = pytest.importorskip("coal")
    request = coal.DistanceRequest()
    request.gjk_tolerance, request.gjk_max_iterations = 1e-10, 1000
    rows, p, q, walls = drawn(kind, other, 1000)
    ours = gaps(rows, p, q, walls)
    theirs = np.empty(len(rows))
    for i, (row, wall) in enumerate(zip(rows, walls, strict=True)):
        (one, at), (another, there) = volume_shape(coal, row, p[i], q[i]), shape(coal, wall)
        theirs[i] = coal.distance(one, at, another, there, request, coal.DistanceResult())
    apart = theirs > 1e-6
    assert 100 < apart.sum() < 990
    # coal iterates where ellipsoids are involved, and stops within some 1e-8 m
    np.testing.assert_allclose(ours[apart, 0], theirs[apart], atol=1e-7 if "ellipsoid" in (kind, other) else 1e-9)
    np.testing.assert_array_equal(ours[:, 0] > 1e-6, apart)
    # Capsules: how deep, too. coal's own expanding polytope gives up now and then where ellipsoids are involved.
    if kind == "capsule" and other != "ellipsoid":
        np.testing.assert_allclose(ours[~apart, 4], -theirs[~apart], atol=1e-6)


@pytest.mark.parametrize(("kind", "other"), TAPERED)
def test_a_tapered_cone_is_as_near_as_the_nearest_of_its_balls(kind, other):
    rows, p, q, walls = drawn(kind, other, 60, seed=1, tapered=True)
    whole = gaps(rows, p, q, walls)[:, 0]
    steps = np.linspace(0.0, 1.0, 401)
    for i in range(len(rows)):
        balls, walled = np.repeat(rows[i], len(steps)), np.repeat(walls[i], len(steps))
        if kind == "capsule":  # cut the volume into balls
            balls["start"] = balls["end"] = rows[i]["start"] + steps[:, None] * (rows[i]["end"] - rows[i]["start"])
            balls["radii"] = (rows[i]["radii"][0] + steps * (rows[i]["radii"][1] - rows[i]["radii"][0]))[:, None]
        else:  # or the obstacle
            for axis in "xyz":
                walled["p" + axis] = walls[i]["p" + axis] + steps * (walls[i]["e" + axis] - walls[i]["p" + axis])
                walled["e" + axis] = walled["p" + axis]
            walled["rx"] = walls[i]["rx"] + steps * (walls[i]["ry"] - walls[i]["rx"])
            walled["ry"] = walled["rx"]
        cut = gaps(balls, np.repeat(p[i : i + 1], 401, 0), np.repeat(q[i : i + 1], 401, 0), walled)[:, 0].min()
        assert whole[i] <= cut + 1e-9
        assert whole[i] >= cut - 3e-3  # between two balls of the cut, 2 mm apart at most


def test_two_tapered_cones_against_a_grid_over_both_axes():
    rows, p, q, walls = drawn("capsule", "capsule", 300, seed=2, tapered=True)
    whole = gaps(rows, p, q, walls)[:, 0]
    t = np.linspace(0.0, 1.0, 201)
    for i, (row, wall) in enumerate(zip(rows, walls, strict=True)):
        turn = matrix(q[i])
        one = p[i] + (row["start"] + t[:, None] * (row["end"] - row["start"])) @ turn.T
        other = three(wall, "p") + t[:, None] * (three(wall, "e") - three(wall, "p"))
        radius = row["radii"][0] + t * (row["radii"][1] - row["radii"][0])
        wide = wall["rx"] + t * (wall["ry"] - wall["rx"])
        grid = np.linalg.norm(one[:, None] - other[None], axis=-1) - radius[:, None] - wide[None]
        assert grid.min() - 8e-3 <= whole[i] <= grid.min() + 1e-12


@pytest.mark.parametrize(("kind", "other"), PAIRS)
@pytest.mark.parametrize("margin", [0.0, 0.05, -0.02])
def test_overlapping_is_a_gap_below_the_margin(kind, other, margin):
    for tapered in (False, True):
        rows, p, q, walls = drawn(kind, other, 3000, seed=3, tapered=tapered)
        expected = gaps(rows, p, q, walls)[:, 0]
        clear = np.abs(expected - margin) > 1e-9
        np.testing.assert_array_equal(overlapping(rows, p, q, walls, margin)[clear], (expected < margin)[clear])


@pytest.mark.parametrize(("kind", "other"), PAIRS)
def test_moving_out_by_the_depth_separates(kind, other):
    rows, p, q, walls = drawn(kind, other, 3000, seed=4, tapered=True)
    told = gaps(rows, p, q, walls)
    deep = told[:, 4] > 0.0
    assert deep.sum() > 300
    np.testing.assert_allclose(np.linalg.norm(told[:, 5:], axis=-1), 1.0, atol=1e-12)
    moved = gaps(rows[deep], (p + told[:, 4:5] * told[:, 5:])[deep], q[deep], walls[deep])
    assert moved[:, 0].min() > -1e-9
    if kind == "capsule" or other in ("capsule", "sphere", "plane"):
        assert (told[deep, 4] >= -told[deep, 0] - 1e-9).all()


@pytest.mark.parametrize(("kind", "other"), PAIRS)
def test_a_gap_apart_is_closed_by_moving_along_its_direction(kind, other):
    rows, p, q, walls = drawn(kind, other, 2000, seed=5)
    told = gaps(rows, p, q, walls)
    apart = told[:, 0] > 1e-6
    moved = gaps(rows, p - told[:, :1] * told[:, 1:4], q, walls)
    np.testing.assert_allclose(moved[apart, 0], 0.0, atol=1e-7)


@pytest.mark.parametrize(("kind", "other"), PAIRS)
def test_a_rigid_motion_of_the_world_changes_no_gap(kind, other):
    from posable.math import conjugate, multiply, rotate

    rows, p, q, walls = drawn(kind, other, 500, seed=6, tapered=True)
    origin, frame = np.array([0.3, -2.0, 1.0]), turns(np.random.default_rng(7), 1)[0]
    seen = in_frame(walls, origin, frame)
    there = gaps(rows, rotate(conjugate(frame), p - origin), multiply(conjugate(frame), q), seen)
    here = gaps(rows, p, q, walls)
    apart = here[:, 0] > 0.0
    np.testing.assert_allclose(there[apart, 0], here[apart, 0], atol=1e-11)
    np.testing.assert_array_equal(there[:, 0] > 0.0, apart)


def test_capsules_and_ellipsoids_are_as_far_from_each_other_as_the_others_from_them():
    rng = np.random.default_rng(8)
    for kind, other in itertools.product(("capsule", "ellipsoid"), repeat=2):
        rows, walls = volumes(rng, kind, 1000, True), obstacles(rng, other, 1000, True)
        p, q = rng.normal(scale=0.35, size=(1000, 3)), turns(rng, 1000)
        there = as_obstacles(rows, p, q)
        back = as_volumes(walls)
        still = np.tile([1.0, 0, 0, 0], (1000, 1))
        one, two = gaps(rows, p, q, walls), gaps(back, np.zeros((1000, 3)), still, there)
        apart = one[:, 0] > 0
        np.testing.assert_allclose(one[apart, 0], two[apart, 0], atol=1e-11)
        np.testing.assert_array_equal(apart, two[:, 0] > 0)


def as_obstacles(rows, p, q):
    from posable.collision.kernels import volume_obstacles

    carried = rows.copy()
    carried["joint"] = np.arange(len(rows))
    return volume_obstacles(carried, p[None], q[None], np.zeros((1, 3)), np.array([[1.0, 0, 0, 0]]))[0]


def as_volumes(walls):
    rows = np.zeros(len(walls), volumes(np.random.default_rng(0), "capsule", 1).dtype)
    rows["kind"], rows["bound"] = walls["kind"], walls["bound"]
    for field, name in (("start", "p"), ("end", "e"), ("radii", "r")):
        rows[field] = np.stack([walls[name + axis] for axis in "xyz"], axis=-1)
    rows["rotation"] = np.stack([walls["q" + axis] for axis in "wxyz"], axis=-1)
    return rows


@pytest.mark.parametrize(("kind", "other"), PAIRS)
def test_degenerate_shapes_give_numbers(kind, other):
    """No length, one ball inside the other, the same centre, parallel axes, paper-thin and needle-like."""
    rows, p, q, walls = drawn(kind, other, 400, seed=9, tapered=True)
    rng = np.random.default_rng(10)
    for case in range(6):
        row, wall, at, turn = rows.copy(), walls.copy(), p.copy(), q.copy()
        if case == 0:
            row["end"] = row["start"]
        elif case == 1:
            row["radii"][:, 0] = 2.0
        elif case == 2:
            middle = np.stack([0.5 * (wall["p" + a] + wall["e" + a]) for a in "xyz"], axis=-1)
            row["start"] -= 0.5 * (row["start"] + row["end"])
            row["end"] = -row["start"] if kind == "capsule" else row["start"]
            at = middle if other != "plane" else three(wall, "p").T
        elif case == 3:
            turn[:] = [1.0, 0, 0, 0]
            row["start"] = np.stack([wall["p" + a] for a in "xyz"], axis=-1)
            row["end"] = np.stack([wall["e" + a] for a in "xyz"], axis=-1) if kind == "capsule" else row["start"]
        elif case == 4:
            row["radii"] = 10.0 ** rng.uniform(-9, 0, (400, 3))
            for a in "xyz":
                wall["r" + a] = 10.0 ** rng.uniform(-9, 0, 400)
        else:
            at *= 1e6
        row["bound"] = 0.5 * np.linalg.norm(row["end"] - row["start"], axis=-1) + row["radii"].max(axis=-1)
        told = gaps(row, at, turn, wall)
        assert np.isfinite(told).all()
        np.testing.assert_allclose(np.linalg.norm(told[:, 1:4], axis=-1), 1.0, atol=1e-9)


def test_a_ball_that_just_holds_the_other_is_a_ball():
    """Where the cone between two balls shrinks to nothing, on both sides of it and exactly there."""
    rng = np.random.default_rng(13)
    n = 2000
    rows = volumes(rng, "capsule", n)
    length = np.linalg.norm(rows["end"] - rows["start"], axis=-1)
    rows["radii"][:, 1] = rows["radii"][:, 0] + length * (1.0 + rng.choice([-1e-9, -1e-15, 0.0, 1e-15, 1e-9], n))
    rows["bound"] = 0.5 * length + rows["radii"].max(axis=-1)
    walls = obstacles(rng, "sphere", n)
    p, q = rng.normal(size=(n, 3)), turns(rng, n)
    centre = p + np.array([matrix(turn) @ end for turn, end in zip(q, rows["end"], strict=True)])
    expected = np.linalg.norm(centre - three(walls, "p").T, axis=-1) - rows["radii"][:, 1] - walls["rx"]
    np.testing.assert_allclose(gaps(rows, p, q, walls)[:, 0], expected, atol=1e-7)


def test_the_nearest_point_of_an_ellipsoid_is_where_its_normal_leads():
    """x - gap n lies on the surface and n is its normal there: together they are the definition."""
    from posable.collision.surfaces import point_ellipsoid

    rng = np.random.default_rng(11)
    for _ in range(5000):
        e = 10.0 ** rng.uniform(-2, 0, 3)
        x = rng.normal(size=3) * rng.choice([1e-3, 0.1, 1.0, 100.0]) * (rng.uniform(size=3) > 0.15)
        gap, n = point_ellipsoid(tuple(x), tuple(e))
        y = x - gap * np.array(n)
        size = max(np.linalg.norm(x), 1.0)
        assert abs(np.linalg.norm(y / e) - 1.0) < 1e-9 * size / e.min()
        gradient = y / e**2
        # The direction is judged by where it leads, in metres: flat spots do not tell it to the last digit.
        assert np.linalg.norm(np.cross(gradient / np.linalg.norm(gradient), n)) * e.min() < 1e-7 * size
        assert (gap > 0.0) == (np.linalg.norm(x / e) > 1.0) or abs(gap) < 1e-12


def test_an_ellipsoid_seen_from_inside_is_as_near_as_the_nearest_of_many_points():
    from posable.collision.surfaces import point_ellipsoid

    rng = np.random.default_rng(12)
    directions = rng.normal(size=(20000, 3))
    directions /= np.linalg.norm(directions, axis=-1, keepdims=True)
    for _ in range(100):
        e = rng.uniform(0.1, 1.0, 3)
        x = rng.normal(size=3)
        x *= rng.uniform(0.0, 0.99) / np.linalg.norm(x / e)
        gap, _ = point_ellipsoid(tuple(x), tuple(e))
        brute = np.linalg.norm(directions * e - x, axis=-1).min()
        assert -gap <= brute + 1e-12
        assert brute <= -gap + 0.02
