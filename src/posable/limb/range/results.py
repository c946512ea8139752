"""Results of a `LimbRange`: what it was learned from, margins, corrections, and the spans of a direction."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ...compute.types import Bools, Floats, Ints
from .kernels import DIRECTION, DISTANCE, SWIVEL


@dataclass(frozen=True)
class RangeReport:
    """The examples that a range was learned from, and how much of the sphere it covers."""

    examples: int = 0
    """Poses used."""
    bent: int = 0
    """Poses of them with a swivel; a straight limb has none."""
    dropped: int = 0
    """Poses left out: numbers that are not finite, or the end at the base joint."""
    sources: tuple[tuple[str, int], ...] = ()
    """Name and number of poses of each source."""
    samples: int = 0
    """Directions of the table."""
    reached: int = 0
    """Directions that people reach."""
    filled: int = 0
    """Directions of them that lie in a hole and have values from around it."""
    area: float = 0.0
    """Fraction of the sphere that is reached."""
    origin: dict[str, str] = field(default_factory=dict)
    """Further notes: the data's hash, the script, the seed."""


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
    """(...) [rad]: to the nearer end of the swivels; pi for a straight limb, and where any swivel is right."""


@dataclass(frozen=True, eq=False)
class Spans:
    """The distances and swivels of a range in some directions; outside it, those of its nearest direction."""

    margin: Floats
    """(...) [rad]: how far inside, negative outside."""
    low: Floats
    """(...) [m]: smallest distance."""
    high: Floats
    """(...) [m]: largest distance."""
    mid: Floats
    """(...) [rad]: the middle of the swivels."""
    half: Floats
    """(...) [rad]: half their width; pi where any is right."""
