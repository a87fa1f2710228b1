"""DataFrames in, a DataFrame out: the three stages as a Spark plan."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any, cast

from bankfull.assemble import assemble
from bankfull.core import Plan
from bankfull.core.bounded.share import least_part
from bankfull.errors import PlanError
from bankfull.policies.age import Age
from bankfull.runtime.spark.buckets import bucket_count, spread_keys
from bankfull.runtime.spark.columns import (
    COUNTS,
    arrow_schema,
    by_position,
    check_compared,
    check_names,
    spark_schema,
    with_collations,
    with_variants,
)
from bankfull.runtime.spark.decode import Decode
from bankfull.runtime.spark.encode import Encode
from bankfull.runtime.spark.layout import Layout
from bankfull.runtime.spark.naming import names
from bankfull.runtime.spark.packets import PACKET_FIELDS
from bankfull.runtime.spark.quarantine import Quarantine
from bankfull.runtime.spark.report import observed
from bankfull.runtime.spark.results import is_packed, result_schema
from bankfull.runtime.spark.session import check_session
from bankfull.spec import Query

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def join_frames(
    query: Query,
    frames: dict[str, DataFrame],
    buckets: int | None = None,
    quarantine: str | None = None,
) -> DataFrame:
    """Return the join of streaming or batch DataFrames as a DataFrame.

    ``buckets`` is the number of operators the work is divided over; by default one for every
    shuffle partition. What became of every tuple is in the observed metrics (``naming.py`` says
    how they are called), under ``ledger``; of a batch DataFrame, in its attribute ``ledger`` (an
    ``Observation`` whose ``get`` has them under ``ledger`` again) after the first action.
    ``quarantine`` is a folder for the rows that could not be used (``quarantine.py``).
    """
    spark = _common_session(frames)
    streaming = _all_alike(frames)
    schemas = {name: arrow_schema(name, frame) for name, frame in frames.items()}
    plan = assemble(query, schemas)
    check_compared(query, frames)
    check_names(spark, plan)
    partitions = int(spark.conf.get("spark.sql.shuffle.partitions") or 1)
    count = bucket_count(plan, partitions if buckets is None else buckets)
    _check_shedding(plan, count)
    cores = max(1, int(spark.sparkContext.defaultParallelism))
    layout = Layout(query, schemas, tuple(spread_keys(count, partitions)), cores)
    packets = [
        by_position(frames[stream.name]).mapInArrow(Encode(layout, position), PACKET_FIELDS)
        for position, stream in enumerate(query.streams)
    ]
    union = reduce(lambda a, b: a.union(b), packets)
    arrange = _operate if streaming else _replay
    chosen = names.choose(query, frames, str(plan.schema.types)) if streaming else None
    aside = None if quarantine is None else Quarantine(quarantine, chosen.name if chosen else "")
    operated = arrange(union, layout, spark_schema(result_schema(plan)), aside)
    result = _results(operated, layout, frames, None if chosen is None else chosen.name)
    if chosen is not None:
        from bankfull.runtime.spark.listener import warn_of_late_rows
        from bankfull.runtime.spark.started import JoinedFrame

        warn_of_late_rows(spark)
        result = JoinedFrame(result, layout, frames, chosen.name)
        names.remember(result, chosen)
    return cast("DataFrame", result)


def finish_frames(joined: DataFrame, checkpoint: str) -> DataFrame:
    """Return what a streaming join would still give if its streams ended here (``finish.py``)."""
    from bankfull.runtime.spark.finish import ending, stored_values
    from bankfull.runtime.spark.started import JoinedFrame

    if not isinstance(joined, JoinedFrame):
        raise PlanError(
            "finish() got a DataFrame that is no streaming join: give what bf.join or bf.joins "
            "returned, before anything was selected from it"
        )
    layout, frames = joined._layout, joined._frames
    fields = spark_schema(result_schema(layout.plan()))
    cells = stored_values(joined.sparkSession, checkpoint)
    ended = cells.groupBy("bucket").applyInArrow(ending(layout), fields)
    return cast("DataFrame", _results(ended, layout, frames))


def _results(
    operated: DataFrame, layout: Layout, frames: dict[str, DataFrame], name: str | None = None
) -> Any:
    """Return the columns of the join from what operators give; counts become observed metrics.

    Those of a streaming join have a name; nobody asks for the metrics of a batch join by name.
    """
    from pyspark.sql import Observation, functions

    counted: Any = Observation() if name is None else name
    measured = operated.observe(counted, *observed(layout.query, COUNTS))
    result: Any = measured.where(functions.col(COUNTS).isNull()).drop(COUNTS)
    plan = layout.plan()
    if is_packed(plan):
        schema = with_variants(plan.schema, layout.query, frames)
        result = result.mapInArrow(Decode(schema), spark_schema(schema))
    result = with_collations(result, layout.query, frames)
    if name is None:
        result.ledger = counted
    return result


def _check_shedding(plan: Plan, buckets: int) -> None:
    """Refuse what has no meaning where every bucket has a part of the budget and of the tuples."""
    shed = plan.shed
    if shed is None or buckets == 1:
        return
    buffers = len(plan.streams) if shed.proportional or shed.shares is not None else 1
    least = round(buckets * buffers / least_part(shed.unbiased))
    if not shed.in_bytes and shed.budget < least:
        raise PlanError(
            f"a budget of {shed.budget} tuples is too small for {buckets} buckets: give at least "
            f"{least}, or fewer buckets="
        )
    if isinstance(shed.policy, Age) and shed.policy.ages:
        raise PlanError(
            "age(ages=...) names tuples by their number in the whole query, which a bucket does "
            "not know: use buckets=1, or age() without ages"
        )


def _operate(
    packets: DataFrame, layout: Layout, fields: str, aside: Quarantine | None
) -> DataFrame:
    from bankfull.runtime.spark.processor import Operate

    return packets.groupBy("bucket").transformWithStateInPandas(
        Operate(layout, aside), fields, "append", "None"
    )


def _replay(packets: DataFrame, layout: Layout, fields: str, aside: Quarantine | None) -> DataFrame:
    from bankfull.runtime.spark.replay import replay

    return packets.groupBy("bucket").applyInArrow(replay(layout, aside), fields)


def _common_session(frames: dict[str, DataFrame]) -> SparkSession:
    sessions: list[Any] = [check_session(frame) for frame in frames.values()]
    # Python may have several objects for one session (SparkSession.active() makes them).
    first = sessions[0]._jsparkSession
    if not all(other._jsparkSession.equals(first) for other in sessions):
        raise PlanError("the DataFrames belong to different sessions: make them with one session")
    return cast("SparkSession", sessions[0])


def _all_alike(frames: dict[str, DataFrame]) -> bool:
    streaming = {name for name, frame in frames.items() if frame.isStreaming}
    if streaming and len(streaming) < len(frames):
        still = sorted(set(frames) - streaming)[0]
        raise PlanError(
            f"stream {still!r} is a batch DataFrame and {sorted(streaming)[0]!r} a streaming one: "
            "give all of one kind (a static table is joined with Spark's own join)"
        )
    return bool(streaming)
