"""The lab runs what the papers claim and says of each claim whether it holds, fails or depends.

An experiment (``experiment.py``) declares its paper, the one parameter it varies, its systems,
seeds and claims; ``grid.py`` runs its cells, one task each, on Spark or in processes; ``claims.py``
judges; ``store.py`` and ``figures.py`` leave Parquet, verdicts and a figure. To add an experiment:
a declaration in the file of its paper (``gdj/``, ``importance/``, ``everything.py``); a
workload: a function in ``workloads.py`` over ``generators.py``; a policy needs nothing here but its
name among the systems.
"""

from bankfull.lab.grid import LocalEngine, SparkEngine
from bankfull.lab.registry import EXPERIMENTS, select
from bankfull.lab.run import Report, run

__all__ = ["EXPERIMENTS", "LocalEngine", "Report", "SparkEngine", "run", "select"]
