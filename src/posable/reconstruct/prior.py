"""`Prior`: a learned model of how people move, for bodies from six points.

A small network (`prior_kernels`) that predicts, from the six points and half a second of their past, the orientations
of pelvis, spine, hands and feet and the positions of elbows and knees. It depends on no rig: positions are measured in
heights, rotations are canonical, and its spine of seven joints is retargeted by arc length. The file is made by
`tools/fit_prior.py`, which lists its data.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..body.canonical import spine_fractions
from ..compute import FormatError, PosableError
from ..compute.archive import read_archive, write_archive
from ..compute.types import Floats, Records
from .packed import Figure, stretched_spine
from .prior_kernels import HIDDEN, INPUT, LEARNED_SPINE, MOST_AWAY, NOW, OUTPUT, PATH_SAMPLES, Network

if TYPE_CHECKING:
    from ..body import Humanoid

SMALLEST = 1e-9  # of a feature's deviation
MOST_BYTES = 8_000_000  # of a prior's file
FEATURES, ANSWERS, PROPORTIONS = 127, 48, 9
SPINE_AT = (0.0, 0.0, 0.5, 1.0, 1.36, 1.68, 2.0)
"""Where the joints of the learned spine sit (`Humanoid.arc_length`): hips, three of the trunk, neck (2), head."""
SPINE_CHEST = 3
LANES = 8  # numbers in the longest vectors that processors have
USUAL = 2.0  # standard deviations: proportions further off are clamped to this
_POLAR, _AXIAL = (-1.0, 1.0, 1.0), (1.0, -1.0, -1.0)  # signs of vectors and rotations in a mirror across x = 0
_MEMBERS = {"sizes": ("<i8", 1), "weights": ("<f4", 1), "mean": ("<f8", 1), "deviation": ("<f8", 1), "origin": ("U", 0)}


class Prior:
    """A learned prior for `SequentialIK`. Immutable.

    Args:
        sizes: of the network, as `Network.sizes` has them.
        weights: (W,) as `Network.weights` has them.
        mean: (127,) of the symmetric parts of the features, then of the antisymmetric ones (zero).
        deviation: (127,) standard deviations of the same.
        origin: where it comes from: data, its hash, seed, script.
    """

    def __init__(
        self, sizes: Any, weights: Any, mean: Any, deviation: Any, origin: dict[str, str] | None = None
    ) -> None:
        self._sizes = np.array(sizes, dtype=np.int64)
        self._weights: NDArray[np.float32] = np.array(weights, dtype=np.float32)
        self._mean, self._deviation = np.array(mean, dtype=np.float64), np.array(deviation, dtype=np.float64)
        self.origin = dict(origin or {})
        """Where it comes from: data, sha256, seed, script."""
        inputs, outputs = mirror_table(*feature_mirror()), mirror_table(*answer_mirror())
        even = [int((table[:, 3] > 0.0).sum()) for table in (inputs, outputs)]
        expected = [even[0], FEATURES - even[0], even[1], ANSWERS - even[1]]
        shape = self._sizes.tolist()
        if len(shape) < 5 or shape[:2] + shape[-2:] != expected or min(shape) < 1:
            raise PosableError(f"sizes of a prior are {shape}; expected {expected[:2]}, hidden layers, {expected[2:]}")
        if len(self._weights) != weight_count(shape):
            raise PosableError(f"a prior of sizes {shape} has {len(self._weights)} weights, not {weight_count(shape)}")
        if len(self._mean) != FEATURES or len(self._deviation) != FEATURES or (self._deviation <= 0.0).any():
            raise PosableError(f"mean and deviation of a prior must be {FEATURES} numbers, deviations above 0")
        if not (self._deviation > SMALLEST).all():
            raise PosableError(f"deviations of a prior must be above {SMALLEST:g}")
        if self._mean[even[0] :].any():
            raise PosableError("means of features that a mirror negates must be zero in a prior")
        scales = fractions(inputs) / self._deviation[:, None]
        self._inputs = _records(INPUT, np.column_stack([inputs[:, :2], scales, self._mean / self._deviation]))
        combined = np.column_stack([outputs[:, :2], fractions(outputs)])
        padded = [_whole(combined[: even[1]].T).T, _whole(combined[even[1] :].T).T]
        self._outputs = _records(OUTPUT, np.concatenate(padded))

    def __repr__(self) -> str:
        return f"Prior({len(self._weights)} weights, from {self.origin.get('data', 'unknown data')})"

    @staticmethod
    @lru_cache(maxsize=1)
    def builtin() -> Prior:
        """Return the prior that comes with the package."""
        with resources.as_file(resources.files("posable") / "assets" / "prior.npz") as path:
            return Prior.load(path)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Prior:
        """Read a file that `save` wrote."""
        found = read_archive(path, _MEMBERS, MOST_BYTES)
        for name in _MEMBERS:
            if name not in found:
                raise FormatError(path, "is missing", name)
        try:
            origin = json.loads(str(found["origin"]))
            if not isinstance(origin, dict) or not all(isinstance(v, str) for v in origin.values()):
                raise FormatError(path, "is not a table of texts", "origin")
            return Prior(found["sizes"], found["weights"], found["mean"], found["deviation"], origin)
        except (ValueError, PosableError, RecursionError) as error:
            raise FormatError(path, str(error)) from None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a file."""
        write_archive(
            path,
            {
                "sizes": self._sizes,
                "weights": self._weights,
                "mean": self._mean,
                "deviation": self._deviation,
                "origin": np.array(json.dumps(self.origin)),
            },
        )

    def network(self, body: Humanoid, figure: Figure) -> Network:
        """Return the prior on a body: the body's proportions, and a past without motion, are summed beforehand."""
        low, high, fraction = spine_fractions(np.array(SPINE_AT), SPINE_CHEST, body.arc_length, body.chest)
        varying, always = self._sizes[0] - PROPORTIONS, slice(self._sizes[0] - PROPORTIONS, self._sizes[0])
        sides = np.clip(-self._inputs["mean"], -MOST_AWAY, MOST_AWAY)  # as they are where features are zero
        sizes = (proportions(body) - self._mean[always]) / self._deviation[always]
        sides[always] = np.clip(sizes, -USUAL, USUAL)
        weights, biases = self._summed(sides)
        layers = self._sizes.copy()
        layers[0] = varying
        layers[-2:] += -layers[-2:] % LANES
        spine = _records(LEARNED_SPINE, np.column_stack([low, high, fraction]))
        spine["straight"] = stretched_spine(figure.spine, figure.settings["max_stretch"][0])
        return Network(layers, weights, biases, np.delete(self._inputs, always), self._outputs, spine)

    def _summed(self, sides: Floats) -> tuple[NDArray[np.float32], Floats]:
        """Return (`Network.weights`, `Network.biases`) for values of s: proportions, and paths where nothing moves."""
        even, odd, *hidden, os, oa = self._sizes.tolist()
        always = slice(even - PROPORTIONS, even)
        paths = slice(NOW, NOW + PATH_SAMPLES)
        at, s, a = 0, even, odd
        weights: list[NDArray[np.float32]] = []
        biases: list[Floats] = []

        def take(rows: int, columns: int) -> NDArray[np.float32]:
            nonlocal at
            at += rows * columns
            return self._weights[at - rows * columns : at].reshape(rows, columns)

        def of_features(matrix: NDArray[np.float32]) -> Floats:
            usual = sides[always] @ matrix[always].astype(np.float64)
            return np.stack([usual, usual + sides[paths] @ matrix[paths].astype(np.float64)])

        for n in hidden:
            bias, ws, wa = take(1, n).astype(np.float64), take(s, n), take(a, n)
            first = not biases
            biases.append(bias + of_features(ws) if first else np.repeat(bias, 2, axis=0))
            weights += [ws[: even - PROPORTIONS] if first else ws, wa]
            s = a = n
        bias, ws, wa = take(1, os).astype(np.float64), take(s, os), take(a, oa)
        skip_s, skip_a = take(even, os), take(odd, oa)
        biases.append(_whole(bias + of_features(skip_s)))
        weights += [_whole(ws), _whole(wa), _whole(skip_s[: even - PROPORTIONS]), _whole(skip_a)]
        return np.concatenate([w.reshape(-1) for w in weights]), np.concatenate(biases, axis=1)

    @property
    def scratch(self) -> int:
        """The numbers of scratch that a track needs."""
        return HIDDEN + 2 * int(self._sizes[2:-2].sum())


