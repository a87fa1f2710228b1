"""Units of ``bankfull run``: every format in and out, real files, real processes.

Joined rows are compared with a nested loop (`shop.pairs`), so a wrong reader, writer or plan shows.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet
import pytest
import shop
from typer.testing import CliRunner

from bankfull.cli import app


def run(*arguments: object) -> tuple[int, str, str]:
    outcome = CliRunner().invoke(app, ["run", *map(str, arguments)])
    if outcome.exception and not isinstance(outcome.exception, SystemExit):
        raise outcome.exception
    return outcome.exit_code, outcome.stdout, outcome.stderr


@pytest.mark.parametrize("output", shop.SUFFIX)
@pytest.mark.parametrize("source", shop.SUFFIX)
def test_every_format_in_and_out(tmp_path: Path, source: str, output: str) -> None:
    orders, payments = shop.make()
    suffix = shop.SUFFIX[source]
    shop.write(orders, tmp_path / f"orders{suffix}")
    shop.write(payments, tmp_path / f"payments{suffix}")
    target = tmp_path / f"joined{shop.SUFFIX[output]}"
    file = shop.job(
        tmp_path, f"orders{suffix}", f"payments{suffix}", f'[output]\npath = "{target.name}"'
    )
    code, stdout, stderr = run(file)
    assert (code, stdout) == (0, "")
    assert shop.rows_of(shop.read(target)) == shop.pairs(orders, payments)
    assert "rows out to" in stderr
    assert sorted(found.name for found in tmp_path.iterdir()) == sorted(
        [f"orders{suffix}", f"payments{suffix}", target.name, "join.toml"]
    )


def _as_bytes(table: pa.Table, form: str, folder: Path) -> bytes:
    if form == "stream":
        sink = io.BytesIO()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table, max_chunksize=20)
        return sink.getvalue()
    return shop.write(table, folder / f"piped{shop.SUFFIX[form]}").read_bytes()


@pytest.mark.parametrize("form", [*shop.SUFFIX, "stream"])
def test_standard_input_and_output_of_a_real_process(tmp_path: Path, form: str) -> None:
    orders, payments = shop.make()
    shop.write(payments, tmp_path / "payments.parquet")
    file = shop.job(tmp_path, "-", "payments.parquet")
    text = file.read_text()
    named = "arrow" if form == "stream" else form
    file.write_text(text.replace('path = "-"', f'path = "-"\nformat = "{named}"'))
    done = shop.bankfull("run", file, stdin=_as_bytes(orders, form, tmp_path))
    assert done.returncode == 0, done.stderr.decode()
    (tmp_path / "out.jsonl").write_bytes(done.stdout)
    assert shop.rows_of(shop.read(tmp_path / "out.jsonl")) == shop.pairs(orders, payments)
    assert b"\x1b[" not in done.stderr


@pytest.mark.parametrize("form", ["parquet", "arrow", "csv"])
def test_standard_output_in_other_formats(tmp_path: Path, form: str) -> None:
    orders, payments = shop.make()
    shop.write(orders, tmp_path / "orders.parquet")
    shop.write(payments, tmp_path / "payments.parquet")
    file = shop.job(
        tmp_path,
        "orders.parquet",
        "payments.parquet",
        f'[output]\npath = "-"\nformat = "{form}"',
    )
    done = shop.bankfull("run", file, "--quiet")
    assert (done.returncode, done.stderr) == (0, b"")
    if form == "arrow":
        table = pa.ipc.open_stream(done.stdout).read_all()
    else:
        path = tmp_path / f"out{shop.SUFFIX[form]}"
        path.write_bytes(done.stdout)
        table = shop.read(path)
    assert shop.rows_of(table) == shop.pairs(orders, payments)


def test_text_is_also_read_compressed(tmp_path: Path) -> None:
    orders, payments = shop.make()
    packed = shop.write(orders, tmp_path / "orders.csv").read_bytes()
    (tmp_path / "orders.csv.gz").write_bytes(gzip.compress(packed))
    shop.write(payments, tmp_path / "payments.jsonl")
    file = shop.job(tmp_path, "orders.csv.gz", "payments.jsonl", '[output]\npath = "joined.arrow"')
    assert run(file, "-q")[0] == 0
    assert shop.rows_of(shop.read(tmp_path / "joined.arrow")) == shop.pairs(orders, payments)


def _folder_job(folder: Path, form: str = "parquet") -> tuple[Path, pa.Table, pa.Table]:
    """Orders in a folder of three files, payments in one file."""
    orders, payments = shop.make()
    (folder / "orders").mkdir()
    for number in range(3):
        suffix = shop.SUFFIX[form]
        shop.write(orders.slice(20 * number, 20), folder / "orders" / f"part-{number}{suffix}")
    (folder / "orders" / "_SUCCESS").touch()
    shop.write(payments, folder / "payments.parquet")
    file = shop.job(folder, "orders", "payments.parquet", '[output]\npath = "joined.parquet"')
    file.write_text(file.read_text().replace('"orders"', f'"orders"\nformat = "{form}"'))
    return file, orders, payments


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_a_folder_of_files_is_one_stream(tmp_path: Path, form: str) -> None:
    file, orders, payments = _folder_job(tmp_path, form)
    code, stdout, stderr = run(file, "--json")
    assert code == 0, stderr
    told = json.loads(stdout)
    assert told["rows_in"] == 120
    found = shop.rows_of(shop.read(tmp_path / "joined.parquet"))
    assert found == shop.pairs(orders, payments)


def test_folders_that_are_no_stream_are_refused(tmp_path: Path) -> None:
    file, orders, _ = _folder_job(tmp_path)
    text = file.read_text()
    file.write_text(text.replace('format = "parquet"', 'format = "csv"'))
    assert "csv files are read one by one" in run(file)[2]
    file.write_text(text)
    shop.write(orders.select(["order_id"]), tmp_path / "orders" / "part-9.parquet")
    assert "part-9.parquet has other columns or types than" in run(file)[2]
    (tmp_path / "orders" / "year=2024").mkdir()
    assert "has a folder 'year=2024' inside" in run(file)[2]
    for path in (tmp_path / "orders").glob("[py]*"):
        path.rmdir() if path.is_dir() else path.unlink()
    assert "is a folder without files" in run(file)[2]
    assert not (tmp_path / "joined.parquet").exists()


def test_many_blocks_of_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small blocks cut the files everywhere, also within quoted line breaks."""
    for module in ("csvrows", "jsonlines"):
        monkeypatch.setattr(f"bankfull.runtime.embedded.files.{module}.BLOCK_BYTES", 600)
    orders, payments = shop.make(rows=300)
    shop.write(orders, tmp_path / "orders.jsonl")
    shop.write(payments, tmp_path / "payments.csv")
    file = shop.job(tmp_path, "orders.jsonl", "payments.csv", '[output]\npath = "joined.arrow"')
    assert run(file, "-q")[0] == 0
    assert shop.rows_of(shop.read(tmp_path / "joined.arrow")) == shop.pairs(orders, payments)


