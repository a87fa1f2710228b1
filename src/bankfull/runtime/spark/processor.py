"""What Spark calls for each bucket and micro-batch, in a module that loads nothing heavy.

Before its first micro-batch a query starts a Python process beside the driver that asks the
processor for its state variables, and does nothing else. To load the engine there would take
longer than to ask. So the engine comes with the first call that needs it, which is one in a
worker, and workers are forked from a daemon that has it (``daemon.py``).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from bankfull.errors import StateStoreError
from bankfull.runtime.spark.layout import Layout

if TYPE_CHECKING:
    import pandas as pd

    from bankfull.runtime.spark.operate import Operator
    from bankfull.runtime.spark.quarantine import Quarantine

#: The name of the state variable. One for everything: Spark spends some 20 ms a task on each.
VARIABLE = "segments"
#: How long to wait for Spark's state server. One that has died does not answer, and Spark waits
#: for the worker as the worker waits for it.
_PATIENCE_S = float(os.environ.get("BANKFULL_STATE_TIMEOUT_S", "300"))
#: The process beside the driver; it prints what it does.
_HELPER = "pyspark.sql.streaming.transform_with_state_driver_worker"


class Operate(StatefulProcessor):
    """Called by Spark once a bucket and micro-batch."""

    def __init__(self, layout: Layout, quarantine: Quarantine | None = None) -> None:
        self.layout = layout
        self.quarantine = quarantine
        self._operator: Operator | None = None

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if getattr(getattr(sys.modules["__main__"], "__spec__", None), "name", "") == _HELPER:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Open the state variable."""
        # No part of Spark's public interface; test_state_server_spark.py sees that it works.
        client = getattr(handle, "_statefulProcessorApiClient", None)
        socket = getattr(client, "_client_socket", None)
        if socket is not None:
            socket.settimeout(_PATIENCE_S)
        self._segments = _Answering(
            handle.getMapState(VARIABLE, "stream int, number long", "rows binary")
        )

    def close(self) -> None:
        """Nothing is held open."""

    def handleInputRows(  # noqa: N802 - Spark's name
        self,
        key: Any,
        rows: Iterator[pd.DataFrame],
        timerValues: Any,
    ) -> Iterator[pd.DataFrame]:
        """Join the packets of a micro-batch with what is stored, and commit."""
        if self._operator is None:
            from bankfull.runtime.spark.operate import Operator

            self._operator = Operator(self._segments, self.layout, self.quarantine)
        return self._operator.join(int(key[0]), rows)


class _Answering:
    """A state variable of Spark's; says in words that its server is silent or gone."""

    def __init__(self, variable: Any) -> None:
        self._variable = variable

    def __getattr__(self, name: str) -> Any:
        call = getattr(self._variable, name)

        def ask(*given: Any) -> Any:
            try:
                return call(*given)
            except TimeoutError as error:
                raise StateStoreError(
                    f"Spark's state server did not answer for {_PATIENCE_S:g} seconds: look into "
                    "the executor's log (it may be short of memory), or let the workers wait "
                    "longer with BANKFULL_STATE_TIMEOUT_S in their environment"
                ) from error
            except (OSError, EOFError) as error:
                raise StateStoreError(
                    "Spark's state server has closed its connection: look into the executor's "
                    "log for the reason (it may be short of memory)"
                ) from error

        return ask
