"""The learned prior in compiled code: from any set of trackers and their past to a trunk, limbs and missing ends.

The frame is the hips' where their orientation is known. Else its Y is the direction from hips to head, or up where one
of them is unknown, and its X what shows where left is (`frame_of_known`). In it a mirror exchanges left and right and
negates x, and the network is built so that a mirrored input gives the mirrored output to the last bit: symmetric parts
(s) and antisymmetric ones (a) go through matrices of their own, and a hidden unit and its mirror twin are f(s + a) and
f(s - a). That halves the multiplications, too. Features of what is unknown are zero, others are counted from a mean.

The output only tells to which side a limb or the spine bends, and where ends are that nobody tracks: the analytic parts
follow, so reachable points are met.
"""

from __future__ import annotations

import math
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..compute import kernel
from ..compute.types import Floats, Ints, Records, Vec3
from ..math.quaternion import rotate
from ..math.vector import add, any_perpendicular, cross, norm, reject, scale, sub, unit
from ..skeleton.forward import quat_at, vec_at
from .packed import (
    CHEST,
    HEAD,
    HIPS,
    LEFT_FOOT,
    LEFT_HAND,
    LEFT_KNEE,
    LEFT_SHOULDER,
    PAST_SAMPLES,
    RIGHT_FOOT,
    RIGHT_KNEE,
    SLOTS,
    Figure,
    Rows,
    given,
    given_orientation,
)
from .prior_layout import (
    ANSWERS,
    CHORD,
    END_POSITIONS,
    HEIGHTS,
    KNOWN,
    LAGS,
    LEFT_PATHS,
    LEFTS,
    MIDS,
    ORIENTATION_LAG,
    ORIENTED,
    PATHS,
    POINTS,
    POSITIONS,
    TO_HEAD,
    UP,
    UP_PATHS,
    UPS,
)
from .prior_layout import BODY as CHANGING

SAMPLED = 1.0 / 120.0  # [s]: the interval at which the past is sampled
MOST_AWAY = 5.0  # deviations: features further from the mean are clamped to this
FRACTION = 0.7071  # of a unit and of its twin in their sum and difference
PAIR_WEIGHTS = (
    1.0,
    2.0,
    1.0,
    1.0,
    4.0,
)  # of hands, feet, elbows, knees and shoulders in the frame's X, by how far apart they are
HEAD_WEIGHT, FOOT_WEIGHT, CHEST_WEIGHT, BEFORE_WEIGHT = 1.0, 0.3, 2.0, 0.02  # of their own X; of the pelvis' X before
SHOWN = 0.05  # a sum of what shows where left is that is shorter shows nothing

TRUNK, ARMS, LEGS, LEAN, STRIDE, DOUBT = 2, 3, 4, 5, 6, 7  # of `Network.scales`, after hips and head

# First columns of the parts of a row of scratch:
FEATURES, SIDES, OUT, PREDICTED, CHAIN, HIDDEN = 0, 368, 736, 816, 888, 920

WHOLE, ASK, ANSWERED = range(3)
"""How much of a row is done: all of it; what is before the network; or what is after it, which was evaluated meanwhile
(`prior_layers`)."""

Weights: TypeAlias = NDArray[np.float32]

INPUT = np.dtype([("one", "i8"), ("other", "i8"), ("scale", "f8"), ("other_scale", "f8")], align=True)
"""A row of s or a: two features and their factors."""
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
    """(all layers' outputs of s,): their biases, with the body's proportions added."""
    inputs: Records
    """(s + a,) of `INPUT`."""
    outputs: Records
    """(s + a,) of `OUTPUT`."""
    centre: Floats
    """(`prior_layout.FEATURES`,) what features are counted from where they are known."""
    spine: Records
    """(S,) of `LEARNED_SPINE`."""
    scales: Floats
    """(8,) what makes a body one that the network knows (`prior_lengths`): factors of its heights of hips and head
    above the floor, of its lengths from hips to head, of arms, of legs; the angles [rad] by which its trunk and its
    legs lean forward in the neutral pose; what is added to the logarithm of the expected error for its proportions."""


