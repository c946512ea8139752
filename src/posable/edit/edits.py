"""The edits of a motion: each can be changed or removed by itself, and all of them be restored as they were.

An edit fades over the frames around it (`specs/edit.md`, section 5): the change of each joint, Delta = log(theta^-1
theta'), is added to them as theta(t) exp(b(t) Delta), b a raised cosine by default; several changes follow each other.
Frames where b is 0 keep their numbers, bit for bit.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from .. import math as pm
from ..compute import PosableError, Status, UnknownNameError
from ..compute.errors import number
from ..compute.types import Bools, Floats, Ints, floats
from ..math import conjugate, exp, log, multiply
from ..skeleton import Motion, Pose
from ..skeleton.solution import Solution
from .clip import frame_of, joint_of
from .dragging import REACHED_WITHIN, Dragger, DragSolution, Settings, judged, world_rotation
from .repair import Led, Pin, contact_holds, own_stances, pin_hold, planted_path, read_pins, repair

if TYPE_CHECKING:
    from .editor import MotionEditor

EASES = ("cosine", "smooth", "linear")
LONGEST = 1e6
"""[s]: the largest half-width, some days."""
MAX_FACTOR = 10.0
NEAR_CONTACT = 0.2
"""[s]: a foot on the ground so soon before or after a frame stays there too, or it would be torn away."""


class Edit(Solution, ABC):
    """A change of a motion, and how well the edited motion meets it.

    REACHED where the parts are within a millimetre and 5 mrad of their targets in the motion that results, contacts and
    pins that it promises moved by less than a millimetre, and nothing pops (`jolt`); LIMITS where only that is missing.
    """

    status: Any = Status.REACHED
    """A `Status`; of a warp an int8 array (constraints,)."""
    position_error: Any = 0.0
    """[m]: distance of the part from its target, contacts repaired; of a warp an array (constraints,)."""
    orientation_error: Any = 0.0
    """[rad]: angle between the part and its target orientation, where one was requested."""
    slid: float = 0.0
    """[m]: the largest movement of a contact or a pin in all its frames."""
    jolt: float = 0.0
    """The largest acceleration of a joint in the frames that it changed, over one and a half times the largest of the
    clip (or that of a plain fade, up to 10 m/s2, where the clip hardly moves; or the largest that these frames had
    before); above 1 the motion pops, and the edit is not REACHED."""
    rows: Ints = np.zeros(0, np.int64)
    """(K,): the frames that it changed."""
    limited: Ints = np.zeros(0, np.int64)
    """The frames among them where joints were stopped by their limits."""
    muted: bool = False
    """Whether it is left out of the motion for now; what is said of it is then of the last time it was applied."""

    def __init__(self, editor: MotionEditor, **settings: Any) -> None:
        self._editor: MotionEditor | None = editor
        self.settings = settings
        self._check(settings)

    def __repr__(self) -> str:
        given = [f"{name}={_short(value)}" for name, value in self.settings.items() if value is not None]
        return f"{type(self).__name__}({', '.join(given)}; {self._statuses()}{self._worst()})"

    @property
    def ok(self) -> bool:
        """Whether everything requested was reached."""
        return bool(np.all(np.equal(self.status, Status.REACHED)))

    def change(self, **settings: Any) -> None:
        """Change some of its settings and recompute the edits after it. On an error it stays as it was."""
        editor = self._owner()
        for name in settings:
            if name not in self.settings:
                raise UnknownNameError("setting of an edit", name, self.settings)
        before = self.settings
        after = {**before, **settings}
        if settings.get("displacement") is not None and "target" not in settings:
            after["target"] = None
        if settings.get("target") is not None and "displacement" not in settings:
            after["displacement"] = None
        if "frame" in settings:
            after["frame"] = frame_of(settings["frame"], len(editor.clip))
        self._check(after)
        self.settings = after
        try:
            editor._recompute(editor._edits, editor._edits.index(self))
        except Exception:
            self.settings = before
            raise

    @property
    def target_frames(self) -> tuple[int, ...]:
        """The frames at which it has targets."""
        return (int(self.settings["frame"]),)

    def move(self, frame: int, **settings: Any) -> None:
        """Move its first target to a frame and change other settings, as `change` does.

        At the new frames it displaces and rotates its parts from the motion before it as much as at the old ones. All
        its targets stay within the motion.
        """
        editor, frames = self._owner(), self.target_frames
        before = editor.snapshot.motions[editor.edits.index(self)]
        step = int(np.clip(frame - min(frames), -min(frames), len(before) - 1 - max(frames)))
        self.change(**(self._moved(before, step) if step else {}), **settings)

    def mute(self, muted: bool = True) -> None:
        """Leave it out of the motion, or apply it again, and recompute the edits after it."""
        editor, before = self._owner(), self.muted
        self.muted = muted
        try:
            editor._recompute(editor._edits, editor._edits.index(self))
        except Exception:
            self.muted = before
            raise

    def remove(self) -> None:
        """Remove it and recompute the edits after it."""
        editor = self._owner()
        editor._recompute([edit for edit in editor._edits if edit is not self], editor._edits.index(self))
        self._editor = None

    @abstractmethod
    def apply(self, pose: Pose) -> Pose:
        """Return all frames with this edit on top."""

    def _check(self, settings: dict[str, Any]) -> None:
        check_spread(settings["spread"])

    def _moved(self, before: Motion, step: int) -> dict[str, Any]:
        """Return the settings that differ `step` frames later; `before` is the motion that it is applied to."""
        return {"frame": self.settings["frame"] + step}

    @property
    def _dragger(self) -> Dragger:
        """The weights with which contacts are repaired."""
        return self._owner().dragger

    def _owner(self) -> MotionEditor:
        if self._editor is None:
            raise PosableError("this edit was removed; make a new one with editor.edit")
        return self._editor

    def _drag(
        self,
        pose: Pose,
        frame: int,
        part: str | int,
        displacement: Floats,
        rotation: Floats | None,
        pins: Sequence[str | int],
        settings: Settings,
    ) -> DragSolution:
        """Drag a part of one pose, with feet on the ground pinned where contacts are kept.

        A foot that has just left the ground or soon will be there is pinned too, unless the target is only reached
        without: then its leg gives way.
        """
        dragger, at = self._owner().dragger, np.array([frame])
        grounded = NEAR_CONTACT if self.settings["contacts"] else None
        answer = dragger.drag(pose, at, part, displacement, rotation, pins, grounded, settings).reshaped(())
        if grounded is None or answer.status in (Status.REACHED, Status.INVALID):
            return answer
        freer = dragger.drag(pose, at, part, displacement, rotation, pins, 0.0, settings).reshaped(())
        return freer if freer.ok else answer

    def _fractions(self, count: int) -> Floats:
        """Return the fraction of the change at its frame that each of `count` frames gets."""
        given = (self.settings[name] for name in ("frame", "spread", "ease", "frames"))
        return bell(count, self._owner().clip.fps, *given)

    def _repaired(
        self,
        before: Pose,
        changed: Pose,
        rows: Ints,
        led: Sequence[Led],
        pins: Sequence[Pin] = (),
        scope: Floats | None = None,
    ) -> Pose:
        """Return all frames, the changed ones with joints in their limits, pins and contacts kept, except those of
        joints that were led.
        """
        editor = self._owner()
        dragger, joints = self._dragger, [one.joint for one in led]
        pinned = [pin_hold(pin.joint, pin.inside(len(before)), editor.clip.fps, rows) for pin in pins]
        contacts = editor.contacts if self.settings["contacts"] else ()
        left_out = [*joints, *(pin.joint for pin in pins)]
        holds = contact_holds(dragger, contacts, before, changed, rows, left_out)
        found = repair(dragger, before, changed, rows, [*pinned, *holds], led, scope)
        self.slid, self.rows = found.slid, rows
        self.limited = rows[found.limited]
        self.jolt = found.jolt
        return put(before, rows, found.pose)

    def _led(self, before: Pose, rows: Ints, joint: int, nearness: Floats, offsets: Floats, keys: Sequence[int]) -> Led:
        """Return a dragged part with the path that offsets (K, 3) [m] lead it along; feet stay where they stand."""
        editor = self._owner()
        standing = own_stances(self._dragger, editor.contacts if self.settings["contacts"] else (), joint)
        path = editor.body.skeleton.forward(before[rows]).positions[:, joint]
        if not standing.any() or not len(rows):
            return Led(joint, nearness, path + offsets)
        planted, inside = path + planted_path(offsets, rows, standing, keys, editor.clip.fps), standing[rows]
        free = self.settings.get("orientation") is not None
        return Led(joint, nearness, planted, inside, free)

    def _judge(self, causes: Any, slid: float) -> Any:
        """Set the status, from the errors of the edited motion and the largest movement of contacts and pins [m]."""
        excess = max(slid - REACHED_WITHIN, self.jolt - 1.0)
        found = judged(causes, self.position_error, self.orientation_error, excess)
        self.status = found if np.ndim(causes) else Status(int(found[0]))


def _short(value: Any) -> str:
    """Return a setting for a repr of one line."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    text = repr(value)
    return text if len(text) <= 80 else f"<{len(value)}>"


