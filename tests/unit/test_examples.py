"""Every example of the README and of the docs runs as it stands, in an empty folder.

A Python block is pasted into a file and run as a script, a shell block by a shell, each in a
process and a folder of its own; what the page promises below it, in a block of text, must be what
is printed last (in any order, since joins promise none). Those that start Spark share a process,
since starting takes longer than all they do, and run each alone under ``make soak``. Blocks of
commands that install or take minutes are marked ``console``: of them only the spelling is checked,
down to targets, options and experiments. No example ends with an error of Java's, and a script
hears Spark's last report.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import typer.main

from bankfull.cli import app

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_LANGUAGES = {"python", "sh", "console", "text", ""}
_README_LINES_MAX = 150
_JAVA_TRACE = re.compile(r"Exception|^\s+at \w+\.", re.MULTILINE)
_INDENTED = re.compile(r"(?<=\n\n)(?: {4}.*\n)+")

#: Its second and last micro-batch is late altogether; nothing waits for what Spark reports of it.
_LATE_AT_THE_END = """
import os

import bankfull as bf
import pyarrow as pa
import pyarrow.parquet as pq

for name in ("a", "b"):
    os.mkdir(name)
    for number, begin in enumerate((1000, 0)):
        file = f"{name}/{number}.parquet"
        pq.write_table(pa.table({"t": range(begin, begin + 20), "k": range(20)}), file)
        os.utime(file, (1e9 + number, 1e9 + number))
spark = bf.session()
read = spark.readStream.schema("t long, k long").option("maxFilesPerTrigger", 1)
a, b = (bf.stream(read.parquet(name), time="t", name=name) for name in ("a", "b"))
writer = bf.join(a, b, on="k", within=5).writeStream.trigger(availableNow=True)
writer.option("checkpointLocation", "checkpoint").start("joined").awaitTermination()
"""


#: Runs scripts as if each were the program, in the folder it is in and which it empties after each,
#: since Java never leaves the folder it was started in. Says on both streams where one ends.
_ONE_AFTER_ANOTHER = """
import os, runpy, shutil, sys, traceback
for number, path in enumerate(sys.argv[1:], 2):
    try:
        runpy.run_path(path, run_name="__main__")
    except BaseException:
        traceback.print_exc()
        print("the script failed", file=sys.stderr)
    if number < len(sys.argv):  # the last one hears what is said as the process ends
        for stream in (sys.stdout, sys.stderr):
            print(chr(12), end="", file=stream, flush=True)
    for name in os.listdir():
        shutil.rmtree(name) if os.path.isdir(name) else os.unlink(name)
"""


@dataclass(frozen=True)
class Example:
    page: str
    number: int
    language: str
    code: str
    promised: str | None

    @property
    def name(self) -> str:
        return f"{self.page}-{self.number}"


def examples(path: Path) -> list[Example]:
    page = path.relative_to(ROOT).as_posix()
    found = _FENCE.findall(path.read_text(encoding="utf-8"))
    assert {language for language, _ in found} <= _LANGUAGES, page
    following = [*found, ("", "")][1:]
    return [
        Example(page, number, language, code, after if kind == "text" else None)
        for number, ((language, code), (kind, after)) in enumerate(
            zip(found, following, strict=True)
        )
    ]


EVERY = [example for path in PAGES for example in examples(path)]


RUNNABLE = [one for one in EVERY if one.language in ("python", "sh")]
ON_SPARK = [one for one in RUNNABLE if "bf.session" in one.code]
#: The last of those that share a process: nothing waits for what Spark reports of its end.
LATE = Example("late", 0, "python", _LATE_AT_THE_END, None)


def run(example: Example, folder: Path) -> subprocess.CompletedProcess[str]:
    """Paste an example into a file and run it in an empty folder."""
    outside = folder.parent / "example.py"
    outside.write_text(example.code, encoding="utf-8")
    folder.mkdir()
    before = [sys.executable] if example.language == "python" else ["sh", "-e"]
    places = [str(Path(sys.executable).parent), os.environ.get("PATH", "")]
    return subprocess.run(
        [*before, str(outside)],
        cwd=folder,
        env={**os.environ, "PATH": os.pathsep.join(places)},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )


def check(example: Example, done: subprocess.CompletedProcess[str]) -> None:
    """It ended well, without Java's own words, and printed what its page says."""
    assert done.returncode == 0, done.stderr[-3000:]
    assert not _JAVA_TRACE.search(done.stderr), done.stderr[-3000:]
    printed = done.stdout.splitlines()
    if example is LATE:
        told = re.findall(r"micro-batch 1: stream '(\w)': 20 of 20 rows came later", done.stderr)
        assert sorted(told) == ["a", "b"], done.stderr[-3000:]
        return
    assert printed, "an example shows something"
    if example.promised is not None:
        promised = example.promised.splitlines()
        assert sorted(printed[-len(promised) :]) == sorted(promised)


