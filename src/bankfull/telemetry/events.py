"""Events and the bounded file they are written to."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

#: The file is turned over when it has grown to this; one older file stays.
BYTES_MAX = 16 << 20


@dataclass(frozen=True)
class Event:
    """One micro-batch of one query.

    ``counts`` holds what the micro-batch added to every count of the ledger, by stream and by
    join; ``stored``, ``waiting`` and ``copies`` are levels, not additions. ``recall`` is
    the estimate so far with its interval, by count and by importance, of a query that sheds.
    ``metrics`` names the join where a query has several; ``late`` is how many rows of each stream
    came too late, of the streams that had any, and ``lateness`` how late they were, with the
    ``late=`` that would have kept them (``Lateness.as_dict``).
    """

    query: str
    batch: int
    at: str
    seconds: float
    counts: dict[str, dict[str, int]] = field(default_factory=dict)
    recall: dict[str, float] | None = None
    metrics: str = "bankfull"
    late: dict[str, int] = field(default_factory=dict)
    lateness: dict[str, dict[str, Any]] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        query: str,
        batch: int,
        at: str,
        seconds: float,
        flat: dict[str, int],
        recall: dict[str, float] | None = None,
        metrics: str = "bankfull",
        lateness: dict[str, dict[str, Any]] | None = None,
    ) -> Event:
        """Make an event from counts named ``stream.count``.

        >>> event = Event.of("q", 3, "2024-01-01", 0.5, {"a.late": 2, "a.arrived": 9})
        >>> event.counts, event.late
        ({'a': {'late': 2, 'arrived': 9}}, {'a': 2})
        """
        counts: dict[str, dict[str, int]] = {}
        for name, value in flat.items():
            owner, _, count = name.rpartition(".")
            counts.setdefault(owner, {})[count] = value
        late = {owner: held["late"] for owner, held in counts.items() if held.get("late")}
        return cls(query, batch, at, seconds, counts, recall, metrics, late, lateness or {})


class EventLog:
    """A file of events that never grows beyond a bound."""

    def __init__(self, path: str | os.PathLike[str], bytes_max: int = BYTES_MAX) -> None:
        self.path = Path(path)
        self.bytes_max = bytes_max
        self.path.parent.mkdir(parents=True, exist_ok=True)

    def write(self, event: Event) -> None:
        """Append an event as one line."""
        if self.path.exists() and self.path.stat().st_size > self.bytes_max:
            self.path.replace(self.path.with_suffix(self.path.suffix + ".old"))
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(event), separators=(",", ":")) + "\n")


def read_events(path: str | os.PathLike[str]) -> Iterator[Event]:
    """Read events back; a line that was cut off by a crash is passed over."""
    with Path(path).open(encoding="utf-8") as file:
        for line in file:
            try:
                fields: dict[str, Any] = json.loads(line)
                known = {
                    name: fields[name] for name in Event.__dataclass_fields__ if name in fields
                }
                event = Event(**known)
            except (ValueError, TypeError):
                continue
            yield event
