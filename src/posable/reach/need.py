"""Kernels for how much of a behaviour an arm needs: as much as brings its target within comfortable reach.

The paper's weight is a function of the distance alone (f_weight). On a target that a little bending would bring near it
takes the same crouch as on one that needs all of it, and it bends the body for targets that the arm reaches by itself.
So the behaviours that come with Posable ask for what is needed instead: the body bends until the distance from the
shoulder to the target is comfortable.

The first weight at which it is so, found by a line search, would jump where the distance has a valley that just does
not reach deep enough. Here the weight u is an integral over all weights v from 0 to 1,

    u = integral of S(m(v)) G(m(v)) dv,

with m(v) the smallest distance at weights up to v; S, which rises smoothly from 0 where the distance is comfortable to
1 where the arm is stretched; and G, which is 1 as long as bending further brings the target nearer and falls to 0 where
it does not. All of them change continuously with the target, and so does u, whatever the shape of the behaviour. Where
bending brings the shoulder nearer, S falls from 1 to 0 between the weight at which the arm is just long enough and the
one at which it is comfortable, so u lies between the two and the target is reached. A target that nothing brings into
reach gets the weight at which the shoulder is nearest. Where even all of the behaviour brings the target nearer by
little, less of it is taken: else a body would throw itself about for targets behind it.

The integral is exact, but for creases where one hand takes over from the other. For an arm that hangs, S falls from 1
to 0 within a hundredth of the weight: summed up in steps wider than that, u rises in stairs, and the body of a hand
that moves evenly shakes.
"""

from __future__ import annotations

import math
from typing import TypeAlias

from ..compute import kernel
from ..compute.types import Vec3
from ..math.vector import norm, sub
from ..skeleton.forward import vec_at
from .bending import arm_length, bend_towards, target_of
from .packed import ARM, NEED_SAMPLES, Body, Rows

FULL = 0.98  # [arm lengths] an arm is stretched; what is left to 1 covers the distance's interpolation
HANGING = 0.97  # [arm lengths] that are comfortable for an arm that hangs: it is straight by itself
EXTENDING = 0.85  # [arm lengths] above which `extend` takes more of a behaviour than its weight requests
GAIN = 0.012  # [arm lengths] by which bending on must bring the target nearer to be worth it
WORTH = 0.1  # [arm lengths] by which all of the behaviour must do so to count in full
STEEP, LEVEL = math.cos(math.radians(15.0)), math.cos(math.radians(50.0))  # from the vertical: hanging, and not
NODE = math.sqrt(0.15)  # of Gauss's rule of three points, exact up to the fifth degree: from the middle to the others
SHORT = 1e-9  # of the integral between two samples: pieces that are left out

Pair: TypeAlias = tuple[float, float]


@kernel
def comfortable(k: float, target: Vec3, shoulder: Vec3) -> float:
    """Return the distance [arm lengths] to which an arm is comfortable: k, and more for one that hangs."""
    away = sub(target, shoulder)
    distance = norm(away)
    if distance == 0.0:
        return k
    x = min(1.0, max(0.0, (-away[1] / distance - LEVEL) / (STEEP - LEVEL)))
    return k + (max(k, HANGING) - k) * x * x * (3.0 - 2.0 * x)


@kernel
def need(i: int, gains: Pair, lows: Pair, body: Body, rows: Rows, first: float, last: float) -> float:
    """Return the fraction of the path between two adjustments of the weight that the hands need, from 0 to 1.

    Args:
        i: which row.
        gains: how much each hand counts, from 0 to 1; 0 for one without a target.
        lows: the distances [arm lengths] up to which each arm is comfortable.
        body: the body.
        rows: with the postures to bend towards. Of the solution, the joints from the root to the shoulders change.
        first: the adjustment at fraction 0.
        last: the adjustment at fraction 1.
    """
    stretches = rows.work[i]["stretches"]
    both = (1 if gains[0] > 0.0 else 0) | (2 if gains[1] > 0.0 else 0)
    for k in range(NEED_SAMPLES + 1):
        bend_towards(i, both, body, rows, first + (last - first) * k / NEED_SAMPLES)
        largest = 0.0
        for side in range(2):
            if gains[side] > 0.0:
                stretch = stretch_of(i, side, lows[side], body, rows)
                stretches[side, k] = stretch if k == 0 else min(stretch, stretches[side, k - 1])
                largest = max(largest, stretch)
        if k == 0 and largest <= 0.0:
            return 0.0
    total = 0.0
    for sample in range(NEED_SAMPLES):
        start = 0.0
        while start < 1.0:  # piece by piece: between these ends the integrand of a hand is a polynomial
            end = 1.0
            for side in range(2):
                now, after = stretches[side, sample], stretches[side, sample + 1]
                if gains[side] > 0.0 and now > after:
                    for k in range(3):
                        level = float(k) if k < 2 else stretches[side, NEED_SAMPLES] + GAIN / (FULL - lows[side])
                        fraction = (now - level) / (now - after)
                        if start + SHORT < fraction < end:
                            end = fraction
            for k in range(3):
                between = start + (end - start) * (0.5 + (k - 1) * NODE)
                largest = 0.0
                for side in range(2):
                    if gains[side] > 0.0:
                        now, after = stretches[side, sample], stretches[side, sample + 1]
                        stretch, nearest = now + (after - now) * between, stretches[side, NEED_SAMPLES]
                        x, worth = min(1.0, max(0.0, stretch)), (stretch - nearest) * (FULL - lows[side]) / GAIN
                        y = min(1.0, (stretches[side, 0] - nearest) * (FULL - lows[side]) / WORTH)
                        rising = x * x * (3.0 - 2.0 * x) * y * y * (3.0 - 2.0 * y)
                        largest = max(largest, gains[side] * rising * min(1.0, worth))
                total += (end - start) * (8.0 if k == 1 else 5.0) / 18.0 * largest
            start = end
    return total / NEED_SAMPLES


@kernel
def stretch_of(i: int, side: int, low: float, body: Body, rows: Rows) -> float:
    """Return how far an arm must stretch from the shoulder of the solution: 0 where it is comfortable, 1 at `FULL`."""
    shoulder = vec_at(rows.positions[1], i, body.limbs[ARM - side]["base"])
    distance = norm(sub(target_of(i, side, rows), shoulder))
    return (distance / arm_length(i, side, body, rows) - low) / (FULL - low)
