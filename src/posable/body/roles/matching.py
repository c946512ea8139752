"""Finding who is who: which joint of a rig is the left elbow.

There is one matcher for every rig. Names say what a joint may be (`names.read_name`), the tree decides: a limb is
three joints one below the other that hang on the body (with a clavicle before and toes after, where there are any),
the hips are where legs, arms and head meet, the spine is the chain from there to the head. So "LeftShoulder" is the
clavicle where "LeftArm" follows it (CMU, Mixamo) and the shoulder where "LeftElbow" does (H-Anim, SMPL), whatever the
rig is called. Joints of the animator's controls (IK targets, twist and roll segments) are never chosen.

The roles that the caller gives (`roles={...}`) stand; so does the map of a VRM file. The rest is found around them.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ...compute import PosableError, UnknownNameError
from ...compute.types import Floats
from ...skeleton import Skeleton
from . import EVERY_ROLE, FINGERS, LIMBS, OPTIONAL, ROLES, TRUNK, parent_role
from .names import LEFT, RIGHT, JointName, read_name


def find_roles(skeleton: Skeleton, given: Mapping[str, str | int | None] | None = None) -> dict[str, int]:
    """Role to joint index, in the order of `ROLES`; parts the rig lacks are left out.

    Args:
        skeleton: any rig of a person.
        given: roles the caller knows, by joint name or index, or None for "the rig has no such joint". They stand as
            they are. Without it, the map of the skeleton's own file (VRM) is used, if it has one.

    Raises:
        PosableError: when a part that every body needs cannot be found; it says which, and what came closest.
    """
    known, absent = given_roles(skeleton, given)
    return _Matcher(skeleton, known, absent).roles()


def parse_roles(text: str) -> dict[str, str]:
    """Return role to joint name of a text such as "left_hand=Hand.L, head=Skull"; a part may be written in words."""
    pairs = [pair.partition("=") for pair in text.split(",")]
    if not all(role.strip() and joint.strip() for role, _, joint in pairs):
        raise PosableError(f"roles are {text!r}; expected PART=JOINT with commas between")
    found = {"_".join(role.split()): joint.strip() for role, _, joint in pairs}
    for role in found:
        if role not in EVERY_ROLE:
            raise UnknownNameError("part", role, EVERY_ROLE)
    return found


def given_roles(
    skeleton: Skeleton, given: Mapping[str, str | int | None] | None
) -> tuple[dict[str, int], frozenset[str]]:
    """Return the roles that the caller, else the skeleton's own file, gives, and those that they say are absent."""
    character = skeleton.character
    if given is None and character is not None and character.roles:
        in_file = set(skeleton.names)
        given = {role: name for role, name in character.roles.items() if role in EVERY_ROLE and name in in_file}
    known: dict[str, int] = {}
    for role, joint in (given or {}).items():
        if role not in EVERY_ROLE:
            raise UnknownNameError("role", role, EVERY_ROLE)
        if joint is not None:
            known[role] = skeleton.index(joint)
        elif role not in OPTIONAL and role not in FINGERS:
            raise PosableError(
                f"a body needs {role!r}; only {', '.join(r for r in ROLES if r in OPTIONAL)} and fingers may be None"
            )
    absent = frozenset(role for role, joint in (given or {}).items() if joint is None)
    twice = {j for j in known.values() if list(known.values()).count(j) > 1}
    if twice:
        j = min(twice)
        same = " and ".join(role for role, joint in known.items() if joint == j)
        raise PosableError(f"{same} cannot both be joint {skeleton.names[j]!r}; give each a joint of its own")
    return known, absent


