"""The best output any policy could have had: it knows the future, so nobody may pass it.

Four methods answer one question and must agree: ``esja`` and ``sja`` (minimum-cost flow; large
streams, joins of two), ``odja`` (dynamic programming; small memories), ``exhaustive`` (a handful
of tuples). For large streams in joins of three and more, ``bound`` holds the optimum between two
numbers.
To compare with our operator, leave the convention as it is. To add a method: one file that takes
a ``Problem`` and returns an ``Optimum``, and its name in the tests' list.

The paper's worked example (paper 004, Figure 1):

>>> r = [0, 1, 2, 3, 4, 5], [1, 9, 1, 3, 4, 2], [1, 20, 1, 5, 5, 1]
>>> s = [0, 1, 2, 3, 4, 5], [3, 1, 1, 1, 9, 1], [5, 1, 1, 1, 20, 1]
>>> example = two(r, s, span=3, memory=(2, 2), evict_first=True)
>>> best, largest = esja(example), sja(example)
>>> (best.results, best.importance), (largest.results, largest.importance)
((7, 30.0), (8, 12.0))
"""

from bankfull.oracle.optimum.bound import bound
from bankfull.oracle.optimum.exhaustive import exhaustive
from bankfull.oracle.optimum.flow import esja, sja
from bankfull.oracle.optimum.odja import odja
from bankfull.oracle.optimum.problem import RULES, Aim, Goal, On, Optimum, Problem, Stay, two

__all__ = [
    "RULES",
    "Aim",
    "Goal",
    "On",
    "Optimum",
    "Problem",
    "Stay",
    "bound",
    "esja",
    "exhaustive",
    "odja",
    "sja",
    "two",
]
