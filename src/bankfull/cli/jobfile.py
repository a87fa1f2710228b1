"""A job file says in TOML what ``bf.join`` says in Python: it is read into the same specs.

Everything that can be refused without opening a file is refused here, by file, table and key.
"""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, cast

from bankfull.cli.jobshed import read_overload
from bankfull.cli.tables import Table, one_or_more, typed
from bankfull.errors import SpecError, closest
from bankfull.runtime.embedded.files import FORMATS, STANDARD, guess_format
from bankfull.spec import (
    Equal,
    Join,
    Predicate,
    Query,
    Rows,
    Stream,
    Utility,
    Window,
    span,
    window,
)
from bankfull.spec.predicates import PREDICATES


@dataclass(frozen=True, slots=True)
class File:
    """A place to read from or to write to."""

    path: str
    format: str


@dataclass(frozen=True, slots=True)
class Input:
    """Where a stream comes from and how its text is to be read."""

    file: File
    types: dict[str, str]
    delimiter: str = ","


@dataclass(frozen=True, slots=True)
class Job:
    """A query and its files."""

    query: Query
    inputs: dict[str, Input]
    output: File
    quarantine: File | None
    order: str | None = None
    buckets: int | None = None
    threads: int | None = None

    def quarantine_of(self, stream: str) -> File | None:
        """Name the file that takes the bad rows of one stream."""
        if self.quarantine is None:
            return None
        return File(self.quarantine.path.replace("{stream}", stream), self.quarantine.format)


def read_job(path: Path) -> Job:
    """Read a job file; relative paths in it start at its own folder."""
    file = path.name
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SpecError(f"{file} is not TOML: {error}: see `bankfull run --help`") from None
    except RecursionError:
        raise SpecError(f"{file} is nested too deeply: see `bankfull run --help`") from None
    except OSError as error:
        raise SpecError(f"{file} cannot be read: {error.strerror}: check the path") from None
    top = Table(file, "the file", values, "")
    inputs, streams = _streams(top, path.parent)
    joins = _joins(top, tuple(streams))
    strict = top.optional("strict", lambda value: typed(value, bool, "write true or false"), False)
    basic = top.optional("basic_window", _window, None)
    shed = read_overload(top)
    order = top.optional("order", lambda value: typed(value, str, "leave it out"), None)
    buckets = top.optional("buckets", _buckets, None)
    threads = top.optional("threads", _threads, None)
    output = _output(top, path.parent)
    quarantine = _quarantine(top, path.parent, len(streams))
    top.done()
    with top.told("joins"):
        query = Query(tuple(streams.values()), joins, basic, strict, shed)
    job = Job(query, inputs, output, quarantine, order, buckets, threads)
    _check_files(path, job)
    return job


def _buckets(value: Any) -> int:
    return _count(value, "say over how many operators Spark divides the work, e.g. 8")


def _threads(value: Any) -> int:
    return _count(value, "say over how many threads the keys are divided, e.g. 2")


def _count(value: Any, advice: str) -> int:
    count = typed(value, int, advice)
    if count < 1:
        raise SpecError(f"{count} is not above zero: give at least 1")
    return count


def _streams(top: Table, folder: Path) -> tuple[dict[str, Input], dict[str, Stream]]:
    example = '[streams.orders] with path = "orders.parquet" and time = "ordered_at"'
    given = top.take("streams", lambda value: value, f"add a table for each, e.g. {example}")
    section = Table(top.file, "[streams]", given, example)
    inputs, streams = {}, {}
    for name in section:
        table = Table(top.file, f"[streams.{name}]", given[name], example)
        inputs[name], streams[name] = _stream(table, name, folder)
    return inputs, streams


