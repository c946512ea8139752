"""Who is who on a robot: roles, parts and neutral rotations from its tree, its axes and its names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ...compute import PosableError, UnknownNameError
from ...compute.types import Floats, Ints
from ...math import conjugate, from_matrix, multiply, rotate, to_matrix
from ...skeleton import Frames, Mimic, Skeleton
from ..roles import LIMBS, ROLES, TRUNK
from ..roles.names import LEFT, RIGHT
from .extents import Extents, RobotSole
from .limbs import PARALLEL, LimbAxes, Split
from .parts import RobotLimb, RobotParts
from .tree import Pair, RobotTree

UPS = {"y": np.array([0.0, 1.0, 0.0]), "z": np.array([0.0, 0.0, 1.0])}
MAY_LACK = (*TRUNK, "neck", "head", "left_shoulder", "right_shoulder", "left_toes", "right_toes")
STRAIGHT_WITHIN = np.radians(10.0)
HEAD_OF_LEG, HEAD_AND_NECK_OF_LEG = 0.13 / 0.491, 0.182 / 0.491  # of people (Drillis and Contini)
KNEES, FEET, NAMES, FRAME = 2.0, 1.5, 3.0, 1.2  # how much each says about where the front is


def is_robot(skeleton: Skeleton) -> bool:
    """Whether a skeleton is a robot's: read from a robot's file, or all of its joints have one axis."""
    moving = [kind for kind in skeleton.kinds[1:] if kind != "fixed"]
    return skeleton.robot is not None or (len(moving) > 3 and set(moving) <= {"hinge", "slide"})


@dataclass(frozen=True, eq=False)
class Found:
    """The answer of `find_robot`."""

    roles: dict[str, int]
    segments: dict[str, tuple[int, ...]]
    """Role to its joints, where there are several."""
    parts: RobotParts
    spine: tuple[int, ...]
    """The joints that carry pelvis, chest and head."""
    spine_roles: tuple[str, ...]
    arms_at: int
    """Which of `spine` carries the arms."""
    carried: dict[str, tuple[int, ...]]
    """Role to further joints whose frames go with it."""


def find_robot(frames: Frames, given: Mapping[str, str | int | None] | None = None) -> Found:
    """Find who is who on a robot.

    Args:
        frames: its pose in which it stands, usually that of zero joint values.
        given: role to joint, where the caller knows; None for a part that the robot lacks.

    Raises:
        PosableError: when it has no two legs or no two arms; it says what it has instead.
    """
    return _Finder(frames, given).found()


class _Finder:
    def __init__(self, frames: Frames, given: Mapping[str, str | int | None] | None) -> None:
        skeleton = frames.skeleton
        self.skeleton, self.frames = skeleton, frames
        self.known, self.absent = _given(skeleton, given)
        robot = skeleton.robot
        self.up = UPS["y" if robot is None else robot.up]
        self.tree = RobotTree(frames, self.up)
        self.notes: list[str] = []
        self.lacking: list[str] = []
        self.hands: dict[str, tuple[Floats, str]] = {}

    def found(self) -> Found:
        legs, arms = self.pairs()
        self.front = self.facing(legs, arms)
        self.left = np.cross(self.up, self.front)
        self.extents = Extents(self.tree, self.front)
        self.upright = from_matrix(np.array([self.left, self.up, self.front]))
        chains = self.by_side(legs, "leg") | self.by_side(arms, "arm")
        splits = {name: self.split(name, chain) for name, chain in chains.items()}
        hips = self.known.get("hips", self.carrier(chains["left_leg"][0], chains["right_leg"][0]))
        chest = self.carrier(chains["left_arm"][0], chains["right_arm"][0])
        ups, downs = self.tree.between(legs.node, arms.node)
        trunk = (*ups, *downs)
        neck = self.neck(arms.node, chains)
        self.chest_node = arms.node
        soles = self.soles(splits)
        neutral = dict.fromkeys(("hips", *(r for r in ROLES if r in TRUNK)), self.upright)
        self.bends = self.bending(splits)
        limbs = {}
        for name in LIMBS:
            limbs[name] = self.limb(name, splits[name], soles, hips if name.endswith("leg") else chest, neutral)
        roles, segments = self.roles(hips, chest, trunk, downs, neck, splits)
        self.lacks(trunk, neck, splits)
        shared, coupled, others = self.couplings(trunk, neck, limbs)
        top = self.top(neck, splits)
        parts = RobotParts(
            hips=hips,
            chest=chest,
            head=neck[-1] if neck else None,
            trunk=trunk,
            trunk_dofs=self.dofs(trunk),
            trunk_signs=np.concatenate([np.full(len(self.dofs(ups)), -1.0), np.full(len(self.dofs(downs)), 1.0)]),
            neck=neck,
            head_dofs=self.dofs(neck),
            limbs=limbs,
            soles=soles,
            shared=shared,
            coupled=coupled,
            others=others,
            to_neutral={role: neutral.get(role, self.upright) for role in roles},
            top=top - float(self.tree.heights[hips]),
            lacking=tuple(self.lacking),
            notes=tuple(self.notes),
        )
        trunk_role = next((role for role in TRUNK[::-1] if role in roles), "")
        spine = {"hips": hips} | ({trunk_role: chest} if trunk_role else {}) | ({"head": neck[-1]} if neck else {})
        carried = {"hips": (hips, *ups)} | ({trunk_role: (*downs, chest)} if trunk_role else {})
        if neck:
            carried["head"] = (neck[-1],)
        return Found(roles, segments, parts, tuple(spine.values()), tuple(spine), 1 if trunk_role else 0, carried)

    # Chains

    def pairs(self) -> tuple[Pair, Pair]:
        """Legs and arms: those the caller says, else those of the tree."""
        said = {name: self.said_chain(name) for name in LIMBS}
        legs, arms = (self.said_pair(said[f"left_{kind}"], said[f"right_{kind}"]) for kind in ("leg", "arm"))
        if legs is None or arms is None:
            of_tree = self.tree.legs_and_arms()
            legs, arms = legs or of_tree[0], arms or of_tree[1]
        return legs, arms

    def said_chain(self, limb: str) -> tuple[int, ...] | None:
        """The chain of a limb whose upper part the caller says."""
        parts = [self.known[role] for role in LIMBS[limb] if role in self.known]
        if LIMBS[limb][0] not in self.known:
            return None
        side = limb.partition("_")[0]
        girdle, toes = self.known.get(f"{side}_shoulder"), self.known.get(f"{side}_toes")
        first = girdle if limb.endswith("arm") and girdle is not None else parts[0]
        if limb.endswith("leg") and toes is not None:
            parts.append(toes)
        for above, below in zip([first, *parts], parts):
            if above not in self.tree.line(below):
                names = self.skeleton.names
                raise PosableError(f"{names[below]!r} does not hang on {names[above]!r}; say the {limb} in another way")
        return self.tree.chain(first, parts)

    def said_pair(self, left: tuple[int, ...] | None, right: tuple[int, ...] | None) -> Pair | None:
        if left is None or right is None:
            return None
        above = self.tree.line(right[0])
        node = next(j for j in self.tree.line(left[0]) if j in above)
        left, right = self.with_girdle(node, left), self.with_girdle(node, right)
        apart = np.mean(self.tree.positions[list(left)], axis=0) - np.mean(self.tree.positions[list(right)], axis=0)
        apart = apart - (apart @ self.up) * self.up
        if np.linalg.norm(apart) < 1e-9:
            raise PosableError("the left and right joints of this robot coincide; it has no front")
        return Pair(node, (left, right), apart / np.linalg.norm(apart), 0.0, 0.0)

    def with_girdle(self, node: int, chain: tuple[int, ...]) -> tuple[int, ...]:
        """A chain that the caller says, after the joints between the link that carries it and its first one."""
        line = self.tree.line(chain[0])
        return (*line[1 : line.index(node)][::-1], *chain)

    def facing(self, legs: Pair, arms: Pair) -> Floats:
        """(3,) where the robot faces: across its legs, to the side that names, knees, feet and its frame agree on."""
        across = _snapped(legs.across)
        front = np.cross(across, self.up)  # if the first chain of the legs is the left one
        if any(role in self.known for role in (*LIMBS["left_leg"], *LIMBS["left_arm"])):
            said = legs if LIMBS["left_leg"][0] in self.known else arms
            return front if said.across @ across > 0 else -front
        arms_sign = 1.0 if arms.across @ across > 0 else -1.0
        names = self.tree.sides_by_name(legs) + arms_sign * self.tree.sides_by_name(arms)
        frame = _front_of(self.skeleton, self.frames, self.up)
        votes = NAMES * 0.5 * names + FRAME * float(np.sign(round(float(frame @ front), 3)))
        extents = Extents(self.tree, front)
        for chain in legs.chains:
            split = LimbAxes(chain, *self.lines(chain), self.foot_middle(extents, chain), leg=True).split()
            bend = self.flexion(split)
            if bend is not None:
                votes -= KNEES * 0.5 * float(np.sign(self.bent_to(split, bend) @ front))
            ahead = float((self.foot_middle(extents, chain) - split.centres[2]) @ front)
            if abs(ahead) > 0.02 * _long(split):
                votes += FEET * 0.5 * float(np.sign(ahead))
        sure = front if votes >= 0 else -front
        if abs(names) > 0.5 and names * votes < 0:
            self.notes.append(
                "left and right are where the robot's knees and feet say, against the names of its joints"
            )
        return sure

    def foot_middle(self, extents: Extents, chain: tuple[int, ...]) -> Floats:
        """(3,) [m] the middle of a sole in the world."""
        long = float(np.linalg.norm(self.tree.positions[chain[-1]] - self.tree.positions[chain[0]]))
        sole = extents.sole(chain[-1], long)
        if sole.source == "estimate":
            return np.asarray(self.tree.positions[chain[-1]] - 0.08 * long * self.up)
        return np.asarray(self.frames.point(chain[-1], sole.middle))

    def by_side(self, pair: Pair, kind: str) -> dict[str, tuple[int, ...]]:
        first, second = (LEFT, RIGHT) if pair.across @ self.left > 0 else (RIGHT, LEFT)
        return {f"{first}_{kind}": pair.chains[0], f"{second}_{kind}": pair.chains[1]}

    def carrier(self, a: int, b: int) -> int:
        """The joint of the rig that carries two others: the lowest above both."""
        above = self.skeleton.path(a)[:-1]
        return next(j for j in reversed(self.skeleton.path(b)[:-1]) if j in above)

    def lines(self, chain: tuple[int, ...]) -> tuple[Floats, Floats]:
        """Points (K, 3) [m] and directions (K, 3) of axes in the world; a ball's is any across what follows."""
        return self.tree.positions[list(chain)], self.tree.axes[list(chain)]

    def neck(self, node: int, chains: Mapping[str, tuple[int, ...]]) -> tuple[int, ...]:
        """The joints of neck and head."""
        if "head" in self.absent:
            return ()
        if "head" in self.known:
            line = self.tree.line(self.known["head"])
            if node not in line:
                name = self.skeleton.names[self.known["head"]]
                raise PosableError(f"the head's joint {name!r} does not hang on what carries the arms")
            above = line[: line.index(node)][::-1]
            return (*above[:-1], *self.tree.chain(above[-1])) if above else ()
        shoulders = [float(self.tree.heights[chains[f"{side}_arm"][0]]) for side in (LEFT, RIGHT)]
        taken = {j: 0 for chain in chains.values() for j in chain}
        return self.tree.head(node, float(np.mean(shoulders)), self.left, taken)

    # Limbs

    def split(self, name: str, chain: tuple[int, ...]) -> Split:
        leg = name.endswith("leg")
        if leg:
            tip = self.foot_middle(self.extents, chain)
        else:
            tip, source = self.hands[name] = self.extents.hand_tip(chain)
            if source == "estimate":
                self.notes.append(f"how far the {name} reaches is estimated: its file shows no hand")
        upper, lower, last = LIMBS[name]
        first, mid, end = (
            chain.index(self.known[role]) if self.known.get(role) in chain else None for role in LIMBS[name]
        )
        for above, below, role in ((0, mid, lower), (first, mid, lower), (0, end, last), (mid, end, last)):
            if above is not None and below is not None and below <= above:
                raise PosableError(f"the {role} is said to be joint {below + 1} of the {name}; say its {upper} as well")
        split = LimbAxes(chain, *self.lines(chain), tip, leg).split(first, mid, end)
        if not leg and self.hands[name][1] == "estimate":
            tip = self.extents.estimated_tip(split)
            self.hands[name] = tip, "estimate"
            split = LimbAxes(chain, *self.lines(chain), tip, leg).split(first, mid, end)
        return split

    def bending(self, splits: Mapping[str, Split]) -> dict[str, float]:
        """Which way each knee and elbow bends as a person's, 1 or -1 of its value.

        Of elbows as their limits say, where both sides agree. Knees bend backwards: where a leg's bends forwards, as a
        bird's, its thigh faces forwards all the same.
        """
        bends: dict[str, float] = {}
        mirror = np.eye(3) - 2.0 * np.outer(self.left, self.left)
        for kind in ("leg", "arm"):
            names = (f"{LEFT}_{kind}", f"{RIGHT}_{kind}")
            found = [self.flexion(splits[name]) if kind == "arm" else None for name in names]
            to = [self.bent_to(splits[name], bend or 0.0) for name, bend in zip(names, found, strict=True)]
            if None in found or to[0] @ mirror @ to[1] <= 0:
                found = [self.natural(name, splits[name], self.tree.axes[splits[name].mid[0]]) for name in names]
            bends |= {name: bend or 1.0 for name, bend in zip(names, found, strict=True)}
        return bends

    def soles(self, splits: Mapping[str, Split]) -> dict[str, RobotSole]:
        """Both soles; where the file shows only one of them, the other is its mirror image."""
        feet = {side: (splits[f"{side}_leg"].end or splits[f"{side}_leg"].mid)[-1] for side in (LEFT, RIGHT)}
        soles = {side: self.extents.sole(foot, _long(splits[f"{side}_leg"])) for side, foot in feet.items()}
        for side, other in ((LEFT, RIGHT), (RIGHT, LEFT)):
            if soles[side].source == "estimate" != soles[other].source:
                soles[side] = self.extents.mirrored(soles[other], feet[side], self.left)
                self.notes.append(
                    f"the sole of the {side}_foot is taken from the other foot: its file does not show it"
                )
        return {f"{side}_foot": sole for side, sole in soles.items()}

    def flexion(self, split: Split) -> float | None:
        """Which way the knee or elbow bends by its limits: 1 or -1 of its value; None where they do not say."""
        joint = split.mid[0]
        low, high = self.range(joint)
        straight = self.straight(split)
        middle = 0.5 * (low + high) - straight if np.isfinite(low + high) else -straight
        if abs(middle) > np.radians(5.0):
            return float(np.sign(middle))
        return None

    def straight(self, split: Split) -> float:
        """The value of the knee's or elbow's first joint at which both bones are in line [rad]."""
        joint = split.mid[0]
        axis = self.tree.axes[joint]
        upper, lower = (_across(b, axis) for b in np.diff(split.centres, axis=0))
        now = float(np.arctan2(np.cross(upper, lower) @ axis, upper @ lower))
        at = self.value(joint)
        low, high = self.range(joint)
        straight = at - now
        if np.isfinite(low + high):  # of the turns that mean the same the one nearest to what the motor can do
            straight += 2 * np.pi * round((0.5 * (low + high) - straight) / (2 * np.pi))
        return straight

    def value(self, joint: int) -> float:
        """The value of a one-axis joint in the standing pose [rad]."""
        rest = self.skeleton.forward(self.skeleton.rest)
        if rest.orientations is self.frames.orientations or np.array_equal(rest.orientations, self.frames.orientations):
            return 0.0
        parent = int(self.skeleton.parents[joint])
        local = multiply(conjugate(self.frames.orientations[parent]), self.frames.orientations[joint])
        rotation = multiply(conjugate(self.skeleton.rest_rotations[joint]), local)
        return float(2.0 * np.arctan2(rotation[1:] @ self.skeleton.axes[joint, 0], rotation[0]))

    def range(self, joint: int) -> tuple[float, float]:
        robot, dofs = self.skeleton.robot, self.skeleton.dofs.of(joint)
        if robot is None or dofs.stop == dofs.start:
            return -np.inf, np.inf
        return float(robot.lower[dofs.start]), float(robot.upper[dofs.start])

    def bent_to(self, split: Split, bend: float) -> Floats:
        """(3,) where the end of the lower bone moves when the limb hangs and bends."""
        axis = bend * self.tree.axes[split.mid[0]]
        upper = _across(split.centres[1] - split.centres[0], axis)
        return np.asarray(np.cross(axis, upper))

    def limb(
        self,
        name: str,
        split: Split,
        soles: Mapping[str, RobotSole],
        body_carrier: int,
        neutral: dict[str, Floats],
    ) -> RobotLimb:
        """The record of a limb; its neutral rotations go into `neutral`."""
        leg = name.endswith("leg")
        side = name.partition("_")[0]
        base, mid, end = split.centres
        axis = self.tree.axes[split.mid[0]]
        bend = self.bends[name]
        across = (bend if leg else -bend) * axis  # canonical +X: knees bend about it, elbows against it
        frames_at = {"upper": _frame(across, base - mid), "lower": _frame(across, mid - end)}
        upper_role, lower_role, end_role = LIMBS[name]
        neutral[upper_role], neutral[lower_role] = (conjugate(frames_at[k]) for k in ("upper", "lower"))
        if leg:
            sole = soles[f"{side}_foot"]
            q = self.frames.orientations[sole.joint]
            normal, forward = rotate(q, sole.normal), rotate(q, sole.forward)
            neutral[end_role] = from_matrix(np.array([np.cross(normal, forward), normal, forward]))
            neutral[f"{side}_toes"] = neutral[end_role]
            tip_world = self.frames.point(sole.joint, sole.middle)
            if sole.source == "estimate":
                self.notes.append(f"the sole of the {side}_foot is estimated from the leg's length")
        else:
            tip_world, _ = self.hands[name]
            neutral[end_role] = self.hand_neutral(frames_at["lower"], tip_world - end)
            neutral[f"{side}_shoulder"] = self.upright
        carrier = split.girdle[-1] if split.girdle else body_carrier
        upper, lower = split.base[-1], split.mid[-1]
        last = split.end[-1] if split.end else lower
        bone = _unit(end - mid)
        roll = tuple(j for j in split.end if not leg and abs(self.tree.axes[j] @ bone) > PARALLEL)
        joints = (*split.girdle, *split.base, *split.mid, *split.end, *split.toes)
        lengths = tuple(float(np.linalg.norm(v)) for v in np.diff(split.centres, axis=0))
        reach = float(np.linalg.norm(tip_world - end))
        if leg:
            reach = abs(float((tip_world - end) @ self.up))
        return RobotLimb(
            name=name,
            joints=joints,
            dofs=self.dofs(joints),
            girdle=split.girdle,
            base=split.base,
            mid=split.mid,
            end=split.end,
            toes=split.toes,
            roll=roll,
            carrier=carrier,
            upper=upper,
            lower=lower,
            last=last,
            centres=np.array([self.local(carrier, base), self.local(upper, mid), self.local(lower, end)]),
            tip=self.local(last, tip_world),
            base_in_upper=self.local(upper, base),
            end_in_last=self.local(last, end),
            lengths=(lengths[0], lengths[1]),
            reach=reach,
            flexion=bend,
            straight=self.straight(split),
        )

    def natural(self, name: str, split: Split, axis: Floats) -> float:
        """Which way a knee or elbow bends whose limits allow both: backwards; forwards, else inwards."""
        upper = _across(split.centres[1] - split.centres[0], axis)
        hang = _rotation_to(upper, -self.up)
        to = np.cross(rotate(hang, axis), -self.up)
        inwards = -self.left if name.startswith(LEFT) else self.left
        towards = -self.front if name.endswith("leg") else self.front + 0.5 * inwards
        return 1.0 if to @ towards >= 0 else -1.0

    def hand_neutral(self, forearm: Floats, away: Floats) -> Floats:
        """(4,) of a hand that goes with its forearm, pointed down where it is bent by more than an eighth turn."""
        direction = rotate(conjugate(forearm), _unit(away))
        down = np.array([0.0, -1.0, 0.0])
        if direction @ down > np.cos(np.radians(45.0)) or np.linalg.norm(away) < 1e-6:
            return conjugate(forearm)
        return multiply(_rotation_to(direction, down), conjugate(forearm))

    def local(self, joint: int, point: Floats) -> Floats:
        """(3,) [m] a point of the world in a joint's frame."""
        return rotate(conjugate(self.frames.orientations[joint]), point - self.frames.positions[joint])

    # Roles and what is lacking

    def roles(
        self,
        hips: int,
        chest: int,
        trunk: tuple[int, ...],
        downs: list[int],
        neck: tuple[int, ...],
        splits: Mapping[str, Split],
    ) -> tuple[dict[str, int], dict[str, tuple[int, ...]]]:
        """Roles and segments, in the order of `ROLES`."""
        chains: dict[str, tuple[int, ...]] = {"hips": (hips,)}
        if trunk:
            role = next((r for r in ("upper_chest", "chest", "spine") if r in self.known), "chest")
            chains[role] = tuple(downs) if downs and downs[-1] in self.skeleton.path(chest) else (chest,)
        if neck:
            chains["head"] = neck
            if "neck" in self.known and self.known["neck"] in neck[:-1]:
                at = neck.index(self.known["head"]) if self.known.get("head") in neck[1:] else len(neck) - 1
                chains["neck"], chains["head"] = neck[:at], neck[at:]
        for name, split in splits.items():
            side = name.partition("_")[0]
            upper, lower, end = LIMBS[name]
            chains |= {upper: split.base, lower: split.mid}
            chains |= {role: joints for role, joints in ((end, split.end), (f"{side}_toes", split.toes)) if joints}
            if split.girdle:
                chains[f"{side}_shoulder"] = split.girdle
        ordered = {role: chains[role] for role in ROLES if role in chains}
        segments = {role: chain for role, chain in ordered.items() if len(chain) > 1}
        return {role: chain[0] for role, chain in ordered.items()}, segments

    def lacks(self, trunk: tuple[int, ...], neck: tuple[int, ...], splits: Mapping[str, Split]) -> None:
        """Say what a person has and this robot has not."""
        if not trunk:
            self.lacking.append("no waist: the chest goes with the pelvis")
        elif len(trunk) < 3:
            self.lacking.append(f"a waist of {len(trunk)} {_joints(len(trunk))} ({self.tree.listed(trunk)})")
        if not neck:
            self.lacking.append("no head joint: the head goes with the chest")
        elif len(neck) < 3:
            self.lacking.append(f"a neck of {len(neck)} {_joints(len(neck))} ({self.tree.listed(neck)})")
        for kind, base, mid, end in (("arm", "shoulder", "elbow", "wrist"), ("leg", "hip", "knee", "ankle")):
            left, right = splits[f"left_{kind}"], splits[f"right_{kind}"]
            same = [len(c) for c in (left.base, left.mid, left.end)] == [
                len(c) for c in (right.base, right.mid, right.end)
            ]
            for side, split in (("", left),) if same else (("left ", left), ("right ", right)):
                many = "s" if same else ""
                if len(split.base) < 3:
                    self.lacking.append(f"{side}{base}{many} of {len(split.base)} {_joints(len(split.base))}")
                if len(split.mid) > 1:
                    self.lacking.append(f"{side}{mid}{many} of {len(split.mid)} joints")
                if kind == "arm" and not split.end:
                    self.lacking.append(f"no {side}{end}{many}: hands go with the forearms")
                elif kind == "arm" and len(split.end) < 3:
                    count = len(split.end)
                    what = ": it turns the forearm" if count == 1 and self.only_rolls(split) else ""
                    self.lacking.append(f"{side}{end}{many} of {count} {_joints(count)}{what}")
                elif kind == "leg" and len(split.end) < 2:
                    self.lacking.append(f"{side}{end}{many} without roll: feet do not tilt sideways")

    def only_rolls(self, split: Split) -> bool:
        bone = _unit(split.centres[2] - split.centres[1])
        return all(abs(self.tree.axes[j] @ bone) > PARALLEL for j in split.end)

    def couplings(
        self, trunk: tuple[int, ...], neck: tuple[int, ...], limbs: Mapping[str, RobotLimb]
    ) -> tuple[tuple[Mimic, ...], tuple[Mimic, ...], Ints]:
        """(motors shared by two parts, joints that follow within a part, DoF of no part)."""
        part_of = {int(d): name for name, limb in limbs.items() for d in limb.dofs}
        part_of |= {int(d): "trunk" for d in self.dofs(trunk)} | {int(d): "head" for d in self.dofs(neck)}
        robot = self.skeleton.robot
        mimics = [m for m in (() if robot is None else robot.mimics) if m.dof in part_of and m.leader in part_of]
        shared = tuple(m for m in mimics if part_of[m.dof] != part_of[m.leader])
        coupled = tuple(m for m in mimics if part_of[m.dof] == part_of[m.leader])
        if shared:
            names = [self.skeleton.names[self.skeleton.dofs.joint[d]] for d in (shared[0].leader, shared[0].dof)]
            self.lacking.append(f"one motor moves both {names[0]} and {names[1]}")
        hidden = {int(d) for d in range(len(self.skeleton.dofs)) if self.skeleton.dofs.joint[d] == 0}
        others = [d for d in range(len(self.skeleton.dofs)) if d not in part_of and d not in hidden]
        return shared, coupled, np.array(others, dtype=np.int64)

    def dofs(self, joints: tuple[int, ...] | list[int]) -> Ints:
        """(K,) the DoF of joints, in order."""
        found = [d for j in joints for d in range(*self.skeleton.dofs.of(j).indices(len(self.skeleton.dofs)))]
        return np.array(found, dtype=np.int64)

    def top(self, neck: tuple[int, ...], splits: Mapping[str, Split]) -> float:
        """How high the robot's head ends [m]; estimated as a person's where the file shows none."""
        shoulder = max(float(split.centres[0] @ self.up) for name, split in splits.items() if name.endswith("arm"))
        head = max([float(self.tree.heights[j]) for j in neck], default=shoulder)
        top = self.extents.top([*self.extents.rigid(neck[-1] if neck else self.chest_node)])
        if top > max(head, shoulder):
            return top
        leg = max(_long(split) for name, split in splits.items() if name.endswith("leg"))
        self.notes.append("how high its head ends is estimated: its file shows no head")
        return head + (HEAD_OF_LEG if neck else HEAD_AND_NECK_OF_LEG) * leg


