"""`Robot`: what a robot's file says besides its skeleton: limits, motors, what is seen of it and what may touch.

It hangs on the skeleton (`skeleton.robot`), so any motion made on it keeps it. Joints' frames are those of the
file; for the file's own world (z up, x ahead), rotate positions and orientations by the inverse of `UP[robot.up]`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ..compute import ShapeError, UnknownNameError
from ..compute.types import ArrayLike, Floats, Ints

if TYPE_CHECKING:
    from .skeleton import Skeleton

UP = {"y": (0.5, -0.5, -0.5, -0.5), "z": (1.0, 0.0, 0.0, 0.0)}
"""Rotations from robots' axes (z up, x ahead) to the world's: with "y", x, y, z become z, x, y."""


@dataclass(frozen=True)
class Mimic:
    """A joint that follows another: value = multiplier * leader's value + offset [rad or m]."""

    dof: int
    leader: int
    multiplier: float
    offset: float


@dataclass(frozen=True, eq=False)
class MeshFile:
    """The triangles of a file beside the robot's, read when they are first asked for."""

    name: str
    """Of the file, as the robot's file has it."""
    read: Callable[[], tuple[Floats, Ints]]
    """Return vertices (V, 3) [m] in the frame of the shape, and faces (T, 3)."""

    def __repr__(self) -> str:
        return f"MeshFile({self.name[-60:]!r})"

    @cached_property
    def triangles(self) -> tuple[Floats, Ints]:
        """Vertices (V, 3) [m] in the frame of the shape, and faces (T, 3)."""
        return self.read()

    def __getstate__(self) -> dict[str, object]:
        return {"name": self.name, "read": self.read}  # another process reads the file again, where it needs it


@dataclass(frozen=True, eq=False)
class Shape:
    """A piece of a link: something that is seen, or that touches."""

    joint: int
    """Of the skeleton: the shape moves with it."""
    kind: str
    """"box", "cylinder", "capsule", "sphere", "ellipsoid" or "mesh"."""
    size: Floats
    """Edges (3,) of a box, radius and length along z (2,) of a cylinder, radius and distance of the two centres along
    z (2,) of a capsule, radius (1,) of a sphere, half-axes (3,) of an ellipsoid, scale (3,) of a mesh [m]."""
    position: Floats
    """(3,) its centre (the origin of a mesh) in the joint's frame [m]."""
    orientation: Floats
    """(4,) in the joint's frame."""
    colour: tuple[int, int, int] | None = None
    """0 to 255, where the file says one."""
    name: str = ""
    """Empty where the file has none."""
    mesh: MeshFile | None = None
    """Of the kind "mesh"."""

    def scaled(self, factor: float) -> Shape:
        """The same shape on a robot scaled by `factor`."""
        mesh = self.mesh and MeshFile(self.mesh.name, _Scaled(self.mesh, factor))
        return replace(self, size=self.size * factor, position=self.position * factor, mesh=mesh)


@dataclass(frozen=True)
class _Scaled:
    """A reader of the triangles of a mesh, larger by a factor."""

    mesh: MeshFile
    factor: float

    def __call__(self) -> tuple[Floats, Ints]:
        vertices, faces = self.mesh.triangles
        return vertices * self.factor, faces


@dataclass(frozen=True, eq=False)
class Site:
    """A named frame on a link."""

    name: str
    joint: int
    """Of the skeleton: the frame moves with it."""
    position: Floats
    """(3,) in the joint's frame [m]."""
    orientation: Floats
    """(4,) in the joint's frame."""


