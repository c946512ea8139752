"""The built-in motions are alive and possible: feet stay put, knees and elbows bend one way, loops close."""

from dataclasses import replace

import numpy as np
import pytest

import posable.math as pm
from posable import samples
from posable.body import MEASURES, Humanoid, figure
from posable.body.collision.clearance import SelfCollision
from posable.body.measures import sole_of, sole_points
from posable.compute import PosableError
from posable.formats import load
from posable.limits import Limits
from posable.samples.curves import bump, curve, eased, pulse, quintic

DEGREE = np.pi / 180.0
CLOSED = ("walk", "run", "boxing", "reach", "dance")
SIDES = ("left", "right")
HAND = ("lower_arm", "wrist", "palm", "index", "middle", "ring", "little", "thumb")


@pytest.fixture(scope="module")
def body():
    return figure()


@pytest.fixture(scope="module")
def motions(body):
    return {name: getattr(samples, name)(body) for name in samples.NAMES}


def soles(body, motion, side):
    """World places (F, 3) of heel, ball and toe tip; the ball is the point of the toes' part below their joint."""
    frames = body.skeleton.forward(motion.pose)
    foot = body.index(f"{side}_foot")
    toes = body.roles.get(f"{side}_toes", foot)
    rear, tip = sole_points(body, side)
    down = pm.rotate(pm.conjugate(body.skeleton.forward(body.neutral_pose).orientations[toes]), [0.0, -1.0, 0.0])
    ball = (toes, down * sole_of(body, side).hinge) if toes != foot else (foot, rear[1])
    points = {"heel": (foot, rear[0]), "ball": ball, "tip": (toes, tip[0])}
    return {
        name: frames.positions[:, joint] + pm.rotate(frames.orientations[:, joint], local)
        for name, (joint, local) in points.items()
    }


def hinge_angles(body, motion, role):
    """Flexion (F,) and the rest of the rotation (F,) [rad] of a knee, or of an elbow without the forearm's turn."""
    rotation = body.canonical(motion.pose).rotation(role)
    if role.endswith("arm"):
        rotation, _ = pm.swing_twist(rotation, (0.0, -1.0, 0.0))
    vector = pm.log(rotation) * (1.0 if role.endswith("leg") else -1.0)
    return vector[:, 0], np.linalg.norm(vector[:, 1:], axis=-1)


def yaw(body, motion, role):
    world = body.canonical(motion.pose).world()[:, body.canonical(motion.pose).index(role)]
    ahead = pm.rotate(world, [0.0, 0.0, 1.0])
    return np.unwrap(np.arctan2(ahead[:, 0], ahead[:, 2]))


def test_their_names_are_known():
    assert samples.NAMES == ("walk", "run", "boxing", "reach", "dance", "throw")
    assert samples.walk(duration=0.1).name == "walk"


@pytest.mark.parametrize("name", samples.NAMES)
def test_feet_never_go_through_the_floor(body, motions, name):
    mesh = body.volumes.tessellated(12)
    frames = body.skeleton.forward(motions[name].pose)
    for side in SIDES:
        for point in soles(body, motions[name], side).values():
            assert point[:, 1].min() > -1e-4
    for k in range(0, len(motions[name]), 5):
        turned = pm.rotate(frames.orientations[k, mesh.joints], mesh.vertices)
        assert (frames.positions[k, mesh.joints] + turned)[:, 1].min() > -1e-4


@pytest.mark.parametrize("name", samples.NAMES)
def test_feet_do_not_slide_while_they_are_down(body, motions, name):
    stands = 0
    for side in SIDES:
        points = soles(body, motions[name], side)
        for point in (points["heel"], points["ball"]):
            low = point[:, 1] < 2e-4
            down = low[:-2] & low[1:-1] & low[2:]
            speed = np.linalg.norm((point[2:] - point[:-2])[:, [0, 2]], axis=-1) * motions[name].fps / 2
            stands += np.count_nonzero(down)
            assert speed[down].max(initial=0.0) < 0.01
            assert speed[down].sum() / max(np.count_nonzero(down), 1) < 5e-4
    assert stands > 0.3 * len(motions[name])


