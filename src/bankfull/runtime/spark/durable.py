"""An operator's state in Spark's state store: segments of rows and a header.

The header carries a version, the query it belongs to and the keys of the buckets; what does not
match is refused in words, before anything is written.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from bankfull.core import Plan, catch_up, describe, restore, revive, snapshot
from bankfull.errors import SnapshotError
from bankfull.runtime.spark.layout import Layout
from bankfull.runtime.spark.live import Live
from bankfull.runtime.spark.packets import (
    conform,
    cut_by_bytes,
    cut_bytes,
    pack_tight,
    unpack_tight,
)
from bankfull.spec import to_json

_VERSION = 8
#: Where the header is kept: no stream has this position.
_HEADER = (-1, 0)
#: The position under which a state under a memory budget is kept, in pieces.
_WHOLE = -2
#: About the bytes of a value (twice as many at most). Spark's state server holds several copies of
#: what it is sent, and one message must fit into its memory beside everything else.
_VALUE_BYTES = 8 << 20


class Durable:
    """The state variable of one operator; ``segments`` is Spark's map from keys to values."""

    def __init__(self, segments: Any, layout: Layout) -> None:
        self.layout = layout
        self._segments = segments

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
        check_header(self.layout, header)
        return header

    def append(self, live: Live, name: str, rows: pa.RecordBatch) -> None:
        """Keep rows that just entered the log of a stream."""
        position = [stream.name for stream in live.state.plan.streams].index(name)
        end = live.state.inputs[position].log.lanes.end - rows.num_rows
        for piece in cut_by_bytes(rows, _VALUE_BYTES):
            number = live.numbers[position]
            end += piece.num_rows
            live.numbers[position] += 1
            live.segments[position].append((number, end))
            self._segments.updateValue((position, number), (pack_tight(piece),))

    def commit(self, live: Live) -> None:
        """Forget segments without live rows and write the header."""
        first = []
        for position, source in enumerate(live.state.inputs):
            segments, start = live.segments[position], live.starts[position]
            while segments and segments[0][1] <= source.log.lanes.start:
                number, start = segments.popleft()
                self._segments.removeKey((position, number))
            live.starts[position] = start
            first.append(segments[0][0] if segments else live.numbers[position])
            if source.reorder is not None and live.state.shedding is None:
                waiting = cut_by_bytes(source.reorder.rows, _VALUE_BYTES)
                self._write(live, position, [pack_tight(piece) for piece in waiting])
        if live.state.shedding is not None:
            # Bounded by the budget, and changed all over: written whole.
            self._write(live, _WHOLE, cut_bytes(snapshot(live.state), _VALUE_BYTES))
        live.renew()
        header = {
            **describe(live.state),
            **identity(self.layout),
            "lineage": live.lineage,
            "history": live.history,
            "frontiers": live.frontiers,
            "numbers": live.numbers,
            "first_segments": first,
            "starts": live.starts,
            "pieces": live.pieces,
        }
        body = json.dumps(header).encode()
        data = zlib.crc32(body).to_bytes(4, "little") + body
        self._segments.updateValue(_HEADER, (data,))

    def _write(self, live: Live, position: int, pieces: list[bytes]) -> None:
        """Replace what is kept in pieces; their numbers are negative, unlike those of segments."""
        for number, piece in enumerate(pieces):
            self._segments.updateValue((position, -1 - number), (piece,))
        for number in range(len(pieces), live.pieces.get(str(position), 0)):
            self._segments.removeKey((position, -1 - number))
        live.pieces[str(position)] = len(pieces)

    def rebuild(self, plan: Plan, header: dict[str, Any]) -> Live:
        """Build the operator anew from what is stored."""
        live = Live.fresh(plan)
        _stand(live, header)
        live.lineage = header["lineage"]
        if plan.shed is not None:
            pieces = range(header["pieces"].get(str(_WHOLE), 0))
            written = b"".join(self._value(_WHOLE, -1 - number) or b"" for number in pieces)
            live.state = restore(plan, written)
            return live
        streams = range(len(plan.streams))
        alive = [stream["first"] for stream in header["streams"]]
        firsts = header["first_segments"]
        held = [self._since(live, k, header, firsts[k], alive[k]) for k in streams]
        live.state = revive(plan, header, held, [self._waiting(plan, k, header) for k in streams])
        return live

    def catch_up(self, live: Live, header: dict[str, Any]) -> bool:
        """Bring an operator that this worker left at an earlier commit up to the last one.

        Returns False when some of what it missed has already expired, or tuples were dropped:
        then it must be rebuilt.
        """
        streams = range(len(live.numbers))
        behind = [live.numbers[k] >= header["first_segments"][k] for k in streams]
        if live.state.shedding is not None or not all(behind):
            return False
        plan = live.state.plan
        missed = [self._since(live, k, header, live.numbers[k]) for k in streams]
        waiting = [self._waiting(plan, k, header) for k in streams]
        catch_up(live.state, header, missed, waiting)
        _stand(live, header)
        return True

    def _since(
        self, live: Live, position: int, header: dict[str, Any], first: int, alive: int = 0
    ) -> Iterator[pa.RecordBatch]:
        """Yield the segments of a stream from number ``first`` on, without tuples before ``alive``.

        Segments are read one by one: an iterator of Spark's would put all of them into one message.
        """
        segments = live.segments[position]
        schema = live.state.plan.streams[position].schema
        end = segments[-1][1] if segments else header["starts"][position]
        for number in range(first, header["numbers"][position]):
            data = self._value(position, number)
            if data is None:
                raise SnapshotError(
                    f"the checkpoint is damaged (segment {number} of stream {position} is "
                    "missing): restart from a copy of it, or with a new checkpoint location"
                )
            rows = conform(unpack_tight(data), schema)
            end += rows.num_rows
            segments.append((number, end))
            yield rows.slice(max(0, alive - (end - rows.num_rows)))

    def _waiting(self, plan: Plan, position: int, header: dict[str, Any]) -> pa.RecordBatch:
        """Return the rows of a stream that wait for their turn."""
        schema = plan.streams[position].schema
        pieces = [_none(schema)]
        for number in range(header["pieces"].get(str(position), 0)):
            pieces.append(conform(unpack_tight(self._value(position, -1 - number) or b""), schema))
        return pa.concat_batches(pieces)

    def _value(self, position: int, number: int) -> bytes | None:
        stored = self._segments.getValue((position, number))
        return None if stored is None else bytes(stored[0])


