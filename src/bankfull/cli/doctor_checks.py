"""What the doctor looks at; every check says what it found and, where needed, what to do.

A check returns findings and never raises: an error inside it is a finding too.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from datetime import datetime
from importlib import metadata
from pathlib import Path

_PYTHON_MIN = (3, 11)
_GB = 1_000_000_000
#: Free room: below the first nothing can be relied on, below the second it may get tight.
_ROOM_LEAST, _ROOM_SMALL = _GB // 10, 2 * _GB
_REQUIREMENT = re.compile(r"([A-Za-z0-9._-]+)(?:\[[^]]*\])?\s*([^;]*)(?:;\s*extra\s*==\s*.(\w+))?")
_EXTRAS = {"spark": "joins on Spark", "demo": "`bankfull demo`", "lab": "`bankfull lab`"}


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report: ``state`` is "ok", "note" or "broken"."""

    check: str
    state: str
    found: str
    mend: str = ""

    def describe(self) -> dict[str, str]:
        """Return it as plain values."""
        return asdict(self)


Check = Callable[[], Iterator[Finding]]


def examine(start_spark: bool) -> list[Finding]:
    """Run every check."""
    from bankfull.cli.doctor_spark import check_java, check_spark

    findings: list[Finding] = []
    checks: list[Check] = [check_python, check_packages, check_cache, check_disk, check_clock]
    for check in checks:
        findings += _guarded(check)
    java = _guarded(check_java)
    findings += java
    if start_spark and all(one.state == "ok" for one in java):
        findings += _guarded(check_spark)
    return findings


def _guarded(check: Check) -> list[Finding]:
    name = check.__name__.removeprefix("check_")
    try:
        return list(check())
    except Exception as error:
        return [Finding(name, "broken", f"cannot be examined: {error!r}", "mend what it names")]


def check_python() -> Iterator[Finding]:
    """The interpreter: new enough, and not one with 32 bits."""
    found = f"{platform.python_version()} ({sys.executable})"
    if sys.version_info < _PYTHON_MIN:
        yield Finding(
            "python", "broken", found, "install Python 3.11 or newer and make a new environment"
        )
    elif sys.maxsize < 2**32:
        yield Finding("python", "broken", f"{found}, 32 bits", "install a Python with 64 bits")
    else:
        yield Finding("python", "ok", found)


def check_packages() -> Iterator[Finding]:
    """What is installed against what the package declares, by extra."""
    try:
        declared = metadata.requires("bankfull") or []
        own = metadata.version("bankfull")
    except metadata.PackageNotFoundError:
        yield Finding(
            "packages",
            "note",
            "bankfull runs from its sources, so no bounds are known",
            "to install it: pip install -e '.[spark,demo]'",
        )
        return
    yield Finding("bankfull", "ok", f"{own} ({Path(__file__).parents[1]})")
    wanted: dict[str, list[tuple[str, str]]] = {extra: [] for extra in ("", *_EXTRAS)}
    for line in declared:
        parsed = _REQUIREMENT.match(line)
        if parsed and (parsed[3] or "") in wanted and parsed[1] != "bankfull":
            wanted[parsed[3] or ""].append((parsed[1], parsed[2].strip()))
    for extra, needs in wanted.items():
        yield _judge(extra, needs)


def _judge(extra: str, needs: list[tuple[str, str]]) -> Finding:
    """Compare the packages of one extra, or of the library itself, with their bounds."""
    check = f"packages[{extra}]" if extra else "packages"
    there, wrong, missing = [], [], []
    for name, bounds in needs:
        try:
            version = metadata.version(name)
        except metadata.PackageNotFoundError:
            missing.append(name)
            continue
        there.append(f"{name} {version}")
        if not _within(version, bounds):
            wrong.append(f"{name} {version} is not {bounds}")
    install = f"pip install --upgrade 'bankfull{f'[{extra}]' if extra else ''}'"
    if wrong or (missing and not extra):
        told = "; ".join([*wrong, *(f"{name} is missing" for name in missing)])
        return Finding(check, "broken", told, f"run: {install}")
    if missing:
        told = f"not installed: {', '.join(missing)}"
        return Finding(check, "note", told, f"for {_EXTRAS[extra]} run: {install}")
    return Finding(check, "ok", ", ".join(there))


