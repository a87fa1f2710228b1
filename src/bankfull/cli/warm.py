"""``bankfull warm``: compile kernels ahead of time, or remove what was compiled."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bankfull.cli.console import Json, Quiet, print_json, refusals, results

if TYPE_CHECKING:
    from bankfull.kernels.folders import Kept
    from bankfull.warm import Kernels


def warm(
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FILE]",
            exists=True,
            dir_okay=False,
            readable=True,
            help="A job file of `bankfull run`: compile only what it needs.",
        ),
    ] = None,
    policy: Annotated[
        list[str] | None,
        typer.Option(help="Compile this policy and the exact joins; may be repeated."),
    ] = None,
    java: Annotated[
        bool,
        typer.Option("--java", help="Keep Java's classes in an archive: Spark starts faster."),
    ] = False,
    clear: Annotated[
        bool, typer.Option("--clear", help="Remove all compiled kernels that are not in use.")
    ] = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Compile kernels ahead of time, so that no join has to wait for its own.

    Joins run in kernels that are compiled for this machine on their first use: seconds for an
    exact join, ten seconds and more for a policy. They are kept on disk and found there by every
    process of the same user, also by Spark's workers on this machine. Without arguments everything
    is compiled, on all cores: exact joins, and every policy on keys and on sets.

    Kernels lie in ~/.cache/bankfull (or under XDG_CACHE_HOME, or where BANKFULL_CACHE_DIR says),
    in a folder for each state of the library's sources. All folders together stay below 512 MB
    (BANKFULL_CACHE_MB): what was used longest ago is removed first, and never a folder that a
    process is using. `bankfull doctor` says which folder it is and how large.

    With --java a small query is run for the classes that it loads, which are written to an archive
    beside the kernels (about 160 MB). Sessions of `bf.session` and of this command line use it from
    then on: what Java takes until Spark is there is about halved.
    """
    with refusals(json):
        if clear:
            _refuse_both(file is not None or bool(policy) or java)
            _clear(json, quiet)
        elif java:
            _refuse_java(file is not None or bool(policy))
            _write_archive(json, quiet)
        else:
            _compile(_wanted(file, policy), json, quiet)


def _refuse_both(more: bool) -> None:
    if more:
        raise typer.BadParameter(
            "removes everything that is not in use: run it alone, then warm again",
            param_hint="--clear",
        )


def _refuse_java(more: bool) -> None:
    if more:
        raise typer.BadParameter(
            "writes an archive and compiles nothing: run it alone", param_hint="--java"
        )


def _write_archive(json: bool, quiet: bool) -> None:
    import time

    from bankfull.cli.spark_line import line
    from bankfull.runtime.spark.java_classes import write_archive
    from bankfull.runtime.spark.session import require_spark

    require_spark()
    began = time.perf_counter()
    with line(shown=not (json or quiet)) as told:
        told.say("running a small query for the classes that it loads: about a minute", 0.0)
        path = write_archive()
    size, seconds = path.stat().st_size, time.perf_counter() - began
    if json:
        print_json({"archive": str(path), "bytes": size, "seconds": round(seconds, 3)})
    elif not quiet:
        results().print(
            f"Java's classes are kept after {seconds:.0f} s: {path} ({size / 1e6:.0f} MB)",
            soft_wrap=True,
        )


def _wanted(file: Path | None, policies: list[str] | None) -> list[Kernels]:
    from bankfull.warm import everything, needed

    if file is None:
        return everything(policies or None)
    if policies:
        raise typer.BadParameter(
            f"{file.name} says itself which policy it needs: give one or the other",
            param_hint="--policy",
        )
    from bankfull.cli.jobfile import read_job

    return needed(read_job(file).query)


def _compile(wanted: list[Kernels], json: bool, quiet: bool) -> None:
    import time

    from bankfull.cli.spark_line import line
    from bankfull.kernels.cache import FOLDER
    from bankfull.warm import compile_ahead

    began = time.perf_counter()
    done: list[dict[str, Any]] = []
    with line(shown=not (json or quiet)) as told:
        many = len(wanted)
        told.say(f"compiling {many} groups of kernels: minutes, unless they are there", 0.0)

        def tell(one: Kernels, seconds: float) -> None:
            done.append({"on": one.on, "policy": one.policy, "seconds": round(seconds, 3)})
            told.say(f"{len(done)} of {many}: {one}, {seconds:.1f} s", len(done) / many)

        compile_ahead(wanted, tell)
    seconds = time.perf_counter() - began
    if json:
        told_of = {"folder": FOLDER, "bytes": _bytes(Path(FOLDER)), "limit_bytes": _limit()}
        print_json({"compiled": done, "seconds": round(seconds, 3), **told_of})
    elif not quiet:
        size = _bytes(Path(FOLDER)) / 1e6
        results().print(
            f"{len(done)} groups of kernels are ready after {seconds:.0f} s: "
            f"{FOLDER} ({size:.0f} MB)",
            soft_wrap=True,
        )


def _bytes(folder: Path) -> int:
    from bankfull.kernels.folders import found

    return sum(one.bytes for one in found(folder.parent) if one.path == folder)


def _limit() -> int:
    from bankfull.kernels.folders import limit_bytes

    return limit_bytes()


def _clear(json: bool, quiet: bool) -> None:
    from bankfull.kernels.folders import clear

    removed, left = clear()
    archives = _remove_archives()
    if json:
        about = {"removed": _listed(removed), "in_use": _listed(left), "archives": archives}
        print_json(about)
    elif not quiet:
        out = results()
        size = sum(one.bytes for one in removed) / 1e6
        out.print(f"Removed {len(removed)} folders of kernels ({size:.0f} MB).")
        for path in archives:
            out.print(f"Removed {path}.", soft_wrap=True)
        for one in left:
            out.print(f"{one.path} stays: a process is using it.", soft_wrap=True)


def _remove_archives() -> list[str]:
    from bankfull.runtime.spark.java_classes import remove_archives

    return [str(path) for path in remove_archives()]


def _listed(kept: list[Kept]) -> list[dict[str, Any]]:
    return [{"folder": str(one.path), "bytes": one.bytes} for one in kept]
