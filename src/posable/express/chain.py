"""`Chain`: one-axis joints of a skeleton, from a base to a tip that points somewhere."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import math as pm
from ..compute import PosableError, ShapeError, UnknownNameError
from ..compute.gpu_arrays import GpuArray, full, unwrapped, wrapped
from ..compute.types import ArrayLike, Floats, Ints, floats
from ..skeleton import Frames, Pose, Skeleton
from .model import Packed, pack

if TYPE_CHECKING:
    from ..body import Humanoid

SHORT = 1e-9  # [m]: joints nearer than this coincide


@dataclass(frozen=True, eq=False)
class Link:
    """One rotation or slide between base and tip: value = multiplier * the chain's value `dof` + offset."""

    joint: int
    """Of the skeleton."""
    axis: Floats
    """(3,) unit, in the joint's own frame."""
    slides: bool
    dof: int
    multiplier: float = 1.0
    offset: float = 0.0
    motor: int = -1
    """The joint of the skeleton that it mimics, which other chains may move; -1 where it has a motor of its own."""


@dataclass(frozen=True, eq=False)
class ChainFrames:
    """Positions and orientations of a chain's joints and its tip, for one set of angles or a batch."""

    positions: Floats
    """(..., N + 1, 3) [m] in the world: each joint, then the tip."""
    orientations: Floats
    """(..., N + 1, 4): the frame of each joint, after its rotation; then the tip's."""
    pointing: Floats
    """(..., 3) unit: the pointing axis of the tip, in the world."""


