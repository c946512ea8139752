"""In which order files list the joints and the bodies of a robot."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...compute import PosableError, UnknownNameError
from ...compute.types import Ints
from ...skeleton import Skeleton
from ...skeleton.robot import Robot

ORDERS = ("mujoco", "isaac")
"""Depth first, as the robot's file and MuJoCo have them; breadth first, as Isaac and PhysX sort them."""
ONE_VALUE = ("hinge", "slide")


@dataclass(frozen=True, eq=False)
class Layout:
    """The joints with a value and the bodies of a robot, in one of `ORDERS`."""

    order: str
    dofs: Ints
    """(N,) of the skeleton, one for each joint that moves; without the root's."""
    joint_names: tuple[str, ...]
    """(N,) the joints' names."""
    bodies: Ints
    """(B,) the joint of the skeleton whose frame is that of each body, the root first."""
    body_names: tuple[str, ...]
    """(B,) the bodies' names."""


def robot_of(skeleton: Skeleton) -> Robot:
    """Return what a robot's file said of a skeleton; a person's has none."""
    if skeleton.robot is None:
        raise PosableError(
            f"the skeleton with the root {skeleton.names[0]!r} is no robot's: such files hold values of a robot's "
            "joints; load a robot (.xml, .urdf) and put the motion on it with posable.retarget"
        )
    return skeleton.robot


def joint_layout(skeleton: Skeleton, order: str = "mujoco") -> Layout:
    """Return which joints and bodies of a robot a file lists, in an order.

    In "mujoco" every link is a body; in "isaac" those that cannot move on the one they hang on belong to it, as Isaac's
    importers merge them.

    Args:
        skeleton: a robot's.
        order: "mujoco" or "isaac".
    """
    robot = robot_of(skeleton)
    if order not in ORDERS:
        raise UnknownNameError("order of joints", order, ORDERS)
    for name, kind in zip(skeleton.names[1:], skeleton.kinds[1:], strict=True):
        if kind not in (*ONE_VALUE, "fixed"):
            raise PosableError(
                f"joint {name[:60]!r} is a {kind}; files of robots' motions hold one value for each joint"
            )
    joints = list(range(len(skeleton))) if order == "mujoco" else _breadth_first(skeleton)
    moving = [j for j in joints if j and skeleton.kinds[j] in ONE_VALUE]
    bodies = [j for j in joints if robot.links[j]]
    if order == "isaac":
        bodies = [j for j in bodies if j == 0 or _moves(skeleton, robot, j)]
    return Layout(
        order,
        np.array([skeleton.dofs.of(j).start for j in moving], dtype=np.int64),
        tuple(skeleton.names[j] for j in moving),
        np.array(bodies, dtype=np.int64),
        tuple(robot.links[j] for j in bodies),
    )


def _breadth_first(skeleton: Skeleton) -> list[int]:
    """Return the joints link by link, those nearest to the root first; siblings as the file has them.

    Several joints between two links are one step.
    """
    robot, parents = robot_of(skeleton), skeleton.parents.tolist()
    first, depths = [0], [0]  # the first joint of each joint's step, and how many steps it is from the root
    levels: list[list[int]] = [[0]]
    for j in range(1, len(skeleton)):
        above = parents[j]
        same = not robot.links[above] and above != 0
        first.append(first[above] if same else j)
        depths.append(depths[above] + (0 if same else 1))
        if not same:
            levels += [[]] if depths[j] == len(levels) else []
            levels[depths[j]].append(j)
    rank = [0] * len(skeleton)  # of a step among those of its level: in the order of the steps that they follow
    for level in levels[1:]:
        for k, j in enumerate(sorted(level, key=lambda j: (rank[first[parents[j]]], j))):
            rank[j] = k
    return sorted(range(len(skeleton)), key=lambda j: (depths[j], rank[first[j]], j))


def _moves(skeleton: Skeleton, robot: Robot, joint: int) -> bool:
    """Return whether a link moves on the one that it hangs on."""
    while True:
        if skeleton.kinds[joint] in ONE_VALUE:
            return True
        joint = int(skeleton.parents[joint])
        if joint <= 0 or robot.links[joint]:
            return False
