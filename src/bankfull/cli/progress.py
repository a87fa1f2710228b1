"""A line that moves while a long join runs, on terminals only."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Protocol

from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from bankfull.cli.console import messages
from bankfull.kernels.compiler import is_compiling


class Moving(Protocol):
    """What the line shows."""

    @property
    def rows_in(self) -> int:
        """Rows read."""

    @property
    def rows_out(self) -> int:
        """Rows written."""

    @property
    def elapsed_s(self) -> float:
        """Seconds so far."""

    @property
    def fraction(self) -> float | None:
        """How much has been read, from 0 to 1, where that is known."""


@contextlib.contextmanager
def progress(moving: Moving, shown: bool) -> Iterator[None]:
    """Show ``moving`` until the block ends; the line is gone afterwards."""
    console = messages()
    if not shown or not console.is_terminal:
        yield
        return

    def line() -> Table:
        rate = moving.rows_in / max(moving.elapsed_s, 1e-9)
        grid = Table.grid(padding=(0, 2))
        cells: list[Text | ProgressBar] = []
        if moving.fraction is not None and console.width >= 60:
            cells.append(ProgressBar(total=1.0, completed=moving.fraction, width=20))
        told = f"{moving.rows_in:,} rows in · {moving.rows_out:,} out · {rate:,.0f} rows/s"
        if is_compiling():
            told = "compiling the join for this machine, once: up to half a minute"
        cells.append(Text(told))
        grid.add_row(*cells)
        return grid

    with Live(console=console, get_renderable=line, refresh_per_second=5, transient=True):
        yield
