"""`Key` and `Weight`: a posture placed on the swing plane, and how much of a behaviour a reach takes."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..compute import PosableError, UnknownNameError
from ..compute.arrays import floats
from ..compute.types import ArrayLike, Floats
from ..limb.model import Search
from .interpolation import CONSTANT, EASED, QUADRATIC
from .posture import Posture

WEIGHTS = {"quadratic": QUADRATIC, "smooth": EASED, "constant": CONSTANT}


@dataclass(frozen=True)
class Weight:
    """How much of the behaviour a reach takes, by the target's distance from the shoulder (paper: f_weight)."""

    kind: str = "quadratic"
    """"quadratic": k (d / arm length)^2, the paper's; "smooth": the same ends without its corner; "constant": k."""
    k: float = 0.8
    """From 0 to 1; weight 1 is reached at a distance of arm length / sqrt(k)."""

    def __post_init__(self) -> None:
        if self.kind not in WEIGHTS:
            raise UnknownNameError("kind of weight", self.kind, WEIGHTS)
        if not 0.0 < self.k <= 1.0:
            raise PosableError(f"weight k is {self.k}; expected above 0 and at most 1")

    def __call__(self, d: ArrayLike) -> Floats:
        """The weight at distances of d arm lengths."""
        d = np.maximum(floats(d, "d"), 0.0)
        if self.kind == "constant":
            return np.full(d.shape, self.k)
        x = np.minimum(1.0, d * math.sqrt(self.k))
        return x * x if self.kind == "quadratic" else x * x * (3.0 - 2.0 * x)


@dataclass(frozen=True, eq=False)
class Key:
    """A key of a behaviour. `Behaviour` changes its keys; the ones it hands out stay as they were."""

    id: int
    at: tuple[float, ...]
    """(2,) swing [rad] about x and y of the shoulder's frame; (3,) [arm lengths] in a behaviour around it."""
    posture: Posture | None
    """None: follows the field until it is set."""
    outer: bool = False
    """One of the four around the ellipse: editable, never removed or moved."""
    search: Search | None = None
    """How the arm's swivel is searched here; None: as usual."""
    name: str = ""
