"""Streams, joins over them, and the query that composes both in one operator."""

from __future__ import annotations

from dataclasses import dataclass

from bankfull.errors import SpecError, closest
from bankfull.spec import checks
from bankfull.spec.overload import Shed
from bankfull.spec.predicates import Equal, Predicate, spread
from bankfull.spec.spans import Duration, Rows, Span, Window, at_zero

#: How the opposite window is searched. ``auto`` is ``hash`` for equality, ``inverted`` for sets.
SEARCHES = ("auto", "hash", "inverted", "identifier", "scan")
STREAMS_MAX = 5


@dataclass(frozen=True, slots=True)
class Utility:
    """Importance by type: what a tuple is worth for each value of a column."""

    column: str
    worth: tuple[tuple[str | int, float], ...]

    def __post_init__(self) -> None:
        checks.text("utility column", self.column)
        if not self.worth:
            raise SpecError(f"utility of {self.column!r} names no types: give at least one")
        kinds = {type(value) for value, _ in self.worth}
        if not kinds <= {str, int} or len(kinds) > 1:
            raise SpecError(
                f"utility of {self.column!r}: types must be all text or all whole numbers"
            )
        for value, worth in self.worth:
            if not checks.is_number(worth) or not 0.0 < worth <= 1e25:
                raise SpecError(
                    f"utility of {self.column!r}: {value!r} is worth {checks.said(worth)}: give a "
                    "number above zero"
                )

    def __str__(self) -> str:
        return f"{self.column} ({len(self.worth)} types)"


@dataclass(frozen=True, slots=True)
class Stream:
    """One input: its name, which column is its time, how far that time may go back.

    ``idle`` is how far this stream may fall behind the others before they stop waiting for it.
    """

    name: str
    time: str
    late: Span = Duration(0)  # noqa: RUF009 - frozen, so sharing the default is safe
    importance: str | Utility | None = None
    unique: tuple[str, ...] = ()
    idle: Span | None = None

    def __post_init__(self) -> None:
        checks.text("stream name", self.name)
        checks.text("stream time", self.time)
        if self.importance is not None and not isinstance(self.importance, Utility):
            checks.text("stream importance", self.importance)
        for column in self.unique:
            checks.text("stream unique", column)
        object.__setattr__(self, "late", at_zero(self.late))

    @property
    def importance_column(self) -> str | None:
        """The column that a tuple's importance follows from, if it has one."""
        return self.importance.column if isinstance(self.importance, Utility) else self.importance


@dataclass(frozen=True, slots=True)
class Join:
    """One join: which streams, on what, how long a tuple of each stays joinable."""

    name: str
    streams: tuple[str, ...]
    predicate: Predicate
    windows: tuple[Window, ...]
    search: str = "auto"

    def __post_init__(self) -> None:
        checks.text("join name", self.name)
        count = len(self.streams)
        if not 2 <= count <= STREAMS_MAX:
            raise SpecError(f"join {self.name!r} has {count} streams: give two to {STREAMS_MAX}")
        if len(set(self.streams)) < count:
            raise SpecError(
                f"join {self.name!r} names a stream twice ({', '.join(self.streams)}): "
                "to join a stream with itself, pass it as two streams with different names"
            )
        object.__setattr__(self, "predicate", spread(self.predicate, count))
        object.__setattr__(self, "windows", tuple(map(at_zero, self.windows)))
        if len(self.windows) == 1:
            object.__setattr__(self, "windows", self.windows * count)
        if len(self.windows) != count:
            raise SpecError(
                f"join {self.name!r} has {count} streams and {len(self.windows)} windows: "
                "give one window for all, or one for each"
            )
        self._check_search()

    def _check_search(self) -> None:
        checks.word("search", self.search, SEARCHES)
        equality = isinstance(self.predicate, Equal)
        if self.search == "auto":
            object.__setattr__(self, "search", "hash" if equality else "inverted")
        allowed = ("hash", "scan") if equality else ("inverted", "identifier", "scan")
        if self.search not in allowed:
            raise SpecError(
                f"search {self.search!r} cannot answer {self.predicate}: use {' or '.join(allowed)}"
            )


@dataclass(frozen=True, slots=True)
class Query:
    """Joins over shared streams: each tuple is stored once, whatever the number of joins."""

    streams: tuple[Stream, ...]
    joins: tuple[Join, ...]
    basic_window: Window | None = None
    strict: bool = False
    shed: Shed | None = None

    def __post_init__(self) -> None:
        checks.flag("strict", self.strict)
        names = [stream.name for stream in self.streams]
        for kind, given in (("stream", names), ("join", [join.name for join in self.joins])):
            doubled = sorted({name for name in given if given.count(name) > 1})
            if doubled:
                raise SpecError(f"{kind} name {doubled[0]!r} is given twice: name each differently")
        if not self.joins:
            raise SpecError("a query without a join has no output: give at least one join")
        for join in self.joins:
            for name in join.streams:
                if name not in names:
                    raise SpecError(
                        f"join {join.name!r} reads the unknown stream {name!r}: "
                        f"{closest(name, names)}"
                    )
        used = {name for join in self.joins for name in join.streams}
        for name in names:
            if name not in used:
                raise SpecError(f"stream {name!r} is in no join: join it or leave it out")
        self._check_basic_window()
        self._check_shares(names)

    def _check_shares(self, names: list[str]) -> None:
        if self.shed is None or isinstance(self.shed.split, str):
            return
        given = [name for name, _ in self.shed.split]
        for name in given:
            if name not in names:
                raise SpecError(
                    f"split names the unknown stream {name!r}: {closest(name, names)}; a split "
                    "over the streams of several joins is given to bf.joins(..., overload=)"
                )
        for name in names:
            if name not in given:
                raise SpecError(f"split gives stream {name!r} no share: give every stream one")

    def _check_basic_window(self) -> None:
        basic = self.basic_window
        if basic is None:
            return
        if _size(basic) == 0:
            raise SpecError(f"basic_window is {basic}, a slice of nothing: give more than zero")
        for join in self.joins:
            for length in join.windows:
                if type(length) is type(basic) and 0 < _size(length) < _size(basic):
                    raise SpecError(
                        f"window {length} is shorter than the basic window {basic}: "
                        "lower basic_window or raise within"
                    )

    def stream(self, name: str) -> Stream:
        """Return the stream called ``name``."""
        return next(stream for stream in self.streams if stream.name == name)


def _size(length: Window) -> int:
    return length.nanoseconds if isinstance(length, Duration) else length.count


__all__ = ["SEARCHES", "STREAMS_MAX", "Join", "Query", "Rows", "Stream", "Utility"]
