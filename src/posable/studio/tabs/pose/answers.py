"""How the body answers a drag: the limb alone, the whole body in a behaviour's style, in the style of the motion, or as
people do.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from .... import math as pm
from ....body.roles import parent_role
from ....compute import Status
from ....compute.types import Floats
from ....edit import DragEdit, Edit, MotionEditor
from ....edit.clip import joint_of
from ....limb import Target
from ....skeleton import Pose
from ...core.actor import canonical_orientation
from ...view.theme import words
from ...widgets.controls import IDENTITY, NEAR
from ...widgets.status_text import COLOURS, coloured, distance_text, status_text
from .options import LIMB, MOTION, PEOPLE, WHOLE
from .ranges import LIMB_OF

if TYPE_CHECKING:
    from ....body.limb.body_limb import PlaceSolution
    from ....reach import ReachSolution
    from ...core.actor import Actor
    from ...core.edits import Edits
    from .tab import PoseTab

LOWERED = {
    Status.COLLISION: "the body goes less far: it would touch something",
    Status.UNREACHABLE: "the body goes less far: a leg could not hold its foot",
}

NARROW_TO_WIDE = ("limb", "half", "auto", "whole")
"""Scopes of an edit, by how much of the body may move."""


@dataclass(frozen=True, eq=False)
class Answer:
    """A pose found for a drag, and how well it meets the handle."""

    pose: Pose
    status: Status
    position_error: float
    """[m]"""
    orientation_error: float
    """[rad]"""
    notes: tuple[str, ...] = ()
    """Sentences for everybody, as Markdown."""
    numbers: tuple[str, ...] = ()
    """Lines for those who want numbers."""
    solution: Any = None
    """What the solver returned."""
    settings: dict[str, Any] = field(default_factory=dict)
    """Arguments for `MotionEditor.key` that make it an edit."""

    @property
    def text(self) -> str:
        """How it went, in words."""
        text = status_text(self.status)
        if self.status != Status.REACHED and self.position_error > 1e-3:
            text += f", {distance_text(self.position_error)} short"
        return "  \n".join([text, *self.notes])


class Drag:
    """A part dragged at one frame: where it began, its target, and the answer that is found for it.

    It begins in the frame's pose, or in a given one where other parts were moved already. An edit of this part at this
    frame that is there already is changed by it: in the style of the motion the body then answers from the pose without
    that edit, so that the part dragged back is where it was; other answers go on from the pose that is seen.
    """

    def __init__(self, actor: Actor, edits: Edits, frame: int, part: str, pose: Pose | None) -> None:
        editor = edits.need()
        self.actor, self.body, self.frame, self.part = actor, editor.body, frame, part
        self.pose = editor.motion[frame] if pose is None else pose
        self.changes: Edit | None = edits.of_part(frame, part) if pose is None else None
        """The edit that it takes the place of."""
        self.base = self.pose if self.changes is None else edits.pose_without(self.changes, frame)
        """The pose from which the body answers in the style of the motion."""
        frames, self.joint = editor.body.skeleton.forward(self.pose), joint_of(editor.body, part)
        self.start, self.orientation = np.array(frames.positions[self.joint]), np.array(frames.orientations[self.joint])
        self.target: Floats = self.start
        """(3,) in the actor's world [m]."""
        self.rotation: Floats | None = None
        """(4,) from the orientation at the start to the target's, in the world; None leaves it to the body."""
        self.answer: Answer | None = None

    @property
    def displaced(self) -> bool:
        """Whether the target is elsewhere than at the start."""
        return bool(np.abs(self.target - self.start).max() >= NEAR)

    @property
    def rotated(self) -> bool:
        """Whether the target's orientation is another one than at the start."""
        return self.rotation is not None and float(pm.angle(IDENTITY, self.rotation)) >= 1e-4

    def is_click(self, target: Floats, rotation: Floats | None) -> bool:
        """Return whether a target is where the drag began: of a click, or of a message after the drag's end."""
        angle = 0.0 if rotation is None else float(pm.angle(IDENTITY, rotation))
        return bool(np.abs(target - self.start).max() < NEAR and angle < 1e-4)

    def settings(self, pose: Pose) -> dict[str, Any]:
        """Return arguments for `MotionEditor.drag` and `edit`: a displacement from a pose, since edits move in time."""
        orientation = None if self.rotation is None else pm.multiply(self.rotation, self.orientation)
        if orientation is None and pose is self.base and isinstance(self.changes, DragEdit):
            orientation = self.changes.settings["orientation"]
        displacement = self.target - self.body.skeleton.forward(pose).positions[self.joint]
        return {"frame": self.frame, "part": self.part, "displacement": displacement, "orientation": orientation}

    def canonical_target(self) -> Target:
        """Return the target as solvers of limbs take it."""
        if self.rotation is None:
            return Target(self.target)
        return Target(self.target, pm.multiply(self.rotation, canonical_orientation(self.body, self.part, self.pose)))


