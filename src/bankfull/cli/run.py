"""``bankfull run FILE``: join files as a TOML file says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bankfull.cli.console import Json, Quiet, messages, print_json, refusals

if TYPE_CHECKING:
    from bankfull.cli.execute import Execution
    from bankfull.cli.jobfile import Job

_STANDARD = "-"


def run(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", exists=True, dir_okay=False, readable=True, help="The TOML file."
        ),
    ],
    json: Json = False,
    quiet: Quiet = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="Print how the join would run, and stop.")
    ] = False,
) -> None:
    """Join files as a TOML file says: Parquet, Arrow, CSV, JSON lines.

    \b
    [streams.orders]
    path = "orders.parquet"    # relative to this file; "-" is standard input
    time = "ordered_at"        # the column that says when a row happened
    late = "30 seconds"        # how far time may go back (default: not at all)
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
    [output]                   # default: JSON lines on standard output
    path = "joined.parquet"

    \b
    [quarantine]               # optional: where bad rows go, with the reason
    path = "bad-{stream}.jsonl"

    Before the first table may stand strict = true (bad rows end the run) and basic_window.

    Exit codes: 0 done, 1 refused or failed with a message, 2 wrong usage.
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
        _run(job, json, quiet, explain)


def _run(job: Job, json: bool, quiet: bool, explain: bool) -> None:
    from bankfull.cli.execute import opened
    from bankfull.cli.progress import progress
    from bankfull.runtime.embedded.files import open_sink

    if explain:
        with opened(replace(job, quarantine=None)) as execution:
            _print_plan(execution, json)
        return
    with (
        opened(job) as execution,
        open_sink(job.output.path, job.output.format, execution.joined.schema) as sink,
        progress(execution, shown=not (json or quiet)),
    ):
        execution.run(sink)
    if json:
        print_json(_report(job, execution))
    elif not quiet:
        from bankfull.cli.summary import print_summary

        print_summary(messages(), execution, job.output.path)


def _print_plan(execution: Execution, json: bool) -> None:
    if json:
        print_json({"query": _query(execution), "plan": execution.joined.explain()})
    else:
        print(execution.joined.explain())


def _report(job: Job, execution: Execution) -> dict[str, Any]:
    seconds = execution.seconds
    return {
        "query": _query(execution),
        "ledger": execution.joined.ledger.as_dict(),
        "unreadable": {name: source.unreadable for name, source in execution.sources.items()},
        "rows_in": execution.rows_in,
        "rows_out": execution.rows_out,
        "seconds": round(seconds, 6),
        "rows_per_s": round(execution.rows_in / seconds) if seconds else None,
        "output": job.output.path,
        "quarantine": {
            name: bad.path for name in job.inputs if (bad := job.quarantine_of(name)) is not None
        },
    }


def _query(execution: Execution) -> Any:
    import json

    from bankfull.spec import to_json

    return json.loads(to_json(execution.joined.query))
