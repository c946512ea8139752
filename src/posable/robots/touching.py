"""How deep a robot's links are in each other."""

from __future__ import annotations

import math

import numpy as np

from ..compute import batch, kernel, prange
from ..compute.types import Floats, Ints, Records, Vec3
from ..math.quaternion import rotate
from ..math.vector import dot, sub
from ..skeleton.forward import quat_at, vec_at, vec_from
from .kernels import closest
from .model import Model


def depths(model: Model, positions: Floats, orientations: Floats, soles: int) -> Floats:
    """Return how deep (F,) the two deepest links are in each other [m]; 0 where nothing touches.

    The thick `soles` that the solver keeps apart, its last links, are none of the robot's.
    """
    real = len(model.links) - soles
    pairs = np.ascontiguousarray(model.pairs[(model.pairs < real).all(axis=1)])
    out = np.zeros(len(positions))
    depth_rows(len(out), model.links, model.shapes, pairs, positions, orientations, out)
    return out


@kernel
def point_at(i: int, j: int, local: Vec3, positions: Floats, orientations: Floats) -> Vec3:
    """Return a point of joint j of frame i in the world."""
    arm, p = rotate(quat_at(orientations, i, j), local), vec_at(positions, i, j)
    return (p[0] + arm[0], p[1] + arm[1], p[2] + arm[2])


@batch(rows=64)
def depth_rows(
    n: int, links: Records, shapes: Records, pairs: Ints, positions: Floats, orientations: Floats, out: Floats
) -> None:
    """Fill row i: how deep the deepest pair of frame i is."""
    for i in prange(n):
        deepest = 0.0
        for p in range(pairs.shape[0]):
            one, other = links[pairs[p, 0]], links[pairs[p, 1]]
            j, k = one["joint"], other["joint"]
            c = sub(
                point_at(i, j, vec_from(one["centre"]), positions, orientations),
                point_at(i, k, vec_from(other["centre"]), positions, orientations),
            )
            near = one["radius"] + other["radius"]
            if dot(c, c) > near * near:
                continue
            for s in range(one["shape"], one["shape_end"]):
                shape = shapes[s]
                a = point_at(i, j, vec_from(shape["start"]), positions, orientations)
                b = point_at(i, j, vec_from(shape["end"]), positions, orientations)
                for t in range(other["shape"], other["shape_end"]):
                    against = shapes[t]
                    e = point_at(i, k, vec_from(against["start"]), positions, orientations)
                    f = point_at(i, k, vec_from(against["end"]), positions, orientations)
                    x, z = closest(a, b, e, f)
                    n_ = sub(x, z)
                    deepest = max(deepest, shape["radius"] + against["radius"] - math.sqrt(dot(n_, n_)))
        out[i] = deepest