def answer(tab: PoseTab, drag: Drag, editor: MotionEditor) -> Answer:
    """Return the pose with which the body answers a drag, as the controls of a tab have it."""
    how, part, body = str(tab.options.answer.value), drag.part, drag.body
    if how == MOTION:
        return _in_style(tab, drag, editor)
    if how == PEOPLE and part in body.roles:
        return _as_people(tab, drag)
    if how == WHOLE and part in ("left_hand", "right_hand") and tab.session.behaviours.ensure(body):
        return _reached(tab, drag)
    if how == LIMB and part in LIMB_OF and all(role in body.roles for role in _roles(part)):
        return _placed(tab, drag)
    if how == LIMB and drag.rotated and not drag.displaced:
        return _rotated(drag)
    # The spine alone takes long to bring the head far; with all of the body it is found at once.
    return _pulled(tab, drag, editor, "limb" if how == LIMB else "whole" if part == "head" else "auto")


def make_edit(tab: PoseTab, drag: Drag, found: Answer, editor: MotionEditor) -> None:
    """Make an edit of a drag and its answer, in place of the one that it changes."""
    old, fade = drag.changes, tab.options.fade_of(drag.changes)
    if not found.settings:
        pins = tab.pins.others(drag.part)
        editor.edit(**drag.settings(drag.base), pins=pins, **tab.options.of_drag, **fade)
        return
    settings = {"contacts": bool(tab.options.contacts.value), **found.settings, **fade}
    if old is not None:  # what moved with the part before is a part of this pose, too
        settings["scope"] = max(settings["scope"], str(old.settings["scope"]), key=NARROW_TO_WIDE.index)
    editor.key(frame=drag.frame, pose=found.pose, **settings)


def _placed(tab: PoseTab, drag: Drag) -> Answer:
    """Place a hand or foot by the exact solver of its limb."""
    options = tab.limb_options(drag.body, drag.part)
    placed = drag.body.place(drag.pose, drag.part, drag.canonical_target(), **options)
    changed = tab.range_changes(drag.body, drag.part, placed.pose, drag.target)
    moved = tab.learned.applied and int(placed.status) == Status.LIMITS and {"direction", "distance"} & {*changed}
    notes = [coloured(COLOURS[Status.COLLISION], text) for text in _violations(placed)]
    if moved:
        notes.append("People do not reach there.")
    numbers = (
        _errors(placed.position_error, placed.orientation_error),
        f"elbow or knee at {math.degrees(float(placed.swivel)):.1f}°, {int(placed.tests)} tried",
    )
    return _made(placed, placed, tuple(notes), numbers, part=drag.part, scope="limb")


def _reached(tab: PoseTab, drag: Drag) -> Answer:
    """Reach with the whole body, in the style of a behaviour."""
    side, scene = drag.part.split("_")[0], tab.obstacle.scene
    weight = float(tab.options.weight.value) if tab.options.own_weight.value else None
    reacher = tab.options.reacher(drag.body, scene)
    solution: ReachSolution = reacher.solve(**{side: drag.canonical_target()}, start=drag.pose, weight=weight)
    hand = solution.right if side == "right" else solution.left
    assert hand is not None
    notes, reason = [], Status(int(solution.reason))
    if reason in LOWERED:
        notes.append(coloured(COLOURS[Status.LIMITS], LOWERED[reason]))
    if float(solution.balance.margin) < 0.0:
        notes.append(coloured(COLOURS[Status.LIMITS], "out of balance"))
    used, requested = float(hand.weight), float(hand.requested_weight)
    numbers = (
        _errors(hand.position_error, hand.orientation_error),
        f"weight {used:.2f} of {requested:.2f} requested, elbow at {math.degrees(float(hand.swivel)):.1f}°",
    )
    return _made(hand, solution, tuple(notes), numbers, part=drag.part, scope="whole")


