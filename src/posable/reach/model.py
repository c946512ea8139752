"""What the reach kernels read and write: the body, behaviours on it, and the poses between start and answer.

Tuples of arrays: a new body or behaviour compiles nothing. They enter compiled code as plain tuples and get their names
there: Numba takes three times as long to look into a named one, longer than it takes to bend a body. Both hands and
both feet share arrays, right first: each array more costs compile time in every function it passes through.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ..compute.types import Bools, Floats, Ints, Records

Arrays: TypeAlias = tuple[Any, ...]

DRIVE = np.dtype(
    [("joint", "i8"), ("limit", "i8"), ("above", "i8")]
    + [(f"{letter}{axis}", "f8") for letter in "na" for axis in "wxyz"],
    align=True,
)
"""A joint that behaviours turn: its limit's row or -1, the joint of the part above it (-1 for the hips), and the
neutral orientations of both."""

OPTIONS = np.dtype(
    [(name, "i8") for name in ("right", "left", "feet", "extend", "hips", "head", "neck")]
    + [(name, "f8") for name in ("most", "right_share", "left_share", "handedness", "gaze", "margin", "softness")]
    + [(f"{letter}{axis}", "f8") for letter in "hk" for axis in "wxyz"],
    align=True,
)
"""One row. Whether each hand has a target, whether the feet are held, whether the weight may be raised; the joints of
hips, head and neck (-1: none); the adjustment to begin with; how much of its weight each hand takes, which grows
from 0 where a motion begins; how right-handed; how much of the way the head turns to the target; the margin to
obstacles and how far flesh yields [m]; the neutral orientations of hips and head."""

TOLD = np.dtype(
    [
        ("status", "i1"),
        ("reason", "i1"),
        ("tried", "i4"),
        ("adjustment", "f8"),
        ("wanted", "f8", 2),
        ("weight", "f8", 2),
    ],
    align=True,
)
"""What is told of a row: INVALID or REACHED, why the weight was lowered (0: it was not), how many postures were tried,
the adjustment used, and for each hand the weight that its distance asks for and the one that was used."""


class Figure(NamedTuple):
    """The body, and what is around it."""

    joints: Records
    drive: Records
    """(U,) of `DRIVE`, parents first."""
    slots: Ints
    """(J,) row of `drive`, or -1."""
    limits: Records
    curves: Floats
    volumes: Records
    pairs: Ints
    """(P, 2) volumes that keep apart while the body bends; those of arms that are solved are not among them."""
    outside: Ints
    """(O,) volumes that keep out of the scene."""
    around: Records
    """The scene's primitives."""


class Legs(NamedTuple):
    """Both legs, and where the arms begin."""

    models: Records
    """(2,) of `limb.model.LIMB`."""
    limits: Records
    """`PackedBody.limits`."""
    driven: Records
    """`PackedBody.driven`."""
    arms: Records
    """(2,) of `limb.model.LIMB`."""


class Styles(NamedTuple):
    """The behaviours of both hands on this body; rows that one of them has not are zero."""

    header: Records
    """(2,)."""
    counts: Ints
    """(2, 2) keys and triangles."""
    keys: Floats
    triangles: Ints
    rows: Floats
    spline: Floats
    turns: Floats
    """(2, K, U, 4) local rotations of the driven joints; the hips' is canonical, seen from the way the body faces."""
    numbers: Floats
    """(2, K, 8) shift of the hips [m], then preferred, low, high, step and growth of the arm's search [rad]."""
    owned: Ints
    """(2, U) whether the behaviour drives the joint."""


class Rows(NamedTuple):
    """All that differs from target to target."""

    goals: Floats
    """(2, N, 3) where the hands go [m]."""
    translation: Floats
    """(2, N, 3) of the starting pose and of the answer; so the next three."""
    rotations: Floats
    positions: Floats
    orientations: Floats
    offsets: Floats
    """(N, J, 3), or no rows."""
    turns: Floats
    """(N, U, 4) local rotations that the driven joints turn to at weight 1."""
    shares: Floats
    """(N, U) the weight of each."""
    shift: Floats
    """(N, 4) [m] of the hips in the world, at weight 1, and its weight."""
    touched: Bools
    """(N, C) contacts of the starting pose, which stay allowed."""
    balls: Floats
    """(N, V, 4) scratch: balls around the volumes."""
    weights: Floats
    """(2, N, K) how much each key counts."""
    searches: Floats
    """(2, N, 5) the arms' searches."""
    legs: Records
    """(2, N) of `limb.model.LIMB`: bones, and whether limits hold, may differ from row to row."""
    readings: Records
    """(2, N)."""
    remainders: Floats
    """(2, N, D, 4)."""
    values: Floats
    """(2, N, 7) of the legs."""
    told: Records
    """(N,)."""
