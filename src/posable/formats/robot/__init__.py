"""Robots as skeletons, from URDF and MJCF: kinematics, limits, motors, and what is seen of them.

The formats share a bounded XML reader; which of them a file is, its outermost element says.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ...compute import FormatError, UnknownNameError
from ...compute.errors import ExtentError
from ...skeleton import Motion, Pose, Skeleton
from ...skeleton.robot import UP, with_free_root
from .mjcf import read_mjcf
from .urdf import read_urdf
from .xml import Element, read_xml

FPS = 30.0


def read(path: Path, *, fps: float = FPS, up: str = "y") -> Motion:
    """Read a robot as a motion of one frame, all joints at zero (mimicking ones where that puts them)."""
    skeleton = read_robot(path, up=up)
    robot = skeleton.robot
    assert robot is not None
    zero = skeleton.from_values(robot.coupled(np.zeros((1, len(robot.lower)))))
    return Motion(skeleton, Pose(zero.translation, zero.rotations, zero.offsets), fps, robot.name, robot.notes)


def read_robot(path: str | Path, *, up: str = "y", free_root: bool | None = None) -> Skeleton:
    """Implement `posable.formats.read_robot`."""
    if up not in UP:
        raise UnknownNameError("up axis", up, UP)
    top = read_xml(Path(path))
    try:
        skeleton = _read(top, up)
    except ExtentError as error:
        raise FormatError(path, str(error)) from error
    return with_free_root(skeleton) if free_root else skeleton


def _read(top: Element, up: str) -> Skeleton:
    if top.tag == "mujoco":
        return read_mjcf(top, up=up)
    if top.tag == "robot":
        return read_urdf(top, up=up)
    if top.path.suffix.lower() == ".urdf":
        top.fail(f"the outermost element is <{top.tag[:60]}>; a URDF file has <robot>")
    top.fail(f"the outermost element is <{top.tag[:60]}>; a robot's file has <mujoco> (MJCF) or <robot> (URDF)")
