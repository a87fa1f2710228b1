"""The Spark runtime: the same join on Structured Streaming, one operator a bucket.

Rows travel as Arrow record batches packed in binary cells, so that the shuffle moves a few large
values instead of many rows, and no value passes through pandas. A micro-batch runs through three
stages: *encode* (rows to buckets), *operate* (the core's step, with its state in Spark's state
store), *decode* (results to columns). No join logic lives here.
"""

from typing import Any

from bankfull.runtime.spark.frames import join_frames
from bankfull.runtime.spark.session import check_session, session

__all__ = ["check_session", "join_frames", "listen", "session"]


def __getattr__(name: str) -> Any:
    if name == "listen":  # loads Spark
        from bankfull.runtime.spark.listener import listen

        return listen
    raise AttributeError(f"module 'bankfull.runtime.spark' has no attribute {name!r}")
