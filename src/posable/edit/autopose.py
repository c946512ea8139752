"""`AutoPose`: an artist drags some parts of a body, and the rest of it follows what people do.

The parts that were touched, and feet that stand, are what a network of whole bodies sees (`SequentialIK` with these as
its markers): it says how people are who have their head, hands or elbows there. How the body was before, which no
network knows, counts as its difference from what the network says of that pose, each joint's rotation for itself: all
of it while nothing has moved, less and less the further parts are dragged.

This guess is continuous, as no limit stops it, but it only nearly meets the targets. Damped least squares bring it
there inside the limits (`pull_kernels`), with every other part drawn to where the guess has it: so the answer is near
the guess, and small drags change it little. Their last steps draw hips, chest and head alone, hardly, and meet the
targets exactly. A target that people cannot have is followed as far as the guess goes; further off it changes nothing.

A foot that nobody touched and that stands stays where it stands, as long as people would not step: until what it
carries has moved on by a third of a leg.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..body.canonical import CanonicalPose, SpineShape
from ..compute import PosableError, ShapeError, Status, UnknownNameError, expect
from ..compute.extent import rows_in_extent
from ..compute.types import ArrayLike, Floats, Records, floats
from ..limb import Target
from ..math import angle, axis_angle, conjugate, exp, log, multiply, normalize, rotate
from ..reconstruct import Prior, SequentialIK
from ..reconstruct.sik import ORIENTED, TRACKABLE
from ..skeleton import Frames, Pose
from ..skeleton.pose import are_poses
from ..skeleton.solution import PoseSolution
from .bounds import Bounds, limit_shapes
from .clip import Clip, Parts, edited_dofs
from .dragging import Dragger
from .model import BOX, EXACT, GOAL

if TYPE_CHECKING:
    from ..body import Humanoid
    from ..limits import Limits

MET = 1e-6  # [m], [rad]: a target that is nearer is met
CLOSE = 1e-7  # [m]: where the least squares end
ITERATIONS, ROUNDS = 24, 4
FAR, ROTATED = 0.5, 1.0  # of the joint height, [rad]: drags so far leave a half of how the body was before
FOOT_PLACED, FOOT_ORIENTED = 0.02, 0.05  # softness of the position and the orientation of a foot that stands
STANDS = 0.06  # of a leg: a foot stands that is no higher than this above the lower one
STOOD = 0.005  # of a leg: a foot that has moved less has stayed
STAYS, STEPPED = 0.3, 0.6  # of a leg that the body has moved on: where a foot begins to follow, and where it has
REACH, FOLLOWS = 0.85, 0.9  # of a limb's length: further targets take the head along, by this part of what is beyond
HIPS = 0.5  # of what the head moves then, the hips do
ROOT = math.log(0.02)  # how readily the body as a whole moves in the end, next to its joints
CLAVICLES = ("left_shoulder", "right_shoulder")
APPROACH = (
    *(((0.02, 0.05), (0.03, 0.1), (0.3, 0.5)),) * 6,
    *(((0.005, 0.02), (0.02, 0.1), (1.0, 1.5)),) * 4,
)
"""Softness of the positions and orientations of targets, of feet that stand and of the other parts, a few `STEPS` each.
"""
STEPS = 3  # a joint that a limit stops is stiff until they end; then it is tried again
STEADY = ("hips", "head", "upper_chest", "chest", "upper_arm", "lower_arm", "hand", "lower_leg", "foot")
"""Parts that the guess draws, left and right ones."""
TRUNK, FREE = ("hips", "upper_chest", "head"), (2.0, 2.0)
"""Those that it still draws in the last steps, so that nobody turns upside down, and their softness."""
GUESSED, BEYOND = 0.15, 0.4  # of the joint height: a target so far from the guess is left alone a little, altogether
NEAR, MISSED = 0.01, 0.04  # likewise, after the approach, where not all are met
LEFT = 0.05  # of the joint height: how far after it they may be at most
INSIDE = 1e-9  # [rad]
CLAMPS = 40  # at most: a joint that is brought inside its limits may take another one out of its own


@dataclass(frozen=True, eq=False, repr=False)
class AutoPoseSolution(PoseSolution):
    """A body posed by some of its parts.

    REACHED where all targets are met within a micrometre and a microradian; LIMITS where joint limits prevent it, else
    UNREACHABLE; INVALID where a number of the input is not finite: then the pose is the one it started from.
    """

    errors: Mapping[str, float]
    """Part to its distance [m] from its target; infinite where that is not finite."""
    orientation_errors: Mapping[str, float]
    """Part to the angle [rad] from the requested orientation, where one is requested."""
    planted: tuple[str, ...]
    """The feet that nobody touched and that stay where they stood, within 0.5 % of a leg: not those that are pulled
    along.
    """


class AutoPose:
    """Poses a body by some of its parts, as people are. Immutable.

    Args:
        body: any person.
        prior: a learned model of how people move, as `SequentialIK` takes it: "default", a path, a `Prior`, or None.
        limits: "body" (default): the body's own joint limits; None: none; or other ones.
        plant_feet: whether feet that nobody touches and that stand stay there while people would not step; default
            True.
    """

    def __init__(
        self,
        body: Humanoid,
        prior: Prior | str | os.PathLike[str] | None = "default",
        limits: Limits | str | None = "body",
        *,
        plant_feet: bool = True,
    ) -> None:
        from ..body import Humanoid
        from ..body.packed import PackedBody

        expect(Humanoid, body, "body", ": Humanoid(motion.skeleton)")
        body.require_person("AutoPose")
        self.body, self.plant_feet = body, plant_feet
        self._prior = prior
        self._limits = body.limits_for(limits)
        dofs = edited_dofs(body, tuple(body.roles))
        # Of a bone in segments the first one rotates, which is the one that limits are about.
        others = [joint for chain in body.segments.values() for joint in chain[1:]]
        dofs = dofs[~np.isin(body.skeleton.dofs.joint[dofs], others)]
        every = np.ones(len(dofs), np.bool_)
        hands = ("left_hand", "right_hand", "left_foot", "right_foot", "head")
        parts = Parts(body, hands, np.array([body.roles[role] for role in hands]), dofs, every, every)
        still = Pose(
            *(np.asarray(array)[None] for array in (body.neutral_pose.translation, body.neutral_pose.rotations))
        )
        from ..skeleton import Motion

        clip = Clip(Motion(body.skeleton, still, 60.0), body, still, np.zeros((1, len(dofs))), parts)
        packed = body.packed if isinstance(limits, str) and limits == "body" else PackedBody(body, limits)
        shapes, roles = limit_shapes(clip, packed)
        joints = body.skeleton.dofs.joint[dofs]
        logs = np.zeros((1, len(dofs)))
        logs[0, np.isin(joints, list(body.skeleton.path(body.roles["hips"])))] = ROOT
        self._pulls = Dragger(clip, logs, Bounds(packed, np.zeros(0, BOX), shapes, roles, self._limits))
        self._steady = [r for n in STEADY for r in (n, f"left_{n}", f"right_{n}") if r in body.roles]
        self._solvers: dict[tuple[str, ...], SequentialIK] = {}
        SequentialIK(body, prior=prior, limits=limits)  # so that a prior that cannot be read is told here

    def solve(self, targets: Mapping[str, Target | ArrayLike], start: Pose | None = None) -> AutoPoseSolution:
        """Return the pose in which every part is at its target and the rest does what people do.

        Args:
            targets: part to a `Target` in the world, its position [m] and maybe its orientation, or to a position (3,)
                alone. Any part of the body: all that were touched since `start`; a part that is left out is released.
            start: the pose before any part was touched; default the neutral pose. Targets where its parts are give it
                back.
        """
        body = self.body
        pose = body.neutral_pose if start is None else start
        if pose.shape or pose.joint_count != len(body.skeleton):
            raise ShapeError(
                f"start has shape {pose.shape} of {pose.joint_count} joints; expected one pose of this body"
            )
        requested = {role: _target(body, role, target) for role, target in targets.items()}
        sound = bool(are_poses(Pose(pose.translation[None], pose.rotations[None]))[0])
        sound = sound and (pose.offsets is None or bool(rows_in_extent(pose.offsets, 2)))
        for position, orientation in requested.values():
            sound = (
                sound and bool(rows_in_extent(position)) and (orientation is None or bool(np.isfinite(orientation[0])))
            )
        if not sound:
            return self._solution(
                pose, dict.fromkeys(requested, (np.full(3, np.nan), IDENTITY)), (), False, invalid=True
            )
        if not requested:
            return self._solution(pose, {}, (), False)
        frames = body.skeleton.forward(pose)
        guess, feet = self._guess(pose, frames, requested)
        found, limited = self._met(guess, pose, requested, feet)
        there = body.skeleton.forward(found).positions
        standing = tuple(
            role
            for role, (p, _, stays) in feet.items()
            if stays and np.linalg.norm(there[body.roles[role]] - p) <= STOOD * body.leg_length
        )
        return self._solution(found, requested, standing, limited)

    # What people do.

    def _guess(self, start: Pose, frames: Frames, requested: Requested) -> tuple[Pose, Feet]:
        """Return a pose near the targets as people are, whatever the limits, and the feet that stand."""
        body = self.body
        was = {role: (frames.positions[j], body.canonical_orientation(frames, j)) for role, j in body.roles.items()}
        known = {role: pair for role, pair in requested.items() if role in TRACKABLE}
        if not {"hips", "head"} & set(known):  # a hand alone does not say how the trunk is: it stays, or comes along
            beyond = self._beyond(was, requested)
            known |= {"head": (was["head"][0] + beyond, None), "hips": (was["hips"][0] + HIPS * beyond, None)}
        if "chest" in known and "upper_chest" in known:
            del known["chest"]
        standing = [role for role in self._standing(was) if role not in requested] if self.plant_feet else []
        at_start = {role: (was[role][0], None if q is None else was[role][1]) for role, (_, q) in known.items()}
        rest = {role: was[role] for role in standing}
        one, other = self._people((at_start | rest, known | rest), was)
        # The feet stay while what they carry is above them, and then go along with it.
        middle = [0.5 * (c.hips * body.leg_length + self._head(c)) for c in (one, other)]
        gone = (middle[1] - middle[0]) * [1.0, 0.0, 1.0]
        away = float(np.linalg.norm(gone)) / body.leg_length
        s = _eased((away - STAYS) / (STEPPED - STAYS))
        feet = {role: (was[role][0] + s * gone, was[role][1], s == 0.0) for role in standing}
        if s > 0.0:
            (other,) = self._people((known | {role: (p, q) for role, (p, q, _) in feet.items()},), was)
        keep = 1.0 / (1.0 + self._moved(was, known))
        begun = body.canonical(start, frames).without_fingers()  # fingers stay as they are
        posture = self._carried(_joined(one.without_fingers(), other.without_fingers(), begun, keep), begun)
        return body.pose(posture, start), feet

    def _carried(self, posture: CanonicalPose, start: CanonicalPose) -> CanonicalPose:
        """Return a posture whose clavicles are inside their limits, as the least squares leave them alone."""
        roles = [role for role in CLAVICLES if self._limits is not None and role in self._limits]
        at = [posture.index(role) for role in roles if role in posture.roles]
        if self._limits is None or not at:
            return posture
        names, rotations = [posture.roles[k] for k in at], posture.rotations.copy()
        rotations[at] = self._limits.clamp_from(names, start.rotations[at], rotations[at])
        return CanonicalPose(posture.roles, rotations, posture.hips, posture.spine)

    def _people(self, several: Sequence[Requested], was: Requested) -> list[CanonicalPose]:
        """Return the postures that people have with parts there, for several places of the same parts, seen from where
        the body faced: as if that were +Z.
        """
        body, markers = self.body, tuple(role for role in TRACKABLE if role in several[0])
        ahead = rotate(was["hips"][1], [0.0, 0.0, 1.0])
        yaw = math.atan2(ahead[0], ahead[2])
        q, back = axis_angle([0.0, 1.0, 0.0], yaw), axis_angle([0.0, 1.0, 0.0], -yaw)
        centre = was["hips"][0] * [1.0, 0.0, 1.0]
        if markers not in self._solvers:
            if len(self._solvers) > 64:
                self._solvers.clear()
            # Limits, and limbs that swivel out of each other, would make it leap where a small drag asks for little.
            options: dict[str, Any] = {"prior": self._prior, "limits": None, "elbows_out": False}
            self._solvers[markers] = SequentialIK(body, markers=markers, **options)
        points = rotate(back, np.array([[known[role][0] for role in markers] for known in several]) - centre)
        rotations = {
            role: multiply(back, np.array([known[role][1] for known in several]))
            for role in markers
            if role in ORIENTED and several[0][role][1] is not None
        }
        poses = self._solvers[markers].solve(points, rotations or None).pose
        out = []
        for k in range(len(several)):
            posture = body.canonical(poses[k])
            spine = posture.spine
            assert spine is not None
            facing, bends = posture.rotations.copy(), spine.bends.copy()
            facing[0], bends[0] = multiply(q, facing[0]), multiply(q, bends[0])
            shape = SpineShape(spine.roles, spine.at, spine.chest, bends)
            hips = rotate(q, posture.hips) + centre / body.leg_length
            out.append(CanonicalPose(posture.roles, facing, hips, shape))
        return out

    def _head(self, posture: CanonicalPose) -> Floats:
        """Return the position of the head [m]."""
        frames = self.body.skeleton.forward(self.body.pose(posture))
        return np.asarray(frames.positions[self.body.roles["head"]])

    def _beyond(self, was: Requested, requested: Requested) -> Floats:
        """Return how far [m] the head goes along with hands, or elbows, that are further than arms easily reach."""
        body, total = self.body, np.zeros(3)
        for role in ("left_hand", "right_hand", "left_lower_arm", "right_lower_arm"):
            if role not in requested:
                continue
            shoulder = was[role.split("_")[0] + "_upper_arm"][0]
            length = body.measures["upper_arm"] + (body.measures["forearm"] if role.endswith("hand") else 0.0)
            now, before = (p - shoulder for p in (requested[role][0], was[role][0]))
            free = max(REACH * length, float(np.linalg.norm(before)))
            size = float(np.linalg.norm(now))
            if size > free:
                total += FOLLOWS * (1.0 - free / size) * now
        return total

    def _standing(self, was: Requested) -> list[str]:
        """Return the feet that stand: the lower one, and the other where it is hardly higher."""
        low = {role: float(was[role][0][1]) for role in ("left_foot", "right_foot")}
        return [role for role, y in low.items() if y <= min(low.values()) + STANDS * self.body.leg_length]

    def _moved(self, was: Requested, known: Mapping[str, tuple[Floats, Floats | None]]) -> float:
        """Return the square of how far parts have been moved: 1 where a half of how the body was before is left."""
        total = 0.0
        for role, (position, orientation) in known.items():
            total += (float(np.linalg.norm(position - was[role][0])) / (FAR * self.body.joint_height)) ** 2
            if orientation is not None:
                total += (float(angle(orientation, was[role][1])) / ROTATED) ** 2
        return total

    # To the targets.

    def _met(self, guess: Pose, start: Pose, requested: Requested, feet: Feet) -> tuple[Pose, bool]:
        """Return the pose with all targets met, as far as limits and people allow, and whether limits stopped it."""
        body, source = self.body, Pose(start.translation[None], start.rotations[None], _rows(start.offsets))
        there, count = body.skeleton.forward(guess), len(requested)
        goals, drawn = self._goals(requested, feet), self._drawn(there, {*requested, *feet})
        aims = np.zeros((count, 3))
        for aim, (role, (position, _)) in zip(aims, requested.items(), strict=True):
            joint = body.roles[role] if role in TRACKABLE else None
            aim[:] = position if joint is None else self._within(there, joint, position, GUESSED, BEYOND)
        goals["position"][0, :count] = aims
        near = Pose(guess.translation[None], guess.rotations[None], _rows(guess.offsets))
        whole = np.concatenate([goals, drawn], axis=1)
        kinds = np.repeat([0, 1, 2], [count, len(feet), drawn.shape[1]])
        oriented = whole["orientation_softness"][0] >= 0.0
        for softness in APPROACH:
            placed, rotated = np.array(softness).T[:, kinds]
            whole["position_softness"], whole["orientation_softness"] = placed, np.where(oriented, rotated, -1.0)
            near, _, _ = self._pulls.pulled(near, whole, self._pulls.logs, STEPS, source)
        drawn = drawn[:, np.isin(drawn["joint"][0], [body.roles[role] for role in TRUNK if role in body.roles])]
        for range_ in ((LEFT, LEFT), (NEAR, MISSED)):
            pose, limited = self._closed(near[0], goals, drawn, aims, source, range_)
            away = body.skeleton.forward(pose).positions[goals["joint"][0, :count]] - aims
            if (np.linalg.norm(away, axis=-1) <= MET).all():
                break
        return pose, limited

    def _closed(
        self, near: Pose, goals: Records, drawn: Records, aims: Floats, source: Pose, range_: tuple[float, float]
    ) -> tuple[Pose, bool]:
        """Return (the pose with its aims met, whether limits stopped a joint); aims beyond a range are left alone."""
        there, goals, count = self.body.skeleton.forward(near), goals.copy(), len(aims)
        for k, aim in enumerate(aims):
            goals["position"][0, k] = self._within(there, int(goals["joint"][0, k]), aim, *range_)
        pose, limited = near, False
        # A foot that stands gives way where not all can be met.
        rounds = [np.concatenate([part, drawn], axis=1) for part in (goals, goals[:, :count])]
        for part in (*rounds[int(goals.shape[1] == count) :], goals[:, :count]):
            pose, limited = self._pulled(pose, np.ascontiguousarray(part), source)
        return self._inside(pose, source), limited

    def _within(self, frames: Frames, joint: int, aim: Floats, near: float, far: float) -> Floats:
        """Return where a joint is drawn to: to a near aim, less of the way to a further one, and none to a far one."""
        here = frames.positions[joint]
        away = float(np.linalg.norm(aim - here)) / self.body.joint_height
        left = float(away > far) if far == near else _eased((away - near) / (far - near))
        return np.asarray(here + (1.0 - left) * (aim - here))

    def _drawn(self, frames: Frames, others: set[str]) -> Records:
        """Return goals (1, G) that draw all parts but some to where they are."""
        joints = [self.body.roles[role] for role in self._steady if role not in others]
        goals = np.zeros((1, len(joints)), GOAL)
        goals["position_softness"], goals["orientation_softness"] = FREE
        goals["joint"], goals["position"], goals["orientation"] = (
            joints,
            frames.positions[joints],
            frames.orientations[joints],
        )
        return goals

    def _inside(self, pose: Pose, source: Pose) -> Pose:
        """Return the pose with every joint inside its limits; bringing one inside may take another one out."""
        if self._limits is None:
            return pose
        body, none = self.body, np.zeros((1, 0), GOAL)
        roles = [role for role in body.roles if role in self._limits]
        at_start = body.canonical(source[0])
        slack = self._limits.slack(roles, at_start.rotations[[at_start.index(role) for role in roles]]).max(axis=-1)
        for _ in range(CLAMPS):
            posture = body.canonical(pose)
            over = self._limits.excess(roles, posture.rotations[[posture.index(role) for role in roles]])
            if (over <= slack + INSIDE).all():
                break
            rows = Pose(pose.translation[None], pose.rotations[None], _rows(pose.offsets))
            pose = self._pulls.pulled(rows, none, self._pulls.logs, 0, source)[0][0]
        return pose

    def _goals(self, requested: Requested, feet: Feet) -> Records:
        """Return goals (1, G) of `GOAL`: those of the targets, which must be met, then those of feet that stand."""
        body, goals = self.body, np.zeros((1, len(requested) + len(feet)), GOAL)
        goals["orientation_softness"], goals["orientation"][..., 0] = -1.0, 1.0
        softness = [(EXACT, EXACT)] * len(requested) + [(FOOT_PLACED, FOOT_ORIENTED)] * len(feet)
        parts = [(role, *pair) for role, pair in requested.items()] + [(role, p, q) for role, (p, q, _) in feet.items()]
        for k, (role, position, orientation) in enumerate(parts):
            goal = goals[0, k]
            goal["joint"], goal["position"], goal["position_softness"] = body.roles[role], position, softness[k][0]
            goal["fixed"] = k < len(requested)
            if orientation is not None:
                goal["orientation"] = multiply(orientation, body.neutral_orientation(role))
                goal["orientation_softness"] = softness[k][1]
        return goals

    def _pulled(self, pose: Pose, goals: Records, source: Pose) -> tuple[Pose, bool]:
        """Return the pose with its parts at their goals by least squares, and whether limits stopped a joint."""
        limited, skeleton = False, self.body.skeleton
        rotated = goals["orientation_softness"][0] == EXACT
        pulled = Pose(pose.translation[None], pose.rotations[None], _rows(pose.offsets))
        for _ in range(ROUNDS):
            least = 3 if rotated.any() or not goals["fixed"].all() else 0
            options: dict[str, Any] = {"min_iterations": least, "close": CLOSE}
            pulled, _, stopped = self._pulls.pulled(pulled, goals, self._pulls.logs, ITERATIONS, source, **options)
            limited = bool(stopped[0])
            if not rotated.any():
                break
            there = skeleton.forward(pulled).orientations[0, goals["joint"][0]]
            if (angle(there, goals["orientation"][0])[rotated] < CLOSE).all():
                break
        return pulled[0], limited

    def _solution(
        self, pose: Pose, requested: Requested, planted: tuple[str, ...], limited: bool, *, invalid: bool = False
    ) -> AutoPoseSolution:
        """Return the solution: errors are measured on the pose that is returned."""
        body, errors, rotated = self.body, {}, {}
        frames = body.skeleton.forward(pose)
        for role, (position, orientation) in requested.items():
            joint = body.roles[role]
            errors[role] = math.inf if invalid else float(np.linalg.norm(frames.positions[joint] - position))
            if orientation is not None:
                there = body.canonical_orientation(frames, joint)
                rotated[role] = math.inf if invalid else float(angle(there, orientation))
        worst, most = max(errors.values(), default=0.0), max(rotated.values(), default=0.0)
        status = Status.LIMITS if limited else Status.UNREACHABLE
        if worst <= MET and most <= MET:
            status = Status.REACHED
        status = Status.INVALID if invalid else status
        return AutoPoseSolution(pose, status, np.array(worst), np.array(most), errors, rotated, planted)


Requested = Mapping[str, tuple[Floats, Any]]
"""Part to position (3,) [m] and orientation (4,), canonical, or None."""
Feet = Mapping[str, tuple[Floats, Floats, bool]]
"""Feet that stand: position, orientation, and whether it stays there."""
IDENTITY = np.array([1.0, 0.0, 0.0, 0.0])


def _target(body: Humanoid, role: str, given: Target | ArrayLike) -> tuple[Floats, Floats | None]:
    """Return (position (3,) [m], canonical orientation (4,) or None) of a part's target."""
    if role not in body.roles:
        raise UnknownNameError("part of this body", role, tuple(body.roles))
    target = given if isinstance(given, Target) else Target(given)
    if target.pole is not None:
        raise PosableError(f"the target of {role!r} has a pole; give the elbow or the knee a target of its own")
    position, orientation = floats(target.position, f"position of {role!r}"), None
    if position.shape != (3,):
        raise ShapeError(f"the position of {role!r} has shape {position.shape}; expected (3,)")
    orientation_given = target.orientation if target.world_orientation is None else target.world_orientation
    if orientation_given is not None:
        orientation = floats(orientation_given, f"orientation of {role!r}")
        if orientation.shape != (4,):
            raise ShapeError(f"the orientation of {role!r} has shape {orientation.shape}; expected (4,)")
        size = float(np.linalg.norm(orientation))
        orientation = normalize(orientation) if math.isfinite(size) and size > 1e-150 else np.full(4, np.nan)
        if target.world_orientation is not None:
            orientation = multiply(orientation, conjugate(body.neutral_orientation(role)))
    return position, orientation


def _joined(one: CanonicalPose, other: CanonicalPose, was: CanonicalPose, keep: float) -> CanonicalPose:
    """Return the posture `other` with so much of how `was` differs from `one`, joint by joint."""

    def mixed(a: Floats, b: Floats, c: Floats) -> Floats:
        return np.asarray(multiply(b, exp(keep * log(multiply(conjugate(a), c)))))

    spines = [posture.spine for posture in (one, other, was)]
    assert spines[0] is not None and spines[1] is not None and spines[2] is not None
    bends = mixed(*(spine.bends for spine in spines))  # type: ignore[union-attr]
    shape = SpineShape(spines[0].roles, spines[0].at, spines[0].chest, bends)
    rotations = mixed(one.rotations, other.rotations, was.rotations)
    return CanonicalPose(was.roles, rotations, other.hips + keep * (was.hips - one.hips), shape)


def _eased(s: float) -> float:
    """Return a fraction that goes from 0 at 0 to 1 at 1, from rest to rest."""
    s = min(max(s, 0.0), 1.0)
    return s * s * (3.0 - 2.0 * s)


def _rows(offsets: Floats | None) -> Floats | None:
    return None if offsets is None else offsets[None]
