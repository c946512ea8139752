"""Reaches read out of motions: where a hand is, seen from the standing start, and how the body differs from that start.

Decided here, where the paper (Kallmann 2008, Extensions) only says that motion capture suits:

- *The start* of a motion is the frame in which the body stands most at ease: feet still, trunk upright, arms hanging,
  hands slow. Not simply the first one: clips are cut anywhere.
- *The ground goes along.* People step and turn between reaches, and a behaviour does not care where or which way a body
  stands. Every frame is therefore brought over the ground, without tilting, so that its feet come as near as they can
  to where the start's are. It counts when they then are near it, at its height, and still: a reacher's feet stay.
  What heels rise for a high place, a few centimetres, is taken off the hips: the feet of a reacher stay flat.
- *Places seen often count once.* A hand rests for seconds and passes in a blink, so frames share the weight of the
  small cube of space that the hand is in.
- *The other hand's reaches count for it.* A frame's weight goes by how far this hand has moved, among both.
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
from .posture import Posture

if TYPE_CHECKING:
    from ..body import Humanoid

ASIDE = 0.15  # [leg lengths] that a foot may stand from where it stood at the start
HEIGHT = 0.06  # [leg lengths] that it may be higher or lower: more is a step, a jump or tiptoe
STILL = 0.18  # [leg lengths a second] that a standing foot may drift, over `WINDOW`
WINDOW = 0.2  # [s]
AT_EASE = 45.0  # [degrees] that the arms of a start may be away from hanging
SLOW = 30.0  # degrees that count as much as a metre a second in the choice of a start
ASTRAY = 0.5  # degrees of the arms that count as much as one by which hips or head are turned aside
CUBE = 0.1  # [arm lengths]: frames with the hand in one such cube share its weight
LEAST = 0.1  # share of the reach below which a frame is the other hand's
FOOT = 0.25  # [leg lengths]: how far ahead of the ankle the point is that says where a foot points


@dataclass(frozen=True, eq=False)
class Reaches:
    """Frames of one motion in which the hand reaches while the feet stay."""

    name: str
    start: int
    """The frame of the standing start."""
    places: Floats
    """(N, 3) of the hand, in the arm's frame of the start [arm lengths]."""
    turns: Floats
    """(N, R, 3) rotation vectors of the parts, from the start to the frame [rad]."""
    shifts: Floats
    """(N, 3) of the hips [leg lengths]: left, up, ahead."""
    weights: Floats
    """(N,): how much each counts, above 0."""
    left_out: dict[str, int]
    """How many frames did not count, and why."""


def read_reaches(body: Humanoid, limb: str, motion: Motion, parts: tuple[str, ...]) -> Reaches:
    """The reaches of a motion of this body, or of another one, whose postures are then carried over."""
    name = motion.name or "motion"
    try:
        whose = body if motion.skeleton is body.skeleton else type(body)(motion.skeleton)
    except PosableError as error:
        raise PosableError(f"motion {name!r}: {error}") from error
    if not len(motion) or not motion.pose.is_finite():
        raise PosableError(f"motion {name!r} has no frames, or numbers that are not finite")
    frames = whose.skeleton.forward(motion.pose)
    still = _still(whose, frames, motion.fps)
    start, away = _start(whose, frames, motion, still)
    if away > AT_EASE:
        return _nothing(name, len(parts), {"the arms never hang": len(motion)})
    moved, aside, rises = _over_the_ground(whose, motion.pose, frames, start)
    there = whose.skeleton.forward(moved)
    mine, other = (_hand(whose, arm, there, start) for arm in (limb, _other(limb)))
    a, b = (((places - places[start]) ** 2).sum(axis=-1) for places in (mine, other))
    share = (a + 1e-4) / (a + b + 2e-4)
    reasons = {
        "the feet move": ~still,
        "a foot is off the ground": np.abs(rises).max(axis=1) > HEIGHT,
        "the feet stand elsewhere": aside > ASIDE,
        "the other hand reaches": share < LEAST,
    }
    left_out, used = {}, np.ones(len(motion), dtype=bool)
    for reason, rows in reasons.items():
        if count := int((used & rows).sum()):
            left_out[reason] = count
        used &= ~rows
    if not used.any():
        return _nothing(name, len(parts), left_out)
    turns, shifts = _changes(body, whose, moved, start, used, parts)
    shifts[:, 1] -= rises[used].mean(axis=1)
    cubes = np.unique(np.floor(mine[used] / CUBE), axis=0, return_inverse=True, return_counts=True)
    weights = share[used] / cubes[2][cubes[1].reshape(-1)]
    return Reaches(name, start, mine[used], turns, shifts, weights, left_out)


def _nothing(name: str, parts: int, left_out: dict[str, int]) -> Reaches:
    return Reaches(name, -1, np.zeros((0, 3)), np.zeros((0, parts, 3)), np.zeros((0, 3)), np.zeros(0), left_out)


def _other(limb: str) -> str:
    return "left_arm" if limb == "right_arm" else "right_arm"


def _feet(body: Humanoid, frames: Frames) -> Floats:
    """(F, 2, 3) the ankles [m]."""
    return np.asarray(frames.positions[:, [body.index("right_foot"), body.index("left_foot")]])


