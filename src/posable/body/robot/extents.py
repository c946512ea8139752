"""The soles of a robot's feet, how far its hands reach, and its top.

Read from the shapes that touch, else from those that are seen, else from frames that the file names (NAO has its
pressure sensors there), else estimated from people's proportions; which of them it was is said.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ...compute.types import Floats
from ...math import conjugate, rotate, to_matrix
from ...skeleton import Shape
from .limbs import PARALLEL, Split
from .tree import RobotTree

LEVEL = 0.004  # [m] of a robot a metre tall: what is no higher than this above the lowest point belongs to the sole
RIM = np.linspace(0.0, 2.0 * np.pi, 24, endpoint=False)
FOOT_OF_LEG = 0.152 / 0.491  # lengths of people's feet and legs, and how high ankles are (Drillis and Contini)
ANKLE_OF_LEG = 0.039 / 0.491
FOREARM, HAND = 0.146 / 0.186, 0.108 / 0.186  # of people's upper arms (Winter 2009, Fig. 4.1)
TILTED = 0.7  # cosine: soles lean no further than this in a standing pose


@dataclass(frozen=True, eq=False)
class RobotSole:
    """The flat underside of a foot, in the frame of the joint that carries the foot."""

    joint: int
    """The joint in whose frame it is given: the last one of the ankle."""
    outline: Floats
    """(K, 3) [m] corners of the convex polygon that touches level ground, anticlockwise seen from above."""
    normal: Floats
    """(3,) unit vector out of the ground: up when the foot stands."""
    forward: Floats
    """(3,) unit vector along the sole, to the toes."""
    source: str
    """"collision", "visual", "frames" or "estimate": where it is from."""

    @property
    def middle(self) -> Floats:
        """(3,) [m] the middle of the outline's extent, in the joint's frame."""
        side = np.cross(self.normal, self.forward)
        basis = np.array([self.forward, side, self.normal])
        along = self.outline @ basis.T
        return np.asarray(0.5 * (along.min(axis=0) + along.max(axis=0)) @ basis)

    @property
    def length(self) -> float:
        """From heel to toe tip [m]."""
        return float(np.ptp(self.outline @ self.forward))

    @property
    def width(self) -> float:
        """Across [m]."""
        return float(np.ptp(self.outline @ np.cross(self.normal, self.forward)))


class Extents:
    """The shapes and named frames of a robot in its standing pose.

    Args:
        tree: the robot.
        front: (3,) where it faces, in the world.
    """

    def __init__(self, tree: RobotTree, front: Floats) -> None:
        self.tree, self.front = tree, front
        robot = tree.skeleton.robot
        self.collisions: tuple[Shape, ...] = () if robot is None else robot.collisions
        self.visuals: tuple[Shape, ...] = () if robot is None else robot.shapes
        self.level = LEVEL * tree.size

    def rigid(self, joint: int) -> list[int]:
        """The joints that are fixed to a moving one, itself included."""
        return [joint, *(j for j, above in self.tree.above.items() if above == joint and j not in self.tree.below)]

    def beyond(self, joint: int) -> list[int]:
        """Every joint below a moving one, itself and fixed ones included."""
        found, waiting = [], [joint]
        while waiting:
            j = waiting.pop()
            found += self.rigid(j)
            waiting += self.tree.below[j]
        return found

    def shapes(self, joints: Sequence[int]) -> tuple[list[Shape], str]:
        """The shapes on some joints, and whether they are of "collision" or "visual"; "" where there are none."""
        for shapes, source in ((self.collisions, "collision"), (self.visuals, "visual")):
            if found := [shape for shape in shapes if shape.joint in joints]:
                return found, source
        return [], ""

    def lowest_points(self, shapes: Iterable[Shape], down: Floats) -> Floats:
        """(N, 3) [m] points of shapes in the world, the furthest towards `down` among them."""
        frames, found = self.tree.frames, [np.empty((0, 3))]
        for shape in shapes:
            orientation = frames.orientations[shape.joint]
            local = rotate(conjugate(shape.orientation), rotate(conjugate(orientation), down))
            points = rotate(shape.orientation, _support(shape, local)) + shape.position
            found.append(frames.positions[shape.joint] + rotate(orientation, points))
        return np.concatenate(found)

    def sole(self, foot: int, leg: float) -> RobotSole:
        """The sole of the foot that a joint carries; `leg` [m] is the leg's length, for estimates."""
        joints = self.rigid(foot)
        shapes, source = self.shapes(joints)
        down = -self.tree.up
        if shapes:
            choices = [down, *self.tilted_downs(foot, shapes)]
            areas = [_area(self.outline(shapes, n), n) * (1.2 if n is down else 1.0) for n in choices]
            normal = choices[int(np.argmax(areas))]
            return self.made(foot, self.outline(shapes, normal), -normal, source)
        fixed = self.tree.positions[joints[1:]]
        sites = self.sites(joints)
        points = np.concatenate([fixed, sites])
        if len(points):
            low = points[points @ down > (points @ down).max() - self.level]
            if len(low) >= 3 and _area(low, down) > (0.1 * leg) ** 2 / 3:
                return self.made(foot, low, -down, "frames")
        ankle = self.tree.positions[foot]
        depth, long = ANKLE_OF_LEG * leg, FOOT_OF_LEG * leg
        below = (points - ankle) @ down
        if len(points) and 0.3 * depth < below.max() < 3.0 * depth:
            depth = float(below.max())  # a frame that the file names: most have one on the sole
        side = np.cross(self.tree.up, self.front)
        corners = [
            ankle + depth * down + ahead * long * self.front + across * 0.2 * long * side
            for ahead, across in ((0.75, 1), (-0.25, 1), (-0.25, -1), (0.75, -1))
        ]
        return self.made(foot, np.array(corners), -down, "estimate")

    def mirrored(self, sole: RobotSole, foot: int, across: Floats) -> RobotSole:
        """The sole of the other foot, as far from the middle of both feet."""
        frames = self.tree.frames
        points = frames.point(sole.joint, sole.outline)
        middle = 0.5 * (frames.positions[sole.joint] + frames.positions[foot]) @ across
        normal = rotate(frames.orientations[sole.joint], sole.normal)
        seen = points - 2.0 * (points @ across - middle)[:, None] * across
        return self.made(foot, seen, normal - 2.0 * (normal @ across) * across, sole.source)

    def sites(self, joints: Sequence[int]) -> Floats:
        """(N, 3) [m] the named frames on some joints, in the world."""
        robot, frames = self.tree.skeleton.robot, self.tree.frames
        sites = [site for site in (() if robot is None else robot.sites) if site.joint in joints]
        return np.array([frames.point(site.joint, site.position) for site in sites]).reshape(-1, 3)

    def tilted_downs(self, foot: int, shapes: Iterable[Shape]) -> list[Floats]:
        """Directions near to downwards that a sole may look in: the axes of its frame and of its boxes."""
        orientations = [self.tree.frames.orientations[foot]]
        for shape in shapes:
            if shape.kind == "box":
                orientations.append(self.world(shape))
        axes = np.concatenate([np.asarray(to_matrix(q)).T for q in orientations])
        axes = np.concatenate([axes, -axes])
        cosines = axes @ -self.tree.up
        return [axis for axis, c in zip(axes, cosines, strict=True) if TILTED < c < 0.9999]

    def world(self, shape: Shape) -> Floats:
        """(4,) the orientation of a shape in the world."""
        from ...math import multiply

        return multiply(self.tree.frames.orientations[shape.joint], shape.orientation)

    def outline(self, shapes: Iterable[Shape], down: Floats) -> Floats:
        """(N, 3) [m] the points of shapes on the lowest level, in the world."""
        points = self.lowest_points(shapes, down)
        depth = points @ down
        return np.asarray(points[depth > depth.max() - self.level])

    def made(self, foot: int, points: Floats, normal: Floats, source: str) -> RobotSole:
        """A sole of points in the world."""
        forward = self.front - (self.front @ normal) * normal
        forward = forward / np.linalg.norm(forward)
        depth = float((points @ normal).min())
        flat = points - (points @ normal - depth)[:, None] * normal
        corners = flat[_hull(flat @ forward, flat @ np.cross(normal, forward))]
        frames = self.tree.frames
        back = conjugate(frames.orientations[foot])
        local = rotate(back, corners - frames.positions[foot])
        return RobotSole(foot, local, rotate(back, normal), rotate(back, forward), source)

    def hand_tip(self, chain: Sequence[int]) -> tuple[Floats, str]:
        """(3,) [m] the end of an arm in the world, and where it is from: "shapes", "frames" or "estimate"."""
        positions = self.tree.positions
        last = chain[-1]
        steps = np.diff(positions[list(chain)], axis=0)
        lengths = np.linalg.norm(steps, axis=-1)
        length = float(lengths.max())
        joints = self.beyond(last)
        shapes = [s for s in (*self.collisions, *self.visuals) if s.joint in joints]
        points = self.all_points(shapes)
        source = "shapes"
        if not len(points):
            points, source = np.concatenate([positions[joints[1:]], self.sites(joints)]), "frames"
        if len(points):
            # The way from the last motor to the furthest point of the hand is where the forearm or the hand points.
            far = points[np.argmax(np.linalg.norm(points - positions[last], axis=-1))] - positions[last]
            if np.linalg.norm(far) > 0.1 * length:
                ahead = self.snapped(far, last)
                reach = float(((points - positions[last]) @ ahead).max())
                return positions[last] + reach * ahead, source
        bones = np.flatnonzero(lengths > 0.4 * length)
        away = steps[bones[-1]] / lengths[bones[-1]]
        if len(bones) > 1:  # both bones lie between motors: what is left is the hand
            return positions[last] + HAND / FOREARM * float(lengths[bones[-1]]) * away, "estimate"
        axis, out = self.tree.axes[last], positions[last] - positions[chain[0]]
        if abs(float(axis @ out)) > 0.3 * float(np.linalg.norm(out)):  # the last motor turns the forearm
            away = axis * np.sign(axis @ out)
        return positions[last] + (FOREARM + HAND) * length * away, "estimate"

    def estimated_tip(self, split: Split) -> Floats:
        """(3,) [m] the end of a person's hand on an arm of which only motors are known."""
        shoulder, elbow, wrist = split.centres
        upper = float(np.linalg.norm(elbow - shoulder))
        away = wrist - elbow
        length = max(float(np.linalg.norm(away)), 1e-9)
        rolls = all(abs(float(self.tree.axes[j] @ away)) > PARALLEL * length for j in split.end)
        if split.end and not rolls:
            return np.asarray(wrist + HAND * upper * away / length)
        return np.asarray(elbow + (FOREARM + HAND) * upper * away / length)

    def snapped(self, far: Floats, joint: int) -> Floats:
        """(3,) the axis of a joint's frame near to a direction, else the direction itself, as a unit vector."""
        unit = far / np.linalg.norm(far)
        axes = np.asarray(to_matrix(self.tree.frames.orientations[joint])).T
        axes = np.concatenate([axes, -axes])
        best = axes[int(np.argmax(axes @ unit))]
        return np.asarray(best if best @ unit > 0.85 else unit)

    def all_points(self, shapes: Iterable[Shape]) -> Floats:
        """(N, 3) [m] points of shapes in the world that reach as far as they do along the axes of the world."""
        return np.concatenate(
            [self.lowest_points(shapes, sign * axis) for axis in np.eye(3) for sign in (1.0, -1.0)]
            or [np.empty((0, 3))]
        )

    def top(self, joints: Sequence[int]) -> float:
        """How high the shapes on some joints reach [m] along the robot's upward axis; -inf where there are none."""
        shapes = [shape for shape in (*self.collisions, *self.visuals) if shape.joint in joints]
        return float((self.lowest_points(shapes, self.tree.up) @ self.tree.up).max(initial=-np.inf))


