"""The behaviours that come with Posable: a person who reaches, in three moods, on any body."""

from functools import cache

import numpy as np
import pytest

import posable as ps
import posable.math as pm
from posable.compute import UnknownNameError
from posable.reach.examples import EXAMPLES, TRUNK
from tests.body.bodies import file_body

FEET = ("left_foot", "right_foot")
BOX = np.array([[-1.6, 0.0, -1.1], [1.2, 2.3, 1.5]])  # [m] around the figure: more than it can reach
SEGMENTS = (  # from, to, where between, share of the body's mass (de Leva 1996, rounded)
    ("hips", "spine", 0.2, 0.12),
    ("spine", "neck", 0.55, 0.32),
    ("neck", "head", 1.3, 0.07),
    ("upper_arm", "lower_arm", 0.5, 0.027),
    ("lower_arm", "hand", 0.6, 0.022),
    ("upper_leg", "lower_leg", 0.41, 0.142),
    ("lower_leg", "foot", 0.44, 0.043),
    ("foot", "toes", 0.5, 0.014),
)


@pytest.fixture(scope="module")
def body():
    return ps.figure()


@pytest.fixture(scope="module", params=EXAMPLES)
def style(request):
    return request.param


def places(body, pose, *parts):
    frames = body.skeleton.forward(pose)
    joints = [body.index(part) for part in parts]
    return frames.positions[..., joints, :], frames.orientations[..., joints, :]


def check_reaches(body, answer, goals, start, hand="right_hand", limited=None):
    """Hands on their targets, feet held, everything finite; the parts of `limited`, or all, inside their limits."""
    ok = np.asarray(answer.ok)
    assert np.linalg.norm(places(body, answer.pose, hand)[0][:, 0] - goals, axis=-1)[ok].max(initial=0.0) < 1e-9
    before, after = places(body, start, *FEET), places(body, answer.pose, *FEET)
    assert np.abs(after[0] - before[0]).max() < 1e-9
    assert pm.angle(after[1], np.broadcast_to(before[1], after[1].shape)).max() < 1e-9
    assert np.isfinite(answer.pose.rotations).all() and np.isfinite(answer.pose.translation).all()
    posture = body.canonical(answer.pose)
    for role in limited or posture.roles:
        if role in body.limits:
            assert body.limits.contains(role, posture.rotation(role), 1e-6).all(), role


def swings(behaviour, count, seed=0):
    """(count, 2) swings inside the ellipse, [rad]."""
    rng = np.random.default_rng(seed)
    angle, size = rng.uniform(0, 2 * np.pi, count), np.sqrt(rng.uniform(0, 1, count))
    around = np.stack([np.cos(angle), np.sin(angle)], axis=-1) * size[:, None]
    return behaviour.ellipse.centre + around * behaviour.ellipse.radii


def targets_at(body, swing, distance):
    """Places in the world in these directions from the right shoulder of the neutral pose."""
    angle = np.linalg.norm(swing, axis=-1, keepdims=True)
    x, y = (swing / angle * np.sin(angle)).T
    direction = np.stack([-np.cos(angle[:, 0]), -x, y], axis=-1)  # the arm's frame: z to the right, y up, x ahead
    return places(body, body.neutral_pose, "right_upper_arm")[0][0] + direction * distance


def turned(body, pose, part):
    """(F - 1,) by how much a part turned from frame to frame [rad]."""
    q = body.canonical(pose).rotation(part)
    return np.linalg.norm(pm.log(pm.multiply(pm.conjugate(q[:-1]), q[1:])), axis=-1)


def test_hands_are_on_their_targets_and_feet_stay(body, style):
    goals = np.random.default_rng(0).uniform(*BOX, (4000, 3))
    answer = ps.Reacher(body, right=ps.Behaviour.example(style)).solve(right=ps.Target(goals))
    assert answer.ok.mean() > 0.05
    check_reaches(body, answer, goals, body.neutral_pose)


@pytest.mark.soak
def test_hundred_thousand_hands_are_on_their_targets_and_feet_stay(body, style, drawn):
    blocks = drawn(10, each=20_000)
    for side in ("right", "left"):
        reacher = ps.Reacher(body, **{side: ps.Behaviour.example(style, f"{side}_arm")})
        for block in range(blocks):
            goals = np.random.default_rng([1, block]).uniform(*BOX, (10_000, 3))
            goals *= [1.0 if side == "right" else -1.0, 1.0, 1.0]
            answer = reacher.solve(**{side: ps.Target(goals)})
            check_reaches(body, answer, goals, body.neutral_pose, f"{side}_hand")


