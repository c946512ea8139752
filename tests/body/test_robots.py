"""Robots as bodies: who is who by the tree alone, canonical rotations as people's, poses inside the limits."""

import re
from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import posable as ps
import posable.math as pm
from posable.body import Humanoid
from posable.body.roles import LIMBS
from posable.compute import PosableError
from posable.formats import read_robot
from posable.skeleton import Skeleton

from .robots import CONVENTIONS, FILES, disguised, made, robot_file

PARTS = {  # what each file's joints are, read from its names and its drawings by a person
    "g1": {
        "hips": ["pelvis"],
        "chest": ["waist_yaw_joint", "waist_roll_joint", "waist_pitch_joint"],
        "left_upper_arm": ["left_shoulder_pitch_joint", "left_shoulder_roll_joint", "left_shoulder_yaw_joint"],
        "left_lower_arm": ["left_elbow_joint"],
        "left_hand": ["left_wrist_roll_joint", "left_wrist_pitch_joint", "left_wrist_yaw_joint"],
        "left_upper_leg": ["left_hip_pitch_joint", "left_hip_roll_joint", "left_hip_yaw_joint"],
        "left_lower_leg": ["left_knee_joint"],
        "left_foot": ["left_ankle_pitch_joint", "left_ankle_roll_joint"],
    },
    "h1": {
        "hips": ["pelvis"],
        "chest": ["torso"],
        "left_upper_arm": ["left_shoulder_pitch", "left_shoulder_roll", "left_shoulder_yaw"],
        "left_lower_arm": ["left_elbow"],
        "left_upper_leg": ["left_hip_yaw", "left_hip_roll", "left_hip_pitch"],
        "left_lower_leg": ["left_knee"],
        "left_foot": ["left_ankle"],
    },
    "t1": {  # the root is the chest; "Elbow_Pitch" turns the upper arm, "Elbow_Yaw" is the elbow
        "hips": ["Waist"],
        "chest": ["Trunk"],
        "head": ["AAHead_yaw", "Head_pitch"],
        "left_upper_arm": ["Left_Shoulder_Pitch", "Left_Shoulder_Roll", "Left_Elbow_Pitch"],
        "left_lower_arm": ["Left_Elbow_Yaw"],
        "left_upper_leg": ["Left_Hip_Pitch", "Left_Hip_Roll", "Left_Hip_Yaw"],
        "left_lower_leg": ["Left_Knee_Pitch"],
        "left_foot": ["Left_Ankle_Pitch", "Left_Ankle_Roll"],
    },
    "op3": {
        "hips": ["body_link"],
        "head": ["head_pan", "head_tilt"],
        "left_upper_arm": ["l_sho_pitch", "l_sho_roll"],
        "left_lower_arm": ["l_el"],
        "left_upper_leg": ["l_hip_yaw", "l_hip_roll", "l_hip_pitch"],
        "left_lower_leg": ["l_knee"],
        "left_foot": ["l_ank_pitch", "l_ank_roll"],
    },
    "nao": {
        "hips": ["base_link_fixedjoint"],
        "head": ["HeadYaw", "HeadPitch"],
        "left_upper_arm": ["LShoulderPitch", "LShoulderRoll", "LElbowYaw"],
        "left_lower_arm": ["LElbowRoll"],
        "left_hand": ["LWristYaw"],
        "left_upper_leg": ["LHipYawPitch", "LHipRoll", "LHipPitch"],
        "left_lower_leg": ["LKneePitch"],
        "left_foot": ["LAnklePitch", "LAnkleRoll"],
    },
}
TALL = {"g1": (1.27, 1.36), "h1": (1.7, 1.85), "t1": (1.1, 1.22), "op3": (0.46, 0.55), "nao": (0.5, 0.6)}
RIGHT_OF = {"left": "right", "Left": "Right", "l_": "r_", "L": "R"}


def right(name: str) -> str:
    return re.sub(r"^(left|Left|l_|L)", lambda found: RIGHT_OF[found[1]], name)


def joints_of(body: Humanoid) -> dict[str, list[int]]:
    return {role: list(body.segments.get(role, (j,))) for role, j in body.roles.items()}


def with_values(body: Humanoid, **values: float) -> ps.Pose:
    """The robot as near to zero as its limits let it but for some joints [rad]; joints that follow others do."""
    full = np.clip(np.zeros(len(body.skeleton.dofs)), body.robot.lower, body.robot.upper)
    for name, value in values.items():
        full[body.skeleton.dofs.of(body.skeleton.index(name))] = value
    full = body.robot.coupled(full)
    assert (full >= body.robot.lower - 1e-9).all()
    assert (full <= body.robot.upper + 1e-9).all()
    return body.skeleton.from_values(full)


