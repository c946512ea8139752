"""Dragging prepared: a clip with its weights, bounds and contacts, and drags of its frames by the kernel."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..body import Humanoid
from ..compute import PosableError, Status, UnknownNameError
from ..compute.arrays import floats
from ..compute.types import ArrayLike, Bools, Floats, Ints, Records
from ..math import conjugate, log, multiply, normalize
from ..skeleton import Pose
from .answers import DragAnswer, statuses
from .bounds import Bounds
from .clip import Clip
from .contacts import GROUND, Contact, find_contacts
from .model import DRAG, DRAGGED, GOAL, Bodies, Rig, scratch
from .parts import joint_of
from .transforms import EPSILON

MODES = {"frozen": (1.5, 0.3, 0.5), "phase": (4.0, 0.03, 0.1)}
"""Cap of the scale and softness of places and turns, by mode (`specs/edit.md`, section 4)."""
REST = {"frozen": EPSILON, "phase": 0.2 * EPSILON}
"""[m/s]: slower is rest. In mode "phase" a hand that slows down must still tell the time, or the clip stops there."""
MOST_TIME = 0.1  # [s] that one step may go ahead in mode "phase"
STEP = 0.01  # [m]
EXACT = 1e-3  # softness of what must be met
MOST_STEPS = 20_000
ITERATIONS = 10


@dataclass(frozen=True)
class Settings:
    """How a drag goes; the usual values when not given."""

    mode: str = "frozen"
    """ "frozen": weights and velocities of the frame (the paper's); "phase": they move along with the drag."""
    step: float = STEP
    """[m] the dragged part moves at a time."""
    softness: tuple[float, float] | None = None
    """How soft places and turns of the other parts are; 0.3 and 0.5, in mode "phase" 0.03 and 0.1."""
    cap: float | None = None
    """How much further than the dragged part others may go; 1.5, in mode "phase" 4."""

    def values(self) -> tuple[float, float, float]:
        """(cap, softness of places, of turns)."""
        if self.mode not in MODES:
            raise UnknownNameError("mode", self.mode, MODES)
        cap, place, turn = MODES[self.mode]
        place, turn = (place, turn) if self.softness is None else self.softness
        cap = cap if self.cap is None else self.cap
        for name, value in (("step", self.step), ("softness", place), ("softness", turn), ("cap", cap)):
            if not (np.isfinite(value) and value > 0.0):
                raise PosableError(f"{name} is {value}; expected a number above 0")
        return cap, place, turn


@dataclass(frozen=True, eq=False)
class Dragged:
    """What an editor remembers of a drag, so that it can go on: the pose depends on where the part is, not on the way.

    Limits give way differently going out and coming back, so a part dragged there and back by itself would not bring
    the body back; a drag that goes on is done again from its beginning. In mode "phase" the way matters, and it is not.
    """

    frames: Ints
    joint: int
    mode: str
    way: Floats
    turn: Floats | None
    start: Pose
    phases: Floats
    """(N,) where in the clip each drag ended [frames]."""
    reached: Bools
    pose: Pose

    def continues(self, frames: Ints, joint: int, turn: Floats | None, mode: str) -> bool:
        """Whether a drag of these frames by this joint goes on from here."""
        alike = self.joint == joint and self.mode == mode and self.turn is None and turn is None
        return alike and np.array_equal(self.frames, frames)

    def joined(self, way: Floats, body: Humanoid) -> Floats:
        """(N, 3): the way from the beginning, this one added to what was gone already."""
        here, began = (body.skeleton.forward(pose).positions[:, self.joint] for pose in (self.pose, self.start))
        return np.where(self.reached[:, None], self.way, here - began) + way


class Dragger:
    """Drags frames of a clip with given weights and bounds; immutable."""

    def __init__(self, clip: Clip, logs: Floats, bounds: Bounds) -> None:
        self.clip, self.logs, self.bounds = clip, logs, bounds
        self._velocities: dict[int, Floats] = {}

    def bounded(self, bounds: Bounds) -> Dragger:
        """The same with other bounds."""
        other = Dragger(self.clip, self.logs, bounds)
        other._velocities = self._velocities
        return other

    @cached_property
    def rig(self) -> Rig:
        """What kernels read that does not change from pose to pose."""
        return Rig(self.clip.body.skeleton.packed, self.clip.parts.dofs, self.bounds.packed, self.bounds.curves)

    @cached_property
    def contacts(self) -> tuple[Contact, ...]:
        """The clip's contacts, found when first asked for."""
        return find_contacts(self.clip)

    def velocities(self, joints: Sequence[int]) -> Floats:
        """(F, E, 6): of these joints, computed once each."""
        missing = [j for j in joints if j not in self._velocities]
        if missing:
            for j, rows in zip(missing, np.moveaxis(self.clip.velocities(missing), 1, 0), strict=True):
                self._velocities[j] = rows
        return np.ascontiguousarray(np.stack([self._velocities[j] for j in joints], axis=1))

    def drag(
        self,
        pose: Pose,
        frames: Floats | Ints,
        part: str | int,
        displacement: Floats,
        turn: Floats | None,
        pins: Iterable[str | int],
        grounded: float | None,
        settings: Settings,
    ) -> DragAnswer:
        """Drag poses (N,) of some frames (N,) by (N, 3) [m], turning by (N, 3) [rad] where given.

        Frames may lie between two in mode "phase". Feet that are on the ground within `grounded` seconds of a frame
        are pinned in it; None pins none.
        """
        body = self.clip.body
        joint = joint_of(body, part)
        joints = self.clip.parts.joints.tolist()
        parts = joints if joint in joints else [*joints, joint]
        held = [joint_of(body, pin) for pin in pins]
        if joint in held:
            raise PosableError(f"part {part!r} is both dragged and pinned; leave it out of the pins")
        goals = self._goals(pose, parts, [j for j in held if j not in parts])
        for row, j in enumerate(parts):
            goals["kept"][:, row] = j in held
        if grounded is not None:
            self._ground(goals, parts, frames, joint, grounded * self.clip.fps)
        drags = self._drags(frames, parts.index(joint), displacement, turn, settings)
        if turn is not None:
            goals["turn"][:, parts.index(joint)] = EXACT
        return self._run(pose, drags, goals, parts)

    def _goals(self, pose: Pose, parts: Sequence[int], others: Sequence[int]) -> Records:
        """(N, G): goals at the parts' present places; `others` are pins."""
        joints = [*parts, *others]
        frames = self.clip.body.skeleton.forward(pose)
        goals = np.zeros((len(pose), len(joints)), GOAL)
        goals["joint"], goals["place"], goals["turn"] = joints, EXACT, EXACT
        goals["kept"][:, len(parts) :] = 1
        set_goals(goals, frames.positions[:, joints], frames.orientations[:, joints])
        return goals

    def _ground(self, goals: Records, parts: Sequence[int], frames: Floats | Ints, dragged: int, near: float) -> None:
        """Pin feet that are on the ground in each frame, or within `near` frames of it."""
        for contact in self.contacts:
            joint = self.clip.body.roles[contact.part]
            if contact.on == GROUND and joint in parts and joint != dragged:
                inside = (frames >= contact.first - near) & (frames <= contact.last + near)
                goals["kept"][inside, parts.index(joint)] = 1

    def _drags(
        self, frames: Floats | Ints, dragged: int, way: Floats, turn: Floats | None, settings: Settings
    ) -> Records:
        cap, place, soft_turn = settings.values()
        drags = np.zeros(len(frames), DRAG)
        drags["dragged"], drags["phase"], drags["turned"] = dragged, settings.mode == "phase", turn is not None
        drags["most"], drags["iterations"], drags["frame"], drags["fps"] = MOST_STEPS, ITERATIONS, frames, self.clip.fps
        for k, axis in enumerate("xyz"):
            drags[f"d{axis}"] = way[:, k]
            drags[f"r{axis}"] = 0.0 if turn is None else turn[:, k]
        drags["step"], drags["cap"], drags["place"], drags["turn"] = settings.step, cap, place, soft_turn
        # Along the clip's own time parts turn as far as they do in the clip; frozen velocities must not spin them. A
        # limit of time for each step, as the specification has it, would make the result depend on their length.
        drags["turn_cap"], drags["most_time"] = (np.inf, MOST_TIME) if settings.mode == "phase" else (cap, np.inf)
        drags["rest"] = REST[settings.mode]
        return drags

    def _run(self, pose: Pose, drags: Records, goals: Records, parts: Sequence[int]) -> DragAnswer:
        from .drag_kernels import drag_rows

        skeleton, n = self.clip.body.skeleton, len(drags)
        way = np.stack([drags[name] for name in ("dx", "dy", "dz", "rx", "ry", "rz")], axis=1)
        invalid = ~(np.isfinite(way).all(axis=1) & np.isfinite(pose.rotations).all(axis=(1, 2)))
        still = ~(way != 0.0).any(axis=1) & ~invalid
        translation, rotations = pose.translation.copy(), pose.rotations.copy()
        offsets = np.empty((0, 0, 3)) if pose.offsets is None else pose.offsets
        told = np.zeros(n, DRAGGED)
        go = np.flatnonzero(~invalid & ~still)
        if len(go):
            work = scratch(len(go), len(skeleton), len(skeleton.dofs), len(self.clip.parts.dofs), goals.shape[1])
            place, turns, report = translation[go], rotations[go], told[go]
            moved = offsets if pose.offsets is None else offsets[go]
            drag_rows(
                *(len(go), self.rig, self.logs, self.velocities(parts), drags[go], goals[go]),
                *(self.bounds.box_rows(len(go)), self.bounds.shape_rows(self.clip.body, pose[go])),
                *(Bodies(place, turns, moved), report, work),
            )
            translation[go], rotations[go], told[go] = place, turns, report
        told["done"][still] = 1.0
        told["frame"][still] = drags["frame"][still]
        dragged = Pose(translation, rotations, pose.offsets)
        return DragAnswer(
            dragged, statuses(told, invalid), told["away"], told["turned"], told["slid"], told["done"], told["frame"],
            told["steps"], told["iterations"], told["limited"] > 0,
        )  # fmt: skip


def set_goals(goals: Records, places: ArrayLike, turns: ArrayLike) -> None:
    """Fill places (..., 3) and turns (..., 4) of goals (...)."""
    at, turned = np.asarray(places), np.asarray(turns)
    for k, name in enumerate(("x", "y", "z")):
        goals[name] = at[..., k]
    for k, name in enumerate(("qw", "qx", "qy", "qz")):
        goals[name] = turned[..., k]


def world_turn(start: Floats, wanted: ArrayLike) -> Floats:
    """(..., 3) [rad]: the rotation vector, in the world, from orientations (..., 4) to the wanted ones."""
    q = floats(wanted, "orientation", 4, hint=" wxyz")
    usable = np.isfinite(q).all(axis=-1, keepdims=True) & (np.abs(q).max(axis=-1, keepdims=True) > 0.0)
    vector = log(multiply(normalize(np.where(usable, q, 1.0)), conjugate(start)))
    return np.asarray(np.where(usable, vector, np.nan))


def one(answer: DragAnswer) -> DragAnswer:
    """The only row of a batch of one."""
    fields: dict[str, Any] = {
        name: getattr(answer, name)[0]
        for name in ("residual", "turn_residual", "slid", "done", "frame", "steps", "iterations", "limited")
    }
    return replace(answer, pose=answer.pose[0], status=Status(int(answer.status[0])), **fields)
