"""Repair of contacts after a change: feet back where they stood, hands back on what they rested on.

For each changed frame the parts in contact get goals at their positions before the change, and the dragged part one at
its new position; a few iterations bring the body there (`specs/edit.md`, section 5).

Decided here: the weights are the clip's mean, since weights that change from frame to frame make the repair flicker. On
the ramps before and after a contact the *goal* moves from the changed position to the original one; the specification
makes the row's damping fade, but iterations undo damping, and the result would depend on their number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..compute.types import Bools, Floats, Ints, Records
from ..math import conjugate, multiply, rotate, slerp
from ..skeleton import Frames, Pose
from .bounds import project_to_ranges
from .contacts import GROUND, Contact, hold_weights
from .dragging import EXACT, Dragger, set_goals
from .model import GOAL, Bodies, scratch

ITERATIONS = 6
BLOCK = 256  # frames at once: bounds the scratch


@dataclass(frozen=True, eq=False)
class Repaired:
    """Poses with their contacts repaired."""

    pose: Pose
    slid: Floats
    """(K,) [m]: the largest movement of a contact in each frame."""
    limited: Bools
    """(K,): where limits stopped a joint."""


@dataclass(frozen=True, eq=False)
class Pulled:
    """Poses (K,) brought to goals (K, G)."""

    pose: Pose
    errors: Floats
    """(K, G) [m]: distance of each part from its goal."""
    limited: Bools
    """(K,): where limits stopped a joint."""


def keep_contacts(
    dragger: Dragger,
    before: Pose,
    changed: Pose,
    rows: Ints,
    contacts: Sequence[Contact],
    released: Sequence[str] = (),
    led: Sequence[int] = (),
) -> Repaired:
    """Bring contacts of changed frames back, and joints into their limits.

    A joint that is inside its limits in a frame before is inside after; one that was outside goes no further out.

    Args:
        dragger: weights and bounds.
        before: all frames (F,) as they were.
        changed: the frames `rows` (K,) after the change.
        rows: (K,) the numbers of these frames.
        contacts: all contacts of the clip.
        released: parts whose own contacts are given up: those that were dragged.
        led: joints that must stay where the change has put them.
    """
    body, clip = dragger.clip.body, dragger.clip
    keys = sorted({(c.part, c.on) for c in contacts if c.part not in released})
    weights = {key: hold_weights(contacts, *key, len(clip), clip.fps)[rows] for key in keys}
    keys = [key for key in keys if weights[key].any()]
    none = np.zeros(len(rows))
    if not (keys or dragger.bounds.any):
        return Repaired(changed, none, none > 0.0)
    source = before[rows]
    old, new = body.skeleton.forward(source), body.skeleton.forward(changed)
    touched = np.max([none, *(weights[key] for key in keys)], axis=0) > 0.0
    pose = changed
    logs = np.broadcast_to(dragger.logs.mean(axis=0), (len(rows), dragger.logs.shape[1]))
    for _ in range(2 if any(on != GROUND for _, on in keys) else 1):
        goals = np.zeros((len(rows), len(keys) + len(led) + len(clip.parts.joints)), GOAL)
        goals["position_softness"], goals["orientation_softness"] = -1.0, -1.0
        now = body.skeleton.forward(pose)
        for g, key in enumerate(keys):
            _contact_goal(goals[:, g], body.roles, key, old, new, now, weights[key])
        _led_goals(goals[:, len(keys) :], [*led], clip.parts.joints.tolist(), keys, body.roles, new, touched)
        found = pulled(dragger, changed, goals, logs, ITERATIONS, source)
        pose = found.pose
    errors, ended = found.errors, body.skeleton.forward(pose)
    for g, (part, on) in enumerate(keys):
        if on != GROUND:  # the part that it rests on has moved since its goal was set
            target, _ = _contact_target(body.roles, (part, on), old, ended)
            errors[:, g] = np.linalg.norm(target - ended.positions[:, body.roles[part]], axis=-1)
    slips = [np.where(weights[key] >= 1.0, errors[:, g], 0.0) for g, key in enumerate(keys)]
    return Repaired(pose, np.max([none, *slips], axis=0), found.limited)


def pulled(
    dragger: Dragger, pose: Pose, goals: Records, logs: Floats, iterations: int, source: Pose | None = None
) -> Pulled:
    """Bring poses (K,) to goals (K, G) with weights (K, n), inside the limits as far as `source` (K,) is, or `pose`.

    Limbs are projected to their ranges (`LimbRange`) in the end; the errors are those of the projected poses.
    """
    from .pull_kernels import pull_rows

    skeleton, clip, bounds = dragger.clip.body.skeleton, dragger.clip, dragger.bounds
    translation, rotations = pose.translation.copy(), pose.rotations.copy()
    began = pose if source is None else source
    errors, limited = np.zeros(goals.shape), np.zeros(len(goals), np.int64)
    for first in range(0, len(goals), BLOCK):
        rows = slice(first, first + BLOCK)
        n = len(goals[rows])
        offsets = np.empty((0, 0, 3)) if pose.offsets is None else np.ascontiguousarray(pose.offsets[rows])
        work = scratch(n, len(skeleton), len(skeleton.dofs), len(clip.parts.dofs), goals.shape[1])
        bodies = Bodies(translation[rows], rotations[rows], offsets)
        pull_rows(
            *(n, dragger.rig, np.ascontiguousarray(logs[rows]), goals[rows]),
            *(bounds.box_rows(n), bounds.shape_rows(clip.body, began[rows]), iterations),
            *(np.ascontiguousarray(began.rotations[rows]), bodies, errors[rows], limited[rows], work),
        )
    found = Pose(translation, rotations, pose.offsets)
    inside, moved = project_to_ranges(clip.body, bounds.ranges, began, found)
    if moved.any():
        positions = skeleton.forward(inside).positions[np.arange(len(goals))[:, None], goals["joint"]]
        left = np.linalg.norm(np.stack([goals[name] for name in "xyz"], axis=-1) - positions, axis=-1)
        errors = np.where(moved[:, None] & (goals["position_softness"] >= 0.0), left, errors)
    return Pulled(inside, errors, (limited > 0) | moved)


def _contact_target(roles: dict[str, int], key: tuple[str, str], old: Frames, now: Frames) -> tuple[Floats, Floats]:
    """Return the positions (K, 3) and orientations (K, 4) that keep a contact: the old ones, in the world or relative
    to the part that it rests on.
    """
    part, on = key
    j = roles[part]
    positions, orientations = old.positions[:, j], old.orientations[:, j]
    if on == GROUND:
        return positions, orientations
    o = roles[on]
    back = conjugate(old.orientations[:, o])
    relative = rotate(back, positions - old.positions[:, o])
    positions = now.positions[:, o] + rotate(now.orientations[:, o], relative)
    return positions, multiply(now.orientations[:, o], multiply(back, orientations))


def _contact_goal(
    goals: Records, roles: dict[str, int], key: tuple[str, str], old: Frames, new: Frames, now: Frames, weight: Floats
) -> None:
    """Fill the goals (K,) of one contact; on its ramps they lie between the changed and the original position."""
    j = roles[key[0]]
    positions, orientations = _contact_target(roles, key, old, now)
    start = new.positions[:, j]
    set_goals(goals, start + weight[:, None] * (positions - start), slerp(new.orientations[:, j], orientations, weight))
    goals["joint"] = j
    active = weight > 0.0
    goals["position_softness"] = np.where(active, EXACT, -1.0)
    goals["orientation_softness"] = np.where(active, 10.0 * EXACT, -1.0)


def _led_goals(
    goals: Records,
    led: list[int],
    others: list[int],
    keys: Sequence[tuple[str, str]],
    roles: dict[str, int],
    new: Frames,
    touched: np.ndarray,
) -> None:
    """Fill the goals of parts that the change has moved: exact for `led`, soft for the other effectors."""
    in_contact = {roles[part] for part, _ in keys}
    for g, j in enumerate([*led, *others]):
        goals["joint"][:, g] = j
        if g >= len(led) and (j in in_contact or j in led):
            continue
        set_goals(goals[:, g], new.positions[:, j], new.orientations[:, j])
        goals["position_softness"][:, g] = np.where(touched, EXACT if g < len(led) else 0.3, -1.0)
        goals["orientation_softness"][:, g] = np.where(touched, 0.1 if g < len(led) else 0.5, -1.0)
