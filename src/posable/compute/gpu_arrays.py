"""Arrays on a GPU in public calls: CuPy's, PyTorch's and JAX's come in, and the same library's go out.

A public call checks its arrays with `types.floats`. One that lies on a GPU becomes a `GpuArray` there: it looks like
NumPy's where the solvers look (`shape`, `reshape`, `np.broadcast_to`, ...), hands every such request to its own
library, and so stays where it is, in the order of its library's current stream. `empty` and `zeros` make room beside
it, a batch that is called with it runs on its GPU (`posable.compute.cuda`), and `unwrapped` gives the caller the
library's own array. Decided here:

- Nothing is copied to the CPU, and nothing waits, behind the caller's back: what would (`np.asarray`, `bool`, `float`)
  is a `PosableError` that says so. A call that does not know GPUs therefore fails with one sentence.
- float32 and float64 stay what they are; whole numbers become float64. All float arrays of one call have one dtype.
- JAX's arrays never change, and it has no stream that others could write in: kernels write to memory of the driver,
  which JAX takes over through DLPack, with an event between its stream and ours (`gpu_memory`).
"""

from __future__ import annotations

import importlib
import math
import sys
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from .errors import PosableError

CUDA = 2  # the device type of DLPack

__all__ = ["GpuArray", "GpuRecords", "empty", "first_on_gpu", "is_on_gpu", "unwrapped", "wrapped", "zeros"]


# A library's own names for what is done with an array


class Library:
    """One library's own names for what is done with its arrays; this is CuPy's, whose names are NumPy's."""

    name = "cupy"
    writes = True  # whether kernels may write to its arrays

    @property
    def module(self) -> Any:
        """The library itself."""
        return sys.modules.get(self.name) or importlib.import_module(self.name)

    def dtype(self, array: Any) -> np.dtype[Any]:
        """Return NumPy's dtype of an array."""
        return np.dtype(array.dtype)  # type: ignore[no-any-return]

    def device(self, array: Any) -> int:
        """Return the number of the GPU that an array lies on."""
        return int(array.device.id)

    def address(self, array: Any) -> int:
        """Return where its first item lies."""
        return int(array.data.ptr)

    def is_contiguous(self, array: Any) -> bool:
        """Return whether it is in C order, without gaps."""
        return bool(array.flags.c_contiguous)

    def contiguous(self, array: Any) -> Any:
        """Return it in C order, without gaps; itself where it is so."""
        return self.module.ascontiguousarray(array)

    def cast(self, array: Any, dtype: np.dtype[Any]) -> Any:
        """Return a copy with items of another dtype."""
        return array.astype(dtype)

    def assign(self, array: Any, values: Any) -> None:
        """Write values of any dtype into an array of the same shape."""
        array[...] = values

    def filled(self, shape: tuple[int, ...], dtype: np.dtype[Any], device: int, value: float | None) -> Any:
        """Return a new array full of a number, or of whatever lies there."""
        with self.module.cuda.Device(device):
            return self.module.empty(shape, dtype) if value is None else self.module.full(shape, value, dtype)

    def from_numpy(self, array: Any, device: int) -> Any:
        """Return a copy on the GPU of an array of the CPU."""
        with self.module.cuda.Device(device):
            return self.module.asarray(array)

    def stream(self, device: int) -> int:
        """Return the driver's handle of the stream that the caller works in."""
        with self.module.cuda.Device(device):
            return int(self.module.cuda.get_current_stream().ptr)

    def bytes_as(self, array: Any, dtype: np.dtype[Any]) -> Any:
        """Return an array of bytes as one of another dtype, of the same memory."""
        return array.view(dtype)

    def function(self, name: str) -> Callable[..., Any]:
        """Return the library's function of a name of NumPy's."""
        return getattr(self.module, name, _refused)

    def copy(self, array: Any) -> Any:
        """Return a copy."""
        return array.copy()

    def transposed(self, array: Any) -> Any:
        """Return an array with its axes reversed."""
        return array.T

    def strides(self, array: Any) -> tuple[int, ...]:
        """Return how many bytes lie between neighbours along each axis."""
        return tuple(array.strides)

    def repeat(self, target: Any, part: Any, count: int) -> None:
        """Fill an array of bytes with so many times those of an array of the CPU."""
        self.assign(target.reshape((count, -1)), self.from_numpy(part, self.device(target)).reshape((1, -1)))


