"""Spark's worker daemon with the library already loaded.

Spark forks its Python workers from a daemon. Loading the engine and its kernels once, before the
first fork, saves every worker seconds and shares that memory between them. ``bf.session()`` names
this module as the daemon; everything else is Spark's own.

Workers live for as long as a query, and what a micro-batch needs for a moment is many times what
is stored: so memory that is freed goes back to the system at once (:func:`give_memory_back`).
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os

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


#: Arrays of at least so many bytes have pages of their own, which leave the process with them.
_LARGE_BYTES = 1 << 20
#: What ``mallopt`` calls the limits for such arrays, and for free memory at the end of the heap.
_MMAP_THRESHOLD, _TRIM_THRESHOLD = -3, -1


def give_memory_back() -> None:
    """Let the memory of large arrays leave the process when they are freed.

    Arrow's own allocator and the C library keep it for later arrays instead, each for its own:
    40 MB of a worker whose operators took 24. Who sets Arrow's or the C library's variables for
    this in the workers' environment has their way; where there is no ``mallopt`` nothing happens.
    """
    if "ARROW_DEFAULT_MEMORY_POOL" not in os.environ:
        pa.set_memory_pool(pa.system_memory_pool())
    if "MALLOC_MMAP_THRESHOLD_" not in os.environ:
        with contextlib.suppress(OSError, AttributeError):
            library = ctypes.CDLL(None)
            library.mallopt(_MMAP_THRESHOLD, _LARGE_BYTES)
            library.mallopt(_TRIM_THRESHOLD, _LARGE_BYTES)


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
    give_memory_back()
    with contextlib.suppress(Exception):  # a cold worker still works
        warm_up()
    # Workers collect garbage after every task, and would look at all that was loaded here.
    gc.freeze()
    manager()
