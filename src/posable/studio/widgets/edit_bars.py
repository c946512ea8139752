"""The edits of the active motion on the timeline: a bar for each, with a diamond at each of its targets.

A bar is moved by its middle, and each end of it by itself, with Shift both at once, as strips are in other editors. The
edit is changed when the bar is dropped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...edit import Edit, KeyEdit, StretchEdit, WarpEdit
from ...skeleton import Motion
from ..core.marks import Mark, Part
from ..view.theme import Rgb, words
from .status_text import distance_text, status_text

if TYPE_CHECKING:
    from ..core.session import Session

NARROWEST, WIDEST = 0.05, 3.0
"""Half-widths of an edit [s]."""
LANE, TARGETS = "Edits", "Marks to warp through"
"""Lanes of the timeline."""
BARS: tuple[Rgb, ...] = (
    *((184, 100, 48), (46, 104, 128), (98, 128, 50)),
    *((138, 79, 125), (150, 116, 34), (76, 90, 156)),
)
"""Dark enough that a white name can be read on them."""
TARGET: Rgb = (122, 63, 176)
MAX_BARS = 12
"""Bars that are shown, the last ones."""


class EditBars:
    """The bars; a click on one chooses its edit, a drag changes it."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def update(self, _time: float) -> None:
        """Show the edits of the active motion and the frames of marks."""
        session = self._session
        motion, edits = session.motion, session.edits
        entries = () if motion is None or edits.editor is None else edits.editor.edits
        first = max(len(entries) - MAX_BARS, 0)
        first = first if edits.chosen is None else min(first, edits.chosen)
        bars = [
            bar_of(k, entries[k], motion, chosen=k == edits.chosen)
            for k in range(len(entries))[first : first + MAX_BARS]
            if motion is not None
        ]
        session.marks.put(LANE, bars, moved=self._moved, chosen=self._chosen, order=-2.0)
        targets = [Mark(frame, frame, "mark", TARGET, at=(frame,)) for frame in edits.marks] if motion else []
        session.marks.put(TARGETS, targets, order=-1.0)

    def _chosen(self, name: str) -> None:
        if (index := self._index(name)) is not None:
            self._session.edits.choose(index)

    def _moved(self, name: str, part: Part, frames: int, shift: bool) -> None:
        """Change the edit of a bar that was dropped."""
        index, motion, editor = self._index(name), self._session.motion, self._session.edits.editor
        if index is not None and motion is not None and editor is not None and frames:
            self._session.edits.choose(index)
            self._session.edits.change(index, *moved_bar(editor.edits[index], part, frames, motion, shift))

    def _index(self, name: str) -> int | None:
        """Return the place of the edit that a bar was made for; None where there is none any more."""
        editor = self._session.edits.editor
        known = name.isdecimal() and editor is not None and int(name) < len(editor.edits)
        return int(name) if known else None


def bar_of(k: int, edit: Edit, motion: Motion, *, chosen: bool) -> Mark:
    """Return the bar of edit k: over the frames that it changes; faint where it changes nothing or is muted."""
    first, last = range_of(edit, motion)
    label = f"{k + 1} {name_of(edit)}{', muted' if edit.muted else ''}"
    at = tuple(map(float, edit.target_frames))
    faint = edit.muted or not len(edit.rows)
    return Mark(first, last, label, BARS[k % len(BARS)], at, name=str(k), muted=faint, chosen=chosen)


def range_of(edit: Edit, motion: Motion) -> tuple[int, int]:
    """Return first and last frame of an edit: those that it changes, or would where it changes nothing."""
    if len(edit.rows):
        return int(edit.rows[0]), int(edit.rows[-1])
    if edit.settings.get("frames") is not None:
        first, last = edit.settings["frames"]
        return int(first), int(last)
    at, around = edit.target_frames, max(int(np.ceil(edit.settings["spread"] * motion.fps)) - 1, 0)
    return max(min(at) - around, 0), min(max(at) + around, len(motion) - 1)


def name_of(edit: Edit) -> str:
    """Describe an edit in few words."""
    if isinstance(edit, WarpEdit):
        return f"warp {', '.join(sorted({words(part) for _, part, _ in edit.settings['constraints']}))}"
    if isinstance(edit, StretchEdit):
        return "stretch " + ", ".join(f"{words(part)} ×{factor:g}" for part, factor in edit.settings["bones"].items())
    if isinstance(edit, KeyEdit):
        return "pose" if edit.settings["part"] is None else f"{words(edit.settings['part'])} key"
    return ("rotate " if edit.settings["orientation"] is not None else "") + words(edit.settings["part"])


def result_of(edit: Edit) -> str:
    """Describe the result of an edit: how it went, frames that it changed, motion of contacts."""
    if edit.muted:
        return "muted"
    text = status_text(int(np.max(np.asarray(edit.status))))
    away = 0.0 if isinstance(edit, StretchEdit) else float(np.max(edit.position_error, initial=0.0))
    text += f", {distance_text(away)} off" if away > 1e-3 else ""
    if edit.settings.get("orientation") is not None and (degrees := np.degrees(float(edit.orientation_error))) > 0.3:
        text += f", {degrees:.1f}° off"
    if not len(edit.rows):
        return f"{text}  \nno frame changed"
    moved = f", contacts moved {distance_text(float(edit.slid))}" if edit.slid > 1e-3 else ""
    changed = f"frames {edit.rows[0]} to {edit.rows[-1]}" if len(edit.rows) > 1 else f"frame {edit.rows[0]}"
    return f"{text}  \n{changed}{moved}"


def moved_bar(
    edit: Edit, grip: Part, step: float, motion: Motion, both: bool = False
) -> tuple[int, float, None, tuple[int, int] | None]:
    """Return the arguments for `Edits.change` of a dragged bar: frame, half-width [s], ease, range.

    Args:
        edit: as it is.
        grip: where its bar was gripped: in the middle ("all"), or at an end.
        step: how far it was dragged [frames].
        motion: of which it is an edit.
        both: whether the other end moves the opposite way; a warp's always does.
    """
    frame, spread, frames = min(edit.target_frames), float(edit.settings["spread"]), edit.settings.get("frames")
    end = len(motion) - 1
    if grip == "all":
        if frames is None:
            return int(np.clip(round(frame + step), 0, end)), spread, None, None
        rows = int(np.clip(round(step), -int(frames[0]), end - int(frames[1])))  # all of it stays in the motion
        return frame + rows, spread, None, (int(frames[0]) + rows, int(frames[1]) + rows)
    wider = -step if grip == "first" else step
    if isinstance(edit, WarpEdit) or (both and frames is None):
        return frame, float(np.clip(spread + wider / motion.fps, NARROWEST, WIDEST)), None, None
    first, last = range_of(edit, motion)
    if both or grip == "first":
        first = int(np.clip(round(first - wider), 0, frame))
    if both or grip == "last":
        last = int(np.clip(round(last + wider), frame, end))
    return frame, spread, None, (first, last)
