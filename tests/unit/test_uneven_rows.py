"""Family: unit. Rows of very different sizes on their way through Spark are cut by their bytes."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from bankfull.assemble import assemble
from bankfull.runtime.spark import gather
from bankfull.runtime.spark.packets import cut_by_bytes, pack
from bankfull.spec import Equal, Join, Query, Stream, Ticks

SCHEMA = pa.schema([("t", pa.int64()), ("text", pa.string()), ("lists", pa.list_(pa.string()))])
LARGE, MOST = 10_000, 1 << 16


def _uneven(small: int, large: int) -> pa.RecordBatch:
    """Return small rows with large ones in their middle."""
    count = small + large
    texts = ["x"] * count
    texts[small // 2 : small // 2 + large] = ["x" * LARGE] * large
    columns = {"t": np.arange(count), "text": texts, "lists": [[text] for text in texts]}
    return pa.RecordBatch.from_pydict(columns, schema=SCHEMA)


def test_large_rows_that_stand_together_are_cut() -> None:
    """All 100 large rows came in one piece, 30 times as large as it may be."""
    rows = _uneven(20_000, 100)
    pieces = list(cut_by_bytes(rows, MOST))
    assert max(piece.nbytes for piece in pieces) <= 2 * MOST
    assert pa.Table.from_batches(pieces).equals(pa.Table.from_batches([rows]))


def test_a_bucket_hands_large_rows_on_in_several_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a micro-batch of some gigabytes they would not fit into a column of text."""
    monkeypatch.setattr(gather, "_STEP_BYTES", 4 * MOST)
    joins = (Join("j", ("a", "b"), Equal((("t",),)), (Ticks(1),)),)
    plan = assemble(Query((Stream("a", "t"), Stream("b", "t")), joins), dict.fromkeys("ab", SCHEMA))
    rows = _uneven(20_000, 100)
    packets = [(0, 0, True, None, pack(piece)) for piece in cut_by_bytes(rows, MOST)]
    gathered = gather.Gathered(plan, reversed(packets))
    batches = [gathered.take(piece)["a"] for piece in gathered.pieces()]
    assert max(batch.nbytes for batch in batches) <= 2 * 4 * MOST
    assert pa.Table.from_batches(batches)["t"].to_pylist() == list(range(20_100))
