"""Curves of an FBX animation: keys with constant, linear or cubic segments between them, sampled at any times.

A key holds the slopes at both ends of the segment behind it, and their weights: how far along the segment the handles
of its Bezier curve reach. Keys with automatic or TCB tangents state none: their slopes follow from the neighbours.
Before the first and behind the last key a curve stays, repeats, swings back and forth, or goes on straight.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...compute.types import Floats, Ints
from .document import Document, FbxObject

CONSTANT, LINEAR, CUBIC = 0x2, 0x4, 0x8
NEXT = 0x100  # of a constant segment: it has the value of the key at its end
TCB, USER = 0x200, 0x400  # of a cubic one: how slopes are given; neither: automatic
CLAMPED, TIMELESS, PROGRESSIVE = 0x1000, 0x2000, 0x4000
WEIGHTED, WEIGHTED_LEFT = 0x1000000, 0x2000000
THIRD = 1.0 / 3.0
FLAT = 1e-3  # values so close are one to a clamped tangent
STEEP, STEEPER = 5.0, 40.0  # a bias beyond this makes a tangent steeper, by this times its square
STEPS = 12  # of Newton's method on a Bezier segment


@dataclass(frozen=True, eq=False)
class Curve:
    """Keys of one number over time."""

    times: Ints
    """(K,) in the file's ticks, rising."""
    values: NDArray[Any]
    flags: NDArray[Any]
    """(R,) of runs of keys."""
    data: NDArray[Any]
    """(R, 4) slope, next slope, and two weights in the bits of one float."""
    ends: Ints
    """(R,) where each run of keys ends."""
    before: tuple[str, int]
    """How it goes on before its first key: a letter, and how often (-1: for ever)."""
    after: tuple[str, int]
    ticks: int

    def sample(self, ticks: Ints) -> Floats:
        """The values at some times (F,) in ticks, rising."""
        if len(self.times) < 2:
            return np.full(len(ticks), float(self.values[0]))
        first, last = int(self.times[0]), int(self.times[-1])
        early, late = ticks < first, ticks > last
        if not (early.any() or late.any()):
            return self._inside(ticks)
        values = self._inside(np.clip(ticks, first, last))
        for away, extrapolation, forward in ((early, self.before, False), (late, self.after, True)):
            if away.any() and extrapolation[0] != "C" and last > first:
                values[away] = self._beyond(ticks[away], extrapolation, forward)
        return values

    def _beyond(self, ticks: Ints, extrapolation: tuple[str, int], forward: bool) -> Floats:
        first, last = int(self.times[0]), int(self.times[-1])
        kind, count = extrapolation
        edge = last if forward else first
        if kind == "K":
            end = len(self.times) - 1
            some = self._slopes(np.array([end if forward else 0]))
            slope = float(some[0 if forward else 1][0])
            return np.asarray(float(self.values[-1 if forward else 0]) + slope * (ticks - edge) / self.ticks)
        away = np.abs(ticks - edge)
        laps, rest = away // (last - first), away % (last - first)
        if count >= 0:
            over = laps >= count
            laps, rest = np.where(over, count - 1, laps), np.where(over, last - first, rest)
        if kind == "M":
            rest = np.where(laps % 2 == 0, last - first - rest, rest)
        folded = first + rest if forward else last - rest
        order = np.argsort(folded, kind="stable")
        values = np.empty(len(ticks))
        values[order] = self._inside(folded[order])
        if kind == "A":
            values += (laps + 1) * (float(self.values[-1]) - float(self.values[0])) * (1 if forward else -1)
        return np.where(laps < 0, float(self.values[-1 if forward else 0]), values)

    def _inside(self, ticks: Ints) -> Floats:
        times = self.times
        behind = np.clip(np.searchsorted(times, ticks, side="right") - 1, 0, len(times) - 1)
        ahead = np.minimum(behind + 1, len(times) - 1)
        span = np.asarray(times[ahead] - times[behind], dtype=np.float64)
        part = np.where(span > 0, (ticks - times[behind]) / np.where(span > 0, span, 1.0), 0.0)
        low, high = self.values[behind].astype(np.float64), self.values[ahead].astype(np.float64)
        flags = self._flags(behind)
        values = low + part * (high - low)
        steps = (flags & CONSTANT) != 0
        values[steps] = np.where(
            (flags[steps] & NEXT) != 0, np.where(part[steps] > 0, high[steps], low[steps]), low[steps]
        )
        cubic = ~steps & ((flags & CUBIC) != 0) & (part > 0)
        if cubic.any():
            values[cubic] = self._bezier(behind[cubic], part[cubic], span[cubic] / self.ticks)
        return np.asarray(values)

    def _bezier(self, behind: Ints, part: Floats, seconds: Floats) -> Floats:
        low, high = self.values[behind].astype(np.float64), self.values[behind + 1].astype(np.float64)
        slope, (weight, next_weight) = self._slopes(behind)[1], self._weights(behind)
        next_slope = self._slopes(behind + 1)[0]
        out, into = weight, 1.0 - next_weight  # where the handles are, along the segment
        t = part.copy()
        for _ in range(STEPS):
            u = 1.0 - t
            x = 3 * u * u * t * out + 3 * u * t * t * into + t**3 - part
            rate = 3 * u * u * out + 6 * u * t * (into - out) + 3 * t * t * (1.0 - into)
            t = np.clip(t - x / np.where(np.abs(rate) > 1e-9, rate, 1.0), 0.0, 1.0)
        u = 1.0 - t
        second, third = low + weight * seconds * slope, high - next_weight * seconds * next_slope
        return np.asarray(u**3 * low + 3 * u * u * t * second + 3 * u * t * t * third + t**3 * high)

    def _runs(self, keys: Ints) -> Ints:
        return np.asarray(np.minimum(np.searchsorted(self.ends, keys, side="right"), len(self.flags) - 1))

    def _flags(self, keys: Ints) -> Ints:
        return np.asarray(self.flags[self._runs(keys)], dtype=np.int64)

    def _weights(self, keys: Ints) -> tuple[Floats, Floats]:
        """The weights of the handles at both ends of the segments behind some keys."""
        runs = self._runs(keys)
        flags = np.asarray(self.flags[runs], dtype=np.int64)
        bits = np.ascontiguousarray(self.data[runs, 2], dtype=np.float32).view(np.uint32)
        near = np.where((flags & WEIGHTED) != 0, (bits & 0xFFFF) * 1e-4, THIRD)
        far = np.where((flags & WEIGHTED_LEFT) != 0, (bits >> 16) * 1e-4, THIRD)
        straight = (flags & CUBIC) == 0
        return np.where(straight, THIRD, near), np.where(straight, THIRD, far)

    def _slopes(self, keys: Ints) -> tuple[Floats, Floats]:
        """The slopes on the left and on the right of some keys [1/s]."""
        last = len(self.times) - 1
        runs, earlier = self._runs(keys), self._runs(np.maximum(keys - 1, 0))
        flags, flags_before = (np.asarray(self.flags[r], dtype=np.int64) for r in (runs, earlier))
        given_right = np.nan_to_num(self.data[runs, 0].astype(np.float64), posinf=0.0, neginf=0.0)
        known = (keys > 0) & ((flags_before & TCB) == 0)
        given_left = np.nan_to_num(np.where(known, self.data[earlier, 1], 0.0), posinf=0.0, neginf=0.0)
        here = self.values[keys].astype(np.float64)
        gaps, rises = [], []
        for other in (np.maximum(keys - 1, 0), np.minimum(keys + 1, last)):
            gaps.append(np.abs(self.times[other] - self.times[keys]) / self.ticks)
            rises.append((self.values[other] - here) * np.where(other < keys, -1.0, 1.0))
        has = [gap > 0 for gap in gaps]
        chords = [np.where(ok, rise / np.where(ok, gap, 1.0), 0.0) for ok, rise, gap in zip(has, rises, gaps)]
        both = has[0] & has[1]
        auto = [_automatic(flags, gaps, rises, chords, both, bias) for bias in (-given_left, given_right)]
        one_sided = np.where(has[0], chords[0], chords[1])
        level = np.abs(np.where(has[0], rises[0], rises[1])) <= FLAT
        one_sided = np.where(((flags & PROGRESSIVE) != 0) | (((flags & CLAMPED) != 0) & level), 0.0, one_sided)
        tied = np.abs(given_left + given_right) <= 1e-4
        auto = [np.where(both, np.where(tied, auto[1], one), one_sided) for one in auto]
        left, right = given_left, given_right
        cubic = ((flags & CUBIC) != 0) & ((flags & CONSTANT) == 0)
        is_auto = cubic & ((flags & (TCB | USER)) == 0)
        left, right = np.where(is_auto, auto[0], left), np.where(is_auto, auto[1], right)
        is_tcb = cubic & ((flags & TCB) != 0)
        if is_tcb.any():
            tcb = _tcb(np.nan_to_num(self.data[runs].astype(np.float64)), chords, both)
            left, right = np.where(is_tcb, tcb[0], left), np.where(is_tcb, tcb[1], right)
        return left, right


