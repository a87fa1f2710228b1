"""Every error says what was given, why it cannot work and what to do.

All of them derive from :class:`BankfullError`, so one ``except`` catches whatever the library
refuses on purpose; anything else that escapes is a bug.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class BankfullError(Exception):
    """Base of all errors raised on purpose."""


class SpecError(BankfullError):
    """What was asked for cannot mean anything (a negative window, an unknown word)."""


class PlanError(BankfullError):
    """The request is meaningful but does not fit the streams it was given."""


class DataError(BankfullError):
    """A row or batch is unusable and the caller asked for ``strict=True``."""


class SourceError(BankfullError):
    """A source failed while it was being read."""


class StateStoreError(BankfullError):
    """The engine's state store, to which a runtime wrote, does not answer any more."""


class SnapshotError(BankfullError):
    """A snapshot is damaged, foreign or from an unknown version."""


def closest(word: object, known: Iterable[str]) -> str:
    """Return ``known`` as advice, the most similar name first; capitals make no difference.

    >>> closest("ordr_id", ["order_id", "amount"])
    "did you mean 'order_id'? known: 'amount', 'order_id'"
    >>> closest("ID", ["id", "it"])
    "did you mean 'id'? known: 'id', 'it'"
    """
    names = sorted(set(known))
    listed = ", ".join(repr(name) for name in names) or "none"
    if not isinstance(word, str):
        return f"known: {listed}"
    plain = {name.casefold(): name for name in reversed(names)}
    wanted = word.casefold()
    similar = [wanted] if wanted in plain else []
    similar = similar or difflib.get_close_matches(wanted, plain, n=1)
    return f"did you mean {plain[similar[0]]!r}? known: {listed}" if similar else f"known: {listed}"
