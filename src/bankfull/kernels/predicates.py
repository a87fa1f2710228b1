"""How joins compare, by number, for both stores; and which pairs of tuples their windows allow."""

from __future__ import annotations

from bankfull.kernels.compiler import inlined

#: One key a tuple; or sets: by items in common, by containment, by the product of weights.
EQUAL, OVERLAP, CONTAINS, PRODUCT = range(4)
#: The item that stands for the empty set, where a predicate can match it.
EMPTY = 0


@inlined
def in_reach(t: int, u: int, ahead: int, behind: int) -> bool:
    """Tell whether tuples of times ``t`` and ``u`` lie in each other's windows.

    The later comes within the window of the earlier: ``behind`` is that of the tuple at ``u``,
    ``ahead`` that of the tuple at ``t``. Both edges count.
    """
    return t - u <= behind and u - t <= ahead


@inlined
def has_stayed(t: int, u: int, span: int, after: int, rows: int) -> bool:
    """Tell whether a tuple of time ``u`` is in its window at time ``t``, no earlier than ``u``.

    ``after`` tuples of its own stream came since; the window is a ``span`` of time or so many
    ``rows``.
    """
    return t - u <= span and after < rows
