"""What the first result costs from an empty cache: processor seconds, functions compiled, by pass.

    python benchmarks/compile_time.py keys:exact sets:exact keys:fifo,prob,gain sets:fifo,gain
    python benchmarks/compile_time.py --functions 20 keys:gain     # also the costliest functions

Every argument is a fresh process with an empty cache, which compiles its policies one after the
other: all but the first pay for their own part alone. Seconds are the processor's, of the whole
process from its start; those of functions and passes leave out what was compiled meanwhile for a
function that is called.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from typing import Any


def main(arguments: list[str]) -> None:
    """Start a process for every argument, each with a folder of its own."""
    most = 0
    if arguments and arguments[0] == "--functions":
        most, arguments = int(arguments[1]), arguments[2:]
    for one in arguments:
        with tempfile.TemporaryDirectory() as folder:
            given = {**os.environ, "BANKFULL_CACHE_DIR": folder}
            command = [sys.executable, __file__, "--child", one, str(most)]
            subprocess.run(command, env=given, check=True)


class Costs:
    """Processor seconds by name, without those of what was begun later and ended earlier."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.times: dict[str, int] = {}
        self._open: list[tuple[float, float]] = []

    def begin(self) -> None:
        """Something begins."""
        self._open.append((time.process_time(), 0.0))

    def end(self, name: str) -> None:
        """What began last has ended."""
        began, within = self._open.pop()
        took = time.process_time() - began
        self.seconds[name] = self.seconds.get(name, 0.0) + took - within
        self.times[name] = self.times.get(name, 0) + 1
        if self._open:
            before, so_far = self._open[-1]
            self._open[-1] = before, so_far + took

    def show(self, most: int) -> None:
        """Print the largest, and start afresh."""
        for name in sorted(self.seconds, key=lambda one: -self.seconds[one])[:most]:
            print(f"    {self.seconds[name]:6.2f} s {self.times[name]:4} x {name}")
        self.seconds.clear()
        self.times.clear()


def compile_all(what: str, most: int) -> None:
    """Compile in this process and say what it took."""
    from numba.core import event

    from bankfull.warm import Kernels, compile_now

    functions, passes = Costs(), Costs()

    class Listener(event.Listener):
        def __init__(self, costs: Costs) -> None:
            self.costs = costs

        def on_start(self, event: Any) -> None:
            self.costs.begin()

        def on_end(self, event: Any) -> None:
            made = event.data.get("dispatcher")
            name = f"{made.py_func.__module__}.{made.py_func.__qualname__}" if made else ""
            self.costs.end(name or event.data["name"].split(" [")[0])

    event.register("numba:compile", Listener(functions))  # type: ignore[no-untyped-call]
    event.register("numba:run_pass", Listener(passes))  # type: ignore[no-untyped-call]
    on, names = what.split(":")
    before = 0.0
    for name in names.split(","):
        compile_now(Kernels(on, None if name == "exact" else name), rows=2)
        now = time.process_time()
        many, distinct = sum(functions.times.values()), len(functions.times)
        print(f"{name} on {on}: {now - before:.1f} s, {many} compiled, {distinct} functions")
        passes.show(4 if most else 0)
        functions.show(most)
        before = now


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        compile_all(sys.argv[2], int(sys.argv[3]))
    else:
        main(sys.argv[1:])
