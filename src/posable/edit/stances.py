"""Stances: when the heel and the ball of a foot stand on something, be it the floor, a step or a rung.

A foot stands while one of the two points hardly moves: a foot that rolls over its ball stands on it, however fast its
ankle rises. So speeds are those of the points themselves. They decide with a hysteresis (a point comes to rest below
`SLOW` and rests until it is faster than `FAST`), since one threshold is too high for a walk or too low for a run, where
the ball of the foot hardly rests. Such a stretch is a placement.

A slow foot may also be held in the air, at the top of a jump or before a kick. Heights tell: a placement counts where
its height is that of a surface. Surfaces are found from the clip, in metres from wherever its origin may be: the lowest
placement, and every rest that the foot came down on and rose from, or that carried the body while the other foot moved,
or that lasted for a second without any motion.

In a placement the heel is down while it is no higher than it is under a flat foot, beside the ball as it is then; the
ball likewise, and whenever the heel is not, for something must carry. Rigs and captures disagree about the height of
ankles by centimetres, so what flat means is read from the clip: the difference between the heights of heel and ball
that is found most often while both rest.

The numbers were chosen on half of the clips that were marked by hand (`tests/edit/marked_contacts.json`) and are those
of a person with legs of 0.83 m; a body of another size has others in proportion. `body.contacts` finds standing feet in
streams, from the past alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..body import Humanoid
from ..body.measures import sole_of, sole_points
from ..compute import check_stop
from ..compute.types import Bools, Floats
from ..math import rotate
from ..skeleton import Frames, Motion

LEG = 0.83  # [m]
SLOW, FAST, FAST_HEEL = 0.3, 0.55, 0.45  # [m/s]
NOISE = 0.01  # [s]: standard deviation of the filter before speeds are taken
CLOSED = 0.05  # [s]: shorter gaps in a contact are none
SHORTEST = 0.03  # [s]
SETTLED, STILL = 0.2, 1.0  # [s]: how long a foot rests on a surface that it shows alone; one that never moves there
MOTIONLESS = 0.05  # [m/s]
CLEARED = 0.02  # [m]: how far a foot comes down on a surface, and rises from it
SAME_SURFACE = 0.04  # [m]
STANDING = 0.4  # of the leg's length that the hips are above a foot that only touches something
FLAT_SPEEDS, FLAT_RANGE = (0.2, 0.5), (-0.06, 0.04)  # [m/s], [m]: where a flat foot is looked for
FLAT_SPREAD = 0.02  # [m]: by how much soles are measured wrong; or who waits on tiptoe would be flat
LIFTED, LIFTED_SLOWLY, SLOWLY = 0.012, 0.015, 0.15  # [m], [m], [m/s]: a slow point may be a little higher
CARRIED, CARRIED_SLOWLY, CARRIED_SPEED = 0.02, 0.04, 0.4  # the same of a ball that carries alone
HEEL_OFF = 0.03  # [m]: a heel that much above the ball, however slow, is on no surface
NEARBY = 0.4  # [s]: over which the height of a carrying ball is compared
BLOCK = 4096  # frames that are posed at once
SIDES = ("left", "right")


def find_stances(motion: Motion, body: Humanoid) -> dict[str, Bools]:
    """Return, for each part of the feet, the frames (F,) in which it stands; a block of frames at once is posed.

    "left_foot" is the heel of the foot, "left_toes" its ball, where the body has toes; else "left_foot" is either.
    """
    fps, sides = motion.fps, [side for side in SIDES if f"{side}_foot" in body.roles]
    points = {side: np.empty((2, len(motion), 3)) for side in sides}
    hips = np.empty(len(motion))
    for first in range(0, len(motion), BLOCK):
        rows = slice(first, first + BLOCK)
        frames = body.skeleton.forward(motion.pose[rows])
        hips[rows] = frames.positions[:, body.roles["hips"], 1] * (LEG / body.leg_length)
        for side in sides:
            points[side][:, rows] = _heel_and_ball(body, frames, side)
    feet = {side: _read_foot(points.pop(side), body, fps) for side in sides}
    found: dict[str, Bools] = {}
    for side, placements in _placements(feet, hips, fps).items():
        heel, ball = np.zeros((2, len(motion)), np.bool_)
        for first, last in placements:
            rows = slice(first, last + 1)
            heel[rows], ball[rows] = _points_down(feet[side], rows, fps)
        if f"{side}_toes" in body.roles:
            found[f"{side}_foot"], found[f"{side}_toes"] = _lasting(heel, fps), _lasting(ball, fps)
        else:
            found[f"{side}_foot"] = _lasting(heel | ball, fps)
    return found


@dataclass(frozen=True, eq=False)
class _Foot:
    """Heights [m] and speeds [m/s] (F,) of heel and ball, as those of a person with legs of `LEG`."""

    heel: Floats
    ball: Floats
    heel_speed: Floats
    ball_speed: Floats
    flat: float
    """How much higher the heel is than the ball while the foot is flat."""

    @property
    def speed(self) -> Floats:
        """The speed (F,) of the slower point."""
        return np.minimum(self.heel_speed, self.ball_speed)

    @property
    def height(self) -> Floats:
        """The height (F,) of the lower point, as the ball counts it."""
        return np.minimum(self.ball, self.heel - self.flat)


def _heel_and_ball(body: Humanoid, frames: Frames, side: str) -> list[Floats]:
    """Return the undersides of heel and ball (F, 3) [m] of a foot."""
    foot, toes = body.roles[f"{side}_foot"], body.roles.get(f"{side}_toes")
    (heel, ball), _ = sole_points(body, side)
    sole = sole_of(body, side)
    position, orientation = frames.positions[:, foot], frames.orientations[:, foot]
    points = [position + rotate(orientation, heel), position + rotate(orientation, ball)]
    if toes is not None and body.neutral_frames.positions[toes, 2] - body.neutral_frames.positions[foot, 2] > (
        0.5 * sole.ball
    ):  # the foot turns about this joint; a rig whose toes begin at the ankle has only the sole
        points[1] = frames.positions[:, toes] - np.array([0.0, sole.hinge, 0.0])
    return points


def _read_foot(points: Floats, body: Humanoid, fps: float) -> _Foot:
    """Return a foot from its heel and ball (2, F, 3) [m]."""
    smooth = [_filtered(point * (LEG / body.leg_length), NOISE * fps) for point in points]
    speeds = [np.linalg.norm(np.gradient(p, axis=0), axis=-1) * fps if len(p) > 1 else np.zeros(len(p)) for p in smooth]
    heights = [point[:, 1] for point in smooth]
    flat = _flat(heights[0] - heights[1], np.maximum(*speeds))
    return _Foot(heights[0], heights[1], speeds[0], speeds[1], flat)


def _filtered(points: Floats, deviation: float) -> Floats:
    """Return points (F, 3) after a Gaussian filter, `deviation` in frames; speeds at the clip's ends are kept."""
    radius = min(round(3.0 * deviation), len(points) - 1)
    if radius < 1:
        return points
    kernel = np.exp(-0.5 * (np.arange(-radius, radius + 1) / deviation) ** 2)
    before = 2.0 * points[:1] - points[radius:0:-1]
    after = 2.0 * points[-1:] - points[-2 : -radius - 2 : -1]
    padded = np.concatenate([before, points, after])
    return np.stack([np.convolve(x, kernel / kernel.sum(), "valid") for x in padded.T], axis=1)


