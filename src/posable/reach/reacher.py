"""`Reacher`: a hand goes exactly to its target and the body goes with it, the way a behaviour says."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..body.collision.clearance import clearance
from ..body.collision.obstacles import SelfCollision
from ..body.limb.aim import canonical_target
from ..body.limb.kernels import READING
from ..body.limb.results import PlaceSolution
from ..compute import PosableError, ShapeError, expect, number
from ..compute.arrays import floats
from ..compute.types import ArrayLike, Floats, Records
from ..limb import Target
from ..limb.model import LIMB
from ..limb.solution import TargetLike
from ..skeleton import Pose
from .animate import Duration, ReachMotion, ReachStep, Targets, animate
from .answers import HandAnswer, ReachAnswer, reach_answer
from .behaviour import ARMS, Behaviour
from .interpolation import CONSTANT
from .kernels import bend_rows
from .meshes import keep_out_of_meshes
from .model import OPTIONS, TOLD, Figure, Rows
from .prepare import drive_rows, driven_joints, figure_of, legs_of, styles_of
from .stream import ArmStep, Fractions, ReachStream

if TYPE_CHECKING:
    from ..body import Humanoid
    from ..collision import Scene

BLOCK = 8192  # rows a call of the kernel: scratch for a million bodies at once would not fit


class Reacher:
    """Whole-body reaching (Kallmann 2008, Overall Method). Immutable; behaviours are taken as they are when it is made.

    Args:
        body: who reaches.
        right: how the body goes with the right hand; None: that hand is not used.
        left: the same for the left hand.
        scene: what to keep out of. Its meshes are asked from Python, a pose at a time.
        self_collision: whether the arm keeps out of the body, and the body out of itself.
        feet: whether both feet stay where they stood.
        hips: whether the behaviour may move and turn the hips; False for somebody who sits.
        gaze: how far the head turns to the target, from 0 to 1.
        extend: whether to take more of the behaviour than the distance asks for when the arm is too short. It reaches
            further, and the body may then move faster than its target does: at the rim of what can be reached, and
            leap where a target goes behind the body. So it is off unless asked for.
        handedness: what both hands drive goes with the right one (1), with the left (0), or between.
        margin: to keep away from the scene [m].
        allowed_contacts: things of the scene that the hands may touch.
    """

    def __init__(
        self,
        body: Humanoid,
        right: Behaviour | None = None,
        left: Behaviour | None = None,
        scene: Scene | None = None,
        *,
        self_collision: bool = True,
        feet: bool = True,
        hips: bool = True,
        gaze: float = 0.0,
        extend: bool = False,
        handedness: float = 0.5,
        margin: float = 0.0,
        allowed_contacts: str | Collection[str] = (),
    ) -> None:
        self._check(right, left, gaze, handedness, margin)
        self.body, self.scene, self.right, self.left = body, scene, right, left
        self.self_collision, self.margin, self.allowed_contacts = self_collision, margin, allowed_contacts
        behaviours = [behaviour for behaviour in (right, left) if behaviour is not None]
        parts = {part for behaviour in behaviours for part in behaviour.parts}
        parts |= {"neck", "head"} if gaze > 0.0 else set()
        parts -= set() if hips else {"hips"}
        joints = driven_joints(body, parts)
        self._figure = figure_of(
            body, drive_rows(body, joints), [one.limb for one in behaviours], scene, self_collision
        )
        self._legs, self._styles = legs_of(body), styles_of(body, (right, left), joints, hips)
        self._clearance = clearance(body, [one.limb for one in behaviours], self_collision=False)
        self._leg_joints = int((self._legs.models["last_driven"] - self._legs.models["first_driven"]).max())
        self._options = self._packed_options(feet, extend, gaze, handedness)
        self._guided = any(key.search is not None for behaviour in behaviours for key in behaviour.keys)

    def solve(
        self,
        right: TargetLike | None = None,
        left: TargetLike | None = None,
        *,
        start: Pose | None = None,
        weight: float | None = None,
    ) -> ReachAnswer:
        """The body that reaches, one or a batch.

        Args:
            right: where the right hand goes, in the world; its pole says where the elbow turns to.
            left: where the left hand goes.
            start: the pose to reach from, one or a batch; the neutral pose when not given.
            weight: exactly so much of the behaviour, from 0 to 1, instead of what the distance asks for.
        """
        start = self.body.neutral_pose if start is None else start
        targets = self._check_call(start, right, left)
        if weight is not None and not 0.0 <= weight <= 1.0:
            raise PosableError(f"weight is {weight}; expected from 0 to 1")
        return self._solve(start, targets, weight)

    def stream(
        self, fps: float = 60.0, *, start: Pose | None = None, settle: float = 0.25, speed: float = math.pi
    ) -> ReachStream:
        """The reacher with memory, for targets that move.

        Args:
            fps: steps a second, where a step does not say its time.
            start: the pose to reach from; the neutral pose when not given.
            settle: [s] in which the body joins in when a hand gets its first target.
            speed: the fastest turn of an elbow about the line from shoulder to hand [rad/s].
        """
        return ReachStream(self, fps, start, settle, speed)

    def animate(
        self,
        right: TargetLike | None = None,
        left: TargetLike | None = None,
        *,
        steps: Sequence[ReachStep] = (),
        start: Pose | None = None,
        fps: float = 60.0,
        duration: Duration | None = None,
        hold: float = 0.0,
        speed: float = math.pi,
        progress: Callable[[float], None] | None = None,
    ) -> ReachMotion:
        """The motion in which the hands go straight to their targets, with the bell-shaped speed of human reaching.

        Args:
            right: where the right hand goes; its orientation is come to on the shorter way.
            left: where the left hand goes; both arrive together.
            steps: a sequence of reaches, instead of the two.
            start: the pose in which it begins; the neutral pose when not given.
            fps: frames a second.
            duration: [s] of a reach, or a function of its distance [m]: `Pace` (the default: 0.6 m/s in the mean, at
                least 0.25 s), `Fitts`, or your own.
            hold: [s] to stay at the target.
            speed: as for `stream`.
            progress: called with the share done, 0 to 1.
        """
        if right is not None or left is not None:
            if steps:
                raise PosableError("give right= and left=, or steps=, not both")
            steps = [ReachStep(right, left, hold)]
        return animate(self.stream(fps, start=start, speed=speed), steps, duration, progress)

    def _solve(
        self,
        start: Pose,
        targets: tuple[Target | None, Target | None],
        weight: float | Fractions | None = None,
        arms: Sequence[ArmStep | None] = (None, None),
    ) -> ReachAnswer:
        """`solve`, of what is known to be right; with streams of the arms, one step of them."""
        shapes = [start.shape, *_shapes(targets[0]), *_shapes(targets[1])]
        shape = np.broadcast_shapes(*shapes) if any(shapes) else ()
        n = math.prod(shape)
        bent = [
            self._bend(shape, start, targets, weight, slice(first, min(first + BLOCK, n)))
            for first in range(0, max(n, 1), BLOCK)
        ]
        told = _joined([rows.told for rows in bent]).reshape(shape)
        pose = Pose(
            _joined([rows.translation[1] for rows in bent]).reshape(*shape, 3),
            _joined([rows.rotations[1] for rows in bent]).reshape(*shape, start.joint_count, 4),
            None if start.offsets is None else np.broadcast_to(start.offsets, (*shape, start.joint_count, 3)),
        )
        hands: list[HandAnswer | None] = [None, None]
        for side, target in enumerate(targets):
            if target is not None:
                searches = None
                if self._guided:
                    searches = _joined([rows.searches[side] for rows in bent]).reshape(*shape, 5)
                to_move = (ARMS[1],) if side == 0 and targets[1] is not None else ()
                placed = self._place(side, pose, target, searches, arms[side], to_move)
                pose, hands[side] = placed.pose, HandAnswer(placed, told, side)
        return reach_answer(pose, start, told, hands[0], hands[1])

    def _place(
        self,
        side: int,
        pose: Pose,
        target: Target,
        searches: Floats | None,
        arm: ArmStep | None,
        to_move: Collection[str],
    ) -> PlaceSolution:
        """One arm of the bent body, solved as any arm is.

        `to_move` is the arm that is solved after it. Where that still hangs is in nobody's way: it will go elsewhere,
        and keep out of this one.
        """
        return self.body.limb(ARMS[side]).place(
            pose,
            target,
            scene=self.scene,
            self_collision=self.self_collision,
            margin=self.margin,
            allowed_contacts=self.allowed_contacts,
            leave_out=to_move,
            searches=searches,
            **({} if arm is None else arm._asdict()),
        )

    def _bend(
        self,
        shape: tuple[int, ...],
        start: Pose,
        targets: tuple[Target | None, Target | None],
        weight: float | Fractions | None,
        block: slice,
    ) -> Rows:
        """The body of some rows of a batch: bent, its feet held, its arms still as at the start."""
        rows = self._bent(shape, start, targets, weight, block)
        if self.scene is not None and self.scene.has_meshes:

            def again(i: int, x: float) -> Rows:
                return self._bent(shape, start, targets, weight, slice(block.start + i, block.start + i + 1), x)

            keep_out_of_meshes(rows, again, self._clearance, self.scene, self.margin)
        return rows

    def _bent(
        self,
        shape: tuple[int, ...],
        start: Pose,
        targets: tuple[Target | None, Target | None],
        weight: float | Fractions | None,
        block: slice,
        most: float = 0.0,
    ) -> Rows:
        """`_bend` without meshes; `most` is the largest adjustment of the weight to try, below 0 it is lowered."""
        options, styles = self._options[targets[0] is not None, targets[1] is not None], self._styles
        if most != 0.0 or weight is not None:
            options = options.copy()
            options["most"] = most
        if isinstance(weight, Fractions):
            options["right_share"], options["left_share"] = weight
            options["gaze"] *= max(s for s, target in zip(weight, targets, strict=True) if target is not None)
        elif weight is not None:
            options["extend"] = 0
            header = styles.header.copy()
            header["weight"], header["k"] = CONSTANT, weight
            header["furthest_swing"] = 4.0  # beyond every swing: no fading
            styles = styles._replace(header=header)
        figure = self._figure
        if self.scene is not None:
            figure = figure._replace(around=self.scene.packed)  # things may have moved
        rows = self._rows(figure, shape, start, targets, block)
        bend_rows(len(rows.told), options, tuple(figure), tuple(self._legs), tuple(styles), tuple(rows))
        return rows

    def _rows(
        self,
        figure: Figure,
        shape: tuple[int, ...],
        start: Pose,
        targets: tuple[Target | None, Target | None],
        block: slice,
    ) -> Rows:
        """Some rows as the kernel takes them: what is given, what comes out, and scratch between."""
        n, joints, driven = block.stop - block.start, start.joint_count, len(figure.drive)
        goals = np.zeros((2, n, 3))
        for side, target in enumerate(targets):
            if target is not None:
                goals[side] = _spread(target.position, shape, 3)[block]
        translation, rotations = np.empty((2, n, 3)), np.empty((2, n, joints, 4))
        translation[0] = _spread(start.translation, shape, 3)[block]
        rotations[0] = _spread(start.rotations, shape, joints, 4)[block]
        offsets = np.empty((0, joints, 3))
        if start.offsets is not None:
            offsets = np.ascontiguousarray(_spread(start.offsets, shape, joints, 3)[block])
        contacts = len(figure.pairs) + len(figure.outside) * len(figure.around)
        return Rows(
            goals,
            translation,
            rotations,
            np.empty((2, n, joints, 3)),
            np.empty((2, n, joints, 4)),
            offsets,
            np.empty((n, driven, 4)),
            np.empty((n, driven)),
            np.empty((n, 4)),
            np.empty((n, contacts), np.bool_),
            np.empty((n, len(figure.volumes), 4)),
            np.empty((2, n, self._styles.keys.shape[1])),
            np.empty((2, n, 5)),
            np.empty((2, n), LIMB),
            np.empty((2, n), READING),
            np.empty((2, n, self._leg_joints, 4)),
            np.empty((2, n, 7)),
            np.zeros(n, TOLD),
        )

    def _packed_options(
        self, feet: bool, extend: bool, gaze: float, handedness: float
    ) -> dict[tuple[bool, bool], Records]:
        """The row of `OPTIONS` for a call that has a target for the right hand, for the left, or for both."""
        row, roles = np.zeros(1, OPTIONS), self.body.roles
        row["feet"], row["extend"], row["gaze"], row["handedness"] = feet, extend, gaze, handedness
        row["right_share"] = row["left_share"] = 1.0
        row["margin"], row["softness"] = (
            self.margin,
            SelfCollision.of(self.body).softness if self.self_collision else 0.0,
        )
        row["hips"], row["head"], row["neck"] = roles["hips"], roles["head"], roles.get("neck", -1)
        for letter, role in (("h", "hips"), ("k", "head")):
            for axis, value in zip("wxyz", self.body.neutral_orientation(role), strict=True):
                row[f"{letter}{axis}"] = value
        made = {}
        for hands in ((True, False), (False, True), (True, True)):
            made[hands] = row.copy()
            made[hands]["right"], made[hands]["left"] = hands
        return made

    @staticmethod
    def _check(right: Behaviour | None, left: Behaviour | None, gaze: float, handedness: float, margin: float) -> None:
        for side, behaviour in (("right", right), ("left", left)):
            if behaviour is not None:
                expect(Behaviour, behaviour, f"{side}=")
            if behaviour is not None and behaviour.limb != f"{side}_arm":
                raise PosableError(f"{side}= is a behaviour of the {behaviour.limb}; `mirrored()` makes the other one")
        if right is None and left is None:
            raise PosableError("a reacher needs a behaviour: right=, left= or both")
        for name, value in (("gaze", gaze), ("handedness", handedness)):
            if not 0.0 <= number(value) <= 1.0:
                raise PosableError(f"{name} is {value}; expected from 0 to 1")
        if not 0.0 <= number(margin) < math.inf:
            raise PosableError(f"margin is {margin} m; expected 0 or more")

    def _check_call(self, start: Pose, right: TargetLike | None, left: TargetLike | None) -> Targets:
        """Return the targets with canonical orientations; raise a `PosableError` where a call cannot be meant."""
        expect(Pose, start, "start", "; that of a motion is motion[frame]")
        if start.joint_count != len(self.body.skeleton):
            raise ShapeError(f"start has {start.joint_count} joints; this body has {len(self.body.skeleton)}")
        if right is None and left is None:
            raise PosableError("give at least one target: right=, left=")
        for side, target, behaviour in (("right", right, self.right), ("left", left, self.left)):
            if target is not None and behaviour is None:
                raise PosableError(f"{side}= has a target, and this reacher no behaviour for that hand")
        body = self.body
        made = [None if t is None else canonical_target(body, arm, t) for t, arm in zip((right, left), ARMS)]
        return made[0], made[1]


def _joined(arrays: list[Floats]) -> Floats:
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)


def _shapes(target: Target | None) -> list[tuple[int, ...]]:
    """The batch shapes of a target's parts."""
    shapes = []
    if target is not None:
        expect(Target, target, "the target", ": Target(position, orientation)")
    for name, columns in (("position", 3), ("orientation", 4), ("pole", 3)):
        value = None if target is None else getattr(target, name)
        if value is not None:
            shapes.append(floats(value, f"the target's {name}", columns).shape[:-1])
    return shapes


def _spread(array: ArrayLike, shape: tuple[int, ...], *columns: int) -> Floats:
    """Rows of a batch, broadcast over the leading axes."""
    given = np.asarray(array, dtype=np.float64)
    if given.shape != (*shape, *columns):
        given = np.broadcast_to(given, (*shape, *columns))
    return given.reshape(-1, *columns)
