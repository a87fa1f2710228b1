"""Why each claim of this paper holds or does not, in plain sentences, for the report."""

from __future__ import annotations

from bankfull.lab.experiment import Causes

_GAPS = (
    "Where gaps are unstretched a value comes, stays and is gone, which GDJ's credits follow "
    "and PROB's counts of the past do not; the streams differ much from seed to seed, and at "
    "one seed of three PROB leads where memory is small. Where gaps are stretched over the day, "
    "counts say all that can be known, and PROB wins."
)
_STOCK = (
    "Half of the generated trades come in bursts and half follow a popularity that lasts, and "
    "PROB's counts find more of it than credits do; with all trades in bursts GDJ leads "
    "(`gdj.locality`), and how local the real trace is we cannot know, since it is not "
    "available."
)
_DEW = "Dew points drift with the weather, so what was frequent long ago misleads PROB."
_TAIL = (
    "An aircraft comes back after hours to days and few aircraft join at all, so credit is "
    "earned too late, while counts of the past say which aircraft use both airports."
)
_AGE = (
    "Told which tuples will never have a result (age 0), AGE knows more than an online policy "
    "can; told the whole window for them, or the stream's mean for all, it loses to GDJ nearly "
    "everywhere."
)
_RANDOM = (
    "With age 0 for tuples without results AGE clears the memory of all that is useless; with "
    "the stream's mean it resembles random eviction on the synthetic streams, as published, and "
    "with the whole window on trades and tail numbers; on dew points even one age is better "
    "than chance, because partners come soon."
)
_PERCENTILE = (
    "Low-rank credit for newcomers pays where most of them never earn anything: on unstretched "
    "trains the published 0.998 is the best percentile if it is counted from the top. Dew "
    "points prefer a high percentile, counted from the bottom; stretched trains and the "
    "generated trades prefer one in between, which is neither."
)
_DROPPED = (
    "Tuples dropped at random ahead of the buffer leave fewer decisions to the policy, so its "
    "output and its preference for some values shrink; GDJ's preference is small from the "
    "beginning, so the divergence can also rise with the noise of a smaller output."
)
_EQUAL = (
    "PROB keeps a few popular values and distorts the histogram far more than GDJ does; where "
    "the two curves meet at one distortion GDJ gives more, and where they have no distortion in "
    "common there is nothing to compare."
)
_FIFO = "At that drop rate the buffer holds what survives, so hardly anybody has to be evicted."

