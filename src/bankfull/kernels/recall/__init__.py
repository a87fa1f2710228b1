"""Loops of the sample that recall is estimated from."""
