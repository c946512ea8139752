"""A limb over time, and with obstacles: quiet elbows, flagged jumps, soft reach, tests of the user's own."""

import math

import numpy as np
import pytest

import posable as ps
import posable.math as pm
from posable.compute import PosableError, Status
from posable.limb import Limb
from posable.limits import Limits

HUMAN = Limits.human()
ARM = Limb("right_arm", 0.31, 0.26, limits=HUMAN)


def straight(a: list[float], b: list[float], step: float = 0.001) -> np.ndarray:
    """A straight path in steps of a millimetre."""
    a, b = np.asarray(a), np.asarray(b)
    count = max(2, round(np.linalg.norm(b - a) / step))
    return a + (b - a) * np.linspace(0, 1, count)[:, None]


FULL = ARM.length * np.array([0.6, -0.48, 0.64])  # an arm stretched to the front

PATHS = {
    "through the hanging arm": straight([0, -0.45, -0.1], [0, -0.45, 0.25]),
    "past the hanging arm by a millimetre": straight([-0.1, -0.45, 0.001], [0.25, -0.45, 0.001]),
    "along the hanging arm's axis": straight([0, -0.2, 0], [0, -0.62, 0]),
    "into full extension and beyond": straight([0.2, -0.2, 0.2], [0.45, -0.3, 0.35]),
    "exactly to full extension and back": np.concatenate([straight(0.7 * FULL, FULL), straight(FULL, 0.7 * FULL)]),
    "along the rim of full extension": ARM.length * straight([0.6, -0.48, 0.64], [0.6, 0.48, 0.64], 0.002),
    "in front": straight([0.3, -0.3, -0.2], [0.3, 0.25, 0.2]),
    "from above down and back": straight([0.25, 0.2, 0.3], [0.35, -0.3, -0.1]),
    "out of all limits": straight([0.3, -0.2, 0.2], [-0.4, 0.3, -0.2]),
}
PATHS["along the rim of full extension"] *= (
    ARM.length / np.linalg.norm(PATHS["along the rim of full extension"], axis=-1)[:, None]
)


def moved_unflagged(elbows: np.ndarray, jumped: np.ndarray) -> float:
    """The largest step of the elbow that was not flagged as a jump [m]."""
    return float(np.linalg.norm(np.diff(elbows, axis=0), axis=-1)[~jumped[1:]].max())


@pytest.mark.parametrize("name", PATHS)
def test_elbow_never_jumps_unflagged_while_the_hand_moves_smoothly(name: str):
    path = PATHS[name]
    told = ARM.track(path)
    assert np.isfinite(told.values).all()
    assert moved_unflagged(ARM.forward(told.values).mid, told.jumped) <= 0.020
    reached = told.status == Status.REACHED
    assert told.position_error[reached].max(initial=0) < 1e-9
    if name != "out of all limits":  # there, closest postures hardly differ in distance and much in their elbows
        assert told.jumped.mean() < 0.01 and reached.mean() > 0.5


def test_elbow_never_jumps_unflagged_on_many_random_paths():
    """With and without an orientation to hold; what the search alone would do is in `benchmarks jumps`."""
    rng = np.random.default_rng(0)
    ends = rng.normal(size=(24, 2, 3))
    ends *= rng.uniform(0.15, 0.57, (24, 2, 1)) / np.linalg.norm(ends, axis=-1, keepdims=True)
    turns = pm.normalize(rng.normal(size=(24, 4)))
    for k, (a, b) in enumerate(ends):
        told = ARM.track(straight(a, b), turns[k] if k % 2 else None)
        assert moved_unflagged(ARM.forward(told.values).mid, told.jumped) <= 0.020
        assert told.position_error[told.status == Status.REACHED].max(initial=0) < 1e-9


