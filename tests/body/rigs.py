"""Rigs to find people in: the naming conventions of common tools, on a person of ordinary size.

A plan lists joints as an indented tree, each with the place of the body where it sits. `rig` builds a skeleton of it in
a T-, an A- or a standing pose, facing anywhere, with joint frames along the world or turned at random.
"""

import re
import textwrap

import numpy as np

import posable.math as pm
from posable.skeleton import Skeleton

HAND = [f"L_{finger}{joint}" for finger in ("thumb", "index", "middle", "ring", "little") for joint in (1, 2)]


def fingers(indent: int, *names: str) -> str:
    """Lines of five fingers with two joints each below a hand."""
    lines = []
    for k, name in enumerate(names):
        lines.append(" " * (indent + k % 2) + f"{name} = {HAND[k]}")
    return "\n".join(lines)


def mirrored(plan: str, *swaps: tuple[str, str]) -> str:
    """The right side of a plan of the left side."""
    for left, right in (("= L_", "= R_"), *swaps):
        plan = plan.replace(left, right)
    return plan


def both(plan: str, *swaps: tuple[str, str]) -> str:
    """A plan of the left side, each of its branches followed by its mirror image."""
    branches: list[list[str]] = []
    for line in plan.splitlines():
        depth = len(line) - len(line.lstrip())
        if line.strip() and (not branches or depth <= len(branches[-1][0]) - len(branches[-1][0].lstrip())):
            branches.append([])
        if line.strip():
            branches[-1].append(line)
    texts = ["\n".join(branch) for branch in branches]
    return "\n".join(text + "\n" + mirrored(text, *swaps) for text in texts)


MIXAMO_FINGERS = [f"LeftHand{f}{n}" for f in ("Thumb", "Index", "Middle", "Ring", "Pinky") for n in (1, 2)]
MIXAMO = (
    """
Hips = hips
  Spine = s.15
    Spine1 = s.4
      Spine2 = s.7
        Neck = s1
          Head = n1
            HeadTop_End = top
"""
    + both(
        """
        LeftShoulder = L_clavicle
          LeftArm = L_shoulder
            LeftForeArm = L_elbow
              LeftHand = L_wrist
"""
        + fingers(16, *MIXAMO_FINGERS),
        ("Left", "Right"),
    )
    + "\n"
    + both(
        """
  LeftUpLeg = L_hip
    LeftLeg = L_knee
      LeftFoot = L_ankle
        LeftToeBase = L_ball
          LeftToe_End = L_toe
""",
        ("Left", "Right"),
    )
)
MIXAMO = re.sub(r"(?m)^( *)(?=\S)", r"\1mixamorig:", MIXAMO)

VERTEBRAE = [f"vl{k}" for k in range(5, 0, -1)] + [f"vt{k}" for k in range(12, 0, -1)]
NECK = [f"vc{k}" for k in range(7, 0, -1)]
_SPINE = [(name, f"s{(k + 0.5) / 17:.3f}") for k, name in enumerate(VERTEBRAE)]
_SPINE += [(name, f"n{k / 7:.3f}") for k, name in enumerate(NECK)] + [("skullbase", "n1")]
HANIM = (
    "HumanoidRoot = hips\n  sacroiliac = hips\n"
    + both(
        """
    l_hip = L_hip
      l_knee = L_knee
        l_ankle = L_ankle
          l_subtalar = L_heel
            l_midtarsal = L_ball
              l_metatarsal = L_toe
""",
        (" l_", " r_"),
    )
    + "\n"
    + "\n".join(" " * (2 + k) + f"{name} = {place}" for k, (name, place) in enumerate(_SPINE[:17]))
    + "\n"
    + both(
        """
                   l_sternoclavicular = L_clavicle
                    l_acromioclavicular = L_acromion
                     l_shoulder = L_shoulder
                      l_elbow = L_elbow
                       l_wrist = L_wrist
                        l_thumb1 = L_thumb1
                        l_index1 = L_index1
                        l_middle1 = L_middle1
                        l_pinky1 = L_little1
""",
        (" l_", " r_"),
    )
    + "\n"
    + "\n".join(" " * (19 + k) + f"{name} = {place}" for k, (name, place) in enumerate(_SPINE[17:]))
)