def random_values(body: Humanoid, rng: np.random.Generator, count: int) -> np.ndarray:
    """(count, D) values inside the limits, the root near where it stands; followers follow."""
    robot = body.robot
    low, high = np.maximum(robot.lower, -1.0), np.minimum(robot.upper, 1.0)
    return robot.coupled(rng.uniform(np.minimum(low, high), high, (count, len(low))))


def degrees_between(p: np.ndarray, q: np.ndarray) -> float:
    return float(
        np.degrees((Rotation.from_quat(np.roll(p, -1)).inv() * Rotation.from_quat(np.roll(q, -1))).magnitude())
    )


@pytest.fixture(params=list(FILES))
def name(request):
    return request.param


@pytest.fixture
def body(name, data_dir):
    return Humanoid(robot_file(data_dir, name))


# Who is who


def test_every_part_of_the_five_robots_is_the_joints_that_a_person_would_name(name, body):
    expected = PARTS[name] | {
        role.replace("left", "right"): [right(n) for n in names]
        for role, names in PARTS[name].items()
        if role.startswith("left")
    }
    found = {role: [body.skeleton.names[j] for j in joints] for role, joints in joints_of(body).items()}
    assert found == expected


@pytest.mark.parametrize("seed", range(3))
def test_names_and_order_of_joints_make_no_difference(name, body, seed, data_dir):
    other, place = disguised(robot_file(data_dir, name), seed)
    nameless = Humanoid(other)
    assert joints_of(nameless) == {role: [place[j] for j in joints] for role, joints in joints_of(body).items()}
    ours, theirs = body.canonical(body.skeleton.rest), nameless.canonical(nameless.skeleton.rest)
    np.testing.assert_allclose(np.abs((ours.rotations * theirs.rotations).sum(axis=-1)), 1.0, atol=1e-9)
    for limb in LIMBS:
        np.testing.assert_allclose(nameless.robot_parts.limbs[limb].lengths, body.robot_parts.limbs[limb].lengths)


@pytest.mark.parametrize("nameless", [False, True])
@pytest.mark.parametrize("convention", CONVENTIONS)
def test_other_robots_conventions_are_understood(convention, nameless):
    for seed in range(4):
        robot = made(convention, seed)
        skeleton, place = disguised(robot.skeleton, seed) if nameless else (robot.skeleton, range(len(robot.skeleton)))
        body = Humanoid(skeleton)
        expected = {role: [place[robot.skeleton.index(n)] for n in names] for role, names in robot.roles.items()}
        assert joints_of(body) == expected


def test_roles_that_the_caller_gives_stand(data_dir):
    skeleton = robot_file(data_dir, "g1")
    body = Humanoid(skeleton, roles={"left_hand": "left_wrist_pitch_joint", "head": None})
    assert joints_of(body)["left_hand"] == [skeleton.index(f"left_wrist_{n}_joint") for n in ("pitch", "yaw")]
    named = {f"{side}_upper_arm": f"{side}_shoulder_roll_joint" for side in ("left", "right")}
    moved = Humanoid(skeleton, roles=named)
    assert moved.roles["left_upper_arm"] == skeleton.index("left_shoulder_roll_joint")
    assert joints_of(moved)["left_shoulder"] == [skeleton.index("left_shoulder_pitch_joint")]
    with pytest.raises(PosableError, match="unknown joint"):
        Humanoid(skeleton, roles={"left_hand": "left_fist"})


def test_both_sides_are_as_long_and_lie_on_their_sides(body):
    limbs = body.robot_parts.limbs
    frames = body.skeleton.forward(body.skeleton.rest)
    for kind in ("arm", "leg"):
        left, right = limbs[f"left_{kind}"], limbs[f"right_{kind}"]
        np.testing.assert_allclose(left.lengths, right.lengths, rtol=0.02)
        for one, sign in ((left, 1.0), (right, -1.0)):
            assert (sign * np.array([frames.positions[j][0] for j in one.joints]) > 0.0).all()  # +X is left


