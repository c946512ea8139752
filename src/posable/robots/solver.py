"""The solver of a robot: what a person's motion asks of it, frame by frame and then over time.

1. A part of the frames (thirty a second) is solved one after the other, each from the one before: orientations of
   parts, flat feet that are free to stand where the robot's legs let them.
2. From these, each stance gets its one place (`feet`), and all frames a state to begin with.
3. All frames are solved with feet in their places, the pelvis giving way. Where a foot cannot be flat in its place all
   the same, because an ankle or a hip is at its limit, its stance is moved to where it can (`_reachable_footholds`).
4. States are made followable for motors over time (`timing`), and solved again near that; twice, since what limits over
   time ask for and what feet and links allow is not the same.
5. Frames in which a foot is not where it should be, or links are in each other, are solved once more (`_mend`), and
   last those that a motor would not reach.
"""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from ..body import Humanoid
from ..compute.types import ArrayLike, Bools, Floats, Ints
from ..math import conjugate, exp, log, multiply, rotate
from ..skeleton.dofs import SLIDE
from .feet import Steps, heading, plan, replan, yawed
from .kernels import follow_rows, hold_speeds_rows, improve_rows, place_rows, stands_rows
from .model import HORIZONTAL, ROLL, Model, Track, placements, scratch
from .packing import ROWS, Body, motor_limits, pack, read_body
from .targets import EDGE, SEEKS, SIDES, Person, body_targets, lengths, read_feet, read_ground, seeking, stepping, unit
from .timing import followable_rows
from .touching import depths

SEEN = 30.0
"""[Hz]: frames in which places for feet are looked for."""
WORKED = 50.0
"""[Hz]: of faster clips the first round sees every second frame, or fewer."""
CUTOFF = 10.0
"""[Hz]: faster changes are smoothed."""
ROOT_CUTOFF = 2.5
"""[Hz]: faster changes of how far the root gives way are smoothed."""
PULLS = ((30.0, 15.0, 4.0), (40.0, 20.0, 6.0))
"""How strongly frames are drawn to what motors can follow, round by round: position of the root [1 / leg length], its
rotation and joints [1/rad]."""
EACH = ((1, 2), (1, 0), (1, 0))
"""Iterations of each frame, at least and how many more, where feet are first put in their places and in the rounds."""
SOUGHT, MENDING = (1, 3), ((1, 4), (4, 8))
"""Likewise, where places for feet are looked for once more, and where something is mended at last."""
PLANS, MENDED = 1, 2
"""How often."""
UNREACHED, NOT_THERE, TOO_DEEP, MOVED = 2e-3, 4e-4, 3e-3, 2e-3
"""[m]: how far a foot is from a place that it does not reach; from where it should be when all is done; how deep links
are in each other, or in the floor, that are solved again; by how much a place is moved that concerns others."""
SLOWED = (10.0, 5.0, 4.0)
"""Likewise, of frames that are solved again because a motor was too fast."""
SURE = 1.0 - 1e-6
"""Of the largest speed: what rounding may add must not break it."""
ROOT_ACCELERATIONS = (60.0, 100.0)
"""[leg lengths/s^2], [1/s^2]: of the root's position and quaternion."""
SPAN = 64  # frames that one core solves at a time


@dataclass(frozen=True, eq=False)
class Solved:
    """States of a robot over time."""

    states: Floats
    """(F, 7 + V): position and orientation of the root, values of the variables."""
    targets: Floats
    """(F, K, TARGET) that they answer."""
    steps: dict[str, Steps]


_LAST: WeakKeyDictionary[Humanoid, tuple[tuple[Floats, Floats], Solver]] = WeakKeyDictionary()
"""Of each robot: limits of its motors, and the solver for them."""


