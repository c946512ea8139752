"""The keys of the behaviours of both arms and the one that is edited; each edit is a step that can be undone.

While a key is chosen the target is where the hand comes with all of its posture, which is shown whatever the distance.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ....compute import PosableError
from ....compute.types import ArrayLike, Floats
from ....reach import Behaviour, Reacher, Weight
from ....reach.behaviour_file import MAX_BYTES
from ....reach.examples import EXAMPLES
from ....reach.posture import WEIGHTS
from ...core.actor import nearest_joint
from ...core.behaviours import SIDES
from ...widgets.controls import Follower, assign
from ...widgets.file_panel import FilePanel
from .swing_plane import Stroke, direction_of, in_space

if TYPE_CHECKING:
    from ....body import Humanoid
    from ...core.session import Session
    from .tab import BehavioursTab

IN_SPACE = (
    "The keys are in space: choose them by their balls or on the plane, which shows their directions. One is added "
    "where the target is; to move one, add it there and remove the old one."
)
"""Shown for a behaviour with keys in space, where dragging on the plane has no meaning."""
ON_PLANE, AROUND = ("linear", "smooth"), ("around",)
"""Interpolations of keys on the swing plane and of keys in space: keys cannot go from one to the other."""
ON_BONE = 0.03
"""How near a bone a click means the body and not the sphere before it, as a fraction of the body's size."""
PATIENCE = 1.5
"""Seconds within which further changes by the same slider belong to the same step."""
COPY_OFFSET = math.radians(12.0)
"""Distance of a copy from its key [rad]; as a fraction of the distance from the shoulder for keys in space."""
NEAR = 0.006
"""Values of k this close look the same on the slider."""
LONGEST_NAME = 60
PICK = "choose…"

Result = TypeVar("Result")


@dataclass
class _Step:
    """A step of the history that may still grow: a slider that is moved on, a key that is dragged on."""

    tag: Hashable
    before: Mapping[str, Behaviour]
    after: Mapping[str, Behaviour]
    when: float


