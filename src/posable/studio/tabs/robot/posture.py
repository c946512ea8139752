"""The posture that a chain holds: sliders for its joints, and a library of postures in a file."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np
import viser

from .... import math as pm
from ....compute import PosableError
from ....compute.documents import read_document, write_document
from ....compute.types import Floats
from ....express import Chain
from ...core.session import Session
from ...widgets.controls import add_button, assign, show
from ...widgets.file_panel import FilePanel

WHOLE = 180.0
"""Degrees each way of a joint without limits."""
STEP = 0.1
FORMAT = "posable-postures/1"
LARGEST = 4_000_000
"""Bytes of a library's file at most."""
MAX_POSTURES = 500
PICK = "choose…"
EXAMPLES: dict[str, tuple[float, float, float]] = {
    "upright": (0.0, 0.0, 0.0),
    "sad": (0.75, 0.85, 0.0),
    "proud": (-0.35, 0.55, 0.0),
    "curious": (0.45, -0.25, 0.6),
}
"""How far [rad] the lower half of a chain leans forward, the upper half too, and all of it sideways."""


class Posture(msgspec.Struct, forbid_unknown_fields=True):
    """A posture of a chain: radians (metres of slides) by the names of its joints."""

    name: Annotated[str, msgspec.Meta(min_length=1, max_length=60)]
    chain: Annotated[str, msgspec.Meta(max_length=200)]
    joints: Annotated[dict[str, float], msgspec.Meta(max_length=500)]

    def fits(self, name: str, chain: Chain) -> bool:
        """Return whether it is a posture of a chain of this name."""
        return self.chain == name and set(self.joints) == set(chain.names)


class PostureFile(msgspec.Struct, forbid_unknown_fields=True):
    """The file of a library."""

    format: str
    postures: Annotated[list[Posture], msgspec.Meta(max_length=MAX_POSTURES)]


def example_posture(chain: Chain, name: str) -> Floats:
    """Return (N,) a posture of `EXAMPLES` for a chain, found from its axes at rest, so that it suits any robot."""
    lower, upper, side = EXAMPLES[name]
    rest = chain.skeleton.forward(chain.skeleton.rest).orientations
    links = [link for link in chain.links if not link.slides]
    axes = np.array([pm.rotate(rest[link.joint], link.axis) for link in links])
    # Bending forward is a rotation about x, sideways about z; joints that take part in a bend divide its angle.
    half = np.arange(len(links)) < 0.5 * len(links)
    values = np.zeros(len(chain))
    for mask, amount, axis in ((half, lower, 0), (~half, upper, 0), (np.ones(len(links), bool), side, 2)):
        weights = np.where(mask, axes[:, axis], 0.0)
        weights[np.abs(weights) < 0.5] = 0.0
        for link, angle in zip(links, amount * weights / max(float(np.abs(weights).sum()), 1.0)):
            values[link.dof] += angle / link.multiplier
    return np.clip(values, chain.lower, chain.upper)


class PostureSliders:
    """A folder with a slider for each joint, in degrees for a hinge and millimetres for a slide.

    The sliders are made once and given to whatever chain comes; `moved` is called when a user has moved one.
    """

    def __init__(self, session: Session, moved: Callable[[], None]) -> None:
        self._session, self._moved = session, moved
        self._chain: Chain | None = None
        self._values = np.zeros(0)
        self._units = np.ones(0)  # of the sliders in a radian or metre
        self._sliders: list[Any] = []
        self._folder = session.gui.add_folder("Joints of the posture", visible=False)
        with self._folder:
            add_button(session, "Straighten up", lambda _: self._straighten(), icon=viser.Icon.ARROW_UP)

    @property
    def values(self) -> Floats:
        """(N,) the posture [rad or m]."""
        return self._values.copy()

    def set_chain(self, chain: Chain | None) -> None:
        """Show the sliders of a chain, at rest; None hides them."""
        self._chain = chain
        show(self._folder, "visible", chain is not None)
        count = 0 if chain is None else len(chain)
        while len(self._sliders) < count:
            self._add_slider()
        for slider in self._sliders[count:]:
            show(slider, "visible", False)
        if chain is None:
            return
        slides = np.zeros(count, dtype=bool)
        slides[[link.dof for link in chain.links if link.slides]] = True
        self._units = np.where(slides, 1000.0, math.degrees(1.0))
        widest = np.where(slides, 1e4, WHOLE)[:, None]
        limits = np.clip(chain.limits * self._units[:, None], -widest, widest)
        for k, slider in enumerate(self._sliders[:count]):
            low, high = math.floor(limits[k, 0] / STEP) * STEP, math.ceil(limits[k, 1] / STEP) * STEP
            with self._session.server.atomic():
                slider.label = f"{chain.names[k][:28]} [{'mm' if slides[k] else '°'}]"
                slider.min, slider.max = low, max(high, low + STEP)
                show(slider, "disabled", bool(chain.lower[k] == chain.upper[k]))
                show(slider, "visible", True)
        self.set_values(chain.zero)

    def set_values(self, values: Floats) -> None:
        """Show a posture (N,)."""
        self._values = np.array(values, dtype=np.float64)
        for slider, value in zip(self._sliders, self._values * self._units):
            assign(slider, float(np.clip(round(value / STEP) * STEP, slider.min, slider.max)))

    def _add_slider(self) -> None:
        k = len(self._sliders)
        with self._folder:
            slider = self._session.gui.add_slider(f"joint {k}", min=-90.0, max=90.0, step=STEP, initial_value=0.0)
        slider.on_update(self._session.guarded(lambda _: self._slid(k)))
        self._sliders.append(slider)

    def _slid(self, k: int) -> None:
        with self._session.lock:
            if self._chain is not None and k < len(self._values):
                value = float(self._sliders[k].value) / self._units[k]
                self._values[k] = np.clip(value, self._chain.lower[k], self._chain.upper[k])
                self._moved()

    def _straighten(self) -> None:
        with self._session.lock:
            if self._chain is not None:
                self.set_values(self._chain.zero)
                self._moved()


