"""Unit tests of refusals and quarantine: every error says what, why and what to do; good rows
around bad ones are all joined. Families: plan-time errors, bad rows, broken batches."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import bankfull as bf
from bankfull.core.intake.text import not_utf8
from bankfull.errors import BankfullError, DataError, PlanError, SourceError, SpecError

GOOD = pa.table({"t": [1, 2, 3], "k": [1, 2, 3], "tags": [["a"], ["b"], ["c"]]})


def joined(left: Any = GOOD, right: Any = GOOD, **options: Any) -> bf.Joined:
    a = bf.stream(left, time=options.pop("time", "t"), name="a", late=options.pop("late", 0))
    b = bf.stream(right, time="t", name="b")
    return bf.join(a, b, **{"on": "k", "within": 5, **options})


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"time": "tt"}, PlanError, "no column 'tt': did you mean 't'?"),
        ({"time": "tags"}, PlanError, "give a timestamp, a date or an integer"),
        ({"on": "kk"}, PlanError, "no column 'kk': did you mean 'k'?"),
        ({"on": []}, SpecError, "give a column name"),
        ({"within": bf.rows}, SpecError, "is a function: give text such as"),
        ({"within": -1}, SpecError, "window -1 is negative: give a length of zero or more"),
        ({"within": "-5 minutes"}, SpecError, "window '-5 minutes' is negative: give a length"),
        ({"within": timedelta(-1)}, SpecError, "window -1 day, 0:00:00 is negative"),
        ({"within": 5, "basic_window": 0}, SpecError, "basic_window is 0 ticks, a slice of"),
        ({"within": None}, PlanError, "grow without bound: give within="),
        ({"within": "10 parsecs"}, SpecError, "unknown unit 'parsecs'"),
        ({"within": "soon"}, SpecError, "not a length of time"),
        ({"within": "5 seconds"}, PlanError, "times are integers"),
        ({"within": (5, 5, 5)}, SpecError, "2 streams and 3 windows"),
        ({"within": 1.5}, SpecError, "is a float"),
        ({"late": -3}, SpecError, "zero or more"),
        ({"late": "1 minute"}, PlanError, "times are integers"),
        ({"overload": "shed"}, SpecError, "not in this version"),
        ({"order": "sync"}, SpecError, "not in this version"),
        ({"search": "hsh"}, SpecError, "did you mean 'hash'?"),
        ({"search": "inverted"}, SpecError, "use hash or scan"),
        ({"basic_window": 9}, SpecError, "shorter than the basic window"),
        ({"on": bf.overlap("tags", at_least=1), "search": "hash"}, SpecError, "use inverted"),
        ({"on": bf.overlap("k", at_least=1)}, PlanError, "give a list column"),
        ({"on": bf.similar("tags", at_least=1)}, PlanError, "a map, or a list of structs"),
        ({"on": bf.equal("k", "tags")}, PlanError, "cast one to the other's type"),
    ],
)
def test_plan_time_problems_say_what_to_do(
    options: dict[str, Any], error: type[BankfullError], words: str
) -> None:
    with pytest.raises(error) as caught:
        joined(**options)
    assert words in str(caught.value)


@pytest.mark.parametrize("at_least", [0, -1, 1.5, True])
def test_overlap_needs_a_whole_threshold_above_zero(at_least: Any) -> None:
    with pytest.raises(SpecError, match="at_least"):
        bf.overlap("tags", at_least=at_least)


@pytest.mark.parametrize("at_least", [0, -0.5, float("nan"), float("inf"), "much"])
def test_similar_needs_a_finite_threshold_above_zero(at_least: Any) -> None:
    with pytest.raises(SpecError, match="at_least"):
        bf.similar("tags", at_least=at_least)


def test_names_must_be_told_apart() -> None:
    doubled = pa.RecordBatch.from_arrays([pa.array([1]), pa.array([1])], names=["t", "t"])
    with pytest.raises(PlanError, match="2 columns called 't'"):
        joined(doubled)
    with pytest.raises(SpecError, match=r"given twice|names a stream twice"):
        bf.join(*[bf.stream(GOOD, time="t", name="x") for _ in range(2)], on="k", within=1)
    a = bf.stream(pa.table({"t": [1], "k": [1], "b_k": [1]}), time="t", name="a")
    b = bf.stream(pa.table({"t": [1], "k": [1]}), time="t", name="b")
    with pytest.raises(PlanError, match="would be called 'b_k'"):
        bf.join(a, b, on="k", within=1)


def test_what_is_not_a_stream_is_refused() -> None:
    with pytest.raises(SpecError, match=r"wrap it in bf\.stream"):
        bf.join(GOOD, GOOD, on="k", within=1)  # type: ignore[arg-type]
    with pytest.raises(PlanError, match="give an Arrow table"):
        joined(7)
    with pytest.raises(PlanError, match="gave no batch"):
        joined(iter([]))
    with pytest.raises(PlanError, match="instead of a record batch"):
        joined(iter([{"t": 1}]))
    with pytest.raises(SpecError, match="give two to 5"):
        bf.join(bf.stream(GOOD, time="t"), on="k", within=1)


def test_integer_and_timestamp_times_do_not_mix() -> None:
    other = pa.table({"t": pa.array([1, 2], pa.timestamp("s")), "k": [1, 2]})
    with pytest.raises(PlanError, match="cast one to the other's type"):
        joined(GOOD, other)
    zoned = pa.table({"t": pa.array([1, 2], pa.timestamp("s", "UTC")), "k": [1, 2]})
    with pytest.raises(PlanError, match="time zone"):
        joined(other, zoned, within="1 second")


def test_integers_and_floats_are_not_equal_by_accident() -> None:
    with pytest.raises(PlanError, match="cast one"):
        joined(GOOD, pa.table({"t": [1], "k": [1.0]}))


def test_bad_times_are_set_aside_and_the_rows_around_them_joined() -> None:
    left = pa.table({"t": pa.array([1, None, 2**62, 4], pa.int64()), "k": [1, 1, 1, 1]})
    run = joined(left, pa.table({"t": [1, 4], "k": [1, 1]}))
    assert run.read_all().num_rows == 4
    counts = run.ledger.streams["a"]
    assert (counts.arrived, counts.quarantined, counts.inserted) == (4, 2, 2)
    assert sorted(run.quarantined["a"]["reason"].to_pylist()) == ["null time", "time out of range"]


def test_time_beyond_late_is_counted_and_time_within_is_exact() -> None:
    left = pa.table({"t": [10, 7, 6, 12, 9], "k": [1] * 5})
    run = joined(left, pa.table({"t": [10], "k": [1]}), late=3, within=5)
    out = run.read_all()
    assert sorted(out["a_t"].to_pylist()) == [7, 9, 10, 12]
    assert run.ledger.streams["a"].late == 1
    assert run.quarantined["a"]["reason"].to_pylist() == ["late"]


def test_nan_weights_are_set_aside() -> None:
    kind = pa.map_(pa.string(), pa.float64())
    weights = pa.array([[("x", 1.0)], [("x", float("nan"))], [("x", None)], [("x", 2.0)]], kind)
    left = pa.table({"t": [1, 2, 3, 4], "w": weights})
    run = joined(left, left.slice(0, 1), on=bf.similar("w", at_least=0.5))
    assert sorted(run.read_all()["a_t"].to_pylist()) == [1, 4]
    assert run.ledger.streams["a"].quarantined == 2


@pytest.mark.parametrize(
    "left",
    [
        pa.table({"t": pa.array([1, None], pa.int64()), "k": [1, 1]}),
        pa.table({"t": [5, 1], "k": [1, 1]}),
    ],
)
def test_strict_raises_on_the_first_bad_row(left: pa.Table) -> None:
    with pytest.raises(DataError, match="strict=True"):
        joined(left, strict=True).read_all()


def batches_with(bad: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    good = GOOD.to_batches()[0]
    yield good.slice(0, 1)
    yield bad
    yield good.slice(1)


def damaged() -> pa.RecordBatch:
    """A list column whose offsets point far outside its items."""
    offsets = pa.py_buffer(np.array([0, 1 << 20, 1], np.int32))
    tags = pa.Array.from_buffers(
        pa.list_(pa.string()), 2, [None, offsets], children=[pa.array(["x"])]
    )
    two = pa.array([2, 2])
    return pa.RecordBatch.from_arrays([two, two, tags], names=GOOD.schema.names)


@pytest.mark.parametrize(
    "bad", [pa.RecordBatch.from_pydict({"other": [1, 2]}), damaged()], ids=["schema", "damaged"]
)
def test_a_broken_batch_in_mid_stream_is_set_aside(bad: pa.RecordBatch) -> None:
    run = joined(batches_with(bad), GOOD)
    assert run.read_all().num_rows == 3
    counts = run.ledger.streams["a"]
    assert counts.quarantined == bad.num_rows
    assert counts.inserted == 3
    with pytest.raises(DataError, match="damaged"):
        joined(batches_with(bad), GOOD, strict=True).read_all()


@pytest.mark.parametrize("error", [OSError("cable pulled"), pa.ArrowInvalid("cable pulled")])
@pytest.mark.parametrize(("strict", "expected"), [(False, 5), (True, 3)])
def test_a_failing_source_is_reported_after_the_rest_is_joined(
    error: Exception, strict: bool, expected: int
) -> None:
    def failing() -> Iterator[pa.RecordBatch]:
        yield GOOD.to_batches()[0]
        raise error

    right = pa.table({"t": [1, 2, 3, 4, 5], "k": [1, 2, 3, 3, 3]})
    run = joined(failing(), iter(right.to_batches(max_chunksize=1)), strict=strict)
    with pytest.raises(SourceError, match="cable pulled"):
        run.read_all()
    assert run.ledger.emitted == expected


def test_our_own_errors_keep_their_words() -> None:
    def failing() -> Iterator[pa.RecordBatch]:
        yield GOOD.to_batches()[0]
        raise DataError("row 7 is wrong")

    with pytest.raises(DataError, match=r"^row 7 is wrong$"):
        joined(failing()).read_all()


def test_every_bad_row_reaches_the_callback() -> None:
    seen: list[tuple[str, int]] = []
    left = pa.table({"t": pa.array([None] * 20_000, pa.int64()), "k": [1] * 20_000})
    a, b = bf.stream(left, time="t", name="a"), bf.stream(GOOD, time="t", name="b")
    run = bf.join(a, b, on="k", within=5, on_quarantine=lambda n, r: seen.append((n, len(r))))
    run.read_all()
    assert sum(count for _, count in seen) == 20_000
    assert run.quarantined["a"].num_rows == 10_000


def test_dates_and_zoned_times_can_be_mixed_by_value() -> None:
    day = pa.table({"t": pa.array([datetime(2024, 1, 2)], pa.date32()), "k": [1]})
    noon = pa.table({"t": pa.array([datetime(2024, 1, 2, 12)], pa.timestamp("ms")), "k": [1]})
    out = joined(day, noon, within="12 hours").read_all()
    assert out["joined_at"].to_pylist() == [datetime(2024, 1, 2, 12)]
    assert joined(day, noon, within="11 hours").read_all().num_rows == 0
    utc = pa.array([datetime(2024, 1, 1, tzinfo=UTC)], pa.timestamp("us", "UTC"))
    paris = utc.cast(pa.timestamp("us", "Europe/Paris"))
    run = joined(
        pa.table({"t": utc, "k": [1]}), pa.table({"t": paris, "k": [1]}), within="1 second"
    )
    assert run.read_all().num_rows == 1


def test_broken_text_behind_a_slice_is_nobodys() -> None:
    """Items of a list that lie outside of a batch's rows used to hang an empty batch."""
    cells = pa.array([b"a", b"\xff", b"b"]).view(pa.string())
    lists = pa.ListArray.from_arrays([0, 1, 2, 3], cells)
    for start, stop, bad in ((0, 0, []), (3, 3, []), (0, 1, [False]), (0, 3, [False, True, False])):
        assert not_utf8(lists.slice(start, stop - start)).tolist() == bad