class Torch(Library):
    """PyTorch's arrays, its tensors."""

    name = "torch"
    renamed: ClassVar[dict[str, str]] = {
        **{"concatenate": "cat", "invert": "bitwise_not", "absolute": "abs", "equal": "eq", "not_equal": "ne"},
    }

    def dtype(self, array: Any) -> np.dtype[Any]:
        name = str(array.dtype).removeprefix("torch.")
        return np.dtype(name) if name != "bfloat16" else np.dtype("V2")

    def torch_dtype(self, dtype: np.dtype[Any]) -> Any:
        """Return PyTorch's dtype of NumPy's."""
        return getattr(self.module, "bool" if dtype == np.bool_ else dtype.name)

    def device(self, array: Any) -> int:
        return int(array.device.index or 0)

    def address(self, array: Any) -> int:
        return int(array.data_ptr())

    def is_contiguous(self, array: Any) -> bool:
        return bool(array.is_contiguous())

    def contiguous(self, array: Any) -> Any:
        return array.contiguous()

    def strides(self, array: Any) -> tuple[int, ...]:
        return tuple(step * array.element_size() for step in array.stride())

    def transposed(self, array: Any) -> Any:
        return array.permute(*reversed(range(array.ndim)))

    def cast(self, array: Any, dtype: np.dtype[Any]) -> Any:
        return array.to(self.torch_dtype(dtype))

    def assign(self, array: Any, values: Any) -> None:
        array.copy_(values)

    def filled(self, shape: tuple[int, ...], dtype: np.dtype[Any], device: int, value: float | None) -> Any:
        how = {"dtype": self.torch_dtype(dtype), "device": f"cuda:{device}"}
        return self.module.empty(shape, **how) if value is None else self.module.full(shape, value, **how)

    def from_numpy(self, array: Any, device: int) -> Any:
        return self.module.tensor(array, device=f"cuda:{device}")

    def stream(self, device: int) -> int:
        return int(self.module.cuda.current_stream(device).cuda_stream)

    def bytes_as(self, array: Any, dtype: np.dtype[Any]) -> Any:
        return array.view(self.torch_dtype(dtype))

    def function(self, name: str) -> Callable[..., Any]:
        return getattr(self.module, self.renamed.get(name, name), _refused)

    def copy(self, array: Any) -> Any:
        return array.clone()


class Jax(Library):
    """JAX's arrays, which nobody may write to."""

    name = "jax.numpy"
    writes = False

    def device(self, array: Any) -> int:
        return int(array.__dlpack_device__()[1])

    def is_contiguous(self, array: Any) -> bool:
        return True

    def contiguous(self, array: Any) -> Any:
        return array

    def filled(self, shape: tuple[int, ...], dtype: np.dtype[Any], device: int, value: float | None) -> Any:
        """Return memory of the driver, which kernels write to and JAX takes over (`taken_over`)."""
        from .gpu_memory import GpuMemory

        return GpuMemory(shape, dtype, device, value)

    def from_numpy(self, array: Any, device: int) -> Any:
        jax = importlib.import_module("jax")
        return jax.device_put(array, jax.local_devices(backend="gpu")[device])

    def stream(self, device: int) -> int:
        return 0

    def repeat(self, target: Any, part: Any, count: int) -> None:
        target.write(np.tile(part, count))

    def taken_over(self, memory: Any) -> Any:
        """Return an array of JAX of what kernels wrote."""
        jax = importlib.import_module("jax")
        if memory.dtype.itemsize == 8 and not jax.config.jax_enable_x64:
            half = {"f": np.float32, "i": np.int32}[memory.dtype.kind]
            memory = memory.cast(np.dtype(half))
        return importlib.import_module("jax.dlpack").from_dlpack(memory)

    def copy(self, array: Any) -> Any:
        """Return memory with the same numbers, which kernels may write to."""
        from . import gpu_casts, gpu_launch
        from .gpu_memory import GpuMemory

        made = GpuMemory(array.shape, np.dtype(array.dtype), self.device(array))
        wide = made.dtype.itemsize == 8
        kind, fields = (
            (made.dtype, gpu_casts.float_field_rows) if wide else (np.dtype("i4"), gpu_casts.whole_field_rows)
        )
        words = GpuArray(array.reshape(-1).view(kind), self)
        out = GpuMemory((words.size,), kind, made.device, owner=made.owner)
        gpu_launch.run_on_gpu(fields, words.size, words, 0, 1, out)
        return made