@pytest.mark.parametrize("name", samples.NAMES)
def test_knees_and_elbows_bend_one_way_only_and_never_lock(body, motions, name):
    for side in SIDES:
        flexion, off_axis = hinge_angles(body, motions[name], f"{side}_lower_leg")
        assert flexion.min() > 5 * DEGREE and flexion.max() < 150 * DEGREE
        assert off_axis.max() < 1e-6
        flexion, off_axis = hinge_angles(body, motions[name], f"{side}_lower_arm")
        assert flexion.min() > 5 * DEGREE and flexion.max() < 150 * DEGREE
        assert off_axis.max() < 1e-6


@pytest.mark.parametrize("name", samples.NAMES)
def test_postures_are_inside_human_limits(body, motions, name):
    limits, canonical = Limits.human(), body.canonical(motions[name].pose)
    inside = [
        limits.contains(role, canonical.rotation(role)).mean() for role in canonical.roles if role in limits.names
    ]
    # A thrower's shoulder lies back further than other people's: nine frames in ten are inside.
    assert np.mean(inside) > (0.99 if name == "throw" else 0.9999)
    assert min(inside) > (0.85 if name == "throw" else 0.999)


@pytest.mark.parametrize("name", samples.NAMES)
@pytest.mark.parametrize("height", [0.9, 1.75, 2.1])
def test_the_motions_keep_out_of_their_own_body(name, height):
    body = figure(height)
    motion = getattr(samples, name)(body, fps=120)  # between the frames of a usual rate as well
    frames = body.skeleton.forward(motion.pose)
    assert SelfCollision.of(body).touching(frames) == []
    hands = [k for k, volume in enumerate(body.volumes.names) if any(part in volume for part in HAND)]
    each = [[k for k in hands if body.volumes.names[k].startswith(side)] for side in SIDES]
    wanted = np.zeros((len(body.volumes.names),) * 2, np.bool_)
    wanted[np.ix_(*each)] = True  # random poses bring few of these together: they are not all among the learned pairs
    both = replace(SelfCollision.of(body), tested=wanted | wanted.T)
    assert len(both.pairs) >= 100 and both.touching(frames) == []


@pytest.mark.parametrize("name", samples.NAMES)
def test_nothing_jumps_from_frame_to_frame(body, motions, name):
    motion = motions[name]
    step = pm.angle(motion.pose.rotations[:-1], motion.pose.rotations[1:])
    assert step.max() * motion.fps < 40.0  # rad/s: a thrower's elbow; everything else is far below
    positions = body.skeleton.forward(motion.pose).positions
    slow = {
        "hips": 20.0,
        "head": 30.0,
        "left_foot": 120.0,
        "right_foot": 120.0,
        "left_hand": 350.0,
        "right_hand": 350.0,
    }
    for role, most in slow.items():
        acceleration = np.diff(positions[:, body.index(role)], 2, axis=0) * motion.fps**2
        assert np.linalg.norm(acceleration, axis=-1).max() < most, role


@pytest.mark.parametrize("name", CLOSED)
def test_after_the_last_frame_comes_the_first_again(body, motions, name):
    motion = motions[name]
    rotations = motion.pose.rotations
    seam = pm.angle(rotations[-1], rotations[0])
    usual = pm.angle(rotations[:-1], rotations[1:]).max(axis=0)
    assert np.all(seam <= 1.05 * usual + 1e-6)
    if name in ("boxing", "reach", "dance"):
        assert np.linalg.norm(motion.pose.translation[-1] - motion.pose.translation[0]) < 0.02


@pytest.mark.parametrize("name", samples.NAMES)
def test_a_smaller_body_makes_the_same_motion_smaller(name):
    large, small = figure(1.8), figure(0.9)
    first, second = (getattr(samples, name)(b, duration=0.5) for b in (large, small))
    if name in ("walk", "run"):  # shorter legs swing faster: compare at equal phases
        second = getattr(samples, name)(small, duration=0.5 * np.sqrt(0.5), fps=60.0 * np.sqrt(2.0))
    count = min(len(first), len(second))
    assert pm.angle(first.pose.rotations[:count], second.pose.rotations[:count]).max() < 1e-6
    np.testing.assert_allclose(first.pose.translation[:count], 2.0 * second.pose.translation[:count], atol=1e-6)


