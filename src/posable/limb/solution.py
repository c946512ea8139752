"""The target of a hand or a foot, and what a limb answers: `Target`, `LimbFrames`, `LimbSolution`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ..compute import PosableError
from ..compute.gpu_arrays import GpuArray, GpuRecords, full, unwrapped, wrapped
from ..compute.types import ArrayLike, Bools, Floats, Ints, Records, floats
from ..skeleton.solution import Solution, StatusLike, status_like
from .kernels import FAR, NEAR
from .model import named_values
from .nearest_clear import INSIDE


@dataclass(frozen=True, slots=True)
class Target:
    """The requested position, and orientation if one is given, of a hand or a foot in the world.

    An orientation is given in one of two frames. `orientation` is canonical: the identity is the part's orientation in
    the neutral pose, whatever the rig. `world_orientation` is that of the rig's own joint in the world, as
    `skeleton.forward(pose).orientations` has it.
    """

    position: ArrayLike
    """(..., 3) [m] in the world."""
    orientation: ArrayLike | None = None
    """(..., 4) `wxyz`, canonical; None: the wrist or ankle stays as it is, inside its limits."""
    pole: ArrayLike | None = None
    """(..., 3) [m] in the world: the elbow or the knee points towards it, as far as the limits allow."""
    world_orientation: ArrayLike | None = None
    """(..., 4) `wxyz` of the rig's joint in the world, instead of `orientation`."""

    def __post_init__(self) -> None:
        if self.world_orientation is not None and self.orientation is not None:
            raise PosableError("the target has an orientation and a world_orientation; give one of them")

    @classmethod
    def look_at(
        cls,
        position: ArrayLike,
        point: ArrayLike,
        *,
        forward: ArrayLike = (0.0, -1.0, 0.0),
        pole: ArrayLike | None = None,
    ) -> Target:
        """Return the target at `position` whose hand or foot points at `point`.

        The orientation is the neutral one after the smallest rotation that brings `forward` into that direction.

        Args:
            position: (..., 3) [m] in the world.
            point: (..., 3) [m] in the world; not at `position`.
            forward: (3,) the direction that points, in the part's canonical frame. Default: along the fingers,
                (0, -1, 0); the toes of a foot are (0, 0, 1).
            pole: (..., 3) [m] in the world, as of `Target`; default none.
        """
        from ..math import between

        start = floats(position, "position", 3)
        direction = floats(point, "point", 3) - start
        if not (np.linalg.norm(direction, axis=-1) > 0.0).all() or not np.any(forward):
            raise PosableError(
                "the point to look at is the target's own position, or forward is 0; nothing to point at"
            )
        return cls(start, between(floats(forward, "forward", 3), direction), pole)

    def canonical(self, neutral: Floats) -> Target:
        """Return the target with a canonical orientation, given the joint's in the neutral pose (4,), in the world."""
        if self.world_orientation is None:
            return self
        from ..math import conjugate, multiply

        orientation = multiply(floats(self.world_orientation, "the target's world_orientation", 4), conjugate(neutral))
        return replace(self, orientation=orientation, world_orientation=None)


TargetLike: TypeAlias = Target | ArrayLike
"""A `Target`, or positions (..., 3) [m] alone."""


def as_target(value: TargetLike) -> Target:
    """Return the target itself, or the one that positions (..., 3) [m] alone stand for."""
    return value if isinstance(value, Target) else Target(floats(value, "the target", 3, hint=", or a Target"))


@dataclass(frozen=True, eq=False)
class LimbFrames:
    """The joints of a limb in its own frame."""

    mid: Floats
    """(..., 3) [m]: elbow or knee."""
    end: Floats
    """(..., 3) [m]: wrist or ankle."""
    orientation: Floats
    """(..., 4): of the hand or foot; the identity at zero posture."""


def nothing_to_keep(shape: tuple[int, ...]) -> Records:
    """Return (...) rows of `INSIDE` for postures without obstacles and ranges."""
    rows = np.zeros(shape, INSIDE)
    rows["in_range"] = rows["in_limits"] = True
    return rows