def _whole(matrix: NDArray[Any]) -> NDArray[Any]:
    """Return the matrix padded with zeros to whole vectors: remainders take processors as long as the rest."""
    return np.pad(matrix, ((0, 0), (0, -matrix.shape[1] % LANES)))


def _records(dtype: np.dtype[Any], columns: Floats) -> Records:
    """Return records whose first fields are the columns (N, C)."""
    out = np.zeros(len(columns), dtype)
    for name, column in zip(dtype.names or (), columns.T, strict=False):
        out[name] = column
    return out


def no_network() -> Network:
    """Return the network of no prior."""
    sizes, weights, biases = np.zeros(0, np.int64), np.zeros(0, np.float32), np.zeros((0, 5))
    return Network(sizes, weights, biases, np.zeros(0, INPUT), np.zeros(0, OUTPUT), np.zeros(0, LEARNED_SPINE))


def prior_of(given: Prior | str | os.PathLike[str] | None) -> Prior | None:
    """Return the prior that `SequentialIK(prior=)` means: "default", a path, a `Prior`, or None."""
    if given is None or isinstance(given, Prior):
        return given
    if isinstance(given, (str, os.PathLike)):
        return Prior.builtin() if given == "default" else Prior.load(given)
    raise PosableError(f"prior is {given!r}; expected 'default', a path, a Prior or None")