def _support(shape: Shape, down: Floats) -> Floats:
    """(N, 3) [m] points of a shape in its own frame, among them the furthest along a unit direction."""
    size = shape.size
    if shape.kind == "box":
        signs = np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1])).reshape(3, -1).T
        return np.asarray(0.5 * size * signs)
    if shape.kind == "sphere":
        return np.asarray(size[0] * down)[None]
    if shape.kind == "capsule":
        half = np.array([0.0, 0.0, 0.5 * size[1]])
        return np.array([half + size[0] * down, -half + size[0] * down])
    if shape.kind == "cylinder":
        ring = size[0] * np.stack([np.cos(RIM), np.sin(RIM), np.zeros_like(RIM)], axis=-1)
        flat = np.array([down[0], down[1], 0.0])
        length = float(np.linalg.norm(flat))
        if length > 1e-6:
            ring = np.concatenate([ring, size[0] * flat[None] / length])
        half = np.array([0.0, 0.0, 0.5 * size[1]])
        return np.concatenate([ring + half, ring - half])
    if shape.kind == "ellipsoid":
        scaled = size * down
        return np.asarray(size * scaled / max(float(np.linalg.norm(scaled)), 1e-12))[None]
    if shape.mesh is not None:
        return np.asarray(shape.mesh.triangles[0], dtype=np.float64)
    return np.empty((0, 3))


