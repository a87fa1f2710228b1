"""The README's Python example runs as printed and gives what the text says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

README = Path(__file__).parents[2] / "README.md"


def python_blocks() -> list[str]:
    return re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)


def test_the_first_example_gives_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, object] = {}
    exec(compile(python_blocks()[0], "README.md", "exec"), names)
    printed = capsys.readouterr().out
    assert "'orders_order_id': 1" in printed
    assert "'orders_order_id': 2" in printed
    assert "'orders_order_id': 3" not in printed
    assert "StreamLedger(arrived=3" in printed
