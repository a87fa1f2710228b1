"""How one function becomes code: the compiler's own passes, without those that kernels never need.

A join under a budget is a hundred small functions. Compiled in the standard way each of them is
typed, lowered, optimised and made into machine code, although nearly all only ever become part of
the few kernels that call them. Here

- an *inner* function (one without a way in from Python) stops at LLVM's intermediate code, of which
  only its own instructions are tidied up; what is optimised as a whole, and made into machine code,
  are kernels;
- passes that look for what our functions do not contain (closures, ``with``, array expressions,
  parallel loops) are left out; a user's policy may contain all of it and gets every pass;
- a function's options, part of the key under which the compiler remembers what an operator means,
  are hashed and compared once and not a hundred times a function.

The figures are in ``docs/decisions/0027``.
"""

# The compiler has no types for what is overridden here.
# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

import ctypes
from typing import Any

import llvmlite.binding as ll  # type: ignore[import-untyped]
from numba.core import compiler
from numba.core.caching import CompileResultCacheImpl
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.typed_passes import (
    AnnotateTypes,
    InlineOverloads,
    IRLegalization,
    NativeLowering,
    NoPythonBackend,
    NoPythonSupportedFeatureValidation,
    NopythonTypeInference,
    PreLowerStripPhis,
)
from numba.core.untyped_passes import (
    DeadBranchPrune,
    FixupArgs,
    GenericRewrites,
    IRProcessing,
    ReconstructSSA,
    RewriteSemanticConstants,
    TranslateByteCode,
)

#: What our own functions need, in the compiler's own order.
_PASSES = (
    TranslateByteCode,
    FixupArgs,
    IRProcessing,
    RewriteSemanticConstants,
    DeadBranchPrune,
    GenericRewrites,
    ReconstructSSA,
    DeadBranchPrune,
    NopythonTypeInference,
    PreLowerStripPhis,
    InlineOverloads,
    NoPythonSupportedFeatureValidation,
    IRLegalization,
    AnnotateTypes,
)


class Flags(compiler.Flags):
    """The options of one function, which no longer change: their hash is asked for all the time.

    The compiler makes options part of the key under which it remembers what an operator means.
    """

    __slots__ = ("hashed",)
    hashed: int

    def __hash__(self) -> int:
        return self.hashed

    def __eq__(self, other: object) -> bool:
        return self is other or super().__eq__(other)

    def copy(self) -> Flags:
        """Return itself."""
        return self


_FLAGS: dict[str, Flags] = {}


def _frozen(flags: Any) -> Flags:
    said = flags.summary()
    if said not in _FLAGS:
        made = Flags(flags)
        made.hashed = compiler.Flags.__hash__(flags)
        _FLAGS[said] = made
    return _FLAGS[said]


class Library(JITCodeLibrary):
    """The code of a kernel."""

    #: How hard each function alone is worked on, before all are linked and optimised together.
    level = 3

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout
        for function in ll_module.functions:
            if not function.is_declaration:  # the compiler would also set to work on names alone
                passes, builder = self._codegen._function_pass_manager(opt=self.level)
                passes.run(function, builder)


class InnerLibrary(Library):
    """The intermediate code of an inner function, to be linked into kernels.

    A little work on it pays: without any, constants stay behind addresses, with which the compiler
    keeps nothing on disk, and kernels take longer.
    """

    level = 1

    def _optimize_final_module(self) -> None:
        """Leave that to the kernels."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True

    @property
    def codegen(self) -> Any:
        """What makes code; it is told of no environment, as the function has none of its own."""
        return _NoEnvironment(self._codegen)

    def get_pointer_to_function(self, name: str) -> int:
        """Return where to enter from Python: nowhere (``compiler._Unwrapped``)."""
        self._ensure_finalized()
        return _NOWHERE_AT

    def serialize_using_object_code(self) -> tuple[str, str, bytes]:
        """Return what is kept on disk."""
        return self.name, "inner", self._get_module_for_linking().as_bitcode()


class _NoEnvironment:
    def __init__(self, codegen: Any) -> None:
        self._codegen = codegen

    def __getattr__(self, name: str) -> Any:
        return getattr(self._codegen, name)

    def set_env(self, name: str, environment: Any) -> None:
        """Do nothing."""


def _refuse(*arguments: Any) -> None:
    raise RuntimeError("an inner function was called from Python")


_NOWHERE = ctypes.PYFUNCTYPE(ctypes.py_object, *[ctypes.py_object] * 3)(_refuse)
_NOWHERE_AT = ctypes.cast(_NOWHERE, ctypes.c_void_p).value or 0


class CodeOnDisk(CompileResultCacheImpl):
    """How compiled functions are read back: of inner ones the intermediate code."""

    def rebuild(self, target_context: Any, payload: Any) -> Any:
        """Return what was compiled."""
        library = payload[0]
        if library[1] == "inner":
            target_context = _Loading(target_context)
        return super().rebuild(target_context, payload)


class _Loading:
    """A target context that reads inner libraries."""

    def __init__(self, context: Any) -> None:
        self._context = context

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)

    def codegen(self) -> _Loading:
        return self

    def unserialize_library(self, kept: Any) -> InnerLibrary:
        name, _, code = kept
        library = InnerLibrary(self._context.codegen(), name)
        library._final_module = library._shared_module = ll.parse_bitcode(code)
        library._finalized = True
        return library


@register_pass(mutates_CFG=True, analysis_only=False)
class Lowering(NativeLowering):
    """Lower a function into a library of our own."""

    _name = "bankfull_lowering"

    def run_pass(self, state: Any) -> bool:
        """Lower."""
        kind = InnerLibrary if state.flags.no_cpython_wrapper else Library
        state.library = kind(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return bool(super().run_pass(state))


class Pipeline(compiler.CompilerBase):
    """The compiler of kernels and of what they call."""

    def __init__(
        self,
        typingctx: Any,
        targetctx: Any,
        library: Any,
        args: Any,
        return_type: Any,
        flags: Any,
        locals: Any,
    ) -> None:
        super().__init__(typingctx, targetctx, library, args, return_type, _frozen(flags), locals)

    def define_pipelines(self) -> list[Any]:
        """Return the passes: a few for our own functions, all for those of others."""
        manager = PassManager("bankfull")
        if self.state.func_id.modname.startswith("bankfull."):
            for one in (*_PASSES, Lowering, NoPythonBackend):
                manager.add_pass(one, one.__name__)
        else:
            builder = compiler.DefaultPassBuilder
            every = builder.define_nopython_pipeline(self.state).passes
            manager.passes = [
                (Lowering if one is NativeLowering else one, said) for one, said in every
            ]
        manager.finalize()
        return [manager]