@pytest.mark.parametrize(
    "example", [one for one in RUNNABLE if one not in ON_SPARK], ids=lambda one: one.name
)
def test_an_example_runs_and_prints_what_its_page_says(example: Example, tmp_path: Path) -> None:
    check(example, run(example, tmp_path / "empty"))


@pytest.fixture(scope="module")
def on_spark(
    tmp_path_factory: pytest.TempPathFactory,
) -> dict[str, subprocess.CompletedProcess[str]]:
    """Run all examples that need Spark in one process, each in an empty folder."""
    base = tmp_path_factory.mktemp("examples")
    (base / "empty").mkdir()
    scripts = [base / f"example{number}.py" for number in range(len(ON_SPARK) + 1)]
    for one, script in zip([*ON_SPARK, LATE], scripts, strict=True):
        script.write_text(one.code, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", _ONE_AFTER_ANOTHER, *scripts],
        cwd=base / "empty",
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    said = zip(done.stdout.split("\f"), done.stderr.split("\f"), strict=True)
    # Not every traceback is the script's: Spark's workers print one if they are left in the middle.
    codes = [int("the script failed" in stderr) for stderr in done.stderr.split("\f")]
    codes[-1] = codes[-1] or done.returncode
    return {
        one.name: subprocess.CompletedProcess(one.name, code, *parts)
        for one, code, parts in zip([*ON_SPARK, LATE], codes, said, strict=True)
    }


@pytest.mark.slow
@pytest.mark.parametrize("example", ON_SPARK, ids=lambda one: one.name)
def test_an_example_on_spark_runs_and_prints_what_its_page_says(
    example: Example, on_spark: dict[str, subprocess.CompletedProcess[str]]
) -> None:
    check(example, on_spark[example.name])


@pytest.mark.slow
def test_a_script_hears_of_late_rows_in_its_last_micro_batch(
    on_spark: dict[str, subprocess.CompletedProcess[str]],
) -> None:
    """Spark reports from a thread of its own, and the program has nothing more to do."""
    check(LATE, on_spark[LATE.name])


@pytest.mark.soak
@pytest.mark.parametrize("example", [*ON_SPARK, LATE], ids=lambda one: one.name)
def test_an_example_on_spark_runs_alone(example: Example, tmp_path: Path) -> None:
    check(example, run(example, tmp_path / "empty"))


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_python_stands_in_examples_that_run(path: Path) -> None:
    """An indented block is a message or a setting: a fragment of a program would not be run."""
    for block in _INDENTED.findall(_FENCE.sub("", path.read_text(encoding="utf-8"))):
        with pytest.raises(SyntaxError):
            compile(textwrap.dedent(block), path.name, "exec")


def test_there_are_examples_of_every_way_to_join() -> None:
    """Otherwise a page that lost its fence would pass by saying nothing."""
    promising = {one.page for one in EVERY if one.promised and one.language in ("python", "sh")}
    assert {"README.md", "docs/embedded.md", "docs/files.md", "docs/attribution.md"} <= promising
    assert any("bf.session" in one.code for one in EVERY if one.page == "README.md")


def test_the_readme_opens_with_its_picture_and_is_short() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) < _README_LINES_MAX
    picture = re.search(r"!\[[^\]]+\]\(([^)]+)\)", text)
    assert picture is not None
    assert text.index(picture[0]) < text.index("\n## ")
    assert (ROOT / picture[1]).read_bytes()[:4] == b"\x89PNG"


def test_links_between_pages_lead_somewhere() -> None:
    for path in PAGES:
        text = _FENCE.sub("", path.read_text(encoding="utf-8"))
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
            assert (path.parent / target).exists(), f"{path.name}: {target}"


def _commands() -> list[list[str]]:
    lines = [
        line for one in EVERY if one.language == "console" for line in one.code.splitlines() if line
    ]
    assert all(line.startswith("$ ") for line in lines)
    return [shlex.split(line[2:], comments=True) for line in lines]


def test_commands_that_are_only_shown_are_spelled_right() -> None:
    from bankfull.lab import select

    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    extras = (ROOT / "pyproject.toml").read_text()
    for words in _commands():
        if words[0] == "make":
            assert set(words[1:]) <= targets
        elif words[0] == "pip":
            for extra in re.findall(r"\[(.*)\]", words[-1]):
                assert all(f"\n{name} = [" in extras for name in extra.split(","))
        else:
            assert words.pop(0) == "bankfull"
            command: Any = typer.main.get_command(app)
            while words and hasattr(command, "commands"):
                command = command.commands[words.pop(0)]
            known = {option for one in command.params for option in one.opts}
            assert {word for word in words if word.startswith("--")} <= known
            if command.name == "run" and "--seed" in known:
                select([words[0]])
