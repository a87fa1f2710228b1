"""Random streams over a few joins and a budget, run by the engine and by the naive twins alike.

Windows are of time, of rows, or of both kinds; budgets are in tuples or in bytes.
"""

from __future__ import annotations

import itertools
import math
import random
from typing import Any

import pyarrow as pa

from bankfull.assemble import assemble
from bankfull.core import Batch, Budget, State, restore, snapshot, start, step
from bankfull.core.bounded.join import BoundedJoin
from bankfull.core.recall.sample import room
from bankfull.oracle.shedding import Arrival, JoinSpec, Trace, simulate
from bankfull.oracle.shedding.sizes import tuple_bytes
from bankfull.policies import Policy
from bankfull.spec import Bytes, Equal, Join, Query, Rows, Shed, Stream, Ticks, Tuples

SPAN = 40
SEED = 3
#: Bytes that the engine takes for the least that a tuple needs, where it asks how many fit.
PLACE_BYTES = 512
#: Keys of all joins together, under a budget in bytes: so few that none is ever forgotten.
KEYS_KEPT = 8


class World:
    """Random tuples, joins and a budget.

    ``windows``: "time" is the same span for all, "spans" one for each stream of each join, "rows"
    likewise in rows; "mixed" has streams of either kind. ``unit`` is that of the budget.
    """

    def __init__(self, seed: int, windows: str = "time", unit: str = "tuples") -> None:
        dice = self.dice = random.Random(seed)
        self.seed, self.unit = seed, unit
        kind = dice.choice(["pair", "pair", "three", "two joins"])
        self.streams = 2 if kind == "pair" else 3
        self.names = "abc"[: self.streams]
        members = {"pair": [(0, 1)], "three": [(0, 1, 2)], "two joins": [(0, 1), (1, 2)]}[kind]
        self.unified = dice.random() < 0.5
        #: Streams declared unique in the first key.
        self.unique: frozenset[int] = frozenset()
        self.weighed = random.Random(seed).choices([True, False], [3, 1], k=3)
        self.total = dice.choice([1, 3, 6, 12, 500])
        count, keys = dice.choice([60, 150]), dice.choice([2, 5, 15])
        if unit == "bytes":
            self.total = dice.choice([3, 5, 9, 15, 500]) << 10
            keys = min(keys, KEYS_KEPT // len(members))
        self.joins = [self._windows(who, windows) for who in members]
        self._arrive(count, keys)

    def _windows(self, members: tuple[int, ...], windows: str) -> JoinSpec:
        """Draw the windows of a join; which streams count rows is the same in all of them."""
        size = len(members)
        if windows == "time":
            return JoinSpec(members, (SPAN,) * size)
        counted = {"spans": (), "rows": range(3), "mixed": (1,)}[windows]
        dice = self.dice
        lengths: list[float] = [
            dice.choice([1, 2, 5, 20] if who in counted else [0, 5, SPAN // 2, SPAN])
            for who in members
        ]
        if 0 in members and 0 not in counted:
            lengths[members.index(0)] = SPAN  # the longest that there is
        rows = [who in counted for who in members]
        return JoinSpec(
            members,
            tuple(math.inf if r else n for r, n in zip(rows, lengths, strict=True)),
            rows=tuple(n if r else math.inf for r, n in zip(rows, lengths, strict=True)),
        )

    def _arrive(self, count: int, keys: int) -> None:
        dice, time, drawn = self.dice, 0, []
        for _ in range(count):
            time += dice.choice([0, 0, 1, 1, 2, 9])
            drawn.append((time, dice.randrange(self.streams)))
        self.arrivals: list[Arrival] = []
        #: Tuples without any key, by the one before which they come: no join can use them, but a
        #: window of rows counts them.
        self.useless: list[Arrival] = []
        self.notes: dict[int, str] = {}
        for at, stream in sorted(drawn):
            seq = len(self.arrivals)
            values = tuple(
                (None if dice.random() < 0.05 else int(keys * dice.random() ** 2))
                if stream in join.streams
                else None
                for join in self.joins
            )
            worth = float(dice.choice([1, 1, 2, 5, 100]))
            mine = [join for join in self.joins if stream in join.streams]
            counts = any(math.isfinite(most) for join in mine for most in join.rows)
            useful = counts or any(value is not None for value in values)
            weighed = self.weighed[stream]
            (self.arrivals if useful else self.useless).append(
                Arrival(stream, at, values, worth if weighed else 1.0, seq, weighed)
            )
            if self.unit == "bytes":
                self.notes[seq] = "é" * dice.choice([0, 0, 10, 100, 300])

    # ------------------------------------------------------------------------------ the engine

    def state(self, policy: Policy) -> State:
        """Return the operator before the first tuple."""
        each = 1024 if self.unit == "bytes" else 1
        least = max(each, self.total // self.streams)
        total = least * self.streams
        split = tuple((name, 1 / self.streams) for name in self.names)
        memory = Bytes(total) if self.unit == "bytes" else Tuples(total)
        shed = Shed(memory, policy.keep(), "unified" if self.unified else split, seed=SEED)
        query = Query(
            tuple(
                Stream(
                    name,
                    "t",
                    importance="v" if weighed else None,
                    unique=("k0",) if position in self.unique else (),
                )
                for position, (name, weighed) in enumerate(
                    zip(self.names, self.weighed, strict=False)
                )
            ),
            tuple(
                Join(
                    f"j{number}",
                    tuple(self.names[k] for k in join.streams),
                    Equal(((f"k{number}",),)),
                    tuple(
                        Rows(int(join.most(k))) if math.isinf(join.span(k)) else Ticks(join.span(k))
                        for k in join.streams
                    ),
                )
                for number, join in enumerate(self.joins)
            ),
            shed=shed,
        )
        return start(assemble(query, dict.fromkeys(self.names, self.schema)))

    @property
    def schema(self) -> pa.Schema:
        """The columns of every stream."""
        keys = [(f"k{number}", pa.int64()) for number in range(len(self.joins))]
        plain = [("t", pa.int64()), ("v", pa.float64()), ("seq", pa.int64()), *keys]
        return pa.schema([*plain, ("note", pa.string())] if self.unit == "bytes" else plain)

    def row(self, one: Arrival) -> dict[str, Any]:
        """Return an arrival as a row."""
        keys = {f"k{number}": key for number, key in enumerate(one.keys)}
        note = {"note": self.notes[one.seq]} if self.unit == "bytes" else {}
        return {"t": one.time, "v": one.importance, "seq": one.seq, **keys, **note}

    def batch(self, arrivals: list[Arrival], ended: bool) -> Batch:
        """Return arrivals as a batch; all streams are known to have come as far as the last."""
        rows: dict[str, list[dict[str, Any]]] = {name: [] for name in self.names}
        numbers = {one.seq for one in arrivals}
        useless = [one for one in self.useless if one.seq in numbers]
        for one in sorted(arrivals + useless, key=lambda one: (one.time, one.stream)):
            rows[self.names[one.stream]].append(self.row(one))
        made = {
            name: pa.RecordBatch.from_pylist(some, schema=self.schema)
            for name, some in rows.items()
            if some
        }
        return Batch(made, ended=frozenset(self.names if ended else ()))

    def run(
        self, policy: Policy, pieces: int, restored: bool = False
    ) -> tuple[list[tuple[int, tuple[int, ...]]], State]:
        """Run the engine over the tuples in so many batches; returns results and the last state."""
        state, output = self.state(policy), []
        cuts = sorted(self.dice.sample(range(1, len(self.arrivals)), pieces - 1))
        bounds = [0, *cuts, len(self.arrivals)]
        for begin, end in itertools.pairwise(bounds):
            outcome = step(state, self.batch(self.arrivals[begin:end], end == bounds[-1]))
            output += outcome.output
            while outcome.pending:
                outcome = step(outcome.state, Batch(), Budget())
                output += outcome.output
            state = outcome.state
            buffers = state.stage(BoundedJoin).memory.buffers
            assert (buffers.used <= buffers.capacity).all(), buffers
            if restored:
                state = restore(state.plan, snapshot(state))
        return self._results(output), state

    def _results(self, output: list[pa.RecordBatch]) -> list[tuple[int, tuple[int, ...]]]:
        """Read back which tuples a result joins; its importance is the least that any has."""
        found = []
        for batch in output:
            for row in batch.to_pylist():
                number = int(row.get("join", "j0")[1:])
                seqs = tuple(row[f"{self.names[k]}_seq"] for k in self.joins[number].streams)
                found.append((number, seqs))
                worths = [self.arrivals[s].importance for s in seqs if self.arrivals[s].weighed]
                assert row.get("importance", 1.0) == min(worths, default=1.0), row
        return found

    # -------------------------------------------------------------------------------- the twin

    def twin(self, twin: Any, policy: Policy) -> Trace:
        """Run the naive simulation; it is told how large the engine's slots and keys are."""
        stage = self.state(policy).stage(BoundedJoin)
        parts = [int(part) for part in stage.memory.buffers.capacity]
        capacity = parts[0] if self.unified else parts
        if self.unit == "tuples":
            return simulate(self.arrivals, self.joins, capacity, twin, seed=SEED)
        slot, budget = stage.slots.overhead, stage.rules.budget
        assert budget // 4 <= sum(parts) <= budget
        return simulate(
            [
                Arrival(
                    one.stream, one.time, one.keys, one.importance, one.seq, one.weighed,
                    tuple_bytes(self.row(one), self.schema, slot),
                )
                for one in self.arrivals
            ],
            self.joins,
            capacity,
            twin,
            seed=SEED,
            key_sizes=[int(size) for size in stage.memory.joins.key_bytes],
            note_sizes=[int(size) for size in stage.memory.joins.note_bytes],
            places=budget // PLACE_BYTES,
            aside=room(stage.plan, budget),
        )  # fmt: skip

    def is_live(self, u: Arrival, x: Arrival) -> bool:
        """Tell whether a tuple is still in a window of some join at the turn of a later one."""
        between = self.arrivals[u.seq + 1 : x.seq]
        after = sum(one.stream == u.stream for one in between)
        return any(
            x.time - u.time <= join.span(u.stream) and after < join.most(u.stream)
            for join in self.joins
            if u.stream in join.streams
        )


def stored_seqs(state: State) -> list[int]:
    """Return which tuples are stored, by their place in the canonical order."""
    slots = state.stage(BoundedJoin).memory.slots
    return sorted(int(seq) for seq in slots.seq[slots.stream >= 0])
