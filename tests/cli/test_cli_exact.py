"""Properties and units: numbers and columns of text files arrive as they are written, or are told.

A number that its column's type would round, a column that is seen too late, a column without a
value: each used to change results without a word.
"""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from bankfull.cli import app
from bankfull.runtime.embedded.files import open_source


def run(*arguments: object) -> tuple[int, str, str]:
    outcome = CliRunner().invoke(app, ["run", *map(str, arguments)])
    if outcome.exception and not isinstance(outcome.exception, SystemExit):
        raise outcome.exception
    return outcome.exit_code, outcome.stdout, outcome.stderr


_edges = st.sampled_from([2**53, 2**63, 2**64, 10**17, 10**38])
_whole = st.one_of(
    st.integers(-100, 100),
    st.builds(lambda edge, step: edge + step, _edges, st.integers(-3, 3)),
    st.integers(-(10**40), 10**40),
).map(str)
_tokens = st.one_of(
    _whole,
    st.floats(allow_nan=False, allow_infinity=False).map(repr).map(lambda text: text.lower()),
    st.decimals(-1000, 1000, places=2).map(str),
    st.builds(lambda whole, places: f"{whole}.{places}", _whole, st.integers(1, 10**18)),
    st.sampled_from(["1e22", "5e-324", "4.9e-324", "0.10000000000000001", "-0.0", "1E+2"]),
)


def _meaning(value: object) -> Decimal:
    return Decimal(repr(value)) if isinstance(value, float) else Decimal(value)  # type: ignore[arg-type]


@settings(deadline=None, max_examples=150)
@given(st.lists(_tokens, min_size=1, max_size=6), st.sampled_from(["csv", "jsonl"]), st.booleans())
@example(["9223372036854775809", "9223372036854775810"], "jsonl", False)
@example(["9007199254740993", "9007199254740992", "0.5"], "jsonl", False)
@example(["9007199254740993", "9007199254740992", "0.5"], "csv", False)
@example(["0.5", "9007199254740993"], "csv", True)
@example(["0.5", "9007199254740993"], "jsonl", True)
def test_numbers_are_read_as_written_or_told(tokens: list[str], form: str, small: bool) -> None:
    """Every number is in its row with all its digits, or its row is told; blocks of any size."""
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        for module in ("csvrows", "jsonlines"):
            if small:
                patch.setattr(f"bankfull.runtime.embedded.files.{module}.BLOCK_BYTES", 100)
        path = Path(folder) / "rows"
        if form == "csv":
            lines = ["t,n", *(f"{row},{token}" for row, token in enumerate(tokens))]
        else:
            lines = [f'{{"t":{row},"n":{token}}}' for row, token in enumerate(tokens)]
        path.write_text("\n".join(lines) + "\n")
        told: list[str] = []
        source = open_source(str(path), form, time="t", on_unreadable=told.append)
        found = {row["t"]: row["n"] for row in source.reader.read_all().to_pylist()}
        source.close()
    for row, value in found.items():
        assert _meaning(value) == Decimal(tokens[row])
    assert len(found) + len(told) == len(tokens)
    places = {int(reason.split(":")[0].split()[1]) for reason in told}
    assert places == {row + (2 if form == "csv" else 1) for row in range(len(tokens))} - {
        row + (2 if form == "csv" else 1) for row in found
    }


def test_nested_numbers_too(tmp_path: Path) -> None:
    """Within lists and objects a number may also be its double's seventeen digits."""
    values = ["0.10000000000000001", "9007199254740993", "2.5"]
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(f'{{"t":1,"n":[{{"x":{value}}},{{"x":0.5}}]}}\n' for value in values))
    told: list[str] = []
    source = open_source(str(path), "jsonl", time="t", on_unreadable=told.append)
    assert [row["n"][0]["x"] for row in source.reader.read_all().to_pylist()] == [0.1, 2.5]
    assert told[0].startswith("line 2: 9007199254740993 in column 'n' would be rounded as list<")


