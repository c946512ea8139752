"""The look of a robot: its shapes as meshes that are rigid with their joints.

Links of which the file shows nothing, or whose meshes are not there, show what touches; between the links of a robot
without meshes bones are drawn.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, overload

import numpy as np

from .. import math as pm
from ..compute.types import Floats, Ints
from .character import Character, SkinnedMesh, bone_mesh
from .robot import Robot, Shape

if TYPE_CHECKING:
    from .skeleton import Skeleton

COLOUR = (168, 174, 184)  # sRGB, of what has none in the file
AROUND = 24
"""Corners around what is round."""
CREASE = np.cos(np.radians(40.0))
"""Faces of a mesh that meet at a larger angle have an edge between them."""
MAX_TRIANGLES = 300_000
MAX_COPIES = 4
"""Shapes beyond so many triangles, and so many times those of all files, are not drawn: work follows files' sizes."""


def robot_character(skeleton: Skeleton) -> Character | None:
    """Return the look of a skeleton's robot, or None where nothing of it is seen."""
    robot = skeleton.robot
    if robot is None or not seen_shapes(robot):
        return None
    return Character(RobotMeshes(skeleton))


def seen_shapes(robot: Robot) -> tuple[Shape, ...]:
    """Return the shapes that are seen, and those that touch of links of which nothing else is."""
    shown = {shape.joint for shape in robot.shapes}
    return (*robot.shapes, *(shape for shape in robot.collisions if shape.joint not in shown))


class RobotMeshes(Sequence[SkinnedMesh]):
    """The meshes of a robot at rest, one a shape, made when they are first looked at.

    Args:
        skeleton: with its robot.
    """

    def __init__(self, skeleton: Skeleton) -> None:
        self._skeleton = skeleton

    def __len__(self) -> int:
        return len(self._made)

    def __iter__(self) -> Iterator[SkinnedMesh]:
        return iter(self._made)

    @overload
    def __getitem__(self, index: int) -> SkinnedMesh: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[SkinnedMesh]: ...
    def __getitem__(self, index: int | slice) -> SkinnedMesh | Sequence[SkinnedMesh]:
        return self._made[index]

    def __getstate__(self) -> dict[str, object]:
        return {"_skeleton": self._skeleton}  # another process makes them again, where it needs them

    @cached_property
    def _made(self) -> tuple[SkinnedMesh, ...]:
        skeleton = self._skeleton
        robot = skeleton.robot
        assert robot is not None
        rest = skeleton.forward(skeleton.rest)
        made: list[SkinnedMesh] = []
        count, in_files, files = 0, 0, set()
        shapes = seen_shapes(robot)
        for number, shape in enumerate(shapes):
            vertices, faces = shape_triangles(shape)
            count += len(faces)
            if shape.mesh is not None and shape.mesh.name not in files:
                files.add(shape.mesh.name)
                in_files += len(faces)
            if count > max(MAX_TRIANGLES, MAX_COPIES * in_files):
                break
            local = np.asarray(pm.rotate(shape.orientation, vertices)) + shape.position
            world = rest.positions[shape.joint] + pm.rotate(rest.orientations[shape.joint], local)
            colour = np.array([*(shape.colour or COLOUR), 255], dtype=np.uint8)
            made.append(
                SkinnedMesh(
                    name=shape.name or _name(robot, shape, number),
                    vertices=np.asarray(world),
                    faces=faces.astype(np.int32),
                    joints=np.full((len(vertices), 1), shape.joint, dtype=np.int32),
                    weights=np.ones((len(vertices), 1)),
                    bind_positions=rest.positions,
                    bind_orientations=rest.orientations,
                    colours=np.tile(colour, (len(vertices), 1)),
                    smooth=False,
                )
            )
        if not any(shape.kind == "mesh" for shape in shapes):
            made += _bones(skeleton)
        return tuple(made)


def _name(robot: Robot, shape: Shape, number: int) -> str:
    what = shape.kind if shape.mesh is None else shape.mesh.name.rpartition("/")[2].rpartition(".")[0]
    return f"{robot.links[shape.joint]} {what} {number}"


def _bones(skeleton: Skeleton) -> list[SkinnedMesh]:
    """Return the bones of joints that carry one that moves, without those of sensors."""
    moving = [joint for joint in range(len(skeleton)) if skeleton.kinds[joint] != "fixed"]
    carrying = np.zeros(len(skeleton), dtype=bool)
    for joint in moving:
        while joint >= 0 and not carrying[joint]:
            carrying[joint] = True
            joint = int(skeleton.parents[joint])
    whole = bone_mesh(skeleton, skeleton.forward(skeleton.rest))
    # Its triangles are 24 corners a bone, in order; those of a bone have the joint that it starts at.
    ends = np.array([j for j in range(1, len(skeleton)) if carrying[j]], dtype=np.int64)
    starts = {int(skeleton.parents[j]) for j in ends.tolist()}
    drawn = np.isin(whole.joints[whole.faces[:, 0], 0], sorted(starts))
    if not drawn.any():
        return []
    used, faces = np.unique(whole.faces[drawn], return_inverse=True)
    return [
        replace(
            whole,
            vertices=whole.vertices[used],
            faces=faces.reshape(-1, 3).astype(np.int32),
            joints=whole.joints[used],
            weights=whole.weights[used],
            colours=whole.colours[used],
            smooth=False,
        )
    ]


