"""What to do when the windows do not fit: a budget, and which tuples to keep within it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from bankfull.errors import SpecError, closest
from bankfull.spec.checks import is_number, said, word
from bankfull.spec.comparing import Compare, Comparisons, check_cpu

#: How the importance of a result follows from that of its members.
COMBINATIONS = ("min", "max", "sum", "product", "average")
SPLITS = ("unified", "proportional")
_BYTES = {"b": 1, "bytes": 1}
_BYTES |= {f"{letter}b": 1000 ** (n + 1) for n, letter in enumerate("kmgt")}
_BYTES |= {f"{letter}ib": 1024 ** (n + 1) for n, letter in enumerate("kmgt")}
#: A budget in bytes is at least so much for every buffer.
LEAST_BYTES = 1024
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-zA-Z]+)\s*")


@dataclass(frozen=True, slots=True)
class Tuples:
    """A budget counted in stored tuples."""

    count: int

    def __post_init__(self) -> None:
        if isinstance(self.count, bool) or not isinstance(self.count, int) or self.count < 1:
            raise SpecError(
                f"a budget of {said(self.count)} tuples is no budget: give a whole number, the "
                "smallest is 1 (one for each stream if they have buffers of their own)"
            )

    def __str__(self) -> str:
        return f"{self.count} tuples"


@dataclass(frozen=True, slots=True)
class Bytes:
    """A budget in bytes: payload, index and what a policy notes of every tuple."""

    count: int

    def __post_init__(self) -> None:
        if isinstance(self.count, bool) or not isinstance(self.count, int) or self.count < 1:
            raise SpecError(
                f"a budget of {said(self.count)} bytes is no budget: give a whole number, the "
                f"smallest is {LEAST_BYTES} (for each stream if they have buffers of their own)"
            )

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
                f"memory {value!r} has the unknown unit {parsed[2]!r}: give {', '.join(_BYTES)}"
            )
        return Bytes(int(float(parsed[1]) * _BYTES[unit]))
    raise SpecError(f'memory={said(value)} is no budget: give e.g. "64 MB" or bf.tuples(10_000)')


@dataclass(frozen=True, slots=True)
class Keep:
    """Which policy decides, by name, and its parameters."""

    policy: str
    parameters: tuple[tuple[str, float | int | str], ...] = ()


@dataclass(frozen=True, slots=True)
class Shed:
    """Approximate within a budget of memory, of comparisons, or both.

    ``split``: one buffer for all streams, shares that follow the streams' rates, or fixed shares
    as (stream, share). ``sample`` is the chance to be dropped ahead of the policy, "unbiased" for
    the chance at which the policy has nothing left to decide. With a ``recall`` to reach, memory
    is found by a controller and ``memory`` its upper bound, if any. ``cpu`` is the share of the
    time that the join may use, or a number of comparisons; ``compare`` says what comes first.
    """

    memory: Tuples | Bytes | None
    keep: Keep
    split: str | tuple[tuple[str, float], ...] = "unified"
    importance: str = "min"
    sample: float | str = 0.0
    seed: int = 0
    recall: float | None = None
    cpu: float | Comparisons | None = None
    compare: Compare = Compare()  # noqa: RUF009 - frozen, so sharing the default is safe

    def __post_init__(self) -> None:
        check_cpu(self.cpu)
        self._check_recall()
        if isinstance(self.split, str):
            if self.split not in SPLITS:
                raise SpecError(f"split={self.split!r} is unknown: {closest(self.split, SPLITS)}")
        else:
            self._check_shares(self.split)
        word("importance", self.importance, COMBINATIONS)
        if isinstance(self.sample, str):
            if self.sample != "unbiased":
                raise SpecError(f'sample={self.sample!r} is unknown: give "unbiased" or a share')
        elif not is_number(self.sample) or not 0.0 <= self.sample < 1.0:
            raise SpecError(
                f"sample={said(self.sample)} is no share to drop: give 0 <= share < 1, or "
                '"unbiased"'
            )
        seed = self.seed
        if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**31:
            raise SpecError(f"seed={said(seed)} is no seed: give a whole number from 0")

    @property
    def bounds_memory(self) -> bool:
        """Whether tuples are dropped for memory, or only comparisons are saved."""
        return self.memory is not None or self.recall is not None

    def _check_recall(self) -> None:
        if self.recall is None:
            if self.memory is None and self.cpu is None:
                raise SpecError(
                    'shed() has no budget: give memory=, e.g. memory="64 MB", cpu=, e.g. cpu=0.8, '
                    "or recall="
                )
        elif not is_number(self.recall) or not 0.0 < self.recall < 1.0:
            raise SpecError(
                f"recall={said(self.recall)} is no target: give a share between 0 and 1, e.g. "
                '0.95; for all results use overload="block"'
            )

    def _check_shares(self, shares: tuple[tuple[str, float], ...]) -> None:
        if any(not share > 0.0 for _, share in shares) or not shares:
            raise SpecError(f"split={dict(shares)!r}: every stream needs a share above zero")
        if sum(share for _, share in shares) > 1.0 + 1e-9:
            raise SpecError(f"split={dict(shares)!r}: the shares are more than the whole budget")


__all__ = ["COMBINATIONS", "LEAST_BYTES", "SPLITS", "Bytes", "Keep", "Shed", "Tuples", "size"]
