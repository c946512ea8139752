"""The network for exactly six positions as a prior has it: its checks, and what is summed beforehand for a body."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..compute import PosableError
from ..compute.types import Floats
from .mirrors import (
    LANES,
    SMALLEST,
    USUAL,
    fractions,
    mirror_table,
    mirrored_groups,
    proportions,
    records,
    weight_count,
    whole,
)
from .prior_kernels import MOST_AWAY, OUTPUT
from .prior_layout import AXIAL, POLAR, PROPORTIONS
from .six_kernels import NOW, PATH_SAMPLES, SIX_INPUT

if TYPE_CHECKING:
    from ..body import Humanoid

FEATURES, ANSWERS = 127, 48


class SixPositions:
    """The network for exactly six positions. Immutable.

    Args:
        sizes: of the network, as `Network.six_sizes` has them.
        weights: (W,) as `Network.six_weights` has them, with biases before each layer.
        mean: (127,) of the symmetric parts of the features, then of the antisymmetric ones (zero).
        deviation: (127,) standard deviations of the same.
    """

    def __init__(self, sizes: Any, weights: Any, mean: Any, deviation: Any) -> None:
        self._sizes = np.array(sizes, dtype=np.int64)
        self._weights: NDArray[np.float32] = np.array(weights, dtype=np.float32)
        self._mean, self._deviation = np.array(mean, dtype=np.float64), np.array(deviation, dtype=np.float64)
        inputs, outputs = mirror_table(*feature_mirror()), mirror_table(*answer_mirror())
        even = [int((table[:, 3] > 0.0).sum()) for table in (inputs, outputs)]
        expected = [even[0], FEATURES - even[0], even[1], ANSWERS - even[1]]
        shape = self._sizes.tolist()
        if len(shape) < 5 or shape[:2] + shape[-2:] != expected or min(shape) < 1:
            raise PosableError(f"sizes of the six are {shape}; expected {expected[:2]}, hidden layers, {expected[2:]}")
        if len(self._weights) != weight_count(shape):
            raise PosableError(
                f"a network of six of sizes {shape} has {len(self._weights)} weights, not {weight_count(shape)}"
            )
        if len(self._mean) != FEATURES or len(self._deviation) != FEATURES or (self._deviation <= 0.0).any():
            raise PosableError(f"mean and deviation of the six must be {FEATURES} numbers, deviations above 0")
        if not (self._deviation > SMALLEST).all():
            raise PosableError(f"deviations of the six must be above {SMALLEST:g}")
        if self._mean[even[0] :].any():
            raise PosableError("means of features that a mirror negates must be zero for the six")
        scales = fractions(inputs) / self._deviation[:, None]
        self._inputs = records(SIX_INPUT, np.column_stack([inputs[:, :2], scales, self._mean / self._deviation]))
        combined = np.column_stack([outputs[:, :2], fractions(outputs)])
        padded = [whole(combined[: even[1]].T).T, whole(combined[even[1] :].T).T]
        self._outputs = records(OUTPUT, np.concatenate(padded))

    def network(self, body: Humanoid) -> tuple[Any, ...]:
        """Return the fields of `Network` from `six_sizes` on, for a body."""
        varying, always = self._sizes[0] - PROPORTIONS, slice(self._sizes[0] - PROPORTIONS, self._sizes[0])
        sides = np.clip(-self._inputs["mean"], -MOST_AWAY, MOST_AWAY)  # as they are where features are zero
        sizes = (proportions(body) - self._mean[always]) / self._deviation[always]
        sides[always] = np.clip(sizes, -USUAL, USUAL)
        weights, biases = self._summed(sides)
        layers = self._sizes.copy()
        layers[0] = varying
        layers[-2:] += -layers[-2:] % LANES
        return layers, weights, biases, np.delete(self._inputs, always), self._outputs

    @property
    def scratch(self) -> int:
        """The numbers of scratch that its hidden layers need."""
        return 2 * int(self._sizes[2:-2].sum())

    def members(self) -> dict[str, NDArray[Any]]:
        """Return the arrays of a prior's file."""
        weights = self._weights.astype(np.float16)
        return {
            "six_sizes": self._sizes,
            "six_weights": weights,
            "six_mean": self._mean,
            "six_deviation": self._deviation,
        }

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
        biases.append(whole(bias + of_features(skip_s)))
        weights += [whole(ws), whole(wa), whole(skip_s[: even - PROPORTIONS]), whole(skip_a)]
        return np.concatenate([w.reshape(-1) for w in weights]), np.concatenate(biases, axis=1)


def feature_mirror() -> tuple[list[int], list[float]]:
    """Return (the feature that each one becomes in a mirror, its sign), in the order of
    `six_kernels.write_six_features`.
    """
    return mirrored_groups(
        [
            ((1, 0, 3, 2), POLAR),  # hands and feet now
            *[((0, 1, 3, 2, 5, 4), POLAR)] * 5,  # the six, at each lag
            ((0,), POLAR),  # up
            *[((0,), (1.0, -1.0))] * 6,  # x and z from right to left
            (range(1 + PROPORTIONS), (1.0,)),
        ]
    )


def answer_mirror() -> tuple[list[int], list[float]]:
    """Return the same for the network's output."""
    return mirrored_groups(
        [
            ((0,), AXIAL),  # X of the pelvis: left stays left
            ((0,), POLAR),  # Y
            ((1, 0, 3, 2), POLAR),  # elbows and knees
            (range(6), AXIAL),  # the spine's joints
            ((1, 0, 3, 2), AXIAL),  # hands and feet
        ]
    )
