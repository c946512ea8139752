"""Every kernel compiles for a GPU, on a machine without one; where there is one, it gives the CPU's answers.

Batches are found by looking through the package. What they are called with is recorded while the public functions in
`USES` run, so a new batch needs one line there: a call that reaches it. Tuple kernels are compiled from their
annotations; row kernels are compiled as part of the batches that call them.
"""

import importlib
import inspect
import os
import subprocess
import sys
import typing
from pathlib import Path

import numpy as np
import pytest

import posable
from posable.compute import Batch
from posable.compute.types import Quat, Vec3
from tests.uses import USES, limit_tests

if os.environ.get("NUMBA_DISABLE_JIT", "0") != "0":
    pytest.skip("with the JIT off there is nothing to compile", allow_module_level=True)

numba = pytest.importorskip("numba")
if sys.platform == "darwin":
    pytest.skip("NVIDIA has no wheels for this system", allow_module_level=True)

from numba.core.dispatcher import Dispatcher  # noqa: E402

from posable.compute import cuda  # noqa: E402
from posable.compute.jit import with_compiled_kernels  # noqa: E402

CAPABILITY = (9, 0)
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


def copied(argument):
    """Arguments with arrays of their own, tuples of arrays among them."""
    if isinstance(argument, tuple):
        return argument._make(map(copied, argument)) if hasattr(argument, "_make") else tuple(map(copied, argument))
    return argument.copy() if isinstance(argument, np.ndarray) else argument


def leaves(argument):
    """All arrays and numbers of arguments, tuples taken apart."""
    return [leaf for part in argument for leaf in leaves(part)] if isinstance(argument, tuple) else [argument]


@pytest.fixture(scope="module")
def recorded() -> dict[Batch, tuple[tuple, tuple]]:
    """For every batch that the uses reach: arguments before the call and after it, on the CPU."""
    calls = {}
    run = Batch.__call__

    def recording(batch: Batch, *arguments) -> None:
        before = copied(arguments)
        run(batch, *arguments)
        calls.setdefault(batch, (before, copied(arguments)))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Batch, "__call__", recording)
        for use in USES:
            use()
    return calls


BATCHES = {**owned(lambda value: isinstance(value, Batch)), "limit_tests": limit_tests}


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


TUPLE_KERNELS = tuple_kernels()


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


@pytest.fixture(scope="module")
def ptxas() -> Path | None:
    """NVIDIA's assembler, which comes in the same wheel as the compiler."""
    import nvidia

    found = [path / "cuda_nvcc" / "bin" / "ptxas" for path in map(Path, nvidia.__path__)]
    return next((path for path in found if path.exists()), None)


def assembles(ptxas: Path, code: str, folder: Path) -> None:
    source = folder / "kernel.ptx"
    source.write_text(code)
    command = [ptxas, "-arch", "sm_90", source, "-o", folder / "kernel.cubin"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_every_batch_is_reached_by_a_use(recorded):
    missing = sorted(name for name, loop in BATCHES.items() if loop not in recorded)
    assert not missing, f"add a call to USES that reaches {', '.join(missing)}"


def test_records_are_aligned_so_that_a_gpu_reads_whole_numbers(recorded):
    for name, loop in BATCHES.items():
        for argument in leaves(recorded[loop][0]) if loop in recorded else ():
            dtype = getattr(argument, "dtype", None)
            if dtype is not None and dtype.names:
                assert dtype.isalignedstruct, f"{name}: give {dtype} align=True, or each number is read byte by byte"


@pytest.mark.parametrize("name", sorted(BATCHES.keys() - LARGE))
def test_a_batch_compiles_to_ptx_that_assembles(name, recorded, ptxas, tmp_path):
    check_assembles(name, recorded, ptxas, tmp_path)


@pytest.mark.parametrize("name", sorted(LARGE))
def test_a_large_batch_compiles_to_ptx(name, recorded):
    arguments, _ = recorded[BATCHES[name]]
    assert ".visible .entry" in cuda.ptx(BATCHES[name], *arguments, capability=CAPABILITY, optimised=False)


@pytest.mark.soak
@pytest.mark.parametrize("name", sorted(LARGE))
def test_a_large_batch_compiles_to_ptx_that_assembles(name, recorded, ptxas, tmp_path):
    check_assembles(name, recorded, ptxas, tmp_path)


def check_assembles(name: str, recorded, ptxas: Path | None, folder: Path) -> None:
    assert BATCHES[name] in recorded, "no call in USES reaches it"
    arguments, _ = recorded[BATCHES[name]]
    code = cuda.ptx(BATCHES[name], *arguments, capability=CAPABILITY)
    assert ".visible .entry" in code
    assert ".target sm_90" in code
    if ptxas is not None:
        assembles(ptxas, code, folder)


@pytest.mark.parametrize("name", TUPLE_KERNELS)
def test_a_tuple_kernel_compiles_for_a_gpu(name):
    kernel, signature = TUPLE_KERNELS[name]
    with cuda._named_gpu(CAPABILITY):
        function = with_compiled_kernels(source_of(kernel))
        code, _ = cuda._cuda().compile_ptx(function, signature, cc=CAPABILITY, device=True)
    assert ".visible .func" in code


def test_every_kernel_on_arrays_is_part_of_a_batch():
    reached = set().union(*(called_by(loop.function) for loop in BATCHES.values()))
    missing = sorted(
        name for name, kernel in owned(is_kernel).items() if name not in TUPLE_KERNELS and kernel not in reached
    )
    assert not missing, f"no GPU test sees {', '.join(missing)}: call them from a batch"


@pytest.mark.parametrize("name", sorted(BATCHES))
def test_a_gpu_gives_the_answers_of_the_cpu(name, recorded):
    if not cuda.available():
        pytest.skip("no GPU")
    arguments, expected = recorded[BATCHES[name]]
    arguments = copied(arguments)
    cuda.launch(BATCHES[name], *arguments)
    names = inspect.signature(BATCHES[name].function).parameters
    for parameter, *both in zip(names, arguments, expected, strict=True):
        for got, want in zip(*map(leaves, both), strict=True):
            if parameter == "work" or not isinstance(want, np.ndarray):
                continue  # what a search left in its working memory is no answer
            for field in want.dtype.names or (...,):
                # A GPU multiplies and adds in one rounding, and searches end on another bit.
                np.testing.assert_allclose(
                    got[field], want[field], rtol=1e-9, atol=1e-9, err_msg=f"{parameter} {field}"
                )


def test_without_a_gpu_a_launch_says_so():
    if cuda.available():
        pytest.skip("there is a GPU")
    with pytest.raises(posable.compute.PosableError, match="no GPU"):
        cuda.launch(next(iter(BATCHES.values())), 1)