class PostureLibrary(FilePanel):
    """Store, recall, forget, save and load postures.

    Args:
        session: whose panel it is.
        chain: returns the name of the chain that is shown and the chain; None while there is none.
        posture: returns the posture (N,) that is shown.
        recalled: called with a posture (N,) that is recalled, and its name.
    """

    def __init__(
        self,
        session: Session,
        chain: Callable[[], tuple[str, Chain] | None],
        posture: Callable[[], Floats],
        recalled: Callable[[Floats, str], None],
    ) -> None:
        super().__init__(session, "library", "postures.json", write=self._write, read=self._read, largest=LARGEST)
        self._chain, self._posture, self._recalled = chain, posture, recalled
        self.stored: list[Posture] = []
        hint = "Recall a posture; those of this chain are offered"
        self._pick = session.gui.add_dropdown("Posture", (PICK,), hint=hint)
        self._pick.on_update(session.guarded(lambda _: self.recall(str(self._pick.value))))

    def add_folder(self) -> None:
        """Add the folder that stores postures and has their file, here in the panel."""
        session, gui = self._session, self._session.gui
        with gui.add_folder("Library of postures", expand_by_default=False):
            self._name = gui.add_text("Called", "mine", hint="A name for the posture of the sliders")
            add_button(session, "Store the posture", lambda _: self.store(self._name.value), icon=viser.Icon.BOOKMARK)
            options = {"icon": viser.Icon.TRASH, "hint": "The one of that name"}
            add_button(session, "Forget the posture", lambda _: self.forget(self._name.value), **options)
            self.add_controls(hint="A JSON file that people can read")

    @property
    def offered(self) -> tuple[str, ...]:
        """The postures that can be recalled for the chain that is shown."""
        shown = self._chain()
        if shown is None:
            return ()
        return (*EXAMPLES, *(one.name for one in self.stored if one.fits(*shown) and one.name not in EXAMPLES))

    def show(self) -> None:
        """Offer the postures that fit the chain that is shown."""
        show(self._pick, "options", (PICK, *self.offered))
        assign(self._pick, PICK)

    def recall(self, name: str) -> None:
        """Set the sliders to a posture."""
        shown = self._chain()
        if name == PICK or shown is None:
            return
        if name not in self.offered:
            raise PosableError(f"no posture {name!r} for {shown[0]}; there are {', '.join(self.offered)}")
        found = next((one for one in self.stored if one.name == name and one.fits(*shown)), None)
        chain = shown[1]
        values = example_posture(chain, name) if found is None else np.array([found.joints[k] for k in chain.names])
        self._recalled(values, name)

    def store(self, name: str) -> None:
        """Store the posture of the sliders under a name; one of that name for this chain is replaced."""
        shown = self._chain()
        if shown is None:
            raise PosableError("choose a chain first; its posture can then be stored")
        called = name.strip()
        if not 0 < len(called) <= 60 or called == PICK:
            raise PosableError(f"the name is {called[:80]!r}; expected 1 to 60 characters")
        others = [one for one in self.stored if not (one.name == called and one.chain == shown[0])]
        if len(others) >= MAX_POSTURES:
            raise PosableError(f"there are {MAX_POSTURES} postures already; forget one first")
        joints = {joint: float(value) for joint, value in zip(shown[1].names, self._posture(), strict=True)}
        self.stored = [*others, Posture(called, shown[0], joints)]
        self.show()
        self._session.notify(f"Stored the posture {called}")

    def forget(self, name: str) -> None:
        """Drop a posture that was stored for this chain."""
        shown = self._chain()
        left = [one for one in self.stored if shown is None or not (one.name == name.strip() and one.chain == shown[0])]
        if len(left) == len(self.stored):
            raise PosableError(f"no posture {name.strip()[:80]!r} was stored for this chain")
        self.stored = left
        self.show()

    def _write(self, path: Path) -> None:
        document = {"format": FORMAT, "postures": [msgspec.to_builtins(one) for one in self.stored]}
        write_document(path, document, PostureFile)

    def _read(self, path: Path, name: str) -> None:
        self.stored = list(read_document(path, PostureFile, FORMAT, LARGEST).postures)
        self.show()
        self._session.notify(f"The library has {len(self.stored)} postures, {len(self.offered)} offered for this chain")
