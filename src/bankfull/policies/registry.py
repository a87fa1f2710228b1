"""What every policy is made of, and the list of them all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from importlib import import_module
from typing import Any, ClassVar, TypeVar

from bankfull.errors import SpecError, closest
from bankfull.spec import Keep


@dataclass(frozen=True)
class Shape:
    """What a policy learns of the operator it works for; one entry a stream or buffer.

    ``spans`` are the windows in units of time (count windows: a very large number), ``scale`` the
    longest of them, or minus so many tuples where windows are counted; ``tuples`` how many may be
    stored at once, as far as that is known; ``combine`` the place of the importance's rule in
    ``spec.overload.COMBINATIONS``; ``once``: a tuple of the stream has one partner at most;
    ``sampled``: a policy may learn from the sample that is kept aside for recall; ``weighed``: some
    stream has an importance.
    """

    spans: tuple[int, ...]
    joins: int
    scale: float
    buffers: int
    tuples: int
    combine: int
    seed: int
    once: tuple[bool, ...] = ()
    sampled: bool = False
    weighed: bool = True


@dataclass(frozen=True)
class Policy:
    """Parameters of a policy, checked; :meth:`start` makes what the kernel runs.

    A subclass is a frozen dataclass of numbers and words, registered with :func:`register`. Its
    file holds its rules: functions of ``bankfull.kernels.bounded.hooks`` for the named tuple that
    ``start`` returns.
    """

    name: ClassVar[str] = ""
    paper: ClassVar[str] = ""
    #: How many numbers the policy wants for every key and stream, beyond the count of arrivals; how
    #: many for every key; and how many for every key and stream that seven digits are enough for.
    key_stats: ClassVar[int] = 0
    key_times: ClassVar[int] = 0
    key_notes: ClassVar[int] = 0
    #: Whether keys must be remembered for ever (exact counts) or may be forgotten when many. A
    #: budget in bytes bounds what is remembered too, so there they may always.
    exact_keys: ClassVar[bool] = False
    #: Whether anybody asks how often a key has come: else that of forgotten keys is not counted.
    counts_keys: ClassVar[bool] = True
    #: Whether ``partners_stored`` is asked of tuples already stored, which costs joins on sets a
    #: search for each tuple that comes or goes; without it they know what it was on arrival.
    counts_partners: ClassVar[bool] = False
    #: Whether the policy has a meaning in joins on sets, where a tuple has a key for every item.
    sets: ClassVar[bool] = True

    def start(self, shape: Shape) -> Any:
        """Return a named tuple of parameters and arrays, as it is before the first tuple."""
        raise NotImplementedError

    def learns_every(self, shape: Shape, number: int) -> int:
        """Return after how many tuples :meth:`learn` is called, once ``number`` came; 0: never."""
        return 0

    def feed(self, state: Any) -> Any:
        """Return the ``Feed`` (``kernels/recall/feed.py``) that the sample writes for it."""
        return None

    def learn(self, state: Any, memory: Any, watch: Any, items: Any) -> None:
        """Learn from the sample kept aside; ``items``: how those of joins on sets are numbered."""

    def keep(self) -> Keep:
        """Return the policy as part of a query."""
        given = tuple((field.name, getattr(self, field.name)) for field in fields(self))
        own = type(self).__module__.startswith("bankfull.policies.")
        return Keep(self.name if own else f"{type(self).__module__}:{type(self).__name__}", given)


Kind = TypeVar("Kind", bound=type[Policy])
POLICIES: dict[str, type[Policy]] = {}


def register(name: str, paper: str) -> Callable[[Kind], Kind]:
    """Enter a policy in the list under its name."""

    def enter(kind: Kind) -> Kind:
        kind.name, kind.paper = name, paper
        POLICIES[name] = kind
        return kind

    return enter


def find(name: str) -> type[Policy]:
    """Return a policy by name: one of ours, or a user's as ``module:Class``."""
    import bankfull.policies  # noqa: F401 - fills the list

    module, _, own = name.partition(":")
    kind: Any = POLICIES.get(name)
    if own:
        try:
            kind = getattr(import_module(module), own)
        except (ImportError, AttributeError) as error:
            raise SpecError(f"the policy {name!r} cannot be imported: {error}") from error
    if kind is None:
        raise SpecError(f"policy {name!r} is unknown: {closest(name, POLICIES)}")
    if not isinstance(kind, type):
        from bankfull.policies.own import policy_of

        kind = policy_of(kind)
    return kind  # type: ignore[no-any-return]


def resolve(keep: Keep) -> Policy:
    """Return the policy that a query names, with its parameters."""
    kind = find(keep.policy)
    try:
        return kind(**dict(keep.parameters))
    except TypeError as error:
        raise SpecError(f"policy {keep.policy!r}: {error}") from error


def check(name: str, what: str, value: float, low: float, high: float) -> None:
    """Refuse a parameter outside its range."""
    if not isinstance(value, int | float) or not low <= value <= high:
        raise SpecError(f"{name}: {what}={value!r} must lie between {low:g} and {high:g}")
