"""Why the claims of this paper hold here or not, as far as it is understood."""

from __future__ import annotations

from bankfull.lab.experiment import Causes

CAUSES: Causes = {
    "cpu.fig9": {
        "Comparing with less": (
            "Less capacity makes the gain larger: dropping loses a pair with either of its "
            "tuples, while the newest part of an aligned window holds the most matches. The "
            "paper's machine is not known well enough to say which capacity is its."
        ),
    },
    "cpu.fig13": {
        "More skew does not improve": (
            "With more skew all matches become more frequent, wherever they are in the window: "
            "what dropping gives grows more than what rate alone gives."
        ),
    },
    "cpu.aligned": {
        "Algorithm 4 loses": (
            "It spends on one window all that it can before it spends anything on the other, and "
            "the newest tuples of both pay most."
        ),
    },
}
