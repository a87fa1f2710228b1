"""Units of file sources and sinks: JSON text against Python's own, atomic files, guessed types."""

from __future__ import annotations

import json
import os
import threading
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from bankfull.errors import DataError, SourceError
from bankfull.runtime.embedded.files import SinkError, open_sink, open_source
from bankfull.runtime.embedded.files.encode import json_lines
from bankfull.runtime.embedded.files.text import convert, type_of, type_of_time


def _cells() -> dict[str, tuple[pa.Array, list[Any]]]:
    """Columns of three rows, and what a JSON parser must read from them."""
    day = 86_400_000_000
    entry = pa.struct([("x", pa.int64()), ("y", pa.list_(pa.int8()))])
    return {
        "whole %": (pa.array([1, None, -(2**63)]), [1, None, -(2**63)]),
        "fraction": (pa.array([1.0, float("nan"), 0.1]), [1.0, None, 0.1]),
        'te"xt': (pa.array(['a"\\\n\x01é', None, ""]), ['a"\\\n\x01é', None, ""]),
        "large": (pa.array(["x", None, "y"], pa.large_string()), ["x", None, "y"]),
        "words": (pa.array(["x", "y", None]).dictionary_encode(), ["x", "y", None]),
        "truth": (pa.array([True, None, False]), [True, None, False]),
        "bytes": (pa.array([b"\xff", None, b""]), ["/w==", None, ""]),
        "exact": (pa.array([Decimal("1.10"), None, Decimal("-2.00")]), [1.1, None, -2.0]),
        "nothing": (pa.nulls(3), [None, None, None]),
        "when": (
            pa.array([0, None, day + 1], pa.timestamp("us")),
            ["1970-01-01T00:00:00.000000", None, "1970-01-02T00:00:00.000001"],
        ),
        "where": (
            pa.array([0, None, 1], pa.timestamp("s", "Europe/Vienna")),
            ["1970-01-01T00:00:00Z", None, "1970-01-01T00:00:01Z"],
        ),
        "day": (pa.array([1, None, 0], pa.date32()), ["1970-01-02", None, "1970-01-01"]),
        "span": (pa.array([5, None, 6], pa.duration("ms")), [5, None, 6]),
        "list": (pa.array([["a", None], None, []]), [["a", None], None, []]),
        "pair": (pa.array([[1, 2], None, [3, 4]], pa.list_(pa.int64(), 2)), [[1, 2], None, [3, 4]]),
        "weights": (
            pa.array([[("a", 0.5)], None, []], pa.map_(pa.string(), pa.float64())),
            [[{"key": "a", "value": 0.5}], None, []],
        ),
        "parts": (
            pa.array([{"x": 1, "y": [1, None]}, None, {"x": None, "y": None}], entry),
            [{"x": 1, "y": [1, None]}, None, {"x": None, "y": None}],
        ),
        "empty": (pa.array([{}, {}, None], pa.struct([])), [{}, {}, None]),
    }


@pytest.mark.parametrize("start", [0, 1, 3])
def test_json_lines_are_what_a_parser_reads_back(start: int) -> None:
    cells = _cells()
    batch = pa.record_batch({name: column for name, (column, _) in cells.items()})
    lines = json_lines(batch.slice(start)).decode().split("\n")
    assert lines.pop() == ""
    expected = [
        {name: values[row] for name, (_, values) in cells.items()} for row in range(start, 3)
    ]
    assert [json.loads(line) for line in lines] == expected


def test_whole_fractions_stay_fractions() -> None:
    assert json_lines(pa.record_batch({"x": [2.0]})) == b'{"x":2.0}\n'


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["1", "", "-7"], "int64"),
        (["1", "2.5", "1e3"], "double"),
        (["007", "12"], "string"),  # a name, not a number: 007 is not 7
        (["9223372036854775808"], "decimal128(38, 0)"),  # a double would lose digits
        (["1.5", "9007199254740993"], "decimal128(38, 1)"),
        (["0.30000000000000004", "0.10", "nan"], "double"),
        (["0.1", "0.10000000000000001"], "decimal128(38, 17)"),
        (["1.5", "1e400"], "string"),
        (["5e-324", "4.9e-324"], "string"),
        (["1" * 39], "string"),  # Arrow's cast to decimals would wrap around
        (["true", "False"], "bool"),
        (["2024-01-01", "2024-01-01T10:00:00.5"], "timestamp[us]"),
        (["2024-01-01T10:00:00Z", "2024-01-01T10:00:00+02:00"], "timestamp[us, tz=UTC]"),
        (["2024-01-01T10:00:00.123456789"], "timestamp[ns]"),
        (["2024-01-01", "n. d."], "string"),
        (["", None], "string"),
    ],
)
def test_types_of_text(cells: list[str | None], kind: str) -> None:
    assert str(type_of(pa.array(cells, pa.string()))) == kind


