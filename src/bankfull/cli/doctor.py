"""``bankfull doctor``: whether this machine can run joins, and how to mend what is wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from bankfull.cli.console import Json, print_json, refusals, results

if TYPE_CHECKING:
    from bankfull.cli.doctor_checks import Finding

_COLOURS = {"ok": "green", "note": "yellow", "broken": "bold red"}


def doctor(
    quick: Annotated[
        bool, typer.Option("--quick", help="Do not start Spark, which takes a few seconds.")
    ] = False,
    json: Json = False,
) -> None:
    """Check this installation and say how to mend what is wrong.

    Looks at Python, the packages and their versions, Java, Spark and its Python workers (their
    interpreter and their packages), the folder of compiled kernels, the room on the disk, and the
    clock's time zone.

    A line is `ok`; a `note`, which you may want to know; or `broken`, with what to do about it.
    The exit code is 1 if anything is broken.
    """
    with refusals(json):
        from bankfull.cli.doctor_checks import examine

        findings = examine(start_spark=not quick)
        broken = sum(one.state == "broken" for one in findings)
        if json:
            print_json({"broken": broken, "checks": [one.describe() for one in findings]})
        else:
            _print(findings, broken)
        if broken:
            raise typer.Exit(1)


def _print(findings: list[Finding], broken: int) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for one in findings:
        told = Text(one.found)
        if one.mend:
            told.append(f"\n{one.mend}", style="bold" if one.state == "broken" else "")
        table.add_row(Text(one.state, style=_COLOURS[one.state]), Text(one.check), told)
    out = results()
    out.print(table)
    out.print(f"\n{broken} broken." if broken else "\nNothing is broken.")
