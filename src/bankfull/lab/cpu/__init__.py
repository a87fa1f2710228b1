"""The experiments of *CPU Load Shedding for Binary Stream Joins*, and what it claims of them.

They run the real operator on a virtual processor (``runtime/embedded/clock.py``), which charges a
stated cost for every tuple fetched and every comparison, so that they are the same on every
machine. Every figure has ``auto`` beside the paper's ways, and the optimum for the comparisons
that the processor can make (``bound.py``).

To add an experiment: a declaration in the file of its section, and its name there and below.
"""

from bankfull.lab.cpu import analysis, beyond, clocked, indexed, rate, selective, utility
from bankfull.lab.cpu.causes import CAUSES
from bankfull.lab.experiment import Printed

EXPERIMENTS = tuple(
    one
    for part in (analysis, rate, selective, indexed, utility, beyond, clocked)
    for one in part.EXPERIMENTS
)

PRINTED = (
    Printed("Figures 1 to 4", "drawings", reason="Drawings of windows and lists: nothing to run."),
    Printed("Figure 5", "optimality of basic windows", ("cpu.fig5",)),
    Printed("Figure 6", "match distributions", ("cpu.fig6",)),
    Printed("Figure 7", "tuples dropped", ("cpu.fig7",)),
    Printed("Figure 8", "rates and the part r", ("cpu.fig8",)),
    Printed("Figure 9", "rate adaptation over time", ("cpu.fig9",)),
    Printed("Figure 10", "rate adaptation against skew", ("cpu.fig10",)),
    Printed("Figure 11", "rates and the parts r1 and r2", ("cpu.fig11",)),
    Printed("Figure 12", "correlation and direction over time", ("cpu.fig12", "cpu.fig12-clock")),
    Printed("Figure 13", "correlation and direction against skew", ("cpu.fig13",)),
    Printed("Figure 14", "the size of basic windows", ("cpu.fig14",)),
    Printed("Figure 15", "joins with and without an index", ("cpu.fig15", "cpu.fig15-clock")),
    Printed("Figure 16", "utility, by its skew", ("cpu.fig16",)),
    Printed("Figure 17", "utility, by the number of types", ("cpu.fig17",)),
    Printed(
        "Not in the paper",
        "where Algorithm 4 fails, drift, real streams",
        ("cpu.aligned", "cpu.both", "cpu.drift", "cpu.flights"),
    ),
)

__all__ = ["CAUSES", "EXPERIMENTS", "PRINTED"]