def test_times_are_guessed_by_the_many_not_by_the_bad_ones() -> None:
    cells = pa.array(["2024-01-01T10:00:00Z", "?", None, "2024-02-30T00:00:00Z"])
    kind = type_of_time(cells)
    assert kind == pa.timestamp("us", "UTC")
    values, wrong = convert(cells, kind)
    assert wrong == [1, 3]
    assert values.null_count == 3


SCHEMA = pa.schema([("x", pa.int64())])
BATCH = pa.record_batch({"x": [1, 2, 3]})


@pytest.mark.parametrize("form", ["parquet", "arrow", "csv", "jsonl"])
def test_a_sink_shows_its_file_only_when_it_is_complete(tmp_path: Path, form: str) -> None:
    path = tmp_path / "out"
    with open_sink(str(path), form, SCHEMA) as sink:
        sink.write(BATCH)
        assert not path.exists()
    assert path.exists()
    assert [found.name for found in tmp_path.iterdir()] == ["out"]
    complete = path.read_bytes()
    many = pa.record_batch({"x": pa.array(range(300_000), pa.int64())}, schema=SCHEMA)

    with pytest.raises(SinkError, match="exists already"):
        open_sink(str(path), form, SCHEMA)

    def fail() -> None:
        with open_sink(str(path), form, SCHEMA, overwrite=True) as sink:
            for _ in range(4):
                sink.write(many)  # enough to be written to disk
            raise RuntimeError("the join failed")

    with pytest.raises(RuntimeError, match="the join failed"):
        fail()
    assert path.read_bytes() == complete
    assert [found.name for found in tmp_path.iterdir()] == ["out"]


def test_a_sink_without_rows_is_a_valid_file(tmp_path: Path) -> None:
    for form in ("parquet", "arrow", "csv"):
        with open_sink(str(tmp_path / form), form, SCHEMA):
            pass
        source = open_source(str(tmp_path / form), form, time="x")
        assert source.reader.schema.names == ["x"]
        assert source.reader.read_all().num_rows == 0


def test_a_sink_writes_into_a_pipe_and_through_a_link(tmp_path: Path) -> None:
    """Renaming would replace the pipe or the link instead of writing to it."""
    pipe, link, linked = tmp_path / "pipe", tmp_path / "link", tmp_path / "linked"
    os.mkfifo(pipe)
    received: list[bytes] = []
    reader = threading.Thread(target=lambda: received.append(pipe.read_bytes()), daemon=True)
    reader.start()
    with open_sink(str(pipe), "jsonl", SCHEMA) as sink:
        sink.write(BATCH)
    reader.join(timeout=10)
    assert received == [b'{"x":1}\n{"x":2}\n{"x":3}\n']
    assert pipe.is_fifo()
    link.symlink_to(linked)
    with open_sink(str(link), "jsonl", SCHEMA) as sink:
        sink.write(BATCH)
    assert link.is_symlink()
    assert linked.read_bytes() == received[0]


def test_small_batches_become_few_row_groups(tmp_path: Path) -> None:
    path = str(tmp_path / "out.parquet")
    with open_sink(path, "parquet", SCHEMA) as sink:
        for _ in range(1_000):
            sink.write(BATCH)
    assert pa.parquet.ParquetFile(path).num_row_groups == 1


def test_a_source_counts_what_it_reads(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"t": 1}\nnot json\n{"t": 2}\n')
    told: list[str] = []
    source = open_source(str(path), "jsonl", time="t", on_unreadable=told.append)
    assert source.reader.read_all().to_pylist() == [{"t": 1}, {"t": 2}]
    assert (source.rows, source.unreadable, source.fraction) == (2, 1, 1.0)
    assert told[0].startswith("line 2: ")
    with pytest.raises(DataError, match="line 2"):
        open_source(str(path), "jsonl", time="t")


def test_a_compressed_parquet_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "rows.parquet.gz").write_bytes(b"")
    with pytest.raises(SourceError, match="unpack it first"):
        open_source(str(tmp_path / "rows.parquet.gz"), "parquet", time="t")


def test_lines_are_counted_across_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bankfull.runtime.embedded.files.jsonlines.BLOCK_BYTES", 64)
    lines = [f'{{"t": {line}}}' if line % 7 else "" for line in range(1, 100)]
    lines[39] = "not json"
    lines[87] = '{"t": "text"}'
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(lines))
    told: list[str] = []
    source = open_source(str(path), "jsonl", time="t", on_unreadable=told.append)
    expected = [line for line in range(1, 100) if line % 7 and line not in (40, 88)]
    assert source.reader.read_all()["t"].to_pylist() == expected
    assert [reason.split(":")[0] for reason in told] == ["line 40", "line 88"]
