"""Legal input in unusual forms: every column type, key and budget ends in results.

Bad input, families: forms of types (dictionaries, runs, extensions), keys beyond the common type,
buffers longer than their values, budgets and importance beyond all measure.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import bankfull as bf
from bankfull.core.bounded.arrays import IMPORTANCE_MAX, bad_importance
from bankfull.core.store.columns import ArrowColumn
from bankfull.core.store.forms import plain_type, to_form
from bankfull.core.store.lanes import Lanes
from bankfull.runtime.embedded.files import open_sink

RUNS = pc.run_end_encode(pa.array(["x", "x", None]))
CODED = pa.array(["a", None, "b"]).dictionary_encode()
UUIDS = pa.array([b"a" * 16, None, b"c" * 16], pa.binary(16)).cast(pa.uuid())


def _lists(items: pa.Array) -> pa.Array:
    return pa.ListArray.from_arrays([0, 1, 2, 3], items)


def _views(items: pa.Array) -> pa.Array:
    return pa.ListViewArray.from_arrays([2, 0, 1], [1, 2, 1], items)  # in any order, and shared


def _structs(items: pa.Array) -> pa.Array:
    return pa.StructArray.from_arrays([items], ["x"], mask=pa.array([False, False, True]))


def _maps(items: pa.Array) -> pa.Array:
    return pa.MapArray.from_arrays([0, 1, 2, 3], pa.array(["k", "l", "m"]), items)


def _joined(left: dict[str, Any], right: dict[str, Any]) -> pa.Table:
    streams = [
        bf.stream(pa.table({"t": [1, 2, 3], **columns}), time="t", name=name)
        for name, columns in (("a", left), ("b", right))
    ]
    return bf.join(*streams, on="k", within=10).read_all()


FORMS = {
    f"{what} {form}": wrap(items)
    for form, items in (("runs", RUNS), ("dictionary", CODED), ("extension", UUIDS))
    for what, wrap in (
        ("plain", lambda items: items),
        ("list of", _lists),
        ("views of", _views),
        ("struct of", _structs),
        ("map of", _maps),
        ("fixed list of", lambda items: pa.FixedSizeListArray.from_arrays(items, 1)),
    )
}


@pytest.mark.uncompiled
@pytest.mark.parametrize("name", FORMS)
def test_every_form_is_stored_plainly_and_given_back(name: str) -> None:
    values = FORMS[name]
    plain = to_form(values, plain_type(values.type))
    assert to_form(plain.slice(1), values.type).to_pylist() == values.to_pylist()[1:]
    out = _joined({"k": [1, 2, 3], "v": values}, {"k": [3, 2, 1]})
    given = dict(zip([1, 2, 3], values.to_pylist(), strict=True))
    assert {row["a_k"]: row["v"] for row in out.to_pylist()} == given


@pytest.mark.uncompiled
@pytest.mark.parametrize("name", [name for name in FORMS if not name.startswith("map")])
def test_every_form_is_a_key(name: str) -> None:
    values = FORMS[name]
    distinct = [repr(one) for one in values.to_pylist() if one is not None]
    expected = sum(distinct.count(one) for one in distinct)
    assert _joined({"k": values}, {"k": values}).num_rows == expected


@pytest.mark.uncompiled
@pytest.mark.parametrize("kind", ["list", "struct", "fixed"])
def test_keys_that_differ_in_nullability_are_compared(kind: str) -> None:
    """Spark says of every array whether it may hold nulls, and two tables rarely agree."""

    def keys(nullable: bool) -> pa.Array:
        inner = pa.field("x", pa.int64(), nullable)
        if kind == "struct":
            return pa.array([{"x": 1}, {"x": 2}, {"x": 3}], pa.struct([inner]))
        whole = pa.list_(inner) if kind == "list" else pa.list_(inner, 1)
        return pa.array([[1], [2], [3]], whole)

    assert _joined({"k": keys(True)}, {"k": keys(False)}).num_rows == 3
    assert _joined({"k": keys(False)}, {"k": keys(False)}).num_rows == 3


@pytest.mark.uncompiled
def test_a_key_that_the_other_type_cannot_hold_equals_nothing() -> None:
    seconds = pa.array([0, 10**12, 1], pa.timestamp("s"))
    nanoseconds = pa.array([0, 1, 10**9], pa.timestamp("ns"))
    assert _joined({"k": seconds}, {"k": nanoseconds}).num_rows == 2


@pytest.mark.uncompiled
def test_a_buffer_may_be_longer_than_its_values() -> None:
    data = pa.py_buffer(np.array([1, 2, 3], np.int64).tobytes() + b"xyz")
    numbers = pa.Array.from_buffers(pa.int64(), 3, [None, data])
    offsets = pa.py_buffer(np.array([0, 1, 2, 3], np.int32).tobytes() + b"x")
    texts = pa.Array.from_buffers(pa.string(), 3, [None, offsets, pa.py_buffer(b"abc")])
    assert _joined({"k": texts, "v": numbers}, {"k": ["a", "b", "c"]})["v"].to_pylist() == [1, 2, 3]


@pytest.mark.uncompiled
def test_new_dictionaries_do_not_pile_up() -> None:
    """More values than an index can number, all but a few of which have left the window."""

    def batches() -> Any:
        for i in range(300):
            coded = pa.DictionaryArray.from_arrays(pa.array([0], pa.int8()), [f"{i:0>10000}"])
            yield pa.record_batch({"t": [i], "k": [i], "v": coded})

    rows = pa.table({"t": range(300), "k": range(300)})
    joined = bf.join(
        bf.stream(batches(), time="t", name="a"), bf.stream(rows, time="t", name="b"),
        on="k", within=5,
    )  # fmt: skip
    kinds, values = set(), []
    for some in joined:
        kinds.add(some.schema.field("v").type)
        values += some.column("v").to_pylist()
        room = 24 << 16  # for results: three numbers each
        assert joined.stored_bytes() < 713_568 + room
    assert kinds == {pa.dictionary(pa.int32(), pa.string())}
    assert values == [f"{i:0>10000}" for i in range(300)]


@pytest.mark.uncompiled
def test_text_is_merged_and_given_out_within_what_offsets_reach(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("bankfull.core.store.columns._CHUNK_BYTES", 2000)  # stands for 2 GiB
    lanes = Lanes()
    column = ArrowColumn(lanes, pa.string())
    for _ in range(8):
        lanes.extend(2)
        column.append(pa.array(["x" * 500, "y"]))
    assert len(column.chunks) >= 3
    rows = np.array([0, 0, 1, 0, 15], np.int64)
    assert column.row_bytes_most() == 504
    assert column.row_bytes(rows).tolist() == [504, 504, 5, 504, 5]
    assert column.gather(rows[:3]).to_pylist() == ["x" * 500, "x" * 500, "y"]


@pytest.mark.uncompiled
def test_importance_has_a_bound_and_sums_stay_numbers() -> None:
    values = pa.array([1.0, IMPORTANCE_MAX, 1e160, 1e308, float("inf"), 0.0, None])
    assert list(bad_importance(values)) == [False, False, True, True, True, True, True]
    assert np.isfinite((IMPORTANCE_MAX**5) ** 2 * 2.0**40)


@pytest.mark.parametrize("memory", [bf.tuples(10**30), "900000000 GB"], ids=str)
def test_a_budget_beyond_all_measure_keeps_everything(memory: Any) -> None:
    rows = pa.table({"t": [1, 2, 3], "k": [1, 2, 3]})
    streams = [bf.stream(rows, time="t", name=name) for name in "ab"]
    split = {"a": 0.5, "b": 0.5}
    shed = bf.shed(memory, keep="fifo", split=split)
    assert bf.join(*streams, on="k", within=9, overload=shed).read_all().num_rows == 3


@pytest.mark.uncompiled
def test_batches_of_other_schemas_are_set_aside_together() -> None:
    batches = [
        pa.record_batch({"t": [1], "k": [1]}),
        pa.record_batch({"t": ["noon"], "k": [1]}),
        pa.record_batch({"t": [[1, 2]], "extra": [1.5]}),
        pa.record_batch([pa.array([1]), pa.array([2])], names=["k", "k"]),
    ]
    joined = bf.join(
        bf.stream(iter(batches), time="t", name="a"),
        bf.stream(pa.table({"t": [1], "k": [1]}), time="t", name="b"),
        on="k",
        within=5,
    )
    assert joined.read_all().num_rows == 1
    aside = joined.quarantined["a"].to_pylist()
    assert [row["t"] for row in aside] == ["noon", "[1, 2]", None]
    assert [row["k"] for row in aside] == [1, None, 1]
    assert aside[2]["k_2"] == 2


@pytest.mark.uncompiled
def test_an_arrow_file_takes_another_dictionary_in_every_batch(tmp_path: Path) -> None:
    """Results have dictionaries of their own, a batch each; a file cannot replace one."""
    schema = pa.schema([("v", CODED.type)])
    with open_sink(str(tmp_path / "out.arrow"), "arrow", schema) as sink:
        for texts in (["a", None, "b"], ["c", "b"]):
            sink.write(pa.record_batch([pa.array(texts).dictionary_encode()], schema=schema))
    with pa.ipc.open_file(tmp_path / "out.arrow") as file:
        assert file.num_record_batches == 2
        assert file.read_all()["v"].to_pylist() == ["a", None, "b", "c", "b"]
