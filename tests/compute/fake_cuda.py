"""A driver that needs no GPU: its functions as C has them, with memory of this process in the place of a GPU's.

Every function is one that C could call, with the arguments of NVIDIA's cuda.h, so that what ctypes makes of a call is
seen here as the driver would see it. A kernel's code is `// NAME`, the name of a batch: launching it takes the
parameters apart, each with the size that the kernel gives it, and runs the batch on the CPU with what they say.
"""

import ctypes
import importlib
import struct
import traceback
from ctypes import CFUNCTYPE, POINTER, c_char_p, c_int, c_size_t, c_ubyte, c_uint, c_ulonglong, c_void_p

import numpy as np

from posable.compute import calls, cuda, library
from posable.compute.variants import named

ERRORS = {
    2: b"CUDA_ERROR_OUT_OF_MEMORY",
    100: b"CUDA_ERROR_NO_DEVICE",
    222: b"CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
    999: b"CUDA_ERROR_UNKNOWN",
}
HANDLES, ADDRESSES = POINTER(c_void_p), POINTER(c_ulonglong)
HEADER = {
    "cuInit": (c_uint,),
    "cuDriverGetVersion": (POINTER(c_int),),
    "cuGetErrorName": (c_int, POINTER(c_char_p)),
    "cuDeviceGet": (POINTER(c_int), c_int),
    "cuDeviceGetAttribute": (POINTER(c_int), c_int, c_int),
    "cuCtxGetDevice": (POINTER(c_int),),
    "cuDevicePrimaryCtxRetain": (HANDLES, c_int),
    "cuCtxGetCurrent": (HANDLES,),
    "cuCtxSetCurrent": (c_void_p,),
    "cuCtxPushCurrent_v2": (c_void_p,),
    "cuCtxPopCurrent_v2": (HANDLES,),
    "cuModuleLoadData": (HANDLES, c_void_p),
    "cuModuleGetFunction": (HANDLES, c_void_p, c_char_p),
    "cuMemAlloc_v2": (ADDRESSES, c_size_t),
    "cuMemFree_v2": (c_ulonglong,),
    "cuMemAllocAsync": (ADDRESSES, c_size_t, c_void_p),
    "cuMemFreeAsync": (c_ulonglong, c_void_p),
    "cuMemcpyHtoD_v2": (c_ulonglong, c_void_p, c_size_t),
    "cuMemcpyDtoH_v2": (c_void_p, c_ulonglong, c_size_t),
    "cuMemsetD8Async": (c_ulonglong, c_ubyte, c_size_t, c_void_p),
    "cuStreamSynchronize": (c_void_p,),
    "cuStreamWaitEvent": (c_void_p, c_void_p, c_uint),
    "cuEventCreate": (HANDLES, c_uint),
    "cuEventRecord": (c_void_p, c_void_p),
    "cuEventQuery": (c_void_p,),
    "cuEventDestroy_v2": (c_void_p,),
    "cuFuncSetAttribute": (c_void_p, c_int, c_int),
    "cuLaunchKernel": (c_void_p, *(c_uint,) * 7, c_void_p, HANDLES, HANDLES),
}


