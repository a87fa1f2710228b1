"""The choice between the engines, for every command that offers it."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer


class Engine(StrEnum):
    """Where a join runs."""

    embedded = "embedded"
    spark = "spark"


Choice = Annotated[Engine, typer.Option("--engine", help="In this process, or on Spark.")]
