"""Java's classes in an archive, which a session finds half loaded.

Most of a Spark query's start is Java reading and checking Spark's classes. From an archive, written
once by a small query, it takes about half as long. The archive lies where compiled kernels lie, in
a folder that nobody else can write to, named by the Java and the Spark it was made with; Java
ignores one that does not fit.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from bankfull.errors import PlanError
from bankfull.kernels.folders import is_safe, roots

#: Java says nothing of an archive that it does not use.
_SILENT = "-Xshare:auto -Xlog:disable -Xlog:all=error:stderr"
#: What is run for its classes: a session, files, and a streaming join with its state.
_SMALL_QUERY = """
import sys, tempfile
import bankfull as bf
spark = bf.session(**{"spark.driver.extraJavaOptions": "-XX:ArchiveClassesAtExit=" + sys.argv[1]})
java = spark.sparkContext._gateway.proc
with tempfile.TemporaryDirectory() as folder:
    streams = []
    for name in "ab":
        spark.range(100).selectExpr("id AS t", "id % 7 AS k").write.parquet(f"{folder}/{name}")
        frame = spark.readStream.schema("t long, k long").parquet(f"{folder}/{name}")
        streams.append(bf.stream(frame, time="t", name=name))
    writer = bf.join(*streams, on="k", within=5).writeStream.trigger(availableNow=True)
    query = writer.option("checkpointLocation", f"{folder}/checkpoint").start(f"{folder}/joined")
    query.awaitTermination()
spark.stop()
java.stdin.close()
sys.exit(java.wait())
"""


def archive() -> Path | None:
    """Return where the archive for this Java and this Spark lies, or None if nowhere is safe."""
    import pyspark

    java = os.path.join(os.environ.get("JAVA_HOME", ""), "bin", "java")
    java = os.path.realpath(java if os.path.exists(java) else shutil.which("java") or "java")
    made = os.stat(java).st_mtime_ns if os.path.exists(java) else 0
    about = f"{java} {made} {pyspark.__version__} {Path(pyspark.__file__).parent}"
    root = _root()
    name = f"java-{hashlib.blake2b(about.encode(), digest_size=8).hexdigest()}.jsa"
    return None if root is None else root / name


def _root() -> Path | None:
    """Return the folder in which compiled kernels lie too."""
    return next((root for root in roots() if root.is_dir() and is_safe(root)), None)


def options() -> str:
    """Return what to tell Java so that it uses the archive, or nothing where there is none."""
    path = archive()
    if path is None or not path.is_file() or " " in str(path):
        return ""
    return f"-XX:SharedArchiveFile={path} {_SILENT}"


def write_archive() -> Path:
    """Run a small query and keep the classes that it loaded."""
    path = archive()
    if path is None:
        raise PlanError(
            "there is no folder for the archive that only you can write to: set BANKFULL_CACHE_DIR"
        )
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        fresh = Path(folder) / "fresh.jsa"
        done = subprocess.run(
            [sys.executable, "-c", _SMALL_QUERY, str(fresh)], capture_output=True, text=True
        )
        if done.returncode or not fresh.is_file():
            said = (done.stderr.strip() or done.stdout.strip() or "nothing").splitlines()[-1]
            raise PlanError(f"Java wrote no archive of its classes; the last it said was: {said}")
        os.replace(fresh, path)
    return path


def remove_archives() -> list[Path]:
    """Remove the archives of all Javas; a process that uses one keeps what it has opened."""
    root = _root()
    removed = [] if root is None else list(root.glob("java-*.jsa"))
    for path in removed:
        path.unlink(missing_ok=True)
    return removed