def identity(layout: Layout) -> dict[str, Any]:
    """Return what must not change between two runs on one checkpoint."""
    return {
        "version": _VERSION,
        "spec": to_json(layout.query),
        "keys": list(layout.keys),
        "columns": layout.columns(),
    }


def check_header(layout: Layout, header: dict[str, Any]) -> None:
    """Refuse state that another version, another query or other buckets have written."""
    if header["version"] != _VERSION:
        raise SnapshotError(
            f"the checkpoint has state version {header['version']}, this bankfull reads "
            f"{_VERSION}: go on with the version that wrote it, or start a new checkpoint"
        )
    stored, asked = len(header["keys"]), len(layout.keys)
    if stored != asked:
        raise SnapshotError(
            f"the checkpoint was made with {stored} buckets and the query now asks for "
            f"{asked}: pass buckets={stored}, or start a new checkpoint"
        )
    if header["keys"] != list(layout.keys):
        raise SnapshotError(
            "spark.sql.shuffle.partitions has changed since the checkpoint was made, and with "
            "it the keys of the buckets: set it to its value in the checkpoint's folder "
            "'offsets', or start a new checkpoint"
        )
    for name, columns in layout.columns().items():
        if header["columns"].get(name) not in (None, columns):
            raise SnapshotError(
                f"the columns of stream {name!r} have changed since the checkpoint was made "
                f"({_columns_changed(header['columns'][name], columns)}): restore them, or "
                "start a new checkpoint"
            )
    if header["spec"] != to_json(layout.query):
        raise SnapshotError(
            "the query has changed since the checkpoint was made ("
            + _difference(header["spec"], to_json(layout.query))
            + "): restore the old query, or start a new checkpoint"
        )


def _stand(live: Live, header: dict[str, Any]) -> None:
    """Let an operator stand where a header says; its rows are brought there separately."""
    live.history, live.numbers = header["history"], header["numbers"]
    live.frontiers, live.starts = header["frontiers"], header["starts"]
    live.pieces = header["pieces"]


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
