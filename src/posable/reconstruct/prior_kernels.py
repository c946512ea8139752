"""The learned prior in compiled code: from six points and their past to a trunk, elbows, knees, wrists and ankles.

The frame: Y from hips to head, X the pelvis' X of the last frame made perpendicular to Y (specification reconstruct,
7.1). In it a mirror exchanges left and right and negates x, and the network is built so that a mirrored input gives the
mirrored output to the last bit: symmetric parts (s) and antisymmetric ones (a) go through matrices of their own, and a
hidden unit and its mirror twin are f(s + a) and f(s - a). That halves the multiplications, too.

The output only tells to which side a limb or the spine bends: the analytic parts follow, so reachable points are met.
"""

from __future__ import annotations

import math
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..compute import kernel
from ..compute.types import Floats, Ints, Records, Vec3
from ..math.vector import cross, norm, sub
from ..skeleton.forward import vec_at
from .packed import HIPS, PAST_SAMPLES, Figure, Rows

LAGS = (0.0, 1.0 / 30.0, 2.0 / 30.0, 4.0 / 30.0, 8.0 / 30.0, 16.0 / 30.0)  # [s]
ACROSS_AT = (0, 3, 5)  # lags at which the network gets the directions across wrists and ankles
SAMPLED = 1.0 / 120.0  # [s]: the interval at which the past is sampled
MOST_AWAY = 5.0  # standard deviations: features further from the mean are clamped to this
FRACTION = 0.7071  # of a unit and of its twin in their sum and difference
NOW, PATH_SAMPLES, PATH_ROTATED = 6, 50, 40  # rows of s and a: of hands and feet now; then of their paths

# First columns of the parts of a row of scratch:
WINDOW, LOCAL, FEATURES, SIDES, OUT, PREDICTED, CHAIN, HIDDEN = 0, 108, 216, 348, 480, 540, 600, 640

Weights: TypeAlias = NDArray[np.float32]

INPUT = np.dtype(
    [("one", "i8"), ("other", "i8"), ("scale", "f8"), ("other_scale", "f8"), ("mean", "f8")],
    align=True,
)
"""A row of s or a: two features, their factors, and what is subtracted from their sum."""
OUTPUT = np.dtype([("one", "i8"), ("other", "i8"), ("scale", "f8"), ("other_scale", "f8")], align=True)
"""A row of s or a of the output: the two numbers that it is added to, with these factors; both 0 in rows that fill up
vectors."""
LEARNED_SPINE = np.dtype([("low", "i8"), ("high", "i8"), ("fraction", "f8"), ("straight", "f8", 4)], align=True)
"""A joint of the spine: two joints that the network knows, and where between them it lies; its orientation in the
pelvis' frame when the spine is as straight as its limits allow."""


class Network(NamedTuple):
    """A prior on a body; without sizes there is none."""

    sizes: Ints
    """Of s and a as far as they change from frame to frame, of the hidden layers (pairs), of s and a of the output."""
    weights: Weights
    """For each layer the matrix of s (in, out) and that of a; at the end those from input to output."""
    biases: Floats
    """(2, all layers' outputs of s): their biases, with the body's proportions added; in the second row also the sum of
    a past in which nothing moved."""
    inputs: Records
    """(s + a,) of `INPUT`."""
    outputs: Records
    """(s + a,) of `OUTPUT`."""
    spine: Records
    """(S,) of `LEARNED_SPINE`."""


@kernel
def read_past(i: int, t: int, memory: Records, rows: Rows, work: Floats) -> bool:
    """Fill in the six points now and at each lag before, by linear interpolation, (6, 6, 3) [m] from the hips now;
    return whether they have a past. Before its first sample a track stands still.
    """
    hips = vec_at(rows.goals, i, HIPS)
    for k in range(6):
        p = sub(vec_at(rows.goals, i, k), hips)
        for lag in range(6):
            for c in range(3):
                work[WINDOW + 18 * lag + 3 * k + c] = p[c]
    if memory.shape[0] == 0 or memory[t]["samples"] < 1:
        return False
    state = memory[t]
    clock, count, newest = state["clock"], state["samples"], state["newest"]
    times, points = state["sample_times"], state["sample_points"]
    older, younger = 0, -1  # how many samples back; -1 is now
    for lag in range(1, 6):
        target = clock - LAGS[lag]
        while older + 1 < count and times[_sample(newest, older)] > target:
            younger, older = older, older + 1
        at, after = _sample(newest, older), _sample(newest, max(younger, 0))
        gap = (clock if younger < 0 else times[after]) - times[at]
        fraction = 0.0 if gap <= 0.0 else min(max((target - times[at]) / gap, 0.0), 1.0)
        for k in range(6):
            for c in range(3):
                young, old = rows.goals[i, k, c] if younger < 0 else points[after, k, c], points[at, k, c]
                work[WINDOW + 18 * lag + 3 * k + c] = old + fraction * (young - old) - hips[c]
    return True


