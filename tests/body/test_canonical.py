"""Canonical rotations: the neutral pose is the identity, nothing is lost on the way, and joints bend the right way."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import posable.math as pm
from posable.body import MARKERS, ROLES, CanonicalPose, Humanoid, figure
from posable.body.roles import parent_role
from posable.compute import PosableError
from posable.formats import load
from posable.skeleton import Pose

from .bodies import FILES, TURNS, all_bodies, angle_between, directions, file_body, motion_of, plan_body, random_pose
from .rigs import PLANS, rig

CMU_UNIT = 2.54e-2 / 0.45
DOWN = np.array([0.0, -1.0, 0.0])


def turned_by(rotation: np.ndarray) -> np.ndarray:
    """The angle of rotations [rad]."""
    return pm.angle(rotation, [1.0, 0.0, 0.0, 0.0])


# The neutral pose


def test_the_neutral_pose_is_the_identity_on_every_rig(data_dir):
    for name, body in all_bodies(data_dir).items():
        posture = body.canonical(body.neutral_pose)
        assert turned_by(posture.rotations).max() < 1e-12, name
        assert turned_by(posture.spine.bends).max() < 1e-12, name


def test_in_the_neutral_pose_limbs_hang_straight_down_and_the_body_faces_forward(data_dir):
    for name, body in all_bodies(data_dir).items():
        for bone, direction in directions(body, body.neutral_pose).items():
            assert angle_between(direction, DOWN) < 1e-7, (name, bone)
        places = body.skeleton.forward(body.neutral_pose).positions
        across = places[body.index("left_upper_arm")] - places[body.index("right_upper_arm")]
        assert across[0] > 0.9 * np.linalg.norm(across), name
        assert places[body.index("head"), 1] > places[body.index("hips"), 1] > places[body.index("left_foot"), 1], name
        for side in ("left", "right"):
            if f"{side}_toes" in body.roles:
                foot = places[body.index(f"{side}_toes")] - places[body.index(f"{side}_foot")]
                assert abs(np.arctan2(foot[0], foot[2])) < 1e-3, (name, side)


@pytest.mark.parametrize("turn", TURNS)
@pytest.mark.parametrize("arms", ["T", "A", "down"])
def test_thumbs_point_forward_in_the_neutral_pose(arms, turn):
    for plan, index, little in (
        ("mixamo", "mixamorig:{}HandIndex1", "mixamorig:{}HandPinky1"),
        ("vroid", "J_Bip_{0[0]}_Index1", "J_Bip_{0[0]}_Little1"),
        ("biped", "Bip01 {0[0]} Finger1", "Bip01 {0[0]} Finger3"),
    ):
        body = plan_body(plan, arms, turn, seed=3)
        frames = body.skeleton.forward(body.neutral_pose)
        for side in ("Left", "Right"):
            across = frames.point(index.format(side)) - frames.point(little.format(side))
            assert across[2] > 0.999 * np.linalg.norm(across[[0, 2]]), (plan, side)


def test_palms_turned_forward_at_rest_are_turned_in():
    """A T-pose with palms forward differs from one with palms down by a quarter turn of the hand alone."""
    skeleton = rig(PLANS["mixamo"])
    hands = [skeleton.index(f"mixamorig:{side}Hand") for side in ("Left", "Right")]
    rest = skeleton.rest_rotations.copy()
    for hand in hands:
        rest[hand] = pm.axis_angle([1.0, 0.0, 0.0], -np.pi / 2)
    forward = Humanoid(skeleton.replace(rest_rotations=rest))
    down = Humanoid(skeleton)
    a, b = (body.skeleton.forward(body.neutral_pose).positions for body in (forward, down))
    assert np.abs(a - b).max() < 1e-9
    at_rest = [body.canonical(body.skeleton.rest) for body in (forward, down)]
    for side in ("left", "right"):
        assert np.isclose(pm.angle(*(posture.rotation(f"{side}_hand") for posture in at_rest)), np.pi / 2)


def neutral_places(body: Humanoid) -> np.ndarray:
    """Where the joints of the body are in its neutral pose: those below the hips in the tree, and the hips."""
    hips = body.index("hips")
    below = [j for j in range(len(body.skeleton)) if hips in body.skeleton.path(j)]
    return body.skeleton.forward(body.neutral_pose).positions[below]


@pytest.mark.parametrize("plan", PLANS)
def test_a_rig_facing_elsewhere_has_the_same_neutral_pose(plan):
    expected = neutral_places(plan_body(plan, "A"))
    for turn in TURNS:
        assert np.abs(neutral_places(plan_body(plan, "A", turn)) - expected).max() < 1e-9, turn


def test_poses_at_rest_that_differ_have_nearly_the_same_neutral_pose():
    """T, A and hanging arms of one person lead to one neutral pose: hands within a finger's breadth."""
    for plan in ("mixamo", "unreal", "vroid"):
        places = [neutral_places(plan_body(plan, arms)) for arms in ("T", "A", "down")]
        for other in places[1:]:
            assert np.linalg.norm(other - places[0], axis=-1).max() < 0.015