class Solver:
    """Solves motions for one robot. Immutable.

    Args:
        body: the robot.
        speeds: (D,) largest speeds of its DoF [rad/s, m/s].
        accelerations: (D,) largest accelerations.
    """

    def __init__(self, body: Body, speeds: Floats, accelerations: Floats) -> None:
        self.body = body
        self.leg, self.arm = lengths(body)
        self.model, self.dofs = pack(body, speeds, accelerations, self.leg, iterations=12)

    @staticmethod
    def of(humanoid: Humanoid, speeds: ArrayLike | None, accelerations: ArrayLike | None) -> Solver:
        """Return the solver of a robot, the one that was made last where it has the same limits (`motor_limits`)."""
        last = _LAST.get(humanoid)
        body = read_body(humanoid) if last is None else last[1].body
        limits = motor_limits(body, speeds, accelerations)
        if last is None or any((one != other).any() for one, other in zip(limits, last[0], strict=True)):
            last = limits, Solver(body, *limits)
            _LAST[humanoid] = last
        return last[1]

    def solve(self, person: Person, source: Humanoid, fps: float, hands: float = 1.0) -> Solved:
        """Return the states that answer a person's motion."""
        feet, lateral = read_feet(person, source, self.body, read_ground(person, fps))
        requested = body_targets(person, feet, self.body, hands)
        count = len(requested)
        if not count:
            nothing = np.zeros((0, 7 + len(self.model.variables)))
            return Solved(nothing, requested, plan(feet, {}, lateral, self.leg, fps))
        seen = np.unique(np.append(np.arange(0, count, max(1, round(fps / SEEN))), count - 1))
        bent = self.bent(person, requested)
        levels = np.stack([feet[side].level for side in SIDES], axis=1)
        begun = self._seek(
            np.ascontiguousarray(seeking(requested, feet, self.body, self.leg)[seen]), bent[seen], levels[seen]
        )
        states = interpolated(seen, begun, count)
        at = self.all_placed(states)
        footholds = {side: self.feet_of(at, side) for side in SIDES}
        steps = plan(feet, footholds, lateral, self.leg, fps)
        targets = stepping(requested, steps, self.body, self.leg, fps)
        floors = np.stack([steps[side].floor for side in SIDES], axis=1)
        step = max(1, int(fps / WORKED))
        some = np.unique(np.append(np.arange(0, count, step), count - 1))
        few, below = targets[some], floors[some]
        made = self._improved(states[some], few, below, None, 0, bent[some])
        for _ in range(PLANS):
            moved = self._reachable_footholds(made, few, below, steps, some)
            if moved is None:
                break
            steps = replan(feet, steps, moved, lateral, self.leg, fps)
            targets = stepping(requested, steps, self.body, self.leg, fps)
            before, few = few, targets[some]
            other = np.flatnonzero((np.abs(few - before) > MOVED).any(axis=(1, 2)))
            made[other] = self._improved(made[other], few[other], below[other], None, 0)
        made = self._improved(made, few, below, self._followable(made, few, fps / step), 0)
        states = interpolated(some, made, count)
        states = self._improved(states, targets, floors, self._followable(states, targets, fps), 1)
        self._mend(states, targets, floors, np.stack([steps[side].standing for side in SIDES], axis=1))
        return Solved(self._slowed(states, targets, floors, steps, fps), targets, steps)

    def start(self, target: Floats) -> Floats:
        """Return a state (7 + V,) to begin with: the root where a target has it, all motors at rest."""
        state = np.zeros(7 + len(self.model.variables))
        hips = self.body.parts["hips"]
        state[3:7] = multiply(target[0, 3:7], hips.neutral)
        state[:3] = target[0, :3] - rotate(state[3:7], hips.centre)
        state[7:] = self.model.variables["rest"]
        return state

    def bent(self, person: Person, targets: Floats) -> Floats:
        """Return how far (F, B) knees and elbows bend: knees by the way from hip to foot, elbows as the person's."""
        out = np.empty((len(targets), len(self.body.bends)))
        for column, (name, bend) in zip(out.T, self.body.bends.items(), strict=True):
            side, _, which = name.partition("_")
            upper, lower = self.body.lengths[name]
            if which == "leg":
                foot = targets[:, ROWS.index(f"{side}_foot"), :3]
                hip = np.array([0.5 if side == "left" else -0.5, 0.0, 0.0]) * self.body.hip_width
                path = targets[:, 0, :3] + rotate(targets[:, 0, 3:7], hip) - foot
            else:
                shoulder, elbow, wrist = (person.positions[f"{side}_{p}"] for p in ("upper_arm", "lower_arm", "hand"))
                path = upper * unit(elbow - shoulder) + lower * unit(wrist - elbow)
            square = (path * path).sum(axis=1)
            cosine = (upper**2 + lower**2 - square) / (2.0 * upper * lower)
            angle = np.maximum(np.pi - np.arccos(np.clip(cosine, -1.0, 1.0)), 0.1)
            drive = self.model.drives[bend.joint]
            value = bend.straight + np.sign(bend.bent - bend.straight) * angle
            column[:] = (value - drive["offset"]) / drive["ratio"]
        return out

    def _seek(self, targets: Floats, bent: Floats, floors: Floats) -> Floats:
        """Return the states (F, 7 + V) of frames that are solved one after the other."""
        count = len(targets)
        states = np.tile(self.start(targets[0]), (count, 1))
        track = self.track(targets, states, states.copy(), np.zeros(3), floors, bent)
        follow_rows(1, np.array([[0, count]]), self.with_iterations(4), track, scratch(1, self.model))
        return states

    def _improved(
        self,
        states: Floats,
        targets: Floats,
        floors: Floats,
        near: Floats | None,
        round_: int,
        bent: Floats | None = None,
        each: tuple[int, int] | None = None,
    ) -> Floats:
        """Return states of frames that are solved each by itself, near given ones, in iterations as usual or `each`."""
        iterations = each or (EACH[0] if near is None else EACH[1 + round_])
        count = len(states)
        made = (states if near is None else near).copy()
        pulls = np.zeros(3) if near is None else np.array(PULLS[round_]) / [self.leg, 1.0, 1.0]
        track = self.track(targets, made, made.copy() if near is None else near, pulls, floors, bent)
        firsts = np.arange(0, count, SPAN)
        spans = np.stack([firsts, np.minimum(firsts + SPAN, count)], axis=1)
        improve_rows(len(spans), spans, self.with_iterations(*iterations), track, scratch(len(spans), self.model))
        return made

    def _slowed(self, states: Floats, targets: Floats, floors: Floats, steps: dict[str, Steps], fps: float) -> Floats:
        """Return states in which no motor is faster than it can be; limbs that stand stand where it can be helped."""
        most = SURE * self.model.variables["speed"] / fps
        if not (np.abs(np.diff(states[:, 7:], axis=0)) > most).any():
            return states
        standing = np.zeros((len(states), len(self.model.blocks)), np.bool_)
        for b, name in enumerate(self.body.limbs):
            side, _, which = name.partition("_")
            if which == "leg":
                standing[:, b] = steps[side].standing
        made = states.copy()
        track = self.track(targets, made, states.copy(), np.array(SLOWED) / [self.leg, 1.0, 1.0], floors, None)
        work = scratch(1, self.model)
        for backward in (True, False):
            track.near[:] = made
            hold_speeds_rows(1, backward, most, standing, self.with_iterations(2, 4), track, work)
        return made

    def track(
        self, targets: Floats, states: Floats, near: Floats, pulls: Floats, floors: Floats, bent: Floats | None
    ) -> Track:
        """Return frames to solve, drawn to `near`; without `bent` knees begin as they are."""
        count, variables = len(states), len(self.model.variables)
        pull = np.empty((count, 2 + variables))
        pull[:, 0], pull[:, 1], pull[:, 2:] = pulls
        free = np.full((count, variables), np.inf)
        begins = np.zeros((0, len(self.body.bends))) if bent is None else bent
        return Track(targets, -free, free, near, pull, begins, floors, states)

    def with_iterations(self, iterations: int, more: int = 0) -> Model:
        """Return the model with so many iterations of each frame, and at most so many more where legs still move."""
        settings = self.model.settings.copy()
        settings["follow"], settings["more"] = iterations, more
        return self.model._replace(settings=settings)

    def _reachable_footholds(
        self, states: Floats, targets: Floats, floors: Floats, steps: dict[str, Steps], frames: Ints
    ) -> dict[str, Floats] | None:
        """Return places (S, 4) of the feet in which both can stand at once; None where all can where they are.

        Where a foot cannot stand in its place with a flat sole, however the pelvis gives way, it looks for its place
        once more, near the first one, while the other does what it did.
        """
        failing, rows = {}, np.zeros(len(frames), np.bool_)
        standing = np.stack([steps[side].standing for side in SIDES], axis=1)[frames]
        away = self._away(self.all_placed(states), targets, floors, standing)[0]
        for k, side in enumerate(SIDES):
            number = np.searchsorted(np.array([a for a, _ in steps[side].stances], np.int64), frames, side="right") - 1
            number[~standing[:, k]] = -1
            bad = np.unique(number[(away[:, k] > UNREACHED) & (number >= 0)])
            failing[side] = number, bad
            rows |= np.isin(number, bad) & (number >= 0)
        at = np.flatnonzero(rows)
        if not len(at):
            return None
        loosened = targets[at]
        for side, (number, bad) in failing.items():
            k, on = ROWS.index(f"{side}_foot"), np.isin(number[at], bad) & (number[at] >= 0)
            loosened[on, k, HORIZONTAL:] = np.array(SEEKS) / [self.leg, self.leg, 1.0, 1.0, 1.0]
            if side in self.body.loose:
                loosened[on, k, ROLL] = EDGE
        placed = self.all_placed(self._improved(states[at], loosened, floors[at], None, 0, each=SOUGHT))
        made = {}
        for side, (number, bad) in failing.items():
            made[side] = steps[side].footholds.copy()
            positions, angles = self.feet_of(placed, side)
            for s in bad.tolist():
                on = number[at] == s
                made[side][s, :2] = positions[on].mean(axis=0)
                made[side][s, 2] += np.angle(np.exp(1j * (angles[on] - made[side][s, 2])).mean())
        return made

    def _away(
        self, at: tuple[Floats, Floats], targets: Floats, floors: Floats, standing: Bools
    ) -> tuple[Floats, Floats]:
        """Return how far (F, 2) feet are from where they should stand, and how deep (F, 2) in the floor [m]."""
        away, under = np.empty((2, *standing.shape))
        stands_rows(len(targets), self.model, targets, floors, standing, *at, away, under)
        return away, under

    def _mend(self, states: Floats, targets: Floats, floors: Floats, standing: Bools) -> None:
        """Solve again, in place, the frames in which feet do not stand as they should or links are in each other."""
        rows = np.arange(len(states))
        for again in range(MENDED):
            at = self.all_placed(states[rows])
            bad = depths(self.model, *at, len(self.body.soles)) > TOO_DEEP
            away, under = self._away(at, targets[rows], floors[rows], standing[rows])
            bad |= (away > NOT_THERE).any(axis=1) | (under > TOO_DEEP).any(axis=1)
            rows = rows[bad]
            if not len(rows):
                return
            near = states[rows]
            states[rows] = self._improved(near, targets[rows], floors[rows], near, 1, each=MENDING[again])

    def all_placed(self, states: Floats) -> tuple[Floats, Floats]:
        """Return the positions (F, J, 3) and orientations (F, J, 4) of all joints."""
        work = placements(len(states), self.model)
        place_rows(len(states), self.model, np.ascontiguousarray(states), work)
        return work.positions, work.orientations

    def feet_of(self, at: tuple[Floats, Floats], side: str) -> tuple[Floats, Floats]:
        """Return where (F, 2) in x and z and in which direction (F,) [rad] a foot is, of joints placed there."""
        part = self.body.parts[f"{side}_foot"]
        positions, orientations = at[0][:, part.joint], at[1][:, part.joint]
        canonical = multiply(orientations, conjugate(part.neutral))
        face = heading(canonical)
        level = yawed(np.arctan2(face[:, 0], face[:, 1]))  # the ankle, were the foot level
        foothold = positions + rotate(orientations, part.centre) + rotate(level, self.body.ankles[side])
        return foothold[:, [0, 2]], np.arctan2(face[:, 0], face[:, 1])

    def placed(self, states: Floats, joint: int) -> tuple[Floats, Floats]:
        """Return the positions (F, 3) and orientations (F, 4) of a joint: forward kinematics of its path alone."""
        joints, drives = self.model.joints, self.model.drives
        position, orientation = states[:, :3], states[:, 3:7]
        for j in self.body.skeleton.path(joint)[1:]:
            row, drive = joints[j], drives[j]
            offset, own = np.array([row["ox"], row["oy"], row["oz"]]), np.array([row[f"r{c}"] for c in "wxyz"])
            position = position + rotate(orientation, offset)
            orientation = multiply(orientation, own)
            if drive["variable"] >= 0:
                half = 0.5 * (drive["ratio"] * states[:, 7 + drive["variable"]] + drive["offset"])
                axis = np.array([row["ax"], row["ay"], row["az"]])
                if row["kind"] == SLIDE:
                    position = position + rotate(orientation, 2.0 * half[:, None] * axis)
                else:
                    rotation = np.concatenate([np.cos(half)[:, None], np.sin(half)[:, None] * axis], axis=1)
                    orientation = multiply(orientation, rotation)
        return position, orientation

    def _followable(self, states: Floats, targets: Floats, fps: float) -> Floats:
        """Return states (F, 7 + V) that motors can follow, each variable by itself.

        Of the root, what it gives way from where it is asked to be is smoothed: slowly, since the person is smooth.
        """
        variables, count = self.model.variables, len(states)
        hips = self.body.parts["hips"]
        canonical = targets[:, 0, 3:7]
        requested = multiply(canonical, hips.neutral)
        signal = np.empty((6 + len(variables), count))
        on_root = self.root_of_hips(states)
        signal[:3] = (on_root[0] - targets[:, 0, :3]).T
        signal[3:6] = log(multiply(on_root[1], conjugate(requested))).T
        signal[6:] = states[:, 7:].T
        limits = np.zeros((len(signal), 5))
        limits[:, 0], limits[:, 2], limits[:, 3] = np.inf, -np.inf, np.inf
        limits[:3, 1], limits[3:6, 1] = ROOT_ACCELERATIONS[0] * self.leg / fps**2, ROOT_ACCELERATIONS[1] / fps**2
        limits[6:, 0], limits[6:, 1] = variables["speed"] / fps, variables["acceleration"] / fps**2
        limits[6:, 2], limits[6:, 3] = variables["lower"], variables["upper"]
        limits[:6, 4] = (fps / (2.0 * np.pi * ROOT_CUTOFF)) ** 4
        limits[6:, 4] = (fps / (2.0 * np.pi * CUTOFF)) ** 4
        out = np.empty_like(signal)
        followable_rows(len(signal), signal, limits, out, np.empty((len(signal), 4, count)))
        made = np.empty_like(states)
        made[:, 7:] = out[6:].T
        orientation = multiply(exp(np.ascontiguousarray(out[3:6].T)), requested)
        position = targets[:, 0, :3] + out[:3].T
        made[:, :3], made[:, 3:7] = self.root_under(made, position, orientation)
        return made

    def root_of_hips(self, states: Floats) -> tuple[Floats, Floats]:
        """Return where (F, 3) the middle of the hips is, and the orientation (F, 4) of the joint that carries them."""
        part = self.body.parts["hips"]
        position, orientation = self.placed(states, part.joint)
        return position + rotate(orientation, part.centre), orientation

    def root_under(self, states: Floats, position: Floats, orientation: Floats) -> tuple[Floats, Floats]:
        """Return the root's position (F, 3) and orientation (F, 4) for which the hips are as given."""
        there, rotated = self.root_of_hips(states_at_origin(states))
        root = multiply(orientation, conjugate(rotated))
        return position - rotate(root, there), root


