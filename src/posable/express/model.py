"""A chain of one-axis joints as kernels read it, and the settings of a solve (specification express, section 1).

The paper's rest pose has every segment along +Y of its own frame. Any chain can be written so: let C_k be a constant
rotation that carries Y to segment k in the frame after joint k; describe everything in the frames rotated by it. Then

    Q_{k+1} = W_k R_{k+1},   W_k = Q_k A(r_k, angle_k),   d_k = W_k Y

with constant rotations R between the joints (all of them the identity for the paper's skeletons). The direction of the
parent's segment, seen in Q_k, is P_k = R_k* Y, and the cosine that the posture error compares is

    c_k = d_{k-1} . d_k = P_k . A(r_k, angle) Y = k0 + k1 cos(angle) + k2 sin(angle) = k0 + amp cos(angle - phi).

So the paper's table of latitudes (3.4.1) has a closed form for every direction of a segment: angle = phi +- acos(...).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .. import math as pm
from ..compute.types import Floats, Ints, Records

TWISTER, BEND, OFFSET = range(3)
"""A joint rotates about its own segment; changes the angle between two segments; rotates about its parent's segment."""

JOINT = np.dtype(
    [("kind", "i8")]
    + [(name, "f8") for name in ("rw", "rx", "ry", "rz")]  # R: from the frame after the parent to the one before this
    + [(name, "f8") for name in ("ax", "ay", "az")]  # axis
    + [(name, "f8") for name in ("px", "py", "pz")]  # the parent's segment
    + [(name, "f8") for name in ("ox", "oy", "oz")]  # axis x parent's segment, or something across: hemispheres
    + [(name, "f8") for name in ("bx", "by", "bz")]  # the pitch axis of a twister
    + [(name, "f8") for name in ("k0", "phi", "amp")]
    + [("side", "f8"), ("weight", "f8"), ("low", "f8"), ("high", "f8")],
    align=True,
)
"""`side` is how far the segment's end is from the axis, `weight` the joint's weight in the posture error."""

SETTINGS = np.dtype(
    [
        (name, "i8")
        for name in ("method", "symmetric", "signed", "iterations", "sweeps", "offset", "descent", "stop_at_threshold")
    ]
    + [(name, "f8") for name in ("precision", "disturbance", "aimed", "threshold", "posture", "gain")],
    align=True,
)

REPORT = np.dtype(
    [(name, "f8") for name in ("error", "orientation", "posture")] + [("iterations", "i8"), ("status", "i8")],
    align=True,
)

BEST, ERIK, SIMPLE, CCD = range(4)
METHODS = {"best": BEST, "erik": ERIK, "simple": SIMPLE, "ccd": CCD}

# Rows of a solve's scratch, each as wide as the chain has joints (and never narrower than WIDTH).
(ANGLES, FOUND, POSTURE, WARPED, LOW, HIGH, SHAPE, TRIAL, SPARE, PROBE, NOTES, TRACED, TOP) = range(13)
STARTS = 6  # how many of the best candidates are refined: rows TOP to TOP + STARTS
SCRATCH = TOP + STARTS
WIDTH = 2 * STARTS  # a row is at least so wide

STRAIGHT = 1e-4  # sines and cosines below are zero: files write pi with five digits
MAX_MIRRORS = 6  # at most 2^6 patterns of mirrored bends are tried
MAX_TRIPLES = 12


@dataclass(frozen=True, eq=False)
class Packed:
    """A chain for the kernels."""

    joints: Records
    """(M,) of `JOINT`."""
    triples: Ints
    """(T, 3) joints that together meet any orientation, cheapest for the posture first."""
    mirrors: Ints
    """(m,) bends whose mirrored angle has the same cosine."""
    ends: Floats
    """(2, 4): an orientation of the tip in the world, multiplied by these before and after, is a target for kernels."""


