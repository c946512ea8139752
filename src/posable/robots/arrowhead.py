"""Normal equations in the shape of an arrowhead: a block for each limb, and the trunk that all of them hang on.

Each limb has a small dense matrix of its own variables, first, and the trunk's. Eliminating its own leaves a Schur
complement in the trunk's corner; the sum of these, with what the trunk has itself, is solved, and limbs follow. So 35
variables take as many operations as a few systems of sixteen.

Only the upper triangle is filled and read. Rows are worked on four numbers at a time, which is what processors take at
once: a loop over a length that is not known leaves the rows of so small a matrix to be done one by one. So rows are as
long as a multiple of four (`padded`), and what is left of the diagonal within the first four counts for nothing.
"""

from __future__ import annotations

from ..compute import kernel
from ..compute.types import Floats

TINY = 1e-300  # the least pivot
WIDE = 4  # numbers at a time


def padded(size: int) -> int:
    """Return the length of rows for so many variables."""
    return WIDE * -(-size // WIDE)


@kernel
def clear(h: Floats, g: Floats, size: int) -> None:
    """Set a system of the leading `size` variables to zero."""
    for a in range(size):
        g[a] = 0.0
        for b in range(a // WIDE, (size + 3) // WIDE):
            c = WIDE * b
            h[a, c], h[a, c + 1], h[a, c + 2], h[a, c + 3] = 0.0, 0.0, 0.0, 0.0


@kernel
def clear_rows(y: Floats, size: int) -> None:
    """Set the three rows of a Jacobian (3, `size`) to zero, with what is behind them up to four."""
    for k in range(3):
        for b in range((size + 3) // WIDE):
            c = WIDE * b
            y[k, c], y[k, c + 1], y[k, c + 2], y[k, c + 3] = 0.0, 0.0, 0.0, 0.0


@kernel
def copy(h: Floats, g: Floats, size: int, to: Floats, right: Floats) -> None:
    """Copy a system; its right side is minus the gradient."""
    for a in range(size):
        right[a] = -g[a]
        for b in range(a // WIDE, (size + 3) // WIDE):
            c = WIDE * b
            p, q, r, s = h[a, c], h[a, c + 1], h[a, c + 2], h[a, c + 3]
            to[a, c], to[a, c + 1], to[a, c + 2], to[a, c + 3] = p, q, r, s


@kernel(fused=True)
def add_three(y: Floats, r0: float, r1: float, r2: float, size: int, h: Floats, g: Floats) -> None:
    """Add three rows of a Jacobian (3, `size`) and their residuals."""
    for a in range(size):
        p, q, s = y[0, a], y[1, a], y[2, a]
        if p != 0.0 or q != 0.0 or s != 0.0:
            g[a] += p * r0 + q * r1 + s * r2
            for b in range(a // WIDE, (size + 3) // WIDE):
                c = WIDE * b
                t = h[a, c] + p * y[0, c] + q * y[1, c] + s * y[2, c]
                u = h[a, c + 1] + p * y[0, c + 1] + q * y[1, c + 1] + s * y[2, c + 1]
                v = h[a, c + 2] + p * y[0, c + 2] + q * y[1, c + 2] + s * y[2, c + 2]
                w = h[a, c + 3] + p * y[0, c + 3] + q * y[1, c + 3] + s * y[2, c + 3]
                h[a, c], h[a, c + 1], h[a, c + 2], h[a, c + 3] = t, u, v, w


@kernel(fused=True)
def eliminate(h: Floats, x: Floats, own: int, size: int) -> None:
    """Eliminate the first `own` variables of h x = right side: what is left is in the rows and columns after them."""
    for j in range(own):
        inverse = 1.0 / max(h[j, j], TINY)
        for i in range(j + 1, size):
            m = h[j, i] * inverse
            if m != 0.0:
                x[i] -= m * x[j]
                for b in range(i // WIDE, (size + 3) // WIDE):
                    c = WIDE * b
                    t, u = h[i, c] - m * h[j, c], h[i, c + 1] - m * h[j, c + 1]
                    v, w = h[i, c + 2] - m * h[j, c + 2], h[i, c + 3] - m * h[j, c + 3]
                    h[i, c], h[i, c + 1], h[i, c + 2], h[i, c + 3] = t, u, v, w


@kernel(fused=True)
def substitute(h: Floats, x: Floats, own: int, size: int, first: int, after: int, step: Floats) -> None:
    """Solve for the first `own` variables, from the last to the first, into step[first:]; step[after:] has the rest."""
    for j in range(own - 1, -1, -1):
        s = x[j]
        for c in range(j + 1, own):
            s -= h[j, c] * step[first + c]
        for c in range(own, size):
            s -= h[j, c] * step[after + c - own]
        step[first + j] = s / max(h[j, j], TINY)


@kernel
def freeze(h: Floats, x: Floats, v: int, value: float, size: int) -> None:
    """Fix variable v of the system h x = right side to a value; its row and column leave the others."""
    for a in range(v):
        x[a] -= h[a, v] * value
        h[a, v] = 0.0
    for a in range(v + 1, size):
        x[a] -= h[v, a] * value
        h[v, a] = 0.0
    h[v, v], x[v] = 1.0, value
