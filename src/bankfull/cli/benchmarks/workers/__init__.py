"""Other systems' runs of the equi workload: scripts that know nothing of bankfull.

Each is run by path with an interpreter that has the other system (its pins rarely agree with
ours), reads ``left.csv`` and ``right.csv`` in the folder it is given, and prints one JSON object.
"""