class DragEdit(Edit):
    """A part dragged at one frame, the change faded over the frames around; made by `MotionEditor.edit`."""

    answer: DragSolution
    """The drag at its frame, before contacts of the frames around were repaired."""

    def _check(self, settings: dict[str, Any]) -> None:
        super()._check(settings)
        if (settings["target"] is None) == (settings["displacement"] is None):
            raise PosableError("an edit needs a target or a displacement, and not both")
        for name, value in (("target", settings["target"]), ("displacement", settings["displacement"])):
            if value is not None and floats(value, name, 3).shape != (3,):
                raise PosableError(f"{name} has shape {np.shape(value)}; expected (3,)")

    def _moved(self, before: Motion, step: int) -> dict[str, Any]:
        settings, given, body = super()._moved(before, step), self.settings, self._owner().body
        joint = joint_of(body, given["part"])
        old, new = (body.skeleton.forward(before[frame]) for frame in (given["frame"], given["frame"] + step))
        if given["target"] is not None:
            target = np.asarray(given["target"], dtype=np.float64)
            settings["target"] = target - old.positions[joint] + new.positions[joint]
        if given["orientation"] is not None:
            orientation = np.asarray(given["orientation"], dtype=np.float64)
            rotation = pm.multiply(orientation, pm.conjugate(old.orientations[joint]))
            settings["orientation"] = pm.multiply(rotation, new.orientations[joint])
        return settings

    def apply(self, pose: Pose) -> Pose:
        """Return all frames with this edit on top."""
        given, skeleton = self.settings, self._owner().body.skeleton
        frame, part = given["frame"], given["part"]
        fractions = self._fractions(len(pose))
        start = pose[np.array([frame])]
        here = skeleton.forward(start)
        joint = joint_of(self._owner().body, part)
        position, orientation = here.positions[:, joint], given["orientation"]
        if given["target"] is None:
            displacement = np.asarray(given["displacement"], dtype=np.float64).reshape(1, 3)
        else:
            displacement = np.asarray(given["target"], dtype=np.float64) - position
        rotation = None
        if orientation is not None:
            rotation = world_rotation(here.orientations[:, joint], np.asarray(orientation)[None])
        pins = read_pins(self._owner().body, given["pins"], len(pose))
        settings = Settings(given["mode"], softness=given["softness"], scope=given["scope"])
        pinned = [pin.joint for pin in pins if pin.inside(len(pose))[frame]]
        self.answer = self._drag(start, frame, part, displacement, rotation, pinned, settings)
        change = Change.between(pose[frame], self.answer.pose)
        rows = np.flatnonzero(fractions > 0.0)
        if not (change.rotations.any() or change.translation.any()):
            rows = rows[:0]
        scope = self._owner().dragger.scope(joint, given["scope"])
        moved_by = skeleton.forward(self.answer.pose).positions[joint] - here.positions[0, joint]
        led = [self._led(pose, rows, joint, fractions[rows], fractions[rows, None] * moved_by, [frame])]
        moved = self._repaired(pose, change.added(pose[rows], fractions[rows]), rows, led, pins, scope)
        end = skeleton.forward(moved[frame])
        away = np.linalg.norm((position + displacement)[0] - end.positions[joint])
        self.position_error = float(away) if np.isfinite(away) else np.inf
        self.orientation_error = 0.0
        if orientation is not None:
            left = world_rotation(end.orientations[joint], orientation)
            self.orientation_error = float(np.linalg.norm(left)) if np.isfinite(left).all() else np.inf
        self._judge(self.answer.status, self.slid)
        return moved


