"""The body as Sequential IK reads it: spine, clavicles and limbs in the neutral pose, in canonical terms."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..compute.types import Floats, Ints, Records
from ..limits import Limits
from ..limits.limits import ROW
from ..math import axis_angle, between, conjugate, multiply, rotate, slerp

if TYPE_CHECKING:
    from ..body import Humanoid

LIMBS = ("left_arm", "right_arm", "left_leg", "right_leg")
"""In the order of their markers."""
MAX_BEND = 1.6  # [rad] of the pelvis: specification reconstruct, 4.2
IN_REACH = 1.0 - 1e-6  # of a leg: a foot at all of it might be missed by rounding
COINCIDENT = 1e-6  # of the height: a joint of the spine this near to the hips does not bend it


class Trunk(NamedTuple):
    """Hips, spine and clavicles. Arrays of S count the joints from hips to head."""

    offsets: Floats
    """(S, 3) [m] from the joint before, in the neutral pose."""
    bends: Ints
    """(S,) whether the joint bends: those between hips and head that do not coincide with the hips."""
    numbers: Floats
    """(5,) length of the neutral chord [m], most bend of the pelvis [rad], most stretch (0 to 1), 1 for the paper's
    spine, and length of the chord at most stretch [m]."""
    chest: Ints
    """(2,) which joint carries the arms, and which is tracked as the chest."""
    shoulders: Floats
    """(2, 2, 3) [m]: left and right; clavicle from the chest's joint, shoulder from the clavicle."""
    arms: Floats
    """(2,) upper arm and forearm together [m]."""
    clavicles: Records
    """(2,) their limits; no rows: without."""
    curves: Floats
    limits: Records
    """(S,) of the spine's joints; not read where `above` is -1."""
    above: Ints
    """(S,) the joint that a limited joint is limited against, or -1."""
    legs: Floats
    """(2, 4) [m] where the left and right leg begin, from the hips in the neutral pose, and how far they reach."""
    slots: Ints
    """(K,) for every driven orientation of the body: which of our orientations it takes, see `_slots`."""


def trunk_of(body: Humanoid, limits: Limits | None, chest: str = "", paper_spine: bool = False) -> Trunk:
    """The trunk of a body; limits bound how far its spine bends and stretches; `chest` is a role that is tracked."""
    frames = body.skeleton.forward(body.neutral_pose)
    positions_at_rest = frames.positions[list(body.spine)]
    offsets = np.diff(positions_at_rest, axis=0, prepend=positions_at_rest[:1])
    away = np.linalg.norm(positions_at_rest - positions_at_rest[0], axis=-1)
    bends = (away > COINCIDENT * body.joint_height).astype(np.int64)
    bends[[0, -1]] = 0
    roles = body.roles
    carrier = body.chest
    shoulders, arms = np.zeros((2, 2, 3)), np.zeros(2)
    for k, side in enumerate(("left", "right")):
        shoulder = frames.positions[roles[f"{side}_upper_arm"]]
        clavicle = frames.positions[roles[f"{side}_shoulder"]] if f"{side}_shoulder" in roles else shoulder
        shoulders[k] = clavicle - positions_at_rest[carrier], shoulder - clavicle
        arms[k] = body.limb(f"{side}_arm").length
    legs = np.zeros((2, 4))
    for k, side in enumerate(("left", "right")):
        legs[k, :3] = frames.positions[roles[f"{side}_upper_leg"]] - positions_at_rest[0]
        legs[k, 3] = IN_REACH * body.limb(f"{side}_leg").length
    clavicles, curves = np.zeros(0, ROW), np.zeros(0) if limits is None else np.array(limits.curves)
    if limits is not None and all(f"{side}_shoulder" in limits for side in ("left", "right")):
        clavicles = np.ascontiguousarray(limits.packed[[limits.index(f"{s}_shoulder") for s in ("left", "right")]])
    bend, stretch, longest = _room(body, limits, bends, offsets)
    numbers = np.array(
        [
            float(np.linalg.norm(positions_at_rest[-1] - positions_at_rest[0])),
            bend,
            stretch,
            float(paper_spine),
            longest,
        ]
    )
    tracked = list(body.spine).index(roles[chest]) if chest else carrier
    rows, above = _spine_limits(body, limits)
    chests = np.array([carrier, tracked])
    return Trunk(offsets, bends, numbers, chests, shoulders, arms, clavicles, curves, rows, above, legs, _slots(body))


def _spine_limits(body: Humanoid, limits: Limits | None) -> tuple[Records, Ints]:
    """Limits of the spine's joints, and the part below that each is counted from."""
    names = {joint: role for role, joint in body.roles.items()}
    rows, above = np.zeros(len(body.spine), ROW), np.full(len(body.spine), -1, dtype=np.int64)
    below = 0
    for k, joint in enumerate(body.spine):
        role = names.get(joint)
        if k and role is not None:
            if limits is not None and role in limits:
                rows[k], above[k] = limits.packed[limits.index(role)], below
            below = k
    return rows, above


def _room(body: Humanoid, limits: Limits | None, bends: Ints, offsets: Floats) -> tuple[float, float, float]:
    """How far the spine bends and stretches before a part of it leaves its limits, and how long it is then [m]."""
    count = max(int(bends.sum()), 1)
    names = {joint: role for role, joint in body.roles.items()}

    def bent(x: float) -> Floats:
        angles = np.cumsum(bends) * 2.0 * x / count
        return axis_angle([1.0, 0.0, 0.0], angles)

    def fits(world: Floats) -> bool:
        before = np.array([1.0, 0.0, 0.0, 0.0])
        for k, joint in enumerate(body.spine):
            role = names.get(joint)
            if role is None:
                continue
            local = multiply(conjugate(before), world[k])
            if limits is not None and role != "hips" and role in limits and not limits.contains(role, local):
                return False
            before = world[k]
        return True

    stretch = _largest(lambda x: fits(stretched(offsets, bends, x)), 1.0)
    longest = rotate(stretched(offsets, bends, stretch)[:-1], offsets[1:]).sum(axis=0)
    return _largest(lambda x: fits(bent(x)), MAX_BEND), stretch, float(np.linalg.norm(longest))


def stretched(offsets: Floats, bends: Ints, fraction: float) -> Floats:
    """(S, 4) how the joints of a spine are turned in the pelvis' frame, each segment above the hips by a share of its
    way to the neutral chord.
    """
    whole, orientations = offsets.sum(axis=0), np.tile([1.0, 0.0, 0.0, 0.0], (len(bends), 1))
    for k in range(1, len(bends) - 1):
        if bends[k] and np.linalg.norm(offsets[k + 1]) > 0.0:
            orientations[k] = slerp([1.0, 0.0, 0.0, 0.0], between(offsets[k + 1], whole), fraction)
        else:
            orientations[k] = orientations[k - 1]
    orientations[-1] = orientations[-2]
    return orientations


def _largest(fits: Callable[[float], bool], most: float) -> float:
    """The largest number up to `most` that fits, where all smaller ones do."""
    if fits(most):
        return most
    low, high = 0.0, most
    for _ in range(40):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def _slots(body: Humanoid) -> Ints:
    """For every driven orientation: spine joint k is k; clavicles are S and S + 1, arms follow them, legs the hips."""
    spine = list(body.spine)
    count = len(spine)
    slots = []
    for role, joint in body.roles.items():
        if joint in spine:
            slots.append(spine.index(joint))
        elif "leg" in role or "foot" in role or "toes" in role:
            slots.append(0)
        else:
            slots.append(count if role.startswith("left") else count + 1)
    return np.array([*slots, *range(count)], dtype=np.int64)
