"""How a batch uses its arrays, read from its source, for the library's door: rows, other lengths, and what is written.

A batch called with too few rows, or with positions of two numbers, would read and write past the end of an array, and
one that writes to a read-only array would break a promise. Here the source of a batch and of all kernels in it is
followed, with what they are called with.

- *Rows*: from the row's number `i` to every `array[i]`, `array[i, ...]` and `array[1, i, ...]`, along whichever axis it
  is. Where that is always run the array must have the rows. Where it stands under a condition, or after a possible
  return, the array may be left out: it has the rows, or none. What is not seen here is not checked.
- *Written*: wherever something is assigned to an item of the array, or of a part of it. This errs on the other side:
  an array that goes where this cannot follow counts as written to.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np

from .calls import Kind
from .errors import PosableError

NEVER, SOMETIMES, ALWAYS = range(3)
ROW = object()  # stands for the number of the row
DEEPEST = 40  # calls of kernels by kernels that are followed
LONGEST = 255  # that an axis may have to be: a byte of the library's table
READERS = {"len", "min", "max", "abs", "range", "prange", "float", "int", "bool", "isnan", "isfinite"}


@dataclass
class ArrayUse:
    """How one array is used.

    Attributes:
        rows: whether it is indexed by the row of the batch: NEVER, SOMETIMES or ALWAYS.
        axis: the one that is; 0 where none is.
        written: whether something may be assigned to its items.
        lengths: of each axis, how long it has to be: (where the array has items, always).
    """

    rows: int = NEVER
    axis: int = 0
    written: bool = False
    lengths: list[tuple[int, int]] = field(default_factory=list)

    def has_rows(self, axis: int, how: int) -> None:
        """Remember that an axis is indexed by the row; of several axes the first one that was seen is kept."""
        if self.rows == NEVER:
            self.axis = axis
        if axis == self.axis:
            self.rows = max(self.rows, how)

    def needs(self, axis: int, length: int, always: bool) -> None:
        """Remember that an axis has to have a length."""
        length = min(length, LONGEST)
        with_items, at_least = self.lengths[axis]
        self.lengths[axis] = (max(with_items, length), max(at_least, length) if always else at_least)


@dataclass(frozen=True)
class _View:
    """An array, or a part of one.

    Attributes:
        left: the array's axes that were not indexed yet.
        inner: axes of a field of its records, after those.
        dtype: of its items.
    """

    use: ArrayUse
    left: tuple[int, ...]
    inner: int
    dtype: np.dtype[Any]

    def key(self) -> object:
        return (id(self.use), self.left, self.inner, str(self.dtype))


@dataclass(frozen=True)
class _Number:
    """A whole number from 0 on; in a loop over a range, all up to `highest` in turn."""

    highest: int

    def key(self) -> object:
        return ("number", self.highest)


@dataclass(frozen=True)
class _Parts:
    """A tuple of values, with the names of its fields if it has any."""

    parts: tuple[Any, ...]
    fields: tuple[str, ...]

    def key(self) -> object:
        return (*map(_key, self.parts), self.fields)


@dataclass(frozen=True)
class _Either:
    """One of several values, or nothing of interest: what a name stands for after a branch or a loop."""

    values: tuple[Any, ...]

    def key(self) -> object:
        return ("either", *map(_key, self.values))


def _either(values: Sequence[Any]) -> Any:
    """Return one of several values; None where none of them is of interest."""
    flat = [one for value in values for one in (value.values if isinstance(value, _Either) else (value,))]
    known = {repr(_key(one)): one for one in flat if list(_views(one))}
    return _Either(tuple(known.values())) if known else None


def array_use(function: Callable[..., None], kinds: Sequence[Kind]) -> list[ArrayUse]:
    """Return, for each array among a batch's arguments from left to right, how it is used."""
    found: list[ArrayUse] = []
    arguments = [None, *(_value(kind, found) for kind in kinds)]
    _Walk(function, ALWAYS, True, 0, {}).follow(arguments)
    return found


def _value(kind: Kind, found: list[ArrayUse]) -> Any:
    if kind.dtype is not None:
        found.append(ArrayUse(lengths=[(0, 0)] * kind.axes))
        return _View(found[-1], tuple(range(kind.axes)), 0, kind.dtype)
    if kind.scalar is not None:
        return None
    fields = tuple(getattr(kind.named, "_fields", ()))
    return _Parts(tuple(_value(part, found) for part in kind.parts), fields)


