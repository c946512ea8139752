"""`Limb`: an arm or a leg, solved exactly in its own frame."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ..collision.kernels import CAPSULE, GROUP, OBSTACLE
from ..collision.volumes import PACKED
from ..compute import PosableError, ShapeError, Status, UnknownNameError, number
from ..compute.arrays import floats
from ..compute.types import ArrayLike, Floats, Records
from ..limits import Limits
from .answers import LimbFrames, LimbSolution
from .model import LIMBS, SEARCHES, Search, pack_limb
from .prepare import allowed_bones, checked_search, flexion_range, limit_rows
from .search import FOUND, advance, begin
from .solve import FIXED, PROBE, REPORT, SEARCH, solve_rows

if TYPE_CHECKING:
    from ..collision import Scene
    from .range.limb_range import LimbRange
    from .stream import LimbStream, TrackAnswer
    from .swivel.preferred import Preference

NO_ORIENTATION = np.empty((0, 4))
STRAIGHT_WRIST = np.zeros((1, 3))
REACHED_WITHIN = 1e-9  # [m]

plain_begin, plain_advance = getattr(begin, "py_func", begin), getattr(advance, "py_func", advance)
"""The search's machine as plain Python: a compiled call would cost more than its few comparisons."""

HOPELESS = 2
"""What `collides` may answer instead of True: it touches at any swivel, so the search need not go on."""

Collides: TypeAlias = Callable[[Floats, float], bool | int]
Preferred: TypeAlias = "float | ArrayLike | Callable[[Floats], ArrayLike] | Preference"


@dataclass(frozen=True, eq=False)
class LimbObstacles:
    """What the volumes of a limb must keep out of, in the limb's frame; `body.obstacles` makes them of a pose."""

    links: Records
    """(L,) volumes of the limb, on its base, mid and end joint."""
    groups: Records
    """(3,) rows of `collision.kernels.GROUP`."""
    rows: Records
    """(1 or N, O) rows of `collision.kernels.OBSTACLE`."""
    margin: float = 0.0
    """[m] to keep away from them."""

    def row(self, i: int) -> LimbObstacles:
        """Those of target i alone."""
        return replace(self, rows=self.rows[i % len(self.rows)][None])


@dataclass(frozen=True, eq=False)
class _Job:
    """Targets as the kernel reads them."""

    places: Floats
    turns: Floats
    starts: Floats
    wrists: Floats
    model: Records

    def row(self, i: int) -> _Job:
        """Target i alone."""

        def one(rows: Any) -> Any:
            return rows if len(rows) < 2 else rows[i : i + 1]

        return _Job(one(self.places), one(self.turns), one(self.starts), one(self.wrists), one(self.model))

    def starting(self, swivel: float) -> _Job:
        """The same targets at another swivel."""
        return replace(self, starts=np.array([swivel]))


