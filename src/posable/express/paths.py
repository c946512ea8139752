"""Chains along a path of joints of a body, of any skeleton, or of a robot's file.

Of robots, fixed joints are folded into the segments, which may run in any direction. Slides move as a posture says:
they do not rotate the tip, and the shape is measured with them at zero. A joint that mimics another is driven by its
leader's motor: where no other joint of the path is, it is solved for like any other, and where several are (the fingers
of a hand) they keep what the posture says.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import math as pm
from ..compute import PosableError, ShapeError, UnknownNameError
from ..compute.types import ArrayLike, Floats, floats
from ..formats import read_robot
from ..math.vector import any_perpendicular
from ..skeleton import Robot, Skeleton
from .chain import SHORT, Chain, Link

if TYPE_CHECKING:
    from ..body import Humanoid

X, Y, Z = np.eye(3)
DOWN = -Y

# Rotations of each part: (name, canonical axis for the left side, low, high [degrees]). A bend forward or sideways
# away from the body and a rotation inwards are positive; the right side is the mirror image.
ARM = {
    "upper_arm": (("flexion", -X, -50, 160), ("abduction", Z, -20, 150), ("twist", Y, -80, 80)),
    "lower_arm": (("flexion", -X, 0, 145), ("twist", Y, -80, 80)),
    "hand": (("deviation", X, -25, 35), ("flexion", Z, -70, 70)),
}
LEG = {
    "upper_leg": (("flexion", -X, -20, 120), ("abduction", Z, -25, 45), ("twist", Y, -40, 40)),
    "lower_leg": (("flexion", X, 0, 140),),
    "foot": (("flexion", -X, -45, 20), ("tilt", Z, -20, 20)),
}
BACK = (("flexion", X, -10, 25), ("side", Z, -15, 15), ("twist", Y, -15, 15))
HEAD = (("flexion", X, -30, 30), ("side", Z, -20, 20), ("twist", Y, -45, 45))


def chain_of_body(
    cls: type[Chain], body: Humanoid, part: str, limits: ArrayLike | None, pointing: ArrayLike | None
) -> Chain:
    """Implement `Chain.from_body`."""
    from ..body.roles import LIMBS

    if body.robot_parts is not None:
        return _chain_of_robot_part(cls, body, part, limits, pointing)
    if part == "spine":
        names = {joint: role for role, joint in body.roles.items()}
        rows = [(j, names.get(j, body.skeleton.names[j])) for j in body.spine[1:]]
        plan = [(j, role, HEAD if role in ("neck", "head") else BACK) for j, role in rows]
        ahead = Z
    elif part in LIMBS:
        plan = [(body.index(role), role, _rotations(role)) for role in LIMBS[part]]
        ahead = DOWN if part.endswith("arm") else Z
    else:
        raise UnknownNameError("part", part, ("spine", *LIMBS))
    links: list[Link] = []
    names_of: list[str] = []
    ends: list[tuple[float, float]] = []
    frames = body.skeleton.forward(body.neutral_pose)
    for joint, role, rotations in plan:
        for name, axis, low, high in rotations:
            # Mirrored about the body's middle plane, a rotation about y or z changes its sign.
            side = -1.0 if role.startswith("right_") and axis[0] == 0.0 else 1.0
            in_joint = np.asarray(pm.rotate(pm.conjugate(frames.orientations[joint]), side * axis))
            links.append(Link(joint, in_joint, False, len(links)))
            names_of.append(f"{role}.{name}")
            ends.append((np.radians(low), np.radians(high)))
    tip = plan[-1][0]
    given = ahead if pointing is None else floats(pointing, "pointing", 3)
    points = np.asarray(pm.rotate(pm.conjugate(frames.orientations[tip]), given))
    rows_of = _limits(ends if limits is None else limits, len(links))
    return cls(body.skeleton, links, rows_of, tip=tip, pointing=points, names=names_of)


def _chain_of_robot_part(
    cls: type[Chain], body: Humanoid, part: str, limits: ArrayLike | None, pointing: ArrayLike | None
) -> Chain:
    """Implement `Chain.from_body` for a robot: its own joints, limits and speeds."""
    parts, skeleton = body.robot_parts, body.skeleton
    assert parts is not None
    top = parts.chest if parts.head is None else parts.head
    if part in parts.limbs:
        limb = parts.limbs[part]
        first, last, ahead = limb.carrier, limb.last, DOWN if part.endswith("arm") else Z
    elif part in ("spine", "head"):
        first, last, ahead = (parts.chest if part == "head" and parts.neck else parts.hips), top, Z
    else:
        raise UnknownNameError("part", part, ("spine", "head", *parts.limbs))
    if not (parts.trunk or parts.neck) and part not in parts.limbs:
        raise PosableError("this robot has no joint between pelvis and head; expected " + ", ".join(parts.limbs))
    given = ahead if pointing is None else floats(pointing, "pointing", 3)
    points = np.asarray(pm.rotate(pm.conjugate(body.neutral_orientation(last)), given))
    if skeleton.robot is None:  # a skeleton of hinges that no robot's file was read for
        start = skeleton.path(last)[skeleton.path(last).index(first) + 1] if first in skeleton.path(last) else last
        rows = (-np.pi / 2, np.pi / 2) if limits is None else limits
        return chain_of_path(cls, skeleton, start, last, rows, np.zeros(3), points)
    note = f"canonical {np.round(given, 3).tolist()} of {part}"
    return _between(cls, skeleton, skeleton.robot, first, last, (points, note), limits)


def _rotations(role: str) -> Any:
    part = role.split("_", 1)[1]
    return ARM[part] if part in ARM else LEG[part]


def chain_of_path(
    cls: type[Chain],
    skeleton: Skeleton,
    base: int | str,
    tip: int | str,
    limits: ArrayLike | Mapping[str, tuple[float, float]],
    tip_offset: ArrayLike | None,
    pointing: ArrayLike | None,
) -> Chain:
    """Implement `Chain.from_skeleton`."""
    first, last = skeleton.index(base), skeleton.index(tip)
    path = skeleton.path(last)
    if first not in path:
        raise PosableError(f"{skeleton.names[last]!r} does not hang on {skeleton.names[first]!r}")
    path = path[path.index(first) :]
    offset = _tip_offset(skeleton, last) if tip_offset is None else np.array(tip_offset, dtype=np.float64)
    links: list[Link] = []
    names: list[str] = []
    for joint in path:
        bone = _bone(skeleton, joint, offset)
        for axis, slides, name in _one_axis_joints(skeleton, joint, bone):
            links.append(Link(joint, axis, slides, len(links)))
            names.append(f"{skeleton.names[joint]}.{name}")
    if not links:
        raise PosableError(f"nothing between {skeleton.names[first]!r} and {skeleton.names[last]!r} moves")
    if isinstance(limits, Mapping):
        for name in limits:
            if name not in names:
                raise UnknownNameError("value of the chain", name, names)
        limits = [limits.get(name, (-np.pi / 2, np.pi / 2)) for name in names]
    points = pointing if pointing is not None else offset if np.linalg.norm(offset) > SHORT else links[-1].axis
    rows = _limits(limits, len(links))
    return cls(skeleton, links, rows, tip=last, tip_offset=offset, pointing=points, names=names)


def _bone(skeleton: Skeleton, joint: int, tip_offset: Floats) -> Floats:
    """Return the bone [m] whose bends and twist a ball joint's values are; `tip_offset` where nothing hangs on it.

    Where it branches, that is the mean of its bones: chains that share the joint on their ways to different tips have
    the same values for it.
    """
    children = list(skeleton.children(joint))
    if not children:
        return tip_offset
    mean: Floats = skeleton.offsets[children].mean(axis=0)
    return mean if np.linalg.norm(mean) > SHORT else skeleton.offsets[children[0]]


def _tip_offset(skeleton: Skeleton, joint: int) -> Floats:
    sites = np.flatnonzero(skeleton.end_parents == joint)
    return skeleton.end_offsets[sites[0]].copy() if len(sites) else np.zeros(3)


def _one_axis_joints(skeleton: Skeleton, joint: int, bone: Floats) -> list[tuple[Floats, bool, str]]:
    """Return (axis, slides, name) of a joint's rotations in order; a ball bends its bone twice, then twists it."""
    kind, axes = skeleton.kinds[joint], skeleton.axes[joint]
    if kind == "hinge":
        return [(axes[0], False, "angle")]
    if kind == "slide":
        return [(axes[0], True, "slide")]
    if kind == "hinge_twist":
        return [(axes[0], False, "flexion"), (axes[1], False, "twist")]
    if kind == "ball":
        along = bone / np.linalg.norm(bone) if np.linalg.norm(bone) > SHORT else Y
        one = np.array(any_perpendicular(tuple(along.tolist())))
        return [(one, False, "bend"), (np.cross(along, one), False, "side"), (along, False, "twist")]
    return []


