"""Why each claim of this paper holds or does not, in plain sentences, for the report."""

from __future__ import annotations

from bankfull.lab.experiment import Causes

_GAPS = (
    "Where gaps are unstretched a value comes, stays and is gone, which GDJ's credits follow and "
    "PROB's counts of the past do not; where they are stretched over the day the counts say all "
    "that can be known, and PROB wins."
)
_AGE = (
    "Told which tuples will never have a result, AGE knows more than any online policy; told the "
    "stream's mean, or the whole window for such tuples, it is near random eviction and loses."
)
_STOCK = (
    "Half of the generated trades come in bursts and half follow a popularity that lasts, so both "
    "counts and credits find something; the real trace, which is not available, may be more local."
)
_DEW = "Dew points change slowly with the weather, so what was frequent long ago misleads PROB."
_TAIL = (
    "An aircraft comes back after hours to days and few of them join at all, so credit is earned "
    "too late, while counts of the past say which aircraft fly between the two airports."
)
_UNIFIED = (
    "Credit shows which of the two joins is richer and its tuples displace those of the other; "
    "proportional buffers cannot follow."
)
_DROPPED = (
    "Tuples dropped at random ahead of the buffer leave fewer decisions to the policy, so its "
    "preference for productive values, and its output, shrink."
)
_EQUAL = (
    "Distortion comes from preferring popular values, and the two policies prefer different ones, "
    "so their curves share little or no range of distortion."
)

#: By experiment, then by how the text of a claim begins; the longest beginning counts.
CAUSES: Causes = {
    "gdj.popularity": {
        "": "The generated streams have Zipf popularity by construction, so this checks the "
        "generators; real dew points and tail numbers are popular in another way."
    },
    "gdj.stack": {
        "": "How much sooner values come back than popularity explains is what locality is: strong "
        "in unstretched trains, bursts of trades and weather, weak in stretched trains."
    },
    "gdj.ages": {
        "": "Values differ in popularity and in when they come back, so no single age suits many "
        "of their tuples, except where nearly all results come at once."
    },
    "gdj.fig3": {
        "METHOD 1 gives about as much as METHOD 2": "Ranks grow with credits, so both order the "
        "stored tuples nearly alike.",
        "METHOD 1 gives about as much as METHOD 3": "What METHOD 3 takes from all tuples of a "
        "buffer alike changes no order, so the two decide alike.",
        "The best percentile": "Low-rank credit is best where most newcomers never earn anything, "
        "and the published values fit that if they are counted from the top.",
        "The published percentile": "Low-rank credit is best where most newcomers never earn "
        "anything, and the published values fit that if they are counted from the top.",
        "The percentile matters": "The percentile is how long a newcomer may wait for its first "
        "result, which decides where results are rare.",
        "A feedback": "Regret for evicted newcomers and for evicted veterans balances near the "
        "best percentile, but it has to be learned in the same stream.",
    },
    "gdj.fig4": {
        "GDJ gives more than PROB at every buffer size: synthetic": _GAPS,
        "GDJ gives more than PROB at every buffer size: stock-like": _STOCK,
        "GDJ gives more than PROB at every buffer size: dew point": _DEW,
        "GDJ gives more than PROB at every buffer size: tail number": _TAIL,
        "GDJ gives more than AGE": _AGE,
        "AGE does no better": _AGE,
        "Weather": "One reading an hour fills every window to the same size.",
        "Trades": "A burst brings more tuples than the average for which the buffer is sized.",
    },
    "gdj.fig5-window": {
        "GDJ gives more than PROB at every window size: synthetic": _GAPS,
        "GDJ gives more than PROB at every window size: stock-like": _STOCK,
        "GDJ gives more than AGE": _AGE,
        "The window size": "The buffer is a share of the window, so what it holds grows with it.",
    },
    "gdj.fig5-domain": {
        "GDJ gives more than PROB": _GAPS,
        "GDJ gives more than AGE": _AGE,
        "GDJ keeps less": "With more values each is rarer; whether credit suffers depends on "
        "whether their tuples come together or spread over the day.",
        "PROB keeps less": "With more values the popular ones that PROB keeps cover less.",
    },
    "gdj.locality": {
        "": "Credits follow bursts and counts follow popularity that lasts, so the lead moves from "
        "PROB to GDJ as more of the trades come in bursts."
    },
    "gdj.fig6": {
        "": _UNIFIED,
        "Random": "Chance evicts from all streams in proportion to what they hold, as the buffers "
        "do.",
    },
    "gdj.fig7-streams": {
        "": "With more streams the results gather in the few symbols that are popular in all of "
        "them, which PROB keeps; GDJ spends memory on newcomers that find no complete result.",
        "RAND": "A result needs all its members, but the more streams, the more results a popular "
        "symbol has, and results gather where chance finds them too.",
    },
    "gdj.fig7-attributes": {
        "": "PROB counts each attribute's past, which says nothing where the attribute is uniform; "
        "if uniform attributes come in trains as well, credits follow them and counts cannot."
    },
    "gdj.fig8": {
        "": "More skew means more results in fewer values, which both policies find; which of them "
        "leads depends on whether the values come in trains.",
    },
    "gdj.fig9": {
        "Dropping": _DROPPED,
        "At equal": _EQUAL,
        "At p": "At that drop rate the buffer just holds what survives, so nothing has to be "
        "evicted.",
    },
    "gdj.fig10": {
        "Dropping": _DROPPED,
        "At equal": _EQUAL,
        "At p": "At that drop rate the buffer just holds what survives, so nothing has to be "
        "evicted.",
    },
}
