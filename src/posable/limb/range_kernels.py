"""Kernels of `LimbRange`: is a limb's pose one that people take, how far from the edge, and the nearest that is.

A direction from the base joint to the end falls into a triangle of the sphere (`range_locate`); the triangle says
whether people reach there, and its corners between which distances and swivels (Mukai, 2.2; specification limb-range,
sections 3 and 4).

The correction to the nearest point must jump: where two points of the boundary are equally near, behind the body, an
arbitrarily small step of the target changes from one to the other. No continuous map can put everything outside onto
the boundary alone (there is no retraction of a disc onto its rim), so the smooth correction lets targets from deep
outside go to the inside: outside and inside are both laid out on the same disc, rim on rim, the outside is folded over
the inside, and its middle part is spread over all of it (`folded`).
"""

from __future__ import annotations

import math

from ..compute import batch, kernel, prange
from ..compute.types import Bools, Floats, Ints, Records, Vec3
from ..math.vector import norm, reject, unit
from .range_locate import (
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
    walk,
    wrapped,
)

DIRECTION, DISTANCE, SWIVEL = 1, 2, 4  # what a correction changed: bits

ANY_SWIVEL = math.pi - 1e-9
FOLD = 0.5  # how much of the disc's radius is spread over the inside; the rest goes to the rim
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
        away = wrapped(swivel - mid)
        inside = _turned_in(away, max(half - margin, 0.0), smooth)
        if inside != away:
            return position, wrapped(mid + inside), changed | SWIVEL
    return position, swivel, changed


@kernel
def contains_one(
    head: Records,
    points: Records,
    faces: Records,
    edges: Records,
    index: Ints,
    position: Vec3,
    swivel: float,
    judged: bool,
) -> bool:
    """Whether a limb's end may be at `position` [m] with this swivel [rad], which counts only when `judged`."""
    distance = norm(position)
    if not (math.isfinite(distance) and (math.isfinite(swivel) or not judged)):
        return False
    if head[0]["on"] == 0:
        return True
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
    return not judged or straight or half >= ANY_SWIVEL or abs(wrapped(swivel - mid)) <= half + EXACT


@kernel
def margins_one(
    head: Records, points: Records, faces: Records, edges: Records, index: Ints, position: Vec3, swivel: float
) -> Vec3:
    """(direction [rad], distance [m], swivel [rad]): how far inside, negative outside; pi where nothing limits it.

    Outside the region, distance and swivel are judged as at its nearest point.
    """
    distance = norm(position)
    if not (math.isfinite(distance) and math.isfinite(swivel)):
        return (-math.inf, -math.inf, -math.inf)
    if head[0]["on"] == 0:
        return (math.pi, math.inf, math.pi)
    length = head[0]["upper"] + head[0]["lower"]
    n = direction_of(head, position, distance)
    face, w = locate(head, points, faces, index, n)
    inside = math.pi
    if edges.shape[0] > 0:
        edge, inside, p = nearest_edge(head, edges, index, face, n)
        if faces[face]["valid"] == 0:
            inside = -inside
            face, w = edges[edge]["face"], corner_weights(points, faces, edges[edge]["face"], p)
    low, high, mid, half = spans(points, faces, face, w)
    reach = distance / length
    turn = math.pi
    if bend_radius(head, reach) >= STRAIGHT and half < ANY_SWIVEL:
        turn = half - abs(wrapped(swivel - mid))
    return (inside, min(reach - low, high - reach) * length, turn)


# Bringing it in


@kernel
def folded(head: Records, points: Records, faces: Records, index: Ints, face: int, w: Vec3) -> tuple[int, Vec3]:
    """(triangle inside, weights) over which the smooth correction lays a point of a triangle outside."""
    row = faces[face]
    a, b, c = points[row["a"]], points[row["b"]], points[row["c"]]
    u = w[0] * a["u"] + w[1] * b["u"] + w[2] * c["u"]
    v = w[0] * a["v"] + w[1] * b["v"] + w[2] * c["v"]
    radius = math.hypot(u, v)
    if radius > 0.0:
        # The rim is a regular polygon, the first corner at angle 0; a little inside, so that it belongs to the range.
        side = 2.0 * math.pi / head[0]["corners"]
        angle = math.atan2(v, u)
        across: float = angle - side * math.floor(angle / side) - 0.5 * side
        rim = math.cos(0.5 * side) / math.cos(across) * (1.0 - CLOSED)
        grow = min(1.0 / FOLD, rim / radius)
        u, v = u * grow, v * grow
    size = head[0]["flat_grid"]
    i = min(max(int((u + 1.0) * 0.5 * size), 0), size - 1)
    j = min(max(int((v + 1.0) * 0.5 * size), 0), size - 1)
    return walk_flat(points, faces, index[head[0]["flat_at"] + j * size + i], u, v)


