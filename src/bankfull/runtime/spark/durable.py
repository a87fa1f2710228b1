"""An operator's state in Spark's state store: segments of rows and a header.

The header carries a version, the query it belongs to and the keys of the buckets; what does not
match is refused in words, before anything is written.
"""

from __future__ import annotations

import json
import zlib
from collections import deque
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle

from bankfull.core import Plan, catch_up, describe, restore, revive, snapshot
from bankfull.errors import SnapshotError
from bankfull.runtime.spark.encode import Layout
from bankfull.runtime.spark.live import Live
from bankfull.runtime.spark.packets import pack_tight, unpack_tight
from bankfull.spec import to_json

_VERSION = 7
#: Where the header is kept: no stream has this position.
_HEADER = (-1, 0)
#: Where a state under a memory budget is kept.
_WHOLE = (-2, 0)
#: The segment number under which rows that wait for their turn are kept.
_WAITING = -1


class Durable:
    """The state variables of one operator."""

    def __init__(self, handle: StatefulProcessorHandle, layout: Layout) -> None:
        self.layout = layout
        # One variable for everything: Spark spends some 20 ms a task on opening each.
        self._segments = handle.getMapState("segments", "stream int, number long", "rows binary")

    def header(self) -> dict[str, Any] | None:
        """Return where the last commit left everything; None before the first."""
        stored = self._segments.getValue(_HEADER)
        if stored is None:
            if self._segments.exists():
                raise SnapshotError(
                    "the checkpoint has rows and no header: it is damaged or an earlier version "
                    "of bankfull wrote it; go on with that version, or start a new checkpoint"
                )
            return None
        data = bytes(stored[0])
        check, body = int.from_bytes(data[:4], "little"), data[4:]
        if zlib.crc32(body) != check:
            raise SnapshotError(
                "the checkpoint is damaged (a header's checksum does not match): restart from a "
                "copy of the checkpoint, or with a new checkpoint location"
            )
        header: dict[str, Any] = json.loads(body)
        self._check(header)
        return header

    def append(self, live: Live, name: str, rows: pa.RecordBatch) -> None:
        """Keep rows that just entered the log of a stream."""
        position = [stream.name for stream in live.state.plan.streams].index(name)
        number = live.numbers[position]
        end = live.state.inputs[position].log.lanes.end
        live.numbers[position] += 1
        live.segments[position].append((number, end))
        self._segments.updateValue((position, number), (pack_tight(rows),))

    def commit(self, live: Live) -> None:
        """Forget segments without live rows and write the header."""
        for position, source in enumerate(live.state.inputs):
            segments = live.segments[position]
            while segments and segments[0][1] <= source.log.lanes.start:
                self._segments.removeKey((position, segments.popleft()[0]))
            if source.reorder is not None and live.state.shedding is None:
                self._segments.updateValue((position, _WAITING), (pack_tight(source.reorder.rows),))
        if live.state.shedding is not None:
            # Bounded by the budget, and changed all over: written whole.
            self._segments.updateValue(_WHOLE, (snapshot(live.state),))
        live.renew()
        header = {
            **describe(live.state),
            "version": _VERSION,
            "spec": to_json(self.layout.query),
            "keys": self.layout.keys,
            "columns": self.layout.columns(),
            "lineage": live.lineage,
            "history": live.history,
            "frontiers": live.frontiers,
            "numbers": live.numbers,
            "loads": live.loads,
        }
        body = json.dumps(header).encode()
        data = zlib.crc32(body).to_bytes(4, "little") + body
        self._segments.updateValue(_HEADER, (data,))

    def rebuild(self, plan: Plan, header: dict[str, Any]) -> Live:
        """Build the operator anew from what is stored."""
        if plan.shed is not None:
            written = self._segments.getValue(_WHOLE)
            live = Live.fresh(plan)
            live.state = restore(plan, bytes(written[0]) if written is not None else b"")
            live.lineage, live.history = header["lineage"], header["history"]
            live.frontiers, live.loads = header["frontiers"], header["loads"]
            return live
        pieces: list[dict[int, pa.RecordBatch]] = [{} for _ in plan.streams]
        waiting = [_none(stream.schema) for stream in plan.streams]
        for (position, number), (data,) in self._segments.iterator():
            if (position, number) == _HEADER:
                continue
            rows = unpack_tight(bytes(data))
            if number == _WAITING:
                waiting[position] = rows
            else:
                pieces[position][number] = rows
        held, segments = [], []
        for position, stream in enumerate(plan.streams):
            described = header["streams"][position]
            end = described["first"] + described["stored"]
            kept, ends = _assemble(pieces[position], end, described["first"], stream.schema)
            held.append(kept)
            segments.append(ends)
        return Live(
            revive(plan, header, held, waiting),
            header["lineage"],
            header["history"],
            segments,
            header["numbers"],
            header["frontiers"],
            header["loads"],
        )

    def catch_up(self, live: Live, header: dict[str, Any]) -> bool:
        """Bring an operator that this worker left at an earlier commit up to the last one.

        Returns False when some of what it missed has already expired, or tuples were dropped:
        then it must be rebuilt.
        """
        if live.state.shedding is not None:
            return False
        missed, waiting = [], []
        for position, source in enumerate(live.state.inputs):
            pieces = [_none(source.plan.schema)]
            end = source.log.lanes.end
            for number in range(live.numbers[position], header["numbers"][position]):
                rows = self._segment(position, number)
                if rows is None:
                    return False
                end += rows.num_rows
                live.segments[position].append((number, end))
                pieces.append(rows)
            missed.append(pa.concat_batches(pieces))
            held_back = self._segment(position, _WAITING)
            waiting.append(held_back or _none(source.plan.schema))
        catch_up(live.state, header, missed, waiting)
        live.history, live.numbers = header["history"], header["numbers"]
        live.frontiers, live.loads = header["frontiers"], header["loads"]
        return True

    def _segment(self, position: int, number: int) -> pa.RecordBatch | None:
        stored = self._segments.getValue((position, number))
        return None if stored is None else unpack_tight(bytes(stored[0]))

    def _check(self, header: dict[str, Any]) -> None:
        if header["version"] != _VERSION:
            raise SnapshotError(
                f"the checkpoint has state version {header['version']}, this bankfull reads "
                f"{_VERSION}: go on with the version that wrote it, or start a new checkpoint"
            )
        stored, asked = len(header["keys"]), len(self.layout.keys)
        if stored != asked:
            raise SnapshotError(
                f"the checkpoint was made with {stored} buckets and the query now asks for "
                f"{asked}: pass buckets={stored}, or start a new checkpoint"
            )
        if header["keys"] != list(self.layout.keys):
            raise SnapshotError(
                "spark.sql.shuffle.partitions has changed since the checkpoint was made, and with "
                "it the keys of the buckets: set it to its value in the checkpoint's folder "
                "'offsets', or start a new checkpoint"
            )
        for name, columns in self.layout.columns().items():
            if header["columns"].get(name) not in (None, columns):
                raise SnapshotError(
                    f"the columns of stream {name!r} have changed since the checkpoint was made "
                    f"({_columns_changed(header['columns'][name], columns)}): restore them, or "
                    "start a new checkpoint"
                )
        if header["spec"] != to_json(self.layout.query):
            raise SnapshotError(
                "the query has changed since the checkpoint was made ("
                + _difference(header["spec"], to_json(self.layout.query))
                + "): restore the old query, or start a new checkpoint"
            )


