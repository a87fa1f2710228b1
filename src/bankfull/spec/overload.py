"""What to do when the windows do not fit: a budget, and which tuples to keep within it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from bankfull.errors import SpecError, closest

#: How the importance of a result follows from that of its members.
COMBINATIONS = ("min", "max", "sum", "product", "average")
SPLITS = ("unified", "proportional")
_BYTES = {"b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "kib": 2**10, "mib": 2**20, "gib": 2**30}
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-zA-Z]+)\s*")


@dataclass(frozen=True, slots=True)
class Tuples:
    """A budget counted in stored tuples."""

    count: int

    def __post_init__(self) -> None:
        if isinstance(self.count, bool) or not isinstance(self.count, int) or self.count < 1:
            raise SpecError(f"a budget of {self.count!r} tuples stores nothing: give at least 1")

    def __str__(self) -> str:
        return f"{self.count} tuples"


@dataclass(frozen=True, slots=True)
class Bytes:
    """A budget in bytes: payload, index and what a policy notes of every tuple."""

    count: int

    def __post_init__(self) -> None:
        if isinstance(self.count, bool) or not isinstance(self.count, int) or self.count < 1:
            raise SpecError(f"a budget of {self.count!r} bytes stores nothing: give at least 1 KB")

    def __str__(self) -> str:
        return f"{self.count} bytes"


def size(value: object) -> Tuples | Bytes:
    """Read a budget from what a person would write.

    >>> size("64 MB"), size(Tuples(5))
    (Bytes(count=64000000), Tuples(count=5))
    """
    if isinstance(value, Tuples | Bytes):
        return value
    if isinstance(value, str) and (parsed := _SIZE.fullmatch(value)):
        unit = parsed[2].lower()
        if unit not in _BYTES:
            raise SpecError(
                f"memory {value!r} has the unknown unit {parsed[2]!r}: {closest(unit, _BYTES)}"
            )
        return Bytes(int(float(parsed[1]) * _BYTES[unit]))
    raise SpecError(f'memory={value!r} is no budget: give e.g. "64 MB" or bf.tuples(10_000)')


@dataclass(frozen=True, slots=True)
class Keep:
    """Which policy decides, by name, and its parameters."""

    policy: str
    parameters: tuple[tuple[str, float | int | str], ...] = ()


@dataclass(frozen=True, slots=True)
class Shed:
    """Approximate within a memory budget.

    ``split``: one buffer for all streams, shares that follow the streams' rates, or fixed shares
    as (stream, share). ``sample`` is the chance to be dropped ahead of the policy, "unbiased" for
    the chance at which the policy has nothing left to decide. With a ``recall`` to reach, memory
    is found by a controller and ``memory`` its upper bound, if any.
    """

    memory: Tuples | Bytes | None
    keep: Keep
    split: str | tuple[tuple[str, float], ...] = "unified"
    importance: str = "min"
    sample: float | str = 0.0
    seed: int = 0
    recall: float | None = None

    def __post_init__(self) -> None:
        self._check_recall()
        if isinstance(self.split, str):
            if self.split not in SPLITS:
                raise SpecError(f"split={self.split!r} is unknown: {closest(self.split, SPLITS)}")
        else:
            self._check_shares(self.split)
        if self.importance not in COMBINATIONS:
            known = closest(self.importance, COMBINATIONS)
            raise SpecError(f"importance={self.importance!r} is unknown: {known}")
        if isinstance(self.sample, str):
            if self.sample != "unbiased":
                raise SpecError(f'sample={self.sample!r} is unknown: give "unbiased" or a share')
        elif not 0.0 <= self.sample < 1.0:
            raise SpecError(f"sample={self.sample!r} drops nothing or all: give 0 <= share < 1")
        if not isinstance(self.seed, int) or not 0 <= self.seed < 2**31:
            raise SpecError(f"seed={self.seed!r} is no seed: give a whole number from 0")

    def _check_recall(self) -> None:
        if self.recall is None:
            if self.memory is None:
                raise SpecError(
                    'shed() has no budget: give memory=, e.g. memory="64 MB", or recall='
                )
        elif not 0.0 < self.recall < 1.0:
            raise SpecError(
                f"recall={self.recall!r} is no target: give a share between 0 and 1, e.g. 0.95; "
                'for all results use overload="block"'
            )

    def _check_shares(self, shares: tuple[tuple[str, float], ...]) -> None:
        if any(not share > 0.0 for _, share in shares) or not shares:
            raise SpecError(f"split={dict(shares)!r}: every stream needs a share above zero")
        if sum(share for _, share in shares) > 1.0 + 1e-9:
            raise SpecError(f"split={dict(shares)!r}: the shares are more than the whole budget")


__all__ = ["COMBINATIONS", "SPLITS", "Bytes", "Keep", "Shed", "Tuples", "size"]
