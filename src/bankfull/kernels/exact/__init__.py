"""Loops of the exact join: over logs, tuple at a time, nothing is dropped."""