def test_the_reachable_volume_grows_by_more_than_a_third(body):
    goals = ps.Target(np.random.default_rng(1).uniform(*BOX, (5_000, 3)))
    arm = body.place(body.neutral_pose, "right_hand", goals, self_collision=True).ok.mean()
    for name, least in (("normal", 1.9), ("tired", 4 / 3), ("energetic", 1.9)):
        for extend in (False, True):
            reacher = ps.Reacher(body, right=ps.Behaviour.example(name), extend=extend)
            assert reacher.solve(right=goals).ok.mean() > least * arm, (name, extend)


def test_whatever_some_weight_reaches_is_reached_but_at_the_rim(body, style):
    """Targets ahead, 1.1 to 1.3 arm lengths away: nearly all that any weight of the behaviour reaches."""
    rng, arm = np.random.default_rng(11), body.limb("right_arm")
    directions = rng.normal(size=(900, 3))
    directions = directions[directions[:, 2] > 0.5 * np.linalg.norm(directions, axis=-1)]
    directions /= np.linalg.norm(directions, axis=-1, keepdims=True)
    shoulder = places(body, body.neutral_pose, "right_upper_arm")[0][0]
    goals = ps.Target(shoulder + directions * arm.length * rng.uniform(1.1, 1.3, (len(directions), 1)))
    reacher = ps.Reacher(body, right=ps.Behaviour.example(style))
    possible = np.any([reacher.solve(right=goals, weight=w).ok for w in np.linspace(0.0, 1.0, 21)], axis=0)
    reached = reacher.solve(right=goals).ok
    assert possible.mean() > 0.6
    assert reached[possible].mean() > 0.9


def test_an_arm_that_is_long_enough_reaches_alone(body, style):
    """Ahead and within 0.65 arm lengths nothing but the arm moves, and the head does not drop."""
    arm = body.limb("right_arm")
    reacher = ps.Reacher(body, right=ps.Behaviour.example(style))
    goals = targets_at(
        body, swings(reacher.right, 400), np.random.default_rng(2).uniform(0.2, 0.65, (400, 1)) * arm.length
    )
    goals = goals[goals[:, 2] > places(body, body.neutral_pose, "right_upper_arm")[0][0, 2]]
    answer = reacher.solve(right=ps.Target(goals))
    assert len(goals) > 200 and (answer.weight == 0.0).all()
    moved = (
        places(body, answer.pose, "head", "hips", "left_hand")[0]
        - places(body, body.neutral_pose, "head", "hips", "left_hand")[0]
    )
    assert np.abs(moved).max() == 0.0


@pytest.mark.parametrize("name", [None, "MakeHuman", "CesiumMan", "CMU"])
def test_a_cup_on_a_table_is_no_reason_to_crouch(data_dir, name):
    """40 cm ahead at the height of a table: the head stays well above the hand and drops by less than a fifth of the
    stature; a floor takes the whole body.
    """
    body = ps.figure() if name is None else file_body(data_dir, name)
    size = body.height / 1.75
    figure = ps.figure()
    feet = places(body, body.neutral_pose, *FEET)[0].mean(axis=0)
    stood = places(figure, figure.neutral_pose, *FEET)[0].mean(axis=0)
    reacher = ps.Reacher(body, right=ps.Behaviour.example("normal", body=body))
    standing = places(body, body.neutral_pose, "head")[0][0]
    drops = []
    for cup in ((-0.15, 0.85, 0.4), (-0.15, 0.35, 0.4)):
        answer = reacher.solve(right=feet + (np.array(cup) - stood) * size)
        head, hand = places(body, answer.pose, "head", "right_hand")[0]
        assert answer.ok and answer.reason == ps.Status.REACHED
        drops.append((standing[1] - head[1]) / body.height)
        if cup[1] > 0.5:
            assert (head[1] - hand[1]) / body.height > 0.22
    assert drops[0] < 0.15 and drops[1] > 2.0 * drops[0]


