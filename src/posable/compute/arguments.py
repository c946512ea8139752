"""Wrong arguments of public calls, told in words: which argument it was, what came and what was expected.

Each public function checks what it can name best by itself. What it does not foresee (text among numbers, an object
where a list was expected) fails somewhere inside, with an error of Python or NumPy that names nothing the caller wrote.
`explain_mistakes` lets every public callable of a room answer those too: the arguments are compared with their
annotations when an error has occurred, and only then, so a call that succeeds pays a fifth of a microsecond.

An argument that Python itself misses or does not know stays Python's TypeError, and so does an error that was raised by
code of the caller, such as a collision test that a solver calls.
"""

from __future__ import annotations

import enum
import functools
import inspect
import math
import os
import reprlib
import sys
import sysconfig
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import FunctionType, TracebackType
from typing import Any, SupportsIndex, TypeVar

import numpy as np

from .errors import PosableError

T = TypeVar("T")
PACKAGE = str(Path(__file__).parents[1]) + os.sep
RAW = (
    *(TypeError, ValueError, LookupError, AttributeError, ArithmeticError, AssertionError, BufferError),
    *(RecursionError, MemoryError),
)
"""What comes out of Python and NumPy where an argument is wrong."""
NUMBERS = ("ArrayLike", "Floats", "Ints", "Bools", "Vec3", "Quat", "NDArray", "ndarray")
WORDS = {
    **dict.fromkeys(NUMBERS, "numbers"),
    **{"float": "a number", "int": "a whole number", "str": "text", "bool": "True or False", "None": "None"},
    **{"PathLike": "a path", "Callable": "a function", "Mapping": "a mapping", "dict": "a mapping"},
    **{"Sequence": "a sequence", "Iterable": "an iterable", "Collection": "a collection", "tuple": "a tuple"},
}

__all__ = ["explain_mistakes", "explained"]


def explain_mistakes(room: str) -> None:
    """Let the public callables of a room explain wrong arguments; to be called at the end of its `__init__`.

    `room` is its `__name__`; its `__all__` has the names. Those that are loaded later are seen to by `lazy_names`.
    """
    module = sys.modules[room]
    for name in vars(module)["__all__"]:
        if name in vars(module):
            setattr(module, name, explained(vars(module)[name]))


def explained(value: T) -> T:
    """Return a public function that explains wrong arguments; of a class, the constructor and public methods do.

    As a decorator it serves classes that are no public names, and whose instances public callables return.
    """
    if isinstance(value, FunctionType) and _is_ours(value):
        function: Any = value
        made: T = _answering(function)
        home, name = sys.modules[function.__module__], str(function.__name__)
        if vars(home).get(name) is function:  # where pickle looks for it
            setattr(home, name, made)
        return made
    if isinstance(value, type) and not issubclass(value, BaseException | enum.Enum):
        for kind in value.__mro__:
            if _is_ours(kind):
                _explain_methods(kind)
    return value


def _is_ours(value: Any) -> bool:
    return str(value.__module__).startswith("posable.")


def _explain_methods(kind: type) -> None:
    for name, method in list(vars(kind).items()):
        if name.startswith("_") and name != "__init__":
            continue
        if isinstance(method, FunctionType):
            setattr(kind, name, _answering(method))
        elif isinstance(method, staticmethod | classmethod) and isinstance(method.__func__, FunctionType):
            setattr(kind, name, type(method)(_answering(method.__func__)))


def _answering(function: Any) -> Any:
    if hasattr(function, "__explains__"):
        return function

    @functools.wraps(function)
    def answering(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except PosableError:
            raise
        except RAW as error:
            explanation = explanation_of(function, args, kwargs, error)
            if explanation is None:
                raise
            raise explanation from error

    answering.__explains__ = True  # type: ignore[attr-defined]
    return answering


def explanation_of(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], error: BaseException
) -> PosableError | None:
    """Return what was wrong with a call that raised; None where the error is Python's own or the caller's."""
    try:
        bound = inspect.signature(function).bind(*args, **kwargs)
    except TypeError:
        return None  # an argument is missing, or not known
    if _is_of_caller(error.__traceback__):
        return None
    given = list(_given(bound))
    for test in (_fits, _is_finite):
        for name, value, annotation in given:
            if not test(value, annotation, getattr(function, "__globals__", {})):
                return PosableError(f"{name} is {_shown(value)}; expected {_expected(annotation)}")
    what = ", ".join(f"{name} {_described(value)}" for name, value, _ in given) or "no arguments"
    why = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return PosableError(f"{function.__qualname__} cannot work with {what} ({why}); see help({function.__qualname__})")


