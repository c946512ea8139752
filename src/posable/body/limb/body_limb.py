"""`BodyLimb`: an arm or a leg of a body, between its own frame and poses of the body in the world."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ...compute import PosableError, ShapeError, Status, expect, number
from ...compute.arguments import explained
from ...compute.types import ArrayLike, Floats, Ints, Records, floats
from ...limb import Limb, LimbObstacles, LimbSolution, Search, Target, as_target
from ...limb.limb import Collides, Preferred, common_shape
from ...limb.model import SIDES, named_values
from ...limb.nearest_clear import INSIDE
from ...limb.solution import Constrained, TargetLike
from ...limb.solve import REPORT
from ...limb.stream import LimbStream
from ...limits import Limits
from ...math import conjugate, from_matrix, multiply
from ...skeleton import Frames, Pose, Skeleton
from ...skeleton.solution import PoseSolution
from ..collision.clearance import bending_changes, limb_links, limb_obstacles
from ..packed import attach
from .kernels import CORRECTIONS, EXACT, PLACED, READING, SHORTEST, aim_rows, pose_rows, put_rows, read_rows
from .measured import MORE, ROUNDS, UNSEEN, Touching, touching

if TYPE_CHECKING:
    from ...collision import Scene
    from ...limb import LimbRange
    from ..humanoid import Humanoid
    from .meshes import LimbAgainstMeshes

Put: TypeAlias = tuple[Floats, Records, Records, Records]  # rotations, errors, reports, what is kept

REQUESTED = (("position", 3), ("orientation", 4), ("pole", 3))
NOTHING_REQUESTED = {columns: np.empty((0, columns)) for _, columns in REQUESTED}


@dataclass(frozen=True, eq=False)
class LimbReading:
    """A limb as it is in a pose, in the limb's frame."""

    position: Floats
    """(..., 3) [m]: of the hand or foot joint."""
    orientation: Floats
    """(..., 4): of the hand or foot; the identity at zero posture."""
    swivel: Floats
    """(...) [rad]."""
    values: Floats
    """(..., 7) [rad], named by `LIMB_VALUES`: the posture, as far as the seven values can express it."""
    remainders: Floats
    """(..., K, 4): the rest of the rotation of each joint of the limb; `pose` puts it back."""

    @property
    def flexion(self) -> Floats:
        """(...) [rad]: how far the elbow or knee is bent; 0 when straight, never negative."""
        return np.abs(self.values[..., 3])

    def named(self) -> dict[str, Floats]:
        """Return the values by their `LIMB_VALUES`, (...) [rad] each; the flexion is 0 when straight."""
        return named_values(self.values)


@dataclass(frozen=True, eq=False, repr=False)
class PlaceSolution(PoseSolution, Constrained):
    """A body with a hand or a foot put at a target, or a batch of them."""

    report: Records
    """(...) rows of `limb.solve.REPORT`, as the solver wrote them."""
    inside: Records
    """(...) rows of `limb.nearest_clear.INSIDE`: what the returned posture keeps."""
    jumped: bool = False
    """Whether the elbow or knee jumped; only a stream can report it."""

    @property
    def swivel(self) -> Floats:
        """(...) [rad]."""
        return np.asarray(self.report["swivel"])

    @property
    def tests(self) -> Ints:
        """(...): swivels tested."""
        return np.asarray(self.report["tests"])


@dataclass(frozen=True, eq=False)
class _Both:
    """A test of the user's own, then that of meshes."""

    own: Collides
    meshes: LimbAgainstMeshes

    def __call__(self, values: Floats, swivel: float) -> bool | int:
        return self.own(values, swivel) or self.meshes(values, swivel)

    def whole(self, values: Floats, swivel: float) -> bool | int:
        """Return `LimbAgainstMeshes.whole`, after the user's own."""
        return self.own(values, swivel) or self.meshes.whole(values, swivel)