def test_centres_lie_on_the_axes_that_move_them(body):
    """A knee is on the knee's axis; an ankle keeps its place whatever the ankle does; a bone keeps its length."""
    rng = np.random.default_rng(0)
    values = random_values(body, rng, 40)
    frames = body.skeleton.forward(body.skeleton.from_values(values))
    for limb in body.robot_parts.limbs.values():
        mid = limb.mid[0]
        knee = frames.point(limb.upper, limb.centres[1])
        axis = pm.rotate(frames.orientations[:, mid], body.skeleton.axes[mid, 0])
        off = np.cross(knee - frames.positions[:, mid], axis)
        np.testing.assert_allclose(off, 0.0, atol=1e-9)
        ankle = frames.point(limb.lower, limb.centres[2])
        np.testing.assert_allclose(np.linalg.norm(ankle - knee, axis=-1), limb.lengths[1], atol=1e-9)


def test_measures_are_a_robots_in_metres(name, body):
    low, high = TALL[name]
    assert low < body.height < high
    assert 0.35 * body.height < body.leg_length < 0.55 * body.height
    assert set(body.measures) == set(ps.figure().measures)
    assert f"{body.height:.2f} m" in repr(body)


# What is lacking is said


@pytest.mark.parametrize(
    ("robot", "said"),
    [
        ("g1", ["no head joint"]),
        ("h1", ["no head joint", "no wrists", "ankles without roll", "a waist of 1 joint"]),
        ("t1", ["no wrists", "a waist of 1 joint", "a neck of 2 joints"]),
        ("op3", ["no waist", "shoulders of 2 joints", "no wrists"]),
        ("nao", ["no waist", "it turns the forearm", "one motor moves both LHipYawPitch and RHipYawPitch"]),
    ],
)
def test_what_a_robot_lacks_is_said(robot, said, data_dir):
    lacking = "; ".join(Humanoid(robot_file(data_dir, robot)).robot_parts.lacking)
    assert all(words in lacking for words in said), lacking
    assert len(lacking.split("; ")) <= len(said) + 1


def test_estimates_are_said(data_dir):
    skeleton = robot_file(data_dir, "t1")
    bare = skeleton.replace(robot=replace(skeleton.robot, shapes=(), collisions=(), sites=()))
    parts = Humanoid(bare).robot_parts
    assert {sole.source for sole in parts.soles.values()} == {"estimate"}
    assert sum("estimated" in note for note in parts.notes) == 5  # two soles, two hands, the head
    known = Humanoid(skeleton).robot_parts
    assert not known.notes
    for side in ("left_foot", "right_foot"):
        assert 0.5 < parts.soles[side].length / known.soles[side].length < 1.5


def test_a_sole_that_the_file_shows_on_one_foot_only_is_mirrored(data_dir):
    skeleton = robot_file(data_dir, "t1")
    known = Humanoid(skeleton).robot_parts.soles
    shown = tuple(s for s in skeleton.robot.collisions if s.joint != known["right_foot"].joint)
    parts = Humanoid(skeleton.replace(robot=replace(skeleton.robot, collisions=shown))).robot_parts
    assert parts.notes == ("the sole of the right_foot is taken from the other foot: its file does not show it",)
    for corner in known["right_foot"].outline:
        assert np.linalg.norm(parts.soles["right_foot"].outline - corner, axis=-1).min() < 1e-3


def test_hands_that_the_file_does_not_show_are_a_persons(data_dir):
    """Of the G1, whose elbow and wrist are known, within a few centimetres of what its file shows."""
    skeleton = robot_file(data_dir, "g1")
    bare = skeleton.replace(robot=replace(skeleton.robot, shapes=(), collisions=(), sites=()))
    shown, guessed = (Humanoid(one).robot_parts.limbs["left_arm"] for one in (skeleton, bare))
    np.testing.assert_allclose(guessed.centres, shown.centres, atol=1e-9)
    assert np.degrees(np.arccos(guessed.tip @ shown.tip / np.linalg.norm(guessed.tip) / np.linalg.norm(shown.tip))) < 15
    assert 0.4 < guessed.reach / shown.reach < 1.2


def test_thighs_of_a_bird_face_forwards():
    """A knee that its limits let bend forwards alone is no reason to face backwards."""
    robot = made("cassie with arms").skeleton
    lower, upper = robot.robot.lower.copy(), robot.robot.upper.copy()
    for side in ("left", "right"):
        d = robot.dofs.of(robot.index(f"knee-{side}"))
        lower[d], upper[d] = -upper[d], -lower[d].copy()
    body = Humanoid(robot.replace(robot=replace(robot.robot, lower=lower, upper=upper)))
    world = body.canonical(body.skeleton.rest)
    for part in ("left_upper_leg", "right_lower_leg", "hips"):
        assert degrees_between(world.world()[world.index(part)], np.array([1.0, 0, 0, 0])) < 5.0


