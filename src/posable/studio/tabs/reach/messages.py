"""What the reach tab says about a reach, as lines of the panel."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ....compute import Status
from ....compute.types import Ints
from ...widgets.status_text import coloured
from ..limb.orbit import COLOURS

if TYPE_CHECKING:
    from ....reach import HandAnswer, ReachAnswer

WORDS = {
    Status.REACHED: "the hand is on the target",
    Status.LIMITS: "the arm's limits hold it back",
    Status.COLLISION: "something is in the way",
    Status.UNREACHABLE: "too far",
    Status.SINGULAR: "no single answer there",
    Status.INVALID: "that is no place",
}
LOWERED = {
    Status.COLLISION: "lowered: the body would touch something",
    Status.UNREACHABLE: "lowered: a leg could not hold its foot",
}
SHORT = {
    Status.REACHED: "reached",
    Status.LIMITS: "limits",
    Status.COLLISION: "collision",
    Status.UNREACHABLE: "too far",
    Status.SINGULAR: "none",
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
    """What the colours of the map say, and how much of it has each."""
    shares = [(which, float(np.mean(status == which))) for which in SHORT]
    told = [coloured(COLOURS[which], f"● {SHORT[which]} {_percent(share)}") for which, share in shares if share > 0]
    return " ".join(told)


def _hand(name: str, hand: HandAnswer) -> str:
    status = Status(int(hand.status))
    away = "" if status == Status.REACHED else f", {_length(float(hand.residual))} away"
    return f"{name}{coloured(COLOURS[status], f'**{status.name}**')} · {WORDS[status]}{away}"


def _weight(hand: HandAnswer, reason: Status, edited: bool) -> str:
    used, wanted = float(hand.weight), float(hand.wanted)
    if reason != Status.REACHED:
        return f"weight **{used:.2f}** of {wanted:.2f} · {coloured(COLOURS[Status.LIMITS], LOWERED[reason])}"
    if used > wanted + 5e-3:
        return f"weight **{used:.2f}** · raised from {wanted:.2f}: the arm alone is too short"
    return f"weight **{used:.2f}**" + (" · the key as it is" if edited else "")


def _percent(share: float) -> str:
    return "<1 %" if share < 0.005 else f"{100 * share:.0f} %"


def _length(metres: float) -> str:
    return f"{1000 * metres:.1f} mm" if metres < 0.01 else f"{1000 * metres:.0f} mm"
