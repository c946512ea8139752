"""`Follower`: the body of a moment, from a board of points: parts, sizes, floor, and the solver of `reconstruct`."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ..body import Humanoid, figure
from ..body.measures import sole_of
from ..body.roles import MARKERS
from ..compute import PosableError
from ..compute.types import Floats, Quat, Vec3
from ..formats import load
from ..math import conjugate
from ..reconstruct import ReconstructStream, SequentialIK
from ..reconstruct.sik import TRACKABLE
from ..skeleton import Frames, Pose
from .assignment import assign
from .board import Board, Point, product, rotated
from .calibrating import LiveCalibration
from .fingers import FingerFollower
from .intake import part_of

if TYPE_CHECKING:
    from ..collision import Scene
    from ..reconstruct import Prior
    from .sources import FramesSource

LEGS = ("left_foot", "right_foot", "left_lower_leg", "right_lower_leg")
SETTLED = 0.5
"""[s] for which the same trackers are seen before it is guessed where they are."""
SHORTEST_STEP, LONGEST_STEP = 1e-4, 0.25
"""[s] between two frames, as the solver is told."""
SCALES = (0.2, 5.0)
"""Between which a person's size and the body's differ, when it is guessed."""
RISING, MOST_RISEN = 0.02, 0.15
"""[m/s] by which the lowest foot is forgotten, and [m] up to which above the lowest of all."""
UNKNOWN: tuple[Vec3, None] = ((math.nan, math.nan, math.nan), None)


@dataclass(frozen=True, eq=False)
class BodyFrame:
    """The body at a moment."""

    pose: Pose
    frames: Frames
    """The joints of the pose in the world."""
    time: float
    """[s]"""
    roles: tuple[str, ...]
    """(M,) the parts that are followed."""
    points: Floats
    """(M, 3) [m] where they should be, in the world of the body; NaN where lost."""
    errors: Floats
    """(M,) [m] between each part and its point; infinite for one that is lost."""
    tracking: bool
    """Whether any point was seen."""


@dataclass
class Follower:
    """Follows the points of a board with a body."""

    body: Humanoid
    """Whose poses come out."""
    roles: Mapping[str, str] = field(default_factory=dict)
    """Name of a point to its part, where that is known."""
    calibration: LiveCalibration | None = None
    smoothing: float | None = None
    """Time constant [s] of a One-Euro filter."""
    lock_feet: bool = True
    floor: float | None = None
    """Height of the floor in the world of the points [m]; None: found from the feet."""
    fit: bool = True
    """Whether points are scaled to the size of the body."""
    prior: Prior | str | None = "default"
    scene: Scene | None = None
    standing: bool = False
    """Whether the lowest foot stands on the floor at every moment, as for points that are counted from the hips."""
    sizes: tuple[float, float] | None = None
    """How much longer (legs, trunk) of the body are than the person's, where that is known."""
    last: BodyFrame | None = None
    guess: str = ""
    """Which tracker was taken for which part, where nothing said it."""
    puzzle: str = ""
    """Trackers that nobody knows where to put."""
    _guessed: dict[str, str] = field(default_factory=dict)
    _seen: tuple[tuple[str, ...], float] = ((), 0.0)
    _stream: ReconstructStream | None = None
    _markers: tuple[str, ...] = ()
    _names: tuple[str, ...] = ()
    _sources: dict[str, list[str]] = field(default_factory=dict)
    _scales: tuple[float, float] | None = None
    _low: float = math.inf
    _lowest: float = math.inf
    _sits: list[tuple[Vec3, Quat] | None] = field(default_factory=list)
    _solvers: dict[tuple[str, ...], SequentialIK] = field(default_factory=dict)
    _fingers: FingerFollower | None = None

    def __post_init__(self) -> None:
        if self.body.fingers:
            self._fingers = FingerFollower(self.body, self.smoothing)

    def calibrate(self, calibration: LiveCalibration | None) -> None:
        """Take another calibration; the body goes on from its next frame."""
        self.calibration, self._scales = calibration, None
        self._low = self._lowest = math.inf
        self._names = ()
        self._seat()

    def restart(self) -> None:
        """Forget the past."""
        self._stream, self._names, self._markers, self.last = None, (), (), None
        self._low = self._lowest = math.inf
        if self._fingers is not None:
            self._fingers.restart()

    def warm_up(self) -> None:
        """Make ready what the first body needs (solver, prior, compiled code), so that it comes at once."""
        markers = tuple(role for role in TRACKABLE if role in MARKERS and role in self.body.roles)
        if not self._prepare(markers):
            return
        stream = self._stream
        assert stream is not None
        standing = self.body.skeleton.forward(self.body.neutral_pose).positions
        points = np.array([standing[self.body.index(role)] for role in markers])
        for rotations in ({}, dict.fromkeys(markers, np.array([1.0, 0.0, 0.0, 0.0]))):
            pose = stream.step(points, rotations, 1.0 / 60.0).pose
            self.body.skeleton.forward(pose)
            if self._fingers is not None:
                self._fingers.warm_up(pose)
        self.restart()

    def step(self, board: Board, now: float) -> BodyFrame | None:
        """Return the body at a moment [s]; None before there are points that one can be made of."""
        names = tuple(board.points)
        if names != self._names:
            self._names = names
            self._sources = self._parts_of(board)
        if not self._markers or any(role not in self._markers for role in self._sources):
            self._guess(board, now)
            if not self._prepare(tuple(role for role in TRACKABLE if role in self._sources)):
                return None
        points, rotations = self._gather(board, now)
        if not any(math.isfinite(point[0]) for point in points):
            return self._rest(now)
        step = 1.0 / 60.0 if self.last is None else now - self.last.time
        stream = self._stream
        assert stream is not None
        points = self._on_floor(self._scaled(points), min(max(step, 0.0), LONGEST_STEP))
        solution = stream.step(points, rotations or None, min(max(step, SHORTEST_STEP), LONGEST_STEP))
        pose = solution.pose if self._fingers is None else self._fingers.pose(solution.pose, board, now, step)
        frames = self.body.skeleton.forward(pose)
        self.last = BodyFrame(pose, frames, now, self._markers, solution.points, solution.marker_errors, True)
        return self.last

    def _rest(self, now: float) -> BodyFrame | None:
        """Return the last body, at another time: nothing is seen."""
        last = self.last
        if last is not None:
            lost = np.full(len(last.roles), np.inf)
            nowhere = np.full_like(last.points, np.nan)
            self.last = BodyFrame(last.pose, last.frames, now, last.roles, nowhere, lost, False)
        return self.last

    @property
    def strange_fingers(self) -> str:
        """Who reports fingers that nobody can read: see `fingers`; "" for nobody."""
        return "" if self._fingers is None else self._fingers.puzzle

    # Who is what

    def role(self, name: str) -> str | None:
        """Return the part that a point is on; None where that is not known."""
        calibrated = {} if self.calibration is None else self.calibration.roles
        found = self.roles.get(name) or calibrated.get(name) or part_of(name) or self._guessed.get(name)
        return found if found in self.body.roles else ("chest" if found == "upper_chest" else None)

    def _parts_of(self, board: Board) -> dict[str, list[str]]:
        """Return part to the names of the points that are on it."""
        found: dict[str, list[str]] = {}
        for name in board.points:
            role = self.role(name)
            if role is not None and role in self.body.roles:
                found.setdefault(role, []).append(name)
        if "chest" in found and "upper_chest" in found:
            found["upper_chest"] += found.pop("chest")
        return found

    def _guess(self, board: Board, now: float) -> None:
        """Find out which trackers are where that nothing says it of, once the same ones were seen for a while."""
        present = board.present(now)
        unknown = tuple(point.name for point in present if self.role(point.name) is None)
        if not unknown or self.calibration is not None:
            return
        if self._seen[0] != unknown:
            self._seen = (unknown, now)
        if now - self._seen[1] < SETTLED:
            return
        try:
            found = assign(present, self.body, dict(self.roles))
        except PosableError:
            found = None
        if found is None or not found.fits:
            self.puzzle = ", ".join(sorted(unknown))
            self._seen = (unknown, now)  # later once more
            return
        self._guessed = {name: role for name, role in found.roles.items() if name in unknown}
        self.guess = ", ".join(f"{name} on {role.replace('_', ' ')}" for name, role in sorted(self._guessed.items()))
        self._sources = self._parts_of(board)

    def _prepare(self, markers: tuple[str, ...]) -> bool:
        """Make the solver of these parts; return whether they make a body."""
        if markers == self._markers and self._stream is not None:
            return True
        if not {"hips", "head"} & set(markers):
            return False
        solver = self._solvers.get(markers)
        if solver is None:
            solver = SequentialIK(self.body, prior=self.prior, markers=markers, scene=self.scene)
            if len(self._solvers) >= 8:
                self._solvers.clear()
            self._solvers[markers] = solver
        self._stream = solver.stream(60.0, smoothing=self.smoothing, lock_feet=self.lock_feet)
        self._markers, self._scales = markers, None
        self._upper = [k for k, role in enumerate(markers) if role != "hips" and role not in LEGS]
        self._feet = [k for k, role in enumerate(markers) if role in ("left_foot", "right_foot")]
        self._seat()
        return True

    def _seat(self) -> None:
        """Take over from the calibration how the tracker of each part sits there."""
        made = None if self.calibration is None else self.calibration.calibration
        self._sits = [None] * len(self._markers)
        if made is not None:
            sits = dict(zip(made.markers, zip(made.offsets.tolist(), conjugate(made.rotations).tolist()), strict=True))
            self._sits = [sits.get(role) for role in self._markers]

    # Where they are

    def _gather(self, board: Board, now: float) -> tuple[list[Vec3], dict[str, Quat]]:
        """Return (where the joints are [m], NaN where lost; orientations by part), both where they are known."""
        positions: list[Vec3] = []
        rotations: dict[str, Quat] = {}
        for role, sits in zip(self._markers, self._sits, strict=True):
            point = _newest(board, self._sources.get(role, ()))
            position, rotation = UNKNOWN if point is None else point.at(now)
            if rotation is not None and sits is not None:
                offset, back = sits
                rotation = product(rotation, back)
                (x, y, z), (u, v, w) = position, rotated(rotation, offset)
                position = (x - u, y - v, z - w)
            elif point is None or not _is_canonical(point):
                rotation = None
            positions.append(position)
            if rotation is not None and role in MARKERS:
                rotations[role] = rotation
        return positions, rotations

    def _scaled(self, points: list[Vec3]) -> list[Vec3]:
        """Return points of the person as the body has them: scaled by its legs, above the hips by its trunk."""
        if not self.fit:
            return points
        if self._scales is None:
            self._scales = self._sizes(np.array(points))
        legs, upper = self._scales
        if legs == upper == 1.0:
            return points
        out = [(legs * x, legs * y, legs * z) for x, y, z in points]
        if "hips" in self._markers and math.isfinite(points[(hips := self._markers.index("hips"))][0]):
            (x, y, z), (u, v, w) = points[hips], out[hips]
            for k in self._upper:
                a, b, c = points[k]
                out[k] = (u + upper * (a - x), v + upper * (b - y), w + upper * (c - z))
        return out

    def _sizes(self, points: Floats) -> tuple[float, float]:
        """Return how much longer legs and trunk of the body are than the person's."""
        if self.calibration is not None and self.calibration.calibration is not None:
            scales = self.calibration.calibration.scales
            return 1.0 / scales["legs"], 1.0 / scales["trunk"]
        return self.sizes or guessed_sizes(self.body, self._markers, points[None])

    def _on_floor(self, points: list[Vec3], step: float) -> list[Vec3]:
        """Return points with the floor at height 0."""
        floor = self.floor
        if floor is None:
            heights = [points[k][1] for k in self._feet if math.isfinite(points[k][1])]
            if heights:
                low = min(heights) - self._ankle
                self._lowest = min(self._lowest, low)
                raised = min(self._low + RISING * step, self._lowest + MOST_RISEN)
                self._low = low if self.standing else min(raised, low)
            floor = self._low if math.isfinite(self._low) else 0.0
        return points if floor == 0.0 else [(x, y - floor, z) for x, y, z in points]

    @property
    def _ankle(self) -> float:
        """How high the ankle of a foot is that stands [m]."""
        found = self.__dict__.get("_ankle_height")
        if found is None:
            found = min(sole_of(self.body, side).depth for side in ("left", "right"))
            self.__dict__["_ankle_height"] = found
        return float(found)


