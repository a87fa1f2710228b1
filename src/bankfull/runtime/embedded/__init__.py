"""The embedded runtime: Arrow streams in, an iterator of record batches out, one process."""

from bankfull.runtime.embedded.run import Joined
from bankfull.runtime.embedded.sources import Source, as_source, shareable

__all__ = ["Joined", "Source", "as_source", "shareable"]
