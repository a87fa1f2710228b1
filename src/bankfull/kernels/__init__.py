"""Compiled loops over arrays: arrays in, arrays out, no object per tuple.

This package is the only one that knows the compiler. A kernel is a module-level function under
``@kernel`` (``compiler.py``), documented like a public function; it runs uncompiled, unchanged,
when ``NUMBA_DISABLE_JIT=1``. To add one: write it, decorate it, and hold it against a naive twin
in a test.
"""