@explained
class BodyLimb(Limb):
    """A limb that knows its body: made by `Humanoid.limb`.

    Where a rig spreads the twist of a bone over several joints, each carries a fraction by its position along the bone.
    """

    def __init__(
        self,
        body: Humanoid,
        name: str,
        limits: Limits | None,
        search: Search | None = None,
        reference: str = "transport",
    ) -> None:
        self.body = body
        base, mid, end = body.limb_joints(name)
        at = body.neutral_frames.positions
        upper, lower = (float(np.linalg.norm(at[b] - at[a])) for a, b in ((base, mid), (mid, end)))
        super().__init__(name, upper, lower, limits=limits, search=search, reference=reference)
        self._driven = body.packed.driven
        attach(body, name, self.packed)
        self._driven_count = int(self.packed["last_driven"][0] - self.packed["first_driven"][0])  # its end aside

    def read(self, pose: Pose, frames: Frames | None = None) -> LimbReading:
        """Return the limb as it is in a pose or a batch of them."""
        frames = self.body.skeleton.forward(pose) if frames is None else frames
        n, count = math.prod(pose.shape), len(self.body.skeleton)
        out, rest = np.zeros(n, READING), np.empty((n, self._driven_count, 4))
        positions, orientations = frames.positions.reshape(n, count, 3), frames.orientations.reshape(n, count, 4)
        read_rows(n, self._model(pose, frames), self._driven, positions, orientations, out, rest)
        row, rest = out.reshape(pose.shape), rest.reshape(*pose.shape, *rest.shape[1:])
        return LimbReading(row["position"], row["orientation"], row["swivel"], row["values"], rest)

    def pose(self, pose: Pose, values: ArrayLike, reading: LimbReading | None = None) -> Pose:
        """Return the pose with this limb at `values` (..., 7) [rad]; the rig's remainders stay as they are.

        Args:
            pose: one, or a batch with the shape of the values.
            values: as `solve` gives them.
            reading: `read(pose)`, when it is at hand already.
        """
        skeleton = self.body.skeleton
        given = floats(values, "the values", 7)
        shape = common_shape(pose.shape, given.shape[:-1])
        pose = spread(pose, shape)
        frames = skeleton.forward(pose)
        reading = self.read(pose, frames) if reading is None else reading
        n, count = math.prod(shape), len(skeleton)
        rotations = pose.rotations.reshape(n, count, 4).copy()
        joint_orientations = frames.orientations.reshape(n, count, 4).copy()
        rows = np.ascontiguousarray(np.broadcast_to(given, (*shape, 7))).reshape(n, 7)
        driven = self._driven_count
        rest = np.broadcast_to(reading.remainders, (*shape, driven, 4)).reshape(n, driven, 4)
        pose_rows(
            *(n, skeleton.packed, self._model(pose, frames), self._driven, rows),
            *(np.ascontiguousarray(rest), joint_orientations, rotations),
        )
        bad = ~np.isfinite(rows).all(axis=-1)
        if bad.any():  # as everywhere: values that are not finite leave the pose as it was
            rotations[bad] = pose.rotations.reshape(n, count, 4)[bad]
        return pose.replace(rotations=rotations.reshape(pose.rotations.shape))

    def obstacles(
        self,
        pose: Pose,
        scene: Scene | None = None,
        *,
        self_collision: bool = True,
        margin: float = 0.0,
        allowed_contacts: str | Collection[str] = (),
    ) -> LimbObstacles:
        """Return the obstacles of this limb in a pose: the rest of the body, and the primitives of a scene.

        Args:
            pose: one, or a batch; only the rest of the body matters, and fingers, those of the first pose.
            scene: obstacles in the world. Its meshes are not among them: `place` tests those separately.
            self_collision: whether the body's own volumes count.
            margin: to keep away from everything [m].
            allowed_contacts: obstacles of the scene that the hand or foot may touch.
        """
        names = (allowed_contacts,) if isinstance(allowed_contacts, str) else allowed_contacts
        _check_around(scene, margin)
        return self._around(pose, self.body.skeleton.forward(pose), scene, self_collision, margin, names)

    def place(
        self,
        pose: Pose,
        target: TargetLike,
        *,
        swivel: ArrayLike | None = None,
        preferred: Preferred | None = None,
        scene: Scene | None = None,
        self_collision: bool = False,
        margin: float = 0.0,
        allowed_contacts: str | Collection[str] = (),
        collides: Collides | None = None,
        limb_range: LimbRange | None = None,
        softness: float = 0.0,
        leave_out: Collection[str] = (),
        searches: Floats | None = None,
        stream: LimbStream | None = None,
        dt: float | None = None,
        fraction: float = 1.0,
        probe: bool = False,
        measure: bool = True,
    ) -> PlaceSolution:
        """Return the pose with this limb's end at a target in the world.

        The options up to `softness` are those of `Humanoid.place`; with meshes in the scene, a batch is worked through
        pose by pose. `leave_out` names limbs of the same body that are not in the way, because they are about to go
        elsewhere. `searches` (..., 5) [rad] has preferred, low, high, step and growth of each target's swivel search.
        With a `stream` of this limb (`stream(fps)`) the swivel continues from where it was, one pose after the other:
        `dt` [s] and `fraction` are as of its `step`. `probe`, with `swivel`: where that is not valid, do not search for
        the closest posture, which takes time. Without `measure` contacts are those that the search sees, for callers
        that judge whole bodies themselves.
        """
        target = as_target(target)
        if target.world_orientation is not None:
            target = target.canonical(self.packed["end_neutral"][0])
        aim = aim_at(self.body.skeleton, self.packed, self._driven, self._driven_count, pose, target)
        if stream is not None and aim.pose.shape:
            raise ShapeError(f"a stream takes one pose at a time; got a batch of shape {aim.pose.shape}")
        names = (allowed_contacts,) if isinstance(allowed_contacts, str) else allowed_contacts
        _check_around(scene, margin)
        if aim.pose.shape and self._needs_single_poses(aim.pose, scene, self_collision):
            one = partial(
                self.place,
                scene=scene,
                self_collision=self_collision,
                margin=margin,
                allowed_contacts=names,
                collides=collides,
                limb_range=limb_range,
                softness=softness,
                leave_out=leave_out,
                probe=probe,
                measure=measure,
            )
            return _one_by_one(one, aim.pose, target, swivel, preferred, searches)
        options: dict[str, Any] = {"collides": collides, "limb_range": limb_range, "softness": softness}
        for name, value in (("swivel", swivel), ("preferred", preferred), ("probe", probe or None)):
            if value is not None:  # a stream gives these itself
                options[name] = value
        if searches is not None:
            aim = aim.searching(searches)
            options.setdefault("preferred", searches[..., 0])
        seen: Touching | None = None
        if scene is not None or self_collision:
            options["obstacles"] = self._around(aim.pose, aim.frames, scene, self_collision, margin, names, leave_out)
            if measure:
                seen = touching(
                    self.body,
                    self.name,
                    scene,
                    self_collision=self_collision,
                    margin=margin,
                    allowed_contacts=names,
                    leave_out=leave_out,
                )
        if aim.starts is not None:
            options["preferred"] = aim.starts
        if scene is not None and scene.has_meshes:
            options["collides"] = self._against_meshes(
                *(aim.pose, aim.model, aim.world[0], scene, collides),
                margin=margin,
                allowed_contacts=names,
                fixed_end=aim.orientation is not None,
            )
        options["before"] = aim.reading["values"]
        options["wrist"], options["model"] = aim.reading["values"][:, 4:].reshape(*aim.pose.shape, 3), aim.model
        if stream is None:
            solution = self._solve(aim.position, aim.orientation, **options)
            return self._corrected(aim, solution, options, seen, swivel is None and not probe)
        step = stream.step(aim.position, aim.orientation, dt, fraction=fraction, **options)
        options.pop("preferred", None)
        return replace(self._corrected(aim, step, options, seen, False), jumped=bool(step.jumped))

    def _needs_single_poses(self, poses: Pose, scene: Scene | None, self_collision: bool) -> bool:
        """Return whether poses are solved one by one: meshes are tested so, and hands whose fingers bend differently
        have volumes of their own.
        """
        if scene is not None and scene.has_meshes:
            return True
        rotations = poses.rotations.reshape(-1, poses.joint_count, 4)
        return (scene is not None or self_collision) and len(bending_changes(self.body, rotations)) > 0

    def _corrected(
        self, aim: Aim, solution: LimbSolution, options: dict[str, Any], seen: Touching | None, search: bool
    ) -> PlaceSolution:
        """Return the body as the solution has it, with the status that its pose deserves; `search` may change it."""
        rotations, placed, report, inside = self._put(aim, solution, dict(options))
        if seen is not None:
            rotations, placed, report, inside = self._measured(
                aim, (rotations, placed, report, inside), options, seen, search
            )
        status: Any = placed["status"] if aim.pose.shape else Status(int(placed["status"]))
        pose = Pose(aim.pose.translation, rotations, aim.pose.offsets)
        return PlaceSolution(pose, status, placed["position_error"], placed["orientation_error"], report, inside)

    def _put(self, aim: Aim, solution: LimbSolution, options: dict[str, Any]) -> Put:
        """Return the limb as the solution has it, on its target even where the rig's bones are not straight lines.

        Some rigs (MakeHuman's) have joints along a bone that lie off its axis: as they hand out its twist, the hand
        moves by millimetres. That error is added to the aim, at the swivel found, until nothing is left of it.
        """
        report, inside, (rotations, placed) = solution.report, solution.inside, aim.put(solution)
        if not placed["position_error"].max(initial=0.0) <= EXACT:
            return self._on_target(aim, rotations, placed, report, inside, options)
        return rotations, placed, report, inside

    def _measured(self, aim: Aim, put: Put, options: dict[str, Any], seen: Touching, search: bool) -> Put:
        """Return what was put with contacts as the whole pose has them.

        Where it touches although the search saw nothing, the search keeps that much more distance; what then touches
        nothing is taken, if it reaches no less.
        """
        shape, n = aim.pose.shape, len(aim.goals)
        rotations = put[0].reshape(n, len(self.body.skeleton), 4).copy()
        placed, report, inside = (one.reshape(n).copy() for one in put[1:])
        deep = seen.depth(Pose(aim.pose.translation, put[0], aim.pose.offsets)).reshape(n)
        valid, near, more = placed["status"] != Status.INVALID, options["obstacles"], 0.0
        for _ in range(ROUNDS if search else 0):
            unseen = np.flatnonzero(valid & (deep > UNSEEN) & (inside["penetrates"] == 0))
            if not len(unseen):
                break
            more += float(deep[unseen].max()) + MORE
            some, again = aim.rows(unseen), _option_rows(options, unseen, n)
            obstacles = again["obstacles"]
            again["obstacles"] = replace(obstacles, margin=near.margin + more, softness=near.softness - more)
            tried = self._put(some, self._solve(some.position, some.orientation, **again), again)
            left = seen.depth(Pose(some.pose.translation, tried[0], some.pose.offsets))
            reached = (tried[1]["status"] == Status.REACHED) | (tried[1]["status"] == Status.SINGULAR)
            was = placed["status"][unseen]
            closest = ((was == Status.UNREACHABLE) | (was == Status.LIMITS)) & (tried[1]["status"] != Status.COLLISION)
            better = (left <= UNSEEN) & (reached | closest)
            rotations[unseen[better]], deep[unseen[better]] = tried[0][better], left[better]
            for rows, new in zip((placed, report, inside), tried[1:], strict=True):
                rows[unseen[better]] = new[better]
        touches, depths = valid & (deep > UNSEEN), inside["penetration"]
        if options.get("collides") is None:  # a test of the user's own, or of meshes, is not measured here
            clear = valid & ~touches & (placed["status"] != Status.COLLISION)
            depths = np.where(clear, 0.0, np.where(touches & (np.abs(depths - deep) > UNSEEN), deep, depths))
            inside["penetrates"] &= ~clear
        inside["penetration"] = np.where(touches, np.maximum(depths, UNSEEN), depths)
        inside["penetrates"] |= touches
        for row in (placed, report):
            wrong = touches & ((row["status"] == Status.REACHED) | (row["status"] == Status.SINGULAR))
            row["status"] = np.where(wrong, Status.COLLISION, row["status"])
        return rotations.reshape(put[0].shape), placed.reshape(shape), report.reshape(shape), inside.reshape(shape)

    def _on_target(
        self, aim: Aim, rotations: Floats, placed: Records, report: Records, inside: Records, options: dict[str, Any]
    ) -> Put:
        """(rotations, errors, reports, what is kept) after aiming again where the solver was right and the rig off."""
        position = aim.position
        for _ in range(CORRECTIONS):
            solved = (report["status"] == Status.REACHED) | (report["status"] == Status.SINGULAR)
            off = solved & (placed["position_error"] > EXACT)
            if not off.any():
                break
            position = position + np.where(off[..., None], placed["miss"], 0.0)
            if options.get("swivel") is None:
                options["preferred"] = report["swivel"]
            again = self._solve(position, aim.orientation, **options)
            tried, found = aim.put(again)
            better = off & (found["position_error"] < placed["position_error"])
            if not better.any():
                break
            rotations = np.where(better[..., None, None], tried, rotations)
            placed, report = np.where(better, found, placed), np.where(better, again.report, report)
            inside = np.where(better, again.inside, inside)
        return rotations, placed, report, inside

    @property
    def volumes(self) -> tuple[Records, Records]:
        """(links, groups) of the body's volumes on this limb, in the frames of its three joints."""
        made = limb_links(self.body, self.name)
        return made.links, made.groups

    def _among_meshes(self, scene: Scene, collides: Collides | None, fixed_end: bool) -> Collides:
        here = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0])  # the scene is in the limb's own frame
        return self._against_meshes(None, self.packed, here, scene, collides, fixed_end=fixed_end)

    def _around(
        self,
        pose: Pose,
        frames: Frames,
        scene: Scene | None,
        self_collision: bool,
        margin: float,
        allowed_contacts: Collection[str],
        leave_out: Collection[str] = (),
    ) -> LimbObstacles:
        made = limb_links(self.body, self.name, _first_rotations(pose))
        rows = limb_obstacles(
            self.body,
            self.name,
            frames,
            scene,
            self_collision=self_collision,
            allowed_contacts=allowed_contacts,
            leave_out=leave_out,
        )
        flat = rows.reshape(math.prod(rows.shape[:-1]), rows.shape[-1])
        if not self_collision:
            return LimbObstacles(made.links, made.groups, flat, margin)
        return LimbObstacles(made.links, made.groups, flat, margin, made.pairs, made.softness)

    def _against_meshes(
        self, pose: Pose | None, model: Records, world: Floats, scene: Scene, also: Collides | None, **options: Any
    ) -> Collides:
        """A test of postures against the meshes of a scene, after a test of the user's own; see `LimbAgainstMeshes`."""
        from .meshes import LimbAgainstMeshes

        meshes = LimbAgainstMeshes(
            limb_links(self.body, self.name, _first_rotations(pose)), model, world, scene, **options
        )
        return meshes if also is None else _Both(also, meshes)

    def _model(self, pose: Pose, frames: Frames) -> Records:
        """The limb as kernels read it: one row, or a row a pose where poses move joints and so change its bones."""
        if pose.offsets is None:
            return self.packed
        base, mid, end = (frames.positions[..., self.packed[name][0], :] for name in ("base", "mid", "end"))
        rows = np.repeat(self.packed, math.prod(pose.shape))
        rows["upper"] = np.maximum(np.linalg.norm(mid - base, axis=-1), SHORTEST).reshape(-1)
        rows["lower"] = np.maximum(np.linalg.norm(end - mid, axis=-1), SHORTEST).reshape(-1)
        return rows

    def frame(self, frames: Frames) -> tuple[Floats, Floats]:
        """(orientation (..., 4), origin (..., 3)) of the limb's frame in the world."""
        model = self.packed[0]
        carrier = multiply(frames.orientations[..., model["carrier"], :], conjugate(model["carrier_neutral"]))
        axes = from_matrix(np.array(SIDES[self.name].axes, dtype=np.float64).T)
        return multiply(carrier, axes), frames.positions[..., model["base"], :]


