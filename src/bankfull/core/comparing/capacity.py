"""How many comparisons an operator can make in the time it has, learned from the runtime's clock.

The paper's Algorithm 1 controls which *part* of all pairs is compared, and hears a few seconds too
late that there are more of them: five times the tuples are 25 times the pairs. A number of
comparisons a unit of time does not change when more tuples come, so a plan that knows it foresees
what the burst will cost before it has fallen behind.
"""

from __future__ import annotations

import numpy as np

#: Entries of ``Capacity.known``: comparisons a unit of time (0: not known yet), those made since
#: the runtime told something, the time of the tuples then, and of the newest ones.
_PER_UNIT, _MADE, _TOLD_AT, _NOW = range(4)
#: By how much what is known may grow each time: time that was left over is no certain measure.
_GROWTH = 2.0


class Capacity:
    """Comparisons a unit of stream time, as far as the clock has shown.

    >>> capacity = Capacity()
    >>> capacity.add(1000, 100); capacity.hear(4.0); capacity.per_unit
    0.0
    >>> capacity.add(1000, 200); capacity.hear(4.0); capacity.per_unit
    40.0
    >>> capacity.add(9000, 300); capacity.hear(0.5); capacity.per_unit
    40.0
    >>> capacity.add(3000, 400); capacity.hear(0.5); capacity.per_unit
    15.0
    """

    def __init__(self) -> None:
        self.known = np.array([0.0, 0.0, np.nan, np.nan])

    @property
    def per_unit(self) -> float:
        """Comparisons that can be made in a unit of time; 0 where that is not known."""
        return float(self.known[_PER_UNIT])

    def add(self, made: int, time: int) -> None:
        """Count comparisons that were made up to a time."""
        self.known[_NOW] = time
        if np.isnan(self.known[_TOLD_AT]):
            self.known[_TOLD_AT] = time
            return
        self.known[_MADE] += made

    def hear(self, kept_up: float) -> None:
        """Learn what part of its work the operator did in the time it had.

        Who kept up can make at least what was made, times the time that was left; that takes
        nothing back of what was known. Who did not can make no more than what was made in time.
        """
        _, made, told_at, now = self.known.tolist()
        if not now > told_at:  # also where nothing was processed yet
            return
        self.known[_MADE], self.known[_TOLD_AT] = 0.0, now
        shown = made / (now - told_at) * kept_up
        if shown <= 0.0:
            return
        known = self.per_unit
        if kept_up >= 1.0:
            limit = _GROWTH * known if known else shown
            known = max(known, min(shown, limit))
        else:
            known = min(known, shown) if known else shown
        self.known[_PER_UNIT] = known
