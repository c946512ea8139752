"""Compile every batch ahead of time into one library.

    python -m posable.compute.build                    # for this machine, beside the package (make kernels)
    python -m posable.compute.build --target linux-aarch64 --out FOLDER
    python -m posable.compute.build --checked          # loops that check every index (make check-bounds)
    python -m posable.compute.build --ptx              # for NVIDIA's GPUs (posable.compute.ptx)

Numba translates and optimises each batch for the arguments that `calls.json` names; of the result, code in LLVM's
language, LLVM makes machine code for the wanted system, which may be another than this one. A trampoline for each
loop takes its arguments as one row of machine words; `native/calls.c` fills that row. Objects are kept in the cache by
a hash of all that went into them, so that a second build compiles what changed.

For x86-64 every loop is there twice: for any such machine, and for those with AVX2 and FMA (`x86-64-v3`), which the
library takes where it finds them.

The linker is `cc`, or `zig cc` of the package ziglang, which also links for other systems.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import inspect
import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import types
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from . import cuda
from .array_use import array_use
from .calls import Kind, calls, leaves, parsed
from .compiling import build_ended, quiet_jit, report_build
from .errors import PosableError
from .files import atomic_write, cache_dir
from .kernels import Batch
from .library import file_in, file_name, is_whole
from .sources import library_sources
from .variants import MARK

NATIVE = Path(__file__).with_name("native")
FORMAT = 2  # raised when what is kept in the cache changes its meaning


@dataclass(frozen=True)
class Target:
    """A system that the library can be made for.

    Attributes:
        triple: LLVM's name of it.
        cpus: the machines that code is made for, LLVM's names; the library takes the last that is there.
        zig: its name for the linker of ziglang.
        system: Python's name of it.
    """

    triple: str
    cpus: tuple[str, ...]
    zig: str
    system: str


TARGETS = {
    "linux-x86_64": Target("x86_64-unknown-linux-gnu", ("x86-64", "x86-64-v3"), "x86_64-linux-gnu.2.17", "linux"),
    "linux-aarch64": Target("aarch64-unknown-linux-gnu", ("generic",), "aarch64-linux-gnu.2.17", "linux"),
    "macos-arm64": Target("arm64-apple-macosx11.0.0", ("apple-m1",), "aarch64-macos.11.0", "darwin"),
    "windows-x86_64": Target("x86_64-pc-windows-gnu", ("x86-64", "x86-64-v3"), "x86_64-windows-gnu", "win32"),
}


def this_machine() -> str:
    """Return the name of the target that this machine is."""
    import platform

    machine = {"amd64": "x86_64", "arm64": "arm64" if sys.platform == "darwin" else "aarch64"}
    found = platform.machine().lower()
    system = {"linux": "linux", "darwin": "macos", "win32": "windows"}.get(sys.platform, sys.platform)
    name = f"{system}-{machine.get(found, found)}"
    if name not in TARGETS:
        raise PosableError(f"no library can be made for {name}; expected one of {', '.join(TARGETS)}")
    return name


# One batch


def compile_batch(name: str, arguments: str, target: Target, cache: str) -> dict[str, Any]:
    """Compile one batch, or take it from the cache; return where its objects lie and which arrays it writes to."""
    kinds = parsed(arguments)
    function = function_of(name)
    key = source_key(function, kinds, _tools())
    symbol = f"loop_{key}"
    code, facts = Path(cache) / f"{key}.bc", Path(cache) / f"{key}.json"
    objects = {cpu: Path(cache) / f"{key}-{target.triple}-{cpu}.o" for cpu in target.cpus}
    known = _facts(facts) if code.exists() else None
    if known is None:
        module, entry = _optimised(function, kinds)
        known = {"symbol": symbol, "writes": _trampoline(module, entry, symbol, kinds)}
        write_whole(code, module.as_bitcode())
        write_whole(facts, json.dumps(known).encode())
    taken = known.pop("taken", False)
    for cpu, path in objects.items():
        if not path.exists():
            try:
                made = _machine_code(code.read_bytes(), symbol, target.triple, cpu)
            except RuntimeError as error:
                if not taken:
                    raise
                code.unlink()
                raise _DamagedError(f"{code} is damaged ({error})") from None
            write_whole(path, made)
    stored = [str(one) for one in (code, facts, *objects.values())]
    return {**known, "objects": [str(path) for path in objects.values()], "stored": stored, "taken": taken}


class _DamagedError(PosableError):
    """An object of an earlier build is damaged, and was removed."""


def _facts(path: Path) -> dict[str, Any] | None:
    """Return what was kept of a batch; None where nothing was, or half of it."""
    try:
        found: dict[str, Any] = json.loads(path.read_text())
        return {"symbol": str(found["symbol"]), "writes": list(found["writes"]), "taken": True}
    except (OSError, ValueError, KeyError, TypeError):
        return None


def function_of(name: str) -> Callable[..., None]:
    """Return the Python function of a batch, by its full name."""
    function: Callable[..., None] = batch_of(name).function
    return function


def batch_of(name: str) -> Batch:
    """Return a batch by its full name."""
    module, _, local = name.partition(MARK)[0].rpartition(".")
    found: Batch = getattr(importlib.import_module(module), local)
    return found


def _tools() -> str:
    """Return the versions of what makes code for a CPU, and the CPU that it is optimised for."""
    import llvmlite
    import numba

    config: Any = numba.config
    return f"{numba.__version__} {llvmlite.__version__} {config.CPU_NAME} {config.BOUNDSCHECK}"


def source_key(function: Callable[..., Any], kinds: Sequence[Kind], tools: str) -> str:
    """Return a hash of all that a batch's code depends on; `tools` says what makes it."""
    digest = hashlib.sha256(f"{FORMAT} {tools}".encode())
    digest.update(repr(kinds).encode())
    for one in _reached(function):
        digest.update(inspect.getsource(one).encode())
        for name in sorted({*one.__code__.co_names} & one.__globals__.keys()):
            value = one.__globals__[name]
            if isinstance(value, int | float | str | tuple | np.generic):
                digest.update(f"{name}={value!r}".encode())
    return digest.hexdigest()[:24]


