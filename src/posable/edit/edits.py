"""The edits that an editor keeps: each can be changed or removed by itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ..compute import PosableError, Status, UnknownNameError
from ..compute.types import Floats, Ints
from ..skeleton import Pose
from .answers import REACHED_WITHIN, TURNED_WITHIN, DragAnswer
from .contact_repair import keep_contacts
from .drag_request import frame_of
from .dragging import Settings, one, world_turn
from .fade import Change, bell, check_spread, put
from .parts import joint_of, part_of
from .range_projection import inside_ranges

if TYPE_CHECKING:
    from .editor import MotionEditor

MOST_FACTOR = 10.0
NEAR_CONTACT = 0.2
"""[s]: a foot on the ground so soon before or after a frame stays there too, or it would be torn away."""


class Edit(ABC):
    """Something done to a motion. `status` and `residual` tell how it went, `slid` how well contacts were kept."""

    status: Any = Status.REACHED
    residual: Any = 0.0
    """[m]: how far the part is from its target, contacts kept."""
    slid: float = 0.0
    """[m]: how far the worst contact of all its frames moved."""
    rows: Ints = np.zeros(0, np.int64)
    """(K,): the frames that it changed."""
    limited: Ints = np.zeros(0, np.int64)
    """The frames among them where joints were held back by their limits."""

    def __init__(self, editor: MotionEditor, **settings: Any) -> None:
        self._editor: MotionEditor | None = editor
        self.settings = settings
        self._check(settings)

    def __repr__(self) -> str:
        told = ", ".join(f"{name}={value!r}" for name, value in self.settings.items() if value is not None)
        return f"{type(self).__name__}({told})"

    @property
    def ok(self) -> bool:
        """Whether everything asked was reached."""
        return bool(np.all(np.equal(self.status, Status.REACHED)))

    def change(self, **settings: Any) -> None:
        """Change some of its settings; the edits after it are worked out anew. On an error it stays as it was."""
        editor = self._mine()
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
            editor._history.again(self)
        except Exception:
            self.settings = before
            raise

    def remove(self) -> None:
        """Take it away; the edits after it are worked out anew."""
        self._mine()._history.drop(self)
        self._editor = None

    @abstractmethod
    def apply(self, pose: Pose) -> Pose:
        """All frames with this edit on top."""

    def _check(self, settings: dict[str, Any]) -> None:
        check_spread(settings["spread"])

    def _mine(self) -> MotionEditor:
        if self._editor is None:
            raise PosableError("this edit was removed; make a new one with editor.edit")
        return self._editor

    def _repaired(self, before: Pose, changed: Pose, rows: Ints, led: Sequence[int]) -> Pose:
        """Changed frames with their contacts kept, but those of joints that were led, and joints in their limits."""
        editor = self._mine()
        held = editor.contacts if self.settings["contacts"] else ()
        released = [part_of(editor.body, joint) for joint in led]
        fixed = keep_contacts(editor.dragger, before, changed, rows, held, released, led)
        self.slid, self.rows, self.limited = float(fixed.slid.max(initial=0.0)), rows, rows[fixed.limited]
        return put(before, rows, fixed.pose)

    def _judge(self, away: Floats, dragged: Any) -> Any:
        """Statuses: reached where the part is at its target now, whatever the drag alone said; else the drag's."""
        fallback = np.where(np.equal(dragged, Status.REACHED), Status.UNREACHABLE, dragged)
        return np.where(away <= REACHED_WITHIN, Status.REACHED, fallback).astype(np.int8)


class DragEdit(Edit):
    """A part dragged at one frame, the change faded over the frames around; made by `MotionEditor.edit`."""

    answer: DragAnswer
    """The drag at its frame, before contacts of the frames around were put right."""
    turn_residual: float = 0.0
    """[rad]: how far the part is from its orientation, where one was asked."""

    def _check(self, settings: dict[str, Any]) -> None:
        super()._check(settings)
        if (settings["target"] is None) == (settings["displacement"] is None):
            raise PosableError("an edit needs a target or a displacement, and not both")
        for name, value in (("target", settings["target"]), ("displacement", settings["displacement"])):
            if value is not None and np.shape(value) != (3,):
                raise PosableError(f"{name} has shape {np.shape(value)}; expected (3,)")

    def apply(self, pose: Pose) -> Pose:
        """All frames with this edit on top."""
        editor, asked = self._mine(), self.settings
        frame, part = asked["frame"], asked["part"]
        shares = bell(len(pose), editor.clip.fps, frame, asked["spread"], asked["ease"], asked["frames"])
        dragger, at = editor.dragger, np.array([frame])
        start = pose[at]
        here = editor.body.skeleton.forward(start)
        joint = joint_of(editor.body, part)
        place = here.positions[:, joint]
        way = np.asarray(asked["displacement"], dtype=np.float64).reshape(1, 3) if asked["target"] is None else None
        way = np.asarray(asked["target"], dtype=np.float64) - place if way is None else way
        turn = None
        if asked["orientation"] is not None:
            turn = world_turn(here.orientations[:, joint], np.asarray(asked["orientation"])[None])
        target = place + way
        settings = Settings(asked["mode"])
        grounded = NEAR_CONTACT if asked["contacts"] else None
        told = dragger.drag(start, at, part, way, turn, asked["pins"], grounded, settings)
        self.answer = one(inside_ranges(dragger, start, told, part, target))
        change = Change.between(pose[frame], self.answer.pose)
        rows = np.flatnonzero(shares > 0.0)
        if not (change.turns.any() or change.way.any()):
            rows = rows[:0]
        changed = change.added(pose[rows], shares[rows])
        moved = self._repaired(pose, changed, rows, [joint])
        end = editor.body.skeleton.forward(moved[frame])
        away = np.linalg.norm(target[0] - end.positions[joint])
        self.residual = float(away) if np.isfinite(away) else float(self.answer.residual)
        self.turn_residual = 0.0
        if asked["orientation"] is not None:
            left = world_turn(end.orientations[joint], asked["orientation"])
            self.turn_residual = float(np.linalg.norm(left)) if np.isfinite(left).all() else np.inf
        met = self.residual if self.turn_residual <= TURNED_WITHIN else np.inf  # a turn that is missed is a miss
        judged = Status(int(self._judge(np.asarray(met), int(self.answer.status))))
        self.status = self.answer.status if self.answer.status is Status.INVALID else judged
        return moved