@pytest.mark.parametrize("name", samples.NAMES)
def test_duration_and_rate_are_what_was_asked_for(body, name):
    make = getattr(samples, name)
    motion = make(body, duration=1.5, fps=30)
    assert len(motion) == 46 and motion.fps == 30 and motion.duration == pytest.approx(1.5)
    finer = make(body, duration=1.5, fps=120)
    np.testing.assert_allclose(finer.pose.translation[::4], motion.pose.translation, atol=1e-9)
    assert len(make(body, duration=0.0)) == 1
    with pytest.raises(PosableError, match="duration"):
        make(body, duration=-1.0)
    with pytest.raises(PosableError, match="fps"):
        make(body, fps=0.0)


@pytest.mark.parametrize("name", samples.NAMES)
def test_the_same_motion_comes_out_every_time(body, motions, name):
    again = getattr(samples, name)(body)
    np.testing.assert_array_equal(again.pose.rotations, motions[name].pose.rotations)


@pytest.mark.parametrize("name", ["walk", "run", "boxing", "throw"])
@pytest.mark.parametrize("clip", ["17_10.bvh", "02_01.bvh"])
def test_captured_bodies_stand_on_the_floor_in_them(cmu, clip, name):
    body = Humanoid(load(cmu / clip, repair="cmu").skeleton)
    motion = getattr(samples, name)(body)
    for side in SIDES:
        heights = np.stack([point[:, 1] for point in soles(body, motion, side).values()])
        assert heights.min() > -1e-3
        assert np.mean(heights.min(axis=0) < 1e-3) > 0.25
        flexion, off_axis = hinge_angles(body, motion, f"{side}_lower_leg")
        assert flexion.min() > 1 * DEGREE and off_axis.max() < 1e-6


def odd_body(seed):
    """A figure of any height whose measures are each up to 12 % off the usual proportions."""
    rng = np.random.default_rng([7, seed])
    height = rng.uniform(0.6, 2.3)
    names = rng.choice(list(MEASURES), rng.integers(0, 5), replace=False)
    return figure(height, **{str(name): MEASURES[name] * height * rng.uniform(0.88, 1.12) for name in names})


def stands_and_bends_well(body, motion):
    for side in SIDES:
        points = soles(body, motion, side)
        assert min(float(point[:, 1].min()) for point in points.values()) > -1e-3
        for point in (points["heel"], points["ball"]):
            low = point[:, 1] < 2e-4
            down = low[:-2] & low[1:-1] & low[2:]
            speed = np.linalg.norm((point[2:] - point[:-2])[:, [0, 2]], axis=-1) * motion.fps / 2
            assert speed[down].sum() / max(np.count_nonzero(down), 1) < 2e-3
        for part in ("lower_leg", "lower_arm"):
            flexion, off_axis = hinge_angles(body, motion, f"{side}_{part}")
            assert flexion.min() > 1 * DEGREE and off_axis.max() < 1e-6
    assert motion.pose.is_finite()


@pytest.mark.parametrize("seed", range(6))
def test_bodies_of_other_proportions_stand_and_bend_as_well(seed):
    body = odd_body(seed)
    for name in samples.NAMES:
        stands_and_bends_well(body, getattr(samples, name)(body, fps=30))


@pytest.mark.soak
@pytest.mark.parametrize("part", range(10))
def test_hundreds_of_bodies_stand_and_bend_as_well(part, drawn):
    for seed in range(1000 + 50 * part, 1000 + 50 * part + drawn(50)):
        body = odd_body(seed)
        for name in samples.NAMES:
            stands_and_bends_well(body, getattr(samples, name)(body))


def test_after_the_throw_it_goes_on_standing(body):
    motion = samples.throw(body, duration=120.0, fps=1.0)
    np.testing.assert_allclose(motion.pose.rotations[-1], motion.pose.rotations[5], atol=1e-9)


# What makes a walk a walk


