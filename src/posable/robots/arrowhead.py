"""Normal equations in the shape of an arrowhead: a block for each limb, and the trunk that all of them hang on.

Each limb has a small dense matrix of its own variables, first, and the trunk's. Eliminating its own leaves a Schur
complement in the trunk's corner; the sum of these, with what the trunk has itself, is solved, and limbs follow. So 35
variables take as many operations as a few systems of sixteen. Both triangles are filled: along whole rows processors
take several numbers at once.
"""

from __future__ import annotations

from ..compute import kernel
from ..compute.types import Floats

TINY = 1e-300  # the least pivot


@kernel
def clear(h: Floats, g: Floats, size: int) -> None:
    """Set a system of the leading `size` variables to zero."""
    for a in range(size):
        g[a] = 0.0
        for c in range(size):
            h[a, c] = 0.0


@kernel
def copy(h: Floats, g: Floats, size: int, to: Floats, right: Floats) -> None:
    """Copy a system; its right side is minus the gradient."""
    for a in range(size):
        right[a] = -g[a]
        for c in range(size):
            to[a, c] = h[a, c]


@kernel(fused=True)
def add_three(y: Floats, r0: float, r1: float, r2: float, size: int, h: Floats, g: Floats) -> None:
    """Add three rows of a Jacobian (3, `size`) and their residuals."""
    for a in range(size):
        p, q, s = y[0, a], y[1, a], y[2, a]
        if p != 0.0 or q != 0.0 or s != 0.0:
            g[a] += p * r0 + q * r1 + s * r2
            for c in range(size):
                h[a, c] += p * y[0, c] + q * y[1, c] + s * y[2, c]


@kernel(fused=True)
def eliminate(h: Floats, x: Floats, own: int, size: int) -> None:
    """Eliminate the first `own` variables of h x = right side: what is left is in the rows and columns after them."""
    for j in range(own):
        inverse = 1.0 / max(h[j, j], TINY)
        for i in range(j + 1, size):
            s = h[j, i] * inverse
            if s != 0.0:
                x[i] -= s * x[j]
                for c in range(j + 1, size):
                    h[i, c] -= s * h[j, c]


@kernel(fused=True)
def substitute(h: Floats, x: Floats, own: int, size: int) -> None:
    """Solve for the first `own` variables, from the last to the first; those after them are known."""
    for j in range(own - 1, -1, -1):
        s = x[j]
        for c in range(j + 1, size):
            s -= h[j, c] * x[c]
        x[j] = s / max(h[j, j], TINY)


@kernel
def freeze(h: Floats, x: Floats, v: int, value: float, size: int) -> None:
    """Fix variable v of the system h x = right side to a value; its row and column leave the others."""
    for a in range(size):
        if a != v:
            x[a] -= h[a, v] * value
            h[a, v], h[v, a] = 0.0, 0.0
    h[v, v], x[v] = 1.0, value
