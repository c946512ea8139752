"""Closest postures keep out of obstacles and inside learned ranges where they can, and say where they cannot.

Everything is recomputed from the returned values or the returned pose: capsules and balls in NumPy, a body against
itself by the test of whole bodies, which the limb's search does not use.
"""

import math
from dataclasses import replace

import numpy as np
import pytest

import posable as ps
import posable.math as pm
from posable.body.collision.clearance import clearance
from posable.limits import Limits

from .test_limb import inside

UPPER, LOWER = 0.31, 0.26
PARTS = {"right_hand": "right_arm", "left_hand": "left_arm", "right_foot": "right_leg", "left_foot": "left_leg"}
CLOSEST = (ps.Status.UNREACHABLE, ps.Status.LIMITS)


def all_around(seed: int, count: int, length: float, least: float = 0.3, most: float = 1.6) -> np.ndarray:
    """(count, 3) [m] in all directions, from `least` to `most` lengths away."""
    rng = np.random.default_rng(seed)
    n = rng.normal(size=(count, 3))
    return n / np.linalg.norm(n, axis=-1, keepdims=True) * rng.uniform(least, most, (count, 1)) * length


def random_postures(limb: ps.Limb, seed: int, count: int) -> np.ndarray:
    """(N, 7) random postures inside the human limits, the wrist straight."""
    values = np.random.default_rng(seed).uniform(-1, 1, (count, 7)) * [2.5, 2.5, 2.5, 2.8, 0, 0, 0]
    values[:, 3] = np.abs(values[:, 3]) * limb.packed["flex"][0]
    return values[inside(limb.name, values)]


def ball_gap(limb: ps.Limb, values: np.ndarray, centre: np.ndarray, radius: float) -> np.ndarray:
    """(N,) [m] from the two capsules of a limb by itself to a ball; below 0 where they overlap."""
    frames = limb.forward(values)
    gaps = []
    for start, end, length in ((np.zeros_like(frames.mid), frames.mid, UPPER), (frames.mid, frames.end, LOWER)):
        r, along = length / 7.0, (end - start) / length
        t = np.clip(np.sum((centre - start) * along, axis=-1), r, length - r)
        gaps.append(np.linalg.norm(centre - start - t[:, None] * along, axis=-1) - r - radius)
    return np.minimum(*gaps)


BALLS = (((0.25, -0.2, 0.2), 0.08), ((-0.1, 0.25, 0.15), 0.1), ((0.05, 0.05, 0.42), 0.07))


@pytest.mark.parametrize("name", ["right_arm", "left_leg"])
def test_a_closest_posture_keeps_out_of_balls_and_is_near_the_best_that_does(name):
    limb = ps.Limb(name, UPPER, LOWER, limits=Limits.human())
    scene = ps.Scene()
    for k, (centre, radius) in enumerate(BALLS):
        scene.sphere(f"ball {k}", radius, centre)
    targets = all_around(1, 300, limb.length)
    told = limb.solve(targets, scene=scene)
    gap = np.min([ball_gap(limb, told.values, np.array(c), r) for c, r in BALLS], axis=0)
    np.testing.assert_array_equal(told.penetrates, gap < 0.0)
    np.testing.assert_allclose(told.penetration, np.maximum(-gap, 0.0), atol=1e-9)
    closest = np.isin(told.status, CLOSEST)
    blind = limb.solve(targets)
    moved = closest & (np.abs(told.values - blind.values).max(axis=-1) > 1e-9)
    assert moved.sum() > 10 and not told.penetrates[closest].any()
    assert inside(name, told.values).all()
    np.testing.assert_allclose(
        told.position_error, np.linalg.norm(limb.forward(told.values).end - targets, axis=-1), atol=1e-9
    )
    samples = random_postures(limb, 2, 60_000)
    clear = samples[np.min([ball_gap(limb, samples, np.array(c), r) for c, r in BALLS], axis=0) >= 0.0]
    ends = limb.forward(clear).end
    best = np.array([np.linalg.norm(ends - target, axis=-1).min() for target in targets[moved]])
    assert len(clear) > 500
    assert (told.position_error[moved] - best < 0.02).all()