class KeyEdit(Edit):
    """A pose at one frame, its difference from the motion before it faded around; made by `MotionEditor.key`."""

    def _check(self, settings: dict[str, Any]) -> None:
        super()._check(settings)
        body = self._owner().body
        for name, vector in settings["rotations"].items():
            self._joint(name)
            if floats(vector, f"the rotation of {name}", 3).shape != (3,):
                raise PosableError(f"the rotation of {name} has shape {np.shape(vector)}; expected (3,)")
        if settings["part"] is not None:
            joint_of(body, settings["part"])

    def _joint(self, name: str) -> int:
        """Return the joint of a name, else of a part: a pose is stored by the names of its joints."""
        body = self._owner().body
        return body.skeleton.index(name) if name in body.skeleton.names else joint_of(body, name)

    @property
    def _dragger(self) -> Dragger:
        return self._owner().plain_dragger

    def apply(self, pose: Pose) -> Pose:
        """Return all frames with this edit on top."""
        given, body = self.settings, self._owner().body
        frame, skeleton = given["frame"], body.skeleton
        rotations = np.zeros((len(skeleton), 3))
        for name, vector in given["rotations"].items():
            rotations[self._joint(name)] = vector
        change, fractions = Change(rotations, np.asarray(given["translation"])), self._fractions(len(pose))
        rows = np.flatnonzero(fractions > 0.0) if rotations.any() or change.translation.any() else np.zeros(0, np.int64)
        here = skeleton.forward(pose[frame]).positions
        keyed = skeleton.forward(change.added(pose[np.array([frame])], np.ones(1))).positions[0]
        led, scope, joints = [], None, np.arange(len(skeleton))
        if given["part"] is not None:
            joint = joint_of(body, given["part"])
            path = fractions[rows, None] * (keyed[joint] - here[joint])
            led, joints = [self._led(pose, rows, joint, fractions[rows], path, [frame])], np.array([joint])
            scope = self._dragger.scope(joint, given["scope"])
        changed = change.added(pose[rows], fractions[rows])
        if led or given["contacts"]:
            moved = self._repaired(pose, changed, rows, led, (), scope)
        else:  # a pose that is taken as it is, beyond the limits too
            moved, self.rows, self.slid, self.jolt = put(pose, rows, changed), rows, 0.0, 0.0
        away = np.linalg.norm(skeleton.forward(moved[frame]).positions - keyed, axis=-1)[joints].max()
        self.position_error = float(away)
        self._judge(Status.REACHED, self.slid)
        return moved


