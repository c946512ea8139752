"""Behaviours learned from motion: keys where people reach, postures that explain how their bodies moved with the hand.

Kallmann 2008, Extensions, suggests key postures in space, taken from motion capture; both are here, and keys on the
swing plane too, which an artist can go on editing.

*Changes* from the standing start of each motion (`observations`) are learned, not postures as they are: how somebody
stands is not how they reach, and two captured people standing alike differ by ten degrees a joint. With a change
written as a rotation vector y, a hand at a position where the behaviour has weight u, and keys of weight w_k there,
u * sum_k w_k x_k = y is linear in the postures x_k: one regularised least-squares problem for all keys, each part and
the hips' shift by itself. Its Tikhonov regularisation pulls each key a little towards the mean of its neighbours, so
that keys without examples (the outer ones of the plane) continue the others, and very little towards rest, so that keys
without any neighbour with examples stay at rest.

Interpolated rotation vectors are not quite interpolated quaternions, and u of a mean is not quite the mean of u's;
Gauss-Newton steps, with residuals from the behaviour itself, correct that.

Learned postures are then made feasible, by as little as it takes: legs that reach their fixed feet, and a free arm
clear of the legs. Captured people stand with their knees a little bent and their arms a little away. A figure whose
legs are straight and whose arms hang next to its thighs could not move as they do: a leg would be too short by a
millimetre, a hand would sink into a thigh, and the reacher would lower the weight of the behaviour.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Sequence, Sized
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from ..body.canonical import CanonicalPose, other_side
from ..body.collision.clearance import clearance
from ..body.roles import ROLES
from ..compute import PosableError, ShapeError
from ..compute.types import ArrayLike, Floats, floats
from ..limb import Target
from ..math import axis_angle, conjugate, exp, log, multiply, rotate, slerp
from ..skeleton import Motion, Pose
from .behaviour import MAX_SHIFT, MIN_DISTANCE, Behaviour
from .field import furthest_key
from .observations import Reaches, read_reaches
from .posture import Posture, Weight, drivable_parts

if TYPE_CHECKING:
    from ..body import Humanoid

PARTS = ("hips", "spine", "chest", "upper_chest", "neck", "head")
KEYS = {"linear": 12, "smooth": 10, "around": 16}
SMOOTHNESS = 0.03  # of the pull to the mean of a key's neighbours, where 1 is the pull of its examples
RIDGES = (1e-3, 1e-2, 0.1, 0.3, 1.0, 3.0, 10.0)  # of the pull to rest, the same; cross-validation chooses one
FAR = 0.3  # k of the weight: hands that reach to the floor are 1.8 arm lengths from where the shoulder stood
NEIGHBOURS = 4  # of a key in space
STEPS = 2
STANDING = np.array([1.0, 0.0, 0.0, 0.0])
STRAIGHT = 0.99  # of the distance from hip to foot when standing: how far a leg may stretch
OUTWARD = np.radians(np.arange(0.0, 62.0, 4.0))  # how far the free arm may be rotated away from the body
MAX_STRIDE = 0.7  # of a leg's length: larger horizontal distances from hip to foot count as this one
SAMPLES, PROJECTIONS = 1500, 400
SPARE = math.radians(4.0)
WORTHWHILE = 0.05  # of how bodies moved: a behaviour that explains less is not offered without saying so
TESTED_WEIGHTS = np.array([0.15, 0.35, 0.6, 0.8, 1.0])


@dataclass(frozen=True)
class MotionReport:
    """The frames that one motion contributed."""

    name: str
    frames: int
    used: int
    start: int
    """The frame of the standing start; -1 where it has none."""
    left_out: tuple[tuple[str, int], ...]
    """(reason, number of frames) of those not used."""


@dataclass(frozen=True, repr=False)
class LearnReport:
    """The motions that a behaviour was learned from, and how well it explains them. Errors are weighted means."""

    motions: tuple[MotionReport, ...]
    orientation_error: float
    """Between each part and the behaviour, over parts and frames [degrees]."""
    standing_error: float
    """The same for a body that only stands [degrees]."""
    hips_error: float
    """Between the hips and where the behaviour has them [leg lengths]."""
    by_part: tuple[tuple[str, float, float], ...]
    """Each part, its orientation error, and that of a body that only stands [degrees]."""
    ridges: tuple[tuple[str, float], ...]
    """How strongly each part, and the hips' "shift", was pulled to rest: the less motions agree on it, the more."""
    unseen: float | None = None
    """The fraction of the squared rotations of motions that were left out in turn which the others predict: 1 all of
    them, 0 no more than standing still does, below 0 less. None where there is only one motion."""

    @property
    def better_than_standing(self) -> bool:
        """Whether it explains at least 5 % of how bodies moved: of motions left out, or of the only one."""
        return self.explained >= WORTHWHILE

    @property
    def explained(self) -> float:
        """`unseen`, or with only one motion the fraction of its mean rotations that the behaviour explains."""
        if self.unseen is not None:
            return self.unseen
        return 1.0 - self.orientation_error / self.standing_error if self.standing_error > 0.0 else 0.0

    @property
    def note(self) -> str:
        """A warning for whoever uses it; "" where it explains enough."""
        if self.better_than_standing:
            return ""
        whose = "motions that it did not see" if self.unseen is not None else "its own motion"
        return (
            f"this behaviour is no better than standing still: it explains {100.0 * self.explained:.0f} % of how "
            f"bodies moved in {whose} ({self.orientation_error:.1f} degrees a part left of {self.standing_error:.1f})"
        )

    @property
    def used(self) -> int:
        """Frames learned from."""
        return sum(motion.used for motion in self.motions)

    @property
    def frames(self) -> int:
        """Frames looked at."""
        return sum(motion.frames for motion in self.motions)

    def __repr__(self) -> str:
        return f"LearnReport({len(self.motions)} motions: {self._summary()})"

    def _summary(self) -> str:
        return (
            f"{self.used} of {self.frames} frames; {self.orientation_error:.1f} degrees a part are not explained "
            f"of {self.standing_error:.1f}, {100.0 * self.hips_error:.1f} % of a leg length of the hips' shift"
            + (f"; {self.note}" if self.note else "")
        )

    def __str__(self) -> str:
        lines = [self._summary()]
        for motion in self.motions:
            why = "".join(f", {count}: {reason}" for reason, count in motion.left_out)
            lines.append(f"{motion.name}: {motion.used} of {motion.frames}{why}")
        return "\n".join(lines)


