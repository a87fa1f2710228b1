"""Units: what a job file says about streams and overload is what Python would say.

Signatures are compared, so that a new parameter of ``bf.stream``, ``bf.join`` or ``bf.shed`` cannot
be forgotten in the job file.
"""

from __future__ import annotations

import inspect
import json
import tomllib
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from typer.testing import CliRunner

import bankfull as bf
from bankfull.cli import app
from bankfull.cli.execute import opened
from bankfull.cli.jobfile import read_job
from bankfull.errors import SpecError

STREAMS = """
[streams.a]
path = "a.parquet"
time = "t"
late = 3
idle = 50
importance = "w"
unique = ["k", "t"]
[streams.b]
path = "b.parquet"
time = "t"
"""
JOIN = """
[join]
on = "k"
within = [20, 30]
streams = ["a", "b"]
search = "hash"
"""
SHED = """
[shed]
memory = {tuples = 40}
keep = {policy = "gdj", initial = 0.9}
split = {a = 0.25, b = 0.75}
importance = "max"
sample = 0.1
seed = 7
recall = 0.9
cpu = {comparisons = 5000}
compare = "rate"
"""
TOP = "strict = true\nbasic_window = 5\nbuckets = 3\nthreads = 2\n"

#: Parameters of the Python functions that a job file writes in another way.
ELSEWHERE = {
    "source": "path",
    "streams": "streams",
    "planned": "join",  # [joins.NAME]
    "name": "streams",  # [streams.NAME], [joins.NAME]
    "overload": "shed",
    "on_quarantine": "quarantine",
    "order": "order",  # None alone is known in this version, and TOML has no null
}


def _tables() -> tuple[pa.Table, pa.Table]:
    rows = 400
    a = {
        "t": range(rows),
        "k": [row % 17 for row in range(rows)],
        "w": [1 + row % 5 for row in range(rows)],
    }
    b = {"t": range(rows), "k": [row % 13 for row in range(rows)]}
    return pa.table(a), pa.table(b)


def _folder(folder: Path, text: str) -> Path:
    for name, table in zip("ab", _tables(), strict=True):
        pa.parquet.write_table(table, folder / f"{name}.parquet")
    file = folder / "join.toml"
    file.write_text(text)
    return file


def _python(**more: Any) -> Any:
    a, b = _tables()
    return bf.join(
        bf.stream(a, time="t", name="a", late=3, idle=50, importance="w", unique=["k", "t"]),
        bf.stream(b, time="t", name="b"),
        on="k",
        within=(20, 30),
        search="hash",
        **more,
    )


def test_the_job_file_says_all_that_python_says(tmp_path: Path) -> None:
    """Every parameter is in the file of this test, and gives the query that Python gives."""
    file = _folder(tmp_path, TOP + STREAMS + JOIN + SHED)
    written = tomllib.loads(file.read_text())
    keys = {*written, *written["streams"]["a"], *written["join"], *written["shed"]}
    for function in (bf.stream, bf.join, bf.joins, bf.shed):
        for parameter in inspect.signature(function).parameters:
            shed_keys = {*written["shed"]}
            place = shed_keys if function is bf.shed else keys | {"quarantine", "order"}
            assert ELSEWHERE.get(parameter, parameter) in place, f"{function}: {parameter}"
    shed = bf.shed(
        memory=bf.tuples(40),
        keep=bf.policies.gdj(initial=0.9),
        split={"a": 0.25, "b": 0.75},
        importance="max",
        sample=0.1,
        seed=7,
        recall=0.9,
        cpu=bf.comparisons(5000),
        compare="rate",
    )
    wanted = _python(overload=shed, strict=True, basic_window=5).query
    job = read_job(file)
    assert bf.policies.resolve(job.query.shed.keep) == bf.policies.resolve(wanted.shed.keep)  # type: ignore[union-attr]
    with opened(job) as execution:
        assert execution.joined.query.streams == wanted.streams
        assert execution.joined.query.joins == wanted.joins
        assert execution.joined.query == job.query
    assert (job.buckets, job.threads) == (3, 2)


def test_importance_by_type(tmp_path: Path) -> None:
    by_type = 'importance = {column = "k", worth = {x = 8, y = 1.5}}'
    text = STREAMS.replace('importance = "w"', by_type)
    assert by_type in text
    job = read_job(_folder(tmp_path, text + JOIN + SHED))
    assert job.query.streams[0].importance == bf.utility("k", {"x": 8, "y": 1.5})


@pytest.mark.parametrize(
    ("written", "given"),
    [
        ('memory = "2 MB"', {"memory": "2 MB"}),
        ('memory = "2 MB"\nkeep = "prob"\nsample = "unbiased"', None),
        ('recall = 0.5\nsplit = "proportional"', {"recall": 0.5, "split": "proportional"}),
        ("cpu = 0.8", {"cpu": 0.8}),
        (
            'cpu = {comparisons = 5000}\ncompare = "rate"',
            {"cpu": bf.comparisons(5000), "compare": "rate"},
        ),
        (
            'cpu = 1\ncompare = {algorithm = "utility", sample = 0.2, boost = 1.5, period = 40}',
            {"cpu": 1.0, "compare": bf.compare("utility", 0.2, 1.5, 40)},
        ),
    ],
)
def test_short_forms(tmp_path: Path, written: str, given: dict[str, Any] | None) -> None:
    job = read_job(_folder(tmp_path, STREAMS + JOIN + f"[shed]\n{written}\n"))
    given = given or {"memory": "2 MB", "keep": "prob", "sample": "unbiased"}
    assert job.query.shed == bf.shed(**given)


