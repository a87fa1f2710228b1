"""CSV in blocks: cells are read as bytes and typed later, so that a bad cell costs one row."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.csv

from bankfull.runtime.embedded.files import text
from bankfull.runtime.embedded.files.reading import BLOCK_BYTES, Batches, Reading


class _Block(NamedTuple):
    """Rows of text, and which rows of the file they are; the row of column names is row 1."""

    rows: pa.RecordBatch
    numbers: list[int] | range

    def where(self, row: int) -> str:
        return f"row {self.numbers[row]}"


def open_csv(file: Any, reading: Reading) -> Batches:
    """Open a CSV file; its first row names the columns, an empty unquoted cell is null."""
    torn: deque[tuple[int, str]] = deque()  # filled by the parser, possibly ahead of the batches

    def tear(row: Any) -> str:
        why = f"{row.actual_columns} columns where the first row has {row.expected_columns}"
        torn.append((row.number, f"{why}: {row.text!r}"))
        return "skip"

    try:
        reader = pyarrow.csv.open_csv(
            file,
            read_options=pyarrow.csv.ReadOptions(block_size=BLOCK_BYTES, use_threads=False),
            parse_options=pyarrow.csv.ParseOptions(
                delimiter=reading.delimiter, newlines_in_values=True, invalid_row_handler=tear
            ),
            convert_options=pyarrow.csv.ConvertOptions(
                default_column_type=pa.binary(),
                check_utf8=False,
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )
    except pa.ArrowInvalid as error:
        raise reading.failure(error, "a CSV file starts with a row of column names") from error
    blocks = _decoded(reader, torn, reading)
    first = next(blocks, None)
    if first is None:
        names = reader.schema.names
        nothing = [pa.array([], pa.string()) for _ in names]
        first = _Block(pa.RecordBatch.from_arrays(nothing, names), [])
    schema = pa.schema([(name, _type(first, name, reading)) for name in first.rows.schema.names])
    undecided = frozenset(
        name
        for name, column in zip(schema.names, first.rows.columns, strict=True)
        if column.null_count == len(column) and name not in reading.types
    )

    def begin(settled: pa.Schema) -> Iterator[pa.RecordBatch]:
        yield reading.typed(first.rows, settled, first.where)
        for block in blocks:
            yield reading.typed(block.rows, settled, block.where)

    return Batches(schema, begin, undecided)


def _type(block: _Block, name: str, reading: Reading) -> pa.DataType:
    if name in reading.types:
        return reading.types[name]
    if block.rows.schema.names.count(name) > 1:
        return pa.string()  # refused when the join is planned
    cells = block.rows.column(name)
    kind = text.type_of_time(cells) if name == reading.time else text.type_of(cells)
    if pa.types.is_string(kind) and (doubt := text.doubt_about(cells)):
        reading.note(
            f"column {name!r} of {reading.label} is read as text, since {block.where(doubt.row)} "
            f"has {doubt.cell!r}: to set such rows aside, give "
            f'types = {{{name} = "{doubt.kind}"}}'
        )
    elif pa.types.is_string(kind) and text.are_numbers(cells):
        reading.note(
            f"column {name!r} of {reading.label} is read as text and compared as it is spelt: "
            f'no type holds all its numbers exactly (or give types = {{{name} = "float64"}})'
        )
    return kind


def _decoded(reader: Any, torn: deque[tuple[int, str]], reading: Reading) -> Iterator[_Block]:
    """Turn blocks of bytes into blocks of text, telling the torn rows before each."""
    following = 2
    skipped: list[int] = []
    while True:
        try:
            block = reader.read_next_batch()
        except StopIteration:
            break
        except pa.ArrowInvalid as error:
            raise reading.failure(error, "look for an unclosed quote") from error
        finally:
            while torn:
                row, why = torn.popleft()
                skipped.append(row)
                reading.complain(f"row {row}", why)
        numbers, following, skipped = _numbered(following, block.num_rows, skipped)
        columns = [text.convert(column, pa.string()) for column in block.columns]
        decoded = pa.RecordBatch.from_arrays([cells for cells, _ in columns], block.schema.names)
        wrong = sorted({row for _, rows in columns for row in rows})
        for row in wrong:
            cells = [column[row].as_py() for column in block.columns]
            reading.complain(f"row {numbers[row]}", f"the bytes {cells} are not UTF-8 text")
        if wrong:
            bad = set(wrong)
            numbers = [number for row, number in enumerate(numbers) if row not in bad]
        yield _Block(text.without(decoded, wrong), numbers)


def _numbered(
    following: int, rows: int, skipped: list[int]
) -> tuple[list[int] | range, int, list[int]]:
    """Number the rows of a block, leaving out the skipped ones.

    Returns the numbers, the number that follows, and the skipped rows of later blocks.

    >>> _numbered(2, 3, [3, 9])
    ([2, 4, 5], 6, [9])
    """
    end, ours = following + rows, 0
    while ours < len(skipped) and skipped[ours] < end:
        end, ours = end + 1, ours + 1
    if not ours:
        return range(following, end), end, skipped
    left_out = set(skipped[:ours])
    numbers = [number for number in range(following, end) if number not in left_out]
    return numbers, end, skipped[ours:]
