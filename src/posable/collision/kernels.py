"""Distance of two placed volumes, how far one has to move out of the other, and obstacles in other frames.

Body volumes are rounded cones and ellipsoids (`volumes.PACKED`), obstacles also spheres, boxes and half spaces, as
rows of `OBSTACLE` in one common frame.

Distances between shapes that do not touch are exact for all pairs, and so is whether they touch (to 1e-12 m). Depths
are exact for spheres and planes, for rounded cones whose axes do not cross, and for capsules (equal radii) against
boxes; elsewhere `depth` is the shortest separation among directions that were tried: moving that far always
separates, a shorter move may exist.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..compute import batch, kernel, prange
from ..compute.types import Bools, Floats, Quat, Records, Vec3
from ..math.quaternion import conj, mul, rotate, rotate_inverse, unit_quat
from ..math.vector import any_perpendicular, cross, dot, norm, reject, unit
from ..skeleton.forward import quat_at, vec_at
from .ellipsoids import ellipsoid_box, ellipsoid_ellipsoid, face_normal
from .surfaces import BOX, CAPSULE, ELLIPSOID, PLANE, SPHERE, Shape, cone_cone, cone_of, cone_surface, point_box

OBSTACLE = np.dtype(
    [("kind", "i8"), ("source", "i8"), ("spares", "i8")]
    + [(name, "f8") for name in ("px", "py", "pz", "ex", "ey", "ez")]  # both centres; a plane: a point, its normal
    + [(name, "f8") for name in ("qw", "qx", "qy", "qz", "rx", "ry", "rz", "bound", "softness")],
    align=True,
)
"""An obstacle in the frame of a query: capsule (two centres, two radii), ellipsoid (half-axes), sphere, box (half
sizes) or plane (solid below it). `source` is its origin: a scene's obstacle number, or -1 - v for volume v of
the body. `spares` is a set of bits: links of a limb that need not keep out of it. `bound` is the radius of a ball about
the middle of both centres that contains it. `softness` is how far others may sink into it before that counts [m]: flesh
yields, tables do not."""

GROUP = np.dtype(
    [("first", "i8"), ("last", "i8"), ("bits", "i8")] + [(name, "f8") for name in ("x", "y", "z", "bound")], align=True
)
"""Links first to last - 1 on one joint of a limb: their bits, and a ball around them in the joint's frame."""

KINDS = ("capsule", "ellipsoid", "sphere", "box", "plane")

__all__ = [
    "BOX",
    "CAPSULE",
    "ELLIPSOID",
    "GROUP",
    "KINDS",
    "OBSTACLE",
    "PLANE",
    "SPHERE",
    "depth",
    "gap",
    "limb_touching",
    "overlaps",
]


@kernel
def overlaps(volume: Any, p: Vec3, q: Quat, obstacle: Any, margin: float) -> bool:
    """Return whether a volume, placed by (p, q), comes nearer to an obstacle than `margin` [m].

    Below 0: whether it sinks in deeper. The obstacle's `softness` is taken off the margin.
    """
    margin -= obstacle["softness"]
    if _far(volume, p, q, obstacle, margin):
        return False
    distance, _ = shapes_gap(placed(volume, p, q), shape_of(obstacle), margin)
    return distance < margin


@kernel
def gap(volume: Any, p: Vec3, q: Quat, obstacle: Any) -> tuple[float, Vec3]:
    """Return (signed distance [m] of a placed volume to an obstacle, unit direction out of the obstacle).

    Below zero it is how deep the deepest of a rounded cone's balls lies, which is never more than `depth`; of an
    ellipsoid in an ellipsoid or a box, the separation that was found first.
    """
    return shapes_gap(placed(volume, p, q), shape_of(obstacle), math.nan)


@kernel
def depth(volume: Any, p: Vec3, q: Quat, obstacle: Any) -> tuple[float, Vec3]:
    """Return (how far [m] a placed volume must move to be out of an obstacle, unit direction in which to move it).

    Below zero: the distance between them, negative.
    """
    one, other = placed(volume, p, q), shape_of(obstacle)
    distance, n = shapes_gap(one, other, math.nan)
    if distance > 0.0:
        return -distance, n
    best, best_n = _overlap_along(one, other, n), n
    if other[0] == PLANE:
        return best, best_n
    axis = (other[2][0] - other[1][0], other[2][1] - other[1][1], other[2][2] - other[1][2])
    if one[0] == CAPSULE:
        axis = (one[2][0] - one[1][0], one[2][1] - one[1][1], one[2][2] - one[1][2])
    axis = unit(axis)
    for k in range(14):
        candidate = _candidate(k, other, n, axis)
        if dot(candidate, candidate) > 0.5:
            separation = _overlap_along(one, other, candidate)
            if separation < best:
                best, best_n = separation, candidate
    return best, best_n


