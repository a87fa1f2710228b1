"""How expressions become LLVM's code: in short for what kernels are full of, elements and numbers.

For an element of an array the compiler looks for the way to read it among dozens, anew for every
place, and writes out some fifty instructions that the optimiser takes away again. With an index for
each dimension a fifth of them is enough. For an operator on numbers one of which is written in the
source it first asks for a way that knows the number, and of whole and real numbers there is none.
"""

# The compiler has no types for what is overridden here.
# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

import operator
from typing import Any

from numba.core import cgutils, lowering, types
from numba.np.arrayobj import load_item, store_item

_NUMBERS = (types.int64, types.uint64, types.float64, types.boolean)
_POWERS = (operator.pow, operator.ipow)


class Lower(lowering.Lower):
    """The compiler's own, but for elements of arrays and operators on numbers."""

    def lower_binop(self, resty: Any, expr: Any, op: Any) -> Any:
        """Apply an operator."""
        known = self.fndesc.calltypes[expr]
        if op in _POWERS or any(one not in _NUMBERS for one in known.args):
            return super().lower_binop(resty, expr, op)
        context = self.context.typing_context
        function = context.resolve_value_type(op)
        if known.args not in function._impl_keys:  # ``+=`` was looked for, and ``+`` is meant
            function.get_call_type(context, known.args, {})
        given = [self._cast_var(one, kind) for one, kind in zip((expr.lhs, expr.rhs), known.args)]
        result = self.context.get_function(function, known)(self.builder, given)
        return self.context.cast(self.builder, result, known.return_type, resty)

    def lower_getitem(self, resty: Any, expr: Any, value: Any, index: Any, signature: Any) -> Any:
        """Read an element."""
        at = self._address(value, index, signature)
        if at is None:
            return super().lower_getitem(resty, expr, value, index, signature)
        element = load_item(self.context, self.builder, signature.args[0], at)
        return self.context.cast(self.builder, element, signature.return_type, resty)

    def lower_setitem(self, target_var: Any, index_var: Any, value_var: Any, signature: Any) -> Any:
        """Write an element."""
        at = None
        if signature.args[2] in _NUMBERS:
            at = self._address(target_var, index_var, signature)
        if at is None:
            return super().lower_setitem(target_var, index_var, value_var, signature)
        array = signature.args[0]
        value = self._cast_var(value_var, signature.args[2])
        value = self.context.cast(self.builder, value, signature.args[2], array.dtype)
        store_item(self.context, self.builder, array, value, at)

    def _address(self, array: Any, index: Any, signature: Any) -> Any:
        """Return where an element is, if the index has a whole number for every dimension."""
        kind, given = signature.args[:2]
        many = isinstance(given, types.BaseTuple)
        numbers = given.types if many else (given,)
        if (
            not isinstance(kind, types.Array)
            or self.context.enable_boundscheck
            or kind != self.typeof(array.name)
            or len(numbers) != kind.ndim
            or any(one != types.intp for one in numbers)
        ):
            return None
        builder, model = self.builder, self.context.data_model_manager[kind]
        whole, place = self.loadvar(array.name), self._cast_var(index, given)
        places = [place]
        if many:
            places = cgutils.unpack_tuple(builder, place, kind.ndim)

        def lengths(name: str) -> list[Any]:
            field = model.get_field_position(name)
            return [builder.extract_value(whole, (field, i)) for i in range(kind.ndim)]

        data = builder.extract_value(whole, model.get_field_position("data"))
        shape, strides = lengths("shape"), lengths("strides") if kind.layout == "A" else []
        return cgutils.get_item_pointer2(
            self.context, builder, data, shape, strides, kind.layout, places, wraparound=True
        )
