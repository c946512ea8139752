"""Calibration while somebody stands and moves: which tracker is where, how it sits there, and how long the person is.

`Calibrating` is the procedure: ready, standing for three seconds, moving for eight. `LiveCalibration` is what comes of
it: the parts that trackers are on, and how they sit there, a `Calibration`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from ..body.roles import MARKERS
from ..compute import FormatError, PosableError, UnknownNameError
from ..compute.documents import read_document, write_document
from ..compute.types import Floats
from ..reconstruct import Calibration
from ..reconstruct.packed import BETWEEN
from ..reconstruct.sik import TRACKABLE
from .assignment import Assignment, assign, faces_backwards, swapped
from .board import MOST, Board, Point
from .intake import part_of

if TYPE_CHECKING:
    from ..body import Humanoid

STAND, MOVE = 3.0, 8.0
"""[s] of standing, and of moving after it."""
SETTLE = 1.0
"""[s] at the beginning of standing that do not count: somebody still gets into place."""
SWAY = 0.15
"""[m] that a tracker may wander while somebody stands."""
NEAR = 0.05
"""[statures] from an elbow or knee up to which a tracker without an orientation counts as there."""
STANDS = "somebody who stands upright, arms hanging or out to the sides"
MOST_LEFT_OUT, FEWEST = 2, 6
"""Trackers that fit nowhere, at most, and trackers that are left at least: a few fit everybody somehow."""
FRAMES = 2000
"""Moments that are collected, at most."""
OFF, READY, STANDING, MOVING, DONE = "off", "ready", "stand", "move", "done"
STATES = {OFF: 0, READY: 1, STANDING: 2, MOVING: 2, DONE: 3}
"""What `/VMC/Ext/OK` says of each phase."""
FORMAT = "posable-live-calibration/1"
MAX_BYTES = 1_000_000


@dataclass(frozen=True)
class LiveCalibration:
    """Which tracker is on which part, and how each sits there."""

    roles: dict[str, str]
    """Name of a tracker to the part it is on."""
    calibration: Calibration | None = None
    """Of the parts that have a tracker; None where they are too few to tell: three of `MARKERS` and the head."""
    notes: tuple[str, ...] = ()
    """What was found and assumed."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a JSON file that a person can read."""
        write_document(path, self.document, _File)

    @property
    def document(self) -> dict[str, Any]:
        """The same as JSON has it."""
        document: dict[str, Any] = {"format": FORMAT, "roles": dict(self.roles), "sits": None}
        if (made := self.calibration) is not None:
            rows = zip(made.markers, made.offsets.tolist(), made.rotations.tolist(), strict=True)
            document["sits"] = {
                "trackers": [{"part": role, "offset": offset, "rotation": rotation} for role, offset, rotation in rows],
                "scales": {name: float(scale) for name, scale in made.scales.items()},
            }
        return document

    @classmethod
    def of_document(cls, path: str | os.PathLike[str], document: Any) -> LiveCalibration:
        """Return what `document` was of; `path` is named in errors."""
        try:
            return cls._of_file(path, msgspec.convert(document, _File))
        except msgspec.ValidationError as error:
            raise FormatError(path, str(error)) from None

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> LiveCalibration:
        """Read what `save` wrote."""
        return cls._of_file(path, read_document(path, _File, FORMAT, MAX_BYTES))

    @classmethod
    def _of_file(cls, path: str | os.PathLike[str], found: _File) -> LiveCalibration:
        for role in found.roles.values():
            if role not in TRACKABLE:
                raise FormatError(path, str(UnknownNameError("part", role, TRACKABLE)), "roles")
        if len(found.roles) > MOST or len(set(found.roles.values())) < len(found.roles):
            raise FormatError(path, f"expected up to {MOST} trackers, each part once", "roles")
        if found.sits is None:
            return cls(found.roles)
        trackers = found.sits.trackers
        try:
            rotations = np.array([tracker.rotation for tracker in trackers])
            if not (np.abs(np.linalg.norm(rotations, axis=-1) - 1.0) < 1e-3).all():
                raise PosableError("a rotation is not a unit quaternion")
            offsets = np.array([tracker.offset for tracker in trackers])
            parts = tuple(tracker.part for tracker in trackers)
            made = Calibration(parts, offsets, rotations, dict(found.sits.scales))
        except PosableError as error:
            raise FormatError(path, str(error), "sits") from None
        return cls(found.roles, made)


class _Tracker(msgspec.Struct, forbid_unknown_fields=True):
    part: str
    offset: tuple[float, float, float]
    rotation: tuple[float, float, float, float]


class _Sits(msgspec.Struct, forbid_unknown_fields=True):
    trackers: list[_Tracker]
    scales: dict[str, float]


class _File(msgspec.Struct, forbid_unknown_fields=True):
    format: str
    roles: dict[str, str]
    sits: _Sits | None = None


