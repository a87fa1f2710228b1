"""The public face: streams in, one call, record batches or a DataFrame out.

Every function here only reads what a person wrote and hands a spec to the layers below. To add a
word, read it into a spec in ``words.py``; what starts a query is in ``joining.py``.
"""

from bankfull.api.joining import BoundStream, join, joins, run, stream
from bankfull.api.on_spark import finish, listen, metrics, recall, session
from bankfull.api.words import (
    compare,
    comparisons,
    equal,
    overlap,
    rows,
    shed,
    similar,
    subset,
    superset,
    tuples,
    utility,
)
from bankfull.runtime.embedded import Joined

__all__ = [
    "BoundStream",
    "Joined",
    "compare",
    "comparisons",
    "equal",
    "finish",
    "join",
    "joins",
    "listen",
    "metrics",
    "overlap",
    "recall",
    "rows",
    "run",
    "session",
    "shed",
    "similar",
    "stream",
    "subset",
    "superset",
    "tuples",
    "utility",
]
