"""The limits of an adult human, by role, from the learned file `assets/human_limits.json`.

The file holds left joints and the whole trunk and neck, in degrees; `tools/fit_limits.py` makes it from published
ranges and captured motion and writes each value's source next to it, the data's hash and size, the seed, and the
fraction of the poses of held-out subjects inside each limit. Right joints are mirror images. Bones at rest and first
swing axes are those of the canonical frames (arms hanging, palms in, facing +Z, left is +X).
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.resources import files
from typing import Any

import numpy as np

from ..compute import PosableError, UnknownNameError
from ..compute.types import Vec3
from .limits import JointLimit
from .shapes import Cone, Ellipse, Hinge, Interval, Swing

TRUNK = ("spine", "chest", "upper_chest")
NECK = ("neck", "head")
SIDED = ("shoulder", "upper_arm", "lower_arm", "hand", "upper_leg", "lower_leg", "foot", "toes")
ROLES = ("hips", *TRUNK, *NECK, *(f"{side}_{part}" for side in ("left", "right") for part in SIDED))
_FINGER = {"proximal": "finger_proximal", "intermediate": "finger_intermediate", "distal": "finger_distal"}
_FINGER_PARTS = {f"thumb_{part}": f"thumb_{part}" for part in ("metacarpal", "proximal", "distal")} | {
    f"{finger}_{part}": entry for finger in ("index", "middle", "ring", "little") for part, entry in _FINGER.items()
}
"""The joints of a hand's fingers, and their entries in the file."""
FINGERS = tuple(f"{side}_{part}" for side in ("left", "right") for part in _FINGER_PARTS)

_X, _DOWN, _UP, _FORWARD = (1.0, 0.0, 0.0), (0.0, -1.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
_THUMB = (0.0, -math.sqrt(0.5), math.sqrt(0.5))
AXES: dict[str, tuple[Vec3, Vec3]] = {  # bone at rest, first swing axis; the second is their cross product
    "trunk": (_UP, _X),  # swing about X: bending forward; about -Z: to the left
    "neck": (_UP, _X),
    "shoulder": (_X, _UP),  # about Y: pulling back; about Z: raising
    "upper_arm": (_DOWN, _X),  # about X: backwards; about Z: outwards
    "lower_arm": (_DOWN, (-1.0, 0.0, 0.0)),  # about -X: flexion
    "hand": (_DOWN, _X),  # about X: towards the little finger; about Z: extension, which turns with the forearm
    "upper_leg": (_DOWN, _X),
    "lower_leg": (_DOWN, _X),  # about X: flexion
    "foot": (_FORWARD, _X),  # about X: toes down; about Y: toes out
    "toes": (_FORWARD, _X),
    "finger_proximal": (_DOWN, (0.0, 0.0, -1.0)),  # about -Z: flexion; about X: towards the little finger
    "finger_intermediate": (_DOWN, (0.0, 0.0, -1.0)),
    "finger_distal": (_DOWN, (0.0, 0.0, -1.0)),
    "thumb_metacarpal": (_THUMB, _X),  # about X: flexion, across the palm; about `hand.frames.ACROSS`: behind it
    "thumb_proximal": (_THUMB, _X),
    "thumb_distal": (_THUMB, _X),
}


def human_joints(roles: Sequence[str] | None = None, palms: Mapping[str, float] | None = None) -> dict[str, JointLimit]:
    """Return the limits of the roles a body has, in the order of `ROLES`, then of fingers; spine roles divide the trunk
    and the neck.

    `palms`: see `Limits.human`.
    """
    present = ROLES if roles is None else tuple(roles)
    for role in present:
        if role not in ROLES and role not in FINGERS:
            raise UnknownNameError("role", role, (*ROLES, *FINGERS))
    trunk, neck = [r for r in TRUNK if r in present], [r for r in NECK if r in present]
    joints = dict(zip(trunk + neck, spine_joints(len(trunk), len(neck)), strict=True))
    if "hips" in present:
        joints["hips"] = JointLimit(source="the root turns freely")
    for role in present:
        side, _, part = role.partition("_")
        if side in ("left", "right"):
            left = _whole(_FINGER_PARTS.get(part, part))
            if heading := (palms or {}).get(role, 0.0):
                heading = heading if side == "left" else -heading  # a right joint is read in a mirror
                left = dataclasses.replace(left, axis=(math.cos(heading), 0.0, -math.sin(heading)))
            joints[role] = left if side == "left" else left.mirrored()
    return {role: joints[role] for role in (*ROLES, *FINGERS) if role in joints}


def spine_joints(trunk: int | Sequence[float], neck: int | Sequence[float]) -> tuple[JointLimit, ...]:
    """Return the limits of a spine, see `Limits.for_spine`."""
    joints = []
    for part, lengths in (("trunk", trunk), ("neck", neck)):
        for fraction in _fractions(part, lengths):
            whole = _whole(part)
            source = f"{whole.source}; sqrt of {fraction:.3g} of the {part}"
            joints.append(dataclasses.replace(whole.scaled(math.sqrt(fraction)), source=source))
    return tuple(joints)


@lru_cache(maxsize=1)
def limits_file() -> dict[str, Any]:
    """Return the learned file, read once."""
    content: dict[str, Any] = json.loads(files("posable").joinpath("assets/human_limits.json").read_bytes())
    return content


def _fractions(part: str, lengths: int | Sequence[float]) -> list[float]:
    """Return each joint's fraction of a part's length, from bone lengths or a number of equal ones."""
    given = [1.0] * lengths if isinstance(lengths, int) else [float(length) for length in lengths]
    if any(not math.isfinite(length) or length < 0.0 for length in given) or (given and sum(given) <= 0.0):
        raise PosableError(
            f"{part} lengths {given}: give a number of joints, or lengths of 0 or more that are not all 0"
        )
    return [length / sum(given) for length in given]


@lru_cache(maxsize=16)
def _whole(part: str) -> JointLimit:
    """Return the limit of a left joint, or of the whole trunk or neck."""
    entry = limits_file()["joints"][part]
    direction, axis = AXES[part]
    twist = Interval(*map(math.radians, entry["twist"]))
    swing = _swing(entry["swing"])
    return JointLimit(swing, twist, direction, axis, source=entry["source"], turning=part == "hand")


def _swing(entry: dict[str, Any]) -> Swing:
    """Return the shape an entry of the file describes, in degrees.

    An "ellipse" has the ranges of its two components, an "ellipse through" the angles at which it crosses its axes.
    """
    radians = {name: np.radians(value).tolist() for name, value in entry.items() if name != "kind"}
    if entry["kind"] == "hinge":
        return Hinge(**radians)
    if entry["kind"] == "cone":
        return Cone(tuple(radians["theta"]), tuple(radians["psi"]))
    make = Ellipse.through if entry["kind"] == "ellipse through" else Ellipse.from_ranges
    return make(radians["first"], radians["second"])
