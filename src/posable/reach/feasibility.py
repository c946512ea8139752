"""Learned postures made feasible: legs that reach their fixed feet, and a free arm clear of the legs.

Captured people stand with their knees a little bent and their arms a little away. A figure whose legs are straight and
whose arms hang next to its thighs could not move as they do: a leg would be too short by a millimetre, a hand would
sink into a thigh, and the reacher would lower the weight of the behaviour. The shipped behaviours are made with both in
mind; learned ones are corrected, by as little as it takes.
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
from .field import furthest_key
from .posture import Posture

if TYPE_CHECKING:
    from ..body import Humanoid

STRAIGHT = 0.99  # of the distance from hip to foot when standing: how far a leg may stretch
STANDING = np.array([1.0, 0.0, 0.0, 0.0])
OUTWARD = np.radians(np.arange(0.0, 62.0, 4.0))  # how far the free arm may be rotated away from the body
MAX_STRIDE = 0.7  # of a leg's length: larger horizontal distances from hip to foot count as this one
SAMPLES, PROJECTIONS = 1500, 400
SPARE = math.radians(4.0)
TESTED_WEIGHTS = np.array([0.15, 0.35, 0.6, 0.8, 1.0])


def standing(body: Humanoid, posture: Posture) -> Posture:
    """Return the posture with the hips so low that both legs reach their feet: from straight legs they only go down.

    The hip joints then lie in a ball around each foot, as they do at the start, and so do those of all lower weights.
    """
    return posture.shifted(posture.hips - [0.0, float(_too_high(body, posture)), 0.0])


def sink(body: Humanoid, made: Behaviour, seed: int = 0) -> None:
    """Lower the hips of the keys where smooth weights, which may be below 0, lift the hips between them.

    The least lowering is found by the method of projections: at the worst of many samples, onto what the legs need.
    """
    rng = np.random.default_rng(seed)
    if made.interpolation == "around":
        direction = rng.normal(size=(SAMPLES, 3))
        direction /= np.linalg.norm(direction, axis=-1, keepdims=True)
        furthest = furthest_key(np.array([key.at for key in made.keys]))
        at = furthest * direction * rng.uniform(size=(SAMPLES, 1)) ** (1 / 3)
    else:
        angle, size = rng.uniform(0.0, math.tau, (SAMPLES, 1)), np.sqrt(rng.uniform(size=(SAMPLES, 1)))
        at = np.array(made.ellipse.centre) + size * np.hstack([np.cos(angle), np.sin(angle)]) * made.ellipse.radii
    weights, needed = made.key_weights(at), _too_high(body, made.posture_at(at))
    lower = np.zeros(weights.shape[1])
    for _ in range(PROJECTIONS):
        missing = needed - weights @ lower
        worst = int(np.argmax(missing))
        if missing[worst] <= 0.0:
            break
        row = weights[worst]
        lower = np.maximum(lower + (missing[worst] + 1e-4) * row / (row @ row), 0.0)
    for key, down in zip(made.keys, lower, strict=True):
        if key.posture is not None and down > 0.0:
            made.set(key.id, key.posture.shifted(key.posture.hips - [0.0, down, 0.0]))


def _too_high(body: Humanoid, posture: Posture) -> Floats:
    """Return how much lower (...) [leg lengths] the hips must be for both legs to reach their feet."""
    positions = body.skeleton.forward(body.neutral_pose).positions
    hips = positions[body.index("hips")]
    rotation = posture.rotation("hips") if "hips" in posture.parts else STANDING
    needed = np.zeros(posture.shape)
    for side in ("right", "left"):
        joint, foot = positions[body.index(f"{side}_upper_leg")], positions[body.index(f"{side}_foot")]
        above = hips + posture.hips * body.leg_length + rotate(rotation, joint - hips) - foot
        length = STRAIGHT * float(np.linalg.norm(joint - foot))
        stride = np.minimum(np.hypot(above[..., 0], above[..., 2]), MAX_STRIDE * length)
        needed = np.maximum(needed, above[..., 1] - np.sqrt(length**2 - stride**2))
    return np.asarray(needed / body.leg_length)


def keep_clear(body: Humanoid, made: Behaviour) -> None:
    """Rotate the free arm of each key outward until the body does not touch itself, at any weight."""
    arm = other_side(f"{made.limb[:-4]}_upper_arm")
    if arm not in made.parts:
        return
    row, out = made.parts.index(arm), 1.0 if arm.startswith("left") else -1.0
    rotations = np.array([key.posture.rotations for key in made.keys if key.posture is not None])
    shifts = np.array([key.posture.hips for key in made.keys if key.posture is not None])
    tried = np.repeat(rotations[:, None], len(OUTWARD), axis=1)  # (K, A, R, 4)
    tried[:, :, row] = _rotated_out(body, arm, rotations[:, None, row], out * OUTWARD)
    weights = TESTED_WEIGHTS[:, None]
    weighted = slerp(STANDING, tried[:, :, None], weights)  # (K, A, S, R, 4)
    poses = _with_fixed_feet(body, made.parts, weighted, shifts[:, None, None] * weights)
    volumes = clearance(body, leave_out=[made.limb])
    before = volumes.contacts(body.skeleton.forward(body.neutral_pose))
    touched = (volumes.contacts(body.skeleton.forward(poses)) & ~before).sum(axis=(-2, -1))
    for key, counts, changed, shift in zip(made.keys, touched, rotations, shifts, strict=True):
        if fewest := int(np.argmin(counts)):  # the first of the best
            changed[row] = _rotated_out(body, arm, changed[row], np.asarray(out * (OUTWARD[fewest] + SPARE)))
            made.set(key.id, Posture(made.parts, changed, shift))


def _rotated_out(body: Humanoid, arm: str, q: Floats, angle: Floats) -> Floats:
    """Return rotations of an upper arm rotated away from the body by an angle [rad], inside its limits."""
    rotated = multiply(axis_angle([0.0, 0.0, 1.0], angle), q)
    return body.limits.clamp(arm, rotated) if arm in body.limits else rotated


def _with_fixed_feet(body: Humanoid, parts: tuple[str, ...], part_rotations: Floats, shifts: Floats) -> Pose:
    """Return the body in postures (..., R, 4) with shifts (..., 3) [leg lengths], its feet as in the neutral pose."""
    neutral = body.canonical(body.neutral_pose)
    roles = tuple(role for role in ROLES if role in body.roles or role in parts)
    rotations = np.zeros((*part_rotations.shape[:-2], len(roles), 4)) + STANDING
    rotations[..., [roles.index(part) for part in parts], :] = part_rotations
    pose = body.pose(CanonicalPose(roles, rotations, neutral.hips + shifts), base=body.neutral_pose)
    positions = body.skeleton.forward(body.neutral_pose).positions
    for foot in ("right_foot", "left_foot"):
        pose = body.place(pose, foot, Target(positions[body.index(foot)], STANDING)).pose
    return pose
