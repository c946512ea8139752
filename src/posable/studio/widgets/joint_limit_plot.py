"""The limits of a limb as a small drawing: swing planes with their boundary and the joint on them, bars for the rest.

A swing plane is laid out as docs/limits.md has it: the middle is the neutral pose, the distance from it the angle the
bone has swung, the direction where to. +X of the body (its left) lies to the right, as on a figure seen from before.
The drawing is SVG in the panel, some kilobytes, and is sent only when it has changed.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from ... import math as pm
from ...compute.types import ArrayLike, Floats
from ...limb.model import ROLES
from ...limits import Cone, Ellipse, Hinge, Interval, JointLimit
from ...skeleton import Pose
from ..core.session import Session
from .controls import show

if TYPE_CHECKING:
    from ...body import Humanoid

INSIDE, OUTSIDE = "#168c34", "#e07a00"
"""Colours of a joint inside its limit and at its edge or outside: those of the orbit."""
AREA, EDGE, FAINT, TEXT = "#dbe9f2", "#2e6880", "#d3d8dc", "#5f6a72"
AT_EDGE = math.radians(0.5)
WIDTH, RADIUS = 300, 58
"""Of the drawing and of a swing plane [pixels]."""
NAMES = {
    "upper_arm": ("shoulder", ("forward", "out", "back", "across")),
    "upper_leg": ("hip", ("forward", "out", "back", "across")),
    "hand": ("wrist", ("thumb", "back of hand", "little finger", "palm")),
    "foot": ("ankle", ("up", "out", "down", "in")),
}
"""What a joint is called, and what lies up, outwards, down and inwards of the middle of its plane."""


def swing_on_plane(limit: JointLimit, rotation: ArrayLike) -> Floats:
    """Return (..., 2) positions of canonical rotations (..., 4) on a joint's swing plane [rad]."""
    bone = pm.rotate(_unmirrored(limit, rotation), np.array(limit.direction))
    first, along = np.array(limit.axis), np.array(limit.direction)
    across, ahead = bone @ first, bone @ np.cross(along, first)
    angle = np.arctan2(np.hypot(across, ahead), bone @ along)
    return _on_plane(limit, np.arctan2(across, ahead), angle)


@lru_cache(maxsize=64)
def boundary_on_plane(limit: JointLimit, count: int = 180) -> Floats:
    """Return (count, 2) the boundary of a joint's swing on its plane [rad]; the plane's own where nothing limits it."""
    angle = np.linspace(-math.pi, math.pi, count)
    swing = limit.swing
    if isinstance(swing, Cone):
        return _on_plane(limit, angle, np.minimum(swing.limit(angle), math.pi))
    if isinstance(swing, Ellipse):
        s1, s2 = swing.boundary(angle).T
    elif isinstance(swing, Hinge):
        # There and back; a rotation about a1 swings the bone towards -a2.
        s1 = swing.low + (swing.high - swing.low) * np.abs(angle) / math.pi
        s2 = np.zeros_like(s1)
    else:
        return _on_plane(limit, angle, np.full(count, math.pi))
    return _on_plane(limit, np.arctan2(s2, -s1), np.hypot(s1, s2))


def hinge_angle(limit: JointLimit, rotation: ArrayLike) -> float:
    """Return how far a hinge is bent [rad] in a canonical rotation (4,)."""
    bone = pm.rotate(_unmirrored(limit, rotation), np.array(limit.direction))
    second = np.cross(limit.direction, limit.axis)
    return math.atan2(-float(bone @ second), float(bone @ np.array(limit.direction)))


def twist_angle(limit: JointLimit, rotation: ArrayLike) -> float:
    """Return how far a joint is twisted about its bone [rad] in a canonical rotation (4,)."""
    return float(pm.swing_twist(_unmirrored(limit, rotation), np.array(limit.direction))[1])


class SwingPlot:
    """The drawing, in the panel where it is made."""

    def __init__(self, session: Session) -> None:
        self._html = session.gui.add_html("", visible=False)

    def draw(self, body: Humanoid, limb: str, pose: Pose) -> None:
        """Show a limb's limits and where its joints are in a pose."""
        drawn = limits_drawing(body, limb, pose)
        show(self._html, "content", drawn)
        show(self._html, "visible", True)

    def hide(self) -> None:
        """Hide the drawing."""
        show(self._html, "visible", False)


def limits_drawing(body: Humanoid, limb: str, pose: Pose) -> str:
    """Return the limits of a limb's joints in a pose as SVG."""
    posture = body.canonical(pose)
    base, mid, end = ROLES[limb]
    now = {role: posture.rotations[..., posture.index(role), :] for role in (base, mid, end)}
    parts = [_plane(body, role, now[role], (0.5 + k) * WIDTH / 2) for k, role in enumerate((base, end))]
    middle = body.limits[mid]
    bars: list[tuple[str, float, float, float]] = []
    if isinstance(middle.swing, Hinge):
        name = "elbow" if limb.endswith("arm") else "knee"
        bars.append((f"{name} bend", middle.swing.low, middle.swing.high, hinge_angle(middle, now[mid])))
    for label, role in (("upper twist", base), ("lower twist", mid)):
        limit = body.limits[role]
        twist = limit.twist or Interval(-math.pi, math.pi)
        bars.append((label, twist.low, twist.high, twist_angle(limit, now[role])))
    parts += [_bar(*bar, 2 * RADIUS + 56 + 15 * k) for k, bar in enumerate(bars)]
    height = 2 * RADIUS + 56 + 15 * len(bars)
    return (
        f'<svg class="limits" role="img" aria-label="limits of the {limb.replace("_", " ")}" '
        f'viewBox="0 0 {WIDTH} {height}" style="width: 100%; display: block; padding: 0 0.6em" font-size="9.5" '
        f'fill="{TEXT}">{"".join(parts)}</svg>'
    )