def _reached(function: Callable[..., Any]) -> Iterator[types.FunctionType]:
    """Yield a function and all kernels that it calls, in an order that depends on the sources alone."""
    waiting: list[Any] = [function]
    seen: set[int] = set()
    while waiting:
        current = waiting.pop()
        current = getattr(current, "py_func", current)
        if id(current) in seen:
            continue
        seen.add(id(current))
        yield current
        names = sorted(current.__code__.co_names)
        known = [current.__globals__.get(name) for name in names]
        known += [getattr(one, name, None) for one in known if isinstance(one, types.ModuleType) for name in names]
        waiting += [one for one in known if hasattr(one, "py_func") or hasattr(one, "__fused__")]


def _optimised(function: Callable[..., None], kinds: Sequence[Kind]) -> tuple[Any, str]:
    """Return a batch's loop as an optimised module of LLVM, and the name of its entry."""
    from numba import types as numba_types

    from . import jit

    private = jit.private_numba()
    if private is None:
        raise PosableError("the library is made with a Numba that was tried (posable.compute.jit.TRIED)")
    signature = (numba_types.int64,) * 3 + tuple(map(numba_type, kinds))
    module, entry = private.module_of(jit.of_rows(jit.with_compiled_kernels(function)), signature)
    return module, entry


def numba_type(kind: Kind) -> Any:
    """Return Numba's type of an argument."""
    import numba
    from numba import types

    known: Any = types  # none of it carries types
    if kind.scalar is not None:
        return {float: known.float64, int: known.int64, bool: known.boolean}[kind.scalar]
    if kind.single:
        from .ptx_arrays import stored_array

        return stored_array(kind.axes, kind.order)
    if kind.dtype is not None:
        return known.Array(numba.from_dtype(kind.dtype), kind.axes, kind.order)
    parts = tuple(map(numba_type, kind.parts))
    if kind.named is None:
        return known.Tuple(parts)
    return (
        known.NamedUniTuple(parts[0], len(parts), kind.named)
        if len({*parts}) == 1
        else known.NamedTuple(parts, kind.named)
    )


