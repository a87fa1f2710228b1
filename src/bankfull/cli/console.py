"""What all commands share: messages on standard error, one object on standard output."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import sys
import threading
from collections.abc import Iterable, Iterator
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


#: Set when a signal has ended what was going on: it has been heard.
ENDING = threading.Event()


class Terminated(BaseException):
    """SIGTERM came: like KeyboardInterrupt, nobody but :func:`refusals` catches it."""


def print_json(value: dict[str, Any]) -> None:
    """Print the one object of ``--json``."""
    if sys.stdout is None:
        raise BankfullError("standard output is closed: open it, or run without --json")
    try:
        print(json.dumps(value, ensure_ascii=False, allow_nan=False, indent=2), flush=True)
    except BrokenPipeError:
        raise
    except (OSError, UnicodeEncodeError) as error:
        _forget_output()
        raise BankfullError(
            f"standard output cannot be written: {getattr(error, 'strerror', error)}: "
            "the run itself is done"
        ) from error


@contextlib.contextmanager
def refusals(as_json: bool) -> Iterator[None]:
    """Turn what the library refuses into a message and exit code 1, without a traceback.

    An interrupted run ends with 128 and the signal's number, as shells expect.
    """
    try:
        yield
    except BankfullError as error:
        _tell("error: ", str(error))
        if as_json and sys.stdout is not None:
            with contextlib.suppress(BankfullError, OSError):
                print_json({"error": {"kind": type(error).__name__, "message": str(error)}})
        raise typer.Exit(1) from None
    except BrokenPipeError:
        # Whoever read standard output closed it (`| head`).
        _forget_output()
        raise typer.Exit(1) from None
    except OSError as error:
        tell_failure(error)
        raise typer.Exit(1) from None
    except KeyboardInterrupt:
        raise typer.Exit(tell_interruption("SIGINT", 130)) from None
    except Terminated:
        raise typer.Exit(tell_interruption("SIGTERM", 143)) from None


def tell_failure(error: OSError) -> None:
    """Tell what the system refused, and print nothing more."""
    _tell("error: ", f"{error}: check the files and streams named, and the room on the disk")
    _forget_output()


def tell_interruption(signal: str, code: int) -> int:
    """Tell that a signal ended the run, and return the exit code for it."""
    ENDING.set()
    _tell("interrupted", f" by {signal}: files appear only when they are complete")
    _forget_output()
    return code


def tell_warnings(warnings: Iterable[str]) -> None:
    """Tell what went wrong without ending the run, whatever --json and --quiet say."""
    for warning in warnings:
        _tell("warning: ", warning, "bold yellow")


@contextlib.contextmanager
def warnings_later() -> Iterator[None]:
    """Keep the library's logger from the terminal: the command tells the same at its end."""
    logger, silence = logging.getLogger("bankfull"), logging.NullHandler()
    logger.addHandler(silence)
    try:
        yield
    finally:
        logger.removeHandler(silence)


def _tell(what: str, message: str, style: str = "bold red") -> None:
    from rich.text import Text

    with contextlib.suppress(OSError, UnicodeEncodeError):
        messages().print(Text.assemble((what, style), message), soft_wrap=True)


def _forget_output() -> None:
    """Point standard output nowhere: Python would complain once more when it flushes at exit."""
    if sys.stdout is not None:
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
