"""The second run of the kernels' tests (`make check-bounds`) really checks indices: here is a kernel that is wrong."""

import os
import subprocess
import sys

import pytest

WRONG = """
import numpy as np
from posable.compute import batch, kernel, prange

@kernel
def past_the_end_row(i, values, out):
    out[i] = values[i + 1]

@batch
def past_the_end(n, values, out):
    for i in prange(n):
        past_the_end_row(i, values, out)

past_the_end(3, np.zeros(3), np.zeros(3))
print("no error")
"""


@pytest.mark.parametrize(
    "switch",
    [{"NUMBA_BOUNDSCHECK": "1", "POSABLE_THREADS": "1"}, {"NUMBA_DISABLE_JIT": "1"}],
    ids=["bounds checked", "not compiled"],
)
def test_an_index_past_the_end_is_an_error_when_checked(switch, tmp_path):
    script = tmp_path / "wrong.py"
    script.write_text(WRONG)
    environment = {**os.environ, **switch, "POSABLE_KERNELS": "jit", "POSABLE_CACHE": str(tmp_path / "cache")}
    done = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True)
    assert done.returncode != 0
    assert "IndexError" in done.stderr
