"""What the observed metrics of a join are called.

Spark wants a name for each in one plan. A join's metrics are called ``bankfull``; those of a join
with a name of its own, ``bankfull:NAME``. Where that name is taken already, a number is added:
``bankfull:2``. It is taken by a join among the inputs, and by another join with columns of the
same types that the program has made since a query was last started, as the two may be united
next. The same program therefore gives the same names whenever it is started.
"""

from __future__ import annotations

import re
import weakref
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any

from bankfull.spec import Query

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: What the names of all our metrics begin with.
PREFIX = "bankfull"
#: The name of a join that was given none.
_UNNAMED = "join"
#: How Spark's text of a plan shows metrics, and what in it differs from one making to the next.
_METRICS = re.compile(rf"CollectMetrics ({PREFIX}(?::[^,\n]*)?), \[")
_PASSING = re.compile(r"#\d+L?|@[0-9a-f]+|\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")


def is_ours(name: str) -> bool:
    """Tell whether metrics of this name are those of a join.

    >>> is_ours("bankfull"), is_ours("bankfull:paid"), is_ours("bankfully")
    (True, True, False)
    """
    return name.partition(":")[0] == PREFIX


@dataclass(frozen=True)
class Chosen:
    """A name, what the join reads, what columns it gives, and which queries ran at the time."""

    name: str
    source: str
    columns: str
    running: frozenset[str]


class Names:
    """The names of joins that were made and may still become part of a larger plan."""

    def __init__(self) -> None:
        self._made: list[tuple[weakref.ref[Any], Chosen]] = []

    def choose(self, query: Query, frames: Mapping[str, DataFrame], columns: str) -> Chosen:
        """Return a name for a join's metrics."""
        texts = [_plan_text(frame) for frame in frames.values()]
        taken = {name for text in texts for name in _METRICS.findall(text)}
        source = "\n".join([repr(query), *(_PASSING.sub("", text) for text in texts)])
        running = _running(next(iter(frames.values())).sparkSession)
        # A query that has started since has taken the earlier joins with it.
        self._made = [
            (made, one) for made, one in self._made if made() is not None and running <= one.running
        ]
        taken |= {
            one.name for _, one in self._made if one.columns == columns and one.source != source
        }
        named = query.joins[0].name if len(query.joins) == 1 else _UNNAMED
        base = PREFIX if named == _UNNAMED else f"{PREFIX}:{_plain(named)}"
        return Chosen(_free(base, taken), source, columns, running)

    def remember(self, result: DataFrame, chosen: Chosen) -> None:
        """Keep a name for as long as the DataFrame it belongs to is there."""
        self._made.append((weakref.ref(result), chosen))


names = Names()


def _free(base: str, taken: Iterable[str]) -> str:
    """Return a name that is not taken.

    >>> _free("bankfull", {"bankfull"}), _free("bankfull:a", {"bankfull"})
    ('bankfull:2', 'bankfull:a')
    """
    taken = set(taken)
    if base not in taken:
        return base
    return next(name for name in (f"{base}:{n}" for n in count(2)) if name not in taken)


def _plain(name: str) -> str:
    """Leave out what would end a name in Spark's text of a plan."""
    return re.sub(r"[,\n]", "_", name)


def _plan_text(frame: Any) -> str:
    return str(frame._jdf.queryExecution().analyzed().treeString())


def _running(spark: SparkSession) -> frozenset[str]:
    return frozenset(str(query.runId) for query in spark.streams.active)
