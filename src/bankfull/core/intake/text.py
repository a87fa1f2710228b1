"""Text that is not UTF-8: which rows have it, and the same values as bytes.

Arrow promises that strings are UTF-8 and does not look. Spark hands on whatever a source called a
string. One such row must not cost the rows that came with it.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

#: Text types and the types of the same bytes.
_BYTES = {
    pa.string(): pa.binary(),
    pa.large_string(): pa.large_binary(),
    pa.string_view(): pa.binary_view(),
}


def has_text(kind: pa.DataType) -> bool:
    """Whether values of a type are text, or have text within."""
    return bool(bytes_type(kind) != kind)


def bytes_type(kind: pa.DataType) -> pa.DataType:
    """Return a type with the same layout in which text is bytes.

    >>> bytes_type(pa.struct({"name": pa.string(), "tags": pa.list_(pa.string())}))
    StructType(struct<name: binary, tags: list<item: binary>>)
    """
    if kind in _BYTES:
        return _BYTES[kind]
    if isinstance(kind, pa.BaseExtensionType):
        return kind if not has_text(kind.storage_type) else bytes_type(kind.storage_type)
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(bytes_type(field.type)) for field in kind])
    if pa.types.is_map(kind):
        return pa.map_(bytes_type(kind.key_type), bytes_type(kind.item_type))
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(kind.value_field.with_type(bytes_type(kind.value_type)), kind.list_size)
    for is_list, make in ((pa.types.is_list, pa.list_), (pa.types.is_large_list, pa.large_list)):
        if is_list(kind):
            return make(kind.value_field.with_type(bytes_type(kind.value_type)))
    if pa.types.is_dictionary(kind):
        return pa.dictionary(kind.index_type, bytes_type(kind.value_type), kind.ordered)
    if pa.types.is_run_end_encoded(kind):
        return pa.run_end_encoded(kind.run_end_type, bytes_type(kind.value_type))
    return kind


def as_bytes(values: pa.Array) -> pa.Array:
    """Return the same values with text as bytes, without a copy."""
    kind = bytes_type(values.type)
    if kind == values.type:
        return values
    if isinstance(values, pa.ExtensionArray):
        return as_bytes(values.storage)
    if pa.types.is_dictionary(kind):
        # Arrow has no view of a dictionary as another one.
        return pa.DictionaryArray.from_arrays(
            values.indices, as_bytes(values.dictionary), ordered=kind.ordered, safe=False
        )
    if pa.types.is_run_end_encoded(kind):
        children = [values.run_ends, as_bytes(values.values)]
        return pa.RunEndEncodedArray.from_buffers(
            kind, len(values), [None], 0, values.offset, children
        )
    return values.view(kind)


def not_utf8(values: pa.Array) -> NDArray[np.bool_]:
    """Return which rows of a column have text that is not UTF-8.

    The whole column is looked at once. Only where that finds something, rows are: halves that
    are sound are not looked into further.
    """
    bad = np.zeros(len(values), np.bool_)
    if not has_text(values.type) or is_sound(values):
        return bad
    parts = [(0, len(values))]
    while parts:
        start, stop = parts.pop()
        # A copy of just these rows: validation looks at all items behind a list, used or not, so
        # that even a slice without a row may be found unsound.
        if start == stop or is_sound(_copy(values, start, stop)):
            continue
        if stop - start == 1:
            bad[start] = True
            continue
        middle = (start + stop) // 2
        parts += [(start, middle), (middle, stop)]
    return bad


def _copy(values: pa.Array, start: int, stop: int) -> pa.Array:
    if pa.types.is_dictionary(values.type):
        values = values.slice(start, stop - start)
        used = pa.array(np.unique(values.indices.drop_null().to_numpy()))
        return values.dictionary.take(used)
    return values.take(pa.array(np.arange(start, stop)))


def is_sound(values: pa.Array) -> bool:
    """Whether Arrow finds nothing wrong with a column."""
    try:
        values.validate(full=True)
    except pa.ArrowException:
        return False
    return True
