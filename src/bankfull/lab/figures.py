"""Figures that can be read: labelled axes, one colour a policy everywhere, the optimum on top."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from textwrap import wrap
from typing import Any

from bankfull.errors import PlanError
from bankfull.lab import overview
from bankfull.lab.experiment import Experiment, Record

#: Colours that colour-blind readers can tell apart, and dashes where colours repeat.
_COLOURS = {
    "optimum": "#000000",
    "gain": "#d55e00",
    "gdj": "#0072b2",
    "gdj-best": "#56b4e9",
    "gdj-chosen": "#56b4e9",
    "gdj-fitted": "#6a4c93",
    "prob": "#009e73",
    "prob-window": "#1b4f3f",
    "prob-next": "#7fd4b6",
    "life": "#66a61e",
    "fifo": "#999999",
    "random": "#bbbbbb",
    "age": "#d6c200",
    "age-learned": "#8c8000",
    "age-mean": "#f0a202",
    "age-window": "#b08d57",
    "simp": "#a6761d",
    "simpprob": "#e7298a",
    "dimpprob": "#7570b3",
    "dgl": "#cc79a7",
    "additive": "#b2abd2",
    "multiplicative": "#542788",
    "cumulative": "#f4a582",
    "s3fifo": "#80cdc1",
    "sieve": "#e6ab02",
    "informed": "#7f0000",
    "largest": "#555555",
    "auto": "#d55e00",
    "drop": "#999999",
    "rate": "#56b4e9",
    "correlation": "#009e73",
    "direction": "#0072b2",
    "utility": "#cc79a7",
}
_DASHED = (
    "gdj-best",
    "gdj-chosen",
    "prob-window",
    "prob-next",
    "age-window",
    "age-mean",
    "method 3",
    "shuffled",
    "additive",
    "multiplicative",
    "cumulative",
)
#: What stands at an axis, where the field's own name says too little.
_AXES = {
    "budget": "memory, as a share of the window",
    "cache": "size of the cache, as a share of the values",
    "age": "best age, as a share of the window",
    "initial": "initial credit, as a percentile of the buffer",
    "window": "window, in units of time",
    "domain": "number of values",
    "streams": "number of streams",
    "attributes": "number of attributes",
    "skew_b": "skew of the second attribute in the second stream",
    "skew": "skew of both streams",
    "drop": "dropped at random",
    "share": "part of the trades that comes in bursts",
    "sse": "distortion, sum of squared errors",
    "kl": "distortion, Kullback-Leibler divergence",
    "room": "memory of one stream, tuples",
    "memory": "memory of both streams, tuples",
    "rows": "length of a stream, tuples",
    "time": "time, in seconds",
    "capacity": "capacity, comparisons a second",
    "rate": "tuples a second of each stream",
    "basic_s": "basic windows, in seconds",
    "types": "number of types",
    "utility_skew": "skew of utilities",
    "decay": "what is left of a priority after a window",
}
#: What is before the name of a reading above a panel.
_READINGS = {
    "kind": "importance",
    "gaps": "gaps",
    "counted": "percentile counted",
    "answer": "odja:",
}
_SPARE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000")
_WIDTH_IN, _HEIGHT_IN, _COLUMNS, _WIDEST = 4.6, 3.6, 2, 3
#: Where the title begins and where the panels do, from the top; how much the legend takes.
_TITLE_IN, _TOP_IN, _LEGEND_IN = 0.1, 0.2, 1.5
#: Letters of a title in an inch.
_LETTERS = 11
#: So many places on a logarithmic axis are named themselves, instead of powers of ten.
_NAMED_MOST = 8


def require() -> None:
    """Say how to get the plotting library where it is missing."""
    if find_spec("matplotlib") is None:
        raise PlanError(
            "figures need matplotlib, which is not installed: pip install 'bankfull[lab]'"
        )


def draw(experiment: Experiment, records: Sequence[Record], path: Path) -> dict[str, Path]:
    """Draw an experiment and return the files, by suffix."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    if experiment.chart.kind == "overview":
        figure = Figure()
        FigureCanvasAgg(figure)
        overview.draw(figure, experiment, records, _style)
        return _save(figure, path)
    chart = experiment.chart
    fields = (chart.panel,) if isinstance(chart.panel, str) else chart.panel or ()
    panels = _panels(records, fields)
    # Several fields are a table of panels: a column for each value of the last one.
    values = {panel[-1] for panel in panels} if len(fields) > 1 else ()
    columns = min(len(values), _WIDEST) or min(_COLUMNS, len(panels))
    rows = -(-len(panels) // columns)
    figure = Figure(figsize=(_WIDTH_IN * columns + 1.6, _HEIGHT_IN * rows + 0.6))
    FigureCanvasAgg(figure)
    plots = figure.subplots(rows, columns, squeeze=False).ravel().tolist()
    for plot in plots[len(panels) :]:
        plot.set_axis_off()
    for plot, panel in zip(plots, panels, strict=False):
        chosen = [one for one in records if _panel_of(one, fields) == panel]
        _panel(plot, experiment, chosen)
        told = ", ".join(map(_panel_name, fields, panel))
        plot.set_title(told, fontsize=10)
    handles, labels = plots[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="center right", fontsize=8, frameon=False)
    # In inches from the top, so that the title is as far from the panels in a tall figure.
    inch = 1 / figure.get_figheight()
    width = int(_LETTERS * figure.get_figwidth())
    title = wrap(f"{experiment.key} · {experiment.title}", width)
    figure.suptitle("\n".join(title), fontsize=10, y=1 - _TITLE_IN * inch)
    right, top = 1 - _LEGEND_IN / figure.get_figwidth(), 1 - _TOP_IN * inch
    figure.tight_layout(rect=(0, 0, right, top))
    return _save(figure, path)


def _panels(records: Sequence[Record], fields: Sequence[str]) -> list[tuple[Any, ...]]:
    """Return the panels row by row: values in the order in which they occur, the last field first.

    >>> _panels([{"a": 1, "b": 1}, {"a": 2, "b": 1}, {"a": 1, "b": 2}], ("a", "b"))
    [(1, 1), (1, 2), (2, 1)]
    """
    orders = [list(dict.fromkeys(record[name] for record in records)) for name in fields]
    found = dict.fromkeys(_panel_of(record, fields) for record in records)
    return sorted(
        found,
        key=lambda panel: [order.index(value) for order, value in zip(orders, panel, strict=True)],
    )


def _panel_of(record: Record, fields: Sequence[str]) -> tuple[Any, ...]:
    return tuple(record[name] for name in fields)


def _panel_name(field: str, value: Any) -> str:
    if isinstance(value, str):
        return f"{_READINGS[field]} {value}" if field in _READINGS else value
    return f"{field} = {_number(value)}"


def _name(place: Any) -> str:
    return place if isinstance(place, str) else _number(place)


def _number(value: float) -> str:
    """Write a number without an exponent.

    >>> _number(1_000_000.0), _number(0.25)
    ('1,000,000', '0.25')
    """
    return f"{value:,.10g}"


def _save(figure: Any, path: Path) -> dict[str, Path]:
    files = {suffix: path.with_suffix(f".{suffix}") for suffix in ("png", "svg")}
    for file in files.values():
        figure.savefig(file, dpi=150, metadata={"Date": None} if file.suffix == ".svg" else None)
    return files


def _panel(plot: Any, experiment: Experiment, records: Sequence[Record]) -> None:
    chart = experiment.chart
    names = list(dict.fromkeys(str(record[experiment.curve]) for record in records))
    names.sort(key=lambda name: ("optimum" not in name, experiment.systems.index(name)))
    for number, name in enumerate(names):
        mine = [record for record in records if record[experiment.curve] == name]
        style = _style(name, number)
        if chart.kind == "bar":
            _bars(plot, chart.x, mine, number, len(names), style)
        elif chart.kind == "scatter":
            _trail(plot, chart.x, str(chart.across), mine, style)
        else:
            _line(plot, chart.x, mine, style)
    across = str(chart.across) if chart.kind == "scatter" else chart.x
    plot.set_xlabel(chart.across_is or _AXES.get(across, across))
    plot.set_ylabel(chart.y)
    if chart.kind != "bar":
        _scale_across(plot, "x" in chart.log, sorted({record[chart.x] for record in records}))
    plot.set_yscale("log" if "y" in chart.log else "linear")
    if chart.y.startswith("share of the exact"):
        plot.axhline(1.0, color="#000000", linewidth=0.8, linestyle=":", label="exact")
        plot.set_ylim(0, 1.05)
    elif "y" not in chart.log:
        plot.set_ylim(bottom=0)
    plot.grid(axis="y", alpha=0.3)
    plot.set_axisbelow(True)
    plot.spines[["top", "right"]].set_visible(False)


def _scale_across(plot: Any, logarithmic: bool, places: Sequence[Any]) -> None:
    plot.set_xscale("log" if logarithmic else "linear")
    counted = all(isinstance(place, int) for place in places)
    if (logarithmic or counted) and len(places) <= _NAMED_MOST:
        plot.set_xticks(places, [f"{place:g}" for place in places])
        plot.minorticks_off()


def _style(name: str, number: int) -> dict[str, Any]:
    colour = _COLOURS.get(name.rpartition(" ")[2], _SPARE[number % len(_SPARE)])
    dashed = name.startswith(("split ", "by credit ")) or name in _DASHED
    return {"label": name, "color": colour, "linestyle": "--" if dashed else "-"}


def _by(records: Sequence[Record], field: str) -> dict[Any, list[float]]:
    found: dict[Any, list[float]] = {}
    for record in records:
        found.setdefault(record[field], []).append(float(record["value"]))
    return found


def _line(plot: Any, x: str, records: Sequence[Record], style: dict[str, Any]) -> None:
    """Draw the mean over seeds, and between which values they lie."""
    series = sorted(_by(records, x).items())
    places = [place for place, _ in series]
    means = [sum(values) / len(values) for _, values in series]
    best = "optimum" in style["label"]
    plot.plot(places, means, linewidth=2.2 if best else 1.5, marker=".", **style)
    low, high = [min(values) for _, values in series], [max(values) for _, values in series]
    plot.fill_between(places, low, high, color=style["color"], alpha=0.12, linewidth=0)


def _bars(
    plot: Any, x: str, records: Sequence[Record], number: int, many: int, style: dict[str, Any]
) -> None:
    groups = list(_by(records, x).items())
    width = 0.85 / many
    places = [place + (number - (many - 1) / 2) * width for place in range(len(groups))]
    means = [sum(values) / len(values) for _, values in groups]
    hatch = "//" if style.pop("linestyle") == "--" else None
    plot.bar(places, means, width, hatch=hatch, edgecolor="white", linewidth=0.3, **style)
    plot.set_xticks(range(len(groups)), [_name(place) for place, _ in groups])


def _trail(
    plot: Any, x: str, across: str, records: Sequence[Record], style: dict[str, Any]
) -> None:
    """Draw output against distortion along the varied parameter."""
    steps = sorted(_by(records, x).items())
    widths = []
    for place, _ in steps:
        mine = [float(record[across]) for record in records if record[x] == place]
        widths.append(sum(mine) / len(mine))
    means = [sum(values) / len(values) for _, values in steps]
    plot.plot(widths, means, marker="o", markersize=4, **style)
    if len(set(widths)) == 1:
        return  # it does not depend on the parameter: one point, no ends
    for end in (0, -1):
        told, at = f"{steps[end][0]:g}", (widths[end], means[end])
        plot.annotate(told, at, fontsize=7, xytext=(3, 3), textcoords="offset points")
