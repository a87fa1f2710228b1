"""How much of a basic window is there on average while a plan holds: for a basic window of time.

Its tuples are taken to be spread evenly, and time goes on evenly. Of the window's last basic window
``there`` tuples begin to leave at once, of the one before it when that is empty.
"""

from __future__ import annotations

import math


def there(part: float, a: int, span: float, basic: int) -> float:
    """Return what is there on average of the newest part of basic window a.

    It is a share of all that is there when the plan is made.

    >>> [there(1.0, a, 20, 10) for a in (0, 1, 2)]
    [1.0, 1.0, 0.5]
    >>> there(0.5, 2, 20, 10)
    0.375
    """
    oldest, length = _oldest(span, basic)
    if a == oldest > 0:
        return length * (part * (1.0 - part / 2.0))
    if a == oldest - 1 > 0:
        left = max(0.0, part - length)
        return part - left * left / 2.0
    return part


def newest(share: float, a: int, span: float, basic: int) -> float:
    """Return the newest part of basic window a that is a share of what is there on average.

    >>> newest(0.75, 2, 20, 10), newest(0.75, 1, 20, 10)
    (0.5, 0.75)
    """
    oldest, length = _oldest(span, basic)
    if a == oldest > 0:
        return 1.0 - math.sqrt(1.0 - share)
    if a == oldest - 1 > 0:
        wanted = share * there(1.0, a, span, basic)
        left = max(0.0, wanted - length)
        return min(wanted, length) + (1.0 - math.sqrt(max(0.0, 1.0 - 2.0 * left)))
    return share


def _oldest(span: float, basic: int) -> tuple[int, float]:
    """Return the last basic window and its length; one of rows is never told to end."""
    if math.isinf(span):
        return 0, 1.0
    oldest = math.ceil(span / basic)
    return oldest, (span - (oldest - 1) * basic) / basic