def test_json_is_one_object_and_nothing_else(tmp_path: Path) -> None:
    orders, payments = shop.make()
    shop.write(orders, tmp_path / "orders.parquet")
    shop.write(payments, tmp_path / "payments.parquet")
    file = shop.job(
        tmp_path, "orders.parquet", "payments.parquet", '[output]\npath = "joined.parquet"'
    )
    done = shop.bankfull("run", file, "--json")
    assert (done.returncode, done.stderr) == (0, b"")
    told = json.loads(done.stdout)
    expected = len(shop.pairs(orders, payments))
    assert told["rows_in"] == 120
    assert told["rows_out"] == told["ledger"]["joins"]["join"]["emitted"] == expected
    assert told["ledger"]["streams"]["orders"]["arrived"] == 60
    assert told["output"] == str(tmp_path / "joined.parquet")
    assert told["query"]["kind"] == "Query"
    assert told["seconds"] > 0
    assert told["rows_per_s"] > 0
    assert told["unreadable"] == {"orders": 0, "payments": 0}


def test_json_and_rows_cannot_share_standard_output(tmp_path: Path) -> None:
    orders, payments = shop.make()
    shop.write(orders, tmp_path / "orders.parquet")
    shop.write(payments, tmp_path / "payments.parquet")
    code, stdout, stderr = run(shop.job(tmp_path, "orders.parquet", "payments.parquet"), "--json")
    assert (code, stdout) == (2, "")
    assert "cannot both go to standard output" in stderr
    assert "[output] path" in stderr


def test_explain_prints_the_plan_and_writes_nothing(tmp_path: Path) -> None:
    orders, payments = shop.make()
    shop.write(orders, tmp_path / "orders.parquet")
    shop.write(payments, tmp_path / "payments.parquet")
    more = '[output]\npath = "joined.csv"\n[quarantine]\npath = "bad-{stream}.jsonl"'
    file = shop.job(tmp_path, "orders.parquet", "payments.parquet", more)
    code, stdout, _ = run(file, "--explain")
    assert code == 0
    assert "order_id" in stdout
    assert "10 minutes" in stdout
    code, stdout, _ = run(file, "--explain", "--json")
    assert json.loads(stdout)["query"]["kind"] == "Query"
    assert not (tmp_path / "joined.csv").exists()
    assert not (tmp_path / "bad-orders.jsonl").exists()


