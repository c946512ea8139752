"""Chains of robots: a serial path of a URDF file.

Fixed joints are folded into the segments, which may run in any direction. Slides move as a posture says: they do not
rotate the tip, and the shape is measured with them at zero. A joint that mimics another is driven by its leader's
motor: where no other joint of the path is, it is solved for like any other, and where several are (the fingers of a
hand) they keep what the posture says.
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path

import numpy as np

from .. import math as pm
from ..compute import PosableError, UnknownNameError
from ..compute.types import ArrayLike, Floats
from ..formats.urdf import UrdfModel, read_urdf
from .chain import SHORT, Chain, Link

TOOLS = ("tool0", "tcp", "ee_link", "gripper_frame", "hand_tcp")
"""A link with one of these in its name is a robot's own idea of its tip."""


def chain_of_robot(
    cls: type[Chain],
    path: str | PathLike[str],
    base: str | None,
    tip: str | None,
    pointing: ArrayLike | None,
    up: str,
) -> Chain:
    """Implement `Chain.from_urdf`."""
    model = read_urdf(Path(path), up=up)
    first = 0 if base is None else _link(model, base)
    last = _guess(model, first) if tip is None else _link(model, tip)
    joints = model.skeleton.path(last)
    if first not in joints:
        raise PosableError(f"the link {model.links[last]!r} does not hang on {model.links[first]!r}")
    joints = joints[joints.index(first) + 1 :]
    links, motors = _links(model, joints)
    if not any(not link.slides for link in links):
        raise PosableError(f"no joint between {model.links[first]!r} and {model.links[last]!r} rotates")
    limits = np.array([_limits(model, links, motor, d) for d, motor in enumerate(motors)])
    names = [model.skeleton.names[model.skeleton.dofs.joint[motor]] for motor in motors]
    points = _pointing(model, links, last) if pointing is None else pointing
    above = (0.0, 1.0, 0.0) if up == "y" else (0.0, 0.0, 1.0)
    return cls(model.skeleton, links, limits, tip=last, pointing=points, names=names, up=above)


def _link(model: UrdfModel, name: str) -> int:
    if name not in model.links:
        raise UnknownNameError("link", name, model.links)
    return model.links.index(name)


def _links(model: UrdfModel, path: tuple[int, ...]) -> tuple[list[Link], list[int]]:
    """Return the moving joints of a path, and the DoF of the robot that drive them, in the order of the path."""
    skeleton, drives = model.skeleton, _drives(model)
    dof_of = {joint: d for d, joint in enumerate(skeleton.dofs.joint.tolist())}
    links: list[Link] = []
    motors: list[int] = []
    for joint in path:
        if joint not in dof_of:
            continue
        motor, multiplier, offset = drives[dof_of[joint]]
        if multiplier == 0.0:
            motor, multiplier, offset = dof_of[joint], 1.0, 0.0
        if motor not in motors:
            motors.append(motor)
        axis = skeleton.axes[joint, 0]
        links.append(Link(joint, axis, skeleton.kinds[joint] == "slide", motors.index(motor), multiplier, offset))
    return links, motors


def _drives(model: UrdfModel) -> list[tuple[int, float, float]]:
    """Return for each DoF of a robot (the motor that drives it, factor, offset)."""
    drives = [(d, 1.0, 0.0) for d in range(len(model.lower))]
    for mimic in model.mimics:  # leaders come before followers
        motor, factor, offset = drives[mimic.leader]
        drives[mimic.dof] = (motor, mimic.multiplier * factor, mimic.multiplier * offset + mimic.offset)
    return drives


def _limits(model: UrdfModel, links: list[Link], motor: int, d: int) -> tuple[float, float]:
    """Return a motor's limits, and those of the joints that follow it as they bound the motor."""
    low, high = float(model.lower[motor]), float(model.upper[motor])
    own = {joint: k for k, joint in enumerate(model.skeleton.dofs.joint.tolist())}
    for link in links:
        k = own[link.joint]
        if link.dof == d and k != motor:
            ends = sorted((np.array([model.lower[k], model.upper[k]]) - link.offset) / link.multiplier)
            low, high = max(low, float(ends[0])), min(high, float(ends[1]))
    if low > high:
        name = model.skeleton.names[model.skeleton.dofs.joint[motor]]
        raise PosableError(f"the joints that follow {name!r} leave it no angle that all of their limits allow")
    return low, high


def _guess(model: UrdfModel, first: int) -> int:
    """Return a tip: a link that is called a tool, else the one after most rotating motors, along fixed joints."""
    skeleton = model.skeleton
    below = [j for j in range(len(skeleton)) if first in skeleton.path(j)]
    followers = {int(skeleton.dofs.joint[mimic.dof]) for mimic in model.mimics}

    def motors(j: int) -> int:
        path = skeleton.path(j)
        path = path[path.index(first) + 1 :]
        return sum(skeleton.kinds[k] == "hinge" and k not in followers for k in path)

    tools = [j for j in below if motors(j) and any(word in model.links[j].lower() for word in TOOLS)]
    if tools:
        return max(tools, key=motors)
    most = max(motors(j) for j in below)
    ends = [j for j in below if motors(j) == most and (skeleton.kinds[j] == "fixed" or j not in followers)]
    ends = [j for j in ends if skeleton.kinds[j] != "slide"]
    tip = next((j for j in ends if skeleton.kinds[j] == "hinge"), ends[0])
    while True:
        further = [j for j in skeleton.children(tip) if skeleton.kinds[j] == "fixed"]
        long = [j for j in further if np.linalg.norm(skeleton.offsets[j]) > SHORT]
        if not further:
            return tip
        tip = long[0] if long else further[0]


def _pointing(model: UrdfModel, links: list[Link], tip: int) -> Floats:
    """Return the direction away from the last joint that rotates; along its axis where the tip coincides with it."""
    frames = model.skeleton.forward(model.skeleton.rest)
    last = [link for link in links if not link.slides][-1]
    away = frames.positions[tip] - frames.positions[last.joint]
    if np.linalg.norm(away) < SHORT:
        away = np.asarray(pm.rotate(frames.orientations[last.joint], last.axis))
    return np.asarray(pm.rotate(pm.conjugate(frames.orientations[tip]), away / np.linalg.norm(away)))
