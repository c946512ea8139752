"""The timeline of the edits: a bar for each over the frames that it changes, contacts below, and the current time.

A bar is moved by its middle, and each end of it by itself, with Shift both at once, as strips are in other editors. The
page draws a dragged bar by itself, so that the drawing stays the same one while the pointer is on it; the edit is
changed when the bar is dropped.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ....edit import Contact, Edit, MotionEditor, WarpEdit
from ....skeleton import Motion
from ...view.theme import plain, words
from ...widgets.pointer import Pointed, PointerField, handlers, hidden
from ...widgets.time_plot import CURSOR_RATE
from .edit_list import name_of, range_of
from .options import NARROWEST, WIDEST

if TYPE_CHECKING:
    from .tab import EditTab

WIDTH, ROW, THIN = 300.0, 13.0, 5.0
"""Of the drawing, of an edit's bar and of a contact's [pixels of the panel]."""
CONTACT, RAIL, MARKED, INK, DULL = "#168c34", "#e3e7ea", "#7a3fb0", "#222831", "#98a2aa"
BARS = ("#e7b48f", "#9fc3d4", "#bfd397", "#d2aecb", "#e0cc92", "#b3bbe0")
"""Light enough that a dark name can be read on them."""
MAX_BARS = 12
"""Bars that are drawn, the last ones."""
MARK = "bars:"
# A bar follows the pointer: shifted by its middle, longer or shorter by its ends, which never pass a target.
_FOLLOW = (
    "const b=s.querySelector('[data-bar=\\''+g.key.split(':')[0]+'\\']');"
    "if(b){const r=b.querySelector('rect.edit'),d=phase==='up'?0:p.x-g.x,v=b.dataset,k=g.key.slice(-1);"
    "if(k==='m')b.setAttribute('transform','translate('+d+' 0)');"
    "else{const both=v.both==='1'||e.shiftKey,o=k==='a'?-d:d;"
    f"const x=both||k==='a'?Math.max(0,Math.min(v.x-o,v.low)):+v.x;"
    f"const z=both||k==='b'?Math.min({WIDTH},Math.max(+v.end+o,v.high)):+v.end;"
    "r.setAttribute('x',x);r.setAttribute('width',Math.max(z-x,2));}}"
)
_END = "<title>Drag this end; with Shift both ends</title>"
_BOTH = "<title>Drag both ends</title>"


class EditBars:
    """The drawing in the panel; a click on a bar chooses its edit, a drag changes it."""

    def __init__(self, tab: EditTab) -> None:
        self._tab, self._session = tab, tab.session
        self._edits: tuple[Edit, ...] = ()
        self._motion: Motion | None = None
        self._field = PointerField(tab.session, MARK, self._pointed)
        self._html = tab.session.gui.add_html(hidden(MARK))
        self._shown: tuple[str, float] = ("", -1.0)

    def draw(self, editor: MotionEditor, motion: Motion, time: float) -> None:
        """Draw edits and contacts of a motion, the frames of marks, and the cursor at a time [s]."""
        self._edits, self._motion = tuple(editor.edits), motion
        marks = [mark.frame for mark in self._tab.warp.marks]
        bars, high = _bars(editor.edits, self._tab.list.index, editor.contacts, marks, motion)
        before, at = self._shown
        soon = self._session.clock.playing and abs(time - at) < 1.0 / CURSOR_RATE
        if bars == before and (time == at or soon):
            return
        self._shown = (bars, time)
        x = WIDTH * min(time / max(motion.duration, 1e-6), 1.0)
        now = f'<line class="now" x1="{x:.1f}" x2="{x:.1f}" y1="0" y2="{high}" stroke="{INK}" pointer-events="none"/>'
        self._html.content = hidden(MARK) + (
            f'<svg class="edits" role="img" aria-label="edits over time" viewBox="-2 -2 {WIDTH + 4} {high + 4}" '
            f'font-size="9" style="width: calc(100% - 20px); margin: 4px 10px; display: block; touch-action: none; '
            f'user-select: none" '
            f"{handlers(MARK, _FOLLOW)}>{bars}{now}</svg>"
        )

    def hide(self) -> None:
        """Draw nothing."""
        if self._html.content != hidden(MARK):
            self._html.content, self._shown = hidden(MARK), ("", -1.0)
        self._edits, self._motion = (), None

    def _pointed(self, pointed: Pointed) -> None:
        """Choose the edit of a pressed bar; change it when a dragged bar is dropped."""
        with self._session.lock:
            which, _, grip = (pointed.key or "").partition(":")
            motion = self._motion
            if not pointed.ended or motion is None or not which.isdecimal() or int(which) >= len(self._edits):
                return
            index, pixels = int(which), pointed.now[0] - pointed.start[0]
            change = moved_bar(
                self._edits[index], grip, pixels * max(len(motion) - 1, 1) / WIDTH, motion, pointed.shift
            )
            self._tab.list.choose(index)
            if abs(pixels) >= 2.0:
                self._tab.change(index, *change)


def moved_bar(
    edit: Edit, grip: str, step: float, motion: Motion, both: bool = False
) -> tuple[int, float, None, tuple[int, int] | None]:
    """Return the arguments for `EditTab.change` of a dragged bar: frame, half-width [s], ease, range.

    Args:
        edit: as it is.
        grip: where its bar was gripped: "m" in the middle, "a" at its beginning, "b" at its end.
        step: how far it was dragged [frames].
        motion: of which it is an edit.
        both: whether the other end moves the opposite way; a warp's always does.
    """
    frame, spread, frames = min(edit.target_frames), float(edit.settings["spread"]), edit.settings.get("frames")
    end = len(motion) - 1
    if grip == "m":
        if frames is None:
            return int(np.clip(round(frame + step), 0, end)), spread, None, None
        rows = int(np.clip(round(step), -int(frames[0]), end - int(frames[1])))  # all of it stays in the motion
        return frame + rows, spread, None, (int(frames[0]) + rows, int(frames[1]) + rows)
    wider = -step if grip == "a" else step
    if isinstance(edit, WarpEdit) or (both and frames is None):
        return frame, float(np.clip(spread + wider / motion.fps, NARROWEST, WIDEST)), None, None
    first, last = range_of(edit, motion)
    if both or grip == "a":
        first = int(np.clip(round(first - wider), 0, frame))
    if both or grip == "b":
        last = int(np.clip(round(last + wider), frame, end))
    return frame, spread, None, (first, last)


def _bars(
    edits: Sequence[Edit], chosen: int | None, contacts: Sequence[Contact], marks: Sequence[int], motion: Motion
) -> tuple[str, float]:
    """Return the bars as SVG, and their height together."""
    scale, parts, y = WIDTH / max(len(motion) - 1, 1), [], 0.0
    first = max(len(edits) - MAX_BARS, 0)
    first = first if chosen is None else min(first, chosen)
    for k in range(len(edits))[first : first + MAX_BARS]:
        parts.append(_bar(k, edits[k], y, scale, k == chosen, motion))
        y += ROW
    if len(edits) > MAX_BARS:
        more = f"edits {first + 1} to {first + MAX_BARS} of {len(edits)}; choose another one below"
        parts.append(f'<text class="more" x="7" y="{y + ROW - 4.5}" fill="{INK}">{more}</text>')
        y += ROW
    if marks:
        parts.append(f'<rect x="0" y="{y}" width="{WIDTH}" height="{ROW - 2}" fill="{RAIL}" rx="2"/>')
        for frame in marks:
            x, middle = scale * frame, y + (ROW - 2) / 2
            parts.append(
                f'<path class="mark" d="M{x:.1f} {middle - 4.5}l4.5 4.5l-4.5 4.5l-4.5 -4.5z" fill="{MARKED}"/>'
            )
        parts.append(f'<text x="7" y="{y + ROW - 4.5}" fill="{INK}" pointer-events="none">marks to warp through</text>')
        y += ROW
    for part, on in sorted({(contact.part, contact.on) for contact in contacts}):
        parts.append(f'<rect x="0" y="{y + 1}" width="{WIDTH}" height="{THIN - 2}" fill="{RAIL}"/>')
        for contact in contacts:
            if (contact.part, contact.on) == (part, on):
                x, wide = scale * contact.first, max(scale * (contact.last - contact.first), 1.0)
                parts.append(
                    f'<rect class="contact" x="{x:.1f}" y="{y + 1}" width="{wide:.1f}" height="{THIN - 2}" '
                    f'fill="{CONTACT}"><title>{plain(words(f"{part} on {on}"), 60)}</title></rect>'
                )
        y += THIN
    return "".join(parts), max(y, 4.0)


def _bar(k: int, edit: Edit, y: float, scale: float, chosen: bool, motion: Motion) -> str:
    """Return the bar of one edit: over the frames that it changes, with a notch at each target, and its name.

    An edit that changes nothing is an outline.
    """
    begin, end = (scale * frame for frame in range_of(edit, motion))
    targets = [scale * frame for frame in edit.target_frames]
    x, wide, shape = begin, max(end - begin, 2.0), f'y="{y}" height="{ROW - 2}"'
    edge = f' stroke="{INK}" stroke-width="1.2"' if chosen else "" if len(edit.rows) else f' stroke="{DULL}"'
    fill = f'fill="{BARS[k % len(BARS)]}"' + ("" if len(edit.rows) else ' fill-opacity="0.25" stroke-dasharray="2 2"')
    notches = "".join(
        f'<rect x="{at - 0.7:.1f}" {shape} width="1.4" fill="#ffffff" fill-opacity="0.8"/>' for at in targets
    )
    both = isinstance(edit, WarpEdit)
    ends = "".join(
        f'<rect data-key="{k}:{grip}" x="{at:.1f}" {shape} width="6" fill-opacity="0" style="cursor: ew-resize">'
        f"{_BOTH if both else _END}</rect>"
        for grip, at in (("a", x - 2), ("b", x + wide - 4))
    )
    name = plain(f"{k + 1} {name_of(edit)}", 60)
    return (
        f'<rect x="0" y="{y}" width="{WIDTH}" height="{ROW - 2}" fill="{RAIL}" rx="2"/>'
        f'<g data-bar="{k}" data-both="{int(both)}" data-x="{x:.1f}" data-end="{x + wide:.1f}" '
        f'data-low="{min(targets):.1f}" data-high="{max(targets):.1f}">'
        f'<rect class="edit" data-key="{k}:m" x="{x:.1f}" {shape} width="{wide:.1f}" rx="2" '
        f'{fill}{edge} style="cursor: grab"/><g pointer-events="none">{notches}</g>{ends}</g>'
        f'<text x="7" y="{y + ROW - 4.5}" fill="{INK}" pointer-events="none">{name}</text>'
    )
