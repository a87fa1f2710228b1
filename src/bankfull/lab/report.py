"""The page that a researcher reads first: every figure, every claim, every reading, and why.

It is made from what runs have left in a folder and runs nothing itself. Claims are judged again
from the stored points, so that a page never shows a verdict under an older rule. Causes are
sentences that people wrote (``causes.py`` of each paper) after they had looked at the results.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bankfull.lab import cpu, gdj, importance, store
from bankfull.lab.claims import VERDICTS
from bankfull.lab.experiment import PAPERS, Causes, Experiment, Printed, Record
from bankfull.lab.registry import find
from bankfull.lab.systems import OPTIMUM

#: The papers that have experiments, in the order of the page; one to come is one more line.
REPORTED: Mapping[str, Any] = {"gdj": gdj, "importance": importance, "cpu": cpu}

_HEAD = """# What the papers claim, and what holds here

<!-- Written by `bankfull lab report`: change the lab, not this page. -->

Every figure and table of the papers that bankfull is built from, run again on its own operator. A
claim is compared with a number at every setting and seed it speaks of. It *holds* if all agree,
*fails* if none does, and *depends* if some do. *Not comparable* means that there was no setting at
which the comparison makes sense; *too small to judge* is what a quick run says of everything that
depends on size. Where a paper leaves something open, each *reading* of it has a verdict of its own,
and the figures show the readings side by side. [The lab](lab.md) describes streams, systems and
readings. Measured is the median, with the lowest and the highest in brackets.
"""


@dataclass(frozen=True)
class Page:
    """The text of the report, and which experiments it could not show."""

    text: str
    missing: tuple[str, ...]
    verdicts: Mapping[str, int]


def write(results: Path, page: Path) -> Page:
    """Make the report of what lies in ``results``, as it is to be read at ``page``."""
    papers = [
        (key, [_Section(printed, results, paper.CAUSES) for printed in paper.PRINTED])
        for key, paper in REPORTED.items()
    ]
    lines = [_HEAD, *_summary(papers)]
    for key, sections in papers:
        lines.append(f"\n## Paper `{key}`\n\n{PAPERS[key]}.\n")
        for section in sections:
            lines.extend(section.lines(page.parent))
    every = [section for _, sections in papers for section in sections]
    counts = {word: sum(section.count(word) for section in every) for word in VERDICTS}
    missing = tuple(key for section in every for key in section.missing)
    return Page("\n".join(lines).rstrip() + "\n", missing, counts)


class _Section:
    """One figure or table: the experiments that repeat it, with their verdicts."""

    def __init__(self, printed: Printed, results: Path, causes: Causes) -> None:
        self.printed, self._results, self._causes = printed, results, causes
        self.missing: list[str] = []
        self._judged: dict[str, list[dict[str, Any]]] = {}
        self._lacking: dict[str, dict[str, int]] = {}
        for key in printed.experiments:
            stored, experiment = store.load(results, key), find(key)
            # Points of an older declaration lack systems that have come since: to be run again.
            if stored is None or not _has_all(experiment, stored[0]):
                self.missing.append(key)
            else:
                self._judged[key] = experiment.judge(*stored)
                self._lacking[key] = lacking(experiment, *stored)

    def count(self, verdict: str) -> int:
        """Return how many claims have this verdict."""
        return sum(one["verdict"] == verdict for told in self._judged.values() for one in told)

    def lines(self, beside: Path) -> Iterator[str]:
        """Yield the section as text; pictures are named as seen from a folder."""
        yield f"\n### {self.printed.name}: {self.printed.about}\n"
        if self.printed.reason:
            yield self.printed.reason
        for key in self.missing:
            yield f"Not run yet: `bankfull lab run {key} --out {self._results}`.\n"
        for key, claims in self._judged.items():
            experiment = find(key)
            picture = os.path.relpath(self._results / key / "figure.png", beside)
            yield f"`{key}` · {experiment.title}\n\n![{experiment.title}]({picture})\n"
            yield from (f"{note}\n" for note in experiment.notes)
            if self._lacking[key]:
                told = (f"{name} at {many} places" for name, many in self._lacking[key].items())
                yield f"Not computed in the stored run: {', '.join(told)}.\n"
            yield from _table(claims, self._causes.get(key, {}))


def _has_all(experiment: Experiment, records: Sequence[Record]) -> bool:
    """Say whether every system of an experiment has points; the optimum may lack them all."""
    judged = {name for name in experiment.systems if not name.endswith(OPTIMUM)}
    return judged <= {record.get(experiment.curve) for record in records}


def lacking(experiment: Experiment, records: Sequence[Record], quick: bool) -> dict[str, int]:
    """Return how many places of the declared grid have no point, by system."""
    names = (
        experiment.curve,
        "seed",
        *dict.fromkeys(n for p in experiment.places(quick) for n in p),
    )
    known = {tuple(record.get(name) for name in names) for record in records}
    found: dict[str, int] = {}
    seeds = sorted({record["seed"] for record in records})
    for cell in experiment.cells(quick, seeds):
        told = {experiment.curve: cell.system, "seed": cell.seed, **cell.place}
        if tuple(told.get(name) for name in names) not in known:
            found[cell.system] = found.get(cell.system, 0) + 1
    return found


def _table(claims: Sequence[Mapping[str, Any]], causes: Mapping[str, str]) -> Iterator[str]:
    """Yield a row for every claim and reading, and the causes below, each once."""
    given: dict[str, int] = {}
    yield "| claim | reading | expected | measured | verdict | why |\n|---|---|---|---|---|---|"
    for claim in sorted(claims, key=lambda one: _first(claims, one["text"])):
        cause = cause_of(claim["text"], causes)
        number = given.setdefault(cause, len(given) + 1) if cause else ""
        cells = (
            claim["text"],
            claim["reading"] or "one reading",
            claim["expected"],
            _measured(claim),
            f"**{claim['verdict']}**",
            str(number),
        )
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
    yield ""
    yield from (f"{number}. {cause}" for cause, number in given.items())
    yield ""


def _first(claims: Sequence[Mapping[str, Any]], text: str) -> int:
    """Return where a text is first claimed, so that its readings stand together."""
    return next(place for place, claim in enumerate(claims) if claim["text"] == text)


def cause_of(text: str, causes: Mapping[str, str]) -> str:
    """Return the sentence whose key is the longest beginning of a claim's text, if any.

    >>> cause_of("GDJ gives more", {"": "in general", "GDJ": "of GDJ"})
    'of GDJ'
    """
    fitting = [begin for begin in causes if text.startswith(begin)]
    return causes[max(fitting, key=len)] if fitting else ""


def _measured(claim: Mapping[str, Any]) -> str:
    if claim["measured"] is None:
        return "nothing to compare"
    told = f"{claim['measured']:.4g}"
    if claim["lowest"] != claim["highest"]:
        told += f" ({claim['lowest']:.4g} to {claim['highest']:.4g})"
    if claim["verdict"] == "depends":
        told += f", {claim['agreeing']} of {claim['observations']} agree"
    if claim["not_comparable_at"]:
        told += f", {len(claim['not_comparable_at'])} not comparable"
    return told


def _summary(papers: Sequence[tuple[str, Sequence[_Section]]]) -> Iterator[str]:
    """Yield a table with a line for every figure: how many verdicts of each kind."""
    yield "| paper | figure | " + " | ".join(VERDICTS) + " |"
    yield "|---|---|" + "---:|" * len(VERDICTS)
    for key, sections in papers:
        for section in sections:
            counts = [str(section.count(word) or "") for word in VERDICTS]
            told = f"{section.printed.name}: {section.printed.about}"
            yield f"| `{key}` | {told} | " + " | ".join(counts) + " |"
