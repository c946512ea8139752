"""The swing plane of a behaviour as a drawing that can be clicked: its ellipse, triangles and keys.

A point of the plane is a swing: a direction from the shoulder. The middle is straight out to the side, and the plane
lies as on a figure seen from before: up is up, and the body's left is to the right, so that a right arm has what is
behind it at the left edge, what is ahead of it in the right half, and the other side of the body at the right edge.

The drawing is SVG in the panel; `pointer` says how it tells what the pointer does.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ....compute.types import ArrayLike, Floats, Ints
from ...core.session import Session
from ...widgets.joint_limit_plot import AREA, EDGE, FAINT, TEXT
from ...widgets.pointer import Pointed, PointerField, handlers, hidden, read_pointed
from ...widgets.status_text import COLOURS
from .swings import in_space, swing_of_key

if TYPE_CHECKING:
    from ....reach import Behaviour, Key

MARK = "plane:"
LEFT, RIGHT, TOP, BOTTOM = 24.0, 8.0, 8.0, 16.0  # room around the outer keys for marks and words [degrees]
CHOSEN, FREE, TARGET = "#d6703e", "#8aa9ba", "#222831"
"""Colours of the key that is edited, of keys that follow the field, and of the target."""

_INSIDE = f'fill="{AREA}" fill-opacity="0.75" stroke="{EDGE}" stroke-width="1.2"'
_HIDDEN = hidden(MARK)


@dataclass(frozen=True)
class Stroke:
    """What a pointer did on the plane, from when it was pressed on."""

    id: int
    """The same as long as it stays pressed."""
    stamp: int
    """Greater with each message of a stroke."""
    ended: bool
    key: int | None
    """The key on which it was pressed."""
    start: tuple[float, float]
    """Swing [rad] where it was pressed."""
    now: tuple[float, float]
    """Swing [rad] where it is."""

    @property
    def moved(self) -> bool:
        """Whether it went far enough to be more than a click."""
        return math.dist(self.start, self.now) > math.radians(1.5)


def read_stroke(text: str) -> Stroke | None:
    """A stroke from what the drawing wrote; None for anything else."""
    found = read_pointed(MARK, text)
    return None if found is None else stroke_of(found)


def stroke_of(pointed: Pointed) -> Stroke | None:
    """A stroke from what a pointer did; None where it was pressed on something that is no key."""
    (x0, y0), (x, y) = ((math.radians(x), math.radians(y)) for x, y in (pointed.start, pointed.now))
    try:
        key = None if pointed.key is None else int(pointed.key)
    except ValueError:
        return None
    return Stroke(pointed.id, pointed.stamp, pointed.ended, key, (y0, x0), (y, x))


class SwingPlane:
    """The drawing in the panel.

    Args:
        session: whose panel.
        act: called with each stroke of a pointer, once for each message.
    """

    def __init__(self, session: Session, act: Callable[[Stroke], None]) -> None:
        self._act = act
        self._field = PointerField(session, MARK, self._pointed)
        self._html = session.gui.add_html(_HIDDEN)

    def draw(
        self,
        behaviour: Behaviour,
        *,
        chosen: int | None,
        target: ArrayLike | None,
        outer: bool,
        map: tuple[Floats, Ints] | None = None,
    ) -> None:
        """Draw a behaviour.

        Args:
            behaviour: its ellipse, triangles and keys.
            chosen: the key that is edited.
            target: (2,) swing of the target [rad].
            outer: whether the four outer keys and what lies outside of the ellipse are drawn.
            map: swings (N, 2) [rad] and statuses (N,), drawn as dots.
        """
        content = _HIDDEN + plane_drawing(behaviour, chosen, target, outer, map)
        if self._html.content != content:
            self._html.content = content

    def hide(self) -> None:
        """Draw nothing."""
        if self._html.content != _HIDDEN:
            self._html.content = _HIDDEN

    def _pointed(self, pointed: Pointed) -> None:
        stroke = stroke_of(pointed)
        if stroke is not None:
            self._act(stroke)


def plane_drawing(
    behaviour: Behaviour,
    chosen: int | None,
    target: ArrayLike | None,
    outer: bool,
    map: tuple[Floats, Ints] | None,
) -> str:
    """The plane as SVG, in degrees: x is the swing about y, y the swing about x."""
    (cx, cy), (rx, ry) = np.degrees(behaviour.ellipse.centre), np.degrees(behaviour.ellipse.radii)
    x, y, wide, high = cy - 1.05 * ry, cx - 1.05 * rx, 2.1 * ry, 2.1 * rx
    box = (x - LEFT, y - TOP, wide + LEFT + RIGHT, high + TOP + BOTTOM)
    shape = f'cx="{cy:.1f}" cy="{cx:.1f}" rx="{ry:.1f}" ry="{rx:.1f}"'
    clip = "" if outer else ' clip-path="url(#posable-ellipse)"'
    keys = [key for key in behaviour.keys if outer or not key.outer]
    parts = [
        f'<clipPath id="posable-ellipse"><ellipse {shape}/></clipPath>',
        f'<rect x="{box[0]:.1f}" y="{box[1]:.1f}" width="{box[2]:.1f}" height="{box[3]:.1f}" fill-opacity="0"/>',
        *([] if in_space(behaviour) else [f'<ellipse class="ellipse" {shape} {_INSIDE}/>']),
        _directions(behaviour.limb, x, y, wide, high),
        f"<g{clip}>{_triangles(behaviour)}</g>",
        *([] if map is None else [_dots(*map)]),
        *([] if target is None else [_target(np.degrees(np.asarray(target, dtype=np.float64)))]),
        *(_key(key, key.id == chosen) for key in keys),
    ]
    title = behaviour.limb.replace("_", " ")
    return (
        f'<svg class="swing-plane" data-limb="{behaviour.limb}" role="img" aria-label="swing plane of the {title}" '
        f'viewBox="{" ".join(f"{side:.1f}" for side in box)}" font-size="7.5" fill="{TEXT}" '
        'style="width: 100%; max-height: 310px; display: block; touch-action: none; user-select: none; '
        f'cursor: crosshair" {handlers(MARK)}>{"".join(parts)}</svg>'
    )


def _directions(limb: str, x: float, y: float, wide: float, high: float) -> str:
    """Lines of equal height and of equal way around, every 45 degrees, and what they are called."""
    around = {-45: "behind", 0: "side", 45: "", 90: "ahead"}
    level = {-90: "up", -45: "", 0: "level", 45: "", 90: "down"}
    parts = []
    for at, word in around.items():
        place = at if limb == "right_arm" else -at
        parts.append(
            f'<line x1="{place}" x2="{place}" y1="{y:.1f}" y2="{y + high:.1f}" stroke="{FAINT}" stroke-width="0.5"/>'
            f'<text x="{place}" y="{y + high + 11:.1f}" text-anchor="middle">{word}</text>'
        )
    for at, word in level.items():
        parts.append(
            f'<line x1="{x:.1f}" x2="{x + wide:.1f}" y1="{at}" y2="{at}" stroke="{FAINT}" stroke-width="0.5"/>'
            f'<text x="{x - 3:.1f}" y="{at + 2.5}" text-anchor="end">{word}</text>'
        )
    return "".join(parts)


def _triangles(behaviour: Behaviour) -> str:
    at = {key.id: (math.degrees(key.at[1]), math.degrees(key.at[0])) for key in behaviour.keys}
    edges = sorted({tuple(sorted(pair)) for a, b, c in behaviour.triangles for pair in ((a, b), (b, c), (c, a))})
    return "".join(
        f'<line class="edge" x1="{at[a][0]:.1f}" y1="{at[a][1]:.1f}" x2="{at[b][0]:.1f}" y2="{at[b][1]:.1f}" '
        f'stroke="{EDGE}" stroke-width="0.7" stroke-opacity="0.7"/>'
        for a, b in edges
    )


def _key(key: Key, chosen: bool) -> str:
    """A ball with a wider rim that takes clicks; hollow while the key follows the field, square for outer ones."""
    y, x = np.degrees(swing_of_key(key)).tolist()
    fill = CHOSEN if chosen else ("white" if key.posture is None else (FREE if key.outer else EDGE))
    size = 4.6 if chosen else 3.6
    ink = CHOSEN if chosen else EDGE
    mark = (
        f'<rect x="{x - size:.1f}" y="{y - size:.1f}" width="{2 * size}" height="{2 * size}"'
        if key.outer
        else f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size}"'
    )
    return (
        f'<g class="key" data-key="{key.id}" style="cursor: grab">'
        f'{mark} data-key="{key.id}" fill="{fill}" stroke="{ink}" stroke-width="1.2"/>'
        f'<circle data-key="{key.id}" cx="{x:.1f}" cy="{y:.1f}" r="8" fill-opacity="0"/></g>'
    )


def _target(at: Floats) -> str:
    x, y = at[1], at[0]
    return (
        f'<g class="target" stroke="{TARGET}" stroke-width="1.1" fill="none" pointer-events="none">'
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5.2"/>'
        f'<path d="M{x - 8:.1f} {y:.1f}h16M{x:.1f} {y - 8:.1f}v16"/></g>'
    )


def _dots(swings: Floats, status: Ints) -> str:
    """A dot for each swing in the colour of its status; one group for each colour keeps the drawing small."""
    groups = []
    for which in np.unique(status):
        colour = bytes(COLOURS[int(which)]).hex()
        dots = "".join(f'<circle cx="{y:.0f}" cy="{x:.0f}" r="2"/>' for x, y in np.degrees(swings[status == which]))
        groups.append(f'<g class="map" data-status="{int(which)}" fill="#{colour}" fill-opacity="0.6">{dots}</g>')
    return f'<g pointer-events="none">{"".join(groups)}</g>'
