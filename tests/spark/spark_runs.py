"""Run a case on Spark: its tables as numbered files, a file a micro-batch, a Parquet sink.

Nothing here knows how the runtime works, but for :func:`ledger_of`, which reads the header that
the last commit left in Spark's state store.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import bankfull as bf
from bankfull.spec import Query
from bankfull.testing import Case
from bankfull.testing.checks import check_output, check_part, output_names

#: Rows a file, for every stream alike or one list a stream; the rest is the last file.
Splits = int | Mapping[str, Sequence[int]]
Frames = Callable[[str, Path], Any]
Ledger = dict[str, dict[str, dict[str, int]]]


class Runner:
    """One query's folder: its input files, its checkpoint, its sink."""

    def __init__(self, spark: Any, folder: Path) -> None:
        self.spark = spark
        self.folder = folder
        self.input, self.checkpoint, self.sink = (
            folder / name for name in ("input", "checkpoint", "sink")
        )
        self.progress: list[dict[str, Any]] = []

    def write(self, case: Case, splits: Splits) -> None:
        """Write every stream as numbered files."""
        for name, table in case.tables.items():
            lengths = splits if isinstance(splits, int) else splits[name]
            write_stream(self.input / name, table, lengths)

    def streaming(self, name: str, table: pa.Table) -> Any:
        """Return a stream's files as a streaming DataFrame, a file a micro-batch."""
        return read_stream(self.spark, self.input / name, table)

    def frames(self, case: Case) -> dict[str, Any]:
        """Return all streams of a case."""
        return {name: self.streaming(name, table) for name, table in case.tables.items()}

    def resume(self, case: Case, buckets: int | None = None) -> None:
        """Run a case over all files there are, from wherever its checkpoint is."""
        self.drain(joined(case.query, self.frames(case), buckets))

    def show(self, files: int) -> None:
        """Let Spark see so many files of every stream (it skips names with an underline)."""
        for path in sorted(self.input.rglob("*.parquet")):
            name = path.name.lstrip("_")
            path.rename(path.with_name(name if int(path.stem.lstrip("_")) < files else f"_{name}"))

    def begin(self, case: Case, buckets: int | None = None, files: int = 2) -> Runner:
        """Run a case over its first files; the others are there for whoever goes on."""
        self.write(case, 20)
        self.show(files)
        self.resume(case, buckets)
        self.show(1000)
        return self

    def start(self, frame: Any) -> Any:
        """Start writing a streaming DataFrame to the sink."""
        return start(frame, self.sink, self.checkpoint)

    def drain(self, frame: Any) -> None:
        """Run a query over all files there are, and remember its progress."""
        query = self.start(frame)
        try:
            query.awaitTermination()
        finally:
            self.progress += [json.loads(one.json) for one in query.recentProgress]

    def rows(self, schema: pa.Schema) -> pa.Table:
        """Read the sink as its own log of commits describes it."""
        return read_sink(self.spark, self.sink, schema)

    def counts(self) -> dict[str, int]:
        """Add up the observed metrics of all micro-batches; levels are those of the last."""
        total: Counter[str] = Counter()
        for batch in self.progress:
            observed = observed_in(batch)
            if not observed or all(value is None for value in observed["ledger"].values()):
                continue
            for name, value in observed["ledger"].items():
                if name.endswith((".stored", ".waiting", ".copies")):
                    total[name] = value
                else:
                    total[name] += value
        return dict(total)

    def run(self, case: Case, splits: Splits, buckets: int | None = None) -> pa.Table:
        """Run a case on Structured Streaming and let the oracle judge the sink's rows."""
        self.write(case, splits)
        self.resume(case, buckets)
        found = self.rows(output_schema(case))
        judge(case, found)
        return found

    def run_batch(self, case: Case, buckets: int | None = None) -> pa.Table:
        """Run a case on batch DataFrames and let the oracle judge the rows."""
        self.write(case, 50)
        frames = {
            name: self.spark.read.schema(spark_schema(table)).parquet(str(self.input / name))
            for name, table in case.tables.items()
        }
        found = joined(case.query, frames, buckets).toArrow().cast(output_schema(case))
        judge(case, found)
        return found


