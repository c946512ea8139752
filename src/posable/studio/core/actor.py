"""An actor: a motion on the stage, the body that performs it, and where both are on the stage."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ... import math as pm
from ...compute import PosableError
from ...compute.types import Floats
from ...skeleton import Frames, Motion, Pose, Skeleton, SkinnedMesh

if TYPE_CHECKING:
    from ...body import Humanoid

SMOOTHING = 0.6
"""Window [s] of the moving average over the root's path that the camera follows, so that the ground glides."""
CLICK_REACH = 0.09
"""How far from a bone a click still selects it, as a fraction of the body's size."""


@dataclass(eq=False)
class Actor:
    """A motion that is shown. Two actors with one motion are two bodies.

    Attributes:
        motion: what is played.
        body: who performs it, or None where the skeleton's joints have no human roles.
        robot: the humanoid robot that performs it, or None; a robot is no `body`, whose joints rotate about any axis.
        name: what the user calls it.
        hue: index of its colours in the palette.
        position: (3,) of its world's origin on the stage [m].
        pose_override: a pose that a tab shows in place of the motion's, or None.
        extra: whether it belongs to a tab, which decides its position.
        ghost: whether it is transparent, wherever it stands.
        opacity: factor on the opacity of a transparent body.
        volumes_only: whether it is drawn as its volumes, also where it has meshes.
    """

    motion: Motion
    body: Humanoid | None
    name: str
    hue: int = 0
    position: Floats = field(default_factory=lambda: np.zeros(3))
    pose_override: Pose | None = None
    extra: bool = False
    ghost: bool = False
    opacity: float = 1.0
    volumes_only: bool = False
    robot: Humanoid | None = None

    @property
    def performer(self) -> Humanoid | None:
        """Who can be given another one's motion: a person or a robot; None for anything else."""
        return self.body or self.robot

    @property
    def skeleton(self) -> Skeleton:
        """The skeleton that moves."""
        return self.motion.skeleton

    def pose(self, time: float) -> Pose:
        """Return the pose shown at a time [s]."""
        return self.motion.at(time) if self.pose_override is None else self.pose_override

    def frames(self, time: float) -> Frames:
        """Return the joints' frames on the stage at a time [s]."""
        world = self.skeleton.forward(self.pose(time))
        return Frames(self.skeleton, world.positions + self.position, world.orientations)

    def clicked_joint(self, time: float, origin: Floats, direction: Floats) -> tuple[int, float] | None:
        """Return the joint whose bones a ray on the stage passes at a time [s] and how close [m]; None if it is far."""
        reach = CLICK_REACH * float(np.ptp(self.box, axis=0).max())
        return nearest_joint(self.frames(time), origin, direction, reach)

    def scaled(self, factor: float) -> Actor:
        """Return an actor that is so many times as large."""
        pose = self.motion.pose
        offsets = None if pose.offsets is None else pose.offsets * factor
        larger = pose.replace(translation=pose.translation * factor, offsets=offsets)
        motion = self.motion.replace(skeleton=self.skeleton.scaled(factor), pose=larger)
        return actor_of(motion, None, self.name, self.role_names)

    @property
    def role_names(self) -> dict[str, str]:
        """Part to joint name; empty where the joints have no human roles."""
        roles = {} if self.body is None else self.body.roles
        return {role: self.skeleton.names[joint] for role, joint in roles.items()}

    @cached_property
    def crown(self) -> float:
        """How far the top of the head, as it is drawn, is above the highest joint in the first frame [m]."""
        rest = self.skeleton.forward(self.motion[0])
        top, height = float(rest.positions[:, 1].max()), float(np.ptp(self.box[:, 1]))
        character = self.skeleton.character
        if character is None or self.performer is None or self.volumes_only:
            return 0.1 * height
        everyone = range(len(self.skeleton))
        head = list(everyone)  # of a robot, whatever is highest
        if self.body is not None:
            head = [j for j in everyone if self.body.index("head") in self.skeleton.path(j)]
        skins = [
            mesh.posed(rest)[np.isin(mesh.joints[np.arange(len(mesh.joints)), mesh.weights.argmax(axis=1)], head)]
            for mesh in map(_thinned, character.meshes)
        ]
        heads = np.concatenate([np.zeros((0, 3)), *skins])
        return max(float(heads[:, 1].max(initial=-np.inf)) - top, 0.1 * height)

    def part_joint(self, joint: int) -> int:
        """Return the joint of the part of a person that a joint belongs to: of a finger the hand; else the joint."""
        roles = set() if self.body is None else set(self.body.roles.values())
        return next((above for above in reversed(self.skeleton.path(joint)) if above in roles), joint)

    def part_name(self, joint: int) -> str:
        """Return the part of the body that a joint is, in words ("left hand"), else its name."""
        roles = {} if self.body is None else self.body.roles
        return next((role.replace("_", " ") for role, at in roles.items() if at == joint), self.skeleton.names[joint])

    def path_at(self, time: float) -> Floats:
        """Return (2,) x and z [m] on the stage of the root's smoothed path at a time [s]."""
        path = self._path
        row = float(np.clip(time * self.motion.fps, 0.0, len(path) - 1))
        return np.array([np.interp(row, np.arange(len(path)), path[:, k]) for k in (0, 1)]) + self.position[[0, 2]]

    @cached_property
    def box(self) -> Floats:
        """(2, 3) lowest and highest coordinates of the body relative to its smoothed path [m], from sampled frames."""
        character = self.skeleton.character
        meshes = [_thinned(mesh) for mesh in character.meshes] if character is not None else []
        some = np.unique(np.linspace(0, len(self.motion) - 1, 12 if meshes else 200).astype(int))
        world = self.skeleton.forward(self.motion.pose[some])
        skins = [mesh.posed(world) for mesh in meshes]
        points = np.concatenate([world.positions, world.ends, *skins], axis=1)
        points = points - np.insert(self._path[some], 1, 0.0, axis=-1)[:, None]
        return np.stack([points.min(axis=(0, 1)), points.max(axis=(0, 1))])

    @cached_property
    def _path(self) -> Floats:
        """(F, 2) x and z of the root, smoothed by a moving average [m]."""
        raw = self.motion.pose.translation[:, [0, 2]]
        half = min(int(SMOOTHING / 2 * self.motion.fps), (len(raw) - 1) // 2)
        if half == 0:
            return raw
        # Mirrored at both ends about the end points, so that a straight path stays straight up to its ends.
        before, after = 2 * raw[0] - raw[half:0:-1], 2 * raw[-1] - raw[-2 : -half - 2 : -1]
        sums = np.cumsum(np.concatenate([np.zeros((1, 2)), before, raw, after]), axis=0)
        width = 2 * half + 1
        smooth: Floats = (sums[width:] - sums[:-width]) / width
        return smooth


def _thinned(mesh: SkinnedMesh, count: int = 600) -> SkinnedMesh:
    """Return a mesh with about `count` of its vertices, enough to tell how far it reaches."""
    some = slice(None, None, max(1, len(mesh.vertices) // count))
    return replace(mesh, vertices=mesh.vertices[some], joints=mesh.joints[some], weights=mesh.weights[some])


def actor_of(
    motion: Motion, body: Humanoid | None = None, name: str | None = None, roles: Mapping[str, str] | None = None
) -> Actor:
    """Return an actor for a motion; without a body, one is looked for by the names of the joints.

    `roles` are part to joint name, where names do not tell; those count whose joints the skeleton has.
    """
    if len(motion) == 0:
        raise PosableError(f"{name or motion.name or 'the motion'} has no frames; there is nothing to show")
    if not motion.pose.is_finite():
        raise PosableError(f"{name or motion.name or 'the motion'} has numbers that are not finite; it cannot be shown")
    if body is None:
        from ...body import Humanoid
        from ...reconstruct.pipeline import roles_on

        with contextlib.suppress(PosableError):  # the joints' names describe no person
            body = Humanoid(motion.skeleton, roles_on(motion.skeleton, roles))
    called = name or motion.name or "motion"
    if body is not None and body.robot_parts is not None:
        return Actor(motion, None, called, robot=body)
    return Actor(motion, body, called)


def canonical_orientation(body: Humanoid, part: str, pose: Pose) -> Floats:
    """Return (4,) a part's orientation in the world, the identity as in the neutral pose."""
    world = body.skeleton.forward(pose).orientations[body.index(part)]
    return pm.multiply(world, pm.conjugate(body.neutral_orientation(part)))


def nearest_joint(frames: Frames, origin: Floats, direction: Floats, reach: float) -> tuple[int, float] | None:
    """Return the joint whose bones a ray passes closest and the distance [m]; None when none is within `reach` [m].

    A bone belongs to the joint that rotates it: a click on the forearm is a click on the elbow. Bones that lead to end
    sites count, and the joints themselves, so that a root without bones can be found.
    """
    skeleton = frames.skeleton
    child = np.flatnonzero(skeleton.parents >= 0)
    owner = np.concatenate([np.arange(len(skeleton)), skeleton.parents[child], skeleton.end_parents])
    start = frames.positions[owner]
    end = np.concatenate([frames.positions, frames.positions[child], frames.ends])
    distance = _ray_to_segments(origin, direction / np.linalg.norm(direction), start, end)
    best = int(np.argmin(distance))
    return (int(owner[best]), float(distance[best])) if distance[best] <= reach else None


def _ray_to_segments(origin: Floats, unit: Floats, start: Floats, end: Floats) -> Floats:
    """Return (N,) distances of a ray from segments (N, 3): Ericson 2005, section 5.1.9, one line half infinite."""
    along = end - start
    gap = start - origin
    length = np.einsum("ni,ni->n", along, along)
    shadow = along @ unit
    parallel = length - shadow**2
    safe = np.where(parallel > 1e-12 * np.maximum(length, 1e-12), parallel, np.inf)
    on_ray, on_bone = gap @ unit, np.einsum("ni,ni->n", gap, along)
    fraction = np.clip((shadow * on_ray - on_bone) / safe, 0.0, 1.0)
    distance_along = np.maximum(on_ray + fraction * shadow, 0.0)
    nearest = origin + distance_along[:, None] * unit
    spans = np.where(length > 0.0, length, 1.0)
    fraction = np.clip(np.einsum("ni,ni->n", nearest - start, along) / spans, 0.0, 1.0)
    gaps: Floats = np.linalg.norm(start + fraction[:, None] * along - nearest, axis=-1)
    return gaps
