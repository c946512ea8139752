"""Fingers: who is who on every rig, canonical rotations that mean the same on all of them, and what fingers may do."""

from itertools import pairwise

import numpy as np
import pytest

import posable as ps
import posable.math as pm
from posable.body.roles import FINGER_CHAINS, FINGERS
from posable.body.roles.fingers import find_fingers
from posable.body.roles.matching import parse_roles
from posable.compute import PosableError
from posable.skeleton import Pose, Skeleton

from .bodies import TURNS, file_body, plan_body
from .rigs import PLANS, rig

FINGERS_OF = ("thumb", "index", "middle", "ring", "little")
NAMES = {  # the joints of a left finger, from the palm outwards, by convention
    "mixamo": lambda f, k: f"mixamorig:LeftHand{f.title().replace('Little', 'Pinky')}{k}",
    "motionbuilder": lambda f, k: f"LeftHand{f.title().replace('Little', 'Pinky')}{k}",
    "unreal": lambda f, k: f"{f.replace('little', 'pinky')}_0{k}_l",
    "rigify": lambda f, k: f"{'thumb' if f == 'thumb' else 'f_' + f.replace('little', 'pinky')}.0{k}.L",
    "rigify deform": lambda f, k: f"DEF-{'thumb' if f == 'thumb' else 'f_' + f.replace('little', 'pinky')}.0{k}.L",
    "smpl-x": lambda f, k: f"left_{f.replace('little', 'pinky')}{k}",
    "vroid": lambda f, k: f"J_Bip_L_{f.title()}{k}",
    "h-anim": lambda f, k: f"l_{f.replace('little', 'pinky')}{k}",
    "daz": lambda f, k: f"l{f.title().replace('Middle', 'Mid').replace('Little', 'Pinky')}{k}",
    "biped": lambda f, k: f"Bip01 L Finger{FINGERS_OF.index(f)}{k - 1 if k > 1 else ''}",
    "makehuman": lambda f, k: f"finger{FINGERS_OF.index(f) + 1}-{k}.L",
    "vrm 0": lambda f, k: f"Left {f.title()} {('Proximal', 'Intermediate', 'Distal')[k - 1]}",
}
METACARPALS = {
    "unreal": lambda f: f"{f.replace('little', 'pinky')}_metacarpal_l",
    "motionbuilder": lambda f: f"LeftInHand{f.title().replace('Little', 'Pinky')}",
    "h-anim": lambda f: f"l_{f.replace('little', 'pinky')}0",
    "makehuman": lambda f: f"metacarpal{FINGERS_OF.index(f)}.L",
    "rigify": lambda f: f"palm.0{FINGERS_OF.index(f)}.L",
}
KNUCKLES = {
    "thumb": (0.02, 0.0, 0.025),
    "index": (0.09, 0, 0.025),
    "middle": (0.092, 0, 0.004),
    "ring": (0.088, 0, -0.016),
}
KNUCKLES["little"] = (0.082, 0.0, -0.034)


def handed(names, metacarpals=None, fingers=FINGERS_OF, joints=3, tips=True, curl=0.0):
    """A rig with fingers named by a convention, on both hands, in a T-pose; `curl` [rad] bends each joint at rest."""
    plain = rig(PLANS["unity"])
    keep, parents = list(plain.names), plain.parents.tolist()
    offsets = [np.array(offset) for offset in plain.offsets]
    ends = []
    for side, sign in (("left", 1.0), ("right", -1.0)):
        hand = keep.index(f"{side.title()}Hand")
        for finger in fingers:
            above, at = hand, np.array(KNUCKLES[finger])
            outwards = np.array([0.7071, 0.0, 0.7071]) if finger == "thumb" else np.array([1.0, 0.0, 0.0])
            axis = np.array([0.0, 1.0, 0.0]) if finger == "thumb" else np.array([0.0, 0.0, -1.0])

            def put(name, step, above, across=sign):
                keep.append(name)
                parents.append(above)
                offsets.append(step * np.array([across, 1.0, 1.0]))
                return len(keep) - 1

            if metacarpals and finger != "thumb":
                above = put(swapped(metacarpals(finger), side), 0.2 * at, above)
                at = 0.8 * at
            for k in range(joints):
                bone = pm.rotate(pm.axis_angle(axis, k * curl), outwards)
                above = put(swapped(names(finger, k + 1), side), at, above)
                at = (0.04, 0.026, 0.02)[min(k, 2)] * bone
            if tips:
                ends.append((above, at * np.array([sign, 1.0, 1.0])))
    return Skeleton(
        keep,
        parents,
        np.array(offsets),
        end_parents=[joint for joint, _ in ends],
        end_offsets=np.array([offset for _, offset in ends]).reshape(-1, 3),
    )


