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
import subprocess
import tempfile
import types
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from . import ptx_arrays
from .array_use import array_use
from .build import batch_of, numba_type, source_key, write_whole
from .calls import Kind, leaves, parsed
from .cuda import ASSEMBLED, CAPABILITY, ENTRY, PTX_VERSION, parameters
from .errors import PosableError, require
from .kernels import Batch
from .variants import named, parameters_of

WHOLE = 10_000  # lines of a batch with all that it calls up to which everything is inlined
LARGE = 200  # lines of a function in LLVM's language beyond which it is not inlined
LONGEST_NAME = 80  # characters
OURS = ("ptx.py", "ptx_arrays.py", "variants.py")  # files of this room that decide what a code is like
NAME = re.compile(r'@"[^"]*"|@[-a-zA-Z$._0-9]+')

__all__ = ["assemble_batch", "compile_batch", "kernel", "ptx"]


def compile_batch(name: str, arguments: str, cache: str, optimised: bool = True) -> dict[str, Any]:
    """Compile one batch, or take it from the cache; return where its PTX lies, compressed, and whether it was there.

    Where code that is not optimised is enough, that which is will do.
    """
    numba_cuda()  # says what is missing
    plain, variant = named(name)
    batch = batch_of(plain)
    kinds = variant.kinds(batch, parsed(arguments))
    versions = " ".join(version(one) for one in ("numba", "numba-cuda", "nvidia-cuda-nvcc-cu12"))
    ours = hashlib.sha256(b"".join(Path(__file__).with_name(one).read_bytes() for one in OURS)).hexdigest()
    key = source_key(
        batch.function,
        kinds,
        f"{versions} {CAPABILITY} {PTX_VERSION} {ours} {variant.suffix} {batch.whole} {batch.registers}",
    )
    paths = [Path(cache) / f"{key}{suffix}.ptx.xz" for suffix in ([""] if optimised else ["", "-plain"])]
    found = [path for path in paths if path.exists()]
    if not found:
        code = ptx(batch, kinds, optimised, variant.staged).encode()
        write_whole(paths[-1], lzma.compress(code, preset=6 if optimised else 1))  # what nobody keeps, quickly
    return {"path": str((found or paths)[-1]), "taken": bool(found)}


def assemble_batch(name: str, arguments: str, cache: str) -> dict[str, Any]:
    """Do `compile_batch`, and assemble the code for the GPUs of `cuda.ASSEMBLED`; return where that lies, too."""
    made = compile_batch(name, arguments, cache)
    code = Path(made["path"])
    machine = {arch: code.with_name(f"{code.name.partition('.')[0]}.{arch}.xz") for arch in ASSEMBLED}
    for arch, path in machine.items():
        if not path.exists():
            write_whole(path, lzma.compress(assembled(lzma.decompress(code.read_bytes()), arch)))
    return made | {"machine": {arch: str(path) for arch, path in machine.items()}}


def assembled(code: bytes, arch: str) -> bytes:
    """Return the machine code of PTX for a GPU, by NVIDIA's assembler."""
    (assembler, *_) = [
        found for path in require("nvidia", "cuda").__path__ for found in Path(path).glob("cuda_nvcc/bin/ptxas*")
    ]
    with tempfile.TemporaryDirectory() as folder:
        source, made = Path(folder) / "batch.ptx", Path(folder) / "batch.cubin"
        source.write_bytes(code)
        ran = subprocess.run([assembler, "-arch", arch, source, "-o", made], capture_output=True, text=True)
        if ran.returncode != 0:
            raise PosableError(f"the code could not be assembled for {arch}: {ran.stderr.strip()[-500:]}")
        return made.read_bytes()


def ptx(batch: Batch, kinds: Sequence[Kind], optimised: bool = True, is_staged: bool = False) -> str:
    """Return the PTX of a batch for arguments of these kinds; its kernel is `cuda.ENTRY`.

    Without optimising it takes a third of the time. `is_staged`: blocks copy the rows of some arrays to their memory.
    """
    cuda = numba_cuda()
    signature = (cuda.types.int64, *map(numba_type, kinds))
    with named_gpu(CAPABILITY), _without_collecting(), _inlining(batch.whole):
        function = _staged(batch, kinds) if is_staged else _strided(batch.function)
        code, _ = cuda.compile_ptx(function, signature, cc=CAPABILITY, opt=optimised)
    return _finished(str(code), kinds, batch.registers)


def kernel_parameters(code: str) -> list[str]:
    """Return the types of the parameters of a kernel, in PTX's words, read from its text."""
    head = re.search(r"^\.visible \.entry \w+\(([^)]*)\)", code, re.MULTILINE)
    if head is None:
        raise PosableError("the compiled code has no kernel")
    return [word.removeprefix(".") for word in re.findall(r"\.param (\S+)", head[1])]


def _finished(code: str, kinds: Sequence[Kind], registers: int = 0) -> str:
    """Return the PTX of `PTX_VERSION` with a short name of its kernel, whose parameters are those that are launched."""
    entry = re.search(r"^\.visible \.entry (\w+)", code, re.MULTILINE)
    if entry is None:
        raise PosableError("the compiled code has no kernel")
    code = code.replace(entry[1], ENTRY)
    code = re.sub(r"^\.version \S+$", f".version {PTX_VERSION}", code, flags=re.MULTILINE)
    code = re.sub(r'^\s*\.pragma "used_bytes_mask \w+";\n', "", code, flags=re.MULTILINE)
    if registers:
        head = code.index("{", code.index(".visible .entry"))
        code = f"{code[:head]}.maxnreg {registers}\n{code[head:]}"
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


def _staged(batch: Batch, kinds: Sequence[Kind]) -> Any:
    """Return the batch's own code for blocks that stage the rows of some arrays."""
    from .jit import with_compiled_kernels

    names, uses = parameters_of(batch), iter(array_use(batch.function, kinds))
    written = {}
    for name, kind in zip(names, kinds, strict=True):
        found = [next(uses).written for one in leaves([kind]) if one.dtype is not None]
        written[name] = any(found)
    source: Any = with_compiled_kernels(batch.function)
    return ptx_arrays.staged(source, names, {name: written[name] for name in batch.staged})


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
    ptx_arrays.take_indices_as_they_are()
    _count_at_once(cuda)
    return cuda


def _count_at_once(cuda: Any) -> None:
    """Make `counting.claim` one step of a GPU's memory: numba-cuda keeps a kernel's own code with its dispatcher."""
    from .counting import claim
    from .jit import dispatcher_of

    def claimed(counter: Any) -> int:
        return cuda.atomic.add(counter, 0, 1)  # type: ignore[no-any-return]

    dispatcher_of(claim)._CUDATypingContext__dispatcher = cuda.jit(device=True)(claimed)


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
    large = LARGE if lines > WHOLE and not _whole else lines
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


_whole: bool = False  # whether what is compiled now is inlined as a whole


@contextmanager
def _inlining(whole: bool) -> Iterator[None]:
    """Let everything be inlined in the `with` block, if so."""
    global _whole
    _whole = whole
    try:
        yield
    finally:
        _whole = False


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