class Prediction(NamedTuple):
    """The network's view of a row: what it sees and says, in a frame."""

    x: Vec3
    """The frame's X in the world, a unit vector; `y` is its Y."""
    y: Vec3
    work: Floats
    """A row of scratch, whose parts `FEATURES` and those after it name."""


@kernel
def store_past(i: int, t: int, memory: Records, rows: Rows) -> None:
    """Store the targets of row i as a sample, unless the last sample is hardly older."""
    state = memory[t]
    clock, count, newest = state["clock"], state["samples"], state["newest"]
    if count > 0:
        if clock - state["sample_times"][newest] < 0.999 * SAMPLED:
            return
        newest = (newest + 1) % PAST_SAMPLES
    state["samples"], state["newest"] = min(count + 1, PAST_SAMPLES), newest
    state["sample_times"][newest] = clock
    for k in range(SLOTS):
        for c in range(3):
            state["sample_points"][newest, k, c] = rows.goals[i, k, c]
    for k in range(SLOTS):
        state["sample_orientations"][newest, k, 0] = math.nan
        if rows.target_orientations.shape[0] > 0:
            for c in range(4):
                state["sample_orientations"][newest, k, c] = rows.target_orientations[i, k, c]


@kernel
def sample_before(newest: int, back: int) -> int:
    """Return the row of the sample that is so many before the newest."""
    at = newest - back  # a remainder of a division is slow
    return at if at >= 0 else at + PAST_SAMPLES


@kernel
def frame_of_known(i: int, figure: Figure, rows: Rows, before: Vec3) -> tuple[Vec3, Vec3, bool]:
    """Return (the frame's X, its Y, whether anything shows where left is). `before` is the pelvis' X when something
    last did, zero if nothing has: it decides where nothing else does.
    """
    if given_orientation(i, rows, HIPS):
        q = quat_at(rows.target_orientations, i, HIPS)
        return rotate(q, (1.0, 0.0, 0.0)), rotate(q, (0.0, 1.0, 0.0)), True
    y = (0.0, 1.0, 0.0)
    if given(i, rows, HIPS) and given(i, rows, HEAD):
        y = unit(sub(vec_at(rows.goals, i, HEAD), vec_at(rows.goals, i, HIPS)))
        if norm(y) < 0.5:
            y = (0.0, 1.0, 0.0)
    x, size = (0.0, 0.0, 0.0), 1.0 / figure.stance[0]["joint_height"]
    for pair in range(5):
        left = LEFT_HAND + 2 * pair if pair < 4 else LEFT_SHOULDER
        if given(i, rows, left) and given(i, rows, left + 1):
            apart = sub(vec_at(rows.goals, i, left), vec_at(rows.goals, i, left + 1))
            x = add(x, scale(apart, PAIR_WEIGHTS[pair] * size))
    for k in range(HEAD, SLOTS):
        weight = HEAD_WEIGHT if k == HEAD else CHEST_WEIGHT if k == CHEST else FOOT_WEIGHT
        if k in (HEAD, CHEST, LEFT_FOOT, RIGHT_FOOT) and given_orientation(i, rows, k):
            own = rotate(quat_at(rows.target_orientations, i, k), (1.0, 0.0, 0.0))
            x = add(x, scale(own, weight))
    shows = norm(reject(x, y)) > SHOWN
    x = reject(add(x, scale(before, BEFORE_WEIGHT)), y)
    if norm(x) < 1e-6:
        x = reject((1.0, 0.0, 0.0), y)  # facing +Z
        if norm(x) < 1e-6:
            x = any_perpendicular(y)
    return unit(x), y, shows


