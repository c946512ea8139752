"""A body as a puppet for the built-in motions: its limbs follow the positions given for feet and hands.

A `Puppet` is a body seen only through its canonical rotations: world orientations of its parts are set by formula,
its limbs are solved for the positions of feet and hands, and `Humanoid.pose` makes a pose of the whole. Angles are in
radians, times in seconds, positions in metres in the world; arrays have one row a frame.

Signs, on the left side (the right one is its mirror image): flexion of a shoulder or a hip, forward, is a rotation
about -X; abduction about +Z; inward rotation about -Y; an elbow bends about -X and a knee about +X.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ..body.canonical import CanonicalPose
from ..body.humanoid import Humanoid
from ..body.measures import Sole, sole_of
from ..body.roles import ROLES, parent_role
from ..compute import PosableError, expect, number
from ..compute.types import ArrayLike, Bools, Floats
from ..math import conjugate, exp, from_matrix, log, multiply, rotate
from ..skeleton import Motion, Pose
from .curves import X, Y, Z, about, bump, quintic

LEG, ARM = 0.859, 0.581  # of the built-in figure [m]: thigh and calf, upper arm and forearm
SIDES = (("left", 1.0), ("right", -1.0))
MOST_FRAMES = 1_000_000  # of a motion: more is a mistake of units, or of the rate
MOST_REACH = 0.998  # of a leg that stands: its knee is bent by 7 degrees
MOST_TOE_BEND = 1.12  # 64 degrees, in the air
CLEARANCE = 0.075  # between floor and swinging foot, of the ankle's height: half a centimetre on a person


@dataclass(frozen=True)
class Contact:
    """A foot on the floor from `start` to `end` [s]; lying flat, its ankle is over (x, z) [m]; yaw in radians."""

    start: float
    end: float
    x: float
    z: float
    yaw: float = 0.0


@dataclass(frozen=True)
class FootPath:
    """Where a foot goes: ankle (F, 3) [m], yaw (F,), pitch (F,) (toes up is positive), bend of the toes (F,)."""

    ankle: Floats
    yaw: Floats
    pitch: Floats
    toes: Floats
    down: Bools
    """(F,) whether it is on the floor."""
    free: Floats
    """(F,) 0 on the floor, 1 in the air, smoothly between."""


@dataclass(frozen=True)
class Footwork:
    """How a foot goes from contact to contact.

    On the floor it rotates about its heel while its toes are up and about its ball while its heel is up, the toes left
    flat, so it rolls without sliding; it also rotates on its ball by `pivot`. In the air its ankle takes the smoothest
    path (a quintic that continues position and velocity), raised by up to `lift` [m], most at the fraction `crest`; or
    it follows `swing`, bent by such a quintic so that it leaves and lands where the contacts are.

    Attributes:
        contacts: in order of time, from before the first frame to after the last.
        pitch: time to the foot's angle against the floor, toes up positive [rad].
        pivot: time to the rotation on the ball, to the left, added to the contact's yaw [rad].
        swing: time to the ankle's position (F, 3) in the air [m].
    """

    contacts: Sequence[Contact]
    pitch: Callable[[Floats], Floats]
    pivot: Callable[[Floats], Floats] = np.zeros_like
    lift: float = 0.05
    crest: float = 0.45
    swing: Callable[[Floats], Floats] | None = None

    def path(self, times: Floats, sole: Sole) -> FootPath:
        """Where a foot with this sole is at these times."""
        ankle, yaw, toes = np.zeros((len(times), 3)), np.zeros(len(times)), np.zeros(len(times))
        down, free = np.zeros(len(times), bool), np.zeros(len(times))
        lean = self.pitch(times)
        for contact in self.contacts:
            here = (times >= contact.start) & (times <= contact.end)
            ankle[here], yaw[here] = self._rolled(times[here], contact, sole)
            down[here], toes[here] = True, np.maximum(-lean[here], 0.0)
        for before, after in pairwise(self.contacts):
            here = (times > before.end) & (times < after.start)
            span = after.start - before.end
            h = 0.01 * span
            s = (times[here] - before.end) / span
            leaves, lands = self._state(before, before.end, -h, sole), self._state(after, after.start, h, sole)
            travel = quintic(s[:, None], span, leaves, lands)
            ankle[here], yaw[here] = travel[:, :3], travel[:, 3] + self.pivot(times[here])
            ankle[here, 1] += self.lift * bump(s, self.crest)
            if self.swing is not None:  # join it within the first and leave it within the last part of the way
                still, first, last = (np.zeros(4),) * 3, 0.45, 0.30
                join = quintic(np.minimum(s / first, 1.0)[:, None], first * span, leaves, still)
                leave = quintic(np.maximum(1.0 - (1.0 - s) / last, 0.0)[:, None], last * span, still, lands)
                ankle[here] = self.swing(times[here]) + (join + leave)[:, :3]
            # Toes that lay flat under a raised heel straighten as the foot leaves the floor, and bend before it lands.
            rest = np.clip(1.0 - np.minimum(s, 1.0 - s) / 0.5, 0.0, 1.0)
            toes[here] = np.clip(-lean[here], 0.0, MOST_TOE_BEND) * rest**3 * (10 - 15 * rest + 6 * rest**2)
            near = np.clip(np.minimum(s, 1.0 - s) / 0.06, 0.0, 1.0)
            free[here] = near * near * (3 - 2 * near)
        # Proportions differ: a foot that would brush the floor on its way is raised, smoothly.
        gap = CLEARANCE * sole.depth
        lack = gap - lowest_point(ankle[:, 1], lean, toes, sole)
        ankle[:, 1] += free * 0.5 * (lack + np.sqrt(lack**2 + gap**2))
        return FootPath(ankle, yaw, lean, toes, down, free)

    def _rolled(self, t: Floats, contact: Contact, sole: Sole) -> tuple[Floats, Floats]:
        """Ankle (F, 3) and yaw (F,) of a foot that is down."""
        lean, yaw = self.pitch(t), contact.yaw + self.pivot(t)
        heel, ball = np.array([0.0, -sole.depth, -sole.heel]), np.array([0.0, sole.hinge - sole.depth, sole.ball])
        about_point = np.where((lean > 0.0)[:, None], heel, ball)
        rolled = about_point - rotate(about(X, -lean), about_point) - ball
        position = np.array([contact.x, sole.depth, contact.z]) + rotate(about(Y, contact.yaw), ball)
        return position + rotate(about(Y, yaw), rolled), yaw

    def _state(self, contact: Contact, t: float, h: float, sole: Sole) -> tuple[Floats, Floats, Floats]:
        """Ankle and yaw without pivot (4,), their rates over steps of h [s] into the contact, and no acceleration."""
        ankle, yaw = self._rolled(np.array([t, t + h, t + 2 * h]), contact, sole)
        if self.swing is not None:
            ankle = ankle - self.swing(np.array([t, t + h, t + 2 * h]))
        p = np.concatenate([ankle, (yaw - self.pivot(np.array([t, t + h, t + 2 * h])))[:, None]], axis=1)
        return p[0], (-1.5 * p[0] + 2 * p[1] - 0.5 * p[2]) / h, np.zeros(4)


def lowest_point(ankle: Floats, pitch: Floats, toes: Floats, sole: Sole) -> Floats:
    """(F,) [m]: height of the lowest of heel, ball and toe tip, from the ankle's height, the pitch, the toes' bend."""
    up, along = np.cos(pitch), np.sin(pitch)
    heel = ankle - sole.depth * up - sole.heel * along
    ball = ankle - sole.depth * up + sole.ball * along
    hinge = ankle - (sole.depth - sole.hinge) * up + sole.ball * along
    tip = hinge - sole.hinge * np.cos(pitch + toes) + (sole.tip - sole.ball) * np.sin(pitch + toes)
    return np.minimum(np.minimum(heel, ball), tip)


class Puppet:
    """A body in motion, in canonical rotations.

    Attributes:
        body: whose proportions are used.
        times: (F,) [s].
        size: its legs over those of the built-in figure, for displacements over the floor.
        span: its arms over those of the built-in figure, for displacements of the hands.
        hips: (F, 3) position of the hips' joint [m].
        local: role to (F, 4) canonical local rotation; identity until set.
    """

    def __init__(self, body: Humanoid, times: Floats) -> None:
        self.body = body
        self.times = times
        frames = body.neutral_frames
        at = {role: frames.positions[joint] for role, joint in body.roles.items()}
        self.offsets = {role: at[role] - at[parent] for role in at if (parent := parent_role(role, at)) is not None}
        self.soles: dict[str, Sole] = {side: sole_of(body, side) for side, _ in SIDES}
        self.leg = float(np.mean([self.bone(f"{side}_lower_leg") + self.bone(f"{side}_foot") for side, _ in SIDES]))
        self.arm = float(np.mean([self.bone(f"{side}_lower_arm") + self.bone(f"{side}_hand") for side, _ in SIDES]))
        self.size, self.span = self.leg / LEG, self.arm / ARM
        self.standing = self.leg + float(-self.offsets["left_upper_leg"][1]) + self.soles["left"].depth
        still = np.tile([1.0, 0.0, 0.0, 0.0], (len(times), 1))
        self.local = dict.fromkeys(ROLES, still)
        self.hips = np.tile([0.0, self.standing, 0.0], (len(times), 1))
        self.base: Pose | None = None

    def bone(self, role: str) -> float:
        """Length from the part above to this one [m]."""
        return float(np.linalg.norm(self.offsets[role]))

    def world(self, role: str) -> Floats:
        """(F, 4) canonical world orientation of a part."""
        parent = parent_role(role, ROLES)
        return self.local[role] if parent is None else multiply(self.world(parent), self.local[role])

    def position(self, role: str) -> Floats:
        """(F, 3) where a part's joint is; parts the body lacks are where the part above them is."""
        if role == "hips":
            return self.hips
        if role not in self.offsets:
            parent = parent_role(role, ROLES)
            assert parent is not None
            return self.position(parent)
        parent = parent_role(role, self.body.roles)
        assert parent is not None
        return self.position(parent) + rotate(self.world(parent), self.offsets[role])

    def face(self, role: str, orientation: Floats) -> None:
        """Give a part a world orientation (F, 4)."""
        parent = parent_role(role, ROLES)
        self.local[role] = orientation if parent is None else multiply(conjugate(self.world(parent)), orientation)

    def bend_trunk(self, bend: Floats, fractions: tuple[float, float, float] = (0.36, 0.34, 0.30)) -> None:
        """Spread a rotation vector (F, 3) over spine, chest and upper chest."""
        for role, fraction in zip(("spine", "chest", "upper_chest"), fractions):
            self.local[role] = exp(fraction * bend)

    def look(self, gaze: Floats, neck: float = 0.45) -> None:
        """Give the head a world orientation (F, 4), of which the neck takes the fraction `neck`."""
        displacement = multiply(conjugate(self.world("upper_chest")), gaze)
        self.local["neck"] = exp(neck * log(displacement))
        self.face("head", gaze)

    def arm_angles(
        self, side: str, flexion: Floats, abduction: ArrayLike, inward: ArrayLike, elbow: Floats, pronation: ArrayLike
    ) -> None:
        """Pose an arm by its joint angles [rad]."""
        sign = 1.0 if side == "left" else -1.0
        swing = multiply(about(Z, sign * np.asarray(abduction)), about(X, -np.asarray(flexion)))
        self.local[f"{side}_upper_arm"] = multiply(swing, about(Y, -sign * np.asarray(inward)))
        bend = multiply(about(X, -np.maximum(elbow, 0.0)), about(Y, -sign * np.asarray(pronation)))
        self.local[f"{side}_lower_arm"] = np.broadcast_to(bend, (len(self.times), 4))

    def reach_arm(
        self, side: str, wrist: Floats, elbow: Floats, pronation: ArrayLike = 0.0, bend: ArrayLike = (0.0, 0.0, 0.0)
    ) -> None:
        """Bring a wrist to a world position (F, 3), as far as the arm goes.

        Args:
            side: "left" or "right".
            wrist: where the hand's joint goes [m].
            elbow: world direction (F, 3) or (3,) to which the elbow points.
            pronation: rotation of the forearm, thumb inwards [rad].
            bend: rotation vector of the hand at the wrist (F, 3) or (3,), in the left hand's frame, mirrored for the
                right one [rad].
        """
        sign = 1.0 if side == "left" else -1.0
        upper, lower, hand = (f"{side}_{part}" for part in ("upper_arm", "lower_arm", "hand"))
        lengths = self.bone(lower), self.bone(hand)
        displacement = wrist - self.position(upper)
        # An arm is never quite straight: it eases into its longest reach.
        displacement = displacement * _shrink(displacement, sum(lengths), 0.995, 0.05)[:, None]
        first, second = two_bones(displacement, *lengths, -np.broadcast_to(elbow, displacement.shape), bend=-1.0)
        self.face(upper, first)
        self.face(lower, multiply(second, about(Y, -sign * np.asarray(pronation) * np.ones(len(displacement)))))
        self.local[hand] = np.broadcast_to(exp(np.asarray(bend) * np.array([1.0, sign, sign])), (len(displacement), 4))

    def shrug(self, side: str, up: ArrayLike = 0.0, forward: ArrayLike = 0.0) -> None:
        """Raise a shoulder and draw it forward by angles of the clavicle [rad]."""
        sign = 1.0 if side == "left" else -1.0
        none = np.zeros(len(self.times))
        self.local[f"{side}_shoulder"] = exp(
            np.stack([none, none - sign * np.asarray(forward), none + sign * np.asarray(up)], axis=-1)
        )

    def close_hand(self, side: str, fraction: ArrayLike) -> None:
        """Close a hand to a fraction (F,) of a fist, where the body has fingers or the figure's mittens."""
        amount = np.asarray(fraction) * np.ones(len(self.times))
        if any(role.startswith(side) for role in self.body.fingers):
            relaxed = self.body.pose_hand(self.base or self.body.skeleton.rest, side, "relaxed")
            self.base = self.body.pose_hand(relaxed, side, "fist", np.clip(amount, 0.0, 1.0))
            return
        skeleton, letter = self.body.skeleton, side[0]
        if f"{letter}_index1" not in skeleton.names:
            return
        base = self.base or skeleton.rest
        rotations = np.broadcast_to(base.rotations, (len(self.times), len(skeleton), 4)).copy()
        sign = 1.0 if side == "left" else -1.0
        for name, angle in ((f"{letter}_index1", 1.35), (f"{letter}_index2", 1.75)):
            rotations[:, skeleton.index(name)] = about(-sign * Z, angle * amount)
        # The thumb folds over the fingers: down and across the palm.
        thumb = np.array([0.45, sign * 0.35, -sign * 0.55])
        rotations[:, skeleton.index(f"{letter}_thumb1")] = exp(amount[:, None] * thumb)
        self.base = Pose(np.broadcast_to(base.translation, (len(self.times), 3)), rotations)

    def follow(self, feet: Mapping[str, Footwork], knee_out: ArrayLike = 0.06) -> None:
        """Let both feet follow their paths: lower the hips as far as that needs, and pose legs and toes."""
        steps = {side: foot.path(self.times, self.soles[side]) for side, foot in feet.items()}
        self.settle(steps)
        for side, step in steps.items():
            self.stand(side, step, knee_out)

    def settle(self, steps: Mapping[str, FootPath]) -> float:
        """Lower the hips until no planted foot is out of reach, as bodies differ in proportions; return how far [m]."""
        drop = 0.0
        for side, step in steps.items():
            hip = self.position(f"{side}_upper_leg")
            length = MOST_REACH * (self.bone(f"{side}_lower_leg") + self.bone(f"{side}_foot"))
            across = np.sum((step.ankle - hip)[:, [0, 2]] ** 2, axis=-1)
            highest = step.ankle[:, 1] + np.sqrt(np.maximum(length**2 - across, 0.0))
            drop = max(drop, float(np.max(np.where(step.down, hip[:, 1] - highest, 0.0), initial=0.0)))
        self.hips = self.hips - np.array([0.0, drop, 0.0])
        return drop

    def stand(self, side: str, step: FootPath, knee_out: ArrayLike = 0.06) -> None:
        """Put a foot on its path and let leg and toes follow; knees point with the foot, a little outwards."""
        sign = 1.0 if side == "left" else -1.0
        ahead = rotate(about(Y, step.yaw + sign * np.asarray(knee_out)), Z)
        hip = self.position(f"{side}_upper_leg")
        lengths = self.bone(f"{side}_lower_leg"), self.bone(f"{side}_foot")
        displacement = step.ankle - hip
        # In the air the foot is held back before the knee locks; on the floor it stays where it is.
        shrink = _shrink(displacement, sum(lengths), 0.997, 0.017)
        displacement = displacement * (1.0 + step.free * (shrink - 1.0))[:, None]
        thigh, shank = two_bones(displacement, *lengths, ahead, bend=1.0)
        self.face(f"{side}_upper_leg", thigh)
        self.face(f"{side}_lower_leg", shank)
        self.face(f"{side}_foot", multiply(about(Y, step.yaw), about(X, -step.pitch)))
        self.local[f"{side}_toes"] = about(X, -step.toes)

    def chest(self, position: ArrayLike) -> Floats:
        """(F, 3) [m]: the world position of a point beside the middle of the shoulders, in the frame of the chest.

        The point, (3,) or (F, 3), is given in metres on a person of 1.75 m.
        """
        middle = (self.position("left_upper_arm") + self.position("right_upper_arm")) / 2
        return middle + rotate(self.world("upper_chest"), self.span * np.asarray(position, dtype=np.float64))

    def motion(self, name: str, fps: float) -> Motion:
        """The motion on the body's own skeleton."""
        rotations = np.stack([np.broadcast_to(self.local[role], (len(self.times), 4)) for role in ROLES], axis=1)
        posture = CanonicalPose(ROLES, rotations, self.hips / self.body.leg_length)
        return Motion(self.body.skeleton, self.body.pose(posture, base=self.base), fps, name=name)


