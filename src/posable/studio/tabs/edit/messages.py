"""What the edit tab says: what to do next, how a pull or an edit went, how far the fit is."""

from __future__ import annotations

import numpy as np

from ....edit import Edit, StretchEdit
from ...core.session import Session
from ...view.theme import plain
from ...widgets.controls import show
from ...widgets.status_text import status_text
from .changes import words
from .job import EditorJob
from .pull import Pull

FITTING = "Learning how this person moves: {share:.0f} %."
COMPILING = "Nearly ready. On a new machine code is compiled now, once, which takes a minute."


class EditTelling:
    """A line of the panel and a progress bar, here."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.text = session.gui.add_markdown("")
        self._progress = session.gui.add_progress_bar(0.0, visible=False, animated=True)

    def pull(self, pull: Pull) -> None:
        """How a drag under way goes."""
        self._say("" if pull.answer is None else pull_facts(pull))

    def edit(self, index: int, edit: Edit) -> None:
        """How the chosen edit went."""
        self._say(edit_facts(index, edit))

    def invite(self, frame: int, part: str) -> None:
        """That a part can be pulled now."""
        self._say(f"Frame {frame}: drag the handle at the {plain(words(part), 60)}.")

    def playing(self) -> None:
        """That nothing can be pulled while the motion plays."""
        self._say("Pause at a frame to pull.")

    def fitting(self, job: EditorJob) -> None:
        """How far the motion's editor is."""
        self._say(FITTING.format(share=100.0 * job.share) if job.share < 1.0 else COMPILING)
        show(self._progress, "visible", job.running)
        show(self._progress, "value", round(100.0 * job.share))

    def rest(self) -> None:
        """What to do first."""
        person = self._session.body is not None
        self._say("Choose a part to pull." if person else "Open a motion of a person first.")

    def _say(self, text: str) -> None:
        show(self._progress, "visible", False)
        show(self.text, "content", text)


def pull_facts(pull: Pull) -> str:
    """How a drag goes: its status, how far the part is from the handle, and from the handle's turn."""
    answer = pull.answer
    if answer is None:
        return ""
    told = f"{status_text(answer.status)}, {1000 * float(answer.residual):.1f} mm from the handle"
    return told if pull.turn is None else f"{told}, turned within {np.degrees(float(answer.turn_residual)):.1f}°"


def edit_facts(index: int, edit: Edit) -> str:
    """How an edit went: its status, how far the worst place stayed off, which frames it changed, contacts."""
    told = f"Edit {index + 1}: {status_text(np.max(np.asarray(edit.status)))}"
    if not isinstance(edit, StretchEdit):
        told += f", {1000 * float(np.max(edit.residual, initial=0.0)):.1f} mm off"
    if edit.settings.get("orientation") is not None:
        told += f", {np.degrees(float(getattr(edit, 'turn_residual', 0.0))):.1f}° off"
    if not len(edit.rows):
        return f"{told}  \nno frame changed"
    return f"{told}  \nframes {edit.rows[0]} to {edit.rows[-1]}, contacts moved {1000 * edit.slid:.1f} mm"
