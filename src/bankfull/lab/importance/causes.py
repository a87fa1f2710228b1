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
    "Recounting the partners that happen to be stored is no better than the first count on streams "
    "that do not change, and worse where the memory is small, because it drops a tuple as soon as "
    "its stored partners have left."
)
_DGL = (
    "The two are within a few per cent of each other either way; the paper does not print DGL's "
    "two constants, and ours were not chosen for these streams."
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
        "": "Without its schedule ODJA holds the states of two instants and does not grow with the "
        "streams, as the paper says; with it, the ways to all states stay in memory."
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
        "DIMPPROB": "Where both streams share their favourites the partners at hand say which "
        "tuples pay; by how much that beats DGL's memory of past results depends on the skew.",
        "SIMPPROB": "Where both streams share their favourites the partners at hand say which "
        "tuples pay; by how much that beats DGL's memory of past results depends on the skew.",
        "The online": "The more skewed the streams, the more of the importance lies with a few "
        "values, which every policy finds.",
    },
    "importance.table1": {
        **_STEPS,
        "DIMPPROB is worth": "The published value contradicts the paper's own prose; here DIMPPROB "
        "lies above SIMPPROB as the prose says, or close to it.",
        "DGL is worth": "The margin over PROB depends on the distribution of importance.",
        "SIMPPROB is worth": "The margin over PROB depends on the distribution of importance.",
        "SIMP is worth": "The margin over PROB depends on the distribution of importance.",
        "DIMPPROB takes": "Keeping priorities up to date costs time.",
        "DGL takes": "Keeping priorities up to date costs time.",
    },
}
