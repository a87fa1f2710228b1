"""The command line's own page: ``python -m bankfull.cli.reference > docs/cli.md``."""

from __future__ import annotations

from typing import Any

import typer
import typer.main

_INTRODUCTION = """\
# Command line

This page is made by `python -m bankfull.cli.reference > docs/cli.md`; edit the help texts instead.
"""


def page() -> str:
    """Return every help text as Markdown."""
    from bankfull.cli import COMMANDS, GROUPS, app

    root: Any = typer.main.get_command(app)
    commands = {name: root.commands[name] for name in (made.__name__ for made in COMMANDS)}
    parts = [_INTRODUCTION, _section("bankfull", root)]
    parts += [_section(f"bankfull {name}", command) for name, command in commands.items()]
    for group in (str(made.info.name) for made in GROUPS):
        parts.append(_section(f"bankfull {group}", root.commands[group]))
        below = root.commands[group].commands
        parts += [_section(f"bankfull {group} {name}", below[name]) for name in below]
    return "\n".join(parts)


def _section(name: str, command: Any) -> str:
    context = typer.Context(command, info_name=name, terminal_width=90, max_content_width=90)
    return f"## {name}\n\n```\n{command.get_help(context).rstrip()}\n```\n"


if __name__ == "__main__":
    print(page(), end="")
