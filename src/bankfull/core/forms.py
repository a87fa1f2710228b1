"""Forms of Arrow types from which rows can be taken, and the way back to the form given.

String and binary views and run-end encoded columns hold ordinary values in a form that Arrow
cannot take rows from yet. They are written out when rows come in and restored in the output.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc


def plain_type(kind: pa.DataType) -> pa.DataType:
    """Return a type without views and runs, inside lists and structs too."""
    if pa.types.is_run_end_encoded(kind):
        return plain_type(kind.value_type)
    if pa.types.is_string_view(kind):
        return pa.large_string()
    if pa.types.is_binary_view(kind):
        return pa.large_binary()
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(plain_type(kind.value_type)))
    if pa.types.is_large_list(kind):
        return pa.large_list(kind.value_field.with_type(plain_type(kind.value_type)))
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(plain_type(field.type)) for field in kind])
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
    elif pa.types.is_map(kind):
        kind = pa.map_(_nullable(kind.key_field).type, _nullable(kind.item_field), kind.keys_sorted)
    return pa.field(field.name, kind, nullable=True)


def to_form(values: pa.Array, kind: pa.DataType) -> pa.Array:
    """Bring values into another form of their type."""
    if values.type == kind:
        return values
    if pa.types.is_run_end_encoded(values.type):
        return to_form(pc.run_end_decode(values), kind)
    if pa.types.is_run_end_encoded(kind):
        inner = to_form(values, kind.value_type)
        return pc.run_end_encode(inner, run_end_type=kind.run_end_type)
    return values.cast(kind)


def to_schema(rows: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Bring every column into the form that ``schema`` asks for."""
    if rows.schema.equals(schema, check_metadata=False):
        return rows
    columns = [
        to_form(values, field.type) for values, field in zip(rows.columns, schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)
