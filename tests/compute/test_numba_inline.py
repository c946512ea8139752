"""Kernels that other kernels call: compiled once for arguments that mean the same, and only for what calls them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

if os.environ.get("NUMBA_DISABLE_JIT", "0") != "0":
    pytest.skip("with the JIT off there is nothing to compile", allow_module_level=True)

SOURCE = Path(__file__).parents[2] / "src"
KERNELS = """
import numpy as np
from numba.core import event
from posable.compute import batch, kernel, prange

compiled = []

class Names(event.Listener):
    def on_start(self, event): compiled.append(event.data["dispatcher"].py_func.__name__)
    def on_end(self, event): pass

event.register("numba:compile", Names())

@kernel
def power(x, k, half):
    return x**k if half else 2.0 * x**k

@kernel
def shares(x, pair):
    return x * pair[0] + pair[1]

@kernel
def row(i, values, out):
    k = i % 3
    out[i] = power(values[i], 2, True) + power(values[i], 3, False) + power(values[i], k, k > 0)
    out[i] += shares(values[i], (1, 0.5)) + shares(values[i], (k, 0.5))

@batch(rows=10)
def rows(n, values, out):
    for i in prange(n):
        row(i, values, out)

@batch
def others(n, values, out):
    for i in prange(n):
        out[i] = power(values[i], 2, True)
"""


def run(code: str, folder: Path, plain: str = "0") -> list[str]:
    """What this code prints after the kernels above, line by line; the cache lies in the folder."""
    module = folder / "some_kernels.py"
    if not module.exists():  # Numba takes a file written again for another
        module.write_text(KERNELS)
    paths = f"{SOURCE}{os.pathsep}{folder}"
    environment = {**os.environ, "PYTHONPATH": paths, "POSABLE_CACHE": str(folder / "cache")}
    environment |= {"POSABLE_PLAIN_NUMBA": plain, "POSABLE_KERNELS": "jit"}
    command = [sys.executable, "-c", "from some_kernels import *\n" + code]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_constants_and_parallel_counts_compile_no_further_version(tmp_path: Path):
    for n in (3, 100):
        code = f"x = np.linspace(0, 1, {n}); rows({n}, x, np.empty({n})); print(*sorted(compiled))"
        compiled = run(code, tmp_path)[-1].split()
        assert len(compiled) == len(set(compiled)), compiled


def test_a_twin_from_the_cache_is_linked_into_another_loop_with_the_same_answers(tmp_path: Path):
    values = "x = np.linspace(0, 1, 7); out = np.empty(7); "
    run(values + "rows(7, x, out)", tmp_path)
    compiled, answers = run(values + "others(7, x, out); print(*compiled); print(*(out - x**2))", tmp_path)
    assert compiled.split() == ["others_part"]
    assert set(map(float, answers.split())) == {0.0}


@pytest.mark.parametrize("plain", ["0", "1"], ids=["a Numba that was tried", "another"])
def test_kernels_give_what_python_does(tmp_path: Path, plain: str):
    code = """
n = 200
x, out, serial, wanted = np.linspace(-1, 1, n), np.empty(n), np.empty(n), np.empty(n)
rows(n, x, out)
rows.serial(n, x, serial)
for i in range(n):
    k = i % 3
    p = x[i]**2 + 2 * x[i]**3 + (x[i]**k if k else 2.0)
    wanted[i] = p + (x[i] + 0.5) + (x[i] * k + 0.5)
print(abs(out - wanted).max() < 1e-14, abs(out - serial).max())
"""
    assert run(code, tmp_path, plain)[-1].split() == ["True", "0.0"]


@pytest.mark.parametrize("switched", ["enable", "disable"])
def test_compiling_leaves_garbage_collection_as_it_was(switched: str, tmp_path: Path):
    code = f"import gc; gc.{switched}(); others(1, np.ones(1), np.empty(1)); print(len(compiled), gc.isenabled())"
    assert run(code, tmp_path)[-1] == f"2 {switched == 'enable'}"
