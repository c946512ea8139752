"""`AutoPose`: an artist drags some parts of a body, and the rest of it follows what people do.

The parts that were touched, and feet that stand, are what a network of whole bodies sees. It says where the others
are wished (`people`). The pose is the one of least cost (`autopose_kernels`): touched parts are at their targets, the
others near where they are wished, the softer the less sure the network is, joints near where they were before any part
was dragged, and inside their limits. So what the network does not know stays as it was. The last digits come from
damped least squares (`pull_kernels`), which meet the targets exactly.

From few parts there may be two poses of nearly the same cost, such as those of an elbow that can be on either side. A
solver that only knew the targets would have to leap from one to the other somewhere. So a drag goes on from the answer
to its last step (`before`): it stays with the pose that it has, and where that ends, as an elbow comes to its limit,
the body changes over within some steps, no part faster than `FASTEST` of what the targets move. That makes the answer
to a drag depend on its path where there are two. Undo and redo bring back poses, and do not ask again, so they find the
same end; without `before` the answer depends on start and targets alone.

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

from ..body.canonical import CanonicalPose
from ..compute import PosableError, ShapeError, Status, UnknownNameError, expect
from ..compute.extent import rows_in_extent
from ..compute.types import ArrayLike, Floats, Ints, Records, floats
from ..limb import Target
from ..math import angle, axis_angle, conjugate, exp, log, multiply, normalize
from ..reconstruct import Prior, SequentialIK
from ..skeleton import Pose
from ..skeleton.pose import are_poses
from ..skeleton.solution import PoseSolution
from .autopose_kernels import Anchors, settle_rows
from .bounds import Bounds, limit_shapes
from .clip import LEFT_ALONE, Clip, Parts, edited_dofs
from .dragging import Dragger
from .model import BOX, EXACT, GOAL, Pulls, Rows, Scratch, scratch
from .people import IDENTITY, Feet, People, Requested, Wish, eased
from .pull_kernels import pull_rows

if TYPE_CHECKING:
    from ..body import Humanoid
    from ..limits import Limits

MET = 1e-6  # [m], [rad]: a target that is nearer is met
CLOSE = 1e-7  # [m]: where the least squares end
ITERATIONS, GOING_ON, CLOSING = 40, 16, 24  # from the start, from an answer before, to the last digits
FIRST = 0.02  # of their pull targets have at first, where there is no answer to go on from
STOOD = 0.005  # of a leg: a foot that has moved less has stayed
PLACED, ORIENTED_AS = 0.005, 0.03  # softness of a foot that stands
SPREAD = {"spine": 0.35, "arm": 0.6, "leg": 0.6, "end": 0.3, "clavicle": 0.25, "root": 1.0, "still": 0.02}
"""How far [rad] joints easily go from where they were: those of the spine together, the others each."""
NEAR, MISSED = 0.01, 0.03  # of the joint height: what is left to targets is closed, or left alone
FASTEST, GLIDES = 3.0, 0.005  # of what the targets move, and of the joint height: how far parts go in a step of a drag
HOLDS = 4  # times that the fraction of the way to there is searched
CLOSES = 0.02  # of the joint height that parts are moved by the end, at most
INSIDE = 1e-9  # [rad]
CLAMPS = 40  # at most: a joint that is brought inside its limits may take another one out of its own
FLEXION = {"left_lower_arm": -1.0, "right_lower_arm": -1.0, "left_lower_leg": 1.0, "right_lower_leg": 1.0}
STRAIGHT = 0.15  # [rad]: knees and elbows that are bent by less are taken for bent so much at first


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
    targets: Mapping[str, Floats]
    """Part to the position (3,) [m] that was asked for."""
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
        self.body = body
        self._limits = body.limits_for(limits)
        skeleton, clavicles = body.skeleton, [body.roles[role] for role in LEFT_ALONE if role in body.roles]
        dofs = np.union1d(edited_dofs(body, tuple(body.roles)), np.flatnonzero(np.isin(skeleton.dofs.joint, clavicles)))
        # Of a bone in segments the first one rotates, which is the one that limits are about.
        others = [joint for chain in body.segments.values() for joint in chain[1:]]
        dofs = dofs[~np.isin(skeleton.dofs.joint[dofs], others)]
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
        self._spread = _spread(body, dofs)
        self._anchored = _anchored(body, dofs)
        self._people = People(body, prior, plant_feet)
        logs = np.log(np.maximum(self._spread, 1e-3))[None]
        self._pulls = Dragger(clip, 2.0 * logs, Bounds(packed, np.zeros(0, BOX), shapes, roles, self._limits))
        SequentialIK(body, prior=prior, limits=limits)  # so that a prior that cannot be read is told here

    def solve(
        self,
        targets: Mapping[str, Target | ArrayLike],
        start: Pose | None = None,
        before: AutoPoseSolution | None = None,
    ) -> AutoPoseSolution:
        """Return the pose in which every part is at its target and the rest does what people do.

        Args:
            targets: part to a `Target` in the world, its position [m] and maybe its orientation, or to a position (3,)
                alone. Any part of the body: all that were touched since `start`; a part that is left out is released.
            start: the pose before any part was touched; default the neutral pose. Targets where its parts are give it
                back.
            before: the answer to the last step of a drag, from which this one goes on, so that nothing leaps; default
                none. It decides which of two poses it is that are as good, and how fast the body changes from one to
                another: no part by more than `FASTEST` of what the targets move, and `GLIDES` of the joint height.
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
        if before is not None and (before.pose.shape or before.pose.joint_count != pose.joint_count):
            raise ShapeError(f"before has {before.pose.joint_count} joints; expected the answer of this body")
        if before is not None and before.status == Status.INVALID:
            before = None
        if not sound:
            return self._solution(
                pose, dict.fromkeys(requested, (np.full(3, np.nan), IDENTITY)), (), False, invalid=True
            )
        if not requested:
            return self._solution(pose, {}, (), False)
        frames = body.skeleton.forward(pose)
        was = {role: (frames.positions[j], body.canonical_orientation(frames, j)) for role, j in body.roles.items()}
        wishes, feet = self._people.drawn(was, requested)
        found, limited = self._settled(pose, requested, feet, self._records(wishes), before)
        there = body.skeleton.forward(found).positions
        standing = tuple(
            role
            for role, (p, _, stays) in feet.items()
            if stays and np.linalg.norm(there[body.roles[role]] - p) <= STOOD * body.leg_length
        )
        return self._solution(found, requested, standing, limited)

    # To the targets.

    def _settled(
        self, start: Pose, requested: Requested, feet: Feet, drawn: Records, before: AutoPoseSolution | None
    ) -> tuple[Pose, bool]:
        """Return the pose with all targets met, as far as limits and people allow, and whether limits stopped it."""
        body, count = self.body, len(requested)
        goals = self._goals(requested, feet)
        whole = np.concatenate([goals, drawn])[None]
        source = Pose(start.translation[None], start.rotations[None], _rows(start.offsets))
        begun = self._bent(start if before is None else before.pose)
        rows = self._pulls._rows(
            Pose(begun.translation[None].copy(), begun.rotations[None].copy(), source.offsets), whole, source
        )
        room = whole.shape[1] + 1 + len(self._pulls.bounds.shapes) // 3  # six rows each
        work = scratch(1, len(body.skeleton), len(body.skeleton.dofs), len(self._spread), room)
        anchors = Anchors(source.rotations, self._spread, self._anchored)
        edges = np.zeros((1, len(self._pulls.bounds.shapes), 2, 4))
        first, iterations = (FIRST, ITERATIONS) if before is None else (1.0, GOING_ON)
        settle_rows(1, self._pulls._rig, rows, anchors, first, iterations, edges, work)
        self._closed(rows, np.zeros((1, 0), GOAL), source, work)
        there = body.skeleton.forward(Pose(rows.translation[0], rows.rotations[0], start.offsets)).positions
        aims = goals[:count].copy()
        missed = [1.0 - eased((self._away(aim, there) - NEAR) / (MISSED - NEAR)) for aim in aims]
        if before is not None:
            there = self._slowed(rows, requested, there, before, source, work)
        for aim, part in zip(aims, missed, strict=True):
            here = there[aim["joint"]]
            aim["position"] = here + part * (aim["position"] - here)
        rest = goals[count:].copy()
        rest["position"], rest["fixed"] = there[rest["joint"]], 0
        limited = False
        for parts in (np.concatenate([aims, rest]), aims) if len(rest) else (aims,):
            stored = rows.translation.copy(), rows.rotations.copy()
            limited = self._closed(rows, parts[None], source, work)
            now = body.skeleton.forward(Pose(rows.translation[0], rows.rotations[0], start.offsets)).positions
            if np.linalg.norm(now - there, axis=-1).max() > CLOSES * body.joint_height:
                rows.translation[:], rows.rotations[:] = stored
            elif all(self._away(aim, now) * body.joint_height <= MET for aim in aims):
                break
        return self._inside(Pose(rows.translation[0], rows.rotations[0], start.offsets), source), limited

    def _bent(self, pose: Pose) -> Pose:
        """Return the pose with straight knees and elbows bent a little, to the side to which they bend: of a straight
        limb no small step tells which that is.
        """
        posture = self.body.canonical(pose).without_fingers()
        rotations = posture.rotations.copy()
        for role, sign in FLEXION.items():
            if role in posture.roles:
                k = posture.index(role)
                bent = sign * float(log(rotations[k])[0])
                rotations[k] = multiply(rotations[k], axis_angle([sign, 0.0, 0.0], max(STRAIGHT - bent, 0.0)))
        return self.body.pose(CanonicalPose(posture.roles, rotations, posture.hips, posture.spine), pose)

    def _away(self, goal: Any, there: Floats) -> float:
        """Return how far a part is from its goal [joint heights]."""
        return float(np.linalg.norm(goal["position"] - there[goal["joint"]])) / self.body.joint_height

    def _slowed(
        self,
        rows: Rows,
        requested: Requested,
        there: Floats,
        before: AutoPoseSolution,
        source: Pose,
        work: Scratch,
    ) -> Floats:
        """Let rows go no further from the answer before than parts may move, in place; return where they are."""
        skeleton, joints = self.body.skeleton, list(self.body.roles.values())
        was, one = skeleton.forward(before.pose).positions, before.pose
        moved = [p - before.targets.get(role, was[self.body.roles[role]]) for role, (p, _) in requested.items()]
        most = FASTEST * max(float(np.linalg.norm(m)) for m in moved) + GLIDES * self.body.joint_height
        far = float(np.linalg.norm(there - was, axis=-1)[joints].max())
        if far <= most:
            return there
        shift = rows.translation[0] - one.translation
        rotation, s = log(multiply(conjugate(one.rotations), rows.rotations[0])), most / far
        for k in range(HOLDS + 1):
            s = s if k < HOLDS else 0.0  # the answer before is inside the limits, what lies between may not be
            rows.translation[0] = one.translation + s * shift
            rows.rotations[0] = multiply(one.rotations, exp(s * rotation))
            self._closed(rows, np.zeros((1, 0), GOAL), source, work)
            there = skeleton.forward(Pose(rows.translation, rows.rotations, source.offsets)).positions[0]
            far = float(np.linalg.norm(there - was, axis=-1)[joints].max())
            if far <= most:
                break
            s *= 0.95 * most / far
        return there

    def _closed(self, rows: Rows, goals: Records, source: Pose, work: Scratch) -> bool:
        """Bring rows to goals that are near, in place; return whether limits stopped a joint."""
        errors, limited = np.zeros(goals.shape), np.zeros(1, np.int64)
        pulls = Pulls(self._pulls.logs, np.zeros(len(self._spread)), source.rotations, errors, limited)
        rows = rows._replace(goals=np.ascontiguousarray(goals))
        rotated = goals["orientation_softness"][0] == EXACT
        least = 3 if rotated.any() or not goals["fixed"].all() else 0
        pull_rows(1, self._pulls._rig, rows, pulls, least, CLOSING, CLOSE, work)
        return bool(limited[0])

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
        """Return goals (G,): those of the targets, which must be met, then those of feet that stand."""
        targets = [(role, p, EXACT, q, -1.0 if q is None else EXACT) for role, (p, q) in requested.items()]
        goals = self._records(targets + [(role, p, PLACED, q, ORIENTED_AS) for role, (p, q, _) in feet.items()])
        goals["fixed"][: len(requested)], goals["fixed"][len(requested) :] = 1, 2
        return goals

    def _records(self, parts: Sequence[Wish]) -> Records:
        """Return goals (G,) of parts: their position [m] and its softness, their orientation and its softness."""
        goals = np.zeros(len(parts), GOAL)
        goals["orientation"][:, 0] = 1.0
        for goal, (role, position, placed, orientation, rotated) in zip(goals, parts, strict=True):
            goal["joint"], goal["position"], goal["position_softness"] = self.body.roles[role], position, placed
            goal["orientation_softness"] = rotated
            if orientation is not None:
                goal["orientation"] = multiply(orientation, self.body.neutral_orientation(role))
        return goals

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
        positions = {role: position for role, (position, _) in requested.items()}
        worst, most = max(errors.values(), default=0.0), max(rotated.values(), default=0.0)
        status = Status.LIMITS if limited else Status.UNREACHABLE
        if worst <= MET and most <= MET:
            status = Status.REACHED
        status = Status.INVALID if invalid else status
        return AutoPoseSolution(pose, status, np.array(worst), np.array(most), errors, rotated, positions, planted)


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


