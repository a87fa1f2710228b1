"""What joins on sets add to every step: nothing, where a query has none.

The first argument is ``memory.sets``, or ``watch.sets`` of the tuples kept aside for recall. Where
that is None these bodies are compiled, otherwise the rules of ``slotsets.py``, ``sethooks.py`` and
``keptsets.py``: a query without sets neither compiles nor runs any of it. What is said here holds
for joins on keys.
"""

from __future__ import annotations

from typing import Any

from bankfull.kernels.compiler import hook


@hook
def on_keys(sets: Any, memory: Any, join: int) -> bool:
    """Tell whether a join compares one key a tuple."""
    return True


@hook
def key_at(sets: Any, memory: Any, join: int, place: int) -> Any:
    """Return the number of the key at a place: the place itself."""
    return place


@hook
def next_key(sets: Any, memory: Any, join: int, place: int) -> Any:
    """Return where a tuple's next key is: a tuple has one."""
    return -1


@hook
def pooled(sets: Any, memory: Any, join: int, stream: int, so_far: float, more: float) -> float:
    """Return what several keys of a tuple promise together."""
    return more


@hook
def no_item(sets: Any, memory: Any, join: int) -> None:
    """Begin with a tuple's items, of which none has been looked at."""


@hook
def one_item(sets: Any, memory: Any, join: int, chance: float) -> None:
    """Look at one of a tuple's items, which an arrival holds with some chance."""


@hook
def matching(sets: Any, memory: Any, join: int, promised: float, many: float) -> float:
    """Return how many matches the items promise that a tuple may expect in common with arrivals.

    ``many``: items that came for each tuple of the other stream.
    """
    return promised


@hook
def agreeing(sets: Any, slot: int, join: int) -> Any:
    """Return how many stored tuples agree with one in a join on sets."""
    return 0


@hook
def link(sets: Any, memory: Any, slot: int) -> None:
    """Enter a tuple in the lists of its items."""


@hook
def unlink(sets: Any, memory: Any, slot: int) -> None:
    """Take a tuple out of the lists of its items, and free what it took."""


@hook
def forgo(sets: Any, memory: Any, slot: int) -> None:
    """Free what an arrival's items took: it is not stored."""


@hook
def extra_bytes(sets: Any, memory: Any, slot: int, stream: int, alone: bool) -> Any:
    """Return what a newcomer's items cost: all (``alone``), or those nobody of its stream holds."""
    return 0


@hook
def items_of(sets: Any, bags: Any, i: int) -> Any:
    """Return how many items an arrival has."""
    return 0


@hook
def meet(
    sets: Any, memory: Any, bags: Any, join: int, i: int, slot: int, s: int, t: int, row: int,
    importance: float, combine: int, out: Any, count: int, selections: Any,
) -> tuple[int, int]:  # fmt: skip
    """Write an arrival's items down and join it; returns (results, comparisons).

    Without room there are -1 results. ``selections`` says what it is compared with.
    """
    return count, 0


@hook
def learn(
    sets: Any, policy: Any, memory: Any, join: int, slot: int, s: int, importance: float, t: int
) -> None:
    """Count an arrival once for every item it holds."""


@hook
def tell_agreement(
    sets: Any, policy: Any, memory: Any, join: int, slot: int, own: int, t: int
) -> None:
    """Tell the stored tuples that agree with an arrival of it."""


@hook
def count_partners(sets: Any, policy: Any, memory: Any, slot: int, t: int, change: int) -> None:
    """Count and tell those that agree with a tuple that has come or goes."""


# ------------------------------------------------------------------ tuples kept aside for recall


@hook
def near_items(
    sets: Any, watch: Any, arrivals: Any, bags: Any, i: int,
    join: int, joins: Any, side: int, near: Any,
) -> int:  # fmt: skip
    """List the kept tuples that an arrival joins with on sets, newest first; returns how many."""
    return 0


@hook
def keep_items(sets: Any, bags: Any, i: int, kept: int) -> None:
    """Write the items of a tuple that is kept aside down."""


@hook
def first_kept(sets: Any, kept: int, join: int) -> Any:
    """Return where the items of a tuple that is kept aside begin."""
    return -1


@hook
def next_kept(sets: Any, place: int) -> Any:
    """Return where its next item is."""
    return -1


@hook
def key_kept(sets: Any, items: Any, memory: Any, join: int, place: int) -> Any:
    """Return the number of the key that an item at a place is, or -1 if nobody remembers it.

    ``items``: the numbering of the items of every join.
    """
    return -1


@hook
def forget_items(sets: Any, kept: int) -> None:
    """Forget the items of a tuple that is no longer kept."""


@hook
def filled(sets: Any, bags: Any, i: int, room: int) -> float:
    """Return the part of the room for items that is taken, with those of arrival i (-1: nobody)."""
    return 0.0
