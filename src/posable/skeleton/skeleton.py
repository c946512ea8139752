"""`Skeleton`: joints, how they hang together, and how each may move; `Frames`: where they are in the world."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, SupportsIndex, cast

import numpy as np

from ..compute import PosableError, ShapeError, UnknownNameError, expect
from ..compute.extent import finite_in_extent
from ..compute.gpu_arrays import contiguous, empty, empty_interleaved, like_array, unwrapped, wrapped, zeros
from ..compute.types import ArrayLike, Floats, Ints, Records, floats
from ..math import normalize, rotate
from .character import Character
from .dofs import SLIDE, Dofs, kind_codes, list_dofs, pack, unit_axes
from .forward import forward_rows, from_values_rows, integrate_rows, jacobian_rows, values_rows
from .pose import Pose, batch_text
from .robot import Robot
from .robot_look import robot_character

if TYPE_CHECKING:
    from .motion import Motion

NO_OFFSETS = np.empty((0, 0, 3))  # tells the kernels to use the skeleton's own


@dataclass(eq=False, slots=True)
class Frames:
    """Where the joints of a skeleton are in the world, for one pose or a batch."""

    skeleton: Skeleton
    positions: Floats
    """(..., J, 3) [m]."""
    orientations: Floats
    """(..., J, 4) unit quaternions `wxyz`."""

    def __repr__(self) -> str:
        return f"Frames({batch_text(self.positions.shape[:-2])}{len(self.skeleton)} joints)"

    @property
    def ends(self) -> Floats:
        """(..., E, 3) [m]: the skeleton's end sites (fingertips, toe tips, top of the head)."""
        parents = self.skeleton.end_parents
        return self.positions[..., parents, :] + rotate(self.orientations[..., parents, :], self.skeleton.end_offsets)

    def point(self, joint: int | str, local: ArrayLike = (0.0, 0.0, 0.0)) -> Floats:
        """(..., 3) [m]: a point given in a joint's own frame."""
        j = self.skeleton.index(joint)
        return self.positions[..., j, :] + rotate(self.orientations[..., j, :], local)