SMPL = """
Pelvis = hips
  L_Hip = L_hip
    L_Knee = L_knee
      L_Ankle = L_ankle
        L_Foot = L_ball
  R_Hip = R_hip
    R_Knee = R_knee
      R_Ankle = R_ankle
        R_Foot = R_ball
  Spine1 = s.2
    Spine2 = s.45
      Spine3 = s.6
        Neck = s1
          Head = n1
        L_Collar = L_clavicle
          L_Shoulder = L_shoulder
            L_Elbow = L_elbow
              L_Wrist = L_wrist
                L_Hand = L_middle1
        R_Collar = R_clavicle
          R_Shoulder = R_shoulder
            R_Elbow = R_elbow
              R_Wrist = R_wrist
                R_Hand = R_middle1
"""
SMPL_LOWER = (
    SMPL.lower().replace("l_", "left_").replace("r_", "right_").replace("= left_", "= L_").replace("= right_", "= R_")
)
SMPL_TORSO = """
Pelvis = hips
  L_Hip = L_hip
    L_Knee = L_knee
      L_Ankle = L_ankle
        L_Toe = L_ball
  R_Hip = R_hip
    R_Knee = R_knee
      R_Ankle = R_ankle
        R_Toe = R_ball
  Torso = s.2
    Spine = s.45
      Chest = s.6
        Neck = s1
          Head = n1
        L_Thorax = L_clavicle
          L_Shoulder = L_shoulder
            L_Elbow = L_elbow
              L_Wrist = L_wrist
                L_Hand = L_middle1
        R_Thorax = R_clavicle
          R_Shoulder = R_shoulder
            R_Elbow = R_elbow
              R_Wrist = R_wrist
                R_Hand = R_middle1
"""
RIGIFY = """
spine = hips
  spine.001 = s.2
    spine.002 = s.5
      spine.003 = s.75
        spine.004 = s1
          spine.005 = n.5
            spine.006 = n1
              face = n1
""" + both(
    """
        shoulder.L = L_clavicle
          upper_arm.L = L_shoulder
            forearm.L = L_elbow
              hand.L = L_wrist
                palm.01.L = L_palm
                  thumb.01.L = L_thumb1
                  f_index.01.L = L_index1
                palm.04.L = L_palm
                  f_pinky.01.L = L_little1
        breast.L = L_clavicle
  pelvis.L = hips
  thigh.L = L_hip
    shin.L = L_knee
      foot.L = L_ankle
        toe.L = L_ball
        heel.02.L = L_heel
""",
    (".L =", ".R ="),
)
RIGIFY_DEFORM = """
root = ground
  DEF-spine = hips
    DEF-spine.001 = s.2
      DEF-spine.002 = s.5
        DEF-spine.003 = s.75
          DEF-spine.004 = s1
            DEF-spine.006 = n1
""" + both(
    """
          DEF-shoulder.L = L_clavicle
            DEF-upper_arm.L = L_shoulder
              DEF-upper_arm.L.001 = L_mid_upper_arm
                DEF-forearm.L = L_elbow
                  DEF-forearm.L.001 = L_mid_forearm
                    DEF-hand.L = L_wrist
    DEF-thigh.L = L_hip
      DEF-thigh.L.001 = L_mid_thigh
        DEF-shin.L = L_knee
          DEF-shin.L.001 = L_mid_shin
            DEF-foot.L = L_ankle
              DEF-toe.L = L_ball
""",
    (".L =", ".R ="),
    (".L.001", ".R.001"),
)
UNREAL_FINGERS = [f"{f}_0{n}_l" for f in ("thumb", "index", "middle", "ring", "pinky") for n in (1, 2)]
UNREAL = (
    """
root = ground
  pelvis = hips
    spine_01 = s.15
      spine_02 = s.4
        spine_03 = s.65
          neck_01 = s1
            head = n1
"""
    + both(
        """
          clavicle_l = L_clavicle
            upperarm_l = L_shoulder
              upperarm_twist_01_l = L_mid_upper_arm
              lowerarm_l = L_elbow
                lowerarm_twist_01_l = L_mid_forearm
                hand_l = L_wrist
"""
        + fingers(18, *UNREAL_FINGERS)
        + """
    thigh_l = L_hip
      thigh_twist_01_l = L_mid_thigh
      calf_l = L_knee
        calf_twist_01_l = L_mid_shin
        foot_l = L_ankle
          ball_l = L_ball
""",
        ("_l =", "_r ="),
    )
    + """
  ik_foot_root = ground
    ik_foot_l = L_ankle
    ik_foot_r = R_ankle
  ik_hand_root = ground
    ik_hand_gun = R_wrist
      ik_hand_l = L_wrist
      ik_hand_r = R_wrist
"""
)
BIPED_LEG = """
Bip01 L Thigh = L_hip
  Bip01 L Calf = L_knee
    Bip01 L Foot = L_ankle
      Bip01 L Toe0 = L_ball
        Bip01 L Toe0Nub = L_toe
"""