def contact_phases(body, motion, side):
    points = soles(body, motion, side)
    return np.minimum(points["heel"][:, 1], points["ball"][:, 1]) < 1e-4


def test_a_walk_always_has_a_foot_on_the_floor_and_often_both(body, motions):
    left, right = (contact_phases(body, motions["walk"], side) for side in SIDES)
    assert (left | right).all()
    assert 0.15 < (left & right).mean() < 0.33
    assert left.mean() == pytest.approx(0.62, abs=0.04)


def test_a_run_leaves_the_floor_twice_a_cycle(body, motions):
    left, right = (contact_phases(body, motions["run"], side) for side in SIDES)
    air = ~(left | right)
    assert 0.15 < air.mean() < 0.40
    assert not (left & right).any()
    assert np.count_nonzero(air[1:] & ~air[:-1]) == pytest.approx(12, abs=1)


def test_the_walks_knee_follows_the_published_curve(body, motions):
    motion = motions["walk"]
    flexion, _ = hinge_angles(body, motion, "left_lower_leg")
    phase = np.arange(len(motion)) / (len(motion) / 4) % 1.0
    order = np.argsort(phase)
    curve_of_a_cycle = np.interp(np.linspace(0, 1, 21), phase[order], flexion[order]) / DEGREE
    # Winter 1991, natural cadence, every 5 % of the stride.
    winter = [4, 9, 15, 18, 17, 15, 11, 8, 6, 7, 11, 20, 34, 50, 61, 63, 57, 42, 22, 6, 4]
    assert np.corrcoef(curve_of_a_cycle, winter)[0, 1] > 0.93
    assert 58 < curve_of_a_cycle.max() < 70 and 0.68 < np.argmax(curve_of_a_cycle) / 20 < 0.82


@pytest.mark.parametrize("name", ["walk", "run"])
def test_shoulders_turn_against_the_pelvis_and_arms_against_legs(body, motions, name):
    motion = motions[name]
    pelvis, chest, head = (yaw(body, motion, role) for role in ("hips", "upper_chest", "head"))
    assert np.corrcoef(pelvis, chest)[0, 1] < -0.9
    assert np.ptp(head) < 0.35 * np.ptp(chest)
    positions = body.skeleton.forward(motion.pose).positions
    ahead = positions[:, :, 2] - positions[:, body.index("hips"), 2][:, None]
    for one, other in (("left", "right"), ("right", "left")):
        hand, foot = ahead[:, body.index(f"{one}_hand")], ahead[:, body.index(f"{other}_foot")]
        assert np.corrcoef(hand, foot)[0, 1] > 0.8


def test_the_pelvis_is_highest_over_the_standing_leg_and_sways_towards_it(body, motions):
    motion = motions["walk"]
    hips = body.skeleton.forward(motion.pose).positions[:, body.index("hips")]
    phase = np.arange(len(motion)) / (len(motion) / 4) % 1.0
    single, double = (phase > 0.2) & (phase < 0.4), (phase < 0.1)
    assert hips[single, 1].mean() > hips[double, 1].mean() + 0.015
    assert hips[single, 0].mean() > 0.005  # the left leg stands: towards +X
    assert 0.02 < np.ptp(hips[:, 1]) < 0.06


def test_speeds_are_a_persons(motions):
    for name, low, high in (("walk", 1.1, 1.5), ("run", 2.7, 3.6)):
        motion = motions[name]
        way = motion.pose.translation[-1, 2] - motion.pose.translation[0, 2]
        assert low < way / motion.duration < high


def test_a_throw_goes_from_the_hips_over_the_shoulders_to_the_hand(body, motions):
    motion = motions["throw"]
    times = motion.times[:-1]
    window = (times > 1.2) & (times < 2.0)

    def fastest(signal):
        rate = np.abs(np.diff(signal, axis=0))
        rate = rate if rate.ndim == 1 else np.linalg.norm(rate, axis=-1)
        return times[window][np.argmax(rate[window])]

    hand = body.skeleton.forward(motion.pose).positions[:, body.index("right_hand")]
    pelvis, chest = (fastest(yaw(body, motion, role)) for role in ("hips", "upper_chest"))
    assert pelvis < chest < fastest(hand)
    speed = np.linalg.norm(np.diff(hand, axis=0), axis=-1).max() * motion.fps
    assert 8.0 < speed < 25.0
    moved = motion.pose.translation[-1] - motion.pose.translation[0]
    assert moved[2] > 0.4  # it steps into the throw


