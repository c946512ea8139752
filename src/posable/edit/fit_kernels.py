"""Kernels of the weights: rates that a weighting explains, and the fit of the weights to a clip.

With V = W^-1 = diag(exp x), the rates that weights explain are f(x) = V J^T (J V J^T + mu tr/m I)^-1 J thetadot
(Komura et al. 2004, Eq. 4; their (J^T J)^-1 J^T is singular here, erratum K1). Multiplying all weights by one number
changes nothing. The fit minimises the sum of |thetadot - f|^2 / |thetadot|^2 over the samples of a window, plus
reg^2 |x|^2 and prior^2 |x - x_before|^2, by Levenberg and Marquardt, with df/dx = N diag(f), N = I - V J^T A^-1 J
(`specs/edit.md`, section 2).
"""

from __future__ import annotations

import math

from ..compute import batch, kernel, prange
from ..compute.types import Floats, Ints
from ..math.linear import add_gram, cholesky_floored, cholesky_solve, cholesky_whiten, weighted_gram

MU = 1e-9  # of the mean of the diagonal: keeps what is nearly singular solvable
WIDEST = math.log(1e3)  # |x| at most: weights further apart are noise
DONE = 2e-3  # a step that lowers the cost by less than this fraction ends the fit
TRIES = 6  # damped steps that may fail before the fit ends
STILL = 1e-18  # (rad/s)^2: a sample that moves less carries no information


@kernel
def explained(jac: Floats, rates: Floats, v: Floats, mu: float, small: Floats, wide: Floats, vec: Floats) -> float:
    """Fill vec[0] with the rates f that the weights explain, leave U in `small`; return |rates - f|^2 / |rates|^2.

    jac (R, n), rates (n,), v (n,); scratch: small (R, R), wide (n, R), vec (>= 2, max(n, R)).
    """
    rows, n = jac.shape[0], jac.shape[1]
    for a in range(rows):
        s = 0.0
        for k in range(n):
            wide[k, a] = jac[a, k]
            s += jac[a, k] * rates[k]
        vec[1, a] = s
    trace = weighted_gram(wide, v, rows, n, small)
    for a in range(rows):
        small[a, a] += mu * trace / rows
    cholesky_floored(small, rows)
    cholesky_solve(small, rows, vec[1])
    missed, whole = 0.0, 0.0
    for k in range(n):
        s = 0.0
        for a in range(rows):
            s += wide[k, a] * vec[1, a]
        vec[0, k] = v[k] * s
        missed += (rates[k] - vec[0, k]) ** 2
        whole += rates[k] ** 2
    return missed / whole if whole > STILL else 0.0


@batch(rows=64)
def explain_rows(
    n: int,
    jac: Floats,
    rates: Floats,
    v: Floats,
    mu: float,
    out: Floats,
    residual: Floats,
    small: Floats,
    wide: Floats,
    vec: Floats,
) -> None:
    """Fill the explained rates `out` (N, n) and |rates - f| / |rates| `residual` (N,), for weights v (N, n)."""
    for i in prange(n):
        residual[i] = math.sqrt(explained(jac[i], rates[i], v[i], mu, small[i], wide[i], vec[i]))
        for k in range(rates.shape[1]):
            out[i, k] = vec[i, 0, k]


@kernel
def _cost(
    samples: Ints,
    jac: Floats,
    rates: Floats,
    x: Floats,
    before: Floats,
    reg: float,
    prior: float,
    small: Floats,
    wide: Floats,
    vec: Floats,
) -> float:
    """Return the cost that the fit minimises, at x."""
    n = rates.shape[1]
    total = 0.0
    for k in range(n):
        vec[2, k] = math.exp(x[k])
        total += (reg * x[k]) ** 2 + (prior * (x[k] - before[k])) ** 2
    for s in range(samples.shape[0]):
        if samples[s] >= 0:
            total += explained(jac[samples[s]], rates[samples[s]], vec[2], MU, small, wide, vec)
    return total


