"""Random streams under a budget of comparisons, run in pieces, and the same by brute force."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pyarrow as pa

from bankfull.assemble import assemble
from bankfull.core import Batch, Budget, Ledger, State, restore, snapshot, start, step
from bankfull.core.bounded.join import BoundedJoin
from bankfull.core.comparing.comparing import Comparing
from bankfull.core.exact.join import ExactJoin
from bankfull.spec import (
    Compare,
    Comparisons,
    Equal,
    Join,
    Keep,
    Overlap,
    Predicate,
    Query,
    Rows,
    Shed,
    Similar,
    Stream,
    Subset,
    Ticks,
    Tuples,
    Window,
)

AMPLE = 10.0**9

#: Every kind of join with every search, as the first seeds have them, all others have.
KINDS = (
    ("keys", "hash"),
    ("overlap", "inverted"),
    ("keys", "scan"),
    ("subset", "inverted"),
    ("overlap", "scan"),
    ("keys", "hash"),
    ("similar", "inverted"),
    ("subset", "scan"),
    ("keys", "hash"),
    ("similar", "scan"),
)


class World:
    """Random streams in one or two joins, a budget of comparisons, and an algorithm.

    With a ``policy`` there is a budget of memory too, rows come out of order, but not late, and
    others do not wait for a stream that has fallen silent.
    """

    def __init__(self, seed: int, algorithm: str, policy: str | None = None) -> None:
        dice = self.dice = random.Random(f"{seed} {algorithm}")
        self.names = "ab" if dice.random() < 0.6 else "abc"
        self.weighed = [dice.random() < 0.4 for _ in self.names]
        self.kind = dice.choice(["keys", "keys", "overlap", "overlap", "subset", "similar"])
        searches = ["hash", "scan"] if self.kind == "keys" else ["inverted", "scan"]
        self.search = dice.choice(searches)
        self.span = dice.choice([8, 30, 60])
        self.other_span = dice.choice([self.span, self.span, 12])
        self.basic = dice.choice([2, 3, 7])
        self.period = dice.choice([self.basic, 4 * self.basic])
        self.count = dice.choice([60, 200])
        self.per_unit = dice.choice([0.3, 2.0, 8.0, 40.0])
        self.algorithm, self.seed = algorithm, seed
        self.rows = [self._row() for _ in range(self.count)]
        self.policy = policy
        #: Without it ``gdj`` tunes itself, by rules that have no plain twin on sets.
        self.parameters = (("initial", 0.9),) if policy == "gdj" else ()
        self.sample: float | None = None
        #: What a runtime says after every step of how well the operator kept up.
        self.told: tuple[float, ...] = ()
        more = random.Random(seed)
        self.memory = more.choice([3, 20, 40]) if policy else None
        #: Streams whose windows are so many rows.
        self.counted, self.most = "", 0
        #: Whether all streams are in one join, or each with the next.
        self.at_once = False
        self.late = more.choice([0, 0, 5]) if policy else 0
        self.idle = Ticks(3) if policy else None
        #: How much later than the others of its time a row comes.
        self.delays = [more.randrange(self.late + 1) for _ in self.rows]

    def _row(self) -> tuple[int, int, int, list[int]]:
        dice = self.dice
        items = sorted(
            {min(dice.randrange(9), dice.randrange(9)) for _ in range(dice.randrange(6))}
        )
        return dice.randrange(self.count), dice.randrange(len(self.names)), dice.randrange(5), items

    def predicate(self) -> Predicate:
        return {
            "keys": Equal((("k",),)),
            "overlap": Overlap(("s",), 2),
            "subset": Subset(("s",)),
            "similar": Similar(("w",), 1.5),
        }[self.kind]

    def join_at_once(self, streams: int) -> None:
        """Let so many streams be joined on keys at once."""
        self.names, self.at_once, self.kind = "abcde"[:streams], True, "keys"
        self.search = self.dice.choice(["hash", "scan"])
        self.weighed = [self.dice.random() < 0.4 for _ in self.names]
        self.rows = [self._row() for _ in self.rows]

    def windows(self) -> tuple[Window, ...]:
        """The windows of all streams where they are joined at once."""
        spans = itertools.cycle((self.span, self.other_span))
        return tuple(self.window(name, span) for name, span in zip(self.names, spans, strict=False))

    def window(self, name: str, span: int) -> Window:
        """The window of a stream: so many rows, or a span of time."""
        return Rows(self.most) if name in self.counted else Ticks(span)

    def count_rows(self) -> None:
        """Let some windows be of rows, or all."""
        self.counted = self.dice.choice(["a", "b", self.names, self.names])
        self.most = self.dice.choice([1, 3, 10, 40])

    def query(self, per_unit: float | None) -> Query:
        late = Ticks(self.late)
        streams = tuple(
            Stream(name, "t", late, "worth" if self.weighed[k] else None, idle=self.idle)
            for k, name in enumerate(self.names)
        )
        joins = [
            Join(
                f"j{k}", (a, b), self.predicate(),
                (self.window(a, self.span), self.window(b, other)), self.search,
            )
            for k, ((a, b), other) in enumerate(
                zip(itertools.pairwise(self.names), (self.other_span, self.span), strict=False)
            )
        ]  # fmt: skip
        if self.at_once:
            joins = [Join("j0", tuple(self.names), self.predicate(), self.windows(), self.search)]
        shed = None
        if per_unit is not None:
            compare = Compare(self.algorithm, self.sample, period=Ticks(self.period))
            cpu = Comparisons(per_unit) if not self.told else 0.8
            memory = None if self.memory is None else Tuples(self.memory)
            if memory is not None and per_unit == AMPLE:
                memory = Tuples(10 * self.count)
            shed = Shed(
                memory, Keep(self.policy or "gain", self.parameters), importance="max",
                seed=self.seed, cpu=cpu, compare=compare,
            )  # fmt: skip
        return Query(streams, tuple(joins), Ticks(self.basic), shed=shed)

    def tables(self) -> dict[str, pa.Table]:
        """The rows of every stream as they come; those of one time in the order drawn."""
        tables = {}
        delayed = sorted(zip(self.rows, self.delays, strict=False), key=lambda r: r[0][0] + r[1])
        for k, name in enumerate(self.names):
            own = [row for row, _ in delayed if row[1] == k]
            tables[name] = pa.table(
                {
                    "t": pa.array([row[0] for row in own], pa.int64()),
                    "id": pa.array(range(len(own)), pa.int64()),
                    "k": pa.array([row[2] for row in own], pa.int64()),
                    "s": pa.array([row[3] for row in own], pa.list_(pa.int64())),
                    "w": pa.array(
                        [[(item, 1.0 + item / 8) for item in row[3]] for row in own],
                        pa.map_(pa.int64(), pa.float64()),
                    ),
                    "worth": pa.array([float(1 + row[2] % 3) for row in own], pa.float64()),
                }
            )
        return tables


def results(batches: list[pa.RecordBatch], world: World) -> list[tuple[Any, ...]]:
    """Who met whom, in which join, and what it is worth."""
    found = []
    for row in itertools.chain.from_iterable(batch.to_pylist() for batch in batches):
        ids = tuple(row.get(f"{name}_id") for name in world.names)
        found.append((row.get("join", "j0"), *ids, row["joined_at"], row.get("importance")))
    return sorted(found, key=repr)


def run(
    world: World, per_unit: float | None, cuts: random.Random | None, restarts: bool = False
) -> tuple[list[tuple[Any, ...]], Ledger, State]:
    """Join the world in random pieces, or in one."""
    tables = world.tables()
    plan = assemble(world.query(per_unit), {name: t.schema for name, t in tables.items()})
    state, output = start(plan), []
    sent = dict.fromkeys(world.names, 0)
    budget = Budget(5) if cuts is not None and cuts.random() < 0.5 else Budget()
    while any(sent[name] < tables[name].num_rows for name in world.names):
        batch = {}
        for name in world.names:
            more = tables[name].num_rows if cuts is None else cuts.randrange(12)
            rows = tables[name].slice(sent[name], more).combine_chunks()
            sent[name] += rows.num_rows
            batch[name] = rows.to_batches()[0] if rows.num_rows else empty(rows.schema)
        silent = [name for name in world.names if sent[name] == tables[name].num_rows]
        outcome = step(state, Batch(batch, quiet=frozenset(silent)), budget)
        output += outcome.output
        while outcome.pending:
            outcome = step(outcome.state, Batch(), budget)
            output += outcome.output
        state = outcome.state
        check_memory(world, per_unit, outcome.ledger)
        check_leaps(state)
        if world.told and cuts is not None:
            state.hear(cuts.choice(world.told))
        restarted = cuts is not None and cuts.random() < 0.4
        if restarts and restarted:
            state = restore(plan, snapshot(state))
    outcome = step(state, Batch(ended=frozenset(world.names)))
    output += outcome.output
    while outcome.pending:
        outcome = step(outcome.state, Batch())
        output += outcome.output
    return results(output, world), outcome.ledger, outcome.state


def check_memory(world: World, per_unit: float | None, ledger: Ledger) -> None:
    """No more is stored than the budget allows, after every step."""
    if world.memory is not None and per_unit not in (None, AMPLE):
        assert sum(stream.stored for stream in ledger.streams.values()) <= world.memory


def check_leaps(state: State) -> None:
    """From every entry of a list a leap leads to the next older basic window that the list has."""
    join = state.stages[1]
    if not isinstance(join, BoundedJoin) or join.memory.sets is None:
        return
    posts, leaps = join.memory.sets.posts, join.memory.sets.leaps
    times = join.memory.slots.time // leaps.basic
    for newest in join.memory.lists.newest[: int(join.memory.now.keys_used)].ravel():
        entries = []
        while newest >= 0:
            entries.append(int(newest))
            newest = posts[newest].older
        windows = [int(times[posts[entry].slot]) for entry in entries]
        for place, entry in enumerate(entries):
            behind = [e for e, w in zip(entries, windows, strict=True) if w < windows[place]]
            assert leaps.older[entry] == (behind[0] if behind else -1)


def empty(schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.nulls(0, f.type) for f in schema], schema=schema)


def exact(world: World) -> list[tuple[Any, ...]]:
    """Compare every pair, in plain Python."""
    tables = {name: table.to_pylist() for name, table in world.tables().items()}
    query, found = world.query(None), []
    for join in query.joins:
        turns = {name: turns_of(world, name, tables[name]) for name in join.streams}
        for rows in combinations(world, [tables[name] for name in join.streams]):
            own = [turns[name][row["id"]] for name, row in zip(join.streams, rows, strict=True)]
            last = max(own)
            latest = last[0]
            if not all(
                stays(window, turn, last, turns[name])
                for window, turn, name in zip(join.windows, own, join.streams, strict=True)
            ):
                continue
            members = dict(zip(join.streams, rows, strict=True))
            worth = [row["worth"] for name, row in members.items() if is_weighed(world, name)]
            found.append(
                (
                    join.name,
                    *(members[name]["id"] if name in members else None for name in world.names),
                    latest,
                    (max(worth) if worth else 1.0) if any(world.weighed) else None,
                )
            )
    return sorted(found, key=repr)


def turns_of(world: World, name: str, table: list[dict[str, Any]]) -> list[tuple[int, ...]]:
    """Return the place of every row in the order of all streams."""
    return [(row["t"], world.names.index(name), row["id"]) for row in table]


def stays(window: Window, own: tuple[int, ...], last: tuple[int, ...], turns: list[Any]) -> bool:
    """Tell whether a row is in its window at the turn of the last member of a result."""
    if isinstance(window, Rows):
        return sum(own < other < last for other in turns) < window.count
    assert isinstance(window, Ticks)
    return last[0] - own[0] <= window.count


def combinations(world: World, tables: list[list[dict[str, Any]]]) -> list[tuple[Any, ...]]:
    """Return all rows, one of each table, that agree with each other."""
    made: list[tuple[Any, ...]] = [(row,) for row in tables[0]]
    for table in tables[1:]:
        made = [(*one, row) for one in made for row in table if agree(world.kind, one[0], row)]
    return made


def is_weighed(world: World, name: str) -> bool:
    return world.weighed[world.names.index(name)]


def agree(kind: str, x: dict[str, Any], y: dict[str, Any]) -> bool:
    if kind == "keys":
        return bool(x["k"] == y["k"])
    common = set(x["s"]) & set(y["s"])
    if kind == "overlap":
        return len(common) >= 2
    if kind == "subset":
        return set(x["s"]) <= set(y["s"])
    own, other = dict(x["w"]), dict(y["w"])
    return bool(common) and sum(own[item] * other[item] for item in sorted(common)) >= 1.5


def comparing_of(state: State) -> Comparing:
    """Return the plans of either join stage."""
    join = state.stages[1]
    assert isinstance(join, ExactJoin | BoundedJoin)
    assert join.comparing is not None
    return join.comparing


class TwinWorld(World):
    """A world of a given kind, whose tuples can have more values of importance than classes."""

    def __init__(self, seed: int, algorithm: str) -> None:
        super().__init__(seed, algorithm)
        self.kind, self.search = KINDS[seed % len(KINDS)]
        self.values = self.dice.choice([3, 3, 40])

    def tables(self) -> dict[str, pa.Table]:
        tables = super().tables()
        if self.values > 3:
            for name, table in tables.items():
                worth = [1.0 + (7 * row * row) % self.values for row in range(table.num_rows)]
                place = table.schema.get_field_index("worth")
                tables[name] = table.set_column(place, "worth", pa.array(worth, pa.float64()))
        return tables
