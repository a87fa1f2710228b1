"""The fields of what a bounded store keeps in arrays: every number has a name.

A record is one row of an array: ``memory.slots[slot].time``. Compiled, that costs what a column of
a matrix costs. Uncompiled, NumPy's own attributes would hide a field of the same name, so no field
is called like one (``size``, ``copy``): :func:`_record` asserts it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

#: The most streams of a join.
MEMBERS = 5
#: Numbers that a policy may write down for each stored tuple.
NOTES = 4


def _record(whole: str = "", real: str = "", small: str = "", **nested: Any) -> np.dtype[Any]:
    """Return the type of a record with numbers, whole, real and small, and short arrays of them."""
    fields: list[Any] = [(name, np.int64) for name in whole.split()]
    fields += [(name, np.float64) for name in real.split()]
    fields += [(name, np.int32) for name in small.split()]
    fields += [(name, kind, (length,)) for name, (kind, length) in nested.items()]
    for field in fields:
        assert not hasattr(np.recarray, field[0]), f"{field[0]} is an attribute of every array"
    return np.dtype((np.record, fields))


#: A stored tuple. ``nth``: how many of its stream came before it; ``cost``: what it takes of the
#: budget; ``place``: where it is in the heap of its ``buffer``; ``older`` and ``newer``: neighbours
#: of the same stream (``older`` of a free slot is the next free one); ``is_copy``: 1 if another
#: operator counts this tuple; ``notes`` belong to the policy.
SLOT = _record(
    "stream time seq row cost nth older newer buffer",
    "priority tie last_tie importance",
    "place is_copy",
    notes=(np.float64, NOTES),
)
#: A stored tuple in one join. ``first``: the number of its key, or its first posting in a join on
#: sets; ``older`` and ``newer``: neighbours with the same key.
LINK = _record("first older newer")
#: The tuples of one stream with one key: the newest, and how many. In a join on sets: postings.
LIST = _record("newest held")
#: A stream. ``span`` and ``rows`` are the longest windows, or beyond all. A tuple leaves when it is
#: older than ``needed_span`` and at least ``needed_rows`` of its stream came after it: no window of
#: any join, by time or by rows, holds it then. From ``inserted`` on copies are not counted, but for
#: those lost. ``weighed`` is 1 if the stream has a column of importance: only then do its tuples
#: count in that of a result.
STREAM = _record(
    "oldest newest arrived span rows needed_span needed_rows own_buffer inserted stored shed "
    "evicted expired copies_lost weighed"
)
#: What a budget bounds: what is taken, what may be, and how many tuples its heap holds.
BUFFER = _record("used capacity heaped")
#: A join. ``kind``: how it compares; ``contained``: the stream whose sets must lie within the
#: other's; ``key_bytes``: what a key costs in bytes; ``note_bytes``: what its notes do, if it has
#: any; ``counted``: whether stored tuples that agree are counted; ``members``: its streams, with
#: the length of their windows in time and in tuples.
JOIN = _record(
    "width kind contained key_bytes note_bytes counted",
    members=(np.int64, MEMBERS),
    spans=(np.int64, MEMBERS),
    rows=(np.int64, MEMBERS),
)
#: Where the store stands: the first free slot, the number and time of the next tuple, numbers of
#: keys in use, draws so far. Of joins on sets: the first free posting, how many are not free, the
#: largest mark given out (``slotsets.py``). ``keys_most``: how many keys there may be; ``held``:
#: how many are held by stored tuples, once for each stream; ``held_least``: at least how many must
#: be before keys are numbered anew; ``keys_ever`` also counts keys that are forgotten; ``noted``:
#: rows of notes in use.
NOW = _record(
    "free seq_next time_now keys_used draws post_free posts_used marked keys_most held held_least "
    "keys_ever noted"
)
#: A stored tuple in a join on sets: how many items it has, and stored tuples that agree with it.
HELD_SET = _record("items agreeing")
#: An item of a stored tuple: the tuple, the item's number, neighbours of the same item, and the
#: tuple's next posting.
POST = np.dtype(
    (np.record, [(name, np.int32) for name in ("slot", "key", "older", "newer", "next")])
)
#: A tuple of the sample that recall is estimated from. ``nth``: how many of its stream came before
#: it; ``draw``: the number drawn for it, below its ``chance``; ``missed``: results it has missed,
#: and their importance, both divided by the chance; ``next``: the next free one, if nobody has it;
#: ``had``: partners it has had (``kernels/recall/feed.py``).
KEPT = _record("stream time nth seq next had", "importance chance draw", missed=(np.float64, 2))
#: Neighbours in a list of tuples of the sample.
CHAIN = _record("older newer")
#: Results, their importance, or recent results: how much was emitted, how much the sample says is
#: lost, the variance of that, the largest part that one tuple has in it, and what was really seen.
TOTAL = _record(real="emitted lost variance largest seen")
#: Where the sample stands: the first free tuple, how many are held, how many ever were.
SAMPLE_NOW = _record("free held drawn")
#: A set of the sample: its first posting and how many there are.
KEPT_SET = _record("first items")
#: An item of the sample: whose it is, its next one, and its neighbours in the chain.
KEPT_POST = np.dtype((np.record, [(name, np.int32) for name in ("kept", "next", "older", "newer")]))
#: Where the sample's postings stand: the first free one, how many are not, how many searches.
POSTS_NOW = _record("free used turn")


def records(shape: int | tuple[int, ...], kind: np.dtype[Any]) -> Any:
    """Return an array of records, all zero."""
    return np.zeros(shape, kind).view(np.recarray)
