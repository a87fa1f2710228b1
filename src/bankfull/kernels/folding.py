"""What is decided before anything is typed: answers that depend on the types of arguments alone.

Whether a policy wants something, whether a query has sets: hooks answer (``compiler.hook``), by the
type of their first argument, and most rules return a constant. Here the constant takes the place of
the call, so that the branch that is not taken is neither typed nor compiled, nor any function that
is called only there. ``memory.sets is None`` is decided in the same way.
"""

# The compiler has no types for what is overridden here.
# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

import dis
import operator
from types import FunctionType, ModuleType
from typing import Any

from numba.core import ir, types
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.ir_utils import get_definition, guard

from bankfull.kernels.dependencies import RULES


@register_pass(mutates_CFG=False, analysis_only=False)
class ConstantHooks(FunctionPass):
    """Write the answers of hooks that only ever give one answer in the place of their calls."""

    _name = "bankfull_constant_hooks"

    def __init__(self) -> None:
        FunctionPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        """Replace calls of hooks, and comparisons with None."""
        code = state.func_ir
        for block in code.blocks.values():
            for line in block.body:
                asked = line.value if isinstance(line, ir.Assign) else None
                answer = _folded(code, asked, state.args) if isinstance(asked, ir.Expr) else None
                if answer is not None:
                    meant = code._definitions[line.target.name]
                    line.value = ir.Const(answer[0], line.loc, use_literal_type=False)
                    meant[meant.index(asked)] = line.value
        return True


def _folded(code: Any, asked: Any, given: Any) -> tuple[Any] | None:
    """Return the value of an expression in a tuple, if the types of arguments decide it."""
    if asked.op == "call" and asked.args:
        hook = _callee(code, asked.func)
        if isinstance(hook, FunctionType) and hook in RULES:
            kind = _type(code, asked.args[0], given)
            return None if kind is None else _answer(_chosen(hook, kind))
    elif asked.op == "binop" and asked.fn in (operator.is_, operator.is_not):
        kind, other = _type(code, asked.lhs, given), guard(get_definition, code, asked.rhs)
        if kind is not None and isinstance(other, ir.Const) and other.value is None:
            return (isinstance(kind, types.NoneType) == (asked.fn is operator.is_),)
    return None


def _callee(code: Any, called: Any) -> Any:
    """Return the function that a variable stands for, if that is certain."""
    meant = guard(get_definition, code, called)
    if isinstance(meant, ir.Global | ir.FreeVar):
        return meant.value
    if isinstance(meant, ir.Expr) and meant.op == "getattr":
        module = _callee(code, meant.value)
        return getattr(module, meant.attr, None) if isinstance(module, ModuleType) else None
    return None


def _type(code: Any, variable: Any, given: Any) -> Any:
    """Return the type of an argument of a function, or of a field of one."""
    meant = guard(get_definition, code, variable)
    if isinstance(meant, ir.Arg):
        return given[meant.index]
    if isinstance(meant, ir.Expr) and meant.op == "getattr":
        whole = _type(code, meant.value, given)
        if isinstance(whole, types.NamedTuple) and meant.attr in whole.fields:
            return whole.types[whole.fields.index(meant.attr)]
    return None


def _chosen(hook: Any, kind: Any) -> Any:
    rule = RULES[hook].get(getattr(kind, "instance_class", None), hook.__wrapped__)
    return getattr(rule, "py_func", rule)


def _answer(rule: Any) -> tuple[Any] | None:
    """Return what a function returns, if it does nothing but return a constant."""
    if rule not in _ANSWERS:
        done = [one for one in dis.get_instructions(rule) if one.opname not in ("RESUME", "NOP")]
        names = [one.opname for one in done]
        simple = names in (["LOAD_CONST", "RETURN_VALUE"], ["RETURN_CONST"])
        _ANSWERS[rule] = (done[0].argval,) if simple else None
    return _ANSWERS[rule]


_ANSWERS: dict[Any, tuple[Any] | None] = {}