def fit(
    body: Humanoid,
    limb: str,
    motions: Motion | Iterable[Motion],
    keys: int | ArrayLike | None,
    interpolation: str,
    parts: Sequence[str] | None,
    weight: Weight | None,
    name: str,
    seed: int,
    progress: Callable[[float], None] | None,
) -> Behaviour:
    """Do `Behaviour.fit`, which describes the arguments."""
    around = interpolation == "around"
    if parts is None:
        parts = [part for part in drivable_parts(limb) if part in (*PARTS, *_arms(limb)) and part in body.roles]
    weight = weight or (Weight("constant", 1.0) if around else Weight("smooth", FAR))
    made = Behaviour(limb, parts, interpolation=interpolation, weight=weight, name=name)
    advance = (lambda _: None) if progress is None else progress
    reaches, rows, reports = _read(body, made, [motions] if isinstance(motions, Motion) else motions, advance)
    at, u = _located(made, reaches.positions)
    for position in _key_positions(made, KEYS[interpolation] if keys is None else keys, at, reaches.weights * u, seed):
        made.add(position, Posture.neutral(made.parts))
    ridges, unseen = _solve(body, made, reaches, at, u, rows)
    sink(body, made, seed)
    keep_clear(body, made)
    made.learned = _report(made, reaches, at, u, reports, ridges, unseen)
    if made.learned.note and reaches.rotations.size:
        warnings.warn(made.learned.note, UserWarning, stacklevel=4)
    advance(1.0)
    return made


