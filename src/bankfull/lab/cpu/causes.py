"""Why the claims of this paper hold here or not, as far as it is understood."""

from __future__ import annotations

from bankfull.lab.experiment import Causes

_BURST = (
    "What is missing is missing in the burst: the part r is adapted every 5 s (Algorithm 1), so "
    "for up to 5 s the processor compares with far too much, the buffers drop thousands of "
    "tuples, and these have no results later either. At 300 tuples a second `auto` comes closer."
)

CAUSES: Causes = {
    "cpu.fig9": {
        "Comparing with less": (
            "Less capacity makes the gain larger: dropping loses a pair with either of its "
            "tuples, while the newest part of an aligned window holds the most matches. The "
            "paper's machine is not known well enough to say which capacity is its."
        ),
        "Ours: auto gives most": _BURST,
    },
    "cpu.fig12": {"Ours: auto gives most": _BURST},
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