def test_several_joins_share_their_streams(tmp_path: Path) -> None:
    orders, payments = shop.make()
    shop.write(orders, tmp_path / "orders.parquet")
    shop.write(payments, tmp_path / "payments.parquet")
    text = shop.JOIN.format(orders="orders.parquet", payments="payments.parquet")
    head, _, _ = text.partition("[join]")
    file = tmp_path / "join.toml"
    file.write_text(
        head
        + '[joins.near]\non = "order_id"\nwithin = "1 minute"\n'
        + '[joins.far]\non = "order_id"\nwithin = ["10 minutes", "10 minutes"]\n'
        + '[output]\npath = "joined.parquet"'
    )
    code, _, stderr = run(file)
    assert code == 0
    table = shop.read(tmp_path / "joined.parquet")
    for name, minutes in (("near", 1), ("far", 10)):
        chosen = table.filter(pa.compute.equal(table["join"], name))
        assert shop.rows_of(chosen) == shop.pairs(orders, payments, minutes)
    assert "near" in stderr


def test_sets_weights_counts_and_integer_times(tmp_path: Path) -> None:
    left = [
        {"t": 1, "tags": ["a", "b", "c"], "w": [{"item": "a", "weight": 0.9}]},
        {"t": 2, "tags": [], "w": []},
        {"t": 9, "tags": ["b", "c"], "w": [{"item": "b", "weight": 1}]},
    ]
    right = [
        {"t": 3, "labels": ["c", "a"], "w": [{"item": "a", "weight": 1.0}]},
        {"t": 4, "labels": ["b"], "w": [{"item": "b", "weight": 0.5}]},
    ]
    for name, rows in (("left", left), ("right", right)):
        lines = [json.dumps(row) + "\n" for row in rows]
        (tmp_path / f"{name}.jsonl").write_text("".join(lines))
    streams = "".join(
        f'[streams.{name}]\npath = "{name}.jsonl"\ntime = "t"\n' for name in ("left", "right")
    )

    def joined(join: str) -> list[tuple[int, int]]:
        file = tmp_path / "join.toml"
        file.write_text(f"{streams}[join]\n{join}\n")
        code, stdout, stderr = run(file, "-q")
        assert code == 0, stderr
        rows = [json.loads(line) for line in stdout.splitlines()]
        return sorted((row["left_t"], row["right_t"]) for row in rows)

    overlap = 'on = {overlap = ["tags", "labels"], at_least = 1}'
    assert joined(f"{overlap}\nwithin = 5") == [(1, 3), (1, 4), (9, 4)]
    assert joined(f"{overlap}\nwithin = 3\nsearch = 'scan'") == [(1, 3), (1, 4)]
    # A count window of one row: at 9 the right stream's window holds only the row of time 4.
    assert joined(f"{overlap}\nwithin = {{rows = 1}}") == [(9, 4)]
    subset = 'on = {subset = ["labels", "tags"]}\nstreams = ["right", "left"]'
    assert joined(f"{subset}\nwithin = 9") == [(1, 3), (1, 4), (9, 4)]
    superset = 'on = {superset = ["tags", "labels"]}'
    assert joined(f"{superset}\nwithin = 9") == [(1, 3), (1, 4), (9, 4)]
    assert joined('on = {similar = "w", at_least = 0.8}\nwithin = 9') == [(1, 3)]
    assert joined('on = {equal = "t"}\nwithin = 9') == []


def test_progress_on_a_terminal_only(tmp_path: Path) -> None:
    """A pseudo-terminal for standard error, forty columns wide: the run ends well and short."""
    orders, payments = shop.make()
    shop.write(orders, tmp_path / "orders.parquet")
    shop.write(payments, tmp_path / "payments.parquet")
    file = shop.job(tmp_path, "orders.parquet", "payments.parquet", '[output]\npath = "joined.csv"')
    leader, follower = os.openpty()
    shown = bytearray()

    def drain() -> None:
        while True:
            try:
                chunk = os.read(leader, 4096)
            except OSError:
                return
            if not chunk:
                return
            shown.extend(chunk)

    reader = threading.Thread(target=drain, daemon=True)
    reader.start()
    environment = {**os.environ, "COLUMNS": "40", "TERM": "xterm", "NO_COLOR": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "bankfull", "run", str(file)],
        stdout=subprocess.PIPE,
        stderr=follower,
        env=environment,
        check=False,
        timeout=300,
    )
    os.close(follower)
    reader.join(timeout=10)
    os.close(leader)
    assert (done.returncode, done.stdout) == (0, b"")
    assert b"rows in" in shown
    assert b"\x1b[3" not in shown  # no colour


def test_a_reader_that_leaves_early_is_no_failure_to_shout_about(tmp_path: Path) -> None:
    rows = 30_000
    table = pa.table({"k": [1] * rows, "t": range(rows), "text": ["x" * 50] * rows})
    for name in ("orders", "payments"):
        shop.write(table, tmp_path / f"{name}.parquet")
    file = tmp_path / "join.toml"
    file.write_text(
        '[streams.a]\npath = "orders.parquet"\ntime = "t"\n'
        '[streams.b]\npath = "payments.parquet"\ntime = "t"\n[join]\non = "k"\nwithin = 10\n'
    )
    command = [sys.executable, "-m", "bankfull", "run", str(file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        told = process.stderr.read()
        process.wait(timeout=300)
    assert process.returncode == 1
    assert b"Traceback" not in told
    assert b"Exception ignored" not in told