def swapped(name, side):
    """The name of the right joint for that of the left one."""
    if side == "left":
        return name
    for left, right in (
        ("Left", "Right"),
        ("left_", "right_"),
        ("_L_", "_R_"),
        (" L ", " R "),
        (".L", ".R"),
        ("_l", "_r"),
    ):
        if left in name:
            return name.replace(left, right)
    assert name[0] == "l"
    return "r" + name[1:]


def fingertips(body, pose, side):
    """(5, 3) [m] in the world: the tips of the fingers that a hand has, by plain NumPy from local rotations."""
    skeleton = body.skeleton
    at, turn = np.zeros((len(skeleton), 3)), np.zeros((len(skeleton), 4))
    for j, parent in enumerate(skeleton.parents):
        if parent < 0:
            at[j], turn[j] = pose.translation, pose.rotations[j]
        else:
            at[j] = at[parent] + pm.rotate(turn[parent], skeleton.offsets[j])
            turn[j] = pm.multiply(turn[parent], pose.rotations[j])
    tips = []
    for finger in FINGERS_OF:
        chain = [role for role in FINGER_CHAINS[f"{side}_{finger}"] if role in body.fingers]
        if not chain:
            continue
        last = body.fingers[chain[-1]]
        ends = np.flatnonzero(skeleton.end_parents == last)
        below = skeleton.children(last)
        if len(ends):
            tips.append(at[last] + pm.rotate(turn[last], skeleton.end_offsets[ends[0]]))
        else:
            tips.append(at[below[0]] if below else at[last])
    return np.array(tips), at, turn


def palm_of(body, at, side):
    """Unit vectors of a hand, from its knuckles alone: out of the palm, towards the fingers, towards the thumb."""
    index, middle, little = (at[body.fingers[f"{side}_{f}_proximal"]] for f in ("index", "middle", "little"))
    along = middle - at[body.roles[f"{side}_hand"]]
    along /= np.linalg.norm(along)
    thumb = index - little - ((index - little) @ along) * along
    thumb /= np.linalg.norm(thumb)
    out = np.cross(along, thumb) if side == "left" else np.cross(thumb, along)
    return out, along, thumb


@pytest.mark.parametrize("convention", NAMES)
@pytest.mark.parametrize("inside", [False, True], ids=["", "metacarpals"])
def test_fingers_of_every_convention_are_found(convention, inside):
    if inside and convention not in METACARPALS:
        pytest.skip("this convention has none")
    skeleton = handed(NAMES[convention], METACARPALS[convention] if inside else None)
    body = ps.Humanoid(skeleton)
    assert tuple(body.fingers) == FINGERS
    for side in ("left", "right"):
        for finger in FINGERS_OF:
            for k, role in enumerate(FINGER_CHAINS[f"{side}_{finger}"]):
                assert skeleton.names[body.fingers[role]] == swapped(NAMES[convention](finger, k + 1), side)
                assert body.index(role) == body.fingers[role]


def test_a_body_without_fingers_has_none_and_mittens_are_no_fingers(data_dir):
    assert ps.figure().fingers == {}
    for plan in ("unity", "smpl", "no clavicles"):
        assert plan_body(plan).fingers == {}
    for name in ("CMU", "KayKit knight", "CesiumMan", "MakeHuman CMU"):
        assert file_body(data_dir, name).fingers == {}
    two = handed(NAMES["mixamo"], fingers=("thumb", "index"))
    assert ps.Humanoid(two).fingers == {}