@dataclass
class Calibrating:
    """The procedure, driven by `step` with the points of each moment."""

    body: Humanoid
    stand: float = STAND
    """[s] of standing."""
    move: float = MOVE
    """[s] of moving."""
    height: float | None = None
    """Sole to crown of the person [m], where it is known."""
    fixed: Mapping[str, str] = field(default_factory=dict)
    """Name of a tracker to its part, where that is known."""
    phase: str = OFF
    message: str = ""
    """What the person is to do now, or what came of it."""
    _begun: float = 0.0
    _frames: list[list[Point]] = field(default_factory=list)
    _stood: list[list[Point]] = field(default_factory=list)
    _last: float = 0.0

    @property
    def state(self) -> int:
        """0 not calibrated, 1 waiting, 2 calibrating, 3 calibrated, as `/VMC/Ext/OK` says it."""
        return STATES[self.phase]

    @property
    def in_progress(self) -> bool:
        """Whether somebody stands or moves for it."""
        return self.phase in (STANDING, MOVING)

    def ready(self) -> None:
        """Wait for the beginning."""
        self.phase, self.message = READY, "Ready: stand upright, arms hanging or out to the sides, then begin."

    def begin(self, now: float) -> None:
        """Begin with standing."""
        self.phase, self._begun, self._frames, self._stood = STANDING, now, [], []
        self._last = -1.0
        self.message = f"Stand still for {self.stand:g} seconds, upright, arms hanging or out to the sides."

    def remaining(self, now: float) -> float:
        """Return how long the phase lasts yet [s]."""
        lasts = {STANDING: self.stand, MOVING: self.move}.get(self.phase, 0.0)
        return max(0.0, lasts - (now - self._begun))

    def step(self, board: Board, now: float) -> LiveCalibration | None:
        """Take the points of a moment; return the calibration once it is done.

        A calibration that cannot be is said in `message`; the one before stays.
        """
        if not self.in_progress:
            return None
        elapsed = now - self._begun
        settled = self.phase == MOVING or elapsed >= min(SETTLE, 0.5 * self.stand)
        spacing = (self.stand + self.move) / FRAMES
        if settled and now - self._last >= spacing and len(self._frames) < FRAMES:
            self._last = now
            self._frames.append([_copied(point) for point in board.present(now)])
        if elapsed < (self.stand if self.phase == STANDING else self.move):
            return None
        if self.phase == STANDING:
            self._stood, self._frames = self._frames, []
            if not any(self._stood):
                self._fail("no tracker was seen while standing")
                return None
            self.phase, self._begun = MOVING, now
            self.message = f"Now move for {self.move:g} seconds: walk, bend, reach, step."
            if self.move > 0.0:
                return None
        try:
            found = calibrated(self.body, self._stood, self._frames, self.height, self.fixed)
        except PosableError as error:
            self._fail(str(error))
            return None
        self.phase, self.message = DONE, "; ".join(found.notes)
        self._frames, self._stood = [], []
        return found

    def _fail(self, why: str) -> None:
        self.phase, self.message = READY, f"Not calibrated: {why}. Stand and begin once more."
        self._frames, self._stood = [], []


def calibrated(
    body: Humanoid,
    stood: Sequence[Sequence[Point]],
    moved: Sequence[Sequence[Point]] = (),
    height: float | None = None,
    fixed: Mapping[str, str] | None = None,
) -> LiveCalibration:
    """Return the calibration of somebody who stood, and moved.

    Args:
        body: whose proportions the person has.
        stood: the points of moments of standing.
        moved: the points of moments of moving; default none.
        height: sole to crown [m]; by default what fits.
        fixed: name of a tracker to its part, where that is known.
    """
    names = sorted({point.name for frame in stood for point in frame})
    seen = {name: [point for frame in stood for point in frame if point.name == name] for name in names}
    names = [name for name in names if len(seen[name]) >= 0.5 * len(stood)]
    if not names:
        raise PosableError("no tracker was seen for half of the time")
    still = [_middle(seen[name]) for name in names]
    wandered = {name: np.ptp([p.position for p in seen[name]], axis=0).max() for name in names}
    worst = max(wandered, key=lambda name: float(wandered[name]))
    if wandered[worst] > SWAY:
        raise PosableError(f"{worst!r} moved by {wandered[worst]:.2f} m while standing; up to {SWAY} m is still")
    assignment, left_out = _assigned(still, body, fixed or {})
    # Two trackers may be called after the same part: how one of them sits would be wrong of the other.
    chosen = {assignment.roles[point.name]: point for point in still if point.name in assignment.roles}
    for role in BETWEEN:
        point = chosen.get(role)
        off = 0.0 if point is None else assignment.from_joints.get(point.name, 0.0)
        if point is not None and point.rotation is None and off > NEAR * assignment.stature:
            left_out[point.name] = f"it has no orientation and is {off:.2f} m from the joint, in whichever direction"
            del chosen[role]
    if not {"hips", "head"} & set(chosen):
        raise PosableError("no tracker was found on the hips or the head, without which there is no body")
    roles: dict[str, str] = {point.name: role for role, point in chosen.items()}
    notes = [f"{name} is left out: {why}" for name, why in sorted(left_out.items())]
    if len(moved) >= 30 and not any(point.kind == "headset" for point in still) and not fixed:
        free = all(part_of(point.name) is None for point in still)
        if free and faces_backwards(list(roles.values()), _positions(list(roles), moved)):
            roles = swapped(roles)
            notes.append("left and right were exchanged, by how the person moved")
    if len(moved) >= 30 and not _has_moved(_positions(list(roles), moved)):
        notes.append("nobody moved, so legs and trunk are as long as standing shows")
    made = _fitted(body, still, moved, roles, assignment, height)
    listing = ", ".join(f"{name} on {role.replace('_', ' ')}" for name, role in sorted(roles.items()))
    size = "" if made is None else f", {made.scales['trunk'] * body.height:.2f} m tall"
    return LiveCalibration(roles, made, (f"Calibrated{size}: {listing}", *notes))