def test_nested_keys_are_compared_as_written(tmp_path: Path) -> None:
    """Where rows are compared, two spellings of one double are two numbers: one of them is told."""
    for wrap in ("[%s,1]", '{"x":%s}', '[{"x":[%s]}]'):
        left, right = (
            '{"t":1,"k":%s}\n' % (wrap % token) for token in ("0.1", "0.1" + "0" * 15 + "1")
        )
        code, stdout, stderr = run(_job(tmp_path, left, right), "-q")
        assert code == 0, stderr
        assert not stdout
        code, stdout, stderr = run(_job(tmp_path, left, left), "-q")
        assert stdout.count("0.1") == 2


def test_a_type_that_is_given_may_round(tmp_path: Path) -> None:
    for form, line in (("csv", "t,n\n1,9007199254740993\n"), ("jsonl", '{"t":1,"n":1.5}\n')):
        (tmp_path / form).write_text(line)
        types = {"n": pa.float32()}
        assert open_source(str(tmp_path / form), form, time="t", types=types).reader.read_all()


def _job(folder: Path, left: str, right: str, more: str = "") -> Path:
    (folder / "left").write_text(left)
    (folder / "right").write_text(right)
    file = folder / "join.toml"
    forms = ["jsonl" if text.startswith("{") else "csv" for text in (left, right)]
    file.write_text(
        "".join(
            f'[streams.{name}]\npath = "{name}"\nformat = "{form}"\ntime = "t"\n'
            for name, form in zip(("left", "right"), forms, strict=True)
        )
        + f'[join]\non = "k"\nwithin = 10\n{more}'
    )
    return file


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ('{"t":1,"k":9223372036854775809}\n', '{"t":2,"k":9223372036854775810}\n'),
        ("t,k\n1,9223372036854775809\n", '{"t":2,"k":9223372036854775810}\n'),
        ('{"t":1,"k":9007199254740993}\n{"t":1,"k":0.5}\n', "t,k\n2,9007199254740992\n2,0.25\n"),
        ("t,k\n1,9007199254740993\n1,0.5\n", "t,k\n2,9007199254740992\n2,0.5\n"),
    ],
)
def test_different_numbers_do_not_join(tmp_path: Path, left: str, right: str) -> None:
    """Equal ones do, whichever file they come from."""
    code, stdout, stderr = run(_job(tmp_path, left, right), "-q")
    if code:
        assert "key columns cannot be compared" in stderr
        assert "types = {k = " in stderr
    else:
        assert "900719" not in stdout
        assert "922337" not in stdout
    code, stdout, stderr = run(_job(tmp_path, left, left.replace('"t":1', '"t":2')), "-q")
    assert code == 0, stderr
    joined = [json.loads(line, parse_float=str, parse_int=str) for line in stdout.splitlines()]
    assert joined
    assert all(row["left_k"] == row["right_k"] for row in joined)


def test_a_column_first_seen_after_the_first_block_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bankfull.runtime.embedded.files.jsonlines.BLOCK_BYTES", 64)
    rows: list[dict[str, object]] = [{"t": row, "in": {"x": 1}} for row in range(20)]
    rows[12]["note"] = "new"
    rows[14]["in"] = {"x": 1, "y": 2}
    rows[15]["note"] = None  # nothing is lost
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    told: list[str] = []
    source = open_source(str(path), "jsonl", time="t", on_unreadable=told.append)
    times = source.reader.read_all()["t"].to_pylist()
    assert times == [row for row in range(20) if row not in (12, 14)]
    assert [reason.split(":")[0] for reason in told] == ["line 13", "line 15"]
    assert "'note'" in told[0]
    assert "name it in types" in told[0]
    typed = {"note": pa.string()}
    source = open_source(str(path), "jsonl", time="t", types=typed, on_unreadable=told.append)
    assert source.reader.read_all()["note"].to_pylist()[12] == "new"


