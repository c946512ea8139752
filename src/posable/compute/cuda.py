"""Batches on an NVIDIA GPU: the same source, one thread a row.

A batch is a function `(n, *arrays)` whose body is `for i in prange(n): ...`. On a GPU the same code runs with another
`prange`: each thread takes the rows that are its own (its number, then every further one a whole grid away). Nothing
is written twice, and what the CPU's tests say of a kernel holds for the GPU's.

`launch` runs a batch; `ptx` compiles one without a GPU at hand, which is how CI sees that every kernel still can.

Decided here: PTX needs only NVVM from NVIDIA's wheels. numba-cuda also looks for a GPU to learn its compute capability
and for NVRTC (90 MB) to learn which ones are known; we name the capability ourselves and answer both questions.
"""

from __future__ import annotations

import hashlib
import re
import types
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np

from .errors import PosableError, require
from .kernels import Batch

THREADS = 128  # a block: enough to hide memory's delay, few enough for kernels with many registers
LARGE = 200  # lines of a function in LLVM's language beyond which it is not inlined
LONGEST_NAME = 80  # characters
NAME = re.compile(r'@"[^"]*"|@[-a-zA-Z$._0-9]+')
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
    cuda = require("numba.cuda", "cuda")
    from numba.cuda.cudadrv import nvvm

    compile_ir: Any = nvvm.compile_ir
    nvvm.compile_ir = lambda code, **options: compile_ir(quick_to_compile(code), **options)
    return cuda


def quick_to_compile(code: str | Sequence[str]) -> list[str]:
    """Return modules in LLVM's language that NVIDIA's compiler takes sooner, for the same answers.

    Numba names a function by the types of its arguments, records field by field: tens of kilobytes a name, and hundreds
    of megabytes of PTX for a whole solver. Here long names become short. And the compiler would inline everything into
    one kernel, in minutes; large functions are left apart.
    """
    short: dict[str, str] = {}

    def renamed(found: re.Match[str]) -> str:
        name = found[0]
        if len(name) <= LONGEST_NAME or name in entries:
            return name
        return short.setdefault(name, f"@f{len(short)}_{hashlib.sha256(name.encode()).hexdigest()[:8]}")

    modules = [code] if isinstance(code, str) else code
    # A launch looks for a kernel's entry by its name.
    marked = [line for module in modules for line in module.split("\n") if line.startswith("!") and '"kernel"' in line]
    entries = {name for line in marked for name in NAME.findall(line)}
    return [_large_apart(NAME.sub(renamed, module), entries) for module in modules]


def _large_apart(module: str, entries: set[str]) -> str:
    """Return a module whose large functions, but for entries, may not be inlined."""
    lines = module.split("\n")
    for k, line in enumerate(lines):
        if not line.startswith("define ") or "noinline" in line or entries & {*NAME.findall(line)}:
            continue
        if lines.index("}", k) - k > LARGE:
            open_here = line.rstrip().endswith("{")
            head = line.rstrip().removesuffix("{").rstrip().replace(" alwaysinline", "")
            lines[k] = f"{head} noinline{' {' if open_here else ''}"
    return "\n".join(lines)


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
