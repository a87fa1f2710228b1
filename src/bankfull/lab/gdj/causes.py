"""Why each claim of this paper holds or does not, in plain sentences, for the report."""

from __future__ import annotations

from bankfull.lab.experiment import Causes

#: By experiment, then by how the text of a claim begins; the longest beginning counts.
CAUSES: Causes = {}
