"""Behaviours learned from motion: keys where people reach, postures that explain how their bodies went along.

Kallmann 2008, Extensions, suggests key postures in space, taken from motion capture; both are here, and keys on the
swing plane too, which an artist can go on editing.

What is learned are *changes* from the standing start of each motion (`learn_reading`), not postures as they are: how
somebody stands is not how they reach, and two captured people standing alike differ by ten degrees a joint. With a
change written as a rotation vector y, a hand at a place where the behaviour has weight u, and keys that count w_k
there, u * sum_k w_k x_k = y is linear in the postures x_k: one regularised least-squares problem for all keys, each
part and the hips' shift for themselves. Its regularisation asks each key to be like the mean of its neighbours, a
little, so that keys without examples (the outer ones of the plane) continue the others, and to stay at rest, very
little, so that keys without any neighbour with examples do.

Blended rotation vectors are not quite blended quaternions, and u of a mean not quite the mean of u's; steps of
Gauss and Newton, with residuals from the behaviour itself, see to that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence, Sized
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from ..body.canonical import other_side
from ..compute import PosableError, ShapeError
from ..compute.arrays import floats
from ..compute.types import ArrayLike, Floats
from ..math import conjugate, exp, log, multiply, slerp
from ..skeleton import Motion
from .behaviour import CLOSEST, LARGEST_SHIFT, Behaviour
from .feasibility import keep_clear, sink, standing
from .key import Weight
from .learn_reading import Reaches, read_reaches
from .posture import Posture, drivable_parts

if TYPE_CHECKING:
    from ..body import Humanoid

PARTS = ("hips", "spine", "chest", "upper_chest", "neck", "head")
KEYS = {"linear": 12, "smooth": 10, "around": 16}
LIKE_NEIGHBOURS = 0.03  # of the weight of a key's share of the examples
AT_REST = (1e-3, 1e-2, 0.1, 0.3, 1.0, 3.0, 10.0)  # the same; which of them, motions decide
FAR = 0.3  # k of the weight: hands that pick things from the floor are 1.8 arm lengths from where the shoulder stood
NEIGHBOURS = 4  # of a key in space
STEPS = 2
STANDING = np.array([1.0, 0.0, 0.0, 0.0])


@dataclass(frozen=True)
class MotionReport:
    """What one motion gave."""

    name: str
    frames: int
    used: int
    start: int
    """The frame it was seen from, the standing start; -1 where it has none."""
    left_out: tuple[tuple[str, int], ...]
    """Why frames did not count, and how many."""


@dataclass(frozen=True)
class LearnReport:
    """What a behaviour was learned from, and how well it explains that. Angles are in degrees."""

    motions: tuple[MotionReport, ...]
    residual: float
    """Between each part and what the behaviour says of it: the mean over parts and frames, as the frames count."""
    still: float
    """The same of a body that only stands."""
    shift: float
    """How far the hips are from where the behaviour puts them, in the mean [leg lengths]."""
    by_part: tuple[tuple[str, float, float], ...]
    """Each part, its residual, and that of a body that only stands."""
    rest: tuple[tuple[str, float], ...]
    """How strongly each part, and the hips' shift, was pulled to rest: the less motions agree on it, the more."""

    @property
    def used(self) -> int:
        """Frames learned from."""
        return sum(motion.used for motion in self.motions)

    @property
    def frames(self) -> int:
        """Frames looked at."""
        return sum(motion.frames for motion in self.motions)

    def __str__(self) -> str:
        lines = [
            f"{self.used} of {self.frames} frames; {self.residual:.1f} degrees a part are not explained "
            f"of {self.still:.1f}, {100.0 * self.shift:.1f} % of a leg length of the hips' shift"
        ]
        for motion in self.motions:
            why = "".join(f", {count}: {reason}" for reason, count in motion.left_out)
            lines.append(f"{motion.name}: {motion.used} of {motion.frames}{why}")
        return "\n".join(lines)


def fit(
    body: Humanoid,
    limb: str,
    motions: Motion | Iterable[Motion],
    *,
    keys: int | ArrayLike | None = None,
    interpolation: str = "linear",
    parts: Sequence[str] | None = None,
    weight: Weight | None = None,
    name: str = "learned",
    seed: int = 0,
    progress: Callable[[float], None] | None = None,
) -> Behaviour:
    """Learn how a body goes along with a reaching hand. The same motions and seed give the same behaviour.

    Args:
        body: whose limits the postures keep, and whose parts are driven.
        limb: "right_arm" or "left_arm".
        motions: of this body, or of any others whose parts can be found; those in which nobody stands with the arms
            hanging, or in which no frame has its feet where they stood, give nothing and are told in the report.
        keys: how many besides the outer ones, or where: swings (K, 2) [rad], or places (K, 3) [arm lengths].
        interpolation: "linear" and "smooth" put keys on the swing plane, "around" in space.
        parts: the roles to drive; trunk, neck, head, shoulders and free arm unless told otherwise.
        weight: how the distance counts; smooth on the plane, constant in space, where keys say it themselves.
        name: of the behaviour.
        seed: of the search for keys.
        progress: called now and then with the share done, 0 to 1.

    Returns:
        The behaviour; what it was learned from, and how well, is in its `learned`.
    """
    around = interpolation == "around"
    if parts is None:
        parts = [part for part in drivable_parts(limb) if part in (*PARTS, *_arms(limb)) and part in body.roles]
    weight = weight or (Weight("constant", 1.0) if around else Weight("smooth", FAR))
    made = Behaviour(limb, parts, interpolation=interpolation, weight=weight, name=name)
    tell = (lambda _: None) if progress is None else progress
    read, rows, reports = _read(body, made, [motions] if isinstance(motions, Motion) else motions, tell)
    at, u = _located(made, read.places)
    for place in _key_places(made, KEYS[interpolation] if keys is None else keys, at, read.weights * u, seed):
        made.add(place, Posture.neutral(made.parts))
    rests = _solve(body, made, read, at, u, rows)
    sink(body, made, seed)
    keep_clear(body, made)
    made.learned = _report(made, read, at, u, reports, rests)
    tell(1.0)
    return made


