"""Arrays of kernels on a GPU that lie otherwise than the source says: in float32, or in the memory that a block shares.

Both are types of Numba, so that the source of a kernel, and of all kernels it calls, is compiled for them as it is.

- `stored_array`: float32 in memory, float64 as soon as it is read. A caller's float32 is read and written in place, and
  what is computed in between is what it is for float64.
- `staged`: a block of threads copies its rows of some arrays to the memory that it shares, all threads together, so
  that neighbouring threads read neighbouring numbers; each thread works on one row there; then the block copies back
  what was written. In C order the numbers of neighbouring rows lie a whole row apart, and a thread that reads or
  writes one moves 32 bytes for 8.

And `take_indices_as_they_are`: no kernel counts from an array's end, so none has to ask whether an index does.
"""

from __future__ import annotations

import types as python_types
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import Any

from .variants import WORD

AT_ONCE = 8  # words that a thread reads before it writes them

__all__ = ["staged", "stored_array", "take_indices_as_they_are"]


def _numba() -> Any:
    """Return numba-cuda, none of which carries types, with the parts of it that are used here."""
    for part in ("cgutils", "datamodel", "extending", "models", "types"):
        import_module(f"numba.cuda.{part}")
    return import_module("numba.cuda")


def stored_array(axes: int, order: str) -> Any:
    """Return the type of an array of float32 that is read and written as float64."""
    return _numba().types.Array(_stored_float(), axes, order)


@cache
def _stored_float() -> Any:
    """Return the type of float32 in memory that is float64 where it is computed with."""
    cuda, types = _numba(), _numba().types
    registered: Any = cuda.models.register_model
    arraydecl: Any = import_module("numba.cuda.typing.arraydecl")

    class StoredFloat(types.Number):  # type: ignore[name-defined,misc]
        def __init__(self) -> None:
            super().__init__(name="stored_float32")
            self.bitwidth = 32

    @registered(StoredFloat)
    class StoredFloatModel(cuda.datamodel.PrimitiveModel):  # type: ignore[name-defined,misc]
        def __init__(self, manager: Any, kind: Any) -> None:
            super().__init__(manager, kind, manager[types.float64].get_value_type())
            self._stored = manager[types.float32].get_value_type()

        def get_data_type(self) -> Any:
            return self._stored

        def as_data(self, builder: Any, value: Any) -> Any:
            return builder.fptrunc(value, self._stored)

        def from_data(self, builder: Any, value: Any) -> Any:
            return builder.fpext(value, self.get_value_type())

    @cuda.extending.lower_cast(types.Float, StoredFloat)  # type: ignore[untyped-decorator]
    def to_stored(context: Any, builder: Any, given: Any, requested: Any, value: Any) -> Any:
        return context.cast(builder, value, given, types.float64)

    stored, item_type = StoredFloat(), arraydecl.get_array_index_type

    def read_type(array: Any, index: Any) -> Any:
        found = item_type(array, index)
        is_item = found is not None and found.result == stored
        return found._replace(result=types.float64) if is_item else found

    arraydecl.get_array_index_type = read_type
    return stored


def take_indices_as_they_are() -> None:
    """Let numba-cuda take an index as it stands, where Python would count a negative one from the array's end."""
    types, arrayobj = _numba().types, import_module("numba.cuda.np.arrayobj")

    def plain(context: Any, builder: Any, kind: Any, index: Any, size: Any) -> Any:
        return context.cast(builder, index, kind, types.intp if kind.signed else types.uintp)

    setattr(arrayobj, "fix_integer_index", plain)  # noqa: B010


def staged(function: Any, names: Sequence[str], written: Mapping[str, bool]) -> Any:
    """Return a kernel whose blocks copy their rows of some arrays to shared memory, work there, and copy them back.

    A block has as many rows at once as it is wide; all its threads copy, those of its first line work.

    Args:
        function: the batch, its kernels compiled.
        names: of its arguments after the number of rows.
        written: of the arrays that are staged, in C order, whether they are written to: then as a whole.
    """
    cuda, tools = _numba(), _tools()

    @cuda.jit(device=True)  # type: ignore[untyped-decorator]
    def own_rows(n: int) -> range:
        return range(cuda.threadIdx.x, n if cuda.threadIdx.y == 0 else 0, cuda.blockDim.x)

    own = python_types.FunctionType(function.__code__, {**function.__globals__, "prange": own_rows}, "own_rows_of")
    scope = {**tools, "cuda": cuda, "rows": cuda.jit(device=True)(own)}
    exec(_text(names, written), scope)  # numba-cuda's kernels take no star
    return scope["staged_rows"]


