"""Learning the table of a `LimbRange` from examples (Mukai, 2.1; specification limb-range, sections 1 and 2).

An example is the end's position in the limb's frame and a swivel. Decided here, where the paper says "minimum and
maximum":

- Swivels are angles: their range is the shortest arc that contains the requested fraction of them, found on the circle.
  Only bent limbs have a swivel.
- `trim` leaves out that fraction at each end, because one bad frame would set a minimum or maximum for ever, and
  `min_count` asks for several examples before a direction counts.

The compact form (Mukai's future work) is six smooth fields on the sphere, as spherical harmonics: the angle to the
boundary, smallest and largest distance, cosine and sine of the middle swivel, and half the swivels' width. They are
fitted one-sidedly (section 5), since a plain least-squares fit cuts through the ranges and rejects what people do. Only
the stored form is compact, 24 (degree + 1)^2 bytes; it is expanded over the sampled directions when it is read, so that
its queries cost the same as those of any range.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sized
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...compute import PosableError, ShapeError, UnknownNameError
from ...compute.gpu_arrays import contiguous
from ...compute.types import ArrayLike, Bools, Floats, Ints, floats
from ...math.angles import wrap_angle, wrapped_angles
from ...skeleton import Motion
from ..model import LIMBS
from .locate import STRAIGHT
from .model import Table, find_region
from .sphere import cell_size, fibonacci, sphere_mesh

FULL_CIRCLE = math.radians(170.0)  # half a width from which on any swivel is right
MIN_DISTANCE = 1e-3  # of the limb's length: nearer to its base the end has no direction
NEIGHBOURS = 6  # directions from which one inside a hole takes its values
WIDEST_CELLS = 1.5  # a radius smaller than this many cells leaves directions without examples between others

Progress = Callable[[float], None]
"""Called now and then with the fraction done, 0 to 1."""

Sources = list[tuple[str, int]]
"""Name and number of poses of each source."""

FIELDS = 6
MAX_DEGREE = 12
MAX_ANGLE = 0.5  # [rad] the angle to the boundary is cut off here: further away it does not matter
LOW_FRACTION, HIGH_FRACTION, HALF_FRACTION = 0.1, 0.9, 0.8  # fractions of samples that may lie below the fitted fields
REACHED_FRACTION = 0.99  # of the directions that people reach stay reached
ROUNDS = 60
RIDGE = 1e-4


@dataclass(frozen=True, eq=False)
class Examples:
    """Poses of a limb, over its length: directions (N, 3), distances (N,), swivels (N,) [rad], and which are bent (N,).

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
        """Return examples from positions (N, 3) [m], swivels (N,) and bones (N,) [m]; useless ones are dropped."""
        length = upper + lower
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            distance = np.linalg.norm(position, axis=-1) / length
        good = np.isfinite(distance) & (distance > MIN_DISTANCE) & np.isfinite(position).all(axis=-1)
        used, far = position[good], np.minimum(distance[good], 1.0)
        direction = used / np.linalg.norm(used, axis=-1, keepdims=True)
        uneven = np.abs(upper - lower)[good] / length[good]
        room = (1.0 - far**2) * np.maximum(far**2 - uneven**2, 0.0)
        angle = swivel[good]
        bent = (np.sqrt(room) / (2.0 * far) >= STRAIGHT) & np.isfinite(angle)
        return Examples(direction, far, angle, bent, good)


def learn_table(
    examples: Examples,
    samples: int,
    radius: float,
    min_count: int,
    trim: float,
    fill_holes: bool,
    progress: Progress | None = None,
) -> tuple[Table, Bools]:
    """Return (table, triangles of the range) learned from examples; `radius` [rad] is how far an example counts."""
    _check(samples, radius, min_count, trim)
    mesh = sphere_mesh(samples)
    counts = np.zeros(samples, np.int64)
    low, high, mid, half = (np.full(samples, np.nan) for _ in range(4))
    example, sample = _pairs(examples.direction, mesh.points, radius)
    starts = np.searchsorted(sample, np.arange(samples + 1))
    for i in range(samples):
        near = example[starts[i] : starts[i + 1]]
        counts[i] = len(near)
        if len(near) >= min_count:
            low[i], high[i] = np.quantile(examples.distance[near], [trim, 1.0 - trim])
            mid[i], half[i] = shortest_arc(examples.swivel[near[examples.bent[near]]], 1.0 - 2.0 * trim)
        if progress is not None and i % 50 == 49:
            progress((i + 1) / samples)
    reached = counts >= min_count
    valid = find_region(reached, fill_holes)
    table = _completed(reached, valid, low, high, mid, half)
    if progress is not None:
        progress(1.0)
    return table, valid


