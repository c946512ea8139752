"""Robots to find people in: five from files, and the conventions of others on a robot of ordinary proportions.

A convention lists the joints of trunk, neck, one arm and one leg with their axes in the robot's frame (x ahead, y left,
z up), base, mid and end of a limb parted by "|". The axes of a hip or a shoulder miss each other by a centimetre or
three, motors sit beside their axes, and some of them count the other way round.
"""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from posable import math as pm
from posable.formats import read_robot
from posable.skeleton import Robot, Shape, Skeleton, topological_order

FILES = {
    "g1": "mjcf/unitree_g1/g1.xml",
    "h1": "mjcf/h1/h1_mjx_feetonly.xml",
    "t1": "mjcf/t1/t1_mjx_feetonly.xml",
    "op3": "mjcf/op3/op3_mjx_feetonly.xml",
    "nao": "nao_v50.urdf",
}
UP = np.array([0.5, -0.5, -0.5, -0.5])


def robot_file(data_dir: Path, name: str) -> Skeleton:
    return read_robot(data_dir / "robots" / FILES[name])


def disguised(skeleton: Skeleton, seed: int) -> tuple[Skeleton, list[int]]:
    """The robot with joints called j0, j1... and listed in another order; where each of the old ones went."""
    rng = np.random.default_rng([seed, 5])
    count = len(skeleton)
    shuffled = rng.permutation(count).tolist()
    place = {old: k for k, old in enumerate(shuffled)}
    parents = [-1 if skeleton.parents[old] < 0 else place[int(skeleton.parents[old])] for old in shuffled]
    order = [shuffled[k] for k in topological_order(parents)]
    new = {old: k for k, old in enumerate(order)}
    dofs = [d for old in order for d in range(*skeleton.dofs.of(old).indices(len(skeleton.dofs)))]
    at = {old: k for k, old in enumerate(dofs)}
    robot = skeleton.robot
    if robot is not None:
        robot = replace(
            robot,
            name="",
            links=tuple(f"l{k}" if robot.links[old] else "" for k, old in enumerate(order)),
            **{key: getattr(robot, key)[dofs] for key in ("lower", "upper", "velocity", "effort", "reference")},
            mimics=tuple(replace(m, dof=at[m.dof], leader=at[m.leader]) for m in robot.mimics),
            shapes=tuple(replace(s, joint=new[s.joint], name="") for s in robot.shapes),
            collisions=tuple(replace(s, joint=new[s.joint], name="") for s in robot.collisions),
            separate=(),
            sites=tuple(replace(s, joint=new[s.joint], name=f"s{k}") for k, s in enumerate(robot.sites)),
            motors=tuple(sorted(at[d] for d in robot.motors)),
            rest=None,
        )
    made = Skeleton(
        [f"j{k}" for k in range(count)],
        [-1 if skeleton.parents[old] < 0 else new[int(skeleton.parents[old])] for old in order],
        skeleton.offsets[order],
        rest_rotations=skeleton.rest_rotations[order],
        kinds=[skeleton.kinds[old] for old in order],
        axes=skeleton.axes[order],
        robot=robot,
    )
    return made, [new[old] for old in range(count)]


@dataclass(frozen=True)
class Convention:
    """How a robot's joints are called, and which axes they have."""

    trunk: str
    neck: str
    arm: str
    leg: str
    sides: tuple[str, str] = ("left", "right")
    zero: str = "hanging"
    """How its arms are where all joints are at zero: "hanging", "sideways" or "forward"."""
    root: str = "pelvis"
    """"pelvis", "chest" (the waist lies below it) or "world" (with a fixed joint to the pelvis)."""
    backwards: bool = False
    """Whether x of its own frame points behind it."""


