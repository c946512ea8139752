"""What a `LimbRange` answers with: how much it knows, margins, corrections, and what it says of a direction."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ...compute.types import Bools, Floats, Ints
from .correct import DIRECTION, DISTANCE, SWIVEL


@dataclass(frozen=True)
class RangeReport:
    """What a range was learned from, and how much."""

    examples: int = 0
    """Poses used."""
    bent: int = 0
    """Those of them that told a swivel; a straight limb has none."""
    dropped: int = 0
    """Poses left out: numbers that are not finite, or the end at the base joint."""
    sources: tuple[tuple[str, int], ...] = ()
    """Name and number of poses of each source."""
    samples: int = 0
    """Directions of the table."""
    kept: int = 0
    """Directions that people reach."""
    filled: int = 0
    """Those of them that lie in a hole and have values from around it."""
    area: float = 0.0
    """Share of the sphere that is reached."""
    origin: dict[str, str] = field(default_factory=dict)
    """What else is known: the data's hash, the script, the seed."""


@dataclass(frozen=True, eq=False)
class Correction:
    """A limb's pose brought into the range."""

    position: Floats
    """(..., 3) [m]."""
    swivel: Floats
    """(...) [rad]."""
    changed: Bools
    """(...): whether anything had to change; where not, both are as they were, bit for bit."""
    bits: Ints

    @property
    def causes(self) -> dict[str, Bools]:
        """(...) each: whether the "direction", the "distance", the "swivel" changed."""
        names = (("direction", DIRECTION), ("distance", DISTANCE), ("swivel", SWIVEL))
        return {name: np.asarray(self.bits & bit != 0) for name, bit in names}


@dataclass(frozen=True, eq=False)
class Margins:
    """How far inside a range a pose is; negative: how far outside."""

    direction: Floats
    """(...) [rad]: to the boundary of the directions; pi where every direction is reached."""
    distance: Floats
    """(...) [m]: to the nearer end of the distances."""
    swivel: Floats
    """(...) [rad]: to the nearer end of the swivels; pi for a straight limb, and where any swivel will do."""


@dataclass(frozen=True, eq=False)
class Spans:
    """What a range says of some directions; outside it, what it says of its nearest direction."""

    margin: Floats
    """(...) [rad]: how far inside, negative outside."""
    low: Floats
    """(...) [m]: least distance."""
    high: Floats
    """(...) [m]: largest distance."""
    mid: Floats
    """(...) [rad]: the middle of the swivels."""
    half: Floats
    """(...) [rad]: half their width; pi where any will do."""
