"""Kernels of `LimbRange`: whether a limb's pose is one that people take, how far from the edge, and the nearest one.

A direction from the base joint to the end falls into a triangle of the sphere (`locate`); the triangle says whether
people reach there, and its corners between which distances and swivels (Mukai, 2.2; specification limb-range, sections
3 and 4).

The correction to the nearest point must jump: where two points of the boundary are equally near, behind the body, an
arbitrarily small step of the target changes from one to the other. No continuous map can put everything outside onto
the boundary alone (there is no retraction of a disc onto its rim), so the smooth correction lets targets from deep
outside go to the inside (`locate.folded`).
"""

from __future__ import annotations

import math

from ...compute import batch, kernel, prange
from ...compute.extent import vec_in_extent
from ...compute.types import Bools, Floats, Ints, Records, Vec3
from ...math.angles import wrap_angle_modulo
from ...math.vector import norm, reject, unit
from .locate import (
    ANY_SWIVEL,
    CLOSED,
    EXACT,
    FOLD,
    STRAIGHT,
    Packed,
    bend_radius,
    corner_weights,
    direction_of,
    folded,
    locate,
    nearest_edge,
    point_at,
    spans,
)

DIRECTION, DISTANCE, SWIVEL = 1, 2, 4  # bits that say what a correction changed
PULLS = 20  # largest number of steps that a margin may take


@kernel
def contains_one(model: Packed, position: Vec3, swivel: float, with_swivel: bool) -> bool:
    """Return whether a limb's end may be at `position` [m]; its swivel [rad] counts only where `with_swivel`."""
    head, points, faces, edges, index = model
    distance = norm(position)
    if not (vec_in_extent(position) and (math.isfinite(swivel) or not with_swivel)):
        return False
    n = direction_of(head, position, distance)
    face, w = locate(head, points, faces, index, n)
    if faces[face]["valid"] == 0:
        edge, away, p = nearest_edge(head, edges, index, face, n)
        if away > CLOSED:
            return False
        face, w = edges[edge]["face"], corner_weights(points, faces, edges[edge]["face"], p)
    reach = distance / (head[0]["upper"] + head[0]["lower"])
    low, high, mid, half = spans(points, faces, face, w)
    if reach < low - EXACT or reach > high + EXACT:
        return False
    straight = bend_radius(head, reach) < STRAIGHT
    return not with_swivel or straight or half >= ANY_SWIVEL or abs(wrap_angle_modulo(swivel - mid)) <= half + EXACT


@kernel
def margins_one(model: Packed, position: Vec3, swivel: float) -> Vec3:
    """Return (direction [rad], distance [m], swivel [rad]): how far inside, negative outside; pi where unlimited.

    Outside the region, distance and swivel are measured from what its nearest point allows.
    """
    head, points, faces, _, _ = model
    distance = norm(position)
    if not (vec_in_extent(position) and math.isfinite(swivel)):
        return (-math.inf, -math.inf, -math.inf)
    length = head[0]["upper"] + head[0]["lower"]
    inside, face, w = nearest_inside(model, direction_of(head, position, distance))
    low, high, mid, half = spans(points, faces, face, w)
    reach = distance / length
    angle = math.pi
    if bend_radius(head, reach) >= STRAIGHT and half < ANY_SWIVEL:
        angle = half - abs(wrap_angle_modulo(swivel - mid))
    return (inside, min(reach - low, high - reach) * length, angle)


@kernel
def nearest_inside(model: Packed, n: Vec3) -> tuple[float, int, Vec3]:
    """Return (angle to the boundary [rad], negative outside, pi without one; the nearest triangle inside, weights)."""
    head, points, faces, edges, index = model
    face, w = locate(head, points, faces, index, n)
    if edges.shape[0] == 0:
        return math.pi, face, w
    edge, away, p = nearest_edge(head, edges, index, face, n)
    if faces[face]["valid"] != 0:
        return away, face, w
    owner = edges[edge]["face"]
    return -away, owner, corner_weights(points, faces, owner, p)


