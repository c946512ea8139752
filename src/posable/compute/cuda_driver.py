"""NVIDIA's driver, the few calls of it that run a kernel, through ctypes.

The driver comes with the GPU, and its functions and their arguments have stayed the same since CUDA 4: no package is
needed to call them. Work goes to the default stream of the current context, the one that PyTorch, CuPy and numba-cuda
use too, so that their pointers are valid here; where a thread has none it becomes the first GPU's primary context.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import POINTER, byref, c_char_p, c_int, c_size_t, c_ubyte, c_uint, c_uint64, c_void_p
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
    "cuDeviceGetAttribute": (POINTER(c_int), c_int, c_int),
    "cuCtxGetDevice": (POINTER(c_int),),
    "cuDevicePrimaryCtxRetain": (POINTER(c_void_p), c_int),
    "cuCtxGetCurrent": (POINTER(c_void_p),),
    "cuCtxSetCurrent": (c_void_p,),
    "cuCtxPushCurrent_v2": (c_void_p,),
    "cuCtxPopCurrent_v2": (POINTER(c_void_p),),
    "cuModuleLoadData": (POINTER(c_void_p), c_char_p),
    "cuModuleGetFunction": (POINTER(c_void_p), c_void_p, c_char_p),
    "cuMemAlloc_v2": (POINTER(c_uint64), c_size_t),
    "cuMemFree_v2": (c_uint64,),
    "cuMemAllocAsync": (POINTER(c_uint64), c_size_t, c_void_p),
    "cuMemFreeAsync": (c_uint64, c_void_p),
    "cuMemcpyHtoD_v2": (c_uint64, c_void_p, c_size_t),
    "cuMemcpyDtoH_v2": (c_void_p, c_uint64, c_size_t),
    "cuMemsetD8Async": (c_uint64, c_ubyte, c_size_t, c_void_p),
    "cuStreamSynchronize": (c_void_p,),
    "cuStreamWaitEvent": (c_void_p, c_void_p, c_uint),
    "cuEventCreate": (POINTER(c_void_p), c_uint),
    "cuEventRecord": (c_void_p, c_void_p),
    "cuEventQuery": (c_void_p,),
    "cuEventDestroy_v2": (c_void_p,),
    "cuFuncSetAttribute": (c_void_p, c_int, c_int),
    "cuLaunchKernel": (c_void_p, *(c_uint,) * 7, c_void_p, POINTER(c_void_p), POINTER(c_void_p)),
}
"""The driver's functions and the types of their arguments; each returns 0, or the number of an error."""


LATER = {"cuMemAllocAsync", "cuMemFreeAsync"}
"""Functions that came with CUDA 11.2; before that, memory is given back after waiting."""

NOT_READY = 600  # the driver's number of an error that is none: work goes on
CAPABILITY = 75, 76  # the attributes of a GPU that say its compute capability
NO_TIMING = 2  # an event that measures no time
MOST_SHARED = 8  # the attribute of a kernel that says how much memory its blocks may have in common
NOT_INITIALISED = 3  # the driver's number of an error: it was initialised here, so this is a fork


class DriverError(PosableError):
    """The driver refused a call; the message has its own name of the error."""


class Driver:
    """The driver's calls. `library` has its functions: the shared library that ctypes loaded, or another in a test."""

    def __init__(self, library: Any) -> None:
        known = {name for name in FUNCTIONS if name not in LATER or hasattr(library, name)}
        self.functions = {name: getattr(library, name) for name in known}
        for name, function in self.functions.items():
            function.argtypes, function.restype = FUNCTIONS[name], c_int
        self._primary: dict[int, int] = {}
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

    @contextmanager
    def on(self, gpu: int) -> Iterator[int]:
        """Make a GPU's primary context the thread's current one in the `with` block; gives the context."""
        context = self.primary(gpu)
        self.call("cuCtxPushCurrent_v2", context)
        try:
            yield context
        finally:
            self.call("cuCtxPopCurrent_v2", byref(c_void_p()))

    def primary(self, gpu: int) -> int:
        """Return a GPU's primary context, the one that other packages use."""
        if gpu not in self._primary:
            device, found = c_int(), c_void_p()
            self.call("cuDeviceGet", byref(device), gpu)
            self.call("cuDevicePrimaryCtxRetain", byref(found), device)
            self._primary[gpu] = int(found.value or 0)
        return self._primary[gpu]

    def capability(self) -> tuple[int, int]:
        """Return the compute capability of the GPU of the current context."""
        gpu, found = c_int(), (c_int(), c_int())
        self.call("cuCtxGetDevice", byref(gpu))
        for number, attribute in zip(found, CAPABILITY, strict=True):
            self.call("cuDeviceGetAttribute", byref(number), attribute, gpu)
        return found[0].value, found[1].value

    def load(self, code: bytes, entry: str) -> int:
        """Return a kernel of machine code, or of PTX, which the driver assembles for the GPU or takes from its own
        cache.
        """
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

    def allocate_in(self, size: int, stream: int) -> int:
        """Return the address of so many bytes for the work of a stream."""
        if "cuMemAllocAsync" not in self.functions:
            return self.allocate(size)
        pointer = c_uint64()
        self.call("cuMemAllocAsync", byref(pointer), size, stream)
        return pointer.value

    def free_in(self, pointer: int, stream: int) -> None:
        """Give memory back after the work that a stream has been given."""
        if "cuMemFreeAsync" not in self.functions:
            self.free(pointer)
        else:
            self.call("cuMemFreeAsync", pointer, stream)

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

    def fill(self, pointer: int, size: int, stream: int, byte: int = 0) -> None:
        """Write one byte everywhere to memory on the GPU, in the order of a stream."""
        if size:
            self.call("cuMemsetD8Async", pointer, byte, size, stream)

    def wait_for(self, waiting: int, stream: int) -> None:
        """Let a stream wait for what was given to another one before; this thread goes on at once."""
        event = self.event(stream)
        self.call("cuStreamWaitEvent", waiting, event, 0)
        self.call("cuEventDestroy_v2", event)

    def event(self, stream: int) -> int:
        """Return an event that happens when what was given to a stream before is done."""
        made = c_void_p()
        self.call("cuEventCreate", byref(made), NO_TIMING)
        self.call("cuEventRecord", made, stream)
        return int(made.value or 0)

    def has_happened(self, event: int) -> bool:
        """Return whether an event has happened; then it is given back."""
        if self.functions["cuEventQuery"](event) == NOT_READY:
            return False
        self.call("cuEventDestroy_v2", event)
        return True

    def launch(
        self,
        function: int,
        blocks: int,
        threads: tuple[int, int],
        row: NDArray[np.int64],
        stream: int = 0,
        shared: int = 0,
    ) -> None:
        """Start a kernel whose parameters are a row of machine words; of a smaller one, the word's first bytes.

        `threads` is how wide and how high a block is, `shared` the memory [bytes] that its threads have in common.
        """
        words = (c_void_p * len(row))(*range(row.ctypes.data, row.ctypes.data + row.nbytes, row.itemsize))
        if shared > 48 * 1024:
            self.call("cuFuncSetAttribute", function, MOST_SHARED, shared)
        self.call("cuLaunchKernel", function, blocks, 1, 1, *threads, 1, shared, stream, words, None)


@cache
def driver() -> Driver:
    """Return the driver of this machine."""
    name = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
    try:
        return Driver(ctypes.CDLL(name))
    except (OSError, AttributeError, DriverError) as error:
        raise PosableError(f"no GPU is at hand; run the batch itself on the CPU ({error})") from None
