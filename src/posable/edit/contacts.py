"""Contacts of a motion, feet on the ground, hands on the body or on each other.

The paper says that contacts are naturally kept; they are only where a part's velocity is exactly zero (erratum K9), so
they are found, and kept when a motion changes (`edit.repair`). Heel and ball of a foot are contacts of their own, on
the floor or on any other surface; how they are found is said in `edit.stances` (one threshold of speed and one of
height above a single floor, as in `specs/edit.md`, section 5, miss stairs, bounces and heels that rise). A hand is on
another part while their volumes are within a centimetre and it hardly moves relative to it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..body import Humanoid
from ..body.collision.clearance import clearance
from ..compute.types import Bools
from ..math import conjugate, rotate
from ..skeleton import Motion
from .clip import Clip
from .stances import CLOSED, closed, find_stances, runs

GROUND = "ground"
TOUCHING = 0.01  # [m]
RESTING = 0.2  # [m/s]: a hand that moves faster over what it touches only brushes it
SHORTEST_TOUCH = 0.15  # [s]


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
    return (*foot_contacts(clip.motion, clip.body), *(hand_contacts(clip) if hands else []))


def foot_contacts(motion: Motion, body: Humanoid) -> list[Contact]:
    """Return the contacts of heels and balls of the feet."""
    stances = find_stances(motion, body)
    return [Contact(part, GROUND, first, last) for part, on in stances.items() for first, last in runs(on)]


def same_foot(body: Humanoid, a: int, b: int) -> bool:
    """Return whether two joints are one, or belong to one foot: its ankle, its ball and whatever they carry."""
    feet = [body.roles[role] for role in ("left_foot", "right_foot") if role in body.roles]
    paths = [{*body.skeleton.path(joint)} for joint in (a, b)]
    return a == b or any(foot in paths[0] and foot in paths[1] for foot in feet)


def hand_contacts(clip: Clip) -> list[Contact]:
    """Return the contacts of hands with other parts."""
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
