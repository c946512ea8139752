"""`Limb`: an arm or a leg, solved exactly in its own frame."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from ..collision.kernels import CAPSULE, GROUP, OBSTACLE
from ..collision.volumes import PACKED
from ..compute import PosableError, ShapeError, Status, UnknownNameError, expect, number
from ..compute.gpu_arrays import GpuArray, contiguous, empty, first_on_gpu, full, like_array, unwrapped, zeros
from ..compute.types import ArrayLike, Floats, Ints, Records, floats, zero_records
from ..limits import Limits
from .kernels import FOUND, advance, begin
from .model import LIMBS, SEARCHES, Search, allowed_bones, checked_search, flexion_range, limit_rows, pack_limb
from .nearest_clear import INSIDE, keep_rows
from .range.locate import EDGE, FACE, POINT, RANGE
from .requests import measure_rows, search_inside_rows, soften_rows
from .solution import LimbFrames, LimbSolution, nothing_to_keep
from .solve import FIXED, PROBE, REPORT, SEARCH, solve_rows

if TYPE_CHECKING:
    from ..collision import Scene
    from .range.limb_range import LimbRange
    from .solution import LimbTrackSolution
    from .stream import LimbStream
    from .swivel import Preference

NO_ORIENTATION = np.empty((0, 4))
STRAIGHT_WRIST = np.zeros(3)

plain_begin, plain_advance = getattr(begin, "py_func", begin), getattr(advance, "py_func", advance)
"""The search's machine as plain Python: a compiled call would cost more than its few comparisons."""

HOPELESS = 2
"""A result of `collides` instead of True: the limb touches at any swivel, so the search need not go on."""

Collides: TypeAlias = Callable[[Floats, float], bool | int]
Preferred: TypeAlias = "float | ArrayLike | Callable[[Floats], ArrayLike] | Preference"


@dataclass(frozen=True, eq=False)
class LimbObstacles:
    """Packed obstacles that the volumes of a limb must keep out of, in the limb's frame; see `BodyLimb.obstacles`."""

    links: Records
    """(L,) volumes of the limb, on its base, mid and end joint."""
    groups: Records
    """(3,) rows of `collision.kernels.GROUP`."""
    rows: Records
    """(1 or N, O) rows of `collision.kernels.OBSTACLE`."""
    margin: float = 0.0
    """Distance [m] to keep from them."""
    pairs: Ints = field(default_factory=lambda: np.zeros((0, 2), np.int64))
    """(P, 2) volumes of the limb that must keep out of each other, such as a hand and its upper arm."""
    softness: float = 0.0
    """[m] How far those may sink into each other."""

    def row(self, i: int) -> LimbObstacles:
        """Return those of target i alone."""
        return replace(self, rows=self.rows[i % len(self.rows)][None])


class _Job(NamedTuple):
    """Targets as the kernel reads them; all but the positions may have one row for all of them."""

    positions: Floats
    orientations: Floats
    swivels: Floats
    wrists: Floats
    model: Records

    def row(self, i: int) -> _Job:
        """Return target i alone."""

        def one(rows: Any) -> Any:
            return rows if len(rows) < 2 else rows[i : i + 1]

        return _Job(one(self.positions), one(self.orientations), one(self.swivels), one(self.wrists), one(self.model))

    def at(self, swivel: float) -> _Job:
        """Return the same targets at another swivel."""
        return self._replace(swivels=np.array([swivel]))