def _arms(limb: str) -> tuple[str, ...]:
    """The free arm, and the shoulder of the one that reaches."""
    side = limb[:-4]
    return (f"{side}_shoulder", *(other_side(f"{side}_{part}") for part in ("shoulder", "upper_arm", "lower_arm")))


def _read(
    body: Humanoid, made: Behaviour, motions: Iterable[Motion], tell: Callable[[float], None]
) -> tuple[Reaches, list[slice], tuple[MotionReport, ...]]:
    """(the reaches of all motions in one, the rows of each that has any, what each gave)."""
    every, reports = [], []
    total = len(motions) if isinstance(motions, Sized) else 0
    for motion in motions:
        one = read_reaches(body, made.limb, motion, made.parts)
        every.append(one)
        reports.append(MotionReport(one.name, len(motion), len(one.weights), one.start, tuple(one.left_out.items())))
        tell(0.9 * len(every) / total if total else 0.0)
    if not any(len(one.weights) for one in every):
        why = "; ".join(f"{report.name}: {dict(report.left_out)}" for report in reports) or "no motion was given"
        raise PosableError(f"there is no frame to learn from ({why}); the feet must stand where they stood at a start")
    every = [one for one in every if len(one.weights)]
    ends = np.cumsum([0, *(len(one.weights) for one in every)]).tolist()
    read = Reaches(
        "",
        -1,
        np.concatenate([one.places for one in every]),
        np.concatenate([one.turns for one in every]),
        np.concatenate([one.shifts for one in every]),
        # A motion counts by the root of how much of space its hand visits: one that goes everywhere is not the rule.
        np.concatenate([one.weights / math.sqrt(one.weights.sum()) for one in every]),
        {},
    )
    return read, [slice(a, b) for a, b in pairwise(ends)], tuple(reports)


def _located(made: Behaviour, places: Floats) -> tuple[Floats, Floats]:
    """(where hands at places [arm lengths] lie among the keys, weights of the behaviour there)."""
    if made.interpolation == "around":
        return places, np.full(len(places), made.weight.k)
    return made.locate(places, 1.0)


def _key_places(made: Behaviour, keys: int | ArrayLike, at: Floats, weights: Floats, seed: int) -> Floats:
    """(K, 2 or 3): where the keys go, none nearer to another than a behaviour allows."""
    if isinstance(keys, int):
        if not 1 <= keys <= 400:
            raise PosableError(f"keys is {keys}; expected from 1 to 400, or their places")
        found = _centres(at, weights, keys, np.random.default_rng(seed))
    else:
        found = floats(keys, "keys")
        if found.ndim != 2 or found.shape[1] != at.shape[1]:
            raise ShapeError(f"keys have shape {found.shape}; expected (K, {at.shape[1]}), or how many")
        return found
    kept: list[Floats] = []
    for place in found:
        if all(np.linalg.norm(place - other) > 10.0 * CLOSEST for other in kept):
            kept.append(place)
    return np.array(kept)


def _centres(points: Floats, weights: Floats, count: int, rng: np.random.Generator) -> Floats:
    """(at most `count`, D) centres of points (N, D) with weights (N,): k-means, begun at points far apart."""
    centres = points[[rng.choice(len(points), p=weights / weights.sum())]]
    while len(centres) < count:
        off = ((points[:, None] - centres[None]) ** 2).sum(axis=-1).min(axis=1) * weights
        if off.max() <= 0.0:
            break
        centres = np.concatenate([centres, points[[rng.choice(len(points), p=off / off.sum())]]])
    for _ in range(50):
        mine = ((points[:, None] - centres[None]) ** 2).sum(axis=-1).argmin(axis=1)
        sums = np.zeros((len(centres), points.shape[1]))
        np.add.at(sums, mine, weights[:, None] * points)
        total = np.bincount(mine, weights, len(centres))
        moved = np.where(total[:, None] > 0.0, sums / np.maximum(total, 1e-300)[:, None], centres)
        if np.array_equal(moved, centres):
            break
        centres = moved
    return centres