class Constrained(Solution):
    """The obstacles, range and limits that a returned posture keeps, measured on it whatever the status says."""

    __slots__ = ()

    if TYPE_CHECKING:

        @property
        def inside(self) -> Records:
            """(...) rows of `nearest_clear.INSIDE`: everything below as the kernel wrote it."""

    @property
    def penetrates(self) -> Bools:
        """(...): whether the posture touches an obstacle, or the body where that was to be kept out of.

        The closest posture keeps out where it can; this says where it could not. COLLISION always does, and an invalid
        row counts as if it did.
        """
        return self._constrained("penetrates") != 0  # type: ignore[no-any-return]

    @property
    def penetration(self) -> Floats:
        """(...) [m]: how deep it lies in the worst of them, beyond what flesh yields and into the margin; 0 outside.

        A mesh or a test of your own has no depth: 0 there too, and `penetrates` says it. Infinite for an invalid row.
        """
        return self._constrained("penetration")  # type: ignore[no-any-return]

    @property
    def in_range(self) -> Bools:
        """(...): whether the posture is inside the `limb_range` that was given; True without one."""
        return self._constrained("in_range") != 0  # type: ignore[no-any-return]

    @property
    def in_limits(self) -> Bools:
        """(...): whether it is inside the joint limits; measured where obstacles or a range were given, else True."""
        return self._constrained("in_limits") != 0  # type: ignore[no-any-return]

    def _constrained(self, name: str) -> Any:
        """Return (...) one field of `inside`; on a GPU, where nothing was given to keep, a constant."""
        report, inside = getattr(self, "_report", None), getattr(self, "_inside", None)
        if isinstance(inside, GpuRecords):
            return inside[name].array
        if isinstance(report, GpuRecords):
            return unwrapped(full(report.shape, float(name.startswith("in")), report))
        return np.asarray(self.inside[name])


class LimbSolution(Constrained):
    """The posture of a limb for a target, or for a batch of them.

    Its status is taken from the returned posture: REACHED only if the end lies within 1e-9 of the limb's length of
    its target, its orientation within 1e-7 rad, the posture inside the limits and out of the obstacles. Everything but
    the values is read from the kernel's report when it is needed, which keeps a single call short.
    """

    __slots__ = ("_inside", "_report", "values")

    def __init__(self, values: Floats, report: Records, inside: Records | None = None) -> None:
        self.values = values
        """(..., 7) [rad], named by `LIMB_VALUES`: swing (2), twist, flexion, twist, swing (2)."""
        self._report = report
        self._inside = inside

    @property
    def inside(self) -> Records:
        """(...) rows of `nearest_clear.INSIDE`: what the returned posture keeps."""
        return nothing_to_keep(self._report.shape) if self._inside is None else self._inside

    @property
    def report(self) -> Records:
        """(...) rows of `solve.REPORT`: everything below as the kernel wrote it."""
        return self._report

    @property
    def status(self) -> StatusLike:
        """A `Status`, or an int8 array of them (...)."""
        status = self._report["status"]
        return status_like(status, status.shape)

    @property
    def flexion(self) -> Floats:
        """(...) [rad]: how far the elbow or knee is bent; 0 when straight, never negative."""
        return unwrapped(np.abs(wrapped(self.values[..., 3])))  # type: ignore[no-any-return]

    def named(self) -> dict[str, Floats]:
        """Return the values by their `LIMB_VALUES`, (...) [rad] each; the flexion is 0 when straight."""
        return named_values(self.values)

    @property
    def swivel(self) -> Floats:
        """(...) [rad]: the swivel of the returned posture, whatever the status."""
        return self._reported("swivel")  # type: ignore[no-any-return]

    @property
    def position_error(self) -> Floats:
        """(...) [m]: distance of the end from its target; infinite for an invalid target."""
        return self._reported("position_error")  # type: ignore[no-any-return]

    @property
    def orientation_error(self) -> Floats:
        """(...) [rad]: angle of the end from the requested orientation; 0 where none was."""
        return self._reported("orientation_error")  # type: ignore[no-any-return]

    @property
    def tests(self) -> Ints:
        """(...): number of swivels tested, bisections included."""
        return self._reported("tests")  # type: ignore[no-any-return]

    @property
    def failures(self) -> dict[str, Ints]:
        """(...) each: how many swivels failed by "limits", by "collision", and for having no posture ("singular")."""
        return {name: self._reported(name) for name in ("limits", "collision", "singular")}

    @property
    def too_far(self) -> Bools:
        """(...): whether the target lies beyond the stretched limb."""
        return (self._reported("cause") & FAR) != 0  # type: ignore[no-any-return]

    @property
    def too_near(self) -> Bools:
        """(...): whether the target lies nearer than the folded limb reaches."""
        return (self._reported("cause") & NEAR) != 0  # type: ignore[no-any-return]

    def _reported(self, name: str) -> Any:
        """Return (...) one field of the report, as an array where the targets were."""
        values = self._report[name]
        return values.array if isinstance(values, GpuArray) else np.asarray(values)


class LimbTrackSolution(LimbSolution):
    """The postures of a moving target: one moment of a `LimbStream`, or all frames of a path."""

    __slots__ = ("jumped",)
    _rows = "frames"

    def __init__(self, values: Floats, report: Records, jumped: bool | Bools, inside: Records | None = None) -> None:
        super().__init__(values, report, inside)
        self.jumped = jumped
        """Whether the elbow or knee jumped, or (F,) of each frame: the swivel had to leave its valid interval, or there
        was none."""
