"""What the kernels of the editor read: goals of parts, boxes and shapes for joints, drags and their reports."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..compute.types import Floats, Ints, Records

GOAL = np.dtype(
    [("joint", "i8"), ("kept", "i8")]  # kept: 1 for a pin, whose goal is given and must be met
    + [(name, "f8") for name in ("x", "y", "z", "qw", "qx", "qy", "qz")]
    + [("place", "f8"), ("turn", "f8")],  # softness of place and turn; below 0: not asked
    align=True,
)
"""Where a part shall be. Softness: lambda of `specs/edit.md`, section 4: 1e-3 is exact, 0.3 gives way."""

BOX = np.dtype(
    [("joint", "i8"), ("first", "i8"), ("hinge", "i8"), ("held", "i8")]  # first: its first rotation's row
    + [(name, "f8") for name in ("rw", "rx", "ry", "rz", "lx", "ly", "lz", "hx", "hy", "hz")],
    align=True,
)
"""A joint's rotation vector from a reference stays between l and h [rad]."""

SHAPE = np.dtype(
    [("joint", "i8"), ("above", "i8"), ("first", "i8"), ("row", "i8")]
    + [(f"{part}{axis}", "f8") for part in "ab" for axis in "wxyz"]
    + [(name, "f8") for name in ("swing", "below", "above_twist")],
    align=True,
)
"""A joint's canonical rotation (a W_above^-1 W b^-1) stays in a row of `Limits`, widened by where it started [rad]."""

DRAG = np.dtype(
    [("dragged", "i8"), ("phase", "i8"), ("turned", "i8"), ("most", "i8"), ("iterations", "i8")]
    + [(name, "f8") for name in ("frame", "fps", "dx", "dy", "dz", "rx", "ry", "rz")]
    + [(name, "f8") for name in ("step", "cap", "turn_cap", "rest", "most_time", "place", "turn")],
    align=True,
)
"""One drag: which goal is dragged, from which frame, how far [m], how turned [rad], and the settings: caps of the
others' ways and turns, the speed that is rest [m/s], the time a step may stand for [s], softness of places and turns.
"""

DRAGGED = np.dtype(
    [(name, "i8") for name in ("steps", "iterations", "limited")]
    + [(name, "f8") for name in ("done", "frame", "away", "turned", "slid")],
    align=True,
)
"""What came of it: steps, iterations, whether limits held it back, the share done, the phase it ended in [frames], and
how far the part is from its goal [m], [rad], and a pin at most [m]."""


class Rig(NamedTuple):
    """What does not change from pose to pose."""

    joints: Records
    """The packed skeleton."""
    dofs: Ints
    """(n,) the edited DoF."""
    packed: Records
    """Rows of `Limits`, for shapes."""
    curves: Floats


class Bodies(NamedTuple):
    """The poses that kernels move: (N, 3), (N, J, 4), and (N, J, 3) or no rows."""

    translation: Floats
    rotations: Floats
    offsets: Floats


class Scratch(NamedTuple):
    """Room for `n` rows of kernels to work in; made by `scratch`."""

    positions: Floats
    orientations: Floats
    full: Floats
    wide: Floats
    small: Floats
    vec: Floats
    steps: Floats
    saved_place: Floats
    saved_turns: Floats
    first: Floats


def scratch(n: int, joints: int, dofs: int, edited: int, goals: int) -> Scratch:
    """Scratch for n rows: bodies of so many joints and DoF, so many of them edited, so many goals."""
    rows = 6 * goals
    return Scratch(
        np.empty((n, joints, 3)),
        np.empty((n, joints, 4)),
        np.zeros((n, 6, dofs)),
        np.empty((n, edited, rows)),
        np.empty((n, rows, rows)),
        np.empty((n, 6, max(edited, rows))),
        np.zeros((n, dofs)),
        np.empty((n, 3)),
        np.empty((n, joints, 4)),
        np.empty((n, edited)),
    )
