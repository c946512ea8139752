"""Feet that stay where they are put: contacts on the floor, rolling over heel and ball, and the way through the air."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ..body.measures import Sole
from ..compute.types import Bools, Floats
from ..math import rotate
from .curves import X, Y, about, bump, quintic

MOST_TOE_BEND = 1.12  # 64 degrees, in the air
CLEARANCE = 0.075  # between floor and swinging foot, of the ankle's height: half a centimetre on a person


@dataclass(frozen=True)
class Contact:
    """A foot on the floor from `start` to `end` [s], its ankle over (x, z) [m] while it lies flat, turned by yaw."""

    start: float
    end: float
    x: float
    z: float
    yaw: float = 0.0


@dataclass(frozen=True)
class FootPath:
    """Where a foot goes: ankle (F, 3) [m], yaw (F,), pitch (F,) (toes up is positive), bend of the toes (F,)."""

    ankle: Floats
    yaw: Floats
    pitch: Floats
    toes: Floats
    down: Bools
    """(F,) whether it is on the floor."""
    free: Floats
    """(F,) 0 on the floor, 1 in the air, smoothly between."""


@dataclass(frozen=True)
class Footwork:
    """How a foot goes from contact to contact.

    On the floor it turns about its heel while its toes are up and about its ball while its heel is up, the toes left
    flat, so it rolls without sliding; it also turns on its ball by `pivot`. In the air its ankle takes the smoothest
    way (a quintic that continues place and velocity), raised by up to `lift` [m], most at the fraction `crest`; or
    it follows `swing`, bent by such a quintic so that it leaves and lands where the contacts are.

    Attributes:
        contacts: in order of time, from before the first frame to after the last.
        pitch: time to the foot's angle against the floor, toes up positive [rad].
        pivot: time to the turn on the ball, to the left, on top of the contact's yaw; in the air the foot just turns.
        swing: time to the ankle's place (F, 3) in the air [m].
    """

    contacts: Sequence[Contact]
    pitch: Callable[[Floats], Floats]
    pivot: Callable[[Floats], Floats] = np.zeros_like
    lift: float = 0.05
    crest: float = 0.45
    swing: Callable[[Floats], Floats] | None = None

    def path(self, times: Floats, sole: Sole) -> FootPath:
        """Where a foot with this sole is at these times."""
        ankle, yaw, toes = np.zeros((len(times), 3)), np.zeros(len(times)), np.zeros(len(times))
        down, free = np.zeros(len(times), bool), np.zeros(len(times))
        lean = self.pitch(times)
        for contact in self.contacts:
            here = (times >= contact.start) & (times <= contact.end)
            ankle[here], yaw[here] = self._rolled(times[here], contact, sole)
            down[here], toes[here] = True, np.maximum(-lean[here], 0.0)
        for before, after in pairwise(self.contacts):
            here = (times > before.end) & (times < after.start)
            span = after.start - before.end
            h = 0.01 * span
            s = (times[here] - before.end) / span
            leaves, lands = self._state(before, before.end, -h, sole), self._state(after, after.start, h, sole)
            travel = quintic(s[:, None], span, leaves, lands)
            ankle[here], yaw[here] = travel[:, :3], travel[:, 3] + self.pivot(times[here])
            ankle[here, 1] += self.lift * bump(s, self.crest)
            if self.swing is not None:  # join it within the first and leave it within the last part of the way
                still, first, last = (np.zeros(4),) * 3, 0.45, 0.30
                join = quintic(np.minimum(s / first, 1.0)[:, None], first * span, leaves, still)
                leave = quintic(np.maximum(1.0 - (1.0 - s) / last, 0.0)[:, None], last * span, still, lands)
                ankle[here] = self.swing(times[here]) + (join + leave)[:, :3]
            # Toes that lay flat under a raised heel straighten as the foot leaves the floor, and bend before it lands.
            rest = np.clip(1.0 - np.minimum(s, 1.0 - s) / 0.5, 0.0, 1.0)
            toes[here] = np.clip(-lean[here], 0.0, MOST_TOE_BEND) * rest**3 * (10 - 15 * rest + 6 * rest**2)
            near = np.clip(np.minimum(s, 1.0 - s) / 0.06, 0.0, 1.0)
            free[here] = near * near * (3 - 2 * near)
        # Proportions differ: a foot that would brush the floor on its way is raised, smoothly.
        gap = CLEARANCE * sole.depth
        lack = gap - lowest_point(ankle[:, 1], lean, toes, sole)
        ankle[:, 1] += free * 0.5 * (lack + np.sqrt(lack**2 + gap**2))
        return FootPath(ankle, yaw, lean, toes, down, free)

    def _rolled(self, t: Floats, contact: Contact, sole: Sole) -> tuple[Floats, Floats]:
        """Ankle (F, 3) and yaw (F,) of a foot that is down."""
        lean, yaw = self.pitch(t), contact.yaw + self.pivot(t)
        heel, ball = np.array([0.0, -sole.depth, -sole.heel]), np.array([0.0, sole.hinge - sole.depth, sole.ball])
        about_point = np.where((lean > 0.0)[:, None], heel, ball)
        rolled = about_point - rotate(about(X, -lean), about_point) - ball
        position = np.array([contact.x, sole.depth, contact.z]) + rotate(about(Y, contact.yaw), ball)
        return position + rotate(about(Y, yaw), rolled), yaw

    def _state(self, contact: Contact, t: float, h: float, sole: Sole) -> tuple[Floats, Floats, Floats]:
        """Ankle and yaw without pivot (4,), their rates over steps of h [s] into the contact, and no acceleration."""
        ankle, yaw = self._rolled(np.array([t, t + h, t + 2 * h]), contact, sole)
        if self.swing is not None:
            ankle = ankle - self.swing(np.array([t, t + h, t + 2 * h]))
        p = np.concatenate([ankle, (yaw - self.pivot(np.array([t, t + h, t + 2 * h])))[:, None]], axis=1)
        return p[0], (-1.5 * p[0] + 2 * p[1] - 0.5 * p[2]) / h, np.zeros(4)


def lowest_point(ankle: Floats, pitch: Floats, toes: Floats, sole: Sole) -> Floats:
    """(F,) [m]: height of the lowest of heel, ball and toe tip, from the ankle's height, the pitch, the toes' bend."""
    up, along = np.cos(pitch), np.sin(pitch)
    heel = ankle - sole.depth * up - sole.heel * along
    ball = ankle - sole.depth * up + sole.ball * along
    hinge = ankle - (sole.depth - sole.hinge) * up + sole.ball * along
    tip = hinge - sole.hinge * np.cos(pitch + toes) + (sole.tip - sole.ball) * np.sin(pitch + toes)
    return np.minimum(np.minimum(heel, ball), tip)
