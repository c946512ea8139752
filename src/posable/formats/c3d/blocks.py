"""The blocks of a C3D file: header, parameters, and points frame by frame (the C3D user guide of motion-lab.com).

512-byte blocks with a header, groups of parameters, then for each frame x, y, z and a word about each point, and analog
samples, which are left out. Numbers are those of three kinds of processors (Intel, DEC, MIPS), integers with a scale
or floats. The header counts frames in 16 bits; longer files say their number in one of three other ways, and writers
differ, so the largest that the file has room for is taken.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from ...compute import FormatError
from ...compute.files import read_bytes
from ...compute.types import Floats

BLOCK = 512
MAX_BYTES = 1 << 33
INTEL, DEC, MIPS = 84, 85, 86
MOST_POINTS = 20_000
MOST_PARAMETERS = 5000
FRAMES_AT_ONCE = 4096


class C3dFile:
    """A file of points: what its header and parameters say, and the points.

    Args:
        path: the file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.data = read_bytes(path, MAX_BYTES)
        if len(self.data) < 2 * BLOCK or self.data[1] != 0x50:
            raise FormatError(path, "is no C3D file: its second byte is not 0x50, or it has no parameters", "header")
        start = (self.data[0] - 1) * BLOCK
        if not BLOCK <= start <= len(self.data) - 4:
            raise FormatError(path, f"says that parameters begin in block {self.data[0]}", "header")
        self.processor = self.data[start + 3]
        if self.processor not in (INTEL, DEC, MIPS):
            raise FormatError(path, f"is of processor {self.processor}; expected 84, 85 or 86", "parameters")
        self.order = ">" if self.processor == MIPS else "<"
        self.parameters = self._read_parameters(start)
        self.points = self._word(1)
        self.analog = self._word(2)
        scale = self._float(12)
        self.scale = scale if scale != 0.0 else -1.0
        rate = self.number("POINT", "RATE", self._float(20))
        if not (0.0 < rate < 1e6 and math.isfinite(self.scale)):
            raise FormatError(path, f"has {rate} frames a second and scale {self.scale}", "header")
        self.rate = rate
        if not 0 < self.points <= MOST_POINTS:
            raise FormatError(path, f"has {self.points} points; expected 1 to {MOST_POINTS}", "header")
        self.start = (int(self.number("POINT", "DATA_START", 0.0)) or self._word(8)) * BLOCK - BLOCK
        if not BLOCK <= self.start <= len(self.data):
            raise FormatError(path, f"says that points begin at byte {self.start}", "header")
        self.frames = self._count_frames()

    def number(self, group: str, name: str, otherwise: float) -> float:
        """Return the first number of a parameter."""
        found = self.parameters.get((group, name))
        value = found.reshape(-1)[0] if isinstance(found, np.ndarray) and found.size else otherwise
        return float(value) if math.isfinite(value) else otherwise

    def words(self, group: str, name: str) -> list[str]:
        """Return the texts of a parameter, also those of its continuations (LABELS2, ...)."""
        found: list[str] = []
        for suffix in ("", *map(str, range(2, 100))):
            more = self.parameters.get((group, name + suffix))
            if not isinstance(more, list):
                break
            found += more
        return found

    def read_points(self) -> Floats:
        """Return positions (F, P, 3) in the file's unit; NaN where a point was not seen."""
        size = 4 if self.scale < 0.0 else 2
        row = (4 * self.points + self.analog) * size
        made = np.empty((self.frames, self.points, 3))
        for first in range(0, self.frames, FRAMES_AT_ONCE):
            count = min(FRAMES_AT_ONCE, self.frames - first)
            raw = np.frombuffer(self.data, np.uint8, count * row, self.start + first * row).reshape(count, row)
            raw = np.ascontiguousarray(raw[:, : 16 * self.points if size == 4 else 8 * self.points])
            if size == 4:
                values = self._floats(raw).reshape(count, self.points, 4)
            else:
                values = raw.view(self.order + "i2").reshape(count, self.points, 4).astype(np.float64)
            with np.errstate(all="ignore"):
                positions = values[..., :3] * (1.0 if size == 4 else self.scale)
                unseen = ~(values[..., 3] >= 0.0) | ~(np.abs(positions) < 1e9).all(axis=-1)
                # Some programs write a gap as the origin itself, which nobody's marker ever is.
                unseen |= (positions == 0.0).all(axis=-1)
            positions[unseen] = np.nan
            made[first : first + count] = positions
        return made

    def _count_frames(self) -> int:
        """Return how many frames there are: of the numbers that the file says, one that it has room for."""
        size = 4 if self.scale < 0.0 else 2
        row = (4 * self.points + self.analog) * size
        room = (len(self.data) - self.start) // row
        first, last = self._word(3), self._word(4)
        said = [last - first + 1]
        ends = [self.parameters.get(("TRIAL", name)) for name in ("ACTUAL_START_FIELD", "ACTUAL_END_FIELD")]
        if all(isinstance(end, np.ndarray) and end.size == 2 and np.isfinite(end).all() for end in ends):
            low, high = (int(end[0]) % 65536 + int(end[1]) % 65536 * 65536 for end in ends if end is not None)
            said.append(high - low + 1)
        said += [int(self.number("POINT", name, 0.0)) for name in ("LONG_FRAMES", "FRAMES")]
        said = [count for count in said if count > 0]
        fitting = [count for count in said if count <= room]
        if not fitting:
            what = f"has room for {room} frames of {self.points} points and says it has {max(said, default=0)}"
            raise FormatError(self.path, what, "points")
        return max(fitting)

    def _word(self, index: int) -> int:
        return int(np.frombuffer(self.data, self.order + "u2", 1, 2 * index)[0])

    def _float(self, at: int) -> float:
        return float(self._floats(np.frombuffer(self.data, np.uint8, 4, at).reshape(1, 4))[0, 0])

    def _floats(self, raw: np.ndarray[Any, Any]) -> Floats:
        """Return floats of the file's processor, from rows of bytes."""
        raw = np.ascontiguousarray(raw)
        with np.errstate(all="ignore"):
            if self.processor == DEC:  # the halves are exchanged, and its exponent is larger by 2
                halves = np.ascontiguousarray(raw.view("<u2").reshape(len(raw), -1, 2)[..., ::-1])
                return np.asarray(halves.reshape(len(raw), -1).view("<f4").astype(np.float64) / 4.0)
            return np.asarray(raw.view(self.order + "f4").astype(np.float64))

    def _read_parameters(self, start: int) -> dict[tuple[str, str], Any]:
        """Return parameters by group and name: arrays of numbers, or lists of texts."""
        end = min(len(self.data), start + max(1, self.data[start + 2]) * BLOCK)
        groups: dict[int, str] = {}
        found: dict[tuple[int, str], Any] = {}
        at = start + 4
        left = end - start  # values that lie over one another would be more than the section has
        for _ in range(MOST_PARAMETERS):
            if at + 4 > end:
                break
            length = abs(int(np.int8(np.uint8(self.data[at]))))
            number = int(np.int8(np.uint8(self.data[at + 1])))
            if length == 0 or at + 4 + length > end:
                break
            name = self.data[at + 2 : at + 2 + length].decode("latin-1").strip().upper()
            at += 2 + length
            step = int(np.frombuffer(self.data, self.order + "u2", 1, at)[0])
            if number < 0:
                groups[-number] = name
            elif number > 0:
                found[number, name], size = self._value(at + 2, end, name)
                left -= size
                if left < 0:
                    raise FormatError(self.path, "lies over others", f"parameter {name[:40]!r}")
            if step == 0:
                break
            at += step
        return {(groups.get(number, ""), name): value for (number, name), value in found.items()}

    def _value(self, at: int, end: int, name: str) -> tuple[Any, int]:
        """Return the value of a parameter, and how many bytes it has."""
        if at + 2 > end:
            return None, 0
        kind, count = int(np.int8(np.uint8(self.data[at]))), self.data[at + 1]
        shape = list(self.data[at + 2 : at + 2 + count])
        at += 2 + count
        size = abs(kind)
        total = math.prod(shape)
        if size not in (1, 2, 4) or count > 7 or at + total * size > end:
            raise FormatError(
                self.path, f"is of kind {kind} and shape {shape}: beyond its section", f"parameter {name[:40]!r}"
            )
        data = self.data[at : at + total * size]
        if kind == -1:
            width = shape[0] if shape else 1
            rows = total // width if width else 0
            return [data[k * width : (k + 1) * width].decode("latin-1").strip() for k in range(rows)], len(data)
        if size == 4:
            return (self._floats(np.frombuffer(data, np.uint8).reshape(1, -1))[0] if data else np.zeros(0)), len(data)
        return np.frombuffer(data, "u1" if size == 1 else self.order + "i2").astype(np.float64), len(data)
