"""The network for exactly six positions, in compiled code: what a prior asks where nothing else is known.

The frame: Y from hips to head, X the pelvis' X of the last frame made perpendicular to Y (specification reconstruct,
7.1). It was fitted longer, to six positions and their past alone, and is more exact there than the network for any set
of trackers (`prior_kernels`), whose pairs of units, outputs and frame of mirrors it shares.
"""

from __future__ import annotations

import math

import numpy as np

from ..compute import kernel
from ..compute.types import Floats, Records, Vec3
from ..math.vector import cross, norm, sub
from ..skeleton.forward import vec_at
from .packed import HIPS, Figure, Rows
from .prior_kernels import HIDDEN, MOST_AWAY, PREDICTED, Network, Weights, add_product, begin, sample_before, twins

LAGS = (0.0, 1.0 / 30.0, 2.0 / 30.0, 4.0 / 30.0, 8.0 / 30.0, 16.0 / 30.0)  # [s]
ACROSS_AT = (0, 3, 5)  # lags at which the network gets the directions across wrists and ankles
NOW, PATH_SAMPLES, PATH_ROTATED = 6, 50, 40  # rows of s and a: of hands and feet now; then of their paths

# First columns of the parts of a row of scratch; the rest as in `prior_kernels`:
WINDOW, LOCAL, FEATURES, SIDES, OUT = 0, 108, 216, 348, 480

SIX_INPUT = np.dtype(
    [("one", "i8"), ("other", "i8"), ("scale", "f8"), ("other_scale", "f8"), ("mean", "f8")],
    align=True,
)
"""A row of s or a: two features, their factors, and what is subtracted from their sum."""


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
        while older + 1 < count and times[sample_before(newest, older)] > target:
            younger, older = older, older + 1
        at, after = sample_before(newest, older), sample_before(newest, max(younger, 0))
        gap = (clock if younger < 0 else times[after]) - times[at]
        fraction = 0.0 if gap <= 0.0 else min(max((target - times[at]) / gap, 0.0), 1.0)
        for k in range(6):
            for c in range(3):
                young, old = rows.goals[i, k, c] if younger < 0 else points[after, k, c], points[at, k, c]
                work[WINDOW + 18 * lag + 3 * k + c] = old + fraction * (young - old) - hips[c]
    return True


@kernel
def write_six_features(figure: Figure, x: Vec3, y: Vec3, work: Floats) -> None:
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
def evaluate_six(net: Network, still: bool, work: Floats) -> None:
    """Evaluate the network from features to output, through s and a. `still`: nothing moved, paths are all zero."""
    features, twice = net.six_inputs.shape[0], net.six_sizes[0]
    for k in range(features):
        row = net.six_inputs[k]
        one, other = work[FEATURES + row["one"]], work[FEATURES + row["other"]]
        value = one * row["scale"] + other * row["other_scale"] - row["mean"]
        work[SIDES + k] = min(max(value, -MOST_AWAY), MOST_AWAY)
    s, a, ins, ina, here = SIDES, SIDES + twice, twice, features - twice, HIDDEN
    past, bias, at = still, 0, 0
    first = net.six_biases[1 if still else 0]
    for layer in range(2, net.six_sizes.shape[0] - 2):
        n = net.six_sizes[layer]
        begin(first[bias : bias + n], work[here : here + n], work[here + n : here + 2 * n])
        at = add_products(net.six_weights, at, work, s, ins, a, ina, here, n, n, past)
        twins(work[here : here + n], work[here + n : here + 2 * n])
        s, a, ins, ina, here, bias, past = here, here + n, n, n, here + 2 * n, bias + n, False
    os, oa = net.six_sizes[net.six_sizes.shape[0] - 2], net.six_sizes[net.six_sizes.shape[0] - 1]
    begin(first[bias : bias + os], work[OUT : OUT + os], work[OUT + os : OUT + os + oa])
    at = add_products(net.six_weights, at, work, s, ins, a, ina, OUT, os, oa, False)
    add_products(net.six_weights, at, work, SIDES, twice, SIDES + twice, features - twice, OUT, os, oa, still)
    for k in range(os + oa):
        work[PREDICTED + k] = 0.0
    for k in range(os + oa):
        row, value = net.six_outputs[k], work[OUT + k]
        work[PREDICTED + row["one"]] += row["scale"] * value
        work[PREDICTED + row["other"]] += row["other_scale"] * value


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
