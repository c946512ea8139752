"""The posture of a key, joint by joint: sliders in degrees, inside the limits of the body."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from .... import math as pm
from ....compute.types import Floats
from ....limb.model import SEARCHES
from ...widgets.controls import Follower, assign, redraw_on_update, show
from ...widgets.handle import IDENTITY
from .keys import PATIENCE

if TYPE_CHECKING:
    from ....body import Humanoid
    from ....reach import Behaviour, Posture
    from .tab import ReachTab

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
LONGEST_NAME = 60


class KeyEditor:
    """A folder of the panel with the sliders of one key."""

    def __init__(self, tab: ReachTab) -> None:
        self._tab, self._session = tab, tab.session
        self._ranges: dict[tuple[int, str], tuple[tuple[int, int], ...]] = {}
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
            posture = behaviour.posture(key).rotated(**{part: clamped})
            self._set(f"Rotate the {part.replace('_', ' ')}", posture, ("rotate", key, part, tag), patience)

    def shift(self, hips: Floats, tag: Hashable, patience: float = PATIENCE) -> None:
        """Shift the hips of the key by (3,) leg lengths; see `ReachKeys.edit`."""
        with self._session.lock:
            if (edited := self._tab.keys.edited) is not None:
                _, behaviour, key = edited
                self._set("Shift the hips", behaviour.posture(key).shifted(hips), ("shift", key, tag), patience)

    def set_elbow(self, degrees: float | None) -> None:
        """Begin the search for the elbow at this swivel around the key; None: as everywhere."""
        with self._session.lock:
            search = None if degrees is None else replace(SEARCHES["arm"], preferred=math.radians(degrees))
            edited = self._tab.keys.edited
            if edited is not None and edited[1].key(edited[2]).search != search:
                tag = ("elbow", edited[2])
                self._tab.keys.change("Set the elbow", lambda one, key: one.set_search(key, search), tag)

    def rename(self, name: str) -> None:
        """Give the key a name."""
        with self._session.lock:
            name, edited = name[:LONGEST_NAME], self._tab.keys.edited
            if edited is not None and edited[1].key(edited[2]).name != name:
                self._tab.keys.change("Name the key", lambda one, key: one.rename(key, name), ("name",))

    def reset(self, which: str) -> None:
        """Set the joint to the neutral pose ("Straight"), or the key to its neighbours' interpolation ("Follow")."""
        with self._session.lock:
            if (edited := self._tab.keys.edited) is None:
                return
            if which == "Follow":
                self._set("Let the key follow", None, None)
            elif self.part in edited[1].parts:
                self.rotate(self.part, IDENTITY, None)

    def _set(self, label: str, posture: Posture | None, tag: Hashable, patience: float = PATIENCE) -> None:
        self._tab.keys.change(label, lambda one, key: one.set(key, posture), tag, patience)

    def _slider(self, label: str, reach: int, axis: int, moved: Callable[[int, float], None]) -> Follower:
        slider = self._session.gui.add_slider(label, min=-reach, max=reach, step=1, initial_value=0)
        return Follower(self._session, slider, lambda value: moved(axis, float(value)))

    def _rotate(self, axis: int, degrees: float) -> None:
        if (edited := self._tab.keys.edited) is None or self.part not in edited[1].parts:
            return
        _, behaviour, key = edited
        angles = _angles(behaviour.posture(key), self.part)
        if round(angles[axis]) != round(degrees):  # else a message that came late
            angles[axis] = degrees
            signs = np.array([sign for _, sign in _axes(self.part)])
            self.rotate(self.part, pm.exp(np.radians(angles) * signs), axis)

    def _shift(self, axis: int, percent: float) -> None:
        if (edited := self._tab.keys.edited) is None:
            return
        _, behaviour, key = edited
        hips = np.array(behaviour.posture(key).hips)
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
            angles, axes, ranges = _angles(posture, self.part), _axes(self.part), self._range(body, self.part)
            for slider, (name, _), angle, ends in zip(self._angles, axes, angles, ranges, strict=True):
                _show(slider, f"{name} [°]", round(float(angle)), *ends)
        for slider, fraction, name in zip(self._shifts, posture.hips, SHIFTS, strict=True):
            _show(slider, f"{name} [%]", round(100.0 * float(fraction)), -FURTHEST, FURTHEST)

    def _range(self, body: Humanoid, part: str) -> tuple[tuple[int, int], ...]:
        """Return how far each of three rotations alone stays inside the limits [degrees]."""
        cached = (id(body), part)
        if cached not in self._ranges:
            ranges = []
            for axis, (_, sign) in enumerate(_axes(part)):
                degrees = np.arange(-WIDEST, WIDEST + 1)
                rotations = np.zeros((len(degrees), 3))
                rotations[:, axis] = sign * np.radians(degrees)
                inside = np.ones(len(degrees), dtype=bool)
                if part in body.limits:
                    inside = body.limits.contains(part, pm.exp(rotations), tolerance=1e-3)
                out = degrees[~inside]
                low, high = out[out < 0], out[out > 0]
                ranges.append((int(max(low, default=-WIDEST - 1)) + 1, int(min(high, default=WIDEST + 1)) - 1))
            self._ranges[cached] = tuple(ranges)
        return self._ranges[cached]


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