def _spread(body: Humanoid, dofs: Ints) -> Floats:
    """Return how far [rad], [m] each DoF easily goes from where it was."""
    skeleton, roles = body.skeleton, {joint: role for role, joint in body.roles.items()}
    spine, root = list(body.spine)[1:], skeleton.path(body.roles["hips"])
    kinds = skeleton.dofs.kind
    out = np.full(len(dofs), SPREAD["end"])
    for k, d in enumerate(dofs.tolist()):
        joint = int(skeleton.dofs.joint[d])
        role = roles.get(joint, "")
        if joint in root:
            moves = kinds[d] == "translation" or joint == body.roles["hips"]
            out[k] = SPREAD["root"] if moves else SPREAD["still"]
        elif joint in spine:
            out[k] = SPREAD["spine"] / math.sqrt(len(spine))
        elif role.endswith("shoulder"):
            out[k] = SPREAD["clavicle"]
        elif role.endswith(("_arm", "_leg")):
            out[k] = SPREAD["arm" if role.endswith("_arm") else "leg"]
    return out


def _anchored(body: Humanoid, dofs: Ints) -> Ints:
    """Return (A, 3): the joints that are drawn back to where they were, `Anchors.joints`."""
    skeleton, hips = body.skeleton, body.roles["hips"]
    joints = skeleton.dofs.joint[dofs]
    rows = []
    for joint in np.unique(joints).tolist():
        rotating = [k for k in np.flatnonzero(joints == joint) if skeleton.dofs.kind[dofs[k]] == "rotation"]
        if joint != hips and rotating:
            rows.append((joint, rotating[0], len(rotating)))
    return np.array(rows, dtype=np.int64).reshape(-1, 3)


def _rows(offsets: Floats | None) -> Floats | None:
    return None if offsets is None else offsets[None]
