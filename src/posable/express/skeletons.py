"""The seven skeletons of the paper's evaluation (Ribeiro 2019, Table 5)."""

from __future__ import annotations

import math

from .chain import Chain

AXES = {
    **{"A": "YXY", "B": "YXZY", "C": "YXXZY", "D": "YXZXY", "E": "YXZXY", "F": "YXXZXY", "G": "YXZXYXZY"},
}
FULL_ROTATION = ("B", "D")
"""Their joints rotate by up to pi either side; the others' by pi / 2."""
LENGTHS = {"C": [0.1, 0.3, 0.3, 0.2, 0.2]}
"""[m]. Of C, as the Denavit-Hartenberg table of the paper says (specification express, 7.15); 0.1 elsewhere: lengths
do not change the score."""


def _chain(name: str) -> Chain:
    reach = math.pi if name in FULL_ROTATION else math.pi / 2
    return Chain.from_axes(AXES[name], LENGTHS.get(name), (-reach, reach))


SKELETONS = {name: _chain(name) for name in AXES}
"""The chains A to G."""
