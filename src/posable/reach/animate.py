"""Reach motions: the hand goes straight, with the bell-shaped speed of human reaching, and the body goes with it.

Kallmann 2008, Animating Reaching Motions; specification limb-and-reach, section 5. Each frame is a step of a
`ReachStream`, so obstacles are avoided frame by frame and every frame has a status. What the paper leaves open:

- The first frame is the starting pose itself, and on its first way a hand's share of the behaviour grows as its path
  does. Without that the body would leap in the first frame, to what the behaviour says of a hanging hand.
- Hands that reach together leave and arrive together: the longer way takes its time.
- A hand that has reached a target stays there while the other one moves. Once it was turned in the world, it stays
  turned through targets without an orientation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from ..compute import PosableError, ShapeError, Status, expect, number
from ..compute.types import Bools, Floats, Ints
from ..limb import Target
from ..math import slerp
from ..samples.curves import minimum_jerk
from ..skeleton import Motion, Pose
from .answers import ReachAnswer
from .stream import Shares

if TYPE_CHECKING:
    from ..body import Humanoid
    from .stream import ReachStream

HANDS = ("right_hand", "left_hand")
LONGEST = 3600.0  # [s] of a step: what is longer is a mistake of units
MOST_FRAMES = 1_000_000  # of a step: more is a mistake of units, or of the rate


@dataclass(frozen=True)
class Pace:
    """How long a reach takes by its distance: at a mean speed."""

    speed: float = 0.6
    """[m/s]."""
    least: float = 0.25
    """[s]."""

    def __call__(self, distance: float) -> float:
        """Seconds for a way of so many metres."""
        return max(self.least, distance / self.speed)


@dataclass(frozen=True)
class Fitts:
    """How long a reach takes by its distance and by how exact it must be (Fitts 1954): a + b log2(2 D / W)."""

    width: float = 0.05
    """W: size of what is reached for [m]."""
    a: float = 0.1
    """[s]; it is also the least."""
    b: float = 0.1
    """[s] a bit: Fitts measured about ten bits a second."""

    def __call__(self, distance: float) -> float:
        """Seconds for a way of so many metres."""
        bits = math.log2(max(1.0, 2.0 * distance / self.width))
        return self.a + self.b * bits


Duration: TypeAlias = float | Callable[[float], float]
Targets: TypeAlias = tuple[Target | None, Target | None]


@dataclass(frozen=True)
class ReachStep:
    """One step of a sequence: where the hands go, and how long they stay. A hand not named stays where it is."""

    right: Target | None = None
    left: Target | None = None
    hold: float = 0.0
    """[s]."""
    duration: Duration | None = None
    """[s] on the way, or a function of the distance [m]; None: as the whole sequence."""

    def __post_init__(self) -> None:
        if self.right is None and self.left is None:
            raise PosableError("a step of a reach needs a target: right=, left= or both")
        if not (math.isfinite(self.hold) and 0.0 <= self.hold <= LONGEST):
            raise PosableError(f"hold is {self.hold} s; expected from 0 to {LONGEST:g}")


@dataclass(frozen=True, eq=False)
class ReachMotion:
    """A motion that reaches."""

    motion: Motion
    status: Ints
    """(F,) int8 of `Status`: REACHED where every hand is where its path has it."""
    residual: Floats
    """(F,) [m] of a hand from its path; with two hands the larger one."""
    weight: Floats
    """(F,) the weight of the behaviour that was used."""
    jumped: Bools
    """(F,) where an elbow leapt, because no valid posture leads from the last one to the next."""
    arrivals: Ints
    """(S,) the frame in which each step's target is met, before it is held."""

    @property
    def ok(self) -> Bools:
        """(F,) whether every hand is where its path has it."""
        return np.asarray(self.status == Status.REACHED)

    @property
    def first_failure(self) -> int | None:
        """The first frame that is not ok; None where all are."""
        failed = np.flatnonzero(~self.ok)
        return int(failed[0]) if len(failed) else None


def animate(
    stream: ReachStream,
    steps: Sequence[ReachStep],
    duration: Duration | None = None,
    progress: Callable[[float], None] | None = None,
) -> ReachMotion:
    """The motion through all steps; see `Reacher.animate`."""
    body, fps = stream.reacher.body, stream.fps
    if not steps:
        raise PosableError("nothing to reach: give right=, left= or steps=")
    usual = Pace() if duration is None else duration
    told = [_Frame(stream.start, Status.REACHED, 0.0, 0.0, False)]
    held: Targets = (None, None)
    arrivals = []
    for order, step in enumerate(steps):
        stream.depart()
        way = _Way.of(body, stream.pose, step, held)
        seconds = _seconds(usual if step.duration is None else step.duration, way.distance)
        if not fps * (seconds + step.hold) <= MOST_FRAMES:
            raise PosableError(
                f"a step of {seconds + step.hold:g} s at {fps:g} frames a second; expected at most {MOST_FRAMES} frames"
            )
        count = max(1, round(fps * seconds))
        for k, share in enumerate(minimum_jerk(np.arange(1, count + 1) / count).tolist()):
            targets = way.ends if k + 1 == count else way.at(share)  # the last one to the last bit
            due = Shares(*(share if before is None else 1.0 for before in held))
            told.append(_Frame.of(stream.advance(targets, 1.0 / fps, due, Shares(share, share))))
            if progress is not None:
                progress((order + (k + 1) / count) / len(steps))
        held = way.ends
        arrivals.append(len(told) - 1)
        for _ in range(round(fps * step.hold)):
            told.append(_Frame.of(stream.advance(held, 1.0 / fps, Shares(), Shares())))
    return _motion(body, fps, told, arrivals)


