"""Learned postures that a body can stand in: feet that stay, and a free arm clear of the legs.

Captured people stand with their knees a little bent and their arms a little away. A figure whose legs are straight and
whose arms hang beside its thighs could not take over how they move: a leg would be too short by a millimetre, a hand
would sink into a thigh, and the reacher would give up the behaviour. The shipped behaviours are made with both in mind;
learned ones are brought there, by as little as it takes.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ..body.canonical import CanonicalPose, other_side
from ..body.collision.clearance import clearance
from ..body.roles import ROLES
from ..compute.types import Floats
from ..limb import Target
from ..math import axis_angle, multiply, rotate, slerp
from ..skeleton import Pose
from .behaviour import Behaviour
from .posture import Posture
from .spline import reach_of_keys

if TYPE_CHECKING:
    from ..body import Humanoid

STRAIGHT = 0.99  # of the distance from hip to foot when standing: how far a leg may stretch
STANDING = np.array([1.0, 0.0, 0.0, 0.0])
OUTWARD = np.radians(np.arange(0.0, 62.0, 4.0))  # how far the free arm may be turned away from the body
WIDEST = 0.7  # of a leg: further aside than this nothing is looked at
PLACES, PROJECTIONS = 1500, 400
SPARE = math.radians(4.0)
SHARES = np.array([0.15, 0.35, 0.6, 0.8, 1.0])  # of a posture that are looked at


def standing(body: Humanoid, posture: Posture) -> Posture:
    """The posture with the hips so low that both legs hold their feet: from straight legs they only go down.

    The hip joints then lie in a ball around each foot, as they do at the start, and so does what is between.
    """
    return posture.shifted(posture.hips - [0.0, float(_too_high(body, posture)), 0.0])


def sink(body: Humanoid, made: Behaviour, seed: int = 0) -> None:
    """Lower the hips of the keys where smooth shares, which may be below 0, lift what is blended between them.

    The least lowering is looked for by projections: at the worst of many places, on what the legs need there.
    """
    rng = np.random.default_rng(seed)
    if made.interpolation == "around":
        way = rng.normal(size=(PLACES, 3))
        way /= np.linalg.norm(way, axis=-1, keepdims=True)
        at = reach_of_keys(np.array([key.at for key in made.keys])) * way * rng.uniform(size=(PLACES, 1)) ** (1 / 3)
    else:
        angle, size = rng.uniform(0.0, math.tau, (PLACES, 1)), np.sqrt(rng.uniform(size=(PLACES, 1)))
        at = np.array(made.ellipse.centre) + size * np.hstack([np.cos(angle), np.sin(angle)]) * made.ellipse.radii
    shares, needed = made.shares(at), _too_high(body, made.posture_at(at))
    lower = np.zeros(shares.shape[1])
    for _ in range(PROJECTIONS):
        missing = needed - shares @ lower
        worst = int(np.argmax(missing))
        if missing[worst] <= 0.0:
            break
        row = shares[worst]
        lower = np.maximum(lower + (missing[worst] + 1e-4) * row / (row @ row), 0.0)
    for key, down in zip(made.keys, lower, strict=True):
        if key.posture is not None and down > 0.0:
            made.set(key.id, key.posture.shifted(key.posture.hips - [0.0, down, 0.0]))


def _too_high(body: Humanoid, posture: Posture) -> Floats:
    """(...) [leg lengths]: how much lower the hips must be for both legs to hold their feet."""
    places = body.skeleton.forward(body.neutral_pose).positions
    middle, turn = places[body.index("hips")], posture.rotation("hips") if "hips" in posture.parts else STANDING
    needed = np.zeros(posture.shape)
    for side in ("right", "left"):
        joint, foot = places[body.index(f"{side}_upper_leg")], places[body.index(f"{side}_foot")]
        above = middle + posture.hips * body.leg_length + rotate(turn, joint - middle) - foot
        longest = STRAIGHT * float(np.linalg.norm(joint - foot))
        aside = np.minimum(np.hypot(above[..., 0], above[..., 2]), WIDEST * longest)
        needed = np.maximum(needed, above[..., 1] - np.sqrt(longest**2 - aside**2))
    return np.asarray(needed / body.leg_length)


def keep_clear(body: Humanoid, made: Behaviour) -> None:
    """Turn the free arm of each key outward as far as it takes for the body not to touch itself, at any weight."""
    arm = other_side(f"{made.limb[:-4]}_upper_arm")
    if arm not in made.parts:
        return
    row, out = made.parts.index(arm), 1.0 if arm.startswith("left") else -1.0
    turns = np.array([key.posture.rotations for key in made.keys if key.posture is not None])
    shifts = np.array([key.posture.hips for key in made.keys if key.posture is not None])
    tried = np.repeat(turns[:, None], len(OUTWARD), axis=1)  # (K, A, R, 4)
    tried[:, :, row] = _turned_out(body, arm, turns[:, None, row], out * OUTWARD)
    shares = SHARES[:, None]
    parts_of = slerp(STANDING, tried[:, :, None], shares)  # (K, A, S, R, 4)
    poses = _stood(body, made.parts, parts_of, shifts[:, None, None] * shares)
    looked_at = clearance(body, leave_out=[made.limb])
    before = looked_at.contacts(body.skeleton.forward(body.neutral_pose))
    touched = (looked_at.contacts(body.skeleton.forward(poses)) & ~before).sum(axis=(-2, -1))
    for key, counts, rotations, shift in zip(made.keys, touched, turns, shifts, strict=True):
        if least := int(np.argmin(counts)):  # the first of the best
            rotations[row] = _turned_out(body, arm, rotations[row], np.asarray(out * (OUTWARD[least] + SPARE)))
            made.set(key.id, Posture(made.parts, rotations, shift))


def _turned_out(body: Humanoid, arm: str, q: Floats, angle: Floats) -> Floats:
    """An upper arm turned away from the body, inside its limits."""
    turned = multiply(axis_angle([0.0, 0.0, 1.0], angle), q)
    return body.limits.clamp(arm, turned) if arm in body.limits else turned


def _stood(body: Humanoid, parts: tuple[str, ...], turns: Floats, shifts: Floats) -> Pose:
    """The body in postures (..., R, 4) with shifts (..., 3) [leg lengths], its feet where they are when it stands."""
    neutral = body.canonical(body.neutral_pose)
    roles = tuple(role for role in ROLES if role in body.roles or role in parts)
    rotations = np.zeros((*turns.shape[:-2], len(roles), 4)) + STANDING
    rotations[..., [roles.index(part) for part in parts], :] = turns
    pose = body.pose(CanonicalPose(roles, rotations, neutral.hips + shifts), base=body.neutral_pose)
    places = body.skeleton.forward(body.neutral_pose).positions
    for foot in ("right_foot", "left_foot"):
        joint = body.index(foot)
        pose = body.place(pose, foot, Target(places[joint], STANDING)).pose
    return pose