LIBRARIES: dict[str, Library] = {"cupy": Library(), "torch": Torch(), "jaxlib": Jax(), "jax": Jax()}
"""By the first word of the module that an array's class is in."""


def is_on_gpu(value: Any) -> bool:
    """Return whether a caller's value is an array on an NVIDIA GPU."""
    if isinstance(value, np.ndarray):
        return False
    where = getattr(value, "__dlpack_device__", None)
    if where is not None and not isinstance(value, type):
        try:
            return bool(where()[0] == CUDA)
        except Exception:  # a tensor without memory, say
            return False
    return hasattr(value, "__cuda_array_interface__")


def wrapped(value: Any, name: str = "an array") -> Any:
    """Return an array on a GPU as a `GpuArray`; everything else as it is."""
    if type(value) is np.ndarray or isinstance(value, GpuArray | GpuRecords) or not is_on_gpu(value):
        return value
    library = LIBRARIES.get(type(value).__module__.partition(".")[0])
    if library is None:
        known = "CuPy, PyTorch and JAX"
        raise PosableError(
            f"{name} is an array on a GPU of {type(value).__module__}; expected one of {known}, which take it over "
            "without a copy: cupy.asarray(array), torch.as_tensor(array, device='cuda')"
        )
    if getattr(value, "requires_grad", False):
        value = value.detach()
    return GpuArray(value, library)


def unwrapped(value: Any) -> Any:
    """Return the library's own array of a `GpuArray`; everything else as it is."""
    return value.array if type(value) is GpuArray else value


def first_on_gpu(*values: Any) -> Any:
    """Return the first `GpuArray` among values; None where there is none."""
    return next((value for value in values if isinstance(value, GpuArray | GpuRecords)), None)


def empty(shape: tuple[int, ...], like: Any, dtype: Any = None) -> Any:
    """Return room for an answer where the array `like` is: of `dtype`, by default float64, or that of a GPU's floats.

    `like` may be several arrays: on a GPU if one of them is.
    """
    if type(like) is np.ndarray:
        return np.empty(shape, np.float64 if dtype is None else dtype)
    return _room(shape, like, dtype, None)


def zeros(shape: tuple[int, ...], like: Any, dtype: Any = None) -> Any:
    """Return what `empty` does, with zeros in it; `dtype` may be of records."""
    return _room(shape, like, dtype, 0.0)


def full(shape: tuple[int, ...], value: float, like: Any, dtype: Any = None) -> Any:
    """Return what `empty` does, with a number in it."""
    return _room(shape, like, dtype, value)


def repeated(records: Any, count: int, like: GpuArray) -> GpuRecords:
    """Return so many times the one of records (1,), on the GPU of `like`."""
    made = zeros((count,), like, records.dtype)
    if count:
        like.library.repeat(made.data, np.frombuffer(records.tobytes(), np.uint8), count)
    return made  # type: ignore[no-any-return]


def empty_interleaved(shape: tuple[int, ...], like: Any) -> Any:
    """Return what `empty` does, with rows beside each other where those of `like` are."""
    if not (isinstance(like, GpuArray) and like.is_interleaved):
        return empty(shape, like)
    made = like.library.filled(shape[::-1], like.floats, like.device, None)
    return GpuArray(like.library.transposed(made), like.library)


def stored(array: Any) -> Any:
    """Return `contiguous(array)`; on a GPU, an array whose rows lie beside each other stays as it is."""
    return array if isinstance(array, GpuArray) and array.is_interleaved else contiguous(array)


def contiguous(array: Any) -> Any:
    """Return `np.ascontiguousarray(array)`, on a GPU too."""
    return array.contiguous() if isinstance(array, GpuArray) else np.ascontiguousarray(array)


def like_array(array: Any, like: Any) -> Any:
    """Return an array of the CPU where the array `like` is, copied to its GPU and in its dtype where that is one."""
    return like.paired(array) if isinstance(like, GpuArray) and isinstance(array, np.ndarray) else array


