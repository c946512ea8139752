"""The robot that a file of numbers belongs to."""

from __future__ import annotations

import os
from pathlib import Path

from ...compute import FormatError, PosableError
from ...skeleton import Skeleton
from .orders import robot_of


def robot_skeleton(path: Path, robot: str | os.PathLike[str] | Skeleton | None) -> Skeleton:
    """Return the skeleton of the robot whose motion a file holds.

    Args:
        path: the file, for messages.
        robot: the robot's own file, or its skeleton.
    """
    from ..robot import read_robot

    if robot is None:
        raise FormatError(path, "holds values of a robot's joints, not the robot; give robot= its file (.xml or .urdf)")
    if isinstance(robot, Skeleton):
        robot_of(robot)
        return robot
    if not isinstance(robot, (str, os.PathLike)):
        raise PosableError(f"robot is a {type(robot).__name__}; expected the path of a robot's file, or its skeleton")
    return read_robot(Path(robot), free_root=True)
