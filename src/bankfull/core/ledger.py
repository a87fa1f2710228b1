"""The honest account: what happened to every tuple that arrived."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bankfull.core.recall.interval import Recall, Watched

#: Classes of importance in which losses are counted, a power of ten each.
IMPORTANCE = ("below 1", *(f"below 1e{power}" for power in range(1, 9)), "more")


@dataclass(slots=True)
class StreamLedger:
    """Counts of tuples of one stream since the start.

    ``arrived = quarantined + late + shed + waiting + inserted`` and
    ``inserted = stored + evicted + expired + purged + spilled``, after every step.

    Where a runtime brings a row to several operators, one of its copies stands for it in these
    counts; ``copies`` are the others that are stored now, ``copies_lost`` those of them that were
    shed or evicted. A lost copy costs the row its results of some joins, not of all.
    """

    arrived: int = 0
    quarantined: int = 0
    late: int = 0
    shed: int = 0
    waiting: int = 0
    inserted: int = 0
    stored: int = 0
    evicted: int = 0
    expired: int = 0
    purged: int = 0
    spilled: int = 0
    copies: int = 0
    copies_lost: int = 0


@dataclass(slots=True)
class JoinLedger:
    """Counts of one join: results, comparisons made, comparisons skipped to save CPU."""

    emitted: int = 0
    compared: int = 0
    skipped: int = 0


@dataclass(slots=True)
class Ledger:
    """All counts of a query, by stream and by join, and what recall is estimated from.

    ``lost_by_importance`` has no more than the classes in which something was lost.

    >>> ledger = Ledger({"a": StreamLedger(arrived=2, late=1, inserted=1, stored=1)}, {})
    >>> ledger.check()
    >>> ledger.lost
    1
    """

    streams: dict[str, StreamLedger] = field(default_factory=dict)
    joins: dict[str, JoinLedger] = field(default_factory=dict)
    watched: Watched | None = None
    #: Of a query that sheds: stream, "shed" or "evicted", class of importance, tuples.
    lost_by_importance: dict[str, dict[str, dict[str, int]]] = field(default_factory=dict)
    #: Of a query that saves comparisons: by join and stream, how many pairs with stored tuples of
    #: the stream were not looked at.
    skipped_by_stream: dict[str, dict[str, int]] = field(default_factory=dict)

    @property
    def recall(self) -> Recall | None:
        """Emitted ÷ exact so far with its interval; None where it cannot be estimated."""
        if self.watched is None:
            return None
        return self.watched.recall().while_waiting(self.waiting, self.processed)

    @property
    def waiting(self) -> int:
        """Tuples whose turn has not come."""
        return sum(s.waiting for s in self.streams.values())

    @property
    def processed(self) -> int:
        """Tuples whose turn has come, stored or not."""
        return sum(s.shed + s.inserted for s in self.streams.values())

    @property
    def lost(self) -> int:
        """Tuples that never took part or left before their time."""
        return sum(s.quarantined + s.late + s.shed + s.evicted for s in self.streams.values())

    @property
    def emitted(self) -> int:
        """Results of all joins."""
        return sum(join.emitted for join in self.joins.values())

    def check(self) -> None:
        """Assert conservation: nothing appears from nowhere, nothing vanishes unseen."""
        for name, s in self.streams.items():
            accounted = s.quarantined + s.late + s.shed + s.waiting + s.inserted
            assert s.arrived == accounted, f"stream {name}: {s}"
            kept = s.stored + s.evicted + s.expired + s.purged + s.spilled
            assert s.inserted == kept, f"stream {name}: {s}"

    def as_dict(self) -> dict[str, Any]:
        """Return plain dictionaries, for JSON; with the recall, where there is one."""
        counts = asdict(self)
        if self.recall is None:
            del counts["watched"]
        else:
            counts["recall"] = asdict(self.recall)
        if not self.lost_by_importance:
            del counts["lost_by_importance"]
        if not self.skipped_by_stream:
            del counts["skipped_by_stream"]
        return counts

    @classmethod
    def from_dict(cls, counts: dict[str, Any]) -> Ledger:
        """Read what :meth:`as_dict` wrote."""
        return cls(
            {name: StreamLedger(**row) for name, row in counts["streams"].items()},
            {name: JoinLedger(**row) for name, row in counts["joins"].items()},
            Watched(**counts["watched"]) if "watched" in counts else None,
            counts.get("lost_by_importance", {}),
            counts.get("skipped_by_stream", {}),
        )

    def copy(self) -> Ledger:
        """Return an independent copy; every step makes one, so counts are copied directly."""
        return Ledger(
            {name: StreamLedger(*_counts_of_stream(row)) for name, row in self.streams.items()},
            {name: JoinLedger(*_counts_of_join(row)) for name, row in self.joins.items()},
            self.watched,
            {
                stream: {what: dict(counts) for what, counts in both.items()}
                for stream, both in self.lost_by_importance.items()
            },
            {join: dict(counts) for join, counts in self.skipped_by_stream.items()},
        )


_counts_of_stream = attrgetter(*(one.name for one in fields(StreamLedger)))
_counts_of_join = attrgetter(*(one.name for one in fields(JoinLedger)))


def by_importance(
    names: list[str], lost: NDArray[np.int64]
) -> dict[str, dict[str, dict[str, int]]]:
    """Return what was shed and evicted of every stream by class of importance; no zeros."""
    return {
        stream: {
            what: {name: int(n) for name, n in zip(IMPORTANCE, counts, strict=True) if n}
            for what, counts in zip(("shed", "evicted"), both, strict=True)
            if counts.any()
        }
        for stream, both in zip(names, lost, strict=True)
        if both.any()
    }
