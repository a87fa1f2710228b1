"""Unit tests of the loop for three to five streams: how much is compared to find a result, or none.

Results are held to the oracle by the property tests; here the counts of the ledger are, which say
that a search ends where nothing can come of it. One key, so that every tuple is a candidate.
"""

from __future__ import annotations

import pyarrow as pa

import bankfull as bf
from bankfull.assemble import assemble
from bankfull.core import Batch, start, step


def _compared(times: dict[str, list[int]], order: str) -> tuple[int, int]:
    """Join streams that come one after the other; return results and comparisons."""
    tables = {name: pa.table({"t": at, "k": [1] * len(at)}) for name, at in times.items()}
    streams = [bf.stream(table, time="t", name=name, late=100) for name, table in tables.items()]
    query = bf.join(*streams, on="k", within=10).query
    state = start(assemble(query, {name: table.schema for name, table in tables.items()}))
    for name in order:
        [rows] = tables[name].to_batches()
        outcome = step(state, Batch({name: rows}))
        state = outcome.state
    [counts] = outcome.ledger.joins.values()
    return counts.emitted, counts.compared


def test_a_search_ends_where_a_stream_has_no_partner() -> None:
    """Tuple a meets fifty tuples b, but no c is within its window."""
    assert _compared({"a": [5], "b": [0] * 50, "c": [30]}, "bca") == (0, 2)


def test_what_does_not_fit_together_is_not_followed() -> None:
    """Tuple a at 8 reaches b at 0 and c at 16, which do not reach each other: d does not matter."""
    # Of b, c and d one each, then every b, and with each of them every c.
    expected = 3 + 5 + 5 * 5
    streams = {"a": [8], "b": [0] * 5, "c": [16] * 5, "d": [8] * 5}
    assert _compared(streams, "bcda") == (0, expected)


def test_every_combination_is_found() -> None:
    assert _compared({"a": [8], "b": [0, 1], "c": [5, 9, 11], "d": [10]}, "bcda")[0] == 5