@kernel
def correct_one(model: Packed, position: Vec3, swivel: float, margin: float, smooth: bool) -> tuple[Vec3, float, int]:
    """Return (position [m], swivel [rad], bits of what changed) inside the range, nearest to those given.

    A pose inside is returned untouched, and so is one that is not finite or beyond the extent. `margin` [rad] keeps
    directions and swivels that far from the edge, and distances by that much of the limb's length, as far as the range
    is wide enough.
    """
    head, points, faces, edges, index = model
    distance = norm(position)
    if not (vec_in_extent(position) and math.isfinite(swivel)):
        return position, swivel, 0
    length = head[0]["upper"] + head[0]["lower"]
    n = direction_of(head, position, distance)
    face, w = locate(head, points, faces, index, n)
    changed = 0
    aim = n
    if faces[face]["valid"] == 0:
        aim, face, w, changed = _brought_in(model, n, face, w, smooth)
    if margin > 0.0 and edges.shape[0] > 0:
        aim, face, w, moved = _pulled(model, aim, face, w, margin)
        changed |= moved
    low, high, mid, half = spans(points, faces, face, w)
    reach = distance / length
    allowed = _clamped(reach, min(low + margin, 0.5 * (low + high)), max(high - margin, 0.5 * (low + high)))
    if allowed != reach:
        changed |= DISTANCE
    if changed != 0:
        far = allowed * length
        position = (head[0]["sx"] * aim[0] * far, head[0]["sy"] * aim[1] * far, aim[2] * far)
    if (smooth or bend_radius(head, allowed) >= STRAIGHT) and half < ANY_SWIVEL:
        away = wrap_angle_modulo(swivel - mid)
        inside = _swivel_inside(away, max(half - margin, 0.0), smooth)
        if inside != away:
            return position, wrap_angle_modulo(mid + inside), changed | SWIVEL
    return position, swivel, changed


@kernel
def _brought_in(model: Packed, n: Vec3, face: int, w: Vec3, smooth: bool) -> tuple[Vec3, int, Vec3, int]:
    """Return (direction inside, its triangle and weights, what changed) for a direction in a triangle outside."""
    head, points, faces, edges, index = model
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
def _pulled(model: Packed, n: Vec3, face: int, w: Vec3, margin: float) -> tuple[Vec3, int, Vec3, int]:
    """Return a direction inside, moved from the nearest boundary again and again until it is `margin` [rad] from all.

    Where the region is too narrow for that, it is the one found that was furthest inside.
    """
    head, points, faces, edges, index = model
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
    """Return the value itself when it is inside or on the edge to rounding, else the end it lies beyond."""
    if low - EXACT <= value <= high + EXACT:
        return value
    return low if value < low else high


@kernel
def _swivel_inside(away: float, half: float, smooth: bool) -> float:
    """Return a swivel, measured from the middle, brought into +-half; smooth: the opposite side goes to the middle."""
    if abs(away) <= half + EXACT:
        return away
    fraction = 1.0
    if smooth:
        fraction = min((math.pi - abs(away)) / (FOLD * (math.pi - half)), 1.0)
    return math.copysign(half * fraction, away)


@batch(rows=2048)
def contains_rows(
    n: int,
    model: Packed,
    positions: Floats,
    swivels: Floats,
    with_swivel: bool,
    out: Bools,
) -> None:
    """Fill `out` (N,) with `contains_one` of positions (N, 3) and swivels (N,)."""
    for i in prange(n):
        p = (positions[i, 0], positions[i, 1], positions[i, 2])
        out[i] = contains_one(model, p, swivels[i], with_swivel)


@batch(rows=2048)
def margins_rows(
    n: int,
    model: Packed,
    positions: Floats,
    swivels: Floats,
    out: Floats,
) -> None:
    """Fill `out` (N, 3) with `margins_one` of a batch."""
    for i in prange(n):
        p = (positions[i, 0], positions[i, 1], positions[i, 2])
        out[i, 0], out[i, 1], out[i, 2] = margins_one(model, p, swivels[i])


@batch(rows=2048)
def spans_rows(n: int, model: Packed, toward: Floats, out: Floats) -> None:
    """Fill `out` (N, 5) for directions (N, 3): margin [rad], smallest and largest distance, middle, half width."""
    head, points, faces, _, _ = model
    for i in prange(n):
        d = direction_of(head, (toward[i, 0], toward[i, 1], toward[i, 2]), math.inf)
        inside, face, w = nearest_inside(model, d)
        out[i, 0] = inside
        out[i, 1], out[i, 2], out[i, 3], out[i, 4] = spans(points, faces, face, w)


@batch(rows=2048)
def correct_rows(
    n: int,
    model: Packed,
    positions: Floats,
    swivels: Floats,
    margin: float,
    smooth: bool,
    corrected: Floats,
    corrected_swivels: Floats,
    changed: Ints,
) -> None:
    """Fill the `correct_one` of a batch: positions (N, 3), swivels (N,), bits of what changed (N,)."""
    for i in prange(n):
        p = (positions[i, 0], positions[i, 1], positions[i, 2])
        q, s, bits = correct_one(model, p, swivels[i], margin, smooth)
        for k in range(3):
            corrected[i, k] = q[k]
        corrected_swivels[i], changed[i] = s, bits