class Chain:
    """A view of a skeleton: the one-axis joints from a base to a tip, root first, with limits. Immutable.

    Make one with `from_axes`, `from_robot`, `from_body` or `from_skeleton`. Joints of the skeleton that are not part of
    it stay at rest. A ball joint is three rotations after each other, two across its bone and one about it.

    Args:
        skeleton: the skeleton whose joints they are.
        links: the rotations and slides, root first; several may share one of the chain's values (mimicking joints).
        limits: (N, 2) [rad, or m for slides]; infinite for a joint without ends.
        tip: the joint that carries the tip.
        tip_offset: (3,) [m] the tip in that joint's frame.
        pointing: (3,) the pointing axis of the tip, in that joint's frame.
        names: (N,) of the values.
        up: (3,) in the world: the posture's first bend is measured from it.
        note: why the tip points where it does, for a person to read.
        speeds: (N,) the largest speed of each value [rad/s, or m/s for slides]; infinite, the default, where none is
            known. A robot's file has them.
    """

    def __init__(
        self,
        skeleton: Skeleton,
        links: Sequence[Link],
        limits: ArrayLike,
        *,
        tip: int | str,
        tip_offset: ArrayLike = (0.0, 0.0, 0.0),
        pointing: ArrayLike,
        names: Sequence[str],
        up: ArrayLike = (0.0, 1.0, 0.0),
        note: str = "",
        speeds: ArrayLike | None = None,
    ) -> None:
        self.skeleton, self.links, self.names = skeleton, tuple(links), tuple(names)
        given = np.array(limits, dtype=np.float64)
        count = len(self.names)
        if not self.links:
            raise PosableError("a chain needs at least one joint that moves")
        if given.shape != (count, 2):
            raise ShapeError(f"limits have shape {given.shape}; expected ({count}, 2)")
        if np.isnan(given).any() or (given[:, 0] > given[:, 1]).any() or (given[:, 0] == np.inf).any():
            raise PosableError(f"limits are {given.tolist()}; expected low <= high in every row")
        self.lower, self.upper = given.T.copy()
        self.tip = skeleton.index(tip)
        self.tip_offset = vector_of("tip_offset", tip_offset)
        self.pointing = unit_of("pointing", pointing)
        self.up = unit_of("up", up)
        self.note = note
        fastest = np.full(count, np.inf) if speeds is None else np.array(speeds, dtype=np.float64)
        if fastest.shape != (count,) or not (fastest > 0.0).all():
            raise PosableError(f"speeds are {fastest.tolist()}; expected {count} numbers above 0, infinite for none")
        self.speeds = fastest
        """(N,) [rad/s or m/s]: the largest speed of each value."""

    @classmethod
    def from_axes(
        cls,
        axes: str | ArrayLike,
        lengths: ArrayLike | None = None,
        limits: ArrayLike = (-np.pi / 2, np.pi / 2),
    ) -> Chain:
        """Make a chain whose segments stand on each other along +Y at rest, as in the paper.

        Args:
            axes: "YXXZY", root first, or (N, 3) axes.
            lengths: (N,) [m] of the segments, above 0; 0.1 m each when not given.
            limits: (low, high) for all, or (N, 2) [rad].
        """
        unit_axes = axes_of(axes)
        count = len(unit_axes)
        if count == 0:
            raise PosableError("a chain needs at least one joint that moves")
        long = np.full(count, 0.1) if lengths is None else np.array(lengths, dtype=np.float64)
        if long.shape != (count,) or not (np.isfinite(long) & (long > 0)).all():
            raise PosableError(f"lengths are {np.asarray(lengths).tolist()}; expected {count} numbers above 0")
        rows = np.array(limits, dtype=np.float64)
        rows = np.tile(rows, (count, 1)) if rows.shape == (2,) else rows
        names = [f"joint{k + 1}" for k in range(count)]
        offsets = np.zeros((count, 3))
        offsets[1:, 1] = long[:-1]
        end = [[0.0, long[-1], 0.0]]
        skeleton = Skeleton(
            names,
            np.arange(count) - 1,
            offsets,
            kinds=["hinge"] * count,
            axes=unit_axes,
            end_parents=[count - 1],
            end_offsets=end,
        )
        links = [Link(k, unit_axes[k], False, k) for k in range(count)]
        return cls(skeleton, links, rows, tip=count - 1, tip_offset=end[0], pointing=AXES["Y"], names=names)

    @classmethod
    def from_robot(
        cls,
        robot: str | PathLike[str] | Skeleton,
        base: str | None = None,
        tip: str | None = None,
        *,
        pointing: ArrayLike | None = None,
        up: str = "y",
    ) -> Chain:
        """Make a chain of a serial path of a robot.

        Args:
            robot: a URDF or MJCF file, or the skeleton that one was read as.
            base: the link that stands still; by default the root link. It may hang on another branch than the tip:
                the chain then has a skeleton of its own, of that path alone.
            tip: the link that points; by default one as many motors away from the base as can be.
            pointing: (3,) the pointing axis in its link's frame; by default x of heads and cameras, z of optical
                frames (REP 103), else away from the last joint. `note` says which was taken.
            up: of a file, "y" (default) rotates the robot into our axes (y up, z forward); "z" keeps its own.
        """
        from .paths import chain_of_robot

        return chain_of_robot(cls, robot, base, tip, pointing, up)

    @classmethod
    def from_body(
        cls, body: Humanoid, part: str, limits: ArrayLike | None = None, pointing: ArrayLike | None = None
    ) -> Chain:
        """Make a chain of a limb or the spine of a body, each joint as one-axis rotations after each other.

        Of a robot they are its own motors, with their limits and speeds: its spine is waist and neck, whichever it has.

        Args:
            body: the body.
            part: "left_arm", "right_arm", "left_leg", "right_leg" or "spine"; of a robot also "head", its neck alone,
                or its waist where it has no neck.
            limits: (low, high) for every rotation, or (N, 2) [rad]; the range of people's joints when not given.
            pointing: (3,) the pointing axis of the end, in canonical axes in the neutral pose; when not given, along
                the hanging hand, ahead of the foot, ahead of the face.
        """
        from .paths import chain_of_body

        return chain_of_body(cls, body, part, limits, pointing)

    @classmethod
    def from_skeleton(
        cls,
        skeleton: Skeleton,
        base: int | str,
        tip: int | str,
        limits: ArrayLike | Mapping[str, tuple[float, float]] = (-np.pi / 2, np.pi / 2),
        *,
        tip_offset: ArrayLike | None = None,
        pointing: ArrayLike | None = None,
    ) -> Chain:
        """Make a chain of the joints of a skeleton from `base`, which moves, to `tip`.

        Args:
            skeleton: any.
            base: the first joint of the chain.
            tip: the last.
            limits: (low, high) for every value, or (N, 2), or a dictionary by the names of the values.
            tip_offset: (3,) [m] in the tip's frame; its end site when not given.
            pointing: (3,) in the tip's frame; towards the tip when not given.
        """
        from .paths import chain_of_path

        return chain_of_path(cls, skeleton, base, tip, limits, tip_offset, pointing)

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        first, last = self.skeleton.names[self.links[0].joint], self.skeleton.names[self.tip]
        return f"Chain({len(self)} joints, {first!r} to {last!r})"

    def read(self, pose: Pose) -> Floats:
        """Return (..., N) the values of a pose of the skeleton; what its joints do besides is left out.

        A rotation that is not about a joint's axes is read as the nearest that is, for joints with one or two.
        """
        if pose.joint_count != len(self.skeleton):
            raise ShapeError(f"the pose has {pose.joint_count} joints; expected those of {self.skeleton}")
        values = np.zeros((*pose.shape, len(self)))
        for joint in dict.fromkeys(link.joint for link in self.links):
            links = [link for link in self.links if link.joint == joint]
            if links[0].slides:
                rest, offsets = self.skeleton.offsets[joint], pose.offsets
                along = np.asarray(pm.rotate(self.skeleton.rest_rotations[joint], links[0].axis))
                found = [np.zeros(pose.shape) if offsets is None else (offsets[..., joint, :] - rest) @ along]
            else:
                rotated = pm.multiply(pm.conjugate(self.skeleton.rest_rotations[joint]), pose.rotations[..., joint, :])
                found = self._nearer(links, angles_about(np.asarray(rotated), [link.axis for link in links]))
            for link, value in zip(links, found, strict=True):
                values[..., link.dof] = (value - link.offset) / link.multiplier
        return values

    def _nearer(self, links: Sequence[Link], triples: Sequence[Sequence[Floats]]) -> list[Floats]:
        """Return of the ways to write a joint's rotations as angles the one that leaves the limits least."""
        if len(triples) == 1:
            return list(triples[0])
        past = []
        for angles in triples:
            total = np.zeros(np.shape(angles[0]))
            for link, angle in zip(links, angles, strict=True):
                value = (angle - link.offset) / link.multiplier
                total = total + np.maximum(np.maximum(self.lower[link.dof] - value, value - self.upper[link.dof]), 0.0)
            past.append(total)
        # Of two that are inside, the first: its middle angle is at most 90 degrees.
        return [np.where(past[1] < past[0], other, one) for one, other in zip(*triples, strict=True)]

    def on(self, skeleton: Skeleton) -> Chain:
        """Return this chain on another skeleton with the same joints."""
        return Chain(
            skeleton,
            self.links,
            self.limits,
            tip=self.tip,
            tip_offset=self.tip_offset,
            pointing=self.pointing,
            names=self.names,
            up=self.up,
            note=self.note,
            speeds=self.speeds,
        )

    def within_speeds(self, angles: ArrayLike, fps: float) -> Floats:
        """Return values (..., F, N) over time that follow these as closely as `speeds` allow.

        No value moves further in a frame than its speed takes it; one that has fallen behind goes as fast as it may.
        The first frame stays. Accelerations are not limited: `MotionFilter` does that too.

        Args:
            angles: (..., F, N) [rad or m].
            fps: frames a second.
        """
        values = self.checked("angles", angles).copy()
        step = self.speeds / fps
        for frame in range(1, values.shape[-2] if np.isfinite(step).any() else 0):
            before = values[..., frame - 1, :]
            values[..., frame, :] = np.clip(values[..., frame, :], before - step, before + step)
        return values

    @property
    def limits(self) -> Floats:
        """(N, 2) [rad or m]."""
        return np.stack([self.lower, self.upper], axis=-1)

    @property
    def zero(self) -> Floats:
        """(N,): the values nearest to rest inside the limits."""
        return np.clip(np.zeros(len(self)), self.lower, self.upper)

    def pose(self, angles: ArrayLike, start: Pose | None = None) -> Pose:
        """Return the skeleton's pose with these values (..., N); other joints as in `start`, or at rest."""
        values = self.checked("angles", angles)
        if isinstance(values, GpuArray):
            if start is not None or self._columns is None:
                raise PosableError(
                    "on a GPU, only chains whose joints are hinges and slides of their skeleton are posed, from rest; "
                    "others need values of the CPU"
                )
            return self.skeleton.from_values(unwrapped(self._dof_values(values)))
        if start is None and self._columns is not None:
            every = np.zeros((*values.shape[:-1], len(self.skeleton.dofs)))
            dofs, factors, shifts = self._drives
            every[..., self._columns] = values[..., dofs] * factors + shifts
            return self.skeleton.from_values(every)
        shape = values.shape[:-1]
        rest = self.skeleton.rest if start is None else start
        rotations = np.broadcast_to(rest.rotations, (*shape, len(self.skeleton), 4)).copy()
        first: set[int] = set()
        slides = [link for link in self.links if link.slides]
        offsets = None
        if slides or rest.offsets is not None:
            moved = self.skeleton.offsets if rest.offsets is None else rest.offsets
            offsets = np.broadcast_to(moved, (*shape, len(self.skeleton), 3)).copy()
        for link in self.links:
            value = link.multiplier * values[..., link.dof] + link.offset
            if link.joint not in first:
                rotations[..., link.joint, :] = self.skeleton.rest_rotations[link.joint]
                first.add(link.joint)
            if link.slides and offsets is not None:
                # Along the axis in the joint's own frame, which its rest rotation leads to from the parent's.
                along = np.asarray(pm.rotate(self.skeleton.rest_rotations[link.joint], link.axis))
                offsets[..., link.joint, :] = self.skeleton.offsets[link.joint] + value[..., None] * along
            else:
                rotation = pm.axis_angle(link.axis, value)
                rotations[..., link.joint, :] = pm.multiply(rotations[..., link.joint, :], rotation)
        return Pose(np.broadcast_to(rest.translation, (*shape, 3)), rotations, offsets)

    def _dof_values(self, values: GpuArray) -> GpuArray:
        """Return the DoF (..., D) of the skeleton with these values (..., N) on a GPU."""
        dofs, factors, shifts = self._drives
        columns: list[Any] = [full(values.shape[:-1], 0.0, values)] * len(self.skeleton.dofs)
        assert self._columns is not None
        for column, dof, factor, shift in zip(self._columns.tolist(), dofs.tolist(), factors, shifts, strict=True):
            columns[column] = values[..., dof] * float(factor) + float(shift)
        return np.stack(columns, -1)  # type: ignore[return-value]

    def forward(self, angles: ArrayLike) -> ChainFrames:
        """Return the frames of the joints and the tip with these values (..., N)."""
        frames = self.skeleton.forward(self.pose(angles))
        if isinstance(wrapped(frames.positions), GpuArray):
            return self._frames_on_gpu(frames)
        positions, orientations = frames.positions[..., self._order, :], frames.orientations[..., self._order, :]
        positions[..., -1, :] += pm.rotate(orientations[..., -1, :], self.tip_offset)
        return ChainFrames(positions, orientations, np.asarray(pm.rotate(orientations[..., -1, :], self.pointing)))

    def _frames_on_gpu(self, frames: Frames) -> ChainFrames:
        """Return the frames of the joints and the tip among those of the skeleton on a GPU."""
        order = self._order.tolist()
        positions, orientations = (
            [wrapped(a)[..., k, :] for k in order] for a in (frames.positions, frames.orientations)
        )
        positions[-1] = positions[-1] + wrapped(pm.rotate(unwrapped(orientations[-1]), self.tip_offset))
        points = pm.rotate(unwrapped(orientations[-1]), self.pointing)
        return ChainFrames(unwrapped(np.stack(positions, -2)), unwrapped(np.stack(orientations, -2)), points)

    @cached_property
    def _columns(self) -> Ints | None:
        """The skeleton's own DoF that the links are, where each is one: hinges and slides."""
        skeleton, columns = self.skeleton, []
        for link in self.links:
            own = skeleton.dofs.of(link.joint)
            kind = "slide" if link.slides else "hinge"
            if skeleton.kinds[link.joint] != kind or not np.array_equal(skeleton.dofs.axis[own.start], link.axis):
                return None
            columns.append(own.start)
        return np.array(columns, dtype=np.int64)

    @cached_property
    def _drives(self) -> tuple[Ints, Floats, Floats]:
        """(value, factor, offset) of each link."""
        dofs = np.array([link.dof for link in self.links], dtype=np.int64)
        return dofs, np.array([one.multiplier for one in self.links]), np.array([one.offset for one in self.links])

    @cached_property
    def _order(self) -> Ints:
        """The skeleton's joints of the chain's values, and the tip's."""
        firsts = [next(link.joint for link in self.links if link.dof == d) for d in range(len(self))]
        return np.array([*firsts, self.tip], dtype=np.int64)

    @cached_property
    def rotating(self) -> Ints:
        """Indices of the links that rotate: the unknowns of the kernels."""
        return np.array([k for k, link in enumerate(self.links) if not link.slides], dtype=np.int64)

    @cached_property
    def shared_motors(self) -> Ints:
        """Indices into `rotating` of joints that share their motor with another: they keep the posture's angles."""
        uses = [self.links[k].dof for k in self.rotating]
        return np.array([m for m, dof in enumerate(uses) if uses.count(dof) > 1], dtype=np.int64)

    def packed(self, aggravation: float = 1.5, *, roll_free: bool = False) -> Packed:
        """Return the chain as kernels read it; `roll_free` adds an unlimited rotation about the pointing axis."""
        frames = self.skeleton.forward(self.skeleton.rest)
        rests, segments, tip = self._geometry(frames.positions, frames.orientations)
        links = [self.links[k] for k in self.rotating]
        scale = np.array([link.multiplier for link in links])
        ends = np.stack([self.lower, self.upper])[:, [link.dof for link in links]]
        ends = ends * scale + np.array([link.offset for link in links])
        low, high = ends.min(axis=0), ends.max(axis=0)
        axes = np.array([link.axis for link in links])
        # The kernels complete three joints at a time: a shorter chain gets joints that cannot move at its tip.
        extras = [(0.0, 0.0)] * max(0, 3 - len(links) - roll_free) + [(-np.inf, np.inf)] * roll_free
        for ends_of in extras:
            axes, segments = np.concatenate([axes, [self.pointing]]), np.concatenate([segments, [self.pointing]])
            rests, tip = np.concatenate([rests, [tip]]), np.array([1.0, 0.0, 0.0, 0.0])
            low, high = np.append(low, ends_of[0]), np.append(high, ends_of[1])
        return pack(axes, rests, segments, low, high, tip, self.up, aggravation)

    def _geometry(self, positions: Floats, orientations: Floats) -> tuple[Floats, Floats, Floats]:
        """Return (rotations between links, directions of their segments, rotation from the last to the tip) at rest."""
        links = [self.links[k] for k in self.rotating]
        joints = [link.joint for link in links]
        tip = positions[self.tip] + np.asarray(pm.rotate(orientations[self.tip], self.tip_offset))
        stations = np.concatenate([positions[joints], tip[None]])
        points_to = np.asarray(pm.rotate(orientations[self.tip], self.pointing))
        count = len(links)
        rests, segments = np.empty((count, 4)), np.empty((count, 3))
        world = np.array([1.0, 0.0, 0.0, 0.0])
        for k, joint in enumerate(joints):
            before = world if k == 0 else orientations[joints[k - 1]]
            rests[k] = pm.multiply(pm.conjugate(before), orientations[joint])
            away = next(
                (s - stations[k] for s in stations[k + 1 :] if np.linalg.norm(s - stations[k]) > SHORT), points_to
            )
            if k == count - 1:
                away = points_to  # the last segment is what points, wherever the tip itself is
            segments[k] = pm.rotate(pm.conjugate(orientations[joint]), away / np.linalg.norm(away))
        last = pm.multiply(pm.conjugate(orientations[joints[-1]]), orientations[self.tip])
        return rests, segments, np.asarray(last)

    def checked(self, name: str, values: ArrayLike) -> Floats:
        """Return values (..., N) as an array; raise a `ShapeError` that names them where their last axis is not N."""
        return floats(values, name, len(self), hint=", one a joint")

    def finite(self, name: str, values: ArrayLike) -> Floats:
        """Return `checked` values; raise where one is not finite, as what a motion continues from cannot be.

        On a GPU nobody waits to look at them: there NaN are nothing to continue from.
        """
        given = self.checked(name, values)
        if not isinstance(given, GpuArray) and not np.isfinite(given).all():
            raise PosableError(f"{name} has values that are not finite; expected angles [rad]")
        return given


