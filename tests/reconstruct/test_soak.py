"""Whatever the points: a finite body inside its limits, and a true status. Thousands here, a million in `make soak`."""

import numpy as np
import pytest

import posable as ps
import posable.math as pm
from posable.reconstruct import SequentialIK
from tests.body.bodies import file_body
from tests.reconstruct.test_inputs import SETS, inside_limits, points_of

BODIES = ("figure", "half a metre", "three metres", "CMU", "MakeHuman", "VRM", "CesiumMan", "RiggedFigure")
BLOCK = 5000


def body_of(name, data_dir):
    if name in ("figure", "half a metre", "three metres"):
        return ps.figure({"figure": 1.75, "half a metre": 0.5, "three metres": 3.0}[name])
    return file_body(data_dir, name)


def hostile(body, markers, count, rng):
    """Points of every kind: around a body, far off, coincident, huge, tiny, not numbers."""
    base = points_of(body, body.neutral_pose, markers)
    points = base + rng.normal(size=(count, len(markers), 3)) * rng.uniform(0.0, 0.6, (count, 1, 1)) * body.joint_height
    kind = rng.integers(0, 12, count)
    one, other = rng.integers(len(markers), size=(2, count))
    rows = np.arange(count)
    for wanted, value in ((0, 0.0), (1, 1e6), (2, -1e-9), (3, 1e150)):
        points[kind == wanted, one[kind == wanted]] = value
    points[kind == 4] = points[kind == 4, :1]
    points[kind == 5] = base
    same = kind == 6
    points[rows[same], one[same]] = points[rows[same], other[same]]
    for wanted, value in ((7, np.nan), (8, np.inf)):
        points[rows[kind == wanted], one[kind == wanted], rng.integers(3)] = value
    points += rng.normal(size=(count, 1, 3)) * (kind == 9)[:, None, None] * 100.0
    return points


def check(body, solver, points, orientations):
    answer = solver.solve(points, orientations)
    assert np.isfinite(answer.pose.rotations).all() and np.isfinite(answer.pose.translation).all()
    assert inside_limits(body, answer.pose)
    bad = ~(np.abs(points) <= 1e6).all(axis=(-1, -2))  # the extent of the world: docs/conventions.md
    np.testing.assert_array_equal(answer.status == ps.Status.INVALID, bad)
    with np.errstate(over="ignore", invalid="ignore"):
        off = np.linalg.norm(points_of(body, answer.pose, solver.markers) - points, axis=-1)
        size = np.maximum(np.abs(points).max(axis=(-1, -2)), 1.0)
    good = ~bad
    assert (np.abs(off[good] - answer.marker_errors[good]) <= 1e-9 * size[good, None]).all()
    np.testing.assert_array_equal((answer.marker_errors < 1e-6).all(axis=-1), answer.ok)


def check_many(body, count, seed):
    names = [name for name in SETS if all(role in body.roles for role in SETS[name])]
    for block in range(-(-count // BLOCK)):
        rng = np.random.default_rng([seed, block])
        markers = ps.MARKERS if block % 2 == 0 else SETS[names[(block // 2) % len(names)]]
        points = hostile(body, markers, min(count, BLOCK), rng)
        turns = None
        if block % 3 == 2:
            turns = {role: pm.normalize(rng.normal(size=(len(points), 4))) for role in ("hips", "head", "left_hand")}
            turns["head"][::3] = np.nan
        check(body, SequentialIK(body, markers=markers), points, turns)


@pytest.mark.parametrize("name", BODIES)
def test_any_points_give_a_finite_body_inside_its_limits_and_a_true_status(name, data_dir):
    check_many(body_of(name, data_dir), 600, 0)


@pytest.mark.soak
def test_a_million_inputs_give_finite_bodies_inside_their_limits_and_true_statuses(data_dir, drawn):
    count = drawn(125_000, each=len(BODIES))
    for name in BODIES:
        check_many(body_of(name, data_dir), count, 1)
