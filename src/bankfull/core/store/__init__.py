"""Stored tuples as columns: appended at the end, read by number, forgotten from the front."""