def quadruped() -> Skeleton:
    names, parents, offsets = ["base"], [-1], [[0.0, 0.0, 0.0]]
    for leg, x, y in (("FL", 0.3, 0.1), ("FR", 0.3, -0.1), ("RL", -0.3, 0.1), ("RR", -0.3, -0.1)):
        for k, (part, z) in enumerate((("hip", 0.0), ("thigh", 0.0), ("calf", -0.25))):
            names.append(f"{leg}_{part}")
            parents.append(len(names) - 2 if k else 0)
            offsets.append([x, y, 0.0] if k == 0 else [0.0, 0.02 * np.sign(y), z])
    axes = [[1.0, 0.0, 0.0]] + [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 1.0, 0.0]] * 4
    rests = np.tile([1.0, 0.0, 0.0, 0.0], (len(names), 1))
    rests[0] = [0.5, -0.5, -0.5, -0.5]
    kinds = ["free"] + ["hinge"] * 12
    return Skeleton(names, parents, offsets, rest_rotations=rests, kinds=kinds, axes=axes)


def test_a_body_that_is_none_is_refused_in_a_sentence_that_says_what_is_missing(data_dir):
    with pytest.raises(PosableError, match=r"stands on more than two legs \('FL_hip' and 'FR_hip'; 'RL_hip'"):
        Humanoid(quadruped())
    op3 = robot_file(data_dir, "op3")
    with pytest.raises(PosableError, match="has no two legs"):
        Humanoid(cut(op3, "r_hip_yaw"))
    with pytest.raises(PosableError, match="one pair of mirrored chains"):
        Humanoid(cut(cut(op3, "l_sho_pitch"), "r_sho_pitch"))
    with pytest.raises(PosableError, match=r"has no two legs .* wheels \(WheelFL"):
        Humanoid(read_robot(data_dir / "robots" / "pepper.urdf"))
    with pytest.raises(PosableError, match="has no two legs"):
        Humanoid(read_robot(data_dir / "robots" / "ur5.urdf"))


def cut(skeleton: Skeleton, first: str) -> Skeleton:
    """The robot without a joint and all that hangs on it."""
    gone = {skeleton.index(first)}
    for j in range(len(skeleton)):
        if int(skeleton.parents[j]) in gone:
            gone.add(j)
    kept = [j for j in range(len(skeleton)) if j not in gone]
    new = {old: k for k, old in enumerate(kept)}
    return Skeleton(
        [skeleton.names[j] for j in kept],
        [new[int(skeleton.parents[j])] if j else -1 for j in kept],
        skeleton.offsets[kept],
        rest_rotations=skeleton.rest_rotations[kept],
        kinds=[skeleton.kinds[j] for j in kept],
        axes=skeleton.axes[kept],
    )


# Canonical rotations, judged by the attitudes of a person