def _solve(body: Humanoid, made: Behaviour, read: Reaches, at: Floats, u: Floats, rows: list[slice]) -> Floats:
    """Give every key the posture that explains the examples best; how strongly each part, then the hips' shift, was
    pulled to rest.
    """
    shares = made.shares(at) * u[:, None]
    weighted = shares * (read.weights * (shares.shape[1] / read.weights.sum()))[:, None]
    away = np.eye(shares.shape[1]) - _neighbours(made)
    smooth, data = LIKE_NEIGHBOURS * away.T @ away, weighted.T @ shares
    seen = _flat(read.turns, read.shifts)
    rests = np.array(
        [_best_rest(shares, weighted, seen[:, k : k + 3], smooth, rows) for k in range(0, seen.shape[1], 3)]
    )
    found = np.zeros((shares.shape[1], seen.shape[1]))
    for _ in range(1 + STEPS):
        gap = weighted.T @ _flat(*_left(made, read, at, u))
        for part, rest in enumerate(rests):
            pull, mine = smooth + rest * np.eye(len(smooth)), slice(3 * part, 3 * part + 3)
            found[:, mine] += np.linalg.solve(data + pull, gap[:, mine] - pull @ found[:, mine])
        for key, x in zip(made.keys, found, strict=True):
            made.set(key.id, _posture(body, made.parts, x))
    return rests


def _best_rest(shares: Floats, weighted: Floats, seen: Floats, smooth: Floats, rows: list[slice]) -> float:
    """The pull to rest with which motions explain one another best: each by what the others alone would teach."""
    if len(rows) < 2:
        return AT_REST[0]
    normals = np.array([weighted[mine].T @ shares[mine] for mine in rows])
    sides = np.array([weighted[mine].T @ seen[mine] for mine in rows])
    errors = np.zeros(len(AT_REST))
    for row, rest in enumerate(AT_REST):
        pull = smooth + rest * np.eye(len(smooth))
        x = np.linalg.solve(normals.sum(axis=0) - normals + pull, sides.sum(axis=0) - sides)
        errors[row] = (x * (normals @ x)).sum() - 2.0 * (x * sides).sum()
    return AT_REST[int(np.argmin(errors))]


def _flat(turns: Floats, shifts: Floats) -> Floats:
    return np.concatenate([turns.reshape(len(turns), -1), shifts], axis=1)


def _neighbours(made: Behaviour) -> Floats:
    """(K, K) rows that give the mean of each key's neighbours: along the triangles' edges, or the nearest in space."""
    keys = made.keys
    near = np.zeros((len(keys), len(keys)))
    if made.interpolation == "around":
        places = np.array([key.at for key in keys])
        order = np.linalg.norm(places[:, None] - places[None], axis=-1).argsort(axis=1)
        for row, nearest in enumerate(order):
            near[row, [k for k in nearest if k != row][:NEIGHBOURS]] = 1.0
    else:
        row_of = {key.id: row for row, key in enumerate(keys)}
        for corners in made.triangles:
            rows = [row_of[corner] for corner in corners]
            near[np.ix_(rows, rows)] = 1.0
        np.fill_diagonal(near, 0.0)
    return np.asarray(near / np.maximum(near.sum(axis=1, keepdims=True), 1.0))


def _posture(body: Humanoid, parts: tuple[str, ...], x: Floats) -> Posture:
    """The posture of rotation vectors and a shift (3 R + 3,), inside the body's limits."""
    turns = exp(x[:-3].reshape(-1, 3)) if parts else np.zeros((0, 4))
    rows = [row for row, part in enumerate(parts) if part in body.limits]
    if rows:
        turns[rows] = body.limits.clamp([parts[row] for row in rows], turns[rows])
    return standing(body, Posture(parts, turns, np.clip(x[-3:], -LARGEST_SHIFT, LARGEST_SHIFT)))


def _left(made: Behaviour, read: Reaches, at: Floats, u: Floats) -> tuple[Floats, Floats]:
    """(rotation vectors (N, R, 3) [rad], shifts (N, 3) [leg lengths]) from what the behaviour says to what was seen."""
    said = made.posture_at(at)
    turned = slerp(STANDING, said.rotations, u[:, None])
    return log(multiply(conjugate(turned), exp(read.turns))), read.shifts - u[:, None] * said.hips


def _report(
    made: Behaviour, read: Reaches, at: Floats, u: Floats, motions: tuple[MotionReport, ...], rests: Floats
) -> LearnReport:
    def mean(values: Floats) -> Floats:
        return np.average(values, axis=0, weights=read.weights)

    turns, shifts = _left(made, read, at, u)
    now, still = (mean(np.degrees(np.linalg.norm(each, axis=-1))) for each in (turns, read.turns))
    by_part = tuple((part, float(now[row]), float(still[row])) for row, part in enumerate(made.parts))
    moved = float(mean(np.linalg.norm(shifts, axis=-1)))
    everywhere = (float(now.mean()), float(still.mean())) if by_part else (0.0, 0.0)
    return LearnReport(
        motions, *everywhere, moved, by_part, tuple(zip((*made.parts, "shift"), rests.tolist(), strict=True))
    )
