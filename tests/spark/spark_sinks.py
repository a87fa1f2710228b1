"""What a file sink holds, found without Spark and without this library."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import unquote, urlparse


def committed(sink: Path) -> list[str]:
    """Return the files that a sink's log names; those of failed attempts are not among them."""
    files = set()
    for path in (sink / "_spark_metadata").glob("[0-9]*"):
        for line in path.read_text().splitlines()[1:]:
            note = json.loads(line)
            assert note["action"] == "add", note
            files.add(unquote(urlparse(note["path"]).path))
    return sorted(files)
