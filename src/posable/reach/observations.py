"""Reaches observed in motions: the position of a hand relative to the standing start, and the body's change since then.

Decided here, where the paper (Kallmann 2008, Extensions) only mentions motion capture:

- *The start* of a motion is the frame in which the body stands most at ease: feet still, trunk upright, arms hanging,
  hands slow. Not simply the first one: clips are cut anywhere.
- *The ground moves with the feet.* People step and face elsewhere between reaches, and a behaviour does not depend on
  where a body stands or which direction it faces. Every frame is therefore moved over the ground, without tilting, so
  that its feet come as near as they can to those of the start. It counts when they then are near them, at their height,
  and still: a reacher's feet are fixed. Heels that rise for a high target, by a few centimetres, are subtracted from
  the hips: the feet of a reacher stay flat.
- *Positions seen often count once.* A hand rests for seconds and passes in a blink, so the frames of one small cube of
  space divide its weight among them.
- *The other hand's reaches count for it.* A frame's weight is this hand's fraction of how far both have moved.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..compute import PosableError
from ..compute.types import Bools, Floats
from ..math import conjugate, exp, log, multiply, rotate
from ..skeleton import Frames, Motion, Pose
from .behaviour import ARMS
from .posture import Posture

if TYPE_CHECKING:
    from ..body import Humanoid

MAX_ASIDE = 0.15  # [leg lengths] that a foot may stand from where it stood at the start
MAX_RISE = 0.06  # [leg lengths] that it may be higher or lower: more is a step, a jump or tiptoe
MAX_DRIFT = 0.18  # [leg lengths a second] that a standing foot may drift, over `WINDOW`
WINDOW = 0.2  # [s]
AT_EASE = 45.0  # [degrees] that the arms of a start may be away from hanging
SPEED_COST = 30.0  # [degrees] that count as much as a metre a second in the choice of a start
YAW_COST = 0.5  # [degrees] of the arms that count as much as one degree of yaw of hips or head
CUBE = 0.1  # [arm lengths]: frames with the hand in one such cube divide its weight
MIN_FRACTION = 0.1  # of the reach, below which a frame is the other hand's
FOOT = 0.25  # [leg lengths] ahead of the ankle: a point that shows the direction of a foot


@dataclass(frozen=True, eq=False)
class Reaches:
    """Frames of one motion in which the hand reaches while the feet stand still."""

    name: str
    start: int
    """The frame of the standing start."""
    positions: Floats
    """(N, 3) of the hand, in the arm's frame of the start [arm lengths]."""
    rotations: Floats
    """(N, R, 3) rotation vectors of the parts, from the start to the frame [rad]."""
    shifts: Floats
    """(N, 3) displacements of the hips [leg lengths]: left, up, ahead."""
    weights: Floats
    """(N,) of each frame, above 0."""
    left_out: dict[str, int]
    """How many frames were left out, by reason."""


def read_reaches(body: Humanoid, limb: str, motion: Motion, parts: tuple[str, ...]) -> Reaches:
    """Return the reaches of a motion of this body, or of another one, whose postures are then retargeted."""
    name = motion.name or "motion"
    try:
        actor = body if motion.skeleton is body.skeleton else type(body)(motion.skeleton)
    except PosableError as error:
        raise PosableError(f"motion {name!r}: {error}") from error
    if not len(motion) or not motion.pose.is_finite():
        raise PosableError(f"motion {name!r} has no frames, or numbers that are not finite")
    frames = actor.skeleton.forward(motion.pose)
    still = _still(actor, frames, motion.fps)
    start, away = _start(actor, frames, motion, still)
    if away > AT_EASE:
        return _nothing(name, len(parts), {"the arms never hang": len(motion)})
    moved, aside, rises = _aligned(actor, motion.pose, frames, start)
    aligned = actor.skeleton.forward(moved)
    hand, other = (_hand(actor, arm, aligned, start) for arm in (limb, ARMS[1 - ARMS.index(limb)]))
    a, b = (((positions - positions[start]) ** 2).sum(axis=-1) for positions in (hand, other))
    fraction = (a + 1e-4) / (a + b + 2e-4)
    reasons = {
        "the feet move": ~still,
        "a foot is off the ground": np.abs(rises).max(axis=1) > MAX_RISE,
        "the feet stand elsewhere": aside > MAX_ASIDE,
        "the other hand reaches": fraction < MIN_FRACTION,
    }
    left_out, used = {}, np.ones(len(motion), dtype=bool)
    for reason, rows in reasons.items():
        if count := int((used & rows).sum()):
            left_out[reason] = count
        used &= ~rows
    if not used.any():
        return _nothing(name, len(parts), left_out)
    rotations, shifts = _changes(body, actor, moved, start, used, parts)
    shifts[:, 1] -= rises[used].mean(axis=1)
    _, cube, counts = np.unique(np.floor(hand[used] / CUBE), axis=0, return_inverse=True, return_counts=True)
    weights = fraction[used] / counts[cube.reshape(-1)]
    return Reaches(name, start, hand[used], rotations, shifts, weights, left_out)


def _nothing(name: str, parts: int, left_out: dict[str, int]) -> Reaches:
    return Reaches(name, -1, np.zeros((0, 3)), np.zeros((0, parts, 3)), np.zeros((0, 3)), np.zeros(0), left_out)


def _feet(body: Humanoid, frames: Frames) -> Floats:
    """Return the positions (F, 2, 3) of the ankles [m]."""
    return np.asarray(frames.positions[:, [body.index("right_foot"), body.index("left_foot")]])