def _trampoline(module: Any, entry: str, symbol: str, kinds: Sequence[Kind]) -> list[bool]:
    """Add the function that takes a row of machine words; return, for each array, whether the loop writes to it."""
    import llvmlite.binding as llvm

    function = module.get_function(entry)
    arguments = list(function.arguments)[2:]  # the first two are for what it returns, and for exceptions
    lines = ["%ret = alloca ptr", "%exc = alloca ptr"]
    passed = ["ptr %ret", "ptr %exc"]
    for k, argument in enumerate(arguments):
        lines.append(f"%p{k} = getelementptr i64, ptr %words, i64 {k}")
        lines.append(f"%a{k} = load {argument.type}, ptr %p{k}")
        passed.append(f"{argument.type} %a{k}")
    types_passed = ", ".join(word.rpartition(" ")[0] for word in passed)
    body = "\n  ".join(lines)
    text = (
        f"declare i32 @{entry!s}({types_passed})\n".replace(f"@{entry}", f'@"{entry}"')
        + f"define i32 @{symbol}(ptr %words) {{\n  {body}\n"
        + f'  %status = call i32 @"{entry}"({", ".join(passed)})\n  ret i32 %status\n}}\n'
    )
    writes, at = [], 3  # the three numbers of rows
    for kind in leaves(kinds):
        if kind.dtype is None:
            at += 1
            continue
        attributes = {bytes(one) for one in arguments[at + 4].attributes}
        writes.append(not attributes & {b"readonly", b"readnone"})
        at += 5 + 2 * kind.axes
    if at != len(arguments):
        raise PosableError(f"{entry} takes {len(arguments)} words; expected {at}")
    addition = llvm.parse_assembly(text)
    addition.triple, addition.data_layout = module.triple, module.data_layout
    module.link_in(addition)
    return writes


def _machine_code(code: bytes, symbol: str, triple: str, cpu: str) -> bytes:
    """Return the object file of a module for a system and a processor; only the trampoline is seen from outside."""
    import llvmlite.binding as llvm

    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    made = llvm.parse_bitcode(code)
    target = llvm.Target.from_triple(triple)
    machine = target.create_target_machine(cpu=cpu, opt=3, reloc="pic", codemodel="default")
    made.triple, made.data_layout = triple, str(machine.target_data)
    suffix = cpu.replace("-", "_")
    for one in made.functions:
        if not one.is_declaration and one.name != symbol:
            one.linkage = llvm.Linkage.internal
    for value in made.global_variables:
        if not value.is_declaration:
            value.linkage = llvm.Linkage.internal
    made.get_function(symbol).name = f"{symbol}_{suffix}"
    options = llvm.create_pipeline_tuning_options(speed_level=2)
    passes = llvm.create_pass_builder(machine, options)
    manager = llvm.create_new_module_pass_manager()
    manager.add_global_dead_code_eliminate_pass()
    manager.run(made, passes)
    return bytes(machine.emit_object(made))


def write_whole(path: Path, data: bytes) -> None:
    """Write a file whole, or not at all: several processes may want the same, and a disk may be full."""
    with atomic_write(path) as temporary:
        temporary.write_bytes(data)


# All of them


def build(
    target: str,
    out: Path,
    *,
    portable: bool = False,
    checked: bool = False,
    workers: int | None = None,
    show: Callable[[str], None] = print,
) -> Path:
    """Compile every batch for a target and link the library into a folder; return its path.

    `portable`: for older systems too. `checked`: with loops that check every index, for any machine of that system.
    """
    began = time.monotonic()
    known = TARGETS[target]
    if checked:  # one variant is enough to see an index that is wrong
        known = replace(known, cpus=known.cpus[:1])
    content, done = _linked(target, known, portable, checked, workers, show)
    path = out / file_name(content, known.system, checked=checked)
    out.mkdir(parents=True, exist_ok=True)
    write_whole(path, content)
    kind = path.name.split("_")[1]
    for other in {*out.glob(f"_{kind}_*.abi3.so"), *out.glob(f"_{kind}_*.pyd")} - {path}:
        with suppress(OSError):  # Windows does not remove one that is in use
            other.unlink()
    show(f"{path}: {path.stat().st_size / 1e6:.1f} MB, {len(done)} batches, {time.monotonic() - began:.0f} s")
    return path


