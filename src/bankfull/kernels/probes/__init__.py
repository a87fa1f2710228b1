"""Searches for the partners of a tuple, written once for every store.

A probe knows a store by its accessors alone: hooks, to which every store has its rules. To add a
store, give it those rules; to add a probe, write it over them.
"""