def check_calm(body, behaviour, paths, seed):
    """Straight ways in steps of a millimetre: no driven joint turns by 10 mrad in one of them."""
    reacher = ps.Reacher(body, right=behaviour)
    for i in range(paths):
        rng = np.random.default_rng([seed, i])
        start, end = rng.uniform(*BOX, (2, 3))
        length = np.linalg.norm(end - start)
        way = start + (end - start) / length * 1e-3 * np.arange(int(length * 1e3))[:, None]
        pose = reacher.solve(right=ps.Target(way)).pose
        for part in behaviour.parts:
            assert turned(body, pose, part).max() < 1e-2, (part, i)


def test_driven_joints_turn_less_than_ten_milliradians_for_a_millimetre(body, style):
    check_calm(body, ps.Behaviour.example(style), 4, 0)


@pytest.mark.soak
def test_driven_joints_turn_less_than_ten_milliradians_for_a_millimetre_on_many_ways(body, style, drawn):
    check_calm(body, ps.Behaviour.example(style), drawn(300), 1)


def test_every_blend_stands_at_any_weight_inside_the_limits_with_no_part_of_it_taken_back(body, style):
    behaviour = ps.Behaviour.example(style)
    reacher = ps.Reacher(body, right=behaviour)
    goals = targets_at(body, swings(behaviour, 800), 0.6)
    for weight in (0.1, 0.35, 0.7, 1.0):
        answer = reacher.solve(right=ps.Target(goals), weight=weight)
        assert not answer.lowered.any()
        assert np.allclose(answer.weight, weight)
        check_reaches(body, answer, goals, body.neutral_pose)
        posture = body.canonical(answer.pose)
        for part in behaviour.parts:  # without help of the clamp: what the tables say is possible
            if part != "hips":
                assert body.limits.contains(part, posture.rotation(part), 0.0).all(), part


def test_the_body_is_balanced_over_its_feet(body, style):
    behaviour = ps.Behaviour.example(style)
    goals = targets_at(body, swings(behaviour, 1000), np.random.default_rng(3).uniform(0.3, 1.4, (1000, 1)))
    pose = ps.Reacher(body, right=behaviour).solve(right=ps.Target(goals)).pose
    centre, mass = 0.0, 0.0
    for first, last, at, share in SEGMENTS:
        for side in (
            ("left_", "right_") if first in ("upper_arm", "lower_arm", "upper_leg", "lower_leg", "foot") else ("",)
        ):
            ends = places(body, pose, f"{side}{first}", f"{side}{last}")[0]
            centre, mass = centre + share * (ends[:, 0] + at * (ends[:, 1] - ends[:, 0])), mass + share
    centre = centre / mass
    ankle, toes = places(body, body.neutral_pose, "left_foot", "left_toes")[0]
    assert np.abs(centre[:, 0]).max() < ankle[0] + 0.04
    assert centre[:, 2].min() > ankle[2] - 0.05
    assert centre[:, 2].max() < toes[2]


def test_knees_bend_forwards(body, style):
    behaviour = ps.Behaviour.example(style)
    goals = targets_at(body, swings(behaviour, 1000), 1.0)
    pose = ps.Reacher(body, right=behaviour).solve(right=ps.Target(goals), weight=1.0).pose
    for side in ("left", "right"):
        hip, knee, ankle = np.moveaxis(
            places(body, pose, f"{side}_upper_leg", f"{side}_lower_leg", f"{side}_foot")[0], 1, 0
        )
        assert (knee[:, 2] > 0.5 * (hip + ankle)[:, 2] + 0.02).all()


def test_a_hand_can_stay_where_it_hangs_and_go_to_the_floor(body):
    hangs = places(body, body.neutral_pose, "right_hand")[0][0]
    for name in EXAMPLES:
        assert ps.Reacher(body, right=ps.Behaviour.example(name)).solve(right=ps.Target(hangs)).ok, name
    floor = [-0.2, 0.2, 0.45]  # a wrist so low that the fingers touch it
    for name in ("normal", "energetic"):
        assert ps.Reacher(body, right=ps.Behaviour.example(name)).solve(right=ps.Target(floor)).ok, name


