"""Small dense linear algebra on caller-owned arrays, for use inside kernels: Cholesky and singular values.

Arrays are the leading corner of what is handed in, so that one scratch array serves any size up to its own.
"""

from __future__ import annotations

import math

from ..compute import kernel
from ..compute.types import Floats

SWEEPS = 40  # a one-sided Jacobi method needs six to ten
ORTHOGONAL = 1e-15  # cosine between two rows that counts as none


@kernel
def cholesky(a: Floats, n: int) -> bool:
    """Factor the leading n x n of a symmetric `a` in place, a = L L^T with L in the lower triangle.

    False, with `a` half done, when `a` is not positive definite.
    """
    for j in range(n):
        pivot = a[j, j]
        for k in range(j):
            pivot -= a[j, k] * a[j, k]
        if not pivot > 0.0:
            return False
        root = math.sqrt(pivot)
        a[j, j] = root
        for i in range(j + 1, n):
            rest = a[i, j]
            for k in range(j):
                rest -= a[i, k] * a[j, k]
            a[i, j] = rest / root
    return True


@kernel
def cholesky_solve(factor: Floats, n: int, b: Floats) -> None:
    """Solve L L^T x = b in place of `b`, with `cholesky`'s factor."""
    for i in range(n):
        rest = b[i]
        for k in range(i):
            rest -= factor[i, k] * b[k]
        b[i] = rest / factor[i, i]
    for i in range(n - 1, -1, -1):
        rest = b[i]
        for k in range(i + 1, n):
            rest -= factor[k, i] * b[k]
        b[i] = rest / factor[i, i]


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
        turned = False
        for p in range(m - 1):
            for q in range(p + 1, m):
                turned = _made_orthogonal(a, m, n, u, p, q, rounding) or turned
        if not turned:
            break
    for k in range(m):
        square = 0.0
        for c in range(n):
            square += a[k, c] * a[k, c]
        s[k] = math.sqrt(square)


@kernel
def _made_orthogonal(a: Floats, m: int, n: int, u: Floats, p: int, q: int, rounding: float) -> bool:
    """Turn rows p and q of `a` against each other until they are orthogonal; whether they were not.

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
