"""Marks: what lies on the timeline besides the time. Edits, contacts, keys; a lane for each kind.

    session.marks.put("Edits", [Mark(40, 80, "left hand", at=(60,), name="3")], moved=move, chosen=choose)

Frames are those of the active motion. While a tab has the stage to itself, such as a robot, the motions' marks are not
shown: what they are about is not seen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from ...compute import PosableError

if TYPE_CHECKING:
    from ..view.theme import Rgb
    from .session import Session

Part = Literal["all", "first", "last"]
Moved = Callable[[str, Part, int, bool], None]
"""Called when a user has dragged a mark: with its name, what of it ("first" and "last" are its ends), by how many
frames, and whether Shift was held."""
Chosen = Callable[[str], None]
"""Called with the name of a mark that a user presses."""
MOST = 400
"""Marks of a lane that are shown at most: a page with more is slow."""


@dataclass(frozen=True)
class Mark:
    """A bar on the timeline.

    Attributes:
        first, last: frames from where to where it reaches; the same where it is a moment.
        label: what it says, where there is room, and in its tooltip.
        colour: of the bar.
        at: frames with a diamond, such as the key of an edit.
        name: by which `moved` and `chosen` know it; unique in its lane where either is given.
        muted: drawn faintly.
        chosen: drawn with an outline.
    """

    first: float
    last: float
    label: str = ""
    colour: Rgb = (46, 104, 128)
    at: tuple[float, ...] = ()
    name: str = ""
    muted: bool = False
    chosen: bool = False


@dataclass(frozen=True)
class _Lane:
    marks: tuple[Mark, ...]
    moved: Moved | None
    chosen: Chosen | None
    order: float


class Marks:
    """The lanes of the timeline, by name."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._lanes: dict[str, _Lane] = {}
        session.on_page("move", lambda _, value: self.move(*value))
        session.on_page("choose", lambda _, value: self.choose(*value))

    def put(
        self,
        lane: str,
        marks: Sequence[Mark],
        *,
        moved: Moved | None = None,
        chosen: Chosen | None = None,
        order: float = 0.0,
    ) -> None:
        """Show marks on a lane in place of those that it has; without any, the lane goes.

        Args:
            lane: its name, as the tooltips say it: "Edits".
            marks: to show.
            moved: makes the marks draggable; it is called once, when the user lets one go.
            chosen: called when a mark is pressed.
            order: lanes with less are above.
        """
        for mark in marks:
            if not (math.isfinite(mark.first) and math.isfinite(mark.last) and mark.first <= mark.last):
                raise PosableError(f"a mark reaches from a frame to a later one, got {mark.first} to {mark.last}")
        with self._session.lock:
            before = self._lanes.get(lane)
            new = _Lane(tuple(marks), moved, chosen, order) if marks else None
            if new is None:
                self._lanes.pop(lane, None)
            else:
                self._lanes[lane] = new
            if (before is None) != (new is None) or (before and new and _message(lane, before) != _message(lane, new)):
                self.show()

    def of(self, lane: str) -> tuple[Mark, ...]:
        """Return the marks of a lane; none where there is no such lane."""
        return self._lanes[lane].marks if lane in self._lanes else ()

    def move(self, lane: str, name: str, part: Part, frames: float, shift: bool = False) -> None:
        """Report that a user has dragged a mark, or one of its ends, by so many frames."""
        known = self._lanes.get(lane)
        if known is not None and known.moved is not None and part in ("all", "first", "last"):
            known.moved(name, part, round(frames), bool(shift))

    def choose(self, lane: str, name: str) -> None:
        """Report that a user has pressed a mark."""
        known = self._lanes.get(lane)
        if known is not None and known.chosen is not None:
            known.chosen(name)

    def show(self) -> None:
        """Tell the pages what is on the timeline: all lanes, or none while the motions are not on the stage."""
        seen = self._lanes.items() if self._session.stage.only is None else ()
        ordered = sorted(seen, key=lambda item: item[1].order)
        self._session.page.show("lanes", [_message(name, lane) for name, lane in ordered])


def _message(name: str, lane: _Lane) -> dict[str, Any]:
    """Return what the page is told of a lane."""
    movable = lane.moved is not None or lane.chosen is not None
    marks = [
        {
            "first": float(mark.first),
            "last": float(mark.last),
            "label": mark.label,
            "colour": f"#{bytes(mark.colour).hex()}",
            "key_colour": f"#{bytes(c // 2 for c in mark.colour).hex()}",
            "at": [float(frame) for frame in mark.at],
            "key": mark.name,
            "muted": mark.muted,
            "chosen": mark.chosen,
        }
        for mark in lane.marks[:MOST]
    ]
    return {"name": name, "moves": movable, "marks": marks}
