"""Contacts put right after a change: feet back where they stood, hands back on what they rested on.

For each changed frame the parts in contact get goals at their places of before the change, and the dragged part one at
its new place; a few iterations bring the body there (`specs/edit.md`, section 5).

Decided here: the weights are the clip's mean, since weights that change from frame to frame make what is put right
change as well. On the ramps before and after a contact the *goal* goes from the changed place to the kept one; the
specification makes the row's damping fade, but iterations undo damping, and the result would depend on their number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..compute.types import Bools, Floats, Ints, Records
from ..math import conjugate, multiply, rotate, slerp
from ..skeleton import Frames, Pose
from .contacts import GROUND, Contact, hold_weights
from .dragging import EXACT, Dragger, set_goals
from .model import GOAL, Bodies, scratch

ITERATIONS = 6
BLOCK = 256  # frames at once: bounds the scratch


@dataclass(frozen=True, eq=False)
class Repaired:
    """Poses whose contacts are kept."""

    pose: Pose
    slid: Floats
    """(K,) [m]: how far the worst contact of each frame is from where it was."""
    limited: Bools
    """(K,): where limits held a joint back."""


@dataclass(frozen=True, eq=False)
class Pulled:
    """Poses (K,) brought to goals (K, G)."""

    pose: Pose
    away: Floats
    """(K, G) [m]: how far each part stayed from its goal."""
    limited: Bools
    """(K,): where limits held a joint back."""


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
        rows: which frames they are.
        contacts: what touches when.
        released: parts whose own contacts are given up: those that were dragged.
        led: joints that must stay where the change has put them.
    """
    body, clip = dragger.clip.body, dragger.clip
    kept = sorted({(c.part, c.on) for c in contacts if c.part not in released})
    weights = {key: hold_weights(contacts, *key, len(clip), clip.fps)[rows] for key in kept}
    kept = [key for key in kept if weights[key].any()]
    none = np.zeros(len(rows))
    if not (kept or dragger.bounds.any):
        return Repaired(changed, none, none > 0.0)
    source = before[rows]
    old, new = body.skeleton.forward(source), body.skeleton.forward(changed)
    touched = np.max([none, *(weights[key] for key in kept)], axis=0) > 0.0
    pose = changed
    logs = np.broadcast_to(dragger.logs.mean(axis=0), (len(rows), dragger.logs.shape[1]))
    for _ in range(2 if any(on != GROUND for _, on in kept) else 1):
        goals = np.zeros((len(rows), len(kept) + len(led) + len(clip.parts.joints)), GOAL)
        goals["place"], goals["turn"] = -1.0, -1.0
        for g, key in enumerate(kept):
            _contact_goal(goals[:, g], body.roles, key, old, new, body.skeleton.forward(pose), weights[key])
        _led_goals(goals[:, len(kept) :], [*led], clip.parts.joints.tolist(), kept, body.roles, new, touched)
        found = pulled(dragger, changed, goals, logs, ITERATIONS, source)
        pose = found.pose
    held = [np.where(weights[key] >= 1.0, found.away[:, g], 0.0) for g, key in enumerate(kept)]
    return Repaired(pose, np.max([none, *held], axis=0), found.limited)


def pulled(
    dragger: Dragger, pose: Pose, goals: Records, logs: Floats, iterations: int, source: Pose | None = None
) -> Pulled:
    """Poses (K,) brought to goals (K, G) with weights (K, n), inside the limits as far as `source` (K,) is, or `pose`.

    Limbs are kept in their ranges (`LimbRange`) in the end, and what that takes from a part counts as away.
    """
    from .pull_kernels import pull_rows
    from .range_projection import kept_in_ranges

    skeleton, clip, bounds = dragger.clip.body.skeleton, dragger.clip, dragger.bounds
    translation, rotations = pose.translation.copy(), pose.rotations.copy()
    began = pose if source is None else source
    away, limited = np.zeros(goals.shape), np.zeros(len(goals), np.int64)
    for first in range(0, len(goals), BLOCK):
        rows = slice(first, first + BLOCK)
        n = len(goals[rows])
        offsets = np.empty((0, 0, 3)) if pose.offsets is None else np.ascontiguousarray(pose.offsets[rows])
        work = scratch(n, len(skeleton), len(skeleton.dofs), len(clip.parts.dofs), goals.shape[1])
        bodies = Bodies(translation[rows], rotations[rows], offsets)
        pull_rows(
            *(n, dragger.rig, np.ascontiguousarray(logs[rows]), goals[rows]),
            *(bounds.box_rows(n), bounds.shape_rows(clip.body, began[rows]), iterations),
            *(np.ascontiguousarray(began.rotations[rows]), bodies, away[rows], limited[rows], work),
        )
    found = Pose(translation, rotations, pose.offsets)
    inside, moved = kept_in_ranges(clip.body, bounds.ranges, began, found)
    if moved.any():
        places = skeleton.forward(inside).positions[np.arange(len(goals))[:, None], goals["joint"]]
        lack = np.linalg.norm(np.stack([goals[name] for name in "xyz"], axis=-1) - places, axis=-1)
        away = np.where(moved[:, None] & (goals["place"] >= 0.0), lack, away)
    return Pulled(inside, away, (limited > 0) | moved)


def _contact_goal(
    goals: Records, roles: dict[str, int], key: tuple[str, str], old: Frames, new: Frames, now: Frames, weight: Floats
) -> None:
    """Goals (K,) of one contact: its old place, in the world or as the other part sees it; on ramps part of the way."""
    part, on = key
    j = roles[part]
    places, turns = old.positions[:, j], old.orientations[:, j]
    if on != GROUND:
        o = roles[on]
        back = conjugate(old.orientations[:, o])
        seen = rotate(back, places - old.positions[:, o])
        places = now.positions[:, o] + rotate(now.orientations[:, o], seen)
        turns = multiply(now.orientations[:, o], multiply(back, turns))
    start, turned = new.positions[:, j], new.orientations[:, j]
    set_goals(goals, start + weight[:, None] * (places - start), slerp(turned, turns, weight))
    goals["joint"] = j
    asked = weight > 0.0
    goals["place"] = np.where(asked, EXACT, -1.0)
    goals["turn"] = np.where(asked, 10.0 * EXACT, -1.0)


def _led_goals(
    goals: Records,
    led: list[int],
    others: list[int],
    kept: Sequence[tuple[str, str]],
    roles: dict[str, int],
    new: Frames,
    touched: np.ndarray,
) -> None:
    """Goals of parts that the change has put where they are: exact for `led`, soft for the other effectors."""
    held = {roles[part] for part, _ in kept}
    for g, j in enumerate([*led, *others]):
        goals["joint"][:, g] = j
        if g >= len(led) and (j in held or j in led):
            continue
        set_goals(goals[:, g], new.positions[:, j], new.orientations[:, j])
        goals["place"][:, g] = np.where(touched, EXACT if g < len(led) else 0.3, -1.0)
        goals["turn"][:, g] = np.where(touched, 0.1 if g < len(led) else 0.5, -1.0)