def _is_of_caller(traceback: TracebackType | None) -> bool:
    """Return whether an error passed through code that is neither ours nor an installed package's nor Python's."""
    installed = tuple(sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib", "purelib", "platlib"))
    while traceback is not None:
        file = traceback.tb_frame.f_code.co_filename
        typed = file.startswith(("<stdin", "<ipython"))  # other names without a folder are generated or compiled code
        if typed or (Path(file).is_absolute() and not file.startswith((PACKAGE, *installed))):
            return True
        traceback = traceback.tb_next
    return False


def _given(bound: inspect.BoundArguments) -> Iterator[tuple[str, Any, str]]:
    """Yield (name, value, annotation) of the arguments that were given."""
    for name, value in bound.arguments.items():
        parameter = bound.signature.parameters[name]
        annotation = "" if parameter.annotation is parameter.empty else str(parameter.annotation)
        if parameter.kind == parameter.VAR_POSITIONAL:
            yield from ((name, one, annotation) for one in value)
        elif parameter.kind == parameter.VAR_KEYWORD:
            yield from ((key, one, annotation) for key, one in value.items())
        elif name not in ("self", "cls"):
            yield name, value, annotation


def _alternatives(annotation: str) -> list[str]:
    """Return the parts of an annotation between its outermost bars, in their short names: "os.PathLike[str]"."""
    parts, depth = [""], 0
    for letter in annotation:
        depth += (letter == "[") - (letter == "]")
        if letter == "|" and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts if part.strip()]


def _base(kind: str) -> str:
    return kind.partition("[")[0].rpartition(".")[2]


def _fits(value: Any, annotation: str, names: Mapping[str, Any]) -> bool:
    """Return whether a value is of a kind that an annotation names; True where nobody can say."""
    kinds = _alternatives(annotation)
    return not kinds or any(_is_kind(value, kind, names) for kind in kinds)


def _is_kind(value: Any, kind: str, names: Mapping[str, Any]) -> bool:
    base, items = _base(kind), kind.partition("[")[2]
    tests: dict[str, Callable[[], bool]] = {
        "Any": lambda: True,
        "object": lambda: True,
        "bool": lambda: isinstance(value, bool | np.bool_ | int),
        "None": lambda: value is None,
        "float": lambda: isinstance(value, int | float | np.integer | np.floating),
        "int": lambda: isinstance(value, SupportsIndex) and not getattr(value, "shape", ()),
        "str": lambda: isinstance(value, str),
        "PathLike": lambda: isinstance(value, os.PathLike),
        "Callable": lambda: callable(value),
        "Mapping": lambda: isinstance(value, Mapping),
        "dict": lambda: isinstance(value, Mapping),
        "tuple": lambda: isinstance(value, Sequence | np.ndarray) and not isinstance(value, str | bytes),
        "list": lambda: isinstance(value, Sequence | np.ndarray) and not isinstance(value, str | bytes),
        **dict.fromkeys(NUMBERS, lambda: _are_numbers(value)),
        **dict.fromkeys(("Sequence", "Iterable", "Collection"), lambda: _are_items(value, items)),
    }
    if base in tests:
        return tests[base]()
    known = names.get(base)
    if isinstance(known, type):
        return isinstance(value, known)
    if any(one.__name__ == base for one in type(value).__mro__):
        return True
    # A class that only type checkers see is told from an alias by what came: nothing of the language's own is one.
    return known is not None or type(value).__module__ not in ("builtins", "numpy", "datetime")


def _are_items(value: Any, items: str) -> bool:
    if not isinstance(value, Iterable) or isinstance(value, str | bytes):
        return False
    return not (items == "str]" and isinstance(value, Sequence)) or all(isinstance(one, str) for one in value)


def _are_numbers(value: Any) -> bool:
    if value is None or isinstance(value, str | bytes):
        return False
    try:
        array = np.asarray(value)
        return array.dtype.kind in "fiub" or array.astype(np.float64).dtype == np.float64
    except Exception:
        return False


def _is_finite(value: Any, annotation: str, names: Mapping[str, Any]) -> bool:
    """Return whether a number is finite, and one that counts something not negative; True of all that is no number."""
    if not isinstance(value, float | np.floating):
        return True
    return math.isfinite(value)


def _expected(annotation: str) -> str:
    words = dict.fromkeys(WORDS.get(_base(kind), f"a {_base(kind)}") for kind in _alternatives(annotation))
    listed = " or ".join(words) or "something else"
    return f"{listed}, finite" if set(words) <= {"a number", "None"} and "a number" in words else listed


def _shown(value: Any) -> str:
    try:
        return reprlib.repr(value)
    except Exception:
        return f"a {type(value).__name__}"


def _described(value: Any) -> str:
    """Return an array by its shape, all else by its beginning."""
    return f"of shape {value.shape}" if isinstance(value, np.ndarray) and value.size > 4 else _shown(value)
