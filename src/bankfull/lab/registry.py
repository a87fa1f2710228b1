"""All experiments by key, and how a person asks for some of them."""

from __future__ import annotations

from collections.abc import Sequence

from bankfull.errors import SpecError, closest
from bankfull.lab import cpu, everything, gdj, importance, memory, once
from bankfull.lab.experiment import Experiment

EXPERIMENTS: dict[str, Experiment] = {
    one.key: one
    for paper in (gdj, importance, cpu, everything, once, memory)
    for one in paper.EXPERIMENTS
}


def find(key: str) -> Experiment:
    """Return one experiment."""
    return EXPERIMENTS[key]


def select(wanted: Sequence[str]) -> list[Experiment]:
    """Return the experiments that were asked for, each once.

    A name is a key, the beginning of one up to a dot or dash (a paper, a figure of two parts), or
    ``all``.

    >>> [one.key for one in select(["gdj.fig5"])]
    ['gdj.fig5-window', 'gdj.fig5-domain']
    """
    found: dict[str, Experiment] = {}
    for name in wanted:
        matching = {
            key: one
            for key, one in EXPERIMENTS.items()
            if name in ("all", key) or key.startswith((f"{name}.", f"{name}-"))
        }
        if not matching:
            raise SpecError(f"no experiment is called {name!r}: {closest(name, EXPERIMENTS)}")
        found |= matching
    return list(found.values())
