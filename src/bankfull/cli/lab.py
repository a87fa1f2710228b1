"""``bankfull lab``: what the papers claim, run here, with a verdict for every claim."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bankfull.cli.console import Json, Quiet, print_json, refusals, results

if TYPE_CHECKING:
    from bankfull.lab import Report
    from bankfull.lab.grid import Engine as Grid

_COLOURS = {
    "holds": "green",
    "fails": "red",
    "depends": "yellow",
    "too small to judge": "dim",
    "not comparable": "dim",
}
_SHORT = {
    "holds": "hold",
    "fails": "fail",
    "depends": "depend",
    "too small to judge": "too small to judge",
    "not comparable": "not comparable",
}
_DISAGREEING_MAX = 3


class Engine(StrEnum):
    """Where the grid of an experiment runs."""

    local = "local"
    spark = "spark"


lab = typer.Typer(
    name="lab",
    help="Run the papers' experiments and judge their claims.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@lab.command("list")
def list_experiments(json: Json = False) -> None:
    """List the experiments: what each varies, and what is claimed of it."""
    with refusals(json):
        from bankfull.lab import EXPERIMENTS

        if json:
            print_json({"experiments": [one.describe() for one in EXPERIMENTS.values()]})
            return
        from rich.table import Table

        table = Table(box=None, header_style="bold", pad_edge=False)
        for heading in ("experiment", "varied"):
            table.add_column(heading, no_wrap=True)
        table.add_column("claims", justify="right")
        table.add_column("what")
        for one in EXPERIMENTS.values():
            table.add_row(one.key, one.varied, str(len(one.claims)), one.title)
        results().print(table)


@lab.command("run")
def run_experiments(
    experiments: Annotated[
        list[str],
        typer.Argument(
            metavar="ID...",
            help="gdj.fig4, several, a paper (gdj, importance), or all.",
            show_default=False,
        ),
    ],
    seed: Annotated[
        list[int] | None,
        typer.Option(min=0, help="Use this seed instead of the declared ones; may be repeated."),
    ] = None,
    quick: Annotated[
        bool,
        typer.Option(
            "--quick", help="Smaller streams, fewer points, one seed; judges what no size changes."
        ),
    ] = False,
    out: Annotated[
        Path,
        typer.Option(metavar="DIR", file_okay=False, help="Where points and figures go."),
    ] = Path("lab-results"),
    engine: Annotated[
        Engine, typer.Option(help="One Spark task a cell, or processes of this machine.")
    ] = Engine.spark,
    processes: Annotated[
        int | None, typer.Option(min=1, help="With --engine local. Without: one a core.")
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Run experiments: points as Parquet, a figure, and a verdict for every claim.

    A claim holds, fails, or depends: it holds for some seeds or settings and not for others. It is
    not comparable where its comparison makes no sense, and too small to judge in a --quick run,
    unless no size can change it. A claim that fails is reported as failing; the exit code says only
    whether the lab could run.

    Every experiment leaves a folder in DIR: points.parquet (one flat record a point), claims.json,
    figure.png and figure.svg. The grid runs as a Spark job, one task a cell; with --engine local
    in processes of this machine, without Spark or Java. All but the measured times is the same.
    """
    with refusals(json):
        from bankfull.lab import select

        chosen = select(experiments)
        found: list[Report] = []
        for report in _run(chosen, engine, processes, out, quick, seed, shown=not quiet):
            found.append(report)
            if not (json or quiet):
                _print(report)
        if json:
            print_json(_document(found, engine, quick, seed))


@lab.command("report")
def report_results(
    results_in: Annotated[
        Path,
        typer.Option("--results", metavar="DIR", file_okay=False, help="What runs have left."),
    ] = Path("docs/figures"),
    out: Annotated[
        Path, typer.Option(metavar="FILE", dir_okay=False, help="The page to write.")
    ] = Path("docs/results.md"),
    redraw: Annotated[
        bool, typer.Option("--redraw", help="Write verdicts and figures of the folder anew, too.")
    ] = False,
    json: Json = False,
) -> None:
    """Write one page about all papers: every figure, every claim under every reading, and why.

    It runs nothing. Points are read from DIR, where `bankfull lab run ID --out DIR` left them, and
    judged again. An experiment without points is named as not run yet.
    """
    with refusals(json):
        from bankfull.errors import SourceError
        from bankfull.lab.registry import EXPERIMENTS
        from bankfull.lab.report import write
        from bankfull.lab.store import load, save

        if redraw:
            for key, one in EXPERIMENTS.items():
                if stored := load(results_in, key):
                    save(results_in, one, stored[0], one.judge(*stored), stored[1])
        page = write(results_in, out)
        try:
            out.parent.mkdir(parents=True, exist_ok=True)
            out.write_text(page.text)
        except OSError as error:
            raise SourceError(
                f"{out} cannot be written: {error.strerror}: give another file with --out"
            ) from error
        if json:
            told = {"page": str(out), "missing": list(page.missing), "verdicts": page.verdicts}
            print_json(told)
            return
        console = results()
        counts = [f"{count} {_SHORT[word]}" for word, count in page.verdicts.items() if count]
        console.print(f"{out}: {', '.join(counts) or 'no results'}", markup=False)
        for key in page.missing:
            console.print(f"not run yet: {key}", markup=False)


