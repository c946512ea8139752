"""The workshop of the built-in motions: smooth curves, feet that stay where they are put, limbs that follow.

A `Puppet` is a body seen only through its canonical rotations: world orientations of its parts are set by formula,
its limbs are solved so that feet and hands are where the formula wants them, and the whole is handed to
`Humanoid.pose`. Angles are in radians, times in seconds, places in metres in the world; arrays have one row a frame.

Signs, on the left side (the right one is its mirror image): flexion of a shoulder or a hip, forward, is a rotation
about -X; abduction about +Z; inward rotation about -Y; an elbow bends about -X and a knee about +X.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.interpolate import CubicSpline, PchipInterpolator

from ..compute.types import ArrayLike, Bools, Floats
from ..math import axis_angle, conjugate, exp, from_matrix, log, multiply, rotate, swing_twist
from ..skeleton import Motion, Pose
from .canonical import CanonicalPose
from .humanoid import Humanoid
from .roles import ROLES, parent_role
from .soles import Sole, sole_of, stature

SIDES = (("left", 1.0), ("right", -1.0))
X, Y, Z = np.eye(3)
MOST_TOE_BEND = 1.12  # 64 degrees, in the air


class Puppet:
    """A body in motion, in canonical rotations.

    Attributes:
        body: whose proportions are used.
        times: (F,) [s].
        hips: (F, 3) place of the hips' joint [m].
        local: role to (F, 4) canonical local rotation; identity until set.
    """

    def __init__(self, body: Humanoid, times: Floats) -> None:
        self.body = body
        self.times = times
        frames = body.skeleton.forward(body.neutral_pose)
        places = {role: frames.positions[joint] for role, joint in body.roles.items()}
        self.offsets = {
            role: places[role] - places[parent] for role in places if (parent := parent_role(role, places)) is not None
        }
        self.soles: dict[str, Sole] = {side: sole_of(body, side) for side, _ in SIDES}
        self.leg = float(np.mean([self.bone(f"{side}_lower_leg") + self.bone(f"{side}_foot") for side, _ in SIDES]))
        self.arm = float(np.mean([self.bone(f"{side}_lower_arm") + self.bone(f"{side}_hand") for side, _ in SIDES]))
        self.size = stature(body) / 1.75
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

    def place(self, role: str) -> Floats:
        """(F, 3) where a part's joint is; parts the body lacks are where the part above them is."""
        if role == "hips":
            return self.hips
        if role not in self.offsets:
            parent = parent_role(role, ROLES)
            assert parent is not None
            return self.place(parent)
        parent = parent_role(role, self.body.roles)
        assert parent is not None
        return self.place(parent) + rotate(self.world(parent), self.offsets[role])

    def face(self, role: str, orientation: Floats) -> None:
        """Gives a part a world orientation (F, 4)."""
        parent = parent_role(role, ROLES)
        self.local[role] = orientation if parent is None else multiply(conjugate(self.world(parent)), orientation)

    def bend_trunk(self, bend: Floats, shares: tuple[float, float, float] = (0.36, 0.34, 0.30)) -> None:
        """Spreads a rotation vector (F, 3) over spine, chest and upper chest."""
        for role, share in zip(("spine", "chest", "upper_chest"), shares):
            self.local[role] = exp(share * bend)

    def look(self, gaze: Floats, neck: float = 0.45) -> None:
        """Turns the head to a world orientation (F, 4), a share of the way there done by the neck."""
        way = multiply(conjugate(self.world("upper_chest")), gaze)
        self.local["neck"] = _power(way, neck)
        self.face("head", gaze)

    def arm_angles(
        self, side: str, flexion: Floats, abduction: ArrayLike, inward: ArrayLike, elbow: Floats, pronation: ArrayLike
    ) -> None:
        """Hangs and swings an arm by its joint angles [rad]."""
        sign = 1.0 if side == "left" else -1.0
        swing = multiply(about(Z, sign * np.asarray(abduction)), about(X, -np.asarray(flexion)))
        self.local[f"{side}_upper_arm"] = multiply(swing, about(Y, -sign * np.asarray(inward)))
        bend = multiply(about(X, -np.maximum(elbow, 0.0)), about(Y, -sign * np.asarray(pronation)))
        self.local[f"{side}_lower_arm"] = np.broadcast_to(bend, (len(self.times), 4))

    def reach_arm(self, side: str, target: Floats, elbow_side: ArrayLike, hand: Floats | None = None) -> None:
        """Brings a wrist to a world place (F, 3), the elbow towards a direction, the hand to an orientation (F, 4).

        The forearm takes the hand's turn about itself, the wrist what is left.
        """
        upper, lower = f"{side}_upper_arm", f"{side}_lower_arm"
        base = self.place(upper)
        lengths = self.bone(lower), self.bone(f"{side}_hand")
        self.face(upper, IDENTITY)  # the orientation of the parent only
        first, second = two_bones(target - base, *lengths, -np.asarray(elbow_side), bend=-1.0)
        self.face(upper, first)
        self.face(lower, second)
        if hand is not None:
            wrist, turn = swing_twist(multiply(conjugate(second), hand), -Y)
            turned = about(-Y, turn)
            self.local[lower] = multiply(self.local[lower], turned)
            self.local[f"{side}_hand"] = multiply(conjugate(turned), multiply(wrist, turned))

    def stand(self, side: str, step: FootPath, knee_out: ArrayLike = 0.06) -> None:
        """Puts a foot where its path says and lets leg and toes follow; knees point with the foot, a little out."""
        sign = 1.0 if side == "left" else -1.0
        ahead = rotate(about(Y, step.yaw + sign * np.asarray(knee_out)), Z)
        hip = self.place(f"{side}_upper_leg")
        lengths = self.bone(f"{side}_lower_leg"), self.bone(f"{side}_foot")
        way = step.ankle - hip
        # In the air the foot is held back before the knee locks; on the floor it stays where it is.
        reach = np.linalg.norm(way, axis=-1) / sum(lengths)
        most, soft = 0.997, 0.017
        held = most - soft + soft * np.tanh(np.maximum(reach - most + soft, 0.0) / soft)
        shrink = np.where(reach > most - soft, held / reach, 1.0)
        way = way * (1.0 + step.free * (shrink - 1.0))[:, None]
        thigh, shank = two_bones(way, *lengths, ahead, bend=1.0)
        self.face(f"{side}_upper_leg", thigh)
        self.face(f"{side}_lower_leg", shank)
        self.face(f"{side}_foot", multiply(about(Y, step.yaw), about(X, -step.pitch)))
        self.local[f"{side}_toes"] = about(X, -step.toes)

    def motion(self, name: str, fps: float) -> Motion:
        """The motion on the body's own skeleton."""
        rotations = np.stack([np.broadcast_to(self.local[role], (len(self.times), 4)) for role in ROLES], axis=1)
        posture = CanonicalPose(ROLES, rotations, self.hips / self.body.leg_length)
        return Motion(self.body.skeleton, self.body.pose(posture, base=self.base), fps, name=name)


