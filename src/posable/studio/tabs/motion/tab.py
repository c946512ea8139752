"""Motion: the edits of a motion, the same motion on another character, and joints over time."""

from __future__ import annotations

import numpy as np

from ...core.actor import Actor
from ...core.session import Session
from ...view.rings import Rings
from ...view.theme import plain
from ...widgets.controls import show
from ...widgets.edit_bars import result_of
from ...widgets.file_panel import motion_panel
from .edit_list import EditFile, EditList
from .plot import JointPlot
from .retargeting import RetargetPanel
from .view import EditView

NO_EDITS = "This motion has no edits. Drag a part in the tab Pose, and it is one; its bar is on the timeline."


class MotionTab:
    """The edits of a motion, and its ways to other characters and into plots."""

    title = "Motion"

    def build(self, session: Session) -> None:
        """Add the edits, the view of them, retargeting, plots and files."""
        self.session = session
        gui = session.gui
        with gui.add_folder("Edits"):
            self.report = gui.add_markdown("")
            self.list = EditList(session)
            self.view = EditView(session)
        with gui.add_folder("Put it on another character"):
            self.retargeting = RetargetPanel(session)
        with gui.add_folder("Joints over time", expand_by_default=False):
            self.plot = JointPlot(session)
        self.file = EditFile(session)
        self.files = motion_panel(session, "edited", session.require_motion)
        self._rings = Rings(session, "motion")

    def update(self, time: float) -> None:
        """Show the edits, the view of them and the plot's cursor."""
        session = self.session
        with session.lock:
            actor, body, editor = session.active, session.body, session.edits.editor
            self.plot.update(time)
            self.retargeting.update()
            if actor is None or body is None:
                self.view.hide()
                self._rings.hide()
                show(self.report, "content", _nobody(actor))
                return
            session.edits.request(fit=bool(self.view.weights.value))
            self.list.draw(session.edits.entries, actor.motion)
            failure = session.edits.failure
            show(self.report, "content", self._text() if failure is None else plain(failure))
            if editor is None:
                return
            session.override_pose(editor.original.at(time) if self.view.original else None, self)
            frame = int(np.clip(round(time * actor.motion.fps), 0, len(actor.motion) - 1))
            self.view.draw(actor, body, editor, time, frame, fitted=session.edits.fitted)
            now = [one for one in editor.contacts if one.first <= frame <= one.last]
            self._rings.draw(body, actor.frames(time), (), now if self.view.contacts.value else ())

    def leave(self) -> None:
        """Show the motion as it is."""
        with self.session.lock:
            self.session.override_pose(None, self)
            self.view.hide()
            self._rings.hide()

    def close(self) -> None:
        """Take everything away."""
        self.plot.close()
        self.file.close()
        self.retargeting.close()
        with self.session.lock:
            self.leave()
            self.view.remove()
            self._rings.remove()

    def _text(self) -> str:
        entries, index = self.session.edits.entries, self.session.edits.chosen
        if not entries:
            return NO_EDITS
        if index is None:
            return (
                f"{len(entries)} edit{'' if len(entries) == 1 else 's'}; choose one, or click its bar on the timeline."
            )
        return f"Edit {index + 1}: {result_of(entries[index])}"


def _nobody(actor: Actor | None) -> str:
    """Return what is said where the active motion is no person's."""
    if actor is None:
        return "Open a motion to begin."
    if actor.robot is not None:
        return "A robot. Edit the motion of a person, and put it on the robot again."
    return "Nothing here is a person."
