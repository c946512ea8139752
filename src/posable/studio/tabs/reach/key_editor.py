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
from ...core.session import Session
from ...widgets.controls import Follower, assign
from .behaviours import PATIENCE

if TYPE_CHECKING:
    from ....body import Humanoid
    from ....reach import Behaviour, Posture

TRUNK = (("Forward", 1.0), ("Turn left", 1.0), ("Tilt right", 1.0))
ARMS = {
    "left": (("Forward", -1.0), ("Twist in", -1.0), ("Out", 1.0)),
    "right": (("Forward", -1.0), ("Twist in", 1.0), ("Out", -1.0)),
}
SHOULDERS = {
    "left": (("Roll", 1.0), ("Ahead", -1.0), ("Up", 1.0)),
    "right": (("Roll", 1.0), ("Ahead", 1.0), ("Up", -1.0)),
}
"""What a turn about x, y and z does to the trunk, to a hanging arm and to a collarbone, and which sign it has."""
WIDEST = 120
"""Degrees that a slider reaches where no limit is nearer."""
SHIFTS = ("Hips left", "Hips up", "Hips ahead")
FURTHEST = 60
"""Percent of a leg's length that the hips' sliders reach."""
NONE = "(none)"
LONGEST_NAME = 60

Change = Callable[[str, Callable[["Behaviour", int], None], Hashable, float], None]
Subject = Callable[[], "tuple[Humanoid, Behaviour, int] | None"]