@kernel
def _sample(newest: int, back: int) -> int:
    """Return the row of the sample that is so many before the newest."""
    at = newest - back  # a remainder of a division is slow
    return at if at >= 0 else at + PAST_SAMPLES


@kernel
def store_past(i: int, t: int, memory: Records, rows: Rows) -> None:
    """Store the six points of row i as a sample, unless the last sample is hardly older."""
    for k in range(6):
        p = vec_at(rows.goals, i, k)
        if not (math.isfinite(p[0]) and math.isfinite(p[1]) and math.isfinite(p[2])):
            return
    state = memory[t]
    clock, count, newest = state["clock"], state["samples"], state["newest"]
    if count > 0:
        if clock - state["sample_times"][newest] < 0.999 * SAMPLED:
            return
        newest = (newest + 1) % PAST_SAMPLES
    state["samples"], state["newest"] = min(count + 1, PAST_SAMPLES), newest
    state["sample_times"][newest] = clock
    for k in range(6):
        for c in range(3):
            state["sample_points"][newest, k, c] = rows.goals[i, k, c]


@kernel
def write_features(figure: Figure, x: Vec3, y: Vec3, work: Floats) -> None:
    """Write the network's input from the window in the frame (x, y): positions, paths, up, directions, length."""
    z = cross(x, y)
    size = 1.0 / figure.stance[0]["joint_height"]
    length = norm((work[WINDOW + 3], work[WINDOW + 4], work[WINDOW + 5]))
    for k in range(36):
        at, to = WINDOW + 3 * k, LOCAL + 3 * k
        a, b, c = work[at] * size, work[at + 1] * size, work[at + 2] * size
        work[to] = a * x[0] + b * x[1] + c * x[2]
        work[to + 1] = a * y[0] + b * y[1] + c * y[2]
        work[to + 2] = a * z[0] + b * z[1] + c * z[2]
    for k in range(12):
        work[FEATURES + k] = work[LOCAL + 6 + k]
    for k in range(90):
        work[FEATURES + 12 + k] = work[LOCAL + 18 + k] - work[LOCAL + k % 18]
    at = FEATURES + 102
    work[at], work[at + 1], work[at + 2] = x[1], y[1], z[1]
    at += 3
    for n in range(3):
        for pair in range(2):
            left = LOCAL + 18 * ACROSS_AT[n] + 6 + 6 * pair
            a, c = work[left] - work[left + 3], work[left + 2] - work[left + 5]
            unit_of = 1.0 / math.sqrt(a * a + c * c + 1e-4)
            work[at], work[at + 1] = a * unit_of, c * unit_of
            at += 2
    work[at] = 10.0 * length / figure.settings[0]["neutral_chord"]