def _seconds(duration: Duration, distance: float) -> float:
    seconds = duration(distance) if callable(duration) else duration
    if not 0.0 < number(seconds) <= LONGEST:
        raise PosableError(f"a reach takes {seconds} s; expected above 0 and at most {LONGEST:g}")
    return float(seconds)


def _checked(target: Target | None, hand: str) -> Target | None:
    """One target as plain arrays, its orientation a unit quaternion; one that is none is told as not valid."""
    if target is None:
        return None
    columns = {"position": 3, "orientation": 4, "pole": 3}
    expect(Target, target, f"the target for the {hand}", ": Target(position, orientation)")
    if target.position is None:
        raise PosableError(f"the target for the {hand} has no position; expected (3,) [m]")
    given = {name: getattr(target, name) for name in columns}
    arrays = {name: None if v is None else np.array(v, dtype=np.float64) for name, v in given.items()}
    for name, array in arrays.items():
        if array is not None and array.shape != (columns[name],):
            raise ShapeError(f"the {name} for the {hand} has shape {array.shape}; expected ({columns[name]},)")
    turn = arrays["orientation"]
    if turn is not None:
        size = float(np.linalg.norm(turn))
        arrays["orientation"] = turn / size if 0.0 < size < math.inf else np.full(4, math.nan)
    return Target(**arrays)  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class _Place:
    """Where a hand is, and its canonical orientation."""

    position: Floats
    orientation: Floats

    @classmethod
    def of(cls, body: Humanoid, pose: Pose, hand: str) -> _Place:
        frames, joint = body.skeleton.forward(pose), body.index(hand)
        return cls(frames.positions[joint], body.canonical_orientation(frames, joint))

    def toward(self, end: Target, share: float) -> Target:
        place = (1.0 - share) * self.position + share * np.asarray(end.position)
        return Target(
            place, None if end.orientation is None else slerp(self.orientation, end.orientation, share), end.pole
        )


@dataclass(frozen=True, eq=False)
class _Way:
    """From where the hands are to where they go."""

    begins: tuple[_Place | None, _Place | None]
    """Of the hands that move."""
    ends: Targets

    @classmethod
    def of(cls, body: Humanoid, pose: Pose, step: ReachStep, held: Targets) -> _Way:
        asked = [_checked(target, hand) for target, hand in zip((step.right, step.left), HANDS, strict=True)]
        begins = [None if t is None else _Place.of(body, pose, hand) for t, hand in zip(asked, HANDS, strict=True)]
        ends = [_kept(target, before) for target, before in zip(asked, held, strict=True)]
        return cls((begins[0], begins[1]), (ends[0], ends[1]))

    @property
    def distance(self) -> float:
        """[m] the longer way; nothing where there is no valid one."""
        longest = 0.0
        for begin, end in zip(self.begins, self.ends, strict=True):
            if begin is not None and end is not None:
                longest = float(np.fmax(longest, math.hypot(*(np.asarray(end.position) - begin.position))))
        return longest if math.isfinite(longest) else 0.0

    def at(self, share: float) -> Targets:
        """A share of it: straight on, and turned on the shorter arc."""
        now = [
            end if begin is None or end is None else begin.toward(end, share)
            for begin, end in zip(self.begins, self.ends, strict=True)
        ]
        return now[0], now[1]


def _kept(target: Target | None, held: Target | None) -> Target | None:
    """Where a hand goes or stays: what it held before, in so far as nothing new is said."""
    if target is None or held is None:
        return held if target is None else target
    return Target(target.position, held.orientation if target.orientation is None else target.orientation, target.pole)


@dataclass(frozen=True, eq=False)
class _Frame:
    """What is kept of a step."""

    pose: Pose
    status: int
    residual: float
    weight: float
    jumped: bool

    @classmethod
    def of(cls, answer: ReachAnswer) -> _Frame:
        return cls(answer.pose, answer.status, float(answer.residual), float(answer.weight), bool(answer.jumped))


def _motion(body: Humanoid, fps: float, told: list[_Frame], arrivals: list[int]) -> ReachMotion:
    return ReachMotion(
        Motion(body.skeleton, Pose.stack([one.pose for one in told]), fps, name="reach"),
        np.array([int(one.status) for one in told], np.int8),
        np.array([one.residual for one in told]),
        np.array([one.weight for one in told]),
        np.array([one.jumped for one in told], np.bool_),
        np.array(arrivals, np.int64),
    )