def _automatic(
    flags: Ints, gaps: list[Floats], rises: list[Floats], chords: list[Floats], both: Any, bias: Floats
) -> Floats:
    """The slope of automatic tangents: of both neighbours, half of it by how near each is, drawn aside by a bias."""
    whole = np.where(both, gaps[0] + gaps[1], 1.0)
    over_all = (rises[0] + rises[1]) / whole
    near = gaps[0] / whole
    slope = 0.5 * over_all + 0.5 * (chords[0] * (1.0 - near) + chords[1] * near)
    pull = np.abs(bias) / 100.0
    aside = np.where(bias > 0, chords[1], chords[0]) - slope
    steeper = np.maximum(pull - STEEP, 0.0) ** 2 * STEEPER * np.sign(np.where(np.abs(aside) > 1e-5, aside, bias))
    slope = np.where(pull > 1e-4, slope + aside * pull + steeper, slope)
    slope = np.where((flags & TIMELESS) != 0, over_all, slope)
    most = np.where(slope >= 0, 1.0, -1.0)
    limits = [np.maximum(most * chord / THIRD, 0.0) for chord in chords]
    clamped = most * np.minimum(np.abs(slope), np.minimum(*limits))
    slope = np.where((flags & PROGRESSIVE) != 0, clamped, slope)
    level = np.minimum(np.abs(rises[0]), np.abs(rises[1])) <= FLAT
    return np.where(((flags & CLAMPED) != 0) & level, 0.0, slope)


