"""Arms that keep out of the body: the elbow swivels, and where that is not enough the hand gives way, smoothly in time.

Around every stretch of frames in which a forearm or a hand is in the rest of the body, some postures of that arm are
compared: swivels of the elbow to both sides, each with the hand where it is or up to a hand's breadth further out. The
cheapest sequence of postures is found by dynamic programming: depth costs most, giving way more than swivelling, and
every change from one moment to the next costs too. The two curves, of swivel and distance, are then smoothed and put
on the arm. So an elbow never leaps from one side of an obstacle to the other, as it would if each frame were solved
alone.

Depths are those of the body's volumes beyond what flesh yields (`body.collision.clearance`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..body import Humanoid
from ..body.collision.clearance import Clearance, clearance
from ..compute.types import Bools, Floats, Ints
from ..limb import Target
from ..math import rotate
from ..skeleton import Frames, Pose
from .contacts import Contact
from .stances import closed, runs

SWIVELS = np.radians(np.arange(-75.0, 76.0, 15.0))
"""[rad]: by which an elbow is swivelled."""
DISTANCES = np.array([0.0, 0.015, 0.03, 0.05, 0.08, 0.12])
"""[m] by which a hand gives way, on a body whose `joint_height` is 1.5 m."""
MARGIN = 0.006  # [m]
LEAST = 5e-4  # of the joint height: less is left as it is
AROUND = 0.4  # [s]: before and after a stretch, in which the arm may prepare for it
SAMPLED = 30.0  # [1/s]: how often postures are compared
SMOOTH = 0.08  # [s]: standard deviation of the filter on the two curves
DEEP, FAR, ROTATED, MISSED = 100.0, 12.0, 0.6, 100.0
"""What costs 1: a depth of 1 cm, giving way by 8 cm, a swivel of 95 degrees, a hand that misses its place by 1 cm."""
OUTSIDE = 20.0  # [1/rad]: the cost of leaving the limits further than the motion does, or the arm would be pulled back
CHANGED = (0.3, 0.02)  # [rad], [m]: changes between two comparisons that cost as much as CHANGE
CHANGE = 0.12
HOPELESS = 0.06
"""[m]: deeper is no worse, so that an arm that cannot get out does not try."""
PASSES = 4
BLOCK = 48  # frames whose postures are made at once


def arm_depths(body: Humanoid, frames: Frames) -> Floats:
    """Return how deep (F,) [m] a forearm or a hand is in the rest of the body; at most 0 where none is."""
    depths = [_checker(body, side).depth(frames) for side in ("left", "right")]
    return np.asarray(np.max(depths, axis=0))


def arms_out(body: Humanoid, pose: Pose, fps: float, allowed: Floats, contacts: Sequence[Contact] = ()) -> Pose:
    """Return the poses (F,) with forearms and hands out of the body, as far as that goes.

    Args:
        body: whose poses.
        pose: (F,) consecutive ones.
        fps: frames per second.
        allowed: (F,) depths [m] at which nothing is done: those that the motion has on its own body.
        contacts: hands that rest on the body in some frames do not give way there.
    """
    for _ in range(PASSES):
        before = pose
        for side in ("left", "right"):
            resting = np.zeros(len(pose.translation), np.bool_)
            for contact in contacts:
                if f"{side}_hand" in (contact.part, contact.on):
                    resting[contact.first : contact.last + 1] = True
            pose = _arm_out(body, pose, fps, side, resting, allowed)
        if pose is before:
            break
    return pose


def _checker(body: Humanoid, side: str) -> Clearance:
    """Return what a forearm and its hand must keep out of."""
    every = clearance(body)
    elbow = body.roles[f"{side}_lower_arm"]
    own = [elbow in body.skeleton.path(int(joint)) for joint in body.volumes.packed["joint"]]
    pairs = np.ascontiguousarray(every.pairs[np.isin(every.pairs, np.flatnonzero(own)).any(axis=-1)])
    return Clearance(body, pairs, np.zeros(0, np.int64), every.softness)


def _arm_out(body: Humanoid, pose: Pose, fps: float, side: str, resting: Bools, allowed: Floats) -> Pose:
    checker = _checker(body, side)
    inside = checker.depth(body.skeleton.forward(pose)) > allowed + LEAST * body.joint_height
    if not inside.any():
        return pose
    near = _widened(inside, round(AROUND * fps))
    swivel, distance = np.zeros((2, len(inside)))
    step = max(1, round(fps / SAMPLED))
    for first, last in runs(near):
        rows = np.unique(np.r_[np.arange(first, last, step), last])
        costs = _costs(body, checker, pose[rows], side, resting[rows], allowed[rows])
        if first > 0:
            costs[0, 1:] = np.inf
        if last < len(inside) - 1:
            costs[-1, 1:] = np.inf
        chosen = _cheapest(costs)
        at = np.arange(first, last + 1)
        swivel[at] = np.interp(at, rows, _STATES[chosen, 0])
        distance[at] = np.interp(at, rows, _STATES[chosen, 1])
    from scipy.ndimage import gaussian_filter1d

    swivel, distance = (gaussian_filter1d(values, SMOOTH * fps, mode="nearest") for values in (swivel, distance))
    changed = np.flatnonzero((np.abs(swivel) > 1e-4) | (distance > 1e-5))
    if not len(changed):
        return pose
    moved = _placed(body, pose[changed], side, swivel[changed], distance[changed])[0]
    rotations = pose.rotations.copy()
    rotations[changed] = moved.rotations
    return pose.replace(rotations=rotations)


_STATES = np.array([(0.0, 0.0), *((s, d) for d in DISTANCES for s in SWIVELS if s or d)])
"""(S, 2): swivel [rad] and distance [m] of each posture; the first one changes nothing."""


def _costs(body: Humanoid, checker: Clearance, pose: Pose, side: str, resting: Bools, allowed: Floats) -> Floats:
    """Return what each posture costs in each frame (F, S)."""
    costs = np.empty((len(resting), len(_STATES)))
    size = body.joint_height / 1.5
    for first in range(0, len(resting), BLOCK):
        rows = slice(first, first + BLOCK)
        made, missed = _placed(body, pose[rows], side, _STATES[:, 0], _STATES[:, 1], every=True)
        depth = (checker.depth(body.skeleton.forward(made)) - allowed[rows, None]) / size
        costs[rows] = DEEP * np.clip(depth + MARGIN, 0.0, HOPELESS) + MISSED * missed / size
        outside = _outside_limits(body, made, side)
        costs[rows] += OUTSIDE * np.maximum(outside - outside[:, :1], 0.0).sum(axis=-1)
    costs += ROTATED * np.abs(_STATES[:, 0]) + FAR * _STATES[:, 1]
    costs[resting] += np.where(_STATES[:, 1] > 0.0, 10.0, 0.0)
    return costs


def _outside_limits(body: Humanoid, pose: Pose, side: str) -> Floats:
    """Return how far (..., K) [rad] the joints of an arm are outside their limits."""
    posture = body.canonical(pose)
    parts = ("shoulder", "upper_arm", "lower_arm", "hand")
    roles = [f"{side}_{part}" for part in parts if f"{side}_{part}" in body.roles and f"{side}_{part}" in body.limits]
    rows = [posture.roles.index(role) for role in roles]
    return np.asarray(body.limits.excess(roles, posture.rotations[..., rows, :]))


def _placed(
    body: Humanoid, pose: Pose, side: str, swivel: Floats, distance: Floats, every: bool = False
) -> tuple[Pose, Floats]:
    """Return poses with the elbow of an arm swivelled [rad] and its hand further out [m], and how far it misses that.

    Of F poses and F values the result is (F,); where `every` pose takes each of S values, (F, S).
    """
    arm, frames = body.limb(f"{side}_arm", limits=None), body.skeleton.forward(pose)
    now, hand = arm.read(pose, frames).swivel, body.roles[f"{side}_hand"]
    position, orientation, out = frames.positions[:, hand], frames.orientations[:, hand], _outwards(body, frames, side)
    away = distance * (body.joint_height / 1.5)
    if every:
        now, position, orientation, out = now[:, None], position[:, None], orientation[:, None], out[:, None]
        offsets = None if pose.offsets is None else pose.offsets[:, None]
        pose = Pose(pose.translation[:, None], pose.rotations[:, None], offsets)
    target = Target(position + away[..., None] * out, world_orientation=orientation)
    placed = arm.place(pose, target, swivel=now + swivel, probe=True)
    return placed.pose, np.asarray(placed.position_error)


def _outwards(body: Humanoid, frames: Frames, side: str) -> Floats:
    """Return directions (F, 3), level, in which a hand leaves the body: away from its axis, outwards and ahead."""
    hand, hips, head = (frames.positions[:, body.roles[role]] for role in (f"{side}_hand", "hips", "head"))
    axis = head - hips
    along = np.einsum("fi,fi->f", hand - hips, axis) / np.maximum(np.einsum("fi,fi->f", axis, axis), 1e-12)
    away = (hand - hips - np.clip(along, 0.0, 1.0)[:, None] * axis) / (0.13 * body.joint_height)
    trunk = body.canonical_orientation(frames, body.spine[body.chest])
    sign = 1.0 if side == "left" else -1.0
    level = (away + rotate(trunk, np.array([0.5 * sign, 0.0, 0.3]))) * np.array([1.0, 0.0, 1.0])
    return np.asarray(level / np.maximum(np.linalg.norm(level, axis=-1, keepdims=True), 1e-9))


def _cheapest(costs: Floats) -> Ints:
    """Return the sequence of states (F,) of least cost, with that of changes, by dynamic programming."""
    change = CHANGE * sum(((_STATES[:, None, k] - _STATES[None, :, k]) / CHANGED[k]) ** 2 for k in range(2))  # (S, S)
    total, came = costs[0], np.zeros(costs.shape, np.int64)
    for row in range(1, len(costs)):
        paths = total[:, None] + change
        came[row] = paths.argmin(axis=0)
        total = paths[came[row], np.arange(len(total))] + costs[row]
    chosen = np.empty(len(costs), np.int64)
    chosen[-1] = total.argmin()
    for row in range(len(costs) - 1, 0, -1):
        chosen[row - 1] = came[row, chosen[row]]
    return chosen


def _widened(on: Bools, frames: int) -> Bools:
    """Return stretches with so many frames more on either side, joined where they meet."""
    wide = on.copy()
    for first, last in runs(on):
        wide[max(first - frames, 0) : last + frames + 1] = True
    return closed(wide, frames)