def states_at_origin(states: Floats) -> Floats:
    """Return states whose root is at the origin, unrotated."""
    made = states.copy()
    made[:, :3], made[:, 3:7] = 0.0, (1.0, 0.0, 0.0, 0.0)
    return made


def continuous(states: Floats) -> Floats:
    """Return states whose root quaternions do not change sign from frame to frame."""
    made = states.copy()
    signs = np.where((made[1:, 3:7] * made[:-1, 3:7]).sum(axis=1) < 0.0, -1.0, 1.0)
    made[1:, 3:7] *= np.cumprod(signs)[:, None]
    return made


def interpolated(frames: Ints, states: Floats, count: int) -> Floats:
    """Return states (F, 7 + V) of all frames from those of some."""
    known = continuous(states)
    at = np.clip(np.searchsorted(frames, np.arange(count), side="right") - 1, 0, max(len(frames) - 2, 0))
    after = np.minimum(at + 1, len(frames) - 1)
    span = np.maximum(frames[after] - frames[at], 1)
    t = ((np.arange(count) - frames[at]) / span)[:, None]
    made = np.asarray((1.0 - t) * known[at] + t * known[after], np.float64)
    made[:, 3:7] /= np.linalg.norm(made[:, 3:7], axis=1, keepdims=True)
    return made
