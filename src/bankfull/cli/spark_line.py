"""One line that tells what a command on Spark is doing, on terminals; else a line a phase."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Iterator

from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from bankfull.cli.console import messages

_BAR_COLUMNS = 100


class Line:
    """What is shown; set with :meth:`say`."""

    def __init__(self, console: Console | None) -> None:
        self._console = console
        self._spinner = Spinner("dots")
        self._text, self._fraction = "", 0.0
        self._started = time.perf_counter()

    def say(self, text: str, fraction: float | None = None, passing: bool = False) -> None:
        """Show what goes on now; what is ``passing`` is for terminals only."""
        self._text = text
        self._fraction = self._fraction if fraction is None else fraction
        if self._console is not None and not self._console.is_terminal and not passing:
            self._console.print(text, soft_wrap=True)

    def __rich__(self) -> Table:
        seconds = time.perf_counter() - self._started
        grid = Table.grid(padding=(0, 1))
        cells: list[Spinner | ProgressBar | Text] = [self._spinner]
        if self._console is not None and self._console.width >= _BAR_COLUMNS:
            cells.append(ProgressBar(total=1.0, completed=self._fraction, width=16))
        text = Text(f"{self._text} · {seconds:.0f} s", no_wrap=True, overflow="ellipsis")
        grid.add_row(*cells, text)
        return grid


@contextlib.contextmanager
def line(shown: bool) -> Iterator[Line]:
    """Show a line until the block ends; on a terminal it is gone afterwards."""
    console = messages()
    if not shown or not console.is_terminal:
        yield Line(console if shown else None)
        return
    # A descriptor of its own: while Spark starts, the usual one belongs to Spark's log.
    with os.fdopen(os.dup(sys.stderr.fileno()), "w") as terminal:
        console = Console(file=terminal, highlight=False)
        made = Line(console)
        with Live(made, console=console, refresh_per_second=8, transient=True):
            yield made
