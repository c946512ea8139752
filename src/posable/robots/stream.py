"""`Retargeter`: a person's motion on a robot frame by frame, for teleoperation; at most two frames are seen ahead.

A stream cannot know where a foot will stand, nor what motors will be asked for next. So each frame is solved from the
one before it, within what motors reach from there: their speeds, their accelerations, and a stop before each joint's
limit. A foot that comes to rest stays where it landed; once the person's leaves, the robot's goes on from there and is
back on the person's way after a moment. With frames seen ahead, landings are known before they happen.

`retarget(..., lookahead=...)` runs the same stream over a whole motion, so both give the same numbers to the last bit.
When no pose comes, the last one stays the target: the robot comes to rest.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from ..body import Humanoid
from ..compute import PosableError, ShapeError, Status, expect
from ..compute.extent import frame_rate
from ..compute.types import ArrayLike, Bools, Floats
from ..math import conjugate, exp, log, multiply, rotate
from ..skeleton import Motion, Pose
from .feet import CLEARANCE, LOW, LOWEST, SLOW, Foot, Steps, heading, runs, yawed
from .kernels import improve_rows
from .model import HORIZONTAL, ROLL, TARGET, scratch
from .packing import ROWS
from .retargeting import RobotSolution, are_sound, check_hands, check_motion, dof_values, judged, sound_poses
from .solver import Solved, Solver
from .targets import (
    EDGE,
    SIDES,
    STANDS,
    SWINGS,
    Ground,
    Person,
    body_targets,
    read_feet,
    read_person,
    toes_of,
)

MOST_AHEAD = 2
MEMORY = 1.0
"""[s]: the lowest toes within it are on the floor."""
FORGET, FOLLOW = 0.2, 0.15
"""[s]: after which a foot that left its place is on its way again; with which hips follow feet that stand elsewhere."""
NEAR_FOOTHOLD = 0.1
"""[leg lengths]: a foot that lands so near to where it belongs stays there."""
CALM = (3.0, 1.0, 0.25)
"""How strongly a frame is drawn to the one before: root's position [1 / leg length], its rotation, joints [1/rad]."""
FIRST, NEXT = 16, 4
"""Iterations of the first frame and of all others."""


@dataclass(frozen=True, eq=False)
class RobotFrame:
    """A frame of a stream."""

    pose: Pose
    """Of the robot."""
    values: Floats
    """(D,) of the skeleton's DoF, as `RobotSolution.values`."""
    status: Status
    """REACHED, or INVALID where the person's pose was none (or did not come) and the last one was held."""
    standing: tuple[str, ...]
    """The feet that stand: "left_foot", "right_foot"."""


class Retargeter:
    """Puts a person's poses on a robot as they come. Prepared once, for any number of streams. Immutable.

    Args:
        source: the person.
        target: the robot.
        speeds: as in `retarget`.
        accelerations: as in `retarget`.
        hands: as in `retarget`.
    """

    def __init__(
        self,
        source: Humanoid,
        target: Humanoid,
        *,
        speeds: ArrayLike | None = None,
        accelerations: ArrayLike | None = None,
        hands: float = 1.0,
    ) -> None:
        for name, body in (("source", source), ("target", target)):
            expect(Humanoid, body, name)
        if target.robot_parts is None:
            raise PosableError(f"target is {target!r}, which is no robot; posable.retarget puts motions on people")
        check_hands(hands)
        self.source, self.target, self.hands = source, target, float(hands)
        self.solver = Solver.of(target, speeds, accelerations)
        self.body = self.solver.body
        self.ratio = self.solver.leg / source.leg_length

    def stream(self, fps: float, lookahead: int = 0) -> RetargetStream:
        """Return a stream of poses at a rate; its answers come `lookahead` frames (0 to 2) after the poses."""
        return RetargetStream(self, fps, lookahead)

    def retarget(self, motion: Motion, lookahead: int = 0) -> RobotSolution:
        """Put a whole motion on the robot, as a stream would that sees `lookahead` frames ahead."""
        check_motion(motion, self.source)
        pose, valid = sound_poses(motion, self.source)
        stream = self.stream(motion.fps, lookahead)
        for row in range(len(motion)):
            stream.push(pose[row])
        while stream.waiting:
            stream.push(None)
        solved = stream.solved(len(motion))
        return judged(motion, self.source, self.target, self.body, self.solver, solved, valid)


class _FootState:
    """The memory of a stream for one foot."""

    def __init__(self) -> None:
        self.foothold: Floats | None = None
        """(3,) x, z [m] and heading [rad] where it stands."""
        self.shift, self.rotation, self.moved = np.zeros(3), np.zeros(3), np.zeros(3)
        self.own = 0.0


