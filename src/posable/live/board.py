"""`Board`: the newest of every tracked point, wherever it came from, and where each is at another moment.

Points have names (serials of trackers, bones, numbers), at most `MOST` of them. Between two reports a point goes on as
it moved, for at most `AHEAD` seconds and not faster than anybody moves; one that is silent for `LOST` is lost until it
comes again, and one that is silent for `FORGOTTEN` makes room for others.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..compute.types import Quat, Vec3

MOST = 64
"""Points, at most."""
LONGEST_NAME = 128
"""Characters of a name, at most."""
AHEAD = 0.05  # [s]
LOST = 0.25  # [s]
FORGOTTEN = 10.0  # [s]
FASTEST = 15.0  # [m/s]: nobody throws a tracker faster
SPINNING = 30.0  # [rad/s]
AT_ONCE = 0.002  # [s]: a report this fresh is taken as it is
SUDDEN = 1e-4  # [s]: reports closer than this show no speed
UNKNOWN: Vec3 = (math.nan, math.nan, math.nan)


@dataclass(slots=True)
class Point:
    """A tracked point: its last report, and the one before."""

    name: str
    kind: str
    """One of "tracker", "headset" and "controller", whose rotations count from however they are worn, or of "bone" and
    "part", whose rotations are canonical orientations."""
    sender: str
    time: float
    """[s] of the last report."""
    position: Vec3
    """[m]; not finite where it was no position."""
    rotation: Quat | None
    """Unit, None where none was reported."""
    velocity: Vec3 = (0.0, 0.0, 0.0)
    """[m/s]"""
    spin: Quat | None = None
    """The rotation from the report before to this one, in the world, over `interval`."""
    interval: float = 0.0
    """[s]"""
    reports: int = 1

    def at(self, time: float) -> tuple[Vec3, Quat | None]:
        """Return (position [m], rotation) at a time [s]; the position is not finite once it is lost."""
        age = time - self.time
        if age <= AT_ONCE:
            return self.position, self.rotation
        if age > LOST:
            return UNKNOWN, None
        ahead = min(age, AHEAD)
        (x, y, z), (u, v, w) = self.position, self.velocity
        position = (x + ahead * u, y + ahead * v, z + ahead * w)
        rotation = self.rotation
        if rotation is not None and self.spin is not None and self.interval > 0.0:
            rotation = product(_power(self.spin, ahead / self.interval, ahead), rotation)
        return position, rotation


@dataclass(slots=True)
class FingerReport:
    """The last report of a finger's joint."""

    rotation: Quat
    """Its canonical rotation, from the part above it; counted from a T-pose where a bone reports it."""
    position: Vec3 | None
    """[m] where a bone sits in the frame of the one above it; None where no bone reports it."""
    sender: str
    time: float
    """[s] of the report; minus infinity once it is said to be lost."""