class Limb:
    """An arm or a leg of two bones: give it a place and an orientation, it gives back seven joint values.

    Positions and orientations are in the limb's own frame (`limb.model`); `Humanoid.limb` makes one of a body, which
    also reads poses and places hands in the world. Immutable; any number of threads may use it.

    Args:
        name: "right_arm", "left_arm", "right_leg" or "left_leg".
        upper: length of the upper bone [m].
        lower: length of the lower bone [m].
        limits: what the joints may do, canonical (`Limits.human()`); None does not limit.
        search: how the swivel is searched; the specification's values when not given.
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

    def __repr__(self) -> str:
        return f"Limb({self.name!r}, upper={self.upper:.3f}, lower={self.lower:.3f})"

    @property
    def length(self) -> float:
        """Upper and lower bone together [m]."""
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
        """The posture that puts the end at `position` with `orientation`.

        Args:
            position: (..., 3) [m] in the limb's frame.
            orientation: (..., 4) of the end; None leaves it to `wrist`.
            swivel: (...) [rad] exactly this swivel, no search.
            preferred: where the search begins: an angle [rad], one for each target, a function of the positions, a
                `SwivelTable` or `Sensorimotor()`.
            wrist: (..., 3) [rad] the last three values for targets without an orientation; zero when not given.
            scene: things that the limb must keep out of, placed in the limb's own frame (`body.place` takes scenes of
                the world). The limb of a body has its volumes; any other is two capsules.
            obstacles: the same as packed rows, and of its own body (`BodyLimb.obstacles`); tested in compiled code.
            collides: a test of your own, called with (values (7,), swivel) of one target; slower than obstacles. It
                may answer `HOPELESS` where no other swivel can help.
            limb_range: what such a limb does: targets and swivels outside it are corrected before they are solved.
            softness: [m] how far before full stretch the end begins to lag behind its target, so that the limb does not
                snap straight when the target moves out of reach; `position_error` tells by how much.
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
    ) -> LimbSolution:
        """`solve` for the limb of a body and for streams.

        Args:
            position: and the next ones: as of `solve`.
            orientation: (..., 4).
            swivel: [rad].
            preferred: [rad].
            wrist: [rad].
            scene: in the limb's frame.
            obstacles: as packed rows.
            collides: a test of the user's own.
            limb_range: of the limb.
            softness: [m].
            model: rows of `LIMB`, one a target, where the lengths of its bones change; `packed` when not given.
            probe: with `swivel`: where it is not valid, do not look for the closest posture, which takes time.
        """
        places = floats(position, "position", 3)
        turned = None if orientation is None else floats(orientation, "orientation", 4)
        start = self._start(places, swivel, preferred)
        held = STRAIGHT_WRIST if wrist is None else floats(wrist, "wrist", 3)
        if scene is not None:
            obstacles, collides = self._among(scene, obstacles, collides, orientation is not None)
        goal = places
        if not 0.0 <= number(softness) < math.inf:
            raise PosableError(f"softness is {softness}; expected metres, 0 or more")
        if softness > 0.0:
            places = _softened(places, self.length, softness)
        if limb_range is not None:
            corrected = limb_range.for_limb(self).correct(places, start)
            places, start = corrected.position, np.asarray(corrected.swivel)
        leads = [places.shape[:-1], start.shape, () if wrist is None else held.shape[:-1]]
        shape = leads[0]
        if any(leads[1:]) or (turned is not None and turned.shape[:-1] != shape):
            shape = common_shape(*leads, () if turned is None else turned.shape[:-1])
        starts = start.reshape(1) if start.size == 1 else _rows(start, shape, 0)
        wrists = held.reshape(1, 3) if held.size == 3 else _rows(held, shape, 3)
        turns = NO_ORIENTATION if turned is None else _rows(turned, shape, 4)
        job = _Job(_rows(places, shape, 3), turns, starts, wrists, self.packed if model is None else model)
        mode = SEARCH if swivel is None else PROBE if probe else FIXED
        values, report = self._run(job, mode, obstacles)
        if collides is not None:
            self._avoid(job, swivel is not None, obstacles, collides, values, report)
        if places is not goal:
            why = Status.LIMITS if limb_range is not None else Status.UNREACHABLE
            _tell_correction(values, report, self, _rows(goal, shape, 3), job.places, why)
        return LimbSolution(values.reshape(*shape, 7), report.reshape(shape))

    def _among(
        self, scene: Scene, obstacles: LimbObstacles | None, collides: Collides | None, held: bool
    ) -> tuple[LimbObstacles, Collides | None]:
        """What stands in the way once a scene does too; `held`: the end is the same at every swivel."""
        around = scene.packed[None]
        if obstacles is None:
            obstacles = LimbObstacles(*self.volumes, around)
        else:
            rows = np.broadcast_to(around, (len(obstacles.rows), around.shape[1]))
            obstacles = replace(obstacles, rows=np.concatenate([obstacles.rows, rows], axis=1))
        return obstacles, self._among_meshes(scene, collides, held) if scene.has_meshes else collides

    def _among_meshes(self, scene: Scene, collides: Collides | None, held: bool) -> Collides:
        raise PosableError("the scene has meshes; only the limb of a body (`body.limb(name)`) can be kept out of them")

    @property
    def volumes(self) -> tuple[Records, Records]:
        """Links and groups that must keep out of obstacles, a capsule around each bone and a seventh of it thick."""
        links, groups = np.zeros(2, PACKED), np.zeros(3, GROUP)
        for joint, length in enumerate((self.upper, self.lower)):
            radius = length / 7.0
            links[joint] = (
                joint,
                CAPSULE,
                (0, 0, radius),
                (0, 0, length - radius),
                (radius,) * 3,
                (1, 0, 0, 0),
                0.5 * length,
            )
            groups[joint] = (joint, joint + 1, 1 << joint, 0.0, 0.0, 0.5 * length, 0.5 * length)
        groups[2]["first"] = groups[2]["last"] = 2
        return links, groups

    def _run(self, job: _Job, mode: int, obstacles: LimbObstacles | None) -> tuple[Floats, Records]:
        """One call of the kernel: values (n, 7) and reports (n,)."""
        n = len(job.places)
        values, report = np.empty((n, 7)), np.zeros(n, REPORT)
        around = NOTHING_AROUND if obstacles is None else obstacles
        rows, margin = around.rows, around.margin
        solve_rows(
            *(n, job.model, self.limit_rows, self.curves, self.bones, around.links, around.groups, rows, margin),
            *(job.places, job.turns, job.starts, mode, job.wrists, values, report),
        )
        return values, report

    def _avoid(
        self,
        job: _Job,
        fixed: bool,
        obstacles: LimbObstacles | None,
        collides: Collides,
        values: Floats,
        report: Records,
    ) -> None:
        """Put the targets' postures right that `collides` rejects: the same search, with Python giving the verdicts."""
        for i in np.flatnonzero(report["found"]).tolist():
            verdict = collides(values[i], float(report["swivel"][i]))
            if not verdict:
                continue
            told = report[i : i + 1]
            told["collision"] += 1
            one, first = job.row(i), values[i].copy()
            near = None if obstacles is None else obstacles.row(i)
            ended = fixed or verdict == HOPELESS
            found = None if ended else self._search_by_hand(one, near, collides, told)
            if found is None:
                values[i], told["found"] = first, False
                if told["status"][0] in (Status.REACHED, Status.SINGULAR):
                    told["status"] = Status.COLLISION
                continue
            values[i], told["swivel"] = found[0][0], found[1]["swivel"][0]
            for name in ("position_error", "orientation_error"):
                told[name] = found[1][name]

    def _search_by_hand(
        self, job: _Job, obstacles: LimbObstacles | None, collides: Collides, told: Records
    ) -> tuple[Floats, Records] | None:
        """The search of one target with verdicts from compiled code first and from `collides` last; None: nothing."""
        state = plain_begin(job.model[0], float(job.starts[0]))
        found = None
        while state[0] < FOUND:
            probe = self._run(job.starting(state[1]), PROBE, obstacles)
            valid = bool(probe[1]["found"][0])
            if valid and collides(probe[0][0], state[1]):
                valid = False
                told["collision"] += 1
            for name in ("tests", "limits", "singular", "collision"):
                told[name] += probe[1][name]
            if valid:
                found = probe
            state = plain_advance(job.model[0], state, valid)
        return found

    def forward(self, values: ArrayLike) -> LimbFrames:
        """Where the joints are for the seven values (..., 7) [rad]."""
        from .solve import forward_rows

        given = floats(values, "values", 7)
        rows = np.ascontiguousarray(given.reshape(-1, 7))
        mid, end, turned = np.empty((len(rows), 3)), np.empty((len(rows), 3)), np.empty((len(rows), 4))
        forward_rows(len(rows), self.packed, rows, mid, end, turned)
        shape = given.shape[:-1]
        return LimbFrames(mid.reshape(*shape, 3), end.reshape(*shape, 3), turned.reshape(*shape, 4))

    def stream(self, fps: float = 60.0, *, speed: float = math.pi) -> LimbStream:
        """The limb with memory, for moving targets: its swivel turns at most `speed` [rad/s] and jumps are flagged."""
        from .stream import LimbStream

        return LimbStream(self, fps, speed)

    def track(
        self, positions: ArrayLike, orientations: ArrayLike | None = None, *, fps: float = 60.0, **options: Any
    ) -> TrackAnswer:
        """Postures for a path of targets (F, 3), one a frame, coherent in time; `options` as of `solve`."""
        return self.stream(fps).track(positions, orientations, **options)

    def _start(self, places: Floats, swivel: ArrayLike | None, preferred: Preferred | None) -> Floats:
        """The swivels to take, or to search from."""
        if swivel is not None:
            if preferred is not None:
                raise PosableError("give swivel (exactly this one) or preferred (where to search from), not both")
            return floats(swivel, "swivel")
        given: Any = self.search.preferred if preferred is None else preferred
        if hasattr(given, "swivels"):
            given = given.swivels(self, places)
        elif callable(given):
            given = given(places)
        return floats(given, "preferred")


