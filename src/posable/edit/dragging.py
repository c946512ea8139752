"""Dragging prepared: a clip with its weights, bounds and contacts, and drags of its frames by the kernel."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..body import Humanoid
from ..compute import PosableError, Status, UnknownNameError
from ..compute.extent import rows_in_extent
from ..compute.types import ArrayLike, Bools, Floats, Ints, Records, floats
from ..limb import Target
from ..math import angle, conjugate, exp, log, multiply, normalize
from ..skeleton import Motion, Pose
from ..skeleton.pose import are_poses
from ..skeleton.solution import PoseSolution, status_like
from .bounds import Bounds, project_to_ranges
from .clip import Clip, frame_of, joint_of
from .contacts import GROUND, Contact, find_contacts, same_foot
from .model import DRAG, DRAGGED, EXACT, GOAL, PIN_TOLERANCE, Pulls, Rig, Rows, Scratch, scratch
from .scopes import scope_logs
from .transforms import EPSILON

REACHED_WITHIN = 1e-3  # [m]: nearer to its target than this a part has reached it
ORIENTED_WITHIN = 5e-3  # [rad]
MODES = {"phase": (4.0, 0.03, 0.1), "frozen": (1.5, 0.3, 0.5)}
"""Largest ratio, and softness of positions and orientations, by mode (`specs/edit.md`, section 4)."""
REST = {"frozen": EPSILON, "phase": 0.2 * EPSILON}
"""[m/s]: slower is rest. In mode "phase" a hand that slows down must still tell the time, or the clip stops there."""
MAX_TIME = 0.1  # [s] that one step may go ahead in mode "phase"
STEP = 0.01  # [m]
BLOCK = 256  # frames at once: bounds the scratch
BENT = 0.004  # of a leg's length, that a straight one is shortened by to show which way its knee bends


@dataclass(frozen=True, eq=False, repr=False)
class DragSolution(PoseSolution):
    """A dragged pose, or a batch of them (...).

    REACHED where the returned pose has the part within a millimetre and, where an orientation was requested, 5 mrad of
    its target, and no pin moved; LIMITS where joint limits stopped the drag, else UNREACHABLE or INVALID.
    """

    slid: Floats
    """(...) [m]: the largest movement of a pin; a drag stops before it exceeds 0.3 mm."""
    done: Floats
    """(...): the fraction of the displacement that was made."""
    frame: Floats
    """(...): the frame of the clip whose weights were used last; mode "phase" moves it."""
    steps: Ints
    """(...): steps tried."""
    iterations: Ints
    """(...): iterations of all steps together."""
    limited: Any
    """(...): whether a joint's limit stopped the drag."""

    @property
    def cause(self) -> Any:
        """How the drag ended: "converged", "stalled" (out of reach), "limited" or "invalid"; or an array of these."""
        names = np.array(["converged", "stalled", "limited", "stalled", "stalled", "invalid"])
        found = names[np.asarray(self.status, dtype=np.int64)]
        return found if found.shape else str(found)

    def reshaped(self, shape: tuple[int, ...]) -> DragSolution:
        """Return the solution of N drags in a batch's shape; () is the only row of one."""
        values = {
            f.name: getattr(self, f.name).reshape(shape) for f in fields(self) if f.name not in ("pose", "status")
        }
        if not shape:
            values = {name: value[()] for name, value in values.items()}
        pose = self.pose.reshape(*shape) if shape else self.pose[0]
        return replace(self, pose=pose, status=status_like(np.asarray(self.status), shape), **values)


@dataclass(frozen=True)
class Settings:
    """How a drag goes."""

    mode: str = "phase"
    """ "phase": weights and velocities move along with the drag; "frozen": those of the frame (the paper's)."""
    step: float = STEP
    """[m]: the longest step of the dragged part."""
    softness: tuple[float, float] | None = None
    """Of the other parts' target positions and orientations; 0.3 and 0.5, in mode "phase" 0.03 and 0.1."""
    max_ratio: float | None = None
    """How much further than the dragged part others may go; 1.5, in mode "phase" 4."""
    scope: str = "auto"
    """How much of the body answers (`scopes.SCOPES`)."""

    def values(self) -> tuple[float, float, float]:
        """Return the largest ratio and the softness of positions and of orientations."""
        if self.mode not in MODES:
            raise UnknownNameError("mode", self.mode, MODES)
        ratio, position, orientation = MODES[self.mode]
        position, orientation = (position, orientation) if self.softness is None else self.softness
        ratio = ratio if self.max_ratio is None else self.max_ratio
        named = (("step", self.step), ("softness", position), ("softness", orientation), ("max_ratio", ratio))
        for name, value in named:
            if not (np.isfinite(value) and value > 0.0):
                raise PosableError(f"{name} is {value}; expected a number above 0")
        return ratio, position, orientation