class ReachKeys:
    """Edits of the session's behaviours, key by key."""

    def __init__(self, tab: BehavioursTab) -> None:
        self._tab, self._session = tab, tab.session
        self.chosen: int | None = None
        self._step: _Step | None = None
        self._unsubscribe = tab.session.subscribe(self._on_event)
        tab.session.click_handlers.append(self.click)

    def close(self) -> None:
        """Take no more clicks."""
        self._unsubscribe()
        self._session.click_handlers.remove(self.click)

    @property
    def behaviours(self) -> Mapping[str, Behaviour]:
        """The behaviours of both arms."""
        return self._session.behaviours.by_side

    @property
    def behaviour(self) -> Behaviour:
        """The behaviour that is edited, as it is now: an edit makes a new one."""
        return self.behaviours[self._tab.side]

    @property
    def edited(self) -> tuple[Humanoid, Behaviour, int] | None:
        """The body, the behaviour and the key that are edited; None while no key is."""
        body, chosen = self._session.body, self.chosen
        return None if body is None or chosen is None or not self._tab.sides else (body, self.behaviour, chosen)

    def reacher(self, body: Humanoid) -> Reacher:
        """Return the solver with both behaviours."""
        return self._tab.options.reacher(body, self.behaviours["right"], self.behaviours["left"])

    def begin(self, right: Behaviour, left: Behaviour) -> None:
        """Start with these behaviours; there is nothing to undo."""
        self._put({"right": right, "left": left})

    # Pointers.

    def choose(self, key: int) -> None:
        """Edit a key."""
        with self._session.lock:
            self.chosen = key
            self._show_key(self.behaviour.key(key).at)

    def stroke(self, stroke: Stroke) -> None:
        """Follow a pointer on the plane: choose a key, drag it, or move the target."""
        with self._session.lock:
            if not self._tab.sides:
                return
            keys = {key.id: key for key in self.behaviour.keys}
            if stroke.key is None or stroke.key not in keys:
                self.aim(stroke.now)
                return
            if stroke.moved and in_space(self.behaviour):
                if stroke.ended:
                    self._session.notify(IN_SPACE)
            elif stroke.moved and not keys[stroke.key].outer:
                key, swing = stroke.key, self._inside(stroke.now)
                self.edit("Move the key", lambda one: one.move(key, swing), tag=("move", stroke.id), patience=math.inf)
            self.choose(stroke.key)

    def click(self, origin: Floats, direction: Floats) -> bool:
        """Take a click on the sphere: on a key's ball, or elsewhere to move the target into that direction.

        While a key is edited a click on the body is the body's: it chooses the joint to rotate.

        Args:
            origin: (3,) of the ray through the pointer, on the stage [m].
            direction: (3,) of the ray, unit.
        """
        actor, sphere = self._session.active, self._tab.view.sphere
        if actor is None or not self._tab.sides or not self._tab.in_front:
            return False
        if (key := sphere.key_at(origin, direction)) is not None:
            self.choose(key)
            return True
        near = ON_BONE * float(np.ptp(actor.box, axis=0).max())
        if self.chosen is not None and nearest_joint(actor.frames(self._session.time), origin, direction, near):
            return False
        if (swing := sphere.swing_at(origin, direction)) is None:
            return False
        self.aim(swing)
        return True

    def aim(self, swing: ArrayLike) -> None:
        """Release the key, and move the target into the direction of a swing (2,) [rad], as far away as it is."""
        self._tab.targets.aim(self._tab.side, swing)
        self.chosen = None
        self._tab.reach_changed()

    # Edits of a key.

    def add(self) -> int:
        """Add a key where the target is and edit it; it follows the field until it is changed."""
        with self._session.lock:
            side, targets = self._tab.side, self._tab.targets
            if side not in targets or not self._tab.sides:
                raise PosableError("choose a hand first; the key is added in the direction of its target")
            at = targets.in_frame(side) if in_space(self.behaviour) else self._inside(targets.swing(side))
            self.chosen = self.edit("Add a key", lambda one: one.add(at))
            self._show_key(at)
            return self.chosen

    def copy(self) -> int:
        """Copy the key that is edited, towards the middle or for keys in space the shoulder, and edit the copy."""
        with self._session.lock:
            key, behaviour = self._chosen_key(), self.behaviour
            at = np.asarray(behaviour.key(key).at)
            if in_space(behaviour):
                at = at * (1.0 - COPY_OFFSET)
            else:
                inwards = np.array(behaviour.ellipse.centre) - at
                length = float(np.linalg.norm(inwards))
                at = self._inside(at + COPY_OFFSET * (inwards / length if length > 1e-6 else np.array([1.0, 0.0])))
            copy = self.edit("Copy the key", lambda one: one.duplicate(key, at))
            self.choose(copy)
            return copy

    def remove(self) -> None:
        """Remove the key that is edited."""
        with self._session.lock:
            key, behaviour = self._chosen_key(), self.behaviour
            if in_space(behaviour) and not any(one.posture for one in behaviour.keys if one.id != key):
                raise PosableError("this is the only key with a posture; without it there is nothing to reach with")
            self.edit("Remove the key", lambda one: one.remove(key))

    # Edits of a whole behaviour.

    def mirror(self) -> None:
        """Give the other arm the mirrored behaviour. Can be undone."""
        with self._session.lock:
            side, other = self._tab.side, SIDES[1 - SIDES.index(self._tab.side)]
            self.replace(f"Mirror to the {other} arm", **{other: self.behaviour.mirrored()})
            self._session.notify(f"The {other} arm now reaches like the {side} one")

    def take(self, behaviour: Behaviour, name: str) -> None:
        """Use a behaviour for the arm it is made for, and edit it. Can be undone."""
        with self._session.lock:
            if not any(key.posture for key in behaviour.keys):
                raise PosableError(f"{name} has no key with a posture; there is nothing to reach with")
            side = behaviour.limb.split("_")[0]
            self.chosen = None
            self.replace(f"Load {name}", **{side: behaviour})
            if side != self._tab.side:
                self._tab.switch_to(side)

    def start_from(self, example: str) -> None:
        """Use an example for both arms. Can be undone."""
        with self._session.lock:
            self.chosen = None
            self._session.behaviours.start_from(example)

    def restyle(self, **style: Any) -> None:
        """Change the interpolation, the weight by distance, or the name of the behaviour: as `Behaviour.restyle`."""
        if any(getattr(self.behaviour, name) != value for name, value in style.items()):
            self.edit("Restyle the behaviour", lambda one: one.restyle(**style), tag=(*style,))

    # The history.

    def edit(
        self, label: str, change: Callable[[Behaviour], Result], *, tag: Hashable = None, patience: float = PATIENCE
    ) -> Result:
        """Change a copy of the edited behaviour. Edits with one tag, `patience` seconds apart, are one step to undo."""
        with self._session.lock:
            side, changed = self._tab.side, self.behaviour.copy()
            result = change(changed)
            after, step, now = {**self.behaviours, side: changed}, self._step, time.monotonic()
            if tag is not None and step is not None and step.tag == (side, tag) and now - step.when < patience:
                step.after, step.when = after, now
                self._put(after)
            else:
                self._run(label, _Step(None if tag is None else (side, tag), self.behaviours, after, now))
            return result

    def replace(self, label: str, **by_side: Behaviour) -> None:
        """Use another behaviour for an arm, or for both. Can be undone."""
        with self._session.lock:
            self._run(label, _Step(None, self.behaviours, {**self.behaviours, **by_side}, 0.0))

    def _run(self, label: str, step: _Step) -> None:
        self._session.run(label, lambda: self._put(step.after), lambda: self._put(step.before))
        self._step = step

    def _put(self, behaviours: Mapping[str, Behaviour]) -> None:
        self._session.behaviours.put(behaviours)

    def _on_event(self, topic: str) -> None:
        if topic == "behaviours" and self.chosen not in [key.id for key in self.behaviour.keys]:
            self.chosen = None
        if topic == "history":  # something else was done, or this was undone: the step has ended
            self._step = None

    def _inside(self, swing: ArrayLike) -> Floats:
        """Return (2,) the swing, or the nearest one inside of the ellipse."""
        ellipse = self.behaviour.ellipse
        centre = np.array(ellipse.centre)
        at, _ = self.behaviour.locate(direction_of(swing), 1.0)
        relative = (at - centre) / np.array(ellipse.radii)
        # Just inside of the edge, where rounding cannot move it outside; elsewhere the swing itself.
        return np.asarray(centre + (at - centre) * (1.0 - 1e-9) if relative @ relative > 1.0 - 1e-9 else at)

    def _show_key(self, at: ArrayLike) -> None:
        """Move the target to a key in space, or in a key's direction where the hand comes with all of its posture."""
        actor, body, tab = self._session.active, self._session.body, self._tab
        if actor is None or body is None or not tab.sides:
            return
        if in_space(self.behaviour):
            tab.targets.put(tab.side, at)
        else:
            tab.targets.aim(tab.side, at)
            start = tab.options.start(actor, body, self._session.time)
            solution = self.reacher(body).solve(**tab.targets.targets(tab.sides), start=start, weight=1.0)
            shoulder = body.skeleton.forward(solution.pose).positions[body.index(f"{tab.side}_upper_arm")]
            tab.targets.reach_out(tab.side, at, shoulder)
        tab.reach_changed()

    def _chosen_key(self) -> int:
        if self.chosen is None:
            raise PosableError("choose a key first: click it on the plane, or add one")
        return self.chosen