def _arms(limb: str) -> tuple[str, ...]:
    """Return the parts of the free arm, and the shoulder of the one that reaches."""
    side = limb[:-4]
    return (f"{side}_shoulder", *(other_side(f"{side}_{part}") for part in ("shoulder", "upper_arm", "lower_arm")))


def _read(
    body: Humanoid, made: Behaviour, motions: Iterable[Motion], progress: Callable[[float], None]
) -> tuple[Reaches, list[slice], tuple[MotionReport, ...]]:
    """Return (the reaches of all motions in one, the rows of each that has any, a report of each)."""
    every, reports = [], []
    total = len(motions) if isinstance(motions, Sized) else 0
    for motion in motions:
        one = read_reaches(body, made.limb, motion, made.parts)
        every.append(one)
        reports.append(MotionReport(one.name, len(motion), len(one.weights), one.start, tuple(one.left_out.items())))
        progress(0.9 * len(every) / total if total else 0.0)
    if not any(len(one.weights) for one in every):
        why = "; ".join(f"{report.name}: {dict(report.left_out)}" for report in reports) or "no motion was given"
        raise PosableError(f"there is no frame to learn from ({why}); the feet must stand where they stood at a start")
    every = [one for one in every if len(one.weights)]
    ends = np.cumsum([0, *(len(one.weights) for one in every)]).tolist()
    together = Reaches(
        "",
        -1,
        np.concatenate([one.positions for one in every]),
        np.concatenate([one.rotations for one in every]),
        np.concatenate([one.shifts for one in every]),
        # A motion's weight is the root of how much of space its hand visits: one that goes everywhere is an exception.
        np.concatenate([one.weights / math.sqrt(one.weights.sum()) for one in every]),
        {},
    )
    return together, [slice(a, b) for a, b in pairwise(ends)], tuple(reports)


def _located(made: Behaviour, positions: Floats) -> tuple[Floats, Floats]:
    """Return (where hands at positions [arm lengths] lie among the keys, weights of the behaviour there)."""
    if made.interpolation == "around":
        return positions, np.full(len(positions), made.weight.k)
    return made.locate(positions, 1.0)


def _key_positions(made: Behaviour, keys: int | ArrayLike, at: Floats, weights: Floats, seed: int) -> Floats:
    """Return the positions (K, 2 or 3) of the keys, none nearer to another than a behaviour allows."""
    if isinstance(keys, int):
        if not 1 <= keys <= 400:
            raise PosableError(f"keys is {keys}; expected from 1 to 400, or their positions")
        found = _centres(at, weights, keys, np.random.default_rng(seed))
    else:
        found = floats(keys, "keys")
        if found.ndim != 2 or found.shape[1] != at.shape[1]:
            raise ShapeError(f"keys have shape {found.shape}; expected (K, {at.shape[1]}), or how many")
        return found
    apart: list[Floats] = []
    for position in found:
        if all(np.linalg.norm(position - other) > 10.0 * MIN_DISTANCE for other in apart):
            apart.append(position)
    return np.array(apart)


def _centres(points: Floats, weights: Floats, count: int, rng: np.random.Generator) -> Floats:
    """Return at most `count` centres (K, D) of points (N, D) with weights (N,): k-means, begun as k-means++."""
    centres = points[[rng.choice(len(points), p=weights / weights.sum())]]
    while len(centres) < count:
        off = ((points[:, None] - centres[None]) ** 2).sum(axis=-1).min(axis=1) * weights
        if off.max() <= 0.0:
            break
        centres = np.concatenate([centres, points[[rng.choice(len(points), p=off / off.sum())]]])
    for _ in range(50):
        nearest = ((points[:, None] - centres[None]) ** 2).sum(axis=-1).argmin(axis=1)
        sums = np.zeros((len(centres), points.shape[1]))
        np.add.at(sums, nearest, weights[:, None] * points)
        total = np.bincount(nearest, weights, len(centres))
        moved = np.where(total[:, None] > 0.0, sums / np.maximum(total, 1e-300)[:, None], centres)
        if np.array_equal(moved, centres):
            break
        centres = moved
    return centres