@pytest.mark.parametrize("rig", ["makehuman/default.mhskel", "captured"])
def test_rigs_with_crooked_bones_say_what_their_whole_pose_touches(rig, data_dir):
    """Joints along a bone, and captured rotations, put volumes elsewhere than the search has them."""
    if rig == "captured":
        motion = ps.load(data_dir / "cmu" / "49_06.bvh")
        body, pose = ps.Humanoid(motion.skeleton), motion.pose[455]
    else:
        body = ps.Humanoid(ps.load(data_dir / "characters" / rig).skeleton)
        pose = body.neutral_pose
    whole, frames = clearance(body), body.skeleton.forward(pose)
    assert not whole.touches(frames)
    unseen = left = 0
    for seed, (part, name) in enumerate(PARTS.items()):
        limb = body.limb(name)
        targets = frames.positions[limb.packed["base"][0]] + all_around(seed + 20, 100, limb.length, 0.2, 1.5)
        told = body.place(pose, part, ps.Target(targets), self_collision=True)
        deep = whole.depth(body.skeleton.forward(told.pose))
        touches = deep > 1e-7
        assert not touches[told.ok].any()
        assert told.penetrates[touches].all()
        np.testing.assert_allclose(told.penetration[touches], deep[touches], rtol=0, atol=1e-6)
        blind = limb.place(pose, ps.Target(targets), self_collision=True, measure=False)
        wrong = (whole.depth(body.skeleton.forward(blind.pose)) > 1e-7) & ~blind.penetrates
        unseen, left = unseen + int(wrong.sum()), left + int((wrong & touches).sum())
        end = body.skeleton.forward(told.pose).positions[:, body.index(part)]
        np.testing.assert_allclose(told.position_error, np.linalg.norm(end - targets, axis=-1), rtol=0, atol=1e-9)
    assert unseen > 3 and left < 0.3 * unseen  # the search alone does not see them, and most get out


@pytest.mark.parametrize("rig", ["figure", "CesiumMan.glb", "KayKit_Knight.glb"])
def test_no_closest_posture_of_a_body_lies_in_the_body(rig, request):
    body = ps.figure()
    if rig != "figure":
        body = ps.Humanoid(ps.load(request.getfixturevalue("data_dir") / "characters" / rig).skeleton)
    pose, rng = body.neutral_pose, np.random.default_rng(3)
    whole, frames = clearance(body), body.skeleton.forward(body.neutral_pose)
    count = blind_hits = 0
    for seed, (part, name) in enumerate(PARTS.items()):
        limb = body.limb(name)
        targets = frames.positions[limb.packed["base"][0]] + all_around(seed, 60, limb.length)
        orientations = pm.exp(rng.normal(size=(60, 3)) * 0.7)
        for target in (ps.Target(targets), ps.Target(targets, orientations)):
            told = body.place(pose, part, target, self_collision=True)
            touches = whole.touches(body.skeleton.forward(told.pose))
            np.testing.assert_array_equal(told.penetrates, touches)
            np.testing.assert_array_equal(told.penetration > 0.0, touches)
            closest = np.isin(told.status, CLOSEST)
            assert not touches[closest].any() and not touches[told.ok].any()
            blind = body.place(pose, part, target)
            blind_hits += int(whole.touches(body.skeleton.forward(blind.pose))[closest].sum())
            count += int(closest.sum())
    assert blind_hits > 0.05 * count


def test_a_hand_folded_onto_its_own_arm_is_a_collision(data_dir):
    """Large hands on short arms: the swivel search does not look at the limb against itself."""
    body = ps.Humanoid(ps.load(data_dir / "characters" / "KayKit_Knight.glb").skeleton)
    limb = body.limb("right_leg")
    at = body.skeleton.forward(body.neutral_pose).positions[limb.packed["base"][0]]
    targets = at + all_around(5, 400, limb.length, 0.2, 0.9)
    told = body.place(body.neutral_pose, "right_foot", ps.Target(targets), self_collision=True)
    own = {"right_upper_leg", "right_lower_leg", "right_foot", "right_toes"}
    folded = [
        set(pair) <= own
        for k in np.flatnonzero(told.status == ps.Status.COLLISION)
        for pair in clearance(body).touching(body.skeleton.forward(told.pose[k]))
    ]
    assert any(folded)
    only_own = replace(limb.obstacles(body.neutral_pose), rows=limb.obstacles(body.neutral_pose).rows[:, :0].copy())
    near = limb.solve(all_around(6, 600, limb.length, 0.2, 0.6), obstacles=only_own)
    assert (near.penetrates & (near.status == ps.Status.COLLISION)).any() and not near.penetrates[near.ok].any()
    assert told.penetrates[told.status == ps.Status.COLLISION].all()


