"""The posture of a key, joint by joint: sliders in degrees inside the limits of the body, and a handle at the joint."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np

from .... import math as pm
from ....body.roles import parent_role
from ....compute.types import Floats
from ....limb.model import SEARCHES
from ....reach import Posture
from ....reach.posture import heading
from ....skeleton import Pose
from ...core.actor import Actor, canonical_orientation
from ...widgets.controls import IDENTITY, NEAR, DragHandle, Follower, assign, redraw_on_update, show
from .keys import LONGEST_NAME, PATIENCE

if TYPE_CHECKING:
    from ....body import Humanoid
    from ....reach import Behaviour, Posture
    from ...core.session import Session
    from .tab import BehavioursTab

TRUNK = (("Forward", 1.0), ("Rotate left", 1.0), ("Tilt right", 1.0))
ARMS = {
    "left": (("Forward", -1.0), ("Twist in", -1.0), ("Out", 1.0)),
    "right": (("Forward", -1.0), ("Twist in", 1.0), ("Out", -1.0)),
}
SHOULDERS = {
    "left": (("Roll", 1.0), ("Ahead", -1.0), ("Up", 1.0)),
    "right": (("Roll", 1.0), ("Ahead", 1.0), ("Up", -1.0)),
}
"""Name and sign of a rotation about x, y and z of the trunk, of a hanging arm and of a collarbone."""
WIDEST = 120
"""Degrees that a slider reaches where no limit is nearer."""
SHIFTS = ("Hips left", "Hips up", "Hips ahead")
FURTHEST = 60
"""Percent of a leg's length that the hips' sliders reach."""
NONE = "(none)"

_drags = count()


class KeyEditor:
    """A folder of the panel with the sliders of one key."""

    def __init__(self, tab: BehavioursTab) -> None:
        self._tab, self._session = tab, tab.session
        session, gui = tab.session, tab.session.gui
        self._folder = gui.add_folder("Posture of the key", visible=False)
        with self._folder:
            self._title = gui.add_markdown("")
            self._name = Follower(session, gui.add_text("Name", ""), self.rename)
            self._part = gui.add_dropdown("Joint", (NONE,), hint="Or click a joint of the body")
            self._part.on_update(session.guarded(lambda _: self.choose(str(self._part.value))))
            self._angles = [self._slider(f"{name} [°]", WIDEST, k, self._rotate) for k, (name, _) in enumerate(TRUNK)]
            hint = "Rings at the joint that rotate it; arrows at the hips that shift them"
            self.handle = gui.add_checkbox("Handle", True, hint=hint)
            redraw_on_update(session, self.handle)
            hint = "Straight: this joint as in the neutral pose. Follow: the key's posture comes from its neighbours"
            tools = gui.add_button_group("Set to", ("Straight", "Follow"), hint=hint)
            tools.on_click(session.guarded(lambda event: self.reset(event.target.value)))
            self._shifts = [self._slider(f"{name} [%]", FURTHEST, k, self._shift) for k, name in enumerate(SHIFTS)]
            hint = "The swivel at which the search for the elbow begins around this key: 0 hangs, more is outwards"
            own = gui.add_checkbox("Own elbow", False, hint=hint)
            self._own_elbow = Follower(
                session, own, lambda own: self.set_elbow(self._elbow.control.value if own else None)
            )
            low, high = (round(math.degrees(end)) for end in (SEARCHES["arm"].low, SEARCHES["arm"].high))
            elbow = gui.add_slider("Elbow [°]", min=low, max=high, step=1, initial_value=30, disabled=True)
            self._elbow = Follower(session, elbow, self.set_elbow)

    @property
    def part(self) -> str:
        """The joint that the sliders rotate: "upper_chest"."""
        return str(self._part.value).replace(" ", "_")

    def choose(self, part: str) -> None:
        """Rotate this joint with the sliders, if the behaviour drives it."""
        with self._session.lock:
            if (edited := self._tab.keys.edited) is not None:
                self._offer(edited[1])
            words = part.replace("_", " ")
            if words in self._part.options:
                assign(self._part, words)
                self._fill()
                self._session.changed("pose")

    def show(self) -> None:
        """Show the key's posture on the sliders; without a key, none."""
        edited = self._tab.keys.edited
        if edited is not None:
            self._offer(edited[1])
            self._fill()
        show(self._folder, "visible", edited is not None)

    def rotate(self, part: str, rotation: Floats, tag: Hashable, patience: float = PATIENCE) -> None:
        """Rotate a joint of the key to a canonical rotation (4,), clamped to the limits; see `ReachKeys.edit`."""
        with self._session.lock:
            if (edited := self._tab.keys.edited) is None:
                return
            body, behaviour, key = edited
            clamped = body.limits.clamp(part, rotation) if part in body.limits else rotation
            posture, label = behaviour.posture(key).rotated(**{part: clamped}), f"Rotate the {part.replace('_', ' ')}"
            tag = ("rotate", key, part, tag)
            self._tab.keys.edit(label, lambda one: one.set(key, posture), tag=tag, patience=patience)

    def shift(self, hips: Floats, tag: Hashable, patience: float = PATIENCE) -> None:
        """Shift the hips of the key by (3,) leg lengths; see `ReachKeys.edit`."""
        with self._session.lock:
            if (edited := self._tab.keys.edited) is not None:
                _, behaviour, key = edited
                posture, tag = behaviour.posture(key).shifted(hips), ("shift", key, tag)
                self._tab.keys.edit("Shift the hips", lambda one: one.set(key, posture), tag=tag, patience=patience)

    def set_elbow(self, degrees: float | None) -> None:
        """Begin the search for the elbow at this swivel around the key; None: as everywhere."""
        with self._session.lock:
            search = None if degrees is None else replace(SEARCHES["arm"], preferred=math.radians(degrees))
            if (edited := self._tab.keys.edited) is not None:
                _, behaviour, key = edited
                if behaviour.key(key).search != search:
                    self._tab.keys.edit("Set the elbow", lambda one: one.set_search(key, search), tag=("elbow", key))

    def rename(self, name: str) -> None:
        """Give the key a name."""
        with self._session.lock:
            name = name[:LONGEST_NAME]
            if (edited := self._tab.keys.edited) is not None:
                _, behaviour, key = edited
                if behaviour.key(key).name != name:
                    self._tab.keys.edit("Name the key", lambda one: one.rename(key, name), tag=("name",))

    def reset(self, which: str) -> None:
        """Set the joint to the neutral pose ("Straight"), or the key to its neighbours' interpolation ("Follow")."""
        with self._session.lock:
            if (edited := self._tab.keys.edited) is None:
                return
            _, behaviour, key = edited
            if which == "Follow":
                self._tab.keys.edit("Let the key follow", lambda one: one.set(key, None))
            elif self.part in behaviour.parts:
                self.rotate(self.part, IDENTITY, None)

    def _slider(self, label: str, reach: int, axis: int, moved: Callable[[int, float], None]) -> Follower:
        slider = self._session.gui.add_slider(label, min=-reach, max=reach, step=1, initial_value=0)
        return Follower(self._session, slider, lambda value: moved(axis, float(value)))

    def _rotate(self, axis: int, degrees: float) -> None:
        if (edited := self._tab.keys.edited) is None or self.part not in edited[1].parts:
            return
        angles = _angles(edited[1].posture(edited[2]), self.part)
        if round(angles[axis]) != round(degrees):  # else a message that came late
            angles[axis] = degrees
            signs = np.array([sign for _, sign in _axes(self.part)])
            self.rotate(self.part, pm.exp(np.radians(angles) * signs), axis)

    def _shift(self, axis: int, percent: float) -> None:
        if (edited := self._tab.keys.edited) is not None:
            hips = np.array(edited[1].posture(edited[2]).hips)
            if round(100.0 * hips[axis]) != round(percent):
                hips[axis] = percent / 100.0
                self.shift(hips, axis)

    def _offer(self, behaviour: Behaviour) -> None:
        """Offer the parts of a behaviour to choose from."""
        options = tuple(part.replace("_", " ") for part in behaviour.parts) or (NONE,)
        if self._part.options != options:
            before = str(self._part.value)
            self._part.options = options
            assign(self._part, before if before in options else ("chest" if "chest" in options else options[0]))

    def _fill(self) -> None:
        """Show the key in the whole folder; only what differs is sent."""
        if (edited := self._tab.keys.edited) is None:
            return
        body, behaviour, index = edited
        posture, key = behaviour.posture(index), behaviour.key(index)
        kind = "an outer key" if key.outer else f"key {index}"
        state = " · follows the field until you change it" if key.posture is None else ""
        show(self._title, "content", f"**{kind}**{state}")
        self._name.show(key.name)
        self._own_elbow.show(key.search is not None)
        show(self._elbow.control, "disabled", key.search is None)
        if key.search is not None:
            self._elbow.show(round(math.degrees(key.search.preferred)))
        if self.part in behaviour.parts:
            angles, axes, limits = _angles(posture, self.part), _axes(self.part), _slider_ends(body, self.part)
            for slider, (name, _), angle, ends in zip(self._angles, axes, angles, limits, strict=True):
                _show(slider, f"{name} [°]", round(float(angle)), *ends)
        for slider, fraction, name in zip(self._shifts, posture.hips, SHIFTS, strict=True):
            _show(slider, f"{name} [%]", round(100.0 * float(fraction)), -FURTHEST, FURTHEST)