def biped(legs_at: int) -> str:
    """3ds Max's Biped, clavicles on the neck; the thighs hang on the pelvis or, in older versions, on the spine."""
    return """
Bip01 = hips
  Bip01 Pelvis = hips
    Bip01 Spine = s.15
      Bip01 Spine1 = s.4
        Bip01 Spine2 = s.7
          Bip01 Neck = s1
            Bip01 Head = n1
              Bip01 HeadNub = top
""" + both(
        """
            Bip01 L Clavicle = L_clavicle
              Bip01 L UpperArm = L_shoulder
                Bip01 L Forearm = L_elbow
                  Bip01 L Hand = L_wrist
                    Bip01 L Finger0 = L_thumb1
                      Bip01 L Finger01 = L_thumb2
                    Bip01 L Finger1 = L_index1
                      Bip01 L Finger11 = L_index2
                    Bip01 L Finger2 = L_middle1
                    Bip01 L Finger3 = L_ring1
"""
        + textwrap.indent(BIPED_LEG, " " * legs_at),
        ("Bip01 L ", "Bip01 R "),
    )


VROID_FINGERS = [f"J_Bip_L_{f}{n}" for f in ("Thumb", "Index", "Middle", "Ring", "Little") for n in (1, 2)]
VROID = """
Root = ground
  J_Bip_C_Hips = hips
    J_Bip_C_Spine = s.15
      J_Bip_C_Chest = s.4
        J_Bip_C_UpperChest = s.65
          J_Sec_L_Bust1 = L_clavicle
          J_Bip_C_Neck = s1
            J_Bip_C_Head = n1
              J_Adj_L_FaceEye = top
              J_Sec_Hair1_01 = top
""" + both(
    """
          J_Bip_L_Shoulder = L_clavicle
            J_Bip_L_UpperArm = L_shoulder
              J_Bip_L_LowerArm = L_elbow
                J_Bip_L_Hand = L_wrist
"""
    + fingers(18, *VROID_FINGERS)
    + """
    J_Bip_L_UpperLeg = L_hip
      J_Bip_L_LowerLeg = L_knee
        J_Bip_L_Foot = L_ankle
          J_Bip_L_ToeBase = L_ball
""",
    ("_L_", "_R_"),
)
UNITY = """
Hips = hips
  Spine = s.15
    Chest = s.4
      UpperChest = s.65
        Neck = s1
          Head = n1
""" + both(
    """
        LeftShoulder = L_clavicle
          LeftUpperArm = L_shoulder
            LeftLowerArm = L_elbow
              LeftHand = L_wrist
  LeftUpperLeg = L_hip
    LeftLowerLeg = L_knee
      LeftFoot = L_ankle
        LeftToes = L_ball
""",
    ("Left", "Right"),
)
SLIME = """
HIP = hips
  WAIST = s.2
    CHEST = s.45
      UPPER_CHEST = s.7
        NECK = s1
          HEAD = n1
""" + both(
    """
        LEFT_UPPER_SHOULDER = s.9
          LEFT_SHOULDER = L_clavicle
            LEFT_UPPER_ARM = L_shoulder
              LEFT_LOWER_ARM = L_elbow
                LEFT_HAND = L_wrist
  LEFT_HIP = hips
    LEFT_UPPER_LEG = L_hip
      LEFT_LOWER_LEG = L_knee
        LEFT_FOOT = L_ankle
""",
    ("LEFT", "RIGHT"),
)
LIFE_FORMS = """
Hips = hips
  Chest = s.3
    Neck = s1
      Head = n1
""" + both(
    """
    LeftCollar = L_clavicle
      LeftShoulder = L_shoulder
        LeftElbow = L_elbow
          LeftWrist = L_wrist
  LeftHip = L_hip
    LeftKnee = L_knee
      LeftAnkle = L_ankle
        LeftToe = L_ball
""",
    ("Left", "Right"),
)
DAZ = """
hip = hips
  abdomen = s.2
    chest = s.55
      neck = s1
        head = n1
""" + both(
    """
      lCollar = L_clavicle
        lShldr = L_shoulder
          lForeArm = L_elbow
            lHand = L_wrist
              lThumb1 = L_thumb1
              lIndex1 = L_index1
              lPinky1 = L_little1
  lThigh = L_hip
    lShin = L_knee
      lFoot = L_ankle
        lToe = L_ball
""",
    (" l", " r"),
)
NO_CLAVICLES = """
pelvis = hips
  torso = s.5
    head = n1
""" + both(
    """
    arm_left = L_shoulder
      elbow_left = L_elbow
        hand_left = L_wrist
  leg_left = L_hip
    knee_left = L_knee
      foot_left = L_ankle
""",
    ("left", "right"),
)