ATTITUDES = {
    # by robot: joint values, part: rotations about canonical axes as a person's, in order from the body outwards
    "g1": {
        "elbows bent": (
            {"left_elbow_joint": 0.0, "right_elbow_joint": 0.0},
            {"upper_arm": [], "lower_arm": [("X", -90)], "hand": [("X", -90)], "upper_leg": [], "foot": []},
        ),
        "hanging": (
            {"left_elbow_joint": np.pi / 2, "right_elbow_joint": np.pi / 2},
            {"upper_arm": [], "lower_arm": [], "hand": []},
        ),
        "leg lifted": (
            {"left_hip_pitch_joint": -1.0, "left_knee_joint": 1.2, "left_ankle_pitch_joint": -0.2},
            {
                "left_upper_leg": [("X", -57.3)],
                "left_lower_leg": [("X", 11.46)],
                "left_foot": [],
                "right_upper_leg": [],
            },
        ),
        "leg out": (
            {"left_hip_roll_joint": 0.5, "left_ankle_roll_joint": -0.2},
            {"left_upper_leg": [("Z", 28.6)], "left_lower_leg": [("Z", 28.6)]},
        ),
        "waist": (
            {"waist_yaw_joint": 0.5, "waist_pitch_joint": 0.3},
            {"chest": [("Y", 28.6), ("X", 17.2)], "hips": []},
        ),
        "arms sideways": (
            {"left_shoulder_roll_joint": np.pi / 2, "right_shoulder_roll_joint": -np.pi / 2},
            {"left_upper_arm": [("Z", 90)], "right_upper_arm": [("Z", -90)]},
        ),
    },
    "h1": {
        "elbows bent": ({}, {"upper_arm": [], "lower_arm": [("X", -90)], "upper_leg": [], "foot": []}),
        "leg lifted": (
            {"left_hip_pitch": -1.0, "left_knee": 1.2, "left_ankle": -0.2},
            {"left_upper_leg": [("X", -57.3)], "left_lower_leg": [("X", 11.46)], "left_foot": []},
        ),
        "waist": ({"torso": 0.5}, {"chest": [("Y", 28.6)]}),
    },
    "t1": {
        "arms sideways": ({}, {"left_upper_arm": [("Z", 90)], "right_lower_arm": [("Z", -90)]}),
        "elbows bent": (
            {"Left_Shoulder_Roll": -np.pi / 2, "Right_Shoulder_Roll": np.pi / 2}
            | {"Left_Elbow_Yaw": -np.pi / 2, "Right_Elbow_Yaw": np.pi / 2},
            {"upper_arm": [], "lower_arm": [("X", -90)], "hips": [], "chest": [], "head": []},
        ),
        "leg lifted": (
            {"Left_Hip_Pitch": -1.0, "Left_Knee_Pitch": 1.2, "Left_Ankle_Pitch": -0.2},
            {"left_upper_leg": [("X", -57.3)], "left_lower_leg": [("X", 11.46)], "left_foot": []},
        ),
        "waist": ({"Waist": 0.5}, {"hips": [("Y", 28.6)], "chest": [], "left_foot": [("Y", 28.6)]}),
        "head": ({"AAHead_yaw": 0.5, "Head_pitch": 0.3}, {"head": [("Y", 28.6), ("X", 17.2)]}),
    },
    "op3": {
        "arms sideways": (
            {},  # palms to the front, as where a forearm that bends goes down
            {"left_upper_arm": [("Z", 90), ("Y", -90)], "right_lower_arm": [("Z", -90), ("Y", 90)]},
        ),
        "forearms across": (  # its elbows bend only inwards when the arms hang
            {"l_sho_roll": np.pi / 2, "r_sho_roll": -np.pi / 2, "l_el": -np.pi / 2, "r_el": np.pi / 2},
            {
                "left_upper_arm": [("Y", -90)],
                "left_lower_arm": [("Y", -90), ("X", -90)],
                "right_upper_arm": [("Y", 90)],
                "right_lower_arm": [("Y", 90), ("X", -90)],
            },
        ),
        "leg lifted": (
            {"r_hip_pitch": 1.0, "r_knee": -1.2, "r_ank_pitch": -0.2},
            {"right_upper_leg": [("X", -57.3)], "right_lower_leg": [("X", 11.46)], "right_foot": []},
        ),
        "head": ({"head_pan": 0.5, "head_tilt": -0.3}, {"head": [("Y", 28.6), ("X", 17.2)]}),
    },
    "nao": {
        "elbows bent": (
            {"LShoulderPitch": np.pi / 2, "LElbowYaw": -np.pi / 2, "LElbowRoll": -1.5}
            | {"RShoulderPitch": np.pi / 2, "RElbowYaw": np.pi / 2, "RElbowRoll": 1.5},
            {"upper_arm": [], "lower_arm": [("X", -86)], "hand": [("X", -86)], "upper_leg": [], "foot": []},
        ),
        "leg lifted": (
            {"LHipPitch": -1.0, "LKneePitch": 1.2, "LAnklePitch": -0.2},
            {"left_upper_leg": [("X", -57.3)], "left_lower_leg": [("X", 11.46)], "left_foot": []},
        ),
        "head": ({"HeadYaw": 0.5, "HeadPitch": 0.3}, {"head": [("Y", 28.6), ("X", 17.2)]}),
        "wrists": (
            {"LShoulderPitch": np.pi / 2, "LElbowYaw": -np.pi / 2, "LElbowRoll": -0.035, "LWristYaw": 0.5},
            {"left_upper_arm": [], "left_lower_arm": [], "left_hand": [("Y", -28.6)]},
        ),
    },
}
# Centres of joints miss the axes by as much: G1's elbows are 16 mm before its shoulders, NAO's 15 mm beside them.
SLANTED = {"g1": 9.0, "h1": 5.0, "t1": 4.0, "op3": 1.0, "nao": 9.0}
EXACT = ("foot", "hips", "chest", "head")


