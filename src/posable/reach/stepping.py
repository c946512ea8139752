"""Stances for targets that are out of reach with both feet on the ground: `Reacher(feet="step")`.

A target high above the shoulder is met on tiptoe, any other with a step: one foot goes towards the target, the hips
half as far, so that the centre of mass stays between the feet, and sink as the legs come apart; the heel of a foot that
stays lifts where its leg would be too short. Then the body reaches from that stance as it does from any. The shortest
step that will do is taken, found in `STEPS` steps and by bisection; where none will, the one that comes nearest.

Which foot: the one on whose side the target lies, and for a target straight ahead that of the reaching hand. That
choice is a jump by nature, so a step is for poses and for motions that know where they go (`animate`), not for streams.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..body.balance import foot_ball
from ..compute import Status
from ..compute.types import Bools, Floats, Ints
from ..limb import Target
from ..math import axis_angle, conjugate, multiply, rotate
from ..skeleton import Frames, Pose
from .behaviour import ARMS

if TYPE_CHECKING:
    from ..body import Humanoid
    from .motion import Targets

LONGEST_STEP = 0.9  # [leg lengths]
HIPS = 0.5  # of a step: how far the hips go along
TIPTOE = math.radians(40.0)
OVER_THE_BALL = math.radians(8.0)  # of a heel: from there on the body is over the balls of its feet
HIGHEST_HEEL = math.radians(55.0)  # that a foot which stays lifts its heel
HIGH = math.sin(math.radians(50.0))  # of the direction to a target: steeper ones are met on tiptoe
AHEAD = math.sin(math.radians(15.0))  # of the direction of a step: less aside is ahead
SWING_HEIGHT = 0.1  # [leg lengths] of a foot that steps
STRAIGHT = 0.999  # of its length, a leg is straight
SLACK = 0.05  # of the sinking in a step, more than straight legs need: they could follow no hips that move
STEPS, BISECTIONS = 8, 5
SIDES = ("left", "right")
STEP = "step"
FEET: dict[str, bool | str] = {"stay": True, STEP: STEP, "free": False}
"""What `Reacher(feet=...)` takes, by the names that people choose from."""


class Stances(NamedTuple):
    """How the feet leave the ground where a body stands, a row a target."""

    direction: Floats
    """(N, 3) horizontal unit vectors of steps in the world; zero where the body rises on its toes."""
    foot: Ints
    """(N,) which of `SIDES` steps; -1 where the body rises on its toes."""
    effort: Floats
    """(N,) from 0, as at the start, to 1, the longest step or the highest heels."""

    def rows(self, chosen: Ints | Bools) -> Stances:
        """Return some rows."""
        return Stances(self.direction[chosen], self.foot[chosen], self.effort[chosen])

    def with_effort(self, effort: Floats | float) -> Stances:
        """Return the same with another effort (N,)."""
        return self._replace(effort=np.broadcast_to(np.asarray(effort, np.float64), self.foot.shape))


class Standing(NamedTuple):
    """Bodies in their stances."""

    pose: Pose
    """(N, ...)."""
    ok: Bools
    """(N,) whether both legs reach."""
    step: Floats
    """(N, 3) displacement of the foot that steps [m]."""
    heels: Floats
    """(N, 2) how far the heels of the left and right foot are lifted [rad]."""


def stances_for(body: Humanoid, start: Pose, targets: Targets) -> Stances:
    """Return which way bodies (N, ...) would step, or rise, for their targets; their efforts are 0."""
    frames = body.skeleton.forward(start)
    aims, shoulders = [], []
    for target, arm in zip(targets, ARMS, strict=True):
        if target is not None:
            shoulder = frames.positions[..., body.limb_joints(arm)[0], :]
            aims.append(np.broadcast_to(np.asarray(target.position, np.float64), shoulder.shape))
            shoulders.append(shoulder)
    away = np.mean(aims, axis=0) - np.mean(shoulders, axis=0)
    away = away / np.maximum(np.abs(away).max(axis=-1, keepdims=True), 1.0)  # the square of a huge one is infinite
    distance = np.maximum(np.linalg.norm(away, axis=-1), 1e-9)
    level = away * [1.0, 0.0, 1.0]
    direction = level / np.maximum(np.linalg.norm(level, axis=-1, keepdims=True), 1e-9)
    high = (away[:, 1] > HIGH * distance) | (np.linalg.norm(level, axis=-1) < 1e-6)
    left = rotate(body.canonical_orientation(frames, body.index("hips")), [1.0, 0.0, 0.0])
    aside = (direction * left).sum(axis=-1)
    own = 1 if targets[0] is not None else 0
    foot = np.where(np.abs(aside) < AHEAD, own, np.where(aside > 0.0, 0, 1))
    return Stances(np.where(high[:, None], 0.0, direction), np.where(high, -1, foot), np.zeros(len(high)))


def stand(body: Humanoid, start: Pose, stances: Stances, lifted: float = 0.0) -> Standing:
    """Return bodies (N, ...) in their stances.

    Args:
        body: who stands.
        start: (N, ...) poses with both feet where they are without a step.
        stances: how they stand.
        lifted: how high the foot that steps is, from 0 (on the ground, default) to 1.
    """
    frames, leg = body.skeleton.forward(start), body.leg_length
    length = np.where(stances.foot < 0, 0.0, LONGEST_STEP * leg * stances.effort)
    step = length[:, None] * stances.direction
    tiptoe = np.where(stances.foot < 0, TIPTOE * stances.effort, 0.0)
    sinking = (1.0 + SLACK) * (leg - np.sqrt(np.maximum(leg**2 - (0.5 * length) ** 2, 0.0)))
    shift = HIPS * step - sinking[:, None] * [0.0, 1.0, 0.0]
    shift += np.mean(
        [_risen(body, frames, side, tiptoe) + _ahead(body, frames, side, tiptoe) for side in SIDES], axis=0
    )
    ankles, heels = [], np.zeros((len(length), 2))
    for k, side in enumerate(SIDES):
        steps = (stances.foot == k)[:, None] * (step + lifted * SWING_HEIGHT * leg * _up(stances.effort > 0.0))
        hip = frames.positions[:, body.index(f"{side}_upper_leg")] + shift
        heels[:, k] = _heel(body, frames, side, hip, steps, tiptoe)
        ankles.append(frames.positions[:, body.index(f"{side}_foot")] + steps + _risen(body, frames, side, heels[:, k]))
    pose, ok = start.replace(translation=start.translation + shift), np.ones(len(length), np.bool_)
    for k, side in enumerate(SIDES):
        pose, placed = _place_foot(body, frames, pose, side, ankles[k], heels[:, k])
        ok &= placed
    return Standing(pose, ok, step, heels)


def stepping_pose(body: Humanoid, start: Pose, stance: Stances, fraction: float) -> Pose:
    """Return one body on the way from its starting pose (fraction 0) to its stance (1): a foot that steps swings up and
    down again.
    """
    row = start.reshape(1)
    moving = stand(body, row, stance.with_effort(fraction * stance.effort), math.sin(math.pi * fraction))
    return moving.pose[0]


def _up(where: Bools) -> Floats:
    return np.asarray(where[:, None] * np.array([0.0, 1.0, 0.0]))


def _risen(body: Humanoid, frames: Frames, side: str, heel: Floats) -> Floats:
    """Return the displacement (N, 3) [m] of an ankle whose foot has lifted its heel (N,) [rad], about its ball."""
    foot = body.canonical_orientation(frames, body.index(f"{side}_foot"))
    from_ball = -foot_ball(body, side)
    return np.asarray(rotate(foot, rotate(axis_angle([1.0, 0.0, 0.0], heel), from_ball) - from_ball))


def _ahead(body: Humanoid, frames: Frames, side: str, heel: Floats) -> Floats:
    """Return the displacement (N, 3) [m] that brings a body over the balls of its feet before it stands on them."""
    foot = body.canonical_orientation(frames, body.index(f"{side}_foot"))
    over = rotate(foot, foot_ball(body, side)) * [1.0, 0.0, 1.0]
    x = np.minimum(1.0, heel / OVER_THE_BALL)
    return np.asarray((x * x * (3.0 - 2.0 * x))[:, None] * over)


def _heel(body: Humanoid, frames: Frames, side: str, hip: Floats, steps: Floats, least: Floats) -> Floats:
    """Return how far (N,) [rad] a heel must lift for its leg to reach the foot from a hip (N, 3) [m]: at least `least`
    (N,), and no more where no angle will do.
    """
    joints = body.limb_joints(f"{side}_leg")
    stood = frames.positions[:, list(joints)]
    bones = np.linalg.norm(np.diff(stood, axis=1), axis=-1).sum(axis=-1)
    # A leg that is straighter at the start may stay so.
    longest = np.maximum(STRAIGHT * bones, np.linalg.norm(stood[:, 2] - stood[:, 0], axis=-1) * (1.0 + 1e-12))
    ankle = stood[:, 2] + steps

    def short(heel: Floats) -> Bools:
        away = np.linalg.norm(ankle + _risen(body, frames, side, heel) - hip, axis=-1)
        return np.asarray(away > longest)

    low, high = least, np.maximum(least, HIGHEST_HEEL)
    wanting = short(low)
    for _ in range(30):
        middle = 0.5 * (low + high)
        still = short(middle)
        low, high = np.where(still, middle, low), np.where(still, high, middle)
    return np.where(wanting & ~short(high), high, least)


def _place_foot(
    body: Humanoid, frames: Frames, pose: Pose, side: str, ankle: Floats, heel: Floats
) -> tuple[Pose, Bools]:
    """Return poses with a foot at an ankle (N, 3) [m], its heel lifted by (N,) [rad], its toes as they were; and
    whether (N,) the leg reaches. The knee keeps its swivel where it can.
    """
    foot = body.index(f"{side}_foot")
    orientation = multiply(body.canonical_orientation(frames, foot), axis_angle([1.0, 0.0, 0.0], heel))
    leg = body.limb(f"{side}_leg")
    placed = leg.place(pose, Target(ankle, orientation), preferred=np.asarray(leg.read(pose).swivel))
    if f"{side}_toes" in body.roles:
        toes = body.index(f"{side}_toes")
        rotations = placed.pose.rotations.copy()
        parent = int(body.skeleton.parents[toes])
        now = body.skeleton.forward(placed.pose).orientations[:, parent]
        rotations[:, toes] = multiply(conjugate(now), frames.orientations[:, toes])
        return placed.pose.replace(rotations=rotations), np.asarray(placed.status) == Status.REACHED
    return placed.pose, np.asarray(placed.status) == Status.REACHED