def _first_rotations(pose: Pose | None) -> Floats | None:
    """Return (J, 4) local rotations of the first pose, whose fingers are bent as those of all."""
    rotations = None if pose is None else pose.rotations.reshape(-1, pose.joint_count, 4)
    return None if rotations is None or not len(rotations) else rotations[0]


def _check_around(scene: Scene | None, margin: float) -> None:
    """Raise where a scene or a margin is something else."""
    if scene is not None:
        from ...collision import Scene

        expect(Scene, scene, "scene", ": Scene.load(path) reads one")
    if not 0.0 <= number(margin) < math.inf:
        raise PosableError(f"margin is {margin}; expected metres, 0 or more")


def _option_rows(options: dict[str, Any], which: Ints, n: int) -> dict[str, Any]:
    """Return options of a solve with n targets for some of them."""
    some = dict(options)
    for name, columns in (("before", (7,)), ("wrist", (3,)), ("model", ()), ("preferred", ())):
        rows = some.get(name)
        if isinstance(rows, np.ndarray) and rows.size == n * math.prod(columns):
            some[name] = rows.reshape(n, *columns)[which]
    if len(some["obstacles"].rows) == n:
        some["obstacles"] = replace(some["obstacles"], rows=some["obstacles"].rows[which])
    return some


def _one_by_one(
    solve: Callable[..., PlaceSolution],
    poses: Pose,
    target: Target,
    swivel: ArrayLike | None,
    preferred: Preferred | None,
    searches: Floats | None,
) -> PlaceSolution:
    """Place a batch one pose after the other."""
    shape = poses.shape
    rows: dict[str, Any] = {"swivel": swivel, "preferred": preferred}
    fixed = {name: value for name, value in rows.items() if value is None or callable(value)}
    rows = {name: np.broadcast_to(floats(rows[name], name), shape) for name in rows.keys() - fixed.keys()}
    given = [None if v is None else np.asarray(v) for v in (target.position, target.orientation, target.pole)]
    full = [None if v is None else np.broadcast_to(v, (*shape, v.shape[-1])) for v in given]
    found = [
        solve(
            poses[at],
            Target(*(None if v is None else v[at] for v in full)),  # type: ignore[arg-type]
            searches=None if searches is None else np.broadcast_to(searches, (*shape, 5))[at],
            **{name: row[at].item() for name, row in rows.items()},
            **fixed,
        )
        for at in np.ndindex(shape)
    ]
    return PlaceSolution(
        Pose.stack([one.pose for one in found]).reshape(*shape),
        np.array([one.status for one in found], np.int8).reshape(shape),
        np.array([one.position_error for one in found], np.float64).reshape(shape),
        np.array([one.orientation_error for one in found], np.float64).reshape(shape),
        np.array([one.report for one in found], REPORT).reshape(shape),
        np.array([one.inside for one in found], INSIDE).reshape(shape),
    )