def test_rigs_of_files_have_all_thirty(data_dir):
    made = file_body(data_dir, "MakeHuman")
    assert tuple(made.fingers) == FINGERS
    assert made.skeleton.names[made.fingers["left_thumb_metacarpal"]] == "finger1-1.L"
    assert made.skeleton.names[made.fingers["right_little_distal"]] == "finger5-3.R"
    vrm = file_body(data_dir, "VRM")
    assert tuple(vrm.fingers) == FINGERS
    assert vrm.skeleton.names[vrm.fingers["left_thumb_metacarpal"]] == "thumb.proximal.L"


def test_four_fingers_two_joints_and_tips_are_found_too():
    cartoon = ps.Humanoid(handed(NAMES["unreal"], fingers=("thumb", "index", "middle", "little"), joints=2, tips=False))
    assert not any("ring" in role or "distal" in role for role in cartoon.fingers)
    assert len(cartoon.fingers) == 16
    four = ps.Humanoid(handed(NAMES["mixamo"], joints=4))  # Mixamo's fourth joints are tips
    assert tuple(four.fingers) == FINGERS
    assert not any(four.skeleton.names[j].endswith("4") for j in four.fingers.values())


def test_fingers_that_the_caller_names_stand():
    skeleton = handed(NAMES["unreal"])
    body = ps.Humanoid(skeleton, roles={"left_index_proximal": "middle_01_l"})
    assert [role for role in body.fingers if role.startswith("left")] == ["left_index_proximal"]
    assert body.fingers["left_index_proximal"] == skeleton.index("middle_01_l")
    assert len([role for role in body.fingers if role.startswith("right")]) == 15
    none = ps.Humanoid(skeleton, roles=dict.fromkeys(FINGERS))
    assert none.fingers == {}
    with pytest.raises(PosableError, match="hang"):
        ps.Humanoid(skeleton, roles={"left_index_proximal": "index_01_r"})
    assert parse_roles("left thumb distal=T3") == {"left_thumb_distal": "T3"}


def bodies_with_fingers(data_dir):
    bodies = {name: ps.Humanoid(handed(make)) for name, make in NAMES.items()}
    bodies |= {f"{name}, metacarpals": ps.Humanoid(handed(NAMES[name], make)) for name, make in METACARPALS.items()}
    bodies["curled at rest"] = ps.Humanoid(handed(NAMES["unreal"], curl=0.3))
    bodies["two joints, no tips"] = ps.Humanoid(handed(NAMES["unreal"], joints=2, tips=False))
    bodies |= {name: file_body(data_dir, name) for name in ("MakeHuman", "VRM")}
    return bodies


def curled(body, angle, thumb=None):
    """The neutral pose with every joint of the fingers flexed by so much [rad], thumbs by `thumb`."""
    posture = body.canonical(body.neutral_pose)
    changed = {}
    for role in body.fingers:
        sign = 1.0 if role.startswith("left") else -1.0
        if "thumb" in role:
            changed[role] = pm.axis_angle([1.0, 0.0, 0.0], angle if thumb is None else thumb)
        else:
            changed[role] = pm.axis_angle([0.0, 0.0, -sign], angle)
    return body.pose(posture.rotated(**changed), base=body.neutral_pose)


def test_flexion_curls_towards_the_palm_on_every_rig(data_dir):
    """Fingertips, recomputed by forward kinematics, come out of the palm's side and back to the wrist; so do thumbs
    go across the palm. Every rig, both hands."""
    for name, body in bodies_with_fingers(data_dir).items():
        open_pose, closed = curled(body, 0.0), curled(body, np.radians(60.0), np.radians(35.0))
        for side in ("left", "right"):
            before, at, _ = fingertips(body, open_pose, side)
            after, _, _ = fingertips(body, closed, side)
            out, along, thumb = palm_of(body, at, side)
            size = np.linalg.norm(at[body.fingers[f"{side}_middle_proximal"]] - at[body.roles[f"{side}_hand"]])
            moved = (after - before) / size
            assert (moved[1:] @ out > 0.15).all(), (name, side, moved @ out)
            assert (moved[1:] @ along < -0.15).all(), (name, side)
            assert (np.abs(moved[1:] @ thumb) < 0.2).all(), (name, side)
            assert moved[0] @ thumb < -0.2, (name, side, moved[0])
            assert abs(moved[0] @ out) < 0.15, (name, side, moved[0])