@pytest.mark.parametrize(("robot", "attitude"), [(r, a) for r, attitudes in ATTITUDES.items() for a in attitudes])
def test_attitudes_are_read_as_a_persons(robot, attitude, data_dir):
    body = Humanoid(robot_file(data_dir, robot))
    values, parts = ATTITUDES[robot][attitude]
    canonical = body.canonical(with_values(body, **values))
    world = dict(zip(canonical.roles, canonical.world(), strict=True))
    figure = ps.figure()
    for part, rotations in parts.items():
        for role in [part] if part in world else [f"{side}_{part}" for side in ("left", "right")]:
            turned = np.array([1.0, 0.0, 0.0, 0.0])
            for axis, angle in rotations:
                turned = pm.multiply(turned, pm.axis_angle(np.eye(3)["XYZ".index(axis)], np.radians(angle)))
            # The built-in figure in the same attitude, its part at this orientation in the world, reads the same.
            person = figure.canonical(_oriented(figure, role, turned))
            same = dict(zip(person.roles, person.world(), strict=True)).get(role, turned)
            limit = 0.1 if role.endswith(EXACT) else SLANTED[robot]
            assert degrees_between(world[role], same) < limit, role


def _oriented(figure: Humanoid, role: str, orientation: np.ndarray) -> ps.Pose:
    """The figure's neutral pose with one part at an orientation in the world."""
    neutral = ps.CanonicalPose.neutral()
    return figure.pose(neutral.rotated(**{role: orientation})) if role in neutral.roles else figure.neutral_pose


def test_a_robot_that_stands_is_neutral_but_for_its_arms(name, body):
    world = body.canonical(body.skeleton.rest)
    for role, q in zip(world.roles, world.world(), strict=True):
        if not role.endswith(("arm", "hand")):
            assert degrees_between(q, np.array([1.0, 0, 0, 0])) < (0.1 if role.endswith(EXACT) else 4.0), role


def test_a_limb_bends_by_the_angle_of_its_motor(body):
    """The angle between the canonical bones of a limb is the value of knee or elbow, less that of a straight one."""
    values = random_values(body, np.random.default_rng(1), 50)
    canonical = body.canonical(body.skeleton.from_values(values))
    for name, limb in body.robot_parts.limbs.items():
        lower = LIMBS[name][1]
        bend = pm.log(canonical.rotation(lower))
        value = values[:, body.skeleton.dofs.of(limb.mid[0]).start] - limb.straight
        sign = 1.0 if name.endswith("leg") else -1.0
        np.testing.assert_allclose(bend[:, 0], sign * limb.flexion * value, atol=1e-9)
        np.testing.assert_allclose(bend[:, 1:], 0.0, atol=1e-9)


def test_bones_point_where_their_canonical_rotations_say(body):
    """Of the bone from centre to centre, what lies across the hinge aside."""
    values = random_values(body, np.random.default_rng(2), 50)
    frames = body.skeleton.forward(body.skeleton.from_values(values))
    canonical = body.canonical(body.skeleton.from_values(values))
    world = dict(zip(canonical.roles, np.moveaxis(canonical.world(), -2, 0), strict=True))
    for name, limb in body.robot_parts.limbs.items():
        upper, lower, _ = LIMBS[name]
        knee, ankle = frames.point(limb.upper, limb.centres[1]), frames.point(limb.lower, limb.centres[2])
        hip = frames.point(limb.upper, limb.base_in_upper)
        for role, bone in ((upper, knee - hip), (lower, ankle - knee)):
            local = pm.rotate(pm.conjugate(world[role]), bone)
            np.testing.assert_allclose(local[:, 2], 0.0, atol=1e-6)
            assert (local[:, 1] < 0.0).all()
            hinge = pm.rotate(frames.orientations[:, limb.mid[0]], body.skeleton.axes[limb.mid[0], 0])
            along = pm.rotate(pm.conjugate(world[role]), hinge)
            np.testing.assert_allclose(np.abs(along[:, 0]), 1.0, atol=1e-9)


def test_canonical_rotations_do_not_depend_on_where_the_robot_faces_at_zero():
    """iCub's own frame looks behind it: knees, feet and names say where it faces."""
    body = Humanoid(made("icub").skeleton)
    assert degrees_between(body.canonical(body.skeleton.rest).rotation("hips"), np.array([0.0, 0.0, 1.0, 0.0])) < 0.1


# Soles


