"""`AutoPose`: what was dragged is met, the rest does what people do, and nothing leaps."""

import numpy as np
import pytest

import posable as ps
import posable.math as pm
from tests.body.bodies import file_body, plan_body
from tools.measure_leaps import leaps, rig_of

RIGS = ("MakeHuman", "VRM", "CMU")
DRAGS = {
    "head": {"head": (0.05, -0.15, 0.1)},
    "hands": {"left_hand": (0.1, 0.4, 0.3), "right_hand": (-0.05, 0.2, 0.25)},
    "head and hands": {"head": (0.0, -0.25, 0.15), "left_hand": (0.1, 0.2, 0.4), "right_hand": (-0.1, -0.1, 0.3)},
    "hips": {"hips": (0.05, -0.2, 0.0)},
    "foot and elbow": {"right_foot": (-0.05, 0.25, 0.2), "left_lower_arm": (0.1, 0.1, 0.05)},
    "knee and chest": {"left_lower_leg": (0.05, 0.1, 0.12), "chest": (0.0, -0.02, 0.04)},
}
"""Displacements from the neutral pose [of the joint height]."""
OTHER = 0.15  # of the joint height: a hand that nobody touched moves less


@pytest.fixture(scope="module")
def body():
    return ps.figure()


@pytest.fixture(scope="module")
def auto(body):
    return ps.AutoPose(body)


def places(body, pose):
    """Role to where it is [m], by forward kinematics alone."""
    positions = body.skeleton.forward(pose).positions
    return {role: positions[joint] for role, joint in body.roles.items()}


def dragged(body, pose, drags):
    was = places(body, pose)
    return {role: was[role] + body.joint_height * np.array(by) for role, by in drags.items()}


def inside_limits(body, pose):
    posture = body.canonical(pose)
    roles = [role for role in posture.roles if role in body.limits]
    rotations = posture.rotations[[posture.roles.index(role) for role in roles]]
    return body.limits.contains(roles, rotations, 1e-6).all()


@pytest.mark.parametrize("rig", ["figure", *RIGS])
def test_what_was_dragged_is_met_inside_the_limits_on_any_rig(rig, body, auto, request):
    if rig != "figure":
        body = file_body(request.getfixturevalue("data_dir"), rig)
        auto = ps.AutoPose(body)
    for name, drags in DRAGS.items():
        targets = dragged(body, body.neutral_pose, drags)
        answer = auto.solve(targets)
        there = places(body, answer.pose)
        away = max(np.linalg.norm(there[role] - target) for role, target in targets.items())
        assert answer.ok == (away < 1e-6) and answer.position_error == pytest.approx(away, abs=1e-12), name
        assert answer.ok, (name, answer)
        assert away < 0.05 and inside_limits(body, answer.pose), name


def test_orientations_are_met_too(body, auto):
    was = places(body, body.neutral_pose)
    bow, palm = pm.axis_angle([1.0, 0.0, 0.0], 0.4), pm.axis_angle([1.0, 0.0, 0.0], -1.2)
    targets = {
        "head": ps.Target(was["head"] + [0.0, -0.1, 0.1], bow),
        "right_hand": ps.Target(was["right_hand"] + [0.0, 0.3, 0.35], palm),
    }
    answer = auto.solve(targets)
    frames = body.skeleton.forward(answer.pose)
    for role, target in targets.items():
        assert np.linalg.norm(frames.positions[body.index(role)] - target.position) < 1e-6
        assert pm.angle(body.canonical_orientation(frames, body.index(role)), target.orientation) < 1e-6
    assert answer.ok and set(answer.orientation_errors) == set(targets)


