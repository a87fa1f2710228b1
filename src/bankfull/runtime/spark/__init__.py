"""The Spark runtime: the same join on Structured Streaming, one operator a bucket.

Rows travel as Arrow record batches packed in binary cells, so that the shuffle moves a few large
values instead of many rows, and no value passes through pandas. A micro-batch runs through three
stages: *encode* (rows to buckets), *operate* (the core's step, with its state in Spark's state
store), *decode* (results to columns). No join logic lives here.
"""

from importlib import import_module
from typing import Any

#: Where each name is defined; it is loaded when it is asked for (``processor.py`` says why).
_HOME = {
    "check_session": "session",
    "finish_frames": "frames",
    "join_frames": "frames",
    "listen": "listener",
}

__all__ = list(_HOME)


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    raise AttributeError(f"module 'bankfull.runtime.spark' has no attribute {name!r}")
