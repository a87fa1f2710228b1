"""Why each claim of this paper holds or does not, in plain sentences, for the report."""

from __future__ import annotations

from bankfull.lab.experiment import Causes

_SIMP = (
    "Importance is known on arrival, so keeping important tuples beats chance; the two meet where "
    "the memory holds everything."
)
_PROB = (
    "PROB ignores importance and SIMP ignores matches; which of them loses more depends on how "
    "importance is distributed and on the memory, and with much memory SIMP passes, because then "
    "only unimportant tuples have to go."
)
_SIMPPROB = (
    "A PROB that looks at the windows, as the paper's does, knows the same matches as SIMPPROB but "
    "no importance, and loses; a PROB that counts all that has arrived knows the lasting "
    "popularity better than any window shows it, and wins where the memory is small."
)
_DIMPPROB = (
    "Recounting the partners that are stored helps where tuples live long among many values "
    "(Table 1) and hurts where the memory is small, because a tuple is dropped as soon as its "
    "stored partners have left."
)
_DGL = (
    "DGL and DIMPPROB are within a few per cent of each other where there are few values, and "
    "DGL leads where there are many (Table 1); the paper does not print DGL's two constants, "
    "and ours were not chosen for these streams."
)
_SHARED = (
    "Where both streams share their favourites the partners at hand say which tuples pay, and "
    "their lead over DGL grows with the skew; without skew there are no favourites and DGL's "
    "memory of past results is better, so the mean over skews depends on which are taken."
)
_MARGIN = (
    "The order of the prose appears as a whole with PROB from the windows and importance "
    "independent of the key; the printed margins appear under no reading, and the printed "
    "DIMPPROB contradicts the prose. They depend on a distribution of importance that is not "
    "printed."
)
_TIME = (
    "In our operator most of the time goes into finding and writing results, which the better "
    "policy has more of; what keeping priorities up to date adds is within the noise of a "
    "shared machine."
)
_STEPS = {
    "SIMP is better": _SIMP,
    "PROB is better": _PROB,
    "SIMPPROB is better": _SIMPPROB,
    "DIMPPROB is better": _DIMPPROB,
    "DGL is better": _DGL,
    "DGL is the best": _DGL,
}
_PROGRAMS = (
    "Our ODJA is plain Python and our ESJA calls a compiled flow, so the ratio compares two "
    "programs and not two algorithms; how it changes along the axis says more than where it lies."
)

#: By experiment, then by how the text of a claim begins; the longest beginning counts.
CAUSES: Causes = {
    "importance.fig1": {
        "": "Both methods give the printed numbers when tuples leave before the arrivals of their "
        "instant are joined, as in the paper's drawing; joined first, one more result is possible."
    },
    "importance.fig2": {
        "The optimum": "The optimum's error depends on the number of values and on the "
        "distribution of importance, neither of which the paper prints for this figure.",
        "The largest": "How far the largest result is from the most important one depends on the "
        "distribution of importance, which is not printed.",
        "Random": "Random shedding keeps the memory's share of the window, M / 2w, under every "
        "model tried; the printed errors are far larger and remain unexplained.",
    },
    "importance.fig3": {"": _PROGRAMS},
    "importance.fig4": {"": _PROGRAMS},
    "importance.fig5": {"": _PROGRAMS},
    "importance.fig6": {"": _PROGRAMS},
    "importance.medium": {
        "": "The states of the dynamic program are the choices of M/2 tuples among w, of which "
        "there are most in the middle, while the flow's network does not depend on the memory."
    },
    "importance.fig7": {
        "": (
            "Without its schedule ODJA holds the states of two instants, and what still grows are "
            "the streams themselves, as in the paper; with it, the ways to all states stay in "
            "memory. With windows of 40 instead of 400 ESJA's network is too small to be 25 times "
            "as large."
        )
    },
    "importance.fig8": {
        **_STEPS,
        "The optimum": "What a longer window adds to the optimum depends on how much importance "
        "the best tuples have, so it follows the distribution of importance.",
        "PROB does not": "A longer window brings more partners for the same stored tuples, which "
        "outweighs what PROB loses by ignoring importance.",
        "RAND": "With twice the window there are twice the results and random shedding keeps half "
        "the share of them.",
    },
    "importance.fig9": {
        **_STEPS,
        "DGL keeps": "The margins depend on how importance is distributed, which is not printed; "
        "over PROB they have the published size only if PROB looks at the windows, and over RAND "
        "they are far larger than published under every distribution.",
        "Random": "Random shedding keeps every tuple with the same chance, whatever it is worth.",
    },
    "importance.dgl": {
        "": "DGL's gain and decay decide whether it behaves like SIMP or like DIMPPROB, and the "
        "paper prints neither."
    },
    "importance.fig10": {
        **_STEPS,
        "DGL falls": "With more values a tuple waits longer for its partners, and only the optimum "
        "knows which ones will come.",
        "PROB falls": "With more values a tuple waits longer for its partners, and only the "
        "optimum knows which ones will come.",
        "The optimum": "With more values fewer tuples have partners at all, and a memory of the "
        "same size holds most of those that do.",
    },
    "importance.fig11": {
        "DIMPPROB": _SHARED,
        "SIMPPROB": _SHARED,
        "The online": (
            "The more skewed the streams, the more of the importance lies with a few values, which "
            "every policy finds."
        ),
    },
    "importance.table1": {
        **_STEPS,
        "DIMPPROB is worth": _MARGIN,
        "DGL is worth": _MARGIN,
        "SIMPPROB is worth": _MARGIN,
        "SIMP is worth": _MARGIN,
        "DIMPPROB takes": _TIME,
        "DGL takes": _TIME,
    },
}
