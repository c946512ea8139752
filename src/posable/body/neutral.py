"""The neutral pose of a rig: standing, arms hanging, palms in, facing +Z, found from a rest pose that is another one.

A rig rests in a T-, an A- or a standing pose, facing anywhere, sometimes along another axis than +Y.
`neutral_rotations` gives for each part the constant rotation from its orientation at rest to that in H-Anim's neutral
pose:

- the whole body is rotated upright and forward (`upright_rotation`);
- hips, spine, neck, head and clavicles stay as they then are: the spine's natural curve is part of a body, so the
  neutral spine is the rest spine. The head looks forward because it does so at rest;
- upper arm, forearm, thigh and shank rotate by the smallest rotation that hangs them straight down (-Y), then about
  themselves until their hinge bends the right way: elbows forward (a rotation about -X), knees backward (about +X).
  The hinge is the joint's own axis where the skeleton declares one, else the plane in which the limb is bent at rest,
  as far as it is bent (a straight limb does not show it);
- the hand hangs down as well, its thumb's side to the front where there are fingers to show it, else with the forearm;
- the foot keeps its slope (rigs stand on their soles) and points forward. Where rotating it with its leg makes it point
  straight forward, the rig was built straight and its legs were spread afterwards (CMU), and it rotates with the leg.

The CMU clips rest in a T-pose with straight elbows whose hinges are not in the file: they are rotated by 30
degrees (`specs/reconstruct.md`, section 2: the ASF files' axis "180 -30 -90"). With them, elbows rotate about -X and
knees about +X, other components below 3e-6.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..compute import PosableError
from ..compute.types import Floats
from ..math import axis_angle, between, from_matrix, multiply, rotate
from ..skeleton import Frames
from .roles.fingers import body_children, first_joints
from .roles.names import JointName, read_name

DOWN, UP, AHEAD = np.array([0.0, -1.0, 0.0]), np.array([0.0, 1.0, 0.0]), np.array([0.0, 0.0, 1.0])
IDENTITY = np.array([1.0, 0.0, 0.0, 0.0])
CMU_HINGE = np.radians(30.0)  # the ASF axis "180 -30 -90" of CMU's arms
THUMB_LEAN = np.radians(22.0)  # into the palm, half way between flat and relaxed hands
ARM_BEND, LEG_BEND = np.radians((5.0, 20.0)), np.radians((8.0, 25.0))  # from no to full trust in the plane of a bend


def neutral_rotations(frames: Frames, roles: Mapping[str, int]) -> dict[str, Floats]:
    """Role to the rotation (4,) that takes its world orientation in `frames` to the neutral pose's.

    Args:
        frames: one pose in which the body stands (T-, A- or any upright pose), usually the skeleton's rest pose.
        roles: role to joint index.
    """
    rest = _Standing(frames, roles)
    rest.check_sides()
    rotations = dict.fromkeys(roles, rest.rotation)
    for side in ("left", "right"):
        rotations |= rest.arm(side) | rest.leg(side)
    return rotations


def palm_headings(frames: Frames, roles: Mapping[str, int]) -> dict[str, float]:
    """Where the thumb's side of each hand points in the neutral pose, by role: an angle [rad] about +Y from +Z.

    0 where the hand's frame was found from its fingers, or follows a forearm that shows nothing else. CMU's hands hang
    with their forearms, whose hinge lies 30 degrees off the palm: there the thumb tells, and the axes of the files'
    hands ("0 90 90" against "180 -30 -90") say the same.

    Args:
        frames: the pose that `neutral_rotations` was given.
        roles: role to joint index.
    """
    rest = _Standing(frames, roles)
    return {f"{side}_hand": rest.palm(side) for side in ("left", "right")}


def upright_rotation(positions: Floats, roles: Mapping[str, int]) -> Floats:
    """The rotation (4,) that makes a body with its joints at `positions` (J, 3) stand along +Y and face +Z.

    Axes that nearly are the world's are taken for the world's: small asymmetries of a captured person do not rotate it.
    """

    def at(role: str) -> Floats:
        return np.asarray(positions[roles[role]])

    def sides(*parts: str) -> tuple[Floats, Floats]:
        left, right = ([at(f"{side}_{part}") for part in parts] for side in ("left", "right"))
        return np.mean(left, axis=0), np.mean(right, axis=0)

    hips, feet = np.mean(sides("upper_leg"), axis=0), np.mean(sides("foot"), axis=0)
    trunk, legs = np.mean([*sides("upper_arm"), at("head")], axis=0) - hips, feet - hips
    if trunk @ legs > -0.5 * np.linalg.norm(trunk) * np.linalg.norm(legs):
        angle = np.degrees(np.arccos(np.clip(trunk @ legs / (np.linalg.norm(trunk) * np.linalg.norm(legs)), -1, 1)))
        raise PosableError(
            f"this skeleton does not stand in its rest pose: {angle:.0f} degrees between trunk and legs, expected "
            "above 120; give Humanoid a pose in which it stands, as standing=pose"
        )
    up = _snapped(trunk / np.linalg.norm(trunk) - legs / np.linalg.norm(legs), 30.0)
    left, right = sides("upper_arm", "upper_leg")
    across = left - right
    across = across - (across @ up) * up
    if np.linalg.norm(across) < 1e-9:
        raise PosableError("the left and right joints of this skeleton coincide; it has no front")
    x = _snapped(across, 15.0)
    x = x - (x @ up) * up
    x /= np.linalg.norm(x)
    return from_matrix(np.array([x, up, np.cross(x, up)]))  # rows: what becomes +X, +Y and +Z


def _snapped(direction: Floats, within: float) -> Floats:
    """The world axis within so many degrees of a direction, else its unit vector."""
    unit = direction / np.linalg.norm(direction)
    axis = int(np.argmax(np.abs(unit)))
    if abs(unit[axis]) < np.cos(np.radians(within)):
        return np.asarray(unit)
    snapped = np.zeros(3)
    snapped[axis] = np.sign(unit[axis])
    return snapped


class _Standing:
    """A standing pose, rotated upright, and its limbs, hinges, palms and feet."""

    def __init__(self, frames: Frames, roles: Mapping[str, int]) -> None:
        self.skeleton = frames.skeleton
        self.roles = roles
        self.rotation = upright_rotation(frames.positions, roles)
        self.positions = rotate(self.rotation, frames.positions)
        self.ends = rotate(self.rotation, frames.ends)
        self.orientations = multiply(self.rotation, frames.orientations)
        self.names: list[JointName] = [read_name(name) for name in self.skeleton.names]

    def check_sides(self) -> None:
        """Toes that point backwards mean that left and right are exchanged: the front was found from them."""
        feet = [(f"{side}_foot", f"{side}_toes") for side in ("left", "right") if f"{side}_toes" in self.roles]
        directions = [self.positions[self.roles[toes]] - self.positions[self.roles[foot]] for foot, toes in feet]
        if directions and all(direction[2] < -0.5 * np.linalg.norm(direction) for direction in directions):
            names = [self.skeleton.names[self.roles[toes]] for _, toes in feet]
            raise PosableError(
                f"the toes ({', '.join(names)}) point backwards when the left is on the left: the rig's names seem to "
                "have left and right exchanged; say who is who with roles={...}"
            )

    # Limbs

    def arm(self, side: str) -> dict[str, Floats]:
        base, mid, end = (self.roles[f"{side}_{part}"] for part in ("upper_arm", "lower_arm", "hand"))
        cmu = self.cmu_heading(base, mid, end)
        upper, lower = self.limb(base, mid, end, forward=1.0, trust=ARM_BEND, hinge=cmu)
        hand = lower
        if cmu is None and (direction := self.hand_direction(end)) is not None:
            hand = multiply(between(rotate(lower, direction), DOWN), lower)
        if cmu is None:
            hand = multiply(_about_up(-self.thumb_heading(end, hand)), hand)
        rotations = {"upper_arm": upper, "lower_arm": lower, "hand": hand}
        return {f"{side}_{part}": multiply(rotation, self.rotation) for part, rotation in rotations.items()}

    def palm(self, side: str) -> float:
        """Where the thumb's side of a hand that hangs with its forearm points, see `palm_headings`."""
        base, mid, end = (self.roles[f"{side}_{part}"] for part in ("upper_arm", "lower_arm", "hand"))
        cmu = self.cmu_heading(base, mid, end)
        if cmu is None:
            return 0.0
        thumbs = [joint for joint, rank in self.fingers(end).items() if rank == 0]
        if not thumbs:
            return -cmu
        _, lower = self.limb(base, mid, end, forward=1.0, trust=ARM_BEND, hinge=cmu)
        return _heading(rotate(lower, self.tip(thumbs[0]) - self.positions[end]))

    def leg(self, side: str) -> dict[str, Floats]:
        base, mid, end = (self.roles[f"{side}_{part}"] for part in ("upper_leg", "lower_leg", "foot"))
        upper, lower = self.limb(base, mid, end, forward=-1.0, trust=LEG_BEND)
        foot = self.foot(end, self.roles.get(f"{side}_toes"), lower)
        rotations = {"upper_leg": upper, "lower_leg": lower, "foot": foot}
        if f"{side}_toes" in self.roles:
            rotations["toes"] = foot
        return {f"{side}_{part}": multiply(rotation, self.rotation) for part, rotation in rotations.items()}

    def limb(
        self, base: int, mid: int, end: int, forward: float, trust: Floats, hinge: float | None = None
    ) -> tuple[Floats, Floats]:
        """Rotations of the upper and the lower bone; `forward` is +1 for elbows, -1 for knees; `hinge` if known."""
        upper, lower = self.positions[mid] - self.positions[base], self.positions[end] - self.positions[mid]
        hang = between(upper, DOWN)
        if hinge is None:
            hinge = self.hinge_heading(mid, hang)
        if hinge is None:
            hinge = _bend_heading(rotate(hang, lower), forward, trust)
        hang = multiply(_about_up(-hinge), hang)
        return hang, multiply(between(rotate(hang, lower), DOWN), hang)

    def hinge_heading(self, mid: int, hang: Floats) -> float | None:
        """Where a declared hinge bends to, as an angle about +Y from +Z, in the hanging limb; None for a ball."""
        if self.skeleton.kinds[mid] not in ("hinge", "hinge_twist"):
            return None
        x, _, z = rotate(hang, rotate(self.orientations[mid], self.skeleton.axes[mid, 0]))
        if np.hypot(x, z) < 0.1:
            return None  # an axis along the bone is a twist, not a hinge
        return float(np.arctan2(-z, x) if x > 0 else np.arctan2(z, -x))

    def cmu_heading(self, base: int, mid: int, end: int) -> float | None:
        """The hinge of a CMU arm: a T-pose along X, straight, of a rig with hip joints between hips and legs."""
        if not any("hipjoint" in name.lower() for name in self.skeleton.names):
            return None
        arm, upper = self.positions[end] - self.positions[base], self.positions[mid] - self.positions[base]
        straight = min(abs(upper[0]) / np.linalg.norm(upper), abs(arm[0]) / np.linalg.norm(arm))
        return float(np.sign(arm[0]) * CMU_HINGE) if straight > np.cos(np.radians(0.5)) else None

    # Hands

    def hand_direction(self, hand: int) -> Floats | None:
        """From the wrist to the middle of the knuckles: the middle finger, else all fingers, else what hangs there."""
        fingers = self.fingers(hand)
        points = [self.positions[j] for j, rank in fingers.items() if rank == 2]
        points = points or [self.positions[j] for j, rank in fingers.items() if rank > 0]
        points = points or [self.knuckle(hand, j) for j in self.body_children(hand) if fingers.get(j) != 0]
        points = points or [self.ends[e] for e in np.flatnonzero(self.skeleton.end_parents == hand)]
        return self.away(hand, points)

    def knuckle(self, hand: int, joint: int) -> Floats:
        """The first position down a chain that is a palm's breadth away from the wrist, else its last one."""
        forearm = np.linalg.norm(self.positions[hand] - self.positions[self.skeleton.parents[hand]])
        while np.linalg.norm(self.positions[joint] - self.positions[hand]) < 0.25 * forearm:
            children = self.body_children(joint)
            if not children:
                return self.tip(joint)
            joint = children[0]
        return np.asarray(self.positions[joint])

    def thumb_heading(self, hand: int, rotation: Floats) -> float:
        """Where the thumb's side of a hand hanging down by `rotation` points, as an angle about +Y from +Z.

        It is read from the knuckles of the first and the last finger. A thumb alone leans into the palm by 0 (hands
        drawn flat) to 45 degrees (relaxed ones): it decides only which quarter turn is nearest. A hand without fingers
        follows its forearm.
        """
        fingers = {rank: j for j, rank in self.fingers(hand).items()}
        knuckles = sorted(rank for rank in fingers if rank > 0)
        if len(knuckles) >= 2:
            across = self.positions[fingers[knuckles[0]]] - self.positions[fingers[knuckles[-1]]]
            return _heading(rotate(rotation, across))
        if 0 not in fingers:
            return 0.0
        thumb = _heading(rotate(rotation, self.tip(fingers[0]) - self.positions[hand]))
        inwards = -np.sign(self.positions[hand, 0])  # the left palm faces -X in the neutral pose
        return float(np.round((thumb - inwards * THUMB_LEAN) / (np.pi / 2)) * (np.pi / 2))

    def fingers(self, hand: int) -> dict[int, int]:
        """The first joint of each finger with its rank, 0 for the thumb to 4 for the little finger."""
        return first_joints(self.skeleton, self.names, hand)

    # Feet

    def foot(self, ankle: int, toes: int | None, lower: Floats) -> Floats:
        """The rotation of a foot: forward, its slope preserved; with its leg where that makes it point forward."""
        points = [self.positions[toes]] if toes is not None else [self.positions[j] for j in self.body_children(ankle)]
        points = points or [self.ends[e] for e in np.flatnonzero(self.skeleton.end_parents == ankle)]
        direction = self.away(ankle, points)
        if direction is None:
            return IDENTITY
        with_leg = rotate(lower, direction)
        if abs(with_leg[0]) < 1e-3 * np.linalg.norm(direction) and with_leg[2] > 0:
            return lower
        if np.hypot(direction[0], direction[2]) < 0.2 * np.linalg.norm(direction):
            return IDENTITY  # it points straight down: no heading to correct
        return _about_up(-_heading(direction))

    # Geometry

    def body_children(self, joint: int) -> list[int]:
        """The joints that hang on a joint and belong to the body."""
        return body_children(self.skeleton, self.names, joint)

    def tip(self, joint: int) -> Floats:
        """The end of a chain of single joints: its end site, else its last joint."""
        while children := self.body_children(joint):
            joint = children[0]
        ends = np.flatnonzero(self.skeleton.end_parents == joint)
        return np.asarray(self.ends[ends[0]] if len(ends) else self.positions[joint])

    def away(self, joint: int, points: Sequence[Floats]) -> Floats | None:
        """From a joint to the mean of some points; None when there are none, or they lie on it."""
        if not points:
            return None
        direction: Floats = np.mean(points, axis=0) - self.positions[joint]
        size = float(np.ptp(self.positions, axis=0).max())
        return direction if np.linalg.norm(direction) > 1e-4 * size else None


def _bend_heading(lower: Floats, forward: float, trust: Floats) -> float:
    """The angle about +Y from +Z of the plane in which a hanging limb is bent at rest, scaled by the trust in it."""
    bend = float(np.arccos(np.clip(-lower[1] / np.linalg.norm(lower), -1.0, 1.0)))
    heading = _heading(forward * lower)
    if abs(heading) > np.radians(80.0):
        return 0.0  # bent backwards or sideways: an over-stretched limb, not its hinge
    weight = float(np.clip((bend - trust[0]) / (trust[1] - trust[0]), 0.0, 1.0))
    return weight * heading


def _heading(direction: Floats) -> float:
    """The angle about +Y from +Z [rad]."""
    return float(np.arctan2(direction[0], direction[2]))


def _about_up(angle: float) -> Floats:
    return axis_angle(UP, angle)
