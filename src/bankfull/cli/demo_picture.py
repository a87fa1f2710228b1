"""The demo's picture: what was found day by day, and the recall, estimated beside true."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from bankfull.cli.demo_burst import BURST, Burst
from bankfull.runtime.embedded.files import SinkError

#: Okabe and Ito's colours, which colour-blind readers can tell apart; lines differ in form too.
_STYLES: dict[str, dict[str, Any]] = {
    "exact": {"color": "#000000", "linestyle": ":", "linewidth": 2.0},
    "random": {"color": "#0072b2", "linestyle": "--", "linewidth": 1.6},
    "gain": {"color": "#d55e00", "linestyle": "-", "linewidth": 2.2},
}
_CALLED = {"exact": "exact", "random": "random dropping", "gain": "bankfull (gain)"}
_COUNTS = (500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def can_draw() -> bool:
    """Tell whether the plotting library is there."""
    return find_spec("matplotlib") is not None


def draw(burst: Burst, path: Path) -> Path:
    """Write the picture and return where it is."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4.2), layout="constrained")
    FigureCanvasAgg(figure)
    days, recall = figure.subplots(1, 2, width_ratios=(2.2, 1))
    _draw_days(days, burst)
    _draw_recall(recall, burst)
    figure.suptitle(
        f"A burst, and room for {burst.budget:,} of the {burst.window_max:,} in the windows",
        fontsize=12,
    )
    path = path.absolute()
    temporary = path.with_name(f".{path.name}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(temporary, format="png", dpi=120)
        os.replace(temporary, path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise SinkError(
            f"{path} cannot be written: {error.strerror}: name another file with --picture"
        ) from error
    return path


def _draw_days(plot: Any, burst: Burst) -> None:
    from matplotlib.dates import DateFormatter
    from matplotlib.ticker import NullLocator

    found = {"exact": burst.truth, **burst.outcomes}
    days = sorted(burst.truth.by_day)
    dates = [_EPOCH + timedelta(days=day, hours=12) for day in days]
    for name, outcome in found.items():
        counts = [outcome.by_day.get(day, 0) for day in days]
        plot.plot(dates, counts, label=_CALLED[name], **_STYLES[name])
    plot.axvspan(*BURST, color="#999999", alpha=0.2, linewidth=0)
    middle = BURST[0] + (BURST[1] - BURST[0]) / 2
    above = ("data", "axes fraction")
    plot.annotate("burst", (middle, 1.0), xycoords=above, ha="center", va="bottom")
    plot.set_yscale("log")
    plot.yaxis.set_minor_locator(NullLocator())
    plot.set_yticks(_COUNTS, [f"{count:,}" for count in _COUNTS])
    plot.set_ylabel("connections found a day (logarithmic)")
    plot.xaxis.set_major_formatter(DateFormatter("%d %b"))  # type: ignore[no-untyped-call]
    plot.legend(frameon=False, loc="upper right")
    plot.spines[["top", "right"]].set_visible(False)
    plot.grid(axis="y", alpha=0.3)


def _draw_recall(plot: Any, burst: Burst) -> None:
    for place, (name, outcome) in enumerate(burst.outcomes.items()):
        true, told = burst.true_recall(name), outcome.estimate()
        plot.bar(place, true, 0.6, color=_STYLES[name]["color"], alpha=0.85)
        below, above = (max(0.0, told["estimate"] - told["low"]), told["high"] - told["estimate"])
        plot.errorbar(
            place,
            told["estimate"],
            [[below], [max(0.0, above)]],
            fmt="o",
            color="#000000",
            markersize=5,
            capsize=6,
            linewidth=1.6,
            label=None if place else "estimated while it ran (95 %)",
        )
        plot.annotate(f"{true:.0%}", (place - 0.27, true), ha="left", va="bottom", fontsize=11)
    plot.set_xticks(range(len(burst.outcomes)), [_CALLED[name] for name in burst.outcomes])
    plot.set_ylim(0, 1.15)
    plot.axhline(1.0, color="#000000", linestyle=":", linewidth=1)
    plot.set_ylabel("recall: share of the exact results")
    plot.legend(frameon=False, loc="upper left", fontsize=9)
    plot.spines[["top", "right"]].set_visible(False)