class Limb:
    """An arm or a leg of two bones: seven joint values for the position and orientation of its end effector.

    Positions and orientations are in the limb's own frame (`limb.model`); `Humanoid.limb` makes the limb of a body,
    which also reads poses and places hands in the world. Immutable; any number of threads may use it.

    Args:
        name: "right_arm", "left_arm", "right_leg" or "left_leg".
        upper: length of the upper bone [m].
        lower: length of the lower bone [m].
        limits: of the joints, canonical (`Limits.human()`); None, the default, does not limit.
        search: how the swivel is searched; by default with the specification's values.
        reference: "transport" (default) or "paper": where swivel 0 is, see `limb.kernels.reference`.
    """

    def __init__(
        self,
        name: str,
        upper: float,
        lower: float,
        *,
        limits: Limits | None = None,
        search: Search | None = None,
        reference: str = "transport",
    ) -> None:
        if name not in LIMBS:
            raise UnknownNameError("limb", name, LIMBS)
        if reference not in ("transport", "paper"):
            raise UnknownNameError("swivel reference", reference, ("transport", "paper"))
        for what, length in (("upper", upper), ("lower", lower)):
            if not 1e-6 < number(length) < 1e6:
                raise PosableError(f"the {what} bone is {length} m long; expected between 1e-6 and 1e6")
        self.name, self.upper, self.lower = name, float(upper), float(lower)
        self.limits, self.reference = limits, reference
        self.search = checked_search(search or SEARCHES["arm" if name.endswith("arm") else "leg"])
        self.limit_rows, self.curves = limit_rows(name, limits)
        self.packed: Records = pack_limb(
            name, self.upper, self.lower, (0.0, math.pi), reference == "paper", limits is not None, self.search
        )
        self.bones = np.empty((0, 4))
        if limits is not None:
            self.bones = allowed_bones(name, limits)
            low, high = flexion_range(name, limits, float(self.packed["flex"][0]))
            self.packed["flex_low"], self.packed["flex_high"] = low, high
        self._preferred = np.array(self.search.preferred, dtype=np.float64)

    def __repr__(self) -> str:
        return f"Limb({self.name!r}, upper={self.upper:.3f}, lower={self.lower:.3f})"

    @property
    def length(self) -> float:
        """The length of both bones together [m]."""
        return self.upper + self.lower

    def solve(
        self,
        position: ArrayLike,
        orientation: ArrayLike | None = None,
        *,
        swivel: ArrayLike | None = None,
        preferred: Preferred | None = None,
        wrist: ArrayLike | None = None,
        scene: Scene | None = None,
        obstacles: LimbObstacles | None = None,
        collides: Collides | None = None,
        limb_range: LimbRange | None = None,
        softness: float = 0.0,
    ) -> LimbSolution:
        """Return the posture that puts the end effector at `position` with `orientation`, both in the limb's frame.

        Leading axes broadcast. Where no posture meets the target inside the limits, the answer is the closest one found
        inside them, position before orientation, that keeps out of obstacles and inside the range; its status says why,
        and `penetrates`, `in_range` and `in_limits` where even that could not be had.

        Args:
            position: (..., 3) [m].
            orientation: (..., 4) `wxyz` of the end, the identity at zero posture; default none, see `wrist`.
            swivel: (...) [rad] exactly this swivel, without a search; default: search for one.
            preferred: where the search begins: an angle [rad], (...) one for each target, a function of the positions,
                a `SwivelTable` or `Sensorimotor()`; default: that of the limb's `search`.
            wrist: (..., 3) [rad] the last three values for targets without an orientation, moved inside the limits;
                default 0.
            scene: obstacles that the limb must keep out of, in the limb's own frame (`body.place` takes scenes of the
                world); default none. The limb of a body has its volumes; any other has two capsules.
            obstacles: the same as packed rows, with those of its own body (`BodyLimb.obstacles`); default none.
            collides: a collision test of your own, called with (values (7,), swivel) of one target; default none. It is
                slower than obstacles, and may return `HOPELESS` where no other swivel can help.
            limb_range: learned range of the limb: positions and swivels outside it are corrected before they are
                solved, and where the limits then lead out of it, the closest posture inside both is taken; default
                none.
            softness: [m] how far before full stretch the end begins to lag behind its target, so that the limb does not
                snap straight when the target moves out of reach; default 0. `position_error` includes the lag.
        """
        return self._solve(
            position, orientation, swivel, preferred, wrist, scene, obstacles, collides, limb_range, softness
        )

    def _solve(
        self,
        position: ArrayLike,
        orientation: ArrayLike | None = None,
        swivel: ArrayLike | None = None,
        preferred: Preferred | None = None,
        wrist: ArrayLike | None = None,
        scene: Scene | None = None,
        obstacles: LimbObstacles | None = None,
        collides: Collides | None = None,
        limb_range: LimbRange | None = None,
        softness: float = 0.0,
        model: Records | None = None,
        probe: bool = False,
        before: Floats | None = None,
    ) -> LimbSolution:
        """Return what `solve` does, for the limb of a body and for streams.

        `model` has rows of `LIMB`, one a target, where bones change their lengths. `probe`, with a swivel: where it is
        not valid, do not look for the closest posture, which takes time. `before` (..., 7) [rad] is the posture that
        the limb comes from, one a target: where that keeps everything, so does the closest. The rest is as of `solve`.
        """
        positions = floats(position, "position", 3)
        orientations = None if orientation is None else floats(orientation, "orientation", 4)
        start = self._start(positions, swivel, preferred)
        wrists = STRAIGHT_WRIST if wrist is None else floats(wrist, "wrist", 3)
        if scene is not None:
            obstacles, collides = self._with_scene(scene, obstacles, collides, orientation is not None)
        like = first_on_gpu(positions, orientations, start, wrists)
        if like is not None:
            _check_on_gpu(scene, obstacles, collides)
        if not 0.0 <= number(softness) < math.inf:
            raise PosableError(f"softness is {softness}; expected metres, 0 or more")
        floats_of = None if like is None else like.floats
        if like is not None and (softness > 0.0 or limb_range is not None):
            # Rounded to float32, a target would lie outside the range that it was moved into, and postures beside it.
            floats_of = np.dtype(np.float64)
            positions = like_array(positions, like).astype(np.float64)
            alike = full((), float(start), like, np.float64) if type(start) is np.ndarray and start.ndim == 0 else start
            start = like_array(alike, like).astype(np.float64)
        goal = positions
        if softness > 0.0:
            positions = self._softened(positions, softness)
        learned = None
        if limb_range is not None:
            from .range.limb_range import LimbRange

            expect(LimbRange, limb_range, "limb_range", ": LimbRange.load(path) reads one")
            learned = limb_range.for_limb(self)
            corrected = learned.correct(positions, start)
            positions, start = floats(corrected.position, "position"), floats(corrected.swivel, "swivel")
        shape = positions.shape[:-1]
        leads = (start.shape, wrists.shape[:-1], shape if orientations is None else orientations.shape[:-1])
        if leads != ((), (), shape):
            shape = common_shape(shape, *leads)
        job = _Job(
            _rows(positions, shape, 3),
            NO_ORIENTATION if orientations is None else _rows(orientations, shape, 4),
            start.reshape(1) if start.size == 1 else _rows(start, shape, 0),
            wrists.reshape(1, 3) if wrists.size == 3 else _rows(wrists, shape, 3),
            self.packed if model is None else model,
        )
        mode = SEARCH if swivel is None else PROBE if probe else FIXED
        if learned is not None and mode == SEARCH:
            job = _searching_inside(job, learned)
        values, report = self._run(job, mode, obstacles, like, floats_of)
        goals = job.positions if learned is None else _rows(goal, shape, 3)
        inside = self._keep(job, goals, obstacles, learned, mode != PROBE, before, values, report)
        if collides is not None:
            inside = nothing_to_keep(report.shape) if inside is None else inside
            self._avoid(job, swivel is not None, obstacles, collides, values, report, inside)
            if mode != PROBE:
                self._keep_out(job, obstacles, learned, collides, mode == SEARCH, values, report, inside)
        if positions is not goal:
            cause = Status.LIMITS if limb_range is not None else Status.UNREACHABLE
            measure_rows(len(report), job.model, values, _rows(goal, shape, 3), job.positions, int(cause), report)
        if like is not None:
            values = values.astype(like.floats)
        return LimbSolution(
            unwrapped(values.reshape((*shape, 7))),
            report.reshape(shape),
            None if inside is None else inside.reshape(shape),
        )

    def _keep(
        self,
        job: _Job,
        goals: Floats,
        obstacles: LimbObstacles | None,
        learned: LimbRange | None,
        search: bool,
        before: Floats | None,
        values: Floats,
        report: Records,
    ) -> Records | None:
        """Return (n,) what the postures keep; where a closest one does not, take one that does if there is any.

        None where there is nothing to keep. A posture that passed every test of the search keeps out of the obstacles,
        but the search does not test the limb against itself: where such a posture on its target does not keep out of
        itself, it is a COLLISION.
        """
        around = NO_OBSTACLES if obstacles is None else obstacles
        if learned is None and not around.rows.shape[-1] and not len(around.pairs):
            return None
        every = learned is not None or len(around.pairs) > 0
        rows = None if every else np.flatnonzero(report["found"] == 0)
        if rows is not None and not len(rows):
            return nothing_to_keep(report.shape)
        if rows is None:
            on_cpu = isinstance(report, np.ndarray)
            inside = zero_records(report.shape, INSIDE) if on_cpu else zeros(report.shape, report, INSIDE)
            part, reports, measured = values, report, inside
        else:
            inside = nothing_to_keep(report.shape)
            part, reports, measured = np.ascontiguousarray(values[rows]), report[rows], np.zeros(len(rows), INSIDE)

        def some(array: Any) -> Any:
            return array if rows is None or len(array) < 2 else array[rows]

        old = np.empty((0, 7)) if before is None else np.ascontiguousarray(some(before.reshape(-1, 7)))
        keep_rows(
            len(reports),
            (some(job.model), self.limit_rows, self.curves, self.bones),
            (around.links, around.groups, some(around.rows), around.margin),
            (around.pairs, around.softness),
            NO_RANGE if learned is None else learned.packed,
            (some(goals), some(job.positions), some(job.orientations), some(job.swivels), some(job.wrists), old),
            search,
            *(part, reports, measured),
        )
        if rows is not None:
            values[rows], report[rows], inside[rows] = part, reports, measured
        return inside

    def _softened(self, positions: Floats, softness: float) -> Floats:
        """Return targets (..., 3) drawn in near full stretch."""
        rows = contiguous(positions.reshape(-1, 3))
        drawn = empty(rows.shape, rows)
        soften_rows(len(rows), rows, self.length, float(softness), drawn)
        return drawn.reshape(positions.shape)  # type: ignore[no-any-return]

    def _with_scene(
        self, scene: Scene, obstacles: LimbObstacles | None, collides: Collides | None, fixed_end: bool
    ) -> tuple[LimbObstacles, Collides | None]:
        """Return the obstacles and tests that a scene adds to; `fixed_end`: the end is the same at every swivel."""
        from ..collision import Scene as Obstacles

        expect(Obstacles, scene, "scene", ": Scene.load(path) reads one")
        around = scene.packed[None]
        if obstacles is None:
            obstacles = LimbObstacles(*self.volumes, around)
        else:
            rows = np.broadcast_to(around, (len(obstacles.rows), around.shape[1]))
            obstacles = replace(obstacles, rows=np.concatenate([obstacles.rows, rows], axis=1))
        return obstacles, self._among_meshes(scene, collides, fixed_end) if scene.has_meshes else collides

    def _among_meshes(self, scene: Scene, collides: Collides | None, fixed_end: bool) -> Collides:
        raise PosableError("the scene has meshes; only the limb of a body (`body.limb(name)`) can be kept out of them")

    @property
    def volumes(self) -> tuple[Records, Records]:
        """The links and groups that must keep out of obstacles, a capsule around each bone, a seventh of it thick."""
        links, groups = np.zeros(2, PACKED), np.zeros(3, GROUP)
        for joint, length in enumerate((self.upper, self.lower)):
            r = length / 7.0
            ends = (0, 0, r), (0, 0, length - r)
            links[joint] = (joint, CAPSULE, *ends, (r,) * 3, (1, 0, 0, 0), 0.5 * length)
            groups[joint] = (joint, joint + 1, 1 << joint, 0.0, 0.0, 0.5 * length, 0.5 * length)
        groups[2]["first"] = groups[2]["last"] = 2
        return links, groups

    def _run(
        self,
        job: _Job,
        mode: int,
        obstacles: LimbObstacles | None,
        like: GpuArray | None = None,
        floats_of: np.dtype[Any] | None = None,
    ) -> tuple[Floats, Records]:
        """Return values (n, 7) and reports (n,) of one call of the kernel, where the array `like` is."""
        if like is not None:
            return self._run_in_stages(job, mode, like, floats_of)
        n = len(job.positions)
        values, report = np.empty((n, 7)), zero_records((n,), REPORT)
        around = NO_OBSTACLES if obstacles is None else obstacles
        model = (job.model, self.limit_rows, self.curves, self.bones)
        obstacle_rows = (around.links, around.groups, around.rows, around.margin)
        targets = (job.positions, job.orientations, job.swivels, job.wrists)
        solve_rows(n, model, obstacle_rows, targets, mode, values, report)
        return values, report

    def _run_in_stages(
        self, job: _Job, mode: int, like: Any, floats_of: np.dtype[Any] | None = None
    ) -> tuple[Floats, Records]:
        """Do `_run` on a GPU, where the array `like` is: without obstacles, and with a posture for every target."""
        from .stages import begin_rows, closest_rows, pose_rows, search_rows

        n, limits = len(job.positions), (self.limit_rows, self.curves)
        targets = (job.positions, job.orientations, job.swivels, job.wrists)
        values, report = empty((n, 7), like, floats_of), empty((n,), like, REPORT)
        if self.limits is None and mode != SEARCH:
            pose_rows(n, job.model, *targets, values, report)
            return values, report
        left, listed = zeros((1,), like, np.int64), empty((n,), like, np.int64)
        begin_rows(n, job.model, *limits, *targets, mode, values, report, left, listed)
        if mode == SEARCH:
            count, rows = left, listed
            left, listed = zeros((1,), like, np.int64), empty((n,), like, np.int64)
            search_rows(n, job.model, *limits, *targets, values, report, count, rows, left, listed)
        closest_rows(n, job.model, *limits, self.bones, *targets, mode, values, report, left, listed)
        return values, report

    def _avoid(
        self,
        job: _Job,
        fixed: bool,
        obstacles: LimbObstacles | None,
        collides: Collides,
        values: Floats,
        report: Records,
        inside: Records,
    ) -> None:
        """Search again, with verdicts from Python, for the targets whose posture `collides` rejects."""
        for i in np.flatnonzero(report["found"]).tolist():
            hit = collides(values[i], float(report["swivel"][i]))
            if not hit:
                continue
            row = report[i : i + 1]
            row["collision"] += 1
            first = values[i].copy()
            near = None if obstacles is None else obstacles.row(i)
            ended = fixed or hit == HOPELESS
            found = None if ended else self._search_with(job.row(i), near, collides, row)
            if found is None:
                values[i], row["found"] = first, False
                inside["penetrates"][i] = True
                if row["status"][0] in (Status.REACHED, Status.SINGULAR):
                    row["status"] = Status.COLLISION
                continue
            values[i] = found[0][0]
            for name in ("swivel", "position_error", "orientation_error"):
                row[name] = found[1][name]

    def _keep_out(
        self,
        job: _Job,
        obstacles: LimbObstacles | None,
        learned: LimbRange | None,
        collides: Collides,
        search: bool,
        values: Floats,
        report: Records,
        inside: Records,
    ) -> None:
        """Take closest postures out of what `collides` rejects: at the nearest place around the target that is free.

        Places on growing spheres around the target are tried, then those between the first free one and the target.
        """
        collides = getattr(collides, "whole", collides)  # the hand is not on its target
        closest = (report["found"] == 0) & (report["status"] != Status.COLLISION) & (report["status"] != Status.INVALID)
        for i in np.flatnonzero(closest).tolist():
            if not collides(values[i], float(report["swivel"][i])):
                continue
            inside["penetrates"][i] = True
            if not search:
                continue
            one, near = job.row(i), None if obstacles is None else obstacles.row(i)
            goal = one.positions[0]
            reached = goal * min(1.0, 0.999 * self.length / max(float(np.linalg.norm(goal)), 1e-9))

            def free(position: Floats, one: _Job = one, near: LimbObstacles | None = near) -> tuple[Floats, Any] | None:
                there, counts = one._replace(positions=position[None]), np.zeros(1, REPORT)
                found = self._search_with(there, near, collides, counts)
                if found is None or learned is None:
                    return found
                return found if learned.contains(position, found[1]["swivel"][0]) else None

            for step in AROUND * self.length:
                clear = free(reached + step)
                if clear is None:
                    continue
                for _ in range(6):
                    nearer = free(reached + 0.5 * step)
                    if nearer is None:
                        break
                    step, clear = 0.5 * step, nearer
                values[i], inside["penetrates"][i], inside["penetration"][i] = clear[0][0], False, 0.0
                report["swivel"][i], inside["in_range"][i] = clear[1]["swivel"][0], True
                report["orientation_error"][i] = clear[1]["orientation_error"][0]
                report["position_error"][i] = float(np.linalg.norm(self.forward(values[i]).end - goal))
                break

    def _search_with(
        self, job: _Job, obstacles: LimbObstacles | None, collides: Collides, report: Records
    ) -> tuple[Floats, Records] | None:
        """Return values and report of the swivel search for one target, or None where it finds nothing.

        Verdicts come from compiled code first and from `collides` last; `report` (1,) counts the tests.
        """
        state = plain_begin(job.model[0], float(job.swivels[0]))
        found = None
        while state[0] < FOUND:
            probe = self._run(job.at(state[1]), PROBE, obstacles)
            valid = bool(probe[1]["found"][0])
            if valid and collides(probe[0][0], state[1]):
                valid = False
                report["collision"] += 1
            for name in ("tests", "limits", "singular", "collision"):
                report[name] += probe[1][name]
            if valid:
                found = probe
            state = plain_advance(job.model[0], state, valid)
        return found

    def forward(self, values: ArrayLike) -> LimbFrames:
        """Return the joints in the limb's frame, by forward kinematics of the seven values (..., 7) [rad]."""
        from .solve import forward_rows

        given = floats(values, "values", 7)
        rows, shape = contiguous(given.reshape(-1, 7)), given.shape[:-1]
        n = len(rows)
        mid, end, orientation = empty((n, 3), rows), empty((n, 3), rows), empty((n, 4), rows)
        forward_rows(n, self.packed, rows, mid, end, orientation)
        found = mid.reshape(*shape, 3), end.reshape(*shape, 3), orientation.reshape(*shape, 4)
        return LimbFrames(*map(unwrapped, found))

    def stream(self, fps: float = 60.0, *, speed: float = math.pi) -> LimbStream:
        """Return the limb with memory, for moving targets: its swivel changes by at most `speed` [rad/s]."""
        from .stream import LimbStream

        return LimbStream(self, fps, speed)

    def track(
        self, positions: ArrayLike, orientations: ArrayLike | None = None, *, fps: float = 60.0, **options: Any
    ) -> LimbTrackSolution:
        """Return postures, coherent in time, for a path of targets (F, 3), one a frame; `options` as of `solve`."""
        return self.stream(fps).track(positions, orientations, **options)

    def _start(self, positions: Floats, swivel: ArrayLike | None, preferred: Preferred | None) -> Floats:
        """Return the swivels to take, or to search from."""
        if swivel is not None:
            if preferred is not None:
                raise PosableError("give swivel (exactly this one) or preferred (where to search from), not both")
            return floats(swivel, "swivel")
        if preferred is None:
            return self._preferred
        given: Any = preferred
        if hasattr(given, "swivels"):
            given = given.swivels(self, positions)
        elif callable(given):
            given = given(positions)
        return floats(given, "preferred")


