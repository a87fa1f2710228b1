"""Reading TOML tables by what each key must be; whatever is wrong is told by file and key."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from bankfull.errors import SpecError, closest

_Read = TypeVar("_Read")
_KINDS = {str: "text", bool: "true or false", int: "a whole number", float: "a number"}


class Table:
    """One table of a TOML file: keys are taken one by one, what is left over is refused."""

    def __init__(self, file: str, where: str, values: object, example: str) -> None:
        self.file = file
        self.where = where
        if not isinstance(values, dict):
            raise SpecError(f"{file}: {where} is {_shown(values)}: make it a table, e.g. {example}")
        self._values: dict[str, Any] = values
        self._known: list[str] = []

    def __contains__(self, key: str) -> bool:
        self._known.append(key)
        return key in self._values

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def take(self, key: str, read: Callable[[Any], _Read], advice: str) -> _Read:
        """Read a key that must be there."""
        if key not in self:
            missing = f"{self.file}: {self.where} has no {key}: {advice}"
            near = closest(key, self._values)
            raise SpecError(missing + (f" ({near})" if near.startswith("did you") else ""))
        return self.read(key, read)

    def read(self, key: str, read: Callable[[Any], _Read]) -> _Read:
        """Read a key that is there; an error names it."""
        with self.told(key):
            return read(self._values[key])

    def text(self, key: str, advice: str) -> str:
        """Read a text that must be there."""
        return self.take(key, lambda value: typed(value, str, advice), advice)

    def optional(self, key: str, read: Callable[[Any], _Read], default: _Read) -> _Read:
        """Read a key, or return ``default`` without it."""
        return self.read(key, read) if key in self else default

    def done(self) -> None:
        """Refuse keys that nobody asked for."""
        for key in self._values:
            if key not in self._known:
                raise SpecError(
                    f"{self.file}: {self.where} has the unknown key {key!r}: "
                    f"{closest(key, self._known)}"
                )

    @contextlib.contextmanager
    def told(self, key: str = "") -> Iterator[None]:
        """Put file, table and key before what a spec has to say."""
        try:
            yield
        except SpecError as error:
            place = f"{self.where} {key}".strip()
            raise type(error)(f"{self.file}: {place}: {error}") from None


def typed(value: object, kind: type[_Read], advice: str) -> _Read:
    """Return ``value`` if it is a ``kind``; a truth value is not a number."""
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise SpecError(f"{_shown(value)} is not {_KINDS[kind]}: {advice}")
    return value


def one_or_more(value: object, advice: str) -> tuple[str, ...]:
    """Read a text or a list of texts."""
    given: Iterable[object] = value if isinstance(value, list) else [value]
    return tuple(typed(item, str, advice) for item in given)


def _shown(value: object) -> str:
    shown = {True: "true", False: "false"}[value] if isinstance(value, bool) else repr(value)
    return shown if len(shown) <= 60 else shown[:57] + "..."
