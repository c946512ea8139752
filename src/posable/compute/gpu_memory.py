"""Memory of a GPU's driver that another library takes over through DLPack, for one that nobody may write into: JAX.

Kernels write to it in the default stream. What takes it over names the stream that it will read it in, which waits
there for ours, and nothing waits here. The other way round, an array of JAX that kernels read is taken through DLPack
too, and is not given back before they are done: JAX would use its memory again.
"""

from __future__ import annotations

import ctypes
import math
from ctypes import CFUNCTYPE, POINTER, Structure, c_char_p, c_int32, c_int64, c_uint8, c_uint16, c_uint64, c_void_p
from typing import Any

import numpy as np

from . import cuda_driver

CUDA = 2  # the device type of DLPack
CODES = {"i": 0, "u": 1, "f": 2, "b": 6}  # of DLPack's types
NAME, USED = b"dltensor", b"used_dltensor"
LEGACY = 1  # the default stream, in DLPack's words


class Tensor(Structure):
    """A `DLManagedTensor`."""

    _fields_ = [
        *(("data", c_void_p), ("device_type", c_int32), ("device_id", c_int32), ("ndim", c_int32)),
        *(("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16)),
        *(("shape", POINTER(c_int64)), ("strides", POINTER(c_int64)), ("byte_offset", c_uint64)),
        *(("context", c_void_p), ("deleter", c_void_p)),
    ]


class GpuMemory:
    """Memory on a GPU with a shape and a dtype, freed with the last that has a part in it."""

    def __init__(
        self, shape: tuple[int, ...], dtype: Any, device: int, value: float | None = None, owner: Any = None
    ) -> None:
        self.shape, self.dtype, self.device = tuple(shape), np.dtype(dtype), device
        self.owner = _Owner(self.nbytes, device) if owner is None else owner
        if value is not None:
            self._fill(value)

    def _fill(self, value: float) -> None:
        """Write one number everywhere."""
        driver = cuda_driver.driver()
        pattern = np.array(value, self.dtype).tobytes()
        if value != value:  # a number whose bits are all 1 is none, either
            pattern = b"\xff"
        if len({*pattern}) > 1:
            self.write(np.full(self.shape, value, self.dtype))
            return
        with driver.on(self.device):
            driver.fill(self.address, self.nbytes, 0, pattern[0])

    def write(self, array: Any) -> None:
        """Copy an array of the CPU there."""
        driver = cuda_driver.driver()
        with driver.on(self.device):
            driver.to_gpu(self.address, np.ascontiguousarray(array))

    @property
    def nbytes(self) -> int:
        """The size [bytes]."""
        return int(math.prod(self.shape) * self.dtype.itemsize)

    @property
    def address(self) -> int:
        """Where it lies."""
        return self.owner.address

    def reshape(self, shape: tuple[int, ...]) -> GpuMemory:
        """Return the same memory in another shape; one axis may be -1."""
        known = np.lib.stride_tricks.as_strided(np.empty(1, np.bool_), self.shape, (0,) * len(self.shape))
        sizes = known.reshape(shape).shape if -1 in shape else tuple(shape)
        return GpuMemory(sizes, self.dtype, self.device, owner=self.owner)

    def part(self, first: int, last: int) -> GpuMemory:
        """Return rows first to last - 1, in the same memory."""
        size = self.nbytes // max(self.shape[0], 1)
        return GpuMemory((last - first, *self.shape[1:]), self.dtype, self.device, owner=_Part(self, first * size))

    def cast(self, dtype: np.dtype[Any]) -> GpuMemory:
        """Return the numbers in another dtype: float64 or int64 with half the bits."""
        from . import gpu_casts
        from .gpu_launch import run_on_gpu

        if np.dtype(dtype) == self.dtype:
            return self
        batches = {("f8", "f4"): gpu_casts.narrow_rows, ("f4", "f8"): gpu_casts.widen_rows}
        batches["i8", "i4"] = gpu_casts.narrow_whole_rows
        made = GpuMemory(self.shape, dtype, self.device)
        n = math.prod(self.shape)
        run_on_gpu(batches[self.dtype.str[1:], made.dtype.str[1:]], n, self.reshape((n,)), made.reshape((n,)))
        return made

    def field(self, dtype: np.dtype[Any], offset: int, size: int, n: int) -> GpuMemory:
        """Return one number of each of n records of so many bytes that lie here: (n,)."""
        from . import gpu_casts
        from .gpu_launch import run_on_gpu

        made = GpuMemory((n,), dtype, self.device)
        batches = {8: gpu_casts.float_field_rows, 4: gpu_casts.whole_field_rows, 1: gpu_casts.byte_field_rows}
        kinds = {8: np.dtype("f8"), 4: np.dtype("i4"), 1: np.dtype("i1")}
        width = made.dtype.itemsize
        words = GpuMemory((self.nbytes // width,), kinds[width], self.device, owner=self.owner)
        out = GpuMemory((n,), kinds[width], self.device, owner=made.owner)
        run_on_gpu(batches[width], n, words, offset // width, size // width, out)
        return made

    def __dlpack_device__(self) -> tuple[int, int]:
        return CUDA, self.device

    def __dlpack__(self, *, stream: Any = None, **_: Any) -> Any:
        if stream not in (None, -1, LEGACY):
            driver = cuda_driver.driver()
            with driver.on(self.device):
                driver.wait_for(int(stream), 0)
        return _capsule(self)


class _Owner:
    """A piece of memory of the driver, in the order of the default stream."""

    def __init__(self, size: int, device: int) -> None:
        self.device = device
        self._driver = driver = cuda_driver.driver()
        with driver.on(device):
            self.address = driver.allocate_in(max(size, 1), 0)

    def __del__(self) -> None:
        if hasattr(self, "address"):
            with self._driver.on(self.device):
                self._driver.free_in(self.address, 0)


class _Part:
    """A piece of memory inside another's."""

    def __init__(self, whole: GpuMemory, offset: int) -> None:
        self.whole, self.address = whole, whole.address + offset


_given: dict[int, tuple[Any, ...]] = {}  # what others have a part in, by the address of its tensor

_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype, _new_capsule.argtypes = ctypes.py_object, (c_void_p, c_char_p, c_void_p)
_pointer_in = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_in.restype, _pointer_in.argtypes = c_void_p, (c_void_p, c_char_p)
_is_valid = ctypes.pythonapi.PyCapsule_IsValid
_is_valid.argtypes = (c_void_p, c_char_p)


def _give_back(tensor: int) -> None:
    _given.pop(tensor, None)


def _drop(capsule: int) -> None:
    if _is_valid(capsule, NAME):
        _given.pop(_pointer_in(capsule, NAME), None)


_given_back, _unused = CFUNCTYPE(None, c_void_p)(_give_back), CFUNCTYPE(None, c_void_p)(_drop)


def _capsule(memory: GpuMemory) -> Any:
    """Return what DLPack hands over; it is given back with the last array that uses it."""
    axes = len(memory.shape)
    shape, strides = (c_int64 * axes)(*memory.shape), (c_int64 * axes)()
    step = 1
    for axis in reversed(range(axes)):
        strides[axis], step = step, step * memory.shape[axis]
    tensor = Tensor(
        memory.address, CUDA, memory.device, axes, CODES[memory.dtype.kind], 8 * memory.dtype.itemsize, 1,
        shape, strides, 0, None, ctypes.cast(_given_back, c_void_p),
    )  # fmt: skip
    address = ctypes.addressof(tensor)
    _given[address] = (tensor, shape, strides, memory)
    return _new_capsule(address, NAME, ctypes.cast(_unused, c_void_p))


def address_in(capsule: Any) -> int:
    """Return where the array of a capsule of DLPack's lies."""
    pointer = _pointer_in(id(capsule), NAME)
    tensor = ctypes.cast(pointer, POINTER(Tensor)).contents
    return int(tensor.data or 0) + int(tensor.byte_offset)