@kernel
def evaluate(net: Network, still: bool, work: Floats) -> None:
    """Evaluate the network from features to output, through s and a. `still`: nothing moved, paths are all zero."""
    features, twice = net.inputs.shape[0], net.sizes[0]
    for k in range(features):
        row = net.inputs[k]
        one, other = work[FEATURES + row["one"]], work[FEATURES + row["other"]]
        value = one * row["scale"] + other * row["other_scale"] - row["mean"]
        work[SIDES + k] = min(max(value, -MOST_AWAY), MOST_AWAY)
    s, a, ins, ina, here = SIDES, SIDES + twice, twice, features - twice, HIDDEN
    past, bias, at = still, 0, 0
    first = net.biases[1 if still else 0]
    for layer in range(2, net.sizes.shape[0] - 2):
        n = net.sizes[layer]
        begin(first[bias : bias + n], work[here : here + n], work[here + n : here + 2 * n])
        at = add_products(net.weights, at, work, s, ins, a, ina, here, n, n, past)
        twins(work[here : here + n], work[here + n : here + 2 * n])
        s, a, ins, ina, here, bias, past = here, here + n, n, n, here + 2 * n, bias + n, False
    os, oa = net.sizes[net.sizes.shape[0] - 2], net.sizes[net.sizes.shape[0] - 1]
    begin(first[bias : bias + os], work[OUT : OUT + os], work[OUT + os : OUT + os + oa])
    at = add_products(net.weights, at, work, s, ins, a, ina, OUT, os, oa, False)
    add_products(net.weights, at, work, SIDES, twice, SIDES + twice, features - twice, OUT, os, oa, still)
    for k in range(os + oa):
        work[PREDICTED + k] = 0.0
    for k in range(os + oa):
        row, value = net.outputs[k], work[OUT + k]
        work[PREDICTED + row["one"]] += row["scale"] * value
        work[PREDICTED + row["other"]] += row["other_scale"] * value


@kernel
def begin(bias: Floats, s: Floats, a: Floats) -> None:
    """Set s and a of a layer to its biases; a has none."""
    for k in range(s.shape[0]):
        s[k] = bias[k]
    for k in range(a.shape[0]):
        a[k] = 0.0


@kernel
def add_products(
    weights: Weights, at: int, work: Floats, s: int, ins: int, a: int, ina: int, out: int, ns: int, na: int, still: bool
) -> int:
    """Add s and a times their matrices to s and a of the next layer; return the first of the next weights. `still`: the
    inputs are features whose paths, all zero, are left out.
    """
    first, last = (NOW, NOW + PATH_SAMPLES) if still else (0, 0)
    add_product(weights[at : at + first * ns], work[s : s + first], work[out : out + ns])
    add_product(weights[at + last * ns : at + ins * ns], work[s + last : s + ins], work[out : out + ns])
    at, out = at + ins * ns, out + ns
    last = NOW + PATH_ROTATED if still else 0
    add_product(weights[at : at + first * na], work[a : a + first], work[out : out + na])
    add_product(weights[at + last * na : at + ina * na], work[a + last : a + ina], work[out : out + na])
    return at + ina * na


@kernel(fused=True)
def add_product(matrix: Weights, x: Floats, out: Floats) -> None:
    """Add x matrix to out, (in, out) row by row: four rows at once, in loops that compilers turn into vectors."""
    n = out.shape[0]
    whole = x.shape[0] // 4
    for q in range(whole):
        a, b, c, d = x[4 * q], x[4 * q + 1], x[4 * q + 2], x[4 * q + 3]
        at = 4 * q * n
        w0, w1 = matrix[at : at + n], matrix[at + n : at + 2 * n]
        w2, w3 = matrix[at + 2 * n : at + 3 * n], matrix[at + 3 * n : at + 4 * n]
        for k in range(n):
            out[k] = (((out[k] + w0[k] * a) + w1[k] * b) + w2[k] * c) + w3[k] * d
    for j in range(4 * whole, x.shape[0]):
        a, w0 = x[j], matrix[j * n : j * n + n]
        for k in range(n):
            out[k] += w0[k] * a


@kernel
def twins(s: Floats, a: Floats) -> None:
    """Make s and a the sum and difference of units and their mirror twins, f(s + a) and f(s - a); f is smooth, close to
    x sigmoid(x).
    """
    for k in range(s.shape[0]):
        p, m = s[k] + a[k], s[k] - a[k]
        p, m = 0.5 * p * (1.0 + p * of_root(1.0 + p * p)), 0.5 * m * (1.0 + m * of_root(1.0 + m * m))
        s[k], a[k] = FRACTION * (p + m), FRACTION * (p - m)


@kernel
def of_root(x: float) -> float:
    """Return 1 / sqrt(x) to 14 digits without the slow root of float64: seven digits and a step of Newton's method."""
    r = float(np.float32(1.0) / math.sqrt(np.float32(x)))
    return r * (1.5 - 0.5 * x * r * r)


@kernel
def predicted(work: Floats, at: int) -> Vec3:
    """Return three numbers of the network's output."""
    return (work[PREDICTED + at], work[PREDICTED + at + 1], work[PREDICTED + at + 2])
