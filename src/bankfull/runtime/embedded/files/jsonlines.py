"""JSON lines in blocks: a line that is not an object of the known shape costs only itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.json

from bankfull.runtime.embedded.files import text
from bankfull.runtime.embedded.files.jsonchecks import BadLines, Leaves, check, inexact_leaves
from bankfull.runtime.embedded.files.numbers import depth
from bankfull.runtime.embedded.files.reading import BLOCK_BYTES, Batches, Reading

_Parse = Callable[[bytes], pa.Table]
_Reject = Callable[[int, bytes, str], None]
_UNPARSABLE = (pa.ArrowInvalid, UnicodeDecodeError)
_ENDLESS_BYTES = 1 << 30
#: Objects and lists within each other; Arrow's parser calls itself for each of them.
_DEPTH = 200


class _Part(NamedTuple):
    """What was read from some lines, of which the first has the number ``line``."""

    table: pa.Table
    lines: bytes
    line: int

    def where(self, row: int) -> str:
        filled = [k for k, given in enumerate(self.lines.split(b"\n")) if given.strip()]
        return f"line {self.line + filled[row]}" if len(filled) == self.table.num_rows else "a row"


def open_jsonl(file: Any, reading: Reading) -> Batches:
    """Open a file of JSON objects, one a line; the first block decides columns and types."""
    blocks = _blocks(file, reading)
    line, block = next(blocks, (1, b""))
    if not block and not reading.types:
        raise reading.failure("it is empty, so its columns are unknown", "name them in types")
    wire, unknown, first = _first(block, line, reading)
    schema = pa.schema([(column.name, _type(column, first, reading)) for column in wire])

    def begin(settled: pa.Schema) -> Iterator[pa.RecordBatch]:
        for part in first:
            yield from _typed(part, settled, reading)
        now = pa.schema(
            [
                (field.name, _as_read(field.type) if field.name in unknown else column.type)
                for field, column in zip(settled, wire, strict=True)
            ]
        )
        for line, block in blocks:
            for part in _parsed(block, line, now, reading):
                yield from _typed(part, settled, reading)

    return Batches(schema, begin, unknown)


def _typed(part: _Part, schema: pa.Schema, reading: Reading) -> Iterator[pa.RecordBatch]:
    done = 0
    for batch in part.table.to_batches():
        yield reading.typed(batch, schema, partial(_where, part, done))
        done += batch.num_rows


def _where(part: _Part, start: int, row: int) -> str:
    return part.where(start + row)


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
        if not block.isspace():
            yield line, block
        line += int(np.count_nonzero(np.frombuffer(block, np.uint8) == ord("\n")))
    if rest.strip():
        yield line, rest


def _parsed(block: bytes, line: int, wire: pa.Schema, reading: Reading) -> list[_Part]:
    def reject(offset: int, given: bytes, why: str) -> None:
        shown = given[:1_000].decode(errors="backslashreplace").strip()
        reading.complain(f"line {line + offset}", f"{why}: {shown}")

    judged = reading.judged(wire.names)

    def parse(lines: bytes) -> pa.Table:
        table = _parse(lines, wire)
        check(table, lines, wire, judged)
        # Columns and fields that are always null are no loss.
        return table if table.schema == wire else _parse(lines, wire, "ignore")

    parts = _isolate(block, parse, reject)
    return [part._replace(line=line + part.line) for part in parts]


def _isolate(block: bytes, parse: _Parse, reject: _Reject) -> list[_Part]:
    """Parse a block, halving it around lines that cannot be parsed, which are rejected."""
    deep = _deep_lines(block)
    if not deep:
        try:
            return [_Part(parse(block), block, 0)]
        except (BadLines, *_UNPARSABLE):
            pass
    lines = block.split(b"\n")
    for number in deep:
        reject(number, lines[number], f"lists and objects are more than {_DEPTH} deep")
        lines[number] = b""
    parts = []
    spans = [(0, len(lines))]
    while spans:
        start, end = spans.pop()
        part = b"\n".join(lines[start:end])
        if not part.strip():
            continue
        try:
            parts.append(_Part(parse(part), part, start))
        except BadLines as bad:
            for offset, why in sorted(bad.reasons.items()):
                reject(start + offset, lines[start + offset], why)
                lines[start + offset] = b""
            spans.append((start, end))
        except _UNPARSABLE as error:
            middle = (start + end) // 2
            if end - start == 1:
                reject(start, part, str(error).split(" in row ")[0].rstrip("."))
            else:
                spans += [(middle, end), (start, middle)]
    return parts


def _deep_lines(block: bytes) -> list[int]:
    ends = np.flatnonzero(np.frombuffer(block, np.uint8) == ord("\n"))
    if np.diff(ends, prepend=-1, append=len(block)).max() <= _DEPTH or depth(block) <= _DEPTH:
        return []
    return [number for number, line in enumerate(block.split(b"\n")) if depth(line) > _DEPTH]


def _parse(block: bytes, wire: pa.Schema | None = None, unexpected: str = "infer") -> pa.Table:
    table = pyarrow.json.read_json(
        pa.BufferReader(block),
        read_options=pyarrow.json.ReadOptions(use_threads=False, block_size=len(block) + 1),
        parse_options=pyarrow.json.ParseOptions(
            explicit_schema=wire, unexpected_field_behavior=unexpected
        ),
    )
    table.validate(full=True)  # the parser lets broken UTF-8 through
    return table


def _first(
    block: bytes, line: int, reading: Reading
) -> tuple[pa.Schema, frozenset[str], list[_Part]]:
    """Choose each column's type as it is read; lines that disagree are outvoted.

    Returns the names of columns without a value, and what was read of the block, too.
    """
    if not block:
        return _schema({}, reading), frozenset(), []
    reasons: list[str] = []
    parts = _isolate(block, _parse, lambda _, __, why: reasons.append(why))
    if not parts:
        raise reading.failure(reasons[0], "write one JSON object a line")
    votes: dict[str, Counter[pa.DataType]] = {name: Counter() for name in reading.types}
    for part in parts:
        for column in part.table.schema:
            count = votes.setdefault(column.name, Counter())
            count[_as_read(column.type)] += part.table.num_rows
    wire = _schema(votes, reading)
    judged = reading.judged(wire.names)
    # A double that would round a number of the first block is read as a decimal instead.
    leaves: Leaves = {}
    rounded = [inexact_leaves(part.table, part.lines, wire, judged, leaves) for part in parts]
    fields = [(column.name, leaves.get(column.name) or column.type) for column in wire]
    unknown = frozenset(
        name
        for name, counted in votes.items()
        if name not in reading.types and all(pa.types.is_null(kind) for kind in counted)
    )
    if not reasons and not any(rounded) and all(part.table.schema == wire for part in parts):
        return wire, unknown, [part._replace(line=line + part.line) for part in parts]
    wire = pa.schema(fields)
    return wire, unknown, _parsed(block, line, wire, reading)


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


def _type(column: pa.Field, first: list[_Part], reading: Reading) -> pa.DataType:
    """Decide what a column becomes: text may hold times."""
    if column.name in reading.types:
        return reading.types[column.name]
    if not pa.types.is_string(column.type):
        return column.type
    cells = pa.chunked_array(
        [chunk for part in first for chunk in part.table.column(column.name).chunks], pa.string()
    ).combine_chunks()
    if column.name == reading.time:
        kind = text.type_of_time(cells)
    else:
        kind = text.type_of(cells)
    return kind if pa.types.is_timestamp(kind) else column.type