def pack(
    axes: Floats,
    rests: Floats,
    segments: Floats,
    low: Floats,
    high: Floats,
    tip: Floats,
    up: Floats,
    aggravation: float,
) -> Packed:
    """Return a chain packed from its geometry.

    Args:
        axes: (M, 3) unit, in the frame of each joint.
        rests: (M, 4) rotations at rest from the frame of the joint before (the world for the first) to the joint's.
        segments: (M, 3) unit direction of each joint's segment in its own frame; the last is the pointing axis.
        low: (M,) [rad].
        high: (M,) [rad].
        tip: (4,) from the frame of the last joint to that of the tip.
        up: (3,) unit, in the world.
        aggravation: ratio of each bend's weight to that of the bend before it.
    """
    count = len(axes)
    y = np.array([0.0, 1.0, 0.0])
    fits = np.asarray(pm.between(np.broadcast_to(y, (count, 3)), segments)).reshape(count, 4)
    before = np.concatenate([[[1.0, 0.0, 0.0, 0.0]], fits[:-1]])
    fitted = pm.multiply(pm.multiply(pm.conjugate(before), rests), fits)
    # The base has no segment: the first joint's parent points up, as the paper's does (a pan costs no shape then).
    first = np.asarray(pm.rotate(pm.conjugate(fitted[0]), up))
    ends = np.stack([pm.conjugate(fitted[0]), pm.multiply(pm.conjugate(tip), fits[-1])])
    fitted[0] = [1.0, 0.0, 0.0, 0.0]
    fitted_axes = pm.rotate(pm.conjugate(fits), axes)
    parents = np.asarray(pm.rotate(pm.conjugate(fitted), y))
    parents[0] = first
    joints = np.zeros(count, JOINT)
    for k in range(count):
        _fill(joints, k, np.asarray(fitted_axes)[k], parents[k])
    for name, column in zip("wxyz", np.moveaxis(fitted, -1, 0), strict=True):
        joints[f"r{name}"] = column
    joints["low"], joints["high"] = low, high
    bends = np.flatnonzero(joints["kind"] == BEND)
    weights = np.asarray(aggravation, dtype=np.float64) ** np.arange(len(bends))
    if len(bends):
        joints["weight"][bends] = weights / weights.sum()
    _pitch_axes(joints)
    mirrors = bends[np.argsort(-joints["weight"][bends], kind="stable")][:MAX_MIRRORS]
    return Packed(joints, _triples(joints), np.sort(mirrors), ends)


def _fill(joints: Records, k: int, axis: Floats, parent: Floats) -> None:
    y = np.array([0.0, 1.0, 0.0])
    across = np.cross(axis, parent)
    k0 = float((parent @ axis) * axis[1])
    k1, k2 = float(parent[1]) - k0, float(parent @ np.cross(axis, y))
    amp = float(np.hypot(k1, k2))
    side = float(np.linalg.norm(np.cross(axis, y)))
    joints[k]["kind"] = TWISTER if side < STRAIGHT else BEND if amp > STRAIGHT else OFFSET
    if np.linalg.norm(across) < 1e-6:  # hemispheres do not matter then, something across the axis does
        across = np.cross(axis, [1.0, 0.0, 0.0] if abs(axis[0]) < 0.9 else [0.0, 0.0, 1.0])
    across = across / np.linalg.norm(across)
    for name, vector in (("a", axis), ("p", parent), ("o", across)):
        for c, letter in enumerate("xyz"):
            joints[k][name + letter] = vector[c]
    joints[k]["k0"], joints[k]["amp"] = k0, amp
    joints[k]["phi"] = float(np.arctan2(k2, k1)) if amp > STRAIGHT else 0.0
    joints[k]["side"] = side


def _pitch_axes(joints: Records) -> None:
    """Set the pitch axis: for a twister that of its neighbour, across Y (section 1); for others their own."""
    count = len(joints)
    for k in range(count):
        other = k if joints[k]["kind"] != TWISTER or count == 1 else (1 if k == 0 else k - 1)
        axis = np.array([joints[other]["ax"], 0.0, joints[other]["az"]])
        length = np.linalg.norm(axis)
        axis = axis / length if length > 1e-6 else np.array([1.0, 0.0, 0.0])
        for c, letter in enumerate("xyz"):
            joints[k]["b" + letter] = axis[c]


def _triples(joints: Records) -> Ints:
    """Return triples of joints that meet an orientation: two that do not change the shape, and one more."""
    count = len(joints)
    cost = np.where(joints["kind"] == BEND, joints["weight"], 0.0)
    free = [k for k in range(count) if joints[k]["kind"] != BEND]
    if len(free) >= 2:
        ends = (free[0], free[-1])
        found = [tuple(sorted((*ends, j))) for j in range(count) if j not in ends]
    else:
        found = [(a, b, c) for a in range(count) for b in range(a + 1, count) for c in range(b + 1, count)]
    found.sort(key=lambda triple: float(cost[list(triple)].sum()))
    return np.array(found[:MAX_TRIPLES], dtype=np.int64).reshape(-1, 3)