def _key(value: Any) -> object:
    return value.key() if isinstance(value, _View | _Parts | _Either | _Number) else value is ROW


def _views(value: Any) -> Iterator[_View]:
    if isinstance(value, _View):
        yield value
    elif isinstance(value, _Parts | _Either):
        for part in value.parts if isinstance(value, _Parts) else value.values:
            yield from _views(part)


def _lose(value: Any) -> None:
    """Count every array in a value as written to: it goes where it is not followed."""
    for view in _views(value):
        view.use.written = True


@cache
def _definition(function: Any) -> ast.FunctionDef:
    made = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    assert isinstance(made, ast.FunctionDef)
    return made


class _Walk:
    """A walk through one function that is called with values of interest.

    `how` often it is run: SOMETIMES, ALWAYS, where every loop is taken to have an item; `sure`: also where not.
    """

    def __init__(self, function: Callable[..., Any], how: int, sure: bool, depth: int, seen: dict[object, Any]) -> None:
        self.function: Any = getattr(function, "py_func", function)
        self.how = how
        self.sure = sure
        self.depth = depth
        self.seen = seen
        self.known: dict[str, Any] = {}
        self.returned: list[Any] = []

    def follow(self, arguments: Sequence[Any]) -> Any:
        """Walk through the function's body, once for each kind of arguments; return what it returns."""
        key = (id(self.function), self.how, self.sure, tuple(map(_key, arguments)))
        if key in self.seen:
            return self.seen[key]
        definition = _definition(self.function)
        names = [argument.arg for argument in definition.args.args]
        self.known = dict(zip(names, arguments, strict=False))
        self.statements(definition.body)
        self.seen[key] = self.returned[0] if len(self.returned) == 1 else _either(self.returned)
        return self.seen[key]

    # Statements

    def statements(self, body: Sequence[ast.stmt]) -> None:
        """Walk through statements one after the other."""
        for one in body:
            if isinstance(one, ast.If | ast.While):
                self.value(one.test)
                self.sometimes([*one.body, *one.body] if isinstance(one, ast.While) else one.body)
                self.sometimes(one.orelse)
                if any(isinstance(part, ast.Return | ast.Continue | ast.Break) for part in ast.walk(one)):
                    self.how = SOMETIMES
            elif isinstance(one, ast.For):
                self.loop(one)
            elif isinstance(one, ast.Assign):
                value = self.value(one.value)
                for left in one.targets:
                    self.assign(left, value)
            elif isinstance(one, ast.AnnAssign):
                self.assign(one.target, self.value(one.value) if one.value is not None else None)
            elif isinstance(one, ast.AugAssign):
                self.value(one.value)
                self.assign(one.target, None)
            elif isinstance(one, ast.Return):
                self.returned.append(self.value(one.value) if one.value is not None else None)
            elif isinstance(one, ast.Expr):
                self.value(one.value)
            elif not isinstance(one, ast.Pass | ast.Continue | ast.Break):
                statement = ast.unparse(one).splitlines()[0]
                raise PosableError(
                    f"{self.function.__qualname__} has {statement!r}; expected assignments, loops, branches and calls"
                )

    def loop(self, one: ast.For) -> None:
        """Walk through a loop: over the rows, or over something that is taken to have an item."""
        _lose(self.value(one.iter))
        self.forget(one)
        over = getattr(one.iter.func, "id", "") if isinstance(one.iter, ast.Call) else ""
        last = self.value(one.iter.args[-1]) if isinstance(one.iter, ast.Call) and len(one.iter.args) < 3 else None
        sure = self.sure
        if over == "prange":
            assert isinstance(one.target, ast.Name)
            self.known[one.target.id] = ROW
        elif (
            over == "range" and isinstance(last, _Number) and isinstance(one.target, ast.Name) and self.runs(one, last)
        ):
            self.known[one.target.id] = _Number(last.highest - 1)
        else:
            self.sure = False
        self.statements([*one.body, *one.body])  # twice: a name bound at its end may be used at its beginning
        self.sure = sure
        self.forget(one)

    def runs(self, one: ast.For, last: _Number) -> bool:
        """Return whether a loop over numbers up to `last` always comes to the last one of them."""
        assert isinstance(one.iter, ast.Call)
        literal = isinstance(one.iter.args[-1], ast.Constant) or self.is_global(one.iter.args[-1])
        first = one.iter.args[0] if len(one.iter.args) == 2 else ast.Constant(0)
        begins = isinstance(first, ast.Constant) and isinstance(first.value, int) and first.value < last.highest
        ends = any(isinstance(part, ast.Return | ast.Break) for part in ast.walk(one))
        binds = {
            part.id
            for body in one.body
            for part in ast.walk(body)
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
        }
        return literal and begins and not ends and getattr(one.target, "id", "") not in binds

    def is_global(self, node: ast.expr) -> bool:
        """Return whether a name is a number of the module."""
        return isinstance(node, ast.Name) and node.id not in self.known and node.id in self.function.__globals__

    def sometimes(self, body: Sequence[ast.stmt]) -> None:
        """Walk through statements that may not be run."""
        how, known, self.how = self.how, dict(self.known), SOMETIMES
        self.statements(body)
        for name, value in self.known.items():
            if value is not known.get(name):
                known[name] = _either([known.get(name), value])
        self.how, self.known = how, known

    def forget(self, node: ast.AST) -> None:
        """Forget the names that are bound anywhere in a statement."""
        for one in ast.walk(node):
            if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store) and one.id in self.known:
                self.known[one.id] = _either([self.known[one.id]])

    def assign(self, left: ast.expr, value: Any) -> None:
        """Bind a value to a name, or its parts to several, or write to an item."""
        if isinstance(left, ast.Name):
            self.known[left.id] = value
        elif isinstance(left, ast.Tuple):
            fits = isinstance(value, _Parts) and len(left.elts) == len(value.parts)
            if not fits:
                _lose(value)
            for one, part in zip(left.elts, value.parts if fits else [None] * len(left.elts), strict=True):
                self.assign(one, part)
        else:
            assert isinstance(left, ast.Subscript | ast.Attribute)
            self.value(left)
            _lose(self.value(left.value))  # what is assigned is copied

    # Expressions

    def value(self, node: ast.expr) -> Any:
        """Return what an expression stands for among the arguments; None where it is nothing of them."""
        if isinstance(node, ast.Name):
            return self.known.get(node.id, _number(self.function.__globals__.get(node.id)))
        if isinstance(node, ast.Constant):
            return _number(node.value)
        if isinstance(node, ast.Attribute):
            return self.attribute(node)
        if isinstance(node, ast.Subscript):
            return self.item(node)
        if isinstance(node, ast.Tuple):
            return _Parts(tuple(map(self.value, node.elts)), ())
        if isinstance(node, ast.BoolOp | ast.IfExp):
            first, *others = node.values if isinstance(node, ast.BoolOp) else (node.test, node.body, node.orelse)
            values = [self.value(first)]
            how, self.how = self.how, SOMETIMES
            values += map(self.value, others)
            self.how = how
            return _either(values if isinstance(node, ast.BoolOp) else values[1:])
        if isinstance(node, ast.Call):
            return self.call(node)
        for part in ast.iter_child_nodes(node):
            if isinstance(part, ast.expr):
                found = self.value(part)
                if not isinstance(node, ast.BinOp | ast.UnaryOp | ast.Compare | ast.Slice):
                    _lose(found)
        return None

    def attribute(self, node: ast.Attribute) -> Any:
        """Return what `value.name` stands for: a field of a named tuple; numbers of an array."""
        inside = self.value(node.value)
        if isinstance(inside, _Either):
            return _either([_field(one, node.attr) for one in inside.values])
        return _field(inside, node.attr)

    def item(self, node: ast.Subscript) -> Any:
        """Return what `value[at]` stands for: a part of an array, a field of a record, an item of a tuple."""
        inside = self.value(node.value)
        at = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
        by_row = [self.value(one) is ROW for one in at]
        if isinstance(inside, _Either):
            return _either([_item(one, at, by_row, SOMETIMES) for one in inside.values])
        if isinstance(inside, _View):
            self.lengths(inside, at)
        return _item(inside, at, by_row, self.how)

    def lengths(self, view: _View, at: Sequence[ast.expr]) -> None:
        """Mark how long the axes of an array are, by what one is indexed with."""
        always = self.how == ALWAYS and self.sure
        for axis, one in zip(view.left, at, strict=False):
            if isinstance(one, ast.Slice) or (isinstance(one, ast.Constant) and isinstance(one.value, str)):
                continue
            number = self.highest(one) if always or isinstance(one, ast.Constant) else None
            view.use.needs(axis, 1 if number is None else number + 1, always)

    def highest(self, node: ast.expr) -> int | None:
        """Return the highest value of an index, of those that it takes in loops; None where it is not known."""
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Mult):
            left, right = self.highest(node.left), self.highest(node.right)
            if left is None or right is None:
                return None
            return left + right if isinstance(node.op, ast.Add) else left * right
        found = self.value(node) if isinstance(node, ast.Name | ast.Constant) else None
        return found.highest if isinstance(found, _Number) else None

    def call(self, node: ast.Call) -> Any:
        """Follow a call into a kernel; return the parts where it makes a named tuple."""
        given: list[Any] = []
        sure = not node.keywords
        for one in node.args:
            if not isinstance(one, ast.Starred):
                given.append(self.value(one))
                continue
            several = self.value(one.value)
            sure &= isinstance(several, _Parts)
            given += several.parts if isinstance(several, _Parts) else (several,)
        called = self.called(node.func)
        if isinstance(called, type) and sure:
            return _Parts(tuple(given), tuple(getattr(called, "_fields", ())))
        if called is not None and sure and self.depth < DEEPEST:
            if any(one is ROW or list(_views(one)) for one in given):
                return _Walk(called, self.how, self.sure, self.depth + 1, self.seen).follow(given)
        elif self.last_name(node.func) not in READERS:
            _lose(_Parts(tuple(given), ()))
        return None

    @staticmethod
    def last_name(node: ast.expr) -> str:
        return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")

    def called(self, node: ast.expr) -> Any:
        """Return the kernel, or the class of named tuples, that a call names."""
        names = self.function.__globals__
        found: Any = None
        if isinstance(node, ast.Name):
            found = names.get(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            module = names.get(node.value.id)
            found = getattr(module, node.attr, None) if isinstance(module, ModuleType) else None
        is_kernel = hasattr(found, "py_func") or hasattr(found, "__fused__")
        return found if is_kernel or (isinstance(found, type) and hasattr(found, "_fields")) else None


def _field(value: Any, name: str) -> Any:
    """Return what `value.name` stands for."""
    if isinstance(value, _Parts) and name in value.fields:
        return value.parts[value.fields.index(name)]
    if isinstance(value, _View) and name not in ("shape", "size", "ndim"):
        _lose(value)
    return None


def _item(value: Any, at: Sequence[ast.expr], by_row: Sequence[bool], how: int) -> Any:
    """Return what `value[at]` stands for, and mark an array that is indexed by the row; `by_row`: which of `at` are."""
    constant = at[0].value if isinstance(at[0], ast.Constant) else None
    if isinstance(value, _Parts):
        if isinstance(constant, int):
            return value.parts[constant]
        _lose(value)
        return None
    if not isinstance(value, _View):
        return None
    for axis, is_row in zip(value.left, by_row, strict=False):
        if is_row:
            value.use.has_rows(axis, how)
    if isinstance(constant, str):
        part = value.dtype[constant]
        return _scalar_or_view(value.use, value.left, value.inner + part.ndim, part.base)
    inner = sum(not isinstance(one, ast.Slice) for one in at[len(value.left) :])
    axes = [axis for k, axis in enumerate(value.left) if k >= len(at) or isinstance(at[k], ast.Slice)]
    return _scalar_or_view(value.use, tuple(axes), value.inner - inner, value.dtype)


def _scalar_or_view(use: ArrayUse, left: tuple[int, ...], inner: int, dtype: np.dtype[Any]) -> _View | None:
    """Return the part of an array that is left; None for a number."""
    return _View(use, left, inner, dtype) if left or inner > 0 or dtype.names else None


def _number(value: object) -> _Number | None:
    """Return a whole number that is no bool and not below zero."""
    is_one = isinstance(value, int | np.integer) and not isinstance(value, bool) and value >= 0
    return _Number(int(value)) if is_one else None  # type: ignore[call-overload]