@kernel
def walk_flat(points: Records, faces: Records, start: int, u: float, v: float) -> tuple[int, Vec3]:
    """(triangle of the range, weights) that lies at a place of the disc, by walking from another one.

    The disc's triangles are not Delaunay's, so that the walk may run in a circle; then all are looked at.
    """
    face = start
    for _ in range(200):
        w = _flat_weights(points, faces, face, u, v)
        least = min(w[0], w[1], w[2])
        if least >= -1e-12:
            return face, w
        row = faces[face]
        beyond = row["na"] if w[0] == least else (row["nb"] if w[1] == least else row["nc"])
        if faces[beyond]["valid"] == 0:
            break
        face = beyond
    best, best_least, weights = face, -math.inf, (1.0, 0.0, 0.0)
    for k in range(faces.shape[0]):
        if faces[k]["valid"] != 0:
            w = _flat_weights(points, faces, k, u, v)
            least = min(w[0], w[1], w[2])
            if least > best_least:
                best, best_least, weights = k, least, w
    return best, weights


@kernel
def _flat_weights(points: Records, faces: Records, face: int, u: float, v: float) -> Vec3:
    row = faces[face]
    a, b, c = points[row["a"]], points[row["b"]], points[row["c"]]
    bu, bv, cu, cv = b["u"] - a["u"], b["v"] - a["v"], c["u"] - a["u"], c["v"] - a["v"]
    area = bu * cv - bv * cu
    if area == 0.0:
        return (-math.inf, 0.0, 0.0)
    du, dv = u - a["u"], v - a["v"]
    second, third = (du * cv - dv * cu) / area, (bu * dv - bv * du) / area
    return (1.0 - second - third, second, third)


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


# Batches


@batch(rows=2048)
def contains_rows(
    n: int,
    head: Records,
    points: Records,
    faces: Records,
    edges: Records,
    index: Ints,
    positions: Floats,
    swivels: Floats,
    judged: bool,
    out: Bools,
) -> None:
    """`contains_one` over a batch of positions (N, 3) and swivels (N,)."""
    for i in prange(n):
        p = (positions[i, 0], positions[i, 1], positions[i, 2])
        out[i] = contains_one(head, points, faces, edges, index, p, swivels[i], judged)


@batch(rows=2048)
def margins_rows(
    n: int,
    head: Records,
    points: Records,
    faces: Records,
    edges: Records,
    index: Ints,
    positions: Floats,
    swivels: Floats,
    out: Floats,
) -> None:
    """`margins_one` over a batch: out (N, 3)."""
    for i in prange(n):
        p = (positions[i, 0], positions[i, 1], positions[i, 2])
        told = margins_one(head, points, faces, edges, index, p, swivels[i])
        for k in range(3):
            out[i, k] = told[k]


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


@batch(rows=2048)
def spans_rows(
    n: int, head: Records, points: Records, faces: Records, edges: Records, index: Ints, toward: Floats, out: Floats
) -> None:
    """What the range says of directions (N, 3): out (N, 5) margin [rad], least and largest distance, middle, half."""
    for i in prange(n):
        d = direction_of(head, (toward[i, 0], toward[i, 1], toward[i, 2]), math.inf)
        face, w = locate(head, points, faces, index, d)
        inside = math.pi
        if edges.shape[0] > 0:
            edge, inside, p = nearest_edge(head, edges, index, face, d)
            if faces[face]["valid"] == 0:
                inside = -inside
                face, w = edges[edge]["face"], corner_weights(points, faces, edges[edge]["face"], p)
        out[i, 0] = inside
        out[i, 1], out[i, 2], out[i, 3], out[i, 4] = spans(points, faces, face, w)


@batch(rows=1 << 30)
def locate_rows(n: int, points: Records, faces: Records, toward: Floats, out: Ints) -> None:
    """The triangle of each direction (N, 3), with no grid yet: for building it."""
    for i in prange(n):
        face, _ = walk(points, faces, 0, (toward[i, 0], toward[i, 1], toward[i, 2]))
        out[i] = face


@batch(rows=1 << 30)
def locate_flat_rows(n: int, points: Records, faces: Records, start: int, places: Floats, out: Ints) -> None:
    """The triangle of the range at each place (N, 2) of the disc: for building its grid."""
    for i in prange(n):
        face, _ = walk_flat(points, faces, start, places[i, 0], places[i, 1])
        out[i] = face