def test_the_figure_rests_in_the_neutral_pose_so_that_canonical_rotations_are_its_own():
    body = figure()
    assert np.array_equal(body.neutral_pose.rotations, body.skeleton.rest.rotations)
    pose = random_pose(body.skeleton, np.random.default_rng(0), (50,))
    posture = body.canonical(pose)
    for role in ("left_lower_arm", "left_hand", "right_foot", "neck", "chest"):
        assert (
            np.abs(
                turned_by(pm.multiply(pm.conjugate(posture.rotation(role)), pose.rotations[:, body.index(role)]))
            ).max()
            < 1e-9
        )


# There and back


@pytest.mark.parametrize("shape", [(), (7,), (2, 3), (0,)])
def test_a_pose_comes_back_from_its_posture_exactly(data_dir, shape):
    rng = np.random.default_rng(1)
    for name, body in all_bodies(data_dir).items():
        pose = random_pose(body.skeleton, rng, shape)
        back = body.pose(body.canonical(pose), base=pose)
        assert back.shape == shape
        assert np.abs(back.translation - pose.translation).max(initial=0.0) < 1e-12, name
        assert pm.angle(back.rotations, pose.rotations).max(initial=0.0) < 1e-12, name


def test_a_posture_comes_back_from_its_pose_on_any_rig(data_dir):
    rng = np.random.default_rng(2)
    for name, body in all_bodies(data_dir).items():
        posture = body.canonical(random_pose(body.skeleton, rng, (20,)))
        again = body.canonical(body.pose(posture))
        assert pm.angle(again.rotations, posture.rotations).max() < 1e-12, name
        assert np.abs(again.hips - posture.hips).max() < 1e-12, name


def test_a_posture_made_of_roles_alone_comes_back(data_dir):
    rng = np.random.default_rng(3)
    for name, body in all_bodies(data_dir).items():
        roles = (*body.roles, *body.fingers)
        posture = CanonicalPose(roles, pm.normalize(rng.normal(size=(9, len(roles), 4))), rng.normal(size=(9, 3)))
        again = body.canonical(body.pose(posture))
        assert pm.angle(again.rotations, posture.rotations).max() < 1e-12, name


def test_a_batch_is_its_poses_one_by_one(data_dir):
    body = file_body(data_dir, "CMU")
    pose = motion_of(data_dir, "CMU").pose[100:2000:400]
    together = body.canonical(pose)
    other = plan_body("unreal", "A", "sideways", 4)
    moved = other.pose(together)
    for k in range(len(pose)):
        alone = body.canonical(pose[k])
        assert np.array_equal(alone.rotations, together.rotations[k])
        assert np.abs(other.pose(alone).rotations - moved.rotations[k]).max() < 1e-15
        assert np.array_equal(together[k].rotations, alone.rotations)
        assert np.abs(other.pose(together[k]).rotations - moved.rotations[k]).max() < 1e-15


