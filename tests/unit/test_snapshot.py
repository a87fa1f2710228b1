"""Unit tests of snapshots: a restored operator goes on as if nothing had happened; what is
damaged, foreign or unknown is refused with advice. Families: recovery, refusal."""

from __future__ import annotations

import hashlib
import struct

import numpy as np
import pyarrow as pa
import pytest

import bankfull as bf
from bankfull.assemble import assemble
from bankfull.core import Batch, Plan, State, restore, snapshot, start, step
from bankfull.core.codes import keys
from bankfull.errors import SnapshotError
from bankfull.kernels import hashing
from bankfull.spec import Equal, Join, Overlap, Predicate, Query, Rows, Stream, Ticks, Window

SCHEMA = pa.schema([("t", pa.int64()), ("k", pa.string()), ("tags", pa.list_(pa.string()))])


def plan(predicate: Predicate | None = None, window: Window | None = None) -> Plan:
    join = Join("j", ("a", "b"), predicate or Equal((("k",),)), (window or Ticks(50),))
    query = Query((Stream("a", "t", Ticks(20)), Stream("b", "t", Ticks(20))), (join,))
    return assemble(query, {"a": SCHEMA, "b": SCHEMA})


def rows(seed: int, count: int = 120) -> pa.RecordBatch:
    rng = np.random.default_rng(seed)
    times = np.arange(count) * 2 + rng.integers(0, 15, count) + 240 * (seed // 2)
    tags = [[f"i{n}" for n in rng.integers(0, 40, 4)] for _ in range(count)]
    return pa.RecordBatch.from_arrays(
        [pa.array(times), pa.array([f"k{n}" for n in rng.integers(0, 9, count)]), pa.array(tags)],
        schema=SCHEMA,
    )


def feed(state: State, seeds: range) -> list[pa.RecordBatch]:
    out: list[pa.RecordBatch] = []
    for seed in seeds:
        out.extend(step(state, Batch({"ab"[seed % 2]: rows(seed)})).output)
    return out


@pytest.mark.parametrize("window", [Ticks(50), Rows(30)])
@pytest.mark.parametrize("predicate", [Equal((("k",),)), Overlap(("tags",), 2)])
def test_a_restored_operator_goes_on_unchanged(predicate: Predicate, window: Window) -> None:
    state = start(plan(predicate, window))
    feed(state, range(0, 6))
    written = snapshot(state)
    restored = restore(plan(predicate, window), written)
    assert snapshot(restored) == written
    expected, again = feed(state, range(6, 12)), feed(restored, range(6, 12))
    assert sum(batch.num_rows for batch in expected) > 100
    assert pa.Table.from_batches(expected).equals(pa.Table.from_batches(again))
    assert state.ledger == restored.ledger


def test_comparisons_are_counted_alike_after_a_burst() -> None:
    """The hash table stays large for a while when a window has become small."""
    query = plan(window=Ticks(9))

    def some(first: int, apart: int, count: int) -> pa.RecordBatch:
        made = [{"t": first + apart * n, "k": f"k{n}"} for n in range(count)]
        return pa.RecordBatch.from_pylist(made, schema=SCHEMA)

    state = start(query)
    for batch in (some(0, 0, 300), some(100, 1, 70), some(200, 0, 70)):
        step(state, Batch({"a": batch, "b": batch}))
    restored = restore(query, snapshot(state))
    for one in (state, restored):
        batch = some(205, 0, 50)
        step(one, Batch({"a": batch, "b": batch}))
    assert restored.ledger == state.ledger


def test_damage_is_noticed_wherever_it_is() -> None:
    state = start(plan())
    feed(state, range(0, 4))
    written = snapshot(state)
    for position in range(0, len(written), max(1, len(written) // 97)):
        broken = bytearray(written)
        broken[position] ^= 0x10
        with pytest.raises(SnapshotError):
            restore(plan(), bytes(broken))
    for length in (0, 10, len(written) // 2, len(written) - 1):
        with pytest.raises(SnapshotError):
            restore(plan(), written[:length])


def test_foreign_snapshots_are_refused_with_advice() -> None:
    written = snapshot(start(plan()))
    with pytest.raises(SnapshotError, match="another query"):
        restore(plan(window=Ticks(51)), written)
    newer = written[:8] + struct.pack("<I", 99) + written[12:]
    with pytest.raises(SnapshotError, match="version 99 is unknown"):
        restore(plan(), newer)
    with pytest.raises(SnapshotError, match="not a bankfull snapshot"):
        restore(plan(), b"x" * 100)


def test_state_with_other_key_codes_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    written = snapshot(start(plan()))
    monkeypatch.setattr("bankfull.kernels.hashing.CODES", 0)
    with pytest.raises(SnapshotError, match="key codes of version 1"):
        restore(plan(), written)


def test_key_codes_are_those_of_their_version() -> None:
    """Codes are written down: a change of them without a new ``CODES`` would lose matches."""
    columns = [pa.array([0, 1, -5, 2**60]), pa.array(["", "a", "héllo", "x" * 40])]
    codes = [keys.encode([column], [column.type])[0] for column in columns]
    both = keys.encode(columns, [column.type for column in columns])[0]
    found = hashlib.blake2b(np.stack([*codes, both]).tobytes(), digest_size=8).hexdigest()
    assert (hashing.CODES, found) == (1, "2691de074ed091b5")


def test_the_runtime_goes_on_from_a_snapshot() -> None:
    left = [rows(seed) for seed in (0, 2, 4, 6)]
    right = [rows(seed) for seed in (1, 3, 5, 7)]

    def run(a: list[pa.RecordBatch], b: list[pa.RecordBatch]) -> bf.Joined:
        return bf.join(
            bf.stream(pa.Table.from_batches(a, SCHEMA), time="t", name="a", late=20),
            bf.stream(pa.Table.from_batches(b, SCHEMA), time="t", name="b", late=20),
            on="k",
            within=50,
        )

    whole = run(left, right).read_all()
    first = run(left[:2], right[:2])
    state = first._state
    out = [step(state, Batch({"a": batch})).output for batch in left[:2]]
    out += [step(state, Batch({"b": batch})).output for batch in right[:2]]
    second = run(left[2:], right[2:])
    second.restore(first.snapshot())
    rest = second.read_all()
    assert sum(b.num_rows for batches in out for b in batches) + rest.num_rows == whole.num_rows
