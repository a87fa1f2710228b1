"""Loops of the join under a memory budget: over slots, with a policy at its hooks."""
