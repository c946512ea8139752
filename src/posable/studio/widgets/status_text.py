"""What the limb tab says about a placement, as lines of the panel."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...compute import Status
from ..tabs.limb.orbit import COLOURS, UNUSUAL
from ..view.theme import Rgb

if TYPE_CHECKING:
    from ...body.limb.results import Placement

WORDS = {
    Status.REACHED: "the part is where the handle is",
    Status.LIMITS: "the joints' limits hold it back",
    Status.COLLISION: "something is in the way",
    Status.UNREACHABLE: "out of reach",
    Status.SINGULAR: "no single answer there",
    Status.INVALID: "that is no place",
}
LEGEND = (
    (Status.REACHED, "free"),
    (Status.LIMITS, "limits"),
    (Status.COLLISION, "collision"),
    (Status.SINGULAR, "none"),
)
"""What the colours of the orbit say."""


def legend(unusual: bool) -> str:
    """The colours of the orbit; with `unusual`, also that of what people do not do."""
    words = [coloured(COLOURS[status], f"● {word}") for status, word in LEGEND]
    return "orbit: " + " ".join([*words, *([coloured(UNUSUAL, "● unusual")] if unusual else [])])


def facts(placed: Placement, moved_by_range: bool) -> str:
    """How a placement went; `moved_by_range` where a learned range had its target elsewhere."""
    status = Status(int(placed.status))
    why = "people do not reach there" if moved_by_range and status == Status.LIMITS else WORDS[status]
    turned = math.degrees(float(placed.orientation_error))
    tests = int(placed.tests)
    return (
        f"{coloured(COLOURS[status], f'**{status.name}**')} · {why}  \n"
        f"residual {1000 * float(placed.residual):.1f} mm, {turned:.1f}°  \n"
        f"swivel {math.degrees(float(placed.swivel)):.1f}° · {tests} test{'' if tests == 1 else 's'}"
    )


def habit(changed: Sequence[str], keeping: bool) -> str:
    """What a learned range says of a goal: what it changed, or would change."""
    if not changed:
        return coloured(COLOURS[Status.REACHED], "people do this")
    what = " and ".join(changed)
    return coloured(UNUSUAL, f"the range changed the {what}" if keeping else f"people do not do this: {what}")


def coloured(colour: Rgb, text: str) -> str:
    """Markdown in a colour."""
    return f'<span style="color: #{bytes(colour).hex()}">{text}</span>'
