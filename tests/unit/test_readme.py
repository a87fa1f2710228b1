"""The Python examples of the README and of the how-to pages run as printed, with what they say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def run_block(page: str, number: int = 0) -> dict[str, object]:
    blocks = re.findall(
        r"```python\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL
    )
    names: dict[str, object] = {}
    exec(compile(blocks[number], page, "exec"), names)
    return names


def test_the_first_example_gives_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    run_block("README.md")
    printed = capsys.readouterr().out
    assert "'orders_order_id': 1" in printed
    assert "'orders_order_id': 2" in printed
    assert "'orders_order_id': 3" not in printed
    assert "StreamLedger(arrived=3" in printed


def test_attribution_gives_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    page = (ROOT / "docs/attribution.md").read_text(encoding="utf-8")
    promised = re.search(r"```text\n(.*?)```", page, re.DOTALL)
    assert promised is not None
    run_block("docs/attribution.md")
    printed = capsys.readouterr().out
    assert sorted(printed.splitlines()) == sorted(promised[1].splitlines())