#: By experiment, then by how the text of a claim begins; the longest beginning counts.
CAUSES: Causes = {
    "gdj.popularity": {
        "": (
            "The generated streams have Zipf popularity by construction, so this checks the "
            "generators; dew points and tail numbers, which are real, have many values of about "
            "the same frequency."
        )
    },
    "gdj.stack": {
        "": (
            "Locality is how much sooner values come back than their popularity explains: a factor "
            "of four in unstretched trains, where it is weak in stretched ones; aircraft come back "
            "by schedule, no sooner than chance would have it."
        )
    },
    "gdj.ages": {
        "": (
            "Partners of most values come soon or never, so one short age suits many tuples of our "
            "streams; the published spread is that of a trace that we do not have."
        )
    },
    "gdj.fig3": {
        "METHOD 1 gives about as much as METHOD 2": (
            "Ranks grow with credits, so both order the stored tuples much alike; METHOD 1 gives a "
            "few per cent more."
        ),
        "METHOD 1 gives about as much as METHOD 3": (
            "What METHOD 3 takes from all tuples of a buffer alike changes no order, so the two "
            "decide alike."
        ),
        "The best percentile": _PERCENTILE,
        "The published percentile": _PERCENTILE,
        "The percentile matters": (
            "The percentile is how long a newcomer may wait for its first result, and most never "
            "have one."
        ),
        "A feedback": (
            "Regret for evicted newcomers and for evicted veterans balances near the best "
            "percentile on some streams; on trades, where bursts and lasting popularity ask for "
            "different ones, it does not."
        ),
    },
    "gdj.fig4": {
        "GDJ gives more than PROB at every buffer size: synthetic": _GAPS,
        "GDJ gives more than PROB at every buffer size: stock-like": _STOCK,
        "GDJ gives more than PROB at every buffer size: dew point": _DEW,
        "GDJ gives more than PROB at every buffer size: tail number": _TAIL,
        "GDJ gives more than AGE": _AGE,
        "AGE does no better": _RANDOM,
        "Weather": "One value an hour and airport fills every window to the same size.",
        "Trades": "A burst brings more tuples than the average for which the buffer is sized.",
    },
    "gdj.fig5-window": {
        "GDJ gives more than PROB at every window size: synthetic": _GAPS,
        "GDJ gives more than PROB at every window size: stock-like": _STOCK,
        "GDJ gives more than AGE": _AGE,
        "The window size": (
            "The buffer is a share of the window, so it grows along; only the trades' bursts last "
            "for a fixed time, of which a longer window has more."
        ),
    },
    "gdj.fig5-domain": {
        "GDJ gives more than PROB": _GAPS,
        "GDJ gives more than AGE": _AGE,
        "GDJ keeps less": (
            "With more values each one is rarer: in unstretched trains its tuples meet fewer "
            "partners, as published; in stretched ones results gather in the popular values, which "
            "are easier to keep."
        ),
        "PROB keeps less": (
            "With more values each one is rarer: in unstretched trains its tuples meet fewer "
            "partners, as published; in stretched ones results gather in the popular values, which "
            "are easier to keep."
        ),
    },
    "gdj.locality": {
        "": (
            "Credits follow bursts and counts follow popularity that lasts, so the lead moves from "
            "PROB to GDJ as more of the trades come in bursts."
        )
    },
    "gdj.fig6": {
        "Unified": (
            "Credit shows which of the two joins is richer, and it gets the memory; where gaps are "
            "stretched PROB's better knowledge of the values outweighs that, unless the memory is "
            "divided by the average credit of each join, which is the steadier measure."
        ),
        "One buffer": (
            "Credit shows which of the two joins is richer, and it gets the memory, which equal "
            "buffers cannot give it."
        ),
        "Random": (
            "Chance evicts from all streams in proportion to what they hold, as the buffers do; "
            "the unstretched streams are uneven in time, so the two differ by some per cent at "
            "single seeds."
        ),
    },
    "gdj.fig7-streams": {
        "": (
            "With more streams the results gather in the few symbols that are popular in all of "
            "them, which PROB keeps; GDJ gives credit to newcomers that never find a complete "
            "result."
        ),
        "The lead": (
            "GDJ stays behind PROB at every number of streams, so there is no lead; the ratio of "
            "the two rises, because popular symbols earn credit the faster the more streams there "
            "are."
        ),
        "GDJ gives more than RAND": "Credit finds the productive symbols, and chance does not.",
        "RAND": (
            "A result needs all its members, and chance keeps a fifth of each stream independently "
            "of the others."
        ),
    },
    "gdj.fig7-attributes": {
        "GDJ gives more than FIFO": "Credits tell productive tuples from others, and age does not.",
        "GDJ gives more than PROB": (
            "Unstretched trains favour credits over counts, most of all where uniform attributes "
            "come in trains too, since counts of uniform values say nothing; stretched ones favour "
            "counts."
        ),
        "The lead": (
            "Each further attribute is more skewed, and skew is what PROB knows, so the lead "
            "shrinks although it remains."
        ),
    },
    "gdj.fig8": {
        "GDJ gives": "More skew means more results in fewer values, which both policies find.",
        "PROB gives": "More skew means more results in fewer values, which both policies find.",
        "PROB wins": (
            "Values that are equally frequent give PROB nothing to count, while any locality still "
            "earns credit; without any, nobody could lead."
        ),
        "GDJ wins": (
            "With much skew the popular values are always there, so counting them is enough and "
            "credit adds noise."
        ),
    },
    "gdj.fig9": {"Dropping": _DROPPED, "At equal": _EQUAL, "At p": _FIFO},
    "gdj.fig10": {"Dropping": _DROPPED, "At equal": _EQUAL, "At p": _FIFO},
}
