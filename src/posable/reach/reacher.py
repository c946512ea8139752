"""`Reacher`: a hand goes exactly to its target and the body goes with it, as a behaviour describes."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..body.collision.clearance import SelfCollision, bending_changes, clearance, limb_links, spared
from ..body.limb.body_limb import canonical_target
from ..body.packed import PackedBody
from ..compute import PosableError, ShapeError, Status, expect, number
from ..compute.gpu_arrays import GpuArray, contiguous, first_on_gpu, wrapped
from ..compute.types import ArrayLike, Bools, Floats, Ints, Records, floats, zero_records
from ..limb import Target
from ..limb.solution import TargetLike
from ..skeleton import Frames, Pose
from .behaviour import ARMS, Behaviour
from .filling import fill_rows
from .kernels import SETTLED, first_adjustment, next_adjustment, reach_rows
from .motion import TARGET_FIELDS, ArmStep, Due, Duration, ReachStep, ReachStream, Targets, animate
from .naming import as_array, body_contact, contacts_of
from .packed import (
    ALL,
    BEND,
    COMPARE,
    JUDGE,
    OPTIONS,
    RESULT,
    Body,
    Rows,
    driven_joints,
    empty_rows,
    link_ranges,
    pack_body,
    pack_styles,
)
from .posture import CONSTANT
from .solutions import HandSolution, ReachMotionSolution, ReachSolution
from .stepping import BISECTIONS, FEET, STEP, STEPS, Stances, Standing, stances_for, stand

if TYPE_CHECKING:
    from ..body import Humanoid
    from ..body.collision.clearance import LimbLinks
    from ..collision import Scene
    from ..limits import Limits

NEARER = 1e-6  # [m]: of two bodies that do not reach, the nearer one is better by this
BLOCK, BLOCK_ON_GPU = 8192, 1 << 16  # rows a call of the kernel: scratch for a million bodies would not fit
NO_ROWS = {columns: np.empty((0, columns)) for columns in (3, 4)}  # of a part of a target that was not given


class Reacher:
    """Whole-body reaching (Kallmann 2008, Overall Method). Immutable; behaviours are taken as they are when it is made.

    Args:
        body: who reaches.
        right: the behaviour of the right hand; default None, that hand is not used.
        left: the same for the left hand; default None.
        scene: obstacles, default none. Its meshes are tested from Python, a pose at a time.
        self_collision: whether the arm stays out of the body, and the body out of itself; default True.
        limits: "body" (default): the body's own joint limits; None: none; or other ones.
        feet: whether both feet stay where they stood; default True. "step": where a target cannot be reached so, a foot
            steps towards it, or the heels lift (`reach.stepping`).
        hips: whether the behaviour may move and rotate the hips (default True); False for somebody who sits.
        gaze: the fraction of the rotation towards the target that the head takes, from 0 (default) to 1.
        extend: whether to take more of the behaviour than its weight requests when an arm is too short (`reach.need`);
            default True.
        handedness: weight of the right hand in parts that both hands drive, from 0 to 1; default 0.5.
        margin: distance to stay away from the scene [m]; default 0.
        allowed_contacts: names of the scene's obstacles that the hands may touch; default none.
    """

    def __init__(
        self,
        body: Humanoid,
        right: Behaviour | None = None,
        left: Behaviour | None = None,
        scene: Scene | None = None,
        *,
        self_collision: bool = True,
        limits: Limits | str | None = "body",
        feet: bool | str = True,
        hips: bool = True,
        gaze: float = 0.0,
        extend: bool = True,
        handedness: float = 0.5,
        margin: float = 0.0,
        allowed_contacts: str | Collection[str] = (),
    ) -> None:
        self._check(right, left, gaze, handedness, margin)
        body.require_person("Reacher")
        if not isinstance(feet, bool | int | str) or feet not in FEET.values():
            raise PosableError(f"feet is {feet!r}; expected True (they stay), False (they move along) or {STEP!r}")
        self.steps = feet == STEP
        self.body, self.scene, self.right, self.left = body, scene, right, left
        self.self_collision, self.limits, self.margin = self_collision, limits, margin
        self.allowed_contacts = (allowed_contacts,) if isinstance(allowed_contacts, str) else tuple(allowed_contacts)
        behaviours = [behaviour for behaviour in (right, left) if behaviour is not None]
        parts = {part for behaviour in behaviours for part in behaviour.parts}
        parts |= {"neck", "head"} if gaze > 0.0 else set()
        parts -= set() if hips else {"hips"}
        joints, arms = driven_joints(body, parts), [behaviour.limb for behaviour in behaviours]
        packed = body.packed if isinstance(limits, str) and limits == "body" else PackedBody(body, limits)
        self._arms = tuple(body.limb(arm, limits=limits) for arm in ARMS)
        self._body = pack_body(packed, joints, arms, scene, self_collision)
        self._styles = pack_styles(body, body.limits_for(limits), (right, left), joints, hips)
        self._clearance = clearance(body, arms, self_collision=False)
        self._limb_joints = int((self._body.limbs["last_driven"] - self._body.limbs["first_driven"]).max())
        guided = any(key.search is not None for behaviour in behaviours for key in behaviour.keys)
        self._options = self._packed_options(bool(feet), extend, guided, gaze, handedness)
        self._prepared: dict[Any, Records] = {}
        self._spare: list[Rows] = []
        self._hands: tuple[tuple[LimbLinks, ...], Records, Records] | None = None

    def __repr__(self) -> str:
        hands = " and ".join(name for name in ("right", "left") if getattr(self, name) is not None)
        return f"Reacher({self.body!r}, {hands} hand)"

    def solve(
        self,
        right: TargetLike | None = None,
        left: TargetLike | None = None,
        *,
        start: Pose | None = None,
        weight: float | None = None,
    ) -> ReachSolution:
        """Return the body that reaches, one or a batch.

        Args:
            right: of the right hand in the world: a `Target`, whose elbow points towards its pole, or positions
                (..., 3) [m]; default None, the hand is not used.
            left: of the left hand; default None.
            start: the pose to reach from, one or a batch; by default the neutral pose. Of starts on a GPU the fingers
                count as straight where the body must not touch itself.
            weight: of the behaviour, from 0 to 1; by default the one of the target's distance.
        """
        start = self.body.neutral_pose if start is None else start
        targets = self._checked(start, right, left)
        return self._solve(start, targets, _checked_weight(weight))

    def stream(
        self,
        fps: float = 60.0,
        *,
        start: Pose | None = None,
        settle: float = 0.25,
        speed: float = math.pi,
        weight: float | None = None,
    ) -> ReachStream:
        """Return the reacher with memory, for targets that move.

        Args:
            fps: steps a second, where a step has no time of its own.
            start: the pose to reach from; the neutral pose when not given.
            settle: [s] in which the body joins in when a hand gets its first target; default 0.25.
            speed: the largest angular speed of an elbow about the line from shoulder to hand [rad/s]; default pi.
            weight: of the behaviour, from 0 to 1; default None, that of each target's distance.
        """
        return ReachStream(self, fps, start, settle, speed, _checked_weight(weight))

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
        weight: float | None = None,
        progress: Callable[[float], None] | None = None,
    ) -> ReachMotionSolution:
        """Return the motion in which the hands go straight to their targets, with the bell-shaped speed of human
        reaching.

        Args:
            right: of the right hand: a `Target` or a position (3,) [m]; its orientation is reached on the shorter arc;
                default None.
            left: of the left hand; default None. Both arrive together.
            steps: a sequence of reaches, instead of the two; default none.
            start: the pose in which it begins; by default the neutral pose.
            fps: frames a second; default 60.
            duration: [s] of a reach, or a function of its distance [m]: `Pace` (the default: 0.6 m/s in the mean, at
                least 0.25 s), `Fitts`, or your own.
            hold: [s] to stay at the target; default 0.
            speed: largest angular speed of an elbow [rad/s], as for `stream`; default pi.
            weight: of the behaviour once the first target is reached, from 0 to 1; it grows to it on the way there.
                By default, None, that of each target's distance.
            progress: called with the fraction done, 0 to 1; default none.
        """
        if right is not None or left is not None:
            if steps:
                raise PosableError("give right= and left=, or steps=, not both")
            steps = [ReachStep(right, left, hold)]
        return animate(self.stream(fps, start=start, speed=speed, weight=weight), steps, duration, progress)

    def _solve(
        self,
        start: Pose,
        targets: Targets,
        weight: float | None = None,
        due: Due | None = None,
        arms: Sequence[ArmStep | None] = (None, None),
    ) -> ReachSolution:
        """Do `solve` with checked targets; with streams of the arms, one step of them."""
        shapes = [start.shape, *_shapes(targets[0]), *_shapes(targets[1])]
        shape = np.broadcast_shapes(*shapes) if any(shapes) else ()
        call = _Call(shape, start, targets, weight, due, arms, _first_on_gpu(start, targets))
        if call.like is not None:
            self._check_on_gpu(call)
        found = self._find(call)
        standing = None
        if self.steps and not any(arms):
            stood, _ = self._step(call, found)
            standing = stood.step.reshape(*shape, 3), stood.heels.reshape(*shape, 2)
        result = found.result.reshape(shape)
        pose = Pose(
            found.translation.reshape(*shape, 3),
            found.rotations.reshape(*shape, start.joint_count, 4),
            None if start.offsets is None else np.broadcast_to(wrapped(start.offsets), (*shape, start.joint_count, 3)),
        )
        right, left = (
            None if target is None else HandSolution(result, side, found.jumped[side])
            for side, target in enumerate(targets)
        )
        contact = as_array(found.contact, shape) if call.like is None else None
        return ReachSolution(pose, result, (right, left), contact, self.body, standing)

    def _check_on_gpu(self, call: _Call) -> None:
        """Raise where a call with arrays on a GPU needs a look at each row from Python."""
        if self.scene is not None and self.scene.has_meshes:
            raise PosableError("among meshes, a Reacher needs arrays of the CPU: meshes are tested there, pose by pose")
        if self.steps:
            raise PosableError(f"feet={STEP!r} needs arrays of the CPU: where to step is looked for there, row by row")
        if any(call.arms) or call.due is not None:
            raise PosableError("a stream of reaches needs arrays of the CPU: it takes one target after the other")

    def _find(self, call: _Call) -> _Found:
        """Solve a call with both feet where they stand, in blocks."""
        n, jumped = math.prod(call.shape), [False, False]
        if call.like is not None:
            return self._find_on_gpu(call, n)
        blocks = [self._block(call, block, jumped) for block in self._blocks(call, n)]
        body = self._body if self.scene is None else self._among(self.scene)
        found = _Found(
            _joined([rows.translation[1] for rows in blocks]),
            _joined([rows.rotations[1] for rows in blocks]),
            blocks[0].result if len(blocks) == 1 else np.concatenate([rows.result for rows in blocks]),
            [pair for rows in blocks for pair in contacts_of(self, body, rows)],
            jumped,
        )
        if self._may_reuse(n, call) and not any(call.arms):
            self._spare.append(blocks[0])
        return found

    def _find_on_gpu(self, call: _Call, n: int) -> _Found:
        """Solve a call whose rows lie on a GPU; the names of what touches stay unknown, since they are Python's."""
        assert call.like is not None
        floats_of = call.like.floats
        result, made = zero_records((n,), RESULT, call.like), []
        body = self._with_hands(call, 0, self._body if self.scene is None else self._among(self.scene))
        for first in range(0, max(n, 1), BLOCK_ON_GPU):
            block = slice(first, min(first + BLOCK_ON_GPU, n))
            rows = self._run(body, call, block, ALL, result=result[block])
            made.append([rows.translation[1].astype(floats_of), rows.rotations[1].astype(floats_of)])
        translation, rotations = (
            parts[0] if len(parts) == 1 else np.concatenate(parts) for parts in zip(*made, strict=True)
        )
        return _Found(translation, rotations, result, [], [False, False])

    def _blocks(self, call: _Call, n: int) -> list[slice]:
        """Return the n rows of a call in blocks, in each of which the fingers of all starts are bent alike."""
        edges = {*range(0, n, BLOCK), n}
        if call.start.shape and self.body.fingers:
            joints = call.start.joint_count
            edges |= {*bending_changes(self.body, _spread(call.start.rotations, call.shape, joints, 4)).tolist()}
        return [slice(*pair) for pair in pairwise(sorted(edges))] or [slice(0, 0)]

    def _may_reuse(self, n: int, call: _Call) -> bool:
        """Return whether the rows of a call may be those of an earlier one: making them takes as long as a reach."""
        return n == 1 and self.scene is None and call.start.offsets is None and call.like is None

    def _step(self, call: _Call, found: _Found) -> tuple[Standing, Stances | None]:
        """Solve the rows of a call that are not reached from other stances, in `found`.

        Returns:
            How all rows stand, and the stances of those that could not be reached with the feet where they stood.
        """
        n, status = len(found.result), found.result["status"]
        step, heels = np.zeros((n, 3)), np.zeros((n, 2))
        rows = np.flatnonzero((status != Status.REACHED) & (status != Status.INVALID))
        stood = Standing(call.start, np.ones(n, np.bool_), step, heels)
        if len(rows) == 0:
            return stood, None
        stances = stances_for(self.body, *_rows_of(call, rows))
        efforts = np.zeros(len(rows))

        def attempt(which: Ints, effort: Floats | float) -> tuple[Bools, Standing, _Found]:
            """Return whether some of the rows stand and reach with an effort, and how."""
            few = _rows_of(call, rows[which])
            standing = stand(self.body, few[0], stances.rows(which).with_effort(effort))
            solved = self._find(call._replace(shape=(len(which),), start=standing.pose, targets=few[1]))
            # A stance is the start of its own reach: what it has run into would be allowed.
            pose = Pose(solved.translation, solved.rotations, few[0].offsets)
            clear = [pair is None for pair in self._new_contacts(few[0], pose, call.targets)]
            standing = standing._replace(ok=standing.ok & np.array(clear, np.bool_))
            return standing.ok & (solved.result["status"] == Status.REACHED), standing, solved

        def take(which: Ints, effort: Floats | float, chosen: Bools, standing: Standing, solved: _Found) -> None:
            at = rows[which[chosen]]
            efforts[which[chosen]] = effort if np.ndim(effort) == 0 else np.asarray(effort)[chosen]
            found.translation[at], found.rotations[at] = solved.translation[chosen], solved.rotations[chosen]
            found.result[at], step[at], heels[at] = solved.result[chosen], standing.step[chosen], standing.heels[chosen]
            for i, k in zip(at.tolist(), np.flatnonzero(chosen).tolist(), strict=True):
                found.contact[i] = solved.contact[k]

        low, high = np.zeros(len(rows)), np.full(len(rows), np.inf)
        for k in range(1, STEPS + 1):
            which = np.flatnonzero(np.isinf(high))
            if len(which) == 0:
                break
            reached, standing, solved = attempt(which, k / STEPS)
            before = found.result["position_error"][rows[which]].max(axis=-1)
            nearer = standing.ok & (solved.result["position_error"].max(axis=-1) < before - NEARER)
            take(which, k / STEPS, reached | nearer, standing, solved)
            high[which[reached]], low[which[~reached]] = k / STEPS, k / STEPS
        which = np.flatnonzero(np.isfinite(high))
        for _ in range(BISECTIONS if len(which) else 0):
            middle = 0.5 * (low[which] + high[which])
            reached, standing, solved = attempt(which, middle)
            take(which, middle, reached, standing, solved)
            high[which], low[which] = np.where(reached, middle, high[which]), np.where(reached, low[which], middle)
        return stood, stances.with_effort(efforts)

    def _new_contacts(self, before: Pose, after: Pose, targets: Targets) -> list[tuple[str, str] | None]:
        """Return, a row of bodies (N, ...), the names of two that did not touch before, or less deep; None where there
        are none. The arms that reach are left out: their own search keeps them clear.
        """
        scene, found = self.scene, []
        body = self._body if scene is None else self._among(scene)
        options = self._options_for(targets).copy()
        options["stage"] = COMPARE
        for first in range(0, before.shape[0], BLOCK):
            one, other = before[first : first + BLOCK], after[first : first + BLOCK]
            offsets = np.empty((0, one.joint_count, 3)) if one.offsets is None else np.ascontiguousarray(one.offsets)
            rows = empty_rows(one.shape[0], body, self._styles, self._limb_joints, offsets)
            rows.translation[0], rows.rotations[0] = one.translation, one.rotations
            rows.translation[1], rows.rotations[1] = other.translation, other.rotations
            reach_rows(one.shape[0], options, tuple(body), tuple(self._styles), tuple(rows))
            found += [None if k < 0 else body_contact(self, body, k) for k in rows.result["contact"].tolist()]
        if scene is not None and scene.has_meshes:
            forward, clear = self.body.skeleton.forward, np.array([pair is None for pair in found], np.bool_)
            hit = self._clearance.touches_meshes(forward(after), scene, self.margin, clear)
            hit &= ~self._clearance.touches_meshes(forward(before), scene, self.margin, hit)
            found = [
                body_contact(self, body, -1) if touches else pair for touches, pair in zip(hit, found, strict=True)
            ]
        return found

    def _stance(self, start: Pose, targets: Targets, weight: float | None) -> Stances | None:
        """Return the stance (1 row) from which one body reaches its targets; None where its feet can stay."""
        call = _Call((), start, targets, weight, None, (None, None))
        stances = self._step(call, self._find(call))[1] if self.steps else None
        return None if stances is None or stances.effort[0] == 0.0 else stances

    def _block(self, call: _Call, block: slice, jumped: list[bool]) -> Rows:
        """Solve some rows of a call: in one kernel, or with the arms from Python where meshes or streams need it."""
        scene = self.scene
        body = self._with_hands(call, block.start, self._body if scene is None else self._among(scene))
        with_meshes = scene is not None and scene.has_meshes
        if not (with_meshes or any(call.arms)):
            return self._run(body, call, block, ALL)
        rows = self._run(body, call, block, BEND)
        if scene is not None and with_meshes:

            def bend(i: int, x: float) -> Rows:
                return self._run(body, call, slice(block.start + i, block.start + i + 1), BEND, x)

            self._lower_out_of_meshes(rows, bend, scene)
        self._place_hands(rows, call, jumped)
        options = self._options_for(call.targets).copy()
        options["stage"] = JUDGE
        reach_rows(len(rows.result), options, tuple(body), tuple(self._styles), tuple(rows))
        return rows

    def _run(
        self,
        body: Body,
        call: _Call,
        block: slice,
        stage: int,
        adjustment: float = math.nan,
        result: Records | None = None,
    ) -> Rows:
        """Run the kernel on some rows; `adjustment`: the largest one of the weight to try, NaN for what is needed;
        `result`: where to write it.
        """
        shape, start, targets, weight, due, _, like = call
        options, styles = self._options_for(targets), self._styles
        if stage != ALL or weight is not None or due is not None:
            options = options.copy()
            options["stage"], options["adjustment"] = stage, adjustment
        if due is not None:
            options["fractions"], options["extensions"] = due.weights, due.extensions
            options["gaze"] *= max(f for f, target in zip(due.extensions, targets, strict=True) if target is not None)
        if weight is not None:
            options["extend"] = 0
            header = styles.header.copy()
            header["weight"], header["k"] = CONSTANT, weight
            header["furthest_swing"] = 4.0  # beyond every swing: no fading
            styles = styles._replace(header=header)
        joints, n = start.joint_count, block.stop - block.start
        try:
            rows = self._spare.pop() if self._may_reuse(math.prod(shape), call) else None
        except IndexError:
            rows = None
        if rows is None:
            offsets = np.empty((0, joints, 3))
            if start.offsets is not None:
                offsets = contiguous(_spread(start.offsets, shape, joints, 3)[block])
            rows = empty_rows(n, body, styles, self._limb_joints, offsets, result, like)
        else:
            rows = rows.with_new_result()
        begin = _some(start.translation, shape, block, 3), _some(start.rotations, shape, block, joints, 4)
        right, left = (_target_rows(target, shape, block) for target in targets)
        fill_rows(n, begin, right, left, rows.translation, rows.rotations, rows.work)
        reach_rows(n, options, tuple(body), tuple(styles), tuple(rows))
        return rows

    def _lower_out_of_meshes(self, rows: Rows, bend: Callable[[int, float], Rows], scene: Scene) -> None:
        """Lower the weight of rows whose bent body touches a mesh that it did not touch at the start, to the edge.

        The kernel's own line search with verdicts from Python, which tests meshes a pose at a time. `bend` returns one
        row at another adjustment of its weight.
        """

        def touches(some: Rows, which: int, where: Bools) -> Bools:
            """Return whether (n,) the body of the start (0) or of the solution (1) touches a mesh."""
            frames = Frames(self.body.skeleton, some.positions[which], some.orientations[which])
            return self._clearance.touches_meshes(frames, scene, self.margin, where)

        result = rows.result
        hit = touches(rows, 1, result["status"] == Status.REACHED)
        hit &= ~touches(rows, 0, hit)
        for i in np.flatnonzero(hit).tolist():
            state = next_adjustment(first_adjustment(float(result["adjustment"][i])), False)
            while state[0] != SETTLED:
                tried = bend(i, state[1])
                result["tried"][i] += 1
                state = next_adjustment(state, not touches(tried, 1, np.ones(1, np.bool_))[0])
            found = bend(i, state[1])
            for name in ("translation", "rotations", "positions", "orientations"):
                getattr(rows, name)[1, i] = getattr(found, name)[1, 0]
            for name in ("adjustment", "weight"):
                result[name][i] = found.result[name][0]
            result["reason"][i] = Status.COLLISION

    def _place_hands(self, rows: Rows, call: _Call, jumped: list[bool]) -> None:
        """Place the hands of bent bodies with `BodyLimb.place`, as the kernel does where no mesh or stream is there."""
        start, targets = call.start, call.targets

        def given(array: Any) -> Any:
            return array if call.shape else array[0]

        for side, target in enumerate(targets):
            if target is None:
                continue
            work, arm = rows.work, call.arms[side]
            placed = self._arms[side].place(
                Pose(
                    given(rows.translation[1]),
                    given(rows.rotations[1]).copy(),
                    None if start.offsets is None else given(rows.offsets),
                ),
                Target(
                    given(work["position"][:, side]),
                    None if target.orientation is None else given(work["orientation"][:, side]),
                    None if target.pole is None else given(work["pole"][:, side]),
                ),
                scene=self.scene,
                self_collision=self.self_collision,
                margin=self.margin,
                allowed_contacts=self.allowed_contacts,
                # An arm that is solved later is in nobody's path: it will move, and stay out of this one.
                leave_out=(ARMS[1],) if side == 0 and targets[1] is not None else (),
                searches=given(work["search"][:, side]) if self._options["guided"][0] else None,
                measure=False,
                **({} if arm is None else arm._asdict()),
            )
            rows.rotations[1] = placed.pose.rotations
            result, jumped[side] = rows.result, placed.jumped
            result["hand_status"][:, side], result["swivel"][:, side] = placed.status, placed.swivel
            result["position_error"][:, side] = placed.position_error
            result["orientation_error"][:, side] = placed.report["orientation_error"]

    def _with_hands(self, call: _Call, row: int, body: Body) -> Body:
        """Return the body with fingers bent as in the pose that a row reaches from."""
        if not self.body.fingers or not math.prod(call.shape):
            return body
        if first_on_gpu(wrapped(call.start.rotations)) is not None:
            return body
        start = call.start.rotations
        bent = _spread(start, call.shape, call.start.joint_count, 4)[row] if call.start.shape else start
        hands = tuple(limb_links(self.body, arm, bent) for arm in ARMS)
        if self._hands is None or self._hands[0] != hands:
            links, groups = np.concatenate([one.links for one in hands]), np.stack([one.groups for one in hands])
            self._hands = hands, links, groups
        return body._replace(links=self._hands[1], groups=self._hands[2])

    def _among(self, scene: Scene) -> Body:
        """Return the body among the scene's obstacles, where they are now."""
        around = right = left = scene.packed
        if self.allowed_contacts:
            right, left = (
                spared(scene, self.allowed_contacts, int(limb_links(self.body, arm).groups[2]["bits"])) for arm in ARMS
            )
        return self._body._replace(around=around, around_right=right, around_left=left)

    def _options_for(self, targets: Targets) -> Records:
        """Return the row of `OPTIONS` for a call with these targets; it is shared by all such calls."""
        key = tuple((t is not None, t and t.orientation is not None, t and t.pole is not None) for t in targets)
        if key not in self._prepared:
            row = self._options.copy()
            row["hands"], row["oriented"], row["poles"] = np.array(key, np.bool_).T
            hands = (targets[0] is not None, targets[1] is not None)
            row["links"], row["own"] = link_ranges(self.body, hands, self.self_collision)
            self._prepared[key] = row
        return self._prepared[key]

    def _packed_options(self, feet: bool, extend: bool, guided: bool, gaze: float, handedness: float) -> Records:
        """Return the row of `OPTIONS` that all calls have in common."""
        row, roles = np.zeros(1, OPTIONS), self.body.roles
        row["stage"], row["feet"], row["extend"], row["guided"] = ALL, feet, extend, guided
        row["gaze"], row["handedness"], row["adjustment"] = gaze, handedness, math.nan
        row["fractions"] = row["extensions"] = 1.0
        row["margin"] = self.margin
        row["softness"] = SelfCollision.of(self.body).softness if self.self_collision else 0.0
        row["hips"], row["head"], row["neck"] = roles["hips"], roles["head"], roles.get("neck", -1)
        row["hips_neutral"] = self.body.neutral_orientation("hips")
        row["head_neutral"] = self.body.neutral_orientation("head")
        return row

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

    def _checked(self, start: Pose, right: TargetLike | None, left: TargetLike | None) -> Targets:
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