def test_no_targets_among_obstacles_are_no_answers():
    body = ps.figure()
    told = body.place(body.neutral_pose, "left_hand", ps.Target(np.zeros((0, 3))), self_collision=True)
    assert told.status.shape == told.penetration.shape == (0,)


def test_where_no_posture_is_free_the_solution_says_so():
    """A ball around the whole limb: nothing to be done, and no silence about it."""
    limb = ps.Limb("right_arm", UPPER, LOWER, limits=Limits.human())
    told = limb.solve([0.9, 0.2, 0.3], scene=ps.Scene().sphere("dough", 2.0, (0.0, 0.0, 0.0)))
    assert told.status == ps.Status.UNREACHABLE and told.penetrates and told.penetration > 1.0


def test_one_target_is_answered_as_in_a_batch():
    body = ps.figure()
    limb = body.limb("left_leg")
    at = body.skeleton.forward(body.neutral_pose).positions[limb.packed["base"][0]]
    targets = at + all_around(7, 30, limb.length)
    many = body.place(body.neutral_pose, "left_foot", ps.Target(targets), self_collision=True)
    for k, target in enumerate(targets):
        one = body.place(body.neutral_pose, "left_foot", ps.Target(target), self_collision=True)
        np.testing.assert_array_equal(one.pose.rotations, many.pose.rotations[k])
        assert one.status == many.status[k] and bool(one.penetrates) == many.penetrates[k]
        assert float(one.penetration) == many.penetration[k]


def test_a_leg_in_a_cage_stays_in_it():
    """Little room around where it stands, none elsewhere: the pose it comes from is a start of the search."""
    body = ps.figure()
    cage, frames = ps.Scene(), body.skeleton.forward(body.neutral_pose)
    foot, hip = frames.positions[body.index("left_foot")], frames.positions[body.index("left_upper_leg")]
    for k, angle in enumerate(np.arange(16) * math.pi / 8):
        cage.capsule(f"bar {k}", 0.03, 0.5, foot + 0.32 * np.array([math.cos(angle), 0.8, math.sin(angle)]))
    assert body.place(body.neutral_pose, "left_foot", ps.Target(foot), scene=cage).ok
    targets = hip + all_around(8, 60, body.limb("left_leg").length)
    told = body.place(body.neutral_pose, "left_foot", ps.Target(targets), scene=cage)
    others = clearance(body, ("right_leg", "left_arm", "right_arm"), self_collision=False)
    np.testing.assert_array_equal(others.touches(body.skeleton.forward(told.pose), cage), told.penetrates)
    closest = np.isin(told.status, CLOSEST)
    assert closest.sum() > 20 and not told.penetrates[closest].any()


def test_a_mesh_is_kept_out_of_too():
    pytest.importorskip("coal")
    body = ps.figure()
    limb = body.limb("right_arm")
    at = body.skeleton.forward(body.neutral_pose).positions[limb.packed["base"][0]]
    corners = np.array([[x, y, z] for x in (-0.06, 0.06) for y in (-0.4, 0.4) for z in (-0.06, 0.06)])
    faces = np.array(
        [[0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1], [2, 3, 7], [2, 7, 6], [0, 2, 6]]
    )
    faces = np.concatenate([faces, [[0, 6, 4], [1, 5, 7], [1, 7, 3]]])
    pillar = ps.Scene().mesh("pillar", corners, faces, position=at - (0.15, 0.0, -0.3))
    far = ps.Target(at - (0.5, 0.0, -1.0))
    told = body.place(body.neutral_pose, "right_hand", far, scene=pillar)
    blind = body.place(body.neutral_pose, "right_hand", far)
    counted = clearance(body, self_collision=False)
    assert counted.touches(body.skeleton.forward(blind.pose), pillar)
    assert told.status == ps.Status.UNREACHABLE and not told.penetrates
    assert not counted.touches(body.skeleton.forward(told.pose), pillar)
    assert told.position_error < blind.position_error + 0.25


# A learned range and the limits together