class BehaviourPanel(FilePanel):
    """The behaviour that is edited as a whole: its name and interpolation, its files, the examples to start from."""

    def __init__(self, session: Session, keys: ReachKeys) -> None:
        super().__init__(session, "behaviour", "behaviour.json", write=self._write, read=self._read, largest=MAX_BYTES)
        self._keys = keys
        hint = "Start from a behaviour that comes with Posable, for both arms"
        self._examples = session.gui.add_dropdown("Example", (PICK, *EXAMPLES), hint=hint)
        self._examples.on_update(session.guarded(lambda _: self.start_from(str(self._examples.value))))

    def add_folders(self) -> None:
        """Add the folders with the properties of the whole behaviour and with its files, here in the panel."""
        session, gui = self._session, self._session.gui
        with gui.add_folder("The whole behaviour", expand_by_default=False):
            name = gui.add_text("Name of the behaviour", "")
            self._name = Follower(session, name, lambda name: self._keys.restyle(name=name[:LONGEST_NAME]))
            hint = "Linear: between three keys each; smooth: between all keys, without creases; around: keys in space"
            kinds = gui.add_dropdown("Interpolation", ON_PLANE, hint=hint)
            self._interpolation = Follower(session, kinds, lambda kind: self._keys.restyle(interpolation=kind))
            hint = "How the weight of the behaviour depends on the distance of the target"
            kinds = gui.add_dropdown("By distance", tuple(WEIGHTS), hint=hint)
            self._weighting = Follower(session, kinds, lambda kind: self._weigh(str(kind), self._now.weight.k))
            hint = "The weight is 1 at a distance of 1 / √k arm lengths"
            k = gui.add_slider("k", min=0.05, max=1.0, step=0.01, initial_value=0.8, hint=hint)
            self._k = Follower(session, k, lambda k: self._weigh(self._now.weight.kind, float(k)))
        with gui.add_folder("Behaviour to a file", expand_by_default=False):
            self.add_controls(hint="A JSON file that people can read")

    def show(self) -> None:
        """Show the behaviour as it is in the controls."""
        now = self._now
        self._name.show(now.name)
        kinds = AROUND if in_space(now) else ON_PLANE
        if self._interpolation.control.options != kinds:
            self._interpolation.control.options = kinds
            self._interpolation.put(now.interpolation)
        self._interpolation.show(now.interpolation)
        self._weighting.show(now.weight.kind)
        self._k.show(min(max(now.weight.k, 0.05), 1.0), near=NEAR)

    def start_from(self, name: str) -> None:
        """Start from an example, for both arms."""
        if name != PICK:
            assign(self._examples, PICK)
            self._keys.start_from(name)
            self._session.notify(f"Both arms now reach as in the example {name}")

    @property
    def _now(self) -> Behaviour:
        return self._keys.behaviour

    def _weigh(self, kind: str, k: float) -> None:
        now = self._now.weight.k
        self._keys.restyle(weight=Weight(kind, now if abs(k - now) < NEAR else k))  # unchanged to the last bit

    def _write(self, path: Path) -> None:
        self._now.save(path)

    def _read(self, path: Path, name: str) -> None:
        behaviour, stem = Behaviour.load(path), Path(name).stem
        self._keys.take(behaviour, stem)
        self._session.notify(f"The {behaviour.limb.replace('_', ' ')} now reaches as in {stem}")
