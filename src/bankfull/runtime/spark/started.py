"""A streaming join as a DataFrame that looks at its checkpoint before it starts.

The workers refuse a checkpoint of another query, but only when they run: long after ``start()``,
and inside an error of Spark's. So the first start leaves a file in the checkpoint's folder that
says what the query is, and a later start compares. A DataFrame that was made from the join
(``select``, ``where``) looks too. What comes out of a group or of the right side of a union is
Spark's own and starts without this look; the workers' refusal remains.
"""

from __future__ import annotations

import contextlib
import functools
import json
import logging
import sys
from typing import Any

from pyspark.sql import DataFrame as AnyFrame
from pyspark.sql import SparkSession
from pyspark.sql.classic.dataframe import DataFrame
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from bankfull.runtime.spark.durable import check_header, identity
from bankfull.runtime.spark.layout import Layout
from bankfull.runtime.spark.stopping import told_briefly

_FILE = "bankfull.json"
_LOCATION = "checkpointLocation"
_LOG = logging.getLogger("bankfull")
_STARTING = (
    "the first micro-batch loads Spark's classes and the kernels, starts Python workers and opens "
    "the state; it takes several seconds, the following ones do not"
)
#: What this process has written to the terminal: once is enough.
_TOLD: list[str] = []


class JoinedFrame(DataFrame):
    """The result of a streaming join. ``name`` is what its metrics are called.

    The attributes of a DataFrame are its columns, among which ``name`` is a common one: what is
    ours begins with an underline.
    """

    def __init__(self, made: Any, layout: Layout, frames: dict[str, Any], name: str) -> None:
        super().__init__(made._jdf, made.sparkSession)
        self._layout, self._frames, self._metrics = layout, frames, name

    @property
    def writeStream(self) -> DataStreamWriter:  # noqa: N802 - Spark's name
        """Return a writer that looks at the checkpoint first."""
        return Writer(self, self)


class MadeFrame(DataFrame):
    """What was made from a streaming join, and the join."""

    def __init__(self, made: DataFrame, joined: JoinedFrame) -> None:
        super().__init__(made._jdf, made.sparkSession)
        self._joined = joined

    @property
    def writeStream(self) -> DataStreamWriter:  # noqa: N802 - Spark's name
        """Return a writer that looks at the join's checkpoint first."""
        return Writer(self, self._joined)


def _kept(plain: Any) -> Any:
    """Return a method of Spark's whose DataFrame still knows the join it was made from."""

    @functools.wraps(plain)
    def method(self: JoinedFrame | MadeFrame, *given: Any, **named: Any) -> Any:
        made = plain(self, *given, **named)
        joined = self._joined if isinstance(self, MadeFrame) else self
        return MadeFrame(made, joined) if type(made) is DataFrame else made

    return method


for _name, _method in vars(DataFrame).items():
    if getattr(_method, "__annotations__", {}).get("return") is AnyFrame:
        setattr(JoinedFrame, _name, _kept(_method))
        setattr(MadeFrame, _name, _kept(_method))


class Writer(DataStreamWriter):
    """Spark's writer; it remembers where the checkpoint will be."""

    def __init__(self, written: DataFrame, joined: JoinedFrame) -> None:
        super().__init__(written)
        self._joined = joined
        self._checkpoint: str | None = None

    def option(self, key: str, value: Any) -> DataStreamWriter:
        """Add an option."""
        self._note({key: value})
        return super().option(key, value)

    def options(self, **options: Any) -> DataStreamWriter:
        """Add options."""
        self._note(options)
        return super().options(**options)

    def foreachBatch(self, func: Any) -> DataStreamWriter:  # noqa: N802 - Spark's name
        """Have a function called for every micro-batch; it may be interrupted."""
        return super().foreachBatch(told_briefly(func))

    def start(self, *given: Any, **options: Any) -> StreamingQuery:
        """Start the query, unless its checkpoint belongs to another one."""
        self._look(options)
        return super().start(*given, **options)

    def toTable(self, *given: Any, **options: Any) -> StreamingQuery:  # noqa: N802 - Spark's name
        """Start the query into a table, unless its checkpoint belongs to another one."""
        self._look(options)
        return super().toTable(*given, **options)

    def _note(self, options: dict[str, Any]) -> None:
        for key, value in options.items():
            if key.lower() == _LOCATION.lower():
                self._checkpoint = str(value)

    def _look(self, options: dict[str, Any]) -> None:
        self._note(options)
        if self._checkpoint is not None:
            joined = self._joined
            compare(joined.sparkSession, self._checkpoint, joined._metrics, joined._layout)
        _tell_of_the_start()


def _tell_of_the_start() -> None:
    """Say why nothing comes for some seconds, on a terminal too where nobody set up logging."""
    _LOG.info("%s", _STARTING)
    if not _TOLD and sys.stderr.isatty() and not _LOG.hasHandlers():
        _TOLD.append(_STARTING)
        sys.stderr.write(f"bankfull: {_STARTING}\n")


def compare(spark: SparkSession, checkpoint: str, name: str, layout: Layout) -> None:
    """Refuse a checkpoint that another query made; write down what made a new one.

    ``name`` tells joins of one query apart. What cannot be read or written is left to the workers.
    """
    now = identity(layout)
    before: Any = None
    with contextlib.suppress(Exception):  # whatever file systems raise
        folder = _Folder(spark, checkpoint)
        known = json.loads(folder.read(_FILE) or "{}")
        if folder.has_files("commits"):
            before = known.get(name)
        else:
            folder.write(_FILE, json.dumps({**known, name: now}))
    if isinstance(before, dict) and before.keys() >= now.keys():
        check_header(layout, before)


class _Folder:
    """A folder on any file system that Spark can use, through Hadoop's interface in Java."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        java: Any = spark._jvm
        self._java = java
        self._path = path
        where = java.org.apache.hadoop.fs.Path(path)
        context: Any = spark.sparkContext
        self._system = where.getFileSystem(context._jsc.hadoopConfiguration())

    def _at(self, name: str) -> Any:
        return self._java.org.apache.hadoop.fs.Path(self._path, name)

    def read(self, name: str) -> str | None:
        """Return the text of a file, or None where it is not there."""
        if not self._system.exists(self._at(name)):
            return None
        stream = self._system.open(self._at(name))
        try:
            return str(self._java.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
        finally:
            stream.close()

    def write(self, name: str, text: str) -> None:
        """Write a file; it appears when it is complete."""
        self._system.mkdirs(self._java.org.apache.hadoop.fs.Path(self._path))
        hidden = self._at(f".{name}.new")
        stream = self._system.create(hidden, True)
        try:
            stream.write(bytearray(text.encode()))
        finally:
            stream.close()
        self._system.delete(self._at(name), False)
        self._system.rename(hidden, self._at(name))

    def has_files(self, name: str) -> bool:
        """Tell whether there is a file in a folder below this one."""
        there = bool(self._system.exists(self._at(name)))
        return there and len(self._system.listStatus(self._at(name))) > 0
