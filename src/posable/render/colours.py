"""The colours of bodies, the same in pictures that play and in the studio."""

from __future__ import annotations

from typing import TypeAlias

Rgb: TypeAlias = tuple[int, int, int]

PALETTE: tuple[tuple[Rgb, Rgb, Rgb], ...] = (
    ((128, 160, 188), (214, 112, 62), (88, 120, 150)),  # sky and ember
    ((198, 150, 112), (58, 78, 98), (150, 106, 76)),  # clay and slate
    ((160, 176, 122), (66, 84, 54), (118, 136, 84)),  # sage and moss
    ((190, 142, 172), (88, 56, 84), (146, 100, 130)),  # rose and plum
)
"""Main colour, accent and darker shade of the first body, the second, and so on, around again."""