def _text(names: Sequence[str], written: Mapping[str, bool]) -> str:
    """Return the source of a kernel that stages rows."""
    lines, end = ["height = cuda.blockDim.x", "shared = cuda.shared.array(0, int64)"], "0"
    for name in written:
        lines += [f"here_{name} = tile(shared, {end}, height, {name})"]
        lines += [f"end_{name} = {end} + height * here_{name}.strides[0]"]
        end = f"end_{name}"
    lines += ["first = cuda.blockIdx.x * height", "while first < n:"]
    body = ["count = min(height, n - first)"]
    body += [
        f"copy({name}, first, here_{name}, 0, count, {name})" for name, is_output in written.items() if not is_output
    ]
    passed = [f"here_{name}" if name in written else name for name in names]
    body += ["cuda.syncthreads()", f"rows(count, {', '.join(passed)})", "cuda.syncthreads()"]
    body += [f"copy(here_{name}, 0, {name}, first, count, {name})" for name, is_output in written.items() if is_output]
    body += ["cuda.syncthreads()", "first += cuda.gridDim.x * height"]
    inside = [f"    {line}" for line in [*lines, *(f"    {line}" for line in body)]]
    return "\n".join([f"def staged_rows(n, {', '.join(names)}):", *inside])


@cache
def _tools() -> dict[str, Any]:
    """Return what the kernels that stage rows call: `tile` and `copy`."""
    cuda, types = _numba(), _numba().types
    cgutils, intrinsic = cuda.cgutils, cuda.extending.intrinsic
    arrayobj: Any = import_module("numba.cuda.np.arrayobj")
    make_array, populate_array = arrayobj.make_array, arrayobj.populate_array
    stored = _stored_float()

    def word_of(array: Any) -> Any:
        return types.int32 if array.dtype == stored else types.int64

    @intrinsic  # type: ignore[untyped-decorator]
    def tile(typing: Any, shared: Any, offset: Any, height: Any, array: Any) -> Any:
        """So many rows of shared memory from an offset [bytes] on, as an array like another one; none where that has
        none.
        """
        made = types.Array(array.dtype, array.ndim, "A")

        def build(context: Any, builder: Any, signature: Any, given: Any) -> Any:
            whole = make_array(shared)(context, builder, given[0])
            like = make_array(array)(context, builder, given[3])
            strides = cgutils.unpack_tuple(builder, like.strides)

            def constant(number: int) -> Any:
                return context.get_constant(types.int64, number)

            words = builder.udiv(builder.add(strides[0], constant(WORD - 1)), constant(WORD))
            pitch = builder.mul(builder.or_(words, constant(1)), constant(WORD))  # `variants.row_bytes`
            result = make_array(made)(context, builder)
            data = cgutils.pointer_add(builder, whole.data, given[1], result.data.type)
            lengths = cgutils.unpack_tuple(builder, like.shape)
            is_left_out = builder.icmp_signed("==", lengths[0], constant(0))
            shape = [builder.select(is_left_out, constant(0), given[2]), *lengths[1:]]
            size = context.get_abi_sizeof(context.get_data_type(array.dtype))
            populate_array(result, data, shape, [pitch, *strides[1:]], size, None)
            return result._getvalue()

        return made(shared, types.int64, types.int64, array), build

    @intrinsic  # type: ignore[untyped-decorator]
    def words(typing: Any, array: Any) -> Any:
        """An array's memory, word by word."""
        made = types.Array(word_of(array), 1, "C")

        def build(context: Any, builder: Any, signature: Any, given: Any) -> Any:
            source, result = make_array(array)(context, builder, given[0]), make_array(made)(context, builder)
            size = context.get_abi_sizeof(context.get_data_type(made.dtype))
            data = builder.bitcast(source.data, result.data.type)
            populate_array(result, data, [source.nitems], [context.get_constant(types.intp, size)], size, None)
            return result._getvalue()

        return made(array), build

    @cuda.jit(device=True)  # type: ignore[untyped-decorator]
    def copy(source: Any, source_first: int, target: Any, target_first: int, count: int, like: Any) -> None:
        """Copy rows as long as those of `like`, all threads of the block together, neighbours neighbouring words.

        Each thread reads several words before it writes the first: memory is far away.
        """
        given, taken, last = words(source), words(target), min(count, len(like))
        size = given.itemsize
        width, across = like.strides[0] // size, cuda.blockDim.x * cuda.blockDim.y
        source_pitch, target_pitch = source.strides[0] // size, target.strides[0] // size
        me = cuda.threadIdx.x + cuda.blockDim.x * cuda.threadIdx.y
        row, column = me // width, me % width
        rows, columns = across // width, across % width
        numbers, indices = cuda.local.array(AT_ONCE, types.int64), cuda.local.array(AT_ONCE, types.int64)
        while row < last:
            for k in range(AT_ONCE):
                indices[k] = -1
                if row < last:
                    numbers[k] = given[(source_first + row) * source_pitch + column]
                    indices[k] = (target_first + row) * target_pitch + column
                row, column = row + rows, column + columns
                if column >= width:
                    row, column = row + 1, column - width
            for k in range(AT_ONCE):
                if indices[k] >= 0:
                    taken[indices[k]] = numbers[k]

    return {"tile": tile, "copy": copy, "int64": types.int64}