def _limits(limits: ArrayLike, count: int) -> Floats:
    rows = np.array(limits, dtype=np.float64)
    rows = np.tile(rows, (count, 1)) if rows.shape == (2,) else rows
    if rows.shape != (count, 2):
        raise ShapeError(f"limits have shape {rows.shape}; expected (2,) or ({count}, 2)")
    return rows


TOOLS = re.compile(r"tool0|tcp|(^|_)ee_link|gripper_frame", re.IGNORECASE)
"""A link with one of these in its name is a robot's own idea of its tip."""


def chain_of_robot(
    cls: type[Chain],
    robot: str | PathLike[str] | Skeleton,
    base: str | None,
    tip: str | None,
    pointing: ArrayLike | None,
    up: str,
) -> Chain:
    """Implement `Chain.from_robot`."""
    skeleton = robot if isinstance(robot, Skeleton) else read_robot(robot, up=up)
    record = skeleton.robot
    if record is None:
        raise PosableError(f"{skeleton} is no robot's; Chain.from_skeleton makes a chain of any skeleton")
    first = 0 if base is None else record.joint(base)
    last = _guess(skeleton, record, first) if tip is None else record.joint(tip)
    return _between(cls, skeleton, record, first, last, None if pointing is None else (pointing, "as given"))


def _between(
    cls: type[Chain],
    skeleton: Skeleton,
    record: Robot,
    first: int,
    last: int,
    pointing: tuple[ArrayLike, str] | None,
    within: ArrayLike | None = None,
) -> Chain:
    """Return the chain of a robot's motors between two joints.

    Args:
        cls: of the chain.
        skeleton: the robot's.
        record: what its file says of it.
        first: the joint whose link stands still.
        last: the joint whose link points.
        pointing: the pointing axis in its frame, and why it is that; by default as `Chain.from_robot` says.
        within: limits instead of the motors'.
    """
    down, below = list(skeleton.path(last)), list(skeleton.path(first))
    shared = sum(1 for a, b in zip(down, below, strict=False) if a == b)
    down, raised = down[shared:], below[shared:][::-1]
    links, motors = _links(skeleton, record, (*raised, *down))
    if not any(not link.slides for link in links):
        raise PosableError(f"no joint between {record.links[first]!r} and {record.links[last]!r} rotates")
    limits = np.array([_motor_limits(skeleton, record, links, motor, d) for d, motor in enumerate(motors)])
    limits = limits if within is None else _limits(within, len(motors))
    speeds = [_motor_speed(skeleton, record, links, motor, d) for d, motor in enumerate(motors)]
    names = [skeleton.names[skeleton.dofs.joint[motor]] for motor in motors]
    points, note = _pointing(skeleton, record, links, last) if pointing is None else pointing
    above = (0.0, 1.0, 0.0) if record.up == "y" else (0.0, 0.0, 1.0)
    tip_joint = last
    if raised:
        skeleton, links, tip_joint = _from_base(skeleton, links, raised, down)
    about = {"names": names, "up": above, "note": note, "speeds": speeds}
    return cls(skeleton, links, limits, tip=tip_joint, pointing=points, **about)  # type: ignore[arg-type]


