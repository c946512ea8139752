"""Public calls with arrays on a real GPU give the CPU's answers: CuPy, PyTorch and JAX, float64 and float32.

Run where there is a GPU, with code compiled ahead of time (`python -m posable.compute.build --ptx`); skipped elsewhere.
"""

import importlib
import importlib.util
from functools import cache

import numpy as np
import pytest

from posable.compute import cuda, kernels
from tests.gpu_cases import CASES, unsure

if not cuda.available() or kernels.mode() != "library":
    pytest.skip("no GPU at hand, or no compiled library", allow_module_level=True)
if not (cuda.FOLDER / cuda.file_name()).exists():
    pytest.skip("no code for GPUs: python -m posable.compute.build --ptx", allow_module_level=True)

LIBRARIES = [name for name in ("torch", "cupy", "jax") if importlib.util.find_spec(name) is not None]
DTYPES = {"float64": np.float64, "float32": np.float32}


def on_gpu(library: str, array: np.ndarray):
    """The array on the GPU, as a user of that library has it."""
    if library == "torch":
        import torch

        return torch.tensor(array, device="cuda")
    if library == "cupy":
        import cupy

        return cupy.asarray(array)
    import jax

    jax.config.update("jax_enable_x64", True)
    return jax.device_put(array, jax.devices("gpu")[0])


def on_cpu(library: str, value) -> np.ndarray:
    assert type(value).__module__.partition(".")[0] == {"jax": "jaxlib"}.get(library, library), type(value)
    assert value.__dlpack_device__()[0] == 2, "it lies on the GPU"
    if library == "torch":
        return value.cpu().numpy()
    return value.get() if library == "cupy" else np.array(value)


@cache
def on_the_cpu(name: str, dtype: str) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """The CPU's answers, and how far they move by rounding: a GPU rounds products and sums once."""
    case = CASES[name]()
    arrays = {key: array.astype(DTYPES[dtype]).astype(np.float64) for key, array in case.arrays.items()}
    expected = {key: np.asarray(value) for key, value in case.call(**arrays).items()}
    return expected, unsure(case, arrays, expected)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("name", CASES)
def test_a_gpu_gives_the_answers_of_the_cpu(name, library, dtype):
    expected, moved = on_the_cpu(name, dtype)
    arrays = {key: on_gpu(library, array.astype(DTYPES[dtype])) for key, array in CASES[name]().arrays.items()}
    before = {key: on_cpu(library, array) for key, array in arrays.items()}
    found = CASES[name]().call(**arrays)
    for key, value in found.items():
        got, want = on_cpu(library, value), expected[key]
        assert got.shape == want.shape, key
        if want.dtype.kind != "f":
            np.testing.assert_array_equal(got, want, err_msg=key)
            continue
        assert got.dtype == DTYPES[dtype], key
        tolerance = 1e-8 if dtype == "float64" else 2e-6
        sure = moved[key] < 1e-9
        assert sure.mean() > 0.3, "a comparison of what hangs on the last bit would allow anything"
        np.testing.assert_allclose(got[sure], want[sure], rtol=tolerance, atol=tolerance, err_msg=key)
    for key, array in arrays.items():
        np.testing.assert_array_equal(on_cpu(library, array), before[key], err_msg="targets stay as they were")


@pytest.mark.parametrize("library", LIBRARIES)
def test_an_answer_lives_on_when_everything_else_is_gone(library):
    """And memory that is given back is not written to while somebody still reads it."""
    case = CASES["forward"]()
    expected = case.call(**case.arrays)
    answers = [case.call(**{key: on_gpu(library, array) for key, array in case.arrays.items()}) for _ in range(50)]
    for one in answers:
        np.testing.assert_allclose(on_cpu(library, one["positions"]), expected["positions"], atol=1e-12)


def test_the_callers_stream_of_pytorch_is_the_one_that_works():
    torch = pytest.importorskip("torch")
    case = CASES["bodies_with_prior"]()
    expected, moved = on_the_cpu("bodies_with_prior", "float64")
    sure = moved["rotations"] < 1e-9
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        points = torch.zeros((3, 4, 6, 3), dtype=torch.float64, device="cuda")
        torch.cuda._sleep(100_000_000)  # the points come late
        points.copy_(torch.tensor(case.arrays["points"]).pin_memory(), non_blocking=True)
        found = case.call(points)
    stream.synchronize()
    np.testing.assert_allclose(found["rotations"].cpu().numpy()[sure], expected["rotations"][sure], atol=1e-6)


def test_nothing_waits_for_the_gpu():
    torch = pytest.importorskip("torch")
    names = "forward limb_search limb_inside_range bodies_with_prior aims_best aims_at_points tracked_directions reach"
    for name in names.split():
        case = CASES[name]()
        arrays = {key: on_gpu("torch", array) for key, array in case.arrays.items()}
        case.call(**arrays)  # models go to the GPU
        torch.cuda.synchronize()
        torch.cuda.set_sync_debug_mode("error")
        try:
            case.call(**arrays)
        finally:
            torch.cuda.set_sync_debug_mode("default")