def test_boxing_throws_straight_and_round_punches_and_keeps_a_guard(body, motions):
    motion = motions["boxing"]
    positions = body.skeleton.forward(motion.pose).positions
    chin = positions[:, body.index("head")] + [0.0, -0.08, 0.1]
    reach = {side: positions[:, body.index(f"{side}_hand"), 2] - chin[:, 2] for side in SIDES}
    assert all(out.max() > 0.45 for out in reach.values())
    away = [np.linalg.norm(positions[:, body.index(f"{side}_hand")] - chin, axis=-1) for side in SIDES]
    assert np.minimum(*away).max() < 0.37  # wrist to chin: whatever one hand does, the other is up


def test_reaching_goes_up_down_left_and_behind(body, motions):
    positions = body.skeleton.forward(motions["reach"].pose).positions
    left, right = (positions[:, body.index(f"{side}_hand")] for side in SIDES)
    head = positions[:, body.index("head"), 1]
    assert (right[:, 1] - head).max() > 0.1 and left[:, 1].min() < 0.45
    assert right[:, 0].max() > 0.35 and left[:, 2].min() < -0.15


# Curves


def test_curves_pass_through_their_knots_and_close():
    knots, values = np.array([0.0, 0.3, 0.7, 0.9]), np.array([0.0, 1.0, -0.5, 0.2])
    for make in (curve, eased):
        np.testing.assert_allclose(make(knots, knots, values), values, atol=1e-12)
        np.testing.assert_allclose(make(knots + 3.0, knots, values, period=1.0), values, atol=1e-9)
        seam = make(np.array([1.0 - 1e-7, 1.0 + 1e-7]), knots, values, period=1.0)
        assert abs(seam[1] - seam[0]) < 1e-5


def test_eased_curves_do_not_overshoot_and_have_no_jump_in_acceleration():
    knots, values = np.array([0.0, 0.3, 0.7, 1.0]), np.array([0.0, 1.0, 1.0, 0.4])
    t = np.linspace(-0.2, 1.2, 5601)
    y = eased(t, knots, values)
    assert y.min() >= -1e-9 and y.max() <= 1.0 + 1e-9
    second = np.diff(y, 2) / (t[1] - t[0]) ** 2
    assert np.abs(np.diff(second)).max() < 0.02 * np.abs(second).max()


def test_quintics_join_two_states():
    start, end = (
        (np.array([1.0]), np.array([2.0]), np.array([-3.0])),
        (np.array([0.5]), np.array([-1.0]), np.array([4.0])),
    )
    s, h = np.array([0.0, 1e-4, 2e-4, 1 - 2e-4, 1 - 1e-4, 1.0]), 1e-4 * 0.8
    y = quintic(s[:, None], 0.8, start, end)[:, 0]
    assert y[0] == pytest.approx(1.0) and y[-1] == pytest.approx(0.5)
    assert (y[1] - y[0]) / h == pytest.approx(2.0, abs=1e-3) and (y[-1] - y[-2]) / h == pytest.approx(-1.0, abs=1e-3)
    assert (y[2] - 2 * y[1] + y[0]) / h**2 == pytest.approx(-3.0, abs=0.1)


def test_bumps_and_pulses_rise_to_one_and_return():
    s = np.linspace(0, 1, 1001)
    for crest in (0.2, 0.5, 0.8):
        y = bump(s, crest)
        assert y.max() == pytest.approx(1.0, abs=1e-6) and abs(s[np.argmax(y)] - crest) < 2e-3 and y[0] == y[-1] == 0
    t = np.linspace(0, 4, 801)
    y = pulse(t, 0.2, 0.5, 0.5, hold=0.1, period=4.0)
    assert y[40] == 1.0 and y[0] == pytest.approx(y[-1]) and y[400] == 0.0