def _linked(
    target: str, known: Target, portable: bool, checked: bool, workers: int | None, show: Callable[[str], None]
) -> tuple[bytes, dict[str, dict[str, Any]]]:
    """Return the content of a library, and what was compiled for it.

    Where that fails with objects that were kept of an earlier build, they may be damaged: all is compiled anew.
    """
    done: dict[str, dict[str, Any]] = {}
    try:
        done = _all_compiled(compile_batch, (known,), workers, show, checked=checked)
        return _link(target, known.cpus, done, portable), done
    except _LinkError:
        stored = [path for facts in done.values() if facts["taken"] for path in facts["stored"]]
        if not stored:
            raise
        for path in stored:
            Path(path).unlink(missing_ok=True)
    except _DamagedError:
        pass
    done = _all_compiled(compile_batch, (known,), workers, show, checked=checked)
    return _link(target, known.cpus, done, portable), done


class _LinkError(PosableError):
    """The objects could not be linked."""


def build_ptx(out: Path, *, workers: int | None = None, show: Callable[[str], None] = print) -> Path:
    """Compile every batch for GPUs and write the code into one file in a folder; return its path."""
    from . import ptx

    began = time.monotonic()
    done = _all_compiled(ptx.assemble_batch, (), workers, show, table=cuda.compiled_calls())
    out.mkdir(parents=True, exist_ok=True)
    path = out / cuda.file_name()
    with atomic_write(path) as temporary:
        codes = {name: Path(facts["path"]).read_bytes() for name, facts in done.items()}
        machine = {
            f"{name}.{arch}": Path(one).read_bytes()
            for name, facts in done.items()
            for arch, one in facts["machine"].items()
        }
        cuda.write_file(temporary, codes, machine)
    for other in {*out.glob("_ptx_*.zip")} - {path}:
        other.unlink()
    show(f"{path}: {path.stat().st_size / 1e6:.1f} MB, {len(done)} batches, {time.monotonic() - began:.0f} s")
    return path


def object_cache() -> Path:
    """Return the folder of what was compiled before."""
    folder = cache_dir() / "objects"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _all_compiled(
    compile_one: Callable[..., dict[str, Any]],
    more: tuple[Any, ...],
    workers: int | None,
    show: Callable[[str], None],
    *,
    checked: bool = False,
    table: dict[str, str] | None = None,
) -> dict[str, dict[str, Any]]:
    """Call `compile_one(name, arguments, *more, cache)` for every batch, on all cores; return what it returned."""
    table = calls() if table is None else table
    cache = str(object_cache())
    report_build(0.0)
    weights = {name: _weight(name) for name in table}
    done: dict[str, dict[str, Any]] = {}
    began = time.monotonic()
    # Large ones first: a solver that comes last would leave the other cores without work.
    order = sorted(table, key=lambda name: -weights[name])
    with ProcessPoolExecutor(workers or os.cpu_count(), get_context("spawn"), _prepare, (checked,)) as pool:
        try:
            jobs = {pool.submit(compile_one, name, table[name], *more, cache): name for name in order}
            for job in as_completed(jobs):
                done[jobs[job]] = job.result()
                show(_progress(done, weights, time.monotonic() - began))
                report_build(_fraction(done, weights))
        except BaseException as error:  # a full disk, Ctrl-C: nobody waits for all the others
            processes = [*(getattr(pool, "_processes", None) or {}).values()]
            pool.shutdown(wait=False, cancel_futures=True)
            if isinstance(error, KeyboardInterrupt):
                for process in processes:
                    process.terminate()
            raise
    return {name: done[name] for name in table}


