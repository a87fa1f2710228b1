"""Differential: ``bankfull run`` on Spark and in this process give the same rows in the same types.

Both engines read the same job files; the embedded one is judged by nested loops elsewhere. All
commands of this file run in one process of their own, so that no setting leaks into the sessions of
other tests. The first is the command as a shell would run it, which starts Java itself and prints
to the process's own standard output; the others share a session, the demo and the lab's grid among
them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shop
from demo_checks import check_demo

from bankfull.cli import spark_session
from bankfull.errors import DataError, PlanError

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.slow]

#: Runs a command line as it is, then many in one process, and writes what each of them gave.
DRIVER = """
import json, os, shutil, sys, traceback
from pathlib import Path
from typer.testing import CliRunner
from bankfull import cli
_, given, wanted, *sys.argv[1:] = sys.argv
try:
    cli.main()
except SystemExit as ended:
    if ended.code:
        raise
import bankfull as bf
spark = bf.session("tests", **{"spark.sql.caseSensitive": "true"})
# The command has removed the folder in which its Java unpacks libraries; Java itself goes on here.
scratch = Path(spark._jvm.java.lang.System.getProperty("java.io.tmpdir"))
scratch.mkdir(parents=True)
app, told = cli.app, []
for arguments in json.loads(Path(given).read_text()):
    outcome = CliRunner().invoke(app, arguments)
    expected = outcome.exception is None or isinstance(outcome.exception, SystemExit)
    more = "" if expected else "".join(traceback.format_exception(outcome.exception))
    told.append([outcome.exit_code if expected else -1, outcome.stdout, outcome.stderr + more])