class WarpEdit(Edit):
    """Several parts at given positions at several frames; made by `MotionEditor.warp`."""

    _rows: ClassVar[str] = "constraints"

    def _check(self, settings: dict[str, Any]) -> None:
        super()._check(settings)
        if not settings["constraints"]:
            raise PosableError("a warp needs at least one constraint (frame, part, target)")
        for frame, part, target in settings["constraints"]:
            if np.shape(target) != (3,):
                raise PosableError(
                    f"the target of {part!r} at frame {frame} has shape {np.shape(target)}; expected (3,)"
                )

    @property
    def target_frames(self) -> tuple[int, ...]:
        """The frames at which it has targets."""
        return tuple(int(frame) for frame, _, _ in self.settings["constraints"])

    def _moved(self, before: Motion, step: int) -> dict[str, Any]:
        body, constraints = self._owner().body, []
        for frame, part, target in self.settings["constraints"]:
            joint = joint_of(body, part)
            old, new = (body.skeleton.forward(before[at]).positions[joint] for at in (frame, frame + step))
            constraints.append((frame + step, part, np.asarray(target, dtype=np.float64) - old + new))
        return {"constraints": tuple(constraints)}

    def apply(self, pose: Pose) -> Pose:
        """Return all frames with this warp on top."""
        editor, constraints = self._owner(), self.settings["constraints"]
        skeleton, joints = editor.body.skeleton, [joint_of(editor.body, part) for _, part, _ in constraints]
        keys = sorted({int(frame) for frame, _, _ in constraints})
        dragged = {frame: pose[frame] for frame in keys}
        causes = np.zeros(len(constraints), np.int64)
        for frame in keys:
            pinned: list[str | int] = []
            for k, (at, part, target) in enumerate(constraints):
                if at != frame:
                    continue
                start = dragged[frame].reshape(1)
                displacement = np.asarray(target) - skeleton.forward(start).positions[:, joints[k]]
                others = [pin for pin in pinned if pin != part]
                answer = self._drag(
                    start, frame, part, displacement, None, others, Settings(scope=self.settings["scope"])
                )
                dragged[frame], causes[k] = answer.pose, int(answer.status)
                pinned.append(part)
        changes = [Change.between(pose[frame], dragged[frame]) for frame in keys]
        rotations = np.stack([change.rotations for change in changes])
        translations = np.stack([change.translation for change in changes])
        rows, weights = _joined(keys, len(pose), max(1.0, self.settings["spread"] * editor.clip.fps))
        joined = Change(np.einsum("fk,kjc->fjc", weights, rotations), np.einsum("fk,kc->fc", weights, translations))
        led, here, there = [], skeleton.forward(pose[keys]), skeleton.forward(Pose.stack([dragged[f] for f in keys]))
        for joint in sorted(set(joints)):
            own = [frame for (frame, _, _), j in zip(constraints, joints, strict=True) if j == joint]
            nearness = weights[:, [keys.index(frame) for frame in own]].max(axis=1).clip(0.0, 1.0)
            offsets = weights @ (there.positions[:, joint] - here.positions[:, joint])
            led.append(self._led(pose, rows, joint, nearness, offsets, own))
        moved = self._repaired(pose, joined.added(pose[rows], np.ones(len(rows))), rows, led)
        positions = skeleton.forward(moved).positions[[frame for frame, _, _ in constraints], joints]
        errors = np.linalg.norm(positions - np.array([target for _, _, target in constraints]), axis=-1)
        self.position_error = np.where(np.isfinite(errors), errors, np.inf)
        self._judge(causes, self.slid)
        return moved