IDENTITY = np.array([1.0, 0.0, 0.0, 0.0])


def about(axis: Floats, angle: ArrayLike) -> Floats:
    """(..., 4) rotations about one axis by angles (...) [rad]."""
    return axis_angle(axis, np.asarray(angle, dtype=np.float64))


def yaw_pitch_roll(yaw: ArrayLike, pitch: ArrayLike = 0.0, roll: ArrayLike = 0.0) -> Floats:
    """(..., 4): turned left by yaw, then bowed forward by pitch, then leant to the right by roll [rad]."""
    yaw, pitch, roll = np.broadcast_arrays(yaw, pitch, roll)
    return multiply(about(Y, yaw), multiply(about(X, pitch), about(Z, roll)))


def two_bones(way: Floats, upper: float, lower: float, ahead: Floats, bend: float) -> tuple[Floats, Floats]:
    """World orientations (F, 4) of two bones whose ends are `way` (F, 3) apart.

    Bones hang along -Y of their frames and bend about X: knees (bend +1) forward, elbows (bend -1) backward.
    `ahead` is the side of +Z that the middle joint (knees) or its opposite (elbows) keeps to. A way too long or too
    short is cut, with a hair's breadth left so that the joint never locks.
    """
    distance = np.linalg.norm(way, axis=-1)
    reach = np.clip(distance, abs(upper - lower) * 1.001 + 1e-6, (upper + lower) * 0.9999)
    down = way / np.maximum(distance, 1e-9)[:, None]
    front = np.broadcast_to(np.asarray(ahead, dtype=np.float64), way.shape)
    x = np.cross(-down, front)
    x /= np.linalg.norm(x, axis=-1, keepdims=True)
    front = np.cross(x, -down)
    swing = np.arccos(np.clip((upper**2 + reach**2 - lower**2) / (2 * upper * reach), -1.0, 1.0))
    first = down * np.cos(swing)[:, None] + bend * front * np.sin(swing)[:, None]
    second = down * reach[:, None] - first * upper
    return _hanging(first, x), _hanging(second, x)


