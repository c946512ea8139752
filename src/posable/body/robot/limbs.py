"""Where a robot's limb bends: which of its joints are the hip, the knee and the ankle, and where their centres are.

A limb is a chain of axes. The knee (elbow) is the joint across the limb that leaves the axes before it close to one
point, the hip (shoulder), those after it close to another, the ankle (wrist), with two bones of comparable length
between. Axes of a hip miss each other by centimetres, and motors sit beside the axes that they turn, so centres are
found from axes, not from the joints' own frames (`centres`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...compute.types import Floats

PARALLEL = 0.9  # cosine of axes that count as one direction
FOREARM_OF_UPPER = 0.146 / 0.186  # lengths of people's forearms and upper arms (Winter 2009, Fig. 4.1)


@dataclass(frozen=True)
class Split:
    """The joints of a limb, from the trunk outwards."""

    girdle: tuple[int, ...]
    base: tuple[int, ...]
    mid: tuple[int, ...]
    end: tuple[int, ...]
    toes: tuple[int, ...]
    centres: Floats
    """(3, 3) hip, knee and ankle, or shoulder, elbow and wrist, in the world [m]."""


class LimbAxes:
    """The axes of a limb's chain in a standing pose.

    Args:
        joints: of the chain.
        points: (K, 3) [m] a point of each axis.
        axes: (K, 3) unit directions.
        tip: (3,) [m] the middle of the hand or of the sole.
        leg: whether it is a leg: at most two joints are its ankle.
    """

    def __init__(self, joints: Sequence[int], points: Floats, axes: Floats, tip: Floats, leg: bool) -> None:
        self.joints, self.points, self.axes, self.tip, self.leg = tuple(joints), points, axes, tip, leg

    def split(self, first: int | None = None, mid: int | None = None, end: int | None = None) -> Split:
        """The best split; `first`, `mid` and `end` are where in the chain hip, knee and ankle begin, if known."""
        count = len(self.joints)
        best: tuple[float, tuple[int, int, int, int]] | None = None
        for k in range(1, count) if mid is None else [mid]:
            for after in self.ankles(k) if end is None else [end]:
                for toes in sorted({count, self.toes_from(after)}):
                    cut = (self.begins(k) if first is None else min(first, k - 1), k, after, toes)
                    cost = self.cost(*cut)
                    if best is None or cost < best[0] - 1e-9:
                        best = (cost, cut)
        assert best is not None
        start, k, after, toes = best[1]
        j = self.joints
        return Split(j[:start], j[start:k], j[k:after], j[after:toes], j[toes:], self.centres(start, k, after, toes))

    def begins(self, k: int) -> int:
        """Where the shoulder begins when the elbow begins at k: joints before its three move a clavicle."""
        return 0 if self.leg else max(0, k - 3)

    def ankles(self, k: int) -> list[int]:
        """Where the ankle may begin when the knee begins at k: after it, or after more joints parallel to it."""
        found = [k + 1]
        while self.leg and found[-1] < len(self.joints) - 1 and abs(self.axes[found[-1]] @ self.axes[k]) > PARALLEL:
            found.append(found[-1] + 1)
        return found

    def toes_from(self, after: int) -> int:
        """Where toes begin: a joint of a leg after two of the ankle, or parallel to the ankle's first and before it."""
        count = len(self.joints)
        return count - 1 if self.leg and count - after == 3 else count

    def cost(self, first: int, k: int, after: int, toes: int) -> float:
        """How badly a split fits, in bones' lengths."""
        base, mid, end = self.centres(first, k, after, toes)
        upper, lower = mid - base, end - mid
        lengths = float(np.linalg.norm(upper)), float(np.linalg.norm(lower))
        whole = sum(lengths)
        if min(lengths) < 1e-3 * max(whole, 1e-9):
            return 100.0
        cost = (self.miss(range(first, k), base) + self.miss(range(after, toes), end)) / whole
        cost += abs(float(self.axes[k] @ upper)) / lengths[0]  # a knee lies across its limb
        ratio = max(lengths) / min(lengths)
        cost += max(0.0, np.log(ratio / 2.5)) + 0.3 * (after - k - 1) + 0.5 * first
        cost += (0.0, 0.0, 0.05, 0.4)[min(3, max(0, 3 - (k - first)))] + 0.5 * max(0, k - first - 3)
        most = 2 if self.leg else 3
        return float(cost + 1.0 * max(0, toes - after - most) + 0.2 * (self.leg and toes == after))

    def miss(self, which: range, centre: Floats) -> float:
        """How far some axes pass from a point, root mean square [m]."""
        if not which:
            return 0.0
        away = centre - self.points[list(which)]
        axes = self.axes[list(which)]
        off = away - (away * axes).sum(axis=-1, keepdims=True) * axes
        return float(np.sqrt((off * off).sum(axis=-1).mean()))

    def centres(self, first: int, k: int, after: int, toes: int) -> Floats:
        """(3, 3) [m] the centres of a split.

        The ankle is where its axes meet, in the middle of a single one; the knee the point of its axis beside the
        ankle; the hip the point beside the knee on the axis that is parallel to the knee's, so that a leg with bent
        knee and hip stays in its plane, or where the axes meet when none is.
        """
        mid_axis = self.axes[k]
        mid_point = self.points[k]
        guess = self.meeting(range(first, k), mid_point)
        end = self.end_centre(range(after, toes), mid_axis, mid_point, guess)
        mid = mid_point + ((end - mid_point) @ mid_axis) * mid_axis
        base = self.meeting(range(first, k), mid)
        for i in reversed(range(first, k)):
            along = float(self.axes[i] @ mid_axis)
            if abs(along) > PARALLEL:
                base = self.points[i] + ((mid - self.points[i]) @ mid_axis) / along * self.axes[i]
                break
        return np.array([base, mid, end])

    def end_centre(self, which: range, mid_axis: Floats, mid: Floats, base: Floats) -> Floats:
        """(3,) [m] the ankle or wrist, where one would be when the limb has none."""
        if not which:
            beyond = float(np.linalg.norm(self.tip - mid))
            forearm = min(FOREARM_OF_UPPER * float(np.linalg.norm(mid - base)), 0.9 * beyond)
            return np.asarray(mid + forearm * _unit(self.tip - mid))
        across = [i for i in which if abs(self.axes[i] @ _unit(self.tip - mid)) < PARALLEL]
        if not across:  # only the forearm turns: the wrist is on that axis, as far out as a person's or as that motor
            axis, point = self.axes[which[0]], self.points[which[0]]
            axis = axis * np.sign(axis @ (self.tip - mid))
            beyond, motor = float((self.tip - mid) @ axis), float((point - mid) @ axis)
            forearm = min(FOREARM_OF_UPPER * float(np.linalg.norm(mid - base)), 0.9 * beyond)
            return np.asarray(point + (max(forearm, motor) - motor) * axis)
        if len(which) == 1 or not self.crossed(which):
            i = across[0]
            return np.asarray(self.points[i] + ((self.tip - self.points[i]) @ self.axes[i]) * self.axes[i])
        return self.meeting(which, np.mean(self.points[list(which)], axis=0))

    def crossed(self, which: range) -> bool:
        """Whether some of the axes cross each other."""
        return any(abs(self.axes[i] @ self.axes[j]) < PARALLEL for i in which for j in which if i < j)

    def meeting(self, which: range, near: Floats) -> Floats:
        """(3,) [m] the point nearest to some axes; where they leave it open, the one nearest to another point."""
        matrix, right = 1e-6 * np.eye(3), 1e-6 * near
        for i in which:
            across = np.eye(3) - np.outer(self.axes[i], self.axes[i])
            matrix = matrix + across
            right = right + across @ self.points[i]
        return np.asarray(np.linalg.solve(matrix, right))


def _unit(v: Floats) -> Floats:
    return np.asarray(v / max(float(np.linalg.norm(v)), 1e-12))
