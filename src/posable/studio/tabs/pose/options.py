"""The part that is dragged, how the body answers, and the parts that are pinned meanwhile."""

from __future__ import annotations

import math
import weakref
from typing import TYPE_CHECKING, Any

import viser

from ....edit import Edit, MotionEditor
from ....edit.clip import joint_of, part_of
from ....edit.dragging import MODES
from ....edit.edits import EASES
from ....reach import Behaviour, Reacher
from ....reach.examples import EXAMPLES
from ....reach.stepping import FEET
from ...core.session import Session
from ...view.theme import plain, words
from ...widgets.controls import Follower, add_button, redraw_on_update, show
from ...widgets.edit_bars import NARROWEST, WIDEST
from ...widgets.parts import parts_by_name

if TYPE_CHECKING:
    from ....body import Humanoid
    from ....collision import Scene
    from ....compute.types import Floats
    from .tab import PoseTab

NONE, MORE = "(none)", "more…"
LIMB, WHOLE, MOTION = "Limb alone", "Whole body, in a style", "In the style of this motion"
PEOPLE = "As people do"
ANSWERS = (LIMB, WHOLE, MOTION, PEOPLE)
"""How the body answers a drag."""
MOVE, ROTATE, BOTH = "Move", "Turn", "Move and turn"
OF_BODY, OF_CLIP, LEARNED, FREE = "the body's limits", "this motion's range", "what people do", "none"
LIMITS = {OF_BODY: "body", OF_CLIP: "clip", "both of these": ("clip", "body"), LEARNED: None, FREE: None}
"""The limits of joints that can be chosen, as an editor takes them; the learned ones depend on the body."""
SCOPES = {
    "arm or leg, and more if needed": "auto",
    "arm or leg alone": "limb",
    "upper or lower body": "half",
    "whole body": "whole",
}
"""How much of the body answers in the style of the motion, as an editor takes it."""
CURVES = "The curve by which the change comes and goes: cosine, smooth (no jolt anywhere) or linear"


class PoseParts:
    """The list of the body's parts: the session's selection, which a click on the body makes, too."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._parts: dict[str, str] = {}  # parts by their names in the list
        self._all = False  # whether joints without a role are listed
        self._body: Humanoid | None = None
        hint = "Or click a part of the body; 'more…' lists the joints that have no name of the trade"
        self.list = session.gui.add_dropdown("Part", (NONE,), hint=hint)
        self._follows = Follower(session, self.list, lambda name: self._chosen(str(name)))

    @property
    def part(self) -> str | None:
        """The selected part of the active body: a role, or a joint's name; None for none."""
        selection, body = self._session.selection, self._session.body
        if selection is None or body is None or selection.actor is not self._session.active:
            return None
        return part_of(body, selection.joint)

    def choose(self, part: str) -> None:
        """Select a role, a joint's name, or `NONE`, in words or not."""
        with self._session.lock:
            actor, body = self._session.active, self._session.body
            if part == NONE or actor is None or body is None:
                self._session.select(None)
            else:
                role = part.replace(" ", "_")
                self._session.select(actor, joint_of(body, role if role in body.roles else part))

    def draw(self) -> None:
        """List the parts of the active body, the selected one chosen."""
        body, part = self._session.body, self.part
        if body is not self._body:
            self._body, self._all = body, False
        self._parts = (
            {} if body is None else parts_by_name(body, self._all or (part is not None and part not in body.roles))
        )
        more = (MORE,) if body is not None and len(self._parts) < len(body.skeleton) else ()
        name = next((name for name, known in self._parts.items() if known == part), NONE)
        self._follows.offer((NONE, *self._parts, *more), name)

    def _chosen(self, name: str) -> None:
        if name == MORE:
            self._all = True
            self._session.changed("pose")
        else:
            self.choose(self._parts.get(name, NONE))


