"""What a comparison costs: what the best unit of work returns that the budget did not pay for.

When few tuples are expected, comparisons are left for units that return next to nothing. If more
come than expected, these take them from units that return most; and what is not used in one basic
window can be used in later ones of its period. So what returns too little for the price that
comparisons had in the plans before is left out, until that is forgotten. Where a clock decides
there is no price: time that is not used is gone.
"""

from __future__ import annotations

import numpy as np

from bankfull.core.comparing.work import Float64, Work
from bankfull.core.plan import Algorithm, Pricing

#: So much of the mean price is left after a basic window.
_LASTING = 0.8
#: So much of it must a unit return to be compared.
_WORTH_IT = 0.5


class Price:
    """The mean price of a comparison, that of the last plans most; 0 where nothing is left out."""

    def __init__(self, algorithm: Algorithm) -> None:
        self.mean = np.zeros(1)
        self._algorithm = algorithm
        self._pricing = algorithm if isinstance(algorithm, Pricing) else None

    def fade(self, elapsed: int) -> None:
        """Forget, so many basic windows after the last plan."""
        self.mean *= _LASTING**elapsed

    def choose(self, works: list[Work], budget: float) -> list[Float64]:
        """Return the shares that the algorithm chooses of what is worth the price."""
        if self._pricing is None:
            return self._algorithm.choose(works, budget)
        least = _WORTH_IT * float(self.mean[0])
        choices, price = self._pricing.choose_above(works, budget, least)
        self.mean += (1.0 - _LASTING) * price
        if all((choice >= 1.0).all() for choice in choices):
            self.mean[:] = 0.0
        return choices