class KeyEditor:
    """A folder of the panel with the sliders of one key.

    Args:
        session: whose panel.
        subject: tells the body, the behaviour and the key that are edited now, or None.
        change: called with what is done in words, what does it to a behaviour and the key, a tag that is the same for
            all changes by one slider, and the seconds within which these are one step to undo.
    """

    def __init__(self, session: Session, subject: Subject, change: Change) -> None:
        self._session, self._subject, self._change = session, subject, change
        self._ranges: dict[tuple[int, str], tuple[tuple[int, int], ...]] = {}
        gui = session.gui
        self._folder = gui.add_folder("Posture of the key", visible=False)
        with self._folder:
            self._title = gui.add_markdown("")
            self._name = Follower(session, gui.add_text("Name", ""), self.rename)
            self._part = gui.add_dropdown("Joint", (NONE,), hint="Or click a joint of the body")
            self._part.on_update(session.guarded(lambda _: self.choose(str(self._part.value))))
            self._turns = [self._slider(f"{name} [°]", WIDEST, k, self._turned) for k, (name, _) in enumerate(TRUNK)]
            self._handle = gui.add_checkbox("Handle", True, hint="Rings at the joint that turn it; arrows at the hips")
            self._handle.on_update(session.guarded(lambda _: session.changed("pose")))
            hint = "Straight: this joint as in the neutral pose. Follow: the key's posture comes from its neighbours"
            tools = gui.add_button_group("Set to", ("Straight", "Follow"), hint=hint)
            tools.on_click(session.guarded(lambda event: self._tool(event.target.value)))
            self._shifts = [self._slider(f"{name} [%]", FURTHEST, k, self._shifted) for k, name in enumerate(SHIFTS)]
            hint = "Where the search for the elbow begins around this key: 0 hangs, more is outwards"
            self._own_elbow = Follower(session, gui.add_checkbox("Own elbow", False, hint=hint), self._elbow_owned)
            low, high = (round(math.degrees(end)) for end in (SEARCHES["arm"].low, SEARCHES["arm"].high))
            elbow = gui.add_slider("Elbow [°]", min=low, max=high, step=1, initial_value=30, disabled=True)
            self._elbow = Follower(session, elbow, self.bend_elbow)

    @property
    def handle(self) -> bool:
        """Whether the joint is to be turned in the scene, too."""
        return bool(self._handle.value)

    @property
    def part(self) -> str:
        """The joint that the sliders turn: "upper_chest"."""
        return str(self._part.value).replace(" ", "_")

    def choose(self, part: str) -> None:
        """Have the sliders turn this joint, if the behaviour drives it."""
        with self._session.lock:
            if (found := self._subject()) is not None:
                self._offer(found[1])
            words = part.replace("_", " ")
            if words in self._part.options:
                assign(self._part, words)
                self._fill()
                self._session.changed("pose")

    def show(self) -> None:
        """Have the sliders where the key has its joints; without a key, none."""
        found = self._subject()
        if found is not None:
            self._offer(found[1])
            self._fill()
        if self._folder.visible != (found is not None):
            self._folder.visible = found is not None

    def turn(self, part: str, rotation: Floats, tag: Hashable) -> None:
        """Turn a joint of the key to a canonical rotation (4,), kept inside the body's limits."""
        with self._session.lock:
            if (found := self._subject()) is None:
                return
            body, behaviour, key = found
            kept = body.limits.clamp(part, rotation) if part in body.limits else rotation
            posture = behaviour.posture(key).rotated(**{part: kept})
            self._put(f"Turn the {part.replace('_', ' ')}", posture, ("turn", key, part, tag))

    def shift(self, hips: Floats, tag: Hashable) -> None:
        """Shift the hips of the key by (3,) leg lengths."""
        with self._session.lock:
            if (found := self._subject()) is not None:
                _, behaviour, key = found
                self._put("Shift the hips", behaviour.posture(key).shifted(hips), ("shift", key, tag))

    def bend_elbow(self, degrees: float | None) -> None:
        """Have the search for the elbow begin at this swivel around the key; None: as everywhere."""
        with self._session.lock:
            search = None if degrees is None else replace(SEARCHES["arm"], preferred=math.radians(degrees))
            found = self._subject()
            if found is not None and found[1].key(found[2]).search != search:
                self._change(
                    "Place the elbow", lambda one, key: one.set_search(key, search), ("elbow", found[2]), PATIENCE
                )

    def rename(self, name: str) -> None:
        """Give the key a name."""
        with self._session.lock:
            found = self._subject()
            if found is not None and found[1].key(found[2]).name != name[:LONGEST_NAME]:
                self._change("Name the key", lambda one, key: one.rename(key, name[:LONGEST_NAME]), ("name",), PATIENCE)

    def _put(self, label: str, posture: Posture | None, tag: Hashable) -> None:
        self._change(label, lambda one, key: one.set(key, posture), tag, PATIENCE)

    def _slider(self, label: str, reach: int, axis: int, moved: Callable[[int, float], None]) -> Follower:
        slider = self._session.gui.add_slider(label, min=-reach, max=reach, step=1, initial_value=0)
        return Follower(self._session, slider, lambda value: moved(axis, float(value)))

    def _turned(self, axis: int, wanted: float) -> None:
        if (found := self._subject()) is None or self.part not in found[1].parts:
            return
        _, behaviour, key = found
        angles = _angles(behaviour.posture(key), self.part)
        if round(angles[axis]) != round(wanted):  # else a message that came late
            angles[axis] = wanted
            signs = np.array([sign for _, sign in _names(self.part)])
            self.turn(self.part, pm.exp(np.radians(angles) * signs), axis)

    def _shifted(self, axis: int, wanted: float) -> None:
        if (found := self._subject()) is None:
            return
        _, behaviour, key = found
        hips = np.array(behaviour.posture(key).hips)
        if round(100.0 * hips[axis]) != round(wanted):
            hips[axis] = wanted / 100.0
            self.shift(hips, axis)

    def _elbow_owned(self, own: bool) -> None:
        self.bend_elbow(float(self._elbow.control.value) if own else None)

    def _tool(self, which: str) -> None:
        with self._session.lock:
            if (found := self._subject()) is None:
                return
            _, behaviour, _ = found
            if which == "Follow":
                self._put("Let the key follow", None, None)
            elif self.part in behaviour.parts:
                self.turn(self.part, np.array([1.0, 0.0, 0.0, 0.0]), None)

    def _offer(self, behaviour: Behaviour) -> None:
        """Have the parts of a behaviour to choose from."""
        options = tuple(part.replace("_", " ") for part in behaviour.parts) or (NONE,)
        if self._part.options != options:
            before = str(self._part.value)
            self._part.options = options
            assign(self._part, before if before in options else ("chest" if "chest" in options else options[0]))

    def _fill(self) -> None:
        """Everything in the folder as the key has it; only what differs is sent."""
        if (found := self._subject()) is None:
            return
        body, behaviour, key = found
        posture, key_now = behaviour.posture(key), behaviour.key(key)
        kind = "an outer key" if key_now.outer else f"key {key}"
        state = " · follows the field until you change it" if key_now.posture is None else ""
        title = f"**{kind}**{state}"
        if self._title.content != title:
            self._title.content = title
        self._name.show(key_now.name)
        own = key_now.search is not None
        self._own_elbow.show(own)
        if self._elbow.control.disabled == own:
            self._elbow.control.disabled = not own
        if key_now.search is not None:
            self._elbow.show(round(math.degrees(key_now.search.preferred)))
        if self.part in behaviour.parts:
            angles, names = _angles(posture, self.part), _names(self.part)
            spans = self._range(body, self.part)
            for slider, (name, _), angle, span in zip(self._turns, names, angles, spans, strict=True):
                _show(slider, f"{name} [°]", round(float(angle)), *span)
        for slider, share, name in zip(self._shifts, posture.hips, SHIFTS, strict=True):
            _show(slider, f"{name} [%]", round(100.0 * float(share)), -FURTHEST, FURTHEST)

    def _range(self, body: Humanoid, part: str) -> tuple[tuple[int, int], ...]:
        """How far each of three turns alone stays inside the limits [degrees]."""
        key = (id(body), part)
        if key not in self._ranges:
            spans = []
            for axis, (_, sign) in enumerate(_names(part)):
                degrees = np.arange(-WIDEST, WIDEST + 1)
                turns = np.zeros((len(degrees), 3))
                turns[:, axis] = sign * np.radians(degrees)
                inside = np.ones(len(degrees), dtype=bool)
                if part in body.limits:
                    inside = body.limits.contains(part, pm.exp(turns), tolerance=1e-3)
                out = degrees[~inside]
                low, high = out[out < 0], out[out > 0]
                spans.append(
                    (int(low.max()) + 1 if len(low) else -WIDEST, int(high.min()) - 1 if len(high) else WIDEST)
                )
            self._ranges[key] = tuple(spans)
        return self._ranges[key]


def _names(part: str) -> tuple[tuple[str, float], ...]:
    side, _, what = part.partition("_")
    return (SHOULDERS if what == "shoulder" else ARMS).get(side, TRUNK)


def _angles(posture: Posture, part: str) -> Floats:
    """(3,) the rotation vector of a part [degrees], with the signs of its sliders."""
    turn = np.asarray(pm.log(posture.rotation(part)), dtype=np.float64)
    return np.asarray(np.degrees(turn) * np.array([sign for _, sign in _names(part)]))


def _show(follower: Follower, label: str, value: int, low: int, high: int) -> None:
    """Have a slider show a value between ends that reach to it at least."""
    if follower.waits:
        return
    slider = follower.control
    low, high = min(low, value, -1), max(high, value, 1)
    if slider.label != label:
        slider.label = label
    # A slider's value must lie inside its ends at every moment.
    if slider.min > low:
        slider.min = low
    if slider.max < high:
        slider.max = high
    follower.show(value)
    if slider.min != low:
        slider.min = low
    if slider.max != high:
        slider.max = high
