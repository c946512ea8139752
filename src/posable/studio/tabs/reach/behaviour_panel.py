"""The behaviour that is edited as a whole: its name and interpolation, its files, the examples to start from."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ....reach import Behaviour, Weight
from ....reach.behaviour_file import MAX_BYTES
from ....reach.posture import WEIGHTS
from ...widgets.controls import Follower, assign
from ...widgets.file_panel import FilePanel
from .keys import ReachKeys

if TYPE_CHECKING:
    from .tab import ReachTab

EXAMPLES = ("normal", "tired", "energetic")
PICK = "choose…"
ON_PLANE, IN_SPACE = ("linear", "smooth"), ("around",)
"""Interpolations of keys on the swing plane and of keys in space: keys cannot go from one to the other."""
NEAR = 0.006
"""Values of k this close look the same on the slider."""
LONGEST_NAME = 60


class BehaviourPanel(FilePanel):
    """Controls and files of the behaviour that is edited."""

    def __init__(self, tab: ReachTab) -> None:
        session = tab.session
        super().__init__(session, "behaviour", "behaviour.json", write=self._write, read=self._read, largest=MAX_BYTES)
        self._tab = tab
        hint = "Start from a behaviour that comes with Posable, for both arms"
        self._examples = session.gui.add_dropdown("Example", (PICK, *EXAMPLES), hint=hint)
        self._examples.on_update(session.guarded(lambda _: self.start_from(str(self._examples.value))))

    def add_folders(self) -> None:
        """Add the folders with the properties of the whole behaviour and with its files, here in the panel."""
        session, gui = self._session, self._session.gui
        with gui.add_folder("The whole behaviour", expand_by_default=False):
            self._name = Follower(session, gui.add_text("Name of the behaviour", ""), self._rename)
            hint = "Linear: between three keys each; smooth: between all keys, without creases; around: keys in space"
            kinds = gui.add_dropdown("Interpolation", ON_PLANE, hint=hint)
            self._interpolation = Follower(session, kinds, self._interpolate)
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
        kinds = IN_SPACE if now.interpolation in IN_SPACE else ON_PLANE
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
    def _keys(self) -> ReachKeys:
        return self._tab.keys

    @property
    def _now(self) -> Behaviour:
        return self._keys.behaviour

    def _rename(self, name: str) -> None:
        if name[:LONGEST_NAME] != self._now.name:
            self._keys.restyle(name=name[:LONGEST_NAME])

    def _interpolate(self, kind: str) -> None:
        if kind != self._now.interpolation:
            self._keys.restyle(interpolation=kind)

    def _weigh(self, kind: str, k: float) -> None:
        now = self._now.weight
        weight = Weight(kind, now.k if abs(k - now.k) < NEAR else k)  # k to the last bit, if it was not changed
        if weight != now:
            self._keys.restyle(weight=weight)

    def _write(self, path: Path) -> None:
        self._now.save(path)

    def _read(self, path: Path, name: str) -> None:
        behaviour, stem = Behaviour.load(path), Path(name).stem
        self._keys.take(behaviour, stem)
        self._session.notify(f"The {behaviour.limb.replace('_', ' ')} now reaches as in {stem}")
