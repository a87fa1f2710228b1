"""What the observed metrics of a join are called.

Spark wants a name for each in one plan, and it must be given before anybody knows which joins will
be in that plan. So the name in the plan is one of its own among all joins that may come into one
plan: ``bankfull``, for a join with a name ``bankfull:NAME``, and with a number behind it where
that is taken (``bankfull#2``): by a join among the inputs, and by another join with columns of the
same types that the program has made since a query was last started, as the two may be united.

People are told another name, which follows from the query alone (:func:`told_names`): the numbers
of its joins begin at one. So it does not matter what else a program has made.
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
_METRICS = re.compile(rf"CollectMetrics ({PREFIX}(?:[:#][^,\n]*)?), \[")
_PASSING = re.compile(r"#\d+L?|@[0-9a-f]+|\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")


def told_names(metrics: Iterable[str]) -> dict[str, str]:
    """Return what to call the metrics of a query's joins, by the names that they have in its plan.

    Joins whose names would be equal are numbered in the order in which they were made. Metrics
    that are not ours are left out.

    >>> told_names(["bankfull#12", "bankfull#3", "bankfull:paid#2", "bankfully"])
    {'bankfull#3': 'bankfull', 'bankfull#12': 'bankfull:2', 'bankfull:paid#2': 'bankfull:paid'}
    """
    told: dict[str, str] = {}
    ours = (name for name in metrics if re.split("[:#]", name)[0] == PREFIX)
    for name in sorted(ours, key=_numbered):
        told[name] = _free(_numbered(name)[0], told.values())
    return told


def _numbered(name: str) -> tuple[str, int]:
    """Return a name in a plan as what it is without its number, and the number.

    >>> _numbered("bankfull:paid#2"), _numbered("bankfull")
    (('bankfull:paid', 2), ('bankfull', 1))
    """
    base, _, number = name.partition("#")
    return base, int(number or 1)


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
        again = [one.name for _, one in self._made if one.source == source]
        named = query.joins[0].name if len(query.joins) == 1 else _UNNAMED
        base = PREFIX if named == _UNNAMED else f"{PREFIX}:{_plain(named)}"
        numbers = [number for other, number in map(_numbered, taken) if other == base]
        next_one = f"{base}#{max(numbers) + 1}" if numbers else base
        name = next((name for name in again if name not in taken), next_one)
        return Chosen(name, source, columns, running)

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
    """Leave out what would end a name in Spark's text of a plan, or begin a number."""
    return re.sub(r"[,\n#]", "_", name)


def _plan_text(frame: Any) -> str:
    return str(frame._jdf.queryExecution().analyzed().treeString())


def _running(spark: SparkSession) -> frozenset[str]:
    return frozenset(str(query.runId) for query in spark.streams.active)