def _solve(
    body: Humanoid, made: Behaviour, reaches: Reaches, at: Floats, u: Floats, rows: list[slice]
) -> tuple[Floats, float | None]:
    """Give every key the posture that explains the examples best: regularised least squares with Gauss-Newton steps.

    Returns:
        How strongly each part, and then the hips' shift, was pulled to rest; and `LearnReport.unseen`.
    """
    design = made.key_weights(at) * u[:, None]
    weighted = design * (reaches.weights * (design.shape[1] / reaches.weights.sum()))[:, None]
    laplacian = np.eye(design.shape[1]) - _neighbours(made)
    smooth, data = SMOOTHNESS * laplacian.T @ laplacian, weighted.T @ design
    observed = _flat(reaches.rotations, reaches.shifts)
    chosen = [
        _best_ridge(design, weighted, observed[:, k : k + 3], smooth, rows) for k in range(0, observed.shape[1], 3)
    ]
    ridges = np.array([ridge for ridge, _ in chosen])
    fraction = reaches.weights * (design.shape[1] / reaches.weights.sum())
    whole = float((fraction[:, None] * observed[:, :-3] ** 2).sum())
    unseen = sum(gain for _, gain in chosen[:-1]) / whole if len(rows) > 1 and whole > 0.0 else None
    found = np.zeros((design.shape[1], observed.shape[1]))
    for _ in range(1 + STEPS):
        gradient = weighted.T @ _flat(*_residuals(made, reaches, at, u))
        for part, ridge in enumerate(ridges):
            pull, columns = smooth + ridge * np.eye(len(smooth)), slice(3 * part, 3 * part + 3)
            found[:, columns] += np.linalg.solve(data + pull, gradient[:, columns] - pull @ found[:, columns])
        for key, x in zip(made.keys, found, strict=True):
            made.set(key.id, _posture(body, made.parts, x))
    return ridges, unseen


def _best_ridge(
    design: Floats, weighted: Floats, observed: Floats, smooth: Floats, rows: list[slice]
) -> tuple[float, float]:
    """Return the pull to rest of the least error in cross-validation, each motion predicted from the others, and by how
    much that squared error is below standing still's.
    """
    if len(rows) < 2:
        return RIDGES[0], 0.0
    normals = np.array([weighted[motion].T @ design[motion] for motion in rows])
    sides = np.array([weighted[motion].T @ observed[motion] for motion in rows])
    errors = np.zeros(len(RIDGES))
    for row, ridge in enumerate(RIDGES):
        pull = smooth + ridge * np.eye(len(smooth))
        x = np.linalg.solve(normals.sum(axis=0) - normals + pull, sides.sum(axis=0) - sides)
        errors[row] = (x * (normals @ x)).sum() - 2.0 * (x * sides).sum()
    best = int(np.argmin(errors))
    return RIDGES[best], -float(errors[best])


def _flat(rotations: Floats, shifts: Floats) -> Floats:
    return np.concatenate([rotations.reshape(len(rotations), -1), shifts], axis=1)


