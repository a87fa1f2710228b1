"""Columns between Spark and Arrow: their types on the way in and out, their names, what is refused.

Inside the join, types do not depend on the session: instants are in UTC and strings are plain,
whatever the session's zone and its settings for Arrow say. A checkpoint made in one zone therefore
goes on in another.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from bankfull.core import Plan
from bankfull.core.plan import MASK
from bankfull.core.store.forms import may_be_null
from bankfull.errors import PlanError
from bankfull.spec import Query

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: The column of counts: null in a row of results, filled in a row that is nothing else.
COUNTS = "__counts"


def arrow_schema(name: str, frame: DataFrame) -> pa.Schema:
    """Return the columns of a stream as the join sees them."""
    from pyspark.sql.pandas.types import to_arrow_schema
    from pyspark.sql.types import StructType

    taken = [column for column in frame.columns if column in (COUNTS, MASK)]
    if taken:
        raise PlanError(
            f"stream {name!r} has a column {taken[0]!r}, a name of the join's own: rename it"
        )
    fields: list[pa.Field] = []
    for column in frame.schema.fields:
        try:
            fields += to_arrow_schema(StructType([column]), timezone="UTC")
        except Exception as error:
            raise PlanError(
                f"column {column.name!r} of stream {name!r} has type "
                f"{column.dataType.simpleString()}, which cannot be exchanged through Arrow: cast "
                f"it to another type, or leave it out ({error})"
            ) from error
    return may_be_null(pa.schema(fields))


def spark_schema(schema: pa.Schema) -> Any:
    """Return Spark's types for Arrow's."""
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(schema)


@lru_cache(maxsize=64)
def _wire(schema: pa.Schema, large: bool) -> pa.Schema:
    from pyspark.sql.pandas.types import to_arrow_schema

    return to_arrow_schema(spark_schema(schema), timezone="UTC", prefers_large_types=large)


def to_wire(rows: pa.RecordBatch, large: bool) -> pa.RecordBatch:
    """Return rows in the types that Spark expects from a Python worker, to the letter.

    Its timestamps count microseconds; with ``spark.sql.execution.arrow.useLargeVarTypes`` its
    strings and binary values are ``large``, which a worker can tell from what it is given.
    """
    schema = _wire(rows.schema, large)
    if schema.types == rows.schema.types:
        return rows
    columns = [
        values if values.type == field.type else values.cast(field.type)
        for values, field in zip(rows.columns, schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, names=schema.names)


def is_large(kind: pa.DataType) -> bool:
    """Tell from the type of a binary column whether Spark uses large types."""
    return bool(pa.types.is_large_binary(kind))


def by_position(frame: DataFrame) -> DataFrame:
    """Name columns by their positions: Spark's way into Python reads dots in names as paths."""
    return frame.toDF(*(f"c{position}" for position in range(len(frame.columns))))


def check_names(spark: SparkSession, plan: Plan) -> None:
    """Refuse results whose columns nobody could tell apart."""
    if (spark.conf.get("spark.sql.caseSensitive") or "false") == "true":
        return
    seen: dict[str, str] = {}
    for name in plan.schema.names:
        other = seen.setdefault(name.lower(), name)
        if other != name:
            raise PlanError(
                f"the result would have columns {other!r} and {name!r}, which are one to a session "
                "that ignores case: rename one, or set spark.sql.caseSensitive to true"
            )


def check_compared(query: Query, frames: Mapping[str, DataFrame]) -> None:
    """Refuse keys and items whose order and equality are not those of their bytes."""
    for join in query.joins:
        for name, side in zip(join.streams, join.predicate.sides, strict=False):
            for column in (side,) if isinstance(side, str) else side:
                fields = [f for f in frames[name].schema.fields if f.name == column]
                for collation in (_collation(field.dataType) for field in fields):
                    if collation is not None:
                        raise PlanError(
                            f"column {column!r} of stream {name!r} has collation {collation}, and "
                            "the join compares strings byte by byte: cast it to STRING COLLATE "
                            "UTF8_BINARY, or join on lower(...) of it"
                        )


def _collation(kind: Any) -> str | None:
    """Return the name of a collation that does not compare bytes, wherever it is in a type."""
    from pyspark.sql.types import StringType

    if isinstance(kind, StringType):
        collation = getattr(kind, "collation", "UTF8_BINARY")
        return None if collation == "UTF8_BINARY" else str(collation)
    return next((found for found in map(_collation, _inner(kind)) if found is not None), None)


def with_collations(result: DataFrame, query: Query, frames: Mapping[str, DataFrame]) -> DataFrame:
    """Give columns of results the collations that they had in their streams; Arrow has none."""
    from pyspark.sql import functions

    wanted = _given_types(query, frames)
    if all(_collation(kind) is None for kind in wanted.values()):
        return result
    columns = []
    for position, name in enumerate(result.columns):
        column = functions.col("`" + name.replace("`", "``") + "`")
        kind = wanted.get(position)
        if kind is not None and _collation(kind) is not None:
            column = column.cast(kind).alias(name)
        columns.append(column)
    return result.select(*columns)


def with_variants(schema: pa.Schema, query: Query, frames: Mapping[str, DataFrame]) -> pa.Schema:
    """Mark in a schema of results what is a variant to Spark; to the join it is a struct."""
    from pyspark.sql.pandas.types import to_arrow_type

    for position, kind in _given_types(query, frames).items():
        if _has_variant(kind):
            marked = schema.field(position).with_type(to_arrow_type(kind, timezone="UTC"))
            schema = schema.set(position, marked)
    return schema


def _given_types(query: Query, frames: Mapping[str, DataFrame]) -> dict[int, Any]:
    """Return the types that columns of results have in their streams, by their positions."""
    several = len(query.joins) > 1
    names = [s.name for s in query.streams] if several else list(query.joins[0].streams)
    kinds = [_may_be_null(field.dataType) for name in names for field in frames[name].schema.fields]
    return dict(enumerate(kinds, 1 if several else 0))


def _may_be_null(kind: Any) -> Any:
    """Return a type of Spark's in which everything within may be null, as in the join's results.

    Spark refuses to cast an array that may hold nulls to the type of one that holds none.
    """
    from pyspark.sql.types import ArrayType, MapType, StructField, StructType

    if isinstance(kind, ArrayType):
        return ArrayType(_may_be_null(kind.elementType), True)
    if isinstance(kind, MapType):
        return MapType(_may_be_null(kind.keyType), _may_be_null(kind.valueType), True)
    if isinstance(kind, StructType):
        fields = [StructField(f.name, _may_be_null(f.dataType), True) for f in kind.fields]
        return StructType(fields)
    return kind


def _has_variant(kind: Any) -> bool:
    from pyspark.sql.types import VariantType

    return isinstance(kind, VariantType) or any(map(_has_variant, _inner(kind)))


def _inner(kind: Any) -> list[Any]:
    """Return the types that a type of Spark's is made of."""
    from pyspark.sql.types import ArrayType, MapType, StructType

    if isinstance(kind, ArrayType):
        return [kind.elementType]
    if isinstance(kind, MapType):
        return [kind.keyType, kind.valueType]
    return [field.dataType for field in kind.fields] if isinstance(kind, StructType) else []
