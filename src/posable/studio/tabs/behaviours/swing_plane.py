"""The swing plane of a behaviour: its geometry, and an SVG drawing of ellipse, triangles and keys that can be clicked.

A point of the plane is a swing: a direction from the shoulder. The middle is straight out to the side, and the plane
lies as on a figure seen from before: up is up, and the body's left is to the right, so that a right arm has what is
behind it at the left edge, what is ahead of it in the right half, and the other side of the body at the right edge.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .... import math as pm
from ....compute.types import ArrayLike, Floats, Ints
from ...widgets.joint_limit_plot import AREA, EDGE, FAINT, TEXT
from ...widgets.pointer import Pointed, handlers, hidden
from ...widgets.status_text import COLOURS

if TYPE_CHECKING:
    from ....reach import Behaviour, Key

MARK = "plane:"
LEFT, RIGHT, TOP, BOTTOM = 24.0, 8.0, 8.0, 16.0  # room around the outer keys for marks and words [degrees]
CHOSEN, FREE, TARGET = "#d6703e", "#8aa9ba", "#222831"
"""Colours of the key that is edited, of keys that follow the field, and of the target."""

_INSIDE = f'fill="{AREA}" fill-opacity="0.75" stroke="{EDGE}" stroke-width="1.2"'


# Geometry.


def in_space(behaviour: Behaviour) -> bool:
    """Return whether a behaviour has its keys in space around the shoulder, not on the swing plane."""
    return behaviour.interpolation == "around"


def direction_of(swing: ArrayLike) -> Floats:
    """Return (..., 3) unit vectors in the arm's frame of swings (..., 2) [rad]."""
    given = np.asarray(swing, dtype=np.float64)
    rotation = pm.exp(np.concatenate([given, np.zeros((*given.shape[:-1], 1))], axis=-1))
    return np.asarray(pm.rotate(rotation, np.array([0.0, 0.0, 1.0])))


def swing_of(direction: ArrayLike) -> Floats:
    """Return (..., 2) swings [rad] of vectors (..., 3) in the arm's frame; straight back is (pi, 0)."""
    x, y, z = np.moveaxis(np.asarray(direction, dtype=np.float64), -1, 0)
    across = np.hypot(x, y)
    angle = np.arctan2(across, z)
    length = np.where(across > 0.0, across, 1.0)
    return np.stack([np.where(across > 0.0, -angle * y / length, angle), angle * x / length], axis=-1)


def position_at(frame: tuple[Floats, Floats], swing: Floats, distance: float) -> Floats:
    """Return positions (..., 3) [m] in the directions of swings (..., 2) [rad] from the origin of an arm's frame."""
    return np.asarray(frame[1] + distance * pm.rotate(frame[0], direction_of(swing)))


def grid_of(behaviour: Behaviour, count: int = 26) -> Floats:
    """Return (N, 2) swings [rad] on a grid over the ellipse, `count` along its longer axis."""
    (cx, cy), (rx, ry) = behaviour.ellipse.centre, behaviour.ellipse.radii
    step = 2.0 * max(rx, ry) / count
    xs, ys = (np.arange(-np.floor(r / step), np.floor(r / step) + 1) * step for r in (rx, ry))
    x, y = (values.ravel() for values in np.meshgrid(xs, ys, indexing="ij"))
    inside = (x / rx) ** 2 + (y / ry) ** 2 <= 1.0
    return np.stack([cx + x[inside], cy + y[inside]], axis=-1)


def edges_of(behaviour: Behaviour) -> list[tuple[tuple[float, ...], tuple[float, ...]]]:
    """Return the edges of the triangles between keys, as pairs of swings [rad]."""
    at = {key.id: key.at for key in behaviour.keys}
    pairs = sorted({tuple(sorted(pair)) for a, b, c in behaviour.triangles for pair in ((a, b), (b, c), (c, a))})
    return [(at[a], at[b]) for a, b in pairs]


def net_of(behaviour: Behaviour, count: int = 24) -> Floats:
    """Return the edges of the triangles cut into `count` pieces (N, 2, 2) [rad]: on the sphere they are curved."""
    fraction = np.linspace(0.0, 1.0, count + 1)[:, None]
    lines = [(1.0 - fraction) * np.asarray(a) + fraction * np.asarray(b) for a, b in edges_of(behaviour)]
    paths = np.array(lines).reshape(-1, count + 1, 2)
    return np.stack([paths[:, :-1], paths[:, 1:]], axis=2).reshape(-1, 2, 2)


# The drawing.


@dataclass(frozen=True, eq=False)
class Drawn:
    """A behaviour, and what is drawn of it."""

    behaviour: Behaviour
    frame: tuple[Floats, Floats]
    """Of the arm: orientation (4,) and origin (3,) on the stage [m]."""
    distance: float
    """Of the target from the shoulder [m]."""
    length: float
    """Of the arm [m]."""
    target: Floats
    """(2,) swing of the target [rad]."""
    chosen: int | None
    """The key that is edited."""
    outer: bool
    """Whether the four outer keys and what lies outside of the ellipse are drawn."""
    map: tuple[Floats, Ints] | None
    """Swings (N, 2) [rad] and statuses (N,), drawn as dots."""


