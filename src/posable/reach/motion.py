"""Reaching over time: `ReachStream`, a reacher with memory, and `animate`, the motion through a sequence of targets.

How the body bends is a continuous function of the hands' targets, so it needs no memory. The arms do, whose swivels
change from frame to frame (`limb.stream`), and so does the beginning: a behaviour may bend a body at rest already, for
the hands that hang. So the weight of a hand's behaviour grows from 0 when it gets its first target, and a motion begins
in its starting pose.

Animated reaches (Kallmann 2008, Animating Reaching Motions; specification limb-and-reach, section 5): the hand moves
straight, with the minimum-jerk speed of human reaching (Flash and Hogan 1985), and each frame is a step of a stream, so
obstacles are avoided frame by frame and every frame has a status. Decided where the paper is silent:

- The first frame is the starting pose itself, and on its first path a hand's weight of the behaviour grows in the time
  in which a stream settles. Without that the body would jump in the first frame, to the behaviour's posture for a
  hanging hand; were it to grow with the distance covered, the body would help too late, and an arm on its way to
  something low would be too short for its path until shortly before the end. What `extend` takes besides does grow with
  the distance covered: a hanging arm is stretched, and needs no help.
- Hands that reach together leave and arrive together, in the time of the longer path.
- Where a foot steps (`stepping`), it does so while the hand is on its path; the body reaches from where it then stands.
- A hand that has reached a target stays there while the other one moves. It keeps an orientation that it was given
  through targets without one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from ..body.limb.body_limb import canonical_target
from ..compute import PosableError, ShapeError, Status, number
from ..compute.extent import time_step
from ..compute.types import Floats
from ..formats.targets import HandTarget, read_targets
from ..limb import Target
from ..limb.solution import TargetLike
from ..math import slerp
from ..samples.curves import minimum_jerk
from ..skeleton import Motion, Pose
from .behaviour import ARMS
from .solutions import ReachMotionSolution, ReachSolution
from .stepping import stepping_pose

if TYPE_CHECKING:
    from ..body import Humanoid
    from ..limb.stream import LimbStream
    from .reacher import Reacher

HANDS = ("right_hand", "left_hand")
TARGET_FIELDS = (("position", 3), ("orientation", 4), ("pole", 3))
"""The fields of a target and their numbers of columns."""
MAX_SECONDS = 3600.0  # of a step: more is a mistake of units
MAX_FRAMES = 1_000_000  # of a step: more is a mistake of units, or of the rate

Duration: TypeAlias = float | Callable[[float], float]
Targets: TypeAlias = tuple[Target | None, Target | None]


class Fractions(NamedTuple):
    """The fraction of something that is due by now, from 0 to 1, for each hand."""

    right: float = 1.0
    left: float = 1.0


class Due(NamedTuple):
    """The fractions of what a behaviour does that are due by now."""

    weights: Fractions = Fractions()
    """Of the weights that the targets request."""
    extensions: Fractions = Fractions()
    """Of what `extend` takes besides, and of the gaze."""


class ArmStep(NamedTuple):
    """A step of an arm's stream: options of `BodyLimb.place`."""

    stream: LimbStream
    dt: float
    fraction: float


