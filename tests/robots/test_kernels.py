"""The kernels of retargeting against slow NumPy: derivatives, the arrowhead, smoothing, segments."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.spatial.transform import Rotation

from posable.robots import arrowhead, feet, kernels, model, timing
from posable.robots.packing import ROWS, motor_limits, pack, read_body

RNG = np.random.default_rng(7)


@pytest.fixture(scope="module")
def packed(robot):
    body = read_body(robot)
    return body, *pack(body, *motor_limits(body, None, None), scale=0.6, iterations=4)


def quat(q):
    """SciPy's rotation of `wxyz`."""
    return Rotation.from_quat(np.roll(q, -1, axis=-1))


def forward(body, dofs, state):
    """Positions and rotations of all joints by SciPy, down the tree."""
    skeleton, at, turned = body.skeleton, [], []
    value = dict(zip(dofs.tolist(), state[7:], strict=True))
    for j, parent in enumerate(skeleton.parents):
        if parent < 0:
            at.append(state[:3])
            turned.append(quat(state[3:7]))
            continue
        own = quat(skeleton.rest_rotations[j])
        d = int(skeleton.packed[j]["dof"])
        if skeleton.kinds[j] == "hinge":
            own = own * Rotation.from_rotvec(skeleton.axes[j, 0] * value.get(d, 0.0))
        at.append(at[parent] + turned[parent].apply(skeleton.offsets[j]))
        turned.append(turned[parent] * own)
    return at, turned


def cost(body, dofs, targets, state):
    """Half the squared rows of all tasks, from their definition alone."""
    at, turned = forward(body, dofs, state)
    total = 0.0
    for role, target in zip(ROWS, targets, strict=True):
        if role not in body.parts:
            continue
        part = body.parts[role]
        point = at[part.joint] + turned[part.joint].apply(part.centre)
        if role.endswith("hand"):
            base = body.parts[role.replace("hand", "upper_arm")]
            point = point - at[base.joint] - turned[base.joint].apply(base.centre)
        away = (point - target[:3]) * target[[7, 8, 7]]
        error = quat(target[3:7]).inv() * turned[part.joint] * quat(part.neutral).inv()
        vector = error.as_quat()
        vector = 2.0 * vector[:3] * np.sign(vector[3]) * target[[9, 10, 11]]
        total += 0.5 * (away @ away + vector @ vector)
    return total


def random_state(count):
    state = np.concatenate([RNG.normal(size=3), RNG.normal(size=4), RNG.uniform(-0.5, 0.5, count)])
    state[3:7] /= np.linalg.norm(state[3:7])
    return state


def moved(state, column, step, trunk, size):
    """A state moved along one column of the normal equations."""
    made = state.copy()
    if trunk <= column < trunk + 3:
        made[column - trunk] += step
    elif column >= size - 3:
        turn = Rotation.from_rotvec(np.eye(3)[column - size + 3] * step)
        made[3:7] = np.roll((quat(state[3:7]) * turn).as_quat(), 1)
    else:
        made[7 + (column if column < trunk else column - 3)] += step
    return made


@pytest.mark.parametrize("trial", range(4))
def test_the_gradient_of_all_tasks_is_that_of_finite_differences(packed, trial):
    body, robot, dofs = packed
    size, trunk = int(robot.settings[0]["size"]), int(robot.settings[0]["trunk"])
    state = random_state(len(dofs))
    targets = np.zeros((len(ROWS), model.TARGET))
    targets[:, :3] = RNG.normal(size=(len(ROWS), 3))
    targets[:, 3:7] = RNG.normal(size=(len(ROWS), 4))
    targets[:, 3:7] /= np.linalg.norm(targets[:, 3:7], axis=1, keepdims=True)
    targets[:, 7:] = RNG.uniform(0.5, 2.0, (len(ROWS), 5))
    for k, role in enumerate(ROWS):
        targets[k, 7:] *= role in body.parts
    work = model.scratch(1, robot)
    kernels.place(0, robot, state, work)
    for k in range(len(ROWS)):
        kernels.add_task(0, robot, robot.tasks[k], targets[k], work)
    found = np.zeros(size)
    blocks = len(robot.blocks)
    for b in range(blocks + 1):
        first, last = (robot.blocks[b]["first"], robot.blocks[b]["last"]) if b < blocks else (0, 0)
        own = int(last - first)
        found[first:last] += work.gradient[0, b, :own]
        found[trunk:] += work.gradient[0, b, own : own + size - trunk]
    h = 1e-6
    expected = [
        (
            cost(body, dofs, targets, moved(state, c, h, trunk, size))
            - cost(body, dofs, targets, moved(state, c, -h, trunk, size))
        )
        / (2.0 * h)
        for c in range(size)
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5 * np.abs(expected).max())


