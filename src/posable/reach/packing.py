"""The keys of a behaviour made into the field that kernels blend."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..compute import PosableError
from ..compute.types import Floats
from ..limb.model import SEARCHES
from ..limits import Ellipse
from ..math import normalize
from .interpolation import AROUND, FIELD, LINEAR, SMOOTH, Field
from .key import WEIGHTS, Key, Weight
from .spline import outer_keys, reach_of_keys, spline_of
from .triangles import affine_rows, triangulate

INTERPOLATIONS = {"linear": LINEAR, "smooth": SMOOTH, "around": AROUND}
NUMBERS = ("preferred", "low", "high", "step", "growth")
"""Of a search, blended like postures."""
OUTER = 1.05  # the four outer keys stand on a rectangle this many times the ellipse's radii around its centre
FURTHEST = 0.9 * math.pi  # [rad] of an outer key: the plane has no directions at pi


def field_of(
    keys: Sequence[Key], parts: int, interpolation: str, weight: Weight, ellipse: Ellipse
) -> tuple[Field, Floats, Floats]:
    """(the field, rotations (K, R, 4), hips and search (K, 8)), for kernels.

    Around the shoulder twelve outer keys follow the given ones, which take their postures from them.

    Args:
        keys: those that have postures.
        parts: how many parts a posture turns, R.
        interpolation: one of `INTERPOLATIONS`.
        weight: how the distance counts.
        ellipse: of the swings the behaviour is made for.
    """
    if not keys:
        raise PosableError("a behaviour around the shoulder needs at least one key with a posture")
    around = interpolation == "around"
    places = np.array([key.at if around else (*key.at, 0.0) for key in keys], dtype=np.float64)
    triangles = np.zeros((0, 3), np.int64) if around else triangulate(places[:, :2])
    rows = affine_rows(places[:, :2], triangles)
    header = np.zeros(1, FIELD)
    header["interpolation"], header["weight"], header["k"] = (
        INTERPOLATIONS[interpolation],
        WEIGHTS[weight.kind],
        weight.k,
    )
    header["cx"], header["cy"] = ellipse.centre
    header["rx"], header["ry"] = ellipse.radii
    header["edge"] = np.linalg.norm(ellipse.boundary(np.linspace(0, math.tau, 721)), axis=-1).max()
    header["reach"] = reach_of_keys(places)
    turns, shifts = _postures_of(keys, parts)
    if around:
        beyond, shares = outer_keys(places)
        means = normalize(np.einsum("ok,krc->orc", shares, turns))
        places, turns = np.concatenate([places, beyond]), np.concatenate([turns, means])
        shifts = np.concatenate([shifts, shares @ shifts])
    spline = np.zeros((0, 0)) if interpolation == "linear" else spline_of(places)
    return Field(header, places, triangles, rows, spline), turns, shifts


def outer_corners(ellipse: Ellipse) -> list[tuple[float, float]]:
    """Swings [rad] of the four keys around an ellipse; raises where the plane has no room for them."""
    (cx, cy), (rx, ry) = ellipse.centre, ellipse.radii
    corners = [(cx + a * OUTER * rx, cy + b * OUTER * ry) for a, b in ((-1, -1), (1, -1), (1, 1), (-1, 1))]
    furthest = max(math.hypot(x, y) for x, y in corners)
    if furthest > FURTHEST:
        raise PosableError(
            f"the ellipse's outer keys would stand at swings up to {math.degrees(furthest):.0f} degrees; "
            f"shrink it until they stay below {math.degrees(FURTHEST):.0f}"
        )
    if min(rx, ry) < math.radians(1.0):
        raise PosableError(f"the ellipse's radii are {ellipse.radii} rad; expected at least one degree each")
    return corners


def _postures_of(keys: Sequence[Key], parts: int) -> tuple[Floats, Floats]:
    """(rotations (K, R, 4), hips and search (K, 8)) of the keys themselves."""
    usual = SEARCHES["arm"]
    postures = [key.posture for key in keys if key.posture is not None]
    turns = np.array([posture.rotations for posture in postures]).reshape(len(keys), parts, 4)
    numbers = [
        [*posture.hips, *(getattr(key.search or usual, name) for name in NUMBERS)]
        for key, posture in zip(keys, postures, strict=True)
    ]
    return turns, np.array(numbers, dtype=np.float64)