class Board:
    """Points by name, of all senders together, and joints of fingers by role."""

    def __init__(self) -> None:
        self.points: dict[str, Point] = {}
        self.fingers: dict[str, FingerReport] = {}
        """Role of a finger's joint to its last report."""
        self._full_until = -math.inf
        self.refused = 0
        """Reports of points for which there was no room."""
        self.doubled: set[tuple[str, str, str]] = set()
        """(name, sender, other sender) of points that two senders reported; a few of them."""

    def report(
        self,
        name: str,
        kind: str,
        position: Vec3 | None,
        rotation: Quat | None,
        sender: str,
        now: float,
    ) -> Point | None:
        """Take a report; return its point, None where there is no room.

        Args:
            name: of the point.
            kind: see `Point`.
            position: [m]; None for one that is no position: the point is lost.
            rotation: unit; None where it is not known.
            sender: who reports.
            now: [s]; a time before the last one counts as that one.
        """
        point = self.points.get(name)
        if point is None:
            return self._new(name, kind, position, rotation, sender, now)
        interval = now - point.time
        if sender != point.sender:
            if interval < 1.0 and len(self.doubled) < MOST:
                self.doubled.add((name, *sorted((sender, point.sender))))  # type: ignore[arg-type]
            point.sender, point.velocity, point.spin = sender, (0.0, 0.0, 0.0), None
        elif interval > LOST or position is None:
            point.velocity, point.spin = (0.0, 0.0, 0.0), None
        elif interval >= SUDDEN:
            point.velocity = _velocity(point.position, position, interval, point.velocity)
            point.spin, point.interval = _step(point.rotation, rotation), interval
        if position is None:
            point.position = UNKNOWN
        else:
            point.position = position
        point.rotation, point.kind = rotation, kind
        point.time = max(now, point.time)
        point.reports += 1
        return point

    def report_finger(
        self, role: str, rotation: Quat | None, sender: str, now: float, position: Vec3 | None = None
    ) -> None:
        """Take a report of a finger's joint.

        Args:
            role: one of `roles.FINGERS`.
            rotation: see `FingerReport`; None for one that is no rotation: the joint is lost.
            sender: who reports.
            now: [s]
            position: see `FingerReport`.
        """
        before = self.fingers.get(role)
        if before is not None and before.sender != sender and now - before.time < 1.0 and len(self.doubled) < MOST:
            self.doubled.add((role, *sorted((sender, before.sender))))  # type: ignore[arg-type]
        if rotation is not None:
            self.fingers[role] = FingerReport(rotation, position, sender, now)
        elif before is not None:
            before.time = -math.inf

    def _new(
        self, name: str, kind: str, position: Vec3 | None, rotation: Quat | None, sender: str, now: float
    ) -> Point | None:
        if len(name) > LONGEST_NAME:
            self.refused += 1
            return None
        if len(self.points) >= MOST:
            if now < self._full_until:
                self.refused += 1
                return None
            oldest = min(self.points.values(), key=lambda point: point.time)
            if now - oldest.time < FORGOTTEN:
                self._full_until = oldest.time + FORGOTTEN  # a flood of names is refused without a search
                self.refused += 1
                return None
            del self.points[oldest.name]
        point = Point(name, kind, sender, now, UNKNOWN if position is None else position, rotation)
        self.points[name] = point
        return point

    def present(self, now: float) -> list[Point]:
        """Return the points that are not lost at a time [s], in the order of their names."""
        found = [p for p in self.points.values() if now - p.time <= LOST and math.isfinite(p.position[0])]
        return sorted(found, key=lambda point: point.name)


def _velocity(old: Vec3, new: Vec3, interval: float, before: Vec3) -> Vec3:
    """Return the velocity [m/s], evened out over two reports, none where it is faster than anybody moves."""
    u, v, w = ((b - a) / interval for a, b in zip(old, new, strict=True))
    if not u * u + v * v + w * w <= FASTEST * FASTEST:  # also where the one before was lost
        return (0.0, 0.0, 0.0)
    return (0.5 * (u + before[0]), 0.5 * (v + before[1]), 0.5 * (w + before[2]))


def _step(old: Quat | None, new: Quat | None) -> Quat | None:
    """Return the rotation that leads from one to the other, in the world."""
    if old is None or new is None:
        return None
    w, x, y, z = old
    step = product(new, (w, -x, -y, -z))
    return step if step[0] >= 0.0 else (-step[0], -step[1], -step[2], -step[3])


def _power(step: Quat, exponent: float, seconds: float) -> Quat:
    """Return a part or a multiple of a rotation, not faster than `SPINNING` over so many seconds."""
    w, x, y, z = step
    sine = math.sqrt(x * x + y * y + z * z)
    if sine < 1e-9:
        return (1.0, 0.0, 0.0, 0.0)
    half = min(math.atan2(sine, w) * exponent, 0.5 * SPINNING * seconds)
    scale = math.sin(half) / sine
    return (math.cos(half), x * scale, y * scale, z * scale)


def product(p: Quat, q: Quat) -> Quat:
    """Return p q: q first, then p."""
    a, b, c, d = p
    w, x, y, z = q
    return (
        a * w - b * x - c * y - d * z,
        a * x + b * w + c * z - d * y,
        a * y - b * z + c * w + d * x,
        a * z + b * y - c * x + d * w,
    )


def rotated(q: Quat, v: Vec3) -> Vec3:
    """Return a vector rotated by a unit quaternion."""
    w, x, y, z = q
    a, b, c = v
    u, s, t = 2.0 * (y * c - z * b), 2.0 * (z * a - x * c), 2.0 * (x * b - y * a)
    return (a + w * u + y * t - z * s, b + w * s + z * u - x * t, c + w * t + x * s - y * u)