def test_in_the_neutral_pose_fingers_are_straight_and_thumbs_half_way_ahead(data_dir):
    for name, body in bodies_with_fingers(data_dir).items():
        _, at, _ = fingertips(body, curled(body, 0.0), "left")
        for side in ("left", "right"):
            for finger in FINGERS_OF:
                chain = [body.fingers[r] for r in FINGER_CHAINS[f"{side}_{finger}"] if r in body.fingers]
                expected = np.array([0.0, -(0.5**0.5), 0.5**0.5]) if finger == "thumb" else np.array([0.0, -1.0, 0.0])
                for a, b in pairwise(chain):
                    bone = at[b] - at[a]
                    np.testing.assert_allclose(bone / np.linalg.norm(bone), expected, atol=1e-6, err_msg=name)


def test_canonical_rotations_of_fingers_survive_any_rig(data_dir):
    """Posed on one rig and read again, and carried to another one: the same rotations."""
    rng = np.random.default_rng(3)
    bodies = bodies_with_fingers(data_dir)
    first = bodies["mixamo"]
    for name, body in bodies.items():
        posture = first.canonical(first.neutral_pose)
        given = {role: pm.exp(0.6 * rng.normal(size=3)) for role in body.fingers}
        again = body.canonical(body.pose(posture.rotated(**{r: q for r, q in given.items() if r in posture.roles})))
        for role, q in given.items():
            np.testing.assert_allclose(
                np.abs(np.sum(again.rotation(role) * q)), 1.0, atol=1e-9, err_msg=f"{name} {role}"
            )


def test_any_pose_of_a_body_with_fingers_is_read_and_posed_without_loss(data_dir):
    rng = np.random.default_rng(4)
    for name, body in bodies_with_fingers(data_dir).items():
        pose = Pose(rng.normal(size=(3, 3)), pm.normalize(rng.normal(size=(3, len(body.skeleton), 4))))
        back = body.pose(body.canonical(pose), base=pose)
        one, two = (body.skeleton.forward(p) for p in (pose, back))
        joints = [*body.roles.values(), *body.fingers.values()]
        np.testing.assert_allclose(one.positions[:, joints], two.positions[:, joints], atol=1e-9, err_msg=name)


def test_the_mirrored_pose_has_the_fingers_of_the_other_hand(data_dir):
    rng = np.random.default_rng(5)
    for name in ("MakeHuman", "VRM"):
        body = file_body(data_dir, name)
        posture = body.canonical(body.neutral_pose)
        posture = posture.rotated(**{role: pm.exp(0.5 * rng.normal(size=3)) for role in body.fingers})
        pose = body.pose(posture, base=body.neutral_pose)
        mirrored = body.mirrored(pose)
        tips, tips_mirrored = fingertips(body, pose, "left")[0], fingertips(body, mirrored, "right")[0]
        np.testing.assert_allclose(tips * [-1, 1, 1], tips_mirrored, atol=2e-3, err_msg=name)


def test_a_posture_without_fingers_leaves_them_as_they_were(data_dir):
    body = file_body(data_dir, "MakeHuman")
    pose = curled(body, 0.7)
    plain = ps.figure().canonical(ps.figure().neutral_pose)
    again = body.pose(plain, base=pose)
    fingers = list(body.fingers.values())
    np.testing.assert_array_equal(again.rotations[fingers], pose.rotations[fingers])
    assert body.pose(plain).rotations[fingers].tolist() == body.skeleton.rest.rotations[fingers].tolist()