PLANS = {
    "mixamo": MIXAMO,
    "h-anim": HANIM,
    "smpl": SMPL,
    "smpl lower case": SMPL_LOWER,
    "smpl torso": SMPL_TORSO,
    "rigify": RIGIFY,
    "rigify deform": RIGIFY_DEFORM,
    "unreal": UNREAL,
    "biped": biped(legs_at=4),
    "biped, legs on the spine": biped(legs_at=6),
    "vroid": VROID,
    "unity": UNITY,
    "slimevr": SLIME,
    "life forms": LIFE_FORMS,
    "daz": DAZ,
    "no clavicles": NO_CLAVICLES,
}


def place(where: str, arms: str = "T") -> np.ndarray:
    """Where a place of the body is [m], Y up, facing +Z, arms in a T- or A-pose or hanging ("down")."""
    middle = {"hips": (0, 0.98, 0), "ground": (0, 0, 0), "top": (0, 1.76, 0.02)}
    if where in middle:
        return np.array(middle[where], dtype=float)
    if where[0] in "sn" and where[1:].replace(".", "").isdigit():
        share = float(where[1:])
        low, high = ((0, 0.98, 0), (0, 1.47, -0.03)) if where[0] == "s" else ((0, 1.47, -0.03), (0, 1.56, 0.01))
        curve = np.array([0.0, 0.0, -0.02 * np.sin(np.pi * share)]) if where[0] == "s" else 0.0
        return np.array(low) * (1 - share) + np.array(high) * share + curve
    side, part = where.split("_", 1)
    point = _left(part, arms)
    return point if side == "L" else point * np.array([-1.0, 1.0, 1.0])


