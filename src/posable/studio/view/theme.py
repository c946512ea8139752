"""Colours and names of the page: calm and readable, light or dark."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...compute.types import ArrayLike, Floats
from ...render.colours import PALETTE

Rgb: TypeAlias = tuple[int, int, int]

TITLE = "Posable studio"
ICON = (
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32' fill='none' stroke='%232e6880' "
    "stroke-width='3' stroke-linecap='round' stroke-linejoin='round'%3E%3Ccircle cx='16' cy='6' r='3.5' "
    "fill='%23c8743c' stroke='none'/%3E%3Cpath d='M16 12v8l-5 9M16 20l6 4-1 6M6 17l10-4 6 4 4-5'/%3E%3C/svg%3E"
)
"""The page's sign: a figure in mid-stride."""
BRAND: Rgb = (46, 104, 128)
LINES: tuple[str, ...] = ("#c8743c", "#2e6880", "#6f8f3a", "#8a4f7d", "#b08a2e", "#4c5a9c")
"""Colours of the lines of a plot."""
ERROR = "#b3261e"


@dataclass(frozen=True)
class Palette:
    """Colours of the stage in a theme."""

    sky_top: Rgb
    sky_bottom: Rgb
    floor: Rgb
    grid: Rgb
    grid_strong: Rgb
    patch: Rgb
    """Where a body touches the floor."""
    light: float
    """Factor on the light of sky and surroundings."""


LIGHT = Palette(
    (214, 224, 232), (246, 247, 248), (238, 240, 241), (205, 211, 215), (172, 181, 188), (34, 44, 54), light=1.0
)
DARK = Palette((26, 31, 35), (52, 59, 64), (44, 50, 54), (62, 70, 75), (88, 98, 104), (4, 6, 8), light=0.75)
MARK: Rgb = (224, 102, 60)


def tones(hue: int) -> tuple[Rgb, Rgb, Rgb]:
    """Return the main colour, accent and darker shade of a body."""
    return PALETTE[hue % len(PALETTE)]


def line_colour(hue: int) -> str:
    """Return the colour of the line in a plot that is about a body: its own, dark enough for a white ground."""
    return f"#{bytes(tones(hue)[2]).hex()}"


def rgb(colour: Floats) -> Rgb:
    """Return a colour (3,) from 0 to 255 in whole numbers."""
    red, green, blue = (int(c) for c in np.clip(np.rint(colour), 0, 255))
    return red, green, blue


def linear(colours: ArrayLike) -> NDArray[np.uint8]:
    """Convert colours (..., 3), 0 to 255, for lines and batches: viser takes those for linear light, which is paler."""
    fraction = np.asarray(colours, dtype=np.float64) / 255.0
    return np.asarray(np.rint(255.0 * fraction**2.2), dtype=np.uint8)


def words(name: object) -> str:
    """Return the name of a part or a limb for people: "left hand" of "left_hand"."""
    return str(name).replace("_", " ")


def plain(text: object, longest: int = 400) -> str:
    """Return text made safe for a page that reads Markdown and HTML: names in files come from strangers."""
    short = str(text)
    short = short if len(short) <= longest else short[: longest - 1] + "…"
    special = set("\\`*_{}[]()#+-.!|~>$:")
    named = {"<": "&lt;", ">": "&gt;", "&": "&amp;", '"': "&quot;", "'": "&#39;"}
    spaced = "".join(c if c.isprintable() else " " for c in short)
    return "".join(named.get(c) or (f"&#{ord(c)};" if c in special else c) for c in spaced)
