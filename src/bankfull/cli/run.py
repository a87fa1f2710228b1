"""``bankfull run FILE``: join files as a TOML file says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bankfull.cli.console import (
    Json,
    Quiet,
    messages,
    print_json,
    refusals,
    tell_warnings,
    warnings_later,
)
from bankfull.cli.spark_engine import Choice, Engine

if TYPE_CHECKING:
    from bankfull.cli.execute import Execution
    from bankfull.cli.jobfile import Job
    from bankfull.cli.spark_run import Outcome

_STANDARD = "-"


def run(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", exists=True, dir_okay=False, readable=True, help="The TOML file."
        ),
    ],
    engine: Choice = Engine.embedded,
    json: Json = False,
    quiet: Quiet = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="Print how the join would run, and stop.")
    ] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace output and quarantine files that exist.")
    ] = False,
) -> None:
    """Join files as a TOML file says: Parquet, Arrow, CSV, JSON lines.

    \b
    [streams.orders]
    path = "orders.parquet"    # relative to this file; "-" is standard input;
                               # a folder of Parquet or Arrow files is one stream
    time = "ordered_at"        # the column that says when a row happened
    late = "30 seconds"        # how far time may go back (default: not at all)
    # idle = "5 minutes"       # how far it may fall behind before others stop waiting
    # importance = "amount", unique = "order_id"       columns for [shed]
    # importance = {column = "kind", worth = {security = 10, other = 1}}    by type
    # format = "parquet"       # parquet, arrow, csv, jsonl (default: by suffix)
    # types = {amount = "float64"}, delimiter = ";"    how to read text

    \b
    [streams.payments]
    path = "payments.jsonl"
    time = "paid_at"

    \b
    [join]                     # or several: [joins.NAME]
    on = "order_id"            # or ["a", "b"], or {equal = ["order_id", "oid"]},
                               # {overlap = "tags", at_least = 3}, {subset = "tags"},
                               # {superset = "tags"}, {similar = "weights", at_least = 0.8}
    within = "10 minutes"      # or one a stream: ["10 minutes", "1 hour"];
                               # {rows = 1000}; a whole number for integer times
    # streams = ["orders", "payments"], search = "auto"

    \b
    [shed]                     # optional: approximate within a budget (docs/shedding.md)
    memory = "64 MB"           # or {tuples = 10000}
    # recall = 0.95            # a share of the results instead of, or within, the memory
    # keep = "gain"            # or {policy = "gdj", initial = 0.9}; see `bankfull policies`
    # split = "unified"        # or "proportional", or {orders = 0.3, payments = 0.7}
    # importance = "min"       # of a result: min, max, sum, product, average
    # sample = 0.0             # share dropped at random first, or "unbiased"
    # seed = 0
    # cpu = 0.8                # share of the time, or {comparisons = 1000000} a second
    # compare = "auto"         # or rate, correlation, direction, utility, drop (docs/cpu.md)

    \b
    [output]                   # default: JSON lines on standard output
    path = "joined.parquet"

    \b
    [quarantine]               # optional: where bad rows go, with the reason
    path = "bad-{stream}.jsonl"

    Before the first table may stand strict = true (bad rows end the run), basic_window,
    overload = "block" (the default: all windows are kept), threads = 2 (default: all cores) and
    buckets (with --engine spark).

    Text files: the first 4 MB decide the columns and types, unless types gives them (int64,
    float64, decimal128(38, 2), string, bool, timestamp[us], timestamp[us, tz=UTC] and other
    Arrow types). Numbers are never rounded: a column that int64 or float64 cannot hold exactly
    is a decimal, or else text, which is compared as it is spelt. Within lists and objects that
    are not compared, a double may also be written with seventeen digits. A row that does not
    fit, or has a column that the first 4 MB do not have, is set aside and counted with its
    number. A file that exists is not written over without --overwrite; nothing is left of a run
    that fails or is interrupted.

    --engine spark gives the same rows in the same types, in no particular order. Files are read
    and written by this process and staged in a temporary folder (TMPDIR), so this is for trying
    a job or for more cores, not for data that one machine cannot read; for that, and for live
    streams, call bf.join on your own DataFrames. Refused: values that Spark cannot hold (times
    finer than microseconds, whole numbers from 2**63). With count windows, rows of one stream
    with equal times may count in another order.

    Exit codes: 0 done, 1 refused or failed with a message, 2 wrong usage, 130 and 143 ended by
    SIGINT and SIGTERM.
    """
    with refusals(json):
        from bankfull.cli.jobfile import read_job

        job = read_job(file)
        if json and job.output.path == _STANDARD and not explain:
            raise typer.BadParameter(
                "rows and the JSON object cannot both go to standard output: "
                f"name a file under [output] path in {file.name}",
                param_hint="--json",
            )
        if engine is Engine.spark and not explain:
            _run_spark(job, json, quiet, overwrite)
        else:
            _run(job, json, quiet, explain, overwrite)


def _run_spark(job: Job, json: bool, quiet: bool, overwrite: bool) -> None:
    from bankfull.cli.spark_line import line
    from bankfull.cli.spark_run import run_on_spark

    with line(shown=not (json or quiet)) as told:
        outcome = run_on_spark(job, told, overwrite)
    if json:
        print_json(_report(job, outcome, outcome.ledger(), outcome.unreadable))
    elif not quiet:
        _print_spark(job, outcome)
    tell_warnings(map(str, outcome.lateness.values()))


def _print_spark(job: Job, outcome: Outcome) -> None:
    from bankfull.cli.summary import print_notes, print_recall, streams_table

    console = messages()
    print_notes(console, outcome.notes)
    console.print(streams_table(outcome.ledger()["streams"], outcome.unreadable))
    for name, emitted in outcome.emitted.items() if len(outcome.emitted) > 1 else ():
        console.print(f"join {name}: {emitted:,} rows", soft_wrap=True)
    print_recall(console, outcome.recall)
    target = "standard output" if job.output.path == _STANDARD else job.output.path
    console.print(
        f"{outcome.rows_in:,} rows in, {outcome.rows_out:,} rows out to {target} in "
        f"{outcome.seconds:.1f} s on Spark ({outcome.start_s:.1f} s of it to start Spark)",
        soft_wrap=True,
    )


def _run(job: Job, json: bool, quiet: bool, explain: bool, overwrite: bool) -> None:
    from bankfull.cli.execute import opened
    from bankfull.cli.progress import progress
    from bankfull.runtime.embedded.files import open_sink

    if explain:
        with opened(replace(job, quarantine=None)) as execution:
            _print_plan(job, execution, json)
        return
    with (
        opened(job, overwrite) as execution,
        open_sink(job.output.path, job.output.format, execution.joined.schema, overwrite) as sink,
        progress(execution, shown=not (json or quiet)),
        warnings_later(),
    ):
        execution.run(sink)
    if json:
        unreadable = {name: source.unreadable for name, source in execution.sources.items()}
        print_json(_report(job, execution, execution.joined.ledger.as_dict(), unreadable))
    elif not quiet:
        from bankfull.cli.summary import print_summary

        print_summary(messages(), execution, job.output.path)
    tell_warnings(map(str, execution.joined.lateness.values()))


def _print_plan(job: Job, execution: Execution, json: bool) -> None:
    if json:
        print_json({"query": _query(job), "plan": execution.joined.explain()})
    else:
        print(execution.joined.explain())


def _report(
    job: Job, done: Execution | Outcome, ledger: dict[str, Any], unreadable: dict[str, int]
) -> dict[str, Any]:
    from bankfull.cli.execute import Execution

    seconds = done.seconds
    lateness = done.joined.lateness if isinstance(done, Execution) else done.lateness
    return {
        "engine": "embedded" if isinstance(done, Execution) else "spark",
        "query": _query(job),
        "ledger": ledger,
        "unreadable": unreadable,
        "notes": done.notes,
        "lateness": {name: found.as_dict() for name, found in lateness.items()},
        "rows_in": done.rows_in,
        "rows_out": done.rows_out,
        "seconds": round(seconds, 6),
        "rows_per_s": round(done.rows_in / seconds) if seconds else None,
        "output": job.output.path,
        "quarantine": {
            name: bad.path for name in job.inputs if (bad := job.quarantine_of(name)) is not None
        },
    }


def _query(job: Job) -> Any:
    import json

    from bankfull.spec import to_json

    return json.loads(to_json(job.query))
