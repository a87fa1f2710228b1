"""What a scheduler can do who knows the distribution of the lags, but not the future.

Streams are orders and their payments (``onetime.py``): a payment comes at most once. The scheduler
stores orders only, forgets them when they are paid, and gives each the best mean return over a
further stay, by the true distribution, times its importance; the smallest goes. That is an index
policy, the best for one place and a good one for many. It is no bound: others may do better.
"""

from __future__ import annotations

import numpy as np

from bankfull.lab.onetime import WINDOW, Lags
from bankfull.lab.traces import Floats, Workload

#: Lags drawn to know their distribution.
_DRAWS = 400_000


def returns(lags: Lags) -> Floats:
    """Return, for every age of an unpaid order in instants, the best mean return over a stay.

    A stay that ends at a later age has the chance of a payment until then as its return, and lasts
    until the payment comes or that age.

    >>> late = Lags(lambda rng, n: np.full(n, 0.5), 1.0)
    >>> [round(float(one), 4) for one in returns(late)[[0, 100, 199]]]
    [0.005, 0.0099, 0.5]
    """
    drawn = np.floor(np.maximum(lags.draw(np.random.default_rng(0), _DRAWS) * WINDOW, 0.0))
    counts = np.bincount(np.minimum(drawn, WINDOW + 1).astype(np.int64), minlength=WINDOW + 2)
    paid = lags.paid * np.append(0.0, np.cumsum(counts[: WINDOW + 1])) / _DRAWS
    time = np.append(0.0, np.cumsum(1.0 - paid[1:]))
    best = np.zeros(WINDOW + 1)
    for age in range(WINDOW + 1):
        # At an age the payment of that age is still to come: it is part of the stay.
        stay = np.maximum(time[age + 1 :] - time[age], 1e-9)
        chance = paid[age + 1 :] - paid[age]
        best[age] = np.max(chance / np.maximum(stay + chance, 1e-9))
    return best


def informed(workload: Workload, lags: Lags, budget: int) -> tuple[int, float]:
    """Return how many results the scheduler reaches, and their importance."""
    orders, payments = workload.streams
    index, worth = returns(lags), orders.importance
    keys = orders.columns["k"].tolist()
    row_of = {key: row for row, key in enumerate(keys)}
    stored: set[int] = set()
    results, importance, paid = 0, 0.0, 0
    for row, now in enumerate([*orders.times.tolist(), int(payments.times[-1]) + 1]):
        # Payments of an instant come behind its order.
        while paid < len(payments) and payments.times[paid] < now:
            order = row_of[int(payments.columns["k"][paid])]
            if order in stored:
                if payments.times[paid] >= workload.since:
                    results += 1
                    importance += 1.0 if worth is None else float(worth[order])
                stored.discard(order)
            paid += 1
        stored = {one for one in stored if now - orders.times[one] <= WINDOW}
        if row < len(keys):
            stored.add(row)
        if len(stored) > budget:
            ages = {one: int(now - orders.times[one]) for one in stored}
            stored.discard(
                min(
                    stored,
                    key=lambda one: (
                        index[ages[one]] * (1.0 if worth is None else worth[one]),
                        one,
                    ),
                )
            )
    return results, importance