@dataclass(frozen=True, eq=False)
class DragRequest:
    """N drags of one part."""

    joint: int
    frames: Ints
    """(N,)"""
    displacements: Floats
    """(N, 3) [m]"""
    rotations: Floats | None
    """(N, 3) [rad], or None."""
    start: Pose
    """(N,) poses to start from."""
    shape: tuple[int, ...]
    """The shape of the batch."""


@dataclass(frozen=True, eq=False)
class Dragged:
    """A drag that an editor can continue: the pose depends on where the part is, not on the path of the drag.

    Limits give way differently going out and coming back, so a part dragged there and back by itself would not bring
    the body back; a drag that goes on is computed again from its beginning. In mode "phase" the path matters, and it is
    not.
    """

    request: DragRequest
    """From the beginning."""
    mode: str
    solution: DragSolution
    """(N,)"""

    def continued(self, request: DragRequest, mode: str, body: Humanoid) -> tuple[DragRequest, Floats]:
        """Return a drag that goes on from here, and where in the clip (N,) [frames]; another one stays as it is."""
        began = self.request
        alike = began.joint == request.joint and self.mode == mode and np.array_equal(began.frames, request.frames)
        if not alike or began.rotations is not None or request.rotations is not None:
            return request, request.frames.astype(np.float64)
        if mode == "phase":
            return request, self.solution.frame
        reached = np.asarray(self.solution.ok & (self.solution.done >= 1.0))
        poses = (self.solution.pose, began.start)
        end, start = (body.skeleton.forward(pose).positions[:, began.joint] for pose in poses)
        made = np.where(reached[:, None], began.displacements, end - start)
        joined = replace(request, displacements=made + request.displacements, start=began.start)
        return joined, request.frames.astype(np.float64)


