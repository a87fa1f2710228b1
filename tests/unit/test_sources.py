"""Unit tests of what may be a stream's source: whatever Arrow converts, and a cure for the rest."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import bankfull as bf
from bankfull.errors import PlanError
from bankfull.runtime.embedded.sources import as_source

TABLE = pa.table({"t": [1, 2, 3], "k": ["x", "y", None]})


class Frame:
    """Like a Polars frame: it has Arrow's stream interface and text as views."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table.cast(pa.schema([("t", pa.int64()), ("k", pa.string_view())]))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)


class Array:
    """Something that has Arrow's array interface alone."""

    def __arrow_c_array__(self, requested_schema: object = None) -> object:
        return TABLE.to_batches()[0].__arrow_c_array__(requested_schema)


def dataset(folder: Path) -> Any:
    for number in range(3):
        pq.write_table(TABLE.slice(number, 1), folder / f"{number}.parquet")
    return ds.dataset(folder)


SOURCES: dict[str, Callable[[Path], Any]] = {
    "table": lambda _: TABLE,
    "record batch": lambda _: TABLE.to_batches()[0],
    "reader": lambda _: TABLE.to_reader(),
    "batches": lambda _: TABLE.to_batches(),
    "pandas": lambda _: TABLE.to_pandas(),
    "pandas, rows chosen": lambda _: TABLE.to_pandas().iloc[[0, 1, 2]].set_axis([7, 8, 9]),
    "rows": lambda _: [{"t": 1, "k": "x"}, {"t": 2, "k": "y"}, {"t": 3}],
    "columns": lambda _: TABLE.to_pydict(),
    "stream interface": lambda _: Frame(TABLE),
    "array interface": lambda _: Array(),
    "dataset": dataset,
}


@pytest.mark.parametrize("kind", SOURCES)
def test_sources_are_read_alike(kind: str, tmp_path: Path) -> None:
    source = SOURCES[kind](tmp_path)
    joined = bf.join(
        bf.stream(source, time="t", name="a"),
        bf.stream(TABLE, time="t", name="b"),
        on="k",
        within=5,
    )
    rows = joined.read_all()
    assert sorted(rows["a_k"].to_pylist()) == ["x", "y"]
    assert rows.column_names == ["a_t", "a_k", "b_t", "b_k", "joined_at"]
    assert joined.ledger.streams["a"].arrived == 3


def test_a_named_index_is_a_column() -> None:
    indexed = TABLE.to_pandas().set_index("t")
    side = bf.stream(indexed, time="t", name="a")
    joined = bf.join(side, bf.stream(TABLE, time="t", name="b"), on="k", within=5)
    assert joined.read_all().num_rows == 2


@pytest.mark.parametrize("kind", ["pandas", "rows", "dataset"])
def test_what_can_be_read_again_is_shared(kind: str, tmp_path: Path) -> None:
    shared = bf.stream(SOURCES[kind](tmp_path), time="t", name="a")
    for _ in range(2):
        other = bf.stream(TABLE, time="t", name="b")
        assert bf.join(shared, other, on="k", within=5).read_all().num_rows == 2


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("orders.parquet", "is the path 'orders.parquet'.*pyarrow.dataset.dataset"),
        (Path("a") / "b.csv", "is the path 'a/b.csv'"),
        (pd.DataFrame({"t": [1, "x"]}), "a DataFrame that Arrow cannot convert"),
        ([{"t": 1}, {"t": "x"}], "a list that Arrow cannot convert"),
        ([], "gave no batch"),
        ([TABLE], "gave a Table instead of a record batch"),
        (5, "is a int: give an Arrow table, a data frame"),
        (b"rows", "is a bytes: give"),
    ],
)
def test_the_rest_is_refused_with_the_cure(source: Any, words: str) -> None:
    side = bf.stream(source, time="t", name="a")
    with pytest.raises(PlanError, match=words):
        bf.join(side, bf.stream(TABLE, time="t", name="b"), on="k", within=5)


def test_a_long_batch_is_cut_into_pieces_of_equal_length() -> None:
    """A short last piece would cost as much as any."""
    source = as_source(pa.table({"t": range(10)}), "a")
    pieces = []
    while (rows := source.read(4)) is not None:
        pieces.append(rows["t"].to_pylist())
    assert pieces == [[0, 1, 2, 3], [4, 5, 6], [7, 8, 9]]