def _from_base(
    robot: Skeleton, links: list[Link], raised: list[int], down: list[int]
) -> tuple[Skeleton, list[Link], int]:
    """Return (skeleton, links, tip) of a path that begins at a link on another branch, which stands still.

    The way up to the branch is walked backwards: a joint that moves its link by a value moves what carries it by the
    opposite, before the inverse of what lies between them at rest.
    """
    rest = robot.forward(robot.rest)
    first, by_joint = raised[0], {link.joint: link for link in links}
    names, parents, kinds = [f"{robot.names[first]} (base)"], [-1], ["fixed"]
    offsets, rests, axes = [rest.positions[first]], [rest.orientations[first]], [X]
    found: list[Link] = []

    def add(name: str, kind: str, offset: Floats, rotation: Floats, axis: Floats) -> int:
        names.append(name)
        parents.append(len(parents) - 1)
        kinds.append(kind)
        offsets.append(np.asarray(offset))
        rests.append(np.asarray(rotation))
        axes.append(axis)
        return len(names) - 1

    for joint in raised:
        rotation, offset = robot.rest_rotations[joint], robot.offsets[joint]
        if joint in by_joint:
            link = by_joint[joint]
            at = add(robot.names[joint], robot.kinds[joint], np.zeros(3), np.eye(4)[0], link.axis)
            found.append(Link(at, link.axis, link.slides, link.dof, -link.multiplier, -link.offset))
        back = pm.conjugate(rotation)
        carrier = robot.names[int(robot.parents[joint])]
        add(
            f"{carrier} (from {robot.names[joint]})", "fixed", -np.asarray(pm.rotate(back, offset)), np.asarray(back), X
        )
    for joint in down:
        at = add(
            robot.names[joint],
            robot.kinds[joint],
            robot.offsets[joint],
            robot.rest_rotations[joint],
            robot.axes[joint, 0],
        )
        if joint in by_joint:
            link = by_joint[joint]
            found.append(Link(at, link.axis, link.slides, link.dof, link.multiplier, link.offset))
    skeleton = Skeleton(names, parents, offsets, rest_rotations=rests, kinds=kinds, axes=axes)
    return skeleton, found, len(names) - 1