def _joined(keys: list[int], count: int, width: float) -> tuple[Ints, Floats]:
    """Return the frames that change (K,) and the weight of each key's change in them (K, keys): cubic splines.

    Before the first key, after the last, and between keys further apart than twice the width, the change fades to 0.
    """
    from scipy.interpolate import CubicSpline

    knots: list[tuple[float, int]] = [(keys[0] - width, -1)]
    for k, frame in enumerate(keys):
        if k and frame - keys[k - 1] > 2.0 * width:
            knots += [(keys[k - 1] + width, -1), (frame - width, -1)]
        knots.append((float(frame), k))
    knots.append((keys[-1] + width, -1))
    at = np.array([t for t, _ in knots])
    values = np.array([[1.0 if owner == k else 0.0 for k in range(len(keys))] for _, owner in knots])
    rows = np.arange(max(0, int(np.ceil(at[0]))), min(count - 1, int(np.floor(at[-1]))) + 1)
    weights = np.asarray(CubicSpline(at, values, bc_type="clamped")(rows))
    for first, last in pairwise(knots):  # a spline oscillates where there is no constraint; there it is 0
        if first[1] == last[1] == -1:
            weights[(rows >= first[0]) & (rows <= last[0])] = 0.0
    live = (weights != 0.0).any(axis=1)
    return rows[live], weights[live]


