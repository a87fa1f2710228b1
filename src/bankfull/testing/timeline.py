"""Streams drawn as text, the way windows are drawn on a whiteboard.

One line a stream, one column a moment, counted from zero; tuples of one moment are joined with
commas. A tuple is a key, then what it needs: ``*20`` its importance, ``@8`` its time where that
is not the moment at which it arrives.

>>> streams = read('''
...     S: . a . b*20
...     T: c . . a,b@1
... ''')
>>> streams["S"].to_pydict()
{'t': [1, 3], 'key': ['a', 'b'], 'importance': [1, 20]}
>>> streams["T"]["t"].to_pylist()
[0, 3, 1]
"""

from __future__ import annotations

import re

import pyarrow as pa

_TUPLE = re.compile(r"(?P<key>\w+?)(?:\*(?P<importance>\d+))?(?:@(?P<time>-?\d+))?")


def read(drawing: str) -> dict[str, pa.Table]:
    """Read a drawing into one table a stream, with columns ``t``, ``key`` and ``importance``."""
    tables = {}
    for line in drawing.strip().splitlines():
        name, _, moments = line.strip().partition(":")
        rows = [
            _row(text, moment)
            for moment, cell in enumerate(moments.split())
            for text in ([] if cell == "." else cell.split(","))
        ]
        times, keys, importances = zip(*rows, strict=True) if rows else ((), (), ())
        tables[name] = pa.table(
            {
                "t": pa.array(times, pa.int64()),
                "key": pa.array(keys, pa.string()),
                "importance": pa.array(importances, pa.int64()),
            }
        )
    return tables


def pairs(table: pa.Table, *streams: str) -> set[tuple[str, ...]]:
    """Read combinations off an output, each tuple written as its key and its time.

    Combinations are a set: a drawing must not hold the same key twice at one time in a stream.
    """
    columns = [
        [f"{key}{time}" for key, time in zip(keys, times, strict=True)]
        for keys, times in (
            (table[f"{name}_key"].to_pylist(), table[f"{name}_t"].to_pylist()) for name in streams
        )
    ]
    rows = list(zip(*columns, strict=True))
    assert len(set(rows)) == len(rows), f"emitted twice: {sorted(rows)}"
    return set(rows)


def _row(text: str, moment: int) -> tuple[int, str, int]:
    drawn = _TUPLE.fullmatch(text)
    if drawn is None:
        raise ValueError(f"{text!r} is not a tuple: draw key, key*importance or key@time")
    time = moment if drawn["time"] is None else int(drawn["time"])
    return time, drawn["key"], int(drawn["importance"] or 1)