NO_OBSTACLES = LimbObstacles(np.zeros(0, PACKED), np.zeros(3, GROUP), np.zeros((1, 0), OBSTACLE))
NO_RANGE = (np.zeros(0, RANGE), np.zeros(0, POINT), np.zeros(0, FACE), np.zeros(0, EDGE), np.zeros(0, np.int64))

_SIDES = np.array([[x, y, z] for x in (-1, 0, 1) for y in (-1, 0, 1) for z in (-1, 0, 1) if x or y or z], np.float64)
AROUND: Floats = np.concatenate(
    [r * _SIDES / np.linalg.norm(_SIDES, axis=-1, keepdims=True) for r in (0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0)]
)
"""(182, 3) steps from a target, in limb lengths, the shortest first."""


def _check_on_gpu(*constraints: Any) -> None:
    """Raise where targets on a GPU shall be solved with what needs a second look at each on the CPU."""
    if any(one is not None for one in constraints):
        raise PosableError(
            "targets on a GPU are solved within joint limits and a learned range; scene, obstacles and collides need "
            "targets of the CPU"
        )


def _searching_inside(job: _Job, learned: LimbRange) -> _Job:
    """Return the targets with searches that keep to the swivels of a range, around the swivel they begin from."""
    n = len(job.positions)
    model = zero_records((n,), job.model.dtype, first_on_gpu(job.positions))
    search_inside_rows(n, learned.packed, job.positions, job.swivels, job.model, model)
    return job._replace(model=model)


def _rows(array: Floats, shape: tuple[int, ...], columns: int) -> Floats:
    """Return the rows of a batch: broadcast over the leading axes, contiguous."""
    full = (*shape, columns) if columns else shape
    if array.shape != full:
        try:
            array = np.broadcast_to(array, full)
        except ValueError:
            raise ShapeError(f"shape {array.shape} does not fit a batch of shape {shape}") from None
    return contiguous(array).reshape((-1, columns) if columns else -1)  # type: ignore[no-any-return]


def common_shape(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape that leading axes broadcast to."""
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        raise ShapeError(f"leading axes {', '.join(map(str, shapes))} do not broadcast") from None
