"""`Behaviour`: how a body accompanies a reaching hand, as key postures an artist places on the shoulder's swing plane.

Kallmann 2008, Body Control (Eq. 8) and Extended Behaviors; specification limb-and-reach, section 5. A behaviour
belongs to no rig: its postures are canonical rotations of the parts it names and a shift of the hips in leg lengths.

A key added without a posture follows the field: it marks a place, its posture is whatever the others blend to there,
and it takes part only from its first edit on. So adding a key changes nothing until the artist does. (The paper inserts
the blended posture at once, and Delaunay's flips then change the field elsewhere: 28 % of it with nine keys.)
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from ..compute import PosableError, ShapeError, UnknownNameError
from ..compute.arrays import floats
from ..compute.types import ArrayLike, Floats
from ..limb.model import SEARCHES, Search
from ..limb.prepare import checked_search
from ..limits import Ellipse
from .interpolation import Field, blend_rows, place_rows
from .key import Key, Weight
from .packing import INTERPOLATIONS, NUMBERS, field_of, outer_corners
from .posture import Posture, drivable_parts, ordered_parts
from .spline import outer_keys

if TYPE_CHECKING:
    from ..body import Humanoid
    from ..skeleton import Motion
    from .learn import LearnReport

ARMS = ("right_arm", "left_arm")
ELLIPSE = Ellipse((math.radians(95), math.radians(80)), (math.radians(5), math.radians(35)))
"""The right arm's swings: from straight up to past hanging, and from behind to across the chest."""
CLOSEST = 1e-3  # [rad], or arm lengths: two keys nearer than this would be one
MOST_KEYS = 512
LARGEST_SHIFT = 10.0  # [leg lengths] of a key's hips: more is a mistake of units


