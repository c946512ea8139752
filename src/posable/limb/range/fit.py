"""Learning the table of a `LimbRange` from examples (Mukai, 2.1; specification limb-range, sections 1 and 2).

An example is the end's position in the limb's frame and a swivel. Decided here, where the paper says "minimum and
maximum":

- Swivels are angles: their range is the shortest arc that holds the wanted share of them, found on the circle. Only
  bent limbs tell a swivel.
- `trim` leaves out that share at each end, because one bad frame would set a minimum or maximum for ever, and
  `min_count` asks for several examples before a direction counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...compute import PosableError
from ...compute.types import Bools, Floats, Ints
from ...math.angles import wrap_angle
from ..sphere import cell_size, sphere_mesh
from .locate import STRAIGHT
from .model import Table, find_region

FULL_CIRCLE = math.radians(170.0)  # half a width from which on any swivel will do
LEAST_DISTANCE = 1e-3  # of the limb's length: nearer to its base the end has no direction
NEIGHBOURS = 6  # directions from which one inside a hole takes its values
WIDEST_CELLS = 1.5  # a radius smaller than this many cells leaves directions without examples between others

Progress = Callable[[float], None]


@dataclass(frozen=True, eq=False)
class Examples:
    """Poses of a limb, over its length: directions (N, 3), distances (N,), swivels (N,) [rad], and who is bent (N,).

    `used` (M,) says which of the M given ones they are; the others have no direction.
    """

    direction: Floats
    distance: Floats
    swivel: Floats
    bent: Bools
    used: Bools

    def __len__(self) -> int:
        return len(self.distance)

    @staticmethod
    def of(position: Floats, swivel: Floats, upper: Floats, lower: Floats) -> Examples:
        """Examples from positions (N, 3) [m], swivels (N,) and bones (N,) [m]; useless ones are dropped."""
        length = upper + lower
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            distance = np.linalg.norm(position, axis=-1) / length
        good = np.isfinite(distance) & (distance > LEAST_DISTANCE) & np.isfinite(position).all(axis=-1)
        place, far = position[good], np.minimum(distance[good], 1.0)
        direction = place / np.linalg.norm(place, axis=-1, keepdims=True)
        uneven = np.abs(upper - lower)[good] / length[good]
        room = (1.0 - far**2) * np.maximum(far**2 - uneven**2, 0.0)
        turn = swivel[good]
        bent = (np.sqrt(room) / (2.0 * far) >= STRAIGHT) & np.isfinite(turn)
        return Examples(direction, far, turn, bent, good)


def learn_table(
    examples: Examples,
    samples: int,
    radius: float,
    min_count: int,
    trim: float,
    fill_holes: bool,
    progress: Progress | None = None,
) -> tuple[Table, Bools]:
    """(table, triangles of the range) learned from examples; `radius` [rad] is how far an example counts."""
    _check(samples, radius, min_count, trim)
    mesh = sphere_mesh(samples)
    counts = np.zeros(samples, np.int64)
    low, high, mid, half = (np.full(samples, np.nan) for _ in range(4))
    who, where = _pairs(examples.direction, mesh.points, radius)
    starts = np.searchsorted(where, np.arange(samples + 1))
    for i in range(samples):
        near = who[starts[i] : starts[i + 1]]
        counts[i] = len(near)
        if len(near) >= min_count:
            low[i], high[i] = np.quantile(examples.distance[near], [trim, 1.0 - trim])
            mid[i], half[i] = shortest_arc(examples.swivel[near[examples.bent[near]]], 1.0 - 2.0 * trim)
        if progress is not None and i % 50 == 49:
            progress((i + 1) / samples)
    kept = counts >= min_count
    valid = find_region(kept, fill_holes)
    table = _completed(kept, valid, low, high, mid, half)
    if progress is not None:
        progress(1.0)
    return table, valid


def shortest_arc(angles: Floats, share: float) -> tuple[float, float]:
    """(middle, half width) [rad] of the shortest arc that holds this share of some angles; NaN for none at all.

    An arc of nearly the whole circle is the whole circle: its half width is pi.
    """
    count = len(angles)
    if count == 0:
        return math.nan, math.nan
    line = np.sort(np.mod(angles, 2.0 * math.pi))
    held = min(max(math.ceil(count * share - 1e-9), 1), count)
    twice = np.concatenate([line, line + 2.0 * math.pi])
    widths = twice[held - 1 : held - 1 + count] - twice[:count]
    first = int(np.argmin(widths))
    half = 0.5 * float(widths[first])
    middle = wrap_angle(float(twice[first]) + half)
    return middle, (math.pi if half > FULL_CIRCLE else half)


def _check(samples: int, radius: float, min_count: int, trim: float) -> None:
    sphere_mesh(samples)  # refuses numbers of samples that it cannot spread
    least = WIDEST_CELLS * cell_size(samples)
    if not least <= radius <= 0.5 * math.pi:
        raise PosableError(
            f"a radius of {math.degrees(radius):.4g} degrees; with {samples} samples expected between "
            f"{math.degrees(least):.1f} and 90"
        )
    if min_count < 1:
        raise PosableError(f"min_count is {min_count}; expected 1 or more")
    if not 0.0 <= trim < 0.5:
        raise PosableError(f"trim is {trim}; expected 0 or more and below 0.5")


def _pairs(directions: Floats, points: Floats, radius: float) -> tuple[Ints, Ints]:
    """(example, sample) of all pairs within `radius` [rad], sorted by sample."""
    cosine = math.cos(radius)
    who, where = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    block = max(1, 4_000_000 // len(points))
    for start in range(0, len(directions), block):
        rows, columns = np.nonzero(directions[start : start + block] @ points.T >= cosine)
        who.append(rows + start)
        where.append(columns)
    sample = np.concatenate(where)
    order = np.argsort(sample, kind="stable")
    return np.concatenate(who)[order], sample[order]


def _completed(kept: Bools, valid: Bools, low: Floats, high: Floats, mid: Floats, half: Floats) -> Table:
    """The table of the region's corners: holes get values from around them, unbent ones the nearest swivels."""
    mesh = sphere_mesh(len(kept))
    inside = np.zeros_like(kept)
    inside[mesh.triangles[valid]] = True
    learned, filled = inside & kept, inside & ~kept
    turning = np.flatnonzero(learned & ~np.isnan(half))
    if len(turning):
        lacking = np.flatnonzero(learned & np.isnan(half))
        nearest = turning[np.argmax(mesh.points[lacking] @ mesh.points[turning].T, axis=1)]
        mid[lacking], half[lacking] = mid[nearest], half[nearest]
    else:  # nobody ever bent this limb: nothing is known of its swivel
        mid[learned], half[learned] = 0.0, math.pi
    sources = np.flatnonzero(learned)
    for i in np.flatnonzero(filled):
        away = np.arccos(np.clip(mesh.points[sources] @ mesh.points[i], -1.0, 1.0))
        near = np.argsort(away, kind="stable")[:NEIGHBOURS]
        weights, from_ = away[near] ** -2.0, sources[near]
        weights /= weights.sum()
        low[i], high[i], half[i] = weights @ low[from_], weights @ high[from_], weights @ half[from_]
        mid[i] = math.atan2(weights @ np.sin(mid[from_]), weights @ np.cos(mid[from_]))
    return Table(inside, filled, *(np.where(inside, values, 0.0) for values in (low, high, mid, half)))
