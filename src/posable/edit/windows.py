"""Windows of a long motion: each is worked on as a motion of its own, and they are joined without a seam.

What is done in a frame depends on the frames around it, but hardly on those that are seconds away. So a long motion is
cut into windows that overlap by some seconds on either side. In the middle of an overlap, where neither window's end is
felt any more, the poses of the one are blended into those of the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from ..compute.types import Floats
from ..math import slerp
from ..skeleton import Pose
from .contacts import Contact
from .soles import Placement

WHOLE = 12_000
"""Frames of a motion that is worked on as a whole."""
LENGTH = 6_000
"""Frames of a window, without those that it shares with others."""
OVERLAP = 3.0
"""[s]: by how much a window begins before, and ends after, what is its own."""
BLENDED = 0.5
"""[s]: from so long before a window's own frames until so long after their beginning, poses are blended."""


@dataclass(frozen=True)
class Window:
    """Frames `first` to `last` of a motion, of which `begin` to `end` are its own, `last` and `end` not included."""

    first: int
    last: int
    begin: int
    end: int
    blended: int
    """Frames before and after `begin` in which it is blended with the window before it; 0 where there is none."""

    @property
    def rows(self) -> slice:
        """Its frames."""
        return slice(self.first, self.last)

    def put(self, values: Floats, whole: Floats) -> None:
        """Write values (F, ...) of its frames into those of the whole motion, blended where it begins."""
        at, weight = self._seam(values.ndim)
        seam = whole[at] + weight * (values[at.start - self.first : at.stop - self.first] - whole[at])
        whole[at.start : self.last] = values[at.start - self.first :]
        whole[at] = seam

    def put_pose(self, pose: Pose, whole: Pose) -> None:
        """Write the poses of its frames into those of the whole motion, blended where it begins."""
        at, weight = self._seam(2)
        seam = slerp(whole.rotations[at], pose.rotations[at.start - self.first : at.stop - self.first], weight)
        whole.rotations[at.start : self.last] = pose.rotations[at.start - self.first :]
        whole.rotations[at] = seam
        self.put(pose.translation, whole.translation)

    def put_own(self, values: Any, whole: Any) -> None:
        """Write values (F, ...) of its own frames into those of the whole motion."""
        whole[self.begin : self.end] = values[self.begin - self.first : self.end - self.first]

    def contacts(self, found: Sequence[Contact]) -> tuple[Contact, ...]:
        """Return the contacts of the whole motion that are in its frames, counted from its first."""
        return tuple(
            replace(one, first=max(one.first, self.first) - self.first, last=min(one.last, self.last - 1) - self.first)
            for one in found
            if one.first < self.last and one.last >= self.first
        )

    def own_contacts(self, found: Sequence[Contact]) -> list[Contact]:
        """Return contacts that were found in its frames as far as they are in its own, counted from the motion's."""
        own = [
            replace(one, first=max(one.first + self.first, self.begin), last=min(one.last + self.first, self.end - 1))
            for one in found
        ]
        return [one for one in own if one.first <= one.last]

    def placements(
        self, stands: Sequence[Placement], surfaces: Sequence[Floats]
    ) -> tuple[list[Placement], list[Floats]]:
        """Return the placements of the whole motion that are in its frames, and the heights under each of them."""
        cut, heights = [], []
        for stand, height in zip(stands, surfaces, strict=True):
            first, last = max(stand.first, self.first), min(stand.last, self.last - 1)
            if first <= last:
                heel, ball = stand.heel[self.rows], stand.ball[self.rows]
                cut.append(replace(stand, first=first - self.first, last=last - self.first, heel=heel, ball=ball))
                heights.append(height[first - stand.first : last + 1 - stand.first])
        return cut, heights

    def _seam(self, axes: int) -> tuple[slice, Floats]:
        """Return the frames of the whole motion in which it is blended, and its weights, for values of so many axes."""
        at = slice(self.begin - self.blended, self.begin + self.blended)
        t = (np.arange(2 * self.blended) + 0.5) / max(2 * self.blended, 1)
        return at, (t * t * (3.0 - 2.0 * t)).reshape(-1, *[1] * (axes - 1))


def windows_of(count: int, fps: float) -> list[Window]:
    """Return the windows of a motion of so many frames, in their order; one of up to `WHOLE` frames has one."""
    if count <= WHOLE:
        return [Window(0, count, 0, count, 0)]
    overlap, blended = (min(round(seconds * fps), LENGTH // 4) for seconds in (OVERLAP, BLENDED))
    begins = np.linspace(0, count, -(-count // LENGTH) + 1).astype(int).tolist()
    return [
        Window(max(begin - overlap, 0), min(end + overlap, count), begin, end, blended if begin else 0)
        for begin, end in pairwise(begins)
    ]


def joined_contacts(found: Sequence[Sequence[Contact]]) -> list[Contact]:
    """Return the contacts of all windows, those that go on from one to the next in one piece, in the first's order."""
    joined: list[Contact] = []
    open_ones: dict[tuple[str, str, int], int] = {}
    for contacts in found:
        for one in contacts:
            before = open_ones.pop((one.part, one.on, one.first), None)
            if before is None:
                joined.append(one)
                before = len(joined) - 1
            else:
                joined[before] = replace(joined[before], last=one.last)
            open_ones[one.part, one.on, one.last + 1] = before
    return joined