@kernel
def placed(volume: Any, p: Vec3, q: Quat) -> Shape:
    """Return the shape of a row of `volumes.PACKED`, carried by a joint at p with orientation q."""
    start, end, r, s = volume["start"], volume["end"], volume["radii"], volume["rotation"]
    a = rotate(q, (start[0], start[1], start[2]))
    a = (a[0] + p[0], a[1] + p[1], a[2] + p[2])
    radii = (r[0], r[1], r[2])
    if volume["kind"] == ELLIPSOID:
        return ELLIPSOID, a, a, mul(q, (s[0], s[1], s[2], s[3])), radii
    b = rotate(q, (end[0], end[1], end[2]))
    return CAPSULE, a, (b[0] + p[0], b[1] + p[1], b[2] + p[2]), q, radii


@kernel
def shape_of(row: Any) -> Shape:
    """Return the shape of a row of `OBSTACLE`."""
    return (
        row["kind"],
        (row["px"], row["py"], row["pz"]),
        (row["ex"], row["ey"], row["ez"]),
        (row["qw"], row["qx"], row["qy"], row["qz"]),
        (row["rx"], row["ry"], row["rz"]),
    )


@kernel
def shapes_gap(one: Shape, other: Shape, stop: float) -> tuple[float, Vec3]:
    """Return (signed distance [m], unit direction out of the other); `stop`: see `surfaces.cone_surface`."""
    kind = other[0]
    if kind == PLANE:
        n = other[2]
        return -dot(n, other[1]) - _reach(one, (-n[0], -n[1], -n[2])), n
    if one[0] == CAPSULE:
        cone = cone_of(one[1], one[2], one[4][0], one[4][1])
        if kind in (CAPSULE, SPHERE):
            return cone_cone(cone, cone_of(other[1], other[2], other[4][0], other[4][1]))
        return cone_surface(cone, other, stop)
    if kind in (CAPSULE, SPHERE):
        distance, n = cone_surface(cone_of(other[1], other[2], other[4][0], other[4][1]), one, stop)
        return distance, (-n[0], -n[1], -n[2])
    if kind == BOX:
        return ellipsoid_box(one, other, stop)
    return ellipsoid_ellipsoid(one, other, stop)


@kernel
def apart(one: Shape, other: Shape, margin: float) -> bool:
    """Return whether two shapes are further than `margin` [m] apart along the line between their middles.

    Where they are, they are so in all directions: it settles most of what balls around them leave open.
    """
    a, b, c, d = one[1], one[2], other[1], other[2]
    n = (a[0] + b[0] - c[0] - d[0], a[1] + b[1] - c[1] - d[1], a[2] + b[2] - c[2] - d[2])
    size = math.sqrt(dot(n, n))
    if other[0] == PLANE or size == 0.0:
        return False
    return -_overlap_along(one, other, (n[0] / size, n[1] / size, n[2] / size)) > margin


@kernel
def _far(volume: Any, p: Vec3, q: Quat, obstacle: Any, margin: float) -> bool:
    """Return whether a ball around the volume keeps away from an obstacle: the cheap test that settles most."""
    start, end = volume["start"], volume["end"]
    middle = (0.5 * (start[0] + end[0]), 0.5 * (start[1] + end[1]), 0.5 * (start[2] + end[2]))
    return ball_far(middle, p, q, volume["bound"] + margin, obstacle)


@kernel
def ball_far(centre: Vec3, p: Vec3, q: Quat, radius: float, obstacle: Any) -> bool:
    """Return whether a ball, placed by (p, q), keeps away from an obstacle, or from a ball around it."""
    c = rotate(q, centre)
    return placed_ball_far((c[0] + p[0], c[1] + p[1], c[2] + p[2]), radius, obstacle)


