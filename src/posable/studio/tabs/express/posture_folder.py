"""A small library of postures: a few that every chain has, those that a user keeps, and their file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import msgspec
import numpy as np
import viser

from .... import math as pm
from ....compute import PosableError
from ....compute.documents import read_document, write_document
from ....compute.types import Floats
from ....express import Chain
from ...core.session import Session
from ...widgets.controls import assign
from ...widgets.file_panel import FilePanel

FORMAT = "posable-postures/1"
LARGEST = 4_000_000
"""Bytes of a file at most."""
MOST = 500
"""Postures of a library at most."""
PICK = "choose…"
EXAMPLES: dict[str, tuple[float, float, float]] = {
    "upright": (0.0, 0.0, 0.0),
    "sad": (0.75, 0.85, 0.0),
    "proud": (-0.35, 0.55, 0.0),
    "curious": (0.45, -0.25, 0.6),
}
"""How far [rad] the lower half of a chain leans forward, the upper half too, and all of it sideways."""

Name = Annotated[str, msgspec.Meta(min_length=1, max_length=60)]


class Posture(msgspec.Struct, forbid_unknown_fields=True):
    """A posture of a chain: radians (metres of slides) by the names of its joints."""

    name: Name
    chain: Annotated[str, msgspec.Meta(max_length=200)]
    joints: Annotated[dict[str, float], msgspec.Meta(max_length=500)]


class PostureFile(msgspec.Struct, forbid_unknown_fields=True):
    """The file of a library."""

    format: str
    postures: Annotated[list[Posture], msgspec.Meta(max_length=MOST)]


def example_posture(chain: Chain, name: str) -> Floats:
    """(N,) a posture of `EXAMPLES` for a chain: by where its axes are at rest, so that it suits any robot."""
    lower, upper, side = EXAMPLES[name]
    rest = chain.skeleton.forward(chain.skeleton.rest).orientations
    turning = [link for link in chain.links if not link.slides]
    axes = np.array([pm.rotate(rest[link.joint], link.axis) for link in turning])
    # Bending forward is a turn about x, sideways about z; joints that share a bend share its angle.
    half = np.arange(len(turning)) < 0.5 * len(turning)
    values = np.zeros(len(chain))
    for mask, amount, axis in ((half, lower, 0), (~half, upper, 0), (np.ones(len(turning), bool), side, 2)):
        shares = np.where(mask, axes[:, axis], 0.0)
        shares[np.abs(shares) < 0.5] = 0.0
        for link, share in zip(turning, amount * shares / max(float(np.abs(shares).sum()), 1.0)):
            values[link.dof] += share / link.multiplier
    return np.clip(values, chain.lower, chain.upper)


class PostureFolder(FilePanel):
    """Keep, recall, forget, save and load postures.

    Args:
        session: whose panel.
        chain: tells the chain that is shown and what it is called; None while there is none.
        posture: tells the posture (N,) that is shown.
        take: called with one (N,) that is recalled, and its name.
    """

    def __init__(
        self,
        session: Session,
        chain: Callable[[], tuple[str, Chain] | None],
        posture: Callable[[], Floats],
        take: Callable[[Floats, str], None],
    ) -> None:
        super().__init__(session, "library", "postures.json", write=self._write, read=self._read, largest=LARGEST)
        self._chain, self._posture, self._take = chain, posture, take
        self.kept: list[Posture] = []
        gui = session.gui
        self._pick = gui.add_dropdown("Posture", (PICK,), hint="Recall a posture; those of this chain are offered")
        self._pick.on_update(session.guarded(lambda _: self.recall(str(self._pick.value))))

    def add_folder(self) -> None:
        """The folder that keeps postures and has their file, here in the panel."""
        session, gui = self._session, self._session.gui
        with gui.add_folder("Library of postures", expand_by_default=False):
            self._name = gui.add_text("Called", "mine", hint="A name for the posture of the sliders")
            keep = gui.add_button("Keep the posture", icon=viser.Icon.BOOKMARK)
            keep.on_click(session.guarded(lambda _: self.keep(str(self._name.value))))
            forget = gui.add_button("Forget the posture", icon=viser.Icon.TRASH, hint="The one of that name")
            forget.on_click(session.guarded(lambda _: self.forget(str(self._name.value))))
            self.add_controls(hint="A JSON file that people can read")

    @property
    def offered(self) -> tuple[str, ...]:
        """The postures that can be recalled for the chain that is shown."""
        told = self._chain()
        if told is None:
            return ()
        fits = [one.name for one in self.kept if _fits(one, *told)]
        return (*EXAMPLES, *(name for name in fits if name not in EXAMPLES))

    def show(self) -> None:
        """Offer what fits the chain that is shown."""
        options = (PICK, *self.offered)
        if self._pick.options != options:
            self._pick.options = options
        assign(self._pick, PICK)

    def recall(self, name: str) -> None:
        """Have a posture on the sliders."""
        told = self._chain()
        if name == PICK or told is None:
            return
        if name not in self.offered:
            raise PosableError(f"no posture {name!r} for {told[0]}; there are {', '.join(self.offered)}")
        found = next((one for one in self.kept if one.name == name and _fits(one, *told)), None)
        chain = told[1]
        values = example_posture(chain, name) if found is None else np.array([found.joints[k] for k in chain.names])
        self._take(values, name)

    def keep(self, name: str) -> None:
        """Keep the posture of the sliders under a name; one of that name for this chain is replaced."""
        told = self._chain()
        if told is None:
            raise PosableError("choose a chain first; its posture can then be kept")
        called = name.strip()
        if not 0 < len(called) <= 60 or called == PICK:
            raise PosableError(f"the name is {called[:80]!r}; expected 1 to 60 characters")
        others = [one for one in self.kept if not (one.name == called and one.chain == told[0])]
        if len(others) >= MOST:
            raise PosableError(f"there are {MOST} postures already; forget one first")
        joints = {joint: float(value) for joint, value in zip(told[1].names, self._posture(), strict=True)}
        self.kept = [*others, Posture(called, told[0], joints)]
        self.show()
        self._session.notify(f"Kept the posture {called}")

    def forget(self, name: str) -> None:
        """Drop a posture that was kept for this chain."""
        told = self._chain()
        left = [one for one in self.kept if told is None or not (one.name == name.strip() and one.chain == told[0])]
        if len(left) == len(self.kept):
            raise PosableError(f"no posture {name.strip()[:80]!r} was kept for this chain")
        self.kept = left
        self.show()

    def _write(self, path: Path) -> None:
        document = {"format": FORMAT, "postures": [msgspec.to_builtins(one) for one in self.kept]}
        write_document(path, document, PostureFile)

    def _read(self, path: Path, name: str) -> None:
        self.kept = list(read_document(path, PostureFile, FORMAT, LARGEST).postures)
        self.show()
        self._session.notify(f"The library has {len(self.kept)} postures, {len(self.offered)} offered for this chain")


def _fits(posture: Posture, name: str, chain: Chain) -> bool:
    return posture.chain == name and set(posture.joints) == set(chain.names)