def test_several_joins_share_the_budget(tmp_path: Path) -> None:
    joins = '[joins.x]\non = "k"\nwithin = 5\n[joins.y]\non = "k"\nwithin = 9\n'
    file = _folder(tmp_path, STREAMS + joins + '[shed]\nmemory = {tuples = 9}\nkeep = "fifo"\n')
    with opened(read_job(file)) as execution:
        assert execution.joined.query.shed == bf.shed(bf.tuples(9), "fifo")


def test_a_job_that_sheds_gives_what_python_gives(tmp_path: Path) -> None:
    """Same rows, same ledger, and the loss is told to people and to programs."""
    shed = '[shed]\nmemory = {tuples = 12}\nkeep = "fifo"\n[output]\npath = "joined.parquet"\n'
    file = _folder(tmp_path, STREAMS + JOIN + shed)
    told = CliRunner().invoke(app, ["run", str(file), "--json"])
    assert told.exit_code == 0, told.stderr
    joined = _python(overload=bf.shed(bf.tuples(12), "fifo"))
    expected = joined.read_all()
    assert pa.parquet.read_table(tmp_path / "joined.parquet").equals(expected)
    ledger = json.loads(told.stdout)["ledger"]
    assert ledger["streams"] == joined.ledger.as_dict()["streams"]
    assert ledger["streams"]["a"]["evicted"] > 0
    assert 0 < ledger["recall"]["estimate"] < 1
    shown = CliRunner().invoke(app, ["run", str(file), "--overwrite"]).stderr
    assert "evicted" in shown
    assert "recall 0." in shown


REFUSED = {
    '[shed]\nmemry = "1 MB"': "[shed] has the unknown key 'memry': did you mean 'memory'?",
    '[shed]\nkeep = "fifo"': "[shed]: shed() has no budget: give memory=",
    '[shed]\nmemory = "64 MX"': "[shed] memory: memory '64 MX' has the unknown unit 'MX'",
    "[shed]\nmemory = 64": '[shed] memory: 64 is not text: write "64 MB" or {tuples = 10000}',
    "[shed]\nmemory = {rows = 3}": 'is no budget: write "64 MB" or {tuples = 10000}',
    '[shed]\nmemory = "1 MB"\nkeep = "gian"': "policy 'gian' is unknown: did you mean 'gain'?",
    '[shed]\nmemory = "1 MB"\nkeep = {policy = "gdj", intial = 1}': (
        "[shed] keep has the unknown key 'intial': did you mean 'initial'?"
    ),
    '[shed]\nmemory = "1 MB"\nkeep = {policy = "gdj", initial = 9}': "initial=9 must lie between",
    '[shed]\nmemory = "1 MB"\nsplit = {a = 0.5}': "split gives stream 'b' no share",
    '[shed]\nmemory = "1 MB"\nsplit = {a = "x", b = 1}': "split a: 'x' is not a number",
    '[shed]\nmemory = "1 MB"\nimportance = 3': "[shed] importance: 3 is not text",
    '[shed]\nmemory = "1 MB"\nsample = "biased"': "sample='biased' is unknown",
    '[shed]\nmemory = "1 MB"\nsample = [1]': "[shed] sample: [1] is not a number",
    '[shed]\nmemory = "1 MB"\nseed = 1.5': "[shed] seed: 1.5 is not a whole number",
    "[shed]\nrecall = 1.5": "recall=1.5 is no target",
    "[overload]\nmemory = 3": "to shed, write [shed] with memory",
}


@pytest.mark.parametrize("written", REFUSED)
def test_refused_by_table_and_key(tmp_path: Path, written: str) -> None:
    file = _folder(tmp_path, STREAMS + JOIN + written + "\n")
    with pytest.raises(SpecError) as refused:
        read_job(file)
    assert REFUSED[written] in str(refused.value)
    assert str(refused.value).startswith("join.toml: ")


def test_words_of_other_versions_are_refused(tmp_path: Path) -> None:
    file = _folder(tmp_path, 'overload = "spill"\n' + STREAMS + JOIN)
    with pytest.raises(SpecError, match="'spill' is not in this version"):
        read_job(file)
    file = _folder(tmp_path, 'order = "sideways"\n' + STREAMS + JOIN)
    outcome = CliRunner().invoke(app, ["run", str(file)])
    assert outcome.exit_code == 1
    assert "order='sideways' is not in this version" in outcome.stderr
    file = _folder(tmp_path, 'overload = "block"\n' + STREAMS + JOIN + SHED)
    with pytest.raises(SpecError, match="both overload = 'block' and"):
        read_job(file)
