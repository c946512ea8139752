import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from posable.compute import batch, prange

SOURCE = Path(__file__).parents[2] / "src"


@batch(rows=10)
def _squares(n, values, out):
    for i in prange(n):
        out[i] = values[i] ** 2


@pytest.mark.parametrize("n", [0, 1, 9, 10, 1000])
def test_a_batch_gives_the_same_on_one_core_and_on_all(n: int):
    values = np.linspace(-3, 3, n)
    out, serial = np.zeros(n), np.zeros(n)
    _squares(n, values, out)
    _squares.serial(n, values, serial)
    np.testing.assert_array_equal(out, values**2)
    np.testing.assert_array_equal(serial, out)


def _run(code: str, source: Path, cache: Path, variables: dict[str, str] | None = None, **more: Any) -> str:
    import os

    environment = {**os.environ, "PYTHONPATH": str(source), "POSABLE_CACHE": str(cache), "NUMBA_DISABLE_JIT": "0"}
    environment["POSABLE_KERNELS"] = "jit"
    for name in ("NUMBA_BOUNDSCHECK", "POSABLE_PLAIN_NUMBA"):
        environment.pop(name, None)
    environment.update(variables or {})
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True, **more
    )
    return done.stdout.strip()


def test_a_changed_helper_reaches_its_callers_in_other_files(tmp_path: Path):
    """Numba's own cache would hand back the old code: its callers' file did not change."""
    copy = tmp_path / "src"
    for room in ("compute", "math"):
        shutil.copytree(SOURCE / "posable" / room, copy / "posable" / room)
    shutil.copy(SOURCE / "posable" / "__init__.py", copy / "posable")
    code = "import posable.math as pm; print(pm.axis_angle([0, 0, 1.0], 0.5)[3])"
    before = float(_run(code, copy, tmp_path / "cache"))
    helper = copy / "posable" / "math" / "quaternion.py"
    changed = helper.read_text().replace("s = math.sin(0.5 * angle)\n    return", "s = 7.0\n    return")
    assert changed != helper.read_text()
    helper.write_text(changed)
    after = float(_run(code, copy, tmp_path / "cache"))
    assert before == pytest.approx(np.sin(0.25))
    assert after == 7.0


def test_the_second_start_compiles_nothing(tmp_path: Path):
    code = (
        "import posable.math as pm; from numba.core import event\n"
        "class L(event.Listener):\n"
        "    n = 0\n"
        "    def on_start(self, e): L.n += 1\n"
        "    def on_end(self, e): pass\n"
        "event.register('numba:compile', L())\n"
        "pm.exp([[0.1, 0.2, 0.3]]); print(L.n)"
    )
    assert int(_run(code, SOURCE, tmp_path)) > 0
    assert int(_run(code, SOURCE, tmp_path)) == 0


def test_a_cache_named_from_here_stays_in_its_place_when_the_folder_changes(tmp_path: Path):
    (tmp_path / "elsewhere").mkdir()
    code = "import os, posable.math as pm; os.chdir('elsewhere'); print(pm.exp([0.0, 0.0, 0.0])[0])"
    assert float(_run(code, SOURCE, Path("kept"), cwd=tmp_path)) == 1.0
    assert not list((tmp_path / "elsewhere").iterdir())
    assert list((tmp_path / "kept").rglob("*.nbc"))


def test_a_read_only_cache_still_computes(tmp_path: Path):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    code = "import posable.math as pm; print(pm.exp([0.0, 0.0, 0.0])[0])"
    assert float(_run(code, SOURCE, blocked)) == 1.0


@pytest.mark.skipif(sys.platform == "win32", reason="sizes of files are not limited there")
def test_a_full_disk_still_computes(tmp_path: Path):
    """A limit on the size of files is like a disk with no room left: whatever is written there fails."""
    code = (
        "import resource, signal\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "import posable.math as pm\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))\n"
        "print(pm.exp([0.0, 0.0, 0.0])[0])"
    )
    assert float(_run(code, SOURCE, tmp_path)) == 1.0
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and path.stat().st_size]


PRIVATE = """
import sys, posable.math as pm
print(float(pm.exp([[0.1, 0.2, 0.3]])[0, 1]).hex(), "posable.compute.numba_inline" in sys.modules)
"""
OUTSIDE = "import numba; numba.version_info = numba.version_info._replace(minor=99)\n"


def test_a_numba_that_was_not_tried_compiles_in_its_plain_way_with_the_same_answers(tmp_path: Path):
    usual, private = _run(PRIVATE, SOURCE, tmp_path).split()
    plain, used = _run(PRIVATE, SOURCE, tmp_path / "other", {"POSABLE_PLAIN_NUMBA": "1"}).split()
    untried, touched = _run(OUTSIDE + PRIVATE, SOURCE, tmp_path / "other", {"PYTHONWARNINGS": "ignore"}).split()
    assert plain == untried == usual
    assert (private, used, touched) == ("True", "False", "False")
    assert not list((tmp_path / "other").rglob("*.nb?"))
    with pytest.raises(subprocess.CalledProcessError) as caught:
        _run(OUTSIDE + PRIVATE, SOURCE, tmp_path, {"PYTHONWARNINGS": "error::RuntimeWarning"})
    assert "was not tried" in caught.value.stderr


def test_what_the_package_asks_of_numba_beyond_its_public_interface_is_in_one_file():
    """So that a Numba that was not tried meets none of it."""
    private = ("numba.core", "llvmlite", "_nrt", "CACHE_DIR", "get_call_template", "get_overload", "pipeline_class")
    found = {
        (path.name, word)
        for path in (SOURCE / "posable").rglob("*.py")
        for word in private
        if word in path.read_text(encoding="utf-8")
    }
    # The build makes machine code of LLVM's modules, by the public interface of llvmlite.
    assert found == {*(("numba_inline.py", word) for word in private), ("build.py", "llvmlite")}
