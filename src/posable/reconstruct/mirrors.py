"""Mirrors of the numbers that networks of a prior read and say; proportions of bodies, whole vectors of weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..compute.types import Floats, Records
from .prior_layout import Group

if TYPE_CHECKING:
    from ..body import Humanoid

SMALLEST = 1e-9  # of a feature's deviation
LANES = 8  # numbers in the longest vectors that processors have
USUAL = 3.0  # standard deviations: proportions further off are clamped to this


def whole(matrix: NDArray[Any]) -> NDArray[Any]:
    """Return the matrix padded with zeros to whole vectors: remainders take processors as long as the rest."""
    return np.pad(matrix, ((0, 0), (0, -matrix.shape[1] % LANES)))


def records(dtype: np.dtype[Any], columns: Floats) -> Records:
    """Return records whose first fields are the columns (N, C)."""
    out = np.zeros(len(columns), dtype)
    for name, column in zip(dtype.names or (), columns.T, strict=False):
        out[name] = column
    return out


def proportions(body: Humanoid) -> Floats:
    """Return eighteen lengths (18,) of the neutral pose, in joint heights: upper arm, forearm, thigh, calf, chord from
    hips to head, spine up to the joint that carries the arms, widths of shoulders and hips, shoulders above the base of
    the neck; the spine's first segment, and how far it leads forward; how far forward of the hips are the joint that
    carries the arms, the base of the neck, head, shoulders and legs; above them the base of the neck and the legs.
    """
    positions, measures, roles = body.neutral_frames.positions, body.measures, body.roles
    spine, hips = positions[list(body.spine)], positions[roles["hips"]]
    neck, head = positions[roles.get("neck", roles["head"])] - hips, positions[roles["head"]] - hips
    shoulders, legs = (
        positions[[roles[f"{side}_{part}"] for side in ("left", "right")]].mean(0) - hips
        for part in ("upper_arm", "upper_leg")
    )
    segments = np.linalg.norm(np.diff(spine, axis=0), axis=-1)
    lengths = [measures[name] for name in ("upper_arm", "forearm", "thigh", "calf")]
    lengths += [float(np.linalg.norm(head)), float(segments[: body.chest].sum())]
    lengths += [measures["torso_width"], measures["pelvis_width"]]
    lengths += [shoulders[1] - neck[1], segments[0]]
    ahead = [at[2] for at in (spine[1] - hips, spine[body.chest] - hips, neck, head, shoulders, legs)]
    return np.array([*lengths, *ahead, neck[1], legs[1]]) / body.joint_height


def weight_count(sizes: list[int]) -> int:
    """Return how many weights a network of these sizes has."""
    s, a, count = sizes[0], sizes[1], 0
    for n in sizes[2:-2]:
        count, s, a = count + n * (1 + s + a), n, n
    even, odd = sizes[-2:]
    return count + even * (1 + s + sizes[0]) + odd * (a + sizes[1])


def mirrored_groups(groups: Sequence[Group]) -> tuple[list[int], list[float]]:
    """Return (the number that each one becomes, its sign) for groups of (order of the mirrored vectors, signs of their
    components).
    """
    to: list[int] = []
    sign: list[float] = []
    for order, signs in groups:
        first, n = len(to), len(signs)
        for other in order:
            to.extend(first + n * other + c for c in range(n))
            sign.extend(signs)
    return to, sign


def mirror_table(to: list[int], sign: list[float]) -> Floats:
    """Return rows (N, 4) of (one, other, sign of the other, 1 or -1): symmetric parts, then antisymmetric ones."""
    even = [(i, j, s, 1.0) for i, (j, s) in enumerate(zip(to, sign, strict=True)) if i < j or (i == j and s > 0.0)]
    odd = [(i, j, -s, -1.0) for i, (j, s) in enumerate(zip(to, sign, strict=True)) if i < j or (i == j and s < 0.0)]
    return np.array(even + odd)


def fractions(table: Floats) -> Floats:
    """Return the factors (N, 2) of the first and the second of each row of such a table."""
    alone = table[:, 0] == table[:, 1]
    half = np.sqrt(0.5)
    return np.column_stack([np.where(alone, 1.0, half), np.where(alone, 0.0, half * table[:, 2])])