NOTHING_AROUND = LimbObstacles(np.zeros(0, PACKED), np.zeros(3, GROUP), np.zeros((1, 0), OBSTACLE))


def _softened(places: Floats, length: float, softness: float) -> Floats:
    """Targets drawn in near full stretch: distances beyond length - softness approach length and never get there."""
    distance = np.linalg.norm(places, axis=-1, keepdims=True)
    begin = length - min(softness, 0.5 * length)
    beyond = np.maximum(distance - begin, 0.0)
    drawn = begin + (length - begin) * -np.expm1(-beyond / (length - begin))
    with np.errstate(invalid="ignore"):
        return np.where(beyond > 0.0, places * (drawn / np.maximum(distance, 1e-300)), places)


def _tell_correction(values: Floats, report: Records, limb: Limb, goals: Floats, places: Floats, why: Status) -> None:
    """Measure from where the targets were asked for, not from where the range or the softness has put them."""
    moved = np.linalg.norm(goals - places, axis=-1) > 0.0
    if moved.any():
        away = np.linalg.norm(limb.forward(values).end - goals, axis=-1)
        report["position_error"] = np.where(
            moved & (report["status"] != Status.INVALID), away, report["position_error"]
        )
        missed = moved & (report["position_error"] > REACHED_WITHIN) & (report["status"] == Status.REACHED)
        report["status"] = np.where(missed, why, report["status"])


def _rows(array: Floats, shape: tuple[int, ...], columns: int) -> Floats:
    """Rows of a batch: broadcast over the leading axes, contiguous."""
    full = (*shape, columns) if columns else shape
    if array.shape != full:
        try:
            array = np.broadcast_to(array, full)
        except ValueError:
            raise ShapeError(f"shape {array.shape} does not fit a batch of shape {shape}") from None
    flat = np.ascontiguousarray(array)
    return flat.reshape(-1, columns) if columns else flat.reshape(-1)


def common_shape(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that leading axes broadcast to."""
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        raise ShapeError(f"leading axes {', '.join(map(str, shapes))} do not broadcast") from None
