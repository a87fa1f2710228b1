"""Unit tests of the compiler's own words: that compiling is said."""

from __future__ import annotations

import logging
import os
from typing import Any

import pytest

from bankfull.kernels import compiler


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="compiler off")
def test_compiling_is_said(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever waits for the first use of a kernel is told why, once a kernel."""
    monkeypatch.setattr(compiler, "_CACHE", "")  # never compiled before
    seen = []

    def inner(number: int) -> int:
        return number + 1

    def outer(number: int) -> int:
        return inner(number) * 2  # compiled on the way, and not said

    for function in (inner, outer):
        function.__module__ = "bankfull.kernels.example"
    inner = compiler.inlined(inner)
    compiled: Any = compiler.kernel(outer)

    class Look(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            seen.append(compiler.is_compiling())

    look = Look()
    logging.getLogger("bankfull").addHandler(look)
    try:
        with caplog.at_level(logging.INFO, logger="bankfull"):
            assert compiled(1) == 4
    finally:
        logging.getLogger("bankfull").removeHandler(look)
    assert "compiling outer for this machine" in caplog.text
    assert "inner" not in caplog.text
    assert seen
    assert all(seen)
    assert not compiler.is_compiling()