def _stream(table: Table, name: str, folder: Path) -> tuple[Input, Stream]:
    file = _file(table, folder, 'name its file, or "-" for standard input')
    untyped: dict[str, str] = {}
    types = table.optional("types", lambda value: _types(table, value), untyped)
    delimiter = table.optional("delimiter", _delimiter, ",")
    time = table.text("time", "name the column that says when a row happened")
    late = table.optional("late", lambda value: span(value, "late"), span(0))
    idle = table.optional("idle", lambda value: span(value, "idle"), None)
    importance = table.optional("importance", lambda value: _importance(table, value), None)
    no_columns: tuple[str, ...] = ()
    unique = table.optional("unique", lambda value: one_or_more(value, "name columns"), no_columns)
    table.done()
    with table.told():
        return Input(file, types, delimiter), Stream(name, time, late, importance, unique, idle)


def _joins(top: Table, streams: tuple[str, ...]) -> tuple[Join, ...]:
    example = '[join] with on = "order_id" and within = "10 minutes"'
    single, several = "join" in top, "joins" in top
    if single and several:
        raise SpecError(f"{top.file}: it has both [join] and [joins.NAME]: keep one of them")
    if several:
        given = top.read("joins", lambda value: value)
        section = Table(top.file, "[joins]", given, "[joins.by_order]")
        names = list(section)
        return tuple(
            _join(Table(top.file, f"[joins.{name}]", given[name], example), name, streams)
            for name in names
        )
    given = top.take("join", lambda value: value, f"say what to join, e.g. {example}")
    return (_join(Table(top.file, "[join]", given, example), "join", streams),)


def _join(table: Table, name: str, streams: tuple[str, ...]) -> Join:
    advice = 'name the column both streams share, or e.g. {overlap = "tags", at_least = 3}'
    predicate = table.take("on", lambda value: _predicate(table, value), advice)
    windows = table.take("within", _windows, 'say how long a row stays joinable, e.g. "10 minutes"')
    listed = "list the names of streams"
    chosen = table.optional("streams", lambda value: one_or_more(value, listed), streams)
    search = table.optional("search", lambda value: typed(value, str, 'e.g. "auto"'), "auto")
    table.done()
    with table.told():
        return Join(name, chosen, predicate, windows, search)


def _predicate(table: Table, value: Any) -> Predicate:
    if not isinstance(value, dict):
        columns = one_or_more(
            value,
            'name a column, a list of columns, or a table such as {overlap = "tags", at_least = 3}',
        )
        return Equal((columns,))
    words = [word for word in value if word in PREDICATES]
    if len(words) != 1:
        unknown = [key for key in value if key not in (*PREDICATES, "at_least")]
        hint = closest(unknown[0], PREDICATES) if unknown else f"known: {', '.join(PREDICATES)}"
        raise SpecError(f"{value!r} names {len(words)} comparisons, not one: {hint}")
    word = words[0]
    inner = Table(table.file, f"{table.where} on", value, '{overlap = "tags", at_least = 3}')
    built = inner.read(word, lambda given: _compared(inner, word, given))
    inner.done()
    return built


def _compared(inner: Table, word: str, given: Any) -> Predicate:
    assert word in inner  # so that done() knows it
    if word == "equal":
        listed = given if isinstance(given, list) else [given]
        return Equal(tuple(one_or_more(side, "name columns") for side in listed))
    sides = one_or_more(given, "name one column for both streams, or one for each")
    kind: Any = PREDICATES[word]
    if "at_least" not in {field.name for field in fields(kind)}:
        return cast(Predicate, kind(sides))
    if "at_least" not in inner:
        raise SpecError(f"{word} has no at_least: say from how much on two sets match")
    return cast(Predicate, kind(sides, inner.read("at_least", lambda value: value)))


def _windows(value: Any) -> tuple[Window, ...]:
    given = value if isinstance(value, list) else [value]
    if not given:
        raise SpecError("an empty list gives no window: give one for all, or one a stream")
    return tuple(_window(item) for item in given)


def _window(value: Any) -> Window:
    if isinstance(value, dict):
        if list(value) != ["rows"]:
            raise SpecError(f"{value!r} is not a window: write {{rows = 1000}} for a count window")
        return Rows(value["rows"])
    return window(value)


