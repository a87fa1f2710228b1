"""How long: durations for timestamps, ticks for integer times, rows for count windows."""

from __future__ import annotations

import operator
import re
from dataclasses import dataclass
from datetime import timedelta

from bankfull.errors import PlanError, SpecError, closest
from bankfull.spec.checks import said

NANOSECONDS = {
    "nanosecond": 1,
    "microsecond": 1_000,
    "millisecond": 1_000_000,
    "second": 1_000_000_000,
    "minute": 60_000_000_000,
    "hour": 3_600_000_000_000,
    "day": 86_400_000_000_000,
    "week": 604_800_000_000_000,
}
_SHORT = {
    "ns": "nanosecond",
    "us": "microsecond",
    "µs": "microsecond",
    "ms": "millisecond",
    "s": "second",
    "sec": "second",
    "m": "minute",
    "min": "minute",
    "h": "hour",
    "hr": "hour",
    "d": "day",
    "w": "week",
}
_PART = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-zA-Zµ]+)\s*")

#: Longer spans than this leave no room for arithmetic on 64-bit times.
LONGEST = 2**61


@dataclass(frozen=True, slots=True)
class Duration:
    """A length of time, for streams whose time column is a timestamp or a date."""

    nanoseconds: int

    def __post_init__(self) -> None:
        _check(self.nanoseconds, "a length of {} nanoseconds")

    def __str__(self) -> str:
        if self.nanoseconds == 0:
            return "0 seconds"
        for unit, size in reversed(NANOSECONDS.items()):
            if self.nanoseconds % size == 0:
                count = self.nanoseconds // size
                return f"{count} {unit}{'s' if count != 1 else ''}"
        raise AssertionError("every count of nanoseconds divides by one")


@dataclass(frozen=True, slots=True)
class Ticks:
    """A length in units of an integer time column."""

    count: int

    def __post_init__(self) -> None:
        _check(self.count, "a length of {} units of time")

    def __str__(self) -> str:
        return f"{self.count} ticks"


@dataclass(frozen=True, slots=True)
class Rows:
    """A count window: the most recent ``count`` tuples of its own stream are joinable."""

    count: int

    def __post_init__(self) -> None:
        if _is_int(self.count) and self.count >= LONGEST:
            raise SpecError(
                f"a window of {said(self.count)} rows is longer than any stream: give rows(n) with "
                f"n below {LONGEST}, or a duration"
            )
        if not _is_int(self.count) or self.count <= 0:
            raise SpecError(
                f"a window of {said(self.count)} rows holds nothing: give rows(n), n >= 1"
            )

    def __str__(self) -> str:
        return f"{self.count} rows"


Span = Duration | Ticks
Window = Duration | Ticks | Rows


def span(value: object, what: str = "span") -> Span:
    """Read a length of time from what a person would write.

    >>> span("10 minutes") == span("600 s") == span(timedelta(minutes=10))
    True
    >>> str(span("1 hour 30 mins")), str(span(7))
    ('90 minutes', '7 ticks')
    """
    if isinstance(value, Duration | Ticks):
        return value
    if isinstance(value, timedelta):
        whole = (value.days * 86_400 + value.seconds) * 1_000_000 + value.microseconds
        _check(whole * 1_000, f"{what} {value}")
        return Duration(whole * 1_000)
    if _is_int(value):
        _check(value, f"{what} {{}}")
        return Ticks(int(value))  # type: ignore[call-overload]
    if isinstance(value, str):
        whole = _parse(value, what)
        _check(whole, f"{what} {value!r}".replace("{", "{{").replace("}", "}}"))
        return Duration(whole)
    raise SpecError(
        f"{what} {said(value)} is a {type(value).__name__}: "
        'give text such as "10 minutes", a timedelta, or a whole number for integer times'
    )


def window(value: object) -> Window:
    """Read one stream's window; of length zero, its tuples join those of the same time only.

    >>> window("1 second"), window(Rows(5)), window("0 minutes")
    (Duration(nanoseconds=1000000000), Rows(count=5), Ticks(count=0))
    """
    if isinstance(value, Rows):
        return value
    return at_zero(span(value, "window"))


def windows(within: object, streams: int) -> tuple[Window, ...]:
    """Read the windows of so many streams: one for all of them, or one for each."""
    if within is None:
        raise PlanError(
            "the join has no window, so its state could grow without bound: give within=, e.g. "
            'within="10 minutes" or within=bf.rows(1000)'
        )
    each = tuple(within) if isinstance(within, tuple | list) else (within,) * streams
    return tuple(window(length) for length in each)


def at_zero(length: Window) -> Window:
    """Return a length; nothing is nothing in any unit, and has one spelling."""
    return Ticks(0) if length == Duration(0) else length


def _parse(text: str, what: str) -> int:
    total, position = 0, 0
    if re.match(r"\s*-\s*\d", text):
        raise SpecError(f"{what} {text!r} is negative: give a length of zero or more")
    while position < len(text):
        part = _PART.match(text, position)
        if part is None:
            raise SpecError(f'{what} {text!r} is not a length of time: write e.g. "10 minutes"')
        total += _nanoseconds(part[1], part[2], text, what)
        position = part.end()
    if position == 0:
        raise SpecError(f'{what} {text!r} is empty: write e.g. "10 minutes"')
    return total


def _nanoseconds(number: str, word: str, text: str, what: str) -> int:
    unit = word.lower()
    if unit not in NANOSECONDS and unit not in _SHORT:
        unit = unit.removesuffix("s")
    unit = _SHORT.get(unit, unit)
    if unit not in NANOSECONDS:
        known = closest(unit, NANOSECONDS)
        raise SpecError(f"{what} {text!r} has the unknown unit {word!r}: {known}")
    whole, _, fraction = number.partition(".")
    scaled, parts = int(whole + fraction) * NANOSECONDS[unit], int("1" + "0" * len(fraction))
    if scaled % parts:
        raise SpecError(f"{what} {text!r} is finer than a nanosecond: round it")
    return scaled // parts


def _is_int(value: object) -> bool:
    """Tell whether something is one whole number; arrays and classes have the method as well."""
    if isinstance(value, bool):
        return False
    try:
        operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        return False
    return True


def _check(length: object, given: str) -> None:
    """Refuse what is no length; ``given`` is how it was written, with a place for its value."""
    written = given.format(said(length))
    if not _is_int(length):
        raise SpecError(f"{written} is not a whole number: give an integer")
    if length < 0:  # type: ignore[operator]
        raise SpecError(f"{written} is negative: give a length of zero or more")
    if length >= LONGEST:  # type: ignore[operator]
        raise SpecError(f"{written} is longer than 64-bit times can hold: shorten it")