def shortest_arc(angles: Floats, fraction: float) -> tuple[float, float]:
    """Return (middle, half width) [rad] of the shortest arc with this fraction of some angles; NaN for none at all.

    An arc of nearly the whole circle is the whole circle: its half width is pi.
    """
    count = len(angles)
    if count == 0:
        return math.nan, math.nan
    line = np.sort(np.mod(angles, 2.0 * math.pi))
    inside = min(max(math.ceil(count * fraction - 1e-9), 1), count)
    twice = np.concatenate([line, line + 2.0 * math.pi])
    widths = twice[inside - 1 : inside - 1 + count] - twice[:count]
    first = int(np.argmin(widths))
    half = 0.5 * float(widths[first])
    middle = wrap_angle(float(twice[first]) + half)
    return middle, (math.pi if half > FULL_CIRCLE else half)


def _check(samples: int, radius: float, min_count: int, trim: float) -> None:
    sphere_mesh(samples)  # refuses numbers of samples that it cannot spread
    smallest = WIDEST_CELLS * cell_size(samples)
    if not smallest <= radius <= 0.5 * math.pi:
        raise PosableError(
            f"a radius of {math.degrees(radius):.4g} degrees; with {samples} samples expected between "
            f"{math.degrees(smallest):.1f} and 90"
        )
    if min_count < 1:
        raise PosableError(f"min_count is {min_count}; expected 1 or more")
    if not 0.0 <= trim < 0.5:
        raise PosableError(f"trim is {trim}; expected 0 or more and below 0.5")


