"""What a limb of a body tells: how it is in a pose, and a body with a hand or a foot put somewhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...compute import Status
from ...compute.types import Floats, Ints, Records
from ...skeleton import Pose


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


@dataclass(frozen=True, eq=False)
class Placement:
    """A body with a hand or a foot put somewhere."""

    pose: Pose
    status: Any
    """A `Status`, or an int8 array of them."""
    residual: Floats
    """(...) [m]: how far the part stayed from its target."""
    report: Records
    """(...) rows of `limb.solve.REPORT`: what the solver wrote."""
    jumped: bool = False
    """Whether the elbow or knee leapt; only a stream can tell."""

    @property
    def ok(self) -> Any:
        """Whether the target was reached."""
        return np.equal(self.status, Status.REACHED) if isinstance(self.status, np.ndarray) else self.status.ok

    @property
    def orientation_error(self) -> Floats:
        """(...) [rad]: how far from the orientation asked for."""
        return np.asarray(self.report["orientation_error"])

    @property
    def swivel(self) -> Floats:
        """(...) [rad]."""
        return np.asarray(self.report["swivel"])

    @property
    def tests(self) -> Ints:
        """(...): swivels tested."""
        return np.asarray(self.report["tests"])
