"""Spark for one command: found or explained, started quietly, its failures told in words.

The Java process inherits where this process writes. While it starts, that is a log file, so that
neither Spark nor its Python workers ever write to the terminal or into the one object of
``--json``. The log is kept only when something failed.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bankfull import errors
from bankfull.errors import BankfullError, PlanError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

JAVA_MIN = 17
_NEEDED = ("pyspark", "pandas", "grpc", "google.protobuf")
_EMBEDDED = "or do it without Spark: --engine embedded"
_OURS = re.compile(r"bankfull\.errors\.(\w+): (.+)")


class SparkError(BankfullError):
    """Spark failed for a reason of its own."""


def require() -> None:
    """Say exactly what to do where Spark or its Java is missing."""
    missing = missing_packages()
    if missing:
        raise PlanError(
            f"Spark needs Python packages that are not installed ({', '.join(missing)}): "
            f"run `pip install 'bankfull[demo,spark]'`, {_EMBEDDED}"
        )
    _, version = find_java()
    if version >= JAVA_MIN:
        return
    home = os.environ.get("JAVA_HOME")
    where = f"JAVA_HOME={home}" if home else "the PATH"
    found = f"Java {version}" if version else "none"
    raise PlanError(
        f"Spark needs Java {JAVA_MIN} or newer and {where} has {found}: on Debian or Ubuntu run "
        f"`sudo apt-get update && sudo apt-get install -y openjdk-{JAVA_MIN}-jre-headless`, "
        f"elsewhere install any Java {JAVA_MIN} and set JAVA_HOME to its folder; {_EMBEDDED}"
    )


def missing_packages() -> list[str]:
    """Return which of the packages that Spark needs are not there."""
    return [name for name in _NEEDED if not _has(name)]


def find_java() -> tuple[str | None, int]:
    """Return the Java that Spark would start and its major version, 0 if there is none."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which(str(Path(home, "bin", "java")) if home else "java")
    return java, _version(java) if java else 0


def _has(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:  # its parent is missing
        return False


def _version(java: str) -> int:
    """Return the major version of a Java, or 0 if it does not tell."""
    try:
        told = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)
    except OSError:
        return 0
    found = re.search(r'version "(\d+)', told.stderr + told.stdout)
    return int(found.group(1)) if found else 0


@contextlib.contextmanager
def quiet_session(name: str, scratch: Path) -> Iterator[SparkSession]:
    """Give a session on this machine's cores that keeps its files under ``scratch``.

    It is stopped afterwards, unless it was there before.
    """
    require()
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    there = SparkSession.getActiveSession() is not None
    log = _new_log()
    try:
        spark = _start(name, scratch, log)
        try:
            yield spark
        finally:
            if not there:
                with contextlib.suppress(Exception):
                    spark.stop()
    except (PySparkException, Py4JError) as error:
        raise _told(error, log) from error
    except BaseException:
        log.unlink(missing_ok=True)
        raise
    log.unlink(missing_ok=True)


def _new_log() -> Path:
    descriptor, path = tempfile.mkstemp(prefix="bankfull-spark-", suffix=".log")
    os.close(descriptor)
    return Path(path)


def _start(name: str, scratch: Path, log: Path) -> SparkSession:
    import bankfull as bf
    from bankfull.runtime.spark import java_classes

    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")  # nobody else is to connect
    (scratch / "java").mkdir()
    java = f'-Djava.io.tmpdir="{scratch}/java" {java_classes.options()}'
    settings: dict[str, Any] = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.extraJavaOptions": java,
        "spark.local.dir": scratch / "spark",
        "spark.sql.warehouse.dir": scratch / "warehouse",
        "spark.sql.caseSensitive": "true",  # as everywhere else in the library
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
        "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",  # years before 1900 are exact
        "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    }
    with _written_to(log):
        spark: SparkSession = bf.session(name, **settings)
    return spark


@contextlib.contextmanager
def _written_to(log: Path) -> Iterator[None]:
    """Let processes started in this block inherit a file as standard output and error."""
    sys.stdout.flush()
    sys.stderr.flush()
    kept = [os.dup(stream) for stream in (1, 2)]
    file = os.open(log, os.O_WRONLY | os.O_APPEND)
    try:
        for stream in (1, 2):
            os.dup2(file, stream)
        yield
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        for stream, before in zip((1, 2), kept, strict=True):
            os.dup2(before, stream)
            os.close(before)
        os.close(file)


def _told(error: Exception, log: Path) -> BankfullError:
    """Find what the library said in a worker; else say where Spark's own words are."""
    from bankfull.runtime.spark.session import worker_failure

    text = str(error)
    ours = _OURS.findall(text)
    if ours:
        kind, message = ours[-1]
        log.unlink(missing_ok=True)
        made: type[BankfullError] = getattr(errors, kind, BankfullError)
        return made(message.strip())
    why = worker_failure(text)
    if why is not None:
        python = os.environ.get("PYSPARK_PYTHON", sys.executable)
        return SparkError(
            f"Spark's Python workers ({python}) cannot start: {why}: unset PYSPARK_PYTHON or set "
            f"it to {sys.executable}; Spark's log is {log}"
        )
    first = next((line.strip() for line in text.splitlines() if line.strip()), repr(error))
    return SparkError(f"Spark failed: {first.rstrip('.:')}: its log is {log}")
