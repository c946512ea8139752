"""Pelvis and spine as the network of a prior says them, and a spine bent until its chord is as long as it must be, in
compiled code.
"""

from __future__ import annotations

import math

from ..compute import kernel
from ..compute.types import Floats, Quat, Vec3
from ..math.quaternion import between, exp, log, mul, rotate
from ..math.vector import add, cross, dot, norm, reject, scale, unit
from ..skeleton.forward import quat_at, set_quat, vec_at
from .packed import Figure, Rows, set_vec, vec_from
from .prior_kernels import CHAIN, Prediction, predicted
from .prior_layout import AXES, BENDS
from .spine import about_y

SEARCHES, EXACT = 32, 1e-12  # steps for the spine's length; [m]
MOST_BENT = 16.0  # the square of how many times the network's bend a spine is bent by at most
ROTATED = 6  # joints of the spine above the hips that it knows


@kernel
def said_in_world(prediction: Prediction, at: int) -> Vec3:
    """Return a vector that the network says, in the world."""
    x, y, work = prediction
    v, z = predicted(work, at), cross(x, y)
    return (
        x[0] * v[0] + y[0] * v[1] + z[0] * v[2],
        x[1] * v[0] + y[1] * v[1] + z[1] * v[2],
        x[2] * v[0] + y[2] * v[1] + z[2] * v[2],
    )


@kernel
def pelvis_said(prediction: Prediction) -> Quat:
    """Return the pelvis' orientation as the network says, in the world."""
    return pelvis_of(said_in_world(prediction, AXES), said_in_world(prediction, AXES + 3))


@kernel
def pelvis_of(side: Vec3, up: Vec3) -> Quat:
    """Return the orientation whose X is along `side`, and whose Y is as near to `up` as that allows."""
    x = unit(side)
    y = unit(reject(up, x))
    if norm(x) < 0.5 or norm(y) < 0.5:
        x, y = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)
    return mul(between((0.0, 1.0, 0.0), y), about_y(x, y))


@kernel
def chain_bends(work: Floats) -> None:
    """Fill in the orientations of the network's spine in the pelvis' frame, from the hips up."""
    q = (1.0, 0.0, 0.0, 0.0)
    for k in range(ROTATED + 1):
        if k > 0:
            q = mul(q, exp(predicted(work, BENDS + 3 * (k - 1))))
        for c in range(4):
            work[CHAIN + 4 * k + c] = q[c]


@kernel
def bend_of(work: Floats, joint: int) -> Quat:
    """Return one of them; 0 is the hips."""
    at = CHAIN + 4 * joint
    return (work[at], work[at + 1], work[at + 2], work[at + 3])


@kernel
def fit_length(i: int, figure: Figure, rows: Rows, length: float) -> Vec3:
    """Rotate the segments of a spine in the pelvis' frame towards its chord, or away from it, each by the same fraction
    s of its angle (-3 to 1), until the chord has a length [m]; return the chord.

    The length falls nearly evenly with u = (1 - s)^2, so Newton's method in that finds it within a few steps.
    """
    out, last = rows.trunk, figure.spine.shape[0] - 1
    chord, change, above = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), 0.0
    for k in range(last):
        chord = add(chord, rotate(quat_at(out, i, k), vec_from(figure.spine[k + 1]["offset"])))
    for k in range(1, last):
        step = rotate(quat_at(out, i, k), vec_from(figure.spine[k + 1]["offset"]))
        displacement = displacement_between(step, chord)
        set_vec(rows.spine, i, k, displacement)
        change, above = add(change, cross(displacement, step)), above + norm(step)
    value, u, low, high = norm(chord) - length, 1.0, 1.0, math.inf
    if value < 0.0:
        first = rotate(quat_at(out, i, 0), vec_from(figure.spine[1]["offset"]))
        if norm(add(first, scale(unit(chord), above))) <= length:
            return straighten(i, figure, rows, first, above, chord, length)
        low, high = 0.0, 1.0
    for _ in range(SEARCHES):
        if abs(value) < EXACT:
            break
        if value > 0.0:
            low = u
        else:
            high = u
        if low >= MOST_BENT:
            break
        newton = u + value * 2.0 * math.sqrt(u) * norm(chord) / dot(chord, change)
        if low < newton < min(high, MOST_BENT):
            u = newton
        else:
            u = MOST_BENT if high > MOST_BENT else 0.5 * (low + high)
        chord, change = chord_when(i, figure, rows, 1.0 - math.sqrt(u))
        value = norm(chord) - length
    rotation = (1.0, 0.0, 0.0, 0.0)
    for k in range(1, last + 1):
        if k < last:
            rotation = exp(scale(vec_at(rows.spine, i, k), 1.0 - math.sqrt(u)))
        set_quat(out, i, k, mul(rotation, quat_at(out, i, k)))
    return chord


@kernel
def displacement_between(a: Vec3, b: Vec3) -> Vec3:
    """Return the rotation vector of the smallest rotation of the direction of a to that of b."""
    axis, cosine = cross(a, b), dot(a, b)
    sine = norm(axis)
    if sine <= 1e-6 * abs(cosine):  # the cross product has lost its digits, or a half turn has no axis
        return log(between(a, b))
    return scale(axis, math.atan2(sine, cosine) / sine)


@kernel
def chord_when(i: int, figure: Figure, rows: Rows, fraction: float) -> tuple[Vec3, Vec3]:
    """Return (hips to head [m] with the segments above the first rotated by a fraction of the rotation vectors in
    `rows.spine`, its derivative by the fraction).
    """
    chord, change = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    for k in range(figure.spine.shape[0] - 1):
        step = rotate(quat_at(rows.trunk, i, k), vec_from(figure.spine[k + 1]["offset"]))
        if k > 0:
            displacement = vec_at(rows.spine, i, k)  # perpendicular to the step
            angle = norm(displacement)
            sine = math.sin(fraction * angle) / angle if angle > 0.0 else fraction
            step = add(scale(step, math.cos(fraction * angle)), scale(cross(displacement, step), sine))
            change = add(change, cross(displacement, step))
        chord = add(chord, step)
    return chord, change


@kernel
def straighten(i: int, figure: Figure, rows: Rows, first: Vec3, above: float, chord: Vec3, length: float) -> Vec3:
    """Make a spine straight above its first segment, which is rigid with the pelvis, and bend it there as little as
    needed for its chord to have a length [m]; return the chord.
    """
    size = norm(first)
    along = unit(chord)
    if size > 1e-9:
        cosine = (length * length - size * size - above * above) / (2.0 * size * above)
        cosine = min(max(cosine, -1.0), 1.0)
        axis = scale(first, 1.0 / size)
        along = add(scale(axis, cosine), scale(unit(reject(along, axis)), math.sqrt(1.0 - cosine * cosine)))
    rotation, last = (1.0, 0.0, 0.0, 0.0), figure.spine.shape[0] - 1
    for k in range(1, last + 1):
        now = quat_at(rows.trunk, i, k)
        if k < last:
            rotation = between(rotate(now, vec_from(figure.spine[k + 1]["offset"])), along)
        set_quat(rows.trunk, i, k, mul(rotation, now))
    return add(first, scale(along, above))