def _room(shape: tuple[int, ...], like: Any, dtype: Any, value: float | None) -> Any:
    on_gpu = first_on_gpu(*like) if isinstance(like, tuple) else first_on_gpu(like)
    if on_gpu is None:
        dtype = np.float64 if dtype is None else dtype
        if not value:  # zeros that nobody has touched yet are made by the threads that write to them
            return np.empty(shape, dtype) if value is None else np.zeros(shape, dtype)
        return np.full(shape, value, dtype)
    dtype = np.dtype(on_gpu.floats if dtype is None else dtype)
    library, device = on_gpu.library, on_gpu.device
    if dtype.names is None:
        return GpuArray(library.filled(shape, dtype, device, value), library)
    data = library.filled((math.prod(shape) * dtype.itemsize,), np.dtype(np.uint8), device, value)
    return GpuRecords(data, library, shape, dtype, on_gpu.floats)


# The arrays


def _refused(self: Any, *_: Any, **__: Any) -> Any:
    raise PosableError(
        "an array lies on a GPU where this call works on the CPU: copy it yourself where that is meant, with .get() of "
        "CuPy, .cpu() of PyTorch or jax.device_get (docs/gpu.md lists the calls that take arrays on a GPU)"
    )


class GpuArray(np.lib.mixins.NDArrayOperatorsMixin):
    """An array of a library on a GPU, with the face of NumPy's that solvers look at."""

    __slots__ = ("_array", "_memory", "library")

    def __init__(self, array: Any, library: Library) -> None:
        is_memory = not library.writes and hasattr(array, "owner")
        self._array = None if is_memory else array
        self._memory = array if is_memory else None
        self.library = library

    @property
    def array(self) -> Any:
        """The library's own array."""
        if self._array is None:
            self._array = self.library.taken_over(self._memory)  # type: ignore[attr-defined]
        return self._array

    @property
    def target(self) -> Any:
        """The library's array that kernels read and write, or the memory that will become one."""
        return self._array if self._memory is None else self._memory

    @property
    def shape(self) -> tuple[int, ...]:
        """As of NumPy's, like what follows."""
        return tuple(self.target.shape)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of items."""
        return math.prod(self.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy's dtype of the items."""
        return self._memory.dtype if self._memory is not None else self.library.dtype(self._array)

    @property
    def floats(self) -> np.dtype[Any]:
        """The dtype of floats beside this array."""
        return np.dtype(np.float32 if self.dtype == np.float32 else np.float64)

    @property
    def device(self) -> int:
        """The number of the GPU."""
        return self._memory.device if self._memory is not None else self.library.device(self._array)

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"GpuArray(shape={self.shape}, dtype={self.dtype}, {self.library.name} on GPU {self.device})"

    def reshape(self, *shape: Any) -> GpuArray:
        """As of NumPy's."""
        sizes = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple) else shape
        if self._memory is not None and self._array is None:
            return GpuArray(self._memory.reshape(sizes), self.library)
        return GpuArray(self.array.reshape(sizes), self.library)

    def astype(self, dtype: Any) -> GpuArray:
        """As of NumPy's, but itself where it has the dtype."""
        if self.dtype == np.dtype(dtype):
            return self
        return GpuArray(self.library.cast(self.array, np.dtype(dtype)), self.library)

    def copy(self) -> GpuArray:
        """As of NumPy's."""
        return GpuArray(self.library.copy(self.array), self.library)

    def __getitem__(self, index: Any) -> GpuArray:
        if self._memory is not None and self._array is None and isinstance(index, slice):
            return GpuArray(self._memory.part(*index.indices(len(self))[:2]), self.library)
        return GpuArray(self.array[unwrapped_all(index)], self.library)

    @property
    def is_interleaved(self) -> bool:
        """Whether rows lie beside each other in memory, whatever the order of the other axes."""
        if self._memory is not None or not self.library.writes or self.ndim < 2:
            return False
        return self.strides[0] == self.dtype.itemsize and min(self.strides) > 0

    @property
    def strides(self) -> tuple[int, ...]:
        """As of NumPy's."""
        return self.library.strides(self._array)

    def become(self, memory: Any) -> None:
        """Be, from now on, what kernels wrote with the axes reversed."""
        self._array, self._memory = self.library.transposed(self.library.taken_over(memory)), None  # type: ignore[attr-defined]

    def contiguous(self) -> GpuArray:
        """Return it in C order; itself where it is."""
        if self._memory is not None or self.library.is_contiguous(self._array):
            return self
        return GpuArray(self.library.contiguous(self._array), self.library)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method != "__call__" or kwargs:
            return _refused(self)
        return self._called(ufunc.__name__, inputs, {})

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if func is np.shape:
            return args[0].shape
        if func is np.ndim:
            return args[0].ndim
        return self._called(func.__name__, args, kwargs)

    def _called(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        made = self.library.function(name)(*map(self._as_item, args), **kwargs)
        return GpuArray(made, self.library)

    def _as_item(self, value: Any) -> Any:
        """Return an argument of a function as the library takes it."""
        if isinstance(value, tuple | list) and any(isinstance(one, GpuArray | np.ndarray) for one in value):
            return [self._as_item(one) for one in value]
        return unwrapped(self.paired(value) if isinstance(value, np.ndarray) else value)

    def paired(self, array: Any) -> GpuArray:
        """Return a copy on this GPU of an array of the CPU; its floats have the dtype of this one's."""
        array = array.astype(self.floats) if array.dtype.kind == "f" else array
        return GpuArray(self.library.from_numpy(np.ascontiguousarray(array), self.device), self.library)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return _refused(self)

    __array__ = __bool__ = __float__ = __int__ = __index__ = __iter__ = item = tolist = _refused
    __hash__ = None  # type: ignore[assignment]


def unwrapped_all(index: Any) -> Any:
    """Return an index with the arrays in it unwrapped."""
    return tuple(map(unwrapped, index)) if isinstance(index, tuple) else unwrapped(index)


class GpuRecords:
    """Records (a structured dtype) on a GPU, which no library has: bytes of the library's, a field being a view."""

    __slots__ = ("data", "dtype", "floats", "library", "shape")

    def __init__(self, data: Any, library: Library, shape: tuple[int, ...], dtype: Any, floats: np.dtype[Any]) -> None:
        self.data, self.library, self.shape, self.dtype, self.floats = data, library, shape, dtype, floats

    @property
    def device(self) -> int:
        """The number of the GPU."""
        return self.data.device if not self.library.writes else self.library.device(self.data)

    @property
    def target(self) -> Any:
        """The bytes that kernels read and write."""
        return self.data

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of items."""
        return math.prod(self.shape)

    def __len__(self) -> int:
        return self.shape[0]

    def reshape(self, *shape: Any) -> GpuRecords:
        """As of NumPy's, with all lengths known."""
        sizes = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple) else shape
        if -1 in sizes:
            sizes = np.empty(self.shape, np.bool_).reshape(sizes).shape
        return GpuRecords(self.data, self.library, tuple(sizes), self.dtype, self.floats)

    def __getitem__(self, name: Any) -> Any:
        """Return a field: (...), or (..., K) where it has several numbers; floats have the dtype of the call's.

        Of a slice, those rows (n,).
        """
        if isinstance(name, slice):
            first, last, _ = name.indices(len(self))
            size = self.dtype.itemsize * math.prod(self.shape[1:])
            data = (
                self.data[first * size : last * size]
                if self.library.writes
                else self.data.part(first * size, last * size)
            )
            return GpuRecords(data, self.library, (last - first, *self.shape[1:]), self.dtype, self.floats)
        kind, offset = self.dtype.fields[name][:2]
        if kind.shape:
            return self._numbers(kind, offset)
        return self._number(kind, offset)

    def _numbers(self, kind: np.dtype[Any], offset: int) -> GpuArray:
        """Return (..., K) a field of several numbers that lies so many bytes into each record."""
        base, count = kind.base, math.prod(kind.shape)
        each = [self._number(base, offset + k * base.itemsize) for k in range(count)]
        return np.stack(each, -1).reshape(*self.shape, *kind.shape)  # type: ignore[return-value]

    def _number(self, kind: np.dtype[Any], offset: int) -> GpuArray:
        """Return (...) one number that lies so many bytes into each record."""
        if not self.library.writes:
            made = self.data.field(kind, offset, self.dtype.itemsize, self.size).reshape(self.shape)
            return GpuArray(made.cast(self.floats) if kind.kind == "f" else made, self.library)
        step = self.dtype.itemsize // kind.itemsize
        items = self.library.bytes_as(self.data, kind)[offset // kind.itemsize :: step]
        made = GpuArray(items[: self.size].reshape(self.shape), self.library)
        return made.astype(self.floats) if kind.kind == "f" else made

    __array__ = __bool__ = __iter__ = _refused
    __hash__ = None  # type: ignore[assignment]
