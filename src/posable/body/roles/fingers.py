"""Finding the joints of fingers below a hand.

A finger is a chain of joints. Its first joint says which finger it is, by a word ("LeftHandIndex1", "f_index.01.L",
"thumb.proximal.L") or by its number (Biped counts from 0, MakeHuman from 1); the joints below it belong to it, whatever
they are called. A joint inside the palm, much nearer to the wrist than the knuckle after it, is a metacarpal: of a
thumb it is the first joint, of the other fingers it has no role. What comes after the third joint is a tip.

A hand has fingers where three or more are found. One or two stand for all of them (the built-in figure's mittens, the
`LeftHandIndex1` and `LThumb` of CMU, Mixamo's smallest rigs), and "index" there means something else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ...compute.types import Floats
from ...skeleton import Skeleton
from . import FINGER_CHAINS, FINGERS
from .matching import given_roles
from .names import LEFT, RIGHT, JointName, read_name

LEAST = 3
"""Fingers that a hand must have."""
IN_PALM = 0.55
"""A joint nearer to the wrist than this fraction of the distance to the knuckle lies in the palm."""


def find_fingers(
    skeleton: Skeleton, roles: Mapping[str, int], given: Mapping[str, str | int | None] | None = None
) -> dict[str, int]:
    """Finger role to joint index, in the order of `FINGERS`; those that the rig lacks are left out.

    Args:
        skeleton: any rig of a person.
        roles: the body's parts, as `matching.find_roles` gives them.
        given: as `matching.find_roles` takes it. A hand of which it names a finger has those that are named.
    """
    known, absent = given_roles(skeleton, given)
    names = [read_name(name) for name in skeleton.names]
    positions = skeleton.forward(skeleton.rest).positions
    found = {role: joint for role, joint in known.items() if role in FINGERS}
    for side in (LEFT, RIGHT):
        hand = roles.get(f"{side}_hand")
        if hand is None or any(role.startswith(side) for role in found):
            continue
        chains = _chains(skeleton, names, positions, hand, side)
        if len(chains) >= LEAST:
            for finger, chain in chains.items():
                found |= dict(zip(_parts(finger, chain, positions, hand), chain))
    return {role: found[role] for role in FINGERS if role in found and role not in absent}


def first_joints(skeleton: Skeleton, names: Sequence[JointName], hand: int) -> dict[int, int]:
    """The first joint of each finger below a hand with its rank, 0 for the thumb to 4 for the little finger.

    Fingers without names are counted: Biped's from 0, MakeHuman's from 1, whose metacarpals 1 to 4 lead to them.
    """
    below = body_children(skeleton, names, hand)
    below += [j for child in below for j in body_children(skeleton, names, child) if names[child].finger is None]
    counted = {j: names[j].numbers[0] for j in below if names[j].word == "finger" and names[j].numbers}
    first = min(counted.values(), default=0)
    ranks = {j: number - first for j, number in counted.items()}
    ranks |= {j: rank for j in below if (rank := names[j].finger) is not None}
    firsts: dict[int, int] = {}
    for joint, rank in ranks.items():
        if 0 <= rank <= 4 and rank not in firsts.values():
            firsts[joint] = rank
    return firsts


def body_children(skeleton: Skeleton, names: Sequence[JointName], joint: int) -> list[int]:
    """The joints that hang on a joint and belong to the body."""
    return [j for j in skeleton.children(joint) if not names[j].helper]


def _chains(
    skeleton: Skeleton, names: Sequence[JointName], positions: Floats, hand: int, side: str
) -> dict[str, list[int]]:
    """Finger ("left_index") to its joints from the palm outwards, without metacarpals of fingers."""
    fingers = [finger for finger in FINGER_CHAINS if finger.startswith(side)]
    chains: dict[str, list[int]] = {}
    for joint, rank in first_joints(skeleton, names, hand).items():
        chain = [joint]
        while below := [j for j in body_children(skeleton, names, chain[-1]) if names[j].finger in (None, rank)]:
            chain.append(max(below, key=lambda j: (names[j].finger == rank, _depth(skeleton, j), -j)))
        if rank and len(chain) > 1 and _in_palm(positions, hand, chain):
            chain = chain[1:]
        chains[fingers[rank]] = chain
    return chains


def _depth(skeleton: Skeleton, joint: int) -> int:
    """How many joints lie below a joint, one after the other."""
    deep = 0
    level = list(skeleton.children(joint))
    while level and deep < 8:
        level, deep = [k for j in level for k in skeleton.children(j)], deep + 1
    return deep


def _in_palm(positions: Floats, hand: int, chain: Sequence[int]) -> bool:
    """Whether the first joint of a chain is much nearer to the wrist than the second."""
    first, second = (float(np.linalg.norm(positions[j] - positions[hand])) for j in chain[:2])
    return first < IN_PALM * second


def _parts(finger: str, chain: Sequence[int], positions: Floats, hand: int) -> Sequence[str]:
    """The roles of a chain's joints: a thumb that begins at its knuckle has no metacarpal."""
    parts = FINGER_CHAINS[finger]
    if finger.endswith("thumb") and len(chain) == 2 and not _in_palm(positions, hand, chain):
        return parts[1:]
    return parts
