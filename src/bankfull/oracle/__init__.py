"""The oracle answers by looking at every combination of rows: slow, obvious, independent.

It shares no code with ``bankfull.core``: plain Python over plain values, one rule a function, so
that a disagreement always means that one of the two misread the contract. To add a predicate:
one function in ``matching.py``; a window: one branch in ``joining.py``. What the best policy could
keep in too little memory is in ``oracle.optimum``.

>>> import pyarrow as pa
>>> from bankfull.spec import Equal, Join, Query, Stream, Ticks
>>> query = Query(
...     (Stream("left", "t"), Stream("right", "t")),
...     (Join("join", ("left", "right"), Equal((("k",),)), (Ticks(2),)),),
... )
>>> left = pa.table({"t": [1, 2, 9, 3], "k": ["a", "b", None, "b"]})
>>> right = pa.table({"t": [3, 4], "k": ["a", "b"]})
>>> fates(query, {"left": left, "right": right})["left"]
['accepted', 'accepted', 'accepted', 'late']
>>> pairs = exact(query, {"left": left, "right": right})["join"]
>>> pairs, recall([(0, 0)], pairs)
([(0, 0), (1, 1)], 0.5)
"""

from bankfull.oracle.arrivals import accepted, fates, useless
from bankfull.oracle.joining import exact
from bankfull.oracle.scoring import recall, surplus
from bankfull.oracle.values import plain

__all__ = ["accepted", "exact", "fates", "plain", "recall", "surplus", "useless"]