class FakeCuda:
    """The shared library of a driver; `fails` has the number of the error that a function gives."""

    def __init__(self, **fails: int) -> None:
        self.fails = fails
        self.calls: list[str] = []
        self.memory: dict[int, ctypes.Array] = {}
        self.modules: list[bytes] = []
        self.context: int | None = None
        self.gpus = 1
        self.destroyed = 0
        self.stack: list[int | None] = []
        self.streams: list[int] = []  # of launches
        self.events: dict[int, int] = {}  # the stream of each
        self.waits: list[tuple[int, int]] = []  # of a stream for another
        self.copied_in: list[int] = []  # sizes
        self.copied_out: list[int] = []
        self.waited: list[int] = []
        self.launched: list[tuple[str, tuple[int, ...], bytes]] = []
        for name, arguments in HEADER.items():
            setattr(self, name, CFUNCTYPE(c_int, *arguments)(self.answer(name)))

    def answer(self, name):
        work = getattr(self, name.removeprefix("cu").removesuffix("_v2"))

        def answered(*arguments):
            self.calls.append(name)
            if name in self.fails:
                return self.fails[name]
            try:
                work(*arguments)
            except Exception:  # C has none, and ctypes would leave the result to chance
                traceback.print_exc()
                return 999
            return 0

        return answered

    def Init(self, flags):  # noqa: N802  as the driver has it, and so below
        assert flags == 0

    def DriverGetVersion(self, version):  # noqa: N802
        version[0] = 10020

    def GetErrorName(self, code, name):  # noqa: N802
        name[0] = ERRORS[code]

    def DeviceGet(self, device, number):  # noqa: N802
        assert 0 <= number < self.gpus
        device[0] = 7 + number

    def DeviceGetAttribute(self, value, attribute, device):  # noqa: N802
        value[0] = {75: 9, 76: 0}[attribute]

    def CtxGetDevice(self, device):  # noqa: N802
        assert self.context
        device[0] = 7 + (self.context - 0x7000) // 0x1000

    def DevicePrimaryCtxRetain(self, context, device):  # noqa: N802
        context[0] = 0x7000 + 0x1000 * (device - 7)

    def CtxGetCurrent(self, context):  # noqa: N802
        context[0] = self.context

    def CtxSetCurrent(self, context):  # noqa: N802
        self.context = context

    def CtxPushCurrent(self, context):  # noqa: N802
        self.stack.append(self.context)
        self.context = context

    def CtxPopCurrent(self, context):  # noqa: N802
        context[0] = self.context
        self.context = self.stack.pop()

    def ModuleLoadData(self, module, image):  # noqa: N802
        assert self.context
        self.modules.append(ctypes.string_at(image))  # up to the zero that ends it
        module[0] = len(self.modules)

    def ModuleGetFunction(self, function, module, name):  # noqa: N802
        assert name == b"batch"
        function[0] = 0x100 + module

    def MemAlloc(self, pointer, size):  # noqa: N802
        assert size > 0
        memory = ctypes.create_string_buffer(b"\xa5" * size, size)
        pointer[0] = ctypes.addressof(memory)
        self.memory[pointer[0]] = memory

    def MemFree(self, pointer):  # noqa: N802
        del self.memory[pointer]

    def MemAllocAsync(self, pointer, size, stream):  # noqa: N802
        self.MemAlloc(pointer, size)

    def MemFreeAsync(self, pointer, stream):  # noqa: N802
        self.MemFree(pointer)

    def MemcpyHtoD(self, pointer, source, size):  # noqa: N802
        assert size == len(self.memory[pointer])
        ctypes.memmove(pointer, source, size)
        self.copied_in.append(size)

    def MemcpyDtoH(self, target, pointer, size):  # noqa: N802
        assert size == len(self.memory[pointer])
        ctypes.memmove(target, pointer, size)
        self.copied_out.append(size)

    def StreamSynchronize(self, stream):  # noqa: N802
        self.waited.append(stream or 0)

    def MemsetD8Async(self, pointer, value, size, stream):  # noqa: N802
        ctypes.memset(pointer, value, size)

    def StreamWaitEvent(self, stream, event, flags):  # noqa: N802
        self.waits.append((stream or 0, self.events[event]))

    def EventCreate(self, event, flags):  # noqa: N802
        event[0] = 0xE000 + len(self.events) + self.destroyed
        self.events[event[0]] = -1

    def EventRecord(self, event, stream):  # noqa: N802
        self.events[event] = stream or 0

    def EventQuery(self, event):  # noqa: N802
        assert event in self.events

    def EventDestroy(self, event):  # noqa: N802
        del self.events[event]
        self.destroyed += 1

    def FuncSetAttribute(self, function, attribute, value):  # noqa: N802
        assert attribute == 8

    def LaunchKernel(self, function, *rest):  # noqa: N802
        (*grid, shared, stream, parameters, extra) = rest
        assert not extra
        self.streams.append(stream or 0)
        name, variant = named(self.modules[function - 0x101].decode().removeprefix("// "))
        module, _, local = name.rpartition(".")
        batch = getattr(importlib.import_module(module), local)
        assert (shared > 0) == variant.staged and grid[3] * grid[4] <= 1024
        kinds = variant.kinds(batch, calls.parsed(calls.calls()[name]))
        reading = _Reading(parameters)
        n, given = reading.whole(), tuple(map(reading.argument, kinds))
        assert not variant.staged or grid[0] * grid[3] >= n or grid[0] == cuda.MAX_BLOCKS
        self.launched.append((name + variant.suffix, tuple(grid), b"".join(reading.taken)))
        library.loop(batch)(0, n, n, tuple(given))
        for array, copy in reading.copies:
            array[...] = copy


class _Reading:
    """The parameters of a launch, one after the other."""

    def __init__(self, parameters) -> None:
        self.parameters = parameters
        self.copies: list[tuple[np.ndarray, np.ndarray]] = []  # of arrays that the library does not take as they lie
        self.taken: list[bytes] = []

    def bytes(self, size: int) -> bytes:
        self.taken.append(ctypes.string_at(self.parameters[len(self.taken)], size))
        return self.taken[-1]

    def whole(self) -> int:
        return struct.unpack("<q", self.bytes(8))[0]

    def argument(self, kind):
        if kind.scalar is bool:
            return bool(self.bytes(1)[0])
        if kind.scalar is float:
            return struct.unpack("<d", self.bytes(8))[0]
        if kind.scalar is int:
            return self.whole()
        if kind.dtype is None:
            return tuple(map(self.argument, kind.parts))
        meminfo, parent, items, size, data = (self.whole() for _ in range(5))
        shape, strides = ([self.whole() for _ in range(kind.axes)] for _ in range(2))
        dtype = np.dtype(np.float32) if kind.single else kind.dtype
        assert meminfo == parent == 0 and size == dtype.itemsize and items == np.prod(shape, dtype=int)
        if not items:
            return np.zeros(shape, kind.dtype)
        if kind.order == "F":
            assert strides == [size * int(np.prod(shape[:k])) for k in range(kind.axes)]
        if kind.order == "C":
            steps = [size * int(np.prod(shape[k + 1 :])) for k in range(kind.axes)]
            # Of an axis with one item the stride is anything.
            assert all(one == other or length < 2 for one, other, length in zip(steps, strides, shape, strict=True))
        reach = size + sum((length - 1) * step for length, step in zip(shape, strides, strict=True))
        memory = np.frombuffer((ctypes.c_char * reach).from_address(data), np.uint8)
        there = np.ndarray(shape, dtype, memory.data, 0, strides)
        if kind.order == "C" and not kind.single:
            return there
        self.copies.append((there, np.ascontiguousarray(there, kind.dtype)))
        return self.copies[-1][1]