class Skeleton:
    """A tree of joints. Immutable: prepare once, use for any number of poses.

    Joint 0 is the root, and a parent's index is below its children's (`topological_order` sorts any tree so).

    Args:
        names: (J,) a name for each joint, no two alike.
        parents: (J,) index of each joint's parent, -1 for the root.
        offsets: (J, 3) [m] each joint's position in its parent's frame at rest; the root's in the world.
        rest_rotations: (J, 4) `wxyz` local rotations at rest; identity when not given.
        kinds: (J,) "free", "ball", "hinge", "hinge_twist", "slide" or "fixed"; a free root and balls when not given.
        axes: (J, 3) or (J, 2, 3) axis (and twist axis) of one-axis joints and hinges with twist, in the joint's frame.
        end_parents: (E,) joints that carry an end site: a point at the end of a chain that does not rotate by itself.
        end_offsets: (E, 3) [m] the end sites in those joints' frames.
        end_names: (E,) names of the end sites; made from the joints' when not given.
        character: the meshes of the skeleton, if it has any.
        robot: what the file of a robot says of its motors, if it is one.
    """

    def __init__(
        self,
        names: Iterable[str],
        parents: ArrayLike,
        offsets: ArrayLike,
        *,
        rest_rotations: ArrayLike | None = None,
        kinds: Sequence[str] | None = None,
        axes: ArrayLike | None = None,
        end_parents: ArrayLike | None = None,
        end_offsets: ArrayLike | None = None,
        end_names: Sequence[str] | None = None,
        character: Character | None = None,
        robot: Robot | None = None,
    ) -> None:
        self.names = tuple(names)
        count = len(self.names)
        self.parents = _indices("parents", parents, "the index of each joint's parent, -1 for the root")
        self.offsets = _table("offsets", offsets, count, 3)
        rest = np.tile([1.0, 0.0, 0.0, 0.0], (count, 1)) if rest_rotations is None else rest_rotations
        self.rest_rotations = normalize(_table("rest_rotations", rest, count, 4))
        self.kinds = tuple(kinds) if kinds is not None else ("free", *["ball"] * (count - 1))
        codes = kind_codes(self.kinds)
        _check_tree(self.names, self.parents, self.kinds)
        self.axes = unit_axes(self.names, codes, axes)
        self.end_parents = _indices("end_parents", () if end_parents is None else end_parents, "indices of joints")
        ends = len(self.end_parents)
        self.end_offsets = _table("end_offsets", np.empty((0, 3)) if end_offsets is None else end_offsets, ends, 3)
        if ends and not ((self.end_parents >= 0) & (self.end_parents < count)).all():
            raise PosableError(
                f"end sites hang on joints {self.end_parents.tolist()}; there are joints 0 to {count - 1}"
            )
        self.end_names = tuple(end_names) if end_names is not None else self._named_ends()
        if len(self.end_names) != ends:
            raise ShapeError(f"{len(self.end_names)} names for {ends} end sites")
        self._character = character
        self.packed: Records = pack(self.parents, codes, self.offsets, self.rest_rotations, self.axes)
        self._index = {name: j for j, name in enumerate(self.names)}
        self.has_slides = bool((codes == SLIDE).any())
        self.robot = robot
        if robot is not None:
            robot.check(count, len(self.dofs))

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        return f"Skeleton({len(self)} joints, {len(self.dofs)} DoF, root {self.names[0]!r})"

    @cached_property
    def dofs(self) -> Dofs:
        """The one list of degrees of freedom: what Jacobians, limits, chains and editors index."""
        return list_dofs(self.names, kind_codes(self.kinds), self.axes)

    @cached_property
    def character(self) -> Character | None:
        """The meshes of the skeleton, if it has any: those that were given, else those of its robot."""
        if self._character is None and self.robot is not None:
            return robot_character(self)
        return self._character

    @cached_property
    def rest(self) -> Pose:
        """The pose in which every DoF is zero."""
        return Pose(self.offsets[0], self.rest_rotations)

    def index(self, joint: int | str) -> int:
        """The index of a joint, by name; an index is checked and returned."""
        if isinstance(joint, str):
            try:
                return self._index[joint]
            except KeyError:
                raise UnknownNameError("joint", joint, self.names) from None
        if not (isinstance(joint, SupportsIndex) and -len(self) <= int(joint) < len(self)):
            raise PosableError(f"joint {joint} does not exist; there are joints 0 to {len(self) - 1}")
        return int(joint) % len(self)

    def children(self, joint: int | str) -> tuple[int, ...]:
        """The joints that hang on a joint."""
        return tuple(np.flatnonzero(self.parents == self.index(joint)).tolist())

    def path(self, joint: int | str) -> tuple[int, ...]:
        """The joints from the root to this one, both included."""
        j = self.index(joint)
        path = [j]
        while (j := int(self.parents[j])) >= 0:
            path.append(j)
        return tuple(reversed(path))

    def forward(self, pose: Pose | Motion) -> Frames:
        """Return where the joints are in the world: forward kinematics of a pose, a batch (...) or a motion (F,)."""
        pose = _poses(pose)
        translation, rotations, offsets = self._flat(pose)
        n, count, _ = rotations.shape
        positions, orientations = (
            empty_interleaved((n, count, 3), rotations),
            empty_interleaved((n, count, 4), rotations),
        )
        forward_rows(n, self.packed, translation, rotations, offsets, positions, orientations)
        shape = tuple(pose.rotations.shape)
        return Frames(self, unwrapped(positions.reshape(*shape[:-1], 3)), unwrapped(orientations.reshape(shape)))

    def jacobian(
        self, pose: Pose | Motion, joint: int | str, point: ArrayLike = (0.0, 0.0, 0.0), frames: Frames | None = None
    ) -> Floats:
        """Return the geometric Jacobian (..., 6, D): how a point fixed to a joint moves and rotates per DoF rate.

        Rows 0 to 2 are its velocity, rows 3 to 5 its angular velocity, both in the world.

        Args:
            pose: one pose, a batch (...) or a motion (F,).
            joint: the joint that carries the point.
            point: (3,) [m] in that joint's frame.
            frames: `forward(pose)`, when it is at hand already.
        """
        pose = _poses(pose)
        j = self.index(joint)
        x, y, z = floats(point, "point", 3).tolist()
        frames = self.forward(pose) if frames is None else frames
        _, rotations, _ = self._flat(pose)
        n, count = len(rotations), len(self)
        out = zeros((n, 6, len(self.dofs)), rotations)
        positions = wrapped(frames.positions).reshape(n, count, 3)
        orientations = wrapped(frames.orientations).reshape(n, count, 4)
        jacobian_rows(n, self.packed, rotations, positions, orientations, j, (x, y, z), out)
        return unwrapped(out.reshape(*pose.shape, 6, len(self.dofs)))  # type: ignore[no-any-return]

    def integrate(self, pose: Pose, steps: ArrayLike) -> Pose:
        """The pose moved along its DoF by `steps` (..., D): rates times a time step [rad], [m]."""
        moves = self._dof_rows("steps", steps, pose.shape)
        translation, rotations, offsets = (array.copy() for array in self._flat(pose, self.has_slides))
        integrate_rows(len(rotations), self.packed, moves, translation, rotations, offsets)
        return self._shaped(pose.shape, translation, rotations, offsets)

    def values(self, pose: Pose | Motion) -> Floats:
        """(..., D): the DoF of a pose, zero at rest. Balls and the free root as rotation vectors."""
        pose = _poses(pose)
        translation, rotations, offsets = self._flat(pose)
        values = zeros((len(rotations), len(self.dofs)), rotations)
        values_rows(len(rotations), self.packed, translation, rotations, offsets, values)
        return unwrapped(values.reshape(*pose.shape, len(self.dofs)))  # type: ignore[no-any-return]

    def from_values(self, values: ArrayLike) -> Pose:
        """The pose with these DoF values (..., D): the inverse of `values`."""
        given = floats(values, "values")
        rows = self._dof_rows("values", given, given.shape[:-1])
        n = len(rows)
        translation, rotations = empty((n, 3), rows), empty((n, len(self), 4), rows)
        offsets = empty((n, len(self), 3), rows) if self.has_slides else NO_OFFSETS
        from_values_rows(n, self.packed, rows, translation, rotations, offsets)
        return self._shaped(given.shape[:-1], translation, rotations, offsets)

    def scaled(self, factor: float) -> Skeleton:
        """The same skeleton with every length multiplied by `factor`."""
        if not (np.isfinite(factor) and factor > 0):
            raise PosableError(f"scale is {factor}; expected a number above 0")
        return self.replace(
            offsets=self.offsets * factor,
            end_offsets=self.end_offsets * factor,
            character=None if self._character is None else self._character.scaled(factor),
            robot=None if self.robot is None else self.robot.scaled(factor, self._lengths),
        )

    @property
    def _lengths(self) -> Floats:
        """(D,) 1 for DoF that are lengths, 0 for angles."""
        return np.array([kind == "translation" for kind in self.dofs.kind], dtype=np.float64)

    def replace(self, **changes: object) -> Skeleton:
        """Return a skeleton with some of its constructor's arguments replaced."""
        fields: dict[str, object] = {name: getattr(self, name) for name in _FIELDS} | {"character": self._character}
        return Skeleton(**(fields | changes))  # type: ignore[arg-type]

    def same_as(self, other: Skeleton, tolerance: float = 1e-9) -> bool:
        """Whether two skeletons have the same joints, kinds and lengths (within `tolerance` [m])."""
        return (
            self.names == other.names
            and self.kinds == other.kinds
            and bool((self.parents == other.parents).all())
            and bool(np.allclose(self.offsets, other.offsets, rtol=0, atol=tolerance))
            and bool(np.allclose(self.rest_rotations, other.rest_rotations, rtol=0, atol=tolerance))
        )

    def _flat(self, pose: Pose, offsets: bool = False) -> tuple[Floats, Floats, Floats]:
        """A pose as the kernels read it; with `offsets`, the skeleton's own are filled in where it has none."""
        count = len(self)
        expect(Pose, pose, "the pose")
        if pose.rotations.shape[-2] != count:
            raise ShapeError(f"the pose has {pose.joint_count} joints, the skeleton {count}")
        rotations = wrapped(pose.rotations).reshape(-1, count, 4)
        moved = NO_OFFSETS if pose.offsets is None else wrapped(pose.offsets).reshape(-1, count, 3)
        if offsets and pose.offsets is None:
            own = np.broadcast_to(self.offsets, (*rotations.shape[:-1], 3))
            moved = like_array(np.ascontiguousarray(own), rotations)
        return wrapped(pose.translation).reshape(-1, 3), rotations, moved

    def _shaped(self, shape: tuple[int, ...], translation: Floats, rotations: Floats, offsets: Floats) -> Pose:
        moved = offsets.reshape(*shape, len(self), 3) if offsets.shape[1] else None
        return Pose(*map(unwrapped, (translation.reshape(*shape, 3), rotations.reshape(*shape, len(self), 4), moved)))

    def _dof_rows(self, name: str, values: ArrayLike, shape: tuple[int, ...]) -> Floats:
        array = floats(values, name, len(self.dofs), hint=", one a DoF")
        try:
            full = np.broadcast_to(array, (*shape, len(self.dofs)))
        except ValueError:
            raise ShapeError(f"{name} has shape {array.shape}, which does not fit a batch of shape {shape}") from None
        return contiguous(full).reshape(math.prod(shape), len(self.dofs))  # type: ignore[no-any-return]

    def _named_ends(self) -> tuple[str, ...]:
        seen: dict[str, int] = {}
        names = []
        for parent in self.end_parents:
            name = f"{self.names[parent]}_end"
            seen[name] = seen.get(name, 0) + 1
            names.append(name if seen[name] == 1 else f"{name}{seen[name]}")
        return tuple(names)