def _given(skeleton: Skeleton, given: Mapping[str, str | int | None] | None) -> tuple[dict[str, int], frozenset[str]]:
    known: dict[str, int] = {}
    for role, joint in (given or {}).items():
        if role not in ROLES:
            raise UnknownNameError("role", role, ROLES)
        if joint is not None:
            known[role] = skeleton.index(joint)
        elif role not in MAY_LACK:
            raise PosableError(f"a body needs {role!r}; only {', '.join(MAY_LACK)} may be None")
    return known, frozenset(role for role, joint in (given or {}).items() if joint is None)


def _front_of(skeleton: Skeleton, frames: Frames, up: Floats) -> Floats:
    """(3,) the x axis of the robot's own frame in the world, where that is level; zeros where it is not."""
    x = np.asarray(to_matrix(frames.orientations[0]))[:, 0]
    return x if abs(float(x @ up)) < 0.5 else np.zeros(3)


def _frame(across: Floats, up_bone: Floats) -> Floats:
    """(4,) canonical axes in the world of a bone: +X `across` a hinge, +Y from its end to its beginning."""
    x = across / np.linalg.norm(across)
    y = _unit(_across(up_bone, x))
    return from_matrix(np.stack([x, y, np.cross(x, y)], axis=-1))


def _snapped(direction: Floats) -> Floats:
    axis = int(np.argmax(np.abs(direction)))
    if abs(direction[axis]) < np.cos(np.radians(15.0)):
        return direction
    snapped = np.zeros(3)
    snapped[axis] = np.sign(direction[axis])
    return snapped


def _rotation_to(a: Floats, b: Floats) -> Floats:
    from ...math import between

    return between(a, b)


def _across(v: Floats, axis: Floats) -> Floats:
    return np.asarray(v - (v @ axis) * axis)


def _unit(v: Floats) -> Floats:
    return np.asarray(v / max(float(np.linalg.norm(v)), 1e-12))


def _long(split: Split) -> float:
    return float(np.linalg.norm(np.diff(split.centres, axis=0), axis=-1).sum())


def _joints(count: int) -> str:
    return "joint" if count == 1 else "joints"
