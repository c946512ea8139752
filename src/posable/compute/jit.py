"""Compiling kernels with Numba: for those who write kernels, and where no compiled library is at hand.

Numba's own cache does not notice when a helper in another file changes (its callers keep the old code), so
ours lies in a folder named by a hash of every kernel source, the Numba version and the Python version.

Kernels use more of Numba than its public interface, to compile and start sooner (`numba_inline`). With a Numba that was
not tried they do without: they are compiled in Numba's plain way, in every process anew, and give the same answers. The
environment variable `POSABLE_PLAIN_NUMBA=1` asks for that way with any Numba.
"""

from __future__ import annotations

import ast
import dis
import hashlib
import inspect
import os
import shutil
import sys
import textwrap
import time
import types
import warnings
from collections.abc import Callable
from functools import cache, lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import numba

from .errors import PosableError
from .files import cache_dir
from .sources import kernel_sources

TRIED = ((0, 61), (0, 68))  # oldest and newest Numba for `numba_inline`: both ends and 0.64 were tried
CACHE_DAYS = 30  # compiled code of versions nobody used for this long is removed

__all__ = ["compile_kernel", "compile_loop", "of_rows"]


def compile_kernel(function: Callable[..., Any], fused: bool) -> Any:
    """Return a kernel as Numba's dispatcher, which compiles it when it is first called.

    `error_model="numpy"` makes a division by zero give infinity instead of raising, as on a GPU.
    """
    more: Any = {"fastmath": {"contract"}} if fused else {}
    compiled = _compiled(function, **more)
    private = private_numba()
    if private is not None and compiled is not function:  # the JIT is on
        private.call_twin(compiled, lambda: _compiled(_renamed(function, "inner"), **private.TWIN_OPTIONS, **more))
    return compiled


def compile_loop(function: Callable[..., None]) -> Any:
    """Return a batch's loop over some of its rows, `(first, last, n, *arrays)`, as Numba's dispatcher."""
    return _compiled(of_rows(with_compiled_kernels(function)))


def of_rows(function: Callable[..., None]) -> types.FunctionType:
    """Return a batch's function `(n, *arrays)` as one of `(first, last, n, *arrays)`, for rows first to last - 1.

    Its loop `for i in prange(n)` becomes `for i in range(first, last)`; all else stays as written, in its lines.
    """
    source = cast("types.FunctionType", function)
    lines, number = inspect.getsourcelines(source)
    tree = ast.parse(textwrap.dedent("".join(lines)))
    definition = cast("ast.FunctionDef", tree.body[0])
    definition.decorator_list = []
    definition.name = f"{source.__name__}_part"
    definition.args.args[:0] = [ast.arg("first_row"), ast.arg("last_row")]
    for argument in definition.args.args:
        argument.annotation = None
    definition.returns = None
    loops = [one for one in ast.walk(tree) if isinstance(one, ast.For) and ast.unparse(one.iter).startswith("prange(")]
    if len(loops) != 1:
        raise PosableError(f"{source.__qualname__} has {len(loops)} loops over prange; expected one")
    loops[0].iter = ast.parse("range(first_row, last_row)", mode="eval").body
    ast.fix_missing_locations(ast.increment_lineno(tree, number - 1))
    made: dict[str, Any] = {}
    exec(compile(tree, source.__code__.co_filename, "exec"), source.__globals__, made)
    part = cast("types.FunctionType", made[definition.name])
    part.__module__, part.__qualname__ = source.__module__, definition.name
    return part


@cache
def with_compiled_kernels(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function whose kernels, plain functions beside the compiled library, are Numba's dispatchers."""
    source = cast("types.FunctionType", function)
    names = source.__code__.co_names
    compiled: dict[str, Any] = {}
    for name in _globals(source.__code__) & source.__globals__.keys():
        value = source.__globals__[name]
        if _is_plain(value):
            compiled[name] = _dispatcher(value)
        elif isinstance(value, ModuleType) and value.__name__.startswith("posable."):  # as in `quaternion.rotate`
            inside = {
                inner: _dispatcher(one) for inner, one in vars(value).items() if _is_plain(one) and inner in names
            }
            compiled[name] = ModuleType(value.__name__)
            vars(compiled[name]).update({**vars(value), **inside})
    if not compiled:
        return function
    return types.FunctionType(
        source.__code__, {**source.__globals__, **compiled}, source.__name__, source.__defaults__, source.__closure__
    )


def _is_plain(value: Any) -> bool:
    """Return whether a value is a kernel that was left as a Python function."""
    return isinstance(value, types.FunctionType) and hasattr(value, "__fused__")


def dispatcher_of(kernel: Any) -> Any:
    """Return a kernel as Numba's dispatcher."""
    return _dispatcher(kernel) if _is_plain(kernel) else kernel


@cache
def _dispatcher(kernel: Callable[..., Any]) -> Any:
    return compile_kernel(with_compiled_kernels(kernel), cast("Any", kernel).__fused__)


def _globals(code: types.CodeType) -> set[str]:
    """Return the global names that a function uses; not its attributes, which may have the name of a kernel."""
    return {str(one.argval) for one in dis.get_instructions(code) if one.opname == "LOAD_GLOBAL"}


def _compiled(function: Callable[..., Any], **more: Any) -> Any:
    """Return the function as Numba's dispatcher, which compiles it when it is first called."""
    options: Any = {"error_model": "numpy", "nogil": True, **more}
    private = private_numba()
    # Without a folder of our own nothing is cached: Numba's own cache does not notice when a helper changes.
    return numba.njit(**options)(function) if private is None else private.cached(function, options, _cache_folder())


@lru_cache(maxsize=1)
def private_numba() -> ModuleType | None:
    """Return the module that uses Numba's private parts; None with a Numba it was not tried with."""
    version: Any = numba.version_info
    if not TRIED[0] <= (version.major, version.minor) <= TRIED[1]:
        warnings.warn(
            f"Numba {numba.__version__} was not tried with this version of Posable: kernels are compiled in its plain "
            "way, which takes longer, and at every start anew",
            RuntimeWarning,
            stacklevel=2,
        )
        return None
    if os.environ.get("POSABLE_PLAIN_NUMBA", "0") != "0":
        return None
    from . import numba_inline

    return numba_inline


def _renamed(function: Callable[..., Any], suffix: str) -> types.FunctionType:
    """Return a copy under another name: Numba's cache tells functions apart by name and line, not by options."""
    source = cast("types.FunctionType", function)
    name = f"{source.__name__}_{suffix}"
    copy = types.FunctionType(source.__code__, source.__globals__, name, source.__defaults__, source.__closure__)
    copy.__qualname__ = copy.__name__
    return copy


@lru_cache(maxsize=1)
def _cache_folder() -> Path:
    """The folder of compiled code for exactly these sources; folders nobody used for a month are removed."""
    config: Any = numba.config  # Numba's own cache does not tell code that checks indices from code that does not
    digest = hashlib.sha256(f"{numba.__version__} {sys.version} {config.BOUNDSCHECK} {kernel_sources()}".encode())
    digest.update(Path(__file__).with_name("numba_inline.py").read_bytes())
    root = cache_dir() / "kernels"
    ours = root / digest.hexdigest()[:16]
    try:
        ours.mkdir(parents=True, exist_ok=True)
        ours.touch()
        for other in root.iterdir():
            if time.time() - other.stat().st_mtime > CACHE_DAYS * 86400:
                shutil.rmtree(other, ignore_errors=True)
    except OSError:
        pass  # a read-only home: Numba then falls back to compiling in memory
    return ours