@pytest.mark.parametrize("height", [-0.15, 0.0, 0.1])
def test_elbow_never_jumps_unflagged_past_an_obstacle(height: float):
    body = ps.figure()
    arm, pose = body.limb("right_arm"), body.neutral_pose
    shoulder = body.skeleton.forward(pose).positions[body.index("right_upper_arm")]
    path = straight([0.35, height, -0.25], [0.3, height - 0.05, 0.35])
    usual = arm.forward(arm.solve(path).values).mid[len(path) // 2]
    ball = shoulder + np.array([-usual[2], usual[1], usual[0]])  # where the elbow would pass
    obstacles = arm.obstacles(pose, ps.Scene().sphere("ball", 0.03, ball))
    told = arm.track(path, obstacles=obstacles)
    elbows = arm.forward(told.values).mid
    assert moved_unflagged(elbows, told.jumped) <= 0.020
    reached = told.status == Status.REACHED
    assert reached.mean() > 0.5
    clear = np.linalg.norm(elbows - usual, axis=-1)
    assert clear[reached].min() > 0.03 and arm.solve(path, obstacles=obstacles).failures["collision"].max() > 0


def test_a_bad_target_holds_a_stream_still():
    stream = ARM.stream(60)
    first = stream.step([0.4, -0.1, 0.2])
    bad = stream.step([np.nan, 0, 0])
    assert bad.status is Status.INVALID and not bad.jumped
    np.testing.assert_array_equal(bad.values, first.values)
    np.testing.assert_allclose(stream.step([0.4, -0.1, 0.2]).values, first.values, atol=1e-12)


def test_a_stream_walks_to_its_preferred_swivel_at_its_speed():
    stream = ARM.stream(60, speed=math.radians(60))
    place = [0.4, -0.1, 0.2]
    first = stream.step(place, preferred=0.2)
    assert first.swivel == pytest.approx(0.2)
    second = stream.step(place, preferred=0.9)
    assert second.swivel == pytest.approx(0.2 + math.radians(1))
    third = stream.step(place, preferred=0.9, dt=0.1)
    assert third.swivel == pytest.approx(second.swivel + math.radians(6))
    stream.reset()
    assert stream.step(place, preferred=0.9).swivel == pytest.approx(0.9)
    with pytest.raises(PosableError, match="speed"):
        ARM.stream(60, speed=0)


def test_a_test_of_the_user_s_own_is_kept_out_of():
    place = [0.4, -0.1, 0.2]
    calls = []

    def forbidden(values: np.ndarray, swivel: float) -> bool:
        calls.append(swivel)
        return 0.2 < swivel < 0.8

    answer = ARM.solve(place, collides=forbidden)
    assert answer.status is Status.REACHED and answer.position_error < 1e-9
    assert not 0.2 < answer.swivel < 0.8
    assert min(abs(answer.swivel - 0.2), abs(answer.swivel - 0.8)) < math.radians(1)  # bisected to the edge
    assert answer.failures["collision"] > 0 and len(calls) < 50
    never = ARM.solve(place, collides=lambda values, swivel: True)
    assert never.status is Status.COLLISION
    assert never.position_error < 1e-9  # still on the target and inside the limits
    batch = ARM.solve([place, [0.3, -0.2, 0.3]], collides=forbidden)
    assert batch.ok.all() and not ((batch.swivel > 0.2) & (batch.swivel < 0.8)).any()
    assert ARM.solve([9, 9, 9], collides=forbidden).status is Status.UNREACHABLE


def test_a_soft_reach_never_snaps_straight():
    hard, soft = [], []
    path = straight([0.35, -0.2, 0.3], [0.6, -0.35, 0.5])
    hard = ARM.solve(path)
    soft = ARM.solve(path, softness=0.03)
    flexion = [np.abs(answer.values[:, 3]) for answer in (hard, soft)]
    assert np.abs(np.diff(flexion[1])).max() < 0.5 * np.abs(np.diff(flexion[0])).max()
    assert (flexion[1] > 0).all()
    reachable = np.linalg.norm(path, axis=-1) < ARM.length - 0.03
    assert soft.ok[reachable].all()
    np.testing.assert_array_equal(soft.values[reachable], hard.values[reachable])
    lag = soft.position_error[~reachable]
    assert (lag > 0).all() and (soft.status[~reachable] == Status.UNREACHABLE).all()  # reported, never hidden
    end = ARM.forward(soft.values).end
    np.testing.assert_allclose(np.linalg.norm(end - path, axis=-1), soft.position_error, atol=1e-12)


def test_a_range_corrects_before_the_limb_is_solved_and_says_so():
    from posable.limb import LimbRange

    learned = LimbRange.builtin("right_arm")
    rng = np.random.default_rng(1)
    places = rng.normal(size=(500, 3))
    places *= rng.uniform(0.2, 0.57, (500, 1)) / np.linalg.norm(places, axis=-1, keepdims=True)
    arm = Limb("right_arm", 0.31, 0.26)
    answer = arm.solve(places, limb_range=learned)
    end = arm.forward(answer.values).end
    np.testing.assert_allclose(np.linalg.norm(end - places, axis=-1), answer.position_error, atol=1e-9)
    allowed = learned.for_limb(arm).contains(places, arm.search.preferred)
    assert answer.ok[allowed].all() and answer.position_error[allowed].max() < 1e-9
    moved = answer.position_error > 1e-9
    assert moved.sum() > 50 and (answer.status[moved] == Status.LIMITS).all()
    assert learned.for_limb(arm).contains(end, answer.swivel).mean() > 0.99


def test_a_stream_goes_on_from_a_posture_and_sets_off_gently():
    """Of the way from the swivel it begins with to the wanted one, exactly the share that is due."""
    place = np.array([0.3, -0.2, 0.25])
    begun = ARM.solve(place, swivel=0.2)
    stream = ARM.stream(60)
    stream.begin(begun.values, 0.2)
    for share in (0.0, 0.01, 0.03, 0.06):
        told = stream.step(place, fraction=share, preferred=0.9)
        assert told.swivel == pytest.approx(0.2 + share * 0.7) and not told.jumped
    stream.depart()
    assert stream.step(place, fraction=0.0, preferred=0.9).swivel == pytest.approx(0.2 + 0.06 * 0.7)
    far = stream.step(place, fraction=1.0, preferred=0.9)  # no faster than its speed
    assert far.swivel == pytest.approx(0.2 + 0.06 * 0.7 + math.pi / 60)
