"""What Spark is told when a query is stopped while its ``foreachBatch`` function waits for Java.

Stopping interrupts the thread in which the function runs. The call it waits for ends with an error,
and that error goes back to Java as text: Python's traceback with Java's trace in it, some 10,000
characters. To see that this was no failure, Spark 4.3 (``StreamExecution.PROXY_ERROR``) searches
the text for::

    py4j.protocol.Py4JJavaError: An error occurred while calling((.|\\r\\n|\\r|\\n)*)(...)

with the names of errors at its end. Java's regular expressions call themselves for each repetition
of a group with alternatives, so for each character behind the first words; with 10,000 of them a
stack of 4 MB is not enough, and Java's own has one. The thread then ends with a StackOverflowError.
Nothing is lost by that, but it looks like a failure, and the query never says that it has stopped.
So the words that Spark looks for come last here, with next to nothing between them.
"""

from __future__ import annotations

import functools
import re
import traceback
from collections.abc import Callable
from typing import Any

#: What Spark's search begins with, and the words for the same that it does not find.
_FOUND, _PASSED_OVER = "py4j.protocol.Py4JJavaError: An", "py4j Py4JJavaError: An"
#: How Java's text says that a call was interrupted, or that its job was cancelled before that.
_STOPPED = re.compile(
    r"java\.lang\.InterruptedException|java\.io\.InterruptedIOException"
    r"|java\.nio\.channels\.ClosedByInterruptException|\[SPARK_JOB_CANCELLED\]"
)


def told_briefly(function: Callable[[Any, int], None]) -> Callable[[Any, int], None]:
    """Return a function for ``foreachBatch`` whose interruption Spark recognises as such."""

    @functools.wraps(function)
    def called(frame: Any, number: int) -> None:
        try:
            function(frame, number)
        except Exception:
            said = traceback.format_exc()
            if _FOUND not in said or not _STOPPED.search(said):
                raise
            raise InterruptedError(interruption(said)) from None

    return called


def interruption(said: str) -> str:
    """Return a text of the same content in which Spark finds what it looks for at the end.

    >>> print(interruption("py4j.protocol.Py4JJavaError: An error: java.io.InterruptedIOException"))
    py4j Py4JJavaError: An error: java.io.InterruptedIOException
    py4j.protocol.Py4JJavaError: An error occurred while calling: java.lang.InterruptedException
    """
    found = f"{_FOUND} error occurred while calling: java.lang.InterruptedException"
    return f"{said.replace(_FOUND, _PASSED_OVER)}\n{found}"
