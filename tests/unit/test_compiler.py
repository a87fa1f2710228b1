"""Unit tests of compiling: that it is said, and where its results are kept, safely."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from bankfull.kernels import cache, compiler, dependencies
from bankfull.kernels.passing import by_address

compiled_only = pytest.mark.skipif(
    os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="compiler off"
)


@compiled_only
def test_compiling_is_said(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever waits for the first use of a kernel is told why, once a kernel."""
    monkeypatch.setattr(cache, "FOLDER", "")  # never compiled before
    seen = []

    def inner(number: int) -> int:
        return number + 1

    def outer(number: int) -> int:
        return inner(number) * 2  # compiled on the way, and not said

    for function in (inner, outer):
        function.__module__ = "bankfull.kernels.example"
    inner = compiler.inlined(inner)
    compiled: Any = compiler.kernel(outer)

    class Look(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            seen.append(compiler.is_compiling())

    look = Look()
    logging.getLogger("bankfull").addHandler(look)
    try:
        with caplog.at_level(logging.INFO, logger="bankfull"):
            assert compiled(1) == 4
    finally:
        logging.getLogger("bankfull").removeHandler(look)
    assert "compiling outer for this machine" in caplog.text
    assert "inner" not in caplog.text
    assert seen
    assert all(seen)
    assert not compiler.is_compiling()


#: A kernel in a package of its own, and all that its code is made from: a helper and a constant in
#: another file, rules in a third, for a record that it is given and one that it makes itself.
PACKAGE = {
    "state.py": "from typing import NamedTuple\nclass Mine(NamedTuple):\n    weight: int\n"
    "class Made(NamedTuple):\n    size: int\n",
    "helper.py": """
from bankfull.kernels.compiler import hook, inlined
from .numbers import FACTOR
@inlined
def scaled(number):
    return FACTOR * number
@hook
def worth(policy, number):
    return 0
""",
    "numbers.py": "FACTOR = 10\n",
    "rules.py": """
from bankfull.kernels.compiler import rule
from . import helper
from .state import Made, Mine
@rule(helper.worth, Mine)
def _worth(policy, number):
    return policy.weight + number
@rule(helper.worth, Made)
def _worth_of_made(made, number):
    return made.size - 7
""",
    "loop.py": """
from bankfull.kernels.compiler import kernel
from . import helper, rules
from .state import Made
@kernel
def total(policy, number):
    return helper.worth(Made(number), 0) + helper.scaled(number) + helper.worth(policy, number)
""",
}
SECOND = """
from bankfull.kernels.compiler import kernel
from . import helper, rules
@kernel
def product(policy, number):
    return helper.scaled(number) * helper.worth(policy, number)
"""
CHANGES = [
    ("numbers.py", "10", "20"),
    ("helper.py", "FACTOR * number", "FACTOR * number + 1"),
    ("rules.py", "policy.weight + number", "policy.weight - number"),
    ("loop.py", "+ helper.worth", "- helper.worth"),
    ("rules.py", "made.size - 7", "made.size - 6"),
]


@compiled_only
def test_kernels_of_changed_sources_are_not_reused(tmp_path: Path) -> None:
    """Whatever a kernel was made from, in whatever file: a change gives new machine code."""
    package, kept = tmp_path / "somewhere", tmp_path / "kept"
    package.mkdir()
    kept.mkdir(mode=0o700)
    tmp_path.chmod(0o700)
    (package / "__init__.py").touch()
    for name, text in PACKAGE.items():
        (package / name).write_text(text)
    asked = "from somewhere import loop, state; print(loop.total(state.Mine(3), 7))"

    def answer() -> tuple[int, int]:
        place = {"BANKFULL_CACHE_DIR": str(kept), "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(
            [sys.executable, "-c", asked],
            cwd=tmp_path,
            env={**os.environ, **place},
            capture_output=True,
            text=True,
            check=True,
        )
        return int(done.stdout), len(list(kept.rglob("*total-*.nbc")))

    assert answer() == (80, 1)
    assert answer() == (80, 1)  # the code on disk is used
    expected = [150, 151, 137, 145, 146]
    for number, (name, before, after) in enumerate(CHANGES):
        path = package / name
        assert before in path.read_text()
        path.write_text(path.read_text().replace(before, after))
        assert answer() == (expected[number], number + 2), f"{name} has changed"
    with (package / "helper.py").open("a") as file:
        file.write("# A comment changes nothing.\n")
    assert answer() == (146, len(CHANGES) + 1)


@compiled_only
def test_signatures_share_no_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Processes that compile for different types at the same time do not overwrite each other."""
    monkeypatch.setattr(cache, "FOLDER", str(tmp_path))
    double: Any = compiler.kernel(lambda number: number * 2)
    assert double(2) == 4
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.nb?")}
    assert len(before) == 2  # an index and the code
    assert double(0.25) == 0.5
    assert len(list(tmp_path.rglob("*.nb?"))) == 4
    assert all(path.read_bytes() == content for path, content in before.items())


def _digest_of(kernel: Any) -> str:
    return cache._digest(kernel.py_func, kernel.signatures[0])


@compiled_only
def test_how_kernels_are_compiled_is_part_of_their_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """A change of the compiler's passes, or of a function's options, gives new machine code."""
    monkeypatch.setattr(cache, "FOLDER", "")
    double: Any = compiler.kernel(lambda number: number * 2)
    assert double(2) == 4
    names, read = {_digest_of(double)}, cache.pkgutil.get_data
    for changed in cache._COMPILED_BY:

        def other(package: str, name: str, changed: str = changed) -> Any:
            return b"other" if name == f"{changed}.py" else read(package, name)

        monkeypatch.setattr(cache.pkgutil, "get_data", other)
        cache._machinery.cache_clear()
        names.add(_digest_of(double))
    cache._machinery.cache_clear()
    assert len(names) == 1 + len(cache._COMPILED_BY)

    def helper(number: int) -> int:
        return number + 1

    def calling(called: Any) -> Any:
        return lambda number: called(number)

    found = set()
    for how in (compiler.inner, compiler.inlined):
        found.add(dependencies.digest(how(helper), []))
        found.add(dependencies.digest(calling(how(helper)), []))
    assert len(found) == 4


class Ends(NamedTuple):
    """What is not there in some calls."""

    first: Any
    last: Any


@compiled_only
def test_tuples_by_address_say_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiled and not: arrays of any layout, negative indices, a tuple in a tuple, None."""
    monkeypatch.setattr(cache, "FOLDER", "")
    monkeypatch.setattr(compiler, "_KINDS", {})
    by_address(Ends)

    def at(ends: Any, row: int, column: int) -> Any:
        return ends.first[row, column] + ends.first[row][column]

    def total(ends: Any, row: int) -> Any:
        if ends.last is None:
            return at(ends, row, 0) * 2.0
        ends.last.first[row] += at(ends, row, -1)
        return ends.last.first[row] + ends.last.first[-1]

    plain_at = at
    table = np.arange(12.0).reshape(3, 4)
    for array in (table, np.asfortranarray(table), table[:, ::2], table[::-1]):
        for last in (None, Ends(np.arange(3.0), None)):
            for row in (0, 2, -1):
                at = plain_at
                again = None if last is None else Ends(last.first.copy(), None)
                expected = total(Ends(array, again), row)
                at = compiler.inner(plain_at)
                given = None if last is None else Ends(last.first.copy(), None)
                kernel: Any = compiler.kernel(total)
                assert kernel(Ends(array, given), row) == expected
                if given is not None and again is not None:
                    assert given.first.tolist() == again.first.tolist()


@compiled_only
def test_what_a_policy_does_not_want_is_not_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """A branch that a hook's constant answer closes is not even typed: this one could not be."""
    monkeypatch.setattr(cache, "FOLDER", "")

    @compiler.hook
    def wants(state: Any) -> bool:
        return False

    def loop(state: Any, number: int) -> int:
        if wants(state):
            return number + "no number"  # type: ignore[operator]
        return number + 1

    loop.__module__ = "bankfull.kernels.example"
    kernel: Any = compiler.kernel(loop)
    assert kernel(Ends(1, 2), 3) == 4


@compiled_only
def test_inner_functions_stay_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if what calls them first becomes part of its own caller."""
    monkeypatch.setattr(cache, "FOLDER", "")

    def once(number: int) -> int:
        return number + 1

    inner = compiler.inner(once)

    def twice(number: int) -> int:
        return inner(inner(number))

    inlined = compiler.inlined(twice)
    kernel: Any = compiler.kernel(lambda number: inlined(number))
    assert kernel(1) == 3
    options: Any = inner
    (made,) = options.overloads.values()
    assert "noinline" in made.library.get_llvm_str()
    assert "alwaysinline" not in made.library.get_llvm_str()


@compiled_only
def test_inner_functions_are_found_on_disk(tmp_path: Path) -> None:
    """Another kernel of another process uses what the first has compiled on the way."""
    tmp_path.chmod(0o700)
    for name, text in PACKAGE.items():
        (tmp_path / "somewhere").mkdir(exist_ok=True)
        (tmp_path / "somewhere" / name).write_text(text)
    (tmp_path / "somewhere" / "second.py").write_text(SECOND)
    asked = (
        "from numba.core import event\n"
        "with event.install_recorder('numba:compile') as made:\n"
        "    from somewhere import loop, second, state\n"
        "    found = {name}(state.Mine(3), 7)\n"
        "names = [e.data['dispatcher'].py_func.__name__ for _, e in made.buffer if e.is_start]\n"
        "print(found, sorted(names))"
    )

    def answer(name: str) -> str:
        done = subprocess.run(
            [sys.executable, "-c", asked.replace("{name}", name)],
            cwd=tmp_path,
            env={**os.environ, "BANKFULL_CACHE_DIR": str(tmp_path / "kept")},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    assert answer("loop.total") == "80 ['_worth', '_worth_of_made', 'scaled', 'total']"
    assert answer("second.product") == "700 ['_worth', 'product']"
    assert answer("second.product") == "700 []"
    assert answer("loop.total") == "80 []"


def _look(*, code: str = "", **environment: str) -> Path:
    """Return the folder that a process of its own keeps kernels in."""
    kept = {k: v for k, v in os.environ.items() if k not in ("HOME", "XDG_CACHE_HOME")}
    kept.pop("BANKFULL_CACHE_DIR", None)
    asked = f"{code}\nfrom bankfull.kernels import cache\nprint(cache.FOLDER)"
    asked += "\nimport pathlib; assert pathlib.Path(cache.FOLDER).is_dir()"
    done = subprocess.run(
        [sys.executable, "-c", asked],
        env={**kept, **environment},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return Path(done.stdout.strip())


def test_a_folder_that_others_can_write_to_is_not_used(tmp_path: Path) -> None:
    """What lies there is run: whoever can write to it could have anything run."""
    home, temporary = tmp_path / "home", tmp_path / "tmp"
    home.mkdir(mode=0o700)
    temporary.mkdir(mode=0o700)
    places = {"HOME": str(home), "TMPDIR": str(temporary)}
    kept = _look(**places)
    assert kept.parent == home / ".cache" / "bankfull"
    assert _look(**places) == kept  # processes share it
    assert kept.stat().st_mode & 0o77 == 0

    kept.parent.chmod(0o777)
    second = _look(**places)
    assert second.parent == temporary / f"bankfull-{os.getuid()}"
    assert _look(**places) == second

    second.chmod(0o770)
    own = _look(**places)  # a new one for this process alone, gone with it
    assert own.parent == temporary
    assert not own.exists()
    second.chmod(0o700)
    assert _look(**places) == second

    temporary.chmod(0o777)  # not sticky: another could have put the folder in its place
    own = _look(**places)
    assert own.parent == temporary
    temporary.chmod(0o700)


def test_a_link_or_a_folder_of_another_is_not_used(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    planted, target = tmp_path / f"bankfull-{os.getuid()}", tmp_path / "target"
    target.mkdir(mode=0o700)
    planted.symlink_to(target)
    places = {"HOME": "/dev/null", "TMPDIR": str(tmp_path)}
    assert target not in _look(**places).parents
    assert not list(target.iterdir())
    assert target not in _look(**places, BANKFULL_CACHE_DIR=str(planted)).parents
    planted.unlink()
    planted.mkdir(mode=0o700)
    assert _look(**places).parent == planted
    if os.getuid() == 0:
        os.chown(planted, 65534, 65534)
        assert planted not in _look(**places).parents


def test_a_user_without_a_name_or_a_home_can_import(tmp_path: Path) -> None:
    """As in containers that run under a number that nobody has."""
    nameless = "import pwd\ndef unknown(uid): raise KeyError(uid)\npwd.getpwuid = unknown"
    tmp_path.chmod(0o700)
    assert _look(code=nameless, TMPDIR=str(tmp_path)).parent.parent == tmp_path
