"""The GPU of the measurements: where one is, the first library of those installed whose arrays solvers take there."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np

from ...compute import cuda, cuda_driver
from ...compute.types import Floats

LIBRARIES = ("torch", "cupy", "jax")
ROWS = 1 << 16
"""Of a batch: fewer leave most of a GPU idle."""

__all__ = ["LIBRARIES", "ROWS", "Gpu", "found", "tiled", "why_not"]


@dataclass(frozen=True)
class Gpu:
    """A GPU, by the library that has its arrays.

    Attributes:
        name: of the GPU and the library, for a table.
        to_gpu: copies an array of the CPU there.
    """

    name: str
    to_gpu: Callable[[Floats], Any]

    @staticmethod
    def wait() -> None:
        """Wait until all work is done that was given to the GPU."""
        driver = cuda_driver.driver()
        with driver.on(0):
            driver.wait(0)


def why_not() -> str:
    """Return in one sentence why nothing is measured on a GPU; empty where it is."""
    if not cuda.available():
        return "no GPU is at hand, so none is measured"
    if not (cuda.FOLDER / cuda.file_name()).exists():
        return "there is no code for GPUs beside the package, so none is measured"
    if not any(find_spec(name) for name in LIBRARIES):
        return "none of PyTorch, CuPy and JAX is installed, so no GPU is measured"
    return ""


@cache
def found() -> Gpu | None:
    """Return the GPU; None where there is none."""
    if why_not():
        return None
    name = next(name for name in LIBRARIES if find_spec(name))
    module = importlib.import_module(name)
    if name == "torch":
        return Gpu(f"{module.cuda.get_device_name()}, {name}", lambda array: module.tensor(array, device="cuda"))
    if name == "cupy":
        facts = module.cuda.runtime.getDeviceProperties(0)
        return Gpu(f"{facts['name'].decode()}, {name}", module.asarray)
    module.config.update("jax_enable_x64", True)
    device = module.devices("gpu")[0]
    return Gpu(f"{device.device_kind}, {name}", lambda array: module.device_put(array, device))


def tiled(array: Floats, rows: int = ROWS) -> Floats:
    """Return the rows of an array again and again."""
    return np.resize(array, (rows, *np.shape(array)[1:]))