class Behaviour:
    """Key postures and how they blend. Mutable, for editors; `copy` gives an independent one.

    Args:
        limb: "right_arm" or "left_arm".
        parts: the roles it drives; those it may are `drivable_parts(limb)`.
        ellipse: the swings it is made for; beyond them the nearest point's posture holds, fading to the far side.
        interpolation: "linear" (the paper's), "smooth" (C1), or "around" (keys in space, smooth).
        weight: how the distance counts.
        name: for people.
    """

    def __init__(
        self,
        limb: str,
        parts: Sequence[str],
        *,
        ellipse: Ellipse | None = None,
        interpolation: str = "linear",
        weight: Weight | None = None,
        name: str = "",
    ) -> None:
        if limb not in ARMS:
            raise UnknownNameError("arm", limb, ARMS)
        if interpolation not in INTERPOLATIONS:
            raise UnknownNameError("interpolation", interpolation, INTERPOLATIONS)
        allowed = drivable_parts(limb)
        for part in parts:
            if part not in allowed:
                raise UnknownNameError(f"part that a behaviour of the {limb} drives", part, allowed)
        if ellipse is None:
            x, y = ELLIPSE.centre
            ellipse = replace(ELLIPSE, centre=(x, y if limb == "right_arm" else -y))
        self.limb, self.parts, self.name = limb, ordered_parts(parts), name
        self.ellipse, self.interpolation, self.weight = ellipse, interpolation, weight or Weight()
        self.learned: LearnReport | None = None  # not part of the file
        self._keys: dict[int, Key] = {}
        self._next = 0
        self._field: tuple[Field, Floats, Floats] | None = None
        if interpolation != "around":
            for corner in outer_corners(ellipse):
                self._insert(Key(self._next, corner, Posture.neutral(self.parts), outer=True))

    def __repr__(self) -> str:
        return f"Behaviour({self.name!r}, {self.limb}, {len(self._keys)} keys of {len(self.parts)} parts)"

    # Where behaviours come from

    @staticmethod
    def default(body: Humanoid, limb: str) -> Behaviour:
        """The example "normal", with the parts that this body has."""
        return Behaviour.example("normal", limb, body)

    @staticmethod
    def example(name: str, limb: str = "right_arm", body: Humanoid | None = None) -> Behaviour:
        """One of the behaviours that come with Posable: "normal", "tired", "energetic"."""
        from .examples import example

        return example(name, limb, body)

    @staticmethod
    def fit(body: Humanoid, limb: str, motions: Motion | Iterable[Motion], **options: Any) -> Behaviour:
        """Learn one from motions in which people reach: `posable.reach.learn.fit` has the options.

        What it was learned from, and how well, is told in `learned`.
        """
        from .learn import fit

        return fit(body, limb, motions, **options)

    @staticmethod
    def load(path: str | PathLike[str]) -> Behaviour:
        """Read a behaviour from its file."""
        from .behaviour_file import load

        return load(path)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the behaviour to a file a person can read; `load` gives back the same, to the last bit."""
        from .behaviour_file import save

        save(self, path)

    def copy(self) -> Behaviour:
        """An independent one with the same keys."""
        other = copy.copy(self)
        other._keys = dict(self._keys)
        return other

    def mirrored(self) -> Behaviour:
        """The same behaviour for the other arm."""
        cx, cy = self.ellipse.centre
        other = Behaviour(
            ARMS[1 - ARMS.index(self.limb)],
            Posture.neutral(self.parts).mirrored().parts,
            ellipse=replace(self.ellipse, centre=(cx, -cy)),
            interpolation=self.interpolation,
            weight=self.weight,
            name=self.name,
        )
        other._keys = {}
        for key in self._keys.values():
            posture = None if key.posture is None else key.posture.mirrored()
            other._keys[key.id] = replace(key, at=self._mirrored_place(key.at), posture=posture)
        other._next = self._next
        return other

    # Keys

    @property
    def keys(self) -> tuple[Key, ...]:
        """All keys, the outer ones first, then as they were added."""
        return tuple(self._keys.values())

    def key(self, key: int) -> Key:
        """One of them, by its id."""
        if key not in self._keys:
            raise UnknownNameError("key", key, map(str, self._keys))
        return self._keys[key]

    def posture(self, key: int) -> Posture:
        """The posture of a key; where it follows the field, the field's."""
        found = self.key(key)
        return self.posture_at(found.at) if found.posture is None else found.posture

    def add(
        self, at: ArrayLike, posture: Posture | None = None, *, search: Search | None = None, name: str = ""
    ) -> int:
        """Add a key and return its id; without a posture it follows the field until `set` gives it one."""
        place = self._checked_place(at)
        return self._insert(Key(self._next, place, self._checked(posture), False, _checked(search), name))

    def move(self, key: int, at: ArrayLike) -> None:
        """Put a key somewhere else, with its posture."""
        found = self._inner(key, "moved")
        self._replace(replace(found, at=self._checked_place(at, but=key)))

    def set(self, key: int, posture: Posture | None) -> None:
        """Give a key a posture; None lets it follow the field again."""
        found = self.key(key)
        if posture is None and found.outer:
            raise PosableError(f"key {key} is an outer one and must have a posture")
        self._replace(replace(found, posture=self._checked(posture)))

    def set_search(self, key: int, search: Search | None) -> None:
        """Say how the arm's swivel is searched around a key; None: as usual. The key must have a posture."""
        found = self.key(key)
        if search is not None and found.posture is None:
            found = replace(found, posture=self.posture(key))
        self._replace(replace(found, search=_checked(search)))

    def rename(self, key: int, name: str) -> None:
        """Give a key a name for people."""
        self._replace(replace(self.key(key), name=name))

    def remove(self, key: int) -> None:
        """Take a key away; the outer ones stay."""
        del self._keys[self._inner(key, "removed").id]
        self._field = None

    def restyle(
        self, *, interpolation: str | None = None, weight: Weight | None = None, name: str | None = None
    ) -> None:
        """Change the interpolation, the weight or the name; the keys, and what is not given, stay as they are."""
        interpolation = interpolation or self.interpolation
        if interpolation not in INTERPOLATIONS:
            raise UnknownNameError("interpolation", interpolation, INTERPOLATIONS)
        if (interpolation == "around") != (self.interpolation == "around"):
            raise PosableError(f"interpolation is {interpolation!r} and was {self.interpolation!r}: their keys differ")
        self.interpolation, self.weight = interpolation, weight or self.weight
        self.name, self._field = self.name if name is None else name, None

    def duplicate(self, key: int, at: ArrayLike) -> int:
        """A new key elsewhere with the posture, search and name of this one."""
        found = self.key(key)
        return self.add(at, self.posture(key), search=found.search, name=found.name)

    # Blending

    def posture_at(self, at: ArrayLike) -> Posture:
        """The posture at swings (..., 2) [rad], or at places (..., 3) [arm lengths] in a behaviour around."""
        rotations, numbers, shape = self._blended(at)
        return Posture(self.parts, rotations, numbers[..., :3].reshape(*shape, 3))

    def search(self, at: ArrayLike) -> Search:
        """How the arm's swivel is searched at one swing or place."""
        _, numbers, _ = self._blended(at)
        return replace(SEARCHES["arm"], **dict(zip(NUMBERS, numbers.reshape(-1)[3:].tolist(), strict=True)))

    def shares(self, at: ArrayLike) -> Floats:
        """(..., K) how much each key of `keys` counts at swings (..., 2) [rad] or places (..., 3); they sum to 1.

        Smooth ones may be a little below 0. Keys that follow the field count nothing.
        """
        field, _, _ = self.field
        rows, shape = self._rows_at(at)
        n, all_keys = len(rows), len(field.keys)
        weights = np.empty((n, all_keys))
        nothing = np.empty((all_keys, 0, 4)), np.empty((all_keys, 0))
        blend_rows(n, *field, *nothing, rows, weights, np.empty((n, 0, 4)), np.empty((n, 0)))
        settled = [row for row, key in enumerate(self.keys) if key.posture is not None]
        out = np.zeros((n, len(self._keys)))
        out[:, settled] = weights[:, : len(settled)]
        if self.interpolation == "around":
            out[:, settled] += weights[:, len(settled) :] @ outer_keys(field.keys[: len(settled)])[1]
        return out.reshape(*shape, len(self._keys))

    def locate(self, target: ArrayLike, length: float) -> tuple[Floats, Floats]:
        """(where targets lie among the keys, how much of the behaviour they take).

        Args:
            target: (..., 3) [m] in the arm's frame of the starting pose.
            length: of the arm [m].

        Returns:
            (..., 2) swings [rad], brought into the ellipse, or (..., 3) places [arm lengths]; and (...) weights.
        """
        given = floats(target, "target", 3)
        rows = np.ascontiguousarray(given.reshape(-1, 3))
        at, weights = np.empty_like(rows), np.empty(len(rows))
        place_rows(len(rows), self.field[0].header, rows, float(length), at, weights)
        size = 3 if self.interpolation == "around" else 2
        return at[:, :size].reshape(*given.shape[:-1], size), weights.reshape(given.shape[:-1])

    @property
    def triangles(self) -> list[tuple[int, int, int]]:
        """Ids of the corners of each triangle of the plane; none in a behaviour around the shoulder."""
        ids = [key.id for key in self._settled]
        return [(ids[a], ids[b], ids[c]) for a, b, c in self.field[0].triangles.tolist()]

    @property
    def field(self) -> tuple[Field, Floats, Floats]:
        """(the field, rotations (K, R, 4), hips and search (K, 8)) of the keys that have postures, for kernels.

        Around the shoulder twelve outer keys follow them, which take their postures from the others.
        """
        if self._field is None:
            self._field = field_of(self._settled, len(self.parts), self.interpolation, self.weight, self.ellipse)
        return self._field

    def _blended(self, at: ArrayLike) -> tuple[Floats, Floats, tuple[int, ...]]:
        field, turns, numbers = self.field
        rows, shape = self._rows_at(at)
        n = len(rows)
        rotations, shifts = np.empty((n, len(self.parts), 4)), np.empty((n, numbers.shape[1]))
        blend_rows(n, *field, turns, numbers, rows, np.empty((n, len(field.keys))), rotations, shifts)
        return rotations.reshape(*shape, len(self.parts), 4), shifts.reshape(*shape, -1), shape

    def _rows_at(self, at: ArrayLike) -> tuple[Floats, tuple[int, ...]]:
        """(rows (N, 3) for kernels, the batch's shape) of swings or places, these as near as `locate` brings them."""
        place = floats(at, "at")
        size = 3 if self.interpolation == "around" else 2
        if not place.shape or place.shape[-1] != size or not np.isfinite(place).all():
            raise ShapeError(f"at has shape {place.shape}; expected (..., {size}), finite")
        rows = np.zeros((math.prod(place.shape[:-1]), 3))
        rows[:, :size] = place.reshape(-1, size)
        if self.interpolation == "around":
            reach = self.field[0].header["reach"][0]
            rows *= (reach / np.maximum(np.linalg.norm(rows, axis=-1), reach))[:, None]
        return rows, place.shape[:-1]

    @property
    def _settled(self) -> list[Key]:
        return [key for key in self._keys.values() if key.posture is not None]

    def _insert(self, key: Key) -> int:
        if len(self._keys) >= MOST_KEYS:
            raise PosableError(f"a behaviour has at most {MOST_KEYS} keys")
        self._keys[key.id] = key
        self._next, self._field = key.id + 1, None
        return key.id

    def _replace(self, key: Key) -> None:
        self._keys[key.id], self._field = key, None

    def _inner(self, key: int, what: str) -> Key:
        found = self.key(key)
        if found.outer:
            raise PosableError(
                f"key {key} is one of the four outer ones and is never {what}; `set` its posture instead"
            )
        return found

    def _checked(self, posture: Posture | None) -> Posture | None:
        if posture is None:
            return None
        if posture.shape:
            raise ShapeError(f"the posture is a batch of shape {posture.shape}; expected one")
        if not (np.abs(posture.hips) <= LARGEST_SHIFT).all():  # a smooth interpolation may go beyond, a key may not
            raise PosableError(f"hips are {posture.hips}; expected (3,) leg lengths, each at most {LARGEST_SHIFT:g}")
        missing = [part for part in self.parts if part not in posture.parts]
        if missing:
            raise PosableError(f"the posture lacks {', '.join(missing)}, which this behaviour drives")
        if posture.parts == self.parts:
            return posture
        return Posture(self.parts, [posture.rotation(part) for part in self.parts], posture.hips)

    def _checked_place(self, at: ArrayLike, but: int | None = None) -> tuple[float, ...]:
        place = floats(at, "at")
        around = self.interpolation == "around"
        if place.shape != ((3,) if around else (2,)) or not np.isfinite(place).all():
            raise ShapeError(f"at is {place}; expected {'three' if around else 'two'} finite numbers")
        if not around:
            self._check_inside(place)
        elif math.hypot(*place) > 10.0:
            raise PosableError(f"place {place.tolist()} is further than ten arm lengths")
        for key in self._keys.values():
            if key.id != but and math.dist(place, key.at) < CLOSEST:
                raise PosableError(f"key {key.id} is already at {key.at}; keys keep {CLOSEST} apart")
        return tuple(place.tolist())

    def _check_inside(self, swing: Floats) -> None:
        offset = (swing - np.array(self.ellipse.centre)) / np.array(self.ellipse.radii)
        if math.hypot(*offset) > 1.0 + 1e-12:
            degrees = np.round(np.degrees(swing), 1).tolist()
            raise PosableError(
                f"swing {degrees} degrees lies outside the behaviour's ellipse; the outer keys rule there"
            )

    def _mirrored_place(self, at: tuple[float, ...]) -> tuple[float, ...]:
        """Mirror rule of the limb's frame: a swing (x, -y); a place in the left arm's frame (-x, y, z)."""
        return (at[0], -at[1]) if len(at) == 2 else (-at[0], at[1], at[2])


def _checked(search: Search | None) -> Search | None:
    return None if search is None else checked_search(search)
