"""What a micro-batch of `shed60` costs the Python side: processor seconds, without Spark.

    python benchmarks/operators.py                      # exact, fifo, gain
    python benchmarks/operators.py --profile fifo       # and where the time goes

Encode, the operators of two buckets and their commits run one after the other in this process, with
the state in a dictionary. The first two micro-batches do not count.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

import bankfull as bf
from bankfull.cli.benchmarks.spark_joins import JOIN60
from bankfull.cli.benchmarks.spark_streams import write_keys
from bankfull.runtime.spark.encode import Encode
from bankfull.runtime.spark.layout import Layout
from bankfull.runtime.spark.operate import Operator

_SIDES = ("left", "right")
_WARM_UP = 2


class Values:
    """A map state in a dictionary."""

    def __init__(self) -> None:
        self.kept: dict[Any, Any] = {}
        self.written = 0

    def getValue(self, key: Any) -> Any:  # noqa: N802 - Spark's name
        return self.kept.get(key)

    def updateValue(self, key: Any, value: Any) -> None:  # noqa: N802 - Spark's name
        self.kept[key] = value
        self.written += len(value[0])

    def removeKey(self, key: Any) -> None:  # noqa: N802 - Spark's name
        del self.kept[key]

    def exists(self) -> bool:
        return bool(self.kept)


def layout_of(overload: Any, schemas: dict[str, pa.Schema], keys: tuple[int, ...]) -> Layout:
    """Return what the workers of the benchmark's query are given."""
    empty = {name: schema.empty_table() for name, schema in schemas.items()}
    joined = bf.join(
        *(bf.stream(table, time="t", name=name) for name, table in empty.items()),
        on="k",
        within=f"{JOIN60.window_s} seconds",
        overload=overload,
    )
    return Layout(joined.query, schemas, keys, 2)


def micro_batches(
    folder: Path, layout: Layout, held: dict[int, Values]
) -> Iterator[tuple[float, float, int, int]]:
    """Yield seconds of encoding, seconds of operating, results and bytes of each micro-batch."""
    operators = {key: Operator(held[key], layout, None) for key in layout.keys}
    for number in range(JOIN60.batches):
        began = time.process_time()
        packets = [
            packet
            for position, side in enumerate(_SIDES)
            for table in [pq.read_table(folder / side / f"{number:04}.parquet")]
            for packet in Encode(layout, position)(table.to_batches(max_chunksize=10_000))
        ]
        frame = pa.Table.from_batches(packets).to_pandas()
        between = time.process_time()
        results, before = 0, sum(one.written for one in held.values())
        for key, operator in operators.items():
            own = frame[frame["bucket"] == key].reset_index(drop=True)
            given: list[pd.DataFrame] = list(operator.join(key, iter([own])))
            results += sum(map(len, given)) - 1
        written = sum(one.written for one in held.values()) - before
        yield between - began, time.process_time() - between, results, written


def main() -> None:
    """Run the exact join and two policies."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--profile", choices=("exact", "fifo", "gain"))
    parser.add_argument("--only", default="exact,fifo,gain")
    chosen = parser.parse_args()
    budget = round(2 * JOIN60.window_s * 1_000 / 4)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_keys(folder, JOIN60)
        for system in [chosen.profile] if chosen.profile else chosen.only.split(","):
            overload: Any = "block"
            if system != "exact":
                overload = bf.shed(memory=bf.tuples(budget), keep=system)
            schemas = {side: pq.read_schema(folder / side / "0000.parquet") for side in _SIDES}
            layout = layout_of(overload, schemas, (0, 1))
            for turn in ("compiling", "counted"):
                held = {key: Values() for key in layout.keys}
                profile = cProfile.Profile()
                if chosen.profile and turn == "counted":
                    profile.enable()
                made = list(micro_batches(folder, layout, held))
                profile.disable()
            encode, operate, results, written = (
                statistics.median(column) for column in zip(*made[_WARM_UP:], strict=True)
            )
            print(
                f"{system:6} encode {encode:.3f} s, operate {operate:.3f} s a micro-batch, "
                f"{results:,.0f} results, {written:,.0f} bytes written",
                flush=True,
            )
            if chosen.profile:
                pstats.Stats(profile).sort_stats("tottime").print_stats(45)


if __name__ == "__main__":
    main()