def _within(version: str, bounds: str) -> bool:
    """Tell whether a version lies within bounds such as ``>=2.4,<3``.

    >>> _within("2.4.1", ">=2.4,<3"), _within("3.0", ">=2.4,<3"), _within("2.4", "")
    (True, False, True)
    """
    mine = _parts(version)
    for bound in filter(None, (one.strip() for one in bounds.split(","))):
        sign, _, limit = re.match(r"(>=|<=|==|!=|<|>)(\s*)(.+)", bound).groups()  # type: ignore[union-attr]
        theirs = _parts(limit)
        compared = {
            ">=": mine >= theirs,
            "<=": mine <= theirs,
            "==": mine == theirs,
            "!=": mine != theirs,
            "<": mine < theirs,
            ">": mine > theirs,
        }
        if not compared[sign]:
            return False
    return True


def _parts(version: str) -> tuple[int, ...]:
    """Return the numbers of a release, without zeros at its end; what follows does not matter."""
    numbers = [int(part) for part in re.findall(r"\d+", re.split(r"[^\d.]", version)[0])]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


def check_cache() -> Iterator[Finding]:
    """Where compiled kernels are kept: whether it can be written, is safe, and how large it is."""
    from bankfull.kernels import folders

    passed_over = []
    for root in folders.roots():
        reason = _unusable(root)
        if reason:
            passed_over.append(f"{root} {reason}")
            continue
        kept = folders.found(root)
        size, limit = sum(one.bytes for one in kept) / 1e6, folders.limit_bytes() / 1e6
        told = f"{root}: {len(kept)} folders of kernels, {size:.0f} MB of at most {limit:.0f} MB"
        if passed_over:
            yield Finding("cache", "note", f"{told}; passed over: {'; '.join(passed_over)}")
        else:
            yield Finding("cache", "ok", told)
        return
    yield Finding(
        "cache",
        "broken",
        f"no folder for compiled kernels, so every process compiles them anew: "
        f"{'; '.join(passed_over)}",
        "make a folder of your own (chmod 700) and set BANKFULL_CACHE_DIR to it",
    )


def _unusable(root: Path) -> str:
    """Say why a place for kernels is not used, or "" if it is; nothing is made there."""
    from bankfull.kernels import folders

    there = next(parent for parent in (root, *root.parents) if parent.exists())
    if not there.is_dir():
        return f"cannot be made: {there} is not a folder"
    if there == root and root.lstat().st_uid != os.getuid():
        return f"belongs to user {root.lstat().st_uid}"
    if there == root and not folders.is_safe(root):
        return f"could be written by others (try: chmod go-w {root} and its parents)"
    if not os.access(there, os.W_OK | os.X_OK):
        return f"cannot be written ({there})"
    try:
        with tempfile.TemporaryFile(dir=there):
            return ""
    except OSError as error:
        return f"cannot be written ({error.strerror})"


def check_disk() -> Iterator[Finding]:
    """Free room where temporary files, Spark's among them, and kernels go."""
    from bankfull.kernels import folders

    places = {"temporary files": Path(tempfile.gettempdir())}
    kernels = next((root for root in folders.roots() if not _unusable(root)), None)
    if kernels is not None:  # otherwise the cache is broken, and says so
        places["kernels"] = kernels
    for what, place in places.items():
        there = next(parent for parent in (place, *place.parents) if parent.exists())
        free = shutil.disk_usage(there).free
        told = f"{free / _GB:.1f} GB free for {what} ({there})"
        if free < _ROOM_LEAST:
            variable = "TMPDIR" if what == "temporary files" else "BANKFULL_CACHE_DIR"
            mend = f"make room, or set {variable} to a folder on another disk"
            yield Finding("disk", "broken", told, mend)
        elif free < _ROOM_SMALL:
            yield Finding("disk", "note", told, "Spark may need more for shuffles and state")
        else:
            yield Finding("disk", "ok", told)


def check_clock() -> Iterator[Finding]:
    """The time zone: known to the system and to Arrow, which reads zoned times with it."""
    zone = os.environ.get("TZ", "").removeprefix(":")
    here = datetime.now().astimezone()
    told = f"{here:%Y-%m-%d %H:%M} {time.tzname[0]} (UTC{here:%z})"
    if not _knows("Europe/Vienna"):
        yield Finding(
            "clock",
            "broken",
            f"{told}; there is no database of time zones",
            "install it: pip install tzdata, or on Debian: apt-get install tzdata",
        )
    elif zone and "/" in zone and not _knows(zone):
        yield Finding(
            "clock",
            "broken",
            f"{told}; TZ={zone} is not a zone, so the system takes UTC",
            "set TZ to a name such as Europe/Vienna, or unset it",
        )
    else:
        yield Finding("clock", "ok", told)


def _knows(zone: str) -> bool:
    import zoneinfo

    try:
        zoneinfo.ZoneInfo(zone)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True
