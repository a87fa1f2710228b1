"""Runtimes plumb: they bring batches to the operator and results to the user, and join nothing.

``embedded`` runs in one process over Arrow. A further runtime is a further package beside it.
"""
