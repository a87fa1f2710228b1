"""Let Spark's Python processes load PySpark from where it is installed, compiled.

Java puts PySpark's archive of sources first on their path, and Python compiles what it loads from
an archive in every process anew: most of a second for the one beside the driver that every
streaming query starts, and again for every daemon. The installed files are the same.
"""

import sys
from importlib.machinery import PathFinder

_kept = [place for place in sys.path if not place.endswith(("pyspark.zip", "-src.zip"))]
if all(PathFinder.find_spec(name, _kept) for name in ("pyspark", "py4j")):
    sys.path[:] = _kept