@pytest.mark.parametrize(
    ("empty", "full"),
    [
        ("t,k\n", "t,k\n1,7\n"),
        ("t,k\n", "t,k\n2024-01-01T00:00:00Z,x\n"),
        ("t,k,note\n,,\n", '{"t":1,"k":7}\n'),
        ('{"t":null,"k":null}\n', "t,k\n1,7\n"),
        ("t,k\n", "t,k\n"),
    ],
)
def test_a_file_without_values_takes_the_types_of_the_other(
    tmp_path: Path, empty: str, full: str
) -> None:
    for left, right in ((empty, full), (full, empty)):
        file = _job(tmp_path, left, right)
        if "2024" in full:
            file.write_text(file.read_text().replace("= 10", '= "10 s"'))
        code, stdout, stderr = run(file, "-q")
        assert (code, stdout) == (0, ""), stderr


def test_one_bad_value_in_a_column_of_numbers(tmp_path: Path) -> None:
    """The column is text, so the join is refused: the message says why and what to do."""
    left = "t,k\n" + "".join(f"{row},{row}\n" for row in range(20)) + "20,n.d.\n"
    right = "t,k\n5,5\n"
    file = _job(tmp_path, left, right, '[quarantine]\npath = "bad-{stream}.jsonl"\n')
    code, _, stderr = run(file)
    assert code == 1
    assert "key columns cannot be compared" in stderr
    assert "row 22 has 'n.d.'" in stderr
    assert 'types = {k = "int64"}' in stderr
    file.write_text(
        file.read_text().replace("[streams.right]", 'types = {k="int64"}\n[streams.right]')
    )
    code, stdout, stderr = run(file, "-q")
    assert code == 0, stderr
    assert json.loads(stdout)["left_k"] == 5
    reason = json.loads((tmp_path / "bad-left.jsonl").read_text())["reason"]
    assert reason.startswith("row 22: 'n.d.' in column 'k' is not exactly int64, as types says")


def test_a_bad_value_that_refuses_nothing_is_noted(tmp_path: Path) -> None:
    left = "t,k,n\n" + "".join(f"{row},{row},{row / 4}\n" for row in range(20)) + "20,5,?\n"
    file = _job(tmp_path, left, "t,k\n5,5\n", '[output]\npath = "joined.csv"\n')
    code, stdout, _ = run(file, "--json")
    assert code == 0
    notes = json.loads(stdout)["notes"]
    assert len(notes) == 1
    assert "row 22 has '?'" in notes[0]
    code, _, stderr = run(file, "--overwrite")
    assert f"note: {notes[0]}" in stderr


def test_numbers_that_stay_text_are_noted(tmp_path: Path) -> None:
    """They are compared as they are spelt, which a reader of the result should know."""
    left = "t,k\n1,2.50\n1,1e5000\n"
    code, stdout, stderr = run(_job(tmp_path, left, left.replace("2.50", "2.5")))
    assert code == 0
    assert stdout.count("1e5000") == 2
    assert stderr.count("is read as text and compared as it is spelt") == 2


def test_rows_are_numbered_as_in_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Torn rows, broken text and quoted line breaks count, in blocks of any size."""
    monkeypatch.setattr("bankfull.runtime.embedded.files.csvrows.BLOCK_BYTES", 40)
    rows = [f'{row},"a\nb"' if row % 3 else f"{row},x" for row in range(30)]
    rows[11], rows[17], rows[18], rows[25] = "11", "17,\udcff", "18,x,y", "nope,x"
    text = "n,s\n" + "\n".join(rows) + "\n"
    (tmp_path / "rows.csv").write_bytes(text.encode(errors="surrogateescape"))
    told: list[str] = []
    source = open_source(str(tmp_path / "rows.csv"), "csv", time="t", on_unreadable=told.append)
    assert source.reader.read_all().num_rows == 26
    assert sorted(int(why.split(":")[0].split()[1]) for why in told) == [13, 19, 20, 27]
