"""Compiling batches for NVIDIA's GPUs with numba-cuda, with no GPU at hand.

    python -m posable.compute.build --ptx              # every batch, into one file beside the package

PTX is NVIDIA's assembler language; the driver of a GPU makes machine code of it. Decided here:

- Compiling needs only NVVM from NVIDIA's wheels. numba-cuda also looks for a GPU to learn its compute capability and
  for NVRTC (90 MB) to learn which ones are known; we name the capability ourselves and answer both questions.
- The capability is an old one (`cuda.CAPABILITY`): PTX for it runs on every newer GPU, and these kernels use nothing
  that came later. Older ones schedule their threads in another way, which newer GPUs would have to imitate.
- NVVM writes its own version into the PTX, which a driver that is older than NVVM refuses. Nothing of that version is
  used but a hint, for tools that look for memory nobody wrote (`used_bytes_mask`), which is left out; so an older
  version is written in its place. NVIDIA's assembler, which refuses what a version does not have, takes every
  batch so (`tests/test_ptx.py`).
"""

from __future__ import annotations

import gc
import hashlib
import lzma
import re
import types
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from .build import batch_of, function_of, numba_type, source_key, write_whole
from .calls import Kind, parsed
from .cuda import CAPABILITY, ENTRY, INTERLEAVED, PTX_VERSION, interleaved_kinds, parameters
from .errors import PosableError, require
from .kernels import Batch

WHOLE = 10_000  # lines of a batch with all that it calls up to which everything is inlined
LARGE = 200  # lines of a function in LLVM's language beyond which it is not inlined
LONGEST_NAME = 80  # characters
NAME = re.compile(r'@"[^"]*"|@[-a-zA-Z$._0-9]+')

__all__ = ["compile_batch", "kernel", "ptx"]


def compile_batch(name: str, arguments: str, cache: str, optimised: bool = True) -> dict[str, Any]:
    """Compile one batch, or take it from the cache; return where its PTX lies, compressed, and whether it was there.

    Where code that is not optimised is enough, that which is will do.
    """
    numba_cuda()  # says what is missing
    kinds, function = parsed(arguments), function_of(name)
    if name.endswith(INTERLEAVED):
        kinds = interleaved_kinds(batch_of(name), kinds)
    versions = " ".join(version(one) for one in ("numba", "numba-cuda", "nvidia-cuda-nvcc-cu12"))
    ours = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()
    layout = " rows beside each other" if name.endswith(INTERLEAVED) else ""
    key = source_key(function, kinds, f"{versions} {CAPABILITY} {PTX_VERSION} {ours}{layout}")
    paths = [Path(cache) / f"{key}{suffix}.ptx.xz" for suffix in ([""] if optimised else ["", "-plain"])]
    found = [path for path in paths if path.exists()]
    if not found:
        code = ptx(function, kinds, optimised).encode()
        write_whole(paths[-1], lzma.compress(code, preset=6 if optimised else 1))  # what nobody keeps, quickly
    return {"path": str((found or paths)[-1]), "taken": bool(found)}


def ptx(function: Callable[..., None], kinds: Sequence[Kind], optimised: bool = True) -> str:
    """Return the PTX of a batch's function for arguments of these kinds; its kernel is `cuda.ENTRY`.

    Without optimising it takes a third of the time.
    """
    from numba import types as numba_types

    signature = (numba_types.int64, *map(numba_type, kinds))
    with named_gpu(CAPABILITY), _without_collecting():
        code, _ = numba_cuda().compile_ptx(_strided(function), signature, cc=CAPABILITY, opt=optimised)
    return _finished(str(code), kinds)


def kernel_parameters(code: str) -> list[str]:
    """Return the types of the parameters of a kernel, in PTX's words, read from its text."""
    head = re.search(r"^\.visible \.entry \w+\(([^)]*)\)", code, re.MULTILINE)
    if head is None:
        raise PosableError("the compiled code has no kernel")
    return [word.removeprefix(".") for word in re.findall(r"\.param (\S+)", head[1])]


def _finished(code: str, kinds: Sequence[Kind]) -> str:
    """Return the PTX of `PTX_VERSION` with a short name of its kernel, whose parameters are those that are launched."""
    entry = re.search(r"^\.visible \.entry (\w+)", code, re.MULTILINE)
    if entry is None:
        raise PosableError("the compiled code has no kernel")
    code = code.replace(entry[1], ENTRY)
    code = re.sub(r"^\.version \S+$", f".version {PTX_VERSION}", code, flags=re.MULTILINE)
    code = re.sub(r'^\s*\.pragma "used_bytes_mask \w+";\n', "", code, flags=re.MULTILINE)
    expected, found = [kind for kind, _ in parameters(kinds)], kernel_parameters(code)
    if found != expected:
        raise PosableError(f"a kernel takes the parameters {' '.join(found)}; expected {' '.join(expected)}")
    return code


@cache
def kernel(batch: Batch) -> Any:
    """The batch as a CUDA kernel; compiled by numba-cuda at its first launch with these types."""
    return numba_cuda().jit(_strided(batch.function))


@cache
def _strided(function: Callable[..., None]) -> types.FunctionType:
    """The batch's own code with `prange` giving each thread its rows."""
    cuda = numba_cuda()

    @cuda.jit(device=True)  # type: ignore[untyped-decorator]
    def own_rows(n: int) -> range:
        return range(cuda.grid(1), n, cuda.gridsize(1))

    from .jit import with_compiled_kernels

    source: Any = with_compiled_kernels(function)
    names = {**source.__globals__, "prange": own_rows}
    return types.FunctionType(source.__code__, names, f"{source.__name__}_cuda")


@cache
def numba_cuda() -> Any:
    """Return numba-cuda, which hands its code to NVIDIA's compiler as that takes it soonest."""
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
    one kernel, in minutes; large functions are left apart, but for a batch that is small as a whole.
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
    lines = sum(module.count("\n") for module in modules)
    large = LARGE if lines > WHOLE else lines
    return [_large_apart(NAME.sub(renamed, module), entries, large) for module in modules]


def _large_apart(module: str, entries: set[str], large: int) -> str:
    """Return a module whose functions of more lines than `large`, but for entries, may not be inlined."""
    lines = module.split("\n")
    for k, line in enumerate(lines):
        if not line.startswith("define ") or "noinline" in line or entries & {*NAME.findall(line)}:
            continue
        if lines.index("}", k) - k > large:
            open_here = line.rstrip().endswith("{")
            head = line.rstrip().removesuffix("{").rstrip().replace(" alwaysinline", "")
            lines[k] = f"{head} noinline{' {' if open_here else ''}"
    return "\n".join(lines)


@contextmanager
def _without_collecting() -> Iterator[None]:
    """Keep Python's garbage collection off: it walks again and again through all that the compiler builds."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


@contextmanager
def named_gpu(capability: tuple[int, int]) -> Iterator[None]:
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
