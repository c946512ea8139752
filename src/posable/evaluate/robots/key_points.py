"""How alike two postures are: key points in the frame of the pelvis, the person's brought to the robot's size.

The key points are knees, ankles, elbows, wrists and, where the robot can move it, the head. Their positions are seen
from the middle between both hips, along the axes of the pelvis, so that where in the room the body stands does not
count, nor how its root was put there. On a robot, hips, shoulders, wrists and ankles are where the axes of their motors
meet, or pass each other nearest (`posable.body.robot`); a forearm without a wrist has one where a person's would be.

A robot has other proportions, so the person's points are brought to its size in two ways, neither of which knows how
the motion was made:

- posture: the directions of the person's bones, on the lengths of the robot's. The trunk's shoulders rotate from where
  the robot has them when it stands as the person's do from where they are when the person stands.
- scaled: the person's points times one number, the ratio of the lengths of the legs. The robot's own proportions then
  count as errors, for everybody's retargeting the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from ...body import Humanoid
from ...body.robot import RobotParts
from ...compute.types import Floats
from ...math import between, conjugate, from_matrix, multiply, rotate
from ...skeleton import Frames, Pose

SIDES = ("left", "right")
ROLES = {"hip": "upper_leg", "knee": "lower_leg", "ankle": "foot"}
ROLES |= {"shoulder": "upper_arm", "elbow": "lower_arm", "wrist": "hand"}
LIMBS = {"leg": ("hip", "knee", "ankle"), "arm": ("shoulder", "elbow", "wrist")}
MEASURED = ("knee", "ankle", "elbow", "wrist")

Points = Mapping[str, Floats]


def points_of(body: Humanoid, pose: Pose) -> dict[str, Floats]:
    """Return the key points (..., 3) [m] of a body's poses in the frame of its pelvis: "left_knee", ..., "head"."""
    frames = body.skeleton.forward(pose)
    parts = body.robot_parts
    world = _robots(parts, frames) if parts is not None else _persons(body, frames)
    origin = 0.5 * (world["left_hip"] + world["right_hip"])
    hips = parts.hips if parts is not None else body.roles["hips"]
    back = conjugate(body.canonical_orientation(frames, hips))
    return {name: rotate(back, point - origin) for name, point in world.items()}


def standing_points(body: Humanoid) -> dict[str, Floats]:
    """Return the key points (3,) [m] of a body that stands neutrally."""
    return points_of(body, body.neutral_pose)


def posture_points(person: Points, standing: Points, robot: Points) -> dict[str, Floats]:
    """Return where the key points (F, 3) [m] of a robot are with the directions of a person's bones.

    Args:
        person: key points (F, 3) of the person.
        standing: those (3,) of the person who stands.
        robot: those (3,) of the robot that stands.
    """
    moved = multiply(_trunk(person), conjugate(_trunk(standing)))
    found: dict[str, Floats] = {}
    for side in SIDES:
        found[f"{side}_hip"] = np.broadcast_to(robot[f"{side}_hip"], person[f"{side}_hip"].shape)
        found[f"{side}_shoulder"] = rotate(moved, robot[f"{side}_shoulder"])
        for joints in LIMBS.values():
            for above, below in pairwise(joints):
                one, other = f"{side}_{above}", f"{side}_{below}"
                length = float(np.linalg.norm(robot[other] - robot[one]))
                found[other] = found[one] + length * _unit(person[other] - person[one])
    if "head" in robot and "head" in person:
        rests = [each["head"] - _middle(each, "shoulder") for each in (standing, robot)]
        now = _unit(person["head"] - _middle(person, "shoulder"))
        found["head"] = _middle(found, "shoulder") + rotate(between(_unit(rests[0]), now), rests[1])
    return found


def measured_names(person: Points, robot: Points) -> list[str]:
    """Return the names of the key points that count."""
    names = [f"{side}_{part}" for part in MEASURED for side in SIDES]
    return [*names, *(["head"] if "head" in robot and "head" in person else [])]


def errors(names: Sequence[str], expected: Points, found: Points) -> Floats:
    """Return distances (F, K) [m] between key points (F, 3)."""
    return np.stack([np.linalg.norm(expected[name] - found[name], axis=-1) for name in names], axis=-1)


def leg_length(points: Points) -> float:
    """Return the length of a standing body's legs [m], thigh and shin, mean of both."""
    bones = [
        np.linalg.norm(points[f"{side}_{one}"] - points[f"{side}_{other}"])
        for side in SIDES
        for one, other in (("hip", "knee"), ("knee", "ankle"))
    ]
    return 0.5 * float(np.sum(bones))


def _persons(body: Humanoid, frames: Frames) -> dict[str, Floats]:
    names = {f"{side}_{part}": f"{side}_{role}" for side in SIDES for part, role in ROLES.items()} | {"head": "head"}
    return {name: frames.positions[..., body.roles[role], :] for name, role in names.items() if role in body.roles}


def _robots(parts: RobotParts, frames: Frames) -> dict[str, Floats]:
    found = {}
    for side in SIDES:
        for limb, names in LIMBS.items():
            one = parts.limbs[f"{side}_{limb}"]
            for name, joint, centre in zip(names, (one.carrier, one.upper, one.lower), one.centres, strict=True):
                found[f"{side}_{name}"] = frames.point(joint, centre)
    if parts.head is not None:
        found["head"] = frames.positions[..., parts.head, :]
    return found


def _trunk(points: Points) -> Floats:
    """Return the orientation (..., 4) of a trunk: up from the hips to the shoulders, left along the shoulders."""
    up = _unit(_middle(points, "shoulder"))
    left = points["left_shoulder"] - points["right_shoulder"]
    left = _unit(left - (left * up).sum(axis=-1, keepdims=True) * up)
    return from_matrix(np.stack([left, up, np.cross(left, up)], axis=-1))


def _middle(points: Points, part: str) -> Floats:
    return np.asarray(0.5 * (points[f"left_{part}"] + points[f"right_{part}"]))


def _unit(vectors: Floats) -> Floats:
    return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-12))