class _Found(NamedTuple):
    """The rows of a call, solved."""

    translation: Floats
    """(N, 3)."""
    rotations: Floats
    """(N, J, 4)."""
    result: Records
    """(N,) of `RESULT`."""
    contact: list[Any]
    jumped: list[bool]


class _Call(NamedTuple):
    """One call of a reacher."""

    shape: tuple[int, ...]
    """Of the batch."""
    start: Pose
    targets: Targets
    weight: float | None
    due: Due | None
    arms: Sequence[ArmStep | None]
    like: GpuArray | None = None
    """An array of it on a GPU, where its rows then lie."""


def _first_on_gpu(start: Pose, targets: Targets) -> GpuArray | None:
    """Return the first array of a call that lies on a GPU; None where there is none."""
    parts = [getattr(target, name) for target in targets if target is not None for name, _ in TARGET_FIELDS]
    return first_on_gpu(*map(wrapped, (start.translation, start.rotations, start.offsets, *parts)))  # type: ignore[no-any-return]


def _checked_weight(weight: float | None) -> float | None:
    """Return the weight itself; raise where it is none."""
    if weight is not None and not 0.0 <= number(weight) <= 1.0:
        raise PosableError(f"weight is {weight}; expected from 0 to 1")
    return weight


def _rows_of(call: _Call, rows: Ints) -> tuple[Pose, Targets]:
    """Return the starting poses and the targets of some rows of a call."""
    start, shape = call.start, call.shape
    joints = start.joint_count
    offsets = None if start.offsets is None else _spread(start.offsets, shape, joints, 3)[rows]
    pose = Pose(
        _spread(start.translation, shape, 3)[rows], _spread(start.rotations, shape, joints, 4)[rows].copy(), offsets
    )
    targets = [
        None
        if target is None
        else Target(
            *(
                None if getattr(target, name) is None else _spread(getattr(target, name), shape, columns)[rows]
                for name, columns in TARGET_FIELDS
            )  # type: ignore[arg-type]
        )
        for target in call.targets
    ]
    return pose, (targets[0], targets[1])


