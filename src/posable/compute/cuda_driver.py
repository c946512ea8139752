"""NVIDIA's driver, the few calls of it that run a kernel, through ctypes.

The driver comes with the GPU, and its functions and their arguments have stayed the same since CUDA 4: no package is
needed to call them. Work goes to the default stream of the current context, the one that PyTorch, CuPy and numba-cuda
use too, so that their pointers are valid here; where a thread has none it becomes the first GPU's primary context.
"""

from __future__ import annotations

import ctypes
import sys
from ctypes import POINTER, byref, c_char_p, c_int, c_size_t, c_uint, c_uint64, c_void_p
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import PosableError

__all__ = ["Driver", "DriverError", "driver"]

FUNCTIONS: dict[str, tuple[Any, ...]] = {
    "cuInit": (c_uint,),
    "cuDriverGetVersion": (POINTER(c_int),),
    "cuGetErrorName": (c_int, POINTER(c_char_p)),
    "cuDeviceGet": (POINTER(c_int), c_int),
    "cuDevicePrimaryCtxRetain": (POINTER(c_void_p), c_int),
    "cuCtxGetCurrent": (POINTER(c_void_p),),
    "cuCtxSetCurrent": (c_void_p,),
    "cuModuleLoadData": (POINTER(c_void_p), c_char_p),
    "cuModuleGetFunction": (POINTER(c_void_p), c_void_p, c_char_p),
    "cuMemAlloc_v2": (POINTER(c_uint64), c_size_t),
    "cuMemFree_v2": (c_uint64,),
    "cuMemcpyHtoD_v2": (c_uint64, c_void_p, c_size_t),
    "cuMemcpyDtoH_v2": (c_void_p, c_uint64, c_size_t),
    "cuStreamSynchronize": (c_void_p,),
    "cuLaunchKernel": (c_void_p, *(c_uint,) * 7, c_void_p, POINTER(c_void_p), POINTER(c_void_p)),
}
"""The driver's functions and the types of their arguments; each returns 0, or the number of an error."""


NOT_INITIALISED = 3  # the driver's number of an error: it was initialised here, so this is a fork


class DriverError(PosableError):
    """The driver refused a call; the message has its own name of the error."""


class Driver:
    """The driver's calls. `library` has its functions: the shared library that ctypes loaded, or another in a test."""

    def __init__(self, library: Any) -> None:
        self.functions = {name: getattr(library, name) for name in FUNCTIONS}
        for name, arguments in FUNCTIONS.items():
            self.functions[name].argtypes, self.functions[name].restype = arguments, c_int
        self.call("cuInit", 0)

    def call(self, name: str, *arguments: Any) -> None:
        """Call a function of the driver."""
        code = self.functions[name](*arguments)
        if code == NOT_INITIALISED:
            raise DriverError(
                "the GPU's driver was loaded before this process was forked, and works only where it was loaded: start "
                "processes that use a GPU in another way, as multiprocessing.get_context('spawn') does"
            )
        if code != 0:
            text = c_char_p()
            self.functions["cuGetErrorName"](code, byref(text))
            raise DriverError(f"{name} of the GPU's driver gave {(text.value or b'error').decode()} ({code})")

    def version(self) -> str:
        """Return the newest CUDA that the driver knows, such as "12.4"."""
        found = c_int()
        self.call("cuDriverGetVersion", byref(found))
        return f"{found.value // 1000}.{found.value % 1000 // 10}"

    def context(self) -> int:
        """Return this thread's current context; where it has none, the first GPU's primary one becomes it."""
        found = c_void_p()
        self.call("cuCtxGetCurrent", byref(found))
        if not found.value:
            gpu = c_int()
            self.call("cuDeviceGet", byref(gpu), 0)
            self.call("cuDevicePrimaryCtxRetain", byref(found), gpu)
            self.call("cuCtxSetCurrent", found)
        return int(found.value or 0)

    def load(self, code: bytes, entry: str) -> int:
        """Return a kernel of PTX, which the driver assembles for the GPU, or takes from its own cache."""
        module, function = c_void_p(), c_void_p()
        self.call("cuModuleLoadData", byref(module), code)  # ctypes ends it with a zero
        self.call("cuModuleGetFunction", byref(function), module, entry.encode())
        return int(function.value or 0)

    def allocate(self, size: int) -> int:
        """Return the address of so many bytes on the GPU; 0 for none."""
        pointer = c_uint64()
        if size:
            self.call("cuMemAlloc_v2", byref(pointer), size)
        return pointer.value

    def free(self, pointer: int) -> None:
        """Give memory on the GPU back."""
        if pointer:
            self.call("cuMemFree_v2", pointer)

    def to_gpu(self, pointer: int, array: NDArray[Any]) -> None:
        """Copy an array in C order to memory on the GPU."""
        if array.nbytes:
            self.call("cuMemcpyHtoD_v2", pointer, array.ctypes.data, array.nbytes)

    def from_gpu(self, array: NDArray[Any], pointer: int) -> None:
        """Copy memory on the GPU to an array in C order, after what was launched before is done."""
        if array.nbytes:
            self.call("cuMemcpyDtoH_v2", array.ctypes.data, pointer, array.nbytes)

    def wait(self, stream: int) -> None:
        """Wait until the work of a stream is done."""
        self.call("cuStreamSynchronize", stream)

    def launch(self, function: int, blocks: int, threads: int, row: NDArray[np.int64]) -> None:
        """Start a kernel whose parameters are a row of machine words; of a smaller one, the word's first bytes."""
        words = (c_void_p * len(row))(*range(row.ctypes.data, row.ctypes.data + row.nbytes, row.itemsize))
        self.call("cuLaunchKernel", function, blocks, 1, 1, threads, 1, 1, 0, None, words, None)


@cache
def driver() -> Driver:
    """Return the driver of this machine."""
    name = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
    try:
        return Driver(ctypes.CDLL(name))
    except (OSError, AttributeError, DriverError) as error:
        raise PosableError(f"no GPU is at hand; run the batch itself on the CPU ({error})") from None
