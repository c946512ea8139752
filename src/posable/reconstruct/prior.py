"""`Prior`: a learned model of how people move, for bodies from any set of trackers.

A small network (`prior_kernels`) that predicts, from the points and orientations that are known and half a second of
their past, the orientations of pelvis, spine, hands and feet and the positions of elbows, knees and ends that are not
known. It depends on no rig: positions are measured in heights, rotations are canonical, and its spine of seven joints
is retargeted by arc length. The file is made by `tools/fit_prior.py`, which lists its data.
"""

from __future__ import annotations

import json
import os
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..body.canonical import spine_fractions
from ..compute import FormatError, PosableError
from ..compute.archive import read_archive, write_archive
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
from .packed import Figure, stretched_spine
from .prior_kernels import HIDDEN, INPUT, LEARNED_SPINE, OUTPUT, Network
from .prior_layout import ANSWERS, BODY, FEATURES, PROPORTIONS, answer_groups, feature_groups
from .prior_lengths import leans, lengths_of, own_lengths

if TYPE_CHECKING:
    from ..body import Humanoid

MOST_BYTES = 8_000_000  # of a prior's file
SPINE_AT = (0.0, 0.0, 0.5, 1.0, 1.36, 1.68, 2.0)
"""Where the joints of the learned spine sit (`Humanoid.arc_length`): hips, three of the trunk, neck (2), head."""
SPINE_CHEST = 3
DOUBTED = 0.187
"""By how much the logarithm of the expected error rises for each standard deviation by which a body's proportions
differ (root mean square), as far as fading goes: `tools/fit_fade.py`."""
_NETWORK = {
    "sizes": ("<i8", 1),
    "weights": ("<f2", 1),
    "centre": ("<f8", 1),
    "deviation": ("<f8", 1),
    "origin": ("U", 0),
}