def _prepare(checked: bool = False) -> None:
    """Set up a process that compiles: with Numba, for the machines that the library is for."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the process that started this one, which ends it
    quiet_jit()  # that one shows how far it is
    os.environ["POSABLE_KERNELS"] = "jit"
    os.environ["NUMBA_BOUNDSCHECK"] = str(int(checked))
    os.environ["NUMBA_CPU_NAME"] = "x86-64-v3" if "x86_64" in this_machine() else "generic"
    os.environ["NUMBA_CPU_FEATURES"] = ""


def _weight(name: str) -> int:
    """Return about how long a batch takes to compile, next to others: the lines of all kernels in it."""
    return sum(one.__code__.co_code.__len__() for one in _reached(function_of(name)))


def _fraction(done: dict[str, dict[str, Any]], weights: dict[str, int]) -> float:
    """Return how much is done, 0 to 1."""
    return sum(weights[name] for name in done) / sum(weights.values())


def _progress(done: dict[str, dict[str, Any]], weights: dict[str, int], seconds: float) -> str:
    """Return a bar, and how long it will still take."""
    compiled = sum(weights[name] for name, facts in done.items() if not facts["taken"])
    left = sum(weight for name, weight in weights.items() if name not in done)
    bar = "#" * round(30 * _fraction(done, weights))
    until = f"about {math.ceil(seconds * left / compiled)} s left" if compiled and left else ""
    return f"kernels [{bar:30}] {len(done)} of {len(weights)} {until}"


def _link(target: str, cpus: Sequence[str], done: dict[str, dict[str, Any]], portable: bool) -> bytes:
    """Link the objects, the table of loops and `native/calls.c` into one library; return its content."""
    table = calls()
    suffixes = [cpu.replace("-", "_") for cpu in cpus]
    loops = {
        name: {"number": k, "arguments": table[name], **_array_uses(name, table[name], facts["writes"])}
        for k, (name, facts) in enumerate(done.items())
    }
    facts = json.dumps({"sources": library_sources(), "target": target, "cpus": cpus, "loops": loops}).encode()
    symbols = [[f"{one['symbol']}_{suffix}" for suffix in suffixes] for one in done.values()]
    declared = "\n".join(f"extern int {name}(const int64_t *);" for row in symbols for name in row)
    rows = ",\n".join(f"{{{row[0]}, {row[-1]}}}" for row in symbols)
    text = (
        "#include <stdint.h>\ntypedef int (*Loop)(const int64_t *);\n"
        f"{declared}\nconst Loop posable_loops[][2] = {{\n{rows}}};\n"
        f"const int posable_loop_count = {len(symbols)};\nconst int posable_variants = {len(suffixes)};\n"
        f"const char posable_table[] = {{{','.join(map(str, facts))}, 0}};\n"
        f"const long long posable_table_size = {len(facts)};\n"
    )
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "table.c").write_text(text)
        made = Path(folder) / "library"
        objects = [one for facts in done.values() for one in facts["objects"]]
        (Path(folder) / "objects").write_text("\n".join(f'"{one}"' for one in objects))
        command = [
            *_compiler(target, portable),
            *("-O2", "-shared", "-fvisibility=hidden", f"-I{NATIVE}", str(NATIVE / "calls.c")),
            *(str(Path(folder) / "table.c"), f"@{folder}/objects", "-o", str(made), *_linking(target, Path(folder))),
        ]
        ran = subprocess.run(command, capture_output=True, text=True)
        if ran.returncode != 0:
            said = "; ".join(line.strip() for line in ran.stderr[-2000:].splitlines() if line.strip())
            raise _LinkError(f"the library could not be linked ({' '.join(command[:3])} ... said: {said})")
        return made.read_bytes()


def _array_uses(name: str, arguments: str, writes: list[bool]) -> dict[str, Any]:
    """Return, for each array of a batch, what `native/calls.c` checks: bits (written to, rows, and along which axis),
    and lengths of axes.
    """
    used = array_use(function_of(name), parsed(arguments))
    # Either knows only some of those that are not written to: LLVM of loops that it could inline, the source of others.
    bits = [
        int(written and use.written) | (0, 4, 2)[use.rows] | use.axis << 3
        for written, use in zip(writes, used, strict=True)
    ]
    return {"arrays": bits, "lengths": [[one for both in use.lengths for one in both] for use in used]}


def _compiler(target: str, portable: bool) -> list[str]:
    """Return the command of a C compiler that links for a target."""
    if target == this_machine() and shutil.which("cc") and not portable:
        return ["cc"]
    if find_spec("ziglang") is None:
        raise PosableError("there is no C compiler: install cc, or zig's, pip install 'posable[build]'")
    return [sys.executable, "-m", "ziglang", "cc", "-target", TARGETS[target].zig]


def _linking(target: str, folder: Path) -> list[str]:
    """Return what a system's linker has to be given."""
    if target.startswith("macos"):
        return ["-undefined", "dynamic_lookup"]
    if target.startswith("windows"):  # the names of the stable ABI, which python3.dll has
        imported = re.findall(r"^IMPORTED (.*);$", (NATIVE / "python_abi.h").read_text(), re.MULTILINE)
        names = re.findall(r"\b(_?Py[A-Z]\w*_\w+|_?Py_[A-Z]\w+)", " ".join(imported))
        data = [name for name in names if name.startswith(("PyExc_", "_Py"))]
        lines = [f"{name} DATA" if name in data else name for name in sorted({*names})]
        (folder / "python3.def").write_text("LIBRARY python3.dll\nEXPORTS\n" + "\n".join(lines) + "\n")
        made = ["dlltool", "-m", "i386:x86-64", "-d", str(folder / "python3.def"), "-l", str(folder / "python3.lib")]
        subprocess.run([sys.executable, "-m", "ziglang", *made], check=True, capture_output=True)
        return [str(folder / "python3.lib")]
    return ["-fPIC", "-Wl,--gc-sections", "-Wl,-s", "-lm"]


