"""The problem of an iterative method as kernels read it: effectors, limits of joints, settings and scratch space."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..compute.types import Floats, Ints, Records

TRANSPOSE, PSEUDOINVERSE, DLS, DLS_SVD, SDLS, PIK, CCD, FABRIK = range(8)
"""Codes of the methods."""

EFFECTOR = np.dtype(
    [(name, "i8") for name in ("joint", "level", "oriented", "row", "first", "last")]
    + [(name, "f8") for name in ("px", "py", "pz", "weight")],
    align=True,
)
"""An effector: the joint that carries it, its priority level, whether its orientation counts, its first row in the
stacked Jacobian, the part of `Problem.links` that is its chain (CCD), its point in the joint's frame [m], weight."""

GUARD = np.dtype(
    [("row", "i8")] + [(name, "f8") for name in ("bw", "bx", "by", "bz", "aw", "ax", "ay", "az")], align=True
)
"""The limit of a joint: its row in the packed limits or -1, and the rotations B and A that make what the limit speaks
of out of the joint's local rotation q: B q A."""

SETTINGS = np.dtype(
    [(name, "i8") for name in ("method", "iterations", "rows", "levels", "balance", "fresh", "adaptive")]
    + [(name, "f8") for name in ("tolerance", "orientation_tolerance", "improvement", "settled", "damping", "max_step")]
    + [(name, "f8") for name in ("threshold", "max_error", "rotation_length", "attraction")],
    align=True,
)
"""One row. `balance`: the effector whose error the root takes half of, or -1; `fresh`: every frame starts from its own
start instead of the frame before; `adaptive`: Maciejewski's damping, with `damping` the longest step."""


class Problem(NamedTuple):
    """A skeleton with its effectors and how to move it."""

    joints: Records
    effectors: Records
    guards: Records
    """(J,)."""
    limits: Records
    curves: Floats
    active: Ints
    """(D,) whether a DoF may be used."""
    rotates: Ints
    """(J,) whether a joint may rotate."""
    above: Ints
    """(J,) for joints between the root and an effector that rotate or carry one: the next joint towards the root that
    rotates, or the root; -1 for all others."""
    links: Ints
    """Joints of the effectors' chains, each from the effector towards its base."""
    relaxed: Floats
    """(1, J, 4) where the optimisation term draws the posture; with no rows it draws to the start."""
    settings: Records


class State(NamedTuple):
    """Scratch space, a row a track."""

    translation: Floats
    rotations: Floats
    offsets: Floats
    """(n, J, 3) or no rows, for skeletons without slides."""
    positions: Floats
    world: Floats
    begin: Floats
    """(n, J, 4) local rotations that the frame started from."""
    best: Floats
    """(n, J, 4) local rotations of the best pose so far."""
    best_translation: Floats
    """(n, 3) its root's position [m]."""
    best_errors: Floats
    """(n, E) [m] its effectors' weighted errors."""
    best_offsets: Floats
    """(n, J, 3) its offsets, or no rows."""
    one: Floats
    """(n, 6, D) Jacobian of one effector."""
    jacobian: Floats
    """(n, R, D)."""
    error: Floats
    """(n, R)."""
    rows: Floats
    """(n, R, D) what the decomposition works on."""
    left: Floats
    """(n, R, R)."""
    values: Floats
    """(n, R)."""
    vector: Floats
    """(n, R)."""
    steps: Floats
    """(n, D)."""
    limit_steps: Floats
    """(n, D) steps that limits dictate."""
    locked: Ints
    """(n, D)."""
    projector: Floats
    """(n, D, D), or no rows when there are no priorities."""
    wish: Floats
    """(n, J, 4) sums of the positions that FABRIK requests [m], and how many requests there are."""


class Frames(NamedTuple):
    """Input and output, a row a frame."""

    targets: Floats
    """(N, E, 3) [m]."""
    orientations: Floats
    """(N, E, 4), or no rows."""
    roots: Floats
    """(N, 7) position and orientation of the root, or no rows: the root's are those of the start."""
    starts: Floats
    """(S, J, 4) local rotations that frames start from; S is 1, or a row a track, or a row a frame."""
    start_translation: Floats
    """(S, 3) root translation that frames start from [m]."""
    shifts: Floats
    """(S, J, 3) or no rows: offsets of the joints."""
    translation: Floats
    rotations: Floats
    offsets: Floats
    """(N, J, 3) or no rows."""
    position_error: Floats
    """(N, E) [m]."""
    orientation_error: Floats
    """(N, E) [rad]."""
    iterations: Ints
    stopped: Ints
    """(N,) why it stopped: `WITHIN`, `STALLED`, `EXHAUSTED`."""
    status: Ints


WITHIN, STALLED, EXHAUSTED = 0, 1, 2


def row_count(effectors: Records) -> int:
    """Rows of the stacked Jacobian."""
    return int((3 + 3 * effectors["oriented"]).sum())
