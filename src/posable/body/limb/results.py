"""Results of a limb of a body: how it is in a pose, and a body with a hand or a foot put at a target."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...compute.types import Floats, Ints, Records
from ...skeleton.solution import PoseSolution


@dataclass(frozen=True, eq=False)
class LimbReading:
    """A limb as it is in a pose, in the limb's frame."""

    position: Floats
    """(..., 3) [m]: of the hand or foot joint."""
    orientation: Floats
    """(..., 4): of the hand or foot; the identity at zero posture."""
    swivel: Floats
    """(...) [rad]."""
    values: Floats
    """(..., 7) [rad]: what the seven values can say of the posture."""
    remainders: Floats
    """(..., K, 4): what they cannot, for each joint of the limb; `pose` puts it back."""


@dataclass(frozen=True, eq=False, repr=False)
class PlaceSolution(PoseSolution):
    """A body with a hand or a foot put at a target, or a batch of them."""

    report: Records
    """(...) rows of `limb.solve.REPORT`: what the solver wrote."""
    jumped: bool = False
    """Whether the elbow or knee jumped; only a stream can report it."""

    @property
    def swivel(self) -> Floats:
        """(...) [rad]."""
        return np.asarray(self.report["swivel"])

    @property
    def tests(self) -> Ints:
        """(...): swivels tested."""
        return np.asarray(self.report["tests"])