def observed_in(progress: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metrics of the one join of a query, as Spark reports them.

    Their name may have a number: a test that failed on purpose may hold on to its own join.
    """
    observed = progress.get("observedMetrics") or {}
    found = [dict(metrics) for name, metrics in observed.items() if name.startswith("bankfull")]
    assert len(found) <= 1
    return found[0] if found else {}


def judge(case: Case, found: pa.Table) -> None:
    """Let the oracle judge an output: the exact result, or under a memory budget a part of it."""
    (check_output if case.query.shed is None else check_part)(case, found)


def write_stream(folder: Path, table: pa.Table, lengths: int | Sequence[int]) -> None:
    """Write a table as files whose names and times of change follow its order."""
    folder.mkdir(parents=True)
    if isinstance(lengths, int):
        lengths = [lengths] * ((len(table) - 1) // lengths)
    begin = 0
    for number, length in enumerate([*lengths, max(0, len(table) - sum(lengths))]):
        path = folder / f"{number:05}.parquet"
        pq.write_table(table.slice(begin, length), path)
        os.utime(path, (1_000_000_000 + number,) * 2)
        begin += length


def spark_schema(table: pa.Table) -> Any:
    """Return Spark's name for a table's schema."""
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(table.schema)


def read_stream(spark: Any, folder: Path, table: pa.Table) -> Any:
    """Return the files of a folder as a streaming DataFrame, a file a micro-batch."""
    reader = spark.readStream.schema(spark_schema(table)).option("maxFilesPerTrigger", 1)
    return reader.parquet(str(folder))


def start(frame: Any, sink: Path, checkpoint: Path) -> Any:
    """Start a query that ends when its input does."""
    writer = frame.writeStream.format("parquet").option("checkpointLocation", str(checkpoint))
    return writer.option("path", str(sink)).trigger(availableNow=True).start()


def read_sink(spark: Any, sink: Path, schema: pa.Schema) -> pa.Table:
    """Read what a sink has committed (files of failed attempts do not count)."""
    return spark.read.parquet(str(sink)).toArrow().select(schema.names).cast(schema)


def joined(query: Query, frames: Mapping[str, Any], buckets: int | None = None) -> Any:
    """Return a query over these DataFrames."""
    return bf.run(query, frames, buckets=buckets)


def words_of(error: BaseException | None) -> str:
    """Return what an error of Spark says, and what the errors behind it say."""
    words = []
    while error is not None:
        words.append(str(error))
        error = getattr(error, "_cause", None)
    return "\n".join(words)


def output_schema(case: Case) -> pa.Schema:
    """Return what the output's columns must be."""
    names = output_names(case.query, case.tables)
    one = len(case.query.joins) == 1
    listed = case.query.joins[0].streams if one else [s.name for s in case.query.streams]
    fields = [] if one else [pa.field("join", pa.string())]
    for name in listed:
        fields += [case.tables[name].schema.field(c).with_name(o) for c, o in names[name].items()]
    first = case.query.streams[0]
    return pa.schema(
        [*fields, case.tables[first.name].schema.field(first.time).with_name("joined_at")]
    )


def same_rows(found: pa.Table, expected: pa.Table) -> None:
    """Two outputs are the same multiset of rows, value by value."""
    assert found.column_names == expected.column_names
    left, right = (
        Counter(map(repr, zip(*map(_plain, t.columns), strict=True))) for t in (found, expected)
    )
    missing, wrong = right - left, left - right
    assert not missing, f"missing {list(missing)[:5]}, should not be there {list(wrong)[:5]}"
    assert not wrong, f"should not be there, or doubled: {list(wrong)[:5]}"


def _plain(column: pa.ChunkedArray) -> list[Any]:
    from bankfull.oracle import plain

    return plain(column)


def headers_of(spark: Any, checkpoint: Path) -> list[dict[str, Any]]:
    """Read what the last commit left in the state store, a header a bucket."""
    state = spark.read.format("statestore").option("path", str(checkpoint))
    segments = state.option("stateVarName", "segments").load()
    rows = segments.where("user_map_key.stream = -1").select("user_map_value.rows").collect()
    return [json.loads(bytes(row.rows)[4:]) for row in rows]


def ledger_of(spark: Any, checkpoint: Path) -> Ledger:
    """Add up the ledgers of all buckets as the last commit left them."""
    total: Ledger = {"streams": {}, "joins": {}}
    for header in headers_of(spark, checkpoint):
        for kind in total:
            for owner, counts in header["about"]["ledger"][kind].items():
                sums = total[kind].setdefault(owner, dict.fromkeys(counts, 0))
                for name, count in counts.items():
                    sums[name] += count
    return total