def _unmirrored(limit: JointLimit, rotation: ArrayLike) -> Floats:
    """Return rotations as the numbers of a limit are meant: a right joint has those of its left twin."""
    q = np.asarray(rotation, dtype=np.float64)
    return q * np.array([1.0, 1.0, -1.0, -1.0]) if limit.is_mirrored else q


def _on_plane(limit: JointLimit, theta: Floats, angle: Floats) -> Floats:
    """Return (..., 2) from directions and angles of swings; right joints as they are, not as their twins."""
    across = -angle * np.sin(theta) if limit.is_mirrored else angle * np.sin(theta)
    return np.stack([across, angle * np.cos(theta)], axis=-1)


def _plane(body: Humanoid, role: str, rotation: Floats, x: float) -> str:
    """Return a swing plane, its middle at `x` pixels: circles every 30 degrees, the boundary, the joint."""
    side, _, part = role.partition("_")
    name, (up, out, down, across) = NAMES[part]
    right, left = (out, across) if side == "left" else (across, out)
    limit = body.limits[role]
    edge, here = boundary_on_plane(limit), swing_on_plane(limit, rotation)
    widest = math.radians(30 * min(6, max(3, math.ceil(np.degrees(np.hypot(*edge.T).max()) / 30 - 1e-6))))
    scale, y = RADIUS / widest, RADIUS + 14.0
    rings = [30 * k for k in range(1, round(math.degrees(widest)) // 30 + 1)]
    circles = "".join(
        f'<circle cx="{x:.0f}" cy="{y:.0f}" r="{math.radians(ring) * scale:.1f}" fill="none" stroke="{FAINT}" '
        f'stroke-width="{1.2 if ring == rings[-1] else 0.5}"/>'
        for ring in rings
    )
    inside = _is_inside(body, role, rotation)
    path = _path(np.stack([x + scale * edge[:, 0], y - scale * edge[:, 1]], axis=-1))
    px, py = x + scale * here[0], y - scale * here[1]
    degrees = math.degrees(math.hypot(*here))
    rim = RADIUS + 2
    return (
        f'{circles}<path d="{path}" fill="{AREA}" fill-opacity="0.75" stroke="{EDGE}" stroke-width="1.4"/>'
        f'<line x1="{x:.0f}" y1="{y:.0f}" x2="{px:.1f}" y2="{py:.1f}" stroke="{EDGE}" stroke-width="0.8"/>'
        f'<circle class="now" data-joint="{name}" cx="{px:.1f}" cy="{py:.1f}" r="4.2" stroke="white" '
        f'fill="{INSIDE if inside else OUTSIDE}"/>'
        f'<text x="{x:.0f}" y="{y - rim - 3:.0f}" text-anchor="middle">{up}</text>'
        f'<text x="{x:.0f}" y="{y + rim + 8:.0f}" text-anchor="middle">{down}</text>'
        f'<text x="{x + rim + 7:.0f}" y="{y:.0f}" text-anchor="middle" '
        f'transform="rotate(90 {x + rim + 4:.0f} {y:.0f})">{right}</text>'
        f'<text x="{x - rim - 7:.0f}" y="{y:.0f}" text-anchor="middle" '
        f'transform="rotate(-90 {x - rim - 4:.0f} {y:.0f})">{left}</text>'
        f'<text x="{x:.0f}" y="{y + rim + 23:.0f}" text-anchor="middle" font-size="11" fill="#222">'
        f"{name} {degrees:.0f}°</text>"
        f'<text x="{x + 0.74 * RADIUS:.0f}" y="{y + 0.74 * RADIUS + 7:.0f}" font-size="8">{rings[-1]}°</text>'
    )


def _bar(label: str, low: float, high: float, now: float, y: float) -> str:
    """Return an interval of angles with a joint on it."""
    start, length = 70.0, 185.0
    room = 0.12 * (high - low) + 0.02
    scale = length / (high - low + 2.0 * room)
    x = start + min(max((now - low + room) * scale, 0.0), length)
    fine = low + AT_EDGE < now < high - AT_EDGE
    return (
        f'<text x="4" y="{y + 3:.0f}">{label}</text>'
        f'<line x1="{start}" x2="{start + length}" y1="{y}" y2="{y}" stroke="{FAINT}"/>'
        f'<line x1="{start + room * scale:.1f}" x2="{start + length - room * scale:.1f}" y1="{y}" y2="{y}" '
        f'stroke="{EDGE}" stroke-width="3" stroke-opacity="0.55"/>'
        f'<circle class="now" data-joint="{label}" cx="{x:.1f}" cy="{y}" r="3.6" stroke="white" '
        f'fill="{INSIDE if fine else OUTSIDE}"/>'
        f'<text x="{WIDTH - 4}" y="{y + 3:.0f}" text-anchor="end">{round(math.degrees(now))}°</text>'
    )


def _is_inside(body: Humanoid, role: str, rotation: Floats) -> bool:
    """Return whether a joint's swing lies inside its limit and not at its edge."""
    limit = body.limits[role]
    if limit.swing is None:
        return True
    here, edge = swing_on_plane(limit, rotation), boundary_on_plane(limit, 720)
    near = float(np.hypot(*(edge - here).T).min()) < AT_EDGE
    return bool(body.limits.excess(role, rotation) < AT_EDGE) and not near


def _path(points: Floats) -> str:
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points) + "Z"
