"""Forms of Arrow types in which rows are stored, and the way back to the form given.

Views and runs hold ordinary values in a form that Arrow cannot take rows from yet. Dictionaries
come anew with every batch: put together they would only ever grow, long after the last row that
needed a value has left, and outgrow their indices. All of them are written out when rows come in
and restored in the output, inside lists, structs and maps too.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


def plain_type(kind: pa.DataType) -> pa.DataType:
    """Return a type without views, runs and dictionaries, inside nested types too.

    >>> plain_type(pa.list_(pa.dictionary(pa.int8(), pa.string())))
    ListType(list<item: string>)
    """
    if isinstance(kind, pa.BaseExtensionType):
        plain = plain_type(kind.storage_type)
        return kind if plain == kind.storage_type else plain
    if pa.types.is_run_end_encoded(kind) or pa.types.is_dictionary(kind):
        return plain_type(kind.value_type)
    if pa.types.is_string_view(kind):
        return pa.large_string()
    if pa.types.is_binary_view(kind):
        return pa.large_binary()
    if _is_list_view(kind):
        return plain_type(pa.large_list(kind.value_field))
    return _rebuilt(kind, plain_type)


def bare_type(kind: pa.DataType) -> pa.DataType:
    """Return a plain type without extensions: that of the values, whatever they mean."""
    if isinstance(kind, pa.BaseExtensionType):
        return bare_type(kind.storage_type)
    plain = plain_type(kind)
    return bare_type(plain) if plain != kind else _rebuilt(kind, bare_type)


def output_type(kind: pa.DataType) -> pa.DataType:
    """Return the type of a column in results: indices of dictionaries have at least 32 bits.

    Results of one batch may hold more distinct values than each batch of the input did. The type
    must be the same for all, so it cannot wait for that to happen.

    >>> output_type(pa.dictionary(pa.int8(), pa.string()))
    DictionaryType(dictionary<values=string, indices=int32, ordered=0>)
    """
    if pa.types.is_dictionary(kind):
        index = kind.index_type if kind.index_type.bit_width >= 32 else pa.int32()
        return pa.dictionary(index, output_type(kind.value_type), kind.ordered)
    if pa.types.is_run_end_encoded(kind):
        wide = kind.run_end_type if kind.run_end_type.bit_width >= 32 else pa.int32()
        return pa.run_end_encoded(wide, output_type(kind.value_type))
    return kind if isinstance(kind, pa.BaseExtensionType) else _rebuilt(kind, output_type)


def _rebuilt(kind: pa.DataType, change: Callable[[pa.DataType], pa.DataType]) -> pa.DataType:
    """Return a nested type with its parts changed; others as they are."""

    def field(given: pa.Field) -> pa.Field:
        return given.with_type(change(given.type))

    if pa.types.is_list(kind):
        return pa.list_(field(kind.value_field))
    if pa.types.is_large_list(kind):
        return pa.large_list(field(kind.value_field))
    if pa.types.is_list_view(kind):
        return pa.list_view(field(kind.value_field))
    if pa.types.is_large_list_view(kind):
        return pa.large_list_view(field(kind.value_field))
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(field(kind.value_field), kind.list_size)
    if pa.types.is_map(kind):
        return pa.map_(field(kind.key_field), field(kind.item_field), kind.keys_sorted)
    if pa.types.is_struct(kind):
        return pa.struct([field(one) for one in kind])
    return kind


def plain_schema(schema: pa.Schema) -> pa.Schema:
    """Return a schema in which every column is plain and may be null."""
    return may_be_null(pa.schema([field.with_type(plain_type(field.type)) for field in schema]))


def may_be_null(schema: pa.Schema) -> pa.Schema:
    """Return a schema in which every column may be null, and so may everything within.

    Whether a column may have nulls is a remark about its values, and another batch, file or
    version of a query may remark otherwise about the same column.
    """
    return pa.schema([_nullable(field) for field in schema])


def _nullable(field: pa.Field) -> pa.Field:
    kind = field.type
    if pa.types.is_struct(kind):
        kind = pa.struct([_nullable(inner) for inner in kind])
    elif pa.types.is_fixed_size_list(kind):
        kind = pa.list_(_nullable(kind.value_field), kind.list_size)
    elif pa.types.is_list(kind):
        kind = pa.list_(_nullable(kind.value_field))
    elif pa.types.is_large_list(kind):
        kind = pa.large_list(_nullable(kind.value_field))
    elif pa.types.is_list_view(kind):
        kind = pa.list_view(_nullable(kind.value_field))
    elif pa.types.is_large_list_view(kind):
        kind = pa.large_list_view(_nullable(kind.value_field))
    elif pa.types.is_map(kind):
        kind = pa.map_(_nullable(kind.key_field).type, _nullable(kind.item_field), kind.keys_sorted)
    return pa.field(field.name, kind, nullable=True)


def to_form(values: pa.Array, kind: pa.DataType) -> pa.Array:
    """Bring values into another form of their type."""
    given = values.type
    if given == kind:
        return values
    if isinstance(kind, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(kind, to_form(values, kind.storage_type))
    if isinstance(given, pa.BaseExtensionType):
        return to_form(values.storage, kind)
    if pa.types.is_run_end_encoded(given):
        return to_form(pc.run_end_decode(values), kind)
    if pa.types.is_dictionary(given):
        return to_form(values.dictionary.take(values.indices), kind)
    if pa.types.is_run_end_encoded(kind):
        inner = to_form(values, kind.value_type)
        return pc.run_end_encode(inner, run_end_type=kind.run_end_type)
    if pa.types.is_dictionary(kind):
        return _encoded(to_form(values, kind.value_type), kind)
    if _is_list_view(given):
        return to_form(_written_out(values), kind)
    if _is_list_view(kind):
        return _viewed(to_form(values, pa.large_list(kind.value_field)), kind)
    if pa.types.is_nested(kind) and given.id == kind.id:
        return _nested(values, kind)
    return values.cast(kind)


def _is_list_view(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list_view(kind) or pa.types.is_large_list_view(kind))


def _written_out(values: pa.Array) -> pa.Array:
    """Write views of lists as lists, one behind the other.

    Views share the items that they point to: taken from an array, few of them hold all its items.
    """
    kind, count = values.type, len(values)
    alive = values.is_valid().to_numpy(zero_copy_only=False)
    lengths = np.where(alive, values.sizes.to_numpy(zero_copy_only=False), 0).astype(np.int64)
    starts = values.offsets.to_numpy(zero_copy_only=False)[:count].astype(np.int64)
    used = lengths > 0
    first, stop = 0, 0
    if used.any():
        first, stop = int(starts[used].min()), int((starts + lengths)[used].max())
    offsets = np.append(0, np.cumsum(lengths))
    places = np.arange(offsets[-1]) + np.repeat(starts - first - offsets[:-1], lengths)
    items = values.values.slice(first, stop - first)
    items = to_form(items, plain_type(items.type)).take(pa.array(places))
    form = pa.large_list(kind.value_field.with_type(items.type))
    return pa.LargeListArray.from_arrays(offsets, items, type=form, mask=pa.array(~alive))


def _viewed(values: pa.Array, kind: pa.DataType) -> pa.Array:
    """Write lists as views of their items."""
    array, index = pa.LargeListViewArray, "int64"
    if pa.types.is_list_view(kind):
        array, index = pa.ListViewArray, "int32"
    offsets = values.offsets.to_numpy()
    items = values.values.slice(offsets[0], offsets[-1] - offsets[0])
    starts, lengths = offsets[:-1] - offsets[0], np.diff(offsets)
    parts = [pa.array(part.astype(index)) for part in (starts, lengths)]
    return array.from_arrays(*parts, items, type=kind, mask=values.is_null())


def _encoded(values: pa.Array, kind: pa.DataType) -> pa.Array:
    """Write values as a dictionary of their own."""
    try:
        coded = values.dictionary_encode()
        indices, distinct = coded.indices, coded.dictionary
    except pa.ArrowNotImplementedError:  # of nested values: each is an entry
        places = pa.array(np.arange(len(values), dtype=np.int32))
        indices, distinct = pc.if_else(values.is_valid(), places, None), values
    indices = indices.cast(kind.index_type)
    return pa.DictionaryArray.from_arrays(indices, distinct, ordered=kind.ordered)


def _nested(values: pa.Array, kind: pa.DataType) -> pa.Array:
    """Bring what lies inside lists, structs and maps into another form."""
    absent = values.is_null() if values.null_count else None
    if pa.types.is_struct(kind) and kind.num_fields == values.type.num_fields > 0:
        parts = [to_form(values.field(k), kind.field(k).type) for k in range(kind.num_fields)]
        return pa.StructArray.from_arrays(parts, fields=list(kind), mask=absent)
    if pa.types.is_fixed_size_list(kind) and kind.list_size == values.type.list_size:
        width = kind.list_size
        items = values.values.slice(values.offset * width, len(values) * width)
        items = to_form(items, kind.value_type)
        return pa.FixedSizeListArray.from_arrays(items, type=kind, mask=absent)
    if not (pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_map(kind)):
        return values.cast(kind)
    if not len(values):
        return pa.nulls(0, kind)
    offsets = values.offsets
    first, stop = offsets[0].as_py(), offsets[-1].as_py()
    offsets = pc.subtract(offsets, offsets[0])
    if pa.types.is_map(kind):
        pairs = ((values.keys, kind.key_type), (values.items, kind.item_type))
        parts = [to_form(part.slice(first, stop - first), wanted) for part, wanted in pairs]
        return pa.MapArray.from_arrays(offsets, *parts, type=kind, mask=absent)
    items = to_form(values.values.slice(first, stop - first), kind.value_type)
    array = pa.ListArray if pa.types.is_list(kind) else pa.LargeListArray
    return array.from_arrays(offsets, items, type=kind, mask=absent)


def to_schema(rows: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Bring every column into the form that ``schema`` asks for."""
    if rows.schema.equals(schema, check_metadata=False):
        return rows
    columns = [
        to_form(values, field.type) for values, field in zip(rows.columns, schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)