class Prior:
    """A learned prior for `SequentialIK`. Immutable.

    Args:
        sizes: of the network, as `Network.sizes` has them.
        weights: (W,) as `Network.weights` has them, with biases before each layer.
        centre: (362,) what features are counted from where they are known.
        deviation: (362,) root mean squares of the symmetric parts of the features, then of the antisymmetric ones.
        origin: where it comes from: data, its hash, seed, script.
    """

    def __init__(
        self,
        sizes: Any,
        weights: Any,
        centre: Any,
        deviation: Any,
        origin: dict[str, str] | None = None,
    ) -> None:
        self._sizes = np.array(sizes, dtype=np.int64)
        self._weights: NDArray[np.float32] = np.array(weights, dtype=np.float32)
        self._centre, self._deviation = np.array(centre, dtype=np.float64), np.array(deviation, dtype=np.float64)
        self.origin = dict(origin or {})
        """Where it comes from: data, sha256, seed, script."""
        (to, sign), answers = mirrored_groups(feature_groups()), mirrored_groups(answer_groups())
        inputs, outputs = mirror_table(to, sign), mirror_table(*answers)
        even = [int((table[:, 3] > 0.0).sum()) for table in (inputs, outputs)]
        expected = [even[0], FEATURES - even[0], even[1], ANSWERS - even[1]]
        shape = self._sizes.tolist()
        if len(shape) < 5 or shape[:2] + shape[-2:] != expected or min(shape) < 1:
            raise PosableError(f"sizes of a prior are {shape}; expected {expected[:2]}, hidden layers, {expected[2:]}")
        if len(self._weights) != weight_count(shape):
            raise PosableError(f"a prior of sizes {shape} has {len(self._weights)} weights, not {weight_count(shape)}")
        if len(self._centre) != FEATURES or len(self._deviation) != FEATURES or (self._deviation <= 0.0).any():
            raise PosableError(f"centre and deviation of a prior must be {FEATURES} numbers, deviations above 0")
        if not (self._deviation > SMALLEST).all():
            raise PosableError(f"deviations of a prior must be above {SMALLEST:g}")
        if (self._centre[to] * sign != self._centre).any():
            raise PosableError("the centre of a prior must be its own mirror image")
        self._inputs = records(INPUT, np.column_stack([inputs[:, :2], fractions(inputs) / self._deviation[:, None]]))
        combined = np.column_stack([outputs[:, :2], fractions(outputs)])
        padded = [whole(combined[: even[1]].T).T, whole(combined[even[1] :].T).T]
        self._outputs = records(OUTPUT, np.concatenate(padded))

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
        found = read_archive(path, _NETWORK, MOST_BYTES)
        for name in _NETWORK:
            if name not in found:
                raise FormatError(path, "is missing", name)
        try:
            origin = json.loads(str(found["origin"]))
            if not isinstance(origin, dict) or not all(isinstance(v, str) for v in origin.values()):
                raise FormatError(path, "is not a table of texts", "origin")
            return Prior(found["sizes"], found["weights"], found["centre"], found["deviation"], origin)
        except (ValueError, PosableError, RecursionError) as error:
            raise FormatError(path, str(error)) from None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a file."""
        write_archive(
            path,
            {
                "sizes": self._sizes,
                "weights": self._weights.astype(np.float16),
                "centre": self._centre,
                "deviation": self._deviation,
                "origin": np.array(json.dumps(self.origin)),
            },
        )

    def network(self, body: Humanoid, figure: Figure) -> Network:
        """Return the prior on a body: the body's proportions are summed beforehand."""
        low, high, fraction = spine_fractions(np.array(SPINE_AT), SPINE_CHEST, body.arc_length, body.chest)
        always = slice(self._sizes[0] - PROPORTIONS, self._sizes[0])
        away = (proportions(body) - self._centre[BODY:]) / self._deviation[always]
        usual = np.clip(away, -USUAL, USUAL)
        weights, biases = self._summed(usual)
        layers = self._sizes.copy()
        layers[0] -= PROPORTIONS
        layers[-2:] += -layers[-2:] % LANES
        spine = records(LEARNED_SPINE, np.column_stack([low, high, fraction]))
        spine["straight"] = stretched_spine(figure.spine, figure.settings["max_stretch"][0])
        inputs = np.delete(self._inputs, always)
        known = self._centre[BODY:] + usual * self._deviation[always]
        lengths = lengths_of(known) / own_lengths(body, figure)
        scales = np.array([*lengths, *leans(body, known), DOUBTED * np.sqrt((away * away).mean())])
        return Network(layers, weights, biases, inputs, self._outputs, self._centre, spine, scales)

    def _summed(self, usual: Floats) -> tuple[NDArray[np.float32], Floats]:
        """Return (`Network.weights`, `Network.biases`) for values of the proportions, the last rows of s."""
        even, odd, *hidden, os, oa = self._sizes.tolist()
        varying = even - PROPORTIONS
        at, s, a = 0, even, odd
        weights: list[NDArray[np.float32]] = []
        biases: list[Floats] = []

        def take(rows: int, columns: int) -> NDArray[np.float32]:
            nonlocal at
            at += rows * columns
            return self._weights[at - rows * columns : at].reshape(rows, columns)

        for n in hidden:
            bias, ws, wa = take(1, n)[0].astype(np.float64), take(s, n), take(a, n)
            first = not biases
            biases.append(bias + usual @ ws[varying:].astype(np.float64) if first else bias)
            weights += [ws[:varying] if first else ws, wa]
            s = a = n
        bias, ws, wa = take(1, os)[0].astype(np.float64), take(s, os), take(a, oa)
        skip_s, skip_a = take(even, os), take(odd, oa)
        biases.append(whole((bias + usual @ skip_s[varying:].astype(np.float64))[None])[0])
        weights += [whole(ws), whole(wa), whole(skip_s[:varying]), whole(skip_a)]
        return np.concatenate([w.reshape(-1) for w in weights]), np.concatenate(biases)

    @property
    def scratch(self) -> int:
        """The numbers of scratch that a track needs."""
        return HIDDEN + 2 * int(self._sizes[2:-2].sum())


def no_network() -> Network:
    """Return the network of no prior."""
    sizes, weights, none = np.zeros(0, np.int64), np.zeros(0, np.float32), np.zeros(0)
    both = np.zeros(0, INPUT), np.zeros(0, OUTPUT)
    return Network(sizes, weights, none, *both, none, np.zeros(0, LEARNED_SPINE), none)


def prior_of(given: Prior | str | os.PathLike[str] | None) -> Prior | None:
    """Return the prior that `SequentialIK(prior=)` means: "default", a path, a `Prior`, or None."""
    if given is None or isinstance(given, Prior):
        return given
    if isinstance(given, (str, os.PathLike)):
        return Prior.builtin() if given == "default" else Prior.load(given)
    raise PosableError(f"prior is {given!r}; expected 'default', a path, a Prior or None")