def _still(body: Humanoid, frames: Frames, fps: float) -> Bools:
    """(F,): whether both feet stand; over a window, since captured ones tremble."""
    feet, reach = _feet(body, frames), max(1, round(0.5 * WINDOW * fps))
    rows = np.arange(len(feet))
    after, before = np.minimum(rows + reach, len(feet) - 1), np.maximum(rows - reach, 0)
    drift = np.linalg.norm(feet[after] - feet[before], axis=-1).max(axis=-1)
    seconds = np.maximum(after - before, 1) / fps
    return np.asarray(drift <= STILL * body.leg_length * seconds)


def _start(body: Humanoid, frames: Frames, motion: Motion, still: Bools) -> tuple[int, float]:
    """(the frame in which the body is most at ease, how far its arms are from hanging there [degrees]).

    An arm hangs when it points down in the world and along the trunk: somebody bent over has only the first.
    """
    away, speed = np.zeros(len(motion)), np.zeros(len(motion))
    for limb in ("right_arm", "left_arm"):
        arm = body.limb(limb)
        shoulder, hand = (frames.positions[:, body.limb_joints(limb)[k]] for k in (0, 2))
        for turned in (hand - shoulder, rotate(conjugate(arm.frame(frames)[0]), hand - shoulder)):
            angle = np.arctan2(np.hypot(turned[:, 0], turned[:, 2]), -turned[:, 1])
            away = np.maximum(away, np.degrees(angle))
        if len(motion) > 1:
            speed = np.maximum(speed, np.linalg.norm(np.gradient(hand, axis=0), axis=-1) * motion.fps)
    aside = np.abs(_turned_aside(body, frames)).max(axis=0)
    best = int(np.argmin(away + SLOW * speed + ASTRAY * aside + np.where(still, 0.0, 1e6)))
    return best, float(away[best]) if still[best] else math.inf


def _turned_aside(body: Humanoid, frames: Frames) -> Floats:
    """(2, F): how far hips and head are turned from where the feet point [degrees]."""
    ahead = [
        rotate(body.canonical_orientation(frames, body.index(role)), np.array([0.0, 0.0, 1.0]))[:, [2, 0]]
        for role in ("hips", "head", "right_foot", "left_foot")
    ]
    feet = ahead[2] + ahead[3]
    return np.degrees(
        [np.arctan2(feet[:, 0] * a[:, 1] - feet[:, 1] * a[:, 0], (feet * a).sum(axis=-1)) for a in ahead[:2]]
    )


def _over_the_ground(body: Humanoid, pose: Pose, frames: Frames, start: int) -> tuple[Pose, Floats, Floats]:
    """(poses moved and turned over the ground onto the start's feet, how far the worse foot is then from there over
    the ground (F,), how far each is above it (F, 2) [leg lengths]).

    Least squares over four points: the ankles, and a point ahead of each that says where it points.
    """
    feet = _feet(body, frames)
    ahead = np.stack(
        [body.canonical_orientation(frames, body.index(f"{side}_foot")) for side in ("right", "left")], axis=1
    )
    toes = feet + FOOT * body.leg_length * rotate(ahead, np.array([0.0, 0.0, 1.0]))
    points = np.concatenate([feet, toes], axis=1)[..., [2, 0]]  # ahead, left: a turn about +Y is positive
    middle = points.mean(axis=1)
    flat, goal = points - middle[:, None], points[start] - middle[start]
    across = flat[..., 0] * goal[:, 1] - flat[..., 1] * goal[:, 0]
    angle = np.arctan2(across.sum(axis=1), (flat * goal).sum(axis=(1, 2)))
    turn = exp(np.stack([0.0 * angle, angle, 0.0 * angle], axis=-1))
    place = np.stack([middle[:, 1], 0.0 * angle, middle[:, 0]], axis=-1)
    rotations = pose.rotations.copy()
    rotations[:, 0] = multiply(turn, rotations[:, 0])
    moved = Pose(rotate(turn, pose.translation - place) + place[start], rotations, pose.offsets)
    there = rotate(turn[:, None], feet - place[:, None]) + place[start]
    off = (there - feet[start]) / body.leg_length
    return moved, np.hypot(off[..., 0], off[..., 2]).max(axis=1), off[..., 1]


def _hand(body: Humanoid, limb: str, frames: Frames, start: int) -> Floats:
    """(F, 3): the hand in the arm's frame of the start [arm lengths]."""
    arm = body.limb(limb)
    axes, shoulder = arm.frame(frames)
    hand = frames.positions[:, body.limb_joints(limb)[2]]
    return np.asarray(rotate(conjugate(axes[start]), hand - shoulder[start]) / (arm.upper + arm.lower))


def _changes(
    body: Humanoid, whose: Humanoid, poses: Pose, start: int, used: Bools, parts: tuple[str, ...]
) -> tuple[Floats, Floats]:
    """(rotation vectors (N, R, 3) of the parts from the start to each frame, shifts (N, 3) of the hips)."""
    begin, there = poses[[start]], poses[used]
    if whose is not body:
        begin, there = (body.pose(whose.canonical(each)) for each in (begin, there))
    before, after = Posture.of(body, begin, begin, parts), Posture.of(body, there, begin, parts)
    return log(multiply(conjugate(before.rotations), after.rotations)), after.hips.copy()
