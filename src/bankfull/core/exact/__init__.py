"""The exact join: every stored tuple of the window is found, nothing is dropped.

To add a way of searching, write an index with the methods of ``index.Index`` and choose it in
``join.py``.
"""
