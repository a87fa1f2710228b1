"""Unit tests of compiling: that it is said, and where its results are kept."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Any

import pytest

from bankfull.kernels import cache, compiler

compiled_only = pytest.mark.skipif(
    os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="compiler off"
)


@compiled_only
def test_compiling_is_said(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever waits for the first use of a kernel is told why, once a kernel."""
    monkeypatch.setattr(cache, "FOLDER", "")  # never compiled before
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


def test_kernels_of_changed_sources_are_not_reused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("BANKFULL_CACHE_DIR", str(tmp_path))
    before = cache.cache_folder()
    assert before == cache.cache_folder()
    monkeypatch.setattr(cache, "_sources_digest", lambda: "0" * 16)
    assert cache.cache_folder() != before


@compiled_only
def test_signatures_share_no_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Processes that compile for different types at the same time do not overwrite each other."""
    monkeypatch.setattr(cache, "FOLDER", str(tmp_path))
    double: Any = compiler.kernel(lambda number: number * 2)
    assert double(2) == 4
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.nb?")}
    assert len(before) == 2  # an index and the code
    assert double(0.25) == 0.5
    assert len(list(tmp_path.rglob("*.nb?"))) == 4
    assert all(path.read_bytes() == content for path, content in before.items())
