"""The experiments of the importance paper, and what it claims of them.

Quality is the share of the exact result's importance, counted from twice the (largest) window on;
the smaller of two importances is that of their result; memory is divided evenly. The paper does
not print how importance is distributed: here it is 1 to 10 with equal chances, and 100 for 5 % of
the tuples (``rare``); Figure 9 varies it.

To add an experiment: a declaration in the file of its section, and its name below.
"""

from bankfull.lab.importance.cost import FIG3, FIG4, FIG5, FIG6, FIG7
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
    FIG8,
    FIG9,
    FIG10,
    FIG11,
    TABLE1,
    DGL,
)
