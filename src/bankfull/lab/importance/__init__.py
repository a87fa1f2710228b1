"""The experiments of the importance paper, and what it claims of them.

Quality is the share of the exact result's importance, counted from twice the (largest) window on;
the smaller of two importances is that of their result; memory is divided evenly. The paper does
not print how importance is distributed: here it is 1 to 10 with equal chances, and 100 for 5 % of
the tuples (``rare``), or a function of the key (``by key``); Figure 9 has more kinds. What the
paper leaves open is a parameter of each experiment (``shared.py``), and every reading has its own
verdict.

To add an experiment: a declaration in the file of its section, and its name below.
"""

from bankfull.lab.experiment import Printed
from bankfull.lab.importance.causes import CAUSES
from bankfull.lab.importance.cost import FIG3, FIG4, FIG5, FIG6, FIG7, MEDIUM
from bankfull.lab.importance.online import FIG8, FIG9, FIG10, FIG11
from bankfull.lab.importance.quality import FIG1, FIG2
from bankfull.lab.importance.table import DGL, TABLE1

EXPERIMENTS = (
    FIG1,
    FIG2,
    FIG3,
    FIG4,
    FIG5,
    FIG6,
    FIG7,
    MEDIUM,
    FIG8,
    FIG9,
    FIG10,
    FIG11,
    TABLE1,
    DGL,
)

PRINTED = (
    Printed("Figure 1", "the worked example", ("importance.fig1",)),
    Printed("Figure 2", "importance against memory, offline", ("importance.fig2",)),
    Printed("Figure 3", "running times for M/2 = 1", ("importance.fig3",)),
    Printed("Figure 4", "running times for increasing w", ("importance.fig4",)),
    Printed("Figure 5", "running times for M/2 = w - 1", ("importance.fig5",)),
    Printed("Figure 6", "running times for decreasing w", ("importance.fig6",)),
    Printed("Section 5.1.3", "memory that is neither small nor large", ("importance.medium",)),
    Printed("Figure 7", "memory use", ("importance.fig7",)),
    Printed("Figure 8", "effect of tuple lifetime", ("importance.fig8",)),
    Printed("Figure 9", "effect of join memory size", ("importance.fig9", "importance.dgl")),
    Printed("Figure 10", "effect of domain size", ("importance.fig10",)),
    Printed("Figure 11", "effect of increasing skewness", ("importance.fig11",)),
    Printed("Table 1", "approximation quality and running time", ("importance.table1",)),
)

__all__ = ["CAUSES", "EXPERIMENTS", "PRINTED"]
