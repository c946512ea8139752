"""The smooth weights of keys: a polyharmonic spline r^3, and the outer keys of a behaviour around the shoulder.

A spline follows its keys and does what it likes beyond them: with three keys in front of the body, it would lean the
body many times over for a hand behind it. On the plane four outer keys enclose the ellipse. In space twelve do the
same, the corners of an icosahedron around every place that a behaviour is asked for; with an octahedron's six, shares
overshoot twice as much. Nobody edits these: their postures are means of the keys', the nearer ones counting most. So
one key gives its posture everywhere, keys on a line or in a plane are as good as any, and far from all keys the nearest
ones' postures hold.
"""

from __future__ import annotations

import math

import numpy as np

from ..compute.types import Floats

LEAST_REACH = 1.0  # [arm lengths]: the outer keys enclose at least what the arm reaches

GOLDEN = (1.0 + math.sqrt(5.0)) / 2.0
CORNERS = np.array(
    [np.roll((0.0, a, b * GOLDEN), k) for k in range(3) for a in (-1.0, 1.0) for b in (-1.0, 1.0)]
) / (GOLDEN**2 / math.sqrt(3.0))  # fmt: skip
"""(12, 3) corners of the icosahedron around the unit ball, the same in a mirror across each axis."""


def spline_of(keys: Floats) -> Floats:
    """(K, K + 4): the weights of the keys (K, 3) at a point are this times (r^3 to each key, 1, x, y, z).

    The spline of least bending through values f at the keys is [phi, p]^T A^-1 [f, 0], and so linear in f. The keys
    must span the plane z = 0 or space, which outer keys see to. Shares of 1e-9 stay exact for keys a degree apart.
    """
    count = len(keys)
    axes = np.flatnonzero(np.ptp(keys, axis=0) > 0.0)  # a plane has no slope across it
    size = count + 1 + len(axes)
    r = np.linalg.norm(keys[:, None] - keys[None], axis=-1)
    system = np.zeros((size, size))
    system[:count, :count] = r**3
    system[:count, count] = system[count, :count] = 1.0
    system[:count, count + 1 :] = keys[:, axes]
    system[count + 1 :, :count] = keys[:, axes].T
    wanted = np.eye(size, count)
    found = np.linalg.solve(system, wanted)
    found += np.linalg.solve(system, wanted - system @ found)  # one step of refinement: keys may be near each other
    out = np.zeros((count, count + 4))
    out[:, : count + 1] = found[: count + 1].T
    out[:, count + 1 + axes] = found[count + 1 :].T
    return out


def reach_of_keys(keys: Floats) -> float:
    """How far from the shoulder keys (K, 3) are asked [arm lengths]; targets beyond are brought to this distance."""
    return max(LEAST_REACH, float(np.linalg.norm(keys, axis=-1).max()))


def outer_keys(keys: Floats) -> tuple[Floats, Floats]:
    """(places (12, 3) of the outer keys around keys (K, 3) in space, shares (12, K) of the keys in their postures)."""
    places = reach_of_keys(keys) * CORNERS
    shares = np.linalg.norm(places[:, None] - keys[None], axis=-1) ** -4.0
    return places, shares / shares.sum(axis=-1, keepdims=True)