def _flat(differences: Floats, speeds: Floats) -> float:
    """Return how much higher the heel of a flat foot is than its ball [m]: what is found most often at rest."""
    near_flat = (differences > FLAT_RANGE[0]) & (differences < FLAT_RANGE[1])
    for slow in FLAT_SPEEDS:
        resting = differences[near_flat & (speeds < slow)]
        if len(resting) >= 3:
            centres = np.arange(*FLAT_RANGE, 0.0025)
            near = np.abs(resting - centres[:, None]) < 0.0075
            likely = np.exp(-0.5 * (centres / FLAT_SPREAD) ** 2)
            return float(np.median(resting[near[(near.sum(axis=1) * likely).argmax()]]))
    return 0.0


def _placements(feet: dict[str, _Foot], hips: Floats, fps: float) -> dict[str, list[tuple[int, int]]]:
    """Return the stretches of frames in which each foot stands, by side; `hips` (F,) are their heights."""
    found: dict[str, list[tuple[int, int, float, bool]]] = {}
    for side, foot in feet.items():
        others = [other.speed for name, other in feet.items() if name != side]
        stretches = runs(closed(_hysteresis(foot.speed, FAST), round(CLOSED * fps)))
        found[side] = [
            (first, last, level, firm)
            for first, last in stretches
            if (read := _surface_of(foot, first, last, others, hips, fps)) is not None
            for level, firm in [read]
        ]
    every = [(level, firm) for placements in found.values() for _, _, level, firm in placements]
    lowest = min((level for level, _ in every), default=0.0)
    surfaces = np.array([lowest, *(level for level, firm in every if firm)])
    return {
        side: [(a, b) for a, b, level, _ in placements if np.abs(surfaces - level).min() < SAME_SURFACE]
        for side, placements in found.items()
    }


