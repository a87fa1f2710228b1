"""The experiments of the GreedyDual-Join paper, and what it claims of them.

Claims about GDJ are judged on ``gdj-chosen``, a percentile chosen for each data set, as the paper
chose its own, at a seed that is not judged; ``gdj`` beside it tunes itself. A buffer is a share of
the average rate times the window, one for each stream, as in section 5.3.1. What the paper leaves
open is a parameter of each experiment (``shared.py``), and every reading has its own verdict.

To add an experiment: a declaration in the file of its section, and its name below.
"""

from bankfull.lab.gdj.output import FIG4, FIG5_DOMAIN, FIG5_WINDOW, LOCALITY
from bankfull.lab.gdj.sampling import FIG9, FIG10
from bankfull.lab.gdj.several import FIG6, FIG7_ATTRIBUTES, FIG7_STREAMS, FIG8
from bankfull.lab.gdj.streams import AGES, POPULARITY, STACK
from bankfull.lab.gdj.tuning import FIG3

EXPERIMENTS = (
    POPULARITY,
    STACK,
    AGES,
    FIG3,
    FIG4,
    FIG5_WINDOW,
    FIG5_DOMAIN,
    LOCALITY,
    FIG6,
    FIG7_STREAMS,
    FIG7_ATTRIBUTES,
    FIG8,
    FIG9,
    FIG10,
)