def _left(part: str, arms: str) -> np.ndarray:
    spread = {"T": 0.0, "A": -50.0, "down": -90.0}[arms]
    bend = {"T": 0.0, "A": 12.0, "down": 0.0}[arms]
    legs = {
        "hip": (0.09, 0.92, 0.0),
        "mid_thigh": (0.094, 0.70, 0.005),
        "knee": (0.098, 0.49, 0.01),
        "mid_shin": (0.099, 0.28, -0.005),
        "ankle": (0.10, 0.08, -0.02),
        "heel": (0.10, 0.02, -0.06),
        "ball": (0.115, 0.02, 0.10),
        "toe": (0.12, 0.01, 0.17),
        "clavicle": (0.02, 1.42, 0.02),
        "acromion": (0.15, 1.45, -0.02),
    }
    if part in legs:
        return np.array(legs[part])
    shoulder, upper, lower = np.array([0.18, 1.42, -0.02]), 0.29, 0.26
    out = pm.axis_angle([0.0, 0.0, 1.0], np.radians(spread))
    fore = pm.multiply(out, pm.axis_angle([0.0, 1.0, 0.0], -np.radians(bend)))
    elbow = shoulder + pm.rotate(out, [upper, 0.0, 0.0])
    along = {"shoulder": 0.0, "mid_upper_arm": 0.5, "elbow": 1.0}
    if part in along:
        return shoulder + along[part] * (elbow - shoulder)
    # In the frame of a forearm along +X whose thumb points forward (+Z), palm down.
    hand = {
        "mid_forearm": (0.13, 0, 0),
        "wrist": (lower, 0, 0),
        "palm": (lower + 0.03, 0, 0),
        "thumb1": (lower + 0.025, -0.01, 0.03),
        "thumb2": (lower + 0.06, -0.015, 0.05),
        "index1": (lower + 0.09, 0, 0.03),
        "index2": (lower + 0.13, 0, 0.03),
        "middle1": (lower + 0.095, 0, 0.01),
        "middle2": (lower + 0.14, 0, 0.01),
        "ring1": (lower + 0.09, 0, -0.01),
        "ring2": (lower + 0.13, 0, -0.01),
        "little1": (lower + 0.08, 0, -0.03),
        "little2": (lower + 0.11, 0, -0.03),
    }
    return elbow + pm.rotate(fore, hand[part])


def rig(
    plan: str, arms: str = "T", turn: np.ndarray | None = None, seed: int | None = None, scale: float = 1.0
) -> Skeleton:
    """A skeleton of a plan.

    Args:
        plan: an indented tree of "name = place".
        arms: "T", "A" or "down".
        turn: rotation of the whole rest pose (facing elsewhere, lying along Z).
        seed: joint frames turned at random; along the world when None.
        scale: of all lengths.
    """
    names, parents, places, stack = [], [], [], []
    for line in plan.splitlines():
        if not line.strip():
            continue
        name, where = (part.strip() for part in line.split("="))
        depth = len(line) - len(line.lstrip())
        while stack and stack[-1][0] >= depth:
            stack.pop()
        parents.append(stack[-1][1] if stack else -1)
        stack.append((depth, len(names)))
        names.append(name)
        places.append(scale * place(where, arms))
    rng = np.random.default_rng(seed)
    count = len(names)
    frames = np.tile([1.0, 0.0, 0.0, 0.0], (count, 1)) if seed is None else pm.normalize(rng.normal(size=(count, 4)))
    world = np.array(places)
    if turn is not None:
        frames, world = pm.multiply(turn, frames), pm.rotate(turn, world)
    above = np.array([max(p, 0) for p in parents])
    offsets = pm.rotate(pm.conjugate(frames[above]), world - world[above])
    local = pm.multiply(pm.conjugate(frames[above]), frames)
    offsets[0], local[0] = world[0], frames[0]
    return Skeleton(names, parents, offsets, rest_rotations=local)
