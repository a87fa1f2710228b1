"""Faults: odd names, closed and full streams, damaged files, signals; no traceback, a right code.

Real processes where the process's own streams and signals are what is tested.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest
import shop
from typer.testing import CliRunner

from bankfull.cli import app
from bankfull.cli.jobfile import read_job
from bankfull.errors import BankfullError, SourceError
from bankfull.runtime.embedded.files import SinkError, open_sink, open_source

MORE = '[output]\npath = "{output}"\n'


def run(*arguments: object) -> tuple[int, str, str]:
    outcome = CliRunner().invoke(app, ["run", *map(str, arguments)])
    if outcome.exception and not isinstance(outcome.exception, SystemExit):
        raise outcome.exception
    return outcome.exit_code, outcome.stdout, outcome.stderr


def _job(folder: Path, orders: str = "orders.csv", output: str = "joined.csv") -> Path:
    tables = shop.make()
    for name, table in zip(("orders", "payments"), tables, strict=True):
        shop.write(table, folder / f"{name}.csv")
    return shop.job(folder, orders, "payments.csv", MORE.format(output=output))


@pytest.mark.parametrize(
    ("orders", "output", "message"),
    [
        (r"a\u0000.csv", "joined.csv", "has a zero byte, which no file name can have"),
        ("orders.csv", r"a\u0000.csv", "has a zero byte, which no file name can have"),
        ("x" * 300 + ".csv", "joined.csv", "cannot be read as csv: File name too long"),
        ("orders.csv", "x" * 300 + ".csv", "cannot be written: File name too long"),
        ("orders.csv/x.csv", "joined.csv", "cannot be read as csv: Not a directory"),
        ("orders.csv", "orders.csv/x.csv", "a folder that is read: give the output"),
        ("loop.csv", "joined.csv", "cannot be read as csv: Too many levels of symbolic links"),
        ("orders.csv", "join.toml", "join.toml would be written over"),
        ("orders.csv", "../{folder}/join.toml", "join.toml would be written over"),
        ("orders.csv", "old.csv", "old.csv exists already: name another file"),
    ],
)
def test_names_that_cannot_be(tmp_path: Path, orders: str, output: str, message: str) -> None:
    (tmp_path / "loop.csv").symlink_to(tmp_path / "loop.csv")
    (tmp_path / "old.csv").write_text("from yesterday")
    file = _job(tmp_path, orders, output.format(folder=tmp_path.name))
    file.write_text(file.read_text().replace("[output]", '[output]\nformat = "csv"'))
    before = {path.name: path.lstat().st_mtime_ns for path in tmp_path.iterdir()}
    code, stdout, stderr = run(file)
    assert (code, stdout) == (1, "")
    assert message in stderr
    assert {path.name: path.lstat().st_mtime_ns for path in tmp_path.iterdir()} == before


def test_the_longest_name_can_be_written(tmp_path: Path) -> None:
    name = "ü" * 125 + ".csv"  # 254 bytes
    assert run(_job(tmp_path, output=name), "-q")[0] == 0
    assert (tmp_path / name).exists()


@pytest.fixture
def nobody() -> Iterator[None]:
    """Give up the rights of root, who may read everything."""
    if os.geteuid() == 0:
        os.seteuid(65534)
        yield
        os.seteuid(0)
    else:
        yield


def test_a_folder_that_may_not_be_entered(tmp_path: Path, nobody: None) -> None:
    closed = Path("/root") if os.getuid() == 0 else tmp_path
    if closed == tmp_path:
        closed.chmod(0)
    try:
        with pytest.raises(SourceError, match="Permission denied"):
            open_source(f"{closed}/inner/rows.csv", "csv", time="t")
        with pytest.raises(SinkError, match="Permission denied"):
            open_sink(f"{closed}/inner/rows.csv", "csv", pa.schema([("x", pa.int64())]))
    finally:
        if closed == tmp_path:
            closed.chmod(0o700)


def test_an_output_that_appears_during_the_run_stays(tmp_path: Path) -> None:
    schema = pa.schema([("x", pa.int64())])

    def write() -> None:
        with open_sink(str(tmp_path / "out"), "csv", schema):
            (tmp_path / "out").write_text("another run's")

    with pytest.raises(SinkError, match="exists already"):
        write()
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert (tmp_path / "out").read_text() == "another run's"


@pytest.mark.parametrize("form", ["arrow", "parquet"])
@pytest.mark.parametrize("damage", ["cut", "rubbish", "empty"])
def test_one_damaged_file_of_a_folder(tmp_path: Path, form: str, damage: str) -> None:
    orders, payments = shop.make()
    (tmp_path / "orders").mkdir()
    suffix = shop.SUFFIX[form]
    for number in range(3):
        shop.write(orders.slice(20 * number, 20), tmp_path / f"orders/part-{number}{suffix}")
    shop.write(payments, tmp_path / "payments.csv")
    path = tmp_path / f"orders/part-1{suffix}"
    whole = path.read_bytes()
    path.write_bytes({"cut": whole[: len(whole) // 2], "rubbish": b"no" * 99, "empty": b""}[damage])
    file = shop.job(tmp_path, "orders", "payments.csv", MORE.format(output="joined.csv"))
    file.write_text(file.read_text().replace('"orders"', f'"orders"\nformat = "{form}"'))
    code, stdout, stderr = run(file)
    assert (code, stdout) == (1, "")
    assert f"part-1{suffix} cannot be read" in stderr
    assert "Traceback" not in stderr
    assert not (tmp_path / "joined.csv").exists()


def test_json_that_is_very_deep_costs_its_line(tmp_path: Path) -> None:
    """Arrow's parser calls itself for every level, and ends the process when there are many."""
    for depth in (5_000, 300_000):
        for opening, closing in ((b"[", b"]"), (b'{"k":', b"}")):
            deep = b'{"t":1,"k":' + opening * depth + b"1" + closing * depth + b"}\n"
            path = tmp_path / "rows.jsonl"
            path.write_bytes(b'{"t":1,"k":1}\n' + deep + b'{"t":2,"k":2}\n')
            told: list[str] = []
            source = open_source(str(path), "jsonl", time="t", on_unreadable=told.append)
            assert source.reader.read_all()["k"].to_pylist() == [1, 2]
            assert told[0].startswith("line 2: lists and objects are more than 200 deep")
            assert len(told[0]) < 2_000


