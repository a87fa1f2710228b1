"""Units: job files and command lines that ``bankfull run`` refuses, each message asserted."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
import shop
from typer.testing import CliRunner

from bankfull.cli import app

STREAMS = """
[streams.orders]
path = "orders.csv"
time = "ordered_at"
[streams.payments]
path = "payments.csv"
time = "paid_at"
"""
JOIN = """
[join]
on = "order_id"
within = "10 minutes"
"""


def run(*arguments: object) -> tuple[int, str, str]:
    outcome = CliRunner().invoke(app, ["run", *map(str, arguments)])
    if outcome.exception and not isinstance(outcome.exception, SystemExit):
        raise outcome.exception
    return outcome.exit_code, outcome.stdout, outcome.stderr


def _files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


REFUSED = {
    "not TOML": ("[streams", "join.toml is not TOML: "),
    "no streams": (JOIN, "join.toml: the file has no streams: add a table for each"),
    "streams is no table": ("streams = 3", "join.toml: [streams] is 3: make it a table"),
    "a stream is no table": (
        "[streams]\norders = 'orders.csv'",
        "join.toml: [streams.orders] is 'orders.csv': make it a table",
    ),
    "no join": (STREAMS, "join.toml: the file has no join: say what to join"),
    "join and joins": (
        STREAMS + JOIN + "[joins.a]\non = 'b'\nwithin = 1",
        "join.toml: it has both [join] and [joins.NAME]: keep one of them",
    ),
    "misspelt table": (
        STREAMS + JOIN + "[ouptut]\npath = 'x.csv'",
        "join.toml: the file has the unknown key 'ouptut': did you mean 'output'?",
    ),
    "misspelt key of a stream": (
        STREAMS.replace("time", "tme", 1) + JOIN,
        "join.toml: [streams.orders] has no time: name the column that says when a row happened "
        "(did you mean 'tme'?",
    ),
    "unknown key of a stream": (
        STREAMS.replace("[streams.payments]", "lat = 3\n[streams.payments]") + JOIN,
        "join.toml: [streams.orders] has the unknown key 'lat': did you mean 'late'?",
    ),
    "unknown key of a join": (
        STREAMS + JOIN + "windw = 3",
        "join.toml: [join] has the unknown key 'windw': known: ",
    ),
    "no path": (
        STREAMS.replace('path = "orders.csv"', "") + JOIN,
        "join.toml: [streams.orders] has no path: name its file",
    ),
    "path is a number": (
        STREAMS.replace('"orders.csv"', "7") + JOIN,
        "join.toml: [streams.orders] path: 7 is not text: name its file",
    ),
    "unknown suffix": (
        STREAMS.replace("orders.csv", "orders.xlsx") + JOIN,
        "join.toml: [streams.orders] path: the name 'orders.xlsx' does not tell its format: "
        "set format to one of 'parquet', 'arrow', 'csv', 'jsonl'",
    ),
    "unknown format": (
        STREAMS.replace("[streams.payments]", 'format = "parket"\n[streams.payments]') + JOIN,
        "join.toml: [streams.orders] format 'parket' is unknown: did you mean 'parquet'?",
    ),
    "standard input without a format": (
        STREAMS.replace("orders.csv", "-") + JOIN,
        "join.toml: [streams.orders] path: standard input does not tell its format",
    ),
    "standard input twice": (
        STREAMS.replace('"orders.csv"', '"-"\nformat = "csv"').replace(
            '"payments.csv"', '"-"\nformat = "csv"'
        )
        + JOIN,
        "join.toml: 2 streams read standard input: give files",
    ),
    "bad late": (
        STREAMS.replace("[streams.payments]", 'late = "3 secnds"\n[streams.payments]') + JOIN,
        "join.toml: [streams.orders] late: late '3 secnds' has the unknown unit 'secnds': "
        "did you mean 'second'?",
    ),
    "no window": (
        STREAMS + '[join]\non = "order_id"',
        "join.toml: [join] has no within: say how long a row stays joinable",
    ),
    "negative window": (
        STREAMS + '[join]\non = "order_id"\nwithin = -1',
        "join.toml: [join] within: window -1 is negative: give a length of zero or more",
    ),
    "window of another kind": (
        STREAMS + '[join]\non = "order_id"\nwithin = {tuples = 4}',
        "join.toml: [join] within: {'tuples': 4} is not a window: write {rows = 1000}",
    ),
    "three windows": (
        STREAMS + '[join]\non = "order_id"\nwithin = [1, 2, 3]',
        "join.toml: [join]: join 'join' has 2 streams and 3 windows: give one window for all",
    ),
    "on is a number": (
        STREAMS + '[join]\non = 5\nwithin = "1 s"',
        "join.toml: [join] on: 5 is not text: name a column, a list of columns, or a table",
    ),
    "unknown predicate": (
        STREAMS + '[join]\non = {overlp = "a", at_least = 1}\nwithin = "1 s"',
        "names 0 comparisons, not one: did you mean 'overlap'?",
    ),
    "two predicates": (
        STREAMS + '[join]\non = {equal = "a", subset = "a"}\nwithin = "1 s"',
        "names 2 comparisons, not one: known: equal, overlap, subset, superset, similar",
    ),
    "no threshold": (
        STREAMS + '[join]\non = {overlap = "a"}\nwithin = "1 s"',
        "overlap has no at_least: say from how much on two sets match",
    ),
    "threshold too many": (
        STREAMS + '[join]\non = {subset = "a", at_least = 1}\nwithin = "1 s"',
        "join.toml: [join] on has the unknown key 'at_least': known: ",
    ),
    "fractional overlap": (
        STREAMS + '[join]\non = {overlap = "a", at_least = 1.5}\nwithin = "1 s"',
        "overlap at_least=1.5 is not a whole number: give k >= 1",
    ),
    "unknown stream": (
        STREAMS + JOIN + 'streams = ["orders", "paymnts"]',
        "join 'join' reads the unknown stream 'paymnts': did you mean 'payments'?",
    ),
    "unknown search": (
        STREAMS + JOIN + 'search = "hsh"',
        "join.toml: [join]: search='hsh' is unknown: did you mean 'hash'?",
    ),
    "strict is text": (
        'strict = "yes"\n' + STREAMS + JOIN,
        "join.toml: the file strict: 'yes' is not true or false: write true or false",
    ),
    "one quarantine for two streams": (
        STREAMS + JOIN + '[quarantine]\npath = "bad.jsonl"',
        "join.toml: [quarantine] path: one file cannot hold the rows of 2 streams: "
        "put {stream} into its name",
    ),
    "quarantine on standard output": (
        STREAMS + JOIN + '[quarantine]\npath = "-"\nformat = "jsonl"',
        "bad rows need a file of their own",
    ),
    "output over input": (
        STREAMS + JOIN + '[output]\npath = "./orders.csv"',
        "would be written over, or into a folder that is read: give the output and the ",
    ),
    "long delimiter": (
        STREAMS.replace("[streams.payments]", 'delimiter = "||"\n[streams.payments]') + JOIN,
        "join.toml: [streams.orders] delimiter: '||' is not one character",
    ),
    "unknown type": (
        STREAMS.replace("[streams.payments]", 'types = {amount = "money"}\n[streams.payments]')
        + JOIN,
        "[streams.orders] types: amount = 'money' is not an Arrow type: write e.g. 'int64'",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_with_what_why_and_what_to_do(tmp_path: Path, case: str) -> None:
    text, message = REFUSED[case]
    orders, payments = shop.make()
    shop.write(orders, tmp_path / "orders.csv")
    shop.write(payments, tmp_path / "payments.csv")
    file = tmp_path / "join.toml"
    file.write_text(text)
    code, stdout, stderr = run(file)
    assert (code, stdout) == (1, "")
    assert stderr.startswith("error: ")
    assert message in stderr


def test_errors_as_json_are_one_object_too(tmp_path: Path) -> None:
    file = tmp_path / "join.toml"
    file.write_text(STREAMS)
    code, stdout, stderr = run(file, "--json")
    assert code == 1
    told = json.loads(stdout)["error"]
    assert told["kind"] == "SpecError"
    assert told["message"] in stderr


def test_usage_errors_are_exit_code_2(tmp_path: Path) -> None:
    done = shop.bankfull("run", tmp_path / "nothing.toml")
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"does not exist" in done.stderr
    assert shop.bankfull("run").returncode == 2
    assert shop.bankfull("rnu").returncode == 2
    assert shop.bankfull("bench", "embeded").returncode == 2


def test_csv_cannot_hold_lists_and_says_so_before_it_starts(tmp_path: Path) -> None:
    orders, payments = shop.make()
    tags = pa.array([["a"]] * orders.num_rows)
    shop.write(orders.append_column("tags", tags), tmp_path / "orders.parquet")
    shop.write(payments, tmp_path / "payments.parquet")
    file = shop.job(tmp_path, "orders.parquet", "payments.parquet", '[output]\npath = "joined.csv"')
    before = _files(tmp_path)
    code, _, stderr = run(file)
    assert code == 1
    assert "cannot hold column 'tags' of type list<" in stderr
    assert "write parquet, arrow or jsonl" in stderr
    assert _files(tmp_path) == before


def test_an_output_folder_that_does_not_exist(tmp_path: Path) -> None:
    orders, payments = shop.make()
    shop.write(orders, tmp_path / "orders.parquet")
    shop.write(payments, tmp_path / "payments.parquet")
    more = '[output]\npath = "no/such/joined.csv"'
    code, _, stderr = run(shop.job(tmp_path, "orders.parquet", "payments.parquet", more))
    assert code == 1
    assert "joined.csv cannot be written: No such file or directory: check that its" in stderr
