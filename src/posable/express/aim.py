"""Tips of one skeleton aimed together, where directions and positions change at the same time.

The solvers of single chains meet an orientation, wherever the tip then is. A point that is looked at, or a tip whose
base another chain moves, needs the positions too. Here all values are unknowns of one problem: damped least squares
(Levenberg-Marquardt) inside the limits, from several starts, with the bends of the postures as soft terms first and
without them last, so that a tip aims exactly where it can and holds its posture as well as that allows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import math as pm
from ..compute import PosableError
from ..compute.gpu_arrays import contiguous, empty, first_on_gpu, full, zeros
from ..compute.types import Floats, Ints, Records
from .aim_kernels import BEND, DIRECTION, LINK, MATRIX, ORIENTATION, POINT, PRIMES, TIP, aim_rows
from .chain import Chain, Link
from .model import BEND as BENDING
from .model import REPORT

KINDS = {"orientation": ORIENTATION, "direction": DIRECTION, "look_at": POINT}
BLOCK, BLOCK_ON_GPU = 4096, 1 << 18  # rows a call of the kernel


@dataclass(frozen=True, eq=False)
class TipSettings:
    """How a tip is judged: the options of its `ERIK`."""

    symmetric: bool
    tolerance: float
    """The largest orientation score that counts as reached."""
    posture: float
    """Weight of the posture error in the error."""
    aggravation: float
    signed: bool
    weight: float = 1.0


class AimProblem:
    """Chains of one skeleton as one problem with values (V,), each of which stands once.

    Args:
        chains: by the name of their end point.
        kinds: the kind of each one's target, of `KINDS`.
        settings: how each is judged.
    """

    def __init__(self, chains: Mapping[str, Chain], kinds: Mapping[str, int], settings: Mapping[str, TipSettings]):
        self.chains = dict(chains)
        self.columns: dict[str, Ints] = {}
        """End point to (N,) the values of its chain."""
        skeleton = next(iter(self.chains.values())).skeleton
        self._skeleton, self._rest = skeleton, skeleton.forward(skeleton.rest)
        drives = self._number_values()
        last = self._lay_links(drives)
        self._tips, bends = np.zeros(len(self.chains), TIP), []
        for t, (name, chain) in enumerate(self.chains.items()):
            self._lay_tip(t, chain, kinds[name], settings[name], last)
            bends += self._bends(t, name, settings[name])
        self._bend_rows = np.array(bends, BEND)

    def _number_values(self) -> dict[int, list[tuple[Link, int]]]:
        """Number the values of all chains; return the links of each joint with the value that drives them."""
        numbers: dict[tuple[int, tuple[float, ...]], int] = {}
        drives: dict[int, list[tuple[Link, int]]] = {}
        low: list[float] = []
        high: list[float] = []
        for name, chain in self.chains.items():
            own = []
            for d, key in enumerate(value_keys(chain)):
                v = numbers.setdefault(key, len(low))
                if v == len(low):
                    low.append(-math.inf)
                    high.append(math.inf)
                low[v], high[v] = max(low[v], chain.lower[d]), min(high[v], chain.upper[d])
                if low[v] > high[v]:
                    raise PosableError(f"the limits of {chain.names[d]!r} leave it no value that all chains allow")
                own.append(v)
            self.columns[name] = np.array(own, dtype=np.int64)
            for link in chain.links:
                known = drives.setdefault(link.joint, [])
                if not any(np.allclose(link.axis, one.axis, atol=1e-9) for one, _ in known):
                    known.append((link, own[link.dof]))
        self.lower, self.upper = np.array(low), np.array(high)
        # Slides, and motors that move several joints of a chain (fingers), do what the posture says.
        still = {value for links in drives.values() for link, value in links if link.slides}
        for name, chain in self.chains.items():
            dofs = [link.dof for link in chain.links]
            still |= {int(self.columns[name][dof]) for dof in dofs if dofs.count(dof) > 1}
        self._fixed = np.array([value in still for value in range(len(low))], dtype=np.int64)
        return drives

    def _lay_links(self, drives: Mapping[int, Sequence[tuple[Link, int]]]) -> dict[int, int]:
        """Fill the links, parents first; return the last link of each joint that has any."""
        parents, rest = self._skeleton.parents, self._rest
        # Joints of a skeleton come after their parents, so links do too.
        order = [(joint, link, value) for joint in sorted(drives) for link, value in drives[joint]]
        self._links = np.zeros(len(order), LINK)
        last: dict[int, int] = {}
        for k, (joint, link, value) in enumerate(order):
            carrier = joint
            while carrier >= 0 and carrier not in last:
                carrier = int(parents[carrier])
            position, rotation = rest.positions[joint], rest.orientations[joint]
            if carrier >= 0:
                back = pm.conjugate(rest.orientations[carrier])
                position = pm.rotate(back, position - rest.positions[carrier])
                rotation = pm.multiply(back, rotation)
            row = self._links[k]
            row["parent"], row["value"], row["slides"] = last.get(carrier, -1), value, link.slides
            row["multiplier"], row["offset"] = link.multiplier, link.offset
            row["at"], row["rest"], row["axis"] = position, rotation, link.axis
            last[joint] = k
        return last

    def _lay_tip(self, t: int, chain: Chain, kind: int, settings: TipSettings, last: Mapping[int, int]) -> None:
        """Fill the row of an end point, in the frame of the last link before it."""
        rest, joint = self._rest, chain.tip
        while joint not in last:
            joint = int(self._skeleton.parents[joint])
        back = pm.conjugate(rest.orientations[joint])
        position = rest.positions[chain.tip] + pm.rotate(rest.orientations[chain.tip], chain.tip_offset)
        frame = np.asarray(pm.multiply(back, rest.orientations[chain.tip]))
        row = self._tips[t]
        row["link"], row["kind"], row["symmetric"] = last[joint], kind, settings.symmetric
        row["weight"], row["tolerance"], row["posture"] = settings.weight, settings.tolerance, settings.posture
        row["at"], row["frame"] = pm.rotate(back, position - rest.positions[joint]), frame
        row["pointing"] = pm.rotate(frame, chain.pointing)

    def _bends(self, t: int, name: str, settings: TipSettings) -> list[tuple[float, ...]]:
        """Return the rows of the bends that an end point's posture consists of."""
        chain, rows = self.chains[name], []
        packed = chain.packed(settings.aggravation).joints
        for joint, k in zip(packed, chain.rotating, strict=False):
            if joint["kind"] == BENDING:
                link = chain.links[k]
                shape = [float(joint[field]) for field in ("k0", "phi", "amp", "side", "weight")]
                value = int(self.columns[name][link.dof])
                rows.append((t, value, settings.signed, link.multiplier, link.offset, *shape))
        return rows

    def solve(
        self,
        goals: Floats,
        postures: Mapping[str, Floats],
        starts: Floats,
        *,
        length: int = 1,
        before: Floats | None = None,
        max_step: float = math.inf,
        gain: float = 0.0,
    ) -> tuple[Floats, Records]:
        """Return (values (n, V), reports (n, T) of `REPORT`).

        Args:
            goals: (n, T, 4) an orientation, or a direction or a point [m] in the first three.
            postures: end point to (n, N) the values of its posture.
            starts: (n, S, V) where the search begins. Slides and motors of several joints keep those of the first.
            length: frames a track: each row continues from the one before it, but for the first of every `length`.
            before: (n / length, V) what the first rows continue from; none by default.
            max_step: [rad or m] how far a value goes from one row of a track to the next, unless only a jump helps.
            gain: how much smaller the error must be for a jump.
        """
        total, count = len(goals), len(self.lower)
        bends, like = self._bend_rows, first_on_gpu(starts, goals)
        shapes = self._shapes(postures, total, like)
        tracks = total // max(length, 1)
        past = full((tracks, count), np.nan, like) if before is None else before
        values, report = empty((total, count), like), zeros((total, len(self.chains)), like, REPORT)
        step = max(1, BLOCK // max(length, 1)) if like is None else BLOCK_ON_GPU  # tracks
        size = min(step, tracks)
        frames, jacobian = (
            empty((size, len(self._links), 7), like, np.float64),
            empty((size, 3, count), like, np.float64),
        )
        work = empty((size, MATRIX + 2 * count, count), like, np.float64)
        for first in range(0, tracks, step):
            n = min(step, tracks - first)
            rows = slice(first * length, (first + n) * length)
            aim_rows(
                n,
                length,
                self._links,
                self._tips,
                bends,
                self.lower,
                self.upper,
                self._fixed,
                PRIMES,
                gain,
                max_step,
                goals[rows],
                shapes[rows],
                starts[rows],
                past[first : first + n],
                values[rows],
                report[rows],
                frames,
                jacobian,
                work,
            )
        return values, report

    def _shapes(self, postures: Mapping[str, Floats], total: int, like: Any) -> Floats:
        """Return (n, B) the angles [rad] of the postures at the bends."""
        bends = self._bend_rows
        shapes: list[Any] = [full((total,), 0.0, like)] * len(bends)
        for t, (name, values) in enumerate(postures.items()):
            for b in np.flatnonzero(bends["tip"] == t).tolist():
                column = int(np.flatnonzero(self.columns[name] == bends["value"][b])[0])
                shapes[b] = values[:, column] * float(bends["multiplier"][b]) + float(bends["offset"][b])
        return contiguous(np.stack(shapes, 1)) if shapes else empty((total, 0), like)  # type: ignore[no-any-return]


def value_keys(chain: Chain) -> list[tuple[int, tuple[float, ...]]]:
    """Return for each value of a chain what identifies it in another chain.

    That is the joint and axis of its first link; or the joint that the link mimics, which may lie in another chain.
    """
    firsts = [next(link for link in chain.links if link.dof == d) for d in range(len(chain))]
    moving = [
        (link.motor, chain.skeleton.axes[link.motor, 0]) if link.motor >= 0 else (link.joint, link.axis)
        for link in firsts
    ]
    return [(joint, tuple((np.round(axis, 9) + 0.0).tolist())) for joint, axis in moving]