CONVENTIONS = {
    "talos": Convention(
        "torso_1_joint z, torso_2_joint y",
        "head_1_joint y, head_2_joint z",
        "arm_S_1_joint z, arm_S_2_joint x, arm_S_3_joint z | arm_S_4_joint y | arm_S_5_joint z, arm_S_6_joint x, "
        "arm_S_7_joint y",
        "leg_S_1_joint z, leg_S_2_joint x, leg_S_3_joint y | leg_S_4_joint y | leg_S_5_joint y, leg_S_6_joint x",
        root="world",
    ),
    "atlas": Convention(
        "back_bkz z, back_bky y, back_bkx x",
        "neck_ry y",
        "S_arm_shz z, S_arm_shx x, S_arm_ely y | S_arm_elx x | S_arm_wry y, S_arm_wrx x, S_arm_wry2 y",
        "S_leg_hpz z, S_leg_hpx x, S_leg_hpy y | S_leg_kny y | S_leg_aky y, S_leg_akx x",
        sides=("l", "r"),
        zero="sideways",
    ),
    "valkyrie": Convention(
        "torsoYaw z, torsoPitch y, torsoRoll x",
        "lowerNeckPitch y, neckYaw z, upperNeckPitch y",
        "SShoulderPitch y, SShoulderRoll x, SShoulderYaw y | SElbowPitch z | SForearmYaw y, SWristRoll x, "
        "SWristPitch z",
        "SHipYaw z, SHipRoll x, SHipPitch y | SKneePitch y | SAnklePitch y, SAnkleRoll x",
        zero="sideways",
    ),
    "gr1": Convention(
        "waist_yaw_joint z, waist_pitch_joint y, waist_roll_joint x",
        "head_yaw_joint z, head_roll_joint x, head_pitch_joint y",
        "S_shoulder_pitch_joint y, S_shoulder_roll_joint x, S_shoulder_yaw_joint z | S_elbow_pitch_joint y | "
        "S_wrist_yaw_joint z, S_wrist_roll_joint x, S_wrist_pitch_joint y",
        "S_hip_roll_joint x, S_hip_yaw_joint z, S_hip_pitch_joint y | S_knee_pitch_joint y | S_ankle_pitch_joint y, "
        "S_ankle_roll_joint x",
    ),
    "apollo": Convention(
        "torso_roll x, torso_pitch y, torso_yaw z",
        "neck_yaw z, neck_roll x, neck_pitch y",
        "S_shoulder_aa x, S_shoulder_ie z, S_shoulder_fe y | S_elbow_fe y | S_wrist_roll z, S_wrist_yaw x, "
        "S_wrist_pitch y",
        "S_hip_ie z, S_hip_aa x, S_hip_fe y | S_knee_fe y | S_ankle_ie x, S_ankle_pd y",
        sides=("l", "r"),
    ),
    "icub": Convention(
        "torso_pitch y, torso_roll x, torso_yaw z",
        "neck_pitch y, neck_roll x, neck_yaw z",
        "S_shoulder_pitch y, S_shoulder_roll x, S_shoulder_yaw z | S_elbow y | S_wrist_prosup z, S_wrist_pitch x, "
        "S_wrist_yaw y",
        "S_hip_pitch y, S_hip_roll x, S_hip_yaw z | S_knee y | S_ankle_pitch y, S_ankle_roll x",
        sides=("l", "r"),
        backwards=True,
    ),
    "unitree h1-2": Convention(
        "torso_joint z",
        "",
        "S_shoulder_pitch_joint y, S_shoulder_roll_joint x, S_shoulder_yaw_joint z | S_elbow_joint y | "
        "S_wrist_roll_joint x, S_wrist_pitch_joint y, S_wrist_yaw_joint z",
        "S_hip_yaw_joint z, S_hip_pitch_joint y, S_hip_roll_joint x | S_knee_joint y | S_ankle_pitch_joint y, "
        "S_ankle_roll_joint x",
        zero="forward",
    ),
    "booster k1": Convention(
        "",
        "AAHead_yaw z, Head_pitch y",
        "ASide_Shoulder_Pitch y, Side_Shoulder_Roll x, Side_Elbow_Pitch y | Side_Elbow_Yaw z |",
        "Side_Hip_Pitch y, Side_Hip_Roll x, Side_Hip_Yaw z | Side_Knee_Pitch y | Side_Ankle_Pitch y, Side_Ankle_Roll x",
        sides=("Left", "Right"),
        zero="sideways",
    ),
    "waist below the root": Convention(
        "Waist_yaw z, Waist_roll x",
        "Head_yaw z, Head_pitch y",
        "S_Shoulder_Pitch y, S_Shoulder_Roll x, S_Shoulder_Yaw z | S_Elbow y | S_Wrist z",
        "S_Hip_Pitch y, S_Hip_Roll x, S_Hip_Yaw z | S_Knee y | S_Ankle_Pitch y, S_Ankle_Roll x",
        sides=("Left", "Right"),
        root="chest",
    ),
    "pm01": Convention(
        "J12_WAIST_YAW z",
        "J23_HEAD_YAW z",
        "JN_SHOULDER_PITCH_S y, JN_SHOULDER_ROLL_S x, JN_SHOULDER_YAW_S z | JN_ELBOW_PITCH_S y | JN_ELBOW_YAW_S z",
        "JN_HIP_PITCH_S y, JN_HIP_ROLL_S x, JN_HIP_YAW_S z | JN_KNEE_PITCH_S y | JN_ANKLE_PITCH_S y, JN_ANKLE_ROLL_S x",
        sides=("L", "R"),
    ),
    "berkeley humanoid lite": Convention(
        "",
        "",
        "arm_S_shoulder_pitch_joint y, arm_S_shoulder_roll_joint x, arm_S_shoulder_yaw_joint z | "
        "arm_S_elbow_pitch_joint y | arm_S_elbow_roll_joint z",
        "leg_S_hip_roll_joint x, leg_S_hip_yaw_joint z, leg_S_hip_pitch_joint y | leg_S_knee_pitch_joint y | "
        "leg_S_ankle_pitch_joint y, leg_S_ankle_roll_joint x",
    ),
    "cassie with arms": Convention(
        "",
        "",
        "shoulder-roll-S x, shoulder-pitch-S y, shoulder-yaw-S z | elbow-S y |",
        "hip-roll-S x, hip-yaw-S z, hip-pitch-S y | knee-S y | toe-pitch-S y, toe-roll-S x",
    ),
    "kuavo": Convention(
        "",
        "zhead_1_joint z, zhead_2_joint y",
        "zarm_S1_joint y, zarm_S2_joint x, zarm_S3_joint z | zarm_S4_joint y | zarm_S5_joint z, zarm_S6_joint x, "
        "zarm_S7_joint y",
        "leg_S1_joint x, leg_S2_joint z, leg_S3_joint y | leg_S4_joint y | leg_S5_joint y, leg_S6_joint x",
        sides=("l", "r"),
    ),
    "agibot x1": Convention(
        "lumbar_yaw_joint z, lumbar_roll_joint x, lumbar_pitch_joint y",
        "",
        "S_shoulder_pitch_joint y, S_shoulder_roll_joint x, S_shoulder_yaw_joint z | S_elbow_pitch_joint y | "
        "S_elbow_yaw_joint z, S_wrist_pitch_joint y, S_wrist_roll_joint x",
        "S_hip_pitch_joint y, S_hip_roll_joint x, S_hip_yaw_joint z | S_knee_pitch_joint y | S_ankle_pitch_joint y, "
        "S_ankle_roll_joint x",
    ),
    "four joints a leg": Convention(
        "",
        "head z",
        "S_sho_pitch y, S_sho_roll x | S_el y |",
        "S_hip_roll x, S_hip_pitch y | S_knee y | S_ank y",
        sides=("l", "r"),
    ),
}
"""Robots' joints; S stands for the side, N for a number of its own; "Side" too."""

