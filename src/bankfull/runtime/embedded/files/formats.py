"""Which format a file is in, by its name."""

from __future__ import annotations

from pathlib import PurePath

from bankfull.errors import SpecError

FORMATS = ("parquet", "arrow", "csv", "jsonl")
#: The path that means standard input or standard output.
STANDARD = "-"

_SUFFIXES = {
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".csv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
}
#: Text formats are also read compressed.
_COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}


def compression_of(path: str) -> str | None:
    """Name the compression that the last suffix of ``path`` stands for.

    >>> compression_of("orders.csv.gz"), compression_of("orders.csv")
    ('gzip', None)
    """
    return _COMPRESSIONS.get(PurePath(path).suffix.lower())


def guess_format(path: str) -> str:
    """Name the format that the suffix of ``path`` stands for.

    >>> guess_format("orders.NDJSON"), guess_format("orders.csv.gz")
    ('jsonl', 'csv')
    """
    bare = PurePath(path)
    if compression_of(path):
        bare = bare.with_suffix("")
    found = _SUFFIXES.get(bare.suffix.lower())
    if found is None:
        raise SpecError(
            f"the name {path!r} does not tell its format: "
            f"set format to one of {', '.join(map(repr, FORMATS))}, "
            f"or use a suffix of {', '.join(_SUFFIXES)}"
        )
    return found
