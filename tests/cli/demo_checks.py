"""What ``bankfull demo --json`` must tell, counted without the library's join."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet


def check_demo(told: dict[str, Any], kept: Path) -> None:
    """Every flight met its weather, every row is accounted for, and the second part is right."""
    pairs = pa.parquet.read_table(kept / "pairs", columns=["joined_at"])
    assert pairs.num_rows == told["rows_out"]
    assert (told["flights"], told["weather"]) == (336_776, 26_115)
    assert told["rows_out"] == _pairs_within_an_hour()
    for found in told["ledger"]["streams"].values():
        assert (found["late"], found["quarantined"]) == (0, 0)
        assert found["arrived"] == found["inserted"] == found["stored"] + found["expired"]
    assert len(told["sample"]) == 5
    for row in told["sample"]:
        assert row["flights_origin"] == row["weather_origin"]
    _check_burst(told["burst"])
    _check_comparisons(told["comparisons"])


def _pairs_within_an_hour() -> int:
    """Count them with sorted times and binary search, without the library's join."""
    from bankfull.cli import flights

    found = 0
    departures, weather = flights.departures(), flights.weather()
    for origin in ("EWR", "JFK", "LGA"):
        times = [
            np.sort(
                table.filter(pa.compute.equal(table["origin"], origin))[column].cast(pa.int64())
            )
            for table, column in ((departures, "scheduled"), (weather, "observed"))
        ]
        upto = np.searchsorted(times[1], times[0] + 3600, side="right")
        found += int((upto - np.searchsorted(times[1], times[0] - 3600, side="left")).sum())
    return found


def _check_burst(told: dict[str, Any]) -> None:
    """The second part: an exact join within twelve hours, and a tenth of its memory."""
    from bankfull.cli.demo_burst import streams

    tables = [table.select(["scheduled", "dest"]) for table in streams().values()]
    with duckdb.connect() as connection:
        for name, table in zip("ab", tables, strict=True):
            connection.register(name, table)
        (exact,) = connection.execute(
            "SELECT count(*) FROM a, b WHERE a.dest = b.dest AND "
            "abs(epoch_us(a.scheduled) - epoch_us(b.scheduled)) <= 43200000000"
        ).fetchall()[0]
    assert told["exact_results"] == exact
    assert told["budget_tuples"] == told["window_rows_max"] // 10
    times = np.sort(np.concatenate([one["scheduled"].cast(pa.int64()) for one in tables]))
    within = 43_200_000_000
    held = [((times >= at - within) & (times <= at)).sum() for at in np.unique(times)]
    assert told["window_rows_max"] == max(held)
    random, gain = told["policies"]["random"], told["policies"]["gain"]
    assert random["results"] < gain["results"] < exact
    for one in (random, gain):
        assert one["recall_true"] == round(one["results"] / exact, 4)
        estimate = one["recall"]
        assert estimate["low"] <= estimate["estimate"] <= estimate["high"]
    assert Path(told["picture"]).read_bytes()[:4] == b"\x89PNG"


def _check_comparisons(told: dict[str, Any]) -> None:
    """The third part: all pairs of both windows, then a tenth of them."""
    from bankfull.cli import flights
    from bankfull.cli.demo_compare import FIRST, LAST

    tables = flights.flown(FIRST, LAST)
    with duckdb.connect() as connection:
        for name, table in tables.items():
            connection.register(name, table)
        near = "FROM leaves a, lands b WHERE abs(epoch_us(a.at) - epoch_us(b.at)) <= 28800000000"
        (pairs,) = connection.execute(f"SELECT count(*) {near}").fetchall()[0]
        (exact,) = connection.execute(
            f"SELECT count(*) {near} AND a.tailnum = b.tailnum"
        ).fetchall()[0]
    assert (told["exact_results"], told["exact_comparisons"]) == (exact, pairs)
    drop, auto = told["ways"]["drop"], told["ways"]["auto"]
    for one in (drop, auto):
        assert 0 < one["comparisons"] <= pairs / 10 * 1.01
        assert one["recall_true"] == round(one["results"] / exact, 4)
    assert drop["results"] < auto["results"] < exact
