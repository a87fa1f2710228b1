"""What a run leaves behind: a folder for each experiment, with points, verdicts and a figure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bankfull.errors import SourceError
from bankfull.lab.experiment import Experiment, Record


def prepare(folder: Path) -> None:
    """Make the folder now, so that a long run does not end with an error about it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / ".writable").touch()
        (folder / ".writable").unlink()
    except OSError as error:
        raise SourceError(
            f"{folder} cannot be written: {error.strerror}: give another folder with --out"
        ) from error


def save(
    folder: Path,
    experiment: Experiment,
    records: Sequence[Record],
    verdicts: Sequence[Any],
    quick: bool = False,
) -> dict[str, str]:
    """Write points (Parquet), verdicts (JSON) and figure (PNG, SVG); return where."""
    import pyarrow.parquet

    from bankfull.lab.figures import draw

    target = folder / experiment.key
    prepare(target)
    paths = {name: target / name for name in ("points.parquet", "claims.json")}
    pyarrow.parquet.write_table(table(records), paths["points.parquet"])
    told = {**experiment.describe(), "quick": quick, "claims": list(verdicts)}
    paths["claims.json"].write_text(json.dumps(told, ensure_ascii=False, indent=2) + "\n")
    for suffix, path in draw(experiment, records, target / "figure").items():
        paths[f"figure.{suffix}"] = path
    return {name: str(path) for name, path in paths.items()}


def load(folder: Path, key: str) -> tuple[list[Record], bool] | None:
    """Return the points that a run left, and whether it was a quick one; None without any."""
    import pyarrow.parquet

    target = folder / key
    if not (target / "points.parquet").exists() or not (target / "claims.json").exists():
        return None
    rows = pyarrow.parquet.read_table(target / "points.parquet").to_pylist()
    records = [{name: one for name, one in row.items() if one is not None} for row in rows]
    return records, bool(json.loads((target / "claims.json").read_text()).get("quick", False))


def table(records: Sequence[Record]) -> Any:
    """Return points as a table: one column a field, null where a point lacks it."""
    import pyarrow as pa

    names = dict.fromkeys(name for record in records for name in record)
    return pa.table({name: [record.get(name) for record in records] for name in names})