@dataclass(frozen=True, eq=False, slots=True)
class Aim:
    """A target in the world, and the body it was given to, as the limb sees them: n rows of a batch."""

    skeleton: Skeleton
    driven: Records
    """The joints that the body's limbs rotate: `PackedBody.driven`."""
    pose: Pose
    offsets: Floats
    """(n, J, 3), or no rows."""
    positions: Floats
    """(n, J, 3) [m]."""
    orientations: Floats
    """(n, J, 4)."""
    model: Records
    reading: Records
    remainders: Floats
    world: Floats
    """(n, 7) position [m] and orientation of the limb's frame."""
    goals: Floats
    """(n, 3) [m] in the world."""
    goal_orientations: Floats
    """(n, 4) requested canonical orientations, or no rows."""
    position: Floats
    """(..., 3) in the batch's shape, as the next two."""
    orientation: Floats | None
    starts: Floats | None

    @property
    def frames(self) -> Frames:
        """Where the joints are before the limb is solved."""
        world = self.orientations.reshape(self.pose.rotations.shape)
        return Frames(self.skeleton, self.positions.reshape(*world.shape[:-1], 3), world)

    def put(self, solution: LimbSolution) -> tuple[Floats, Records]:
        """(rotations (..., J, 4) with the limb as the solution has it, errors (...) of `PLACED`)."""
        n, shape = len(self.goals), self.pose.shape
        rotations, placed = self.pose.rotations.reshape(self.orientations.shape).copy(), np.empty(n, PLACED)
        aimed = (self.goals, self.goal_orientations, self.offsets, self.positions, self.orientations)
        put_rows(
            *(n, (self.skeleton.packed, self.model, self.driven), (*aimed, self.reading, self.remainders)),
            *(solution.values.reshape(n, 7), rotations, solution.report.reshape(n), placed),
        )
        return rotations.reshape(self.pose.rotations.shape), placed.reshape(shape)

    def rows(self, which: Ints) -> Aim:
        """The same for some of the targets, as a batch of one axis."""
        n = len(self.goals)

        def some(array: Any) -> Any:
            return array[which] if len(array) == n else array

        def flat(array: Any, *columns: int) -> Any:
            return None if array is None else array.reshape(n, *columns)[which]

        pose, joints = self.pose, self.pose.rotations.shape[-2]
        return replace(
            self,
            pose=Pose(flat(pose.translation, 3), flat(pose.rotations, joints, 4), flat(pose.offsets, joints, 3)),
            **{
                name: some(getattr(self, name)) for name in ("offsets", "positions", "orientations", "model", "reading")
            },
            **{name: some(getattr(self, name)) for name in ("remainders", "world", "goals", "goal_orientations")},
            position=flat(self.position, 3),
            orientation=flat(self.orientation, 4),
            starts=flat(self.starts),
        )

    def searching(self, searches: Floats) -> Aim:
        """The same with a swivel search (..., 5) [rad] of its own for each target."""
        flat = searches.reshape(-1, 5)
        rows = np.repeat(self.model, len(flat)) if len(self.model) == 1 else self.model.copy()
        rows["preferred"], rows["low"], rows["high"] = flat[:, 0], flat[:, 1], np.maximum(flat[:, 1], flat[:, 2])
        rows["step"], rows["growth"] = np.maximum(flat[:, 3], 1e-3), np.maximum(flat[:, 4], 0.0)
        return replace(self, model=rows)


