"""Unit tests of items found by the hashes of their values, as the sample for recall knows them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from bankfull.core.codes.sets import Interner
from bankfull.kernels.intern import number_of
from bankfull.kernels.predicates import EMPTY


@pytest.mark.uncompiled
def test_items_are_found_by_their_hashes() -> None:
    """Also when others were given up and numbers have changed; who is not known has none."""
    interner = Interner()
    numbers = interner.number(pa.array([f"item {k}" for k in range(1000)]))
    codes = interner.items.hashes[numbers]
    assert [number_of(interner.items, code) for code in codes] == numbers.tolist()
    fewer, renumbered = interner.keep(numbers[::3].astype(np.int64))
    found = [number_of(fewer.items, code) for code in codes]
    assert found[::3] == renumbered[numbers[::3]].tolist()
    assert {*found[1::3], *found[2::3]} == {-1}


@pytest.mark.uncompiled
def test_the_empty_set_is_found() -> None:
    interner = Interner()
    interner.number(pa.array([5, 7]))
    assert number_of(interner.items, interner.items.hashes[EMPTY]) == EMPTY