def _importance(table: Table, value: Any) -> str | Utility | None:
    """Read a column of numbers, or a column of types and what each is worth."""
    if not isinstance(value, dict):
        return _column(value)
    example = '{column = "kind", worth = {security = 10, other = 1}}'
    inner = Table(table.file, f"{table.where} importance", value, example)
    column = inner.text("column", f"name one, e.g. {example}")
    types = Table(
        table.file,
        f"{inner.where} worth",
        inner.take("worth", lambda given: given, f"say what each type is worth, e.g. {example}"),
        "{security = 10, other = 1}",
    )
    worth = [(name, types.read(name, lambda amount: amount)) for name in sorted(types)]
    inner.done()
    with types.told():
        return Utility(column, tuple(worth))


def _column(value: Any) -> str:
    return typed(value, str, "name a column")


def _types(table: Table, value: Any) -> dict[str, str]:
    inner = Table(table.file, f"{table.where} types", value, '{amount = "float64"}')
    return {name: inner.text(name, 'name an Arrow type, e.g. "float64"') for name in inner}


def _delimiter(value: Any) -> str:
    character = typed(value, str, 'write one character, e.g. ";"')
    if len(character) != 1:
        raise SpecError(f'{character!r} is not one character: write e.g. ";"')
    return character


def _output(top: Table, folder: Path) -> File:
    if "output" not in top:
        return File(STANDARD, "jsonl")
    given = top.read("output", lambda value: value)
    table = Table(top.file, "[output]", given, '[output] with path = "joined.parquet"')
    file = _file(table, folder, 'name its file, or "-" for standard output', "jsonl")
    table.done()
    return file


def _quarantine(top: Table, folder: Path, streams: int) -> File | None:
    if "quarantine" not in top:
        return None
    given = top.read("quarantine", lambda value: value)
    table = Table(top.file, "[quarantine]", given, '[quarantine] with path = "bad-{stream}.jsonl"')
    file = _file(table, folder, 'name a file, e.g. "bad-{stream}.jsonl"')
    table.done()
    if file.path == STANDARD:
        raise SpecError(f"{top.file}: [quarantine] path: bad rows need a file of their own, not -")
    if streams > 1 and "{stream}" not in file.path:
        raise SpecError(
            f"{top.file}: [quarantine] path: one file cannot hold the rows of {streams} streams: "
            'put {stream} into its name, e.g. "bad-{stream}.jsonl"'
        )
    return file


def _file(table: Table, folder: Path, advice: str, default: str | None = None) -> File:
    path = table.text("path", advice)
    if "\0" in path:
        raise SpecError(
            f"{table.file}: {table.where} path: {path!r} has a zero byte, which no file name can "
            "have: leave it out"
        )
    if "format" in table:
        form = table.text("format", "")
        if form not in FORMATS:
            raise SpecError(
                f"{table.file}: {table.where} format {form!r} is unknown: {closest(form, FORMATS)}"
            )
    elif path == STANDARD and default is not None:
        form = default
    else:
        form = table.read("path", _guess)
    return File(path if path == STANDARD else str(folder / path), form)


def _guess(path: str) -> str:
    if path == STANDARD:
        known = ", ".join(map(repr, FORMATS))
        raise SpecError(f"standard input does not tell its format: set format to one of {known}")
    return guess_format(path)


def _check_files(path: Path, job: Job) -> None:
    """Refuse two uses of one file that would spoil each other."""
    read = [taken.file.path for taken in job.inputs.values()]
    if read.count(STANDARD) > 1:
        count = read.count(STANDARD)
        raise SpecError(f"{path.name}: {count} streams read standard input: give files")
    quarantined = [job.quarantine_of(name) for name in job.inputs]
    written = [job.output.path, *(bad.path for bad in quarantined if bad is not None)]
    places = [os.path.realpath(place) for place in written if place != STANDARD]
    taken = {os.path.realpath(place) for place in (*read, str(path)) if place != STANDARD}
    for place in places:
        # A folder that is read is read as a whole: nothing may be written into it.
        if place in taken or os.path.dirname(place) in taken or places.count(place) > 1:
            raise SpecError(
                f"{path.name}: {place} would be written over, or into a folder that is read: give "
                "the output and the quarantine files of their own"
            )
