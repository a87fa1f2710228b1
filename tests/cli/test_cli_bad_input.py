"""Units: input that ``bankfull run`` refuses, sets aside or survives, each message asserted."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import shop
from typer.testing import CliRunner

from bankfull.cli import app


def run(*arguments: object) -> tuple[int, str, str]:
    outcome = CliRunner().invoke(app, ["run", *map(str, arguments)])
    if outcome.exception and not isinstance(outcome.exception, SystemExit):
        raise outcome.exception
    return outcome.exit_code, outcome.stdout, outcome.stderr


def _files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("orders.parquet", None, "orders.parquet does not exist: check the path"),
        ("orders.parquet", b"PAR1 not really", "orders.parquet cannot be read as parquet: "),
        ("orders.arrow", b"ARROW1 not really", "orders.arrow cannot be read as arrow: "),
        ("orders.csv", b"", "orders.csv cannot be read: Empty CSV file: a CSV file starts with"),
        ("orders.jsonl", b"", "orders.jsonl cannot be read: it is empty"),
        ("orders.jsonl", b"a,b\n1,2\n", "write one JSON object a line"),
        ("orders.csv", b"order_id,when\n1,2\n", "stream 'orders' has no column 'ordered_at'"),
        ("orders.csv", b"order_id,ordered_at\n1,soon\n", "has type string: give a timestamp"),
    ],
)
def test_sources_that_cannot_be_read(
    tmp_path: Path, name: str, content: bytes | None, message: str
) -> None:
    shop.write(shop.make()[1], tmp_path / "payments.csv")
    if content is not None:
        (tmp_path / name).write_bytes(content)
    more = '[output]\npath = "joined.parquet"\n[quarantine]\npath = "bad-{stream}.jsonl"'
    file = shop.job(tmp_path, name, "payments.csv", more)
    before = _files(tmp_path)
    code, stdout, stderr = run(file)
    assert (code, stdout) == (1, "")
    assert message in stderr
    assert _files(tmp_path) == before


def test_a_source_cut_short_leaves_the_old_output_alone(tmp_path: Path) -> None:
    """The stream breaks after results were written: nothing half-written takes the name."""
    orders, payments = shop.make(rows=500)
    shop.write(payments, tmp_path / "payments.csv")
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, orders.schema) as writer:
        writer.write_table(orders, max_chunksize=100)
    whole = sink.getvalue()
    (tmp_path / "orders.arrow").write_bytes(whole[: len(whole) * 3 // 4])
    (tmp_path / "joined.csv").write_text("from yesterday")
    job = shop.job(tmp_path, "orders.arrow", "payments.csv", '[output]\npath = "joined.csv"')
    before = _files(tmp_path)
    code, _, stderr = run(job, "--overwrite")
    assert code == 1
    assert "orders.arrow cannot be read beyond row " in stderr
    assert "it is damaged or was cut short" in stderr
    assert (tmp_path / "joined.csv").read_text() == "from yesterday"
    assert _files(tmp_path) == before


def test_a_damaged_batch_in_a_file_costs_only_itself(tmp_path: Path) -> None:
    orders, payments = shop.make(rows=100)
    shop.write(payments, tmp_path / "payments.csv")
    path = tmp_path / "orders.arrow"
    starts = []
    with (
        pa.OSFile(str(path), "wb") as file,
        pa.ipc.new_file(file, orders.schema) as writer,
    ):
        for batch in orders.to_batches(max_chunksize=20):
            starts.append(file.tell())
            writer.write_batch(batch)
    content = bytearray(path.read_bytes())
    content[starts[1] + 8 : starts[1] + 40] = bytes(32)  # what describes the second batch
    path.write_bytes(content)
    more = '[output]\npath = "joined.arrow"\n[quarantine]\npath = "bad-{stream}.jsonl"'
    code, stdout, _ = run(shop.job(tmp_path, "orders.arrow", "payments.csv", more), "--json")
    assert code == 0
    assert json.loads(stdout)["unreadable"]["orders"] == 1
    rest = pa.concat_tables([orders.slice(0, 20), orders.slice(40)])
    assert shop.rows_of(shop.read(tmp_path / "joined.arrow")) == shop.pairs(rest, payments)
    bad = json.loads((tmp_path / "bad-orders.jsonl").read_text())
    assert bad["reason"].startswith("record batch 2: ")


def _jsonl(path: Path, rows: list[Any]) -> None:
    lines = [row if isinstance(row, bytes) else json.dumps(row).encode() for row in rows]
    path.write_bytes(b"\n".join(lines) + b"\n")


BAD_LINES: list[Any] = [
    {"order_id": 1, "ordered_at": "2024-05-01T12:00:00", "amount": 1},
    b'{"order_id": 2, "ordered_at": ',
    {"order_id": 3, "ordered_at": "2024-05-01T12:00:01.5", "amount": 2.5},
    {"order_id": "four", "ordered_at": "2024-05-01T12:00:02", "amount": 1},
    b"",
    b'{"order_id": 5, "ordered_at": "2024-05-01T12:00:03", "amount": 1, "note": "\xff"}',
    {"order_id": 6, "ordered_at": "yesterday", "amount": 1},
    {"order_id": 7, "ordered_at": None, "amount": 1},
    [8],
    {"order_id": 9, "ordered_at": "2024-05-01T12:00:04", "amount": 1, "note": "late?"},
    {"order_id": 10, "ordered_at": "2024-05-01T11:00:00", "amount": 1},
]


def _bad_lines_job(folder: Path, before: str = "", quarantine: bool = True) -> Path:
    _jsonl(folder / "orders.jsonl", BAD_LINES)
    _jsonl(
        folder / "payments.jsonl",
        [{"order_id": k, "paid_at": "2024-05-01T12:00:05"} for k in range(12)],
    )
    more = '[output]\npath = "joined.arrow"\n'
    more += '[quarantine]\npath = "bad-{stream}.jsonl"\n' if quarantine else ""
    return shop.job(folder, "orders.jsonl", "payments.jsonl", more, before)


def test_bad_lines_are_quarantined_and_good_ones_joined(tmp_path: Path) -> None:
    code, stdout, stderr = run(_bad_lines_job(tmp_path), "--json")
    assert code == 0
    told = json.loads(stdout)
    # Late rows are told of at the end, with what would have kept them.
    (warning,) = stderr.splitlines()
    assert warning.startswith("warning: stream 'orders': 1 of 6 rows came later than")
    assert 'late="2 hours" would have kept them all' in warning
    assert told["lateness"]["orders"]["advice"] == '"2 hours"'
    assert told["lateness"]["orders"]["longest"] == "1 hour"
    joined = shop.read(tmp_path / "joined.arrow")
    assert sorted(joined["orders_order_id"].to_pylist()) == [1, 3, 9]
    assert sorted(joined["amount"].to_pylist()) == [1.0, 1.0, 2.5]
    assert told["unreadable"] == {"orders": 4, "payments": 0}
    counts = told["ledger"]["streams"]["orders"]
    assert (counts["arrived"], counts["quarantined"], counts["late"]) == (6, 2, 1)
    bad = [json.loads(line) for line in (tmp_path / "bad-orders.jsonl").read_text().splitlines()]
    assert (tmp_path / "bad-payments.jsonl").read_text() == ""
    reasons = {row["order_id"]: row["reason"] for row in bad if row["order_id"] is not None}
    assert reasons == {6: "null time", 7: "null time", 10: "late"}
    unread = sorted(row["reason"] for row in bad if row["order_id"] is None)
    assert [reason.split(":")[0] for reason in unread] == ["line 2", "line 4", "line 6", "line 9"]
    assert '"four"' in unread[1]


def test_bad_lines_end_a_strict_run(tmp_path: Path) -> None:
    code, _, stderr = run(_bad_lines_job(tmp_path, before="strict = true\n"))
    assert code == 1
    assert "orders.jsonl, line 2: " in stderr
    assert "run without strict" in stderr
    assert not (tmp_path / "joined.arrow").exists()


def test_bad_rows_of_csv(tmp_path: Path) -> None:
    (tmp_path / "orders.csv").write_bytes(
        b"order_id,ordered_at,amount,note\n"
        b"1,2024-05-01T12:00:00,1.5,ok\n"
        b"2,2024-05-01T12:00:01\n"
        b"3,2024-05-01T12:00:02,NA,\n"
        b"4,soon,1,\n"
        b"5,2024-05-01T12:00:03,1,\xff\n"
        b"6,2024-05-01T12:00:04,1,a,b\n"
        b'7,2024-05-01T12:00:05,2,"two\nlines"\n'
    )
    _jsonl(
        tmp_path / "payments.jsonl",
        [{"order_id": k, "paid_at": "2024-05-01T12:00:05"} for k in range(9)],
    )
    more = '[output]\npath = "joined.arrow"\n[quarantine]\npath = "bad-{stream}.csv"'
    code, stdout, _ = run(shop.job(tmp_path, "orders.csv", "payments.jsonl", more), "--json")
    assert code == 0
    told = json.loads(stdout)
    joined = shop.read(tmp_path / "joined.arrow").sort_by("orders_order_id")
    assert joined["orders_order_id"].to_pylist() == [1, 3, 7]
    assert joined["amount"].to_pylist() == [1.5, None, 2.0]
    assert joined["note"].to_pylist() == ["ok", None, "two\nlines"]
    assert told["unreadable"]["orders"] == 3
    assert told["ledger"]["streams"]["orders"]["quarantined"] == 1
    bad = (tmp_path / "bad-orders.csv").read_text()
    assert "row 3: 2 columns where the first row has 4" in bad
    assert "row 7: 5 columns where the first row has 4" in bad
    assert "are not UTF-8 text" in bad
    assert "null time" in bad


def test_a_cell_that_does_not_fit_the_first_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Types come from the first block; ``types`` in the job file overrules it."""
    monkeypatch.setattr("bankfull.runtime.embedded.files.csvrows.BLOCK_BYTES", 64)
    rows = [f"{k},2024-05-01T12:00:0{k},{k}" for k in range(9)]
    rows[7] = "7,2024-05-01T12:00:07,7.5"
    (tmp_path / "orders.csv").write_text("order_id,ordered_at,amount\n" + "\n".join(rows) + "\n")
    _jsonl(
        tmp_path / "payments.jsonl",
        [{"order_id": k, "paid_at": "2024-05-01T12:00:05"} for k in range(9)],
    )
    more = '[output]\npath = "joined.arrow"\n[quarantine]\npath = "bad-{stream}.jsonl"'
    file = shop.job(tmp_path, "orders.csv", "payments.jsonl", more)
    assert run(file, "-q")[0] == 0
    assert shop.read(tmp_path / "joined.arrow").num_rows == 8
    reason = json.loads((tmp_path / "bad-orders.jsonl").read_text())["reason"]
    assert reason.startswith("row 9: '7.5' in column 'amount' is not exactly int64, the type of")
    assert "set it in types" in reason
    typed = file.read_text().replace(
        "[streams.payments]", 'types = {amount = "float64"}\n[streams.payments]'
    )
    file.write_text(typed)
    assert run(file, "-q", "--overwrite")[0] == 0
    assert shop.read(tmp_path / "joined.arrow").num_rows == 9
