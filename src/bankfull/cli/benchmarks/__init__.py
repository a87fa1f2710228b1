"""Every number is measured in this run, beside what it is compared with; nothing is remembered.

One file a workload, each with ``measure(quick, repeats) -> list of results``. Systems take turns
within a workload, so that a noisy machine is noisy for all of them, and the best turn counts. To
add a workload: a module here, and a line in ``WORKLOADS``.
"""