def _links(skeleton: Skeleton, robot: Robot, path: tuple[int, ...]) -> tuple[list[Link], list[int]]:
    """Return the moving joints of a path, and the DoF of the robot that drive them, in the order of the path."""
    drives = _drives(robot)
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
        axis, slides, leader = (
            skeleton.axes[joint, 0],
            skeleton.kinds[joint] == "slide",
            int(skeleton.dofs.joint[motor]),
        )
        mimicked = leader if leader != joint else -1
        links.append(Link(joint, axis, slides, motors.index(motor), multiplier, offset, mimicked))
    return links, motors


def _drives(robot: Robot) -> list[tuple[int, float, float]]:
    """Return for each DoF of a robot (the motor that drives it, factor, offset)."""
    drives = [(d, 1.0, 0.0) for d in range(len(robot.lower))]
    for mimic in robot.mimics:  # leaders come before followers
        motor, factor, offset = drives[mimic.leader]
        drives[mimic.dof] = (motor, mimic.multiplier * factor, mimic.multiplier * offset + mimic.offset)
    return drives


def _motor_limits(skeleton: Skeleton, robot: Robot, links: list[Link], motor: int, d: int) -> tuple[float, float]:
    """Return a motor's limits, and those of the joints that follow it as they bound the motor."""
    low, high = float(robot.lower[motor]), float(robot.upper[motor])
    own = {joint: k for k, joint in enumerate(skeleton.dofs.joint.tolist())}
    for link in links:
        k = own[link.joint]
        if link.dof == d and k != motor:
            ends = sorted((np.array([robot.lower[k], robot.upper[k]]) - link.offset) / link.multiplier)
            low, high = max(low, float(ends[0])), min(high, float(ends[1]))
    if low > high:
        name = skeleton.names[skeleton.dofs.joint[motor]]
        raise PosableError(f"the joints that follow {name!r} leave it no angle that all of their limits allow")
    return low, high


