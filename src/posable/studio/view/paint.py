"""A body in colours that its joints have at the moment, such as how readily each moves.

A painted body is a mesh for each colour that it can need: one for each joint, and some for the bends between two
joints, where the skin is carried by both and has a colour between theirs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...compute.types import Bools, Floats, Ints
from .theme import Rgb, rgb

if TYPE_CHECKING:
    from scipy.sparse import csr_array

STEPS = 4
"""Colours from one joint's to its neighbour's."""

SCALE: tuple[Rgb, ...] = ((44, 38, 92), (42, 92, 142), (48, 152, 146), (150, 200, 112), (252, 230, 150))
"""Colours of fractions from 0 to 1, evenly spaced."""


@dataclass(frozen=True, eq=False)
class Paint:
    """The colours of a body, by its joints."""

    carriers: Ints
    """(J,) the joint whose colour a joint has: itself, or one above. Stays the same while a body is painted."""
    colours: Floats
    """(J, 3) from 0 to 255; only those of carriers count."""

    @property
    def of_joints(self) -> NDArray[np.uint8]:
        """(J, 3): the colour that each joint has."""
        return np.clip(np.rint(self.colours[self.carriers]), 0, 255).astype(np.uint8)

    def mixed(self, blend: Ints) -> Rgb:
        """Return the colour of a group of `carried_groups`: (joint, joint, how many of `STEPS` towards the second)."""
        one, other, step = blend
        return rgb(self.colours[one] + step / STEPS * (self.colours[other] - self.colours[one]))

    @classmethod
    def of_fractions(cls, fractions: Floats, parents: Ints) -> Paint:
        """Return the paint of joints with fractions (J,) from 0 to 1 on `SCALE`; those that are NaN follow a parent."""
        at = np.linspace(0.0, 1.0, len(SCALE))
        colours = np.stack([np.interp(fractions, at, [stop[k] for stop in SCALE]) for k in range(3)], axis=-1)
        return cls(carriers(parents, np.isfinite(fractions)), colours)


def carriers(parents: Ints, known: Bools) -> Ints:
    """Return (J,): each known joint (J,) itself, others the nearest known above; else the first that is known."""
    found = np.arange(len(parents))
    first = int(np.argmax(known))
    for joint, parent in enumerate(parents):
        if not known[joint]:
            found[joint] = found[parent] if parent >= 0 else first
    return found


def scale_legend(low: str, high: str) -> str:
    """Return the colours of `SCALE` as HTML, with what its dark and its light end stand for."""
    stops = ", ".join(f"rgb{stop}" for stop in SCALE)
    return (
        '<div style="padding: 0 0.75em 0.5em; font-size: 0.75em; color: #444">'
        f'<div style="height: 0.8em; border-radius: 2px; background: linear-gradient(to right, {stops})"></div>'
        f'<div style="display: flex; justify-content: space-between"><span>dark: {low}</span>'
        f"<span>light: {high}</span></div></div>"
    )


def carried_groups(weights: csr_array, faces: Ints, carriers: Ints) -> list[tuple[Ints, Ints]]:
    """Group faces (T, 3) by the joints that carry them, given the joints' weights on each vertex (V, J).

    `carriers` (J,) has the joint that counts for each joint. Returns for each group (joint, joint, how many of `STEPS`
    towards the second), and its faces.
    """
    from scipy.sparse import csr_array

    if not len(faces):
        return []
    known = np.unique(carriers)
    gather = csr_array(
        (np.ones(len(carriers)), (np.arange(len(carriers)), np.searchsorted(known, carriers))),
        shape=(len(carriers), len(known)),
    )
    corners = (weights @ gather).toarray()[faces].mean(axis=1)  # (T, K)
    order = np.argsort(-corners, axis=1, kind="stable")[:, :2]
    if order.shape[1] < 2:
        order = np.repeat(order, 2, axis=1)
    most, next_most = (np.take_along_axis(corners, order[:, k : k + 1], axis=1)[:, 0] for k in (0, 1))
    away = np.rint(STEPS * next_most / np.maximum(most + next_most, 1e-9)).astype(np.int64)  # 0 to STEPS / 2
    away[order[:, 0] == order[:, 1]] = 0
    swapped = order[:, 0] > order[:, 1]
    first, second = (np.where(swapped, order[:, 1 - k], order[:, k]) for k in (0, 1))
    step = np.where(swapped, STEPS - away, away)
    alone = np.where(step == 0, first, second)
    single = (step == 0) | (step == STEPS)
    keys = np.stack(
        [known[np.where(single, alone, first)], known[np.where(single, alone, second)], np.where(single, 0, step)],
        axis=1,
    )
    blends, which = np.unique(keys, axis=0, return_inverse=True)
    return [(blend, faces[which.reshape(-1) == k]) for k, blend in enumerate(blends)]