def _hanging(along: Floats, x: Floats) -> Floats:
    y = -along / np.linalg.norm(along, axis=-1, keepdims=True)
    return from_matrix(np.stack([x, y, np.cross(x, y)], axis=-1))


def _power(q: Floats, share: float) -> Floats:
    return exp(share * log(q))


# Curves


def curve(times: Floats, knots: ArrayLike, values: ArrayLike, period: float | None = None) -> Floats:
    """A smooth curve through values at knots [s], at times; closed over a period when one is given."""
    at, through = np.asarray(knots, dtype=np.float64), np.asarray(values, dtype=np.float64)
    if period is not None:
        at, through = np.append(at, at[0] + period), np.concatenate([through, through[:1]])
        return np.asarray(CubicSpline(at, through, bc_type="periodic")(at[0] + (times - at[0]) % period))
    return np.asarray(CubicSpline(at, through, bc_type="clamped")(np.clip(times, at[0], at[-1])))


def eased(times: Floats, knots: ArrayLike, values: ArrayLike, period: float | None = None) -> Floats:
    """A curve that never overshoots its values, with continuous velocity and acceleration.

    It is still before the first and after the last knot, or closed over a period when one is given.
    """
    at, through = np.asarray(knots, dtype=np.float64), np.asarray(values, dtype=np.float64)
    if period is not None:
        times = at[0] + (times - at[0]) % period
        at = np.concatenate([at[-2:] - period, at, at[:2] + period])
        through = np.concatenate([through[-2:], through, through[:2]])
    slopes = np.asarray(PchipInterpolator(at, through).derivative()(at))
    slopes[0] = slopes[-1] = 0.0
    zero = np.zeros_like(slopes)
    k = np.clip(np.searchsorted(at, times, side="right") - 1, 0, len(at) - 2)
    span = at[k + 1] - at[k]
    s = np.clip((times - at[k]) / span, 0.0, 1.0)
    column = (slice(None),) + (None,) * (through.ndim - 1)
    return quintic(
        s[column], span[column], (through[k], slopes[k], zero[k]), (through[k + 1], slopes[k + 1], zero[k + 1])
    )


def quintic(s: Floats, span: Floats | float, start: tuple[Floats, ...], end: tuple[Floats, ...]) -> Floats:
    """Between two states (value, rate, acceleration) `span` seconds apart, s in 0..1 of the way: quintic Hermite."""
    p0, v0, a0 = start[0], start[1] * span, start[2] * span**2
    p1, v1, a1 = end[0], end[1] * span, end[2] * span**2
    c3 = 10 * (p1 - p0) - 6 * v0 - 4 * v1 - 1.5 * a0 + 0.5 * a1
    c4 = -15 * (p1 - p0) + 8 * v0 + 7 * v1 + 1.5 * a0 - a1
    c5 = 6 * (p1 - p0) - 3 * v0 - 3 * v1 - 0.5 * a0 + 0.5 * a1
    return np.asarray(p0 + s * (v0 + s * (0.5 * a0 + s * (c3 + s * (c4 + s * c5)))))


def wave(phase: Floats, *terms: tuple[int, float, float]) -> Floats:
    """A Fourier series of a phase that goes from 0 to 1.

    Each term (k, amplitude, shift) adds amplitude * cos(2 pi (k phase - shift)).
    """
    return np.asarray(sum(a * np.cos(2 * np.pi * (k * phase - shift)) for k, a, shift in terms))


