"""Everything that Posable uses of Numba beyond its public interface, to compile sooner and to start sooner.

Numba treats every function as one that will be called from Python. It optimises it together with everything it calls
and makes machine code of that; then the function around it does the same again, with all of it inside, and so on up to
the loop. So a kernel has a twin that only other kernels call. The twin takes no arguments from Python (that was a third
of the time to compile a solver) and is only translated to LLVM's language; it is optimised once, in the loop that is
run: a new machine waits less, for the same answers, as fast (`python -m tools.measure_compiling` measures it).

Also here: a batch's whole code as a module, for the library; the folder of compiled code; counting no references in
kernels; the notice that kernels are compiled. `jit` imports this module only with the versions of Numba that were tried
(`jit.TRIED`).
"""

from __future__ import annotations

import atexit
import gc
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numba
from numba.core import cgutils, event
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler

from .compiling import jit_began, jit_is_quiet

__all__ = ["TWIN_OPTIONS", "cached", "call_twin", "module_of"]


def cached(function: Callable[..., Any], options: dict[str, Any], folder: Path) -> Any:
    """Return Numba's dispatcher of a function, whose compiled code is kept in a folder.

    Nothing counts references to arrays (`_nrt`): that took 40 atomic operations a limb in the kernels.
    """
    config: Any = numba.config  # Numba fills this module at run time
    previous, config.CACHE_DIR = config.CACHE_DIR, str(folder)  # read while it decorates, and only then
    try:
        dispatcher: Any = numba.njit(**{**options, "cache": True, "_nrt": False})(function)
    finally:
        config.CACHE_DIR = previous
    stored: Any = getattr(dispatcher, "_cache", None)  # a plain function where the JIT is off
    if stored is not None:
        save = stored.save_overload
        stored.save_overload = lambda signature, compiled: _saved_if_possible(save, signature, compiled)
    return dispatcher


def _saved_if_possible(save: Callable[[Any, Any], None], signature: Any, compiled: Any) -> None:
    """Keep compiled code for the next start; on a disk that is full, what was compiled is used all the same."""
    with suppress(OSError):
        save(signature, compiled)


def call_twin(compiled: Any, make_twin: Callable[[], Any]) -> None:
    """Let other kernels that call a dispatcher call its twin instead, which is made when first needed."""
    twin = lru_cache(maxsize=1)(make_twin)

    def template(args: Any, kws: Any) -> Any:
        return twin().get_call_template(tuple(map(_common_type, args)), kws)

    # These two are what Numba asks of a function that another one calls.
    compiled.get_call_template = template
    compiled.get_overload = lambda signature: twin().get_overload(signature)


def _common_type(argument: Any) -> Any:
    """Return the type to compile a twin for, given that of an argument: one for many that mean the same.

    A parallel loop counts without a sign, and Numba gives every constant a type of its own (also inside of tuples)
    though its value is handed over like any other; either would have all that is called compiled once more.
    """
    known: Any = numba.types
    return known.int64 if argument == known.uint64 else known.unliteral(argument)


class _TwinCompiler(Compiler):
    """Numba's compiler, which ends with code to be linked into what calls it."""

    def compile_extra(self, func: Any) -> Any:
        """Compile a Python function."""
        self.state.library = _TwinLibrary(self.state.targetctx.codegen(), func.__qualname__)
        self.state.library.enable_object_caching()
        return super().compile_extra(func)


class _TwinLibrary(JITCodeLibrary):
    """Code that is not optimised across functions and of which no machine code is made.

    What Numba makes machine code of, and keeps in its cache together with the code to link, is an empty module; it has
    the one variable that Numba sets in it.
    """

    def _optimize_final_module(self) -> None:
        """Do nothing: the caller's whole code is optimised when all of it is there."""

    def _finalize_final_module(self) -> None:
        """Hand the code over for linking, and an empty module to the machine."""
        empty = self._codegen._create_empty_module(self.name)
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage == llvm.Linkage.external:
                function.linkage = llvm.Linkage.linkonce_odr  # may be inlined, and left out where nothing calls it
                environment = cgutils.add_global_variable(
                    empty, cgutils.voidptr_t, f"_ZN08NumbaEnv{function.name.removeprefix('_ZN')}"
                )
                environment.linkage = "common"
                environment.initializer = cgutils.get_null_value(environment.type.pointee)
        self._shared_module, self._final_module = self._final_module, llvm.parse_assembly(str(empty))
        super()._finalize_final_module()


TWIN_OPTIONS: dict[str, Any] = {
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
    "pipeline_class": _TwinCompiler,
}


class _ModuleCompiler(Compiler):
    """Numba's compiler, which ends with an optimised module and makes no machine code of it."""

    def compile_extra(self, func: Any) -> Any:
        """Compile a Python function."""
        self.state.library = _ModuleLibrary(self.state.targetctx.codegen(), func.__qualname__)
        return super().compile_extra(func)


class _ModuleLibrary(_TwinLibrary):
    """Code that is optimised as a whole, for others to make machine code of."""

    def _optimize_final_module(self) -> None:
        JITCodeLibrary._optimize_final_module(self)


def module_of(function: Callable[..., Any], signature: tuple[Any, ...]) -> tuple[Any, str]:
    """Return the optimised module of a function for these types, with all that it calls, and its entry's name."""
    options: dict[str, Any] = {
        **{"error_model": "numpy", "nogil": True, "_nrt": False, "no_cpython_wrapper": True, "no_cfunc_wrapper": True},
        "pipeline_class": _ModuleCompiler,
    }
    dispatcher: Any = numba.njit(**options)(function)
    dispatcher.compile(signature)
    (made,) = dispatcher.overloads.values()
    return made.library._shared_module, made.fndesc.llvm_func_name


class _CompileNotice(event.Listener):
    """Tells once that kernels are being compiled, when it takes longer than a second; at exit, how many they were.

    Python's garbage collection is off meanwhile: it walks again and again through what the compiler builds.
    """

    def __init__(self) -> None:
        self.depth = 0
        self.done = 0
        self.began = 0.0
        self.seconds = 0.0
        self.shown = False
        self.collecting = False
        self.timer: threading.Timer | None = None

    def on_start(self, event: Any) -> None:
        if not self._is_ours(event):
            return
        if self.depth == 0:
            self.began = time.monotonic()
            jit_began(self.began)
            self.collecting = gc.isenabled()
            gc.disable()
            if not self.shown and not jit_is_quiet():
                self.timer = threading.Timer(1.0, self._show)
                self.timer.daemon = True
                self.timer.start()
        self.depth += 1

    def on_end(self, event: Any) -> None:
        if not self._is_ours(event):
            return
        self.depth -= 1
        self.done += 1
        if self.depth == 0:
            self.seconds += time.monotonic() - self.began
            jit_began(None)
            if self.collecting:
                gc.enable()
            if self.timer is not None:
                self.timer.cancel()

    def _show(self) -> None:
        self.shown = True
        atexit.register(self._sum_up)
        print("posable: compiling kernels for this machine, once; half a minute for a whole solver", file=sys.stderr)

    def _sum_up(self) -> None:
        print(
            f"posable: compiled {self.done} kernels in {self.seconds:.0f} s, kept for the next start", file=sys.stderr
        )

    @staticmethod
    def _is_ours(event: Any) -> bool:
        return str(event.data["dispatcher"].py_func.__module__).startswith("posable")


event.register("numba:compile", _CompileNotice())