def _motor_speed(skeleton: Skeleton, robot: Robot, links: list[Link], motor: int, d: int) -> float:
    """Return a motor's largest speed [rad/s or m/s], and those of the joints that follow it as they bound the motor.

    A speed of 0, which files have where nobody knew it, is none.
    """
    own = {joint: k for k, joint in enumerate(skeleton.dofs.joint.tolist())}
    followers = [(own[link.joint], abs(link.multiplier)) for link in links if link.dof == d]
    known = [float(robot.velocity[k]) / factor for k, factor in [(motor, 1.0), *followers] if robot.velocity[k] > 0.0]
    return min(known, default=float("inf"))


def _guess(skeleton: Skeleton, robot: Robot, first: int) -> int:
    """Return a tip: a link that is called a tool, else the one after most rotating motors, along fixed joints."""
    below = [j for j in range(len(skeleton)) if first in skeleton.path(j)]
    followers = {int(skeleton.dofs.joint[mimic.dof]) for mimic in robot.mimics}

    def motors(j: int) -> int:
        path = skeleton.path(j)
        path = path[path.index(first) + 1 :]
        return sum(skeleton.kinds[k] == "hinge" and k not in followers for k in path)

    tools = [j for j in below if motors(j) and TOOLS.search(robot.links[j])]
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


LOOKING = re.compile(
    r"(^|[_ ]|AA)(head|face|gaze|eyes?)([_ ]?(pan|tilt|yaw|pitch|roll|nod|link|frame|\d+))*$|camera", re.IGNORECASE
)
"""Names of links, and of the joints that move them, that look along their x axis (REP 103: x is forward)."""
TRUNK = re.compile(r"^(torso|chest|trunk|waist)([_ ](link|frame))?$", re.IGNORECASE)
"""Names of links that face where their x axis points (REP 103)."""
OPTICAL = re.compile(r"optical", re.IGNORECASE)
"""Names of frames that look along their z axis (REP 103: the suffix _optical of cameras)."""


def _pointing(skeleton: Skeleton, robot: Robot, links: list[Link], tip: int) -> tuple[Floats, str]:
    """Return (the pointing axis in the tip's frame, the reason for it).

    Frames of cameras and heads look where ROS says that they do. Other tips point away from the last joint that
    rotates, along its axis where they coincide with it.
    """
    name, moved_by = robot.links[tip], skeleton.names[tip]
    if OPTICAL.search(name):
        return Z, f"z of {name}: optical frames look along z (REP 103)"
    if LOOKING.search(name) or LOOKING.search(moved_by):
        return X, f"x of {name}: heads and cameras look along x (REP 103)"
    if TRUNK.search(name):
        return X, f"x of {name}: a trunk faces along x (REP 103)"
    frames = skeleton.forward(skeleton.rest)
    last = [link for link in links if not link.slides][-1]
    away, note = frames.positions[tip] - frames.positions[last.joint], "away from the last joint that rotates"
    if np.linalg.norm(away) < SHORT:
        away, note = (
            np.asarray(pm.rotate(frames.orientations[last.joint], last.axis)),
            "along the axis of the last joint",
        )
    return np.asarray(pm.rotate(pm.conjugate(frames.orientations[tip]), away / np.linalg.norm(away))), note