def _still(body: Humanoid, frames: Frames, fps: float) -> Bools:
    """Return whether (F,) both feet stand still; over a window, since captured ones tremble."""
    feet, half = _feet(body, frames), max(1, round(0.5 * WINDOW * fps))
    rows = np.arange(len(feet))
    after, before = np.minimum(rows + half, len(feet) - 1), np.maximum(rows - half, 0)
    drift = np.linalg.norm(feet[after] - feet[before], axis=-1).max(axis=-1)
    seconds = np.maximum(after - before, 1) / fps
    return np.asarray(drift <= MAX_DRIFT * body.leg_length * seconds)


def _start(body: Humanoid, frames: Frames, motion: Motion, still: Bools) -> tuple[int, float]:
    """Return (the frame in which the body is most at ease, how far its arms are from hanging there [degrees]).

    An arm hangs when it points down in the world and along the trunk: somebody bent over has only the first.
    """
    away, speed = np.zeros(len(motion)), np.zeros(len(motion))
    for limb in ARMS:
        arm = body.limb(limb)
        shoulder, hand = (frames.positions[:, body.limb_joints(limb)[k]] for k in (0, 2))
        for direction in (hand - shoulder, rotate(conjugate(arm.frame(frames)[0]), hand - shoulder)):
            angle = np.arctan2(np.hypot(direction[:, 0], direction[:, 2]), -direction[:, 1])
            away = np.maximum(away, np.degrees(angle))
        if len(motion) > 1:
            speed = np.maximum(speed, np.linalg.norm(np.gradient(hand, axis=0), axis=-1) * motion.fps)
    yaw = np.abs(_yaw(body, frames)).max(axis=0)
    best = int(np.argmin(away + SPEED_COST * speed + YAW_COST * yaw + np.where(still, 0.0, 1e6)))
    return best, float(away[best]) if still[best] else math.inf


def _yaw(body: Humanoid, frames: Frames) -> Floats:
    """Return the yaw (2, F) of hips and head from the direction of the feet [degrees]."""
    ahead = [
        rotate(body.canonical_orientation(frames, body.index(role)), np.array([0.0, 0.0, 1.0]))[:, [2, 0]]
        for role in ("hips", "head", "right_foot", "left_foot")
    ]
    feet = ahead[2] + ahead[3]
    return np.degrees(
        [np.arctan2(feet[:, 0] * a[:, 1] - feet[:, 1] * a[:, 0], (feet * a).sum(axis=-1)) for a in ahead[:2]]
    )


def _aligned(body: Humanoid, pose: Pose, frames: Frames, start: int) -> tuple[Pose, Floats, Floats]:
    """Return (poses moved and rotated over the ground onto the start's feet, the horizontal distance (F,) of the worse
    foot from there, and the height (F, 2) of each above it [leg lengths]).

    The rigid motion of the plane is a least-squares fit (Procrustes) of four points: the ankles, and a point ahead of
    each.
    """
    feet = _feet(body, frames)
    ahead = np.stack(
        [body.canonical_orientation(frames, body.index(f"{side}_foot")) for side in ("right", "left")], axis=1
    )
    toes = feet + FOOT * body.leg_length * rotate(ahead, np.array([0.0, 0.0, 1.0]))
    points = np.concatenate([feet, toes], axis=1)[..., [2, 0]]  # ahead, left: a rotation about +Y is positive
    middle = points.mean(axis=1)
    flat, goal = points - middle[:, None], points[start] - middle[start]
    across = flat[..., 0] * goal[:, 1] - flat[..., 1] * goal[:, 0]
    angle = np.arctan2(across.sum(axis=1), (flat * goal).sum(axis=(1, 2)))
    rotation = exp(np.stack([0.0 * angle, angle, 0.0 * angle], axis=-1))
    centre = np.stack([middle[:, 1], 0.0 * angle, middle[:, 0]], axis=-1)
    rotations = pose.rotations.copy()
    rotations[:, 0] = multiply(rotation, rotations[:, 0])
    moved = Pose(rotate(rotation, pose.translation - centre) + centre[start], rotations, pose.offsets)
    aligned = rotate(rotation[:, None], feet - centre[:, None]) + centre[start]
    off = (aligned - feet[start]) / body.leg_length
    return moved, np.hypot(off[..., 0], off[..., 2]).max(axis=1), off[..., 1]


def _hand(body: Humanoid, limb: str, frames: Frames, start: int) -> Floats:
    """Return the positions (F, 3) of the hand in the arm's frame of the start [arm lengths]."""
    arm = body.limb(limb)
    axes, shoulder = arm.frame(frames)
    hand = frames.positions[:, body.limb_joints(limb)[2]]
    return np.asarray(rotate(conjugate(axes[start]), hand - shoulder[start]) / (arm.upper + arm.lower))


def _changes(
    body: Humanoid, actor: Humanoid, poses: Pose, start: int, used: Bools, parts: tuple[str, ...]
) -> tuple[Floats, Floats]:
    """Return (rotation vectors (N, R, 3) of the parts from the start to each frame, shifts (N, 3) of the hips)."""
    first, frames = poses[[start]], poses[used]
    if actor is not body:
        first, frames = (body.pose(actor.canonical(each)) for each in (first, frames))
    before, after = Posture.of(body, first, first, parts), Posture.of(body, frames, first, parts)
    return log(multiply(conjugate(before.rotations), after.rotations)), after.hips.copy()
