"""Reach motions: the hand goes straight, with the bell-shaped speed of human reaching, and the body goes with it.

Kallmann 2008, Animating Reaching Motions; specification limb-and-reach, section 5. The hand's speed is the
minimum-jerk profile of Flash and Hogan (1985). Each frame is a step of a `ReachStream`, so obstacles are avoided frame
by frame and every frame has a status. Decided where the paper is silent:

- The first frame is the starting pose itself, and on its first path a hand's weight of the behaviour grows with the
  distance covered. Without that the body would jump in the first frame, to the behaviour's posture for a hanging hand.
- Hands that reach together leave and arrive together, in the time of the longer path.
- A hand that has reached a target stays there while the other one moves. It keeps an orientation that it was given
  through targets without one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from ..body.limb.body_limb import canonical_target
from ..compute import PosableError, ShapeError, Status, number
from ..compute.types import Floats
from ..formats.targets import HandTarget, read_targets
from ..limb import Target
from ..limb.solution import TargetLike
from ..math import slerp
from ..samples.curves import minimum_jerk
from ..skeleton import Motion, Pose
from .behaviour import ARMS
from .solutions import ReachMotionSolution, ReachSolution
from .stream import TARGET_FIELDS, Fractions

if TYPE_CHECKING:
    from ..body import Humanoid
    from .stream import ReachStream

HANDS = ("right_hand", "left_hand")
MAX_SECONDS = 3600.0  # of a step: more is a mistake of units
MAX_FRAMES = 1_000_000  # of a step: more is a mistake of units, or of the rate


@dataclass(frozen=True)
class Pace:
    """The duration of a reach by its distance, at a mean speed."""

    speed: float = 0.6
    """[m/s]."""
    minimum: float = 0.25
    """[s]."""

    def __call__(self, distance: float) -> float:
        """Return the duration [s] of a path of this length [m]."""
        return max(self.minimum, distance / self.speed)


@dataclass(frozen=True)
class Fitts:
    """The duration of a reach by its distance D and the target's size W (Fitts's law, 1954): a + b log2(2 D / W)."""

    width: float = 0.05
    """W, the size of the target [m]."""
    a: float = 0.1
    """[s], also the minimum."""
    b: float = 0.1
    """[s] a bit: Fitts measured about ten bits a second."""

    def __call__(self, distance: float) -> float:
        """Return the duration [s] of a path of this length [m]."""
        bits = math.log2(max(1.0, 2.0 * distance / self.width))
        return self.a + self.b * bits


Duration: TypeAlias = float | Callable[[float], float]
Targets: TypeAlias = tuple[Target | None, Target | None]


@dataclass(frozen=True)
class ReachStep:
    """One step of a sequence: where the hands go, and how long they stay. A hand not named stays where it is."""

    right: TargetLike | None = None
    """A `Target`, or a position (3,) [m], in the world."""
    left: TargetLike | None = None
    hold: float = 0.0
    """[s] at the target."""
    duration: Duration | None = None
    """[s] to get there, or a function of the distance [m]; None: as the whole sequence."""

    def __post_init__(self) -> None:
        if self.right is None and self.left is None:
            raise PosableError("a step of a reach needs a target: right=, left= or both")
        if not (math.isfinite(self.hold) and 0.0 <= self.hold <= MAX_SECONDS):
            raise PosableError(f"hold is {self.hold} s; expected from 0 to {MAX_SECONDS:g}")

    @staticmethod
    def of(target: HandTarget) -> ReachStep:
        """Return the step in which one hand goes to a target of a file."""
        aim = Target(target.position, target.orientation)
        right, left = (aim, None) if target.hand == "right" else (None, aim)
        return ReachStep(right, left, target.hold)


def load_targets(path: str | PathLike[str], *, hand: str = "right", hold: float = 0.0) -> list[ReachStep]:
    """Read targets from a CSV or JSON file, as steps for `Reacher.animate`.

    Args:
        path: columns or keys are x, y, z [m] in the world and, where needed, qw, qx, qy, qz (canonical orientation),
            hand and hold [s]; see `posable.formats.targets`.
        hand: "right" (default) or "left", for targets that name none.
        hold: [s] to stay at targets that name none; default 0.
    """
    return [ReachStep.of(target) for target in read_targets(path, hand, hold)]


def animate(
    stream: ReachStream,
    steps: Sequence[ReachStep],
    duration: Duration | None = None,
    progress: Callable[[float], None] | None = None,
) -> ReachMotionSolution:
    """Return the motion through all steps; see `Reacher.animate`."""
    body, fps = stream.reacher.body, stream.fps
    if not steps:
        raise PosableError("nothing to reach: give right=, left= or steps=")
    default = Pace() if duration is None else duration
    frames = [_Frame(stream.start, Status.REACHED, 0.0, 0.0, 0.0, False)]
    fixed: Targets = (None, None)
    arrivals = []
    for order, step in enumerate(steps):
        stream.depart()
        path = _Path.of(body, stream.pose, step, fixed)
        seconds = _seconds(default if step.duration is None else step.duration, path.length)
        if not fps * (seconds + step.hold) <= MAX_FRAMES:
            raise PosableError(
                f"a step of {seconds + step.hold:g} s at {fps:g} frames a second; expected at most {MAX_FRAMES} frames"
            )
        count = max(1, round(fps * seconds))
        for k, fraction in enumerate(minimum_jerk(np.arange(1, count + 1) / count).tolist()):
            targets = path.ends if k + 1 == count else path.at(fraction)  # the last one to the last bit
            weights = Fractions(*(fraction if before is None else 1.0 for before in fixed))
            frames.append(_Frame.of(stream.advance(targets, 1.0 / fps, weights, Fractions(fraction, fraction))))
            if progress is not None:
                progress((order + (k + 1) / count) / len(steps))
        fixed = path.ends
        arrivals.append(len(frames) - 1)
        for _ in range(round(fps * step.hold)):
            frames.append(_Frame.of(stream.advance(fixed, 1.0 / fps, Fractions(), Fractions())))
    return _motion(body, fps, frames, arrivals)


def _seconds(duration: Duration, distance: float) -> float:
    seconds = duration(distance) if callable(duration) else duration
    if not 0.0 < number(seconds) <= MAX_SECONDS:
        raise PosableError(f"a reach takes {seconds} s; expected above 0 and at most {MAX_SECONDS:g}")
    return float(seconds)


def _checked(target: Target, hand: str) -> Target:
    """Return a target as plain arrays, its orientation a unit quaternion, or NaN where it cannot be made one."""
    if target.position is None:
        raise PosableError(f"the target for the {hand} has no position; expected (3,) [m]")
    arrays: dict[str, Floats | None] = {}
    for name, columns in TARGET_FIELDS:
        value = getattr(target, name)
        arrays[name] = array = None if value is None else np.array(value, dtype=np.float64)
        if array is not None and array.shape != (columns,):
            raise ShapeError(f"the {name} for the {hand} has shape {array.shape}; expected ({columns},)")
    orientation = arrays["orientation"]
    if orientation is not None:
        size = float(np.linalg.norm(orientation))
        arrays["orientation"] = orientation / size if 0.0 < size < math.inf else np.full(4, math.nan)
    return Target(**arrays)  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class _HandState:
    """The position of a hand in the world [m], and its canonical orientation."""

    position: Floats
    orientation: Floats

    @classmethod
    def of(cls, body: Humanoid, pose: Pose, hand: str) -> _HandState:
        frames, joint = body.skeleton.forward(pose), body.index(hand)
        return cls(frames.positions[joint], body.canonical_orientation(frames, joint))

    def toward(self, end: Target, fraction: float) -> Target:
        position = (1.0 - fraction) * self.position + fraction * np.asarray(end.position)
        orientation = None if end.orientation is None else slerp(self.orientation, end.orientation, fraction)
        return Target(position, orientation, end.pole)


@dataclass(frozen=True, eq=False)
class _Path:
    """The straight paths of the hands from where they are to their targets."""

    starts: tuple[_HandState | None, _HandState | None]
    """Of the hands that move."""
    ends: Targets

    @classmethod
    def of(cls, body: Humanoid, pose: Pose, step: ReachStep, fixed: Targets) -> _Path:
        given = zip((step.right, step.left), HANDS, ARMS, strict=True)
        targets = [None if t is None else _checked(canonical_target(body, arm, t), hand) for t, hand, arm in given]
        starts = [None if t is None else _HandState.of(body, pose, hand) for t, hand in zip(targets, HANDS)]
        ends = [_next_target(target, before) for target, before in zip(targets, fixed, strict=True)]
        return cls((starts[0], starts[1]), (ends[0], ends[1]))

    @property
    def length(self) -> float:
        """The length of the longer path [m]; 0 where none is finite."""
        longest = 0.0
        for start, end in zip(self.starts, self.ends, strict=True):
            if start is not None and end is not None:
                longest = float(np.fmax(longest, math.hypot(*(np.asarray(end.position) - start.position))))
        return longest if math.isfinite(longest) else 0.0

    def at(self, fraction: float) -> Targets:
        """Return the targets after a fraction of the path: positions on the line, orientations by slerp."""
        now = [
            end if start is None or end is None else start.toward(end, fraction)
            for start, end in zip(self.starts, self.ends, strict=True)
        ]
        return now[0], now[1]


def _next_target(target: Target | None, fixed: Target | None) -> Target | None:
    """Return where a hand goes or stays: the target, with what it leaves open as before."""
    if target is None or fixed is None:
        return fixed if target is None else target
    return Target(target.position, fixed.orientation if target.orientation is None else target.orientation, target.pole)


@dataclass(frozen=True, eq=False)
class _Frame:
    """The result of one frame."""

    pose: Pose
    status: int
    position_error: float
    orientation_error: float
    weight: float
    jumped: bool

    @classmethod
    def of(cls, solution: ReachSolution) -> _Frame:
        return cls(
            solution.pose,
            int(solution.status),
            float(solution.position_error),
            float(solution.orientation_error),
            float(solution.weight),
            solution.jumped,
        )


def _motion(body: Humanoid, fps: float, frames: list[_Frame], arrivals: list[int]) -> ReachMotionSolution:
    return ReachMotionSolution(
        Motion(body.skeleton, Pose.stack([one.pose for one in frames]), fps, name="reach"),
        np.array([int(one.status) for one in frames], np.int8),
        np.array([one.position_error for one in frames]),
        np.array([one.orientation_error for one in frames]),
        np.array([one.weight for one in frames]),
        np.array([one.jumped for one in frames], np.bool_),
        np.array(arrivals, np.int64),
    )
