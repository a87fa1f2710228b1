"""What the doctor looks at of Spark: its Java, its session, and the Python workers it starts."""

from __future__ import annotations

import os
import platform
import sys
import tempfile
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bankfull.cli.doctor_checks import Finding

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: What a worker must be able to import, and must have in the driver's version.
_IMPORTED = ("bankfull", "numpy", "numba", "pyarrow", "pandas", "grpc", "google.protobuf")


def check_java() -> Iterator[Finding]:
    """Spark's packages and a Java that is new enough."""
    from bankfull.cli.spark_session import JAVA_MIN, find_java, missing_packages

    missing = missing_packages()
    if missing:
        yield Finding(
            "java",
            "note",
            f"not looked for: Spark is not installed ({', '.join(missing)} missing)",
            "for joins on Spark run: pip install 'bankfull[spark]'",
        )
        return
    path, version = find_java()
    if version >= JAVA_MIN:
        yield Finding("java", "ok", f"{version} ({path})")
        return
    where = f"JAVA_HOME={os.environ['JAVA_HOME']}" if os.environ.get("JAVA_HOME") else "the PATH"
    yield Finding(
        "java",
        "broken",
        f"{where} has {f'Java {version} ({path})' if version else 'none'}; Spark needs "
        f"{JAVA_MIN} or newer",
        f"on Debian or Ubuntu: sudo apt-get install -y openjdk-{JAVA_MIN}-jre-headless; "
        f"elsewhere install any Java {JAVA_MIN} and set JAVA_HOME to its folder",
    )


def check_spark() -> Iterator[Finding]:
    """Start a session on this machine and ask its workers what they have."""
    from bankfull.cli.spark_session import quiet_session

    with tempfile.TemporaryDirectory(prefix="bankfull-", ignore_cleanup_errors=True) as scratch:
        try:
            with quiet_session("bankfull doctor", Path(scratch)) as spark:
                yield Finding("spark", "ok", f"{spark.version}, started on {_master(spark)}")
                yield from _workers(spark)
                yield from _zone(spark)
        except Exception as error:
            first = next(iter(str(error).splitlines()), repr(error))
            yield Finding(
                "spark",
                "broken",
                first,
                "look at the log that it names; check SPARK_HOME, PYSPARK_PYTHON, JAVA_HOME and "
                "that this machine may listen on 127.0.0.1",
            )


def _master(spark: SparkSession) -> str:
    return str(spark.sparkContext.master)


def _workers(spark: SparkSession) -> Iterator[Finding]:
    """Ask one worker for its interpreter and packages; a nested function travels by value."""
    wanted = _IMPORTED

    def probe(_: int) -> dict[str, str]:
        import importlib
        import platform
        import sys

        told = {"python": platform.python_version(), "executable": sys.executable}
        for name in wanted:
            try:
                told[name] = str(getattr(importlib.import_module(name), "__version__", "there"))
            except Exception as error:
                told[name] = f"cannot be imported: {error}"
        return told

    here = probe(0)
    there: dict[str, Any] = spark.sparkContext.parallelize([0], 1).map(probe).first()
    yield compare_worker(here, there)


def compare_worker(here: dict[str, str], there: dict[str, str]) -> Finding:
    """Judge what a worker has by what the driver has."""
    told = f"Python {there['python']} ({there['executable']})"
    differing = [
        f"{name}: {there[name]} (here {here[name]})"
        for name in here
        if name != "executable" and here[name] != there[name]
    ]
    if not differing:
        return Finding("workers", "ok", f"{told}, with the packages of this process")
    mend = (
        f"unset PYSPARK_PYTHON or set it to {sys.executable}"
        if os.environ.get("PYSPARK_PYTHON", sys.executable) != sys.executable
        else "install the same packages in that interpreter: pip install 'bankfull[spark]'"
    )
    return Finding("workers", "broken", f"{told} differs: {'; '.join(differing)}", mend)


def _zone(spark: SparkSession) -> Iterator[Finding]:
    """Compare the clocks of Java and Python: times without a zone mean the same only if they do."""
    gateway: Any = spark.sparkContext
    java = gateway._jvm.java.util.TimeZone.getDefault()
    offset_ms = java.getOffset(int(datetime.now().timestamp() * 1000))
    mine = datetime.now().astimezone().utcoffset()
    mine_ms = 0 if mine is None else int(mine.total_seconds() * 1000)
    told = f"Java's is {java.getID()}, sessions of bf.session() use UTC"
    if offset_ms == mine_ms:
        yield Finding("clock", "ok", told)
    else:
        yield Finding(
            "clock",
            "note",
            f"{told}, {platform.node()} has UTC{datetime.now().astimezone():%z}",
            "set TZ for both, or give times a zone",
        )
