"""Who is who: every rig's joints get their roles, and what cannot be told is said."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from posable.body import ROLES, Humanoid, find_roles
from posable.body.roles import OPTIONAL, parent_role
from posable.body.roles.names import read_name
from posable.compute import PosableError
from posable.formats import load
from posable.skeleton import Character, Skeleton

from .bodies import FILES, TURNS, file_body
from .rigs import PLANS, rig

# Where the joint of a role sits, in the words of the plans.
PLACES = {
    "hips": "hips",
    "head": "n1",
    "shoulder": "clavicle",
    "upper_arm": "shoulder",
    "lower_arm": "elbow",
    "hand": "wrist",
    "upper_leg": "hip",
    "lower_leg": "knee",
    "foot": "ankle",
}


def plan_places(plan: str) -> dict[str, str]:
    """Joint name to where it sits."""
    return dict(tuple(part.strip() for part in line.split("=")) for line in plan.splitlines() if line.strip())


@pytest.mark.parametrize("plan", PLANS)
def test_the_joints_of_every_convention_are_found_where_they_sit(plan):
    places = plan_places(PLANS[plan])
    skeleton = rig(PLANS[plan])
    found = {role: places[skeleton.names[joint]] for role, joint in find_roles(skeleton).items()}
    for side, letter in (("left", "L"), ("right", "R")):
        for part, place in PLACES.items():
            if part in ("hips", "head"):
                assert found[part] == place or (part, plan) == ("hips", "biped, legs on the spine")
            elif part != "shoulder" or plan != "no clavicles":
                assert found[f"{side}_{part}"] == f"{letter}_{place}"
        if f"{side}_toes" in found:
            assert found[f"{side}_toes"] in (f"{letter}_ball", f"{letter}_toe")
    assert ("left_shoulder" in found) == (plan != "no clavicles")
    assert ("left_toes" in found) == (plan not in ("no clavicles", "slimevr"))


@pytest.mark.parametrize(
    ("plan", "trunk"),
    {
        "mixamo": ["Spine", "Spine1", "Spine2", "Neck"],
        "h-anim": ["vl5", "vt9", "vt1", "vc7"],
        "smpl": ["Spine1", "Spine2", "Spine3", "Neck"],
        "rigify": ["spine.001", "spine.002", "spine.003", "spine.004"],
        "unreal": ["spine_01", "spine_02", "spine_03", "neck_01"],
        "biped": ["Bip01 Spine", "Bip01 Spine1", "Bip01 Spine2", "Bip01 Neck"],
        "vroid": ["J_Bip_C_Spine", "J_Bip_C_Chest", "J_Bip_C_UpperChest", "J_Bip_C_Neck"],
        "life forms": ["Chest", None, None, "Neck"],
        "daz": ["abdomen", "chest", None, "neck"],
        "no clavicles": ["torso", None, None, None],
    }.items(),
)
def test_trunks_of_any_number_of_joints_get_their_roles(plan, trunk):
    skeleton = rig(PLANS[plan])
    roles = find_roles(skeleton)
    names = {role: skeleton.names[joint].split(":")[-1] for role, joint in roles.items()}
    assert [names.get(role) for role in ("spine", "chest", "upper_chest", "neck")] == trunk


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("turn", TURNS)
def test_roles_do_not_depend_on_pose_heading_frames_or_size(plan, turn):
    expected = find_roles(rig(PLANS[plan]))
    for seed, arms in enumerate(("T", "A", "down")):
        assert find_roles(rig(PLANS[plan], arms, TURNS[turn], seed, scale=10.0**seed)) == expected


@pytest.mark.parametrize("plan", PLANS)
def test_roles_do_not_depend_on_the_order_of_children(plan):
    skeleton = rig(PLANS[plan])
    named = {role: skeleton.names[joint] for role, joint in find_roles(skeleton).items()}
    for seed in range(5):
        shuffled = shuffled_children(skeleton, np.random.default_rng(seed))
        assert {role: shuffled.names[joint] for role, joint in find_roles(shuffled).items()} == named


def shuffled_children(skeleton: Skeleton, rng: np.random.Generator) -> Skeleton:
    """The same tree with its joints listed in another order, parents before children."""
    order, open_joints = [], [0]
    while open_joints:
        joint = open_joints.pop(int(rng.integers(len(open_joints))))
        order.append(joint)
        open_joints += skeleton.children(joint)
    place = {joint: k for k, joint in enumerate(order)}
    return Skeleton(
        [skeleton.names[j] for j in order],
        [place.get(int(skeleton.parents[j]), -1) for j in order],
        skeleton.offsets[order],
    )


EXPECTED = {
    "CesiumMan": {
        "hips": "Skeleton_torso_joint_1",
        "spine": "Skeleton_torso_joint_2",
        "chest": "torso_joint_3",
        "neck": "Skeleton_neck_joint_1",
        "head": "Skeleton_neck_joint_2",
        "left_upper_arm": "Skeleton_arm_joint_L__4_",
        "left_lower_arm": "Skeleton_arm_joint_L__3_",
        "left_hand": "Skeleton_arm_joint_L__2_",
        "right_upper_arm": "Skeleton_arm_joint_R",
        "right_lower_arm": "Skeleton_arm_joint_R__2_",
        "right_hand": "Skeleton_arm_joint_R__3_",
        "left_upper_leg": "leg_joint_L_1",
        "left_lower_leg": "leg_joint_L_2",
        "left_foot": "leg_joint_L_3",
        "left_toes": "leg_joint_L_5",
        "left_shoulder": None,
    },
    "RiggedFigure": {
        "hips": "torso_joint_1",
        "head": "neck_joint_2",
        "right_upper_arm": "arm_joint_R_1",
        "right_lower_arm": "arm_joint_R_2",
        "right_hand": "arm_joint_R_3",
        "right_toes": "leg_joint_R_5",
    },
    "KayKit knight": {
        "hips": "hips",
        "spine": "spine",
        "chest": "chest",
        "neck": None,
        "head": "head",
        "left_upper_arm": "upperarm.l",
        "left_lower_arm": "lowerarm.l",
        "left_hand": "wrist.l",
        "right_upper_leg": "upperleg.r",
        "right_lower_leg": "lowerleg.r",
        "right_foot": "foot.r",
        "right_toes": "toes.r",
    },
    "VRM": {"hips": "hips", "left_shoulder": "shoulder.L", "left_lower_arm": "lower_arm.L", "upper_chest": None},
    "MakeHuman": {
        "hips": "root",
        "spine": "spine05",
        "upper_chest": "spine01",
        "neck": "neck01",
        "head": "head",
        "left_shoulder": "clavicle.L",
        "left_upper_arm": "upperarm01.L",
        "left_lower_arm": "lowerarm01.L",
        "left_hand": "wrist.L",
        "left_upper_leg": "upperleg01.L",
        "left_lower_leg": "lowerleg01.L",
        "left_foot": "foot.L",
        "left_toes": None,
    },
    "MakeHuman CMU": {"hips": "Hips", "left_hand": "LeftHand", "left_toes": "LeftToeBase"},
    "CMU": {
        "hips": "Hips",
        "spine": "LowerBack",
        "chest": "Spine",
        "upper_chest": "Spine1",
        "neck": "Neck",
        "head": "Head",
        "left_shoulder": "LeftShoulder",
        "left_upper_arm": "LeftArm",
        "left_lower_arm": "LeftForeArm",
        "left_hand": "LeftFingerBase",
        "right_hand": "RightFingerBase",
        "left_upper_leg": "LeftUpLeg",
        "left_lower_leg": "LeftLeg",
        "left_foot": "LeftFoot",
        "left_toes": "LeftToeBase",
    },
    "CMU as delivered": {"left_hand": "LeftHand", "right_hand": "RightHand", "head": "Head"},
    "CMU ASF": {"hips": "root", "left_hand": "lhand", "left_lower_arm": "lradius", "left_upper_leg": "lfemur"},
}


@pytest.mark.parametrize("name", FILES)
def test_the_rigs_of_files_are_understood(data_dir, name):
    body = file_body(data_dir, name)
    found = {role: body.skeleton.names[joint] for role, joint in body.roles.items()}
    assert {role: found.get(role) for role in EXPECTED[name]} == EXPECTED[name]
    assert set(ROLES) - set(found) <= OPTIONAL


@pytest.mark.parametrize("name", FILES)
def test_the_spine_is_every_joint_from_hips_to_head(data_dir, name):
    body = file_body(data_dir, name)
    assert body.spine[0] == body.index("hips") and body.spine[-1] == body.index("head")
    parents = body.skeleton.parents
    assert all(parents[above] == below for below, above in zip(body.spine, body.spine[1:]))
    assert (np.diff(body.arc_length) >= 0).all() and body.arc_length[-1] == 2.0


@pytest.mark.parametrize("plan", PLANS)
def test_helper_joints_are_never_chosen(plan):
    skeleton = rig(PLANS[plan])
    chosen = {read_name(skeleton.names[joint]).helper for joint in find_roles(skeleton).values()}
    assert chosen == {False}


def test_roles_come_with_parents_first_and_keep_their_order():
    assert len(ROLES) == 22
    for row, role in enumerate(ROLES):
        parent = parent_role(role, ROLES)
        assert parent is None or ROLES.index(parent) < row
    assert list(find_roles(rig(PLANS["mixamo"]))) == list(ROLES)


def test_what_the_caller_says_stands():
    skeleton = rig(PLANS["unreal"])
    roles = find_roles(skeleton, {"left_hand": "middle_01_l", "left_shoulder": None, "upper_chest": None})
    assert skeleton.names[roles["left_hand"]] == "middle_01_l"
    assert "left_shoulder" not in roles and "upper_chest" not in roles
    assert skeleton.names[roles["left_lower_arm"]] == "lowerarm_l"


def test_roles_may_be_given_by_index_for_a_rig_whose_names_say_nothing():
    known = rig(PLANS["unity"])
    nameless = known.replace(names=[f"bone{k}" for k in range(len(known))])
    with pytest.raises(PosableError, match="cannot tell who is who"):
        find_roles(nameless)
    roles = find_roles(known)
    assert find_roles(nameless, roles) == roles


def test_the_map_of_a_vrm_file_wins_over_names():
    known = rig(PLANS["vroid"])
    roles = {role: known.names[joint] for role, joint in find_roles(known).items()}
    renamed = {name: f"node{k}" for k, name in enumerate(known.names)}
    character = Character(roles={role: renamed[name] for role, name in roles.items()})
    nameless = known.replace(names=list(renamed.values()), character=character)
    assert {role: nameless.names[j] for role, j in find_roles(nameless).items()} == dict(character.roles)


@pytest.mark.parametrize("role", [role for role in ROLES if role not in OPTIONAL and role not in ("hips", "head")])
def test_a_missing_part_is_named_with_the_way_out(role):
    skeleton = rig(PLANS["no clavicles"])
    names = list(skeleton.names)
    names[find_roles(skeleton)[role]] = "widget"
    with pytest.raises(PosableError) as caught:
        find_roles(skeleton.replace(names=names))
    message = str(caught.value)
    assert f"{role}:" in message and "roles={" in message


def test_the_error_says_which_joints_came_closest():
    skeleton = rig(PLANS["unity"])
    names = [name.replace("LeftHand", "LeftHnd") for name in skeleton.names]
    with pytest.raises(PosableError, match="left_hand: closest by name: 'LeftHnd'") as caught:
        find_roles(skeleton.replace(names=names))
    assert str(caught.value).count("closest by name") == 1, "only what is missing is named"


def test_wrong_roles_are_refused_by_name():
    skeleton = rig(PLANS["unity"])
    with pytest.raises(PosableError, match="left_wrist"):
        find_roles(skeleton, {"left_wrist": "LeftHand"})
    with pytest.raises(PosableError, match="LeftHnad"):
        find_roles(skeleton, {"left_hand": "LeftHnad"})
    with pytest.raises(PosableError, match="cannot both be"):
        find_roles(skeleton, {"left_hand": "LeftHand", "right_hand": "LeftHand"})
    with pytest.raises(PosableError, match="needs 'head'"):
        find_roles(skeleton, {"head": None})
    with pytest.raises(PosableError, match="left_lower_arm"):
        find_roles(skeleton, {"left_hand": "RightHand"})


@pytest.mark.parametrize("file", ["RiggedSimple.glb", "SimpleSkin.gltf", "Fox.glb"])
def test_what_is_no_person_is_refused(data_dir, file):
    skeleton = load(data_dir / "characters" / file).skeleton
    with pytest.raises(PosableError, match=r"who is who|does not stand"):
        Humanoid(skeleton)


def test_a_rig_with_left_and_right_exchanged_is_refused():
    skeleton = rig(PLANS["unity"])
    swapped = [name.replace("Left", "?").replace("Right", "Left").replace("?", "Right") for name in skeleton.names]
    with pytest.raises(PosableError, match="left and right exchanged"):
        Humanoid(skeleton.replace(names=swapped))


@given(st.text(max_size=40))
def test_any_name_can_be_read(name):
    read = read_name(name)
    assert read.side in ("left", "right", "")


@pytest.mark.parametrize(
    ("name", "side", "word"),
    [
        ("mixamorig:LeftForeArm", "left", "forearm"),
        ("mixamorig1:RightUpLeg", "right", "upleg"),
        ("J_Bip_L_LowerArm", "left", "lowerarm"),
        ("Bip001 R Calf", "right", "calf"),
        ("Skeleton_arm_joint_L__3_", "left", "arm"),
        ("lfemur", "left", "femur"),
        ("LHipJoint", "left", "hip"),
        ("rightshoulder", "right", "shoulder"),
        ("LUArm", "left", "uarm"),
        ("m_avg_L_Hip", "left", "hip"),
        ("CC_Base_R_Upperarm", "right", "upperarm"),
        ("vl5", "", "vertebra"),
        ("L5", "", "vertebra"),
        ("upperarm.l", "left", "upperarm"),
        ("DEF-upper_arm.L.001", "left", "upperarm"),
    ],
)
def test_names_are_taken_apart(name, side, word):
    read = read_name(name)
    assert (read.side, read.word, read.helper) == (side, word, False)
