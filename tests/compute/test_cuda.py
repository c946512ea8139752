"""A launch gives a GPU's driver what it must be given, seen from the driver's side, with no GPU at hand."""

import ctypes
import json
import lzma
import os
import struct
import zipfile

import numpy as np
import pytest

import posable.math as pm
from posable.collision import bodies
from posable.compute import PosableError, batch, calls, cuda, cuda_driver, kernels, library, prange
from posable.limits import limits
from tests.compute.fake_cuda import HEADER, FakeCuda
from tests.uses import copied, leaves, recorded

pytestmark = pytest.mark.skipif(
    kernels.mode() != "library" or os.environ.get("NUMBA_DISABLE_JIT", "0") != "0", reason="kernels run by the JIT here"
)

ROTATE = "posable.math._rotate"
Q, V = pm.normalize(np.random.default_rng(0).normal(size=(5, 4))), np.random.default_rng(1).normal(size=(5, 3))


class OnGpu:
    """An array in a GPU's memory, as other packages hand it over."""

    def __init__(self, array: np.ndarray, readonly: bool = False, strides=None, **more) -> None:
        self.kept, self.dtype = array, array.dtype
        self.__cuda_array_interface__ = {
            "shape": array.shape,
            "strides": strides,
            "data": (array.ctypes.data, readonly),
            "typestr": array.dtype.str,
            "version": 3,
            **more,
        }


@pytest.fixture
def gpu(tmp_path, monkeypatch):
    """A driver in the place of the machine's, code in the place of PTX, and no numba-cuda."""
    cuda.write_file(tmp_path / cuda.file_name(), {name: lzma.compress(f"// {name}".encode()) for name in calls.calls()})
    monkeypatch.setattr(cuda, "FOLDER", tmp_path)
    monkeypatch.setattr(cuda, "_numba_cuda_is_there", lambda: False)
    monkeypatch.delenv("POSABLE_KERNELS", raising=False)
    return started(monkeypatch)


def started(monkeypatch, **fails: int) -> FakeCuda:
    fake = FakeCuda(**fails)
    driver = cuda_driver.Driver(fake)
    monkeypatch.setattr(cuda_driver, "driver", lambda: driver)
    return fake


