"""Random volumes and obstacles, as our rows and as the shapes of `coal`, an independent judge."""

import numpy as np

from posable.collision.kernels import KINDS, OBSTACLE, depth, gap, limb_touching, overlaps
from posable.collision.volumes import PACKED
from posable.compute import batch, prange
from posable.skeleton.forward import quat_at, vec_at


def turns(rng, n):
    q = rng.normal(size=(n, 4))
    return q / np.linalg.norm(q, axis=-1, keepdims=True)


def matrix(q):
    w, x, y, z = q
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def volumes(rng, kind, n, tapered=False):
    """n volumes of a kind, each long up to 0.8 m and thick up to 0.5 m, about their joint's origin."""
    rows = np.zeros(n, PACKED)
    rows["kind"] = ("capsule", "ellipsoid").index(kind)
    rows["rotation"] = turns(rng, n)
    if kind == "ellipsoid":
        rows["radii"] = rng.uniform(0.03, 0.5, (n, 3))
        rows["start"] = rows["end"] = rng.normal(scale=0.1, size=(n, 3))
    else:
        half = 0.5 * rng.uniform(0.05, 0.8, (n, 1)) * np.array([matrix(q)[:, 2] for q in rows["rotation"]])
        rows["start"], rows["end"] = -half, half
        radii = rng.uniform(0.02, 0.3, (n, 2))
        rows["radii"][:, 0] = radii[:, 0]
        rows["radii"][:, 1] = radii[:, 1] if tapered else radii[:, 0]
    rows["bound"] = 0.5 * np.linalg.norm(rows["end"] - rows["start"], axis=-1) + rows["radii"].max(axis=-1)
    return rows


def obstacles(rng, kind, n, tapered=False):
    rows = np.zeros(n, OBSTACLE)
    rows["kind"] = KINDS.index(kind)
    q, centre, size = turns(rng, n), rng.normal(scale=0.35, size=(n, 3)), rng.uniform(0.03, 0.5, (n, 3))
    start = end = centre
    if kind == "capsule":
        half = 0.5 * rng.uniform(0.05, 0.8, (n, 1)) * np.array([matrix(turn)[:, 2] for turn in q])
        start, end = centre - half, centre + half
        size = size * 0.6
        size[:, 1] = size[:, 1] if tapered else size[:, 0]
        size[:, 2] = 0.0
    elif kind == "sphere":
        size = np.stack([size[:, 0], size[:, 0], np.zeros(n)], axis=-1)
    elif kind == "plane":
        end = np.array([matrix(turn)[:, 2] for turn in q])
    rows["bound"] = 0.5 * np.linalg.norm(end - start, axis=-1) + np.linalg.norm(size, axis=-1)
    for name, values in (("p", start), ("e", end), ("r", size)):
        for axis, column in zip("xyz", values.T, strict=True):
            rows[name + axis] = column
    for axis, column in zip("wxyz", q.T, strict=True):
        rows["q" + axis] = column
    return rows


def three(row, name):
    return np.array([row[name + axis] for axis in "xyz"])


def shape(coal, row):
    """(geometry, transform) of an obstacle row whose radii do not taper."""
    kind, centre = KINDS[row["kind"]], three(row, "p")
    turn, r = matrix([row["q" + axis] for axis in "wxyz"]), three(row, "r")
    if kind == "capsule":
        return capsule(coal, centre, three(row, "e"), r[0])
    if kind == "plane":
        normal = three(row, "e")
        return coal.Halfspace(normal, float(normal @ centre)), coal.Transform3s(np.eye(3), np.zeros(3))
    made = {
        "ellipsoid": lambda: coal.Ellipsoid(*r),
        "sphere": lambda: coal.Sphere(r[0]),
        "box": lambda: coal.Box(*(2 * r)),
    }[kind]()
    return made, coal.Transform3s(turn, centre)


def capsule(coal, start, end, radius):
    along = end - start
    length = np.linalg.norm(along)
    z = along / length
    x = np.cross(z, np.eye(3)[np.argmin(np.abs(z))])
    x /= np.linalg.norm(x)
    turn = np.stack([x, np.cross(z, x), z], axis=-1)
    return coal.Capsule(radius, length), coal.Transform3s(turn, 0.5 * (start + end))


def volume_shape(coal, row, p, q):
    turn = matrix(q)
    start, end = (p + turn @ row[field] for field in ("start", "end"))
    if row["kind"] == 1:
        return coal.Ellipsoid(*row["radii"]), coal.Transform3s(turn @ matrix(row["rotation"]), start)
    return capsule(coal, start, end, row["radii"][0])


@batch
def gap_rows(n, volumes, p, q, obstacles, out):
    for i in prange(n):
        position, orientation = (p[i, 0], p[i, 1], p[i, 2]), (q[i, 0], q[i, 1], q[i, 2], q[i, 3])
        distance, n_gap = gap(volumes[i], position, orientation, obstacles[i])
        deep, n_out = depth(volumes[i], position, orientation, obstacles[i])
        out[i, 0], out[i, 4] = distance, deep
        for k in range(3):
            out[i, 1 + k], out[i, 5 + k] = n_gap[k], n_out[k]


@batch
def overlap_rows(n, volumes, p, q, obstacles, margin, out):
    for i in prange(n):
        position, orientation = (p[i, 0], p[i, 1], p[i, 2]), (q[i, 0], q[i, 1], q[i, 2], q[i, 3])
        out[i] = overlaps(volumes[i], position, orientation, obstacles[i], margin)


@batch
def limb_touching_rows(n, links, groups, orientations, positions, obstacles, margin, out):
    """Of orientations (N, 3, 4) of base, mid and end, and positions (N, 2, 3) of mid and end."""
    for i in prange(n):
        base, mid, end = quat_at(orientations, i, 0), quat_at(orientations, i, 1), quat_at(orientations, i, 2)
        mid_position, end_position = vec_at(positions, i, 0), vec_at(positions, i, 1)
        out[i] = limb_touching(links, groups, base, mid_position, mid, end_position, end, obstacles, margin)


def gaps(rows, p, q, walls):
    """(gap, direction (3), depth, direction (3)) of each volume and obstacle."""
    out = np.empty((len(rows), 8))
    gap_rows(len(rows), rows, p, q, walls, out)
    return out


def overlapping(rows, p, q, walls, margin):
    out = np.empty(len(rows), np.bool_)
    overlap_rows(len(rows), rows, p, q, walls, margin, out)
    return out
