"""A policy says which stored tuple goes first when memory is full; nothing else.

One policy, one file: its parameters (a frozen dataclass, registered), its state (a named tuple),
its rules (functions of ``kernels/bounded/hooks.py`` for that state). To add one, write such a file
and name it below; the command line, the documentation and the tests find it in the registry. A
user's own policy is the same file anywhere on the path, given as an instance.
"""

from bankfull.policies.age import Age
from bankfull.policies.cumulative import Cumulative
from bankfull.policies.dgl import Dgl
from bankfull.policies.fifo import Fifo
from bankfull.policies.formula import Additive, Multiplicative
from bankfull.policies.gain import Gain
from bankfull.policies.gdj import Gdj
from bankfull.policies.life import Life
from bankfull.policies.prob import Prob
from bankfull.policies.prob_window import ProbWindow
from bankfull.policies.random_drop import Random
from bankfull.policies.registry import POLICIES, Policy, Shape, register, resolve
from bankfull.policies.s3fifo import S3Fifo
from bankfull.policies.sieve import Sieve
from bankfull.policies.simp import Dimpprob, Simp, Simpprob

#: As they are written in a call: ``bf.policies.gdj(initial=0.9)``.
age = Age
s3fifo = S3Fifo
sieve = Sieve
dgl = Dgl
fifo = Fifo
additive = Additive
cumulative = Cumulative
multiplicative = Multiplicative
gain = Gain
gdj = Gdj
life = Life
prob = Prob
prob_window = ProbWindow
random = Random
dimpprob = Dimpprob
simp = Simp
simpprob = Simpprob

__all__ = [
    "POLICIES",
    "Policy",
    "Shape",
    "additive",
    "age",
    "cumulative",
    "dgl",
    "dimpprob",
    "fifo",
    "gain",
    "gdj",
    "life",
    "multiplicative",
    "prob",
    "prob_window",
    "random",
    "register",
    "resolve",
    "s3fifo",
    "sieve",
    "simp",
    "simpprob",
]