def _assigned(still: Sequence[Point], body: Humanoid, fixed: Mapping[str, str]) -> tuple[Assignment, dict[str, str]]:
    """Return which tracker is on which part, and why those are left out that are on none.

    A tracker that lies on the desk shifts all others: where they fit nobody, each is tried without.
    """
    worn, left_out = list(still), dict[str, str]()
    found = first = assign(worn, body, fixed)
    while not found.fits and len(left_out) < MOST_LEFT_OUT and len(found.distances) > FEWEST:
        free = [p.name for p in worn if p.name in found.distances or p.name not in found.roles]
        tries = {name: assign([p for p in worn if p.name != name], body, fixed) for name in free}
        name = min(tries, key=lambda one: tries[one].misfit)
        found, worn = tries[name], [point for point in worn if point.name != name]
        left_out[name] = f"it fits nowhere on {STANDS}"
    if not found.fits:
        raise PosableError(f"trackers are {first.distance:.2f} m from where they would be on {STANDS}")
    return found, left_out | {point.name: "no part is left for it" for point in worn if point.name not in found.roles}


def _has_moved(positions: Floats) -> bool:
    """Return whether any of positions (F, M, 3) [m] moved further than somebody who stands sways."""
    seen = np.isfinite(positions)
    high, low = np.where(seen, positions, -np.inf).max(axis=0), np.where(seen, positions, np.inf).min(axis=0)
    return bool((high - low > SWAY).any())


def _fitted(
    body: Humanoid,
    still: Sequence[Point],
    moved: Sequence[Sequence[Point]],
    roles: Mapping[str, str],
    assignment: Assignment,
    height: float | None,
) -> Calibration | None:
    """Return how the trackers sit; None where too few are worn to tell."""
    by_role = {roles[point.name]: point for point in still if point.name in roles}
    markers = tuple(role for role in TRACKABLE if role in by_role)
    if len(set(markers) & set(MARKERS)) < 3 or "head" not in markers:
        return None
    orientations = {role: q for role in markers if (q := by_role[role].rotation) is not None}
    positions = np.array([by_role[role].position for role in markers])
    first = Calibration.from_pose(body, positions, orientations, pose=assignment.pose, height=height, markers=markers)
    names = {role: name for name, role in roles.items()}
    if "hips" not in markers or len(moved) < 30:
        return first
    points = _positions([names[role] for role in markers], moved)
    rotated = {role: _rotations(names[role], moved) for role in orientations}
    try:
        return Calibration.fit(body, points, rotated, start=first, markers=markers)
    except PosableError:  # hardly anything was seen while moving
        return first


def _positions(names: Sequence[str], frames: Sequence[Sequence[Point]]) -> Floats:
    """Return (F, M, 3) [m], NaN where a point was lost."""
    out = np.full((len(frames), len(names), 3), np.nan)
    rows = {name: k for k, name in enumerate(names)}
    for f, frame in enumerate(frames):
        for point in frame:
            if point.name in rows:
                out[f, rows[point.name]] = point.position
    return out


def _rotations(name: str, frames: Sequence[Sequence[Point]]) -> Floats:
    out = np.full((len(frames), 4), np.nan)
    for f, frame in enumerate(frames):
        for point in frame:
            if point.name == name and point.rotation is not None:
                out[f] = point.rotation
    return out


def _middle(points: Sequence[Point]) -> Point:
    """Return a point at the mean of its reports."""
    position = np.mean([point.position for point in points], axis=0)
    rotations = np.array([point.rotation for point in points if point.rotation is not None])
    made = _copied(points[-1])
    made.position = (float(position[0]), float(position[1]), float(position[2]))
    if len(rotations):
        w, x, y, z = np.linalg.eigh(rotations.T @ rotations)[1][:, -1].tolist()
        made.rotation = (w, x, y, z)
    return made


def _copied(point: Point) -> Point:
    return Point(point.name, point.kind, point.sender, point.time, point.position, point.rotation)
