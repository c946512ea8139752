"""Records that the kernels of retargeting read: a robot's variables, tasks, and the capsules that may not touch.

The variables of a robot are its motors and the six of its root. A solver orders them as an arrow: one block for each
limb (arms, legs, head), then the trunk: motors that several limbs hang on, and last the root. What a limb does depends
on its own block and on the trunk only, so that normal equations have the shape of an arrowhead.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..compute.types import Floats, Ints, Records
from .arrowhead import padded

ROOT = 6
"""Variables of the root: position in the world, first in the trunk, and rotation in its own frame, last."""

DRIVE = np.dtype([("variable", "i8"), ("column", "i8"), ("ratio", "f8"), ("offset", "f8")], align=True)
"""What a joint does: value = ratio * variable + offset [rad], [m]; variable -1 where the joint is fixed or the root.
`column`: of the variable in normal equations."""

VARIABLE = np.dtype(
    [("block", "i8")] + [(name, "f8") for name in ("lower", "upper", "speed", "acceleration", "rest", "posture")],
    align=True,
)
"""A motor: its limits [rad, m], largest speed and acceleration, the value that it has where nothing else is asked, and
how strongly it is drawn there. `block`: -1 for the trunk's."""

BLOCK = np.dtype([("first", "i8"), ("last", "i8")], align=True)
"""Variables first to last - 1 are those of a limb."""

TASK = np.dtype(
    [
        (name, "i8")
        for name in ("joint", "block", "first", "last", "anchor", "anchor_first", "anchor_last", "column", "column_end")
    ]
    + [("point", "f8", 3), ("anchor_point", "f8", 3), ("neutral", "f8", 4)],
    align=True,
)
"""A part that has a target: a point of a joint, in the joint's frame, and the neutral orientation N of W = C N.

`block`: the limb that moves it, -1 for the trunk alone; `column` to `column_end` - 1 are its variables that do.
`paths[first:last]` are the joints that move it. Where `anchor` is a joint, positions count from a point of that one,
along the world's axes; -1: from the world's origin."""

TARGET = 12
"""Numbers of a target: position [m], canonical orientation wxyz, and weights: of the position, horizontally and
vertically [1/m], and of rotations about the part's own X, Y and Z axes [1/rad]. 0 asks for nothing."""
HORIZONTAL, VERTICAL, PITCH, TWIST, ROLL = 7, 8, 9, 10, 11

LINK = np.dtype(
    [(name, "i8") for name in ("joint", "block", "first", "last", "shape", "shape_end")]
    + [("centre", "f8", 3), ("radius", "f8")],
    align=True,
)
"""A link that may touch others: `paths[first:last]` are the joints that move it, shapes `shape` to `shape_end` - 1 are
its own, and a ball around them in the joint's frame."""

CAPSULE = np.dtype([("start", "f8", 3), ("end", "f8", 3), ("radius", "f8")], align=True)

SETTINGS = np.dtype(
    [(name, "i8") for name in ("iterations", "follow", "more", "trunk", "size")]
    + [(name, "f8") for name in ("damping", "margin", "reach", "touch", "longest", "stands")],
    align=True,
)
"""One row: iterations of a frame that starts from afar, and of one that follows another; how many more there may be
until legs hardly move; the first variable of the trunk, the number of variables; damping of each step, the distance
that is kept between links [m], the distance within which pairs are looked at [m], the weight of a metre of
penetration, the longest step of a variable [rad], the weight [1/m] from which a foot counts as standing."""


SOLE = np.dtype(
    [(name, "i8") for name in ("joint", "block", "first", "last", "task", "point", "front", "end", "loose")], align=True
)
"""A sole that keeps out of the floor: its joint and limb, the path that moves it, the task of its foot, and its
corners: `point` to `front` - 1 at the heel, `front` to `end` - 1 at the tip. `loose`: 1 where it may
stand on an edge."""

BEND = np.dtype([("variable", "i8"), ("straight", "f8")], align=True)
"""A knee or an elbow: its variable, and the value of that in a straight limb [rad]."""