def _assemble(
    pieces: dict[int, pa.RecordBatch], end: int, first: int, schema: pa.Schema
) -> tuple[pa.RecordBatch, deque[tuple[int, int]]]:
    """Put segments one behind the other and cut off what has expired."""
    numbers = sorted(pieces)
    sizes = [pieces[number].num_rows for number in numbers]
    behind = np.cumsum([0, *sizes[:0:-1]], dtype=np.int64)[::-1]
    rows = pa.concat_batches([pieces[number] for number in numbers]) if numbers else _none(schema)
    kept = rows.slice(rows.num_rows - (end - first))
    return kept, deque((n, end - int(rest)) for n, rest in zip(numbers, behind, strict=False))


def _none(schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.nulls(0, f.type) for f in schema], schema=schema)


def _columns_changed(old: list[str], new: list[str]) -> str:
    """Say in words how two lists of columns differ."""
    gone = [column for column in old if column not in new]
    added = [column for column in new if column not in old]
    parts = [f"gone: {', '.join(gone[:3])}"] if gone else []
    parts += [f"new: {', '.join(added[:3])}"] if added else []
    return "; ".join(parts) or "they are in another order"


def _difference(old: str, new: str) -> str:
    """Say in words where two queries differ."""

    def leaves(value: Any, path: str = "") -> dict[str, Any]:
        if isinstance(value, dict):
            return {k: v for key in value for k, v in leaves(value[key], f"{path}.{key}").items()}
        if isinstance(value, list):
            return {
                k: v for i, one in enumerate(value) for k, v in leaves(one, f"{path}[{i}]").items()
            }
        return {path.lstrip("."): value}

    before, after = leaves(json.loads(old)), leaves(json.loads(new))
    changed = [
        f"{path}: {before.get(path)!r} became {after.get(path)!r}"
        for path in sorted({*before, *after})
        if before.get(path) != after.get(path)
    ]
    return "; ".join(changed[:3]) or "its meaning is the same but its form is not"