def seen_swivel(limb: ps.Limb, values: np.ndarray) -> np.ndarray:
    """(N,) [rad] of postures, from where the elbow is on the circle that swivels 0 and 90 degrees span."""
    free = ps.Limb(limb.name, limb.upper, limb.lower)
    frames = free.forward(values)
    n = frames.end / np.linalg.norm(frames.end, axis=-1, keepdims=True)

    def across(mid: np.ndarray) -> np.ndarray:
        return mid - n * np.sum(mid * n, axis=-1, keepdims=True)

    u, v = (across(free.forward(free.solve(frames.end, swivel=angle).values).mid) for angle in (0.0, math.pi / 2))
    w = across(frames.mid)
    return np.arctan2(np.sum(w * v, axis=-1), np.sum(w * u, axis=-1))


def narrow(limb: ps.Limb) -> ps.LimbRange:
    """A range learned from few postures, half of them outside the limits: little is inside both."""
    samples = random_postures(limb, 11, 4000)[:60]
    values = np.concatenate([samples + np.random.default_rng(k).normal(size=samples.shape) * 0.1 for k in range(12)])
    values[:, 4:] = 0.0
    values[:, 3] = np.abs(values[:, 3]) * limb.packed["flex"][0]
    frames = limb.forward(values)
    return ps.LimbRange.from_examples(limb.name, frames.end, seen_swivel(limb, values), limb.upper, limb.lower)


@pytest.mark.parametrize("name", ["right_arm", "left_arm", "right_leg", "left_leg"])
@pytest.mark.parametrize("kind", ["table", "harmonics", "narrow"])
def test_a_posture_inside_the_limits_and_the_range_is_found(name, kind):
    """In every case in which sampling 60 000 postures finds one that is not further from its target."""
    limb = ps.Limb(name, UPPER, LOWER, limits=Limits.human())
    found = narrow(limb) if kind == "narrow" else ps.LimbRange.builtin(name, limb)
    found = found.compact() if kind == "harmonics" else found
    targets = all_around(12, 200, limb.length, 0.2, 1.3)
    told = limb.solve(targets, limb_range=found)
    ends = limb.forward(told.values).end
    in_range = found.contains(ends, seen_swivel(limb, told.values))
    np.testing.assert_array_equal(told.in_range, in_range)
    np.testing.assert_array_equal(told.in_limits, inside(name, told.values))
    np.testing.assert_allclose(told.position_error, np.linalg.norm(ends - targets, axis=-1), atol=1e-9)
    assert not (told.ok & ~in_range).any() and told.in_limits.all()
    samples = random_postures(limb, 13, 60_000)
    both = samples[found.contains(limb.forward(samples).end, seen_swivel(limb, samples))]
    assert len(both) > 10
    near = limb.forward(both).end
    best = np.array([np.linalg.norm(near - target, axis=-1).min() for target in targets])
    assert not (~in_range & (best <= told.position_error)).any()


def test_a_range_without_any_posture_inside_the_limits_is_said_to_be_left():
    """A hand behind the back at an impossible swivel."""
    limb = ps.Limb("right_arm", UPPER, LOWER, limits=Limits.human())
    rng = np.random.default_rng(14)
    behind = np.array([-0.3, 0.25, -0.1]) + rng.normal(size=(400, 3)) * 0.01
    found = ps.LimbRange.from_examples("right_arm", behind, np.full(400, -2.5), UPPER, LOWER)
    told = limb.solve([0.3, -0.2, 0.2], limb_range=found)
    assert told.status == ps.Status.LIMITS and not told.in_range and told.in_limits
    assert inside("right_arm", told.values[None]).all()


def test_a_body_among_things_keeps_to_its_range_too():
    body = ps.figure()
    limb = body.limb("right_arm")
    found = ps.LimbRange.builtin("right_arm", limb)
    at = body.skeleton.forward(body.neutral_pose).positions[limb.packed["base"][0]]
    targets = at + all_around(15, 60, limb.length)
    told = body.place(body.neutral_pose, "right_hand", ps.Target(targets), self_collision=True, limb_range=found)
    frames = body.skeleton.forward(told.pose)
    reading = limb.read(told.pose, frames)
    np.testing.assert_array_equal(found.contains(reading.position, reading.swivel), told.in_range)
    np.testing.assert_array_equal(clearance(body).touches(frames), told.penetrates)
    closest = np.isin(told.status, CLOSEST)
    assert told.in_range[closest].all() and not told.penetrates[closest].any()