def test_joints_without_a_role_keep_what_the_base_says(data_dir):
    body = plan_body("unreal", "A", seed=1)
    rng = np.random.default_rng(4)
    pose, base = random_pose(body.skeleton, rng), random_pose(body.skeleton, rng)
    known = {*body.roles.values(), *body.fingers.values(), *body.spine}
    free = [j for j in range(len(body.skeleton)) if j not in known]
    posture = body.canonical(pose)
    assert np.array_equal(body.pose(posture, base).rotations[free], base.rotations[free])
    assert np.array_equal(body.pose(posture).rotations[free], body.skeleton.rest.rotations[free])
    assert pm.angle(body.canonical(body.pose(posture, base)).rotations, posture.rotations).max() < 1e-12


def test_moved_joints_stay_moved():
    body = plan_body("unity", "T", seed=2)
    rng = np.random.default_rng(5)
    offsets = body.skeleton.offsets + 0.02 * rng.normal(size=(4, len(body.skeleton), 3))
    pose = random_pose(body.skeleton, rng, (4,)).replace(offsets=offsets)
    back = body.pose(body.canonical(pose), base=pose)
    assert np.array_equal(back.offsets, pose.offsets)
    assert np.abs(body.skeleton.forward(back).positions - body.skeleton.forward(pose).positions).max() < 1e-12


def test_hips_below_other_joints_go_where_the_posture_says():
    for plan in ("unreal", "vroid", "biped, legs on the spine"):
        body = plan_body(plan, "A", seed=6)
        rng = np.random.default_rng(7)
        posture = figure().canonical(random_pose(figure().skeleton, rng, (5,)))
        base = random_pose(body.skeleton, rng)
        hips = body.skeleton.forward(body.pose(posture, base)).positions[:, body.index("hips")]
        assert np.abs(hips - posture.hips * body.leg_length).max() < 1e-12


def test_canonical_rotations_compose_as_an_independent_reckoning_says(data_dir):
    """With scipy and one part after the other: C of a part is C of the part above it times its rotation; W = C N."""
    rng = np.random.default_rng(14)
    for name in ("KayKit knight", "MakeHuman", "CMU"):
        body = file_body(data_dir, name)
        rotations = pm.normalize(rng.normal(size=(len(body.roles), 4)))
        posture = CanonicalPose(tuple(body.roles), rotations, (0.0, 1.0, 0.0))
        posed = body.skeleton.forward(body.pose(posture)).orientations
        turned: dict[str, Rotation] = {}
        for role, rotation in zip(posture.roles, rotations):
            above = parent_role(role, posture.roles)
            local = Rotation.from_quat(rotation, scalar_first=True)
            turned[role] = local if above is None else turned[above] * local
            expected = turned[role] * Rotation.from_quat(body.neutral_orientation(role), scalar_first=True)
            found = Rotation.from_quat(posed[body.index(role)], scalar_first=True)
            assert (expected.inv() * found).magnitude() < 1e-12, (name, role)


# How joints bend


def test_elbows_and_knees_of_cmu_clips_are_pure_hinges(cmu):
    for clip in ("17_10", "90_05", "01_03", "49_06"):
        motion = load(cmu / f"{clip}.bvh", repair="cmu", first_frame=1)
        posture = Humanoid(motion.skeleton).canonical(motion.pose)
        for side in ("left", "right"):
            elbow, knee = (pm.log(posture.rotation(f"{side}_lower_{limb}")) for limb in ("arm", "leg"))
            assert np.abs(elbow[:, 1:]).max() < 3e-6 and np.abs(knee[:, 1:]).max() < 3e-6
            assert np.median(elbow[:, 0]) < -0.1 and np.median(knee[:, 0]) > 0.1


def test_the_constants_of_the_cmu_rig_are_those_of_the_specification(data_dir):
    s = np.sqrt(3.0) / 2.0
    left = np.array([(0, s, -0.5), (-1, 0, 0), (0, 0.5, s)]).T
    right = np.array([(0, -s, 0.5), (1, 0, 0), (0, 0.5, s)]).T
    leg = pm.to_matrix(pm.axis_angle([0.0, 0.0, 1.0], np.radians(20.0)))
    for name in ("CMU", "CMU as delivered", "CMU ASF"):
        body = file_body(data_dir, name)
        posture = body.canonical(body.skeleton.rest)
        world = dict(zip(posture.roles, pm.to_matrix(posture.world())))
        for part in ("upper_arm", "lower_arm", "hand"):
            assert np.abs(world[f"left_{part}"] - left).max() < 1e-6
            assert np.abs(world[f"right_{part}"] - right).max() < 1e-6
        for part in ("upper_leg", "lower_leg", "foot"):
            assert np.abs(world[f"left_{part}"] - leg).max() < 1e-5
            assert np.abs(world[f"right_{part}"] - leg.T).max() < 1e-5