AXES = {"x": np.array([1.0, 0.0, 0.0]), "y": np.array([0.0, 1.0, 0.0]), "z": np.array([0.0, 0.0, 1.0])}
HIP, KNEE, ANKLE, SOLE = (np.array(p) for p in ((0, 0.1, 0.9), (0, 0.1, 0.5), (0, 0.1, 0.1), (0.06, 0.1, 0.0)))
SHOULDER = np.array([0, 0.2, 1.35])
ARMS = {
    "hanging": (SHOULDER, np.array([0, 0.2, 1.07]), np.array([0, 0.2, 0.82]), np.array([0, 0.2, 0.68])),
    "sideways": (SHOULDER, np.array([0, 0.48, 1.35]), np.array([0, 0.73, 1.35]), np.array([0, 0.87, 1.35])),
    "forward": (SHOULDER, np.array([0, 0.2, 1.07]), np.array([0.25, 0.2, 1.07]), np.array([0.39, 0.2, 1.07])),
}


@dataclass(frozen=True)
class Made:
    """A robot of a convention, and what its joints are."""

    skeleton: Skeleton
    roles: dict[str, tuple[str, ...]]
    """Role to the joints that make it."""


def made(name: str, seed: int = 0) -> Made:
    """The robot of a convention."""
    rng = np.random.default_rng([seed, len(name)])
    convention = CONVENTIONS[name]
    builder = _Builder(rng, convention)
    builder.build()
    return Made(builder.skeleton(name), builder.roles)