def proportions(body: Humanoid) -> Floats:
    """Return nine lengths (9,) of the neutral pose, in joint heights: upper arm, forearm, thigh, calf, chord from hips
    to head, spine up to the joint that carries the arms, widths of shoulders and hips, shoulders above the base of the
    neck.
    """
    positions, measures, roles = body.neutral_frames.positions, body.measures, body.roles
    shoulders = positions[[roles["left_upper_arm"], roles["right_upper_arm"]]]
    neck = positions[roles.get("neck", roles["head"])]
    chord = np.linalg.norm(body.packed.stance["hips_to_head"][0])
    spine = np.linalg.norm(body.packed.spine["offset"][1 : body.chest + 1], axis=-1).sum()
    lengths = [measures[name] for name in ("upper_arm", "forearm", "thigh", "calf")]
    widths = [measures["torso_width"], measures["pelvis_width"]]
    return np.array([*lengths, chord, spine, *widths, shoulders[:, 1].mean() - neck[1]]) / body.joint_height


def weight_count(sizes: list[int]) -> int:
    """Return how many weights a network of these sizes has."""
    s, a, count = sizes[0], sizes[1], 0
    for n in sizes[2:-2]:
        count, s, a = count + n * (1 + s + a), n, n
    even, odd = sizes[-2:]
    return count + even * (1 + s + sizes[0]) + odd * (a + sizes[1])


def feature_mirror() -> tuple[list[int], list[float]]:
    """Return (the feature that each one becomes in a mirror, its sign), in the order of
    `prior_kernels.write_features`.
    """
    return _mirror_of(
        [
            ((1, 0, 3, 2), _POLAR),  # hands and feet now
            *[((0, 1, 3, 2, 5, 4), _POLAR)] * 5,  # the six, at each lag
            ((0,), _POLAR),  # up
            *[((0,), (1.0, -1.0))] * 6,  # x and z from right to left
            (range(1 + PROPORTIONS), (1.0,)),
        ]
    )


def answer_mirror() -> tuple[list[int], list[float]]:
    """Return the same for the network's output."""
    return _mirror_of(
        [
            ((0,), _AXIAL),  # X of the pelvis: left stays left
            ((0,), _POLAR),  # Y
            ((1, 0, 3, 2), _POLAR),  # elbows and knees
            (range(6), _AXIAL),  # the spine's joints
            ((1, 0, 3, 2), _AXIAL),  # hands and feet
        ]
    )


def _mirror_of(groups: Sequence[tuple[Sequence[int], Sequence[float]]]) -> tuple[list[int], list[float]]:
    """Return (the number that each one becomes, its sign) for groups of (order of the mirrored vectors, signs of their
    components).
    """
    to: list[int] = []
    sign: list[float] = []
    for order, signs in groups:
        first, n = len(to), len(signs)
        for other in order:
            to.extend(first + n * other + c for c in range(n))
            sign.extend(signs)
    return to, sign


def mirror_table(to: list[int], sign: list[float]) -> Floats:
    """Return rows (N, 4) of (one, other, sign of the other, 1 or -1): symmetric parts, then antisymmetric ones."""
    even = [(i, j, s, 1.0) for i, (j, s) in enumerate(zip(to, sign, strict=True)) if i < j or (i == j and s > 0.0)]
    odd = [(i, j, -s, -1.0) for i, (j, s) in enumerate(zip(to, sign, strict=True)) if i < j or (i == j and s < 0.0)]
    return np.array(even + odd)


def fractions(table: Floats) -> Floats:
    """Return the factors (N, 2) of the first and the second of each row of such a table."""
    alone = table[:, 0] == table[:, 1]
    half = np.sqrt(0.5)
    return np.column_stack([np.where(alone, 1.0, half), np.where(alone, 0.0, half * table[:, 2])])