def test_a_declared_hinge_leads_to_the_same_elbow_as_the_convention(data_dir):
    """CMU's ASF files name the elbow's axis; without the names of the rig that axis alone must do."""
    skeleton = file_body(data_dir, "CMU ASF").skeleton
    plain = skeleton.replace(names=[name.replace("hipjoint", "pelvis") for name in skeleton.names])
    expected, found = (Humanoid(rig).canonical(rig.rest) for rig in (skeleton, plain))
    for side in ("left", "right"):
        for part in ("upper_arm", "lower_arm"):
            assert pm.angle(found.rotation(f"{side}_{part}"), expected.rotation(f"{side}_{part}")) < 1e-6


def test_asf_and_bvh_of_one_clip_are_one_posture(cmu):
    captured = load(cmu / "asfamc" / "01_03.amc")
    converted = load(cmu / "01_03.bvh", repair="cmu", first_frame=1)
    a, b = (Humanoid(motion.skeleton).canonical(motion.pose) for motion in (captured, converted))
    assert a.roles == b.roles
    assert pm.angle(a.rotations, b.rotations).max() < 1e-5


@pytest.mark.parametrize("name", ["MakeHuman", "MakeHuman CMU", "CesiumMan", "RiggedFigure", "KayKit knight"])
def test_a_limb_bent_at_rest_is_bent_about_its_hinge(data_dir, name):
    body = file_body(data_dir, name)
    posture = body.canonical(body.skeleton.rest)
    places = body.skeleton.forward(body.skeleton.rest).positions
    for side in ("left", "right"):
        for limb, sign, enough in (("arm", -1.0, 20.0), ("leg", 1.0, 25.0)):
            base, mid, end = (places[j] for j in body.limb_joints(f"{side}_{limb}"))
            upper, lower = mid - base, end - mid
            bend = np.arctan2(np.linalg.norm(np.cross(upper, lower)), upper @ lower)
            rotation = pm.log(posture.rotation(f"{side}_lower_{limb}"))
            assert np.isclose(np.linalg.norm(rotation), bend, atol=1e-9)
            if np.degrees(bend) > enough:
                assert np.abs(rotation - [sign * bend, 0.0, 0.0]).max() < 1e-9, (side, limb)


def test_flexion_looks_the_same_on_every_rig(data_dir):
    """An elbow at -90 degrees about X brings the forearm forward, a knee at +90 the shank back."""
    bend = pm.axis_angle([1.0, 0.0, 0.0], np.radians(90.0))
    back = pm.conjugate(bend)
    for name, body in all_bodies(data_dir).items():
        posture = CanonicalPose.neutral(tuple(body.roles)).rotated(
            left_lower_arm=back, right_lower_arm=back, left_lower_leg=bend, right_lower_leg=bend
        )
        bones = directions(body, body.pose(posture))
        for side in ("left", "right"):
            assert angle_between(bones[f"{side}_arm lower"], np.array([0.0, 0.0, 1.0])) < 1e-7, name
            assert angle_between(bones[f"{side}_leg lower"], np.array([0.0, 0.0, -1.0])) < 1e-7, name


# The world


def test_turning_and_moving_the_body_changes_its_hips_alone(data_dir):
    body = file_body(data_dir, "CMU")
    pose = motion_of(data_dir, "CMU")[500]
    turn = pm.normalize([0.3, -0.2, 0.8, 0.1])
    rotations = pose.rotations.copy()
    rotations[0] = pm.multiply(turn, rotations[0])
    shifted = pose.replace(rotations=rotations, translation=pm.rotate(turn, pose.translation) + 1.0)
    before, after = body.canonical(pose), body.canonical(shifted)
    assert pm.angle(before.rotations[1:], after.rotations[1:]).max() < 1e-12
    assert pm.angle(after.rotations[0], pm.multiply(turn, before.rotations[0])) < 1e-12


