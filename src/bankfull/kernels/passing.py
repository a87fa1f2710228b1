"""How large named tuples are passed between compiled functions: by address, not field by field.

The memory of a join has a dozen arrays. The compiler passes an array as seven words or more, so
every function that is given the memory had a hundred parameters, taken apart by whoever calls it
and put together again inside: most of what was compiled (``docs/decisions/0027``). Here a named
tuple is written down once, where Python calls a kernel, and from there on is its address. A field
is read where it is used. Kernels read fields by name and do nothing else with such a tuple.
"""

# The compiler has no types for what is overridden here.
# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

import hashlib
from typing import Any, TypeVar

from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils, types
from numba.core.boxing import unbox_tuple
from numba.core.datamodel.models import PrimitiveModel
from numba.core.datamodel.registry import register_default
from numba.core.imputils import lower_getattr_generic
from numba.extending import NativeValue, typeof_impl, unbox

Kind = TypeVar("Kind", bound=type)


def by_address(kind: Kind) -> Kind:
    """Have a named tuple passed by its address."""

    def typeof(value: Any, context: Any) -> Any:
        fields = [typeof_impl(one, context) for one in value]
        return None if None in fields else Addressed(fields, kind)

    typeof_impl.register(kind)(typeof)
    return kind


class Addressed(types.NamedTuple):
    """The type of a named tuple that is passed by address.

    Its name is part of the name of every function that it is passed to, and is looked up all the
    time; so it is short.
    """

    def __init__(self, fields: Any, kind: type) -> None:
        super().__init__(fields, kind)
        whole = f"{kind.__module__}.{kind.__qualname__}:{self.name}"
        self.name = f"{kind.__name__}-{hashlib.blake2b(whole.encode(), digest_size=8).hexdigest()}"

    @property
    def key(self) -> str:
        """What tells it from others."""
        return self.name


@register_default(Addressed)
class AddressedModel(PrimitiveModel):
    """Where the values of the fields lie."""

    def __init__(self, models: Any, kind: Addressed) -> None:
        fields = [models.lookup(one).get_value_type() for one in kind.types]
        super().__init__(models, kind, ir.LiteralStructType(fields).as_pointer())


@unbox(Addressed)
def _unbox(kind: Addressed, given: Any, c: Any) -> NativeValue:
    """Write the fields down where they stay for as long as the kernel runs."""
    fields = unbox_tuple(types.NamedTuple(kind.types, kind.instance_class), given, c)
    place = cgutils.alloca_once_value(c.builder, fields.value)
    return NativeValue(place, cleanup=fields.cleanup, is_error=fields.is_error)


@lower_getattr_generic(Addressed)
def _field(context: Any, builder: Any, kind: Addressed, place: Any, name: str) -> Any:
    """Read a field. Nothing changes one, so it may be read once and for all."""
    number = kind.fields.index(name)
    at = cgutils.gep_inbounds(builder, place, 0, number)
    value = builder.load(at)
    value.set_metadata("invariant.load", builder.module.add_metadata([]))
    return value
