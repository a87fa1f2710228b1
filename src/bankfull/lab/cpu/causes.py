"""Why the claims of this paper hold here or not, as far as it is understood."""

from __future__ import annotations

from bankfull.lab.experiment import Causes

CAUSES: Causes = {}