@kernel
def placed_ball_far(c: Vec3, radius: float, obstacle: Any) -> bool:
    """Return `ball_far` of a ball in the obstacle's own frame; never with a radius of NaN."""
    a, b = (obstacle["px"], obstacle["py"], obstacle["pz"]), (obstacle["ex"], obstacle["ey"], obstacle["ez"])
    x = (c[0] - a[0], c[1] - a[1], c[2] - a[2])
    kind = obstacle["kind"]
    if kind == PLANE:
        return dot(x, b) > radius
    if kind == BOX:
        orientation = (obstacle["qw"], obstacle["qx"], obstacle["qy"], obstacle["qz"])
        away, _ = point_box(rotate_inverse(orientation, x), (obstacle["rx"], obstacle["ry"], obstacle["rz"]))
        return away > radius
    d = (x[0] - 0.5 * (b[0] - a[0]), x[1] - 0.5 * (b[1] - a[1]), x[2] - 0.5 * (b[2] - a[2]))
    near = radius + obstacle["bound"]
    return bool(near < 0.0 or dot(d, d) > near * near)


@kernel
def _reach(shape: Shape, n: Vec3) -> float:
    """Return how far a capsule, sphere, ellipsoid or box reaches along n [m]: its support function."""
    kind, a, b, q, r = shape
    if kind in (CAPSULE, SPHERE):
        return max(dot(n, a) + r[0], dot(n, b) + r[1])
    local = rotate_inverse(q, n)
    if kind == BOX:
        return dot(n, a) + abs(local[0]) * r[0] + abs(local[1]) * r[1] + abs(local[2]) * r[2]
    return dot(n, a) + norm((local[0] * r[0], local[1] * r[1], local[2] * r[2]))


@kernel
def _overlap_along(one: Shape, other: Shape, n: Vec3) -> float:
    """Return how far the one has to move along n to be clear of the other [m]."""
    if other[0] == PLANE:
        return dot(n, other[1]) + _reach(one, (-n[0], -n[1], -n[2]))
    return _reach(other, n) + _reach(one, (-n[0], -n[1], -n[2]))


@kernel
def _candidate(k: int, other: Shape, n: Vec3, axis: Vec3) -> Vec3:
    """Return a direction that may separate sooner: across the axis, of a box's faces, across the axis and its edges."""
    if k < 2:
        across = unit(reject(n, axis))
        if dot(across, across) < 0.5:
            across = any_perpendicular(axis)
        return across if k == 0 else unit(cross(axis, n))
    sign = float(k % 2 * 2 - 1)
    which = (k - 2) // 2
    edge = rotate(other[3], face_normal(which % 3, sign))
    if which < 3:
        return edge
    return unit(cross(edge, axis))


@kernel
def limb_touching(
    links: Records,
    groups: Records,
    base: Quat,
    mid: Vec3,
    mid_orientation: Quat,
    end: Vec3,
    end_orientation: Quat,
    obstacles: Records,
    margin: float,
) -> int:
    """Return the first obstacle that a link of a limb comes nearer to than `margin` [m], or -1.

    Args:
        links: (L,) rows of `volumes.PACKED`. Link k leaves an obstacle alone when bit k of its `spares` is set.
        groups: (3,) rows of `GROUP`: the links on the base, mid and end joint.
        base: orientation of the base joint, which lies at the origin of the limb's frame.
        mid: position of the mid joint [m].
        mid_orientation: orientation of the mid joint, its twist included.
        end: position of the end joint [m].
        end_orientation: orientation of the end joint.
        obstacles: (O,) rows of `OBSTACLE` in the limb's frame.
        margin: see `overlaps`.
    """
    for g in range(groups.shape[0]):
        p, q = (0.0, 0.0, 0.0), base
        if g == 1:
            p, q = mid, mid_orientation
        elif g == 2:
            p, q = end, end_orientation
        group = groups[g]
        centre = (group["x"], group["y"], group["z"])
        for o in range(obstacles.shape[0]):
            obstacle = obstacles[o]
            allowed = obstacle["spares"]
            if allowed & group["bits"] == group["bits"] or ball_far(centre, p, q, group["bound"] + margin, obstacle):
                continue
            for k in range(group["first"], group["last"]):
                if (allowed >> k) & 1 == 0 and overlaps(links[k], p, q, obstacle, margin):
                    return o
    return -1


@batch(rows=2048)
def all_overlap_rows(
    n: int, volumes: Records, p: Floats, q: Floats, obstacles: Records, margin: float, out: Bools
) -> None:
    """Fill row i: which obstacles volume i, carried by a joint of p (J, 3) and q (J, 4), is nearer to than `margin`."""
    for i in prange(n):
        j = volumes[i]["joint"]
        position, orientation = (p[j, 0], p[j, 1], p[j, 2]), (q[j, 0], q[j, 1], q[j, 2], q[j, 3])
        for o in range(obstacles.shape[0]):
            out[i, o] = overlaps(volumes[i], position, orientation, obstacles[o], margin)


