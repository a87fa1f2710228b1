"""A plan in words."""

from __future__ import annotations

from bankfull.core import Plan
from bankfull.spec import Equal, Join


def explain(plan: Plan) -> str:
    """Describe a plan: streams, joins, windows, how partners are found, what bounds memory."""
    lines = []
    for stream in plan.query.streams:
        idle = "" if stream.idle is None else f", idle {stream.idle}"
        lines.append(f"  stream {stream.name}: time {stream.time}, late {stream.late}{idle}")
        if stream.unique:
            columns = ", ".join(stream.unique)
            lines.append(f"    unique {columns}: {_use_of(plan, stream.name)}")
    shed = plan.query.shed
    for join in plan.query.joins:
        lines.append(f"  join {join.name}: {join.predicate}, {_search(join, shed is not None)}")
        for name, length in zip(join.streams, join.windows, strict=True):
            lines.append(f"    a tuple of {name} stays joinable for {length}")
    if plan.ordered:
        lines.append("  tuples wait until every stream has reached their time")
    weighed = [stream.name for stream in plan.query.streams if stream.importance]
    if shed is None:
        lines.append("  overload: block (exact; a full source waits)")
        if weighed:
            lines.append(f"  importance of {', '.join(weighed)}: not used, as nothing is dropped")
        return "\n".join(lines)
    most = f"at most {shed.memory}" if shed.memory else f"memory for a recall of {shed.recall}"
    lines.append(f"  overload: shed ({most}, kept by {shed.keep.policy})")
    if weighed:
        lines.append(f"  importance of a result: {shed.importance} of {', '.join(weighed)}")
    return "\n".join(lines)


def _use_of(plan: Plan, name: str) -> str:
    """Say what it is good for that a stream is unique: only ``gain`` makes use of it."""
    if plan.shed is not None and plan.query.shed is not None:
        streams = [stream.name for stream in plan.query.streams]
        for join in plan.query.joins:
            others = [one for one in join.streams if one != name]
            once = name in join.streams and plan.shed.shape.once[streams.index(others[0])]
            if once and plan.query.shed.keep.policy == "gain":
                return f"a tuple of {others[0]} that has met its partner goes first"
    return "known, and not used here"


def _search(join: Join, bounded: bool) -> str:
    """Say how partners are found: a bounded store has one way for keys and one for sets."""
    used = "hash" if isinstance(join.predicate, Equal) else "inverted"
    if not bounded or join.search == used:
        return f"searched by {join.search}"
    return f"searched by {used} (search={join.search!r} is not used under a budget)"