class PosePins:
    """A folder of the panel: parts that stay where they are while another is dragged."""

    def __init__(self, tab: PoseTab) -> None:
        self._tab, self._session = tab, tab.session
        self.parts: tuple[str, ...] = ()
        session, gui = tab.session, tab.session.gui
        with gui.add_folder("Pins", expand_by_default=False):
            self.text = gui.add_markdown("")
            hint = "A click on the body pins the part there, or unpins it"
            self.by_click = gui.add_checkbox("Clicks pin", False, hint=hint)
            hint = "Pins the selected part where it is, or unpins it"
            add_button(session, "Pin this part", lambda _: self.toggle(tab.need_part()), icon=viser.Icon.PIN, hint=hint)
            add_button(session, "Unpin all", lambda _: self.clear(), icon=viser.Icon.PINNED_OFF)
        session.click_handlers.append(self.clicked)

    def toggle(self, part: str) -> None:
        """Pin a part in edits to come, or unpin it."""
        with self._session.lock:
            self.parts = self.others(part) if part in self.parts else (*self.parts, part)
            self._session.changed("pose")

    def clear(self) -> None:
        """Unpin all parts."""
        with self._session.lock:
            self.parts = ()
            self._session.changed("pose")

    def others(self, part: str) -> tuple[str, ...]:
        """Return all pins but one part."""
        return tuple(pin for pin in self.parts if pin != part)

    def draw(self) -> None:
        """List the pins."""
        pins = ", ".join(words(pin) for pin in self.parts)
        show(self.text, "content", plain(f"Pinned: {pins}" if pins else "Nothing is pinned."))

    def clicked(self, origin: Floats, direction: Floats) -> bool:
        """Pin the part of the body that a ray meets, if clicks pin: its origin (3,) [m], its direction (3,)."""
        session = self._session
        actor, body = session.active, session.body
        if not self.by_click.value or session.tab != self._tab.title or actor is None or body is None:
            return False
        hit = session.stage.hit(actor, session.time, origin, direction)
        hit = hit or actor.clicked_joint(session.time, origin, direction)
        if hit is not None:
            self.toggle(part_of(body, actor.part_joint(hit[0])))
        return hit is not None

    def close(self) -> None:
        """Take no more clicks."""
        self._session.click_handlers.remove(self.clicked)


