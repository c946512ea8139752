"""Wrists of other rigs: flexion and deviation about the axes that the hand's own geometry shows."""

import numpy as np
import pytest

import posable as ps
import posable.math as pm

FINGERS = {  # the rig, knuckles on the thumb's side and on the little finger's, and the middle ones, left hand
    "VRMC_materials_mtoon_UV_Animation_Test.vrm": ("index.proximal.L", "little.proximal.L", "middle.proximal.L"),
    "makehuman/default.mhskel": ("finger2-1.L", "finger5-1.L", "finger3-1.L"),
}


def check(body, hand, palm, thumb, bone, side):
    """Turn the hand of the neutral pose about the axes of its palm, and ask the limits."""
    frames, joint = body.neutral_frames, body.index(hand)
    thumb = thumb - (thumb @ bone) * bone
    thumb /= np.linalg.norm(thumb)
    palm = np.cross(bone, thumb) if palm is None else palm
    palm = palm if side == "left" else -palm
    turns = {  # towards what, degrees inside, degrees outside
        "flexion": (palm, 78.0, 83.0),
        "extension": (-palm, 68.0, 73.0),
        "radial deviation": (thumb, 18.5, 22.0),
        "ulnar deviation": (-thumb, 33.5, 37.0),
    }
    for name, (towards, inside, outside) in turns.items():
        for angle, allowed in ((inside, True), (outside, False)):
            turn = pm.axis_angle(np.cross(bone, towards), np.radians(angle))
            local = pm.multiply(turn, body.canonical_orientation(frames, joint))
            said = body.limits.contains(hand, local, np.radians(0.5))
            assert said == allowed, f"{hand}: {name} by {angle} degrees"


@pytest.mark.parametrize("name", FINGERS)
def test_a_hand_with_fingers_bends_about_its_knuckles(name, data_dir):
    path = data_dir / "characters" / name
    if not path.is_file():
        pytest.skip(f"no rig at {path}")
    skeleton = ps.load(path).skeleton
    body = ps.Humanoid(skeleton)
    at = body.neutral_frames.positions
    known = {n.lower(): j for j, n in enumerate(skeleton.names)}
    for side in ("left", "right"):
        index, little, middle = (known[n.lower()[:-1] + side[0]] for n in FINGERS[name])
        bone = at[middle] - at[body.index(f"{side}_hand")]
        check(body, f"{side}_hand", None, at[index] - at[little], bone / np.linalg.norm(bone), side)


def test_a_hand_of_cmu_bends_about_its_palm_though_it_hangs_with_the_forearm(data_dir):
    """Its T-pose has the palms down and the thumbs ahead; the elbows' hinges are turned by 30 degrees."""
    path = data_dir / "cmu" / "127_02.bvh"
    if not path.is_file():
        pytest.skip(f"no clip at {path}")
    body = ps.Humanoid(ps.load(path, repair="cmu").skeleton)
    rest = body.skeleton.forward(body.skeleton.rest)
    for side, sign in (("left", 1.0), ("right", -1.0)):
        joint = body.index(f"{side}_hand")
        back = pm.multiply(body.neutral_frames.orientations[joint], pm.conjugate(rest.orientations[joint]))
        bone, thumb = (pm.rotate(back, v) for v in ([sign, 0.0, 0.0], [0.0, 0.0, 1.0]))
        check(body, f"{side}_hand", None, thumb, bone, side)


def test_a_hand_pushed_far_sideways_is_not_reached():
    """The figure's forearm points ahead, its hand 79 degrees towards the little finger: no swivel saves that."""
    body = ps.figure()
    arm = body.limb("right_arm")
    values = np.array([0.3, 1.2, 0.1, 1.3, 0.2, 0.0, 0.0])
    told = []
    for axis, degrees in (([1, 0, 0], 79.0), ([1, 0, 0], 30.0), ([0, 0, 1], 75.0)):
        straight = body.pose_limb(body.neutral_pose, "right_arm", values)
        frames = body.skeleton.forward(straight)
        hand = body.index("right_hand")
        at = body.canonical_orientation(frames, hand)
        turn = pm.multiply(at, pm.axis_angle(axis, np.radians(degrees)))
        told.append(arm.place(straight, ps.Target(frames.positions[hand], turn), swivel=arm.read(straight).swivel).ok)
    assert told == [False, True, True]