@batch(rows=2048)
def all_gap_rows(n: int, volumes: Records, p: Floats, q: Floats, obstacles: Records, out: Floats) -> None:
    """Fill row i: the gaps of volume i, carried by a joint of p (J, 3) and q (J, 4), to all obstacles [m]."""
    for i in prange(n):
        j = volumes[i]["joint"]
        position, orientation = (p[j, 0], p[j, 1], p[j, 2]), (q[j, 0], q[j, 1], q[j, 2], q[j, 3])
        for o in range(obstacles.shape[0]):
            out[i, o], _ = gap(volumes[i], position, orientation, obstacles[o])


def volume_obstacles(
    volumes: Records, positions: Floats, orientations: Floats, origin: Floats, frame: Floats
) -> Records:
    """Return body volumes as obstacles in a frame: (..., V) rows of `OBSTACLE` with `source` -1 - v.

    Args:
        volumes: (V,) rows of `volumes.PACKED`.
        positions: (..., J, 3) of all joints in the world [m].
        orientations: (..., J, 4).
        origin: (..., 3) position of the frame in the world [m].
        frame: (..., 4) its orientation.
    """
    shape, count = positions.shape[:-2], positions.shape[-2]
    n = math.prod(shape)
    out = np.zeros((n, len(volumes)), OBSTACLE)
    place_rows(
        n, volumes, *_flat(n, (positions, count, 3), (orientations, count, 4), (origin, 1, 3), (frame, 1, 4)), out
    )
    return out.reshape(*shape, len(volumes))


def in_frame(obstacles: Records, origin: Floats, frame: Floats) -> Records:
    """Return obstacles (O,) of the world in a frame, or in each of a batch of frames: (..., O) rows."""
    shape = origin.shape[:-1]
    n = math.prod(shape)
    out = np.empty((n, len(obstacles)), OBSTACLE)
    move_rows(n, obstacles, *_flat(n, (origin, 1, 3), (frame, 1, 4)), out)
    return out.reshape(*shape, len(obstacles))


def _flat(n: int, *arrays: tuple[Floats, int, int]) -> list[Floats]:
    return [np.ascontiguousarray(array, dtype=np.float64).reshape(n, rows, width) for array, rows, width in arrays]


@kernel
def set_shape(row: Any, shape: Shape) -> None:
    """Write a shape into a row of `OBSTACLE`."""
    row["kind"] = shape[0]
    row["px"], row["py"], row["pz"] = shape[1]
    row["ex"], row["ey"], row["ez"] = shape[2]
    row["qw"], row["qx"], row["qy"], row["qz"] = shape[3]
    row["rx"], row["ry"], row["rz"] = shape[4]


@kernel
def seen_from(shape: Shape, origin: Vec3, frame: Quat) -> Shape:
    """Return a shape of the world in a frame."""
    kind, a, b, q, r = shape
    a = rotate_inverse(frame, (a[0] - origin[0], a[1] - origin[1], a[2] - origin[2]))
    if kind == PLANE:
        b = rotate_inverse(frame, b)
    else:
        b = rotate_inverse(frame, (b[0] - origin[0], b[1] - origin[1], b[2] - origin[2]))
    return kind, a, b, unit_quat(mul(conj(frame), q)), r


@batch(rows=512)
def place_rows(
    n: int, volumes: Records, positions: Floats, orientations: Floats, origin: Floats, frame: Floats, out: Records
) -> None:
    """Fill row i: all volumes, carried by the joints of pose i, in frame i."""
    for i in prange(n):
        o, f = vec_at(origin, i, 0), quat_at(frame, i, 0)
        for v in range(volumes.shape[0]):
            joint = volumes[v]["joint"]
            shape = placed(volumes[v], vec_at(positions, i, joint), quat_at(orientations, i, joint))
            set_shape(out[i, v], seen_from(shape, o, f))
            out[i, v]["source"] = -1 - v
            out[i, v]["bound"] = volumes[v]["bound"]


@batch(rows=512)
def move_rows(n: int, obstacles: Records, origin: Floats, frame: Floats, out: Records) -> None:
    """Fill row i: all obstacles in frame i."""
    for i in prange(n):
        o, f = vec_at(origin, i, 0), quat_at(frame, i, 0)
        for k in range(obstacles.shape[0]):
            set_shape(out[i, k], seen_from(shape_of(obstacles[k]), o, f))
            out[i, k]["source"], out[i, k]["spares"] = obstacles[k]["source"], obstacles[k]["spares"]
            out[i, k]["bound"], out[i, k]["softness"] = obstacles[k]["bound"], obstacles[k]["softness"]
