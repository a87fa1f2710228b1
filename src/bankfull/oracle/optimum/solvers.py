"""OR-tools, which only the optimum needs."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from bankfull.errors import PlanError


def or_tools(module: str) -> Any:
    """Import a part of OR-tools, or say how to get it."""
    try:
        return import_module(f"ortools.{module}")
    except ImportError as error:
        raise PlanError(
            'the optimum needs OR-tools, which is not installed: pip install "bankfull[lab]"'
        ) from error