def _neighbours(made: Behaviour) -> Floats:
    """Return rows (K, K) that average each key's neighbours: along the triangles' edges, or the nearest in space."""
    keys = made.keys
    near = np.zeros((len(keys), len(keys)))
    if made.interpolation == "around":
        positions = np.array([key.at for key in keys])
        order = np.linalg.norm(positions[:, None] - positions[None], axis=-1).argsort(axis=1)
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
    """Return the posture of rotation vectors and a shift (3 R + 3,), inside the body's limits."""
    rotations = exp(x[:-3].reshape(-1, 3)) if parts else np.zeros((0, 4))
    rows = [row for row, part in enumerate(parts) if part in body.limits]
    if rows:
        rotations[rows] = body.limits.clamp([parts[row] for row in rows], rotations[rows])
    return standing(body, Posture(parts, rotations, np.clip(x[-3:], -MAX_SHIFT, MAX_SHIFT)))


def _residuals(made: Behaviour, reaches: Reaches, at: Floats, u: Floats) -> tuple[Floats, Floats]:
    """Return (rotation vectors (N, R, 3) [rad], shifts (N, 3) [leg lengths]) from the behaviour to the observations."""
    predicted = made.posture_at(at)
    rotations = slerp(STANDING, predicted.rotations, u[:, None])
    return log(multiply(conjugate(rotations), exp(reaches.rotations))), reaches.shifts - u[:, None] * predicted.hips


def _report(
    made: Behaviour,
    reaches: Reaches,
    at: Floats,
    u: Floats,
    motions: tuple[MotionReport, ...],
    ridges: Floats,
    unseen: float | None,
) -> LearnReport:
    def mean(values: Floats) -> Floats:
        return np.average(values, axis=0, weights=reaches.weights)

    rotations, shifts = _residuals(made, reaches, at, u)
    now, standing_still = (mean(np.degrees(np.linalg.norm(e, axis=-1))) for e in (rotations, reaches.rotations))
    by_part = tuple((part, float(now[row]), float(standing_still[row])) for row, part in enumerate(made.parts))
    hips = float(mean(np.linalg.norm(shifts, axis=-1)))
    everywhere = (float(now.mean()), float(standing_still.mean())) if by_part else (0.0, 0.0)
    return LearnReport(
        motions, *everywhere, hips, by_part, tuple(zip((*made.parts, "shift"), ridges.tolist(), strict=True)), unseen
    )


def standing(body: Humanoid, posture: Posture) -> Posture:
    """Return the posture with the hips so low that both legs reach their feet: from straight legs they only go down.

    The hip joints then lie in a ball around each foot, as they do at the start, and so do those of all lower weights.
    """
    return posture.shifted(posture.hips - [0.0, float(_too_high(body, posture)), 0.0])


def sink(body: Humanoid, made: Behaviour, seed: int = 0) -> None:
    """Lower the hips of the keys where smooth weights, which may be below 0, lift the hips between them.

    The least lowering is found by the method of projections: at the worst of many samples, onto what the legs need.
    """
    rng = np.random.default_rng(seed)
    if made.interpolation == "around":
        direction = rng.normal(size=(SAMPLES, 3))
        direction /= np.linalg.norm(direction, axis=-1, keepdims=True)
        furthest = furthest_key(np.array([key.at for key in made.keys]))
        at = furthest * direction * rng.uniform(size=(SAMPLES, 1)) ** (1 / 3)
    else:
        angle, size = rng.uniform(0.0, math.tau, (SAMPLES, 1)), np.sqrt(rng.uniform(size=(SAMPLES, 1)))
        at = np.array(made.ellipse.centre) + size * np.hstack([np.cos(angle), np.sin(angle)]) * made.ellipse.radii
    weights, needed = made.key_weights(at), _too_high(body, made.posture_at(at))
    lower = np.zeros(weights.shape[1])
    for _ in range(PROJECTIONS):
        missing = needed - weights @ lower
        worst = int(np.argmax(missing))
        if missing[worst] <= 0.0:
            break
        row = weights[worst]
        lower = np.maximum(lower + (missing[worst] + 1e-4) * row / (row @ row), 0.0)
    for key, down in zip(made.keys, lower, strict=True):
        if key.posture is not None and down > 0.0:
            made.set(key.id, key.posture.shifted(key.posture.hips - [0.0, down, 0.0]))


