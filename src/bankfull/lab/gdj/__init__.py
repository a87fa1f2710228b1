"""The experiments of the GreedyDual-Join paper, and what it claims of them.

Claims about GDJ are judged with one percentile for each data set, as the paper chose its own: found
on other streams (``gdj-chosen``), and against PROB also on the same ones (``gdj-fitted``); ``gdj``
beside them tunes itself. A buffer is a share of the average rate times the window, one for each
stream, as in section 5.3.1. What the paper leaves open is a parameter of each experiment
(``shared.py``), and every reading has its own verdict.

To add an experiment: a declaration in the file of its section, and its name below.
"""

from bankfull.lab.experiment import Printed
from bankfull.lab.gdj.causes import CAUSES
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

PRINTED = (
    Printed(
        "Figure 1", "the architecture", reason="A drawing of buffers and operators: nothing to run."
    ),
    Printed("Figures of section 2.1", "popularity", ("gdj.popularity",)),
    Printed("Figures of section 2.1", "stack distances", ("gdj.stack",)),
    Printed("Figure 2", "the distribution of best ages", ("gdj.ages",)),
    Printed("Figure 3", "tuning GDJ", ("gdj.fig3",)),
    Printed("Figure 4", "varying buffer size", ("gdj.fig4",)),
    Printed("Figure 5", "varying window size and domain", ("gdj.fig5-window", "gdj.fig5-domain")),
    Printed("Figure 6", "unified buffer", ("gdj.fig6",)),
    Printed(
        "Figure 7",
        "several streams, several attributes",
        ("gdj.fig7-streams", "gdj.fig7-attributes"),
    ),
    Printed("Figure 8", "varying skewness of two attributes", ("gdj.fig8",)),
    Printed("Figure 9", "sampling, distortion by squared error", ("gdj.fig9",)),
    Printed("Figure 10", "sampling, distortion by divergence", ("gdj.fig10",)),
    Printed("Not in the paper", "where its claim holds", ("gdj.locality",)),
)

__all__ = ["CAUSES", "EXPERIMENTS", "PRINTED"]