class WarpEdit(Edit):
    """Several parts at several frames at given places; made by `MotionEditor.warp`."""

    def _check(self, settings: dict[str, Any]) -> None:
        super()._check(settings)
        if not settings["constraints"]:
            raise PosableError("a warp needs at least one constraint (frame, part, target)")
        for frame, part, target in settings["constraints"]:
            if np.shape(target) != (3,):
                raise PosableError(
                    f"the target of {part!r} at frame {frame} has shape {np.shape(target)}; expected (3,)"
                )

    def apply(self, pose: Pose) -> Pose:
        """All frames with this warp on top."""
        editor, asked = self._mine(), self.settings
        constraints = asked["constraints"]
        keys = sorted({int(frame) for frame, _, _ in constraints})
        dragged = {frame: pose[frame] for frame in keys}
        told = [int(Status.REACHED)] * len(constraints)
        for frame in keys:
            held: list[str | int] = []
            for k, (at, part, target) in enumerate(constraints):
                if at != frame:
                    continue
                answer = self._drag(dragged[frame], frame, part, np.asarray(target), held)
                dragged[frame], told[k] = answer.pose, int(answer.status)
                held.append(part)
        turns = np.stack([Change.between(pose[f], dragged[f]).turns for f in keys])
        ways = np.stack([Change.between(pose[f], dragged[f]).way for f in keys])
        rows, shares = _joined(keys, len(pose), max(1.0, asked["spread"] * editor.clip.fps))
        changes = Change(np.einsum("fk,kjc->fjc", shares, turns), np.einsum("fk,kc->fc", shares, ways))
        changed = changes.added(pose[rows], np.ones(len(rows)))
        moved = self._repaired(pose, changed, rows, sorted({joint_of(editor.body, part) for _, part, _ in constraints}))
        frames = editor.body.skeleton.forward(moved)
        places = np.array([frames.positions[f, joint_of(editor.body, part)] for f, part, _ in constraints])
        self.residual = np.linalg.norm(places - np.array([t for _, _, t in constraints]), axis=-1)
        self.status = self._judge(self.residual, np.array(told))
        return moved

    def _drag(self, pose: Pose, frame: int, part: str | int, target: Floats, held: list[str | int]) -> DragAnswer:
        editor = self._mine()
        start = pose.reshape(1)
        way = target - editor.body.skeleton.forward(start).positions[:, joint_of(editor.body, part)]
        pins = [pin for pin in held if pin != part]
        grounded = NEAR_CONTACT if self.settings["contacts"] else None
        told = editor.dragger.drag(start, np.array([frame]), part, way, None, pins, grounded, Settings())
        return one(inside_ranges(editor.dragger, start, told, part, target[None]))


def _joined(keys: list[int], count: int, width: float) -> tuple[Ints, Floats]:
    """Frames that change (K,), and the share of each key's change in them (K, keys): cubic splines through the keys.

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
    shares = np.asarray(CubicSpline(at, values, bc_type="clamped")(rows))
    for first, last in pairwise(knots):  # a spline swings where nothing is asked; there it is 0
        if first[1] == last[1] == -1:
            shares[(rows >= first[0]) & (rows <= last[0])] = 0.0
    live = (shares != 0.0).any(axis=1)
    return rows[live], shares[live]


class StretchEdit(Edit):
    """Bones that change their length during the motion; made by `MotionEditor.stretch`."""

    def _check(self, settings: dict[str, Any]) -> None:
        super()._check(settings)
        for part, factor in settings["bones"].items():
            if not (np.isfinite(factor) and 1.0 / MOST_FACTOR <= factor <= MOST_FACTOR):
                raise PosableError(f"the bone to {part!r} shall be {factor} times as long; expected 0.1 to 10 times")

    def apply(self, pose: Pose) -> Pose:
        """All frames with these bones stretched."""
        editor, asked = self._mine(), self.settings
        shares = bell(len(pose), editor.clip.fps, asked["frame"], asked["spread"], asked["ease"], asked["frames"])
        skeleton, rows = editor.body.skeleton, np.flatnonzero(shares > 0.0)
        own = np.tile(skeleton.offsets, (len(pose), 1, 1)) if pose.offsets is None else pose.offsets
        offsets = own.copy()
        for part, factor in asked["bones"].items():
            j = joint_of(editor.body, part)
            if j == 0:
                raise PosableError("the root ends no bone; name another part")
            offsets[:, j] *= (1.0 + shares * (factor - 1.0))[:, None]
        before = Pose(pose.translation, pose.rotations, own)
        changed = Pose(pose.translation[rows], pose.rotations[rows], offsets[rows])
        return self._repaired(before, changed, rows, [])
