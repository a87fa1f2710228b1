"""Threads that help with one step; what they do is divided so that they share no decision.

How many there are is a matter of the runtime, never of the query: state, results (as a multiset)
and ledger do not depend on it. Kernels and most of Arrow and NumPy run without the interpreter
lock. One pool serves the whole process; its threads are started when they are first needed, and an
idle one does not keep a process from ending.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, TypeVar

Given = TypeVar("Given")
Made = TypeVar("Made")

#: More threads than this are of no use to one step.
MOST = 64


class Workers:
    """So many threads, the calling one among them.

    >>> Workers(2).run(len, ["a", "bb", "ccc"])
    [1, 2, 3]
    """

    #: Fewer rows are done with sooner than another thread has begun.
    least_rows = 1 << 12

    def __init__(self, threads: int = 1) -> None:
        self.threads = min(threads, MOST)

    def share(self, rows: int) -> int:
        """Return over how many threads so many rows are divided."""
        return 1 if rows < self.least_rows else self.threads

    def each(self, function: Callable[[Given], Any], given: Sequence[Given], rows: int) -> None:
        """Call a function for each of some things; if they have many rows, on all threads."""
        groups = min(self.share(rows), len(given))
        if groups < 2:
            for one in given:
                function(one)
            return

        def call(group: int) -> None:
            for one in given[group::groups]:
                function(one)

        self.run(call, range(groups))

    def run(self, function: Callable[[Given], Made], given: Sequence[Given]) -> list[Made]:
        """Call a function for each of some things at the same time, the first in this thread.

        All calls have ended when this returns, and when it raises what one of them raised.
        """
        if self.threads == 1 or len(given) < 2:
            return [function(one) for one in given]
        futures: list[Future[Made]] = []
        try:
            futures += [_pool().submit(function, one) for one in given[1:]]
            first = function(given[0])
        finally:
            wait(futures)
        return [first, *(future.result() for future in futures)]


_POOLS: list[ThreadPoolExecutor] = []


def _pool() -> ThreadPoolExecutor:
    """Return the threads of this process."""
    if not _POOLS:
        _POOLS.append(ThreadPoolExecutor(MOST - 1, thread_name_prefix="bankfull"))
    return _POOLS[0]


#: A forked process has none of its parent's threads.
os.register_at_fork(after_in_child=_POOLS.clear)
