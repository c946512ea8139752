"""Batches on an NVIDIA GPU: the same source, one thread a row.

A batch is a function `(n, *arrays)` whose body is `for i in prange(n): ...`. On a GPU the same code runs with another
`prange`: each thread takes the rows that are its own (its number, then every further one a whole grid away). Nothing
is written twice, and what the CPU's tests say of a kernel holds for the GPU's.

`launch` runs a batch; `ptx` compiles one without a GPU at hand, which is how CI sees that every kernel still can.

Decided here: PTX needs only NVVM from NVIDIA's wheels. numba-cuda also looks for a GPU to learn its compute capability
and for NVRTC (90 MB) to learn which ones are known; we name the capability ourselves and answer both questions.
"""

from __future__ import annotations

import types
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np

from .errors import PosableError, require
from .kernels import Batch

THREADS = 128  # a block: enough to hide memory's delay, few enough for kernels with many registers
MAX_BLOCKS = 65536  # more rows than this many blocks have threads are walked in strides of the whole grid

__all__ = ["available", "launch", "ptx"]


def available() -> bool:
    """Whether a GPU that numba-cuda can use is at hand."""
    try:
        return bool(_cuda().is_available())
    except PosableError:
        return False


def launch(batch: Batch, n: int, *arrays: Any) -> None:
    """Run rows 0 to n - 1 of a batch on the current GPU.

    Arrays on the GPU (`numba.cuda.to_device`, or anything with `__cuda_array_interface__`) stay there, and the call
    returns before the work is done, as launches do. NumPy arrays are copied there and back, which waits.
    """
    if not available():
        raise PosableError("no GPU is at hand; run the batch itself on the CPU")
    if n <= 0:
        return
    blocks = min(-(-n // THREADS), MAX_BLOCKS)
    _kernel(batch)[blocks, THREADS](n, *arrays)


def ptx(batch: Batch, n: int, *arrays: Any, capability: tuple[int, int] = (9, 0), optimised: bool = True) -> str:
    """The PTX of a batch for these arguments, compiled with no GPU (and nothing is run).

    `capability` is the GPU's compute capability: (9, 0) is an H100 or H200. Without optimising it takes a third of
    the time.
    """
    import numba

    cuda = _cuda()
    signature = tuple(numba.typeof(argument) for argument in (n, *arrays))  # type: ignore[no-untyped-call]
    with _named_gpu(capability):
        code, _ = cuda.compile_ptx(_strided(batch), signature, cc=capability, opt=optimised)
    return str(code)


@cache
def _kernel(batch: Batch) -> Any:
    """The batch as a CUDA kernel; compiled by numba-cuda at its first launch with these types."""
    return _cuda().jit(_strided(batch))


@cache
def _strided(batch: Batch) -> types.FunctionType:
    """The batch's own code with `prange` giving each thread its rows."""
    cuda = _cuda()

    @cuda.jit(device=True)  # type: ignore[untyped-decorator]
    def own_rows(n: int) -> range:
        return range(cuda.grid(1), n, cuda.gridsize(1))

    from .jit import with_compiled_kernels

    source: Any = with_compiled_kernels(batch.function)
    names = {**source.__globals__, "prange": own_rows}
    return types.FunctionType(source.__code__, names, f"{source.__name__}_cuda")


@cache
def _cuda() -> Any:
    require("numba_cuda", "cuda")
    if not hasattr(np, "row_stack"):
        setattr(np, "row_stack", np.vstack)  # noqa: B010  gone in NumPy 2.5, still asked for by numba-cuda 0.30
    return require("numba.cuda", "cuda")


@contextmanager
def _named_gpu(capability: tuple[int, int]) -> Iterator[None]:
    """Let numba-cuda compile for this compute capability, with no GPU and no NVRTC to ask."""
    from numba.cuda import cuda_paths, dispatcher
    from numba.cuda.cudadrv import nvrtc

    gpu = types.SimpleNamespace(compute_capability=capability)
    replacements = {
        (dispatcher, "get_current_device"): lambda: gpu,
        (nvrtc, "get_supported_ccs"): lambda: [capability],
        (cuda_paths, "_get_nvrtc_path"): lambda: None,
    }
    before = {attribute: getattr(*attribute) for attribute in replacements}
    found = getattr(cuda_paths.get_cuda_paths, "_cached_result", None)
    try:
        for (module, name), answer in replacements.items():
            setattr(module, name, answer)
        yield
    finally:
        for (module, name), original in before.items():
            setattr(module, name, original)
        if found is None and hasattr(cuda_paths.get_cuda_paths, "_cached_result"):
            del cuda_paths.get_cuda_paths._cached_result  # it lacks NVRTC, which a launch wants
