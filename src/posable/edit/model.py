"""Records and arrays that the kernels of the editor read: goals of parts, limits of joints, drags and their reports."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..compute.types import Floats, Ints, Records

GOAL = np.dtype(
    [(name, "i8") for name in ("joint", "fixed")]
    + [("position", "f8", 3), ("orientation", "f8", 4), ("position_softness", "f8"), ("orientation_softness", "f8")],
    align=True,
)
"""The target of a part: position [m] and orientation in the world. `fixed`: 1 for a pin, whose goal must be met.
Softness: lambda of `specs/edit.md`, section 4: `EXACT` must be met, 0.3 gives way, below 0 is not requested."""

BOX = np.dtype(
    [(name, "i8") for name in ("joint", "first", "hinge", "near_edge")]
    + [("reference", "f8", 4), ("low", "f8", 3), ("high", "f8", 3)],
    align=True,
)
"""A joint's rotation vector from `reference` stays between `low` and `high` [rad]; a hinge's is (angle, 0, 0). `first`:
the row of its first DoF among the edited ones. `near_edge`: 1 where the last step found it near an edge."""

SHAPE = np.dtype(
    [(name, "i8") for name in ("joint", "above", "first", "dofs", "row")]
    + [("above_neutral", "f8", 4), ("neutral", "f8", 4), ("slack", "f8", 3)],
    align=True,
)
"""A joint's canonical rotation, N_above W_above^-1 W N^-1 with N the neutral orientations, stays in a row of the packed
limits, widened by `slack` [rad] (swing, twist below, twist above) as far as the pose started outside of it. `first`:
the row of its first DoF among the edited ones, `dofs`: how many it has."""

DRAG = np.dtype(
    [(name, "i8") for name in ("dragged", "phase", "oriented")]
    + [("displacement", "f8", 3), ("rotation", "f8", 3)]
    + [(name, "f8") for name in ("frame", "fps", "step", "max_ratio", "max_rotation_ratio", "rest", "max_time")]
    + [(name, "f8") for name in ("position_softness", "orientation_softness")],
    align=True,
)
"""One drag: which goal is dragged, from which frame, its displacement [m] and, where `oriented`, rotation vector [rad],
and the settings: the longest step [m], how much further than the dragged part others may move and rotate, the speed
that counts as rest [m/s], the time that a step may stand for [s], and the softness of the other parts' goals."""

DRAGGED = np.dtype(
    [(name, "i8") for name in ("steps", "iterations", "limited")]
    + [(name, "f8") for name in ("done", "frame", "position_error", "orientation_error", "slid")],
    align=True,
)
"""The report of a drag: steps, iterations, whether limits stopped it, the fraction of the displacement that was made,
the phase it ended in [frames], the errors of the dragged part [m], [rad], and the largest movement of a pin [m]."""

EXACT = 1e-3
"""Softness of a goal that must be met."""
PIN_TOLERANCE = 3e-4
"""[m]: a step of a drag in which a pin, or the dragged part from its path, is further off is undone."""


class Rig(NamedTuple):
    """The body and its limits, the same for all poses."""

    joints: Records
    """The packed skeleton."""
    dofs: Ints
    """(n,) the edited DoF."""
    limits: Records
    """Rows of limits, for shapes."""
    curves: Floats


class Rows(NamedTuple):
    """Poses that kernels move, with their goals and limits, a row a pose."""

    translation: Floats
    rotations: Floats
    offsets: Floats
    """(N, J, 3), or no rows."""
    goals: Records
    """(N, G)."""
    boxes: Records
    """(N, B)."""
    shapes: Records
    """(N, S)."""


class Pulls(NamedTuple):
    """Poses that are brought to their goals, and how that ended, a row a pose."""

    logs: Floats
    """(N, n) logarithms of the inverse weights."""
    scope: Floats
    """(n,) logarithms that are added to them: how readily the DoF of the chosen scope move."""
    source: Floats
    """(N, J, 4) rotations that limits are widened to contain."""
    errors: Floats
    """(N, G) [m] the distance that each goal is missed by; 0 where none is requested."""
    limited: Ints
    """(N,) 1 where limits stopped a joint in the last iteration."""


class Scratch(NamedTuple):
    """Buffers of the kernels, a row a pose; R are six rows a goal."""

    positions: Floats
    orientations: Floats
    jacobian: Floats
    """(N, 6, D) of one part, for all DoF."""
    transposed: Floats
    """(N, n, R) the stacked Jacobian of the goals for the edited DoF, transposed."""
    gram: Floats
    """(N, R, R)."""
    errors: Floats
    """(N, R) of the stacked goals [m], [rad]."""
    step_errors: Floats
    """(N, R) those at the beginning of a step."""
    damping: Floats
    """(N, R) the square of each goal's softness."""
    multipliers: Floats
    """(N, R) solution of the damped system."""
    inverse_weights: Floats
    """(N, n)."""
    eased: Floats
    """(N, n) the same, less towards the edges of boxes."""
    steps: Floats
    """(N, D)."""
    half_steps: Floats
    """(N, n) the first steps of the midpoint rule."""
    saved_translation: Floats
    saved_rotations: Floats


def scratch(n: int, joints: int, dofs: int, edited: int, goals: int) -> Scratch:
    """Allocate buffers for n rows: bodies of so many joints and DoF, so many of them edited, so many goals."""
    rows = 6 * goals
    return Scratch(
        positions=np.empty((n, joints, 3)),
        orientations=np.empty((n, joints, 4)),
        jacobian=np.zeros((n, 6, dofs)),
        transposed=np.empty((n, edited, rows)),
        gram=np.empty((n, rows, rows)),
        errors=np.empty((n, rows)),
        step_errors=np.empty((n, rows)),
        damping=np.empty((n, rows)),
        multipliers=np.empty((n, rows)),
        inverse_weights=np.empty((n, edited)),
        eased=np.empty((n, edited)),
        steps=np.zeros((n, dofs)),
        half_steps=np.empty((n, edited)),
        saved_translation=np.empty((n, 3)),
        saved_rotations=np.empty((n, joints, 4)),
    )