def _joined(arrays: list[Floats]) -> Floats:
    """Return the rows of all blocks, copied: what they are in may be used again."""
    return arrays[0].copy() if len(arrays) == 1 else np.concatenate(arrays)


def _shapes(target: Target | None) -> list[tuple[int, ...]]:
    """Return the batch shapes of a target's parts."""
    shapes = []
    for name, columns in TARGET_FIELDS if target is not None else ():
        value = getattr(target, name)
        if value is not None:
            shapes.append(floats(value, f"the target's {name}", columns).shape[:-1])
    return shapes


def _spread(array: ArrayLike, shape: tuple[int, ...], *columns: int) -> Floats:
    """Return the rows of a batch, broadcast over the leading axes."""
    given = floats(array, "an array of the call")
    if given.shape != (*shape, *columns):
        given = np.broadcast_to(given, (*shape, *columns))
    return given.reshape(-1, *columns)


def _some(array: ArrayLike, shape: tuple[int, ...], block: slice, *columns: int) -> Floats:
    """Return some rows of a batch, or the one row where all are the same."""
    given = floats(array, "an array of the call")
    if given.ndim == len(columns):
        return contiguous(given.reshape(1, *columns))  # type: ignore[no-any-return]
    return contiguous(_spread(given, shape, *columns)[block])  # type: ignore[no-any-return]


def _target_rows(target: Target | None, shape: tuple[int, ...], block: slice) -> tuple[Floats, ...]:
    """Return position, orientation and pole of a target for some rows; no rows of what was not given."""
    given = ((None if target is None else getattr(target, name), columns) for name, columns in TARGET_FIELDS)
    return tuple(NO_ROWS[columns] if part is None else _some(part, shape, block, columns) for part, columns in given)