_FIELDS = (
    *("names", "parents", "offsets", "rest_rotations", "kinds", "axes"),
    *("end_parents", "end_offsets", "end_names", "robot"),
)


def topological_order(parents: Sequence[int]) -> list[int]:
    """An order of the joints in which parents come before children, children in their given order.

    Raises for cycles, for parents that do not exist, and when there is not exactly one root (parent -1).
    """
    count = len(parents)
    children: list[list[int]] = [[] for _ in range(count)]
    roots: list[int] = []
    for j, parent in enumerate(parents):
        if not -1 <= parent < count:
            raise PosableError(f"joint {j} hangs on joint {parent}, which does not exist")
        (roots if parent == -1 else children[parent]).append(j)
    if len(roots) != 1:
        raise PosableError(f"a skeleton needs one root; found {len(roots)}")
    order, stack = [], roots
    while stack:
        order.append(j := stack.pop())
        stack.extend(reversed(children[j]))
    if len(order) != count:
        lost = sorted(set(range(count)) - set(order))
        raise PosableError(f"joints {lost[:5]} hang on themselves: the parents form a cycle")
    return order


def _poses(value: Pose | Motion) -> Pose:
    """Return the poses themselves, or those of a motion."""
    if isinstance(value, Pose):
        return value
    poses = getattr(value, "pose", value)
    expect(Pose, poses, "the pose", " or a Motion")
    return cast("Pose", poses)