def test_moods_show():
    """Low ahead: the tired bow with straighter knees and hanging heads, the energetic crouch upright, arm flung."""
    body, goal = ps.figure(), [-0.15, 0.5, 0.55]
    found = {}
    for name in EXAMPLES:
        pose = ps.Reacher(body, right=ps.Behaviour.example(name)).solve(right=ps.Target(goal)).pose
        posture = body.canonical(pose)
        chest, head = (pm.rotate(places(body, pose, part)[1][0], [0.0, 1.0, 0.0]) for part in ("upper_chest", "head"))
        free = np.diff(places(body, pose, "left_upper_arm", "left_hand")[0], axis=0)[0]
        found[name] = (pm.angle(posture.rotation("left_lower_leg"), [1.0, 0, 0, 0]), chest[1], head[1], free[1])
    knee, chest, head, free = (dict(zip(EXAMPLES, column, strict=True)) for column in zip(*found.values(), strict=True))
    assert knee["tired"] < knee["normal"] < knee["energetic"]
    assert chest["tired"] < chest["normal"] < chest["energetic"]
    assert head["tired"] < head["normal"] < head["energetic"]
    assert free["tired"] < free["normal"] < free["energetic"]  # dangles, or balances


def test_the_left_arm_mirrors_the_right_one(body, style):
    goals = np.random.default_rng(5).uniform(*BOX, (500, 3))
    flip = np.array([-1.0, 1.0, 1.0])
    right = ps.Reacher(body, right=ps.Behaviour.example(style)).solve(right=ps.Target(goals))
    left = ps.Reacher(body, left=ps.Behaviour.example(style, "left_arm")).solve(left=ps.Target(goals * flip))
    assert np.array_equal(right.ok, left.ok)
    for part in ("hips", "head", "upper_chest"):
        assert np.abs(places(body, right.pose, part)[0] - places(body, left.pose, part)[0] * flip).max() < 1e-9


@cache  # the same for each style: an arm alone takes ten seconds on a body with many joints
def targets_around(data_dir, name):
    """Places around a body of any size, and the share of them that its arm reaches alone."""
    body, figure = file_body(data_dir, name), ps.figure()
    size = body.leg_length / figure.leg_length
    facing = pm.multiply(places(body, body.neutral_pose, "hips")[1][0], pm.conjugate(body.neutral_orientation("hips")))
    feet = places(body, body.neutral_pose, *FEET)[0].mean(axis=0)
    stood = places(figure, figure.neutral_pose, *FEET)[0].mean(axis=0)
    around = np.random.default_rng(7).uniform(*BOX, (2000, 3))
    goals = feet + pm.rotate(facing, (around - stood) * size)
    return goals, body.place(body.neutral_pose, "right_hand", ps.Target(goals), self_collision=True).ok.mean()


@pytest.mark.parametrize("name", ["CMU", "MakeHuman", "VRM"])
def test_they_work_on_other_bodies(data_dir, name, style):
    body = file_body(data_dir, name)
    behaviour = ps.Behaviour.example(style, body=body)
    assert set(behaviour.parts) <= set(body.roles)
    goals, alone = targets_around(data_dir, name)
    answer = ps.Reacher(body, right=behaviour).solve(right=ps.Target(goals))
    check_reaches(body, answer, goals, body.neutral_pose)
    assert answer.ok.mean() > 4 / 3 * alone
    assert answer.lowered.mean() < 0.2  # thicker thighs stop a dangling arm sooner
    # No leg is asked for more than it has. (On crooked bones a correction may not settle at one weight in thousands.)
    short = answer.reason == ps.Status.UNREACHABLE
    assert short.mean() < 2e-3 and (answer.right.requested_weight - answer.weight)[short].max(initial=0.0) < 1e-3


def test_trunks_of_fewer_joints_bend_as_far(body):
    roles = {role: body.skeleton.names[joint] for role, joint in body.roles.items() if role != "upper_chest"}
    whole = ps.Behaviour.example("normal")
    fewer = ps.Behaviour.example("normal", body=ps.Humanoid(body.skeleton, roles=roles))
    assert "upper_chest" not in fewer.parts
    for key in whole.keys:
        bend, other = (
            sum(pm.angle(posture.rotation(part), [1.0, 0.0, 0.0, 0.0]) for part in posture.parts if part in TRUNK)
            for posture in (whole.posture(key.id), fewer.posture(key.id))
        )
        assert bend == pytest.approx(other, abs=1e-12)


def test_unknown_moods_and_limbs_are_told():
    with pytest.raises(UnknownNameError, match="energetic"):
        ps.Behaviour.example("sleepy")
    with pytest.raises(UnknownNameError, match="left_arm"):
        ps.Behaviour.example("tired", "left_leg")
