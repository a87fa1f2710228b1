"""A twin decides tuple by tuple, as the definition reads: slow, obvious, blind to the engine.

The twins are what the compiled shedding join is compared with, decision by decision, so they
share no line with it: lists, ``sorted`` and ``min``, everything counted anew wherever a definition
allows. ``simulate.py`` holds the order of events and nothing of any policy; ``memory.py`` is all
that a policy may see; ``draws.py`` is the only chance there is. To add a twin: a subclass of
:class:`Policy` in the file of its family, and its name in ``TWINS``.

Two tuples fit, and the third costs the less important of them its place:

>>> joins = [JoinSpec(streams=(0, 1), spans=(9, 9))]
>>> arrivals = [
...     Arrival(stream=0, time=0, keys=(7,), importance=5.0, seq=0),
...     Arrival(stream=0, time=1, keys=(7,), importance=1.0, seq=1),
...     Arrival(stream=1, time=2, keys=(7,), importance=3.0, seq=2),
... ]
>>> simulate(arrivals, joins, 2, Simp())
Trace(results=[(0, (1, 2)), (0, (0, 2))], decisions=[(2, 1)], stored=[0, 2])
"""

from bankfull.oracle.shedding.ages import Age, LearnedAge
from bankfull.oracle.shedding.blind import Fifo, Random
from bankfull.oracle.shedding.credit import Gdj, GdjTuned
from bankfull.oracle.shedding.draws import uniform
from bankfull.oracle.shedding.formulas import Additive, Cumulative, Multiplicative
from bankfull.oracle.shedding.frequency import Life, Prob, ProbWindow
from bankfull.oracle.shedding.importance import Dgl, Dimpprob, Simp, Simpprob
from bankfull.oracle.shedding.memory import Arrival, JoinSpec, Memory
from bankfull.oracle.shedding.mixture import Gain
from bankfull.oracle.shedding.policy import Policy
from bankfull.oracle.shedding.queues import S3Fifo, Sieve
from bankfull.oracle.shedding.sets import SetJoin
from bankfull.oracle.shedding.simulate import Trace, simulate

#: Every twin by the public name of its policy; an age or a percentile that is learned has its own.
TWINS: dict[str, type[Policy]] = {
    "random": Random,
    "fifo": Fifo,
    "prob": Prob,
    "prob-window": ProbWindow,
    "life": Life,
    "gdj": Gdj,
    "gdj-tuned": GdjTuned,
    "simp": Simp,
    "simpprob": Simpprob,
    "dimpprob": Dimpprob,
    "dgl": Dgl,
    "additive": Additive,
    "multiplicative": Multiplicative,
    "cumulative": Cumulative,
    "age": Age,
    "age-learned": LearnedAge,
    "sieve": Sieve,
    "s3fifo": S3Fifo,
    "gain": Gain,
}

__all__ = [
    "TWINS",
    "Additive",
    "Age",
    "Arrival",
    "Cumulative",
    "Dgl",
    "Dimpprob",
    "Fifo",
    "Gain",
    "Gdj",
    "GdjTuned",
    "JoinSpec",
    "LearnedAge",
    "Life",
    "Memory",
    "Multiplicative",
    "Policy",
    "Prob",
    "ProbWindow",
    "Random",
    "S3Fifo",
    "SetJoin",
    "Sieve",
    "Simp",
    "Simpprob",
    "Trace",
    "simulate",
    "uniform",
]
