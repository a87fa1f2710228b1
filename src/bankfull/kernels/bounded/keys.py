"""Keys of a shedding join: their numbers, how often they came, and what they cost in bytes.

A key has a number, and statistics under it, while somebody stored has it and some time beyond. One
that was forgotten and comes again finds its counts in a sketch (``sketch.py``). In bytes, whoever
is the first of a stream to hold a key pays for it (``memory.link``).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bankfull.kernels.bounded import sketch, withsets
from bankfull.kernels.bounded.memory import (
    Memory,
    cost_of_key,
    first_key,
    held,
    key_at,
    next_key,
    on_keys,
)
from bankfull.kernels.compiler import Int64, inlined, kernel
from bankfull.kernels.hashing import GOLDEN
from bankfull.kernels.predicates import EQUAL


@inlined
def key_number(memory: Memory, code: np.uint64, join: int) -> Any:
    """Return the number of a key of a join; a new key gets the next one, and its counts back."""
    known = memory.now.keys_used
    number = _number(memory, code, join)
    if number == known:
        before = 0.0
        if memory.sketch.shape[1] > 0 and memory.joins[join].kind == EQUAL:
            for stream in range(memory.sketch.shape[0]):
                count = sketch.seen(memory.sketch, stream, _of_join(code, join))
                memory.stats[number, stream] = count
                before += count
        memory.now.keys_ever += before == 0.0
    return number


@inlined
def count_key(memory: Memory, key: int, stream: int) -> None:
    """Count the arrival of a key of a join on keys."""
    memory.stats[key, stream] += 1.0
    if memory.sketch.shape[1] > 0:
        code = _of_join(memory.codes[key, 0], int(memory.codes[key, 1]))
        sketch.add(memory.sketch, memory.sketched, stream, code)


@inlined
def _of_join(code: np.uint64, join: int) -> Any:
    return code ^ (np.uint64(join + 1) * GOLDEN)


@inlined
def _number(memory: Memory, code: np.uint64, join: int) -> Any:
    table = memory.table
    last = table.size - 1
    mixed = _of_join(code, join) * GOLDEN
    at = np.int64(mixed >> np.uint64(32)) & last
    while True:
        number = table[at]
        if number < 0:
            number = memory.now.keys_used
            memory.now.keys_used = number + 1
            table[at] = number
            memory.codes[number, 0] = code
            memory.codes[number, 1] = np.uint64(join)
            return number
        if memory.codes[number, 0] == code and memory.codes[number, 1] == np.uint64(join):
            return number
        at = (at + 1) & last


@inlined
def find_key(memory: Memory, code: np.uint64, join: int) -> Any:
    """Return the number of a key of a join, or -1 if it is not remembered."""
    last = memory.table.size - 1
    at = np.int64((_of_join(code, join) * GOLDEN) >> np.uint64(32)) & last
    while True:
        number = memory.table[at]
        if number < 0:
            return -1
        if memory.codes[number, 0] == code and memory.codes[number, 1] == np.uint64(join):
            return number
        at = (at + 1) & last


@inlined
def take_notes(memory: Memory, key: int) -> Any:
    """Give a key a row of notes, all zero; whoever holds the key pays for it.

    So what is stored may take more than the budget, until ``budget.settle`` at the end of the turn.
    """
    row = memory.now.noted
    memory.now.noted = row + 1
    memory.rows[key] = row
    bytes_more = memory.joins[int(memory.codes[key, 1])].note_bytes
    for stream in range(memory.streams.shape[0]):
        if held(memory, key, stream) > 0:
            memory.buffers[memory.streams[stream].own_buffer].used += bytes_more
    return row


@kernel
def number_again(memory: Memory, keep: Int64, codes: NDArray[np.uint64]) -> None:
    """Fill an empty table with the keys numbered ``0`` to ``keep.size``, of the old ``codes``."""
    for i in range(keep.size):
        _number(memory, codes[keep[i], 0], int(codes[keep[i], 1]))


@inlined
def extra_bytes(memory: Memory, slot: int, stream: int, alone: bool) -> Any:
    """Return what a newcomer's keys cost: all (``alone``), or those nobody of its stream holds."""
    total = withsets.extra_bytes(memory.sets, memory, slot, stream, alone)
    for join in range(memory.joins.shape[0]):
        key = memory.links[slot, join].first
        if key >= 0 and on_keys(memory, join) and (alone or held(memory, key, stream) == 0):
            total += cost_of_key(memory, join, key)
    return total


@inlined
def keys_fit(memory: Memory, bags: Any, i: int) -> bool:
    """Tell whether an arrival's keys may all be new, and not too many numbers lie idle."""
    now = memory.now
    wanted = memory.joins.shape[0] + withsets.items_of(memory.sets, bags, i)
    fits = now.keys_used + wanted <= now.keys_most
    return fits and now.held >= now.held_least  # type: ignore[no-any-return]


@inlined
def bytes_of(memory: Memory, slot: int) -> float:
    """Return what a stored tuple takes, with its part of the keys that it shares with others."""
    stream, total = memory.slots[slot].stream, float(memory.slots[slot].cost)
    for join in range(memory.joins.shape[0]):
        if memory.joins[join].key_bytes > 0:
            place = first_key(memory, slot, join)
            while place >= 0:
                key = key_at(memory, join, place)
                holders = max(1, held(memory, key, stream))
                total += cost_of_key(memory, join, key) / holders
                place = next_key(memory, join, place)
    return total
