"""How a kernel is compiled that only other kernels call: a part, which is never run by itself.

Numba treats every function as one that will be called from Python. It optimises it together with everything it calls
and makes machine code of that; then the function around it does the same again, with all of it inside, and so on up to
the loop. A part is only translated to LLVM's language. What it becomes is decided once, in the loop that is run: a new
machine waits less, for the same answers, as fast (`python -m tools.measure_compiling` tells how long).

Uses Numba's own compiler from the inside, so `kernels` imports it only where that was tried (`kernels.TRIED`).
"""

from __future__ import annotations

from typing import Any

import llvmlite.binding as llvm
from numba.core import cgutils
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler

__all__ = ["PartCompiler"]


class PartCompiler(Compiler):
    """Numba's compiler, which ends with code to be linked into what calls it."""

    def compile_extra(self, func: Any) -> Any:
        """Compile a Python function."""
        self.state.library = _Part(self.state.targetctx.codegen(), func.__qualname__)
        self.state.library.enable_object_caching()
        return super().compile_extra(func)


class _Part(JITCodeLibrary):
    """Code that is not optimised across functions and of which no machine code is made.

    What Numba makes machine code of, and keeps in its cache beside the code to link, is an empty module; it has the
    one variable that Numba sets in it.
    """

    def _optimize_final_module(self) -> None:
        """Nothing: the caller's whole code is optimised when all of it is there."""

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