def test_size_does_not_matter(data_dir):
    body = file_body(data_dir, "MakeHuman CMU")
    large = Humanoid(body.skeleton.scaled(37.0))
    pose = random_pose(body.skeleton, np.random.default_rng(8))
    grown = pose.replace(translation=pose.translation * 37.0)
    a, b = body.canonical(pose), large.canonical(grown)
    assert pm.angle(a.rotations, b.rotations).max() < 1e-12 and np.abs(a.hips - b.hips).max() < 1e-12
    assert np.isclose(large.joint_height, 37.0 * body.joint_height)


def test_a_rig_that_rests_in_a_heap_takes_a_standing_pose():
    upright = rig(PLANS["unity"], "A")
    rng = np.random.default_rng(9)
    heap = upright.replace(rest_rotations=pm.normalize(rng.normal(size=(len(upright), 4))))
    standing = Pose(upright.rest.translation, upright.rest.rotations)
    expected = Humanoid(upright)
    body = Humanoid(heap, standing=standing)
    pose = random_pose(upright, rng)
    assert pm.angle(body.canonical(pose).rotations, expected.canonical(pose).rotations).max() < 1e-12
    with pytest.raises(PosableError, match="one pose"):
        Humanoid(heap, standing=random_pose(upright, rng, (3,)))


# Mirror images


def test_a_mirror_image_of_a_mirror_image_is_the_posture(data_dir):
    for name in FILES:
        body = file_body(data_dir, name)
        posture = body.canonical(random_pose(body.skeleton, np.random.default_rng(10), (5,)))
        twice = posture.mirrored().mirrored()
        assert np.array_equal(twice.rotations, posture.rotations) and np.array_equal(twice.hips, posture.hips)


@pytest.mark.parametrize("plan", PLANS)
def test_on_a_symmetric_body_the_mirrored_pose_is_the_mirror_image(plan):
    body = plan_body(plan, "A", "oblique", seed=11)
    pose = body.pose(body.canonical(random_pose(body.skeleton, np.random.default_rng(12), (5,))))
    straight, mirrored = (body.skeleton.forward(p).positions for p in (pose, body.mirrored(pose)))
    for role, joint in body.roles.items():
        swapped = role.replace("left", "?").replace("right", "left").replace("?", "right")
        image = straight[:, body.index(swapped)] * np.array([-1.0, 1.0, 1.0])
        assert np.abs(mirrored[:, joint] - image).max() < 1e-9, role


# Measures, markers, limits


def test_heights_of_the_papers_people_are_those_of_the_specification(cmu):
    for clip, height in (("17_10", 26.78), ("90_05", 26.63), ("01_03", 26.25)):
        body = Humanoid(load(cmu / f"{clip}.bvh", repair="cmu").skeleton)
        assert abs(body.joint_height / CMU_UNIT - height) < 0.006


def test_a_figure_has_the_measures_it_was_asked_for():
    asked = {
        "foot": 0.27, "calf": 0.42, "thigh": 0.44, "pelvis": 0.09, "pelvis_width": 0.19, "torso": 0.48,
        "torso_width": 0.38, "neck": 0.11, "upper_arm": 0.31, "forearm": 0.26, "hand": 0.2,
    }  # fmt: skip
    found = figure(1.75, **asked).measures
    assert found.keys() == asked.keys()
    assert all(np.isclose(found[name], asked[name]) for name in asked)


def test_measures_of_any_rig_are_finite_and_plausible(data_dir):
    for name, body in all_bodies(data_dir).items():
        assert all(np.isfinite(length) and length >= 0.0 for length in body.measures.values()), name
        assert 0.2 < body.measures["thigh"] / body.leg_length < 0.8, name
        assert np.isclose(
            body.joint_height, sum(body.measures[m] for m in ("calf", "thigh", "pelvis", "torso", "neck"))
        )


