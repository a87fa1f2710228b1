"""A driver to be killed: runs one prepared query until its input ends, then exits with 0.

``python driver.py FOLDER`` reads ``FOLDER/job.json``: which case, how many buckets, where Spark
is. Input, checkpoint and sink are in the folder. A line in ``FOLDER/started`` says that the query
runs; every start adds one.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from spark_cases import RECOVERY
from spark_hour import HOURS
from spark_large import LARGE
from spark_overload import OVERLOADS
from spark_runs import joined, read_stream, start

import bankfull as bf


def main(folder: Path) -> None:
    """Run the job of a folder."""
    job = json.loads((folder / "job.json").read_text())
    overloads = {title: one.case() for title, one in OVERLOADS.items()}
    case = {**RECOVERY, **HOURS, **LARGE, **overloads}[job["case"]]
    spark = bf.session(
        "driver",
        job["master"],
        **{
            "spark.driver.memory": "1g",
            "spark.driver.host": "127.0.0.1",
            "spark.local.dir": folder / "scratch",
            "spark.sql.warehouse.dir": folder / "warehouse",
            "spark.sql.shuffle.partitions": 2,
            **job["settings"],
        },
    )
    frames = {
        name: read_stream(spark, folder / "input" / name, table)
        for name, table in case.tables.items()
    }
    frame = joined(case.query, frames, job["buckets"])
    query = start(frame, folder / "sink", folder / "checkpoint")
    with (folder / "started").open("a") as log:
        log.write("started\n")
    query.awaitTermination()
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
