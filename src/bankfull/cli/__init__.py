"""The command line only asks and shows: what a command does, the library can do without it.

One file a subcommand, each with ``--json`` (one object on standard output, nothing else there)
and heavy imports inside the function, so that ``--help`` stays quick. To add a command: a module
with a function, and a line in ``COMMANDS``; or, with commands of its own, one in ``GROUPS``.

Exit codes: 0 done, 1 refused or failed with a message, 2 wrong usage, 130 and 143 ended by SIGINT
and SIGTERM.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from typing import Annotated

import typer

from bankfull.cli.bench import bench
from bankfull.cli.console import ENDING, Terminated, tell_failure, tell_interruption
from bankfull.cli.demo import demo
from bankfull.cli.doctor import doctor
from bankfull.cli.lab import lab
from bankfull.cli.policies import policies
from bankfull.cli.run import run
from bankfull.cli.warm import warm

COMMANDS = (demo, run, policies, doctor, warm, bench)
GROUPS = (lab,)

app = typer.Typer(
    name="bankfull",
    help="Join live streams exactly, with an honest account of every row.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # job files have brackets, which are no markup
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in COMMANDS:
    app.command()(command)
for group in GROUPS:
    app.add_typer(group)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import PackageNotFoundError, version

        try:
            print(f"bankfull {version('bankfull')}")
        except PackageNotFoundError:
            print("bankfull (not installed: run from its sources)")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Join live streams exactly, with an honest account of every row."""


def main() -> None:
    """Run the command line."""
    _fill_standard_streams()
    _end_by_signals()
    try:
        app(prog_name="bankfull")
    except Terminated:  # outside of what a command guards itself
        raise SystemExit(tell_interruption("SIGTERM", 143)) from None
    except OSError as error:  # the help could not be printed
        tell_failure(error)
        raise SystemExit(1) from None


def _end_by_signals() -> None:
    """Make SIGINT and SIGTERM raise in the main thread, also while it waits for input.

    The system may hand a signal to any thread, and then a read of the main thread goes on. And what
    is raised while Python throws an object away is lost. So a thread that hears of every signal
    passes it on, again and again, until it has been heard.
    """
    main = threading.get_ident()

    def act(number: int, frame: object) -> None:
        if not ENDING.is_set() and not _is_unwinding():
            raise KeyboardInterrupt if number == signal.SIGINT else Terminated

    def pass_on() -> None:
        while number := receiver.recv(1):
            while not ENDING.wait(0.5) and signal.getsignal(number[0]) is act:
                signal.pthread_kill(main, number[0])

    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, act)
    receiver, sender = socket.socketpair()
    sender.setblocking(False)
    signal.set_wakeup_fd(sender.detach(), warn_on_full_buffer=False)
    threading.Thread(target=pass_on, daemon=True).start()


def _is_unwinding() -> bool:
    """Tell whether a signal has been raised already and what it ended is being cleaned up."""
    raised = sys.exception()
    while raised is not None and not isinstance(raised, KeyboardInterrupt | Terminated):
        raised = raised.__context__
    return raised is not None


def _fill_standard_streams() -> None:
    """Open what is closed of descriptors 0 to 2.

    The next file to be opened would get the number, and be written by whoever still believes that
    it is standard output or standard error.
    """
    opened = os.open(os.devnull, os.O_RDWR)
    while opened <= 2:
        opened = os.open(os.devnull, os.O_RDWR)
    os.close(opened)
