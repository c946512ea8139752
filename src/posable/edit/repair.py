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

from ..compute.types import Floats, Ints, Records
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


def keep_contacts(
    dragger: Dragger,
    before: Pose,
    changed: Pose,
    rows: Ints,
    contacts: Sequence[Contact],
    released: Sequence[str] = (),
    led: Sequence[int] = (),
) -> Repaired:
    """Bring contacts of changed frames back.

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
    if not kept:
        return Repaired(changed, np.zeros(len(rows)))
    old, new = body.skeleton.forward(before[rows]), body.skeleton.forward(changed)
    touched = np.max([weights[key] for key in kept], axis=0) > 0.0
    pose, slid = changed, np.zeros(len(rows))
    logs = np.broadcast_to(dragger.logs.mean(axis=0), (len(rows), dragger.logs.shape[1]))
    for _ in range(2 if any(on != GROUND for _, on in kept) else 1):
        goals = np.zeros((len(rows), len(kept) + len(led) + len(clip.parts.joints)), GOAL)
        goals["place"], goals["turn"] = -1.0, -1.0
        for g, key in enumerate(kept):
            _contact_goal(goals[:, g], body.roles, key, old, new, body.skeleton.forward(pose), weights[key])
        _led_goals(goals[:, len(kept) :], [*led], clip.parts.joints.tolist(), kept, body.roles, new, touched)
        pose, away = pulled(dragger, changed, goals, logs, ITERATIONS)
        held = np.stack([np.where(weights[key] >= 1.0, away[:, g], 0.0) for g, key in enumerate(kept)])
        slid = held.max(axis=0)
    return Repaired(pose, slid)


def pulled(dragger: Dragger, pose: Pose, goals: Records, logs: Floats, iterations: int) -> tuple[Pose, Floats]:
    """Poses (K,) brought to goals (K, G) with weights (K, n), and how far each part stayed away (K, G) [m]."""
    from .pull_kernels import pull_rows

    skeleton, clip = dragger.clip.body.skeleton, dragger.clip
    translation, rotations = pose.translation.copy(), pose.rotations.copy()
    away = np.zeros(goals.shape)
    for first in range(0, len(goals), BLOCK):
        rows = slice(first, first + BLOCK)
        n = len(goals[rows])
        offsets = np.empty((0, 0, 3)) if pose.offsets is None else np.ascontiguousarray(pose.offsets[rows])
        work = scratch(n, len(skeleton), len(skeleton.dofs), len(clip.parts.dofs), goals.shape[1])
        bodies = Bodies(translation[rows], rotations[rows], offsets)
        pull_rows(
            *(n, dragger.rig, np.ascontiguousarray(logs[rows]), goals[rows]),
            *(dragger.bounds.box_rows(n), iterations, bodies, away[rows], work),
        )
    return Pose(translation, rotations, pose.offsets), away


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
