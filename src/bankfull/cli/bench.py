"""``bankfull bench NAME``: measure this machine, beside what to compare it with."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bankfull.cli.console import Json, Quiet, messages, print_json, refusals, results

if TYPE_CHECKING:
    from rich.table import Table

_WORKLOADS = {
    "embedded": ("equi", "streams", "overlap", "length", "startup", "shed"),
    "spark": ("join60", "join600", "shed60", "latency", "window10x", "cores", "overlap"),
}
_REPEATS = {"embedded": 3, "spark": 1}
_Interpreter = Annotated[
    Path | None,
    typer.Option(exists=True, dir_okay=False, help="A Python that has it installed."),
]


def bench(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="What to measure: embedded, spark.")
    ] = "embedded",
    json: Json = False,
    quiet: Quiet = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="A tenth of the size, to try it out.")
    ] = False,
    repeats: Annotated[
        int | None,
        typer.Option(min=1, help="Turns a system; the best counts. Without: 3, on Spark 1."),
    ] = None,
    only: Annotated[
        str | None, typer.Option(help="Some of the workloads, with commas between them.")
    ] = None,
    pathway_python: _Interpreter = None,
    flink_python: _Interpreter = None,
) -> None:
    """Measure a runtime beside other systems, all in this run.

    Workloads of embedded: equi (2 x 2,000,000 rows, equal keys within a minute, against DuckDB
    and, where they are installed, Pathway and Flink), streams (equal keys of two to five
    streams), overlap (sets with 3 items in common: inverted index, identifier-sorted index,
    scan), length (ten times the stream: time and memory), startup, shed (every policy within a
    memory budget).

    Workloads of spark, about half an hour: join60 and join600 (equal keys within 60 and 600
    seconds, against Spark's own join and against only moving the rows), shed60 (within a quarter of
    the memory, against the exact join), latency (a thousand rows a micro-batch), window10x (ten
    times the window at equal output), cores (two against one), overlap (against explode, join and
    count).
    """
    _check("NAME", name, tuple(_WORKLOADS))
    workloads = tuple(only.split(",")) if only else _WORKLOADS[name]
    for workload in workloads:
        _check("--only", workload, _WORKLOADS[name])
    with refusals(json):
        others = {"pathway": pathway_python, "flink": flink_python}
        turns = repeats or _REPEATS[name]
        report = _measure(name, workloads, quick, turns, others, shown=not (json or quiet))
        if json:
            print_json(report)
        else:
            _print(report)


def _check(what: str, given: str, known: tuple[str, ...]) -> None:
    from bankfull.errors import closest

    if given not in known:
        raise typer.BadParameter(f"{given!r} is unknown: {closest(given, known)}", param_hint=what)


def _measure(
    name: str,
    workloads: tuple[str, ...],
    quick: bool,
    repeats: int,
    interpreters: dict[str, Path | None],
    shown: bool,
) -> dict[str, Any]:
    import os
    import platform

    from bankfull.cli.benchmarks import spark_targets, targets

    console = messages()
    found: list[dict[str, Any]] = []
    for workload in workloads:
        if shown:
            console.print(f"measuring {workload} ...")
        if name == "spark":
            found += _on_spark(workload, quick, repeats)
        else:
            found += _embedded(workload, quick, repeats, interpreters)
    promised = spark_targets if name == "spark" else targets
    return {
        "bench": name,
        "quick": quick,
        "repeats": repeats,
        "machine": {
            "python": platform.python_version(),
            "system": platform.platform(),
            "cores": os.cpu_count(),
        },
        "results": found,
        "targets": promised.targets(found),
    }


def _embedded(
    workload: str, quick: bool, repeats: int, interpreters: dict[str, Path | None]
) -> list[dict[str, Any]]:
    from importlib import import_module

    from bankfull.cli.benchmarks import others

    module = import_module(f"bankfull.cli.benchmarks.{workload}")
    found: list[dict[str, Any]] = module.measure(quick, repeats)
    if workload == "equi":
        found += others.measure(quick, interpreters, rows_out=found[0]["rows_out"])
    return found


def _on_spark(workload: str, quick: bool, repeats: int) -> list[dict[str, Any]]:
    from bankfull.cli.benchmarks import spark
    from bankfull.runtime.spark.session import require_spark

    require_spark()
    return spark.measure(workload, quick, repeats)


def _print(report: dict[str, Any]) -> None:
    from rich.table import Table

    console = results()
    table = Table(box=None, header_style="bold", pad_edge=False)
    for heading in ("workload", "system"):
        table.add_column(heading, no_wrap=True)
    for heading in ("rows/s", "seconds"):
        table.add_column(heading, justify="right")
    table.add_column("note")
    for one in report["results"]:
        _add(table, one)
    console.print(table)
    console.print()
    for target in report["targets"]:
        mark = "[green]met[/green]" if target["met"] else "[red]missed[/red]"
        mark = "" if report["quick"] else mark + "  "
        console.print(f"{mark}{target['text']}: {target['measured']:g}", soft_wrap=True)
    if report["quick"]:
        console.print("[dim]--quick: too small to judge by[/dim]")


def _add(table: Table, one: dict[str, Any]) -> None:
    if one.get("available") is False:
        table.add_row(one["workload"], one["system"], "-", "-", one["note"])
        return
    rate = f"{one['rows_per_s']:,}" if one["rows_per_s"] else "-"
    ratios = [f"{key.replace('_', ' ')} {one[key]}" for key in one if "ratio" in key]
    notes = [str(one[key]) for key in ("items", "note") if key in one] + ratios
    if "length" in one:
        notes.insert(0, f"{one['length']} x the stream, {one['ns_per_tuple']} ns/tuple")
    seconds = f"{one['seconds']:.3f}"
    table.add_row(one["workload"], one["system"], rate, seconds, ", ".join(notes))
