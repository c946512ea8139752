"""Kernels of `LimbRange` that correct: the nearest pose of a limb that people take (Mukai, 2.2).

Specification limb-range, section 4. The correction to the nearest point must jump: where two points of the boundary are
equally near, behind the body, an arbitrarily small step of the target changes from one to the other. No continuous map
can put everything outside onto the boundary alone (there is no retraction of a disc onto its rim), so the smooth
correction lets targets from deep outside go to the inside (`range_disc`).
"""

from __future__ import annotations

import math

from ...compute import batch, kernel, prange
from ...compute.types import Floats, Ints, Records, Vec3
from ...math.angles import wrap_angle_modulo
from ...math.vector import norm, reject, unit
from .disc import FOLD, folded
from .locate import (
    ANY_SWIVEL,
    CLOSED,
    EXACT,
    STRAIGHT,
    bend_radius,
    corner_weights,
    direction_of,
    locate,
    nearest_edge,
    point_at,
    spans,
)

DIRECTION, DISTANCE, SWIVEL = 1, 2, 4  # what a correction changed: bits
PULLS = 20  # steps that a margin may take


@kernel
def correct_one(
    head: Records,
    points: Records,
    faces: Records,
    edges: Records,
    index: Ints,
    position: Vec3,
    swivel: float,
    margin: float,
    smooth: bool,
) -> tuple[Vec3, float, int]:
    """(position, swivel, what changed) inside the range, nearest to those given: position [m], swivel [rad].

    What is inside comes back untouched, and so does what is no number. `margin` [rad] keeps directions and swivels
    that far from the edge, and distances by that much of the limb's length, as far as the range is wide enough.
    """
    distance = norm(position)
    if head[0]["on"] == 0 or not (math.isfinite(distance) and math.isfinite(swivel)):
        return position, swivel, 0
    length = head[0]["upper"] + head[0]["lower"]
    n = direction_of(head, position, distance)
    face, w = locate(head, points, faces, index, n)
    changed = 0
    aim = n
    if faces[face]["valid"] == 0:
        aim, face, w, changed = _brought_in(head, points, faces, edges, index, n, face, w, smooth)
    if margin > 0.0 and edges.shape[0] > 0:
        aim, face, w, moved = _pulled(head, points, faces, edges, index, aim, face, w, margin)
        changed |= moved
    low, high, mid, half = spans(points, faces, face, w)
    reach = distance / length
    kept = _clamped(reach, min(low + margin, 0.5 * (low + high)), max(high - margin, 0.5 * (low + high)))
    if kept != reach:
        changed |= DISTANCE
    if changed != 0:
        far = kept * length
        position = (head[0]["sx"] * aim[0] * far, head[0]["sy"] * aim[1] * far, aim[2] * far)
    if (smooth or bend_radius(head, kept) >= STRAIGHT) and half < ANY_SWIVEL:
        away = wrap_angle_modulo(swivel - mid)
        inside = _turned_in(away, max(half - margin, 0.0), smooth)
        if inside != away:
            return position, wrap_angle_modulo(mid + inside), changed | SWIVEL
    return position, swivel, changed


@kernel
def _brought_in(
    head: Records,
    points: Records,
    faces: Records,
    edges: Records,
    index: Ints,
    n: Vec3,
    face: int,
    w: Vec3,
    smooth: bool,
) -> tuple[Vec3, int, Vec3, int]:
    """(direction inside, its triangle and weights, what changed) for a direction in a triangle outside."""
    edge, away, p = nearest_edge(head, edges, index, face, n)
    owner = edges[edge]["face"]
    if away <= CLOSED:  # the region is closed: this one belongs to it
        return n, owner, corner_weights(points, faces, owner, p), 0
    if smooth and head[0]["flat_grid"] > 0:
        inner, weights = folded(head, points, faces, index, face, w)
        return _direction_in(points, faces, inner, weights), inner, weights, DIRECTION
    centre = (edges[edge]["cx"], edges[edge]["cy"], edges[edge]["cz"])
    step = unit(reject(centre, p))
    n = unit((p[0] + CLOSED * step[0], p[1] + CLOSED * step[1], p[2] + CLOSED * step[2]))
    return n, owner, corner_weights(points, faces, owner, n), DIRECTION


