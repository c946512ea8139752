"""Contacts of a motion, feet on the ground, hands on the body or on each other: found, and repaired after a change.

The paper says that contacts are naturally kept; they are only where a part's velocity is exactly zero (erratum K9), so
they are found and fixed. Heel and ball of a foot are contacts of their own, on the floor or on any other surface; how
they are found is said in `edit.stances` (one threshold of speed and one of height above a single floor, as in
`specs/edit.md`, section 5, miss stairs, bounces and heels that rise). A hand is on another part while their volumes are
within a centimetre and it hardly moves relative to it.

After a change the parts in contact get goals at their positions before it in each changed frame, and the dragged part
one at its new position; a few iterations bring the body there. Decided here: the weights are the clip's mean, since
weights that change from frame to frame make the repair flicker. On the ramps before and after a contact the *goal*
moves from the changed position to the original one; the specification makes the row's damping fade, but iterations undo
damping, and the result would depend on their number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..body import Humanoid
from ..body.collision.clearance import clearance
from ..compute.types import Bools, Floats, Ints, Records
from ..math import conjugate, multiply, rotate, slerp
from ..skeleton import Frames, Pose
from .clip import Clip
from .model import EXACT, GOAL
from .stances import CLOSED, closed, find_stances, runs

if TYPE_CHECKING:
    from .dragging import Dragger

GROUND = "ground"
WHOLE_FOOT = 0.25  # [m/s]: the ankle of a foot that rests as a whole is slower
RAMP = 0.1  # [s]: a contact's weight grows and fades for so long before and after
TOUCHING = 0.01  # [m]
RESTING = 0.2  # [m/s]: a hand that moves faster over what it touches only brushes it
SHORTEST_TOUCH = 0.15  # [s]
ITERATIONS = 6


@dataclass(frozen=True)
class Contact:
    """A part on something from frame `first` to frame `last`, both included.

    Of a foot, "left_foot" is its heel and "left_toes" its ball: a flat foot has both. On a body without toes
    "left_foot" is the whole foot.
    """

    part: str
    on: str
    """ "ground", which is any surface that a foot stands on, or the part that a hand rests on."""
    first: int
    last: int


def find_contacts(clip: Clip, hands: bool = True) -> tuple[Contact, ...]:
    """Return all contacts of a clip, those of heels and balls of the feet first."""
    stances = find_stances(clip)
    found = [Contact(part, GROUND, first, last) for part, on in stances.items() for first, last in runs(on)]
    return tuple(found + (_hand_contacts(clip) if hands else []))


def whole_feet(clip: Clip, contacts: Sequence[Contact]) -> tuple[Contact, ...]:
    """Return contacts with heel and ball of a foot as one, while its ankle rests: for who holds a foot as a whole."""
    down: dict[tuple[str, str], Bools] = {}
    for contact in contacts:
        key = (contact.part.replace("_toes", "_foot"), contact.on)
        down.setdefault(key, np.zeros(len(clip), np.bool_))[contact.first : contact.last + 1] = True
    for (part, on), rows in down.items():
        if on == GROUND:
            speed = np.linalg.norm(clip.velocities([clip.body.roles[part]])[:, 0, :3], axis=-1)
            rows &= closed(speed < WHOLE_FOOT, round(CLOSED * clip.fps))
    return tuple(Contact(*key, first, last) for key, rows in down.items() for first, last in runs(rows))


def hold_weights(contacts: Sequence[Contact], part: str, on: str, frames: int, fps: float) -> Floats:
    """Return weights (F,): 1 where a part rests on something, falling to 0 within `RAMP` seconds before and after."""
    at, weights, ramp = np.arange(frames), np.zeros(frames), max(1.0, RAMP * fps)
    for contact in contacts:
        if contact.part == part and contact.on == on:
            outside = np.maximum(np.maximum(contact.first - at, at - contact.last), 0)
            fraction = np.clip(1.0 - outside / (ramp + 1.0), 0.0, 1.0)
            weights = np.maximum(weights, 0.5 - 0.5 * np.cos(np.pi * fraction))
    return weights


def _hand_contacts(clip: Clip) -> list[Contact]:
    body = clip.body
    hands = [role for role in ("left_hand", "right_hand") if role in body.roles]
    checker = clearance(body)
    carriers = [_carrier(body, int(j)) for j in body.volumes.packed["joint"]]
    frames = body.skeleton.forward(clip.smooth)
    touching = checker.contacts(frames, margin=checker.softness + TOUCHING)
    pairs: dict[tuple[str, str], Bools] = {}
    for k, (a, b) in enumerate(checker.pairs):
        for hand, other in ((carriers[a], carriers[b]), (carriers[b], carriers[a])):
            wrist = (hand, hand.replace("hand", "lower_arm"))  # next to each other always, and no contact
            if hand in hands and other not in wrist and touching[:, k].any() and (other, hand) not in pairs:
                pairs[hand, other] = pairs.get((hand, other), np.zeros(len(clip), np.bool_)) | touching[:, k]
                break
    found = []
    for (hand, other), near in pairs.items():
        h, o = body.roles[hand], body.roles[other]
        seen = rotate(conjugate(frames.orientations[:, o]), frames.positions[:, h] - frames.positions[:, o])
        speed = np.linalg.norm(np.gradient(seen, axis=0), axis=-1) * clip.fps if len(clip) > 1 else np.zeros(len(clip))
        resting = closed(near & (speed < RESTING), round(CLOSED * clip.fps))
        found += [
            Contact(hand, other, first, last)
            for first, last in runs(resting)
            if (last - first) / clip.fps >= SHORTEST_TOUCH
        ]
    return found


def _carrier(body: Humanoid, joint: int) -> str:
    """Return the role of a joint, or of the nearest joint above it that has one."""
    roles = {j: role for role, j in body.roles.items()}
    for j in reversed(body.skeleton.path(joint)):
        if j in roles:
            return roles[j]
    return "hips"


def keep_contacts(
    dragger: Dragger,
    before: Pose,
    changed: Pose,
    rows: Ints,
    contacts: Sequence[Contact],
    released: Sequence[str] = (),
    led: Sequence[int] = (),
) -> tuple[Pose, Floats, Bools]:
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

    Returns:
        The poses (K,), the largest movement (K,) [m] of a contact in each, and where (K,) limits stopped a joint.
    """
    body, clip = dragger.clip.body, dragger.clip
    keys = sorted({(c.part, c.on) for c in contacts if c.part not in released})
    weights = {key: hold_weights(contacts, *key, len(clip), clip.fps)[rows] for key in keys}
    keys = [key for key in keys if weights[key].any()]
    none = np.zeros(len(rows))
    if not (keys or dragger.bounds.any):
        return changed, none, none > 0.0
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
        pose, errors, limited = dragger.pulled(changed, goals, logs, ITERATIONS, source)
    ended = body.skeleton.forward(pose)
    for g, (part, on) in enumerate(keys):
        if on != GROUND:  # the part that it rests on has moved since its goal was set
            target, _ = _contact_target(body.roles, (part, on), old, ended)
            errors[:, g] = np.linalg.norm(target - ended.positions[:, body.roles[part]], axis=-1)
    slips = [np.where(weights[key] >= 1.0, errors[:, g], 0.0) for g, key in enumerate(keys)]
    return pose, np.max([none, *slips], axis=0), limited


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
    goals["joint"], goals["position"] = j, start + weight[:, None] * (positions - start)
    goals["orientation"] = slerp(new.orientations[:, j], orientations, weight)
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
        goals["position"][:, g], goals["orientation"][:, g] = new.positions[:, j], new.orientations[:, j]
        goals["position_softness"][:, g] = np.where(touched, EXACT if g < len(led) else 0.3, -1.0)
        goals["orientation_softness"][:, g] = np.where(touched, 0.1 if g < len(led) else 0.5, -1.0)
