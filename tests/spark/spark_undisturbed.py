"""What a case gives when nothing happens, and the check that faults have changed nothing of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
from spark_cases import RECOVERY
from spark_runs import Runner, ledger_of, output_schema, same_rows

#: Rows a file: few micro-batches for the short forms, many for the long ones.
SHORT, LONG = 50, 9
BUCKETS = 3


class Undisturbed:
    """Rows and ledger of every case, each made once and judged by the oracle."""

    def __init__(self, spark: Any, folder: Path) -> None:
        self.spark = spark
        self.folder = folder
        self.known: dict[tuple[str, int], tuple[pa.Table, Any]] = {}

    def of(self, title: str, file_rows: int) -> tuple[pa.Table, Any]:
        """Return the rows and the final ledger of a case."""
        which = title, file_rows
        if which not in self.known:
            runner = Runner(self.spark, self.folder / f"{title}{file_rows}")
            found = runner.run(RECOVERY[title], file_rows, BUCKETS)
            assert len(found) > 100, "the case joins next to nothing"
            self.known[which] = found, ledger_of(self.spark, runner.checkpoint)
        return self.known[which]

    def check(self, folder: Path, title: str, file_rows: int, alike: bool = True) -> None:
        """The sink and the last commit in a folder are those of a run without faults.

        Where micro-batches are not alike, how much was compared in them may differ.
        """
        runner = Runner(self.spark, folder)
        rows, ledger = self.of(title, file_rows)
        same_rows(runner.rows(output_schema(RECOVERY[title])), rows)
        found = ledger_of(self.spark, runner.checkpoint)
        if not alike:
            for name, counts in ledger["joins"].items():
                found["joins"][name]["compared"] = counts["compared"]
        assert found == ledger, f"{found} is not {ledger}"