def test_soles_are_the_lowest_of_what_touches(name, body):
    frames = body.skeleton.forward(body.skeleton.rest)
    for sole in body.robot_parts.soles.values():
        assert sole.source == "collision"
        corners = frames.point(sole.joint, sole.outline)
        fixed = [j for j in body.skeleton.children(sole.joint) if body.skeleton.kinds[j] == "fixed"]
        on_foot = [sole.joint, *fixed]
        lowest = min(_lowest(shape, frames) for shape in body.robot.collisions if shape.joint in on_foot)
        np.testing.assert_allclose(corners[:, 1], lowest, atol=1e-9)
        up = pm.rotate(frames.orientations[sole.joint], sole.normal)
        np.testing.assert_allclose(up, [0.0, 1.0, 0.0], atol=1e-9)
        ahead = pm.rotate(frames.orientations[sole.joint], sole.forward)
        np.testing.assert_allclose(ahead, [0.0, 0.0, 1.0], atol=1e-9)
        assert 0.15 < sole.length / body.leg_length < 0.65
        area = 0.5 * np.cross(corners - corners[0], np.roll(corners, -1, axis=0) - corners[0])[:, 1].sum()
        assert area > 0.2 * sole.length * sole.width  # anticlockwise from above


def _lowest(shape, frames) -> float:
    """The height of a shape's lowest point, from samples of its surface."""
    if shape.kind == "box":
        grid = np.array(np.meshgrid([-0.5, 0.5], [-0.5, 0.5], [-0.5, 0.5])).reshape(3, -1).T * shape.size
        radius = 0.0
    else:
        half = 0.5 * shape.size[1] if shape.kind == "capsule" else 0.0
        grid, radius = np.array([[0, 0, half], [0, 0, -half]]), shape.size[0]
        assert shape.kind in ("capsule", "sphere")
    points = pm.rotate(shape.orientation, grid) + shape.position
    world = frames.positions[shape.joint] + pm.rotate(frames.orientations[shape.joint], points)
    return float(world[:, 1].min() - radius)


# Poses of a robot


def test_poses_are_inside_the_limits_and_come_back(body):
    """What a robot can do is done; what it cannot is answered from inside its limits."""
    robot = body.robot
    values = random_values(body, np.random.default_rng(3), 30)
    posture = body.canonical(body.skeleton.from_values(values))
    pose = body.pose(posture)
    found = body.joint_values(pose)
    assert (found[:, 6:] >= robot.lower[6:] - 1e-9).all()
    assert (found[:, 6:] <= robot.upper[6:] + 1e-9).all()
    np.testing.assert_allclose(found[:, 6:], robot.coupled(found)[:, 6:], atol=1e-9)
    again = body.canonical(pose)
    apart = np.degrees(pm.angle(again.world(), posture.world()))
    shared = bool(body.robot_parts.shared)  # one motor for two legs: each gives the other half of what it wants
    assert np.median(apart) < 0.01
    assert (apart < 0.5).mean() > (0.9 if not shared else 0.8)
    frames = body.skeleton.forward(pose)
    np.testing.assert_allclose(frames.positions[:, body.roles["hips"]], posture.hips * body.leg_length, atol=1e-9)


def test_a_persons_postures_go_over_inside_the_limits(body):
    """Wild postures too: arms overhead, splits, a head that looks back."""
    rng = np.random.default_rng(4)
    neutral = ps.CanonicalPose.neutral()
    wild = pm.exp(rng.normal(0.0, 1.0, (20, len(neutral.roles), 3)))
    posture = ps.CanonicalPose(neutral.roles, wild, np.tile([0.0, 1.0, 0.0], (20, 1)))
    pose = body.pose(posture)
    robot, found = body.robot, body.joint_values(pose)
    assert (found[:, 6:] >= robot.lower[6:] - 1e-9).all()
    assert (found[:, 6:] <= robot.upper[6:] + 1e-9).all()
    assert np.isfinite(pose.rotations).all()
    hips = body.canonical(pose).rotation("hips")
    np.testing.assert_allclose(np.abs((hips * wild[:, 0]).sum(axis=-1)), 1.0, atol=1e-9)


def test_the_neutral_pose_stands_with_arms_hanging(name, body):
    frames = body.neutral_frames
    for limb in body.robot_parts.limbs.values():
        knee = frames.point(limb.upper, limb.centres[1])
        ankle = frames.point(limb.lower, limb.centres[2])
        bone = (ankle - knee) / np.linalg.norm(ankle - knee)
        assert bone[1] < -np.cos(np.radians(11.0 if name == "nao" else 2.0)), limb.name  # NAO's elbows stay bent
    sole = body.robot_parts.soles["left_foot"]
    assert pm.rotate(frames.orientations[sole.joint], sole.normal)[1] > 1.0 - 1e-6