class ReachStream:
    """A body that follows moving targets; made by `Reacher.stream`. One stream serves one body, from one thread."""

    def __init__(
        self, reacher: Reacher, fps: float, start: Pose | None, settle: float, speed: float, weight: float | None = None
    ) -> None:
        if not 0.0 <= number(settle) < math.inf:
            raise PosableError(f"settle is {settle} s; expected 0 or more")
        self.reacher, self.fps, self.settle, self.weight = reacher, fps, settle, weight
        self.start = reacher.body.neutral_pose if start is None else start
        if self.start.shape or self.start.joint_count != len(reacher.body.skeleton):
            raise ShapeError(
                f"start has shape {self.start.shape} and {self.start.joint_count} joints; "
                f"expected one pose of {len(reacher.body.skeleton)} joints"
            )
        self._arms = tuple(arm.stream(fps, speed=speed) for arm in reacher._arms)
        self.reset()

    def reset(self) -> None:
        """Go back to the starting pose: the next step is as the first."""
        self.pose = self.start
        """The last pose."""
        self._since: list[float | None] = [None, None]

    def step(
        self, right: TargetLike | None = None, left: TargetLike | None = None, dt: float | None = None
    ) -> ReachSolution:
        """Return the body for the next targets.

        A hand without a target hangs as at the start, or moves with the other hand's behaviour. A target that is not
        finite keeps the body still.

        Args:
            right: of the right hand in the world: a `Target`, or a position (3,) [m].
            left: of the left hand.
            dt: time since the last targets [s]; a frame when not given.
        """
        step = time_step(dt, self.fps)
        fractions = []
        for since in self._since:
            fractions.append(_settled(step if since is None else since + step, self.settle))
        now = Fractions(*fractions)
        return self.advance((right, left), step, Due(now, now), now)

    def advance(
        self, targets: tuple[TargetLike | None, TargetLike | None], dt: float, due: Due, elbows: Fractions
    ) -> ReachSolution:
        """Do a `step` with given fractions of the behaviours and of the elbows' paths since `depart`."""
        targets = self.reacher._checked(self.start, *targets)
        arms: list[ArmStep | None] = [None, None]
        for side, (target, arm) in enumerate(zip(targets, self._arms, strict=True)):
            since = self._since[side]
            self._since[side] = None if target is None else dt if since is None else since + dt
            if target is not None:
                arms[side] = ArmStep(arm, dt, elbows[side])
                if since is None:  # the arm continues from where it is
                    reading = self.reacher._arms[side].read(self.pose)
                    arm.begin(reading.values, float(reading.swivel))
        solution = self.reacher._solve(self.start, targets, self.weight, due, arms)
        if solution.status is Status.INVALID:
            solution = solution.with_pose(self.pose)
        self.pose = solution.pose
        return solution

    def depart(self) -> None:
        """Begin new paths here: the elbows' fractions count from their swivels of this moment."""
        for arm in self._arms:
            arm.depart()


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
            hand, hold [s] and together; see `posable.formats.targets`.
        hand: "right" (default) or "left", for targets that name none.
        hold: [s] to stay at targets that name none; default 0.
    """
    steps: list[ReachStep] = []
    for target in read_targets(path, hand, hold):
        step = ReachStep.of(target)
        if target.together:
            before = steps.pop()
            step = ReachStep(before.right or step.right, before.left or step.left, max(before.hold, step.hold))
        steps.append(step)
    return steps


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
    frames: list[tuple[Any, ...]] = [(stream.start, int(Status.REACHED), 0.0, 0.0, 0.0, False, None)]
    fixed: Targets = (None, None)
    arrivals = []

    def advance(targets: Targets, due: Due, elbows: Fractions, stood: Pose | None = None) -> None:
        now = stream.advance(targets, 1.0 / fps, due, elbows)
        errors = float(now.position_error), float(now.orientation_error)
        status, contact = now.status, now.contact
        if stood is not None and status == Status.REACHED:
            # Each frame of a step is the start of its own reach: what the foot runs into on its way would be allowed.
            touching = stream.reacher._new_contacts(stood.reshape(1), now.pose.reshape(1), targets)[0]
            status, contact = (status, contact) if touching is None else (Status.COLLISION, touching)
        frames.append((now.pose, int(status), *errors, float(now.weight), now.jumped, contact))

    for order, step in enumerate(steps):
        stream.depart()
        path = _Path.of(body, stream.pose, step, fixed)
        seconds = _seconds(default if step.duration is None else step.duration, path.length)
        if not fps * (seconds + step.hold) <= MAX_FRAMES:
            raise PosableError(
                f"a step of {seconds + step.hold:g} s at {fps:g} frames a second; expected at most {MAX_FRAMES} frames"
            )
        count = max(1, round(fps * seconds))
        standing, stance = stream.start, stream.reacher._stance(stream.start, path.ends, stream.weight)
        for k, fraction in enumerate(minimum_jerk(np.arange(1, count + 1) / count).tolist()):
            targets = path.ends if k + 1 == count else path.at(fraction)  # the last one to the last bit
            settled = _settled((k + 1) / fps, min(stream.settle, count / fps))
            due = Due(*(Fractions(*(f if before is None else 1.0 for before in fixed)) for f in (settled, fraction)))
            if stance is not None:
                stream.start = stepping_pose(body, standing, stance, 1.0 if k + 1 == count else fraction)
            advance(targets, due, Fractions(fraction, fraction), None if stance is None else standing)
            if progress is not None:
                progress((order + (k + 1) / count) / len(steps))
        fixed = path.ends
        arrivals.append(len(frames) - 1)
        for _ in range(round(fps * step.hold)):
            advance(fixed, Due(), Fractions())
    poses, statuses, position_errors, orientation_errors, weights_used, jumped, contact = zip(*frames, strict=True)
    return ReachMotionSolution(
        Motion(body.skeleton, Pose.stack(poses), fps, name="reach"),
        np.array(statuses, np.int8),
        np.array(position_errors),
        np.array(orientation_errors),
        np.array(weights_used),
        np.array(jumped, np.bool_),
        np.array(arrivals, np.int64),
        contact,
    )


def _settled(time: float, settle: float) -> float:
    """Return the fraction of a behaviour's weight that is due `time` after a hand got its first target [s]."""
    return 1.0 if time >= settle * (1.0 - 1e-12) else float(minimum_jerk(time / settle))