class Dragger:
    """Drags frames of a clip with given weights and bounds; immutable."""

    def __init__(self, clip: Clip, logs: Floats, bounds: Bounds) -> None:
        self.clip, self.logs, self.bounds = clip, logs, bounds
        self._velocities: dict[int, Floats] = {}
        packed = bounds.packed
        self._rig = Rig(packed.joints, clip.parts.dofs, packed.limits, packed.curves)

    def bounded(self, bounds: Bounds) -> Dragger:
        """Return the same with other bounds."""
        other = type(self)(self.clip, self.logs, bounds)
        other._velocities = self._velocities
        other.contacts = self.contacts
        return other

    @cached_property
    def contacts(self) -> tuple[Contact, ...]:
        """The clip's contacts, found when first needed."""
        return find_contacts(self.clip)

    def velocities(self, joints: Sequence[int]) -> Floats:
        """Return the velocities of these joints (F, E, 6), computed once each."""
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
        displacements: Floats,
        rotations: Floats | None,
        pins: Iterable[str | int],
        grounded: float | None,
        settings: Settings,
    ) -> DragSolution:
        """Drag a part of poses (N,) of some frames (N,).

        Args:
            pose: (N,) the poses to start from.
            frames: (N,) the frames whose weights and velocities are used; in mode "phase" they may lie between two.
            part: the dragged part.
            displacements: (N, 3) [m] in the world.
            rotations: (N, 3) rotation vectors in the world [rad], or None.
            pins: parts that stay where they are.
            grounded: feet that are on the ground within so many seconds of a frame are pinned in it; None pins none.
            settings: how the drag goes.
        """
        body = self.clip.body
        joint = joint_of(body, part)
        joints = self.clip.parts.joints.tolist()
        parts = joints if joint in joints else [*joints, joint]
        pinned = [joint_of(body, pin) for pin in pins]
        if joint in pinned:
            raise PosableError(f"part {part!r} is both dragged and pinned; leave it out of the pins")
        goals = self._goals(pose, parts, pinned)
        if grounded is not None:
            goals = self._ground(goals, pose, frames, joint, grounded * self.clip.fps)
        drags = self._drags(frames, parts.index(joint), displacements, rotations, settings)
        if rotations is not None:
            goals["orientation_softness"][:, parts.index(joint)] = EXACT
        return self._run(pose, drags, goals, parts, self.scope(joint, settings.scope))

    def scope(self, joint: int, scope: str) -> Floats:
        """Return what a scope adds to the logarithms of the weights (n,) when a joint is dragged."""
        return scope_logs(self.clip.body, self.clip.parts, joint, scope)

    def pulled(
        self,
        pose: Pose,
        goals: Records,
        logs: Floats,
        iterations: int,
        source: Pose | None = None,
        *,
        scope: Floats | None = None,
        min_iterations: int | None = None,
        close: float = 0.0,
    ) -> tuple[Pose, Floats, Bools]:
        """Bring poses (K,) to goals (K, G) with weights (K, n), inside the limits as far as `source` (K,) or `pose` is.

        Limbs are projected to their ranges (`LimbRange`) in the end.

        Args:
            pose: (K,) the poses to start from.
            goals: (K, G) of `GOAL`.
            logs: (K, n) logarithms of the inverse weights.
            iterations: the most.
            source: (K,) poses that the limits are widened to contain; by default those to start from.
            scope: (n,) is added to the logarithms; None: nothing.
            min_iterations: from so many on they end when all fixed goals are met; by default as many as the most.
            close: [m] within which they are met.

        Returns:
            The poses, the distance (K, G) [m] of each part from its goal, and where (K,) limits stopped a joint.
        """
        from .pull_kernels import pull_rows

        began = pose if source is None else source
        found = _copy(pose)
        errors, limited = np.zeros(goals.shape), np.zeros(len(goals), np.int64)
        added = np.zeros(logs.shape[1]) if scope is None else scope
        least = iterations if min_iterations is None else min_iterations
        for first in range(0, len(goals), BLOCK):
            block = slice(first, first + BLOCK)
            rows = self._rows(found[block], goals[block], began[block])
            weights, rotations = np.ascontiguousarray(logs[block]), np.ascontiguousarray(began.rotations[block])
            pulls = Pulls(weights, added, rotations, errors[block], limited[block])
            pull_rows(len(weights), self._rig, rows, pulls, least, iterations, close, self._scratch(rows))
        self._keep_bits(found, pose, added)
        inside, moved = project_to_ranges(self.clip.body, self.bounds.ranges, began, found)
        if moved.any():
            frames = self.clip.body.skeleton.forward(inside)
            positions = frames.positions[np.arange(len(goals))[:, None], goals["joint"]]
            left = np.linalg.norm(goals["position"] - positions, axis=-1)
            errors = np.where(moved[:, None] & (goals["position_softness"] >= 0.0), left, errors)
        return inside, errors, (limited > 0) | moved

    def _keep_bits(self, found: Pose, start: Pose, scope: Floats) -> None:
        """Give joints that a scope leaves out the numbers that they had: steps of length 0 round them."""
        left_out = scope < -100.0
        if not left_out.any():
            return
        joints = self.clip.body.skeleton.dofs.joint[self.clip.parts.dofs]
        still = np.setdiff1d(np.arange(found.joint_count), joints[~left_out])
        found.rotations[:, still] = start.rotations[:, still]
        if 0 in still:
            found.translation[:] = start.translation

    def _goals(self, pose: Pose, parts: Sequence[int], pinned: Sequence[int]) -> Records:
        """Return goals (N, G) at the present positions of the parts, and of pins that are not among them."""
        joints = [*parts, *(j for j in pinned if j not in parts)]
        frames = self.clip.body.skeleton.forward(pose)
        goals = np.zeros((len(pose), len(joints)), GOAL)
        goals["joint"], goals["position_softness"], goals["orientation_softness"] = joints, EXACT, EXACT
        goals["fixed"] = np.isin(joints, pinned)
        goals["position"], goals["orientation"] = frames.positions[:, joints], frames.orientations[:, joints]
        return goals

    def _ground(self, goals: Records, pose: Pose, frames: Floats | Ints, dragged: int, near: float) -> Records:
        """Return goals with feet pinned that are on the ground in each frame, or within `near` frames of it.

        A heel on the ground pins the foot, the ball of a foot alone its position.
        """
        body = self.clip.body
        standing = [c for c in self.contacts if c.on == GROUND and not same_foot(body, body.roles[c.part], dragged)]
        known = goals["joint"][0].tolist() if len(goals) else []
        more = sorted({body.roles[contact.part] for contact in standing} - {*known})
        added = self._goals(pose, more, ())
        added["position_softness"], added["orientation_softness"] = -1.0, -1.0
        goals = np.concatenate([goals, added], axis=1)
        joints = [*known, *more]
        for contact in standing:
            g = joints.index(body.roles[contact.part])
            inside = (frames >= contact.first - near) & (frames <= contact.last + near)
            goals["fixed"][inside, g], goals["position_softness"][inside, g] = 1, EXACT
        return goals

    def _drags(
        self,
        frames: Floats | Ints,
        dragged: int,
        displacements: Floats,
        rotations: Floats | None,
        settings: Settings,
    ) -> Records:
        ratio, position_softness, orientation_softness = settings.values()
        drags, phase = np.zeros(len(frames), DRAG), settings.mode == "phase"
        drags["dragged"], drags["phase"], drags["oriented"] = dragged, phase, rotations is not None
        drags["frame"], drags["fps"], drags["displacement"] = frames, self.clip.fps, displacements
        drags["rotation"] = 0.0 if rotations is None else rotations
        drags["step"], drags["max_ratio"], drags["rest"] = settings.step, ratio, REST[settings.mode]
        drags["position_softness"], drags["orientation_softness"] = position_softness, orientation_softness
        # Along the clip's own time parts rotate as far as they do in the clip; frozen velocities must not spin them. A
        # limit of time for each step, as the specification has it, would make the result depend on their length.
        drags["max_rotation_ratio"], drags["max_time"] = (np.inf, MAX_TIME) if phase else (ratio, np.inf)
        return drags

    def _rows(self, pose: Pose, goals: Records, began: Pose) -> Rows:
        """Return poses (N,) as kernels change them in place, with bounds that contain the poses they began in."""
        offsets = np.empty((0, 0, 3)) if pose.offsets is None else np.ascontiguousarray(pose.offsets)
        return Rows(pose.translation, pose.rotations, offsets, goals, *self.bounds.rows(began))

    def _scratch(self, rows: Rows) -> Scratch:
        n, goals = rows.goals.shape
        skeleton = self.clip.body.skeleton
        return scratch(n, len(skeleton), len(skeleton.dofs), len(self.clip.parts.dofs), goals)

    def _run(self, pose: Pose, drags: Records, goals: Records, parts: Sequence[int], scope: Floats) -> DragSolution:
        from .drag_kernels import drag_rows

        body = self.clip.body
        change = np.concatenate([drags["displacement"], drags["rotation"]], axis=1)
        sound = np.isfinite(change).all(axis=1) & rows_in_extent(drags["displacement"]) & are_poses(pose)
        invalid = ~sound
        still = ~(change != 0.0).any(axis=1) & ~invalid
        dragged, reports = _copy(pose), np.zeros(len(drags), DRAGGED)
        go = np.flatnonzero(~invalid & ~still)
        if len(go):
            rows, report = self._rows(pose[go], goals[go], pose[go]), reports[go]
            drag_rows(
                *(len(go), self._rig, rows, self.logs, scope, self.velocities(parts), drags[go], report),
                self._scratch(rows),
            )
            dragged.translation[go], dragged.rotations[go], reports[go] = rows.translation, rows.rotations, report
            self._drag_bent(pose, drags, goals, parts, scope, dragged, reports, go)
        self._keep_bits(dragged, pose, scope)
        reports["done"][still] = 1.0
        reports["frame"][still] = drags["frame"][still]
        for name in ("position_error", "orientation_error"):
            reports[name][invalid] = np.inf
        inside, moved = project_to_ranges(body, self.bounds.ranges, pose, dragged)
        if moved.any():
            self._measure(reports, moved, pose, inside, drags, goals)
        causes = np.where(reports["done"] < 1.0, Status.UNREACHABLE, Status.REACHED)
        causes = np.where((reports["limited"] > 0) | (moved & (causes == Status.REACHED)), Status.LIMITS, causes)
        causes = np.where(invalid, Status.INVALID, causes)
        slid = np.ascontiguousarray(reports["slid"])
        status = judged(causes, reports["position_error"], reports["orientation_error"], slid - PIN_TOLERANCE)
        stopped = (reports["limited"] > 0) | (moved & (causes == Status.LIMITS) & (status != Status.REACHED))
        return DragSolution(
            inside, status, reports["position_error"], reports["orientation_error"], slid, reports["done"],
            reports["frame"], reports["steps"], reports["iterations"], stopped,
        )  # fmt: skip

    def _drag_bent(
        self,
        pose: Pose,
        drags: Records,
        goals: Records,
        parts: Sequence[int],
        scope: Floats,
        dragged: Pose,
        reports: Records,
        rows: Ints,
    ) -> None:
        """Drag those of some rows again that failed with straight legs, from knees that are bent a little, in place.

        At a straight leg no small step tells the solver which way a knee bends, and beyond it is the wrong one.
        """
        from .drag_kernels import drag_rows

        failed = rows[(reports["done"][rows] < 1.0) | (reports["limited"][rows] > 0)]
        bent, changed = bend_knees(self.clip.body, pose[failed], goals[failed]) if len(failed) else (pose, failed)
        if not len(changed):
            return
        failed, begun = failed[changed], bent[changed]
        joint, skeleton = int(goals["joint"][0, drags["dragged"][0]]), self.clip.body.skeleton
        was, now = (skeleton.forward(one).positions[:, joint] for one in (pose[failed], begun))
        again, report = drags[failed], np.zeros(len(failed), DRAGGED)
        again["displacement"] += was - now
        moving = self._rows(_copy(begun), goals[failed], pose[failed])
        drag_rows(
            *(len(failed), self._rig, moving, self.logs, scope, self.velocities(parts), again, report),
            self._scratch(moving),
        )
        better = (report["done"] >= 1.0) & (report["limited"] == 0)
        at = failed[better]
        dragged.translation[at], dragged.rotations[at] = moving.translation[better], moving.rotations[better]
        reports[at] = report[better]

    def _measure(
        self, reports: Records, rows: Bools, before: Pose, after: Pose, drags: Records, goals: Records
    ) -> None:
        """Measure the errors of some rows again, by forward kinematics of the poses after a projection."""
        skeleton, drags, goals = self.clip.body.skeleton, drags[rows], goals[rows]
        began, ended = skeleton.forward(before[rows]), skeleton.forward(after[rows])
        at = np.arange(len(drags))
        joint = goals["joint"][at, drags["dragged"]]
        target = began.positions[at, joint] + drags["displacement"]
        reports["position_error"][rows] = np.linalg.norm(target - ended.positions[at, joint], axis=-1)
        orientation = multiply(exp(drags["rotation"]), began.orientations[at, joint])
        error = angle(orientation, ended.orientations[at, joint])
        reports["orientation_error"][rows] = np.where(drags["oriented"] > 0, error, 0.0)
        slips = np.linalg.norm(ended.positions[at[:, None], goals["joint"]] - goals["position"], axis=-1)
        pins = (goals["fixed"] > 0) & (np.arange(goals.shape[1]) != drags["dragged"][:, None])
        reports["slid"][rows] = np.where(pins, slips, 0.0).max(axis=1, initial=0.0)