def test_markers_are_the_six_joints_in_order(data_dir):
    body = file_body(data_dir, "CMU")
    pose = motion_of(data_dir, "CMU").pose[:10]
    places = body.skeleton.forward(pose).positions
    points = body.markers(pose)
    assert points.shape == (10, 6, 3)
    for k, role in enumerate(MARKERS):
        assert np.array_equal(points[:, k], places[:, body.index(role)])


def test_clamped_poses_are_inside_the_limits_and_stay(data_dir):
    for name in ("CMU", "MakeHuman", "KayKit knight"):
        body = file_body(data_dir, name)
        turns = pm.exp(0.6 * np.random.default_rng(13).normal(size=(50, len(body.roles), 3)))
        pose = body.pose(CanonicalPose(tuple(body.roles), turns, (0.0, 1.0, 0.0)))
        clamped = body.clamp(pose)
        assert pm.angle(clamped.rotations, pose.rotations).max() > 0.1
        posture = body.canonical(clamped)
        for role in posture.roles:
            rotation = posture.rotation(role)
            assert pm.angle(body.limits.clamp(role, rotation), rotation).max() < 1e-6, (name, role)
        assert pm.angle(body.clamp(clamped).rotations, clamped.rotations).max() < 1e-6, name


# Postures by hand


def test_postures_refuse_what_does_not_fit():
    with pytest.raises(PosableError, match="left_wrist"):
        CanonicalPose(("hips", "left_wrist"), np.zeros((2, 4)), np.zeros(3))
    with pytest.raises(PosableError, match="order"):
        CanonicalPose(("head", "hips"), np.zeros((2, 4)), np.zeros(3))
    with pytest.raises(PosableError, match="order"):
        CanonicalPose(("head",), np.zeros((1, 4)), np.zeros(3))
    with pytest.raises(PosableError, match="rotations"):
        CanonicalPose(("hips", "head"), np.zeros((3, 4)), np.zeros(3))
    with pytest.raises(PosableError, match="hips"):
        CanonicalPose(("hips", "head"), np.zeros((5, 2, 4)), np.zeros((4, 3)))
    neutral = CanonicalPose.neutral()
    assert neutral.roles == ROLES
    with pytest.raises(PosableError, match="left_wrist"):
        neutral.rotated(left_wrist=[1.0, 0.0, 0.0, 0.0])
    body = figure()
    with pytest.raises(PosableError, match="base has"):
        body.pose(neutral, base=random_pose(rig(PLANS["unity"]), np.random.default_rng(0)))
    with pytest.raises(PosableError, match="left_wing"):
        body.index("left_wing")
    with pytest.raises(PosableError, match="tail"):
        body.limb_joints("tail")


def test_turned_broadcasts_one_posture_over_a_batch():
    angles = np.linspace(0.0, 1.0, 6)
    posture = CanonicalPose.neutral().rotated(head=pm.axis_angle([0.0, 1.0, 0.0], angles))
    assert posture.shape == (6,) and figure().pose(posture).shape == (6,)
    assert np.allclose(turned_by(posture.rotation("head")), angles)


@pytest.mark.soak
@pytest.mark.parametrize("plan", PLANS)
def test_no_pose_of_a_million_is_lost_on_the_way(plan, drawn):
    body = plan_body(plan, "A", "oblique", seed=15)
    for block in range(drawn(10, each=6500)):
        pose = random_pose(body.skeleton, np.random.default_rng([16, block]), (6500,))
        back = body.pose(body.canonical(pose), base=pose)
        assert np.abs(back.translation - pose.translation).max() < 1e-12
        assert pm.angle(back.rotations, pose.rotations).max() < 1e-12
        other = figure()
        there = other.canonical(other.pose(body.canonical(pose)))
        hands = [there.index(role) for role in ("left_hand", "right_hand", "left_foot", "right_foot", "head")]
        world = body.canonical(pose)
        rows = [world.index(there.roles[row]) for row in hands]
        assert pm.angle(there.world()[:, hands], world.world()[:, rows]).max() < 1e-12