@dataclass(frozen=True, eq=False)
class Robot:
    """The file of a robot, but for its kinematics: what it says of the joints and the DoF of its skeleton."""

    name: str
    links: tuple[str, ...]
    """(J,) the link (MJCF: the body) whose frame is that of each joint. Empty for a joint that carries none of its own:
    all but the last of several joints between two links."""
    lower: Floats
    """(D,) [rad or m], -inf where there is no limit."""
    upper: Floats
    """(D,) [rad or m], inf where there is no limit."""
    velocity: Floats
    """(D,) [rad/s or m/s], inf where the file says nothing (MJCF never does)."""
    effort: Floats
    """(D,) [Nm or N], inf where the file says nothing."""
    mimics: tuple[Mimic, ...] = ()
    """The joints that follow others, leaders before followers."""
    shapes: tuple[Shape, ...] = ()
    """What is seen of it; meshes only where their files are."""
    collisions: tuple[Shape, ...] = ()
    """What touches: boxes, cylinders, capsules, spheres and ellipsoids."""
    separate: tuple[tuple[str, str], ...] = ()
    """Pairs of links whose contact never counts: those that the file excludes, and a link with the one it hangs on."""
    sites: tuple[Site, ...] = ()
    motors: tuple[int, ...] = ()
    """The DoF that have a motor, in the file's order; all that follow no other, where the file names no motors."""
    rest: Floats | None = None
    """(D,) values in which it stands, where the file has such a keyframe."""
    reference: Floats = field(default_factory=lambda: np.empty(0))
    """(D,) the file's own value of each DoF where ours is zero (`ref` of MJCF); zeros elsewhere."""
    up: str = "y"
    """Which axis of the world is up: a key of `UP`."""
    notes: tuple[str, ...] = ()
    """What was left out or assumed."""

    def __post_init__(self) -> None:
        if not self.reference.shape[0]:
            object.__setattr__(self, "reference", np.zeros(len(self.lower)))

    def __repr__(self) -> str:
        count = sum(1 for link in self.links if link)
        return f"Robot({self.name[:40]!r}, {count} links, {len(self.lower)} DoF, {len(self.motors)} motors)"

    @property
    def independent(self) -> Ints:
        """The DoF that follow no other."""
        followers = {mimic.dof for mimic in self.mimics}
        return np.array([d for d in range(len(self.lower)) if d not in followers], dtype=np.int64)

    def coupled(self, values: ArrayLike) -> Floats:
        """Values of all DoF (..., D) with those of mimicking joints set from their leaders."""
        full = np.array(values, dtype=np.float64)
        for mimic in self.mimics:
            full[..., mimic.dof] = mimic.multiplier * full[..., mimic.leader] + mimic.offset
        return full

    def joint(self, link: str) -> int:
        """Return the joint of the skeleton that carries a link."""
        if not link or link not in self.links:
            raise UnknownNameError("link", link, [name for name in self.links if name])
        return self.links.index(link)

    def check(self, joints: int, dofs: int) -> None:
        """Raise where this is the record of another skeleton."""
        if len(self.links) != joints or len(self.lower) != dofs:
            raise ShapeError(
                f"the robot's record has {len(self.links)} links and {len(self.lower)} DoF, "
                f"the skeleton {joints} joints and {dofs} DoF; give robot=None to a skeleton that is another"
            )

    def scaled(self, factor: float, translations: Floats) -> Robot:
        """Return the record of the same robot, scaled; `translations` (D,) says which DoF are lengths."""
        by = np.where(translations, factor, 1.0)
        return replace(
            self,
            lower=self.lower * by,
            upper=self.upper * by,
            velocity=self.velocity * by,
            mimics=tuple(
                replace(
                    m, offset=m.offset * float(by[m.dof]), multiplier=m.multiplier * float(by[m.dof] / by[m.leader])
                )
                for m in self.mimics
            ),
            shapes=tuple(shape.scaled(factor) for shape in self.shapes),
            collisions=tuple(shape.scaled(factor) for shape in self.collisions),
            sites=tuple(replace(site, position=site.position * factor) for site in self.sites),
            rest=None if self.rest is None else self.rest * by,
            reference=self.reference * by,
        )


def with_free_root(skeleton: Skeleton) -> Skeleton:
    """Return the skeleton of a robot with a root that may move: of robots whose file lets them stand fixed (URDF)."""
    robot, kind = skeleton.robot, skeleton.kinds[0]
    if kind == "free" or robot is None:
        return skeleton
    gone = len(skeleton.dofs) and skeleton.dofs.joint[0] == 0
    if gone:
        raise ShapeError(f"the root {skeleton.names[0]!r} is a {kind} and cannot be made free")

    def longer(values: Floats, first: float) -> Floats:
        return np.concatenate([np.full(6, first), values])

    freed = replace(
        robot,
        lower=longer(robot.lower, -np.inf),
        upper=longer(robot.upper, np.inf),
        velocity=longer(robot.velocity, np.inf),
        effort=longer(robot.effort, np.inf),
        mimics=tuple(replace(m, dof=m.dof + 6, leader=m.leader + 6) for m in robot.mimics),
        motors=tuple(d + 6 for d in robot.motors),
        rest=None if robot.rest is None else longer(robot.rest, 0.0),
        reference=longer(robot.reference, 0.0),
    )
    return skeleton.replace(kinds=("free", *skeleton.kinds[1:]), robot=freed)