AXES = {"X": (1.0, 0.0, 0.0), "Y": (0.0, 1.0, 0.0), "Z": (0.0, 0.0, 1.0)}


def angles_about(rotations: Floats, axes: Sequence[Floats]) -> list[list[Floats]]:
    """Return the ways to write rotations as angles [rad] about one to three orthogonal axes after each other.

    About three axes there are two; about two axes the nearest of them is returned.
    """
    if len(axes) == 1:
        sine = rotations[..., 1:] @ axes[0]
        return [[2.0 * np.arctan2(np.where(rotations[..., 0] < 0, -sine, sine), np.abs(rotations[..., 0]))]]
    third = np.cross(axes[0], axes[1])
    basis = np.stack([axes[0], axes[1], third], axis=-1)
    m = np.asarray(basis.T @ pm.to_matrix(rotations) @ basis)  # X(a) Y(b) Z(c)
    b = np.arctan2(m[..., 0, 2], np.hypot(m[..., 0, 0], m[..., 0, 1]))
    a, c = np.arctan2(-m[..., 1, 2], m[..., 2, 2]), np.arctan2(-m[..., 0, 1], m[..., 0, 0])
    triples = [(a, b, c), (_half_further(a), np.where(b < 0.0, -np.pi, np.pi) - b, _half_further(c))]
    if len(axes) == 2:  # the way with the smaller rotation about the third axis, which is dropped
        smaller = np.abs(triples[0][2]) <= np.abs(triples[1][2])
        return [[np.where(smaller, one, other) for one, other in zip(triples[0][:2], triples[1][:2], strict=True)]]
    side = 1.0 if axes[2] @ third > 0.0 else -1.0
    return [[one, two, side * three] for one, two, three in triples]


