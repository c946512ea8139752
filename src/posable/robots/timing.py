"""Joint values over time that motors can follow: speeds and accelerations limited without lag.

A channel is smoothed by a penalty on its second differences (Whittaker 1923), which looks forward and backward alike,
so it delays nothing. Where an acceleration is above what the motor can do, the penalty is raised there and only there
(iteratively reweighted least squares). Speeds are then held exactly, by the mean of two envelopes: the highest signal
below the channel whose slope is within the limit, and the lowest one above it. Both have the slope's limit, so has
their mean, and it lies between the least and the largest value about.
"""

from __future__ import annotations

import math

from ..compute import batch, kernel, prange
from ..compute.types import Floats

ROUNDS = 6  # of reweighting
MOST = 1e6  # times the weight that a penalty begins with
SLACK = 0.97  # of the speed limit, for what is solved afterwards


@kernel
def smooth(n: int, y: Floats, penalty: Floats, z: Floats, d: Floats, e: Floats, f: Floats) -> None:
    """Fill in z, the minimum of sum (z - y)^2 + sum penalty[t] (z[t-1] - 2 z[t] + z[t+1])^2, over n values.

    `d`, `e` and `f` take the factors of the matrix, which has five diagonals.
    """
    for t in range(n):
        # diagonal and two upper diagonals of I + D^T P D; penalty[t] is that of the difference about t
        p0 = penalty[t - 1] if t >= 2 else 0.0
        p1 = penalty[t] if 1 <= t < n - 1 else 0.0
        p2 = penalty[t + 1] if t + 1 < n - 1 else 0.0
        d[t] = 1.0 + p0 + 4.0 * p1 + p2
        e[t] = -2.0 * (p1 + p2)
        f[t] = p2
        z[t] = y[t]
    for t in range(n):  # L D L^T, with what is left of the right side
        if t >= 1:
            m = e[t - 1] / d[t - 1]
            d[t] -= m * e[t - 1]
            z[t] -= m * z[t - 1]
            if t + 1 < n:
                e[t] -= m * f[t - 1]
        if t >= 2:
            m = f[t - 2] / d[t - 2]
            d[t] -= m * f[t - 2]
            z[t] -= m * z[t - 2]
    for t in range(n - 1, -1, -1):
        s = z[t]
        if t + 1 < n:
            s -= e[t] * z[t + 1]
        if t + 2 < n:
            s -= f[t] * z[t + 2]
        z[t] = s / d[t]


@kernel
def slowed(n: int, most: float, z: Floats, upper: Floats, lower: Floats) -> None:
    """Limit the differences of z to `most`, in place: the mean of the two envelopes."""
    upper[0], lower[0] = z[0], z[0]
    for t in range(1, n):
        upper[t] = min(z[t], upper[t - 1] + most)
        lower[t] = max(z[t], lower[t - 1] - most)
    for t in range(n - 2, -1, -1):
        upper[t] = min(upper[t], upper[t + 1] + most)
        lower[t] = max(lower[t], lower[t + 1] - most)
    for t in range(n):
        z[t] = 0.5 * (upper[t] + lower[t])


@kernel
def followable(
    n: int,
    y: Floats,
    speed: float,
    acceleration: float,
    low: float,
    high: float,
    base: float,
    z: Floats,
    scratch: Floats,
) -> None:
    """Fill in z (n,), the channel y as a motor can follow it.

    Args:
        n: how many values.
        y: the channel.
        speed: the largest difference of two values.
        acceleration: the largest second difference.
        low: the least value.
        high: the largest value.
        base: the penalty of second differences everywhere.
        z: the result.
        scratch: (4, n).
    """
    penalty, d, e, f = scratch[0], scratch[1], scratch[2], scratch[3]
    for t in range(n):
        penalty[t] = base
    for _ in range(ROUNDS):
        smooth(n, y, penalty, z, d, e, f)
        worst = 0.0
        for t in range(1, n - 1):
            ratio = abs(z[t - 1] - 2.0 * z[t] + z[t + 1]) / acceleration
            if ratio > 1.0:
                worst = max(worst, ratio)
                penalty[t] = min(penalty[t] * min(max(ratio, 1.3), 4.0), base * MOST)
        if worst <= 1.05:
            break
    for t in range(n):
        z[t] = min(max(z[t], low), high)
    steepest = 0.0
    for t in range(1, n):
        steepest = max(steepest, abs(z[t] - z[t - 1]))
    if steepest > SLACK * speed and math.isfinite(speed):
        slowed(n, SLACK * speed, z, d, e)


@batch(rows=8)
def followable_rows(n: int, y: Floats, limits: Floats, z: Floats, scratch: Floats) -> None:
    """Fill rows of z (N, F): channels y (N, F) as motors can follow them; limits (N, 5) and scratch (N, 4, F) of each.

    Limits are the largest difference and second difference, the least and the largest value, and the penalty.
    """
    for i in prange(n):
        followable(
            y.shape[1], y[i], limits[i, 0], limits[i, 1], limits[i, 2], limits[i, 3], limits[i, 4], z[i], scratch[i]
        )
