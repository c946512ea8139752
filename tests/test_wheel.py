"""The wheel with the compiled library, in an environment that has no Numba: the README's five minutes, at once."""

import lzma
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from posable.compute import build, calls, cuda, kernels, library

ROOT = Path(__file__).parents[1]
NEEDED = ("numpy", "scipy", "msgspec")

pytestmark = pytest.mark.skipif(kernels.mode() != "library", reason="kernels run by the JIT here: make kernels")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """A wheel for this machine, made of the library that is beside the sources, with names for a GPU's code."""
    target = build.this_machine()
    made, gpu = (ROOT / "build" / "kernels" / name for name in (target, "gpu"))
    for folder in (made, gpu):
        folder.mkdir(parents=True, exist_ok=True)
        for other in (*folder.glob("_loops_*"), *folder.glob("_ptx_*")):
            other.unlink()
    shutil.copy(library.file_in(library.FOLDER), made)
    codes = {name: lzma.compress(f"// {name}".encode()) for name in calls.calls()}
    cuda.write_file(gpu / cuda.file_name(), codes)  # to compile it takes minutes; a driver that is none takes this
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(ROOT)]
    subprocess.run(command, check=True, env={**os.environ, "POSABLE_TARGET": target})
    (path,) = folder.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def python(wheel, tmp_path_factory) -> Path:
    """The Python of an environment with the wheel and what it requires, and with nothing else."""
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    (packages,) = {*folder.glob("lib/python*/site-packages"), *folder.glob("Lib/site-packages")}
    for name in NEEDED:  # as they are here: nothing is downloaded
        module = Path(__import__(name).__file__).parent
        beside = [module, *module.parent.glob(f"{name}.libs"), *module.parent.glob(f"{name}-*.dist-info")]
        for path in beside:
            (packages / path.name).symlink_to(path)
    interpreter = next(path for path in (folder / "bin" / "python", folder / "Scripts" / "python.exe") if path.exists())
    subprocess.run([interpreter, "-m", "pip", "install", "--quiet", "--no-index", wheel], check=True)
    return interpreter


def test_the_wheel_is_for_any_python_of_one_system_and_asks_for_no_numba(wheel):
    assert re.search(r"-cp311-abi3-\w+[.\w]*\.whl$", wheel.name)
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        assert f"posable/compute/{library.file_in(library.FOLDER).name}" in names
        assert f"posable/compute/{cuda.file_name()}" in names or sys.platform == "darwin"
        metadata = archive.read(next(name for name in names if name.endswith("METADATA"))).decode()
    required = [line for line in metadata.splitlines() if line.startswith("Requires-Dist") and "extra ==" not in line]
    assert {re.search(r": (\w+)", line)[1] for line in required} == set(NEEDED)
    assert wheel.stat().st_size < 12e6


def test_a_wheel_without_the_library_asks_for_numba(tmp_path):
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(tmp_path), str(ROOT)]
    environment = {name: value for name, value in os.environ.items() if name != "POSABLE_TARGET"}
    subprocess.run(command, check=True, env=environment)
    (path,) = tmp_path.glob("*.whl")
    assert path.name.endswith("-py3-none-any.whl")
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        assert not [name for name in names if "_loops_" in name or "_ptx_" in name]
        metadata = archive.read(next(name for name in names if name.endswith("METADATA"))).decode()
    assert re.search(r"^Requires-Dist: numba[^;]*$", metadata, re.MULTILINE)


def test_the_five_minutes_of_the_readme_run_without_numba(python, tmp_path):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"## Five minutes\n\n```python\n(.*?)```", text, re.DOTALL)
    code += """
import importlib.util, sys
assert importlib.util.find_spec("numba") is None and importlib.util.find_spec("llvmlite") is None
import numpy as np
met = np.nanmax(reconstructed.marker_errors) < 1e-5
print("at the end:", *(bool(np.all(one)) for one in (placed.ok, reach.ok[-1], met, aimed.ok)), ps.__file__)
"""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "POSABLE"))}
    environment |= {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    done = subprocess.run([python, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    *met, package = done.stdout.partition("at the end: ")[2].split()
    assert package.startswith(str(python.parents[1]))
    assert met == ["True"] * 4
    assert "compil" not in done.stderr


@pytest.mark.skipif(sys.platform == "darwin", reason="NVIDIA has no driver for this system")
def test_a_gpu_is_given_its_work_without_numba(python, tmp_path):
    shutil.copy(ROOT / "tests" / "compute" / "fake_cuda.py", tmp_path)
    code = """
import sys
import numpy as np, posable.math as pm
from fake_cuda import FakeCuda
from posable.compute import cuda, cuda_driver
driver = cuda_driver.Driver(FakeCuda())
cuda_driver.driver = lambda: driver
v, out = np.random.default_rng(0).normal(size=(2, 5, 3))
q = pm.exp(out)
cuda.launch(pm._rotate, 5, q, v, out)
print(np.array_equal(out, pm.rotate(q, v)), "numba" in sys.modules)
"""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "POSABLE"))}
    done = subprocess.run([python, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["True", "False"]


def test_without_library_and_without_numba_the_error_says_what_to_install(python, tmp_path):
    (found,) = python.parents[1].rglob("_loops_*")
    away = tmp_path / found.name
    shutil.move(found, away)
    try:
        code = "import posable as ps; ps.figure().neutral_pose"
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "POSABLE"))}
        done = subprocess.run([python, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True)
    finally:
        shutil.move(away, found)
    assert done.returncode != 0 and "pip install 'posable[jit]'" in done.stderr