def _half_further(angle: Floats) -> Floats:
    """Return angles [rad] half a rotation further, from -pi to pi."""
    return np.where(angle > 0.0, angle - np.pi, angle + np.pi)


def axes_of(axes: str | ArrayLike) -> Floats:
    """Return (N, 3) unit axes from letters or an array."""
    if isinstance(axes, str):
        for letter in axes:
            if letter.upper() not in AXES:
                raise UnknownNameError("axis", letter, AXES)
        return np.array([AXES[letter.upper()] for letter in axes]).reshape(-1, 3)
    given = np.array(axes, dtype=np.float64)
    if given.ndim != 2 or given.shape[1] != 3:
        raise ShapeError(f"axes have shape {given.shape}; expected letters or (N, 3)")
    return np.array([unit_of("an axis", axis) for axis in given]).reshape(-1, 3)


def vector_of(name: str, value: ArrayLike) -> Floats:
    """Return three finite numbers; raise an error that names them where they are not."""
    array = np.array(value, dtype=np.float64)
    if array.shape != (3,) or not np.isfinite(array).all():
        raise PosableError(f"{name} is {np.asarray(value).tolist()}; expected three finite numbers")
    return array


def unit_of(name: str, value: ArrayLike) -> Floats:
    """Return a direction of length 1; raise an error that names it where it is none."""
    array = vector_of(name, value)
    length = float(np.linalg.norm(array))
    if length < 1e-9:
        raise PosableError(f"{name} is {array.tolist()}; expected a direction")
    return array / length


PAPER_AXES = {"A": "YXY", "B": "YXZY", "C": "YXXZY", "D": "YXZXY", "E": "YXZXY", "F": "YXXZXY", "G": "YXZXYXZY"}
FULL_ROTATION = ("B", "D")
"""Their joints rotate by up to pi either side; the others' by pi / 2."""
LENGTHS = {"C": [0.1, 0.3, 0.3, 0.2, 0.2]}
"""[m]. Of C, as the Denavit-Hartenberg table of the paper says (specification express, 7.15); 0.1 elsewhere: lengths
do not change the score."""


def _chain(name: str) -> Chain:
    reach = math.pi if name in FULL_ROTATION else math.pi / 2
    return Chain.from_axes(PAPER_AXES[name], LENGTHS.get(name), (-reach, reach))


SKELETONS = {name: _chain(name) for name in PAPER_AXES}
"""The seven skeletons of the paper's evaluation (Ribeiro 2019, Table 5), A to G."""
