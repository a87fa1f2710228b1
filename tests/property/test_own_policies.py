"""Family: property, a user's own policy: a class, a function, and what happens when it changes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import bankfull as bf
from bankfull.errors import SpecError
from bankfull.testing import check_policy
from own_policies import Youngest, sociable

TESTS = Path(__file__).parents[1]
SCRIPT = """
import pyarrow as pa, bankfull as bf
from mine import worth
table = pa.table({"t": range(40), "k": [n % 4 for n in range(40)]})
sides = [bf.stream(table, time="t", name=n) for n in "ab"]
joined = bf.join(*sides, on="k", within=30, overload=bf.shed(bf.tuples(4), worth))
joined.read_all()
slots = joined._state.stages[1].memory.slots
print(sorted(slots.time[slots.stream >= 0]))
"""


RUN = """
import logging, sys, pyarrow as pa, bankfull as bf
logging.basicConfig(level=logging.INFO, stream=sys.stdout)
def stored(keep):
    table = pa.table({"t": range(20), "k": range(20)})
    other = pa.table({"t": [19], "k": [-1]})
    sides = [bf.stream(one, time="t", name=n) for n, one in (("a", table), ("b", other))]
    joined = bf.join(*sides, on="k", within=100, overload=bf.shed(bf.tuples(3), keep))
    joined.read_all()
    slots = joined._state.stages[1].memory.slots
    return sorted(slots.time[slots.stream == 0])
"""
OWN = """
from own_policies import Youngest, sociable
assert stored(Youngest()) == [0, 1, 2]
assert stored(sociable) == [18, 19]  # the third place is for b
"""
OURS = """
assert stored("fifo") == [18, 19]
"""


def in_a_child(script: str, folder: Path = TESTS, **environment: str) -> str:
    """Run a program of a user's beside its own files and return what it said."""
    done = subprocess.run(
        [sys.executable, "-B", "-c", script],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("own", [Youngest(), sociable], ids=["class", "function"])
def test_conformance_of_a_users_own(own: Any) -> None:
    check_policy(own, seeds=[1])


def test_rules_decide_and_are_compiled_once(tmp_path: Path) -> None:
    """Over a stream without matches, whoever is told to be worth more stays.

    A second process compiles nothing, and who uses our policies never needs to import the user's,
    nor to compile ours again because of them.
    """
    first = in_a_child(RUN + OWN + OURS, BANKFULL_CACHE_DIR=str(tmp_path))
    assert "compiling" in first
    assert in_a_child(RUN + OWN + OURS, BANKFULL_CACHE_DIR=str(tmp_path)) == ""
    assert in_a_child(RUN + OURS, tmp_path, BANKFULL_CACHE_DIR=str(tmp_path)) == ""


def test_what_cannot_be_found_again_is_refused() -> None:
    with pytest.raises(SpecError, match="cannot be imported"):
        bf.shed(bf.tuples(3), lambda memory, slot, time: 0.0)


@pytest.mark.soak
def test_a_changed_function_is_compiled_anew(tmp_path: Path) -> None:
    """Kernels are kept on disk; who edits a policy must not get the old one back."""
    found = []
    for body in ("-memory.slots[slot].time", "memory.slots[slot].time"):
        (tmp_path / "mine.py").write_text(
            f"def worth(memory, slot, time):\n    return float({body})\n"
        )
        found.append(in_a_child(SCRIPT, tmp_path, BANKFULL_CACHE_DIR=str(tmp_path / "cache")))
    assert found[0] != found[1]
