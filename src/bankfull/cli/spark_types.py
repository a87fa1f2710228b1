"""Arrow types as Spark can hold them, and the way back.

Spark knows fewer types than Arrow: whole numbers with a sign, times in microseconds, one kind of
text and of list. Every column is widened to one of those, exactly or not at all: a value that
would change is refused. Times without a zone travel as UTC and lose the zone again at the end;
times of day and durations travel as whole microseconds.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from bankfull.core.store.forms import to_form
from bankfull.errors import PlanError

_WIDER = {
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.int64(),
    pa.float16(): pa.float32(),
    pa.large_string(): pa.string(),
    pa.string_view(): pa.string(),
    pa.large_binary(): pa.binary(),
    pa.binary_view(): pa.binary(),
    pa.date64(): pa.date32(),
    pa.null(): pa.string(),
}


def spark_type(kind: pa.DataType) -> pa.DataType:
    """Return the Arrow type in which Spark holds values of ``kind``.

    >>> spark_type(pa.list_(pa.uint8())), spark_type(pa.timestamp("s"))
    (ListType(list<item: int16>), TimestampType(timestamp[us, tz=UTC]))
    """
    if types.is_timestamp(kind):
        return pa.timestamp("us", "UTC")
    if types.is_time(kind) or types.is_duration(kind):
        return pa.int64()
    if types.is_dictionary(kind) or types.is_run_end_encoded(kind):
        return spark_type(kind.value_type)
    if types.is_fixed_size_binary(kind):
        return pa.binary()
    if types.is_decimal(kind):
        return pa.decimal128(min(38, kind.precision), kind.scale)
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return pa.list_(spark_type(kind.value_type))
    if types.is_map(kind):
        return pa.map_(spark_type(kind.key_type), spark_type(kind.item_type))
    if types.is_struct(kind):
        return pa.struct([(field.name, spark_type(field.type)) for field in kind])
    return _WIDER.get(kind, kind)


def spark_schema(schema: pa.Schema) -> pa.Schema:
    """Return the columns of a stream as Spark holds them."""
    return pa.schema([(field.name, spark_type(field.type)) for field in schema])


def to_spark(stream: str, rows: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Bring rows into Spark's types, or say which column does not fit and what to do."""
    columns = []
    for values, field in zip(rows.columns, schema, strict=True):
        try:
            columns.append(_widened(values, field.type))
        except pa.ArrowException as error:
            reason = str(error).splitlines()[0].rstrip(".")
            raise PlanError(
                f"column {field.name!r} of stream {stream!r} has type {values.type}, and Spark "
                f"cannot hold all its values: {reason}: cast it to {field.type} first, or use "
                "--engine embedded"
            ) from error
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def from_spark(
    rows: pa.RecordBatch, schema: pa.Schema, dictionaries: Mapping[str, pa.Array]
) -> pa.RecordBatch:
    """Bring Spark's rows back into the types that the embedded engine gives.

    ``dictionaries`` holds all values of every dictionary column: Arrow files want one dictionary
    for all batches.
    """
    columns = []
    for field in schema:
        values, known = rows.column(field.name), dictionaries.get(field.name)
        if known is None:
            columns.append(_restored(values, field.type))
        else:
            numbers = pc.index_in(values, value_set=known).cast(field.type.index_type)
            known = to_form(known, field.type.value_type)
            ordered = field.type.ordered
            columns.append(pa.DictionaryArray.from_arrays(numbers, known, ordered=ordered))
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _widened(values: pa.Array, kind: pa.DataType) -> pa.Array:
    if types.is_time(values.type):
        values = values.cast(pa.time64("us"))
    elif types.is_duration(values.type):
        values = values.cast(pa.duration("us"))
    return to_form(values, kind)


def _restored(values: pa.Array, kind: pa.DataType) -> pa.Array:
    if types.is_null(kind):
        return pa.nulls(len(values))
    if types.is_time(kind):
        return values.cast(pa.time64("us")).cast(kind)
    if types.is_duration(kind):
        return values.cast(pa.duration("us")).cast(kind)
    return to_form(values, kind)