@kernel
def _direction_in(points: Records, faces: Records, face: int, w: Vec3) -> Vec3:
    row = faces[face]
    a, b, c = point_at(points, row["a"]), point_at(points, row["b"]), point_at(points, row["c"])
    x = w[0] * a[0] + w[1] * b[0] + w[2] * c[0]
    y = w[0] * a[1] + w[1] * b[1] + w[2] * c[1]
    return unit((x, y, w[0] * a[2] + w[1] * b[2] + w[2] * c[2]))


@kernel
def _pulled(
    head: Records,
    points: Records,
    faces: Records,
    edges: Records,
    index: Ints,
    n: Vec3,
    face: int,
    w: Vec3,
    margin: float,
) -> tuple[Vec3, int, Vec3, int]:
    """A direction inside moved away from the nearest boundary, again and again, until it is `margin` [rad] from all.

    Where the region is too narrow for that, the one found that was furthest inside.
    """
    best, best_face, best_w, best_inside, moved = n, face, w, -1.0, 0
    for step in range(PULLS):
        edge, away, p = nearest_edge(head, edges, index, face, n)
        inside = away if faces[face]["valid"] != 0 else -away
        if step == 0:
            inside = max(inside, 0.0)  # on the closed boundary, to rounding
        if inside > best_inside:
            best, best_face, best_w, best_inside, moved = n, face, w, inside, DIRECTION if step > 0 else 0
        if inside >= margin - EXACT:
            break
        inward = reject(n, p)
        if inside < 0.0:
            inward = (-inward[0], -inward[1], -inward[2])
        if norm(inward) < 10.0 * CLOSED:
            inward = reject((edges[edge]["mx"], edges[edge]["my"], edges[edge]["mz"]), p)
        d = unit(inward)
        # Between two arcs of the boundary the steps only creep towards the margin: each goes a little beyond it.
        c, s = math.cos(margin * (1.0 + 0.02 * step)), math.sin(margin * (1.0 + 0.02 * step))
        n = unit((p[0] * c + d[0] * s, p[1] * c + d[1] * s, p[2] * c + d[2] * s))
        face, w = locate(head, points, faces, index, n)
    return best, best_face, best_w, moved


@kernel
def _clamped(value: float, low: float, high: float) -> float:
    """The value itself when it is inside or on the edge to rounding, else the end it lies beyond."""
    if low - EXACT <= value <= high + EXACT:
        return value
    return low if value < low else high


@kernel
def _turned_in(away: float, half: float, smooth: bool) -> float:
    """A swivel measured from the middle, brought into +-half; smooth: the opposite side goes to the middle."""
    if abs(away) <= half + EXACT:
        return away
    share = 1.0
    if smooth:
        share = min((math.pi - abs(away)) / (FOLD * (math.pi - half)), 1.0)
    return math.copysign(half * share, away)


@batch(rows=2048)
def correct_rows(
    n: int,
    head: Records,
    points: Records,
    faces: Records,
    edges: Records,
    index: Ints,
    positions: Floats,
    swivels: Floats,
    margin: float,
    smooth: bool,
    moved: Floats,
    turned: Floats,
    changed: Ints,
) -> None:
    """`correct_one` over a batch: moved (N, 3), turned (N,), changed (N,) bits."""
    for i in prange(n):
        p = (positions[i, 0], positions[i, 1], positions[i, 2])
        q, s, bits = correct_one(head, points, faces, edges, index, p, swivels[i], margin, smooth)
        for k in range(3):
            moved[i, k] = q[k]
        turned[i], changed[i] = s, bits
