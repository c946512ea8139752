"""Kernels of the weights: rates that a weighting explains, and the fit of the weights to a clip.

With V = W^-1 = diag(exp x), the rates that weights explain are f(x) = V J^T (J V J^T + mu tr/m I)^-1 J thetadot
(Komura et al. 2004, Eq. 4; their (J^T J)^-1 J^T is singular here, erratum K1). Multiplying all weights by one number
changes nothing. The fit minimises the sum of |thetadot - f|^2 / |thetadot|^2 over the samples of a window, plus
reg^2 |x|^2 and prior^2 |x - x_before|^2, by Levenberg and Marquardt, with df/dx = N diag(f), N = I - V J^T A^-1 J
(`specs/edit.md`, section 2).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..compute import batch, kernel, prange
from ..compute.types import Floats, Ints, Records
from ..math.linear import add_gram, cholesky_floored, cholesky_solve, cholesky_whiten, padded_rows, weighted_gram

MU = 1e-9  # of the mean of the diagonal: keeps what is nearly singular solvable
WIDEST = math.log(1e3)  # |x| at most: weights further apart are noise
DONE = 2e-3  # a step that lowers the cost by less than this fraction ends the fit
ITERATIONS = 24
TRIES = 6  # damped steps that may fail before the fit ends
STILL = 1e-18  # (rad/s)^2: a sample that moves less carries no information


STRENGTH = np.dtype([("reg", "f8"), ("prior", "f8")], align=True)
"""How strongly weights are drawn together, and to those of the window before."""


class Fit(NamedTuple):
    """Samples of a motion and how weights are fitted to them."""

    jacobians: Floats
    """(P, R, n) of the parts, by sample."""
    rates: Floats
    """(P, n) of the DoF [rad/s], [m/s]."""
    windows: Ints
    """(W, S) the samples of each window; -1 for none."""
    strength: Records
    """(1,)."""


class FitScratch(NamedTuple):
    """Buffers, a row a sample or a span of windows; made by `fit_scratch`."""

    explained: Floats
    """(N, n) the rates f."""
    multipliers: Floats
    """(N, R)."""
    transposed: Floats
    """(N, n, R) J^T."""
    gram: Floats
    """(N, R, R) J V J^T, then its Cholesky factor U."""
    whitened: Floats
    """(N, >= R, n) Y = U^-T J: then J^T A^-1 J = Y^T Y, and N = I - V Y^T Y. Rows beyond those of J are 0."""
    slopes: Floats
    """(N, >= n, n) of one sample: N D. Rows beyond n are 0."""
    curvature: Floats
    """(N, n, n)."""
    factor: Floats
    """(N, n, n)."""
    inverse_weights: Floats
    gradient: Floats
    before: Floats
    """(N, n) x of the window before."""
    x: Floats
    tried: Floats


def fit_scratch(count: int, rows: int, n: int, spans: int) -> FitScratch:
    """Allocate buffers for Jacobians (rows, n): `count` to explain samples, `spans` to fit windows."""
    return FitScratch(
        explained=np.empty((count, n)),
        multipliers=np.empty((count, rows)),
        transposed=np.empty((count, n, rows)),
        gram=np.empty((count, rows, rows)),
        whitened=np.zeros((spans, padded_rows(rows), n)),
        slopes=np.zeros((spans, padded_rows(n), n)),
        curvature=np.zeros((spans, n, n)),
        factor=np.zeros((spans, n, n)),
        inverse_weights=np.empty((spans, n)),
        gradient=np.zeros((spans, n)),
        before=np.empty((spans, n)),
        x=np.empty((spans, n)),
        tried=np.empty((spans, n)),
    )


@kernel
def explained(i: int, jac: Floats, rates: Floats, v: Floats, mu: float, work: FitScratch) -> float:
    """Compute the rates that inverse weights v (n,) explain; return |rates - f|^2 / |rates|^2. Leaves U in `gram`."""
    rows, n = jac.shape
    solved, transposed, gram = work.multipliers[i], work.transposed[i], work.gram[i]
    for a in range(rows):
        s = 0.0
        for k in range(n):
            transposed[k, a] = jac[a, k]
            s += jac[a, k] * rates[k]
        solved[a] = s
    trace = weighted_gram(transposed, v, rows, n, gram)
    for a in range(rows):
        gram[a, a] += mu * trace / rows
    cholesky_floored(gram, rows)
    cholesky_solve(gram, rows, solved)
    missed, whole = 0.0, 0.0
    for k in range(n):
        s = 0.0
        for a in range(rows):
            s += transposed[k, a] * solved[a]
        work.explained[i, k] = v[k] * s
        missed += (rates[k] - work.explained[i, k]) ** 2
        whole += rates[k] ** 2
    return missed / whole if whole > STILL else 0.0


@batch(rows=64)
def explain_rows(
    n: int, jacobians: Floats, rates: Floats, v: Floats, mu: float, residual: Floats, work: FitScratch
) -> None:
    """Explain the rates of n samples with weights v (N, n); fill |rates - f| / |rates| `residual` (N,)."""
    for i in prange(n):
        residual[i] = math.sqrt(explained(i, jacobians[i], rates[i], v[i], mu, work))


@kernel
def _cost(i: int, w: int, fit: Fit, x: Floats, work: FitScratch) -> float:
    """Return the cost that the fit of window w minimises, at x."""
    v, total, reg, prior = work.inverse_weights[i], 0.0, fit.strength[0]["reg"], fit.strength[0]["prior"]
    for k in range(x.shape[0]):
        v[k] = math.exp(x[k])
        total += (reg * x[k]) ** 2 + (prior * (x[k] - work.before[i, k])) ** 2
    for s in range(fit.windows.shape[1]):
        sample = fit.windows[w, s]
        if sample >= 0:
            total += explained(i, fit.jacobians[sample], fit.rates[sample], v, MU, work)
    return total


@kernel
def add_curvature(i: int, jac: Floats, rates: Floats, v: Floats, work: FitScratch) -> None:
    """Add the gradient of one sample that was just explained, and its curvature D N^T N D."""
    n = jac.shape[1]
    y, c, f = work.whitened[i], work.slopes[i], work.explained[i]
    for a in range(jac.shape[0]):
        for b in range(n):
            y[a, b] = jac[a, b]
    cholesky_whiten(work.gram[i], jac.shape[0], y, n)
    whole = 0.0
    for a in range(n):
        whole += rates[a] ** 2
        for b in range(n):
            c[a, b] = 0.0
    if whole <= STILL:
        return
    add_gram(y, y.shape[0], n, c)
    size = 1.0 / math.sqrt(whole)
    for k in range(n):  # c becomes N D, relative to the rates' size
        g = size * (rates[k] - f[k])
        c[k, k] -= 1.0 / v[k]
        for a in range(n):
            c[k, a] *= -size * v[k] * f[a]
            work.gradient[i, a] -= c[k, a] * g
    add_gram(c, c.shape[0], n, work.curvature[i])


@kernel
def _fit_window(i: int, w: int, fit: Fit, work: FitScratch) -> None:
    """Fit x to window w in place by Levenberg-Marquardt."""
    x, tried, v, before = work.x[i], work.tried[i], work.inverse_weights[i], work.before[i]
    h, u, n, reg, prior = (
        work.curvature[i],
        work.factor[i],
        x.shape[0],
        fit.strength[0]["reg"],
        fit.strength[0]["prior"],
    )
    for k in range(n):
        before[k] = x[k]
    cost = _cost(i, w, fit, x, work)
    damping = 1e-2
    for _ in range(ITERATIONS):
        for a in range(n):
            v[a] = math.exp(x[a])
            work.gradient[i, a] = reg * reg * x[a] + prior * prior * (x[a] - before[a])
            for b in range(n):
                h[a, b] = 0.0
        for s in range(fit.windows.shape[1]):
            sample = fit.windows[w, s]
            if sample >= 0:
                explained(i, fit.jacobians[sample], fit.rates[sample], v, MU, work)
                add_curvature(i, fit.jacobians[sample], fit.rates[sample], v, work)
        found = math.inf
        for _ in range(TRIES):
            for a in range(n):
                for b in range(a, n):
                    u[a, b] = h[a, b]
                u[a, a] += reg * reg + prior * prior + damping * (h[a, a] + reg * reg)
                tried[a] = -work.gradient[i, a]
            cholesky_floored(u, n)
            cholesky_solve(u, n, tried)
            for a in range(n):
                tried[a] = min(WIDEST, max(-WIDEST, x[a] + tried[a]))
            found = _cost(i, w, fit, tried, work)
            if found < cost:
                break
            damping *= 5.0
        if not found < cost:
            break
        gained = cost - found
        cost = found
        damping = max(1e-7, 0.2 * damping)
        for a in range(n):
            x[a] = tried[a]
        if gained < DONE * cost:
            break


@kernel
def fit_span(i: int, spans: Ints, fit: Fit, start: Floats, x: Floats, work: FitScratch) -> None:
    """Fit the windows spans[i, 0] to spans[i, 1] - 1, one after the other, each from the result of the one before.

    The first starts at `start` (n,); x (W, n) are the logarithms of v.
    """
    for k in range(start.shape[0]):
        work.x[i, k] = start[k]
    for w in range(spans[i, 0], spans[i, 1]):
        _fit_window(i, w, fit, work)
        for k in range(start.shape[0]):
            x[w, k] = work.x[i, k]


@batch(rows=2)
def fit_rows(n: int, spans: Ints, fit: Fit, start: Floats, x: Floats, work: FitScratch) -> None:
    """Call `fit_span` for n spans of windows."""
    # In a kernel: what a parallel loop itself writes to an array of a named tuple is lost, or another thread's.
    for i in prange(n):
        fit_span(i, spans, fit, start, x, work)