@kernel
def put_local(net: Network, prediction: Prediction, at: int, v: Vec3, size: float) -> None:
    """Write a vector in the frame as three features, counted from their mean."""
    x, y, work = prediction
    z = cross(x, y)
    work[FEATURES + at] = (v[0] * x[0] + v[1] * x[1] + v[2] * x[2]) * size - net.centre[at]
    work[FEATURES + at + 1] = (v[0] * y[0] + v[1] * y[1] + v[2] * y[2]) * size - net.centre[at + 1]
    work[FEATURES + at + 2] = (v[0] * z[0] + v[1] * z[1] + v[2] * z[2]) * size - net.centre[at + 2]


@kernel
def write_features(
    i: int, t: int, net: Network, figure: Figure, memory: Records, rows: Rows, prediction: Prediction
) -> None:
    """Write the network's input in the prediction's frame, all but proportions."""
    work = prediction.work
    size = 1.0 / figure.stance[0]["joint_height"]
    for k in range(CHANGING):
        work[FEATURES + k] = 0.0
    hips, head = vec_at(rows.goals, i, HIPS), vec_at(rows.goals, i, HEAD)
    for k in range(SLOTS):
        if given(i, rows, k):
            work[FEATURES + KNOWN + k] = 1.0
            put_local(net, prediction, POSITIONS + 3 * k, from_origin(i, k, net, rows), size)
    for k in range(SLOTS):
        if given_orientation(i, rows, k):
            q = quat_at(rows.target_orientations, i, k)
            work[FEATURES + ORIENTED + k] = 1.0
            put_local(net, prediction, LEFTS + 3 * k, rotate(q, (1.0, 0.0, 0.0)), 1.0)
            put_local(net, prediction, UPS + 3 * k, rotate(q, (0.0, 1.0, 0.0)), 1.0)
    write_paths(i, t, net, memory, rows, size, prediction)
    put_local(net, prediction, UP, (0.0, 1.0, 0.0), 1.0)
    both = given(i, rows, HIPS) and given(i, rows, HEAD)
    floor = not (given(i, rows, LEFT_FOOT) and given(i, rows, RIGHT_FOOT))  # feet show more
    for k in range(2):
        if given(i, rows, k) and floor:
            height = (rows.goals[i, k, 1] - figure.settings[0]["floor"]) * size * net.scales[k]
            work[FEATURES + HEIGHTS + k] = height - net.centre[HEIGHTS + k]
    if both:
        length = norm(sub(head, hips)) / figure.settings[0]["neutral_chord"]
        work[FEATURES + CHORD] = 10.0 * (length - 1.0) - net.centre[CHORD]


@kernel
def from_origin(i: int, k: int, net: Network, rows: Rows) -> Vec3:
    """Return where a known point is from the hips, or from the head where these are not known [m], on the nearest body
    that the network knows.
    """
    heights, trunk, arms, legs = net.scales[HEAD], net.scales[TRUNK], net.scales[ARMS], net.scales[LEGS]
    point, hips, head = vec_at(rows.goals, i, k), vec_at(rows.goals, i, HIPS), vec_at(rows.goals, i, HEAD)
    leg = k in (LEFT_FOOT, RIGHT_FOOT, LEFT_KNEE, RIGHT_KNEE)
    if not given(i, rows, HIPS):
        return scale(sub(point, head), heights if leg else arms)
    if leg:
        return scale(sub(point, hips), legs)
    if k == HEAD or not given(i, rows, HEAD):
        return scale(sub(point, hips), trunk)
    return add(scale(sub(head, hips), trunk), scale(sub(point, head), arms))


@kernel
def fit_said(net: Network, work: Floats) -> None:
    """Make vectors that the network says those of the body."""
    fit_vector(PREDICTED + TO_HEAD, net.scales[TRUNK], net.scales[LEAN], work)
    for side in range(2):
        fit_vector(PREDICTED + MIDS + 3 * (2 + side), net.scales[LEGS], net.scales[STRIDE], work)
        fit_vector(PREDICTED + END_POSITIONS + 3 * (2 + side), net.scales[LEGS], net.scales[STRIDE], work)


