"""The behaviour that is edited as a whole: how it blends, its files, the examples to start from."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ....reach import Behaviour, Weight
from ....reach.behaviour_file import MAX_BYTES
from ....reach.posture import WEIGHTS
from ...core.session import Session
from ...widgets.controls import Follower, assign
from ...widgets.file_panel import FilePanel
from .keys import ReachKeys

EXAMPLES = ("normal", "tired", "energetic")
PICK = "choose…"
ON_PLANE, IN_SPACE = ("linear", "smooth"), ("around",)
"""Blends of keys on the swing plane and of keys in space: keys cannot go from one to the other."""
NEAR = 0.006
"""Values of k this close look the same on the slider."""
LONGEST_NAME = 60


class BehaviourFolder(FilePanel):
    """Save the behaviour that is edited; have one of a file or an example in its place.

    Args:
        session: whose panel.
        keys: tells what is edited.
    """

    def __init__(self, session: Session, keys: Callable[[], ReachKeys]) -> None:
        super().__init__(session, "behaviour", "behaviour.json", write=self._write, read=self._read, largest=MAX_BYTES)
        self._keys = keys
        gui = session.gui
        self._example = gui.add_dropdown(
            "Example", (PICK, *EXAMPLES), hint="Start from a behaviour that comes with Posable, for both arms"
        )
        self._example.on_update(session.guarded(lambda _: self.start_from(str(self._example.value))))

    def add_folder(self) -> None:
        """The folders with what is true of the whole behaviour and with its files, here in the panel."""
        session, gui = self._session, self._session.gui
        with gui.add_folder("The whole behaviour", expand_by_default=False):
            self._name = Follower(session, gui.add_text("Called", ""), self._named)
            hint = "Linear: each place between three keys; smooth: all keys, without creases; around: keys in space"
            self._blend = Follower(session, gui.add_dropdown("Blend", ON_PLANE, hint=hint), self._blended)
            hint = "How much of it a target takes by its distance"
            kinds = gui.add_dropdown("By distance", tuple(WEIGHTS), hint=hint)
            self._weighting = Follower(
                session, kinds, lambda kind: self._weighted(str(kind), self._keys().behaviour.weight.k)
            )
            hint = "All of it is taken at a distance of 1 / √k arm lengths"
            k = gui.add_slider("k", min=0.05, max=1.0, step=0.01, initial_value=0.8, hint=hint)
            self._k = Follower(session, k, lambda k: self._weighted(self._keys().behaviour.weight.kind, float(k)))
        with gui.add_folder("Behaviour to a file", expand_by_default=False):
            self.add_controls(hint="A JSON file that people can read")

    def show(self) -> None:
        """Have the controls as the behaviour is."""
        now = self._keys().behaviour
        self._name.show(now.name)
        blends = IN_SPACE if now.interpolation in IN_SPACE else ON_PLANE
        if self._blend.control.options != blends:
            self._blend.control.options = blends
            self._blend.put(now.interpolation)
        self._blend.show(now.interpolation)
        self._weighting.show(now.weight.kind)
        self._k.show(min(max(now.weight.k, 0.05), 1.0), near=NEAR)

    def _named(self, name: str) -> None:
        if name[:LONGEST_NAME] != self._keys().behaviour.name:
            self._keys().restyle(name=name[:LONGEST_NAME])

    def _blended(self, interpolation: str) -> None:
        if interpolation != self._keys().behaviour.interpolation:
            self._keys().restyle(interpolation=interpolation)

    def _weighted(self, kind: str, k: float) -> None:
        now = self._keys().behaviour.weight
        weight = Weight(kind, now.k if abs(k - now.k) < NEAR else k)  # k to the last bit, if it was not changed
        if weight != now:
            self._keys().restyle(weight=weight)

    def start_from(self, name: str) -> None:
        """Begin with an example, for both arms."""
        if name != PICK:
            assign(self._example, PICK)
            self._keys().start_from(name)
            self._session.notify(f"Both arms now reach as in the example {name}")

    def _write(self, path: Path) -> None:
        self._keys().behaviour.save(path)

    def _read(self, path: Path, name: str) -> None:
        self._take(Behaviour.load(path), Path(name).stem)

    def _take(self, behaviour: Behaviour, name: str) -> None:
        self._keys().take(behaviour, name)
        self._session.notify(f"The {behaviour.limb.replace('_', ' ')} now reaches as in {name}")