def _indices(name: str, value: ArrayLike, expected: str) -> Ints:
    try:
        given = np.asarray(value, dtype=None if np.size(value) else np.int64)
        with np.errstate(invalid="ignore"):
            whole = given.astype(np.int64)
        if given.dtype.kind not in "iufbO" or not (whole == given).all():
            raise ValueError
    except (TypeError, ValueError, OverflowError):
        raise PosableError(f"{name} are {reprlib.repr(value)}; expected {expected}") from None
    return whole.reshape(-1)


def _table(name: str, value: ArrayLike, rows: int, columns: int) -> Floats:
    array = floats(value, name).copy()
    if array.shape != (rows, columns):
        raise ShapeError(f"{name} has shape {array.shape}; expected ({rows}, {columns})")
    return finite_in_extent(array, name)


def _check_tree(names: tuple[str, ...], parents: Ints, kinds: tuple[str, ...]) -> None:
    count = len(names)
    if count == 0:
        raise PosableError("a skeleton needs at least one joint")
    if len(parents) != count or len(kinds) != count:
        raise ShapeError(f"{count} names, {len(parents)} parents, {len(kinds)} kinds: they must be as many")
    if len(set(names)) != count:
        seen: set[str] = set()
        twice = next(name for name in names if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise PosableError(f"two joints are called {twice!r}; give each a name of its own")
    if parents[0] != -1 or (parents[1:] < 0).any():
        raise PosableError("the first joint must be the only root (parent -1)")
    if (late := np.flatnonzero(parents >= np.arange(count))).size:
        j = int(late[0])
        raise PosableError(
            f"joint {names[j]!r} (index {j}) comes before its parent (index {int(parents[j])}); "
            "sort the joints with topological_order"
        )
    if "free" in kinds[1:]:
        raise PosableError(f"only the root may be free; {names[kinds.index('free', 1)]!r} is not the root")
