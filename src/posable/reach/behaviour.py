"""`Behaviour`: how a body accompanies a reaching hand, as key postures an artist puts on the shoulder's swing plane.

Kallmann 2008, Body Control (Eq. 8) and Extended Behaviors; specification limb-and-reach, section 5. A behaviour
belongs to no rig: its postures are canonical rotations of the parts it names and a displacement of the hips in leg
lengths.

A key added without a posture is interpolated: it marks a point, its posture is that of the others there, and it takes
part only from its first edit on. So adding a key changes nothing until the artist does. (The paper inserts the
interpolated posture at once, and Delaunay's flips then change the field elsewhere: 28 % of it with nine keys.)
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING

import numpy as np

from ..compute import PosableError, ShapeError, UnknownNameError, checked_keywords
from ..compute.types import ArrayLike, Floats, floats
from ..limb.model import SEARCHES, Search, checked_search
from ..limits import Ellipse
from .field import (
    INTERPOLATIONS,
    SEARCH_FIELDS,
    Field,
    field_of,
    interpolate_rows,
    locate_rows,
    outer_corners,
    outer_keys,
)
from .posture import Key, Posture, Weight, drivable_parts, ordered_parts

if TYPE_CHECKING:
    from ..body import Humanoid
    from ..skeleton import Motion
    from .learn import LearnReport

ARMS = ("right_arm", "left_arm")
ELLIPSE = Ellipse((math.radians(95), math.radians(80)), (math.radians(5), math.radians(35)))
"""The right arm's swings: from straight up to past hanging, and from behind to across the chest."""
MIN_DISTANCE = 1e-3  # [rad], or arm lengths: two keys nearer than this would be one
MAX_KEYS = 512
MAX_SHIFT = 10.0  # [leg lengths] of a key's hips: more is a mistake of units


