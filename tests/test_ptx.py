"""Every kernel compiles for a GPU, on a machine without one; where there is one, it gives the CPU's answers.

Batches are found by looking through the package, and compiled for what `calls.json` says that they are called with, by
the function that makes the file of a wheel: what it compiled before, of the same sources, is not compiled again.
Kernels are compiled as parts of the batches that call them; tuple kernels that no batch calls, from their annotations.
"""

import importlib
import inspect
import lzma
import os
import re
import subprocess
import sys
import typing
from pathlib import Path

import numpy as np
import pytest

import posable
from posable.compute import Batch
from posable.compute.types import Quat, Vec3
from posable.compute.variants import named
from tests.uses import copied, leaves, limit_tests, nudged, recorded

if os.environ.get("NUMBA_DISABLE_JIT", "0") != "0":
    pytest.skip("with the JIT off there is nothing to compile", allow_module_level=True)

numba = pytest.importorskip("numba")
if sys.platform == "darwin":
    pytest.skip("NVIDIA has no wheels for this system", allow_module_level=True)

from numba.core.dispatcher import Dispatcher  # noqa: E402

from posable.compute import build, calls, cuda, ptx  # noqa: E402
from posable.compute.jit import with_compiled_kernels  # noqa: E402

LARGE = {
    "posable.body.limb.elbows.elbow_rows",
    "posable.classic.kernels.solve_rows",
    "posable.edit.drag_kernels.drag_rows",
    "posable.express.aim_kernels.aim_rows",
    "posable.express.rows.solve_rows",
    "posable.limb.nearest_clear.keep_rows",
    "posable.limb.solve.solve_rows",
    "posable.reach.kernels.reach_rows",
    "posable.reconstruct.kernels.reconstruct_rows",
}
"""Whole solvers, whose optimised PTX takes up to minutes to compile and to assemble: done in the soak."""