def test_fingers_that_a_posture_lacks_follow_their_finger():
    """From a rig with two joints a finger the third is straight; a finger that it has not keeps the base's rotation."""
    source = ps.Humanoid(handed(NAMES["unreal"], fingers=("thumb", "index", "middle", "little"), joints=2))
    target = ps.Humanoid(handed(NAMES["mixamo"], curl=0.2))
    base = curled(target, 0.9)
    posed = target.pose(source.canonical(curled(source, 0.5)), base=base)
    read = target.canonical(posed)
    np.testing.assert_allclose(read.rotation("left_index_distal"), [1, 0, 0, 0], atol=1e-9)
    np.testing.assert_allclose(np.degrees(pm.log(read.rotation("left_index_intermediate"))), [0, 0, -28.648], atol=1e-3)
    rings = [target.fingers[role] for role in FINGER_CHAINS["left_ring"]]
    np.testing.assert_array_equal(posed.rotations[rings], base.rotations[rings])


LIMITED = {  # a joint of the left hand, an axis, degrees inside, degrees outside, of canonical rotations
    ("left_index_proximal", (0, 0, -1), 94, 96),  # flexion
    ("left_index_proximal", (0, 0, 1), 44, 46),
    ("left_little_proximal", (1, 0, 0), 24, 26),  # towards the little finger's side
    ("left_little_proximal", (-1, 0, 0), 24, 26),
    ("left_ring_intermediate", (0, 0, -1), 114, 116),
    ("left_ring_intermediate", (0, 0, 1), 9, 11),
    ("left_middle_distal", (0, 0, -1), 89, 91),
    ("left_thumb_metacarpal", (1, 0, 0), 54, 56),  # adduction, across the palm
    ("left_thumb_metacarpal", (-1, 0, 0), 25, 27),
    ("left_thumb_metacarpal", (0, -(0.5**0.5), -(0.5**0.5)), 70, 72),  # out of the palm's plane, in front of it
    ("left_thumb_metacarpal", (0, 0.5**0.5, 0.5**0.5), 19, 21),
    ("left_thumb_proximal", (1, 0, 0), 69, 71),
    ("left_thumb_distal", (1, 0, 0), 89, 91),
}


@pytest.mark.parametrize(("role", "axis", "inside", "outside"), sorted(LIMITED))
def test_fingers_bend_as_far_as_peoples_do(role, axis, inside, outside):
    body = ps.Humanoid(handed(NAMES["mixamo"]))
    for angle, allowed in ((inside, True), (outside, False)):
        q = pm.axis_angle(axis, np.radians(angle))
        mirror = q * np.array([1.0, 1.0, -1.0, -1.0])
        assert body.limits.contains(role, q) == allowed
        assert body.limits.contains(role.replace("left", "right"), mirror) == allowed


def test_clamping_brings_fingers_inside_their_limits():
    rng = np.random.default_rng(6)
    body = ps.Humanoid(handed(NAMES["rigify"]))
    pose = Pose(np.zeros((20, 3)), pm.normalize(rng.normal(size=(20, len(body.skeleton), 4))))
    posture = body.canonical(body.clamp(pose))
    rows = [posture.index(role) for role in body.fingers]
    assert body.limits.excess([*body.fingers], posture.rotations[:, rows]).max() < 1e-6


@pytest.mark.parametrize("turn", TURNS)
def test_fingers_do_not_depend_on_heading(turn):
    skeleton = handed(NAMES["mixamo"])
    spun = (
        skeleton
        if TURNS[turn] is None
        else skeleton.replace(rest_rotations=np.concatenate([TURNS[turn][None], skeleton.rest_rotations[1:]]))
    )
    one, two = ps.Humanoid(skeleton), ps.Humanoid(spun)
    assert find_fingers(spun, two.roles) == one.fingers
    tips = [
        fingertips(b, curled(b, 0.8), "right")[0] - b.neutral_frames.positions[b.roles["right_hand"]]
        for b in (one, two)
    ]
    np.testing.assert_allclose(*tips, atol=1e-9)