@kernel
def fit_vector(at: int, size: float, angle: float, work: Floats) -> None:
    """Divide a vector by a size and rotate it about X by an angle [rad]."""
    c, s = math.cos(angle) / size, math.sin(angle) / size
    y, z = work[at + 1], work[at + 2]
    work[at], work[at + 1], work[at + 2] = work[at] / size, c * y - s * z, s * y + c * z


@kernel
def write_paths(i: int, t: int, net: Network, memory: Records, rows: Rows, size: float, prediction: Prediction) -> None:
    """Write where what is known was at each lag, from where it is now, by linear interpolation between samples. Before
    its first sample a track stands still.
    """
    count = memory[t]["samples"] if memory.shape[0] > 0 else 0
    older, younger = 0, -1  # how many samples back; -1 is now
    for lag in range(len(LAGS)):
        at, after, fraction = 0, 0, 0.0
        if count > 0:
            state = memory[t]
            times, clock, newest = state["sample_times"], state["clock"], state["newest"]
            while older + 1 < count and times[sample_before(newest, older)] > clock - LAGS[lag]:
                younger, older = older, older + 1
            at, after = sample_before(newest, older), sample_before(newest, max(younger, 0))
            gap = (clock if younger < 0 else times[after]) - times[at]
            fraction = 0.0 if gap <= 0.0 else min(max((clock - LAGS[lag] - times[at]) / gap, 0.0), 1.0)
        for k in range(SLOTS):
            if given(i, rows, k):
                path = (0.0, 0.0, 0.0)
                if count > 0:
                    points = memory[t]["sample_points"]
                    now = vec_at(rows.goals, i, k)
                    old, young = vec_at(points, at, k), now if younger < 0 else vec_at(points, after, k)
                    was = add(old, scale(sub(young, old), fraction))
                    path = sub(was, now) if math.isfinite(was[0]) else path
                put_local(net, prediction, PATHS + 3 * (POINTS * lag + k), path, size)
        if lag == ORIENTATION_LAG:
            for k in range(SLOTS):
                if given_orientation(i, rows, k):
                    for axis in range(2):
                        along = (1.0, 0.0, 0.0) if axis == 0 else (0.0, 1.0, 0.0)
                        path = (0.0, 0.0, 0.0)
                        if count > 0:
                            samples = memory[t]["sample_orientations"]
                            now = rotate(quat_at(rows.target_orientations, i, k), along)
                            old, young = rotate(quat_at(samples, at, k), along), now
                            if younger >= 0:
                                young = rotate(quat_at(samples, after, k), along)
                            was = add(old, scale(sub(young, old), fraction))
                            path = sub(was, now) if math.isfinite(was[0]) else path
                        put_local(net, prediction, (LEFT_PATHS if axis == 0 else UP_PATHS) + 3 * k, path, 1.0)


@kernel
def evaluate(net: Network, work: Floats) -> None:
    """Evaluate the network from features to output, through s and a."""
    features, s_count = net.inputs.shape[0], net.sizes[0]
    split_sides(net, work)
    s, a = work[SIDES : SIDES + s_count], work[SIDES + s_count : SIDES + features]
    here, bias, at = HIDDEN, 0, 0
    for layer in range(2, net.sizes.shape[0] - 2):
        n = net.sizes[layer]
        out_s, out_a = work[here : here + n], work[here + n : here + 2 * n]
        begin(net.biases[bias : bias + n], out_s, out_a)
        middle, end = at + s.shape[0] * n, at + (s.shape[0] + a.shape[0]) * n
        if layer == 2:
            add_known(net.weights[at:middle], s, out_s)
            add_known(net.weights[middle:end], a, out_a)
        else:
            add_product(net.weights[at:middle], s, out_s)
            add_product(net.weights[middle:end], a, out_a)
        twins(out_s, out_a)
        s, a, here, bias, at = out_s, out_a, here + 2 * n, bias + n, end
    os, oa = net.sizes[net.sizes.shape[0] - 2], net.sizes[net.sizes.shape[0] - 1]
    out_s, out_a = work[OUT : OUT + os], work[OUT + os : OUT + os + oa]
    begin(net.biases[bias : bias + os], out_s, out_a)
    middle, end = at + s.shape[0] * os, at + s.shape[0] * os + a.shape[0] * oa
    add_product(net.weights[at:middle], s, out_s)
    add_product(net.weights[middle:end], a, out_a)
    s, a = work[SIDES : SIDES + s_count], work[SIDES + s_count : SIDES + features]
    at, middle = end, end + s.shape[0] * os
    add_known(net.weights[at:middle], s, out_s)
    add_known(net.weights[middle : middle + a.shape[0] * oa], a, out_a)
    join_sides(net, work)


