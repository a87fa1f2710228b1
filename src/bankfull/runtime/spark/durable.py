"""An operator's state in Spark's state store: what its stages keep, stored as what has changed.

Rows that are new in a list become segments of it; segments without live rows are dropped, from the
front; a list whose segments are mostly dead rows is written anew. Of arrays the changed blocks are
written (``changes.py``), and all of them when the changes have grown to their size. A header says
where everything stands. Nothing here knows what the lists and arrays mean (``core/kept.py``).

The header carries a version, the query it belongs to and the keys of the buckets; what does not
match is refused in words, before anything is written.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from bankfull.core import Plan
from bankfull.core.kept import Arrays, Kept, Loaded, Numbered, RowList
from bankfull.errors import SnapshotError
from bankfull.kernels import hashing
from bankfull.runtime.spark.changes import applied, changes, known
from bankfull.runtime.spark.layout import Layout
from bankfull.runtime.spark.live import Live
from bankfull.runtime.spark.packets import (
    conform,
    cut_by_bytes,
    pack_tight,
    unpack_tight,
)
from bankfull.spec import to_json

_VERSION = 17
#: Where the header is kept: no list of rows has this place.
_HEADER = (-1, 0)
#: The place of the arrays. A change has the number of its commit, and of its piece.
_ARRAYS, _PIECES = -2, 1 << 16
#: About the bytes of a value (twice as many at most). Spark's state server holds several copies of
#: what it is sent, and one message must fit into its memory beside everything else.
_VALUE_BYTES = 8 << 20
#: Before the first row of any list.
_START = -(2**62)
#: Dead rows that a list may have beside as many as are alive.
_DEAD_ROWS = 1024
#: The column with the numbers of rows, where they do not follow each other.
_NUMBER = "__number"


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

    # -------------------------------------------------------------------------------- writing

    def commit(self, live: Live) -> None:
        """Store what has changed since the last commit."""
        kept = live.state.keep()
        live.renew()
        for place, (name, rows) in enumerate(kept.rows.items()):
            self._store_rows(live, place, name, rows)
        if kept.arrays:
            self._store_arrays(live, kept.arrays)
        header = {
            **identity(self.layout),
            "lineage": live.lineage,
            "history": live.history,
            "commits": live.commits,
            "frontiers": live.frontiers,
            "about": kept.about,
            "lists": {name: [live.first(name), live.numbers[name]] for name in kept.rows},
            "changes": live.changes,
        }
        body = json.dumps(header).encode()
        data = zlib.crc32(body).to_bytes(4, "little") + body
        self._segments.updateValue(_HEADER, (data,))

    def _store_rows(self, live: Live, place: int, name: str, rows: RowList) -> None:
        """Drop segments without live rows, and append the rows that are new."""
        segments = live.segments[name]
        while segments and not rows.alive(segments[0].first, segments[0].end):
            self._segments.removeKey((place, segments.popleft().number))
        if rows.scattered and segments:
            alive = rows.alive(segments[0].first, segments[-1].end)
            if sum(segment.rows for segment in segments) > 2 * alive + _DEAD_ROWS:
                live.ends[name] = _START
                while segments:
                    self._segments.removeKey((place, segments.popleft().number))
        for batch, numbers in rows.since(live.ends[name]):
            if rows.scattered:
                batch = batch.append_column(_NUMBER, pa.array(numbers))
            begin = 0
            for piece in cut_by_bytes(batch, _VALUE_BYTES):
                own = numbers[begin : begin + piece.num_rows]
                begin += piece.num_rows
                data = int(own[0]).to_bytes(8, "little", signed=True) + pack_tight(piece)
                self._segments.updateValue((place, live.append(name, own)), (data,))
        live.ends[name] = rows.end

    def _store_arrays(self, live: Live, arrays: Arrays) -> None:
        """Store what has changed, or everything once changes have become as large as that."""
        whole = not live.changes
        if len(live.changes) > 1:
            whole = sum(size for *_, size in live.changes[1:]) > live.changes[0][2]
        before, live.known = {} if whole else live.known, known(arrays)
        if whole:
            for commit, pieces, _ in live.changes:
                for number in range(pieces):
                    self._segments.removeKey((_ARRAYS, commit * _PIECES + number))
            live.changes = []
        change = [live.commits, 0, 0]
        for piece in changes(arrays, before, live.known):
            self._segments.updateValue((_ARRAYS, live.commits * _PIECES + change[1]), (piece,))
            change[1], change[2] = change[1] + 1, change[2] + len(piece)
        assert change[1] < _PIECES, "a commit has fewer pieces than numbers"
        live.changes.append(change)

    # -------------------------------------------------------------------------------- reading

    def rebuild(self, plan: Plan, header: dict[str, Any]) -> Live:
        """Build the operator anew from what is stored."""
        live = Live.fresh(plan)
        live.lineage = header["lineage"]
        self._load(live, header, live.state.keep())
        return live

    def catch_up(self, live: Live, header: dict[str, Any]) -> None:
        """Bring an operator that this worker left at an earlier commit up to the last one."""
        self._load(live, header, live.state.keep())

    def _load(self, live: Live, header: dict[str, Any], kept: Kept) -> None:
        """Bring an operator from where it stands, ``kept``, to where the header says."""
        lists = {
            name: self._missed(live, place, name, rows, header["lists"][name])
            for place, (name, rows) in enumerate(kept.rows.items())
        }
        arrays = self._arrays(live, header, kept.arrays) if kept.arrays else {}
        live.state.load(Loaded(header["about"], arrays, dict(lists)))
        live.known = known(arrays)
        live.history, live.commits = header["history"], header["commits"]
        live.frontiers, live.changes = dict(header["frontiers"]), list(header["changes"])
        for name, rows in live.state.keep().rows.items():
            live.ends[name] = rows.end

    def _arrays(self, live: Live, header: dict[str, Any], arrays: Arrays) -> Arrays:
        """Return the arrays as they were stored: those here, changed.

        They are changed in place, so that there are no two copies of them; an operator that fails
        on the way is thrown away. Those of an unknown commit are written all over.
        """
        begun = live.commits > 0 and live.commits >= header["changes"][0][0]
        found = arrays
        for commit, pieces, _ in header["changes"]:
            if commit > live.commits or not begun:
                for number in range(commit * _PIECES, commit * _PIECES + pieces):
                    found = applied(found, self._value(_ARRAYS, number) or b"")
        return found

    def _missed(
        self, live: Live, place: int, name: str, rows: RowList, span: list[int]
    ) -> Iterator[Numbered]:
        """Yield the segments of a list that an operator does not have.

        Segments are read one by one: an iterator of Spark's would put all of them into one message.
        """
        first, end = span
        segments = live.segments[name]
        while segments and segments[0].number < first:
            segments.popleft()
        begin = max(first, live.numbers[name])
        live.numbers[name] = begin
        schema = rows.schema
        if rows.scattered:
            schema = schema.append(pa.field(_NUMBER, pa.int64()))
        for number in range(begin, end):
            data = self._value(place, number)
            if data is None:
                raise SnapshotError(
                    f"the checkpoint is damaged (segment {number} of {name} is missing): restart "
                    "from a copy of it, or with a new checkpoint location"
                )
            start = int.from_bytes(data[:8], "little", signed=True)
            batch = conform(unpack_tight(data[8:]), schema)
            numbers = np.arange(start, start + batch.num_rows, dtype=np.int64)
            if rows.scattered:
                numbers = batch.column(_NUMBER).to_numpy()
                batch = batch.drop_columns([_NUMBER])
            live.append(name, numbers)
            yield batch, numbers

    def _value(self, place: int, number: int) -> bytes | None:
        stored = self._segments.getValue((place, number))
        return None if stored is None else bytes(stored[0])


def identity(layout: Layout) -> dict[str, Any]:
    """Return what must not change between two runs on one checkpoint."""
    return {
        "version": _VERSION,
        "codes": hashing.CODES,
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
    if header["codes"] != hashing.CODES:
        raise SnapshotError(
            f"the checkpoint has key codes of version {header['codes']}, this bankfull has "
            f"{hashing.CODES}: go on with the version that wrote it, or start a new checkpoint"
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
