"""A twin spends its comparisons as the definition reads: slow, obvious, blind to the operator.

The operator under ``cpu=bf.comparisons(n)`` is compared with it, decision by decision, so they
share no line: lists, dictionaries, loops over every stored tuple. ``simulate.py`` has the order of
events, ``selecting.py`` how a plan becomes ranges of tuples, ``searching.py`` what counts as a
comparison, ``learning.py`` what is remembered of it, and ``choices`` one file for every algorithm.
To add one: a class with ``choose`` in a file there, and its name in ``TWINS``.

One comparison may be made in ten units of time, and the last tuple has two partners:

>>> from bankfull.spec import Equal
>>> joins = [JoinSpec((0, 1), (9, 9), Equal((("k",),)), "scan")]
>>> rules = Rules(per_unit=0.1, sample=0.1, basic=10, period=10, weighed=(False, False))
>>> arrivals = [Arrival(0, 0, 0, (7,)), Arrival(0, 1, 1, (7,)), Arrival(1, 2, 0, (7,))]
>>> trace = simulate(arrivals, joins, rules, TWINS["rate"])
>>> trace.results, trace.compared, trace.skipped
([[(1, 0)]], [1], [[1, 0]])
"""

from bankfull.oracle.comparing.choices import TWINS, Algorithm
from bankfull.oracle.comparing.simulate import Plan, Trace, simulate
from bankfull.oracle.comparing.tuples import Arrival, JoinSpec, Rules

__all__ = ["TWINS", "Algorithm", "Arrival", "JoinSpec", "Plan", "Rules", "Trace", "simulate"]
