"""What a claim looks at: one number at each place, computed from the points there.

An observer takes the points of an experiment and returns (where, number) pairs. Keywords select
points: ``workload="stock-like"``, several values as a tuple, or a test.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from bankfull.lab.claims import Observation, Observer, Points, Record

#: Stands for a ratio to nothing.
_BEYOND = 1e6


def curve_of(record: Record) -> str:
    """Return the name of the curve that a record belongs to."""
    return str(record.get("policy", record.get("system")))


def _values(group: Sequence[Record], field: str = "value") -> dict[str, float]:
    """Return a field of every system that has it."""
    return {curve_of(one): float(one[field]) for one in group if one.get(field) is not None}


def ratio(above: str, below: str, field: str = "value", **where: Any) -> Observer:
    """Observe one system's value over another's, everywhere both were measured."""

    def observe(points: Points) -> list[Observation]:
        found = []
        for label, group in points.places(where):
            values = _values(group, field)
            if above in values and below in values:
                found.append((label, _divide(values[above], values[below])))
        return found

    return observe


def level(system: str, field: str = "value", **where: Any) -> Observer:
    """Observe a system's value."""

    def observe(points: Points) -> list[Observation]:
        return [
            (label, float(record[field]))
            for label, group in points.places(where)
            for record in group
            if curve_of(record) == system
        ]

    return observe


def best_ratio(above: str, others: Sequence[str], field: str = "value", **where: Any) -> Observer:
    """Observe one system's value over the best of the others'."""

    def observe(points: Points) -> list[Observation]:
        found = []
        for label, group in points.places(where):
            values = _values(group, field)
            rivals = [values[name] for name in others if name in values and name != above]
            if above in values and rivals:
                found.append((label, _divide(values[above], max(rivals))))
        return found

    return observe


def change(
    above: str, along: str, below: str | None = None, field: str = "value", **where: Any
) -> Observer:
    """Observe how a value, or a ratio of two systems', changes from first to last ``along``."""

    def observe(points: Points) -> list[Observation]:
        found = []
        for label, group in points.places(where, without=(along,)):
            series: dict[float, dict[str, float]] = {}
            for record in group:
                series.setdefault(record[along], {})[curve_of(record)] = float(record[field])
            values = [
                _divide(there[above], there[below]) if below else there[above]
                for _, there in sorted(series.items())
                if above in there and (below is None or below in there)
            ]
            if len(values) > 1:
                found.append((label, values[-1] - values[0]))
        return found

    return observe


def _divide(above: float, below: float) -> float:
    """Divide; nothing over nothing is one, so that two empty results are equal."""
    if below == 0:
        return 1.0 if above == 0 else _BEYOND
    return min(above / below, _BEYOND)


def growth(system: str, along: str, field: str = "value", **where: Any) -> Observer:
    """Observe a system's last value over its first."""

    def observe(points: Points) -> list[Observation]:
        found = []
        for label, group in points.places(where, without=(along,)):
            mine = sorted(
                (record[along], float(record[field]))
                for record in group
                if curve_of(record) == system
            )
            if len(mine) > 1:
                found.append((label, _divide(mine[-1][1], mine[0][1])))
        return found

    return observe


def grown_apart(above: str, below: str, along: str, **where: Any) -> Observer:
    """Observe how much more one system's value grows than another's, from first to last."""

    def observe(points: Points) -> list[Observation]:
        rises = [dict(change(name, along, **where)(points)) for name in (above, below)]
        return [(label, rises[0][label] - rises[1][label]) for label in rises[0]]

    return observe


def mean_ratio(above: str, below: str, along: str, **where: Any) -> Observer:
    """Observe the mean, ``along`` a parameter, of one system's value over another's."""

    def observe(points: Points) -> list[Observation]:
        found = []
        for label, group in points.places(where, without=(along,)):
            series: dict[float, dict[str, float]] = {}
            for record in group:
                series.setdefault(record[along], {})[curve_of(record)] = float(record["value"])
            ratios = [
                _divide(there[above], there[below])
                for there in series.values()
                if above in there and below in there
            ]
            if ratios:
                found.append((label, sum(ratios) / len(ratios)))
        return found

    return observe