def puppet_for(body: Humanoid | None, whole: float, duration: float | None, fps: float, closed: bool) -> Puppet:
    """A puppet of a body (the built-in figure when None) with its frame times.

    Args:
        body: whose motion it will be.
        whole: seconds of the motion when no duration is given.
        duration: seconds requested.
        fps: frames a second.
        closed: whether the frame after the last is the first again, when no duration is given.
    """
    if body is None:
        from ..body.hanim import figure

        body = figure()
    expect(Humanoid, body, "body")
    body.require_person("a built-in motion")
    seconds = whole if duration is None else number(duration)
    if not (seconds >= 0.0 and number(fps) > 0.0 and seconds * number(fps) <= MOST_FRAMES):
        raise PosableError(
            f"duration is {duration} s at {fps} frames a second; expected seconds from 0 on, fps above 0, and at most "
            f"{MOST_FRAMES} frames"
        )
    frames = max(1, round(seconds * fps) + (0 if closed and duration is None else 1))
    return Puppet(body, np.arange(frames) / fps)


def two_bones(displacement: Floats, upper: float, lower: float, ahead: Floats, bend: float) -> tuple[Floats, Floats]:
    """World orientations (F, 4) of two bones whose ends are `displacement` (F, 3) apart.

    Bones hang along -Y of their frames and bend about X: knees (bend +1) forward, elbows (bend -1) backward.
    `ahead` is the side of +Z that the middle joint (knees) or its opposite (elbows) keeps to. A distance too long or
    too short is cut, with a hair's breadth left so that the joint never locks.
    """
    distance = np.linalg.norm(displacement, axis=-1)
    reach = np.clip(distance, abs(upper - lower) * 1.001 + 1e-6, (upper + lower) * 0.9999)
    down = displacement / np.maximum(distance, 1e-9)[:, None]
    front = np.broadcast_to(np.asarray(ahead, dtype=np.float64), displacement.shape)
    x = np.cross(-down, front)
    x /= np.linalg.norm(x, axis=-1, keepdims=True)
    front = np.cross(x, -down)
    swing = np.arccos(np.clip((upper**2 + reach**2 - lower**2) / (2 * upper * reach), -1.0, 1.0))
    first = down * np.cos(swing)[:, None] + bend * front * np.sin(swing)[:, None]
    second = down * reach[:, None] - first * upper
    return _hanging(first, x), _hanging(second, x)


def _shrink(displacement: Floats, length: float, most: float, soft: float) -> Floats:
    """Return the factors (F,) that keep displacements (F, 3) below `most` of a limb's length, eased over `soft`."""
    reach = np.linalg.norm(displacement, axis=-1) / length
    softened = most - soft + soft * np.tanh(np.maximum(reach - most + soft, 0.0) / soft)
    return np.where(reach > most - soft, softened / np.maximum(reach, 1e-9), 1.0)


def _hanging(along: Floats, x: Floats) -> Floats:
    y = -along / np.linalg.norm(along, axis=-1, keepdims=True)
    return from_matrix(np.stack([x, y, np.cross(x, y)], axis=-1))