class _Builder:
    def __init__(self, rng: np.random.Generator, convention: Convention) -> None:
        self.rng, self.convention = rng, convention
        self.names: list[str] = []
        self.parents: list[int] = []
        self.places: list[np.ndarray] = []
        self.axes: list[np.ndarray] = []
        self.kinds: list[str] = []
        self.ranges: dict[int, tuple[float, float]] = {}
        self.boxes: list[Shape] = []
        self.roles: dict[str, tuple[str, ...]] = {}
        self.number = 0

    def joint(self, name: str, parent: int, place, axis="x", kind="hinge", span=(-2.0, 2.0)) -> int:
        if "JN" in name:
            name, self.number = name.replace("JN", f"J{self.number:02d}"), self.number + 1
        sign = self.rng.choice([-1.0, 1.0])
        self.names.append(name)
        self.parents.append(parent)
        self.places.append(np.asarray(place, dtype=float))
        self.axes.append(sign * AXES[axis])
        self.kinds.append(kind)
        self.ranges[len(self.names) - 1] = span if sign > 0 else (-span[1], -span[0])
        return len(self.names) - 1

    def chain(self, text: str, parent: int, place) -> tuple[int, tuple[str, ...]]:
        names = []
        for part in filter(None, (p.strip() for p in text.split(","))):
            name, axis = part.split()
            parent = self.joint(name, parent, place, axis, span=(-0.8, 0.8))
            names.append(self.names[parent])
        return parent, tuple(names)

    def build(self) -> None:
        c = self.convention
        waist, neck = np.array([0, 0, 1.0]), np.array([0, 0, 1.5])
        if c.root == "chest":
            chest = self.joint("Trunk", -1, [0, 0, 1.2], kind="free")
            pelvis, names = self.chain(c.trunk, chest, waist)
            self.roles |= {"hips": names[-1:], "chest": ("Trunk",)}
        else:
            pelvis = self.joint("world" if c.root == "world" else "base", -1, [0, 0, 1.0], kind="free")
            if c.root == "world":
                pelvis = self.joint("base_joint", pelvis, [0, 0, 1.0], kind="fixed")
            chest, names = self.chain(c.trunk, pelvis, waist)
            self.roles |= {"hips": (self.names[pelvis],)} | ({"chest": names} if names else {})
        self.joint("imu_joint", chest, [0, 0.03, 1.2], kind="fixed")
        head, names = self.chain(c.neck, chest, neck)
        self.roles |= {"head": names} if names else {}
        self.joint("camera_joint", head, [0.1, 0.02, 1.6], kind="fixed")
        for side, sign, word in (("left", 1.0, c.sides[0]), ("right", -1.0, c.sides[1])):
            self.limb(side, sign, word, c.arm, chest, ARMS[c.zero], leg=False)
            self.limb(side, sign, word, c.leg, pelvis, (HIP, KNEE, ANKLE, SOLE), leg=True)

    def limb(self, side: str, sign: float, word: str, text: str, parent: int, places, leg: bool) -> None:
        mirror = np.array([1.0, sign, 1.0])
        rng = np.random.default_rng(len(text))  # the same for both sides
        parts = ("upper_leg", "lower_leg", "foot") if leg else ("upper_arm", "lower_arm", "hand")
        for part, names, place in zip(parts, text.split("|"), places, strict=False):
            found = []
            for item in filter(None, (n.strip() for n in names.split(","))):
                name, axis = item.split()
                miss = rng.uniform(-0.02, 0.02, 3) * (part in ("upper_leg", "upper_arm"))
                beside = rng.uniform(-0.03, 0.03) * AXES[axis]  # a motor's place on its own axis means nothing
                span = self.span(part, axis, sign) if part.startswith("lower") else (-1.5, 1.5)
                joint_name = name.replace("Side", word).replace("S_", word + "_").replace("_S", "_" + word)
                joint_name = joint_name.replace("-S", "-" + word)
                if joint_name.startswith("S") and joint_name[1].isupper():
                    joint_name = word + joint_name[1:]
                parent = self.joint(joint_name, parent, mirror * (place + miss + beside), axis, span=span)
                found.append(self.names[parent])
            if found:
                self.roles[f"{side}_{part}"] = tuple(found)
        end = mirror * places[3]
        box = np.array([0.24, 0.1, 0.04]) if leg else np.array([0.05, 0.05, 0.05])
        self.boxes.append((parent, end + np.array([0, 0, 0.02]) if leg else end, box))

    def span(self, part: str, axis: str, sign: float) -> tuple[float, float]:
        """The range of a knee or an elbow: both bend the way a person's do."""
        if part == "lower_leg":
            return (-0.05, 2.4)
        zero = self.convention.zero
        if zero == "hanging":
            return (-2.4, 0.05)
        if zero == "forward":
            return (-1.0, 1.6)  # bent by a quarter turn at zero
        return (-2.4, 0.05) if sign > 0 else (-0.05, 2.4)  # about z, and about x upwards or downwards

    def skeleton(self, name: str) -> Skeleton:
        turn = pm.axis_angle([0.0, 0.0, 1.0], np.pi) if self.convention.backwards else np.array([1.0, 0, 0, 0])
        places = np.array(self.places)
        parents = np.array(self.parents)
        if self.convention.backwards:  # the robot's own frame looks behind it: joints are given in that frame
            places, axes = pm.rotate(turn, places), pm.rotate(turn, np.array(self.axes))
        else:
            axes = np.array(self.axes)
        offsets = places - np.where(parents[:, None] >= 0, places[parents], 0.0)
        offsets[0] = pm.rotate(UP, places[0])
        rests = np.tile([1.0, 0.0, 0.0, 0.0], (len(parents), 1))
        rests[0] = UP
        skeleton = Skeleton(self.names, parents, offsets, rest_rotations=rests, kinds=self.kinds, axes=axes)
        lower, upper = np.full(len(skeleton.dofs), -np.inf), np.full(len(skeleton.dofs), np.inf)
        for joint, (low, high) in self.ranges.items():
            if self.kinds[joint] == "hinge":
                lower[skeleton.dofs.of(joint)], upper[skeleton.dofs.of(joint)] = low, high
        shapes = tuple(
            Shape(joint, "box", size, pm.rotate(turn, place) - places[joint], np.array([1.0, 0, 0, 0]))
            for joint, place, size in self.boxes
        )
        infinite = np.full(len(lower), np.inf)
        links = tuple(f"{n}_link" for n in self.names)
        robot = Robot(name, links, lower, upper, infinite, infinite, collisions=shapes)
        return skeleton.replace(robot=robot)
