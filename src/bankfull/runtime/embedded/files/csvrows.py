"""CSV in blocks: cells are read as bytes and typed later, so that a bad cell costs one row."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.csv

from bankfull.runtime.embedded.files import text
from bankfull.runtime.embedded.files.reading import BLOCK_BYTES, Batches, Reading


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
        first = pa.RecordBatch.from_arrays([pa.array([], pa.string()) for _ in names], names)
    schema = pa.schema([(name, _type(first, name, reading)) for name in first.schema.names])
    return Batches(schema, _typed(first, blocks, schema, reading))


def _type(block: pa.RecordBatch, name: str, reading: Reading) -> pa.DataType:
    if name in reading.types:
        return reading.types[name]
    if block.schema.names.count(name) > 1:
        return pa.string()  # refused when the join is planned
    return (text.type_of_time if name == reading.time else text.type_of)(block.column(name))


def _decoded(
    reader: Any, torn: deque[tuple[int, str]], reading: Reading
) -> Iterator[pa.RecordBatch]:
    """Turn blocks of bytes into blocks of text, telling the torn rows before each."""
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
                reading.complain(f"row {row}", why)
        columns = [text.convert(column, pa.string()) for column in block.columns]
        decoded = pa.RecordBatch.from_arrays([cells for cells, _ in columns], block.schema.names)
        wrong = sorted({row for _, rows in columns for row in rows})
        for row in wrong:
            cells = [column[row].as_py() for column in block.columns]
            reading.complain("a row", f"the bytes {cells} are not UTF-8 text")
        yield text.without(decoded, wrong)


def _typed(
    first: pa.RecordBatch, rest: Iterator[pa.RecordBatch], schema: pa.Schema, reading: Reading
) -> Iterator[pa.RecordBatch]:
    block: pa.RecordBatch | None = first
    while block is not None:
        yield reading.typed(block, schema)
        block = next(rest, None)