def _seconds(duration: Duration, distance: float) -> float:
    seconds = duration(distance) if callable(duration) else duration
    if not 0.0 < number(seconds) <= MAX_SECONDS:
        raise PosableError(f"a reach takes {seconds} s; expected above 0 and at most {MAX_SECONDS:g}")
    return float(seconds)


class _Path(NamedTuple):
    """The straight paths of the hands from where they are to their targets."""

    starts: Targets
    """Of the hands that move."""
    ends: Targets

    @classmethod
    def of(cls, body: Humanoid, pose: Pose, step: ReachStep, fixed: Targets) -> _Path:
        starts: list[Target | None] = []
        ends: list[Target | None] = []
        for given, hand, arm, before in zip((step.right, step.left), HANDS, ARMS, fixed, strict=True):
            if given is None:
                starts.append(None)
                ends.append(before)
                continue
            target = _checked(canonical_target(body, arm, given), hand)
            if before is not None and target.orientation is None:
                target = replace(target, orientation=before.orientation)
            frames, joint = body.skeleton.forward(pose), body.index(hand)
            starts.append(Target(frames.positions[joint], body.canonical_orientation(frames, joint)))
            ends.append(target)
        return cls((starts[0], starts[1]), (ends[0], ends[1]))

    @property
    def length(self) -> float:
        """The length of the longer path [m]; 0 where none is finite."""
        longest = 0.0
        for start, end in zip(self.starts, self.ends, strict=True):
            if start is not None and end is not None:
                offset = np.asarray(end.position) - np.asarray(start.position)
                longest = float(np.fmax(longest, math.hypot(*offset)))
        return longest if math.isfinite(longest) else 0.0

    def at(self, fraction: float) -> Targets:
        """Return the targets after a fraction of the path: positions on the line, orientations by slerp."""
        now = [
            end if start is None or end is None else _between(start, end, fraction)
            for start, end in zip(self.starts, self.ends, strict=True)
        ]
        return now[0], now[1]


def _between(start: Target, end: Target, fraction: float) -> Target:
    position = (1.0 - fraction) * np.asarray(start.position) + fraction * np.asarray(end.position)
    orientation = None
    if start.orientation is not None and end.orientation is not None:
        orientation = slerp(start.orientation, end.orientation, fraction)
    return Target(position, orientation, end.pole)


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