class RetargetStream:
    """A robot that follows a person over time; made by `Retargeter.stream`. One stream serves one robot."""

    def __init__(self, retargeter: Retargeter, fps: float, lookahead: int = 0) -> None:
        frame_rate(fps)
        if isinstance(lookahead, bool) or lookahead not in range(MOST_AHEAD + 1):
            raise PosableError(f"lookahead is {lookahead!r}; expected 0, 1 or 2 frames")
        self.retargeter, self.fps, self.lookahead = retargeter, float(fps), int(lookahead)
        self._persons: deque[Person] = deque()
        self._before: dict[str, Floats] | None = None
        self._last: Pose | None = None
        self._lows: deque[float] = deque(maxlen=max(1, round(MEMORY * fps)))
        self._state: Floats | None = None
        self._steps = np.zeros(len(retargeter.solver.model.variables))
        self._feet = {side: _FootState() for side in SIDES}
        self._hips = np.zeros(3)
        self._scratch = scratch(1, retargeter.solver.model)
        self._requested = 0
        self._given = 0
        self._stored: list[tuple[Floats, Floats, dict[str, tuple[bool, Floats, Floats]]]] = []

    @property
    def waiting(self) -> int:
        """How many poses were given whose answers did not come yet."""
        return self._requested - self._given

    def step(self, pose: Pose | None = None) -> RobotFrame | None:
        """Return the robot's next frame; None while the frames that are seen ahead are not there yet.

        Args:
            pose: of the source, a single one. None, or one that is not finite: the last one stays the target.
        """
        valid = True
        if pose is not None:
            expect(Pose, pose, "pose")
            if pose.shape:
                raise ShapeError(f"pose is a batch of shape {pose.shape}; expected one pose")
            if pose.joint_count != len(self.retargeter.source.skeleton):
                joints = len(self.retargeter.source.skeleton)
                raise ShapeError(f"the pose has {pose.joint_count} joints, the source {joints}")
            pose, valid = (pose, True) if are_sound(pose) else (None, False)
        else:
            valid = False
        if pose is None and self._last is None:
            return None
        if not self.push(pose):
            return None
        state, _, feet = self._stored[-1]
        values = dof_values(self.retargeter.solver, state[None])[0]
        standing = tuple(f"{side}_foot" for side in SIDES if feet[side][0])
        made = self.retargeter.target.skeleton.from_values(values)
        self._stored = self._stored[-1:]
        return RobotFrame(made, values, Status.REACHED if valid else Status.INVALID, standing)

    def push(self, pose: Pose | None) -> bool:
        """Take a pose and solve the frame that it lets be solved; return whether there was one."""
        if pose is not None:
            self._last = pose
            self._requested += 1
        latest = self._last
        assert latest is not None
        source = self.retargeter.source
        one = Pose(
            latest.translation[None], latest.rotations[None], None if latest.offsets is None else latest.offsets[None]
        )
        self._persons.append(read_person(source.skeleton.forward(one), source, self.retargeter.ratio))
        if len(self._persons) <= self.lookahead:
            return False
        self._solve()
        self._given += 1
        return True

    def solved(self, count: int) -> Solved:
        """Return the frames so far, as the solver of whole motions does."""
        stored = self._stored[:count]
        steps = {}
        for side in SIDES:
            standing = np.array([feet[side][0] for *_, feet in stored], np.bool_)
            positions = np.array([feet[side][1] for *_, feet in stored]).reshape(-1, 3)
            orientations = np.array([feet[side][2] for *_, feet in stored]).reshape(-1, 4)
            nothing = np.zeros(len(stored))
            steps[side] = Steps(
                positions, orientations, standing, tuple(runs(standing, 0)), nothing, positions * 0.0, nothing
            )
        width = 7 + len(self.retargeter.solver.model.variables)
        states = np.array([state for state, *_ in stored]).reshape(-1, width)
        targets = np.array([target for _, target, _ in stored]).reshape(-1, len(ROWS), TARGET)
        return Solved(states, targets, steps)

    # One frame

    def _solve(self) -> None:
        retargeter = self.retargeter
        person = self._persons.popleft()
        rests = self._resting(person)
        ground = self._ground(person, rests)
        feet, _ = read_feet(person, retargeter.source, retargeter.body, ground)
        targets = body_targets(person, feet, retargeter.body, retargeter.hands)
        placed = {side: self._set_foot(side, feet[side], rests[side], targets) for side in SIDES}
        fraction = 1.0 - np.exp(-1.0 / (FOLLOW * self.fps))
        moved = np.mean([self._feet[side].moved for side in SIDES], axis=0)
        self._hips = self._hips + (moved - self._hips) * (fraction if self._state is not None else 1.0)
        targets[:, 0, :3] += self._hips
        state = self._next_state(person, targets)
        self._stored.append((state, targets[0], placed))
        self._before = toes_of(person)

    def _resting(self, person: Person) -> dict[str, Bools]:
        """Return, for this frame and those seen ahead, (1 + A,) whether each foot rests."""
        toes = [toes_of(one) for one in (person, *self._persons)]
        if self._before is not None:
            toes = [self._before, *toes]
        first = 0 if self._before is None else 1
        self._lows.append(min(float(toe[0, 1]) for toe in toes[first].values()))
        floor = min(self._lows)
        found = {}
        for side in SIDES:
            path = np.array([toe[side][0] for toe in toes])
            speeds = np.zeros(len(path))
            if len(path) > 1:
                steps = np.linalg.norm(np.diff(path, axis=0), axis=1) * self.fps
                speeds = np.minimum(np.append(steps, np.inf), np.insert(steps, 0, np.inf))
                if len(path) == 2 and first == 1:
                    speeds[1] = steps[0]
            found[side] = ((path[:, 1] - floor < LOW - LOWEST) & (speeds < SLOW))[first:]
        return found

    def _ground(self, person: Person, rests: dict[str, Bools]) -> Ground:
        floor = min(self._lows)
        toes = toes_of(person)
        for side, foot in self._feet.items():
            if rests[side][0]:
                foot.own += 0.1 * (float(toes[side][0, 1]) - floor - foot.own)
        now = {side: rests[side][:1] for side in SIDES}
        return Ground(now, now, np.array([floor]), {side: foot.own for side, foot in self._feet.items()})

    def _set_foot(self, side: str, foot: Foot, rests: Bools, targets: Floats) -> tuple[bool, Floats, Floats]:
        """Set the target of a foot; return whether it stands, and where its ankle and how it is oriented."""
        solver, body, memory = self.retargeter.solver, self.retargeter.body, self._feet[side]
        leg, k = solver.leg, ROWS.index(f"{side}_foot")
        stands, height = bool(rests[0]), -float(foot.sole[:, 1].min())
        weights = np.array(STANDS if stands else SWINGS)
        raw, rotated = foot.raw[0], foot.orientations[0]
        if not rests.any():
            memory.foothold = None
            fade = np.exp(-1.0 / (FORGET * self.fps))
            memory.shift, memory.rotation = memory.shift * fade, memory.rotation * fade
            position, orientation = raw + memory.shift, multiply(exp(memory.rotation), rotated)
            below = -(position[1] + float(rotate(orientation, foot.sole)[:, 1].min()))
            position[1] += 0.5 * (below + np.hypot(below, CLEARANCE * leg))
        else:
            if memory.foothold is None:
                memory.foothold = self._landing(side, foot)
            foothold = memory.foothold
            position, orientation = np.array([foothold[0], height, foothold[1]]), yawed(foothold[2])
            memory.shift, memory.rotation = position - raw, log(multiply(orientation, conjugate(rotated)))
            memory.moved = position - np.array([foot.flat[0, 0], foot.heights[0], foot.flat[0, 1]])
        targets[0, k, :3] = position - rotate(orientation, body.ankles[side])
        targets[0, k, 3:7] = orientation
        targets[0, k, HORIZONTAL:] = weights / [leg, leg, 1.0, 1.0, 1.0]
        if side in body.loose:
            targets[0, k, ROLL] = EDGE
        return stands, position, orientation

    def _landing(self, side: str, foot: Foot) -> Floats:
        """Return where a foot stands that lands now: where the robot's is, if that is near to where it belongs."""
        solver = self.retargeter.solver
        face = heading(foot.orientations)[0]
        foothold = np.array([*foot.flat[0], np.arctan2(face[0], face[1])])
        if self._state is not None:
            at, angle = solver.feet_of(solver.all_placed(self._state[None]), side)
            near = bool(np.hypot(*(at[0] - foothold[:2])) < NEAR_FOOTHOLD * solver.leg)
            if near:
                foothold = np.array([*at[0], angle[0]])
        return foothold

    def _next_state(self, person: Person, targets: Floats) -> Floats:
        solver = self.retargeter.solver
        variables = solver.model.variables
        first = self._state is None
        before = solver.start(targets[0]) if self._state is None else self._state
        pulls = np.zeros(3) if first else np.array(CALM) / [solver.leg, 1.0, 1.0]
        states = before[None].copy()
        bent = solver.bent(person, targets)
        track = solver.track(targets, states, before[None].copy(), pulls, np.zeros((1, 2)), bent)
        if not first:
            track.lower[0], track.upper[0] = self._reachable(before[7:])
        model = solver.with_iterations(FIRST if first else NEXT)
        improve_rows(1, np.array([[0, 1]]), model, track, self._scratch)
        state: Floats = states[0].copy()
        self._steps = np.zeros(len(variables)) if first else state[7:] - before[7:]
        self._state = state
        return state

    def _reachable(self, values: Floats) -> tuple[Floats, Floats]:
        """Return the bounds (V,) of the next values: speeds, accelerations, and a stop before each limit."""
        variables = self.retargeter.solver.model.variables
        speed = variables["speed"] / self.fps * (1.0 - 1e-6)
        push = variables["acceleration"] / self.fps**2
        up = np.minimum(speed, np.sqrt(2.0 * push * np.maximum(variables["upper"] - values, 0.0)))
        down = np.minimum(speed, np.sqrt(2.0 * push * np.maximum(values - variables["lower"], 0.0)))
        low = np.clip(self._steps - push, -down, up)
        high = np.clip(self._steps + push, -down, up)
        return values + low, values + high
