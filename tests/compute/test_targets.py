"""Loops for other systems: of which symbols they are made, and their answers where such a machine can be imitated."""

import re
import shutil
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from importlib.util import find_spec
from multiprocessing import get_context

import numpy as np
import pytest

from posable.compute import Batch, build, calls, kernels
from tests.compute.test_library import copied, leaves
from tests.uses import use_limits, use_math, use_skeleton

BATCHES = ("posable.math._slerp", "posable.math._from_euler", "posable.skeleton.forward.forward_rows")
BATCHES += ("posable.skeleton.forward.from_values_rows", "posable.limits.limits._clamp_rows")
# What the loops may ask of the system: C's mathematics and memory.
LIBM = {"acos", "asin", "atan2", "ceil", "cos", "exp", "floor", "fmod", "hypot", "log", "pow", "rint", "round", "sin"}
LIBM |= {"sincos", "sqrt", "tan", "tanh", "trunc"}
MEMORY = {"memcpy", "memset", "memmove", "memchr"}
SYSTEMS = {"__sincos_stret", "___chkstk_ms", "__chkstk", "_fltused", "__powidf2"}

pytestmark = pytest.mark.skipif(kernels.mode() != "library", reason="kernels run by the JIT here")
needs_zig = pytest.mark.skipif(find_spec("ziglang") is None, reason="ziglang is not installed")


@pytest.fixture(scope="module")
def compiled(tmp_path_factory) -> dict[tuple[str, str], dict]:
    """The objects of a few batches for every system, by (system, batch)."""
    cache = str(tmp_path_factory.mktemp("objects"))
    table = calls.calls()
    with ProcessPoolExecutor(1, get_context("spawn"), build._prepare) as pool:
        jobs = {
            (target, name): pool.submit(build.compile_batch, name, table[name], build.TARGETS[target], cache)
            for name in BATCHES
            for target in build.TARGETS
        }
        return {key: job.result() for key, job in jobs.items()}


def undefined(path: str) -> set[str]:
    """The symbols that an object file asks of others."""
    listed = subprocess.run(["nm", "-u", path], capture_output=True, text=True)
    if listed.returncode != 0:
        pytest.skip(f"nm does not know this kind of file: {listed.stderr.strip()}")
    return {re.sub(r"^_(?!_)", "", word) for word in re.findall(r"U (\S+)", listed.stdout)}


@pytest.mark.skipif(shutil.which("nm") is None, reason="nm is not installed")
@pytest.mark.parametrize("target", build.TARGETS)
def test_loops_ask_for_nothing_but_mathematics_and_memory(target, compiled):
    for name in BATCHES:
        for path in compiled[target, name]["objects"]:
            assert undefined(path) <= LIBM | MEMORY | SYSTEMS, (name, path)


def test_the_second_time_an_object_comes_from_the_cache(compiled, tmp_path):
    table, here = calls.calls(), build.TARGETS[build.this_machine()]
    name = BATCHES[0]
    with ProcessPoolExecutor(1, get_context("spawn"), build._prepare) as pool:
        first, second = (
            pool.submit(build.compile_batch, name, table[name], here, str(tmp_path)).result() for _ in range(2)
        )
    assert (first["taken"], second["taken"]) == (False, True)
    assert first["objects"] == second["objects"] and first["writes"] == second["writes"]


def recorded() -> dict[str, tuple[Batch, tuple]]:
    """What the batches are called with."""
    found: dict[str, tuple[Batch, tuple]] = {}
    run = Batch.__call__

    def recording(one: Batch, *arguments) -> None:
        found.setdefault(f"{one.function.__module__}.{one.function.__name__}", (one, copied(arguments)))
        run(one, *arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Batch, "__call__", recording)
        use_math(), use_skeleton(), use_limits()
    return {name: found[name] for name in BATCHES}


def program(symbol: str, arguments: tuple) -> tuple[str, list[np.ndarray]]:
    """A C program that calls a loop with these arguments and prints its arrays as they are then."""
    n, *others = arguments
    arrays: list[np.ndarray] = []
    words = ["0", str(n), str(n)]
    text = ""
    for leaf in leaves(tuple(others)):
        if isinstance(leaf, np.ndarray):
            data = leaf.tobytes() or b"\0"
            text += f"static _Alignas(16) unsigned char a{len(arrays)}[] = {{{','.join(map(str, data))}}};\n"
            words += ["0", "0", str(leaf.size), str(leaf.itemsize), f"(int64_t)a{len(arrays)}"]
            words += [*map(str, leaf.shape), *map(str, leaf.strides)]
            arrays.append(leaf)
        elif isinstance(leaf, float):
            words.append(str(np.float64(leaf).view(np.int64)))
        else:
            words.append(str(int(leaf)))
    written = "".join(f"fwrite(a{k}, 1, {leaf.nbytes}, stdout);" for k, leaf in enumerate(arrays))
    text = f"#include <stdint.h>\n#include <stdio.h>\nextern int {symbol}(const int64_t *);\n{text}"
    return (
        text + f"int main(void) {{ int64_t w[] = {{{', '.join(words)}}}; int f = {symbol}(w); {written} return f; }}",
        arrays,
    )


@needs_zig
@pytest.mark.skipif(shutil.which("qemu-aarch64") is None, reason="qemu-user is not installed")
@pytest.mark.parametrize("name", BATCHES)
def test_loops_for_arm_give_the_answers_of_this_machine(name, compiled, tmp_path):
    one, arguments = recorded()[name]
    facts = compiled["linux-aarch64", name]
    text, arrays = program(f"{facts['symbol']}_generic", arguments)
    (tmp_path / "main.c").write_text(text)
    command = [
        sys.executable,
        "-m",
        "ziglang",
        "cc",
        "-target",
        "aarch64-linux-musl",
        "-static",
        str(tmp_path / "main.c"),
    ]
    subprocess.run([*command, *facts["objects"], "-o", str(tmp_path / "main")], check=True, capture_output=True)
    ran = subprocess.run(["qemu-aarch64", str(tmp_path / "main")], capture_output=True)
    assert ran.returncode == 0, ran.stderr
    wanted = copied(arguments)
    one(*wanted)
    given = ran.stdout
    changed = False
    for before, leaf in zip(arrays, [w for w in leaves(wanted[1:]) if isinstance(w, np.ndarray)], strict=True):
        got, given = np.frombuffer(given[: leaf.nbytes], leaf.dtype).reshape(leaf.shape), given[leaf.nbytes :]
        changed |= before.tobytes() != got.tobytes()
        for field in leaf.dtype.names or (...,):
            np.testing.assert_allclose(got[field], leaf[field], rtol=1e-12, atol=1e-12)  # another libm
    assert changed and not given
