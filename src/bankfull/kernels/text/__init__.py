"""Loops that read numbers from text, exactly."""
