"""The invariants of DESIGN section 4, as far as an exact join can be asked for them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from bankfull import oracle
from bankfull.core.store.forms import output_type
from bankfull.spec import Join, Query
from bankfull.testing.cases import Case
from bankfull.testing.running import Result, Splits, output_of, rows_emitted, run

Combination = tuple[int, ...]


def check_exact(case: Case, splits: Splits = None, seed: int | None = None) -> Result:
    """Exact means exact: the oracle's multiset of combinations, each with its rows' values."""
    result = run(case, splits, seed)
    check_output(case, result.table)
    for name, combinations in result.combinations.items():
        emitted = result.ledger["joins"][name]["emitted"]
        assert emitted == len(combinations), f"{name}: the ledger says {emitted} were emitted"
    return result


def check_output(case: Case, table: pa.Table) -> None:
    """An output, however it was made, is the exact result."""
    emitted = rows_emitted(table, case.query)
    for name, combinations in oracle.exact(case.query, case.tables).items():
        _same_combinations(name, emitted[name], combinations)
    check_columns(case, table)


def check_part(case: Case, table: pa.Table) -> None:
    """An output, however it was made, is part of the exact result, and nothing is in it twice."""
    emitted = rows_emitted(table, case.query)
    for name, combinations in oracle.exact(case.query, case.tables).items():
        _part_of(name, emitted[name], combinations)
    check_columns(case, table)


def check_columns(case: Case, table: pa.Table) -> None:
    """Every output row holds its members' own values, under the promised names."""
    naming = output_names(case.query, case.tables)
    order = [name for stream in _listed(case.query) for name in naming[stream].values()]
    lead = ["join"] if len(case.query.joins) > 1 else []
    weighed = case.query.shed is not None and any(one.importance for one in case.query.streams)
    last = ["joined_at", "importance"] if weighed else ["joined_at"]
    assert table.column_names == [*lead, *order, *last], table.column_names
    emitted = rows_emitted(table, case.query)
    for join in case.query.joins:
        part = output_of(table, case.query, join)
        _check_members(case, join, part, emitted[join.name], naming)


def check_subset(case: Case, splits: Splits = None, seed: int | None = None) -> Result:
    """Whatever is emitted belongs to the exact result, once."""
    result = run(case, splits, seed)
    expected = oracle.exact(case.query, case.tables)
    for name, combinations in expected.items():
        _part_of(name, result.combinations[name], combinations)
    return result


def check_conservation(case: Case, splits: Splits = None, seed: int | None = None) -> Result:
    """Every row is accounted for after every batch, and at the end as the oracle says."""
    result = run(case, splits, seed, each=lambda joined: joined.ledger.check())
    useless = oracle.useless(case.query, case.tables)
    for name, fates in oracle.fates(case.query, case.tables).items():
        count, decided = result.ledger["streams"][name], Counter(fates)
        wanted = {
            "arrived": len(fates),
            "quarantined": decided["quarantined"],
            "late": decided["late"],
            "inserted": decided["accepted"],
            "shed": 0,
            "waiting": 0,
            "evicted": 0,
            "purged": useless[name],
            "spilled": 0,
        }
        found = {field: count[field] for field in wanted}
        assert found == wanted, f"stream {name}: counted {found}, expected {wanted}"
        aside = result.quarantined.get(name)
        reasons = Counter([] if aside is None else aside[aside.column_names[-1]].to_pylist())
        late = reasons.pop("late", 0)
        assert late == decided["late"], f"stream {name}: {late} rows set aside as late"
        bad = decided["quarantined"]
        assert reasons.total() == bad, f"stream {name}: {reasons} set aside, expected {bad}"
    return result


def check_splits(case: Case, seeds: Sequence[int] = (1, 2)) -> None:
    """How the streams are cut into batches changes neither the result nor the totals."""
    whole = run(case)
    others: list[tuple[Splits, int | None]] = [(1, None), *((None, seed) for seed in seeds)]
    for splits, seed in others:
        other = run(case, splits, seed)
        for name, combinations in whole.combinations.items():
            _same_combinations(f"{name}, {splits=} {seed=}", other.combinations[name], combinations)
        assert other.totals == whole.totals, f"{splits=} {seed=}: {other.totals} != {whole.totals}"


def check_determinism(case: Case, splits: Splits = None, seed: int | None = None) -> None:
    """The same input gives the same batches and the same ledger, byte for byte."""
    first, second = run(case, splits, seed), run(case, splits, seed)
    assert first.ledger == second.ledger, f"{first.ledger} != {second.ledger}"
    assert first.bytes == second.bytes, f"{first.table} != {second.table}"


def output_names(query: Query, tables: Mapping[str, pa.Table]) -> dict[str, dict[str, str]]:
    """Return what each stream's columns are called in the output."""
    taken = Counter(["joined_at", "join"] if len(query.joins) > 1 else ["joined_at"])
    for stream in query.streams:
        taken.update(tables[stream.name].column_names)
    return {
        stream.name: {
            name: f"{stream.name}_{name}" if taken[name] > 1 else name
            for name in tables[stream.name].column_names
        }
        for stream in query.streams
    }


def _listed(query: Query) -> list[str]:
    if len(query.joins) == 1:
        return list(query.joins[0].streams)
    return [stream.name for stream in query.streams]


def _part_of(name: str, emitted: Sequence[Combination], exact: Sequence[Combination]) -> None:
    wrong = oracle.surplus(emitted, exact)
    assert not wrong, f"{name} emitted what it should not, or twice: {wrong}"


def _check_members(
    case: Case,
    join: Join,
    part: pa.Table,
    emitted: Sequence[Combination],
    naming: Mapping[str, Mapping[str, str]],
) -> None:
    for stream in case.query.streams:
        source = case.tables[stream.name]
        rows: list[int | None] = [None] * len(part)
        if stream.name in join.streams:
            rows = [members[join.streams.index(stream.name)] for members in emitted]
        for name, output in naming[stream.name].items():
            promised = output_type(source[name].type)
            assert part[output].type == promised, f"{output}: type {part[output].type}"
            values = oracle.plain(source[name])
            wanted = [None if row is None else values[row] for row in rows]
            _same_values(f"{join.name}: column {output}", oracle.plain(part[output]), wanted)
    times = {
        stream.name: oracle.plain(case.tables[stream.name][stream.time])
        for stream in case.query.streams
    }
    wanted_at: list[Any] = [
        max(times[name][row] for name, row in zip(join.streams, members, strict=True))
        for members in emitted
    ]
    found_at = oracle.plain(part["joined_at"])
    assert found_at == wanted_at, f"{join.name}: joined_at is {found_at}, expected {wanted_at}"


def _same_combinations(
    name: str, found: Sequence[Combination], expected: Sequence[Combination]
) -> None:
    missing, wrong = oracle.surplus(expected, found), oracle.surplus(found, expected)
    assert not missing, f"{name}: missing {missing}; should not be there {wrong}"
    assert not wrong, f"{name}: should not be there {wrong}"


def _same_values(name: str, found: list[Any], wanted: list[Any]) -> None:
    # As text, since NaN differs from itself and the two zeros do not differ from each other.
    assert repr(found) == repr(wanted), f"{name}: {found}, expected {wanted}"
