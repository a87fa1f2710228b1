"""The ledger as a table a person can read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from bankfull.cli.execute import Execution

#: Shown always; the others only where something was counted.
_ALWAYS = ("arrived", "late", "quarantined", "inserted")
_SOMETIMES = (
    *("shed", "waiting", "stored", "evicted", "expired", "purged", "spilled"),
    *("copies", "copies_lost"),
)


def print_summary(console: Console, execution: Execution, output: str) -> None:
    """Print what became of every row."""
    ledger = execution.joined.ledger.as_dict()
    unreadable = {name: source.unreadable for name, source in execution.sources.items()}
    print_notes(console, execution.notes)
    console.print(streams_table(ledger["streams"], unreadable))
    if len(ledger["joins"]) > 1:
        console.print(joins_table(ledger["joins"]))
    print_recall(console, ledger.get("recall"))
    rate = execution.rows_in / max(execution.seconds, 1e-9)
    target = "standard output" if output == "-" else output
    console.print(
        f"{execution.rows_in:,} rows in, {execution.rows_out:,} rows out to {target} "
        f"in {execution.seconds:.2f} s ({rate:,.0f} rows/s)",
        soft_wrap=True,
    )


def print_notes(console: Console, notes: list[str]) -> None:
    """Print remarks on how the files were understood."""
    for note in notes:
        console.print(f"note: {note}", soft_wrap=True, markup=False)


def print_recall(console: Console, recall: dict[str, Any] | None) -> None:
    """Print which share of the exact results was given, where that is estimated."""
    if recall is not None:
        low, high = recall["low"], recall["high"]
        console.print(f"recall {recall['estimate']:.3f} (95 % sure: {low:.3f} to {high:.3f})")


def streams_table(
    streams: dict[str, dict[str, int]], unreadable: dict[str, int] | None = None
) -> Table:
    """Lay out one row a stream."""
    counts = {
        name: {"unreadable": (unreadable or {}).get(name, 0), **found}
        for name, found in streams.items()
    }
    shown = [
        column
        for column in ("unreadable", *_ALWAYS, *_SOMETIMES)
        if column in _ALWAYS or any(found.get(column) for found in counts.values())
    ]
    return _table("stream", shown, counts)


def joins_table(joins: dict[str, dict[str, int]]) -> Table:
    """Lay out one row a join."""
    return _table("join", ["emitted", "compared", "skipped"], joins)


def _table(first: str, shown: list[str], counts: dict[str, dict[str, int]]) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column(first)
    for column in shown:
        table.add_column(column, justify="right")
    for name, found in counts.items():
        table.add_row(name, *(f"{found[column]:,}" for column in shown))
    return table
