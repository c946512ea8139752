"""The results of every solver: `Solution`, `PoseSolution` where a body results, `MotionSolution` over time.

The status is taken from the pose that is returned (`posable.compute.verdict`): a solver can say why it failed, it
cannot say that it succeeded. Each method's own class derives from one of these and adds its own measures.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..compute.errors import Status
from ..compute.gpu_arrays import GpuArray, is_on_gpu

if TYPE_CHECKING:
    from ..compute.types import Bools, Floats
    from .motion import Motion
    from .pose import Pose

StatusLike: TypeAlias = Status | NDArray[np.int8]
"""A `Status` for a single call; an int8 array of them in the batch's shape for many."""

_NEGLIGIBLE = 1e-9  # [m] or [rad]: errors below it are not worth a place in a repr


class Solution:
    """How well a target was met. Subclasses have the first three as fields, or as properties read when needed."""

    __slots__ = ()
    _rows: ClassVar[str] = "rows"

    if TYPE_CHECKING:

        @property
        def status(self) -> StatusLike:
            """A `Status`, or an int8 array of them (...)."""

        @property
        def position_error(self) -> Floats:
            """(...) [m] between the end effector and its target in the returned pose, the largest where there are
            several; 0 where no position was requested, infinite where the input was INVALID.
            """

        @property
        def orientation_error(self) -> Floats:
            """(...) [rad] between the end effector's orientation and the requested one, the largest where there are
            several; 0 where none was requested, infinite where the input was INVALID.
            """

    @property
    def ok(self) -> bool | Bools:
        """(...) Whether the status is REACHED."""
        status: Any = self.status
        return status is Status.REACHED if isinstance(status, Status) else status == int(Status.REACHED)

    def __repr__(self) -> str:
        """Return one line: how many rows have which status, and the largest finite errors."""
        if is_on_gpu(self.status):  # looking at them would copy them
            return f"{type(self).__name__}({'x'.join(map(str, np.shape(self.status)))} {self._rows} on a GPU)"
        return f"{type(self).__name__}({self._statuses()}{self._worst()})"

    def _statuses(self) -> str:
        status = np.asarray(self.status)
        if not status.shape:
            return Status(int(status)).name.lower()
        counts = [(int((status == one).sum()), one.name.lower()) for one in Status]
        text = ", ".join(f"{count} {name}" for count, name in counts if count)
        return f"{'x'.join(map(str, status.shape))} {self._rows}: {text}" if text else f"0 {self._rows}"

    def _worst(self) -> str:
        parts = []
        for error, scale, unit in ((self.position_error, 1e3, "mm"), (self.orientation_error, 180.0 / np.pi, "deg")):
            finite = np.asarray(error, dtype=np.float64)
            finite = finite[np.isfinite(finite)]
            if finite.size and (unit == "mm" or finite.max() > _NEGLIGIBLE):
                parts.append(f"{scale * finite.max():.3g} {unit}")
        many = "worst " if np.ndim(self.status) else ""
        return f"; {many}{', '.join(parts)}" if parts else ""


@dataclass(frozen=True, eq=False, repr=False)
class PoseSolution(Solution):
    """A pose for a target, or a batch of them."""

    pose: Pose
    status: StatusLike
    position_error: Floats
    """(...) [m]: see `Solution`."""
    orientation_error: Floats
    """(...) [rad]: see `Solution`."""


@dataclass(frozen=True, eq=False, repr=False)
class MotionSolution(Solution):
    """A motion that follows targets over time, a status a frame."""

    _rows: ClassVar[str] = "frames"

    motion: Motion
    status: NDArray[np.int8]
    """(F,) of `Status`."""
    position_error: Floats
    """(F,) [m]: see `Solution`."""
    orientation_error: Floats
    """(F,) [rad]: see `Solution`."""


def status_like(values: NDArray[Any], shape: tuple[int, ...]) -> StatusLike:
    """Return statuses (N,) in the batch's shape: an int8 array, or a `Status` for a single call."""
    if isinstance(values, GpuArray):
        return values.astype(np.int8).reshape(shape).array
    return values.astype(np.int8).reshape(shape) if shape else Status(int(values.reshape(-1)[0]))