def _run(
    chosen: Sequence[Any],
    engine: Engine,
    processes: int | None,
    out: Path,
    quick: bool,
    seeds: list[int] | None,
    shown: bool,
) -> Iterator[Report]:
    from bankfull.cli.spark_line import line
    from bankfull.lab import run

    with line(shown) as told, _engine(engine, processes, told) as grid:

        def tell(text: str, part: float) -> None:
            told.say(text, part, passing=True)

        for report in run(chosen, grid, out, quick=quick, seeds=seeds, tell=tell):
            told.say(_summary(report))
            yield report


@contextlib.contextmanager
def _engine(engine: Engine, processes: int | None, told: Any) -> Iterator[Grid]:
    import tempfile

    from bankfull.lab import LocalEngine, SparkEngine

    if engine is Engine.local:
        with contextlib.closing(LocalEngine(processes)) as grid:
            yield grid
        return
    from bankfull.cli.spark_session import quiet_session

    _require_spark()
    with tempfile.TemporaryDirectory(prefix="bankfull-", ignore_cleanup_errors=True) as scratch:
        told.say("starting Spark, which takes a few seconds")
        with (
            quiet_session("bankfull lab", Path(scratch)) as spark,
            contextlib.closing(SparkEngine(spark)) as grid,
        ):
            yield grid


def _require_spark() -> None:
    """Ask for Spark; the way around it has another name here than elsewhere."""
    from bankfull.cli.spark_session import require
    from bankfull.errors import PlanError

    try:
        require()
    except PlanError as error:
        raise PlanError(str(error).replace("--engine embedded", "--engine local")) from None


def _counts(claims: Sequence[dict[str, Any]]) -> dict[str, int]:
    return {word: sum(claim["verdict"] == word for claim in claims) for word in _COLOURS}


def _summary(report: Report) -> str:
    counts = [f"{count} {_SHORT[word]}" for word, count in _counts(report.claims).items() if count]
    return (
        f"{report.experiment.key}: {report.cells} cells in {report.seconds:.1f} s; "
        f"claims: {', '.join(counts)}"
    )


def _document(
    found: Sequence[Report], engine: Engine, quick: bool, seeds: list[int] | None
) -> dict[str, Any]:
    claims = [claim for report in found for claim in report.claims]
    return {
        "lab": [report.describe() for report in found],
        "engine": engine.value,
        "quick": quick,
        "seeds": seeds,
        "verdicts": _counts(claims),
        "claims": claims,
        "rows": [record for report in found for record in report.records],
    }


def _print(report: Report) -> None:
    from rich.table import Table
    from rich.text import Text

    console = results()
    console.print(f"\n[bold]{report.experiment.key}[/bold]  {report.experiment.title}")
    for note in report.experiment.notes:
        console.print(Text(note, style="dim"))
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(no_wrap=True)
    table.add_column()
    for claim in report.claims:
        verdict = Text(claim["verdict"], style=_COLOURS[claim["verdict"]])
        table.add_row(verdict, Text(_told(claim)))
    console.print(table)
    console.print(Text(report.files["figure.png"], style="dim"), soft_wrap=True)


def _told(claim: dict[str, Any]) -> str:
    low, high = claim["lowest"], claim["highest"]
    text = f"{claim['text']}{f' [{reading}]' if (reading := claim['reading']) else ''}"
    if claim["measured"] is None:
        return f"{text}. Expected {claim['expected']}; there is nothing to compare"
    measured = f"{claim['measured']:.4g}"
    if low != high:
        measured += f" ({low:.4g} to {high:.4g}; {claim['agreeing']} of {claim['observations']})"
    text += f". Expected {claim['expected']}, measured {measured}"
    if claim["verdict"] == "depends":
        text += "; not at " + "; ".join(claim["disagreeing_at"][:_DISAGREEING_MAX])
    return text
