"""A library of arrays on a GPU that needs no GPU: its arrays lie in this process's memory, and no NumPy may look there.

It has what Posable uses of CuPy. An array that is turned into one of NumPy, or looked into, raises: so a test sees
every copy to the CPU, and everything that would wait. The driver beside it is `FakeCuda`.
"""

import types
from contextlib import contextmanager

import numpy as np

BASE = 0x10000000  # what `fake` adds to nothing: addresses are this process's own


class ndarray:  # noqa: N801  as CuPy has it
    """An array on GPU `device`."""

    def __init__(self, values: np.ndarray, device: int = 0) -> None:
        self._values, self.device = values, types.SimpleNamespace(id=device)

    dtype = property(lambda self: self._values.dtype)
    shape = property(lambda self: self._values.shape)
    ndim = property(lambda self: self._values.ndim)
    strides = property(lambda self: self._values.strides)
    flags = property(lambda self: types.SimpleNamespace(c_contiguous=self._values.flags.c_contiguous))
    T = property(lambda self: ndarray(self._values.T, self.device.id))
    data = property(lambda self: types.SimpleNamespace(ptr=self._values.ctypes.data))

    def __len__(self) -> int:
        return len(self._values)

    def __dlpack_device__(self):
        return (2, self.device.id)

    def _made(self, values) -> "ndarray":
        return ndarray(np.asarray(values), self.device.id)

    def reshape(self, *shape):
        return self._made(self._values.reshape(*shape))

    def view(self, dtype):
        return self._made(self._values.view(dtype))

    def astype(self, dtype):
        return self._made(self._values.astype(dtype))

    def copy(self):
        return self._made(self._values.copy())

    def __getitem__(self, index):
        plain = tuple(map(_plain, index)) if isinstance(index, tuple) else _plain(index)
        return self._made(self._values[plain])

    def __setitem__(self, index, values) -> None:
        self._values[index] = _plain(values)

    def __array__(self, *_, **__):
        raise TypeError("Implicit conversion to a NumPy array is not allowed")

    def __bool__(self):
        raise AssertionError("somebody waits for the GPU")

    __float__ = __int__ = __iter__ = __bool__

    def get(self) -> np.ndarray:
        """The way back to the CPU that a caller takes."""
        return self._values.copy()


for _name in ("add", "sub", "mul", "truediv", "and", "eq", "ne", "le", "lt", "ge", "gt", "radd", "rmul"):

    def _operate(self, other, name=f"__{_name}__"):
        return self._made(getattr(self._values, name)(_plain(other)))

    setattr(ndarray, f"__{_name}__", _operate)


def _plain(value):
    return value._values if isinstance(value, ndarray) else value


def fake(device_of_stream: dict[int, int] | None = None) -> types.ModuleType:
    """The module; `device_of_stream` has the current stream of each GPU."""
    module = types.ModuleType("cupy")
    streams = device_of_stream if device_of_stream is not None else {}
    now = [0]

    @contextmanager
    def device(number: int):
        now.append(number)
        yield
        now.pop()

    stream = lambda: types.SimpleNamespace(ptr=streams.get(now[-1], 0))  # noqa: E731
    module.cuda = types.SimpleNamespace(Device=device, get_current_stream=stream)
    module.ndarray = ndarray
    module.asarray = lambda values: ndarray(np.array(values), now[-1])
    module.empty = lambda shape, dtype: ndarray(
        np.frombuffer(bytearray(b"\xa5" * max(1, int(np.prod(shape)) * np.dtype(dtype).itemsize)), np.uint8)[
            : int(np.prod(shape)) * np.dtype(dtype).itemsize
        ]
        .view(dtype)
        .reshape(shape),
        now[-1],
    )
    module.full = lambda shape, value, dtype: ndarray(np.full(shape, value, dtype), now[-1])
    functions = (
        *("absolute", "add", "all", "amax", "any", "arcsin", "ascontiguousarray", "bitwise_and", "bitwise_or"),
        *("broadcast_to", "concatenate", "divide", "equal", "fmax", "greater", "greater_equal", "invert", "isfinite"),
        *(
            "less",
            "less_equal",
            "matmul",
            "maximum",
            "minimum",
            "multiply",
            "not_equal",
            "sqrt",
            "stack",
            "subtract",
            "sum",
        ),
        "where",
    )
    for name in functions:

        def call(*args, name=name, **kwargs):
            first = next((one for one in _flat(args) if isinstance(one, ndarray)), None)
            plain = [[_plain(x) for x in one] if isinstance(one, list) else _plain(one) for one in args]
            return ndarray(np.asarray(getattr(np, name)(*plain, **kwargs)), first.device.id)

        setattr(module, name, call)
    return module


def _flat(values):
    for one in values:
        if isinstance(one, list | tuple):
            yield from _flat(one)
        else:
            yield one
