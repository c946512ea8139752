"""Where people have the other parts of the body, who have some of them where an artist put them.

The network of whole bodies (`SequentialIK`) is asked twice: about the touched parts where they were, and where they
are. A part is wished where the network has it now, and with it, less and less the further parts were dragged, the
difference between how the body was and what the network said of that, which no network knows. The network says how
large its error is, too, for arms and legs: a wish is the softer the less sure it is, and then a limb stays as it was.

Of elbows and knees it only knows to which side they bend.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from ..compute.types import Floats
from ..math import angle, axis_angle, conjugate, exp, log, multiply, rotate
from ..reconstruct import Prior, SequentialIK
from ..reconstruct.packed import NO_STATE
from ..reconstruct.sik import ORIENTED, TRACKABLE
from .autopose_kernels import EXPECTED, SAID, predict_rows
from .autopose_kernels import TRUNK as SAID_TRUNK

if TYPE_CHECKING:
    from ..body import Humanoid

FAR, ROTATED = 0.5, 1.0  # of the joint height, [rad]: drags so far leave a half of how the body was before
STANDS = 0.06  # of a leg: a foot stands that is no higher than this above the lower one
STAYS, STEPPED = 0.3, 0.6  # of a leg that the body has moved on: where a foot begins to follow, and where it has
REACH, FOLLOWS = 0.85, 0.9  # of a limb's length: further targets take the head along, by this part of what is beyond
HIPS = 0.5  # of what the head moves then, the hips do
SURE = {"assumed": 0.02, "trunk": 0.02, "mid": 0.2, "end": 0.03}
"""Of the joint height: softness of a part that the network is sure of. It grows with the error that it expects."""
LOST = 0.02  # of the joint height: from larger ones a hand lifts the other one further, by 0.19 with 0.03
NO_ERROR = 0.1  # of the joint height: without a network parts are drawn to where they were so softly
TRUNK = 0.3  # [rad] of the orientations of hips, chest and head
MIDS = ("left_lower_arm", "right_lower_arm", "left_lower_leg", "right_lower_leg")
POINTS = ("hips", "head", *MIDS, "left_hand", "right_hand", "left_foot", "right_foot")
"""Of which the network says where they are, in its order."""
LIMB_OF = (0, 0, 1, 2, 3, 4, 1, 2, 3, 4)
LIMBS = ("left_arm", "right_arm", "left_leg", "right_leg")
BENT = 0.1  # of a limb: one that is bent by less does not say to which side
IDENTITY = np.array([1.0, 0.0, 0.0, 0.0])
MOST_SETS = 64  # of parts whose solvers are kept
Requested = Mapping[str, tuple[Floats, Any]]
"""Part to position (3,) [m] and orientation (4,), canonical, or None."""
Feet = Mapping[str, tuple[Floats, Floats, bool]]
"""Feet that stand: position, orientation, and whether it stays there."""
Wish: TypeAlias = tuple[str, Floats, float, "Floats | None", float]
"""A part, its position [m] and the softness of that, its orientation and the softness of that; below 0: of none."""


class Said(NamedTuple):
    """Positions, orientations and expected errors of a body, as the network says."""

    points: Floats
    """(10, 3) [m] of `POINTS`."""
    trunk: Floats
    """(3, 4) canonical orientations of hips, chest and head."""
    errors: Floats
    """(5,) that it expects [heights]: of all, of arms and of legs, left ones first."""


class People:
    """Says where people have parts of one body. Immutable.

    Args:
        body: any person.
        prior: as `SequentialIK` takes it; None: nothing is known of people, and parts are drawn to where they were.
        plant_feet: whether feet that stand stay while people would not step.
    """

    def __init__(self, body: Humanoid, prior: Prior | str | os.PathLike[str] | None, plant_feet: bool) -> None:
        self.body, self.prior, self.plant_feet = body, prior, plant_feet
        joint = list(body.spine)[body.chest]
        self.chest = next((role for role, other in body.roles.items() if other == joint), "hips")
        """The part that carries the arms."""
        self._solvers: dict[tuple[str, ...], SequentialIK] = {}

    def drawn(self, was: Requested, requested: Requested) -> tuple[list[Wish], Feet]:
        """Return where people have the parts that nobody touched, and the feet that stand, from where parts `was`."""
        body = self.body
        known = {role: pair for role, pair in requested.items() if role in TRACKABLE}
        if not {"hips", "head"} & set(known):  # a hand alone does not say how the trunk is: it stays, or comes along
            beyond = self._beyond(was, requested)
            known |= {"head": (was["head"][0] + beyond, None), "hips": (was["hips"][0] + HIPS * beyond, None)}
        if "chest" in known and "upper_chest" in known:
            del known["chest"]
        standing = [role for role in self._standing(was) if role not in requested] if self.plant_feet else []
        at_start = {role: (was[role][0], None if q is None else was[role][1]) for role, (_, q) in known.items()}
        rest = {role: was[role] for role in standing}
        one, other = self._said((at_start | rest, known | rest), was)
        # The feet stay while what they carry is above them, and then go along with it.
        gone = 0.5 * (other.points[:2].sum(axis=0) - one.points[:2].sum(axis=0)) * [1.0, 0.0, 1.0]
        away = float(np.linalg.norm(gone)) / body.leg_length
        s = eased((away - STAYS) / (STEPPED - STAYS))
        feet = {role: (was[role][0] + s * gone, was[role][1], s == 0.0) for role in standing}
        if s > 0.0:
            (other,) = self._said((known | {role: (p, q) for role, (p, q, _) in feet.items()},), was)
        keep = 1.0 if self.prior is None else 1.0 / (1.0 + self._moved(was, known))
        wishes, trunk = self._trunk(one, other, was, requested, keep)
        positions: dict[str, Floats] = {role: one_foot[0] for role, one_foot in feet.items()}
        positions |= {role: pair[0] for role, pair in requested.items()}
        tall, floor = body.joint_height, min(float(was[role][0][1]) for role in ("left_foot", "right_foot"))
        for k, role in enumerate(POINTS):
            if role in positions or role in MIDS:
                continue
            p = other.points[k] + keep * (was[role][0] - one.points[k])
            if role.endswith("foot") and standing:
                p[1] = max(p[1], floor)
            positions[role] = p
            error = other.errors[LIMB_OF[k]]
            sure = SURE["trunk"] + 0.5 * error if k < 2 else SURE["end"] + _unsure(error)
            wishes.append((role, p, tall * (SURE["assumed"] if role in known else sure), None, -1.0))
        for k, role in enumerate(MIDS):
            if role not in positions:
                p = self._mid(k, was, positions, trunk, (one, other), keep)
                wishes.append((role, p, tall * (SURE["mid"] + _unsure(other.errors[1 + k])), None, -1.0))
        return wishes, feet

    def _trunk(
        self, one: Said, other: Said, was: Requested, requested: Requested, keep: float
    ) -> tuple[list[Wish], dict[str, Floats]]:
        """Return wishes for the orientations of hips, chest and head, and these: rotated as far as the network's are.

        How it has chest and head at all depends on how a rig's spine is divided: only their change counts.
        """
        wishes: list[Wish] = []
        trunk = {}
        for k, role in enumerate(("hips", self.chest, "head")):
            left = keep if k == 0 else 1.0
            q = multiply(other.trunk[k], exp(left * log(multiply(conjugate(one.trunk[k]), was[role][1]))))
            given = requested[role][1] if role in requested else None
            trunk[role] = q if given is None else given
            wishes.append((role, np.zeros(3), -1.0, trunk[role], TRUNK))
        return wishes, trunk

    def _mid(
        self,
        limb: int,
        was: Requested,
        positions: Mapping[str, Floats],
        trunk: Mapping[str, Floats],
        said: tuple[Said, Said],
        keep: float,
    ) -> Floats:
        """Return where an elbow or a knee is, between its base and its end, on the side to which people bend it."""
        roles = limb_roles(LIMBS[limb])
        base, mid, end = (was[role][0] for role in roles)
        hips, head = was["hips"][0], was["head"][0]
        carrier, along = "hips" if LIMBS[limb].endswith("leg") else self.chest, head - hips
        t = 0.0 if carrier == "hips" else float((base - hips) @ along / max(float(along @ along), 1e-12))

        def base_of(a: Floats, b: Floats, q: Floats) -> Floats:
            return np.asarray(a + t * (b - a) + rotate(q, base - hips - t * along))

        upper, lower = float(np.linalg.norm(mid - base)), float(np.linalg.norm(end - mid))
        sides = [_side(base, mid, end, upper + lower)]
        for one in said:
            shoulder = base_of(one.points[0], one.points[1], IDENTITY)
            sides.append(_side(shoulder, one.points[2 + limb], one.points[6 + limb], upper + lower))
        side = sides[2] + keep * (sides[0] - float(np.linalg.norm(sides[0])) * sides[1])
        rotated = multiply(trunk[carrier], conjugate(was[carrier][1]))
        return _between(base_of(positions["hips"], positions["head"], rotated), positions[roles[2]], upper, lower, side)

    def _said(self, several: Sequence[Requested], was: Requested) -> list[Said]:
        """Return what the network says of several sets of positions of the same parts, seen from where the body
        faced: as if that were +Z.
        """
        if self.prior is None:
            return [Said(np.zeros((10, 3)), np.tile(IDENTITY, (3, 1)), np.full(5, NO_ERROR))] * len(several)
        body, markers = self.body, tuple(role for role in TRACKABLE if role in several[0])
        ahead = rotate(was["hips"][1], [0.0, 0.0, 1.0])
        yaw = math.atan2(ahead[0], ahead[2])
        q, back = axis_angle([0.0, 1.0, 0.0], yaw), axis_angle([0.0, 1.0, 0.0], -yaw)
        centre = was["hips"][0] * [1.0, 0.0, 1.0]
        if markers not in self._solvers:
            if len(self._solvers) > MOST_SETS:
                self._solvers.clear()
            self._solvers[markers] = SequentialIK(body, markers=markers, prior=self.prior, limits=None)
        solver = self._solvers[markers]
        points = rotate(back, np.array([[known[role][0] for role in markers] for known in several]) - centre)
        rotations = {
            role: multiply(back, np.array([known[role][1] for known in several]))
            for role in markers
            if role in ORIENTED and several[0][role][1] is not None
        }
        (figure, network, rows), out = solver.room(points, rotations), np.empty((len(points), SAID))
        predict_rows(len(points), figure, network, NO_STATE, rows, out)
        return [
            Said(
                rotate(q, row[:SAID_TRUNK].reshape(-1, 3)) + centre,
                multiply(q, row[SAID_TRUNK:EXPECTED].reshape(-1, 4)),
                row[EXPECTED:],
            )
            for row in out
        ]

    def _beyond(self, was: Requested, requested: Requested) -> Floats:
        """Return how far [m] the head goes along with hands, or elbows, that are further than arms easily reach."""
        body, total = self.body, np.zeros(3)
        for role in ("left_hand", "right_hand", "left_lower_arm", "right_lower_arm"):
            if role not in requested:
                continue
            shoulder = was[role.split("_")[0] + "_upper_arm"][0]
            length = body.measures["upper_arm"] + (body.measures["forearm"] if role.endswith("hand") else 0.0)
            now, before = (p - shoulder for p in (requested[role][0], was[role][0]))
            free = max(REACH * length, float(np.linalg.norm(before)))
            size = float(np.linalg.norm(now))
            if size > free:
                total += FOLLOWS * (1.0 - free / size) * now
        return total

    def _standing(self, was: Requested) -> list[str]:
        """Return the feet that stand: the lower one, and the other where it is hardly higher."""
        low = {role: float(was[role][0][1]) for role in ("left_foot", "right_foot")}
        return [role for role, y in low.items() if y <= min(low.values()) + STANDS * self.body.leg_length]

    def _moved(self, was: Requested, known: Mapping[str, tuple[Floats, Floats | None]]) -> float:
        """Return the square of how far parts have been moved: 1 where a half of how the body was before is left."""
        total = 0.0
        for role, (position, orientation) in known.items():
            total += (float(np.linalg.norm(position - was[role][0])) / (FAR * self.body.joint_height)) ** 2
            if orientation is not None:
                total += (float(angle(orientation, was[role][1])) / ROTATED) ** 2
        return total


def limb_roles(limb: str) -> tuple[str, str, str]:
    """Return the parts at the base, in the middle and at the end of a limb."""
    side, kind = limb.split("_")
    return f"{side}_upper_{kind}", f"{side}_lower_{kind}", f"{side}_{'hand' if kind == 'arm' else 'foot'}"


def _unsure(error: float) -> float:
    """Return how much softer a wish is for an error that the network expects, both in heights: more than alike, as it
    hardly knows where a part is that it expects to miss by `LOST`.
    """
    return error * (1.0 + error / LOST)


def _side(base: Floats, mid: Floats, end: Floats, size: float) -> Floats:
    """Return to which side a limb of a length [m] bends: of length 1, but near 0 where it hardly bends."""
    along = (end - base) / max(float(np.linalg.norm(end - base)), 1e-9)
    across = (mid - base) - ((mid - base) @ along) * along
    return np.asarray(across / math.sqrt(float(across @ across) + (BENT * size) ** 2))


def _between(base: Floats, end: Floats, upper: float, lower: float, side: Floats) -> Floats:
    """Return the middle joint of a limb of two bones [m] that bends to a side."""
    far = float(np.linalg.norm(end - base))
    along = (end - base) / max(far, 1e-9)
    reach = min(max(far, abs(upper - lower) + 1e-3 * (upper + lower)), upper + lower)
    x = (upper * upper - lower * lower + reach * reach) / (2.0 * reach)
    across = side - (side @ along) * along
    height = math.sqrt(max(upper * upper - x * x, 0.0))
    return np.asarray(base + x * along + height * across / math.sqrt(float(across @ across) + BENT * BENT))


def eased(s: float) -> float:
    """Return a fraction that goes from 0 at 0 to 1 at 1, from rest to rest."""
    s = min(max(s, 0.0), 1.0)
    return s * s * (3.0 - 2.0 * s)