@lru_cache(maxsize=64)
def _slider_ends(body: Humanoid, part: str) -> tuple[tuple[int, int], ...]:
    """Return how far each of three rotations alone stays inside the limits [degrees]."""
    ends, degrees = [], np.arange(-WIDEST, WIDEST + 1)
    for axis, (_, sign) in enumerate(_axes(part)):
        rotations = np.zeros((len(degrees), 3))
        rotations[:, axis] = sign * np.radians(degrees)
        inside = np.ones(len(degrees), dtype=bool)
        if part in body.limits:
            inside = body.limits.contains(part, pm.exp(rotations), tolerance=1e-3)
        out = degrees[~inside]
        low, high = out[out < 0], out[out > 0]
        ends.append((int(max(low, default=-WIDEST - 1)) + 1, int(min(high, default=WIDEST + 1)) - 1))
    return tuple(ends)


def _axes(part: str) -> tuple[tuple[str, float], ...]:
    side, _, what = part.partition("_")
    return (SHOULDERS if what == "shoulder" else ARMS).get(side, TRUNK)


def _angles(posture: Posture, part: str) -> Floats:
    """Return (3,) the rotation vector of a part [degrees], with the signs of its sliders."""
    rotation = np.asarray(pm.log(posture.rotation(part)), dtype=np.float64)
    return np.asarray(np.degrees(rotation) * np.array([sign for _, sign in _axes(part)]))