class PlainDragger(Dragger):
    """Drags as if nothing moved in the clip: the other parts stay where they are as far as they can."""

    def velocities(self, joints: Sequence[int]) -> Floats:
        """Return the velocities of these joints (F, E, 6): none."""
        return np.zeros((len(self.clip), len(joints), 6))


def bend_knees(body: Humanoid, pose: Pose, goals: Records) -> tuple[Pose, Ints]:
    """Return poses (N,) with straight legs bent a little, their root lower and pinned feet where they are; and which
    rows changed.
    """
    frames, ok = body.skeleton.forward(pose), np.zeros(len(pose), np.bool_)
    bent = pose.replace(translation=pose.translation - [0.0, BENT * body.leg_length, 0.0])
    for side in ("left", "right"):
        if f"{side}_foot" not in body.roles:
            continue
        joints = list(body.limb_joints(f"{side}_leg"))
        hip, knee, ankle = np.moveaxis(frames.positions[:, joints], 1, 0)
        bones = np.linalg.norm(knee - hip, axis=-1) + np.linalg.norm(ankle - knee, axis=-1)
        pinned = ((goals["joint"] == joints[2]) & (goals["fixed"] > 0)).any(axis=1)
        straight = pinned & (np.linalg.norm(ankle - hip, axis=-1) > (1.0 - BENT) * bones)
        placed = body.limb(f"{side}_leg").place(
            bent, Target(ankle, world_orientation=frames.orientations[:, joints[2]])
        )
        use = pinned & (np.asarray(placed.status) == Status.REACHED)
        ok |= straight & use
        bent = bent.replace(rotations=np.where(use[:, None, None], placed.pose.rotations, bent.rotations))
    return bent, np.flatnonzero(ok)


