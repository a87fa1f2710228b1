"""Dropping at random: whoever is not dropped is compared with everything."""

from __future__ import annotations

from bankfull.oracle.comparing.work import Choice, Work


class Drop:
    """Leave nothing out; who is dropped is decided on arrival."""

    by_size = False
    by_importance = False
    drops = True
    remembers = 0.0

    def choose(self, works: list[Work], budget: float) -> list[Choice]:
        """Return what each join compares."""
        return [work.everything() for work in works]