def _surface_of(
    foot: _Foot, first: int, last: int, others: list[Floats], hips: Floats, fps: float
) -> tuple[float, bool] | None:
    """Return the height of a placement and whether it alone shows that there is a surface; None where it cannot."""
    check_stop()  # a long motion has thousands of placements
    rows = slice(first, last + 1)
    slow = foot.speed[rows] < SLOW
    level, seconds = float(np.median(foot.height[rows][slow])), float(slow.sum()) / fps
    if seconds < SETTLED:
        return (level, False) if np.median(hips[rows]) - level > STANDING * LEG else None
    near = round(0.5 * fps)
    before, after = foot.height[max(0, first - near) : first], foot.height[last + 1 : last + 1 + near]
    cleared = all(not len(side) or side.max() - level > CLEARED for side in (before, after))
    carried = any((other[rows] > FAST).sum() > 0.1 * fps for other in others)
    still = seconds > STILL and np.median(foot.speed[rows]) < MOTIONLESS
    return level, bool(cleared or carried or still)


def _points_down(foot: _Foot, rows: slice, fps: float) -> tuple[Bools, Bools]:
    """Return in which frames of a placement its heel and its ball are down."""
    from scipy.ndimage import minimum_filter1d

    heel, ball, heel_speed, ball_speed = (
        values[rows] for values in (foot.heel, foot.ball, foot.heel_speed, foot.ball_speed)
    )
    heel_rests, ball_rests = _hysteresis(heel_speed, FAST_HEEL), _hysteresis(ball_speed, FAST)
    tilt = heel - ball - foot.flat
    low = minimum_filter1d(np.where(ball_rests, ball, np.inf), 2 * round(NEARBY * fps) + 1, mode="nearest")
    low = np.where(np.isfinite(low), low, ball.min())
    heel_down = heel_rests & (tilt < _room(heel_speed)) & (heel - foot.flat - low < HEEL_OFF)
    carrying = CARRIED + CARRIED_SLOWLY * np.maximum(0.0, 1.0 - ball_speed / CARRIED_SPEED)
    return heel_down, ball_rests & ((-tilt < _room(ball_speed)) | ~heel_down) & (ball - low < carrying)


def _room(speed: Floats) -> Floats:
    """Return how much higher than flat a point may be and still be down [m]; a slow one more than a fast one."""
    return np.asarray(LIFTED + LIFTED_SLOWLY * np.maximum(0.0, 1.0 - speed / SLOWLY))


def _hysteresis(speeds: Floats, fast: float) -> Bools:
    """Return the frames (F,) of stretches below `fast` in which the speed falls below `SLOW`."""
    on = np.zeros(len(speeds), np.bool_)
    for first, last in runs(speeds < fast):
        on[first : last + 1] = (speeds[first : last + 1] < SLOW).any()
    return on


def _lasting(on: Bools, fps: float) -> Bools:
    """Return the frames (F,) without short gaps and without stretches that are too short; the clip may cut one."""
    made = closed(on, round(CLOSED * fps))
    for first, last in runs(made):
        if last - first + 1 < SHORTEST * fps and first > 0 and last < len(on) - 1:
            made[first : last + 1] = False
    return made


def closed(on: Bools, max_gap: int) -> Bools:
    """Fill gaps of at most `max_gap` frames between two stretches."""
    filled = on.copy()
    for first, last in runs(~on):
        if first > 0 and last < len(on) - 1 and last - first < max_gap:
            filled[first : last + 1] = True
    return filled


def runs(on: Bools) -> list[tuple[int, int]]:
    """Return the first and last frame of each stretch."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], on, [False]]).astype(np.int8)))
    return [(int(a), int(b) - 1) for a, b in zip(edges[::2], edges[1::2], strict=True)]