def _tcb(data: Floats, chords: list[Floats], both: Any) -> tuple[Floats, Floats]:
    """The slopes of Kochanek and Bartels: tension, continuity and bias."""
    tension, continuity, bias = data[:, 0], data[:, 1], data[:, 2]
    half = np.where(both, 0.5, 1.0) * (1.0 - tension)
    left = half * ((1 + bias) * (1 - continuity) * chords[0] + (1 - bias) * (1 + continuity) * chords[1])
    right = half * ((1 + bias) * (1 + continuity) * chords[0] + (1 - bias) * (1 - continuity) * chords[1])
    return left, right


def read_curve(document: Document, item: FbxObject) -> Curve | None:
    """Read a curve; None where it has no keys."""
    record = item.record
    times, values = record.array_of("KeyTime", "l"), record.array_of("KeyValueFloat", "d")
    if times is None or values is None or not len(times):
        return None
    document.source.take(8 * len(times), record.where)
    if len(values) != len(times):
        record.fail(f"has {len(values)} values at {len(times)} times")
    if len(times) > 1 and (times[1:] < times[:-1]).any():
        record.fail(f"goes back in time at key {int(np.argmax(times[1:] < times[:-1])) + 1}")
    if not np.isfinite(values).all() or max(abs(int(times[0])), abs(int(times[-1]))) > 2**61:
        record.fail("has keys that are not finite")
    flags, data = record.array_of("KeyAttrFlags", "l"), record.array_of("KeyAttrDataFloat", "f")
    counts = record.array_of("KeyAttrRefCount", "l")
    if flags is None or data is None or counts is None or not len(flags):
        flags, data, counts = np.array([LINEAR]), np.zeros(4), np.array([len(times)])
    if len(counts) != len(flags) or len(data) != 4 * len(flags) or (counts < 0).any():
        record.fail(f"has {len(flags)} kinds of keys, {len(counts)} counts and {len(data)} slopes")
    beyond = [_read_extrapolation(record, name) for name in ("Pre-Extrapolation", "Post-Extrapolation")]
    ends = np.cumsum(counts, dtype=np.int64)
    return Curve(times, values, flags, data.reshape(-1, 4), ends, beyond[0], beyond[1], document.ticks)


def _read_extrapolation(record: Any, name: str) -> tuple[str, int]:
    one = record.first(name)
    if one is None:
        return "C", 0
    kind, count = one.first("Type"), one.first("Repetition")
    value = kind.values[0] if kind is not None and kind.values else b"C"
    letter = chr(value) if isinstance(value, int) and 0 < value < 128 else str(value)[2:3]
    times = count.integer(0, -1) if count is not None else -1
    letter = letter if letter in "KMRA" and times != 0 else "C"
    return letter, times if times >= 0 else -1
