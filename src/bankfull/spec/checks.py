"""Refusals that many specs share: each names the argument, what was given and what would do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from bankfull.errors import SpecError, closest


def said(given: object) -> str:
    """Write what was given so that it can be recognised, on one line and not at length."""
    written = " ".join(repr(given).split())
    return written if len(written) <= 60 else f"{written[:57]}..."


def text(what: str, given: object) -> str:
    """Return a name; anything but text that says something is refused."""
    if not isinstance(given, str) or not given:
        raise SpecError(f"{what}={said(given)} is not a name: give it as text")
    return given


def texts(what: str, given: object) -> tuple[str, ...]:
    """Return one name or several as a tuple of names."""
    if isinstance(given, str):
        return (text(what, given),)
    if not isinstance(given, Sequence) or isinstance(given, bytes | bytearray):
        raise SpecError(f"{what}={said(given)} names no columns: give a name or a list of names")
    return tuple(text(what, name) for name in given)


def word(what: str, given: object, known: Iterable[str]) -> str:
    """Return one of the known words; another is answered with the closest."""
    known = tuple(known)
    if not isinstance(given, str) or given not in known:
        raise SpecError(f"{what}={said(given)} is unknown: {closest(given, known)}")
    return given


def flag(what: str, given: object) -> bool:
    """Return a truth value."""
    if not isinstance(given, bool):
        raise SpecError(f"{what}={said(given)} is neither True nor False: give one of them")
    return given


def function(what: str, given: object) -> None:
    """Refuse what cannot be called."""
    if not callable(given):
        raise SpecError(f"{what}={said(given)} cannot be called: give a function")


def count(what: str, given: object) -> None:
    """Refuse what is no number of things."""
    if isinstance(given, bool) or not isinstance(given, int) or given < 1:
        raise SpecError(f"{what}={said(given)} is no number: give a whole number from 1")


def is_number(given: object) -> bool:
    """Tell whether something is a number that can be compared: no truth value, no complex one."""
    return isinstance(given, int | float) and not isinstance(given, bool)


def shares(what: str, given: object) -> tuple[tuple[str, float], ...]:
    """Return shares by stream, in the order of the names."""
    if not isinstance(given, Mapping) or not given:
        raise SpecError(
            f'{what}={said(given)} is no split: give "unified", "proportional", or a share of the '
            'budget for each stream, e.g. {"orders": 0.3, "payments": 0.7}'
        )
    for name, share in given.items():
        text(f"{what} of a stream", name)
        if not is_number(share):
            raise SpecError(f"{what}: the share {said(share)} of {name!r} is not a number")
    return tuple(sorted(given.items()))