@dataclass
class _Matcher:
    """One search. `known` roles stand, `absent` ones are not looked for."""

    skeleton: Skeleton
    known: dict[str, int]
    absent: frozenset[str]

    def __post_init__(self) -> None:
        self.names: list[JointName] = [read_name(name) for name in self.skeleton.names]
        self.parents: list[int] = self.skeleton.parents.tolist()
        frames = self.skeleton.forward(self.skeleton.rest)
        self.positions: Floats = frames.positions
        self.size = float(np.ptp(self.positions, axis=0).max()) or 1.0

    def roles(self) -> dict[str, int]:
        found: dict[str, int] = dict(self.known)
        for side in (LEFT, RIGHT):
            found |= self.limb(side, ("upper_arm", "lower_arm", "hand"), before="shoulder")
            found |= self.limb(side, ("upper_leg", "lower_leg", "foot"), after="toes")
        missing = [role for limb in LIMBS.values() for role in self.lacking(limb, found)]
        if not missing:
            found |= self.trunk(found)
            missing = [role for role in ("hips", "head") if role not in found]
        if missing:
            raise PosableError(self.complaint(missing))
        self.check_tree(found)
        return {role: found[role] for role in ROLES if role in found}

    # Limbs

    def limb(
        self, side: str, parts: tuple[str, str, str], before: str | None = None, after: str | None = None
    ) -> dict[str, int]:
        """The best chain of three joints for an arm or a leg, with its clavicle before or its toes after."""
        best: tuple[float, tuple[int, ...]] | None = None
        for end in self.candidates(side, parts[2]):
            for mid in self.candidates(side, parts[1], above=end):
                for base in self.candidates(side, parts[0], above=mid):
                    chain = (base, mid, end)
                    score = self.chain_score(side, parts, chain)
                    if before and (girdle := self.best(side, before, above=base)) is not None:
                        score += self.score(side, before, girdle)
                    if best is None or score > best[0]:
                        best = (score, chain)
        if best is None:
            return {}
        base, mid, end = best[1]
        found = dict(zip((f"{side}_{part}" for part in parts), best[1]))
        if parts[2] == "hand" and f"{side}_hand" not in self.known:
            found[f"{side}_hand"] = self.true_wrist(mid, end)
        if before and (girdle := self.best(side, before, above=base)) is not None:
            found[f"{side}_{before}"] = girdle
        if after and (tip := self.toes(side, after, found[f"{side}_{parts[2]}"])) is not None:
            found[f"{side}_{after}"] = tip
        return found

    def chain_score(self, side: str, parts: Sequence[str], chain: tuple[int, int, int]) -> float:
        """How well a chain fits: its names, and bones that have a length and are not wildly unequal."""
        score = sum(self.score(side, part, joint) for part, joint in zip(parts, chain))
        upper, lower = (float(np.linalg.norm(self.positions[b] - self.positions[a])) for a, b in pairwise(chain))
        if min(upper, lower) < 1e-3 * self.size:
            score -= 1.0  # two of the three joints coincide: a limb does not bend there
        elif not 1 / 3 < upper / lower < 3:
            score -= 0.5
        return score

    def score(self, side: str, part: str, joint: int) -> float:
        """How surely a joint is a part, by its name; among equals the one nearest to the body wins."""
        if self.known.get(f"{side}_{part}") == joint:
            return 10.0
        return self.names[joint].meanings.get(part, 0.0) - 1e-3 * len(self.ancestors(joint))

    def candidates(self, side: str, part: str, above: int | None = None) -> list[int]:
        """Joints that may be a part: the known one, else those whose names allow it; above another joint, if given."""
        role = f"{side}_{part}"
        if role in self.absent:
            return []
        pool = range(len(self.names)) if above is None else self.ancestors(above)
        if role in self.known:
            return [self.known[role]] if self.known[role] in pool else []
        taken = set(self.known.values())
        return [
            joint
            for joint in pool
            if (name := self.names[joint]).side == side
            and not name.helper
            and part in name.meanings
            and joint not in taken
        ]

    def best(self, side: str, part: str, above: int) -> int | None:
        """The best joint for an optional part above another, or None."""
        return max(self.candidates(side, part, above), key=lambda j: self.score(side, part, j), default=None)

    def toes(self, side: str, part: str, foot: int) -> int | None:
        """The joint of all the toes below a foot, or None: five single toes are nobody's "toes"."""
        below = [j for j in self.candidates(side, part) if foot in self.ancestors(j)]
        if not below:
            return None
        top = max(self.score(side, part, j) for j in below)
        best = [j for j in below if self.score(side, part, j) > top - 1e-6]
        return best[0] if len(best) == 1 else None

    def true_wrist(self, elbow: int, hand: int) -> int:
        """The joint of the wrist where the one that is called so lies on the forearm.

        In the CMU clips `LeftHand` rotates the forearm two thirds down and `LeftFingerBase` is the wrist, once the lost
        bone between them is put back (its offset is not zero); their ASF files call the two `lwrist` and `lhand`.
        """
        forearm = self.positions[hand] - self.positions[elbow]
        for child in range(len(self.names)):
            if self.parents[child] != hand or self.names[child].word not in ("fingerbase", "hand"):
                continue
            if self.names[child].word == "hand" and self.names[elbow].word != "radius":
                continue
            rest = self.positions[child] - self.positions[hand]
            length = float(np.linalg.norm(rest))
            if length > 0.3 * np.linalg.norm(forearm) and forearm @ rest > 0.99 * length * np.linalg.norm(forearm):
                return child
        return hand

    # The middle of the body

    def trunk(self, found: Mapping[str, int]) -> dict[str, int]:
        """Hips, head and what lies between them, around limbs that are known."""
        arms = self.meeting(found["left_upper_arm"], found["right_upper_arm"])
        head = self.known.get("head", self.head(arms))
        if head is None:
            return {}
        legs = self.meeting(found["left_upper_leg"], found["right_upper_leg"])
        hips = self.known.get("hips", self.meeting(legs, self.meeting(arms, head)))
        spine = self.between(hips, head)
        roles = {"hips": hips, "head": head}
        fork = self.meeting(arms, head)
        below = [j for j in spine[1:-1] if j in (fork, *self.ancestors(fork))]
        while below and "neck" in self.names[below[-1]].meanings:  # Biped hangs the clavicles on the neck
            below.pop()
        if not any(role in self.known for role in TRUNK):
            roles |= self.trunk_roles([hips, *below])
        above = [j for j in spine[1:-1] if j not in below and j not in self.known.values()]
        if above and "neck" not in self.known and "neck" not in self.absent:
            roles["neck"] = above[0]
        return roles

    def trunk_roles(self, joints: list[int]) -> dict[str, int]:
        """Names for the trunk's joints above the hips: the lowest, the highest, and the one nearest to half way."""
        trunk = joints[1:]
        if len(trunk) < 3:
            chosen = dict(zip(TRUNK, trunk))
        else:
            steps = np.linalg.norm(np.diff(self.positions[joints], axis=0), axis=-1)
            fractions = np.cumsum(steps) / max(float(steps.sum()), 1e-12)
            middle = 1 + int(np.argmin(np.abs(fractions[1:-1] - 0.5)))
            chosen = {"spine": trunk[0], "chest": trunk[middle], "upper_chest": trunk[-1]}
        return {role: joint for role, joint in chosen.items() if role not in self.absent}

    def head(self, arms: int) -> int | None:
        """The head: by its name, else the end of the neck or spine above the arms (Rigify's `spine.006`)."""
        heads = [j for j, name in enumerate(self.names) if "head" in name.meanings and not (name.side or name.helper)]
        named = [j for j in heads if self.meeting(arms, j) != j]
        if named:
            return min(named, key=lambda j: (-self.names[j].meanings["head"], len(self.ancestors(j))))
        top, joint = None, arms
        while True:
            above = [
                j
                for j, name in enumerate(self.names)
                if self.parents[j] == joint
                and not (name.side or name.helper)
                and {"neck", "trunk"} & set(name.meanings)
            ]
            if len(above) != 1:
                return top
            top = joint = above[0]

    # The tree

    def ancestors(self, joint: int) -> list[int]:
        """The joints above a joint, nearest first."""
        above = []
        while (joint := self.parents[joint]) >= 0:
            above.append(joint)
        return above

    def meeting(self, a: int, b: int) -> int:
        """The lowest joint that has both below it (or is one of them)."""
        line = {b, *self.ancestors(b)}
        return next(j for j in (a, *self.ancestors(a)) if j in line)

    def between(self, top: int, bottom: int) -> list[int]:
        """The joints from `top` down to `bottom`, both included; only the two where one is not below the other."""
        line = [bottom, *self.ancestors(bottom)]
        return line[: line.index(top) + 1][::-1] if top in line else [top, bottom]

    def check_tree(self, found: Mapping[str, int]) -> None:
        """Every part hangs below its parent part, the trunk's chain excepted where a caller insists otherwise."""
        for role, joint in found.items():
            if role in ("hips", *TRUNK, "neck") or role.endswith("shoulder"):
                continue
            above = "hips" if role == "head" or role.endswith(("upper_arm", "upper_leg")) else parent_role(role, found)
            if above is not None and found[above] not in self.ancestors(joint):
                raise PosableError(
                    f"{role} ({self.skeleton.names[joint]!r}) does not hang on {above} "
                    f"({self.skeleton.names[found[above]]!r}); say who is who with roles={{...}}"
                )

    # When it cannot

    def lacking(self, limb: Sequence[str], found: Mapping[str, int]) -> list[str]:
        """The parts of a limb that no joint may be; all three where there are joints but no chain of them."""
        if all(role in found for role in limb):
            return []
        nobody = []
        for role in limb:
            side, part = role.split("_", 1)
            if not self.candidates(side, part):
                nobody.append(role)
        return nobody or list(limb)

    def complaint(self, missing: Sequence[str]) -> str:
        """Return a message: which parts are missing, which joints came closest, and what to do about it."""
        lines = []
        for role in missing:
            close = self.closest(role)
            near = f"closest by name: {', '.join(map(repr, close))}" if close else "no name comes close"
            lines.append(f"  {role}: {near}")
        example = f'roles={{"{missing[0]}": "{(self.closest(missing[0]) or self.skeleton.names[:1])[0]}", ...}}'
        return (
            f"cannot tell who is who on this skeleton of {len(self.names)} joints; not found:\n"
            + "\n".join(lines)
            + f"\nSay it: Humanoid(skeleton, {example}). Each arm and leg needs three joints, one below the other, and "
            f"the head hangs above the arms."
        )

    def closest(self, role: str) -> list[str]:
        """Up to three joint names that might be meant: words that allow the part, then similar spelling."""
        side, _, part = role.partition("_") if role.startswith((LEFT, RIGHT)) else ("", "", role)
        free = [j for j in range(len(self.names)) if self.names[j].side in (side, "")]
        sure = [j for j in free if part in self.names[j].meanings]
        sure.sort(key=lambda j: (self.names[j].helper, self.names[j].side != side, -self.names[j].meanings[part]))
        names = [self.skeleton.names[j] for j in sure]
        flat = {self.names[j].word: self.skeleton.names[j] for j in reversed(free)}
        alike = difflib.get_close_matches(part.replace("_", ""), [word for word in flat if word], n=3, cutoff=0.5)
        return list(dict.fromkeys([*names, *(flat[word] for word in alike)]))[:3]
