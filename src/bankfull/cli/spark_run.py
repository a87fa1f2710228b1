"""Running a job on Spark: the rows of the embedded engine, whatever the format of its files.

Files are read by the embedded engine's readers and taken in by the core's own rules, in the order
of the file, so that types, bad rows and late rows are the same on both engines. What may be
joined is staged as Parquet, joined as batch DataFrames on all cores, and written by the same sinks.
"""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from bankfull.cli.execute import Execution, opened, plan
from bankfull.cli.jobfile import Job
from bankfull.cli.spark_line import Line
from bankfull.cli.spark_session import quiet_session, require
from bankfull.cli.spark_types import from_spark, spark_schema, to_spark
from bankfull.core import StreamLedger, start
from bankfull.core.intake.admit import admit
from bankfull.core.intake.intake import Input
from bankfull.core.plan import NEVER
from bankfull.core.store.forms import to_schema
from bankfull.runtime.embedded.files import Sink, open_sink
from bankfull.runtime.embedded.files.reading import BATCH_ROWS
from bankfull.runtime.embedded.lateness import LateRows
from bankfull.runtime.spark.report import recall_of
from bankfull.telemetry.lateness import Lateness

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: What is known of a stream: how its rows left again, a batch join does not tell.
_COUNTED = ("arrived", "quarantined", "late", "inserted")
#: What is known besides of a join that sheds; of its streams ``inserted`` is what was not shed.
_LOST = ("shed", "inserted", "evicted", "copies_lost")


@dataclass(slots=True)
class Outcome:
    """What a run on Spark did."""

    streams: dict[str, StreamLedger] = field(default_factory=dict)
    emitted: Counter[str] = field(default_factory=Counter)
    unreadable: dict[str, int] = field(default_factory=dict)
    rows_in: int = 0
    rows_out: int = 0
    seconds: float = 0.0
    start_s: float = 0.0
    notes: list[str] = field(default_factory=list)
    recall: dict[str, Any] | None = None
    lateness: dict[str, Lateness] = field(default_factory=dict)
    _sheds: bool = False

    def take_losses(self, metrics: Any) -> None:
        """Take over what Spark observed of a join that sheds."""
        counts = metrics.get("ledger") or {}
        for name, stream in self.streams.items():
            for count in _LOST:
                setattr(stream, count, int(counts.get(f"{name}.{count}") or 0))
        found = recall_of(metrics)
        self.recall = None if found is None else asdict(found)
        self._sheds = True

    def ledger(self) -> dict[str, Any]:
        """Return what became of every row, as far as a batch join tells."""
        counted = (*_COUNTED, *(_LOST if self._sheds else ()))
        ledger: dict[str, Any] = {
            "streams": {
                name: {count: getattr(found, count) for count in counted}
                for name, found in self.streams.items()
            },
            "joins": {name: {"emitted": count} for name, count in self.emitted.items()},
        }
        if self.recall is not None:
            ledger["recall"] = self.recall
        return ledger


def run_on_spark(job: Job, told: Line, overwrite: bool = False) -> Outcome:
    """Run a job to its end; the output file appears when all of it is written."""
    require()
    outcome = Outcome(emitted=Counter({join.name: 0 for join in job.query.joins}))
    began = time.perf_counter()
    with (
        tempfile.TemporaryDirectory(prefix="bankfull-", ignore_cleanup_errors=True) as made,
        opened(job, overwrite) as execution,
        open_sink(job.output.path, job.output.format, execution.joined.schema, overwrite) as sink,
    ):
        scratch = Path(made)
        schemas = _stage(execution, scratch, outcome, told)
        told.say("starting Spark", 0.3)
        starting = time.perf_counter()
        with quiet_session("bankfull run", scratch) as spark:
            outcome.start_s = time.perf_counter() - starting
            told.say(f"joining {outcome.rows_in:,} rows on Spark", 0.5)
            frames = {
                name: _frame(spark, scratch / str(number), schema)
                for number, (name, schema) in enumerate(schemas.items())
            }
            joined = plan(job, frames)
            joined.write.parquet(str(scratch / "joined"))
            if job.query.shed is not None:
                outcome.take_losses(joined.ledger.get)
        _deliver(scratch / "joined", sink, outcome, told)
        outcome.notes = execution.notes
    outcome.seconds = time.perf_counter() - began
    return outcome


