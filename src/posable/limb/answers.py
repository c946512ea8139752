"""What a limb is asked and what it answers: `Target`, `LimbFrames`, `LimbSolution`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..compute import Status
from ..compute.types import ArrayLike, Bools, Floats, Ints, Records
from .kernels import FAR, NEAR


@dataclass(frozen=True, slots=True)
class Target:
    """Where a hand or a foot shall be, in the world."""

    position: ArrayLike
    """(..., 3) [m]."""
    orientation: ArrayLike | None = None
    """(..., 4) `wxyz`, canonical: the identity is the part's orientation in the neutral pose. None: as it comes."""
    pole: ArrayLike | None = None
    """(..., 3) [m]: the elbow or the knee turns towards this point, as far as the limits allow."""


@dataclass(frozen=True, eq=False)
class LimbFrames:
    """Where the joints of a limb are, in its frame."""

    mid: Floats
    """(..., 3) [m]: elbow or knee."""
    end: Floats
    """(..., 3) [m]: wrist or ankle."""
    orientation: Floats
    """(..., 4): of the hand or foot; the identity at zero posture."""


class LimbSolution:
    """A limb's posture for a target, or for a batch of them. What is told of it is read when it is asked for."""

    __slots__ = ("_report", "values")

    def __init__(self, values: Floats, report: Records) -> None:
        self.values = values
        """(..., 7) [rad]: swing (2), twist, flexion, twist, swing (2)."""
        self._report = report

    def __repr__(self) -> str:
        return f"LimbSolution(values={self.values}, status={self.status!r}, position_error={self.position_error})"

    @property
    def report(self) -> Records:
        """(...) rows of `solve.REPORT`: everything below as the kernel wrote it."""
        return self._report

    @property
    def status(self) -> Any:
        """A `Status`, or an int8 array of them (...)."""
        told = self._report["status"]
        return told if told.shape else Status(int(told))

    @property
    def ok(self) -> Any:
        """Whether the target was reached (...)."""
        return self._report["status"] == Status.REACHED

    @property
    def swivel(self) -> Floats:
        """(...) [rad]: the swivel used."""
        return np.asarray(self._report["swivel"])

    @property
    def position_error(self) -> Floats:
        """(...) [m]: distance of the end from its target; infinite for an invalid target."""
        return np.asarray(self._report["position_error"])

    @property
    def orientation_error(self) -> Floats:
        """(...) [rad]: angle of the end from the orientation asked for; 0 where none was."""
        return np.asarray(self._report["orientation_error"])

    @property
    def tests(self) -> Ints:
        """(...): swivels tested, bisections included."""
        return np.asarray(self._report["tests"])

    @property
    def failures(self) -> dict[str, Ints]:
        """(...) each: how many swivels failed by "limits", by "collision", and for having no posture ("singular")."""
        return {name: np.asarray(self._report[name]) for name in ("limits", "collision", "singular")}

    @property
    def too_far(self) -> Bools:
        """(...): whether the target lies beyond the stretched limb."""
        return np.asarray(self._report["cause"] & FAR != 0)

    @property
    def too_near(self) -> Bools:
        """(...): whether the target lies nearer than the folded limb reaches."""
        return np.asarray(self._report["cause"] & NEAR != 0)