def _in_style(tab: PoseTab, drag: Drag, editor: MotionEditor) -> Answer:
    """Drag as this person moves in this motion."""
    options = tab.options.of_drag
    solution = editor.drag(**drag.settings(drag.base), pose=drag.base, pins=tab.pinned(drag), **options)
    return _made(solution, solution, (), (_errors(solution.position_error, solution.orientation_error),))


def _as_people(tab: PoseTab, drag: Drag) -> Answer:
    """Move the rest of the body as people do; all parts that were dragged stay where they were put."""
    solution = tab.touched.solve(drag)
    mine = solution.errors[drag.part], solution.orientation_errors.get(drag.part, 0.0)
    others = {part: away for part, away in solution.errors.items() if part != drag.part and away > 1e-3}
    notes = [f"The {words(part)} is {distance_text(away)} short." for part, away in others.items()]
    numbers = (_errors(*mine), f"{len(solution.errors)} parts dragged, {len(solution.planted)} feet stand")
    notes = [coloured(COLOURS[Status.LIMITS], note) for note in notes]
    # No part leads the edit: the pose is taken as it is, so that every part is where it was put.
    settings = {"part": None, "scope": "whole", "contacts": False}
    return Answer(solution.pose, Status(int(solution.status)), *mine, tuple(notes), numbers, solution, settings)


def _pulled(tab: PoseTab, drag: Drag, editor: MotionEditor, scope: str) -> Answer:
    """Drag any part, all joints alike: for those that no limb and no behaviour is about."""
    contacts = bool(tab.options.contacts.value)
    options: dict[str, Any] = {"mode": "frozen", "scope": scope, "contacts": contacts, "fitted": False}
    solution = editor.drag(**drag.settings(drag.pose), pose=drag.pose, pins=tab.pinned(drag), **options)
    numbers = (_errors(solution.position_error, solution.orientation_error),)
    return _made(solution, solution, (), numbers, part=drag.part, scope=scope)


def _rotated(drag: Drag) -> Answer:
    """Rotate a joint alone, as far as its limits go."""
    body, joint, role = drag.body, drag.joint, drag.part
    assert drag.rotation is not None
    target = within = pm.multiply(drag.rotation, drag.orientation)
    carrier = parent_role(role, body.roles) if role in body.limits else None
    if carrier is not None:  # limits are about canonical rotations in the frame of the part above
        carried, neutral = canonical_orientation(body, carrier, drag.pose), body.neutral_orientation(role)
        relative = pm.multiply(pm.conjugate(carried), pm.multiply(target, pm.conjugate(neutral)))
        within = pm.multiply(carried, pm.multiply(body.limits.clamp(role, relative), neutral))
    parent = int(body.skeleton.parents[joint])
    above = IDENTITY if parent < 0 else body.skeleton.forward(drag.pose).orientations[parent]
    rotations = np.array(drag.pose.rotations)
    rotations[joint] = pm.multiply(pm.conjugate(above), within)
    pose = drag.pose.replace(rotations=rotations)
    away = float(pm.angle(body.skeleton.forward(pose).orientations[joint], target))
    status = Status.REACHED if away < 5e-3 else Status.LIMITS
    return Answer(pose, status, 0.0, away, numbers=(_errors(0.0, away),), settings={"part": role, "scope": "limb"})


def _made(measured: Any, solution: Any, notes: tuple[str, ...], numbers: tuple[str, ...], **settings: Any) -> Answer:
    errors = float(measured.position_error), float(measured.orientation_error)
    return Answer(solution.pose, Status(int(measured.status)), *errors, notes, numbers, solution, settings)


def _errors(position: Any, orientation: Any) -> str:
    return f"{1000.0 * float(position):.1f} mm and {math.degrees(float(orientation)):.1f}° from the handle"


def _violations(placed: PlaceSolution) -> list[str]:
    said = []
    if placed.penetrates:
        said.append(f"touches something, {distance_text(float(placed.penetration))} deep")
    if not placed.in_range:
        said.append("outside what people do")
    return said


def _roles(part: str) -> tuple[str, ...]:
    from ....limb.model import ROLES

    return ROLES[LIMB_OF[part]]