def aim_at(skeleton: Skeleton, packed: Records, driven: Records, driven_count: int, pose: Pose, target: Target) -> Aim:
    """Return everything that a target in the world requests, in the limb's frame.

    Args:
        skeleton: of the body.
        packed: (1,) the limb, as its kernels read it.
        driven: the joints that the body's limbs rotate.
        driven_count: how many of them this limb rotates.
        pose: one, or a batch that broadcasts with the target.
        target: in the world.
    """
    expect(Target, target, "the target", ": Target(position, orientation)")
    expect(Pose, pose, "the pose")
    given = [(name, getattr(target, name), columns) for name, columns in REQUESTED]
    requested = [None if value is None else floats(value, f"the target's {name}", size) for name, value, size in given]
    if requested[0] is None:
        raise PosableError("the target has no position; expected (..., 3) [m]")
    shape = pose.shape
    if any(array is not None and array.shape[:-1] != shape for array in requested):
        shape = common_shape(shape, *(array.shape[:-1] for array in requested if array is not None))
        pose = spread(pose, shape)
    n = math.prod(shape)
    translation, rotations, offsets = skeleton._flat(pose)
    goals, goal_orientations, poles = (
        NOTHING_REQUESTED[columns] if array is None else _rows(array, shape)
        for array, (_, columns) in zip(requested, REQUESTED, strict=True)
    )
    positions, orientations = np.empty((*rotations.shape[:-1], 3)), np.empty(rotations.shape)
    reading, remainders = np.empty(n, READING), np.empty((n, driven_count, 4))
    aims, aimed, starts = np.empty((n, 3)), np.empty(goal_orientations.shape), np.empty(len(poles))
    world = np.empty((n, 7))
    model = packed if pose.offsets is None else np.repeat(packed, n)
    found = (positions, orientations, reading, remainders, world, aims, aimed, starts)
    requested_rows = (goals, goal_orientations, poles)
    aim_rows(n, (skeleton.packed, model, driven), (translation, rotations, offsets), requested_rows, found)
    return Aim(
        *(skeleton, driven, pose, offsets, positions, orientations, model, reading, remainders, world),
        *(goals, goal_orientations),
        aims.reshape(*shape, 3),
        aimed.reshape(*shape, 4) if len(goal_orientations) else None,
        starts.reshape(shape) if len(poles) else None,
    )


def canonical_target(body: Humanoid, limb: str, target: TargetLike) -> Target:
    """Return a target of a limb's hand or foot with a canonical orientation; `target` may be positions (..., 3) [m]."""
    made = as_target(target)
    if made.world_orientation is None:
        return made
    return made.canonical(body.skeleton.forward(body.neutral_pose).orientations[body.limb_joints(limb)[2]])


def spread(pose: Pose, shape: tuple[int, ...]) -> Pose:
    """The pose repeated to a batch's shape."""
    if pose.shape == shape:
        return pose
    tail = pose.rotations.shape[-2:]
    offsets = None if pose.offsets is None else np.broadcast_to(pose.offsets, (*shape, tail[0], 3))
    return Pose(
        np.broadcast_to(pose.translation, (*shape, 3)), np.broadcast_to(pose.rotations, (*shape, *tail)), offsets
    )


def _rows(array: Floats, shape: tuple[int, ...]) -> Floats:
    """Return an array of a target as rows, one for each of a batch."""
    if array.shape[:-1] != shape:
        array = np.broadcast_to(array, (*shape, array.shape[-1]))
    return np.ascontiguousarray(array).reshape(-1, array.shape[-1])
