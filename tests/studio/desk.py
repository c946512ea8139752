"""The two tabs that share the edits of a motion, with the bars of the timeline: as a user has them at hand."""

from posable.edit import MotionEditor
from posable.studio import Session, Studio
from posable.studio.core.marks import Mark
from posable.studio.tabs import MotionTab, PoseTab
from posable.studio.widgets.edit_bars import LANE, EditBars


class Desk:
    """Pose and Motion of a studio; `update` prepares a moment as the studio's loop does."""

    def __init__(self, studio: Studio) -> None:
        self.studio, self.session = studio, studio.session
        self.pose: PoseTab = next(tab for tab in studio.tabs if isinstance(tab, PoseTab))
        self.motion: MotionTab = next(tab for tab in studio.tabs if isinstance(tab, MotionTab))
        self.bars: EditBars = studio._edits

    def __getattr__(self, name: str):
        """What a tab has is found at the tab: `desk.list` is the list of the tab Motion, `desk.warp` of Pose."""
        of_motion = name in ("list", "view", "file", "files", "retargeting", "plot")
        return getattr(self.motion if of_motion else self.pose, name)

    @property
    def editor(self) -> MotionEditor | None:
        return self.session.edits.editor

    def show(self, title: str) -> None:
        """Bring a tab to the front, and draw."""
        self.session.show_tab(title)
        self.update(self.session.time)

    def update(self, time: float) -> None:
        with self.session.lock:
            self.studio._front.update(time)
            self.bars.update(time)
            if self.session.motion is not None:
                self.motion.list.draw(self.session.edits.entries, self.session.motion)

    @property
    def drawn(self) -> dict[str, Mark]:
        """The bars of edits on the timeline, by the place of their edits."""
        return {mark.name: mark for mark in self.session.marks.of(LANE)}

    def drag_bar(self, key: str, frames: float, shift: bool = False) -> None:
        """Drag the bar of an edit by its middle ("0:all") or an end ("0:first", "0:last"), as the page reports it."""
        name, _, part = key.partition(":")
        self.session.marks.move(LANE, name, part, frames, shift)
        self.update(self.session.time)

    def change(self, *arguments) -> None:
        self.session.edits.change(*arguments)

    def remove(self, index: int) -> None:
        self.session.edits.remove(index)


def bring(studio: Studio, tab: object) -> Session:
    """Bring a tab of a studio to the front."""
    studio.session.show_tab(tab.title)
    return studio.session
