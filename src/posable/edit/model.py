"""Records that the kernels of the editor read: goals of parts, boxes and shapes for joints, drags and their reports."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..compute.types import ArrayLike, Floats, Ints, Records

GOAL = np.dtype(
    [("joint", "i8"), ("fixed", "i8")]  # fixed: 1 for a pin, whose goal is given and must be met
    + [(name, "f8") for name in ("x", "y", "z", "qw", "qx", "qy", "qz")]
    + [("position_softness", "f8"), ("orientation_softness", "f8")],  # below 0: not requested
    align=True,
)
"""The target of a part [m]. Softness: lambda of `specs/edit.md`, section 4: 1e-3 is exact, 0.3 gives way."""

BOX = np.dtype(
    [("joint", "i8"), ("first", "i8"), ("hinge", "i8"), ("near_edge", "i8")]  # first: row of its first DoF
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
    [("dragged", "i8"), ("phase", "i8"), ("oriented", "i8"), ("max_steps", "i8"), ("iterations", "i8")]
    + [(name, "f8") for name in ("frame", "fps", "dx", "dy", "dz", "rx", "ry", "rz")]
    + [(name, "f8") for name in ("step", "max_ratio", "max_rotation_ratio", "rest", "max_time")]
    + [("position_softness", "f8"), ("orientation_softness", "f8")],
    align=True,
)
"""One drag: which goal is dragged, from which frame, its displacement d [m] and, where `oriented`, rotation vector r
[rad], and the settings: how much further than the dragged part others may move and rotate, the speed that counts as
rest [m/s], the time that a step may stand for [s], and the softness of the other parts' goals."""

DRAGGED = np.dtype(
    [(name, "i8") for name in ("steps", "iterations", "limited")]
    + [(name, "f8") for name in ("done", "frame", "position_error", "orientation_error", "slid")],
    align=True,
)
"""The report of a drag: steps, iterations, whether limits stopped it, the fraction of the displacement that was made,
the phase it ended in [frames], the errors of the dragged part [m], [rad], and the largest movement of a pin [m]."""

EXACT = 1e-3  # softness of what must be met
PIN_TOLERANCE = 3e-4
"""[m]: a step of a drag in which a pin, or the dragged part from its path, is further off is undone."""


class Rig(NamedTuple):
    """The body and its limits, the same for all poses."""

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
    """Buffers for `n` rows of kernels; made by `scratch`."""

    positions: Floats
    orientations: Floats
    full: Floats
    wide: Floats
    small: Floats
    vec: Floats
    steps: Floats
    saved_translation: Floats
    saved_rotations: Floats
    first: Floats


def scratch(n: int, joints: int, dofs: int, edited: int, goals: int) -> Scratch:
    """Allocate buffers for n rows: bodies of so many joints and DoF, so many of them edited, so many goals."""
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


def set_goals(goals: Records, positions: ArrayLike, orientations: ArrayLike) -> None:
    """Fill the positions (..., 3) and orientations (..., 4) of goals (...)."""
    at, quats = np.asarray(positions), np.asarray(orientations)
    for k, name in enumerate(("x", "y", "z")):
        goals[name] = at[..., k]
    for k, name in enumerate(("qw", "qx", "qy", "qz")):
        goals[name] = quats[..., k]
