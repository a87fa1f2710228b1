"""How one function becomes code: the compiler's own passes, without those that kernels never need.

A join under a budget is a hundred small functions. Compiled in the standard way each of them is
typed, lowered, optimised and made into machine code, although nearly all only ever become part of
the few kernels that call them. Here

- an *inner* function (one without a way in from Python) stops at LLVM's intermediate code, of which
  only its own instructions are tidied up; what is optimised as a whole, and made into machine code,
  are kernels;
- what the types of arguments decide is decided before anything is typed (``folding.py``);
- passes that look for what our functions do not contain (closures, ``with``, array expressions,
  parallel loops) are left out; a user's policy may contain all of it and gets every pass;
- what an operator gives for types is looked up once;
- elements of arrays and named tuples become few instructions (``lowering.py``, ``passing.py``);
- a function's options, part of the key under which the compiler remembers what an operator means,
  are hashed and compared once and not a hundred times a function.

The figures are in ``docs/decisions/0027``.
"""

# The compiler has no types for what is overridden here.
# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

import ctypes
import gc
import operator
from typing import Any

import llvmlite.binding as ll  # type: ignore[import-untyped]
from llvmlite.ir import BaseStructType  # type: ignore[import-untyped]
from numba.core import compiler, types
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
from numba.core.typing.context import Context
from numba.core.untyped_passes import (
    DeadBranchPrune,
    FixupArgs,
    GenericRewrites,
    IRProcessing,
    ReconstructSSA,
    RewriteSemanticConstants,
    TranslateByteCode,
)

from bankfull.kernels.folding import ConstantHooks
from bankfull.kernels.lowering import Lower

#: What our own functions need, in the compiler's own order.
_PASSES = (
    TranslateByteCode,
    FixupArgs,
    IRProcessing,
    RewriteSemanticConstants,
    ConstantHooks,
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


def _is_ours(module: str) -> bool:
    return module.startswith("bankfull.")


class Typing(Context):
    """The compiler's knowledge of types, which remembers what it was asked.

    What an operator or a function gives for types is looked for among dozens of candidates, each
    of which may be tried twice, and every time anew.
    """

    _answers: dict[Any, tuple[Any, ...]]

    @classmethod
    def over(cls, context: Any) -> Typing:
        """Return one that shares everything with a context."""
        made = cls.__new__(cls)
        made.__dict__ = context.__dict__
        made.__dict__.setdefault("_answers", {})
        return made

    def resolve_function_type(self, func: Any, args: Any, kws: Any) -> Any:
        """Return the signature of a call."""
        if kws:
            return super().resolve_function_type(func, args, kws)
        if isinstance(func, types.Dispatcher) and _is_ours(func.dispatcher.py_func.__module__):
            # A number written in the source is like any other: one version of a function is enough.
            args = tuple(map(types.unliteral, args))
        key = (id(func), *map(id, args))  # the compiler has every type once
        if key not in self._answers:
            made = super().resolve_function_type(func, args, kws)
            if made is None:
                return None
            self._answers[key] = (made, func, args)  # so that no other gets their identities
        return self._answers[key][0]

    def resolve_setitem(self, target: Any, index: Any, value: Any) -> Any:
        """Return the signature of an assignment to an element."""
        return self.resolve_function_type(operator.setitem, (target, index, value), {})


#: How the name of a function begins that Python calls and that calls a kernel.
_WAY_IN = "_ZN7cpython"


class Library(JITCodeLibrary):
    """The code of a kernel."""

    #: How hard each function alone is worked on, before all are linked and optimised together.
    level = 3

    def add_ir_module(self, module: Any) -> None:
        """Take in a function; what an address leads to (``passing.py``) changes in no other way.

        Within a kernel it never changes. Where it is written down it does, so kernels are not made
        part of what calls them. That is the way in from Python, which unpacks some sixty arrays
        once for a thousand tuples: it is as large as the kernel, and is not optimised.
        """
        for function in module.functions:
            if not function.is_declaration and "alwaysinline" not in function.attributes:
                function.attributes.add("noinline")
                if function.name.startswith(_WAY_IN):
                    function.attributes.add("optnone")
                for one in function.args:
                    if isinstance(getattr(one.type, "pointee", None), BaseStructType):
                        one.add_attribute("noalias")
        super().add_ir_module(module)

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

    @property
    def lowering_class(self) -> Any:
        """What lowers."""
        return Lower

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
        super().__init__(
            Typing.over(typingctx), targetctx, library, args, return_type, _frozen(flags), locals
        )

    def _compile_core(self) -> Any:
        """Compile, without the search for unused objects, which goes through all that there are."""
        collects = gc.isenabled()
        gc.disable()
        try:
            return super()._compile_core()
        finally:
            if collects:
                gc.enable()

    def define_pipelines(self) -> list[Any]:
        """Return the passes: a few for our own functions, all for those of others."""
        manager = PassManager("bankfull")
        if _is_ours(self.state.func_id.modname):
            for one in (*_PASSES, Lowering, NoPythonBackend):
                manager.add_pass(one, one.__name__)
        else:
            builder = compiler.DefaultPassBuilder
            for one, said in builder.define_nopython_pipeline(self.state).passes:
                manager.add_pass(Lowering if one is NativeLowering else one, said)
                if one is RewriteSemanticConstants:
                    manager.add_pass(ConstantHooks, ConstantHooks.__name__)
        manager.finalize()
        return [manager]
