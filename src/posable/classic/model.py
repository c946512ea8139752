"""The problem of an iterative method as its kernels read it: skeleton, effectors, joint limits, settings, scratch."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..compute import PosableError
from ..compute.types import Floats, Ints, Records, floats
from ..limits import Limits
from ..limits.limits import ROW
from ..math import conjugate
from ..skeleton import Skeleton

if TYPE_CHECKING:
    from .iterative import Effector

IDENTITY = (1.0, 0.0, 0.0, 0.0)
TRANSPOSE, PSEUDOINVERSE, DLS, DLS_SVD, SDLS, PIK, CCD, FABRIK = range(8)
"""Codes of the methods."""

WITHIN, STALLED, EXHAUSTED = range(3)
"""Why an iteration stopped."""

EFFECTOR = np.dtype(
    [(name, "i8") for name in ("joint", "level", "oriented", "row", "first", "last")]
    + [("point", "f8", 3), ("weight", "f8")],
    align=True,
)
"""An effector: the joint that carries it, its priority level, whether its orientation counts, its first row in the
stacked Jacobian, the part of `Problem.links` that is its chain (CCD), its point in the joint's frame [m], weight."""

GUARD = np.dtype([("row", "i8"), ("before", "f8", 4), ("after", "f8", 4)], align=True)
"""The limit of a joint: its row in the packed limits or -1; the limit applies to before q after, q the joint's local
rotation."""

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
    """(n, J, 4) orientations in the world."""
    begin: Floats
    """(n, J, 4) local rotations that the frame started from."""
    best_translation: Floats
    best_rotations: Floats
    best_offsets: Floats
    """The best pose so far."""
    best_errors: Floats
    """(n, E) [m] its effectors' weighted errors."""
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


def stacked_rows(effectors: Records) -> int:
    """Return the number of rows of the stacked Jacobian."""
    return int((3 + 3 * effectors["oriented"]).sum())


def rest_guards(skeleton: Skeleton, limits: Limits | None) -> tuple[Records, Records, Floats]:
    """Return guards (J,) of limits by joint name, as rotations from rest; and the limits' rows and curves."""
    guards = np.zeros(len(skeleton), GUARD)
    guards["row"], guards["before"], guards["after"] = -1, IDENTITY, IDENTITY
    if limits is None:
        return guards, np.zeros(1, ROW), np.zeros(1)
    for name in limits.names:
        j = skeleton.index(name)
        guards["row"][j], guards["before"][j] = limits.index(name), conjugate(skeleton.rest_rotations[j])
    # Copies: for read-only arrays everything would be compiled once more.
    return guards, np.array(limits.packed), np.array(limits.curves)


def packed_effectors(skeleton: Skeleton, effectors: Sequence[Effector]) -> tuple[Records, list[list[int]]]:
    """Return effectors as kernels read them, and the joints of each one's chain from the effector to its base."""
    packed, chains, row = np.zeros(len(effectors), EFFECTOR), [], 0
    for one, effector in zip(packed, effectors, strict=True):
        joint = skeleton.index(effector.joint)
        point = floats(effector.point, "the effector's point")
        if point.shape != (3,) or not np.isfinite(point).all():
            raise PosableError(f"the effector's point is {effector.point}; expected three numbers [m]")
        if not (math.isfinite(effector.weight) and effector.weight > 0.0) or effector.level < 1:
            raise PosableError(f"weight {effector.weight}, level {effector.level}: expected above 0, 1 or more")
        one["joint"], one["level"], one["oriented"], one["row"] = joint, effector.level, effector.oriented, row
        one["point"], one["weight"] = point, effector.weight
        row += 6 if effector.oriented else 3
        chain = list(skeleton.path(joint))[::-1]
        if effector.base is not None:
            base = skeleton.index(effector.base)
            if base not in chain:
                raise PosableError(f"base {skeleton.names[base]!r} is not above {skeleton.names[joint]!r}")
            chain = chain[: chain.index(base) + 1]
        chains.append(chain)
    return packed, chains


def usable_links(chains: list[list[int]], packed: Records, rotates: Ints) -> Ints:
    """The chains one after the other, without joints that cannot move; sets each effector's part of them."""
    links: list[int] = []
    for one, chain in zip(packed, chains, strict=True):
        one["first"] = len(links)
        links += [j for j in chain if rotates[j]]
        one["last"] = len(links)
    return np.array(links or [0], dtype=np.int64)


def active_dofs(skeleton: Skeleton, moving: Iterable[str | int] | None) -> Ints:
    """(D,) whether a DoF belongs to a joint that may move."""
    if moving is None:
        return np.ones(len(skeleton.dofs), dtype=np.int64)
    chosen = {skeleton.index(joint) for joint in moving}
    return np.isin(skeleton.dofs.joint, list(chosen)).astype(np.int64)


def rotating_joints(skeleton: Skeleton, active: Ints) -> Ints:
    """(J,) whether a joint may move; a free root counts by its rotations."""
    rotates = np.zeros(len(skeleton), dtype=np.int64)
    for d, joint in enumerate(skeleton.dofs.joint):
        free_shift = skeleton.kinds[joint] == "free" and skeleton.dofs.kind[d] == "translation"
        if active[d] and not free_shift:
            rotates[joint] = 1
    return rotates


def tree_above(skeleton: Skeleton, packed: Records, rotates: Ints) -> Ints:
    """(J,) the tree without joints that cannot rotate and do not matter; see `Problem.above`."""
    above = np.full(len(skeleton), -1, dtype=np.int64)
    carriers = {int(joint) for joint in packed["joint"]}
    for carrier in carriers:
        path = [j for j in skeleton.path(carrier) if j == 0 or rotates[j] or j in carriers]
        for upper, lower in pairwise(path):
            while upper > 0 and not rotates[upper]:  # an effector on it hangs on the joint above
                upper = int(above[upper])
            above[lower] = upper
    return above
