"""A plan in words."""

from __future__ import annotations

from bankfull.core import Plan
from bankfull.spec import Equal, Join


def explain(plan: Plan, threads: int = 1) -> str:
    """Describe a plan: streams, joins, windows, how partners are found, what bounds memory."""
    lines = []
    for stream in plan.query.streams:
        idle = "" if stream.idle is None else f", idle {stream.idle}"
        lines.append(f"  stream {stream.name}: time {stream.time}, late {stream.late}{idle}")
        if stream.unique:
            columns = ", ".join(stream.unique)
            lines.append(f"    unique {columns}: {_use_of(plan, stream.name)}")
    shed = plan.query.shed
    lines.append(f"  {_threads(plan, threads)}")
    for join in plan.query.joins:
        lines.append(
            f"  join {join.name}: {join.predicate}, {_search(join, plan.shed is not None)}"
        )
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
    if shed.bounds_memory:
        most = f"at most {shed.memory}" if shed.memory else f"memory for a recall of {shed.recall}"
        lines.append(f"  overload: shed ({most}, kept by {shed.keep.policy})")
    if plan.compare is not None:
        lines.append(f"  overload: shed ({_comparisons(plan)})")
    if weighed:
        lines.append(f"  importance of a result: {shed.importance} of {', '.join(weighed)}")
    return "\n".join(lines)


def _comparisons(plan: Plan) -> str:
    """Say how much is compared, and how it is chosen."""
    assert plan.compare is not None
    assert plan.query.shed is not None
    cpu, how = plan.query.shed.cpu, plan.query.shed.compare.algorithm
    most = f"{cpu:.0%} of the time" if isinstance(cpu, float | int) else f"at most {cpu}"
    windows = 1 + max(-(-span // plan.compare.basic) for join in plan.joins for span in join.span)
    return f"{most}, chosen by {how} among {windows} basic windows"


def _threads(plan: Plan, threads: int) -> str:
    """Say how many threads search for partners, and why not more."""
    if threads == 1:
        return "threads: 1"
    if plan.shed is not None or plan.compare is not None:
        budget = "memory budget" if plan.shed is not None else "budget of comparisons"
        return f"threads: 1 of {threads}, as one thread keeps a {budget}"
    others = [
        join.name
        for join in plan.query.joins
        if not isinstance(join.predicate, Equal) or join.search == "scan"
    ]
    if len(others) == len(plan.query.joins):
        return f"threads: 1 of {threads}, as one thread searches sets and scans"
    aside = f"; {', '.join(others)}: one thread, as it searches sets or scans" if others else ""
    return f"threads: {threads}, each for a part of the keys, where many rows come at once{aside}"


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