def judged(causes: ArrayLike, position_error: ArrayLike, orientation_error: ArrayLike, excess: ArrayLike) -> Any:
    """Return statuses int8 (N,) by `compute.verdict`, from errors (N,) measured on the returned poses and why a drag
    stopped.
    """
    from ..compute.verdict import verdict_rows

    why = np.ascontiguousarray(causes, dtype=np.int64).reshape(-1)
    errors = [
        np.ascontiguousarray(np.broadcast_to(np.asarray(error, dtype=np.float64), why.shape))
        for error in (position_error, orientation_error, excess)
    ]
    out = np.empty_like(why)
    verdict_rows(len(why), why, errors[0], REACHED_WITHIN, errors[1], ORIENTED_WITHIN, errors[2], out)
    return out.astype(np.int8)


def world_rotation(start: Floats, target: ArrayLike) -> Floats:
    """Return the rotation vectors (..., 3) [rad], in the world, from orientations (..., 4) to target orientations."""
    q = floats(target, "orientation", 4, hint=" wxyz")
    usable = np.isfinite(q).all(axis=-1, keepdims=True) & (np.abs(q).max(axis=-1, keepdims=True) > 0.0)
    vector = log(multiply(normalize(np.where(usable, q, 1.0)), conjugate(start)))
    return np.asarray(np.where(usable, vector, np.nan))