def _show(follower: Follower, label: str, value: int, low: int, high: int) -> None:
    """Show a value on a slider between ends that reach to it at least."""
    if follower.waits:
        return
    slider = follower.control
    low, high = min(low, value, -1), max(high, value, 1)
    show(slider, "label", label)
    # A slider's value must lie inside its ends at every moment.
    show(slider, "min", min(slider.min, low))
    show(slider, "max", max(slider.max, high))
    follower.show(value)
    show(slider, "min", low)
    show(slider, "max", high)


@dataclass(frozen=True, eq=False)
class _Grip:
    """The state in which a drag begins: rotations and shifts of the handle are added to it."""

    part: str
    position: Floats
    """(3,) of the handle [m]."""
    orientation: Floats
    """(4,) of the handle: the joint's, canonical."""
    parent: Floats
    """(4,) of the joint's parent, canonical; for the hips, the heading of the body at the start."""
    posture: Posture
    leg_length: float

    def shifted(self, position: Floats) -> bool:
        """Return whether a position (3,) [m] is another one."""
        return float(np.abs(position - self.position).max()) > NEAR

    def rotated(self, orientation: Floats) -> bool:
        """Return whether an orientation (4,) is another one."""
        return bool(pm.angle(self.orientation, orientation) > 1e-4)


class JointHandle:
    """Rings that rotate the joint of the sliders, and arrows that shift the hips, while a key is edited."""

    def __init__(self, session: Session, editor: KeyEditor) -> None:
        self._session, self._editor = session, editor
        self._grip: _Grip | None = None
        self._drag: int | None = None  # during a drag
        self.handle = DragHandle(session, "reach_joint", self._dragged, self._dropped, opacity=0.7)

    @property
    def part(self) -> str | None:
        """The joint at which the handle is."""
        return None if self._grip is None else self._grip.part

    def draw(self, actor: Actor, body: Humanoid, pose: Pose, start: Pose, posture: Posture) -> None:
        """Show the handle at the joint of a pose reached from `start`, unless it is being dragged."""
        part = self._editor.part
        if part not in posture.parts:
            self.hide()
            return
        if self.part != part:  # another handle, with arrows or without
            self.hide()
        if self._drag is not None:
            return
        position = body.skeleton.forward(pose).positions[body.index(part)] + actor.position
        orientation, parent = canonical_orientation(body, part, pose), parent_role(part, body.roles)
        facing = heading(canonical_orientation(body, "hips", start))
        above = facing if parent is None else canonical_orientation(body, parent, pose)
        self._grip = _Grip(part, position, orientation, above, posture, body.leg_length)
        size = (0.2 if part == "hips" else 0.13) * body.joint_height
        self.handle.show(position, orientation, scale=size, disable_axes=part != "hips")

    def hide(self) -> None:
        """Take the handle away."""
        self._grip = self._drag = None
        self.handle.remove()

    def move(self, position: Floats, orientation: Floats, tag: Any = None) -> None:
        """Rotate the joint by the rotation of the handle (4,), or shift the hips by its displacement (3,) [m].

        The key changes by as much as the handle since the start of the drag: the body on the stage may show less than
        all of the key, where something prevents it from bending so far. A drag is one step to undo, however slow.
        """
        with self._session.lock:
            if (grip := self._grip) is None:
                return
            if grip.rotated(orientation):
                before, after = (pm.multiply(pm.conjugate(grip.parent), q) for q in (grip.orientation, orientation))
                rotation = pm.multiply(after, pm.conjugate(before))
                self._editor.rotate(grip.part, pm.multiply(rotation, grip.posture.rotation(grip.part)), tag, math.inf)
            elif grip.part == "hips" and grip.shifted(position):
                displacement = pm.rotate(pm.conjugate(grip.parent), position - grip.position)
                self._editor.shift(grip.posture.hips + displacement / grip.leg_length, tag, math.inf)

    def _dragged(self, position: Floats, orientation: Floats) -> None:
        with self._session.lock:
            if self._drag is None:
                if self._grip is None or not (self._grip.shifted(position) or self._grip.rotated(orientation)):
                    return  # a click, or a message that arrives after the end of the drag
                self._drag = next(_drags)
            self.move(position, orientation, ("drag", self._drag))

    def _dropped(self) -> None:
        with self._session.lock:
            if self._drag is not None:
                self._drag = None
                self._session.changed("pose")
