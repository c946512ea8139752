"""Small dense linear algebra on caller-owned arrays, for use inside kernels: Gram matrices, Cholesky, singular values.

Arrays are the leading corner of what is handed in, so that one scratch array serves any size up to its own.
"""

from __future__ import annotations

import math

from ..compute import kernel
from ..compute.types import Floats

TINY = 1e-300  # the least pivot that `cholesky_floored` divides by the root of
GRAM_ROWS = 8  # rows that `add_gram` takes at a time
SWEEPS = 40  # a one-sided Jacobi method needs six to ten
ORTHOGONAL = 1e-15  # cosine between two rows that counts as none


@kernel
def cholesky(a: Floats, n: int) -> bool:
    """Replace the upper triangle of the leading n x n of `a` by its Cholesky factor U, with U^T U = a.

    Only the upper triangle of `a` is read. False, with `a` half done, when it is not positive definite.
    """
    for j in range(n):
        if not a[j, j] > 0.0:
            return False
        root = math.sqrt(a[j, j])
        a[j, j] = root
        for c in range(j + 1, n):
            a[j, c] /= root
        _eliminate(a, n, j)
    return True


@kernel
def cholesky_floored(a: Floats, n: int) -> None:
    """Replace the upper triangle of `a` as `cholesky` does, for matrices that are positive definite but for rounding.

    A pivot that rounding left at zero or below counts as `TINY`, so that the factorisation always goes on.
    """
    for j in range(n):
        root = math.sqrt(max(a[j, j], TINY))
        for c in range(j, n):
            a[j, c] /= root
        _eliminate(a, n, j)


@kernel
def _eliminate(a: Floats, n: int, j: int) -> None:
    """Subtract row j of a factor from the rows below; along rows, so that processors take several numbers at once."""
    for i in range(j + 1, n):
        s = a[j, i]
        if s != 0.0:
            for c in range(i, n):
                a[i, c] -= s * a[j, c]


@kernel
def cholesky_solve(factor: Floats, n: int, b: Floats) -> None:
    """Solve U^T U x = b in place of `b` (n,), with the factor of `cholesky`."""
    for i in range(n):
        b[i] /= factor[i, i]
        s = b[i]
        for c in range(i + 1, n):
            b[c] -= factor[i, c] * s
    for i in range(n - 1, -1, -1):
        s = b[i]
        for c in range(i + 1, n):
            s -= factor[i, c] * b[c]
        b[i] = s / factor[i, i]


@kernel
def cholesky_whiten(factor: Floats, n: int, y: Floats, columns: int) -> None:
    """Replace Y (n, columns) by U^-T Y, with the factor of `cholesky`: forward substitution of all columns at once."""
    for i in range(n):
        for c in range(columns):
            y[i, c] /= factor[i, i]
        for a in range(i + 1, n):
            s = factor[i, a]
            if s != 0.0:
                for c in range(columns):
                    y[a, c] -= s * y[i, c]


@kernel
def weighted_gram(jt: Floats, v: Floats, rows: int, n: int, out: Floats) -> float:
    """Fill the upper triangle of `out` with J V J^T and return its trace.

    Args:
        jt: (n, rows) J transposed.
        v: (n,) the diagonal of V.
        rows: of J.
        n: columns of J.
        out: (rows, rows).
    """
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
def add_gram(y: Floats, rows: int, n: int, out: Floats) -> None:
    """Add Y^T Y of Y (rows, n) to `out` (n, n); `rows` is a multiple of `GRAM_ROWS` (`padded_rows`), the last may be 0.

    Eight rows at a time, and both triangles: four times as fast as one row after the other, the upper triangle only.
    """
    for r in range(0, rows, GRAM_ROWS):
        for a in range(n):
            p, q, s, t = y[r, a], y[r + 1, a], y[r + 2, a], y[r + 3, a]
            e, f, g, h = y[r + 4, a], y[r + 5, a], y[r + 6, a], y[r + 7, a]
            for b in range(n):
                first = (p * y[r, b] + q * y[r + 1, b]) + (s * y[r + 2, b] + t * y[r + 3, b])
                last = (e * y[r + 4, b] + f * y[r + 5, b]) + (g * y[r + 6, b] + h * y[r + 7, b])
                out[a, b] += first + last


def padded_rows(rows: int) -> int:
    """Return the next multiple of `GRAM_ROWS`: the rows of an array for `add_gram`."""
    return -(-rows // GRAM_ROWS) * GRAM_ROWS


@kernel
def svd_rows(a: Floats, m: int, n: int, u: Floats, s: Floats) -> None:
    """Singular values of the leading m x n of `a`: a = U diag(s) W^T, by one-sided Jacobi rotations of the rows.

    Afterwards row k of `a` is s[k] w_k^T (the w_k are orthonormal where s[k] > 0), `u` (m x m) is orthogonal, and the
    values are in no order. Small singular values keep their digits, which an eigenvalue method on a a^T would lose.
    """
    for i in range(m):
        for j in range(m):
            u[i, j] = 1.0 if i == j else 0.0
    whole = 0.0
    for i in range(m):
        for c in range(n):
            whole += a[i, c] * a[i, c]
    rounding = ORTHOGONAL * ORTHOGONAL * whole
    for _ in range(SWEEPS):
        rotated = False
        for p in range(m - 1):
            for q in range(p + 1, m):
                rotated = _orthogonalise(a, m, n, u, p, q, rounding) or rotated
        if not rotated:
            break
    for k in range(m):
        square = 0.0
        for c in range(n):
            square += a[k, c] * a[k, c]
        s[k] = math.sqrt(square)


@kernel
def _orthogonalise(a: Floats, m: int, n: int, u: Floats, p: int, q: int, rounding: float) -> bool:
    """Rotate rows p and q of `a` against each other until they are orthogonal; return whether they were not.

    A row whose square is at most `rounding` has no direction.
    """
    first, second, inner = 0.0, 0.0, 0.0
    for c in range(n):
        x, y = a[p, c], a[q, c]
        first += x * x
        second += y * y
        inner += x * y
    if first <= rounding and second <= rounding:
        return False
    if abs(inner) <= max(ORTHOGONAL * math.sqrt(first) * math.sqrt(second), rounding):
        return False
    zeta = (second - first) / (2.0 * inner)
    tangent = math.copysign(1.0, zeta) / (abs(zeta) + math.hypot(1.0, zeta))
    cosine = 1.0 / math.hypot(1.0, tangent)
    sine = cosine * tangent
    for c in range(n):
        x, y = a[p, c], a[q, c]
        a[p, c], a[q, c] = cosine * x - sine * y, sine * x + cosine * y
    for r in range(m):
        x, y = u[r, p], u[r, q]
        u[r, p], u[r, q] = cosine * x - sine * y, sine * x + cosine * y
    return True
