"""The parts of a body: their names, which of them a rig may lack, and how they hang together.

Not the rig's tree but the body's: whatever joints lie between, a forearm hangs on an upper arm, and a clavicle on the
highest part of the trunk. `matching.find_roles` says which joint of a rig is which part.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from .names import LEFT, RIGHT

TRUNK = ("spine", "chest", "upper_chest")
SPINE_ROLES = ("hips", *TRUNK, "neck", "head")
_SIDED = ("shoulder", "upper_arm", "lower_arm", "hand", "upper_leg", "lower_leg", "foot", "toes")
ROLES: tuple[str, ...] = (*SPINE_ROLES, *(f"{side}_{part}" for side in (LEFT, RIGHT) for part in _SIDED))
"""Every part a body may have, VRM's names in snake_case, parents before children."""

_CHAINS = {"thumb": ("metacarpal", "proximal", "distal")} | dict.fromkeys(
    ("index", "middle", "ring", "little"), ("proximal", "intermediate", "distal")
)
FINGER_CHAINS: dict[str, tuple[str, ...]] = {
    f"{side}_{finger}": tuple(f"{side}_{finger}_{part}" for part in parts)
    for side in (LEFT, RIGHT)
    for finger, parts in _CHAINS.items()
}
"""The three joints of each finger, from the hand outwards; `left_thumb` first."""
FINGERS: tuple[str, ...] = tuple(role for chain in FINGER_CHAINS.values() for role in chain)
"""Every joint of a finger that a body may have, VRM 1's names in snake_case: 15 a hand, all optional."""
EVERY_ROLE = (*ROLES, *FINGERS)

OPTIONAL = frozenset((*TRUNK, "neck", *(f"{side}_{part}" for side in (LEFT, RIGHT) for part in ("shoulder", "toes"))))
"""Parts of `ROLES` that a rig may lack."""

MARKERS = ("hips", "head", "left_hand", "right_hand", "left_foot", "right_foot")
"""The six points of Sequential IK (Unzueta et al.), in this order: the joints themselves."""

LIMBS = {
    f"{side}_{limb}": tuple(f"{side}_{part}" for part in parts)
    for limb, parts in (("arm", ("upper_arm", "lower_arm", "hand")), ("leg", ("upper_leg", "lower_leg", "foot")))
    for side in (RIGHT, LEFT)
}
"""The three joints of each limb."""
LIMB_OF = {roles[-1]: limb for limb, roles in LIMBS.items()}
"""The limb that a hand or a foot ends."""

_PARENT = {"head": "neck", "neck": "upper_chest", "upper_chest": "chest", "chest": "spine", "spine": "hips"} | {
    f"{side}_{part}": parent if parent in SPINE_ROLES else f"{side}_{parent}"
    for side in (LEFT, RIGHT)
    for part, parent in zip(
        _SIDED, ("upper_chest", "shoulder", "upper_arm", "lower_arm", "hips", "upper_leg", "lower_leg", "foot")
    )
}
for _chain in FINGER_CHAINS.values():
    _PARENT |= dict(zip(_chain, (f"{_chain[0].partition('_')[0]}_hand", *_chain[:-1])))


def parent_role(role: str, present: Iterable[str]) -> str | None:
    """The nearest part above `role` that is among `present`; None for the hips.

    Not the rig's tree but the body's: a shoulder's parent is the highest part of the trunk that is present.
    """
    among = set(present)
    parent = _PARENT.get(role)
    while parent is not None and parent not in among:
        parent = _PARENT.get(parent)
    return parent


def named_parts(parts: Sequence[str]) -> list[str]:
    """Return the names of parts for a person to read: fingers and hands whole instead of joint by joint.

    "left_index_proximal", "left_index_intermediate" and "left_index_distal" are "left index finger"; where all fingers
    of a hand are named, "fingers of the left hand".
    """
    fingers = [finger for finger, chain in FINGER_CHAINS.items() if any(role in parts for role in chain)]
    named = [part for part in parts if part not in FINGERS]
    for side in (LEFT, RIGHT):
        own = [finger for finger in fingers if finger.startswith(side)]
        whole = len(own) == len(_CHAINS)
        kinds = [finger.partition("_")[2] for finger in own]
        named += (
            [f"fingers of the {side} hand"]
            if whole
            else [f"{side} {kind}" if kind == "thumb" else f"{side} {kind} finger" for kind in kinds]
        )
    return named


def bone_segments(names: Sequence[str], parents: Sequence[int], roles: Mapping[str, int]) -> dict[str, tuple[int, ...]]:
    """The limb bones that are a chain of segments: their joints, from the role's own to the last before the next part.

    Segments are called alike but for a number, as MakeHuman's upperarm01 and upperarm02, or Rigify's upper_arm.L and
    upper_arm.L.001, and share the bone's twist. A joint of another name moves by itself (the hand in a CMU forearm).
    """
    found = {}
    for role, below in (pair for limb in LIMBS.values() for pair in pairwise(limb)):
        chain = [parents[roles[below]]]
        while chain[0] != roles[role]:
            chain.insert(0, parents[chain[0]])
        if len(chain) > 1 and len({re.sub(r"[\W\d_]+", "", names[joint]) for joint in chain}) == 1:
            found[role] = tuple(chain)
    return found


def spine_chain(parents: Sequence[int], roles: Mapping[str, int]) -> tuple[int, ...]:
    """Every joint from hips to head, both included."""
    chain = [roles["head"]]
    while chain[-1] != roles["hips"]:
        chain.append(int(parents[chain[-1]]))
    return tuple(reversed(chain))


def chest_of(spine: Sequence[int], roles: Mapping[str, int]) -> int:
    """The index in `spine` of the joint that carries the arms: the highest part of the trunk that has a role."""
    return max([spine.index(roles[role]) for role in TRUNK if role in roles and roles[role] in spine], default=0)