def _stage(
    execution: Execution, scratch: Path, outcome: Outcome, told: Line
) -> dict[str, pa.Schema]:
    """Write what may be joined as Parquet, one folder a stream; returns its columns."""
    schemas = {}
    state = start(execution.joined.plan)
    late = LateRows(execution.joined.plan)
    for number, entry in enumerate(state.inputs):
        name = entry.plan.name
        outcome.streams[name] = StreamLedger()
        schema = schemas[name] = spark_schema(entry.plan.given)
        source = execution.sources[name]
        (scratch / str(number)).mkdir()
        with open_sink(str(scratch / str(number) / "rows.parquet"), "parquet", schema) as sink:
            for rows in _admitted(execution, entry, outcome.streams[name], late):
                sink.write(to_spark(name, rows, schema))
                told.say(
                    f"reading {name}: {source.rows:,} rows",
                    0.3 * (number + (source.fraction or 0.0)) / len(state.inputs),
                    passing=True,
                )
        outcome.unreadable[name] = source.unreadable
        outcome.rows_in += source.rows
    outcome.lateness = late.report({n: found.arrived for n, found in outcome.streams.items()})
    return schemas


def _admitted(
    execution: Execution, entry: Input, counts: StreamLedger, late: LateRows
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a stream that are neither bad nor late, as the operator would say."""
    strict = execution.joined.query.strict
    for batch in execution.sources[entry.plan.name].reader:
        counts.arrived += batch.num_rows
        rows = to_schema(batch, entry.plan.schema)
        found = admit(entry.plan, rows, entry.newest, -NEVER, entry.checks, strict)
        if found.late:
            late.note(entry, rows, entry.newest)
        entry.newest = found.newest
        counts.quarantined += found.quarantined
        counts.late += found.late
        counts.inserted += found.rows.num_rows
        for aside in found.aside:
            execution.set_aside(entry.plan.name, aside)
        yield found.rows


def _frame(spark: SparkSession, folder: Path, schema: pa.Schema) -> DataFrame:
    from pyspark.sql.pandas.types import from_arrow_schema

    return spark.read.schema(from_arrow_schema(schema)).parquet(str(folder))


def _deliver(folder: Path, sink: Sink, outcome: Outcome, told: Line) -> None:
    """Hand Spark's result to the sink, in the types of the embedded engine."""
    several = len(outcome.emitted) > 1
    coded = [field.name for field in sink.schema if pa.types.is_dictionary(field.type)]
    dictionaries = {name: _values(folder, name) for name in coded}
    for rows in _batches(folder):
        sink.write(from_spark(rows, sink.schema, dictionaries))
        outcome.rows_out += rows.num_rows
        told.say(f"writing {outcome.rows_out:,} rows", 0.9, passing=True)
        if several:
            for one in pc.value_counts(rows.column("join")).to_pylist():
                outcome.emitted[one["values"]] += one["counts"]
    if not several:
        outcome.emitted[next(iter(outcome.emitted))] = outcome.rows_out


def _batches(folder: Path, columns: list[str] | None = None) -> Iterator[pa.RecordBatch]:
    for path in sorted(folder.glob("*.parquet")):
        with pq.ParquetFile(path) as file:
            yield from file.iter_batches(batch_size=BATCH_ROWS, columns=columns)


def _values(folder: Path, column: str) -> pa.Array | None:
    """Return the distinct values of a column; None if there are no rows."""
    found = [batch.column(0).drop_null().unique() for batch in _batches(folder, [column])]
    return pa.concat_arrays(found).unique() if found else None
