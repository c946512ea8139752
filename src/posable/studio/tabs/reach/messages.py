"""What the reach tab says about a reach, as lines of the panel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....compute import Status
from ....compute.types import Ints
from ...widgets.status_text import COLOURS, coloured, distance_text, legend, status_text

if TYPE_CHECKING:
    from ....reach import HandAnswer, ReachAnswer

LOWERED = {
    Status.COLLISION: "lowered: the body would touch something",
    Status.UNREACHABLE: "lowered: a leg could not hold its foot",
}


def reach_facts(answer: ReachAnswer, edited: bool) -> str:
    """How a reach went; `edited` while all of a key's posture is shown."""
    lines = []
    for side, hand in (("right", answer.right), ("left", answer.left)):
        if hand is not None:
            name = f"{side} hand: " if answer.right is not None and answer.left is not None else ""
            lines.append(_hand(name, hand))
            lines.append(_weight(hand, Status(int(answer.reason)), edited))
    return "  \n".join(lines)


def map_legend(status: Ints) -> str:
    """Return what the colours of the map stand for, and how much of it has each."""
    return legend(statuses=status)


def _hand(name: str, hand: HandAnswer) -> str:
    status = Status(int(hand.status))
    away = "" if status == Status.REACHED else f", {distance_text(float(hand.residual))} away"
    return f"{name}{status_text(status)}{away}"


def _weight(hand: HandAnswer, reason: Status, edited: bool) -> str:
    used, wanted = float(hand.weight), float(hand.wanted)
    if reason != Status.REACHED:
        return f"weight **{used:.2f}** of {wanted:.2f} · {coloured(COLOURS[Status.LIMITS], LOWERED[reason])}"
    if used > wanted + 5e-3:
        return f"weight **{used:.2f}** · raised from {wanted:.2f}: the arm alone is too short"
    return f"weight **{used:.2f}**" + (" · the key as it is" if edited else "")