class Model(NamedTuple):
    """A robot as kernels read it; the same for all frames."""

    joints: Records
    """(J,) the packed skeleton."""
    drives: Records
    """(J,) of `DRIVE`."""
    variables: Records
    """(V,) of `VARIABLE`: without the root's."""
    blocks: Records
    """(B,) of `BLOCK`."""
    tasks: Records
    """(K,) of `TASK`."""
    paths: Ints
    links: Records
    """(L,) of `LINK`."""
    shapes: Records
    """(S,) of `CAPSULE`."""
    pairs: Ints
    """(P, 2) links that may not touch."""
    soles: Records
    """(2,) of `SOLE`."""
    corners: Floats
    """(C, 3) [m] of the soles, in the frames of their joints."""
    bends: Records
    """(B,) of `BEND`."""
    settings: Records
    """(1,) of `SETTINGS`."""


class Track(NamedTuple):
    """Frames that are solved, one after the other: what is asked, what is allowed, and the answer."""

    targets: Floats
    """(F, K, TARGET)."""
    lower: Floats
    """(F, V) bounds of the variables, besides the model's own."""
    upper: Floats
    near: Floats
    """(F, 7 + V) the state that a frame is drawn to: position and orientation of the root, values."""
    pull: Floats
    """(F, 2 + V) how strongly [1/m, 1/rad]: the root's position, its rotation, the values."""
    begins: Floats
    """(F, B) values of knees and elbows to begin with where a state has others, or no rows."""
    floors: Floats
    """(F, 2) [m] the height under which no sole sinks."""
    states: Floats
    """(F, 7 + V) the answer; on entry of rows that start by themselves, where they start."""


class Scratch(NamedTuple):
    """Buffers of the kernels, a row for each row that is solved at once."""

    positions: Floats
    """(R, J, 3)"""
    orientations: Floats
    """(R, J, 4)"""
    axes: Floats
    """(R, J, 3) of the joints, in the world."""
    centres: Floats
    """(R, L, 3) of the balls around links, in the world."""
    matrix: Floats
    """(R, B + 1, M, M) normal equations of each limb with the trunk, and last of the trunk alone: upper triangles."""
    gradient: Floats
    """(R, B + 1, M)"""
    factor: Floats
    """(R, B + 1, M, M) the same while they are solved, and their right sides."""
    right: Floats
    """(R, B + 1, M)"""
    step: Floats
    """(R, N)"""
    triple: Floats
    """(R, 3, M) three rows of a Jacobian."""
    contacts: Floats
    """(R, MOST_CONTACTS, N + 1): directions in which pairs come apart, and their distance less the margin."""
    frozen: Ints
    """(R, N) 1 where a bound holds a variable."""
    stale: Ints
    """(R, B) 1 where the system of a limb is not eliminated as it is now."""
    on: Ints
    """(R, MOST_CONTACTS) 1 where a pair counts."""
    limbs: Ints
    """(R, MOST_CONTACTS, 2) the blocks that a pair moves."""


MOST_CONTACTS = 48


def scratch(rows: int, model: Model) -> Scratch:
    """Allocate buffers for so many rows at once."""
    joints, size = len(model.joints), len(model.variables) + ROOT
    blocks, width = len(model.blocks) + 1, size - int(model.settings[0]["trunk"])
    most = padded(width + int((model.blocks["last"] - model.blocks["first"]).max(initial=0)))
    return Scratch(
        positions=np.zeros((rows, joints, 3)),
        orientations=np.zeros((rows, joints, 4)),
        axes=np.zeros((rows, joints, 3)),
        centres=np.zeros((rows, len(model.links), 3)),
        matrix=np.zeros((rows, blocks, most, most)),
        gradient=np.zeros((rows, blocks, most)),
        factor=np.zeros((rows, blocks, most, most)),
        right=np.zeros((rows, blocks, most)),
        step=np.zeros((rows, size)),
        triple=np.zeros((rows, 3, most)),
        contacts=np.zeros((rows, MOST_CONTACTS, size + 1)),
        frozen=np.zeros((rows, size), np.int64),
        stale=np.zeros((rows, blocks), np.int64),
        on=np.zeros((rows, MOST_CONTACTS), np.int64),
        limbs=np.zeros((rows, MOST_CONTACTS, 2), np.int64),
    )


def placements(rows: int, model: Model) -> Scratch:
    """Allocate only what `place` fills in."""
    work, joints = scratch(0, model), len(model.joints)
    return work._replace(
        positions=np.empty((rows, joints, 3)),
        orientations=np.empty((rows, joints, 4)),
        axes=np.zeros((rows, joints, 3)),
    )
