"""What to do when there is no time to compare every pair: how much to compare, and what first."""

from __future__ import annotations

from dataclasses import dataclass

from bankfull.errors import SpecError
from bankfull.spec.checks import is_number, said, word
from bankfull.spec.spans import Duration, Rows, Span

#: How the pairs that are compared are chosen; one file of ``bankfull.adapt`` each.
ALGORITHMS = ("auto", "rate", "correlation", "direction", "utility", "drop")
#: A smaller share of the clock than this leaves no time to learn what pays.
LEAST_SHARE = 0.01


@dataclass(frozen=True, slots=True)
class Comparisons:
    """A budget of comparisons for every second of stream time, or for every unit of integer time.

    A comparison is a stored tuple looked at by a scan, an entry of an inverted list, or a tuple of
    the same key in a hash chain. The budget needs no clock, so a replay decides the same.
    """

    count: float

    def __post_init__(self) -> None:
        if not is_number(self.count) or not 0.0 < self.count < float("inf"):
            raise SpecError(
                f"comparisons({said(self.count)}) is no budget: give how many may be made in a "
                "second of stream time, e.g. bf.comparisons(1_000_000)"
            )

    def __str__(self) -> str:
        return f"{self.count:g} comparisons a second"


@dataclass(frozen=True, slots=True)
class Compare:
    """Which pairs to compare when not all can be.

    ``sample`` is the share of the comparisons that goes into tuples compared with their whole
    window, from which the others learn what pays (the paper's gamma). ``boost`` is by how much the
    compared part grows while there is time left (its delta). ``period`` is for how long a budget
    of comparisons holds; a quarter of the longest window unless it is given.
    """

    algorithm: str = "auto"
    sample: float | None = None
    boost: float = 1.2
    period: Span | None = None

    def __post_init__(self) -> None:
        word("compare", self.algorithm, ALGORITHMS)
        if self.sample is not None and not (is_number(self.sample) and 0.0 < self.sample <= 1.0):
            raise SpecError(
                f"compare: sample={said(self.sample)} is no share: give 0 < share <= 1, e.g. 0.1"
            )
        if not is_number(self.boost) or not 1.0 < self.boost <= 16.0:
            raise SpecError(
                f"compare: boost={said(self.boost)} must lie above 1 and be at most 16, e.g. 1.2"
            )
        period = self.period
        if isinstance(period, Rows):
            raise SpecError("compare: period is a number of rows: give a length of time")
        if period is not None:
            size = period.nanoseconds if isinstance(period, Duration) else period.count
            if size < 1:
                raise SpecError("compare: period is no length of time: give more than zero")


def check_cpu(cpu: object) -> None:
    """Refuse what is no share of the time and no number of comparisons."""
    if cpu is None or isinstance(cpu, Comparisons):
        return
    if not is_number(cpu) or not LEAST_SHARE <= float(cpu) <= 1.0:  # type: ignore[arg-type]
        raise SpecError(
            f"cpu={said(cpu)} is no share of the time: give {LEAST_SHARE} <= share <= 1, e.g. 0.8, "
            "or bf.comparisons(1_000_000)"
        )


__all__ = ["ALGORITHMS", "LEAST_SHARE", "Compare", "Comparisons", "check_cpu"]
