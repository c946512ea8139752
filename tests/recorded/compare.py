"""Whether two results are the same: to the last bit on the same machine, closely on another one.

Closely means: numbers within `Call.within` and that part of themselves, 1e-7 unless the call says otherwise. That is a
thousand times less than anybody sees (1e-7 m, 1e-7 rad) and a million times more than a rounding of 1e-16, since
solvers multiply roundings: a swivel found by bisection, a limb near full stretch and a clamp at the edge of a cone have
slopes of up to 1e4, and each frame of a track starts from the one before. Iterative methods (classic, edit) that stop
at a threshold may stop an iteration earlier or later where a residual falls on the threshold itself; then their
answers differ by a last step, and their calls say how much that is. How many iterations, steps or tests it took is
not compared on another machine, nor are digests of files that were written. Quaternions q and -q count as two, as their
signs are part of an answer.

Measured: compiled for a processor without FMA and AVX (`NUMBA_CPU_NAME=generic`, NumPy's vector code off), 115 of 125
calls kept every bit, and the ten of reconstruction were within 1e-8: only its network is compiled with fused products.
What another libm does was not measured.
"""

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from .flat import DIGEST, Flat

COUNTS = {"iterations", "steps", "tests", "tried", "limits", "collision", "singular"}
"""Last parts of the names of counts of work."""

FILE_DIGEST = re.compile(r"\b[0-9a-f]{64}\b")
"""The SHA-256 of a file that a command wrote: another rounding, another digest."""


def differences(
    recorded: Flat, found: Flat, within: float | None, fitted: Mapping[str, float] | None = None
) -> list[str]:
    """A line for each thing that differs; `within` None: to the last bit. `fitted`: single results with their own."""
    missing = [f"{name}: not in the answer any more" for name in recorded if name not in found]
    added = [f"{name}: not recorded" for name in found if name not in recorded]
    both = [name for name in recorded if name in found]
    if within is not None:
        both = [name for name in both if not name.endswith(DIGEST) and name.rpartition(".")[2] not in COUNTS]
    own = fitted if fitted and within is not None else {}
    told = (_difference(name, recorded[name], found[name], own.get(name, within)) for name in both)
    return [*missing, *added, *(line for line in told if line)]


def _difference(name: str, recorded: Any, found: Any, within: float | None) -> str:
    if isinstance(recorded, str) or isinstance(found, str):
        if type(recorded) is type(found) and recorded == found:
            return ""
        if within is not None and FILE_DIGEST.sub("", str(recorded)) == FILE_DIGEST.sub("", str(found)):
            return ""
        if name.endswith(DIGEST):
            return f"{name.removesuffix(DIGEST)}: not the same to the last bit (of all its numbers or bytes)"
        return f"{name}: {found!r:.200}; recorded {recorded!r:.200}"
    if recorded.dtype != found.dtype or recorded.shape != found.shape:
        return f"{name}: {found.dtype} {found.shape}; recorded {recorded.dtype} {recorded.shape}"
    real = recorded.dtype.kind == "f"
    if np.array_equal(recorded, found, equal_nan=real):
        return ""
    if within is not None and real and np.allclose(found, recorded, rtol=within, atol=within, equal_nan=True):
        return ""
    return f"{name}: {_apart(recorded, found)}"


def _apart(recorded: np.ndarray, found: np.ndarray) -> str:
    real = recorded.dtype.kind == "f"
    with np.errstate(invalid="ignore"):
        other = (recorded != found) & ~(np.isnan(recorded) & np.isnan(found)) if real else recorded != found
        apart = np.abs(recorded.astype(np.float64) - found.astype(np.float64))
    apart = np.where(other, np.where(np.isnan(apart), np.inf, apart), 0.0)
    worst = np.unravel_index(int(np.argmax(apart)), apart.shape)
    at = f" at {tuple(int(k) for k in worst)}" if worst else ""
    return f"{int(other.sum())} of {recorded.size} differ, most{at}: {found[worst]!r}; recorded {recorded[worst]!r}"