def test_clamp_brings_a_pose_inside(body):
    robot = body.robot
    values = np.zeros(len(robot.lower))
    values[6:] = np.random.default_rng(5).normal(0.0, 3.0, len(values) - 6)
    inside = body.joint_values(body.clamp(body.skeleton.from_values(values)))
    assert (inside[6:] >= robot.lower[6:] - 1e-9).all()
    assert (inside[6:] <= robot.upper[6:] + 1e-9).all()


def test_values_count_as_the_motors_do(data_dir):
    """H1's upper arms turn by 4.45 rad: more than half a turn is no less than none."""
    body = Humanoid(robot_file(data_dir, "h1"))
    values = np.clip(np.zeros(len(body.robot.lower)), body.robot.lower, body.robot.upper)
    values[body.skeleton.dofs.of(body.skeleton.index("left_shoulder_yaw"))] = 4.2
    np.testing.assert_allclose(body.joint_values(body.skeleton.from_values(values)), values, atol=1e-9)


# Solvers that are made for people


@pytest.mark.parametrize(
    "use",
    [
        lambda b: b.place(b.skeleton.rest, "left_hand", (0.3, 1.0, 0.3)),
        lambda b: b.limb("left_arm"),
        lambda b: b.pose_limb(b.skeleton.rest, "left_arm", np.zeros(7)),
        lambda b: b.elbow_out(b.skeleton.rest, "left_arm"),
        lambda b: b.balance(b.skeleton.rest),
        lambda b: ps.Reacher(b, right=ps.Behaviour.example("normal")),
        lambda b: ps.SequentialIK(b),
        lambda b: ps.MotionEditor(ps.Motion(b.skeleton, ps.Pose.stack([b.skeleton.rest] * 3), 30.0), b),
        lambda b: ps.classic.METHODS["dls"](b),
        lambda b: ps.classic.METHODS["ccd"](b),
        lambda b: ps.samples.walk(b),
        lambda b: ps.retarget(
            ps.Motion(b.skeleton, ps.Pose.stack([b.skeleton.rest] * 3), 30.0), source=b, target=ps.figure()
        ),
    ],
)
def test_solvers_for_people_refuse_a_robot_in_one_sentence(use, data_dir):
    with pytest.raises(PosableError, match=r"ps\.retarget") as error:
        use(Humanoid(robot_file(data_dir, "g1")))
    assert len(str(error.value)) < 300


def test_limits_and_volumes_say_where_a_robots_are(data_dir):
    body = Humanoid(robot_file(data_dir, "g1"))
    with pytest.raises(PosableError, match=r"body\.robot\.lower"):
        body.limits  # noqa: B018
    with pytest.raises(PosableError, match=r"body\.robot\.collisions"):
        body.volumes  # noqa: B018


# Expression on robots


@pytest.mark.parametrize(
    ("robot", "part", "count"),
    [
        *(("g1", "head", 3), ("g1", "spine", 3), ("h1", "head", 1), ("t1", "head", 2), ("t1", "spine", 3)),
        *(("op3", "head", 2), ("nao", "spine", 2), ("nao", "left_arm", 5), ("h1", "right_leg", 5)),
    ],
)
def test_chains_of_a_robot_are_its_motors(robot, part, count, data_dir):
    body = Humanoid(robot_file(data_dir, robot))
    chain = ps.Chain.from_body(body, part)
    assert len(chain) == count
    dofs = [body.skeleton.dofs.of(body.skeleton.index(n)).start for n in chain.names]
    np.testing.assert_array_equal(chain.lower, body.robot.lower[dofs])
    np.testing.assert_array_equal(chain.upper, body.robot.upper[dofs])


@pytest.mark.parametrize("robot", FILES)
def test_a_robot_looks_where_it_is_told(robot, data_dir):
    """Head and waist turn the face to what lies within their reach; the face is ahead of head or chest."""
    body = Humanoid(robot_file(data_dir, robot))
    chain = ps.Chain.from_body(body, "spine")
    yaw, pitch = 0.5, 0.0 if robot == "h1" else 0.2  # H1 has one joint there, which turns it
    direction = np.array([np.sin(yaw) * np.cos(pitch), -np.sin(pitch), np.cos(yaw) * np.cos(pitch)])
    answer = ps.ERIK(chain).solve(chain.zero, direction=direction)
    face = chain.forward(answer.angles).pointing
    assert np.degrees(np.arccos(np.clip(face @ direction, -1, 1))) < 1.0
    assert (answer.angles >= chain.lower - 1e-9).all()
    assert (answer.angles <= chain.upper + 1e-9).all()
