"""Joins on equal keys of three to five streams: tuple at a time over a whole batch.

Like ``equijoin.py``, over the same chains and with the same search.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bankfull.kernels.compiler import Int64, inlined, kernel, rule
from bankfull.kernels.exact.chains import (
    UNKEYED,
    Keyed,
    Part,
    Table,
    bucket_of,
    insert,
    is_own,
    newest,
    older,
)
from bankfull.kernels.exact.equality import next_partner, write
from bankfull.kernels.exact.merge import UNBOUNDED, Clock, next_stream, raise_low
from bankfull.kernels.probes import chains as probe
from bankfull.kernels.probes.selection import Everything

#: Tuples of a stream whose buckets are read ahead of their turn.
AHEAD = 64


@inlined
def _last_time(times: tuple[Int64, ...], clock: Clock, s: int) -> int:
    """Return up to which time the next tuples of stream ``s`` come before those of the others."""
    last = UNBOUNDED
    for j in range(len(times)):
        if j != s and clock.cursor[j] < clock.end[j]:
            t = times[j][clock.cursor[j] - clock.base[j]]
            last = min(last, t - (clock.rank[j] < clock.rank[s]))
    return last


class ChainsOfBucket(NamedTuple):
    """The chains of all streams, for an arrival of stream ``s``: its time and the code of its key.

    Members must lie within their own window of the latest member, which makes every pair fit
    (ARCHITECTURE.md). Of the members chosen before that of stream j so much is known:
    ``latest[j]``, their largest time, and how long after it all their windows still reach,
    ``ahead[j]``. What does not fit with all of them is not followed further. ``first[j]`` is the
    newest partner of the arrival itself.
    """

    times: tuple[Int64, ...]
    codes: tuple[NDArray[np.uint64], ...]
    links: tuple[Int64, ...]
    clock: Clock
    scan: bool
    code: np.uint64
    room: Int64
    out: Int64
    joined: Int64


#: Rows of the room for one arrival: its members, and what ``ChainsOfBucket`` says.
_AT, _LATEST, _AHEAD, _FIRST, _FETCHED, _READ = range(6)


@rule(probe.newest_candidate, ChainsOfBucket)
def _newest(chains: ChainsOfBucket, j: int) -> Any:
    return chains.room[_FIRST, j]


@rule(probe.older_candidate, ChainsOfBucket)
def _older(chains: ChainsOfBucket, j: int, x: int) -> Any:
    return older(chains.links[j], x - chains.clock.base[j], x, chains.scan)


@rule(probe.next_partner, ChainsOfBucket)
def _next_partner(chains: ChainsOfBucket, j: int, x: int, compared: int) -> tuple[int, bool, int]:
    clock, room = chains.clock, chains.room
    return next_partner(
        Everything(0), room[_LATEST, j], chains.code, room[_AHEAD, j],
        Keyed(chains.times[j], chains.codes[j], chains.links[j]), clock.base[j], clock.low[j],
        clock.span[j], x, chains.scan, compared,
    )  # fmt: skip


@rule(probe.choose, ChainsOfBucket)
def _choose(chains: ChainsOfBucket, j: int, x: int, deeper: int) -> None:
    room = chains.room
    later = chains.times[j][x - chains.clock.base[j]] - room[_LATEST, j]
    room[_LATEST, deeper] = room[_LATEST, j] + max(later, 0)
    room[_AHEAD, deeper] = min(
        room[_AHEAD, j] - max(later, 0), chains.clock.span[j] + min(later, 0)
    )


@rule(probe.write_result, ChainsOfBucket)
def _write(chains: ChainsOfBucket, j: int, x: int, count: int) -> None:
    t = chains.times[j][x - chains.clock.base[j]]
    latest = max(t, chains.room[_LATEST, j])
    write(chains.room[_AT], latest, chains.out, chains.joined, count)


@inlined
def _combinations(
    times: tuple[Int64, ...], codes: tuple[NDArray[np.uint64], ...], links: tuple[Int64, ...],
    clock: Clock, table: Table, s: int, own: int, t: int, code: np.uint64, bucket: int,
    room: Int64, out: Int64, joined: Int64, count: int,
) -> tuple[int, int]:  # fmt: skip
    """Find one partner from every other stream, for tuple ``own`` of stream ``s``.

    Without a partner in every stream there is no result, which ends most searches early.
    """
    streams = len(times)
    looked = 0
    for k in range(streams):
        if k != s:
            x, found, looked = next_partner(
                Everything(0), t, code, clock.span[s], Keyed(times[k], codes[k], links[k]),
                clock.base[k], clock.low[k], clock.span[k],
                newest(table, bucket + k, clock.cursor[k]), table.scan, looked,
            )  # fmt: skip
            if not found:
                return count, looked
            room[_FIRST, k] = x
    j = 1 if s == 0 else 0
    room[_AT, s], room[_LATEST, j], room[_AHEAD, j] = own, t, clock.span[s]
    chains = ChainsOfBucket(times, codes, links, clock, table.scan, code, room, out, joined)
    count, compared = probe.find_all(chains, room[_AT], s, streams, count, joined.size)
    return count, looked + compared


@inlined
def _has_candidates(
    times: tuple[Int64, ...], clock: Clock, table: Table, s: int, t: int, bucket: int
) -> bool:
    """Tell whether every other stream has a tuple in a bucket: if not, there is no result.

    Only if all have, as far as is known, it is found out how many of their tuples have left by now.
    """
    streams = len(times)
    if not table.scan:
        for k in range(streams):
            if k != s and table.heads[bucket + k] < clock.low[k]:
                return False
    for k in range(streams):
        if k != s:
            clock.low[k] = raise_low(
                times[k], clock.base[k], clock.cursor[k], clock.low[k], t, clock.span[k],
                clock.rows[k],
            )  # fmt: skip
            if not table.scan and table.heads[bucket + k] < clock.low[k]:
                return False
    return True


@inlined
def _read_ahead(
    times: tuple[Int64, ...], codes: tuple[NDArray[np.uint64], ...], links: tuple[Int64, ...],
    clock: Clock, table: Table, s: int, start: int, stop: int,
) -> Any:  # fmt: skip
    """Read where the searches of tuples ``start`` to ``stop`` of stream ``s`` begin.

    The processor then fetches it for all of them at once, where a search would wait for one after
    the other; nothing relies on it. Returns a number that depends on all that was read, which must
    be written somewhere, or the compiler leaves it out.
    """
    streams = len(times)
    own_codes, own_base = codes[s], clock.base[s]
    read = np.uint64(0)
    for k in range(streams):
        if k == s:
            continue
        other_times, other_codes, other_links = times[k], codes[k], links[k]
        base, low = clock.base[k], clock.low[k]
        for q in range(start, stop):
            x = table.heads[bucket_of(own_codes[q - own_base], table.shift) * streams + k]
            i = (x - base) * (x >= low)
            read ^= other_codes[i] ^ np.uint64(other_times[i] ^ other_links[i])
    return np.int64(read)


@kernel
def join_many(
    times: tuple[Int64, ...], codes: tuple[NDArray[np.uint64], ...], links: tuple[Int64, ...],
    clock: Clock, table: Table, part: Part, out: Int64, joined: Int64, room: Int64,
) -> tuple[int, int, bool]:  # fmt: skip
    """Like ``equijoin.join_pairs`` for three and more streams; ``room`` is six numbers each."""
    streams = len(times)
    fetched = room[_FETCHED]
    for j in range(streams):
        fetched[j] = clock.cursor[j]
    count = 0
    compared = 0
    while True:
        s = next_stream(times, clock)
        if s < 0:
            return count, compared, False
        # Tuples of one stream whose turn comes one after the other; the arrays are chosen once.
        last, base, end = _last_time(times, clock, s), clock.base[s], clock.end[s]
        own_times, own_codes, own_links = times[s], codes[s], links[s]
        for own in range(clock.cursor[s], end):
            i = own - base
            t = own_times[i]
            if t > last:
                break
            if own >= fetched[s]:
                fetched[s] = min(end, own + AHEAD)
                if not table.scan:
                    room[_READ, s] ^= _read_ahead(
                        times, codes, links, clock, table, s, own, fetched[s]
                    )
            code = own_codes[i]
            bucket = bucket_of(code, table.shift)
            if own_links[i] != UNKEYED and is_own(bucket, table, part):
                bucket *= streams
                if _has_candidates(times, clock, table, s, t, bucket):
                    after, steps = _combinations(
                        times, codes, links, clock, table, s, own, t, code, bucket, room, out,
                        joined, count,
                    )  # fmt: skip
                    if after < 0:
                        return count, compared, True
                    count = after
                    compared += steps
                insert(own, own_links, i, table, bucket + s)
            clock.cursor[s] = own + 1
