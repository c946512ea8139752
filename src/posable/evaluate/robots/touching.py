"""How deep a robot goes through itself: the shapes that its file says touch, by our own kernels.

Spheres, capsules and ellipsoids count as they are. A cylinder counts as the largest capsule in it, a box as capsules
along its length that fill it: both lie inside what they stand for, so what is found is there. Two shapes of one link
never count, nor those of a link and the one it hangs on, nor what the file excludes; as in MuJoCo.
"""

from __future__ import annotations

import numpy as np

from ...collision.bodies import body_depth_rows
from ...collision.kernels import OBSTACLE
from ...collision.volumes import Volumes
from ...compute.types import Floats, Ints
from ...math import rotate
from ...skeleton import Motion, Skeleton
from ...skeleton.robot import Robot, Shape

REACH = 1.0  # [m]: nothing further apart is looked at


def self_depths(motion: Motion) -> tuple[Floats, tuple[tuple[str, str] | None, ...]]:
    """Return how deep (F,) [m] a robot goes through itself in each frame, negative where nothing touches, and where.

    Of each frame the two links that are nearest or deepest; None, and -1 m, for a robot without pairs that could touch.
    """
    skeleton, count = motion.skeleton, len(motion)
    robot = skeleton.robot
    volumes, links = robot_volumes(skeleton)
    pairs = pairs_of(robot, links) if robot is not None else np.zeros((0, 2), np.int64)
    depth, contact = np.full(count, -REACH), np.full(count, -1, np.int64)
    if not len(pairs) or not count:
        return depth, (None,) * count
    frames = skeleton.forward(motion.pose)
    nothing = np.zeros(0, np.int64), np.zeros(0, OBSTACLE), np.zeros((count, 0), np.bool_)
    balls = np.empty((count, len(volumes), 4))
    body_depth_rows(
        *(count, volumes.packed, pairs, nothing[0], frames.positions, frames.orientations, nothing[1]),
        *(REACH, 0.0, nothing[2], balls, depth, contact),
    )
    named = [(links[one], links[other]) for one, other in pairs.tolist()]
    return depth, tuple(named[k] if k >= 0 else None for k in contact.tolist())


def robot_volumes(skeleton: Skeleton) -> tuple[Volumes, tuple[str, ...]]:
    """Return what touches of a robot as volumes, and the link of each."""
    robot = skeleton.robot
    rows: list[tuple[int, str, Floats, Floats, Floats, Floats]] = []
    for shape in () if robot is None else robot.collisions:
        rows += _rows(shape)
    joints = [row[0] for row in rows]
    columns = [np.array([row[k] for row in rows]) for k in range(2, 6)] if rows else [np.zeros((0, 3))] * 3
    start, end, radii = columns[:3]
    rotations = columns[3] if rows else None
    volumes = Volumes(np.array(joints, np.int64), [row[1] for row in rows], start, end, radii, rotations=rotations)
    return volumes, tuple(_link(skeleton, robot, joint) for joint in joints if robot is not None)


def pairs_of(robot: Robot, links: tuple[str, ...]) -> Ints:
    """Return the pairs (P, 2) of volumes that count, by the links that they are on."""
    apart = {frozenset(pair) for pair in robot.separate}
    found = [
        (one, other)
        for one in range(len(links))
        for other in range(one + 1, len(links))
        if links[one] != links[other] and frozenset((links[one], links[other])) not in apart
    ]
    return np.array(found, np.int64).reshape(-1, 2)


def _link(skeleton: Skeleton, robot: Robot, joint: int) -> str:
    """Return the link that a joint carries; of a joint that carries none of its own, the next one's."""
    while not robot.links[joint]:
        joint = skeleton.children(joint)[0]
    return robot.links[joint]


def _rows(shape: Shape) -> list[tuple[int, str, Floats, Floats, Floats, Floats]]:
    """Return the volumes of a shape: joint, kind, both centres [m], radii [m] and rotation."""
    size, centre, kind = shape.size, shape.position, shape.kind
    if kind == "ellipsoid":
        return [(shape.joint, kind, centre, centre, size, shape.orientation)]
    if kind == "box":
        return _filled(shape)
    radius, half = float(size[0]), 0.0
    if kind == "capsule":
        half = 0.5 * float(size[1])
    elif kind == "cylinder":
        radius = min(radius, 0.5 * float(size[1]))
        half = 0.5 * float(size[1]) - radius
    along = rotate(shape.orientation, np.array([0.0, 0.0, half]))
    return [(shape.joint, "capsule", centre - along, centre + along, _radii(radius), np.array([1.0, 0.0, 0.0, 0.0]))]


def _filled(box: Shape) -> list[tuple[int, str, Floats, Floats, Floats, Floats]]:
    """Return capsules along the longest edges of a box, as thick as it is thin, side by side across it."""
    half = 0.5 * box.size
    thin, wide, long = np.argsort(half).tolist()
    radius = float(half[thin])
    free = float(half[wide]) - radius
    rows = []
    for across in np.linspace(-free, free, max(2, int(np.ceil(2.0 * free / radius)) + 1)) if free > 0.0 else [0.0]:
        ends = np.zeros((2, 3))
        ends[:, wide] = across
        ends[:, long] = (float(half[long]) - radius) * np.array([-1.0, 1.0])
        start, end = box.position + rotate(box.orientation, ends)
        rows.append((box.joint, "capsule", start, end, _radii(radius), np.array([1.0, 0.0, 0.0, 0.0])))
    return rows


def _radii(radius: float) -> Floats:
    return np.array([radius, radius, 0.0])