def _hull(x: Floats, y: Floats) -> list[int]:
    """The corners of the convex hull of points in a plane, anticlockwise from x to y."""
    order = np.lexsort((y, x)).tolist()

    def half(points: list[int]) -> list[int]:
        chain: list[int] = []
        for p in points:
            while len(chain) > 1 and _corner(x, y, chain[-2], chain[-1], p) <= 1e-12:
                chain.pop()
            chain.append(p)
        return chain[:-1]

    return half(order) + half(order[::-1]) or order[:1]


def _corner(x: Floats, y: Floats, a: int, b: int, c: int) -> float:
    return float((x[b] - x[a]) * (y[c] - y[a]) - (y[b] - y[a]) * (x[c] - x[a]))


def _area(points: Floats, normal: Floats) -> float:
    """The area [m2] of the hull of points, seen along a normal."""
    if len(points) < 3:
        return 0.0
    helper = np.eye(3)[int(np.argmin(np.abs(normal)))]
    u = np.cross(normal, helper)
    u = u / np.linalg.norm(u)
    x, y = points @ u, points @ np.cross(normal, u)
    corners = _hull(x, y)
    hx, hy = x[corners], y[corners]
    return float(0.5 * abs(np.sum(hx * np.roll(hy, -1) - hy * np.roll(hx, -1))))
