"""Live operators kept between micro-batches, found again by the token of their last commit."""

from __future__ import annotations

import uuid
from collections import OrderedDict, deque
from dataclasses import dataclass, field

from bankfull.core import Plan, State, start

#: Operators kept by one worker process; the least recently used go first.
_KEPT = 64


@dataclass
class Live:
    """An operator between two micro-batches.

    ``segments[k]`` are the durable pieces of stream k's log, as (number, one past its last
    tuple); ``frontiers`` is how far each stream has come over all buckets; ``token`` names the
    commit this state belongs to.
    """

    state: State
    token: str
    segments: list[deque[tuple[int, int]]]
    numbers: list[int]
    frontiers: dict[str, int] = field(default_factory=dict)

    @classmethod
    def fresh(cls, plan: Plan) -> Live:
        """Return an operator before its first micro-batch."""
        streams = len(plan.streams)
        return cls(start(plan), "", [deque() for _ in range(streams)], [0] * streams)

    def renew(self) -> None:
        """Begin a new commit."""
        self.token = uuid.uuid4().hex


class LiveStates:
    """The live operators of this worker process."""

    def __init__(self) -> None:
        self._by_token: OrderedDict[str, Live] = OrderedDict()

    def keep(self, live: Live) -> None:
        """Remember an operator under its token."""
        self._by_token[live.token] = live
        while len(self._by_token) > _KEPT:
            self._by_token.popitem(last=False)

    def take(self, token: str) -> Live | None:
        """Return the operator of exactly this commit, if this process has it."""
        return self._by_token.pop(token, None)


live_states = LiveStates()
