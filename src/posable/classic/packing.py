"""Skeletons, effectors and limits as the kernels of the iterative methods read them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np

from ..compute import PosableError
from ..compute.arrays import floats
from ..compute.types import Floats, Ints, Records
from ..limits import Limits
from ..limits.limits import ROW
from ..math import conjugate
from ..skeleton import Skeleton
from .model import EFFECTOR, GUARD
from .solutions import Effector


def rest_guards(skeleton: Skeleton, limits: Limits | None) -> Records:
    """(J,) limits by joint name, as rotations from rest."""
    guards = np.zeros(len(skeleton), GUARD)
    guards["row"], guards["bw"], guards["aw"] = -1, 1.0, 1.0
    for name in () if limits is None else limits.names:
        j = skeleton.index(name)
        set_guard(guards, j, limits.index(name), conjugate(skeleton.rest_rotations[j]), np.array([1.0, 0, 0, 0]))  # type: ignore[union-attr]
    return guards


def packed_limits(limits: Limits | None) -> tuple[Records, Floats]:
    """Rows and curves as kernels read them: copies, since a read-only array would compile everything once more."""
    if limits is None:
        return np.zeros(1, ROW), np.zeros(1)
    return np.array(limits.packed), np.array(limits.curves)


def set_guard(guards: Records, joint: int, row: int, before: Floats, after: Floats) -> None:
    """Limit a joint by a row of the packed limits, which speaks of `before * rotation * after`."""
    guards["row"][joint] = row
    for k, name in enumerate("wxyz"):
        guards[f"b{name}"][joint], guards[f"a{name}"][joint] = before[k], after[k]


def packed_effectors(skeleton: Skeleton, effectors: Sequence[Effector]) -> tuple[Records, list[list[int]]]:
    """(effectors as kernels read them, the joints of each one's chain from the effector to its base)."""
    packed, chains, row = np.zeros(len(effectors), EFFECTOR), [], 0
    for one, effector in zip(packed, effectors, strict=True):
        joint = skeleton.index(effector.joint)
        point = floats(effector.point, "the effector's point")
        if point.shape != (3,) or not np.isfinite(point).all():
            raise PosableError(f"the effector's point is {effector.point}; expected three numbers [m]")
        if not (math.isfinite(effector.weight) and effector.weight > 0.0) or effector.level < 1:
            raise PosableError(f"weight {effector.weight}, level {effector.level}: expected above 0, 1 or more")
        one["joint"], one["level"], one["oriented"], one["row"] = joint, effector.level, effector.oriented, row
        one["px"], one["py"], one["pz"], one["weight"] = *point, effector.weight
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
            carrier_above = upper
            while (
                carrier_above > 0 and not rotates[carrier_above]
            ):  # An effector on a joint that cannot rotate hangs on the joint above it
                carrier_above = int(above[carrier_above])
            above[lower] = carrier_above
    return above