def same_bytes(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether two arrays are the same to the last bit; the gaps between the fields of records are nobody's."""
    if one.dtype.names:
        return all(
            same_bytes(np.ascontiguousarray(one[name]), np.ascontiguousarray(other[name])) for name in one.dtype.names
        )
    return one.tobytes() == other.tobytes()


@pytest.mark.parametrize("name", sorted(calls.calls()))
def test_what_a_launch_hands_over_gives_the_answers_of_the_cpu(name, gpu):
    found = {library.full_name(one): (one, both) for one, both in recorded().items()}
    one, (before, after) = found[name]
    given = copied(before)
    cuda.launch(one, *given)
    for got, wanted in zip(leaves(given), leaves(after), strict=True):
        if isinstance(wanted, np.ndarray):
            assert same_bytes(got, wanted)
    assert [launched for launched, _, _ in gpu.launched] == [name]
    assert not gpu.memory, "what was copied to the GPU is freed"


def test_the_parameters_are_these_bytes(gpu):
    joints, curves = np.zeros(2, limits.ROW), np.zeros(3)
    rows, q, out = np.array([0, 1, 1]), np.tile([1.0, 0.0, 0.0, 0.0], (3, 1)), OnGpu(np.zeros((3, 4)))
    cuda.launch(limits._clamp_rows, 3, joints, curves, rows, q, True, out)
    ((_, grid, given),) = gpu.launched
    assert grid == (1, 1, 1, 128, 1, 1)
    row = struct.unpack("<q 7q 7q 7q 9q B 9q".replace(" ", ""), given)
    n, row = row[0], row[1:]
    assert n == 3
    size = limits.ROW.itemsize
    assert row[:4] == (0, 0, 2, size) and row[5:7] == (2, size)
    assert row[7:11] == (0, 0, 3, 8) and row[12:14] == (3, 8)
    assert row[14:18] == (0, 0, 3, 8) and row[19:21] == (3, 8)
    assert row[21:25] == (0, 0, 12, 8) and row[26:30] == (3, 4, 32, 8)
    assert row[30] == 1
    address = out.__cuda_array_interface__["data"][0]
    assert row[31:] == (0, 0, 12, 8, address, 3, 4, 32, 8)
    on_cpu = {one.ctypes.data for one in (joints, curves, rows, q)}
    assert len({row[4], row[11], row[18], row[25]} - on_cpu) == 4, "addresses on the GPU, each its own"
    np.testing.assert_array_equal(out.kept, q)


def test_numbers_bools_and_tuples_become_words_in_their_order(gpu):
    name = "posable.skeleton.forward.jacobian_rows"
    one, (before, _) = next((one, both) for one, both in recorded().items() if library.full_name(one) == name)
    n, *rest = copied(before)
    rest[-2] = (1.5, -2.5, 3.25)
    rest[-3] = 4
    cuda.launch(one, n, *rest)
    ((_, _, given),) = gpu.launched
    assert struct.pack("<qddd", 4, 1.5, -2.5, 3.25) in given
    parameters = list(cuda.parameters(calls.parsed(calls.calls()[name])))
    assert sum(is_address for _, is_address in parameters) == 5
    assert len(given) == sum({"u64": 8, "f64": 8, "u8": 1}[kind] for kind, _ in parameters)
    assert bodies.body_touching_rows  # a batch with a bool among its arguments
    flagged = [kind for kind, _ in cuda.parameters(calls.parsed("f8[1] ? i8"))]
    assert flagged == ["u64"] + ["u64"] * 7 + ["u8", "u64"]


def test_arrays_on_the_gpu_stay_there(gpu):
    q, v, out = OnGpu(Q.copy()), OnGpu(V.copy()), OnGpu(np.zeros((5, 3)))
    cuda.launch(pm._rotate, 5, q, v, out)
    np.testing.assert_array_equal(out.kept, pm.rotate(Q, V))
    assert not gpu.copied_in and not gpu.copied_out and not gpu.waited


def test_records_on_the_gpu_are_taken_by_their_dtype(gpu):
    one, (before, after) = next(
        (one, both) for one, both in recorded().items() if library.full_name(one) == "posable.limb.solve.forward_rows"
    )
    n, *arrays = copied(before)
    placed = [OnGpu(array) for array in arrays]
    cuda.launch(one, n, *placed)
    assert not gpu.copied_in
    assert all(same_bytes(got, wanted) for got, wanted in zip(arrays, after[1:], strict=True))
    placed[0].dtype = "another package's"  # and then the interface has no more than a number of bytes
    with pytest.raises(PosableError, match="argument 1 has dtype"):
        cuda.launch(one, n, *placed)


def test_only_what_is_written_to_is_copied_back(gpu):
    out = np.zeros((5, 3))
    cuda.launch(pm._rotate, 5, Q, V, out)
    np.testing.assert_array_equal(out, pm.rotate(Q, V))
    assert gpu.copied_in == [Q.nbytes, V.nbytes, out.nbytes] and gpu.copied_out == [out.nbytes]


def test_an_array_that_is_given_twice_is_one_on_the_gpu(gpu):
    both = V.copy()
    cuda.launch(pm._rotate, 5, Q, both, both)
    np.testing.assert_array_equal(both, pm.rotate(Q, V))
    assert gpu.copied_in == [Q.nbytes, both.nbytes]


def test_another_stream_is_waited_for_and_the_default_one_is_not(gpu):
    q, v, out = OnGpu(Q, stream=1), OnGpu(V, stream=0x5500), OnGpu(np.zeros((5, 3)), stream=None)
    cuda.launch(pm._rotate, 5, q, v, out)
    assert gpu.waited == [0x5500]
    assert gpu.calls.index("cuStreamSynchronize") < gpu.calls.index("cuLaunchKernel")


def test_memory_is_freed_after_the_work_is_done(gpu):
    cuda.launch(pm._rotate, 5, Q, V, OnGpu(np.zeros((5, 3))))  # nothing is copied back, which would wait
    ends = [gpu.calls.index(name) for name in ("cuLaunchKernel", "cuStreamSynchronize", "cuMemFree_v2")]
    assert ends == sorted(ends) and gpu.waited == [0]


def test_a_context_that_is_there_is_used_and_code_is_loaded_once_in_each(gpu):
    gpu.context = 0x1234
    for _ in range(2):
        cuda.launch(pm._rotate, 5, Q, V, np.zeros((5, 3)))
    assert gpu.context == 0x1234 and len(gpu.modules) == 1 and "cuDevicePrimaryCtxRetain" not in gpu.calls
    gpu.context = None
    cuda.launch(pm._rotate, 5, Q, V, np.zeros((5, 3)))
    assert gpu.context == 0x7000 and len(gpu.modules) == 2


def test_machine_code_for_the_gpu_is_taken_where_the_file_has_it_and_ptx_where_the_driver_refuses_it(gpu, monkeypatch):
    path = cuda.FOLDER / cuda.file_name()
    ptx, code = f"// {ROTATE}\n".encode(), f"// {ROTATE}".encode()
    machine = {f"{ROTATE}.sm_80": b"another GPU's", f"{ROTATE}.sm_90": code}
    packed = {name: lzma.compress(one) for name, one in machine.items()}
    cuda.write_file(path, {ROTATE: lzma.compress(ptx)}, packed)
    expected, found = np.zeros((5, 3)), np.zeros((5, 3))
    pm._rotate(5, Q, V, expected)
    cuda.launch(pm._rotate, 5, Q, V, found)
    np.testing.assert_array_equal(found, expected)
    assert gpu.modules == [code]

    load = FakeCuda.ModuleLoadData

    def old(fake, module, image):
        load(fake, module, image)
        assert fake.modules[-1] != b"too new"

    monkeypatch.setattr(FakeCuda, "ModuleLoadData", old)
    later = started(monkeypatch)
    cuda.write_file(path, {ROTATE: lzma.compress(code)}, {f"{ROTATE}.sm_90": lzma.compress(b"too new")})
    cuda.launch(pm._rotate, 5, Q, V, found)
    assert later.modules == [b"too new", code] and later.launched


def test_no_rows_launch_nothing_and_many_are_walked_in_strides(gpu):
    cuda.launch(pm._rotate, 0, Q[:0], V[:0], V[:0].copy())
    assert not gpu.launched
    n = cuda.THREADS * cuda.MAX_BLOCKS + 1
    q = np.zeros((n, 4))
    cuda.launch(pm._angle, n, q, q, np.zeros(n))
    assert gpu.launched[0][1] == (cuda.MAX_BLOCKS, 1, 1, cuda.THREADS, 1, 1)
    cuda.launch(pm._rotate, 5, Q, V, np.zeros((5, 3)))
    assert gpu.launched[1][1] == (1, 1, 1, cuda.THREADS, 1, 1)


@pytest.mark.parametrize(
    ("arrays", "says"),
    [
        ((Q.astype("f4"), V, V.copy()), "argument 1 has dtype float32; expected float64"),
        ((Q, V[0], V.copy()), "argument 2 has 1 dimensions; expected 2"),
        ((Q, V, np.zeros((3, 5)).T), "argument 3 is no array in C order"),
        ((Q, V, np.zeros((4, 3))), "argument 3 has 4 rows; expected 5"),
        ((Q, V), "2 arguments are too few"),
        ((Q, V, [1.0]), "argument 3 is no array"),
        ((OnGpu(Q.astype("f4")), V, V.copy()), "argument 1 has dtype float32; expected float64"),
        ((Q, OnGpu(V[0].copy()), V.copy()), "argument 2 has 1 dimensions; expected 2"),
        ((Q, V, OnGpu(V.copy(), strides=(8, 40))), "argument 3 is no array in C order"),
        ((Q, V, OnGpu(np.zeros((4, 3)))), "argument 3 has 4 rows; expected 5"),
        ((Q, V, OnGpu(V.copy(), readonly=True)), "argument 3 is written to, and is read-only"),
    ],
)
def test_a_wrong_argument_is_named_and_nothing_is_launched(arrays, says, gpu):
    hint = "" if "rows" in says else ".*posable\\[cuda\\]"  # numba-cuda would read past the end
    with pytest.raises(PosableError, match=f"_rotate: {says}{hint}"):
        cuda.launch(pm._rotate, 5, *arrays)
    assert not gpu.launched and not gpu.copied_in and not gpu.memory


def test_a_read_only_array_is_read_and_never_written(gpu):
    q, out = Q.copy(), np.zeros((5, 3))
    q.flags.writeable = False
    cuda.launch(pm._rotate, 5, q, V, out)
    np.testing.assert_array_equal(out, pm.rotate(Q, V))
    out[:] = 0.0
    out.flags.writeable = False
    with pytest.raises(PosableError, match=r"writes to an array of shape .5, 3., and it is read-only"):
        cuda.launch(pm._rotate, 5, Q, V, out)
    assert not out.any()


# What may be missing or broken


def test_without_a_driver_a_launch_says_so(monkeypatch):
    def missing(name):
        raise OSError(f"{name}: cannot open shared object file")

    monkeypatch.setattr(ctypes, "CDLL", missing)
    assert not cuda.available()
    with pytest.raises(PosableError, match=r"no GPU is at hand; run the batch itself on the CPU .lib|nvcuda"):
        cuda.launch(pm._rotate, 5, Q, V, np.zeros((5, 3)))


def test_a_driver_without_a_gpu_is_named(monkeypatch):
    monkeypatch.setattr(ctypes, "CDLL", lambda name: FakeCuda(cuInit=100))
    assert not cuda.available()
    with pytest.raises(PosableError, match=r"no GPU is at hand.*cuInit.*CUDA_ERROR_NO_DEVICE .100"):
        cuda.launch(pm._rotate, 5, Q, V, np.zeros((5, 3)))


def test_a_driver_of_long_ago_that_lacks_a_function_is_no_driver(monkeypatch):
    fake = FakeCuda()
    del fake.cuMemAlloc_v2
    monkeypatch.setattr(ctypes, "CDLL", lambda name: fake)
    with pytest.raises(PosableError, match=r"no GPU is at hand.*cuMemAlloc_v2"):
        cuda.launch(pm._rotate, 5, Q, V, np.zeros((5, 3)))


def test_code_that_the_driver_refuses_is_told_with_what_it_needs(gpu, monkeypatch):
    started(monkeypatch, cuModuleLoadData=222)
    with pytest.raises(PosableError, match=r"UNSUPPORTED_PTX_VERSION.*capability 7.0 or later.*the one of CUDA 10.2"):
        cuda.launch(pm._rotate, 5, Q, V, np.zeros((5, 3)))


def test_after_a_fork_the_error_says_how_to_start_a_process(gpu, monkeypatch):
    """As a GPU's driver answers in a forked process."""
    started(monkeypatch, cuCtxGetCurrent=3)
    with pytest.raises(PosableError, match=r"forked.*get_context\('spawn'\)"):
        cuda.launch(pm._rotate, 5, Q, V, np.zeros((5, 3)))


@pytest.mark.parametrize("function", ["cuMemAlloc_v2", "cuMemcpyHtoD_v2", "cuLaunchKernel", "cuMemcpyDtoH_v2"])
def test_an_error_of_the_driver_is_told_and_memory_is_freed(function, gpu, monkeypatch):
    fake = started(monkeypatch, **{function: 2})
    with pytest.raises(PosableError, match=f"{function} of the GPU's driver gave CUDA_ERROR_OUT_OF_MEMORY .2"):
        cuda.launch(pm._rotate, 5, Q, V, np.zeros((5, 3)))
    assert not fake.memory


def damaged(path, how: str) -> None:
    data = bytearray(path.read_bytes())
    if how == "cut":
        path.write_bytes(data[: len(data) // 2])
    elif how == "empty":
        path.write_bytes(b"")
    elif how == "flipped":
        with zipfile.ZipFile(path) as archive:
            info = archive.getinfo(f"{ROTATE}.ptx.xz")
        data[info.header_offset + 30 + len(info.filename) + info.compress_size - 3] ^= 0xFF
        path.write_bytes(data)
    elif how == "without it":
        cuda.write_file(path, {"posable.math._exp": lzma.compress(b"// other")})
    elif how == "no table":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(f"{ROTATE}.ptx.xz", "code")
    elif how == "list":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("table.json", "[1]")


@pytest.mark.parametrize("how", ["cut", "empty", "flipped", "without it", "no table", "list"])
def test_a_damaged_file_is_named(how, gpu):
    path = cuda.FOLDER / cuda.file_name()
    damaged(path, how)
    with pytest.raises(PosableError, match=r"_rotate: .*_ptx_\w+.zip cannot be read"):
        cuda.launch(pm._rotate, 5, Q, V, np.zeros((5, 3)))
    assert not gpu.modules


def test_a_file_of_other_sources_is_not_taken(gpu):
    path = cuda.FOLDER / cuda.file_name()
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("table.json", json.dumps({"sources": "0" * 64}))
        archive.writestr(f"{ROTATE}.ptx.xz", lzma.compress(b"// other"))
    with pytest.raises(PosableError, match="was made of other sources"):
        cuda.launch(pm._rotate, 5, Q, V, np.zeros((5, 3)))
    path.rename(path.with_name("_ptx_0000000000000000.zip"))
    with pytest.raises(PosableError, match="no code for GPUs of these sources beside the package"):
        cuda.launch(pm._rotate, 5, Q, V, np.zeros((5, 3)))
    assert not gpu.modules


@batch
def _own(n, values, out):
    for i in prange(n):
        out[i] = values[i]


class Recorder:
    """In the place of numba-cuda's kernel."""

    def __init__(self) -> None:
        self.launched: list[tuple] = []

    def __getitem__(self, grid):
        return lambda *arguments: self.launched.append((grid, arguments))


def test_numba_cuda_takes_what_was_not_compiled_ahead_of_time(gpu, monkeypatch):
    ptx = pytest.importorskip("posable.compute.ptx")
    made = Recorder()
    monkeypatch.setattr(ptx, "kernel", lambda one: made)
    with pytest.raises(PosableError, match=r"_own: it was not compiled ahead of time; .*posable\[cuda\]"):
        cuda.launch(_own, 200, np.zeros(200), np.zeros(200))
    monkeypatch.setattr(cuda, "_numba_cuda_is_there", lambda: True)
    cuda.launch(_own, 200, np.zeros(200), np.zeros(200))
    cuda.launch(pm._rotate, 5, Q.astype("f4"), V.astype("f4"), np.zeros((5, 3), "f4"))
    assert [(grid, arguments[0]) for grid, arguments in made.launched] == [((2, 128), 200), ((1, 128), 5)]
    cuda.launch(pm._rotate, 5, Q, V, np.zeros((5, 3)))
    assert len(made.launched) == 2 and len(gpu.launched) == 1


def test_one_switch_chooses_on_a_gpu_too(gpu, monkeypatch):
    ptx = pytest.importorskip("posable.compute.ptx")
    made = Recorder()
    monkeypatch.setattr(ptx, "kernel", lambda one: made)
    monkeypatch.setattr(cuda, "_numba_cuda_is_there", lambda: True)
    monkeypatch.setenv("POSABLE_KERNELS", "jit")
    cuda.launch(pm._rotate, 5, Q, V, np.zeros((5, 3)))
    assert len(made.launched) == 1 and not gpu.launched
    monkeypatch.setenv("POSABLE_KERNELS", "library")
    cuda.launch(pm._rotate, 5, Q, V, np.zeros((5, 3)))
    with pytest.raises(PosableError, match="float32"):
        cuda.launch(pm._rotate, 5, Q.astype("f4"), V, np.zeros((5, 3)))
    assert len(made.launched) == 1 and len(gpu.launched) == 1


def test_every_function_of_the_driver_is_called_as_its_header_has_it():
    assert cuda_driver.FUNCTIONS.keys() == HEADER.keys()
    for name, arguments in cuda_driver.FUNCTIONS.items():
        assert list(map(ctypes.sizeof, arguments)) == list(map(ctypes.sizeof, HEADER[name])), name
