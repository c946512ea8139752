"""Small dense linear algebra for kernels: weighted Gram matrices and Cholesky factors, on rows of scratch arrays.

Loops run along rows, so that the compiler can work on several numbers at once; nothing is allocated.
"""

from __future__ import annotations

import math

from ..compute import kernel
from ..compute.types import Floats

IN_STEP = 8  # rows that `add_gram` takes at a time
TINY = 1e-300  # the least pivot: what is singular gives large numbers, never NaN


@kernel
def weighted_gram(rows: int, n: int, jt: Floats, v: Floats, out: Floats) -> float:
    """Fill the upper triangle of `out` with J V J^T, J given transposed (n, rows); returns the trace."""
    for a in range(rows):
        for b in range(a, rows):
            out[a, b] = 0.0
    for k in range(n):
        if v[k] != 0.0:
            for a in range(rows):
                s = jt[k, a] * v[k]
                if s != 0.0:
                    for b in range(a, rows):
                        out[a, b] += s * jt[k, b]
    trace = 0.0
    for a in range(rows):
        trace += out[a, a]
    return trace


@kernel
def add_gram(rows: int, n: int, y: Floats, out: Floats) -> None:
    """Add Y^T Y of Y (rows, n) to `out` (n, n); the number of rows is a multiple of `IN_STEP`, the last ones may be 0.

    Eight rows at a time, and both triangles: four times as fast as one row after the other, the upper triangle only.
    """
    for r in range(0, rows, IN_STEP):
        for a in range(n):
            p, q, s, t = y[r, a], y[r + 1, a], y[r + 2, a], y[r + 3, a]
            e, f, g, h = y[r + 4, a], y[r + 5, a], y[r + 6, a], y[r + 7, a]
            for b in range(n):
                first = (p * y[r, b] + q * y[r + 1, b]) + (s * y[r + 2, b] + t * y[r + 3, b])
                last = (e * y[r + 4, b] + f * y[r + 5, b]) + (g * y[r + 6, b] + h * y[r + 7, b])
                out[a, b] += first + last


def in_step(rows: int) -> int:
    """The next multiple of `IN_STEP`."""
    return -(-rows // IN_STEP) * IN_STEP


@kernel
def cholesky(rows: int, a: Floats) -> None:
    """Replace the upper triangle of a positive definite matrix by U with U^T U = a."""
    for j in range(rows):
        pivot = math.sqrt(max(a[j, j], TINY))
        for b in range(j, rows):
            a[j, b] /= pivot
        for i in range(j + 1, rows):
            s = a[j, i]
            if s != 0.0:
                for b in range(i, rows):
                    a[i, b] -= s * a[j, b]


@kernel
def solve_factored(rows: int, u: Floats, x: Floats) -> None:
    """Replace x by the solution of U^T U y = x."""
    for i in range(rows):
        x[i] /= u[i, i]
        s = x[i]
        for b in range(i + 1, rows):
            x[b] -= u[i, b] * s
    for i in range(rows - 1, -1, -1):
        s = x[i]
        for b in range(i + 1, rows):
            s -= u[i, b] * x[b]
        x[i] = s / u[i, i]


@kernel
def solve_rows(rows: int, n: int, u: Floats, y: Floats) -> None:
    """Replace Y (rows, n) by U^-T Y."""
    for i in range(rows):
        for b in range(n):
            y[i, b] /= u[i, i]
        for a in range(i + 1, rows):
            s = u[i, a]
            if s != 0.0:
                for b in range(n):
                    y[a, b] -= s * y[i, b]