def test_an_arrowhead_is_solved_as_a_dense_system(packed):
    _, robot, dofs = packed
    size, trunk, blocks = int(robot.settings[0]["size"]), int(robot.settings[0]["trunk"]), len(robot.blocks)
    work = model.scratch(1, robot)
    whole, gradient = np.zeros((size, size)), np.zeros(size)
    for b in range(blocks + 1):
        first, last = (int(robot.blocks[b]["first"]), int(robot.blocks[b]["last"])) if b < blocks else (0, 0)
        columns = [*range(first, last), *range(trunk, size)]
        rows = RNG.normal(size=(len(columns) + 3, len(columns)))
        g = RNG.normal(size=len(columns))
        work.matrix[0, b, : len(columns), : len(columns)] = rows.T @ rows
        work.gradient[0, b, : len(columns)] = g
        whole[np.ix_(columns, columns)] += rows.T @ rows
        gradient[columns] += g
    count = len(dofs)
    bounds = np.full((1, count), np.inf)
    track = model.Track(
        np.zeros((1, len(ROWS), model.TARGET)), -bounds, bounds, np.zeros((1, 7 + count)), np.zeros((1, 2 + count)),
        np.zeros((0, 4)), np.zeros((1, 2)), np.zeros((1, 7 + count)),
    )  # fmt: skip
    work.stale[:] = 1
    kernels.solve_arrow(0, 0, robot, track, np.zeros(7 + count), work)
    np.testing.assert_allclose(work.step[0], np.linalg.solve(whole, -gradient), rtol=1e-8, atol=1e-9)


def test_a_frozen_variable_gets_its_value_and_the_others_the_best_for_it():
    rows = RNG.normal(size=(9, 6))
    h, b = rows.T @ rows, RNG.normal(size=6)
    matrix, right, x = np.zeros((8, 8)), b.copy(), np.zeros(6)
    matrix[:6, :6] = np.triu(h)
    arrowhead.freeze(matrix, right, 2, 0.7, 6)
    arrowhead.eliminate(matrix, right, 6, 6)
    arrowhead.substitute(matrix, right, 6, 6, 0, 6, x)
    others = [0, 1, 3, 4, 5]
    assert x[2] == 0.7
    np.testing.assert_allclose(x[others], np.linalg.solve(h[np.ix_(others, others)], b[others] - 0.7 * h[others, 2]))


@pytest.mark.parametrize("count", [1, 2, 3, 4, 40])
def test_smoothing_is_the_minimum_of_its_sum(count):
    y, penalty = RNG.normal(size=count), RNG.uniform(0.0, 9.0, count)
    z, d, e, f = np.empty((4, count))
    timing.smooth(count, y, penalty, z, d, e, f)
    second = np.zeros((max(count - 2, 0), count))
    for t in range(count - 2):
        second[t, t : t + 3] = 1.0, -2.0, 1.0
    matrix = np.eye(count) + second.T @ np.diag(penalty[1 : max(count - 1, 1)]) @ second
    np.testing.assert_allclose(z, np.linalg.solve(matrix, y), atol=1e-10)


@pytest.mark.parametrize("trial", range(5))
def test_what_is_slowed_keeps_its_speed_and_its_range_and_comes_neither_late_nor_early(trial):
    y = np.cumsum(RNG.normal(size=200))
    most = 0.4
    forward_, backward = [], []
    for signal, out in ((y, forward_), (y[::-1], backward)):
        z, upper, lower = signal.copy(), np.empty(200), np.empty(200)
        timing.slowed(200, most, z, upper, lower)
        out.append(z)
    assert np.abs(np.diff(forward_[0])).max() <= most + 1e-12
    assert forward_[0].min() >= y.min() and forward_[0].max() <= y.max()
    np.testing.assert_allclose(forward_[0], backward[0][::-1], atol=1e-12)


