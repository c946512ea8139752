"""A track: a motion on the stage, with the body that performs it and its place there."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ...compute import PosableError
from ...compute.types import Floats
from ...skeleton import Frames, Motion, Pose, Skeleton, SkinnedMesh

if TYPE_CHECKING:
    from ...body import Humanoid

CALM = 0.6
"""Seconds over which the way of the body over the floor is smoothed for the camera, so that the ground glides."""


@dataclass(eq=False)
class Track:
    """A motion that is shown. Two tracks of one motion are two bodies.

    Attributes:
        motion: what is played.
        body: who performs it, or None where the skeleton's joints have no human roles.
        name: what the user calls it.
        hue: which colours of the palette it wears.
        place: (3,) where its world lies on the stage [m].
        held: a pose that a tab shows in place of the motion's, or None.
        guest: whether it is a tab's own, which says itself where it stands.
        ghost: whether it is seen through, wherever it stands.
        faint: how much of a body that is seen through is seen, 1 as usual.
        plain: whether it is drawn as its volumes, also where it has meshes.
    """

    motion: Motion
    body: Humanoid | None
    name: str
    hue: int = 0
    place: Floats = field(default_factory=lambda: np.zeros(3))
    held: Pose | None = None
    guest: bool = False
    ghost: bool = False
    faint: float = 1.0
    plain: bool = False

    @property
    def skeleton(self) -> Skeleton:
        """The skeleton that moves."""
        return self.motion.skeleton

    def pose(self, time: float) -> Pose:
        """The pose shown at a time [s]."""
        return self.motion.at(time) if self.held is None else self.held

    def frames(self, time: float) -> Frames:
        """Where the joints are on the stage at a time [s]."""
        world = self.skeleton.forward(self.pose(time))
        return Frames(self.skeleton, world.positions + self.place, world.orientations)

    def ground(self, time: float) -> Floats:
        """(2,) the calm way of the body over the floor, x and z on the stage [m], at a time [s]."""
        way = self._way
        place = float(np.clip(time * self.motion.fps, 0.0, len(way) - 1))
        return np.array([np.interp(place, np.arange(len(way)), way[:, k]) for k in (0, 1)]) + self.place[[0, 2]]

    @cached_property
    def box(self) -> Floats:
        """(2, 3) least and greatest place of the body relative to its calm way [m], from some of its frames."""
        character = self.skeleton.character
        meshes = [_thinned(mesh) for mesh in character.meshes] if character is not None else []
        some = np.unique(np.linspace(0, len(self.motion) - 1, 12 if meshes else 200).astype(int))
        world = self.skeleton.forward(self.motion.pose[some])
        skins = [mesh.posed(world) for mesh in meshes]
        points = np.concatenate([world.positions, world.ends, *skins], axis=1)
        points = points - np.insert(self._way[some], 1, 0.0, axis=-1)[:, None]
        return np.stack([points.min(axis=(0, 1)), points.max(axis=(0, 1))])

    @cached_property
    def _way(self) -> Floats:
        """(F, 2) x and z of the root, smoothed [m]."""
        raw = self.motion.pose.translation[:, [0, 2]]
        half = min(int(CALM / 2 * self.motion.fps), (len(raw) - 1) // 2)
        if half == 0:
            return raw
        # Mirrored at both ends about the end points, so that a straight way stays straight up to its ends.
        before, after = 2 * raw[0] - raw[half:0:-1], 2 * raw[-1] - raw[-2 : -half - 2 : -1]
        sums = np.cumsum(np.concatenate([np.zeros((1, 2)), before, raw, after]), axis=0)
        width = 2 * half + 1
        smooth: Floats = (sums[width:] - sums[:-width]) / width
        return smooth


def _thinned(mesh: SkinnedMesh, most: int = 600) -> SkinnedMesh:
    """Some vertices of a mesh, enough to tell how far it reaches."""
    some = slice(None, None, max(1, len(mesh.vertices) // most))
    return replace(mesh, vertices=mesh.vertices[some], joints=mesh.joints[some], weights=mesh.weights[some])


def track_of(motion: Motion, body: Humanoid | None = None, name: str | None = None) -> Track:
    """A track for a motion, its body found by the names of the joints where the caller has none."""
    if len(motion) == 0:
        raise PosableError(f"{name or motion.name or 'the motion'} has no frames; there is nothing to show")
    if not motion.pose.is_finite():
        raise PosableError(f"{name or motion.name or 'the motion'} has numbers that are not finite; it cannot be shown")
    return Track(motion, body or body_of(motion.skeleton), name or motion.name or "motion")


def body_of(skeleton: Skeleton) -> Humanoid | None:
    """The humanoid that the joints' names tell, or None where they tell none."""
    from ...body import Humanoid

    try:
        return Humanoid(skeleton)
    except PosableError:
        return None


def nearest_joint(frames: Frames, origin: Floats, direction: Floats, reach: float) -> tuple[int, float] | None:
    """The joint whose bones a ray passes closest, and how close [m]; None when none is within `reach` [m].

    A bone belongs to the joint that turns it: a click on the forearm is a click on the elbow. Bones that lead to end
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
    """(N,) least distances between a ray and segments (N, 3): Ericson 2005, section 5.1.9, one line half infinite."""
    along = end - start
    gap = start - origin
    length = np.einsum("ni,ni->n", along, along)
    shadow = along @ unit
    parallel = length - shadow**2
    safe = np.where(parallel > 1e-12 * np.maximum(length, 1e-12), parallel, np.inf)
    on_ray, on_bone = gap @ unit, np.einsum("ni,ni->n", gap, along)
    share = np.clip((shadow * on_ray - on_bone) / safe, 0.0, 1.0)
    distance_along = np.maximum(on_ray + share * shadow, 0.0)
    nearest = origin + distance_along[:, None] * unit
    spans = np.where(length > 0.0, length, 1.0)
    share = np.clip(np.einsum("ni,ni->n", nearest - start, along) / spans, 0.0, 1.0)
    gaps: Floats = np.linalg.norm(start + share[:, None] * along - nearest, axis=-1)
    return gaps