def test_a_motion_keeps_its_fingers_on_another_rig(data_dir):
    """MakeHuman to VRM and back to a Mixamo rig: every fingertip, seen from the palm, goes where it went."""
    rng = np.random.default_rng(8)
    source = file_body(data_dir, "MakeHuman")
    poses = [curled(source, angle, 0.4 * angle) for angle in np.linspace(0.0, 1.2, 12)]
    rotations = np.stack([pose.rotations for pose in poses])
    motion = ps.Motion(source.skeleton, Pose(np.stack([pose.translation for pose in poses]), rotations), 30.0)
    posture = source.canonical(motion.pose)
    spread = {r: pm.exp(0.1 * rng.normal(size=3)) for r in source.fingers if r.endswith("index_proximal")}
    motion = motion.replace(pose=source.pose(posture.rotated(**spread), base=motion.pose))
    for target in (file_body(data_dir, "VRM"), ps.Humanoid(handed(NAMES["mixamo"], METACARPALS["unreal"]))):
        answer = ps.retarget(motion, source, target)
        assert not [part for part in answer.dropped if "thumb" in part or "index" in part]
        one, two = source.canonical(motion.pose), target.canonical(answer.motion.pose)
        for role in source.fingers:
            cosine = np.abs(np.sum(one.rotation(role) * two.rotation(role), axis=-1))
            np.testing.assert_allclose(cosine, 1.0, atol=1e-9, err_msg=role)


def test_fingers_that_move_and_have_no_place_on_the_new_body_are_named(data_dir):
    source, target = file_body(data_dir, "VRM"), file_body(data_dir, "CesiumMan")
    poses = [curled(source, angle) for angle in (0.0, 0.5, 1.0)]
    pose = Pose(np.stack([p.translation for p in poses]), np.stack([p.rotations for p in poses]))
    still = [role for role in source.fingers if "left_ring" in role]
    rotations = pose.rotations.copy()
    rotations[:, [source.fingers[role] for role in still]] = rotations[:1, [source.fingers[role] for role in still]]
    motion = ps.Motion(source.skeleton, Pose(pose.translation, rotations), 30.0)
    answer = ps.retarget(motion, source, target)
    named = {part for part in answer.dropped if part in FINGERS}
    assert named == set(FINGERS) - set(still)
    assert "fingers of the right hand" in str(answer) and "left index finger" in str(answer)
    assert "left ring" not in str(answer) and "left thumb" in str(answer)
    neutral = target.neutral_pose
    still_motion = ps.Motion(target.skeleton, Pose(neutral.translation[None], neutral.rotations[None]), 30.0)
    back = ps.retarget(still_motion, target, source)
    assert set(FINGERS) <= set(back.added)


def test_a_motion_that_is_saved_and_loaded_has_its_fingers(tmp_path):
    """VRM animation, AMASS, glTF and BVH: what is read again curls as it did, on the rig that the file makes of it."""
    body = ps.Humanoid(handed(NAMES["mixamo"]))
    poses = [curled(body, angle, 0.3) for angle in (0.1, 0.6, 1.1)]
    pose = Pose(np.stack([p.translation for p in poses]), np.stack([p.rotations for p in poses]))
    motion = ps.Motion(body.skeleton, pose, 30.0)
    expected = body.canonical(motion.pose)
    for suffix in ("vrma", "npz", "glb", "bvh"):
        options = {"layout": "amass"} if suffix == "npz" else {}
        ps.save(motion, tmp_path / f"hands.{suffix}", **options)
        again = ps.load(tmp_path / f"hands.{suffix}")
        other = ps.Humanoid(again.skeleton)
        assert tuple(other.fingers) == FINGERS, suffix
        found = other.canonical(again.pose)
        for role in FINGERS:
            angle = 2 * np.arccos(np.clip(np.abs(np.sum(expected.rotation(role) * found.rotation(role), -1)), 0, 1))
            assert angle.max() < 1e-3, (suffix, role, angle)
