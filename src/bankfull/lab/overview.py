"""The picture that opens the README: one curve a system, each with its name at its end.

Curves are means over everything that is not on the axes. Ours is the thick one, the optimum is
black and dashed, and every other policy is thin. Names are moved apart where curves end close
together, and joined to their curves by a line of the same colour.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from bankfull.lab.experiment import Experiment, Record

_TOLD = {
    "gain": "gain (bankfull's default)",
    "optimum": "optimum (knows the future)",
    "age": "age (told each best age)",
    "gdj-best": "gdj-best (in hindsight)",
    "random": "random dropping",
}
_SIZE_IN = (9.0, 5.2)
#: How far names are from each other, at least, as a share of the height.
_APART = 0.047
#: Where names begin, beyond the last point, as a share of the width.
_NAMES_AT = 1.06


def draw(figure: Any, experiment: Experiment, records: Sequence[Record], style: Any) -> None:
    """Draw an experiment into a figure; ``style`` gives a system's colour and dashes."""
    figure.set_size_inches(*_SIZE_IN)
    plot = figure.subplots()
    figure.subplots_adjust(left=0.08, right=0.7, bottom=0.115, top=0.93)
    x = experiment.chart.x
    curves = _curves(experiment, records)
    places = sorted(next(iter(curves.values())))
    for number, (name, curve) in enumerate(curves.items()):
        look = _look(style(name, number), name)
        plot.plot(places, [curve[place] for place in places], marker="o", **look)
    plot.set_xscale("log")
    plot.set_xticks(places, [f"{place:.0%}" for place in places])
    plot.minorticks_off()
    plot.set_xlim(places[0] * 0.93, places[-1])
    plot.set_ylim(0, 1.02)
    plot.set_yticks([0, 0.2, 0.4, 0.6, 0.8, 1.0], ["0", "20%", "40%", "60%", "80%", "100%"])
    plot.set_xlabel("memory, as a share of what the windows hold" if x == "budget" else x)
    plot.set_ylabel(experiment.chart.y)
    plot.set_title(experiment.title, fontsize=11, loc="left")
    plot.grid(axis="y", alpha=0.25)
    plot.set_axisbelow(True)
    plot.spines[["top", "right"]].set_visible(False)
    _name_curves(plot, {name: curve[places[-1]] for name, curve in curves.items()}, style)


def _curves(experiment: Experiment, records: Sequence[Record]) -> dict[str, Mapping[float, float]]:
    """Return the mean of every system at every place, the thick ones last, to lie on top."""
    found: dict[str, dict[float, list[float]]] = {name: {} for name in experiment.systems}
    for record in records:
        values = found[str(record[experiment.curve])]
        values.setdefault(record[experiment.chart.x], []).append(float(record["value"]))
    return {
        name: {place: fmean(values) for place, values in curve.items()}
        for name, curve in found.items()
    }


def _look(style: Mapping[str, Any], name: str) -> dict[str, Any]:
    look: dict[str, Any] = {"color": style["color"], "linestyle": style["linestyle"]}
    if name == "gain":
        return look | {"linewidth": 3.4, "markersize": 6, "zorder": 5}
    if name == "optimum":
        return look | {"linewidth": 2.4, "markersize": 5, "linestyle": (0, (4, 2)), "zorder": 4}
    return look | {"linewidth": 1.1, "markersize": 2.5, "alpha": 0.9}


def _name_curves(plot: Any, ends: Mapping[str, float], style: Any) -> None:
    """Write every curve's name beside its end."""
    low, high = plot.get_ylim()
    order = sorted(ends, key=lambda name: ends[name])
    heights = spread_out([(ends[name] - low) / (high - low) for name in order], _APART)
    for name, height in zip(order, heights, strict=True):
        colour = style(name, list(ends).index(name))["color"]
        end = (ends[name] - low) / (high - low)
        plot.plot(
            [1.0, _NAMES_AT - 0.01],
            [end, height],
            transform=plot.transAxes,
            color=colour,
            linewidth=0.8,
            clip_on=False,
        )
        plot.annotate(
            _TOLD.get(name, name),
            (_NAMES_AT, height),
            xycoords="axes fraction",
            va="center",
            fontsize=10 if name in ("gain", "optimum") else 9,
            fontweight="bold" if name in ("gain", "optimum") else "normal",
            color=colour if name in ("gain", "optimum") else "#333333",
        )


def spread_out(wanted: Sequence[float], apart: float) -> list[float]:
    """Move rising places apart, each as little as the others allow, in order and below 1.

    >>> [round(one, 3) for one in spread_out([0.1, 0.5, 0.5, 0.5], 0.1)]
    [0.1, 0.4, 0.5, 0.6]
    >>> [round(one, 3) for one in spread_out([0.7, 0.95, 0.95], 0.1)]
    [0.7, 0.9, 1.0]
    """
    groups: list[tuple[float, int]] = []  # each: its middle and how many are in it
    for place in wanted:
        middle, many = place, 1
        while groups and middle - groups[-1][0] < (many + groups[-1][1]) / 2 * apart - 1e-12:
            below, more = groups.pop()
            middle = (middle * many + below * more) / (many + more)
            many += more
            middle = min(middle, 1.0 - (many - 1) / 2 * apart)
        groups.append((middle, many))
    return [
        middle + (number - (many - 1) / 2) * apart
        for middle, many in groups
        for number in range(many)
    ]