Path(wanted).write_text(json.dumps(told))
spark.stop()
shutil.rmtree(scratch.parent)
"""

Make = Callable[[Path], None]


def _shop(orders: str, payments: str, output: str) -> Make:
    def make(folder: Path) -> None:
        for table, name in zip(shop.make(rows=200), (orders, payments), strict=True):
            shop.write(table, folder / name)
        shop.job(folder, orders, payments, f'[output]\npath = "{output}"')

    return make


def _folders(folder: Path) -> None:
    """A folder of Parquet files, as Spark itself leaves one, and one of Arrow files."""
    for table, name, suffix in zip(
        shop.make(rows=90), ("orders", "payments"), (".parquet", ".arrow"), strict=True
    ):
        (folder / name).mkdir()
        for number in range(3):
            shop.write(table.slice(30 * number, 30), folder / name / f"part-{number}{suffix}")
        (folder / name / "_SUCCESS").touch()
    file = shop.job(folder, "orders", "payments", '[output]\npath = "joined.parquet"')
    text = file.read_text().replace('"orders"', '"orders"\nformat = "parquet"')
    file.write_text(text.replace('"payments"', '"payments"\nformat = "arrow"'))


def _untidy(folder: Path) -> None:
    """Late rows, rows without a time and unreadable rows: both engines set the same aside."""
    orders, payments = shop.make(rows=80)
    order = [*range(40), 45, *range(41, 45), 40, *range(46, 80), 3]  # the last far too late
    orders = orders.take(order)
    holes = pa.array([None if row % 9 == 4 else at for row, at in enumerate(orders["ordered_at"])])
    orders = orders.set_column(1, "ordered_at", holes.cast(pa.timestamp("us")))
    shop.write(orders, folder / "orders.parquet")
    text = shop.write(payments, folder / "payments.jsonl").read_text()
    (folder / "payments.jsonl").write_text(text + "{not JSON\n")
    more = '[output]\npath = "joined.parquet"\n[quarantine]\npath = "bad-{stream}.jsonl"'
    file = shop.job(folder, "orders.parquet", "payments.jsonl", more)
    late = 'late = "5 minutes"\n[streams.payments]'
    file.write_text(file.read_text().replace("[streams.payments]", late))


def _types(folder: Path) -> None:
    """Types that Spark does not have, in a join of several with names in two cases."""
    zoned = pa.timestamp("ms", "Europe/Vienna")
    start = datetime(1850, 1, 1)
    rows = 12

    def table(first: int) -> pa.Table:
        numbers = [number if number % 5 else None for number in range(first, first + rows)]
        texts = [None if number is None else f"w{number % 3}" for number in numbers]
        small = pa.struct([pa.field("x", pa.uint16(), nullable=False), ("y", pa.large_string())])
        return pa.table(
            {
                "at": pa.array([start + timedelta(seconds=k) for k in range(rows)], zoned),
                "k": pa.array(texts).dictionary_encode(),
                "K": pa.array(numbers, pa.uint64()),
                "half": pa.array([1.5] * rows, pa.float16()),
                "big": pa.array(texts, pa.large_string()),
                "day": pa.array([86_400_000] * rows, pa.date64()),
                "time": pa.array([7] * rows, pa.time32("s")),
                "span": pa.array(numbers, pa.duration("ms")),
                "none": pa.nulls(rows),
                "fixed": pa.array([b"ab"] * rows, pa.binary(2)),
                "when": pa.array([1_000 * k for k in range(rows)], pa.timestamp("ns")),
                "two": pa.array([[1, 2]] * rows, pa.list_(pa.uint8(), 2)),
                "parts": pa.array([[{"x": 1, "y": "z"}], None] * (rows // 2), pa.list_(small)),
                "money": pa.array([1] * rows, pa.decimal128(9, 2)),
            }
        )

    for name, first in (("a", 0), ("b", 1)):
        shop.write(table(first), folder / f"{name}.arrow")
    (folder / "join.toml").write_text(
        '[streams.a]\npath = "a.arrow"\ntime = "at"\n[streams.b]\npath = "b.arrow"\ntime = "at"\n'
        '[joins.text]\non = "k"\nwithin = "3 seconds"\n'
        '[joins.number]\non = "K"\nwithin = ["2 seconds", "1 minute"]\n'
        '[output]\npath = "joined.arrow"\n'
    )


def _sets(folder: Path) -> None:
    for name, first in (("a", 0), ("b", 1)):
        lines = [
            json.dumps({"t": row, "tags": [f"x{(row * step + first) % 7}" for step in (1, 2, 3)]})
            for row in range(40)
        ]
        (folder / f"{name}.jsonl").write_text("\n".join(lines) + "\n")
    (folder / "join.toml").write_text(
        '[streams.a]\npath = "a.jsonl"\ntime = "t"\n[streams.b]\npath = "b.jsonl"\ntime = "t"\n'
        '[join]\non = {overlap = "tags", at_least = 2}\nwithin = {rows = 9}\n'
    )


def _nothing(folder: Path) -> None:
    orders, payments = shop.make()
    shop.write(orders.slice(0, 0), folder / "orders.parquet")
    shop.write(payments, folder / "payments.parquet")
    shop.job(folder, "orders.parquet", "payments.parquet", '[output]\npath = "joined.parquet"')


def _strict(folder: Path) -> None:
    _untidy(folder)
    file = folder / "join.toml"
    file.write_text("strict = true\n" + file.read_text())


def _too_fine(folder: Path) -> None:
    _types(folder)
    table = shop.read(folder / "a.arrow")
    at = table.column_names.index("when")
    fine = pa.array(range(table.num_rows), pa.timestamp("ns"))
    shop.write(table.set_column(at, "when", fine), folder / "a.arrow")


JOBS: dict[str, Make] = {
    "parquet and csv": _shop("orders.parquet", "payments.csv", "joined.parquet"),
    "jsonl and arrow": _shop("orders.jsonl", "payments.arrow", "joined.csv"),
    "folders": _folders,
    "untidy": _untidy,
    "types": _types,
    "sets": _sets,
    "nothing": _nothing,
}
REFUSED: dict[str, Make] = {"strict": _strict, "too fine": _too_fine}

Told = dict[tuple[str, str], tuple[int, str, str]]
#: Two experiments of the lab, one on the operator itself and one on the streams alone.
GRID = ["lab", "run", "gdj.stack", "importance.dgl", "--quick", "--json"]


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Told]:
    """Every job on both engines, each in a folder of its own, and what the process itself said."""
    base = tmp_path_factory.mktemp("engines")
    runs = []
    for name, make in (JOBS | REFUSED).items():
        for engine in ("embedded", "spark"):
            folder = base / engine / name
            folder.mkdir(parents=True)
            make(folder)
            runs.append(((name, engine), ["run", str(folder / "join.toml"), "--engine", engine]))
    demo = ["demo", "--engine", "spark", "--json", "--keep", str(base / "demo")]
    runs.append((("demo", "spark"), demo))
    grid = [*GRID, "--engine", "spark", "--out", str(base / "grid")]
    runs.append((("grid", "spark"), grid))
    (base / "runs.json").write_text(json.dumps([arguments for _, arguments in runs]))
    (base / "alone").mkdir()
    JOBS["parquet and csv"](base / "alone")
    alone = ["run", base / "alone" / "join.toml", "--engine", "spark", "--json"]
    done = subprocess.run(
        [sys.executable, "-c", DRIVER, base / "runs.json", base / "told.json", *alone],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
        env={**os.environ, "NO_COLOR": "1"},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = {("alone", "spark"): (done.returncode, done.stdout, done.stderr)}
    told = json.loads((base / "told.json").read_text())
    return base, found | {key: tuple(one) for (key, _), one in zip(runs, told, strict=True)}


def _rows(text: str) -> list[str]:
    return sorted(text.splitlines())


def _table(path: Path) -> tuple[pa.Schema, list[str]]:
    table = pq.read_table(path) if path.suffix == ".parquet" else pa.ipc.open_file(path).read_all()
    return table.schema, sorted(map(repr, table.to_pylist()))


@pytest.mark.parametrize("name", JOBS)
def test_differential_both_engines_write_the_same(ran: tuple[Path, Told], name: str) -> None:
    base, told = ran
    here, there = (told[name, engine] for engine in ("embedded", "spark"))
    assert (here[0], there[0]) == (0, 0), there[2]
    assert _rows(there[1]) == _rows(here[1])
    folders = [base / engine / name for engine in ("embedded", "spark")]
    found = [sorted(path.name for path in folder.iterdir()) for folder in folders]
    assert found[0] == found[1]
    for path in (path for path in folders[0].iterdir() if path.stem.startswith(("joined", "bad"))):
        other = folders[1] / path.name
        if path.suffix in (".parquet", ".arrow"):
            expected, given = _table(path), _table(other)
            assert given[0].equals(expected[0])
            assert given[1] == expected[1]
            assert bool(given[1]) == (name != "nothing")
        else:
            assert _rows(other.read_text()) == _rows(path.read_text())


def test_differential_both_engines_count_the_same(ran: tuple[Path, Told]) -> None:
    """The account of every row, down to the table on the terminal."""
    _, told = ran
    for name in JOBS:
        here, there = (
            [line.split() for line in told[name, engine][2].splitlines() if line.count("  ") > 2]
            for engine in ("embedded", "spark")
        )
        assert len(there) == 3
        assert there == [row[: len(there[0])] for row in here[:3]]
    late = next(line for line in told["untidy", "spark"][2].splitlines() if "orders" in line)
    assert late.split()[3:5] == ["1", "9"]
    for engine in ("embedded", "spark"):
        *_, warning = told["untidy", engine][2].strip().splitlines()
        assert "warning: stream 'orders': 1 of" in warning, engine
        assert "would have kept them all" in warning, engine


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("strict", "run without strict"),
        ("too fine", "Spark cannot hold all its values"),
    ],
)
def test_refused_on_spark(ran: tuple[Path, Told], name: str, message: str) -> None:
    base, told = ran
    code, stdout, stderr = told[name, "spark"]
    assert (code, stdout) == (1, "")
    assert message in stderr
    assert not list((base / "spark" / name).glob("joined*"))


def test_json_is_one_object_and_nothing_else(ran: tuple[Path, Told]) -> None:
    """Whatever Spark and its workers write while they start, run and end, it is not here."""
    code, stdout, stderr = ran[1]["alone", "spark"]
    assert (code, stderr) == (0, "")
    told: dict[str, Any] = json.loads(stdout)
    assert told["engine"] == "spark"
    assert told["rows_in"] == 400
    expected = len(shop.pairs(*shop.make(rows=200)))
    assert told["rows_out"] == told["ledger"]["joins"]["join"]["emitted"] == expected
    assert told["ledger"]["streams"]["orders"]["arrived"] == 200


def test_differential_the_grid_of_the_lab(ran: tuple[Path, Told], tmp_path: Path) -> None:
    """The grid as a Spark job gives the points that one process gives."""
    code, there, stderr = ran[1]["grid", "spark"]
    assert code == 0, stderr
    here = shop.bankfull(*GRID, "--engine", "local", "--out", tmp_path)
    assert here.returncode == 0, here.stderr.decode()
    points = []
    for engine, told in (("spark", json.loads(there)), ("local", json.loads(here.stdout))):
        assert told["engine"] == engine
        points.append([{k: v for k, v in row.items() if k != "seconds"} for row in told["rows"]])
    assert points[0] == points[1]


def test_the_demo_joins_every_flight_with_its_weather(ran: tuple[Path, Told]) -> None:
    base, told = ran
    code, stdout, stderr = told["demo", "spark"]
    assert (code, stderr) == (0, "")
    found = json.loads(stdout)
    assert found["runtime"] == "spark"
    check_demo(found, base / "demo")


def test_explain_needs_no_spark(tmp_path: Path) -> None:
    _shop("orders.parquet", "payments.csv", "joined.parquet")(tmp_path)
    done = shop.bankfull(
        "run", tmp_path / "join.toml", "--engine", "spark", "--explain", JAVA_HOME="/nowhere"
    )
    assert done.returncode == 0
    assert b"order_id" in done.stdout


@pytest.mark.parametrize("command", ["demo", "run"])
def test_without_java_it_says_what_to_do(tmp_path: Path, command: str) -> None:
    _shop("orders.parquet", "payments.csv", "joined.parquet")(tmp_path)
    files = [tmp_path / "join.toml"] if command == "run" else []
    done = shop.bankfull(command, *files, "--engine", "spark", "--json", JAVA_HOME="/nowhere")
    assert done.returncode == 1
    told = json.loads(done.stdout)["error"]["message"]
    for part in ("Java 17", "JAVA_HOME=/nowhere has none", "apt-get install", "--engine embedded"):
        assert part in told


@pytest.mark.parametrize("missing", ["pyspark", "grpc", "google.protobuf"])
def test_without_its_packages_it_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    found = spark_session.find_spec
    monkeypatch.setattr(
        spark_session, "find_spec", lambda name: None if name == missing else found(name)
    )
    with pytest.raises(PlanError, match=rf"\({missing}\): run `pip install.*--engine embedded"):
        spark_session.require()


def test_what_a_worker_refused_is_told_in_its_own_words(tmp_path: Path) -> None:
    """Spark wraps a worker's error in pages of its own; only the library's words are shown."""
    log = tmp_path / "log"
    log.touch()
    wrapped = "Job aborted\nTraceback\nbankfull.errors.DataError: stream 'a': mend it\n\tat org."
    told = spark_session._told(Exception(wrapped), log)
    assert isinstance(told, DataError)
    assert str(told) == "stream 'a': mend it"
    assert not log.exists()
    log.touch()
    told = spark_session._told(Exception("\nNo space left on device.\n\tat org."), log)
    assert str(told) == f"Spark failed: No space left on device: its log is {log}"
    assert log.exists()