@dataclass(frozen=True)
class Stroke:
    """A message about a pointer on the plane."""

    id: int
    """The same as long as the pointer stays pressed."""
    ended: bool
    key: int | None
    """The key on which it was pressed."""
    start: tuple[float, float]
    """Swing [rad] where it was pressed."""
    now: tuple[float, float]
    """Swing [rad] where it is."""

    @property
    def moved(self) -> bool:
        """Whether it moved far enough to be more than a click."""
        return math.dist(self.start, self.now) > math.radians(1.5)


def stroke_of(pointed: Pointed) -> Stroke | None:
    """Return the stroke of a pointer; None where it was pressed on something that is no key."""
    (x0, y0), (x, y) = ((math.radians(x), math.radians(y)) for x, y in (pointed.start, pointed.now))
    try:
        key = None if pointed.key is None else int(pointed.key)
    except ValueError:
        return None
    return Stroke(pointed.id, pointed.ended, key, (y0, x0), (y, x))


def plane_drawing(drawn: Drawn) -> str:
    """Return the plane as SVG, in degrees: x is the swing about y, y the swing about x."""
    behaviour, outer = drawn.behaviour, drawn.outer
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
        *([] if drawn.map is None else [_dots(*drawn.map)]),
        _target(*np.degrees(drawn.target)),
        *(_key(key, key.id == drawn.chosen) for key in keys),
    ]
    title = behaviour.limb.replace("_", " ")
    return hidden(MARK) + (
        f'<svg class="swing-plane" data-limb="{behaviour.limb}" role="img" aria-label="swing plane of the {title}" '
        f'viewBox="{" ".join(f"{side:.1f}" for side in box)}" font-size="7.5" fill="{TEXT}" '
        'style="width: 100%; max-height: 310px; display: block; touch-action: none; user-select: none; '
        f'cursor: crosshair" {handlers(MARK)}>{"".join(parts)}</svg>'
    )


def _directions(limb: str, x: float, y: float, wide: float, high: float) -> str:
    """Draw lines of equal height and of equal azimuth, every 45 degrees, with their names."""
    azimuths = {-45: "behind", 0: "side", 45: "", 90: "ahead"}
    heights = {-90: "up", -45: "", 0: "level", 45: "", 90: "down"}
    parts = []
    for azimuth, word in azimuths.items():
        at = azimuth if limb == "right_arm" else -azimuth
        parts.append(
            f'<line x1="{at}" x2="{at}" y1="{y:.1f}" y2="{y + high:.1f}" stroke="{FAINT}" stroke-width="0.5"/>'
            f'<text x="{at}" y="{y + high + 11:.1f}" text-anchor="middle">{word}</text>'
        )
    for at, word in heights.items():
        parts.append(
            f'<line x1="{x:.1f}" x2="{x + wide:.1f}" y1="{at}" y2="{at}" stroke="{FAINT}" stroke-width="0.5"/>'
            f'<text x="{x - 3:.1f}" y="{at + 2.5}" text-anchor="end">{word}</text>'
        )
    return "".join(parts)


def _triangles(behaviour: Behaviour) -> str:
    return "".join(
        f'<line class="edge" x1="{math.degrees(a[1]):.1f}" y1="{math.degrees(a[0]):.1f}" '
        f'x2="{math.degrees(b[1]):.1f}" y2="{math.degrees(b[0]):.1f}" '
        f'stroke="{EDGE}" stroke-width="0.7" stroke-opacity="0.7"/>'
        for a, b in edges_of(behaviour)
    )


def _key(key: Key, chosen: bool) -> str:
    """Draw a key with a wider rim that takes clicks; hollow while it follows the field, square for an outer one."""
    # A key in space is drawn at the swing of its direction from the shoulder.
    y, x = np.degrees(key.at if len(key.at) == 2 else swing_of(key.at)).tolist()
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


def _target(y: float, x: float) -> str:
    return (
        f'<g class="target" stroke="{TARGET}" stroke-width="1.1" fill="none" pointer-events="none">'
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5.2"/>'
        f'<path d="M{x - 8:.1f} {y:.1f}h16M{x:.1f} {y - 8:.1f}v16"/></g>'
    )


def _dots(swings: Floats, status: Ints) -> str:
    """Draw a dot for each swing in the colour of its status; one group for each colour limits the drawing's size."""
    groups = []
    for which in np.unique(status):
        colour = bytes(COLOURS[int(which)]).hex()
        dots = "".join(f'<circle cx="{y:.0f}" cy="{x:.0f}" r="2"/>' for x, y in np.degrees(swings[status == which]))
        groups.append(f'<g class="map" data-status="{int(which)}" fill="#{colour}" fill-opacity="0.6">{dots}</g>')
    return f'<g pointer-events="none">{"".join(groups)}</g>'