class Behaviour:
    """Key postures and how they are interpolated. Mutable, for editors; `copy` gives an independent one.

    Args:
        limb: "right_arm" or "left_arm".
        parts: the roles it drives, some of `drivable_parts(limb)`.
        ellipse: the swings [rad] it is made for, by default what an arm does; beyond them the nearest point's posture
            applies, fading to the far side.
        interpolation: "linear" (the paper's, and the default), "smooth" (C1), or "around" (keys in space, smooth).
        weight: how much of it a target takes by its distance; by default the paper's `Weight()`.
        name: shown to people.
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

    @staticmethod
    def default(body: Humanoid, limb: str) -> Behaviour:
        """Return the example "normal", with the parts that this body has."""
        return Behaviour.example("normal", limb, body)

    @staticmethod
    def example(name: str, limb: str = "right_arm", body: Humanoid | None = None) -> Behaviour:
        """Return one of the behaviours that come with Posable: "normal", "tired", "energetic"."""
        from .examples import example

        return example(name, limb, body)

    @staticmethod
    @checked_keywords
    def fit(
        body: Humanoid,
        limb: str,
        motions: Motion | Iterable[Motion],
        *,
        keys: int | ArrayLike | None = None,
        interpolation: str = "linear",
        parts: Sequence[str] | None = None,
        weight: Weight | None = None,
        name: str = "learned",
        seed: int = 0,
        progress: Callable[[float], None] | None = None,
    ) -> Behaviour:
        """Learn how a body moves with a reaching hand. The same motions and seed give the same behaviour.

        Args:
            body: its limits constrain the postures, and its parts are driven.
            limb: "right_arm" or "left_arm".
            motions: of this body, or of any others whose parts can be found. Those in which nobody stands with the arms
                hanging, or in which the feet never stand as at the start, contribute nothing; the report lists them.
            keys: how many besides the outer ones, or where: swings (K, 2) [rad], or positions (K, 3) [arm lengths]. By
                default 12 for "linear", 10 for "smooth", 16 for "around".
            interpolation: "linear" (default) and "smooth" put keys on the swing plane, "around" in space.
            parts: the roles to drive; by default trunk, neck, head, shoulders and free arm.
            weight: of the behaviour by distance; by default smooth on the plane, and constant in space, where keys
                differ by distance themselves.
            name: of the behaviour; default "learned".
            seed: number that fixes the search for keys; default 0.
            progress: called now and then with the fraction done, 0 to 1; default none.

        Returns:
            The behaviour; its `learned` is a `LearnReport` of the frames that it was learned from, and how well.
        """
        from .learn import fit

        return fit(body, limb, motions, keys, interpolation, parts, weight, name, seed, progress)

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
        """Return an independent behaviour with the same keys."""
        other = copy.copy(self)
        other._keys = dict(self._keys)
        return other

    def mirrored(self) -> Behaviour:
        """Return the same behaviour for the other arm."""
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
            other._keys[key.id] = replace(key, at=_mirrored(key.at), posture=posture)
        other._next = self._next
        return other

    @property
    def keys(self) -> tuple[Key, ...]:
        """All keys, the outer ones first, then as they were added."""
        return tuple(self._keys.values())

    def key(self, key: int) -> Key:
        """Return a key by its id."""
        if key not in self._keys:
            raise UnknownNameError("key", key, map(str, self._keys))
        return self._keys[key]

    def posture(self, key: int) -> Posture:
        """Return the posture of a key; the interpolated one where it has none of its own."""
        found = self.key(key)
        return self.posture_at(found.at) if found.posture is None else found.posture

    def add(
        self, at: ArrayLike, posture: Posture | None = None, *, search: Search | None = None, name: str = ""
    ) -> int:
        """Add a key and return its id; without a posture it is interpolated until `set` gives it one.

        Args:
            at: (2,) swing [rad]; (3,) position [arm lengths] in a behaviour around the shoulder.
            posture: of at least the behaviour's parts.
            search: how the arm's swivel is searched there; None: the arm's own search.
            name: shown to people.
        """
        checked = self._checked_position(at)
        return self._insert(Key(self._next, checked, self._checked(posture), False, _checked(search), name))

    def move(self, key: int, at: ArrayLike) -> None:
        """Move a key, with its posture."""
        found = self._inner(key, "moved")
        self._replace(replace(found, at=self._checked_position(at, but=key)))

    def set(self, key: int, posture: Posture | None) -> None:
        """Give a key a posture; None interpolates it again."""
        found = self.key(key)
        if posture is None and found.outer:
            raise PosableError(f"key {key} is an outer one and must have a posture")
        self._replace(replace(found, posture=self._checked(posture)))

    def set_search(self, key: int, search: Search | None) -> None:
        """Set how the arm's swivel is searched around a key; None: the arm's own search. The key gets a posture."""
        found = self.key(key)
        if search is not None and found.posture is None:
            found = replace(found, posture=self.posture(key))
        self._replace(replace(found, search=_checked(search)))

    def rename(self, key: int, name: str) -> None:
        """Give a key a name for people."""
        self._replace(replace(self.key(key), name=name))

    def remove(self, key: int) -> None:
        """Remove a key; the outer ones stay."""
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
        """Add a key elsewhere with the posture, search and name of this one, and return its id."""
        found = self.key(key)
        return self.add(at, self.posture(key), search=found.search, name=found.name)

    def posture_at(self, at: ArrayLike) -> Posture:
        """Return the posture at swings (..., 2) [rad], or at positions (..., 3) [arm lengths] in a behaviour around."""
        rotations, numbers, shape = self._interpolated(at)
        return Posture(self.parts, rotations, numbers[..., :3].reshape(*shape, 3))

    def search(self, at: ArrayLike) -> Search:
        """Return how the arm's swivel is searched at one swing or position."""
        _, numbers, _ = self._interpolated(at)
        return replace(SEARCHES["arm"], **dict(zip(SEARCH_FIELDS, numbers.reshape(-1)[3:].tolist(), strict=True)))

    def key_weights(self, at: ArrayLike) -> Floats:
        """Return the weights (..., K) of `keys` at swings (..., 2) [rad] or positions (..., 3); they sum to 1.

        Smooth ones may be a little below 0. Keys without a posture of their own have weight 0.
        """
        field, _, _ = self.packed
        rows, shape = self._rows_at(at)
        n, all_keys = len(rows), len(field.keys)
        weights = np.empty((n, all_keys))
        nothing = np.empty((all_keys, 0, 4)), np.empty((all_keys, 0))
        interpolate_rows(n, field, nothing, rows, weights, np.empty((n, 0, 4)), np.empty((n, 0)))
        settled = [row for row, key in enumerate(self.keys) if key.posture is not None]
        out = np.zeros((n, len(self._keys)))
        out[:, settled] = weights[:, : len(settled)]
        if self.interpolation == "around":
            out[:, settled] += weights[:, len(settled) :] @ outer_keys(field.keys[: len(settled)])[1]
        return out.reshape(*shape, len(self._keys))

    def locate(self, target: ArrayLike, length: float) -> tuple[Floats, Floats]:
        """Return (where targets lie among the keys, how much of the behaviour they take).

        Args:
            target: (..., 3) [m] in the arm's frame of the starting pose.
            length: of the arm [m].

        Returns:
            Swings (..., 2) [rad], brought into the ellipse, or positions (..., 3) [arm lengths]; and weights (...), the
            largest ones where the weight is what the arm needs.
        """
        given = floats(target, "target", 3)
        rows = np.ascontiguousarray(given.reshape(-1, 3))
        at, weights = np.empty_like(rows), np.empty(len(rows))
        locate_rows(len(rows), self.packed[0].header, rows, float(length), at, weights)
        size = 3 if self.interpolation == "around" else 2
        return at[:, :size].reshape(*given.shape[:-1], size), weights.reshape(given.shape[:-1])

    @property
    def triangles(self) -> list[tuple[int, int, int]]:
        """The ids of the corners of each triangle of the plane; none in a behaviour around the shoulder."""
        ids = [key.id for key in self._settled]
        return [(ids[a], ids[b], ids[c]) for a, b, c in self.packed[0].triangles.tolist()]

    @property
    def packed(self) -> tuple[Field, Floats, Floats]:
        """The field, rotations (K, R, 4), hips and search (K, 8) of the keys that have postures, see `field_of`."""
        if self._field is None:
            self._field = field_of(self._settled, len(self.parts), self.interpolation, self.weight, self.ellipse)
        return self._field

    def _interpolated(self, at: ArrayLike) -> tuple[Floats, Floats, tuple[int, ...]]:
        """Return (rotations (..., R, 4), hips and search (..., 8), the batch's shape) at swings or positions."""
        field, key_rotations, key_numbers = self.packed
        rows, shape = self._rows_at(at)
        n = len(rows)
        rotations, numbers = np.empty((n, len(self.parts), 4)), np.empty((n, key_numbers.shape[1]))
        weights = np.empty((n, len(field.keys)))
        interpolate_rows(n, field, (key_rotations, key_numbers), rows, weights, rotations, numbers)
        return rotations.reshape(*shape, len(self.parts), 4), numbers.reshape(*shape, -1), shape

    def _rows_at(self, at: ArrayLike) -> tuple[Floats, tuple[int, ...]]:
        """Return (rows (N, 3) for kernels, the batch's shape) of swings or positions, these as near as `locate` has
        them.
        """
        given = floats(at, "at")
        size = 3 if self.interpolation == "around" else 2
        if not given.shape or given.shape[-1] != size or not np.isfinite(given).all():
            raise ShapeError(f"at has shape {given.shape}; expected (..., {size}), finite")
        rows = np.zeros((math.prod(given.shape[:-1]), 3))
        rows[:, :size] = given.reshape(-1, size)
        if self.interpolation == "around":
            furthest = self.packed[0].header["furthest_key"][0]
            rows *= (furthest / np.maximum(np.linalg.norm(rows, axis=-1), furthest))[:, None]
        return rows, given.shape[:-1]

    @property
    def _settled(self) -> list[Key]:
        return [key for key in self._keys.values() if key.posture is not None]

    def _insert(self, key: Key) -> int:
        if len(self._keys) >= MAX_KEYS:
            raise PosableError(f"a behaviour has at most {MAX_KEYS} keys")
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
        if not (np.abs(posture.hips) <= MAX_SHIFT).all():  # a smooth interpolation may go beyond, a key may not
            raise PosableError(f"hips are {posture.hips}; expected (3,) leg lengths, each at most {MAX_SHIFT:g}")
        missing = [part for part in self.parts if part not in posture.parts]
        if missing:
            raise PosableError(f"the posture lacks {', '.join(missing)}, which this behaviour drives")
        if posture.parts == self.parts:
            return posture
        return Posture(self.parts, [posture.rotation(part) for part in self.parts], posture.hips)

    def _checked_position(self, at: ArrayLike, but: int | None = None) -> tuple[float, ...]:
        given = floats(at, "at")
        around = self.interpolation == "around"
        if given.shape != ((3,) if around else (2,)) or not np.isfinite(given).all():
            raise ShapeError(f"at is {given}; expected {'three' if around else 'two'} finite numbers")
        if not around:
            self._check_inside(given)
        elif math.hypot(*given) > 10.0:
            raise PosableError(f"position {given.tolist()} is further than ten arm lengths")
        for key in self._keys.values():
            if key.id != but and math.dist(given, key.at) < MIN_DISTANCE:
                raise PosableError(f"key {key.id} is already at {key.at}; keys must be {MIN_DISTANCE} apart")
        return tuple(given.tolist())

    def _check_inside(self, swing: Floats) -> None:
        offset = (swing - np.array(self.ellipse.centre)) / np.array(self.ellipse.radii)
        if math.hypot(*offset) > 1.0 + 1e-12:
            degrees = np.round(np.degrees(swing), 1).tolist()
            raise PosableError(
                f"swing {degrees} degrees lies outside the behaviour's ellipse; only the outer keys lie there"
            )


def _mirrored(at: tuple[float, ...]) -> tuple[float, ...]:
    """Mirror a swing (x, y) or a position (x, y, z) of one arm's frame into the other's."""
    return (at[0], -at[1]) if len(at) == 2 else (-at[0], at[1], at[2])


def _checked(search: Search | None) -> Search | None:
    return None if search is None else checked_search(search)
