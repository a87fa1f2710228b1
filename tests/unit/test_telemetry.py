"""Unit tests of telemetry: events survive the file, which never grows beyond its bound."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from bankfull.telemetry import Event, EventLog, read_events


def event(batch: int) -> Event:
    return Event.of("q", batch, "2024-01-01T00:00:00Z", 0.25, {"a.arrived": batch, "j.emitted": 1})


def test_events_are_read_back_as_written(tmp_path: Path) -> None:
    log = EventLog(tmp_path / "deep" / "events.ndjson")
    for batch in range(5):
        log.write(event(batch))
    assert list(read_events(log.path)) == [event(batch) for batch in range(5)]


def test_an_event_carries_the_recall_if_there_is_one(tmp_path: Path) -> None:
    log = EventLog(tmp_path / "events.ndjson")
    told = Event.of("q", 1, "2024-01-01T00:00:00Z", 0.25, {}, {"estimate": 0.9, "low": 0.85})
    log.write(told)
    older = log.path.read_text().replace('"recall":', '"something else":')  # as written before
    log.path.write_text(log.path.read_text() + older)
    assert [event.recall for event in read_events(log.path)] == [told.recall, None]


def test_a_line_cut_off_by_a_crash_is_passed_over(tmp_path: Path) -> None:
    log = EventLog(tmp_path / "events.ndjson")
    log.write(event(1))
    whole = log.path.read_text()
    log.path.write_text(whole + whole[:20] + "\n")
    log.write(event(2))
    assert [read.batch for read in read_events(log.path)] == [1, 2]


def test_the_file_is_turned_over_at_its_bound(tmp_path: Path) -> None:
    log = EventLog(tmp_path / "events.ndjson", bytes_max=1000)
    for batch in range(200):
        log.write(event(batch))
    sizes = [path.stat().st_size for path in tmp_path.iterdir()]
    assert len(sizes) == 2
    assert max(sizes) < 1200
    assert list(read_events(log.path))[-1].batch == 199


def test_the_wait_for_the_first_micro_batch_is_told_once_and_on_terminals_only(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from bankfull.runtime.spark import started

    monkeypatch.setattr(started, "_TOLD", [])
    told = []
    for terminal, logging_set_up in ((False, False), (True, True), (True, False), (True, False)):
        monkeypatch.setattr(sys.stderr, "isatty", lambda terminal=terminal: terminal)
        monkeypatch.setattr(started._LOG, "hasHandlers", lambda set_up=logging_set_up: set_up)
        started._tell_of_the_start()
        told.append("first micro-batch" in capsys.readouterr().err)
    assert told == [False, False, True, False]
