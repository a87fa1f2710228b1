"""bankfull joins live streams: exactly while the budget suffices, honestly when it does not.

``import bankfull as bf`` is light: the engine, the compiler and plotting load on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bankfull import policies
    from bankfull.api import (
        Joined,
        compare,
        comparisons,
        equal,
        finish,
        join,
        joins,
        listen,
        metrics,
        overlap,
        recall,
        rows,
        run,
        session,
        shed,
        similar,
        stream,
        subset,
        superset,
        tuples,
        utility,
    )
    from bankfull.errors import BankfullError

__version__ = "0.1.0"

__all__ = [
    "BankfullError",
    "Joined",
    "compare",
    "comparisons",
    "equal",
    "finish",
    "join",
    "joins",
    "listen",
    "metrics",
    "overlap",
    "policies",
    "recall",
    "rows",
    "run",
    "session",
    "shed",
    "similar",
    "stream",
    "subset",
    "superset",
    "tuples",
    "utility",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'bankfull' has no attribute {name!r}")
    if name == "policies":
        return import_module("bankfull.policies")
    return getattr(
        import_module("bankfull.errors" if name == "BankfullError" else "bankfull.api"), name
    )


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
