"""A spec is the whole meaning of a query: frozen, validated, comparable, serialisable.

Specs hold no logic and no data. Every front end (Python, SQL, ``join.toml``) produces them, and
equal meaning gives equal specs. To add a predicate: a dataclass in ``predicates.py``, a brute
force reading of it in ``bankfull.oracle``, its encoding and search in ``bankfull.core``.
"""

from bankfull.spec.comparing import Compare, Comparisons
from bankfull.spec.overload import Bytes, Keep, Shed, Tuples
from bankfull.spec.predicates import (
    Equal,
    Overlap,
    Predicate,
    Similar,
    Subset,
    Superset,
    as_predicate,
)
from bankfull.spec.query import SEARCHES, Join, Query, Stream, Utility
from bankfull.spec.serial import digest, from_json, to_json
from bankfull.spec.spans import Duration, Rows, Ticks, Window, span, window, windows

__all__ = [
    "SEARCHES",
    "Bytes",
    "Compare",
    "Comparisons",
    "Duration",
    "Equal",
    "Join",
    "Keep",
    "Overlap",
    "Predicate",
    "Query",
    "Rows",
    "Shed",
    "Similar",
    "Stream",
    "Subset",
    "Superset",
    "Ticks",
    "Tuples",
    "Utility",
    "Window",
    "as_predicate",
    "digest",
    "from_json",
    "span",
    "to_json",
    "window",
    "windows",
]
