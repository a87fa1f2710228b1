"""What travels with a query to every worker, in a module that loads nothing heavy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from bankfull.spec import Equal, Query

if TYPE_CHECKING:
    from bankfull.core import Plan


@dataclass(frozen=True)
class Layout:
    """What every worker needs to know: the query, its streams' schemas, the buckets' keys."""

    query: Query
    schemas: dict[str, pa.Schema]
    keys: tuple[int, ...]
    #: How many tasks run at the same time, as far as the driver knows.
    cores: int = 1

    def plan(self) -> Plan:
        """Resolve the query; where a row may go to several buckets, rows carry a mask."""
        from bankfull.assemble import assemble  # loads the engine

        equality = all(isinstance(join.predicate, Equal) for join in self.query.joins)
        copies = len(self.keys) > 1 and (len(self.query.joins) > 1 or not equality)
        return assemble(
            self.query, self.schemas, masked=copies, by_content=True, operators=len(self.keys)
        )

    def columns(self) -> dict[str, list[str]]:
        """Return the columns of every stream, in words."""
        return {
            name: [f"{field.name} {field.type}" for field in schema]
            for name, schema in self.schemas.items()
        }
