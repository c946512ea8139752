"""Pointer events on a drawing in the panel.

Drawings are SVG. viser reports no clicks on them, so a drawing writes what the pointer does into a text field next to
it, which is hidden and found by its value: that always begins with the drawing's own mark. Each message is
complete in itself, because a browser may leave some out.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..core.session import Session


@dataclass(frozen=True)
class Pointed:
    """A pointer event on a drawing, from when it was pressed on; positions (x, y) in the drawing's own units."""

    id: int
    """The same as long as it stays pressed."""
    stamp: int
    """Greater with each message."""
    ended: bool
    key: str | None
    """`data-key` of what it was pressed on."""
    start: tuple[float, float]
    now: tuple[float, float]
    shift: bool = False
    """Whether the Shift key is held."""


def handlers(mark: str, moved: str = "") -> str:
    """Return the attributes of an `<svg>` that reports what the pointer does.

    Args:
        mark: of the drawing: letters and a colon.
        moved: JavaScript that is run at each message, for a drawing that follows the pointer by itself: `s` is the
            drawing, `e` the event, `p` has the pointer's `x` and `y`, `g` has `key`, `x` and `y` where it was pressed,
            `phase` is "down", "move" or "up". No quotes but '.
    """
    send = (
        "(function(e,s,phase){const p=new DOMPoint(e.clientX,e.clientY).matrixTransform(s.getScreenCTM().inverse());"
        "const n=v=>v.toFixed(2);"
        "if(phase==='down')window.posablePointer="
        "{id:Math.floor(Math.random()*1e9),key:e.target.dataset.key||'-',x:p.x,y:p.y};"
        f"const g=window.posablePointer;if(!g)return;{moved}"
        f"const i=document.querySelector('input[value^=\\'{mark}\\']');if(!i)return;"
        "const words=[g.id,Math.round(performance.now()*10),phase,g.key,n(g.x),n(g.y),n(p.x),n(p.y),"
        "e.shiftKey?'shift':'-'];"
        "Object.getOwnPropertyDescriptor(HTMLInputElement.prototype,'value').set.call"
        f"(i,'{mark}'+words.join(' '));i.dispatchEvent(new Event('input',{{bubbles:true}}));"
        "if(phase==='up')window.posablePointer=null;})"
    )
    return (
        f"onpointerdown=\"this.setPointerCapture(event.pointerId);{send}(event,this,'down')\" "
        f"onpointermove=\"if(event.buttons){send}(event,this,'move')\" "
        f"onpointerup=\"{send}(event,this,'up')\""
    )


def hidden(mark: str) -> str:
    """Return a style that hides the text field of a drawing; put before the drawing."""
    return f'<style>.mantine-Flex-root:has(> * input[value^="{mark}"]){{display:none}}</style>'


def read_pointed(mark: str, text: str) -> Pointed | None:
    """Parse what a drawing wrote; None for anything else."""
    words = text.removeprefix(mark).split()
    if not text.startswith(mark) or len(words) != 9:
        return None
    try:
        id, stamp, (x0, y0, x, y) = int(words[0]), int(words[1]), (float(word) for word in words[4:8])
        key = None if words[3] == "-" else words[3]
        found = Pointed(id, stamp, words[2] == "up", key, (x0, y0), (x, y), words[8] == "shift")
    except ValueError:
        return None
    return found if all(map(math.isfinite, (x0, y0, x, y))) else None


class PointerField:
    """The hidden text field of a drawing, here in the panel; `act` is called with each message once, in order."""

    def __init__(self, session: Session, mark: str, act: Callable[[Pointed], None]) -> None:
        self._mark, self._act, self._last = mark, act, (-1, -1)
        self._text = session.gui.add_text(mark.rstrip(":"), mark)
        self._text.on_update(session.guarded(self._received))

    def _received(self, event: Any) -> None:
        pointed = read_pointed(self._mark, str(event.target.value))
        # Messages are handled on several threads and may overtake each other.
        if pointed is None or (pointed.id == self._last[0] and pointed.stamp <= self._last[1]):
            return
        self._last = (pointed.id, pointed.stamp)
        self._act(pointed)
