"""Contacts of a motion: feet on the ground, hands on the body or on each other.

The paper says that contacts are naturally kept; they are only where a part's velocity is exactly zero (erratum K9), so
they are found and fixed. A foot is on the ground while it is slower than 0.25 m/s and lower than its 5th percentile
plus 0.06 m; gaps of up to three sixtieths of a second are closed (`specs/edit.md`, section 5). A hand is on another
part while their volumes are within a centimetre and it hardly moves relative to it.

`body.contacts` finds standing feet in streams, from the past alone; an editor knows the whole clip, so a contact here
begins and ends without delay.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..body import Humanoid
from ..body.collision.clearance import clearance
from ..compute.types import Bools, Floats
from ..math import conjugate, rotate
from .clip import Clip

GROUND = "ground"
SLOW, LOW = 0.25, 0.06  # [m/s], [m]
CLOSED = 0.05  # [s]: shorter gaps in a contact are none
RAMP = 0.1  # [s]: a contact's weight grows and fades for so long before and after
TOUCHING = 0.01  # [m]
RESTING = 0.2  # [m/s]: a hand that moves faster over what it touches only brushes it
SHORTEST_TOUCH = 0.15  # [s]


@dataclass(frozen=True)
class Contact:
    """A part on something from frame `first` to frame `last`, both included."""

    part: str
    on: str
    """ "ground", or the part that it rests on."""
    first: int
    last: int


def find_contacts(clip: Clip, hands: bool = True) -> tuple[Contact, ...]:
    """Return all contacts of a clip, feet first."""
    found: list[Contact] = []
    feet = [role for role in ("left_foot", "right_foot") if role in clip.body.roles]
    joints = [clip.body.roles[role] for role in feet]
    speeds = np.linalg.norm(clip.velocities(joints)[..., :3], axis=-1)
    heights = clip.body.skeleton.forward(clip.smooth).positions[:, joints, 1]
    for e, role in enumerate(feet):
        low = heights[:, e] < np.percentile(heights[:, e], 5.0) + LOW
        down = _closed((speeds[:, e] < SLOW) & low, round(CLOSED * clip.fps))
        found += [Contact(role, GROUND, first, last) for first, last in _runs(down)]
    return tuple(found + (_hand_contacts(clip) if hands else []))


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
        resting = _closed(near & (speed < RESTING), round(CLOSED * clip.fps))
        runs = [(first, last) for first, last in _runs(resting) if (last - first) / clip.fps >= SHORTEST_TOUCH]
        found += [Contact(hand, other, first, last) for first, last in runs]
    return found


def _carrier(body: Humanoid, joint: int) -> str:
    """Return the role of a joint, or of the nearest joint above it that has one."""
    roles = {j: role for role, j in body.roles.items()}
    for j in reversed(body.skeleton.path(joint)):
        if j in roles:
            return roles[j]
    return "hips"


def _closed(on: Bools, max_gap: int) -> Bools:
    """Fill gaps of at most `max_gap` frames between two stretches."""
    filled = on.copy()
    for first, last in _runs(~on):
        if first > 0 and last < len(on) - 1 and last - first < max_gap:
            filled[first : last + 1] = True
    return filled


def _runs(on: Bools) -> list[tuple[int, int]]:
    """Return the first and last frame of each stretch."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], on, [False]]).astype(np.int8)))
    return [(int(a), int(b) - 1) for a, b in zip(edges[::2], edges[1::2], strict=True)]