def least_step(system: str, along: str, field: str = "value", **where: Any) -> Observer:
    """Observe the smallest factor by which a system's value grows between neighbours ``along``."""

    def observe(points: Points) -> list[Observation]:
        found = []
        for label, group in points.places(where, without=(along,)):
            mine = [
                value
                for _, value in sorted(
                    (record[along], float(record[field]))
                    for record in group
                    if curve_of(record) == system
                )
            ]
            if len(mine) > 1:
                steps = [_divide(after, before) for before, after in pairwise(mine)]
                found.append((label, min(steps)))
        return found

    return observe


def quotient(system: str, above: str, below: str, **where: Any) -> Observer:
    """Observe one field of a system's points over another."""

    def observe(points: Points) -> list[Observation]:
        return [
            (label, _divide(float(record[above]), float(record[below])))
            for label, group in points.places(where)
            for record in group
            if curve_of(record) == system
        ]

    return observe


def best_at(system: str, along: str, field: str = "value", **where: Any) -> Observer:
    """Observe where along a parameter a system is at its best."""

    def observe(points: Points) -> list[Observation]:
        found = []
        for label, group in points.places(where, without=(along,)):
            mine = [record for record in group if curve_of(record) == system]
            best = max(mine, key=lambda record: float(record[field]))
            found.append((label, float(best[along])))
        return found

    return observe


def over_range(
    system: str, *along: str, at: float | None = None, of: str, worst: bool = False, **where: Any
) -> Observer:
    """Observe a system's best value along parameters over another's best, or worst.

    With ``at`` it is not the best value but the one where the (first) parameter is this.
    """

    def observe(points: Points) -> list[Observation]:
        found = []
        for label, group in points.places(where, without=along):
            mine = [
                one["value"]
                for one in group
                if curve_of(one) == system and at in (None, one[along[0]])
            ]
            others = [one["value"] for one in group if curve_of(one) == of]
            if mine and others:
                found.append((label, _divide(max(mine), min(others) if worst else max(others))))
        return found

    return observe


def at_equal(above: str, below: str, across: str, along: str, **where: Any) -> Observer:
    """Observe one system's value over another's where both have the same ``across``.

    Both curves are followed by straight lines between their points, to the middle of the range
    that they share. Curves that share no range cannot be compared: the observation is no number.
    """

    def observe(points: Points) -> list[Observation]:
        found = []
        for label, group in points.places(where, without=(along,)):
            curves: list[Any] = []
            for system in (above, below):
                mine = sorted(
                    (record[across], record["value"])
                    for record in group
                    if curve_of(record) == system
                )
                curves.append(np.array(mine).T)
            low = max(curve[0].min() for curve in curves)
            high = min(curve[0].max() for curve in curves)
            if low > high:
                found.append((label, float("nan")))
                continue
            values = [float(np.interp((low + high) / 2, *curve)) for curve in curves]
            found.append((label, _divide(values[0], values[1])))
        return found

    return observe


def difference(above: str, below: str, field: str = "value", **where: Any) -> Observer:
    """Observe one system's value less another's."""

    def observe(points: Points) -> list[Observation]:
        found = []
        for label, group in points.places(where):
            values = _values(group, field)
            if above in values and below in values:
                found.append((label, values[above] - values[below]))
        return found

    return observe


def gap_closed(system: str, others: Sequence[str], bound: str, **where: Any) -> Observer:
    """Observe how much of the way from the best of the others to a bound a system goes."""

    def observe(points: Points) -> list[Observation]:
        found = []
        for label, group in points.places(where):
            values = _values(group)
            best = max(values[name] for name in others if name in values)
            if system in values and bound in values:
                gained, gap = values[system] - best, values[bound] - best
                found.append((label, gained / gap if gap > 0 else float(gained >= 0)))
        return found

    return observe