def test_a_job_file_that_is_very_deep_or_gone(tmp_path: Path) -> None:
    (tmp_path / "deep.toml").write_text("a = " + "[" * 5_000 + "]" * 5_000)
    for name in ("deep.toml", "gone.toml"):
        with pytest.raises(BankfullError, match=f"{name} (is nested too|cannot be read)"):
            read_job(tmp_path / name)


def _shell(folder: Path, options: str) -> subprocess.CompletedProcess[bytes]:
    (folder / "joined.csv").unlink(missing_ok=True)
    command = f'exec "{sys.executable}" -m bankfull {options}'
    return subprocess.run(["sh", "-c", command], cwd=folder, capture_output=True, check=False)


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        ("run join.toml --json >/dev/full", 1, b"standard output cannot be written: No space"),
        ("run join.toml --json >&-", 1, b"standard output is closed"),
        ("run rows.toml >&-", 1, b"standard output is closed"),
        ("run stdin.toml <&-", 1, b"standard input is closed"),
        ("run join.toml <&- 2>&-", 0, b""),
        ("run join.toml 2>/dev/full", 1, b""),
        ("--help >/dev/full", 1, b"No space left on device"),
        ("lab list --json >/dev/full", 1, b"standard output cannot be written: No space"),
    ],
)
def test_closed_and_full_streams(tmp_path: Path, options: str, code: int, message: bytes) -> None:
    text = _job(tmp_path).read_text()
    (tmp_path / "rows.toml").write_text(text.partition("[output]")[0])
    standard = text.replace('"orders.csv"', '"-"\nformat = "csv"')
    (tmp_path / "stdin.toml").write_text(standard)
    done = _shell(tmp_path, options)
    assert done.returncode == code, done.stderr
    assert message in done.stderr
    assert b"Traceback" not in done.stderr
    assert b"Exception ignored" not in done.stderr
    if "join.toml" in options:
        assert shop.rows_of(shop.read(tmp_path / "joined.csv")) == shop.pairs(*shop.make())


@pytest.mark.parametrize(
    ("form", "name"),
    [
        ("parquet", "SIGINT"),
        ("jsonl", "SIGTERM"),
        pytest.param("parquet", "SIGTERM", marks=pytest.mark.soak),
        pytest.param("jsonl", "SIGINT", marks=pytest.mark.soak),
    ],
)
def test_a_signal_leaves_no_output(tmp_path: Path, name: str, form: str) -> None:
    """A join of many results, ended when its output is half written."""
    rows = 100_000
    table = pa.table({"t": range(rows), "k": [0] * rows})
    shop.write(table, tmp_path / f"a.{form}")
    file = tmp_path / "join.toml"
    file.write_text(
        f'[streams.a]\npath = "a.{form}"\ntime = "t"\n'
        f'[streams.b]\npath = "a.{form}"\ntime = "t"\n'
        '[join]\non = "k"\nwithin = 5000\n[output]\npath = "joined.jsonl"\n'
        '[quarantine]\npath = "bad-{stream}.csv"\n'
    )
    before = sorted(path.name for path in tmp_path.iterdir())
    command = [sys.executable, "-m", "bankfull", "run", str(file)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, preexec_fn=_heed_signals) as process:
        assert process.stderr is not None
        while process.poll() is None and not _partial_bytes(tmp_path):
            time.sleep(0.05)
        process.send_signal(getattr(signal, name))
        told = process.stderr.read()
        code = process.wait(timeout=60)
    assert code == 128 + getattr(signal, name)
    assert told.decode().startswith(f"interrupted by {name}: files appear only when")
    assert sorted(path.name for path in tmp_path.iterdir()) == before


LOST = """
import os, signal, time
from bankfull import cli
from bankfull.cli.console import Terminated
class Thrown:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0.01)
cli._end_by_signals()
try:
    Thrown()
    time.sleep(30)
except Terminated:
    print("heard")
"""


def test_a_signal_that_python_loses_is_heard() -> None:
    """What is raised while an object is thrown away is printed and forgotten."""
    done = subprocess.run([sys.executable, "-c", LOST], capture_output=True, text=True, timeout=25)
    assert "Exception ignored in" in done.stderr
    assert done.stdout == "heard\n"


def _heed_signals() -> None:
    """Undo what a shell does to programs in the background, should the tests run there."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _partial_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.glob(".joined.jsonl.*.partial"))