@pytest.mark.parametrize("sample", ["walk", "boxing", "dance"])
def test_parts_that_are_where_they_were_leave_the_body_as_it_was(sample, body, auto):
    motion = getattr(ps.samples, sample)(body)
    for pose in motion.pose[:: len(motion) // 6]:
        was, there = places(body, pose), None
        for drags in DRAGS.values():
            there = places(body, auto.solve({role: was[role] for role in drags}, pose).pose)
            assert max(np.linalg.norm(there[role] - was[role]) for role in was) < 2e-3


def dragged_along(auto, path, start=None):
    """The answers to a drag: path holds the targets of each step, and each step goes on from the one before it."""
    answers, before = [], None
    for targets in path:
        before = auto.solve(targets, start, before)
        answers.append(before)
    return answers


def steps(body, answers):
    """The longest step of any part in each step of a drag [joint heights]."""
    found = np.array([[*places(body, answer.pose).values()] for answer in answers])
    return np.linalg.norm(np.diff(found, axis=0), axis=-1).max(axis=-1) / body.joint_height


@pytest.mark.parametrize("part", ["head", "right_hand", "hips"])
def test_it_is_continuous_while_a_part_is_dragged(part, body, auto):
    """Nothing leaps on long paths: not where hips pass a held hand, so that its elbow has to change over, either."""
    was, by = places(body, body.neutral_pose), {"head": (0.1, -0.4, 0.3), "right_hand": (-0.2, 0.9, 0.6)}
    by["hips"] = (0.1, -0.4, 0.6)
    held = {"left_hand": was["left_hand"] + (0.1, 0.15, 0.4)}
    for count in (60, 120):
        path = [held | {part: was[part] + s * np.array(by[part])} for s in np.linspace(0.0, 1.0, count + 1)]
        answers = dragged_along(auto, path)
        # Three times as far as the part itself, half a hundredth on top, and what brings parts exactly to their places.
        most = 3.0 * np.linalg.norm(by[part]) / count / body.joint_height + 0.005 + 0.02
        assert steps(body, answers).max() < most, (count, steps(body, answers).max())
        assert np.mean([answer.ok for answer in answers]) > 0.5


def test_a_hand_that_comes_near_its_own_shoulder_turns_nothing_over(body, auto):
    was = places(body, body.neutral_pose)
    to = 1.3 * (was["right_upper_arm"] - was["right_hand"]) + [0.0, 0.0, 0.02]
    path = [{"hips": was["hips"], "right_hand": was["right_hand"] + s * to} for s in np.linspace(0.0, 1.0, 121)]
    assert steps(body, dragged_along(auto, path)).max() < 0.035


@pytest.mark.parametrize("rig", ["figure", "MakeHuman", "VRM", "CesiumMan", "mixamo"])
def test_nothing_leaps_in_drags_drawn_at_random_where_hardly_any_target_can_be_met(rig, data_dir):
    body = rig_of(rig, data_dir)
    auto = ps.AutoPose(body)
    found = np.concatenate([leaps(body, auto, seed)[0] for seed in (3, 16, 19)])
    assert found.max() < 0.06 and np.percentile(found, 95) < 0.04, (found.max(), np.percentile(found, 95))
    if rig == "figure":  # they are hard: without the step before, parts leap
        assert leaps(body, auto, 16, alone=True)[0].max() > 0.15


@pytest.mark.parametrize("rig", ["figure", *RIGS])
def test_a_hand_dragged_there_and_back_leaves_the_body_where_it_was(rig, body, auto, request):
    if rig != "figure":
        body = file_body(request.getfixturevalue("data_dir"), rig)
        auto = ps.AutoPose(body)
    was, by = places(body, body.neutral_pose), body.joint_height * np.array([0.1, 0.6, 0.5])
    there = np.concatenate([np.linspace(0.0, 1.0, 40), np.linspace(1.0, 0.0, 40)])
    answer = dragged_along(auto, [{"head": was["head"], "right_hand": was["right_hand"] + s * by} for s in there])[-1]
    now = places(body, answer.pose)
    assert max(np.linalg.norm(now[role] - was[role]) for role in was) < 0.02 * body.joint_height


@pytest.mark.parametrize("rig", ["figure", *RIGS])
def test_one_hand_lifts_neither_the_other_nor_chest_and_head(rig, body, auto, request):
    if rig != "figure":
        body = file_body(request.getfixturevalue("data_dir"), rig)
        auto = ps.AutoPose(body)
    was, frames = places(body, body.neutral_pose), body.skeleton.forward(body.neutral_pose)
    for by in ((0.0, 0.3, 0.35), (-0.3, 0.4, 0.1)):
        answer = auto.solve({"right_hand": was["right_hand"] + body.joint_height * np.array(by)})
        now, there = places(body, answer.pose), body.skeleton.forward(answer.pose)
        assert answer.ok and np.linalg.norm(now["left_hand"] - was["left_hand"]) < OTHER * body.joint_height
        for role in ("chest", "head"):
            angle = pm.angle(there.orientations[body.index(role)], frames.orientations[body.index(role)])
            assert np.degrees(angle) < 20.0, (rig, role, by)


def test_an_answer_before_that_is_of_another_body_is_refused_and_one_that_failed_is_left_out(body, auto):
    target = {"head": places(body, body.neutral_pose)["head"] - [0.0, 0.2, 0.0]}
    failed = auto.solve({"head": (np.nan, 0.0, 0.0)})
    np.testing.assert_array_equal(auto.solve(target, before=failed).pose.rotations, auto.solve(target).pose.rotations)
    other = ps.Humanoid(plan_body("mixamo").skeleton)
    with pytest.raises(ps.ShapeError, match="before"):
        auto.solve(target, before=ps.AutoPose(other).solve({"head": (0.0, 1.4, 0.1)}))


MASKS = (
    ("head", "left_hand", "right_hand"),
    ("head",),
    ("right_hand",),
    ("left_hand", "right_hand"),
    ("hips", "left_hand"),
    ("right_foot",),
    ("head", "left_foot"),
    ("head", "left_hand", "right_hand", "left_foot", "right_foot"),
    ("left_lower_arm", "head"),
    ("hips", "head", "left_hand", "right_hand"),
    ps.MARKERS,
)


def moments(body):
    """Role to where it is [m] in moments of motions, above where the body stands and facing as it does."""
    was, out, feet = places(body, body.neutral_pose), [], ("left_foot", "right_foot")
    for name in ("walk", "boxing", "dance", "run", "throw"):
        motion = getattr(ps.samples, name)(body)
        frames = [body.skeleton.forward(motion[k]) for k in range(0, len(motion), len(motion) // 8)]
        ground = np.median([min(f.positions[body.index(foot), 1] for foot in feet) for f in frames])
        for f in frames:
            ahead = pm.rotate(body.canonical_orientation(f, body.index("hips")), [0.0, 0.0, 1.0])
            back = pm.axis_angle([0.0, 1.0, 0.0], -np.arctan2(ahead[0], ahead[2]))
            middle = f.positions[body.index("hips")] * [1.0, 0.0, 1.0] + [0.0, ground, 0.0]
            here = was["hips"] * [1.0, 0.0, 1.0] + [0.0, min(was[foot][1] for foot in feet), 0.0]
            out.append(
                {role: pm.rotate(back, f.positions[joint] - middle) + here for role, joint in body.roles.items()}
            )
    return out


@pytest.mark.parametrize("rig", ["figure", *RIGS, "KayKit knight"])
def test_small_drags_make_small_changes_on_any_rig(rig, body, auto, request):
    """Targets go from one pose that people have to another, by half a hundredth of the height of the head a step."""
    if rig != "figure":
        body = file_body(request.getfixturevalue("data_dir"), rig)
        auto = ps.AutoPose(body)
    was, known, rng = places(body, body.neutral_pose), moments(body), np.random.default_rng(3)
    largest, reached = [], []
    for mask in MASKS:
        there = known[rng.integers(len(known))]
        far = max(np.linalg.norm(there[role] - was[role]) for role in mask)
        count = max(int(far / (0.005 * body.joint_height)), 2)
        first = rng.integers(max(count - 12, 1))
        fractions = np.arange(first, min(first + 12, count) + 1) / count
        path = [{role: was[role] + s * (there[role] - was[role]) for role in mask} for s in fractions]
        answers = dragged_along(auto, path)
        assert all(inside_limits(body, answer.pose) for answer in answers), mask
        largest += steps(body, answers).tolist()
        reached += [answer.ok for answer in answers]
    assert max(largest) < 0.05 and np.percentile(largest, 95) < 0.025, (max(largest), np.percentile(largest, 95))
    assert np.mean(reached) > 0.97


def test_legs_that_are_nearly_straight_are_not_twisted_over(body, auto):
    """A millimetre of the head moves no part by much; knees that were taken for bent backwards turned it by 9 cm."""
    was = places(body, body.neutral_pose)
    hand = was["left_hand"] + [0.1, 0.15, 0.4]
    drags = [was["head"] + k / 480.0 * np.array([0.1, -0.4, 0.3]) for k in range(2, 28)]
    found = np.array([body.skeleton.forward(auto.solve({"left_hand": hand, "head": p}).pose).positions for p in drags])
    assert np.linalg.norm(np.diff(found, axis=0), axis=-1).max() < 0.04


def test_feet_stand_until_people_would_step(body, auto):
    was = places(body, body.neutral_pose)
    crouch = auto.solve({"head": was["head"] + [0.0, -0.4, 0.15]})
    for foot in ("left_foot", "right_foot"):
        assert np.linalg.norm(places(body, crouch.pose)[foot] - was[foot]) < 1e-3
    assert set(crouch.planted) == {"left_foot", "right_foot"}
    away = auto.solve({"head": was["head"] + [0.0, 0.0, 1.0]})
    there = places(body, away.pose)
    assert away.ok and away.planted == ()
    for foot in ("left_foot", "right_foot"):
        assert there[foot][2] - was[foot][2] > 0.5 and abs(there[foot][1] - was[foot][1]) < 0.02
    lifted = auto.solve({"right_foot": was["right_foot"] + [0.0, 0.3, 0.2]})
    assert lifted.planted == ("left_foot",)
    free = ps.AutoPose(body, plant_feet=False).solve({"head": was["head"] + [0.0, 0.1, 0.0]})
    assert free.ok and free.planted == ()


def test_feet_that_targets_pull_along_are_not_said_to_stand(body, auto):
    was = places(body, body.neutral_pose)
    for drags in (
        {"right_toes": (0.0, 0.5, 0.9)},
        {"right_lower_leg": (0.1, 0.3, 0.4)},
        {"spine": (0.9, 0.6, 0.0)},
        {"left_lower_leg": (0.0, 0.0, 0.15), "hips": (0.0, 0.05, 0.0)},
        {"head": (0.0, -0.2, 0.1)},
    ):
        answer = auto.solve({role: was[role] + np.array(by) for role, by in drags.items()})
        there = places(body, answer.pose)
        stays = [f for f in ("left_foot", "right_foot") if np.linalg.norm(there[f] - was[f]) < 0.01]
        assert set(answer.planted) <= set(stays), (drags, answer.planted)
    assert set(answer.planted) == {"left_foot", "right_foot"}


def test_it_depends_on_targets_alone_and_not_on_what_was_asked_before(body, auto):
    targets = dragged(body, body.neutral_pose, DRAGS["head and hands"])
    once = auto.solve(targets)
    for drags in DRAGS.values():
        auto.solve(dragged(body, body.neutral_pose, drags))
    np.testing.assert_array_equal(auto.solve(targets).pose.rotations, once.pose.rotations)
    released = auto.solve({role: target for role, target in targets.items() if role != "head"})
    assert np.linalg.norm(places(body, released.pose)["head"] - targets["head"]) > 0.05


def test_a_world_that_is_moved_and_turned_gives_the_same_body(body, auto):
    q, shift = pm.axis_angle([0.0, 1.0, 0.0], 2.1), np.array([3.0, 0.0, -2.0])
    start = ps.samples.boxing(body)[20]
    turned = start.rotations.copy()
    turned[0] = pm.multiply(q, turned[0])
    there = ps.Pose(pm.rotate(q, start.translation) + shift, turned)
    # Of a head alone, with feet that may go anywhere, nothing but the start says where the body faces.
    for solver, drags in ((auto, "head and hands"), (ps.AutoPose(body, plant_feet=False), "head")):
        targets = dragged(body, start, DRAGS[drags])
        one = solver.solve(targets, start)
        other = solver.solve({role: pm.rotate(q, p) + shift for role, p in targets.items()}, there)
        expected = pm.rotate(q, body.skeleton.forward(one.pose).positions) + shift
        np.testing.assert_allclose(body.skeleton.forward(other.pose).positions, expected, atol=1e-5)


def test_what_cannot_be_met_comes_as_near_as_limits_allow(body, auto):
    was = places(body, body.neutral_pose)
    for targets in (
        {"hips": was["hips"], "left_hand": was["hips"] + [5.0, 0.0, 0.0]},
        {"head": was["head"], "hips": was["head"] + [0.0, 2.0, 0.0]},
        {role: np.zeros(3) for role in body.roles},
    ):
        answer = auto.solve(targets)
        assert answer.status in (ps.Status.UNREACHABLE, ps.Status.LIMITS) and inside_limits(body, answer.pose)
        assert np.isfinite(answer.pose.rotations).all() and np.isfinite(answer.pose.translation).all()


def test_hostile_input_is_answered_or_refused(body, auto):
    was = places(body, body.neutral_pose)
    for position in ((np.nan, 0.0, 0.0), (np.inf, 0.0, 0.0), (1e300, 0.0, 0.0)):
        answer = auto.solve({"head": position})
        assert answer.status == ps.Status.INVALID and answer.errors["head"] == np.inf
        np.testing.assert_array_equal(answer.pose.rotations, body.neutral_pose.rotations)
    assert auto.solve({"head": ps.Target(was["head"], np.zeros(4))}).status == ps.Status.INVALID
    np.testing.assert_array_equal(auto.solve({}).pose.rotations, body.neutral_pose.rotations)
    start = body.neutral_pose
    torn = ps.Pose(start.translation, start.rotations, np.full((len(body.skeleton), 3), np.nan))
    answer = auto.solve({"head": was["head"]}, torn)
    assert answer.status == ps.Status.INVALID and np.isfinite(answer.pose.rotations).all()
    with pytest.raises(ps.UnknownNameError, match="nose"):
        auto.solve({"nose": was["head"]})
    with pytest.raises(ps.ShapeError, match="head"):
        auto.solve({"head": [1.0, 2.0]})
    with pytest.raises(ps.ShapeError, match="start"):
        auto.solve({"head": was["head"]}, ps.samples.walk(body).pose)
    with pytest.raises(ps.PosableError, match="pole"):
        auto.solve({"left_hand": ps.Target(was["left_hand"], pole=was["head"])})


@pytest.mark.parametrize("clip", ["13_29", "49_06"])
def test_it_is_nearer_to_what_people_did_than_a_body_that_is_left_where_it_was(clip, cmu):
    """Two moments of people whom the prior never saw: some parts of the second, from the pose of the first."""
    motion = ps.load(cmu / f"{clip}.bvh", repair="cmu", first_frame=1)
    body = ps.Humanoid(motion.skeleton)
    auto, joints = ps.AutoPose(body), list(body.roles.values())
    for mask in (("head", "left_hand", "right_hand"), ("right_hand",), ps.MARKERS):
        left, posed = [], []
        for frame in np.linspace(0, len(motion) - 61, 8).astype(int).tolist():
            was, there = (motion.skeleton.forward(motion[k]).positions for k in (frame, frame + 60))
            found = auto.solve({role: there[body.index(role)] for role in mask}, motion[frame])
            left.append(np.linalg.norm(was - there, axis=-1)[joints].mean())
            moved = motion.skeleton.forward(found.pose).positions
            posed.append(np.linalg.norm(moved - there, axis=-1)[joints].mean())
        assert np.mean(posed) < np.mean(left), mask
        if mask == ps.MARKERS:
            assert np.mean(posed) < 0.25 * np.mean(left)