def main() -> int:
    """Build the library."""
    parser = argparse.ArgumentParser(description="Compile every batch ahead of time into one library.")
    parser.add_argument("--target", choices=TARGETS, help="the system; this machine's when not given")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent, help="the folder; beside the package")
    parser.add_argument("--portable", action="store_true", help="for older systems too, as in a wheel: link with zig")
    parser.add_argument("--checked", action="store_true", help="loops that check every index")
    parser.add_argument("--ptx", action="store_true", help="code for NVIDIA's GPUs instead: minutes, once")
    parser.add_argument("--quiet", action="store_true", help="one line at the beginning, and one at the end")
    parser.add_argument("--workers", type=int, help="processes; one for each core when not given")
    given = parser.parse_args()
    target = given.target or this_machine()
    path = given.out / cuda.file_name() if given.ptx else file_in(given.out, checked=given.checked)
    if path is not None and path.exists() and (given.ptx or is_whole(path)) and not given.portable:
        print(f"{path} is there, of these sources", file=sys.stderr)
        return 0
    if given.quiet:
        print("kernels are compiled ahead of time meanwhile, a minute or two, once", file=sys.stderr, flush=True)
    end = "\r" if sys.stderr.isatty() else "\n"

    def show(line: str) -> None:
        if not given.quiet:
            print(line, end=end, file=sys.stderr, flush=True)

    try:
        if given.ptx:
            build_ptx(given.out, workers=given.workers, show=show)
        else:
            how: dict[str, Any] = {"portable": given.portable, "checked": given.checked}
            build(target, given.out, **how, workers=given.workers, show=show)
    except (PosableError, OSError, BrokenProcessPool) as error:  # no compiler, a full or read-only disk, no memory
        print(f"no library was made: {error}; kernels are compiled by Numba when they are first used", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("no library was made: interrupted; what was compiled is kept for the next time", file=sys.stderr)
        return 130
    finally:
        build_ended()
    return 0


if __name__ == "__main__":
    sys.exit(main())
