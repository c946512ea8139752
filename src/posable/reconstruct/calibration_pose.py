"""A calibration from one pose that is known: see `Calibration.from_pose`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from ..body.canonical import CanonicalPose
from ..body.measures import expected_stature, sole_of
from ..body.roles import MARKERS
from ..compute import PosableError, UnknownNameError
from ..compute.types import ArrayLike, Floats
from ..math import axis_angle, conjugate, multiply, rotate
from ..skeleton import Pose
from .calibration import PARTS, Calibration, checked_trackers, mean_rotation, upright

if TYPE_CHECKING:
    from ..body import Humanoid

POSES = ("neutral", "t")


def calibrate_from_pose(
    body: Humanoid,
    points: ArrayLike,
    orientations: Mapping[str, ArrayLike],
    pose: Pose | str,
    height: float | None,
    markers: tuple[str, ...],
) -> Calibration:
    """The joints of the body in the pose are laid under the trackers: turned about the vertical, on the floor, as big
    as fits or as was said, and so that trackers are on average where their joints are, seen from above.
    """
    given, rotated = checked_trackers(points, orientations, markers)
    for role in markers:
        if role not in MARKERS:
            raise UnknownNameError("part that can be calibrated", role, MARKERS)
    if not np.isfinite(given).all(axis=(1, 2)).any():
        raise PosableError("every moment has a point that is no number; expected at least one with all trackers seen")
    joint_positions = given[np.isfinite(given).all(axis=(1, 2))].mean(axis=0)
    joints, parts = _standing(body, _named_pose(body, pose), markers)
    yaw = _yaw(joints, joint_positions)
    if height is not None and not (math.isfinite(height) and height > 0.0):
        raise PosableError(f"height is {height} m; expected a number above 0")
    scale = _scale(joints, joint_positions) if height is None else height / expected_stature(body)
    laid = rotate(upright(yaw), joints * scale)
    shift = (joint_positions - laid).mean(axis=0) * [1.0, 0.0, 1.0]
    offsets, rotations = np.empty((len(markers), 3)), np.tile([1.0, 0.0, 0.0, 0.0], (len(markers), 1))
    for k, role in enumerate(markers):
        part = multiply(upright(yaw), parts[k])
        offsets[k] = rotate(conjugate(part), joint_positions[k] - laid[k] - shift)
        if role in rotated:
            rotations[k] = multiply(conjugate(part), mean_rotation(rotated[role]))
    return Calibration(markers, offsets, rotations, dict.fromkeys(PARTS, scale))


def _named_pose(body: Humanoid, pose: Pose | str) -> Pose:
    if not isinstance(pose, str):
        return pose
    if pose not in POSES:
        raise UnknownNameError("pose", pose, POSES)
    if pose == "neutral":
        return body.neutral_pose
    roles = tuple(body.roles)
    rotations = np.tile([1.0, 0.0, 0.0, 0.0], (len(roles), 1))
    for role, sign in (("left_upper_arm", 1.0), ("right_upper_arm", -1.0)):
        rotations[roles.index(role)] = axis_angle((0.0, 0.0, 1.0), sign * math.pi / 2.0)
    return body.pose(CanonicalPose(roles, rotations, np.array([0.0, 1.0, 0.0])))


def _standing(body: Humanoid, pose: Pose, markers: tuple[str, ...]) -> tuple[Floats, Floats]:
    """(M, 3) joints [m] with the soles on the floor, and (M, 4) canonical orientations."""
    frames = body.skeleton.forward(pose)
    ankles = [frames.positions[body.index(f"{s}_foot")][1] - sole_of(body, s).depth for s in ("left", "right")]
    joints = np.array([frames.positions[body.index(role)] for role in markers]) - [0.0, min(ankles), 0.0]
    return joints, np.array([body.canonical_orientation(frames, body.index(role)) for role in markers])


def _yaw(joints: Floats, joint_positions: Floats) -> float:
    """How far the person is turned to the left of the body [rad], by least squares, seen from above."""
    a, b = (x - x.mean(axis=0) for x in (joints, joint_positions))
    return math.atan2(float((a[:, 2] * b[:, 0] - a[:, 0] * b[:, 2]).sum()), float((a * b)[:, [0, 2]].sum()))


def _scale(joints: Floats, joint_positions: Floats) -> float:
    """How much taller the person is, by least squares of heights above the floor."""
    scale = float((joints[:, 1] @ joint_positions[:, 1]) / (joints[:, 1] @ joints[:, 1]))
    if not 0.05 < scale < 20.0:
        raise PosableError(f"trackers are {scale:.3g} times as high as the body's joints; expected y up, in metres")
    return scale
