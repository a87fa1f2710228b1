"""``bankfull policies``: what can decide which tuples to keep."""

from __future__ import annotations

import inspect
from dataclasses import MISSING, fields
from typing import Annotated, Any

import typer

from bankfull.cli.console import Json, print_json, refusals, results


def policies(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Describe this one at length.")
    ] = None,
    as_json: Json = False,
) -> None:
    """List the policies that choose what to keep under a memory budget, with their papers."""
    with refusals(as_json):
        found = [_describe(kind) for kind in _kinds(name)]
        if as_json:
            print_json({"policies": found})
        elif name is not None:
            _print_one(found[0])
        else:
            _print_all(found)


def _kinds(name: str | None) -> list[Any]:
    from bankfull.policies import POLICIES
    from bankfull.policies.registry import find

    return [find(name)] if name is not None else [POLICIES[known] for known in sorted(POLICIES)]


def _describe(kind: Any) -> dict[str, Any]:
    return {
        "name": kind.name,
        "paper": kind.paper,
        "summary": _summary(kind),
        "parameters": {
            field.name: None if field.default is MISSING else _plain(field.default)
            for field in fields(kind)
        },
        "text": inspect.getdoc(kind),
    }


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _summary(kind: Any) -> str:
    return (inspect.getdoc(kind) or "").partition("\n")[0]


def _print_all(found: list[dict[str, Any]]) -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for column in ("policy", "paper", "what it keeps", "parameters"):
        table.add_column(column, overflow="fold")
    for one in found:
        given = ", ".join(f"{key}={value!r}" for key, value in one["parameters"].items())
        table.add_row(one["name"], one["paper"], one["summary"], given)
    results().print(table)


def _print_one(one: dict[str, Any]) -> None:
    given = ", ".join(f"{key}={value!r}" for key, value in one["parameters"].items())
    out = results()
    out.print(f"{one['name']}({given})", markup=False)
    out.print(f"paper: {one['paper']}\n", markup=False)
    out.print(one["text"], markup=False)