class StretchEdit(Edit):
    """Bones that change their length during the motion; made by `MotionEditor.stretch`."""

    def _check(self, settings: dict[str, Any]) -> None:
        super()._check(settings)
        for part, factor in settings["bones"].items():
            if not 1.0 / MAX_FACTOR <= number(factor) <= MAX_FACTOR:
                raise PosableError(f"the factor of the bone to {part!r} is {factor}; expected 0.1 to 10")

    def apply(self, pose: Pose) -> Pose:
        """Return all frames with these bones stretched."""
        body, fractions = self._owner().body, self._fractions(len(pose))
        rows = np.flatnonzero(fractions > 0.0)
        own = np.tile(body.skeleton.offsets, (len(pose), 1, 1)) if pose.offsets is None else pose.offsets
        offsets = own.copy()
        for part, factor in self.settings["bones"].items():
            j = joint_of(body, part)
            if j == 0:
                raise PosableError("the root ends no bone; name another part")
            offsets[:, j] *= (1.0 + fractions * (factor - 1.0))[:, None]
        before = Pose(pose.translation, pose.rotations, own)
        changed = Pose(pose.translation[rows], pose.rotations[rows], offsets[rows])
        moved = self._repaired(before, changed, rows, [])
        self._judge(Status.REACHED, self.slid)
        return moved


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The edits of an editor at some moment, from `MotionEditor.snapshot`."""

    edits: tuple[tuple[Edit, dict[str, Any]], ...]
    """Each edit and its attributes."""
    motions: tuple[Motion, ...]
    """The original, and the motion after each edit."""

    def __repr__(self) -> str:
        return f"Snapshot({len(self.edits)} edits)"


@dataclass(frozen=True, eq=False)
class Change:
    """The difference of two poses: rotation vectors (..., J, 3) [rad] and the translation of the root (..., 3) [m]."""

    rotations: Floats
    translation: Floats

    @staticmethod
    def between(before: Pose, after: Pose) -> Change:
        """Return the change from one pose to another, joint by joint."""
        rotations = log(multiply(conjugate(before.rotations), after.rotations))
        same = (before.rotations == after.rotations).all(axis=-1, keepdims=True)
        return Change(np.where(same, 0.0, rotations), after.translation - before.translation)

    def added(self, pose: Pose, fractions: Floats) -> Pose:
        """Add fractions (K,) of the change to poses (K,); a joint that does not change keeps its bits."""
        rotated = multiply(pose.rotations, exp(fractions[:, None, None] * self.rotations))
        moves = (fractions[:, None, None] * self.rotations != 0.0).any(axis=-1, keepdims=True)
        rotations = np.where(moves, rotated, pose.rotations)
        return Pose(pose.translation + fractions[:, None] * self.translation, rotations, pose.offsets)


def check_spread(spread: float) -> float:
    """Return a half-width [s]; raises where it is negative, not finite or too long."""
    if not 0.0 <= number(spread) <= LONGEST:
        raise PosableError(f"spread is {spread}; expected seconds, from 0 to {LONGEST:.0f}")
    return float(spread)


def check_frames(frames: object, frame: int, count: int) -> tuple[int, int]:
    """Return the first and last frame of a range around a frame, of `count` frames; raises for anything else."""
    try:
        first, last = (int(one) for one in frames)  # type: ignore[attr-defined]
        whole = (first, last) == tuple(frames)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        first = last = -1
        whole = False
    if not (whole and 0 <= first <= frame <= last < count):
        raise PosableError(
            f"frames are {frames}; expected the first and the last frame, "
            f"two whole numbers from 0 to {count - 1} with frame {frame} between them"
        )
    return first, last


def bell(
    count: int, fps: float, frame: int, spread: float, ease: str = "cosine", frames: tuple[int, int] | None = None
) -> Floats:
    """Return fractions (F,): 1 at `frame`, falling to 0 on both sides.

    Args:
        count: F.
        fps: frames per second.
        frame: where the change is.
        spread: half-width [s]; 0 changes this frame alone.
        ease: "cosine", "smooth" (no jolt at the ends and the middle either), or "linear".
        frames: first and last frame that may change, instead of a width.
    """
    if ease not in EASES:
        raise UnknownNameError("ease", ease, EASES)
    at = np.arange(count, dtype=np.float64)
    if frames is None:
        width = check_spread(spread) * fps
        before = after = max(width, 1e-9)
    else:
        first, last = check_frames(frames, frame, count)
        before, after = frame - first + 1.0, last - frame + 1.0
    away = np.where(at < frame, (frame - at) / before, (at - frame) / after)
    fraction = np.clip(1.0 - away, 0.0, 1.0)
    return eased(fraction, ease)


def eased(fraction: Floats, ease: str) -> Floats:
    """Map fractions from 0 to 1 to a curve from 0 to 1."""
    if ease == "linear":
        return fraction
    if ease == "smooth":
        return np.asarray(fraction**3 * (10.0 - 15.0 * fraction + 6.0 * fraction**2))
    return np.asarray(np.where(fraction >= 1.0, 1.0, 0.5 - 0.5 * np.cos(np.pi * fraction)))


def put(pose: Pose, rows: Ints | Bools, changed: Pose) -> Pose:
    """Return poses (F,) with some rows exchanged; the others keep their numbers, bit for bit."""
    translation, rotations = pose.translation.copy(), pose.rotations.copy()
    translation[rows], rotations[rows] = changed.translation, changed.rotations
    offsets = pose.offsets
    if changed.offsets is not None:
        if offsets is None:
            raise PosableError("these poses have no joint offsets to exchange")
        offsets = offsets.copy()
        offsets[rows] = changed.offsets
    return Pose(translation, rotations, offsets)