def _pairs(directions: Floats, points: Floats, radius: float) -> tuple[Ints, Ints]:
    """Return (example, sample) of all pairs within `radius` [rad], sorted by sample."""
    cosine = math.cos(radius)
    rows_of, columns_of = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    block = max(1, 4_000_000 // len(points))
    for start in range(0, len(directions), block):
        rows, columns = np.nonzero(directions[start : start + block] @ points.T >= cosine)
        rows_of.append(rows + start)
        columns_of.append(columns)
    sample = np.concatenate(columns_of)
    order = np.argsort(sample, kind="stable")
    return np.concatenate(rows_of)[order], sample[order]


def _completed(reached: Bools, valid: Bools, low: Floats, high: Floats, mid: Floats, half: Floats) -> Table:
    """Return the table of the region's corners: holes get values from around them, unbent ones the nearest swivels."""
    mesh = sphere_mesh(len(reached))
    inside = np.zeros_like(reached)
    inside[mesh.triangles[valid]] = True
    learned, filled = inside & reached, inside & ~reached
    bent = np.flatnonzero(learned & ~np.isnan(half))
    if len(bent):
        lacking = np.flatnonzero(learned & np.isnan(half))
        nearest = bent[np.argmax(mesh.points[lacking] @ mesh.points[bent].T, axis=1)]
        mid[lacking], half[lacking] = mid[nearest], half[nearest]
    else:  # no example is bent: nothing is known of the swivel
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


def read_motions(
    body: Any,
    limb: str,
    motions: Motion | Iterable[Motion],
    max_poses: int | None,
    seed: int,
    progress: Progress,
) -> tuple[Floats, Sources]:
    """Return (rows (N, 6) of position [m], swivel [rad], upper and lower bone [m]; their sources) of motions."""
    parts: list[Floats] = []
    sources: Sources = []
    for motion, done in _counted([motions] if isinstance(motions, Motion) else motions):
        parts.append(_read(body, limb, motion, max_poses, (seed, len(parts))))
        sources.append((motion.name or f"motion {len(parts)}", len(parts[-1])))
        progress(done)
    return np.concatenate(parts) if parts else np.zeros((0, 6)), sources


def given_rows(name: str, position: ArrayLike, swivel: ArrayLike, upper: ArrayLike, lower: ArrayLike) -> Floats:
    """Return the same rows (N, 6) of poses that were read already; bones are one, or one for each pose."""
    if name not in LIMBS:
        raise UnknownNameError("limb", name, LIMBS)
    positions, swivels, shape = batch_of(position, swivel)
    given = [floats(bone, "bones") for bone in (upper, lower)]
    try:
        bones = [np.broadcast_to(bone, shape).reshape(-1) for bone in given]
    except ValueError:
        raise ShapeError(f"bones must be one, or one for each of the {shape} poses") from None
    if not all(np.isfinite(b).all() and (b > 0.0).all() for b in bones):
        raise PosableError("some bones are not longer than 0; expected lengths in metres")
    return np.column_stack([positions, swivels, *bones])


def batch_of(position: ArrayLike, swivel: ArrayLike) -> tuple[Floats, Floats, tuple[int, ...]]:
    """Return rows (N, 3) and (N,), contiguous, and the shape they came in."""
    positions, swivels = floats(position, "position", 3), floats(swivel, "swivel")
    shape = positions.shape[:-1]
    if swivels.shape != shape:
        try:
            shape = np.broadcast_shapes(shape, swivels.shape)
        except ValueError:
            raise ShapeError(
                f"positions of shape {positions.shape} and swivels of {swivels.shape} do not fit"
            ) from None
        positions, swivels = np.broadcast_to(positions, (*shape, 3)), np.broadcast_to(swivels, shape)
    count = math.prod(shape)
    return contiguous(positions.reshape(count, 3)), contiguous(swivels.reshape(count)), shape


def _read(body: Any, limb: str, motion: Motion, max_poses: int | None, seed: tuple[int, int]) -> Floats:
    pose = motion.pose
    if max_poses is not None and len(motion) > max_poses:
        pose = pose[np.sort(np.random.default_rng(seed).choice(len(motion), max_poses, replace=False))]
    try:
        owner = body if motion.skeleton is body.skeleton else type(body)(motion.skeleton)
        own = owner.limb(limb, limits=None)
    except PosableError as error:
        raise PosableError(f"motion {motion.name!r}: {error}") from error
    reading = own.read(pose)
    bones = np.broadcast_to([own.upper, own.lower], (len(reading.position), 2))
    return np.column_stack([reading.position, reading.swivel, bones])


def _counted(motions: Iterable[Motion]) -> Iterator[tuple[Motion, float]]:
    """Iterate over motions with the fraction of them that is done after each; 0 where their number is unknown."""
    total = len(motions) if isinstance(motions, Sized) else 0
    for i, motion in enumerate(motions):
        yield motion, (i + 1) / total if total else 0.0


def fit_harmonics(table: Table, margins: Floats, degree: int) -> Floats:
    """Return (6, (degree + 1)^2) coefficients of a table; `margins` (V,) [rad] are the angles to its boundary."""
    if not 1 <= degree <= MAX_DEGREE:
        raise PosableError(f"harmonics of degree {degree}; expected 1 to {MAX_DEGREE}")
    basis = harmonics(fibonacci(len(table)), degree)
    own = basis[table.reached]
    low, high, mid, half = (values[table.reached] for values in (table.low, table.high, table.mid, table.half))
    edge = _least_squares(basis, np.clip(margins, -MAX_ANGLE, MAX_ANGLE), np.ones(len(basis)))
    edge[0] -= min(np.quantile(own @ edge, 1.0 - REACHED_FRACTION), 0.0) / basis[0, 0]  # the first one is constant
    cosine, sine = (_least_squares(own, values, np.ones(len(own))) for values in (np.cos(mid), np.sin(mid)))
    off = np.arctan2(own @ sine, own @ cosine) - mid
    wide = np.minimum(half + np.abs(wrapped_angles(off)), math.pi)
    fields = [edge, _quantile(own, low, LOW_FRACTION), _quantile(own, high, HIGH_FRACTION), cosine, sine]
    return np.stack([*fields, _quantile(own, wide, HALF_FRACTION)]).astype(np.float32).astype(np.float64)


def expand(coefficients: Floats, samples: int, fill_holes: bool) -> Table:
    """Return the table that the coefficients (6, (degree + 1)^2) describe."""
    degree = math.isqrt(coefficients.shape[1]) - 1
    edge, low, high, cosine, sine, half = coefficients @ harmonics(fibonacci(samples), degree).T
    valid = find_region(edge >= 0.0, fill_holes)
    reached = np.zeros(samples, np.bool_)
    reached[sphere_mesh(samples).triangles[valid]] = True
    low = np.clip(low, 0.0, 1.0)
    half = np.clip(half, 0.0, math.pi)
    half[half > FULL_CIRCLE] = math.pi
    values = (low, np.clip(high, low, 1.0), np.arctan2(sine, cosine), half)
    return Table(reached, reached & (edge < 0.0), *(np.where(reached, field, 0.0) for field in values))


def harmonics(directions: Floats, degree: int) -> Floats:
    """Return (N, (degree + 1)^2): real spherical harmonics, orthonormal over the sphere, of unit vectors (N, 3)."""
    from scipy.special import lpmv

    azimuth, z = np.arctan2(directions[:, 1], directions[:, 0]), directions[:, 2]
    columns = []
    for order in range(degree + 1):
        for m in range(-order, order + 1):
            k = abs(m)
            ratio = math.factorial(order - k) / math.factorial(order + k)
            size = math.sqrt((2 * order + 1) / (4.0 * math.pi) * ratio)
            wave = np.sqrt(2.0) * (np.cos(k * azimuth) if m > 0 else np.sin(k * azimuth)) if m else 1.0
            columns.append(size * lpmv(k, order, z) * wave)
    return np.stack(columns, axis=-1)


def _least_squares(basis: Floats, values: Floats, weights: Floats) -> Floats:
    """Return coefficients by weighted least squares, with a little ridge for where there are no samples."""
    weighted = basis * weights[:, None]
    square = weighted.T @ basis
    ridge = RIDGE * np.trace(square) / len(square)
    return np.asarray(np.linalg.solve(square + ridge * np.eye(len(square)), weighted.T @ values))


def _quantile(basis: Floats, values: Floats, fraction: float) -> Floats:
    """Return coefficients of the field below which `fraction` of the values lie.

    The pinball loss, by iteratively reweighted least squares.
    """
    weights = np.ones(len(values))
    coefficients = np.zeros(basis.shape[1])
    for _ in range(ROUNDS):
        coefficients = _least_squares(basis, values, weights)
        rest = values - basis @ coefficients
        weights = np.where(rest > 0.0, fraction, 1.0 - fraction) / np.maximum(np.abs(rest), 1e-3)
    return coefficients