@kernel
def _add_curvature(jac: Floats, rates: Floats, v: Floats, tall: Floats, c: Floats, h: Floats, vec: Floats) -> None:
    """Add one sample's gradient to vec[3] and its curvature D N^T N D to h (n, n).

    vec[0] holds f and `tall` holds Y = U^-T J: then J^T A^-1 J = Y^T Y, and N = I - V Y^T Y. The rows of `tall` and of
    c (.., n) are multiples of eight, zero beyond those of J and n.
    """
    rows, n = tall.shape[0], tall.shape[1]
    whole = 0.0
    for a in range(n):
        whole += rates[a] ** 2
        for b in range(n):
            c[a, b] = 0.0
    if whole <= STILL:
        return
    add_gram(tall, rows, n, c)
    size = 1.0 / math.sqrt(whole)
    for k in range(n):  # c becomes N D, relative to the rates' size
        g = size * (rates[k] - vec[0, k])
        c[k, k] -= 1.0 / v[k]
        for a in range(n):
            c[k, a] *= -size * v[k] * vec[0, a]
            vec[3, a] -= c[k, a] * g
    add_gram(c, c.shape[0], n, h)


@kernel
def _fit_window(
    samples: Ints,
    jac: Floats,
    rates: Floats,
    x: Floats,
    reg: float,
    prior: float,
    max_iterations: int,
    small: Floats,
    wide: Floats,
    tall: Floats,
    square: Floats,
    vec: Floats,
) -> float:
    """Fit x in place by Levenberg-Marquardt; return the cost. vec: f, lambda, v, gradient, x before, tried x."""
    n = rates.shape[1]
    c, h, u = square[0], square[1], square[2]
    for k in range(n):
        vec[4, k] = x[k]
    cost = _cost(samples, jac, rates, x, vec[4], reg, prior, small, wide, vec)
    damping = 1e-2
    for _ in range(max_iterations):
        for a in range(n):
            vec[2, a] = math.exp(x[a])
            vec[3, a] = reg * reg * x[a] + prior * prior * (x[a] - vec[4, a])
            for b in range(n):
                h[a, b] = 0.0
        for s in range(samples.shape[0]):
            if samples[s] >= 0:
                one = jac[samples[s]]
                explained(one, rates[samples[s]], vec[2], MU, small, wide, vec)
                for a in range(one.shape[0]):
                    for b in range(n):
                        tall[a, b] = one[a, b]
                cholesky_whiten(small, one.shape[0], tall, n)
                _add_curvature(one, rates[samples[s]], vec[2], tall, c, h, vec)
        tried = math.inf
        for _ in range(TRIES):
            for a in range(n):
                for b in range(a, n):
                    u[a, b] = h[a, b]
                u[a, a] += reg * reg + prior * prior + damping * (h[a, a] + reg * reg)
                vec[5, a] = -vec[3, a]
            cholesky_floored(u, n)
            cholesky_solve(u, n, vec[5])
            for a in range(n):
                vec[5, a] = min(WIDEST, max(-WIDEST, x[a] + vec[5, a]))
            tried = _cost(samples, jac, rates, vec[5], vec[4], reg, prior, small, wide, vec)
            if tried < cost:
                break
            damping *= 5.0
        if not tried < cost:
            break
        gained = cost - tried
        cost = tried
        damping = max(1e-7, 0.2 * damping)
        for a in range(n):
            x[a] = vec[5, a]
        if gained < DONE * cost:
            break
    return cost


@batch(rows=2)
def fit_rows(
    n: int,
    span: Ints,
    samples: Ints,
    jac: Floats,
    rates: Floats,
    start: Floats,
    reg: float,
    prior: float,
    max_iterations: int,
    x: Floats,
    cost: Floats,
    small: Floats,
    wide: Floats,
    tall: Floats,
    square: Floats,
    vec: Floats,
) -> None:
    """Fit the windows span[i, 0] to span[i, 1] - 1, one after the other, each from the result of the one before.

    samples (W, S) are rows of jac (P, R, n) and rates (P, n), -1 for none; the first window of a row starts at
    `start` (n,). x (W, n) are the logarithms of v, cost (W,) the costs. Scratch has a row for each span.
    """
    for i in prange(n):
        for k in range(start.shape[0]):
            vec[i, 6, k] = start[k]
        for w in range(span[i, 0], span[i, 1]):
            cost[w] = _fit_window(
                samples[w],
                jac,
                rates,
                vec[i, 6],
                reg,
                prior,
                max_iterations,
                small[i],
                wide[i],
                tall[i],
                square[i],
                vec[i],
            )
            for k in range(start.shape[0]):
                x[w, k] = vec[i, 6, k]
