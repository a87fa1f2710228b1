"""A Spark session in which the join runs, and a check of sessions made elsewhere."""

from __future__ import annotations

import atexit
import os
import re
import shutil
import sys
import tempfile
from functools import cache
from typing import TYPE_CHECKING, Any

from bankfull.errors import PlanError
from bankfull.runtime.spark import java_classes

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
_PROVIDER = "spark.sql.streaming.stateStore.providerClass"
_CHANGELOG = "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled"
_FILE_MANAGER = "spark.sql.streaming.checkpointFileManagerClass"
_RENAMING = (
    "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
)
_SOCKETS = "spark.python.unix.domain.socket"
#: A socket's path may have about a hundred bytes, of which its name takes fewer than fifty.
_MOST_FOLDER_BYTES = 50


def session(name: str = "bankfull", master: str | None = None, **config: object) -> SparkSession:
    """Return a Spark session set up for the join.

    Without ``master`` it runs in this process on all cores. Further settings are given with
    underscores or as a dictionary: ``session(**{"spark.driver.memory": "4g"})``.
    """
    require_spark()
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    cores = os.cpu_count() or 1
    settings: dict[str, object] = {
        "spark.master": master or f"local[{cores}]",
        "spark.app.name": name,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": cores,
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.execution.arrow.maxRecordsPerBatch": 1 << 17,
        "spark.sql.adaptive.enabled": "false",
        # The standard type instead of a deprecated one that takes twice as long to write.
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
        "spark.python.daemon.module": "bankfull.runtime.spark.daemon",
        _PROVIDER: _ROCKSDB,
        _CHANGELOG: "true",
        **(_local_settings() if (master or "local").startswith("local") else {}),
        **config,
    }
    if java_options := java_classes.options():
        settings.setdefault("spark.driver.extraJavaOptions", java_options)
    builder: Any = SparkSession.builder
    for key, value in settings.items():
        builder = builder.config(key, str(value))
    spark: SparkSession = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def _local_settings() -> dict[str, str]:
    """Return settings with which a micro-batch on one machine waits less (docs/decisions/0029).

    Java and Python talk through sockets in a folder: through the network's, each task of a Python
    stage waits some 40 ms for an acknowledgement that the receiver holds back. And Spark renames
    the files of a checkpoint itself: its own choice, which is right for a distributed file system,
    runs programs for each of them on a local disk (readlink, chmod), some thirty a micro-batch.
    """
    settings = {_FILE_MANAGER: _RENAMING}
    folder = _socket_folder()
    if folder is not None:
        settings |= {f"{_SOCKETS}.enabled": "true", f"{_SOCKETS}.dir": folder}
    return settings


@cache
def _socket_folder() -> str | None:
    """Return a folder for this process's sockets that only this user can enter, or None."""
    if os.name != "posix" or len(os.fsencode(tempfile.gettempdir())) > _MOST_FOLDER_BYTES:
        return None
    folder = tempfile.mkdtemp(prefix="bankfull-")
    atexit.register(_remove_folder, folder, os.getpid())
    return folder


def _remove_folder(folder: str, owner: int) -> None:
    if os.getpid() == owner:  # not a process that was forked from it
        shutil.rmtree(folder, ignore_errors=True)


def require_spark() -> None:
    """Say how to get Spark where it is missing."""
    try:
        import pyspark
    except ImportError as error:
        raise PlanError("Spark is not installed: pip install 'bankfull[spark]'") from error
    version = tuple(int(part) for part in pyspark.__version__.split(".")[:2])
    if version < (4, 3):
        raise PlanError(f"PySpark {pyspark.__version__} is too old: install pyspark >= 4.3")


def check_session(frame: DataFrame) -> SparkSession:
    """Return the session of a DataFrame, or say precisely what it lacks for the join."""
    require_spark()
    if type(frame).__module__.startswith("pyspark.sql.connect"):
        raise PlanError(
            "this DataFrame belongs to a Spark Connect session, where the join is not tested: "
            "use a classic session, e.g. bf.session()"
        )
    spark = frame.sparkSession
    if frame.isStreaming and spark.conf.get(_PROVIDER, "") != _ROCKSDB:
        raise PlanError(
            f"the session keeps streaming state elsewhere than in RocksDB: set {_PROVIDER} to "
            f"{_ROCKSDB} before the query starts, or make the session with bf.session()"
        )
    if not str(spark.sparkContext.master).startswith("local"):
        _check_executors(spark)
    return spark


def worker_failure(text: str) -> str | None:
    r"""Return why a Python worker did not start, as an error of Spark's tells it; or None.

    >>> worker_failure("Error from python worker:\n  Traceback\n  No module\nPYTHONPATH was:\n  /a")
    'No module'
    """
    told = re.search(
        r"(Cannot run program .*)|Error from python worker:\n([^\0]*?)\nPYTHONPATH", text
    )
    return None if told is None else (told[1] or told[2].splitlines()[-1]).strip()


def _check_executors(spark: SparkSession) -> None:
    """Ask the executors whether they have the library; a nested function travels by value."""

    def probe(_: int) -> str:
        import importlib
        import sys

        try:
            return str(importlib.import_module("bankfull").__version__)
        except ImportError as error:
            return f"{sys.executable}: {error}"

    here = probe(0)
    cores = spark.sparkContext.defaultParallelism
    try:
        answers = set(spark.sparkContext.parallelize(range(cores), cores).map(probe).collect())
    except Exception as error:  # no worker could be asked, as our daemon needs the library too
        told = worker_failure(str(error))
        if told is None:
            raise
        answers = {told}
    for answer in sorted(answers - {here}):
        raise PlanError(
            f"an executor cannot run the join ({answer}; the driver has {here}): install "
            "the same bankfull[spark] in the interpreter that PYSPARK_PYTHON names there"
        )
