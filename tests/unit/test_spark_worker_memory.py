"""Units: what a Python worker of Spark's grows by in a micro-batch, in a process of its own.

The stages run here without Spark: *encode* and the operators of two buckets in one process, as in
a worker that got everything; packets and state lie in files, as they would lie with Java. The
worker used to grow by 135 MB within a budget of 32: it held a micro-batch several times over, a few
waiting rows kept the memory of all, and two allocators kept what was freed. Run as a program, this
file prints the measurement.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
BUDGET_MB, BESIDE_MB = 32, 64
WINDOW, FILE_ROWS, SMALL_ROWS = 200_000, 1 << 16, 1 << 12


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="looks into /proc")
def test_a_worker_grows_by_its_budget_and_little_more() -> None:
    command = [sys.executable, __file__, "0.02"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert found["results"] > 1_000_000
    assert found["stored"] > 50_000
    assert found["grew_mb"] < BUDGET_MB + BESIDE_MB


class Files:
    """A map state in a folder."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        self._folder = folder

    def _at(self, key: tuple[int, int]) -> Path:
        return self._folder / f"{key[0]}_{key[1]}"

    def getValue(self, key: tuple[int, int]) -> tuple[bytes] | None:  # noqa: N802 - Spark's name
        return (self._at(key).read_bytes(),) if self._at(key).exists() else None

    def updateValue(self, key: tuple[int, int], value: Any) -> None:  # noqa: N802 - Spark's name
        self._at(key).write_bytes(value[0])

    def removeKey(self, key: tuple[int, int]) -> None:  # noqa: N802 - Spark's name
        self._at(key).unlink()

    def exists(self) -> bool:
        return any(self._folder.iterdir())


class Worker:
    """The stages of a query as one worker runs them; input, packets and state lie in a folder."""

    def __init__(self, folder: Path, popular: float) -> None:
        import pyarrow as pa

        import bankfull as bf
        from bankfull.runtime.spark.layout import Layout
        from bankfull.spec import Equal, Join, Query, Stream, Ticks

        self.folder, self.popular = folder, popular
        schema = pa.schema([("t", pa.int64()), ("k", pa.int64()), ("text", pa.string())])
        join = Join("j", ("a", "b"), Equal((("k",),)), (Ticks(WINDOW),))
        shed = bf.shed(f"{BUDGET_MB} MB", keep="fifo")
        query = Query((Stream("a", "t"), Stream("b", "t")), (join,), shed=shed)
        self.layout = Layout(query, dict.fromkeys("ab", schema), (0, 1))
        self.stored, self.results = 0, 0

    def write(self, rows: int, file_rows: int) -> int:
        """Write the input in another process, whose memory is not ours; returns its files."""
        import pyarrow as pa
        from resident_memory import batches

        self.folder.mkdir()
        child = os.fork()
        if child == 0:
            for seed, name in enumerate("ab"):
                table = pa.Table.from_batches(list(batches(rows, 100_000, seed, self.popular)))
                for number, start in enumerate(range(0, rows, file_rows)):
                    whole = table.slice(start, file_rows).combine_chunks()
                    _written(self.folder / f"{name}{number}", iter(whole.to_batches()))
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        return len(list(self.folder.glob("a*")))

    def run(self, files: int) -> None:
        """Run a micro-batch for each file."""
        from bankfull.runtime.spark.encode import Encode
        from bankfull.runtime.spark.live import live_states
        from bankfull.runtime.spark.operate import Operator

        states = [Files(self.folder / f"state{bucket}") for bucket in range(2)]
        for number in range(files):
            for position, name in enumerate("ab"):
                packets = Encode(self.layout, position)(_read(self.folder / f"{name}{number}"))
                _written(self.folder / f"packets{position}", packets)
            for bucket, state in enumerate(states):
                for frame in Operator(state, self.layout, None).join(bucket, self._frames(bucket)):
                    self.results += len(_as_spark_does(frame))
        lives = list(live_states._by_lineage.values())[-2:]
        counts = [one for live in lives for one in live.state.ledger.streams.values()]
        self.stored = sum(one.stored for one in counts)

    def _frames(self, bucket: int) -> Iterator[Any]:
        for position in range(2):
            for batch in _read(self.folder / f"packets{position}"):
                yield batch.slice(bucket, 1).to_pandas()


def _read(path: Path) -> Iterator[Any]:
    import pyarrow as pa

    with path.open("rb") as source, pa.ipc.open_stream(source) as stream:
        yield from stream


def _written(path: Path, batches: Iterator[Any]) -> None:
    import pyarrow as pa

    first = next(batches)
    with path.open("wb") as sink, pa.ipc.new_stream(sink, first.schema) as stream:
        stream.write_batch(first)
        del first
        for batch in batches:
            stream.write_batch(batch)


def _as_spark_does(frame: Any) -> Any:
    """Spark makes Arrow of a frame again, from a copy of its columns."""
    import pyarrow as pa

    return pa.RecordBatch.from_pandas(frame.copy())


def measure(popular: float, scratch: Path) -> dict[str, float]:
    """Run very few rows and then many; return what the process grew by, in megabytes."""
    from resident_memory import resident

    small = Worker(scratch / "small", popular)
    small.run(small.write(SMALL_ROWS, SMALL_ROWS))
    large = Worker(scratch / "large", popular)
    files = large.write(2 * FILE_ROWS, FILE_ROWS)
    before, most, done = resident(), 0, threading.Event()

    def watch() -> None:
        nonlocal most
        while not done.wait(0.005):
            most = max(most, resident() - before)

    watcher = threading.Thread(target=watch)
    watcher.start()
    large.run(files)
    done.set()
    watcher.join()
    return {"grew_mb": most / 1e6, "results": large.results, "stored": large.stored}


if __name__ == "__main__":
    sys.path.insert(0, str(BENCHMARKS))
    from bankfull.runtime.spark import daemon

    daemon.give_memory_back()
    daemon.warm_up()
    with tempfile.TemporaryDirectory() as folder:
        sys.stdout.write(json.dumps(measure(float(sys.argv[1]), Path(folder))))