class PoseOptions:
    """How the body answers and how a drag fades; the rest of it in a folder."""

    def __init__(self, session: Session) -> None:
        self._session, gui = session, session.gui
        self._limited: weakref.WeakKeyDictionary[MotionEditor, str] = weakref.WeakKeyDictionary()
        self._reacher: tuple[tuple[Any, ...], Reacher] | None = None
        self._faded: dict[str, Any] | None = None  # how the last drag faded
        hint = "What moves with the part: its arm or leg; the whole body, as a behaviour has it; as in this motion; or "
        hint += "whatever people move, and the parts that you dragged before stay where you put them"
        self.answer = gui.add_dropdown("Body answers", ANSWERS, initial_value=WHOLE, hint=hint)
        hint = "The behaviour in whose style hands reach; design your own in the tab Behaviours"
        self.style = gui.add_dropdown("Style", tuple(EXAMPLES), hint=hint)
        self._styles = Follower(session, self.style, lambda name: self.reach_as(str(name)))
        self.handle = gui.add_dropdown("Handle", (BOTH, MOVE, ROTATE), hint="What the handle does (keys G and R)")
        hint = "Seconds before and after this frame over which the change fades"
        self.spread = gui.add_slider(
            "Fades over [s]", min=NARROWEST, max=WIDEST, step=0.05, initial_value=0.5, hint=hint
        )
        redraw_on_update(session, self.answer, self.handle)
        with gui.add_folder("How the body answers", expand_by_default=False):
            self._add_details(session)

    def _add_details(self, session: Session) -> None:
        gui = session.gui
        self.ease = gui.add_dropdown("Fades as", EASES, hint=CURVES)
        hint = "A part that is moved keeps its orientation; else its arm or leg decides"
        self.keep_orientation = gui.add_checkbox("Keep its orientation", False, hint=hint)
        self.contacts = gui.add_checkbox(
            "Preserve contacts", True, hint="Feet on the ground and hands on the body stay there"
        )
        self.self_collision = gui.add_checkbox("Keep off the body", True, hint="Arms and legs stay out of the body")
        hint = "The angle of the elbow or knee around the line from shoulder to hand at which the search begins"
        self.preferred = gui.add_slider("Elbow or knee [°]", min=-180, max=180, step=1, initial_value=30, hint=hint)
        self.own_weight = gui.add_checkbox("Own weight", False, hint="Instead of what the distance of the target says")
        self.weight = gui.add_slider("Weight", min=0.0, max=1.0, step=0.01, initial_value=1.0)
        hint = "Stay where they stand; step, or rise on the toes, where a target is out of reach; or move along"
        self.feet = gui.add_dropdown("Feet", tuple(FEET), hint=hint)
        hint = "The fraction of the rotation to the target that the head makes"
        self.gaze = gui.add_slider("Gaze", min=0.0, max=1.0, step=0.05, initial_value=0.0, hint=hint)
        hint = (
            "What moves with the part: its arm or leg, with the rest of the body as far as that does not suffice; the "
        )
        hint += "arm or leg alone; all above or below the hips; or the whole body as readily as it moves in this motion"
        self.scope = gui.add_dropdown("Moves", tuple(SCOPES), hint=hint)
        hint = "phase: a part dragged along its own path replays the motion, and across it moves by itself; frozen: "
        hint += "whatever the direction, the other parts come along as they move at this frame"
        self.mode = gui.add_dropdown("Mode", tuple(MODES), hint=hint)
        hint = "How far joints may go: as far as the body's limits, as far as in this motion and 11° more, both, "
        hint += "as far as arms and legs of many people went, or anywhere. Counts for edits made from now on"
        self.limits = gui.add_dropdown("Joint limits", tuple(LIMITS), hint=hint)
        redraw_on_update(session, self.self_collision, self.preferred, self.limits)

    def draw(self, body: Humanoid | None, still: bool) -> None:
        """Show the controls that count for the answer; `still` for a pose without a motion, which does not fade."""
        answer = str(self.answer.value)
        known = {side: one.name for side, one in self._session.behaviours.by_side.items()}
        name = known.get("right", "") or "my own"
        if body is not None and known:
            self._styles.offer(tuple(EXAMPLES) if name in EXAMPLES else (*EXAMPLES, name), name)
        limb, whole, motion = (answer == one for one in ANSWERS[:3])
        for control in (self.style, self.own_weight, self.weight, self.feet, self.gaze):
            show(control, "visible", whole)
        for control in (self.scope, self.mode):
            show(control, "visible", motion)
        show(self.preferred, "visible", limb)
        show(self.self_collision, "visible", limb or whole)
        for control in (self.spread, self.ease):
            show(control, "visible", not still)

    def reach_as(self, example: str) -> None:
        """Reach in the style of an example."""
        if example in EXAMPLES and {one.name for one in self._session.behaviours.by_side.values()} != {example}:
            self._session.behaviours.start_from(example)

    def reacher(self, body: Humanoid, scene: Scene) -> Reacher:
        """Return the solver of reaches that the controls describe."""
        by_side: dict[str, Behaviour] = dict(self._session.behaviours.by_side)
        options: dict[str, Any] = {
            "self_collision": bool(self.self_collision.value),
            "feet": FEET[str(self.feet.value)],
            "gaze": float(self.gaze.value),
        }
        inputs = (body, by_side["right"], by_side["left"], *options.values())
        if len(scene):  # an obstacle that moves: the solver reads where it is when it is made
            return Reacher(body, by_side["right"], by_side["left"], scene, **options)
        cached = self._reacher
        if cached is None or any(a is not b and a != b for a, b in zip(cached[0], inputs, strict=True)):
            made = Reacher(body, by_side["right"], by_side["left"], None, **options)
            cached = self._reacher = (inputs, made)
        return cached[1]

    def limit(self, editor: MotionEditor) -> None:
        """Apply the limits that are chosen to an editor."""
        chosen = str(self.limits.value)
        if self._limited.get(editor, OF_BODY) != chosen:
            editor.limits = limits_of(chosen, editor.body)
            self._limited[editor] = chosen

    @property
    def of_limb(self) -> dict[str, Any]:
        """Settings of a limb that is placed."""
        return {
            "self_collision": bool(self.self_collision.value),
            "preferred": math.radians(float(self.preferred.value)),
        }

    @property
    def of_drag(self) -> dict[str, Any]:
        """Settings of a drag in the style of the motion."""
        scope = SCOPES[str(self.scope.value)]
        return {"mode": str(self.mode.value), "scope": scope, "contacts": bool(self.contacts.value)}

    def fade_of(self, changes: Edit | None) -> dict[str, Any]:
        """Return how the edit of a drag fades: as the controls say; one that is changed, as its bar lies there.

        Where the controls were set otherwise since the last drag, that is what they were set for.
        """
        before, self._faded = self._faded, self.of_fade
        if changes is None or self._faded != before:
            return self._faded
        return {name: changes.settings[name] for name in ("spread", "ease", "frames")}

    @property
    def of_fade(self) -> dict[str, Any]:
        """Settings of how an edit fades."""
        return {"spread": float(self.spread.value), "ease": str(self.ease.value)}


def limits_of(choice: str, body: Humanoid) -> Any:
    """Return one of `LIMITS` as an editor takes it."""
    from ....limb import LimbRange
    from ....limb.model import ROLES

    if choice == LEARNED:
        limbs = [limb for limb in ROLES if all(role in body.roles for role in ROLES[limb])]
        return tuple(LimbRange.builtin(limb, body.limb(limb)) for limb in limbs)
    return LIMITS[choice]
