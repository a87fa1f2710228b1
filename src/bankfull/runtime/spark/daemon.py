"""Spark's worker daemon with the library already loaded.

Spark forks its Python workers from a daemon. Loading the engine and its kernels once, before the
first fork, saves every worker seconds and shares that memory between them. ``bf.session()`` names
this module as the daemon; everything else is Spark's own.
"""

from __future__ import annotations

import contextlib
import gc

import pyarrow as pa
from pyspark.daemon import manager

from bankfull.assemble import assemble
from bankfull.core import Batch, start, step
from bankfull.core.codes.keys import spread
from bankfull.core.intake.content import row_codes
from bankfull.runtime.spark import decode, encode, operate, processor
from bankfull.spec import Equal, Join, Query, Stream, Ticks

#: What workers will call, imported here for their sake.
LOADED = (decode, encode, operate, processor)


def warm_up() -> None:
    """Load the kernels of an equality join by running a very small one."""
    schema = pa.schema([("t", pa.int64()), ("k", pa.int64()), ("s", pa.string())])
    join = Join("j", ("a", "b"), Equal((("k",),)), (Ticks(1),))
    plan = assemble(
        Query((Stream("a", "t"), Stream("b", "t")), (join,)), dict.fromkeys("ab", schema)
    )
    rows = pa.RecordBatch.from_pydict({"t": [1], "k": [1], "s": ["x"]}, schema=schema)
    state = start(plan)
    step(state, Batch({"a": rows, "b": rows}))
    row_codes(rows)
    spread([rows.column(1)], (pa.int64(),), 2)


if __name__ == "__main__":
    with contextlib.suppress(Exception):  # a cold worker still works
        warm_up()
    # Workers collect garbage after every task, and would look at all that was loaded here.
    gc.freeze()
    manager()
