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

    taken = [column for column in frame.columns if column in (COUNTS, MASK)]
    if taken:
        raise PlanError(
            f"stream {name!r} has a column {taken[0]!r}, a name of the join's own: rename it"
        )
    try:
        return may_be_null(to_arrow_schema(frame.schema, timezone="UTC"))
    except Exception as error:
        raise PlanError(f"a column cannot be exchanged through Arrow: {error}") from error


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
    from pyspark.sql.types import ArrayType, MapType, StringType, StructType

    if isinstance(kind, StringType):
        collation = getattr(kind, "collation", "UTF8_BINARY")
        return None if collation == "UTF8_BINARY" else str(collation)
    inner: list[Any] = []
    if isinstance(kind, ArrayType):
        inner = [kind.elementType]
    elif isinstance(kind, MapType):
        inner = [kind.keyType, kind.valueType]
    elif isinstance(kind, StructType):
        inner = [field.dataType for field in kind.fields]
    return next((found for found in map(_collation, inner) if found is not None), None)


def with_collations(result: DataFrame, query: Query, frames: Mapping[str, DataFrame]) -> DataFrame:
    """Give columns of results the collations that they had in their streams; Arrow has none."""
    from pyspark.sql import functions

    several = len(query.joins) > 1
    names = [s.name for s in query.streams] if several else list(query.joins[0].streams)
    kinds = [field.dataType for name in names for field in frames[name].schema.fields]
    if all(_collation(kind) is None for kind in kinds):
        return result
    first = 1 if several else 0
    wanted = dict(enumerate(kinds, first))
    columns = []
    for position, name in enumerate(result.columns):
        column = functions.col("`" + name.replace("`", "``") + "`")
        kind = wanted.get(position)
        if kind is not None and _collation(kind) is not None:
            column = column.cast(kind).alias(name)
        columns.append(column)
    return result.select(*columns)