def read_drag(
    body: Humanoid,
    motion: Motion,
    frame: ArrayLike,
    part: str | int,
    displacement: ArrayLike | None,
    target: ArrayLike | None,
    orientation: ArrayLike | None,
    pose: Pose | None,
) -> DragRequest:
    """Read the arguments of `MotionEditor.drag`; frames, positions, orientations and poses broadcast."""
    if (displacement is None) == (target is None) and (displacement is not None or orientation is None):
        raise PosableError("give a displacement or a target (or an orientation alone), not both")
    joint = joint_of(body, part)
    given = np.asarray(frame)
    if given.dtype.kind not in "iu":
        raise PosableError(f"frame is {frame!r}; expected whole numbers from 0 to {len(motion) - 1}")
    where = displacement if displacement is not None else target
    vectors = None if where is None else floats(where, "displacement" if target is None else "target", 3)
    quats = None if orientation is None else floats(orientation, "orientation", 4)
    shapes = [given.shape] + [a.shape[:-1] for a in (vectors, quats) if a is not None]
    shape = np.broadcast_shapes(*shapes, () if pose is None else pose.shape)
    n = int(np.prod(shape, dtype=np.int64))
    frames = np.array([frame_of(f, len(motion)) for f in np.broadcast_to(given, shape).reshape(n)], dtype=np.int64)
    start = motion.pose[frames] if pose is None else rows_of(pose, shape)
    here = body.skeleton.forward(start)
    displacements = np.zeros((n, 3)) if vectors is None else np.broadcast_to(vectors, (*shape, 3)).reshape(n, 3).copy()
    if target is not None:
        displacements -= here.positions[:, joint]
    rotations = None
    if quats is not None:
        rotations = world_rotation(here.orientations[:, joint], np.broadcast_to(quats, (*shape, 4)).reshape(n, 4))
    return DragRequest(joint, frames, displacements, rotations, start, shape)


def rows_of(pose: Pose, shape: tuple[int, ...]) -> Pose:
    """Return a pose broadcast over a batch, one row after the other."""
    count = pose.joint_count
    offsets = None
    if pose.offsets is not None:
        offsets = np.broadcast_to(pose.offsets, (*shape, count, 3)).reshape(-1, count, 3)
    return Pose(
        np.broadcast_to(pose.translation, (*shape, 3)).reshape(-1, 3),
        np.broadcast_to(pose.rotations, (*shape, count, 4)).reshape(-1, count, 4),
        offsets,
    )


def _copy(pose: Pose) -> Pose:
    """Return poses that kernels may change in place; joint offsets never change."""
    return Pose(pose.translation.copy(), pose.rotations.copy(), pose.offsets)
