"""Files in, files out, in bounded memory: batches are read and written as the join runs.

A source is a reader of record batches with a tally of what it read and what it could not; a sink
shows its file under the final name only when everything is in it. To add a format: its suffix in
``formats.py``, a function that opens it in ``sources.py``, a writer in ``sinks.py``.
"""

from bankfull.runtime.embedded.files.formats import FORMATS, STANDARD, guess_format
from bankfull.runtime.embedded.files.sinks import Sink, SinkError, open_sink
from bankfull.runtime.embedded.files.sources import Source, Unreadable, open_source

__all__ = [
    "FORMATS",
    "STANDARD",
    "Sink",
    "SinkError",
    "Source",
    "Unreadable",
    "guess_format",
    "open_sink",
    "open_source",
]