def bump(s: Floats, crest: float) -> Floats:
    """From 0 to 1 at s = crest and back to 0 as s goes from 0 to 1, without velocity or acceleration at the ends."""
    early, late = (3.0, 3.0 * (1 - crest) / crest) if crest < 0.5 else (3.0 * crest / (1 - crest), 3.0)
    return np.asarray((s / crest) ** early * ((1 - s) / (1 - crest)) ** late)


# Feet


@dataclass(frozen=True)
class Contact:
    """A foot on the floor from `start` to `end` [s], its ankle over (x, z) [m] while it lies flat, turned by yaw."""

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

    On the floor it turns about its heel while its toes are up and about its ball while its heel is up, the toes left
    flat, so it rolls without sliding; it also turns on its ball by `pivot`. In the air its ankle takes the smoothest
    way (a quintic that continues place and velocity), raised by up to `lift` [m], most at the fraction `crest`; or
    it follows `swing`, bent by such a quintic so that it leaves and lands where the contacts are.

    Attributes:
        contacts: in order of time, from before the first frame to after the last.
        pitch: time to the foot's angle against the floor, toes up positive [rad].
        pivot: time to the turn on the ball, to the left, on top of the contact's yaw [rad].
        swing: time to the ankle's place (F, 3) in the air [m].
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
            s = (times[here] - before.end) / span
            leaves, lands = self._state(before, before.end, -1.0, sole), self._state(after, after.start, 1.0, sole)
            way = quintic(s[:, None], span, leaves, lands)
            ankle[here], yaw[here] = way[:, :3], way[:, 3]
            ankle[here, 1] += self.lift * bump(s, self.crest)
            if self.swing is not None:  # join it within the first and leave it within the last part of the way
                still, first, last = (np.zeros(4),) * 3, 0.45, 0.30
                join = quintic(np.minimum(s / first, 1.0)[:, None], first * span, leaves, still)
                leave = quintic(np.maximum(1.0 - (1.0 - s) / last, 0.0)[:, None], last * span, still, lands)
                ankle[here] = self.swing(times[here]) + (join + leave)[:, :3]
            # Toes that lay flat under a raised heel straighten as the foot leaves the floor.
            rest = np.clip(1.0 - s / 0.5, 0.0, 1.0)
            toes[here] = np.clip(-lean[here], 0.0, MOST_TOE_BEND) * rest**3 * (10 - 15 * rest + 6 * rest**2)
            near = np.clip(np.minimum(s, 1.0 - s) / 0.06, 0.0, 1.0)
            free[here] = near * near * (3 - 2 * near)
        return FootPath(ankle, yaw, lean, toes, down, free)

    def _rolled(self, t: Floats, contact: Contact, sole: Sole) -> tuple[Floats, Floats]:
        """Ankle (F, 3) and yaw (F,) of a foot that is down."""
        lean, yaw = self.pitch(t), contact.yaw + self.pivot(t)
        heel, ball = np.array([0.0, -sole.depth, -sole.heel]), np.array([0.0, sole.hinge - sole.depth, sole.ball])
        about_point = np.where((lean > 0.0)[:, None], heel, ball)
        rolled = about_point - rotate(about(X, -lean), about_point) - ball
        place = np.array([contact.x, sole.depth, contact.z]) + rotate(about(Y, contact.yaw), ball)
        return place + rotate(about(Y, yaw), rolled), yaw

    def _state(self, contact: Contact, t: float, inwards: float, sole: Sole) -> tuple[Floats, Floats, Floats]:
        """Ankle and yaw (4,) at a moment, their rates, and no acceleration, from the side on which the foot is down."""
        h = 0.004 * inwards
        ankle, yaw = self._rolled(np.array([t, t + h, t + 2 * h]), contact, sole)
        if self.swing is not None:
            ankle = ankle - self.swing(np.array([t, t + h, t + 2 * h]))
        p = np.concatenate([ankle, yaw[:, None]], axis=1)
        return p[0], (-1.5 * p[0] + 2 * p[1] - 0.5 * p[2]) / h, np.zeros(4)