def _too_high(body: Humanoid, posture: Posture) -> Floats:
    """Return how much lower (...) [leg lengths] the hips must be for both legs to reach their feet."""
    positions = body.skeleton.forward(body.neutral_pose).positions
    hips = positions[body.index("hips")]
    rotation = posture.rotation("hips") if "hips" in posture.parts else STANDING
    needed = np.zeros(posture.shape)
    for side in ("right", "left"):
        joint, foot = positions[body.index(f"{side}_upper_leg")], positions[body.index(f"{side}_foot")]
        above = hips + posture.hips * body.leg_length + rotate(rotation, joint - hips) - foot
        length = STRAIGHT * float(np.linalg.norm(joint - foot))
        stride = np.minimum(np.hypot(above[..., 0], above[..., 2]), MAX_STRIDE * length)
        needed = np.maximum(needed, above[..., 1] - np.sqrt(length**2 - stride**2))
    return np.asarray(needed / body.leg_length)


def keep_clear(body: Humanoid, made: Behaviour) -> None:
    """Rotate the free arm of each key outward until the body does not touch itself, at any weight."""
    arm = other_side(f"{made.limb[:-4]}_upper_arm")
    if arm not in made.parts:
        return
    row, out = made.parts.index(arm), 1.0 if arm.startswith("left") else -1.0
    rotations = np.array([key.posture.rotations for key in made.keys if key.posture is not None])
    shifts = np.array([key.posture.hips for key in made.keys if key.posture is not None])
    tried = np.repeat(rotations[:, None], len(OUTWARD), axis=1)  # (K, A, R, 4)
    tried[:, :, row] = _rotated_out(body, arm, rotations[:, None, row], out * OUTWARD)
    weights = TESTED_WEIGHTS[:, None]
    weighted = slerp(STANDING, tried[:, :, None], weights)  # (K, A, S, R, 4)
    poses = _with_fixed_feet(body, made.parts, weighted, shifts[:, None, None] * weights)
    volumes = clearance(body, leave_out=[made.limb])
    before = volumes.contacts(body.skeleton.forward(body.neutral_pose))
    touched = (volumes.contacts(body.skeleton.forward(poses)) & ~before).sum(axis=(-2, -1))
    for key, counts, changed, shift in zip(made.keys, touched, rotations, shifts, strict=True):
        if fewest := int(np.argmin(counts)):  # the first of the best
            changed[row] = _rotated_out(body, arm, changed[row], np.asarray(out * (OUTWARD[fewest] + SPARE)))
            made.set(key.id, Posture(made.parts, changed, shift))


def _rotated_out(body: Humanoid, arm: str, q: Floats, angle: Floats) -> Floats:
    """Return rotations of an upper arm rotated away from the body by an angle [rad], inside its limits."""
    rotated = multiply(axis_angle([0.0, 0.0, 1.0], angle), q)
    return body.limits.clamp(arm, rotated) if arm in body.limits else rotated


def _with_fixed_feet(body: Humanoid, parts: tuple[str, ...], part_rotations: Floats, shifts: Floats) -> Pose:
    """Return the body in postures (..., R, 4) with shifts (..., 3) [leg lengths], its feet as in the neutral pose."""
    neutral = body.canonical(body.neutral_pose)
    roles = tuple(role for role in ROLES if role in body.roles or role in parts)
    rotations = np.zeros((*part_rotations.shape[:-2], len(roles), 4)) + STANDING
    rotations[..., [roles.index(part) for part in parts], :] = part_rotations
    pose = body.pose(CanonicalPose(roles, rotations, neutral.hips + shifts), base=body.neutral_pose)
    positions = body.skeleton.forward(body.neutral_pose).positions
    for foot in ("right_foot", "left_foot"):
        pose = body.place(pose, foot, Target(positions[body.index(foot)], STANDING)).pose
    return pose