def body_of(body: Humanoid | str | os.PathLike[str] | None) -> Humanoid:
    """Return a body: the given one, that of a character's file, or the built-in figure."""
    if body is None:
        return figure()
    if isinstance(body, Humanoid):
        return body
    motion = load(body)
    try:
        made = Humanoid(motion.skeleton)
    except PosableError as error:
        raise PosableError(f"{os.fspath(body)}: has no person's bones: {error}") from None
    made.require_person("posable live (a robot is given as the robot)")
    return made


def take_sizes(body: Humanoid, take: FramesSource) -> tuple[float, float] | None:
    """Return how much longer (legs, trunk) of a body are than those of the person of a take, if it shows them."""
    if take.person is not None:
        standing = take.person.markers(take.person.neutral_pose)[None]
        return guessed_sizes(body, MARKERS, standing)
    if take.points is not None:
        names = [name for name in take.points.names if name in body.roles]
        return guessed_sizes(body, names, take.points.of(names))
    return None


def guessed_sizes(body: Humanoid, markers: Sequence[str], points: Floats) -> tuple[float, float]:
    """Return (legs, trunk): how much longer those of a body are than a person's, whose points (F, M, 3) [m] are given.

    Where they do not show it, 1. People stretch now and then: the 95th percentile of distances counts.
    """
    rows = {role: k for k, role in enumerate(markers)}
    standing = body.skeleton.forward(body.neutral_pose).positions
    where = {role: standing[body.index(role)] for role in markers}

    def ratio(a: str, b: str) -> float | None:
        if a not in rows or b not in rows:
            return None
        far = np.linalg.norm(points[:, rows[a]] - points[:, rows[b]], axis=-1)
        far = far[np.isfinite(far)]
        if not len(far) or not (longest := float(np.percentile(far, 95.0))) > 1e-3:
            return None
        return float(np.linalg.norm(where[a] - where[b])) / longest

    legs = [found for side in ("left", "right") if (found := ratio("hips", f"{side}_foot")) is not None]
    trunk = ratio("hips", "head")
    leg = float(np.mean(legs)) if legs else trunk
    if leg is None and "head" in rows:  # as high as the head
        heights = points[:, rows["head"], 1]
        heights = heights[np.isfinite(heights)]
        floor = min(float(standing[body.index(f"{s}_foot")][1]) - sole_of(body, s).depth for s in ("left", "right"))
        tall = float(np.percentile(heights, 95.0)) if len(heights) else 0.0
        leg = (float(where["head"][1]) - floor) / tall if tall > 1e-3 else None
    leg, trunk = leg if leg is not None else trunk, trunk if trunk is not None else leg
    made = tuple(value if value is not None and SCALES[0] < value < SCALES[1] else 1.0 for value in (leg, trunk))
    return made[0], made[1]


def _newest(board: Board, names: Sequence[str]) -> Point | None:
    found = None
    for name in names:
        point = board.points.get(name)
        if point is not None and (found is None or point.time > found.time):
            found = point
    return found


def _is_canonical(point: Point) -> bool:
    return point.kind in ("part", "bone")
