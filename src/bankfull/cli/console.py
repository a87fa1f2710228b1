"""What all commands share: messages on standard error, one object on standard output."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bankfull.errors import BankfullError

if TYPE_CHECKING:
    from rich.console import Console

Json = Annotated[
    bool, typer.Option("--json", help="Print one JSON object on standard output, nothing else.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print no progress and no summary.")]


def messages() -> Console:
    """Return the console for everything that is not a result."""
    from rich.console import Console

    return Console(stderr=True, highlight=False)


def results() -> Console:
    """Return the console for what was asked for."""
    from rich.console import Console

    return Console(highlight=False)


def print_json(value: dict[str, Any]) -> None:
    """Print the one object of ``--json``."""
    print(json.dumps(value, ensure_ascii=False, allow_nan=False, indent=2))


@contextlib.contextmanager
def refusals(as_json: bool) -> Iterator[None]:
    """Turn what the library refuses into a message and exit code 1, without a traceback."""
    try:
        yield
    except BankfullError as error:
        from rich.text import Text

        told = Text.assemble(("error: ", "bold red"), str(error))
        messages().print(told, soft_wrap=True)
        if as_json:
            print_json({"error": {"kind": type(error).__name__, "message": str(error)}})
        raise typer.Exit(1) from None
    except BrokenPipeError:
        # Whoever read standard output closed it (`| head`); Python would complain once more
        # when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(1) from None
