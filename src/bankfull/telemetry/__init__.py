"""What a running query says of itself: one event a micro-batch, as lines of JSON.

An event is plain data, so that any later reader (a live view, a dashboard, ``jq``) needs nothing
but the file. To add to it, add a field to :class:`Event`; readers ignore what they do not know.
"""

from bankfull.telemetry.events import Event, EventLog, read_events

__all__ = ["Event", "EventLog", "read_events"]
