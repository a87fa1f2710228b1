"""JSON lines in blocks: a line that is not an object of the known shape costs only itself."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.json

from bankfull.runtime.embedded.files import text
from bankfull.runtime.embedded.files.reading import BLOCK_BYTES, Batches, Reading

_Parse = Callable[[bytes], pa.Table]
_Reject = Callable[[int, bytes, Exception], None]
_UNPARSABLE = (pa.ArrowInvalid, UnicodeDecodeError)
_ENDLESS_BYTES = 1 << 30


def open_jsonl(file: Any, reading: Reading) -> Batches:
    """Open a file of JSON objects, one a line; the first block decides columns and types."""
    blocks = _blocks(file, reading)
    line, block = next(blocks, (1, b""))
    if not block and not reading.types:
        raise reading.failure("it is empty, so its columns are unknown", "name them in types")
    wire = _wire_schema(block, reading) if block else _schema({}, reading)
    first = _parsed(block, line, wire, reading) if block else []
    schema = pa.schema([(column.name, _type(column, first, reading)) for column in wire])
    return Batches(schema, _typed(first, blocks, wire, schema, reading))


def _typed(
    tables: list[pa.Table],
    blocks: Iterator[tuple[int, bytes]],
    wire: pa.Schema,
    schema: pa.Schema,
    reading: Reading,
) -> Iterator[pa.RecordBatch]:
    for table in tables:
        for batch in table.to_batches():
            yield reading.typed(batch, schema)
    for line, block in blocks:
        for table in _parsed(block, line, wire, reading):
            for batch in table.to_batches():
                yield reading.typed(batch, schema)


def _blocks(file: Any, reading: Reading) -> Iterator[tuple[int, bytes]]:
    """Cut a file into whole lines; yields the number of the first line, and the lines."""
    line, rest, started = 1, b"", False
    while chunk := file.read(BLOCK_BYTES):
        if not started:
            chunk, started = chunk.removeprefix(b"\xef\xbb\xbf"), True
        end = chunk.rfind(b"\n") + 1
        if not end:
            rest += chunk
            if len(rest) > _ENDLESS_BYTES:
                raise reading.failure(f"line {line} has no end", "write one object a line")
            continue
        block, rest = rest + chunk[:end], chunk[end:]
        if block.strip():
            yield line, block
        line += block.count(b"\n")
    if rest.strip():
        yield line, rest


def _parsed(block: bytes, line: int, wire: pa.Schema, reading: Reading) -> list[pa.Table]:
    def reject(offset: int, given: bytes, error: Exception) -> None:
        shown = given.decode(errors="backslashreplace").strip()
        why = str(error).split(" in row ")[0].rstrip(".")
        reading.complain(f"line {line + offset}", f"{why}: {shown}")

    return _isolate(block, lambda lines: _parse(lines, wire), reject)


def _isolate(block: bytes, parse: _Parse, reject: _Reject) -> list[pa.Table]:
    """Parse a block, halving it around lines that cannot be parsed, which are rejected."""
    try:
        return [parse(block)]
    except _UNPARSABLE:
        lines = block.split(b"\n")
    tables = []
    spans = [(0, len(lines))]
    while spans:
        start, end = spans.pop()
        part = b"\n".join(lines[start:end])
        if not part.strip():
            continue
        try:
            tables.append(parse(part))
        except _UNPARSABLE as error:
            middle = (start + end) // 2
            if end - start == 1:
                reject(start, part, error)
            else:
                spans += [(middle, end), (start, middle)]
    return tables


def _parse(block: bytes, wire: pa.Schema | None = None) -> pa.Table:
    table = pyarrow.json.read_json(
        io.BytesIO(block),
        read_options=pyarrow.json.ReadOptions(use_threads=False, block_size=len(block) + 1),
        parse_options=pyarrow.json.ParseOptions(
            explicit_schema=wire, unexpected_field_behavior="infer" if wire is None else "ignore"
        ),
    )
    table.validate(full=True)  # the parser lets broken UTF-8 through
    return table


def _wire_schema(block: bytes, reading: Reading) -> pa.Schema:
    """Choose each column's type as it is read; lines that disagree are outvoted."""
    reasons: list[Exception] = []
    tables = _isolate(block, _parse, lambda _, __, error: reasons.append(error))
    if not tables:
        raise reading.failure(reasons[0], "write one JSON object a line")
    votes: dict[str, Counter[pa.DataType]] = {name: Counter() for name in reading.types}
    for table in tables:
        for column in table.schema:
            count = votes.setdefault(column.name, Counter())
            count[_as_read(column.type)] += table.num_rows
    return _schema(votes, reading)


def _schema(votes: dict[str, Counter[pa.DataType]], reading: Reading) -> pa.Schema:
    kinds = {name: _outcome(counted) for name, counted in votes.items() if counted}
    given = {name: _as_read(kind) for name, kind in reading.types.items()}
    return pa.schema(list((kinds | given).items()))


def _outcome(votes: Counter[pa.DataType]) -> pa.DataType:
    """Find one type for all rows of a column, or else the type that most of them have."""
    single = [pa.schema([("column", kind)]) for kind in votes]
    try:
        kind = pa.unify_schemas(single, promote_options="permissive").field("column").type
    except pa.ArrowTypeError:
        kind = votes.most_common(1)[0][0]
    return _rebuilt(kind, lambda leaf: pa.string() if pa.types.is_null(leaf) else leaf)


def _as_read(kind: pa.DataType) -> pa.DataType:
    """Read times as text: the parser knows only whole seconds."""
    return _rebuilt(kind, lambda leaf: pa.string() if pa.types.is_temporal(leaf) else leaf)


def _rebuilt(kind: pa.DataType, change: Callable[[pa.DataType], pa.DataType]) -> pa.DataType:
    """Change the types at the leaves of a nested type.

    >>> str(_rebuilt(pa.list_(pa.null()), lambda leaf: pa.string()))
    'list<item: string>'
    """
    if pa.types.is_list(kind):
        return pa.list_(_rebuilt(kind.value_type, change))
    if pa.types.is_struct(kind):
        return pa.struct([(part.name, _rebuilt(part.type, change)) for part in kind])
    return change(kind)


def _type(column: pa.Field, first: list[pa.Table], reading: Reading) -> pa.DataType:
    """Decide what a column becomes: text may hold times."""
    if column.name in reading.types:
        return reading.types[column.name]
    if not pa.types.is_string(column.type):
        return column.type
    cells = pa.chunked_array(
        [chunk for table in first for chunk in table.column(column.name).chunks], pa.string()
    ).combine_chunks()
    if column.name == reading.time:
        kind = text.type_of_time(cells)
    else:
        kind = text.type_of(cells)
    return kind if pa.types.is_timestamp(kind) else column.type