@kernel
def split_sides(net: Network, work: Floats) -> None:
    """Make s and a of the features."""
    for k in range(net.inputs.shape[0]):
        row = net.inputs[k]
        value = work[FEATURES + row["one"]] * row["scale"] + work[FEATURES + row["other"]] * row["other_scale"]
        work[SIDES + k] = min(max(value, -MOST_AWAY), MOST_AWAY)


@kernel
def join_sides(net: Network, work: Floats) -> None:
    """Make what the network says of s and a of its output."""
    for k in range(ANSWERS):
        work[PREDICTED + k] = 0.0
    for k in range(net.outputs.shape[0]):
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
def add_known(matrix: Weights, x: Floats, out: Floats) -> None:
    """Do as `add_product`, without the rows of numbers that are zero: what is not known costs nothing."""
    n, count = out.shape[0], 0
    rows, values = (0, 0, 0), (0.0, 0.0, 0.0)
    for j in range(x.shape[0]):
        if x[j] == 0.0:
            continue
        if count == 3:
            add_four(matrix, rows, j, values, x[j], out)
            count = 0
        else:
            rows, values, count = (rows[1], rows[2], j), (values[1], values[2], x[j]), count + 1
    for k in range(3 - count, 3):
        at, a = rows[k] * n, values[k]
        for c in range(n):
            out[c] += matrix[at + c] * a


@kernel(fused=True)
def add_four(matrix: Weights, rows: tuple[int, int, int], last: int, values: Vec3, value: float, out: Floats) -> None:
    """Add four rows of a matrix (in, out) times their values to out."""
    n = out.shape[0]
    w0, w1 = matrix[rows[0] * n : rows[0] * n + n], matrix[rows[1] * n : rows[1] * n + n]
    w2, w3 = matrix[rows[2] * n : rows[2] * n + n], matrix[last * n : last * n + n]
    a, b, c = values
    for k in range(n):
        out[k] = (((out[k] + w0[k] * a) + w1[k] * b) + w2[k] * c) + w3[k] * value


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
        s[k], a[k] = twin(s[k], a[k])


@kernel
def twin(s: float, a: float) -> tuple[float, float]:
    """Return the sum and the difference of a unit and its mirror twin."""
    p, m = s + a, s - a
    p, m = 0.5 * p * (1.0 + p * of_root(1.0 + p * p)), 0.5 * m * (1.0 + m * of_root(1.0 + m * m))
    return FRACTION * (p + m), FRACTION * (p - m)


@kernel
def of_root(x: float) -> float:
    """Return 1 / sqrt(x) to 14 digits without the slow root of float64: seven digits and a step of Newton's method."""
    r = float(np.float32(1.0) / math.sqrt(np.float32(x)))
    return r * (1.5 - 0.5 * x * r * r)


@kernel
def predicted(work: Floats, at: int) -> Vec3:
    """Return three numbers of the network's output."""
    return (work[PREDICTED + at], work[PREDICTED + at + 1], work[PREDICTED + at + 2])
