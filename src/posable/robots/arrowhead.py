"""Normal equations in the shape of an arrowhead: a block for each limb, and the trunk that all of them hang on.

Eliminating the limbs first (a Schur complement) fills nothing in, so that 35 variables take as many operations as ten
full ones. Only the upper triangle is kept, with the trunk's variables last.
"""

from __future__ import annotations

import math

from ..compute import kernel
from ..compute.types import Floats, Records

TINY = 1e-300  # the least pivot


@kernel
def clear(h: Floats, g: Floats, blocks: Records, trunk: int, size: int) -> None:
    """Set the arrowhead and the gradient to zero."""
    for b in range(blocks.shape[0]):
        for a in range(blocks[b]["first"], blocks[b]["last"]):
            for c in range(a, blocks[b]["last"]):
                h[a, c] = 0.0
            for c in range(trunk, size):
                h[a, c] = 0.0
    for a in range(trunk, size):
        for c in range(a, size):
            h[a, c] = 0.0
    for a in range(size):
        g[a] = 0.0


@kernel
def copy(h: Floats, to: Floats, blocks: Records, trunk: int, size: int) -> None:
    """Copy the arrowhead."""
    for b in range(blocks.shape[0]):
        for a in range(blocks[b]["first"], blocks[b]["last"]):
            for c in range(a, blocks[b]["last"]):
                to[a, c] = h[a, c]
            for c in range(trunk, size):
                to[a, c] = h[a, c]
    for a in range(trunk, size):
        for c in range(a, size):
            to[a, c] = h[a, c]


@kernel
def add_three(
    y: Floats, r0: float, r1: float, r2: float, first: int, last: int, trunk: int, size: int, h: Floats, g: Floats
) -> None:
    """Add three rows of a Jacobian (3, N), not zero in variables first to last - 1 and the trunk's, and residuals."""
    for a in range(first, last):
        p, q, s = y[0, a], y[1, a], y[2, a]
        g[a] += p * r0 + q * r1 + s * r2
        for c in range(a, last):
            h[a, c] += p * y[0, c] + q * y[1, c] + s * y[2, c]
        for c in range(trunk, size):
            h[a, c] += p * y[0, c] + q * y[1, c] + s * y[2, c]
    for a in range(trunk, size):
        p, q, s = y[0, a], y[1, a], y[2, a]
        g[a] += p * r0 + q * r1 + s * r2
        for c in range(a, size):
            h[a, c] += p * y[0, c] + q * y[1, c] + s * y[2, c]


@kernel
def add_one(
    y: Floats,
    weight: float,
    doubled: float,
    residual: float,
    first: int,
    last: int,
    trunk: int,
    size: int,
    h: Floats,
    g: Floats,
) -> None:
    """Add weight times a row (N,) with itself, in one limb's variables, and its coupling with the trunk's.

    `doubled`: by how much more the limb's own products count (see `kernels`: 2 where the row moves two limbs).
    """
    for a in range(first, last):
        s = weight * y[a]
        g[a] += s * residual
        for c in range(a, last):
            h[a, c] += doubled * s * y[c]
        for c in range(trunk, size):
            h[a, c] += s * y[c]


@kernel
def add_trunk(y: Floats, weight: float, residual: float, trunk: int, size: int, h: Floats, g: Floats) -> None:
    """Add weight times a row (N,) with itself, in the trunk's variables."""
    for a in range(trunk, size):
        s = weight * y[a]
        g[a] += s * residual
        for c in range(a, size):
            h[a, c] += s * y[c]


@kernel
def factorise(h: Floats, blocks: Records, trunk: int, size: int) -> None:
    """Replace the arrowhead by its Cholesky factor U, with U^T U = h."""
    for b in range(blocks.shape[0]):
        last = blocks[b]["last"]
        for j in range(blocks[b]["first"], last):
            inverse = 1.0 / math.sqrt(max(h[j, j], TINY))
            for c in range(j, last):
                h[j, c] *= inverse
            for c in range(trunk, size):
                h[j, c] *= inverse
            for i in range(j + 1, last):
                s = h[j, i]
                if s != 0.0:
                    for c in range(i, last):
                        h[i, c] -= s * h[j, c]
                    for c in range(trunk, size):
                        h[i, c] -= s * h[j, c]
            for i in range(trunk, size):
                s = h[j, i]
                if s != 0.0:
                    for c in range(i, size):
                        h[i, c] -= s * h[j, c]
    for j in range(trunk, size):
        inverse = 1.0 / math.sqrt(max(h[j, j], TINY))
        for c in range(j, size):
            h[j, c] *= inverse
        for i in range(j + 1, size):
            s = h[j, i]
            for c in range(i, size):
                h[i, c] -= s * h[j, c]


@kernel
def substitute(u: Floats, x: Floats, blocks: Records, trunk: int, size: int) -> None:
    """Replace x by the solution of U^T U y = x."""
    for b in range(blocks.shape[0]):
        last = blocks[b]["last"]
        for j in range(blocks[b]["first"], last):
            x[j] /= u[j, j]
            s = x[j]
            for c in range(j + 1, last):
                x[c] -= s * u[j, c]
            for c in range(trunk, size):
                x[c] -= s * u[j, c]
    for j in range(trunk, size):
        x[j] /= u[j, j]
        s = x[j]
        for c in range(j + 1, size):
            x[c] -= s * u[j, c]
    for j in range(size - 1, trunk - 1, -1):
        s = x[j]
        for c in range(j + 1, size):
            s -= u[j, c] * x[c]
        x[j] = s / u[j, j]
    for b in range(blocks.shape[0]):
        last = blocks[b]["last"]
        for j in range(last - 1, blocks[b]["first"] - 1, -1):
            s = x[j]
            for c in range(trunk, size):
                s -= u[j, c] * x[c]
            for c in range(j + 1, last):
                s -= u[j, c] * x[c]
            x[j] = s / u[j, j]


@kernel
def freeze(h: Floats, x: Floats, v: int, value: float, blocks: Records, trunk: int, size: int) -> None:
    """Fix variable v of the system h x = b, with b in `x`, to a value; its row and column leave the others."""
    for b in range(blocks.shape[0]):
        first, last = blocks[b]["first"], blocks[b]["last"]
        inside = first <= v < last
        if not (inside or v >= trunk):
            continue
        if inside:
            for a in range(first, v):
                x[a] -= h[a, v] * value
                h[a, v] = 0.0
            for c in range(v + 1, last):
                x[c] -= h[v, c] * value
                h[v, c] = 0.0
            for c in range(trunk, size):
                x[c] -= h[v, c] * value
                h[v, c] = 0.0
        else:
            for a in range(first, last):
                x[a] -= h[a, v] * value
                h[a, v] = 0.0
    if v >= trunk:
        for a in range(trunk, v):
            x[a] -= h[a, v] * value
            h[a, v] = 0.0
        for c in range(v + 1, size):
            x[c] -= h[v, c] * value
            h[v, c] = 0.0
    h[v, v] = 1.0
    x[v] = value
