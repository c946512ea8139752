"""The swivel that a solution reports is that of the posture it returns, whatever the status.

It is recomputed from the seven values with SciPy's rotations and plain NumPy, by the definition alone: the side of the
line from base to end on which the mid joint lies, measured from the reference that the smallest rotation carries there.
"""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import posable as ps
from posable.compute import Status
from posable.limb import LIMBS, Limb
from posable.limb.model import SIDES

COUNT = 300


def measured(limb, values):
    """(N,) [rad] the swivels of postures (N, 7), NaN where it is not defined: end at the base, or against the pole."""
    side = SIDES[limb.name]
    v = values.reshape(-1, 7)
    base = Rotation.from_rotvec(v[:, :3] * [1, 1, 0]) * Rotation.from_rotvec(v[:, :3] * [0, 0, 1])
    mid = base.apply([0.0, 0.0, limb.upper])
    flexion = Rotation.from_rotvec(v[:, 3:4] * [0.0, 1.0, 0.0])
    end = mid + (base * flexion).apply([0.0, 0.0, limb.lower])
    far = np.linalg.norm(end, axis=-1, keepdims=True)
    n = end / far
    away = mid - (mid * n).sum(-1, keepdims=True) * n
    straight = np.linalg.norm(away, axis=-1, keepdims=True) < 1e-7 * limb.length
    away = np.where(straight, np.cross(n, side.flex * base.apply([0.0, 1.0, 0.0])), away)
    pole = np.array(side.pole) / np.linalg.norm(side.pole)
    zero = np.array([0.0, -1.0, 0.0]) + pole[1] * pole
    axis = np.cross(pole, n)
    angle = np.arctan2(np.linalg.norm(axis, axis=-1, keepdims=True), (n @ pole)[:, None])
    carried = Rotation.from_rotvec(axis / np.maximum(np.linalg.norm(axis, axis=-1, keepdims=True), 1e-300) * angle)
    u = carried.apply(zero / np.linalg.norm(zero))
    around = np.arctan2((away * np.cross(u, n)).sum(-1), (away * u).sum(-1))
    undefined = (far[:, 0] < 1e-4 * limb.length) | (n @ pole < -0.999)
    return np.where(undefined, np.nan, side.sign * (around - side.offset)).reshape(values.shape[:-1])


def targets(limb, seed):
    """Random positions in and out of reach, and orientations, for any of which the limits may have no posture."""
    rng = np.random.default_rng(seed)
    direction = rng.normal(size=(COUNT, 3))
    direction /= np.linalg.norm(direction, axis=-1, keepdims=True)
    orientations = rng.normal(size=(COUNT, 4))
    distance = limb.length * rng.uniform(0.0, 1.3, (COUNT, 1))
    return direction * distance, orientations / np.linalg.norm(orientations, axis=-1, keepdims=True)


def worst(limb, solution):
    """The largest angle [rad] between reported and measured swivels."""
    off = solution.swivel - measured(limb, solution.values)
    off = off[np.isfinite(off)]
    assert len(off) > 0.9 * solution.swivel.size
    return np.abs((off + np.pi) % (2.0 * np.pi) - np.pi).max()


@pytest.mark.parametrize("name", LIMBS)
def test_the_swivel_is_that_of_the_returned_posture(name):
    body = ps.figure()
    limb = body.limb(name)
    scene = ps.Scene().box("wall", (3.0, 3.0, 0.2), (0.0, 1.0, 0.35)).sphere("ball", 0.2, (0.0, 1.2, 0.3))
    around = limb.obstacles(body.neutral_pose, scene)
    positions, orientations = targets(limb, 3)
    seen = set()
    for case in (
        {},
        {"orientation": orientations},
        {"orientation": orientations, "obstacles": around},
        {"obstacles": around},
        {"swivel": np.linspace(-3.0, 3.0, COUNT)},
        {"orientation": orientations, "swivel": np.linspace(-3.0, 3.0, COUNT)},
        {"preferred": 2.0, "softness": 0.05},
        {"limb_range": ps.LimbRange.builtin(name)},
        {"collides": lambda values, swivel: swivel < 0.6},
    ):
        some = positions[:40] if "collides" in case else positions  # that search is driven from Python
        solution = limb.solve(some, **case)
        assert worst(limb, solution) < 1e-6, case.keys()
        seen |= set(solution.status.tolist())
    assert {Status.REACHED, Status.UNREACHABLE, Status.LIMITS, Status.COLLISION} <= seen


@pytest.mark.parametrize("name", LIMBS)
def test_without_limits_too_and_for_a_target_that_is_not_finite(name):
    limb = Limb(name, 0.31, 0.26)
    positions, orientations = targets(limb, 5)
    assert worst(limb, limb.solve(positions, orientations)) < 1e-6
    invalid = limb.solve([np.nan, 0.0, 0.0])
    assert invalid.status is Status.INVALID
    assert invalid.swivel == pytest.approx(measured(limb, invalid.values), abs=1e-9)


@pytest.mark.parametrize("part", ["right_hand", "left_foot"])
def test_a_placed_hand_or_foot_reports_the_swivel_of_its_pose(part):
    body = ps.figure()
    limb = body.limb("right_arm" if part == "right_hand" else "left_leg")
    base = body.neutral_frames.positions[body.limb_joints(limb.name)[0]]
    positions = base + targets(limb, 7)[0]
    positions[0] = np.nan
    scene = ps.Scene().box("wall", (3.0, 3.0, 0.2), (0.0, 1.0, 0.45))
    placed = body.place(body.neutral_pose, part, positions, scene=scene)
    assert {Status.REACHED, Status.LIMITS, Status.INVALID} <= set(placed.status.tolist())
    off = placed.swivel - limb.read(placed.pose).swivel
    assert np.abs((off + np.pi) % (2.0 * np.pi) - np.pi).max() < 1e-6


def test_a_stream_that_holds_still_keeps_its_swivel():
    limb = ps.figure().limb("left_arm")
    stream = limb.stream()
    before = stream.step([0.0, -0.3, 0.25])
    held = stream.step([np.nan, 0.0, 0.0])
    np.testing.assert_array_equal(held.values, before.values)
    assert held.status is Status.INVALID
    assert held.swivel == before.swivel