def modules():
    """The modules that compile something."""
    package = Path(posable.__file__).parent
    for path in sorted(package.rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        if "@kernel" in source or "@batch" in source:
            parts = [part for part in path.relative_to(package).with_suffix("").parts if part != "__init__"]
            yield importlib.import_module(".".join(("posable", *parts)))


def owned(is_one: typing.Callable[[object], bool]) -> dict[str, object]:
    """Everything of a kind that the package defines, by full name."""
    found = {}
    for module in modules():
        for name, value in vars(module).items():
            if is_one(value) and source_of(value).__module__ == module.__name__:
                found[f"{module.__name__}.{name}"] = value
    return found


def is_kernel(value: object) -> bool:
    """Whether this is a kernel: of the JIT, or as it is beside the library."""
    return isinstance(value, Dispatcher) or (inspect.isfunction(value) and hasattr(value, "__fused__"))


def source_of(value):
    """The Python function of a batch or kernel."""
    return getattr(value, "function", None) or getattr(value, "py_func", value)


BATCHES = {**owned(lambda value: isinstance(value, Batch)), "tests.uses.limit_tests": limit_tests}
MOST_BYTES = 4096  # of a kernel's parameters, for drivers before CUDA 12.1


def tuple_kernels() -> dict[str, tuple[Dispatcher, tuple]]:
    """The kernels on scalars and tuples alone, with the types their annotations name."""
    from numba import types

    numba_types = {
        float: types.float64,
        int: types.int64,
        bool: types.boolean,
        Vec3: types.UniTuple(types.float64, 3),
        Quat: types.UniTuple(types.float64, 4),
    }
    found = {}
    for name, kernel in owned(is_kernel).items():
        hints = typing.get_type_hints(source_of(kernel))
        wanted = [hints[parameter] for parameter in inspect.signature(source_of(kernel)).parameters]
        if all(hint in numba_types for hint in wanted):
            found[name] = (kernel, tuple(numba_types[hint] for hint in wanted))
    return found


def called_by(function) -> set[Dispatcher]:
    """The kernels that a function names, and those that they name, and so on."""
    reached, waiting = set(), [function]
    while waiting:
        current = waiting.pop()
        names = current.__code__.co_names
        known = [current.__globals__.get(name) for name in names]
        known += [getattr(module, name, None) for module in known if inspect.ismodule(module) for name in names]
        new = {value for value in known if is_kernel(value)} - reached
        reached |= new
        waiting += map(source_of, new)
    return reached


TUPLE_KERNELS = tuple_kernels()
REACHED = set().union(*(called_by(loop.function) for loop in BATCHES.values()))


@pytest.fixture(scope="module")
def ptxas() -> Path | None:
    """NVIDIA's assembler, which comes in the same wheel as the compiler."""
    import nvidia

    found = [path / "cuda_nvcc" / "bin" / "ptxas" for path in map(Path, nvidia.__path__)]
    return next((path for path in found if path.exists()), None)


def assembles(ptxas: Path, code: str, folder: Path) -> None:
    source = folder / "kernel.ptx"
    source.write_text(code)
    command = [ptxas, "-v", "-arch", "sm_90", source, "-o", folder / "kernel.cubin"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    # The driver knows then how much memory a thread needs, and nobody has to set a limit.
    assert "cannot be statically determined" not in done.stderr


def words_of(name: str) -> str:
    """What a batch is called with, in the words of the table."""
    return calls.calls().get(name) or calls.described(recorded()[BATCHES[name]][0][1:])


def taken_by_kernel(code: str) -> list[str]:
    """The types of the parameters of the one kernel in PTX."""
    assert code.count(".entry ") == 1
    head = code[code.index(".visible .entry batch(") :]
    return re.findall(r"\.param \.(\w+) batch_param_\d+", head[: head.index(")")])


def handed_over(name: str) -> list[str]:
    """The types of the words that the library's reader makes of a batch's arguments, and a launch hands over."""
    found = ["u64"]

    def add(kind) -> None:
        if kind.scalar is not None:
            found.append({int: "u64", float: "f64", bool: "u8"}[kind.scalar])
        for part in kind.parts:
            add(part)
        if kind.dtype is not None:  # two pointers, items, their size, data; shape; strides
            found.extend(["u64"] * (5 + kind.axes + kind.axes))

    for kind in calls.parsed(words_of(name)):
        add(kind)
    return found


def test_every_batch_is_reached_by_a_use():
    missing = sorted(name for name, loop in BATCHES.items() if loop not in recorded())
    assert not missing, f"add a call to USES that reaches {', '.join(missing)}"


def test_records_are_aligned_so_that_a_gpu_reads_whole_numbers():
    for name in BATCHES:
        for kind in calls.leaves(calls.parsed(words_of(name))):
            if kind.dtype is not None and kind.dtype.names:
                aligned = kind.dtype.isalignedstruct
                assert aligned, f"{name}: give {kind.dtype} align=True, or each number is read byte by byte"


@pytest.mark.parametrize("name", sorted(BATCHES.keys() - LARGE))
def test_a_batch_compiles_to_ptx_that_assembles(name, ptxas, tmp_path):
    check_assembles(name, ptxas, tmp_path)


@pytest.mark.parametrize("name", sorted(LARGE))
def test_a_large_batch_compiles_to_ptx(name):
    check_kernel(name, compiled(name, optimised=False))


@pytest.mark.parametrize("name", sorted(cuda.compiled_calls().keys() - calls.calls().keys()))
def test_a_variant_of_a_batch_compiles_too(name, ptxas, tmp_path):
    plain, _ = named(name)
    if plain in LARGE:
        pytest.skip("compiled for minutes: python -m posable.compute.build --ptx")
    made = ptx.compile_batch(name, words_of(plain), str(build.object_cache()))
    code = lzma.decompress(Path(made["path"]).read_bytes()).decode()
    check_kernel(plain, code)
    if ptxas is not None:
        assembles(ptxas, code, tmp_path)


@pytest.mark.soak
@pytest.mark.parametrize("name", sorted(LARGE))
def test_a_large_batch_compiles_to_ptx_that_assembles(name, ptxas, tmp_path):
    check_assembles(name, ptxas, tmp_path)


def compiled(name: str, optimised: bool = True) -> str:
    made = ptx.compile_batch(name, words_of(name), str(build.object_cache()), optimised)
    return lzma.decompress(Path(made["path"]).read_bytes()).decode()


def check_assembles(name: str, ptxas: Path | None, folder: Path) -> None:
    code = compiled(name)
    check_kernel(name, code)
    if ptxas is not None:
        assembles(ptxas, code, folder)


def check_kernel(name: str, code: str) -> None:
    """A kernel that takes exactly what a launch hands over, for the GPUs and drivers that are promised."""
    taken = taken_by_kernel(code)
    assert taken == handed_over(name)
    assert taken == [kind for kind, _ in cuda.parameters(calls.parsed(words_of(name)))]
    assert 8 * len(taken) <= MOST_BYTES
    assert ".target sm_70\n" in code and ".version 7.0\n" in code
    assert ".extern" not in code.replace(".extern .shared", ""), "nothing is linked to it; a launch says what is shared"


@pytest.mark.parametrize("name", [name for name, (kernel, _) in TUPLE_KERNELS.items() if kernel not in REACHED])
def test_a_tuple_kernel_that_no_batch_calls_compiles_for_a_gpu(name):
    kernel, signature = TUPLE_KERNELS[name]
    with ptx.named_gpu(cuda.CAPABILITY):
        function = with_compiled_kernels(source_of(kernel))
        code, _ = ptx.numba_cuda().compile_ptx(function, signature, cc=cuda.CAPABILITY, device=True)
    assert ".visible .func" in code


def test_every_kernel_on_arrays_is_part_of_a_batch():
    missing = sorted(
        name for name, kernel in owned(is_kernel).items() if name not in TUPLE_KERNELS and kernel not in REACHED
    )
    assert not missing, f"no GPU test sees {', '.join(missing)}: call them from a batch"


@pytest.mark.parametrize("way", ["library", "jit"])
@pytest.mark.parametrize("name", sorted(BATCHES))
def test_a_gpu_gives_the_answers_of_the_cpu(name, way, monkeypatch):
    """With code that was compiled ahead of time (`python -m posable.compute.build --ptx`), and with numba-cuda's."""
    if not cuda.available():
        pytest.skip("no GPU")
    if way == "library" and (name not in calls.calls() or not (cuda.FOLDER / cuda.file_name()).exists()):
        pytest.skip("not compiled ahead of time")
    arguments, expected = recorded()[BATCHES[name]]
    arguments = copied(arguments)
    others = others_on_the_cpu(name)
    monkeypatch.setenv("POSABLE_KERNELS", way)
    cuda.launch(BATCHES[name], *arguments)
    names = inspect.signature(BATCHES[name].function).parameters
    for parameter, *both in zip(names, arguments, expected, *others, strict=True):
        for got, want, *alike in zip(*map(leaves, both), strict=True):
            if parameter == "work" or not isinstance(want, np.ndarray):
                continue  # what a search left in its working memory is no answer
            for field in want.dtype.names or (...,):
                # A GPU multiplies and adds in one rounding, and searches end on another bit.
                spread = [np.nan_to_num(np.abs(one[field].astype(float) - want[field])) for one in alike]
                unsure = max((float(one.max()) for one in spread if one.size), default=0.0)
                np.testing.assert_allclose(
                    got[field], want[field], rtol=1e-9, atol=1e-9 + 4.0 * unsure, err_msg=f"{parameter} {field}"
                )


def others_on_the_cpu(name: str, times: int = 4) -> list[tuple]:
    """A batch's answers on the CPU for inputs that differ in their last bit: no rounding is surer of them than that.

    Of two ways to aim at a point, equally good, the last bit decides; nothing else here comes out otherwise.
    """
    rng = np.random.default_rng(0)
    names = list(inspect.signature(BATCHES[name].function).parameters)
    made = []
    for _ in range(times):
        before = recorded()[BATCHES[name]][0]
        # Prime numbers stay whole, and what is no input differs in no bit.
        arguments = tuple(
            copied(one) if parameter in ("n", "primes", "work") else nudged(one, rng)
            for parameter, one in zip(names, before, strict=True)
        )
        BATCHES[name](*arguments)
        made.append(arguments)
    return made


@pytest.mark.parametrize("name", sorted(BATCHES.keys() - {"posable.express.aim_kernels.aim_rows"}))
def test_what_a_gpu_is_compared_with_does_not_hang_on_the_last_bit(name):
    """Otherwise the comparison would allow anything: choose other rows in `tests/uses.py`."""
    _, expected = recorded()[BATCHES[name]]
    names = inspect.signature(BATCHES[name].function).parameters
    for parameter, *both in zip(names, expected, *others_on_the_cpu(name), strict=True):
        for want, *alike in zip(*map(leaves, both), strict=True):
            if parameter == "work" or not isinstance(want, np.ndarray):
                continue
            for field in want.dtype.names or (...,):
                for other in alike:
                    np.testing.assert_allclose(other[field], want[field], rtol=1e-7, atol=1e-7, err_msg=parameter)


def test_without_a_gpu_a_launch_says_so():
    if cuda.available():
        pytest.skip("there is a GPU")
    with pytest.raises(posable.compute.PosableError, match="no GPU"):
        cuda.launch(next(iter(BATCHES.values())), 1)
