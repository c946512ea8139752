"""The network of a prior for many bodies at once, on a GPU: its layers are products of matrices.

A thread that evaluates the network for its body alone (`prior_kernels.evaluate`) reads two megabytes of weights for it,
as every other thread does: a microsecond a body. Here the bodies of a launch are the columns of a matrix, and the
library that the caller's arrays are of multiplies the weights with it, as GPUs do best, in float64. Sums have the terms
that they have there; in which order these are added is the library's choice.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..compute import batch, prange
from ..compute.gpu_arrays import GpuArray
from ..compute.types import Floats
from .prior_kernels import OUT, SIDES, Network, twin


@batch(rows=4096)
def twin_rows(n: int, count: int, biases: Floats, s: Floats, a: Floats) -> None:
    """Do `prior_kernels.twins` for the units of a layer and `count` bodies, unit by unit: n numbers of each."""
    for i in prange(n):
        s[i], a[i] = twin(s[i] + biases[i // count], a[i])


def can_multiply(array: Any) -> bool:
    """Return whether the library of an array on a GPU multiplies matrices that kernels have written."""
    return isinstance(array, GpuArray) and array.library.writes


class Layers:
    """The matrices of a network, on the GPU where an array is, in float64."""

    def __init__(self, net: Network, like: Any) -> None:
        even, odd, *hidden, os, oa = net.sizes.tolist()
        self._even, self._odd = even, odd
        at, bias, s, a = 0, 0, even, odd
        self._layers: list[tuple[Any, Any, Any]] = []
        for s_out, a_out in (*((n, n) for n in hidden), (os, oa)):
            matrices, at = _matrices(net, at, (s, s_out), (a, a_out), like)
            self._layers.append((*matrices, _there(net.biases[bias : bias + s_out], like)))
            bias, s, a = bias + s_out, s_out, a_out
        self._past, _ = _matrices(net, at, (even, os), (odd, oa), like)

    def evaluate(self, work: Any) -> None:
        """Evaluate the network for all bodies, whose rows of scratch `work` (N, W) lie beside each other."""
        count, width = work.shape
        columns = work.reshape(width, count)  # of the memory, in which row k has number k of every body
        given = columns[SIDES : SIDES + self._even], columns[SIDES + self._even : SIDES + self._even + self._odd]
        s, a = given
        for ws, wa, bias in self._layers[:-1]:
            s, a = np.matmul(ws, s), np.matmul(wa, a)
            twin_rows(s.size, count, bias, s.reshape(-1), a.reshape(-1))
        ws, wa, bias = self._layers[-1]
        s = np.matmul(ws, s) + np.matmul(self._past[0], given[0]) + bias.reshape(-1, 1)
        a = np.matmul(wa, a) + np.matmul(self._past[1], given[1])
        out = columns[OUT : OUT + s.shape[0]], columns[OUT + s.shape[0] : OUT + s.shape[0] + a.shape[0]]
        for target, values in zip(out, (s, a), strict=True):
            target.library.assign(target.target, values.target)


def _matrices(net: Network, at: int, s: tuple[int, int], a: tuple[int, int], like: Any) -> tuple[tuple[Any, Any], int]:
    """Return the matrices (out, in) of s and of a, whose weights (in, out) begin at `at`, and where they end."""
    made = []
    for rows, columns in (s, a):
        made.append(_there(net.weights[at : at + rows * columns].reshape(rows, columns).T, like))
        at += rows * columns
    return (made[0], made[1]), at


def _there(array: Any, like: Any) -> GpuArray:
    """Return an array of the CPU in float64 on the GPU where the array `like` is."""
    return GpuArray(like.library.from_numpy(np.ascontiguousarray(array, np.float64), like.device), like.library)