@pytest.mark.parametrize("trial", range(20))
def test_the_nearest_points_of_two_segments_are_the_nearest(trial):
    a, b, c, d = RNG.normal(size=(4, 3))
    if trial % 5 == 0:
        b = a
    if trial % 7 == 0:
        d = c
    if trial == 3:
        d = c + (b - a)

    def away(x):
        return np.linalg.norm(a + x[0] * (b - a) - c - x[1] * (d - c))

    starts = [(s, t) for s in (0.0, 0.5, 1.0) for t in (0.0, 0.5, 1.0)]
    best = min(minimize(lambda x: away(x) ** 2, s, bounds=[(0, 1), (0, 1)]).fun for s in starts) ** 0.5
    p, q = kernels.closest(tuple(a), tuple(b), tuple(c), tuple(d))
    assert np.linalg.norm(np.subtract(p, q)) <= best + 1e-6


def test_how_feet_stand_is_read_from_all_corners_of_their_soles(packed):
    body, robot, dofs = packed
    count = 5
    states = np.array([random_state(len(dofs)) for _ in range(count)])
    work = model.placements(count, robot)
    kernels.place_rows(count, robot, states, work)
    targets, floors = RNG.normal(size=(count, len(ROWS), model.TARGET)), RNG.normal(size=(count, 2))
    targets[..., 3:7] /= np.linalg.norm(targets[..., 3:7], axis=-1, keepdims=True)
    standing = RNG.random((count, 2)) < 0.7
    away, under = np.empty((2, count, 2))
    kernels.stands_rows(count, robot, targets, floors, standing, work.positions, work.orientations, away, under)
    for i, state in enumerate(states):
        at, turned = forward(body, dofs, state)
        for k, side in enumerate(("left", "right")):
            part, target = body.parts[f"{side}_foot"], targets[i, ROWS.index(f"{side}_foot")]
            there = at[part.joint] + turned[part.joint].apply(body.soles[side])
            flat = target[:3] + (quat(target[3:7]) * quat(part.neutral)).apply(body.soles[side] - part.centre)
            deep = floors[i, k] - there[:, 1].min()
            largest = max(np.linalg.norm((there - flat)[:, [0, 2]], axis=1).max(), np.ptp(there[:, 1]), deep)
            assert under[i, k] == pytest.approx(deep)
            assert away[i, k] == pytest.approx(largest if standing[i, k] else 0.0)


@pytest.mark.parametrize("trial", range(20))
def test_soles_are_apart_where_no_point_is_in_both(trial):
    sole = np.array([[x, 0.0, z] for x in (-0.04, 0.04) for z in (-0.07, 0.13)])
    nothing, rng = np.zeros((0, 3)), np.random.default_rng(trial)
    foot = feet.Foot(nothing, nothing, nothing, nothing, nothing, nothing, sole, 0.0, nothing)
    one, other = np.zeros((2, 1, 4))
    one[0, :3], other[0, :3] = rng.uniform(-0.12, 0.12, (2, 3)) * [1, 1, 9]
    (distance,), (direction,) = feet._apart(one, foot, other, foot)

    def overlap(a, b):
        """Whether a grid of points on one sole has one in the other."""
        x, z = np.meshgrid(np.linspace(-0.04, 0.04, 60), np.linspace(-0.07, 0.13, 150))
        points = a[:2] + np.stack([x, z], -1).reshape(-1, 2) @ [
            [np.cos(a[2]), -np.sin(a[2])],
            [np.sin(a[2]), np.cos(a[2])],
        ]
        back = (points - b[:2]) @ [[np.cos(b[2]), np.sin(b[2])], [-np.sin(b[2]), np.cos(b[2])]]
        return bool(((np.abs(back[:, 0]) < 0.04) & (back[:, 1] > -0.07) & (back[:, 1] < 0.13)).any())

    if abs(distance) > 3e-3:
        assert overlap(one[0], other[0]) == (distance < 0.0)
    one[0, :2] += (1e-6 - distance) * direction
    assert not overlap(one[0], other[0])