def shape_triangles(shape: Shape, around: int = AROUND) -> tuple[Floats, Ints]:
    """Return vertices (V, 3) [m] in the frame of a shape, with corners of their own at edges, and faces (T, 3)."""
    if shape.mesh is not None:
        return creased(*shape.mesh.triangles)
    size = shape.size.tolist()
    if shape.kind == "box":
        return _box(shape.size)
    rise = np.linspace(-0.5 * np.pi, 0.5 * np.pi, around // 2 + 1)
    if shape.kind in ("sphere", "ellipsoid"):
        vertices, faces = lathe([[(np.cos(t), np.sin(t)) for t in rise]], around)
        return vertices * shape.size, faces
    radius, half = size[0], 0.5 * size[1]
    if shape.kind == "cylinder":
        can = [(0.0, -half), (radius, -half)], [(radius, -half), (radius, half)], [(radius, half), (0.0, half)]
        return lathe(can, around)
    middle = len(rise) // 2
    below = [(radius * np.cos(t), radius * np.sin(t) - half) for t in rise[: middle + 1]]
    above = [(radius * np.cos(t), radius * np.sin(t) + half) for t in rise[middle:]]
    return lathe([[*below, *above]], around)


def lathe(pieces: Sequence[Sequence[tuple[float, float]]], around: int = AROUND) -> tuple[Floats, Ints]:
    """Return the surface of revolution around z of a profile.

    Args:
        pieces: lists of (radius, height), upwards; edges between pieces are sharp.
        around: corners around the axis.
    """
    angle = 2.0 * np.pi * np.arange(around) / around
    ring = np.stack([np.cos(angle), np.sin(angle), np.zeros(around)], axis=-1)
    up = np.array([0.0, 0.0, 1.0])
    vertices, faces, first = [], [], 0
    for piece in pieces:
        rows = np.asarray(piece, dtype=np.float64)
        vertices.append((rows[:, 0, None, None] * ring + rows[:, 1, None, None] * up).reshape(-1, 3))
        row, k = np.meshgrid(np.arange(len(rows) - 1), np.arange(around), indexing="ij")
        a, b = first + row * around + k, first + row * around + (k + 1) % around
        both = [np.stack([a, b, b + around], -1), np.stack([a, b + around, a + around], -1)]
        faces.append(np.concatenate(both).reshape(-1, 3))
        first += len(rows) * around
    return np.concatenate(vertices), np.concatenate(faces)


def _box(edges: Floats) -> tuple[Floats, Ints]:
    """Return a box about the origin, each face with corners of its own."""
    vertices: list[list[Floats]] = []
    faces: list[list[int]] = []
    for axis in range(3):
        u, v = np.eye(3)[(axis + 1) % 3], np.eye(3)[(axis + 2) % 3]
        for sign in (1.0, -1.0):
            first = 4 * len(vertices)
            vertices.append(
                [sign * np.eye(3)[axis] + sign * a * u + b * v for a, b in ((-1, -1), (1, -1), (1, 1), (-1, 1))]
            )
            faces += [[first, first + 1, first + 2], [first, first + 2, first + 3]]
    return 0.5 * np.concatenate(vertices) * edges, np.array(faces)


def creased(vertices: Floats, faces: Ints) -> tuple[Floats, Ints]:
    """Return the triangles with a vertex of its own for each smooth side of an edge, so that it looks sharp.

    Of the faces around a vertex, those within `CREASE` of the first one share a vertex, then those within it of the
    first of the others, and so on; after four rounds the rest shares one.
    """
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    across = np.cross(b - a, c - a)
    length = np.linalg.norm(across, axis=1, keepdims=True)
    normals = across / np.where(length > 0.0, length, 1.0)
    corner = faces.reshape(-1)
    side = np.zeros(len(corner), dtype=np.int64)
    left = np.arange(len(corner))
    normal_of = np.repeat(normals, 3, axis=0)
    for number in range(1, 5):
        first = np.full(len(vertices), len(corner), dtype=np.int64)
        first[corner[left[::-1]]] = left[::-1]  # the last one written is the first corner
        near = (normal_of[left] * normal_of[first[corner[left]]]).sum(axis=1) >= CREASE
        left = left[~near]
        if not len(left):
            break
        side[left] = number
    key, which = np.unique(corner * 5 + side, return_inverse=True)
    return vertices[key // 5], which.reshape(-1, 3)
