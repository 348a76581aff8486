from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from voxcli.jobs.result import Result, Review
from voxcli.run import summary as report
from voxcli.run.summary import Summary

OK = Result("a", "a.wav", "a", "ok", 30.0, 6.0, 0.2, 10, "stop", 7, 1, 48_000)


def test_a_summary_counts_and_measures_speed_once_the_model_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter([100.0, 120.0])
    monkeypatch.setattr(report, "perf_counter", lambda: next(now))
    summary = Summary()
    summary.start("demo voice on cpu, float32")
    for result in (OK, replace(OK, stop_reason="length"), replace(OK, attempts=3), replace(OK, status="failed")):
        summary.add(result)
    assert summary.lines() == [
        "3 of 4 lines done, 1 failed",
        "1 min 30 s of audio in 20.0 s: 4.50x real time (demo voice on cpu, float32)",
        "1 took more than one attempt",
        "1 cut off at a length limit (stop_reason: length)",
    ]


def test_a_summary_counts_kept_lines_and_warnings() -> None:
    summary = Summary(left=2)
    summary.start("demo voice on cpu, float32")
    summary.add(replace(OK, stop_reason="length", warnings=("cut off",)), before=True)
    summary.add(replace(OK, warnings=("a", "b")))
    summary.add(replace(OK, status="failed"))
    assert summary.audio_s == 30.0
    first, _, *others = summary.lines()
    assert first == "2 of 5 lines done (1 before), 1 failed, 2 left"
    assert others == ["1 cut off at a length limit (stop_reason: length)", "2 with warnings (see results.jsonl)"]


def test_lines_without_words_are_counted_apart() -> None:
    summary = Summary()
    for result in (OK, replace(OK, status="skipped"), replace(OK, status="failed")):
        summary.add(result)
    assert summary.lines()[0] == "1 of 3 lines done, 1 failed, 1 without words"
    assert summary.audio_s == 30.0


def test_a_summary_of_nothing_claims_no_speed() -> None:
    summary = Summary()
    summary.add(replace(OK, status="failed"))
    assert summary.lines() == ["0 of 1 line done, 1 failed"]


def test_one_line_describes_a_single_run() -> None:
    summary = Summary(model="demo voice on cpu, float32")
    line = summary.one_line(OK, Path("a.wav"))
    assert line == "a.wav: 30.0 s of audio in 6.0 s, seed 7 (demo voice on cpu, float32)"
    assert "cut off at 30.0 s" in summary.one_line(replace(OK, stop_reason="length"), Path("a.wav"))


@pytest.mark.parametrize(
    ("counts", "report", "steps"),
    [
        ({}, None, []),
        ({}, "page.html", []),
        ({"failed": 2}, None, ["next: add --retry-failed to speak 2 failed lines again"]),
        (
            {"failed": 1, "doubtful": 1, "noun": "take"},
            None,
            [
                "next: add --retry-failed to speak 2 failed or doubtful takes again",
                "next: add --report FILE.html to judge 1 doubtful take",
            ],
        ),
        (
            {"failed": 1, "warned": 1},
            "page.html",
            [
                "next: add --retry-failed to speak 1 failed line again",
                "next: judge the lines in page.html; --review redoes rejected ones",
            ],
        ),
    ],
)
def test_a_run_ends_with_what_to_do_next(counts: dict[str, Any], report: str | None, steps: list[str]) -> None:
    assert Summary(**counts).next_steps(Path(report) if report else None) == steps


TAKES = (
    replace(OK, status="doubtful", take=1, warnings=("quiet",)),
    replace(OK, status="failed", take=2),
    replace(OK, stop_reason="length", take=3, review=Review("approved")),
    replace(OK, stop_reason="length", take=4),
)


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (2, 3, 1, 0)])
def test_faults_of_a_line_with_an_approved_take_do_not_count(order: tuple[int, ...]) -> None:
    summary = Summary(noun="take")
    for place in order:
        summary.add(TAKES[place])
    assert (summary.failed, summary.open_failed, summary.doubtful, summary.cut_off) == (1, 0, 0, 0)
    assert summary.lines() == ["3 of 4 takes done, 1 failed"] and summary.next_steps(Path("page.html")) == []
    summary.add(replace(TAKES[0], id="b"))
    assert "next: add --retry-failed to speak 1 doubtful take again" in summary.next_steps(None)


def test_a_retry_is_not_recommended_where_it_can_not_help() -> None:
    summary = Summary()
    summary.add(replace(OK, status="failed"), refused=True)
    assert summary.open_failed == 1 and summary.next_steps(None) == []
    summary.add(replace(OK, id="b", status="doubtful"))
    assert summary.next_steps(None)[0] == "next: add --retry-failed to speak 1 doubtful line again"
    summary.add(replace(OK, id="c", status="failed"))
    assert summary.next_steps(None)[0] == "next: add --retry-failed to speak 2 failed or doubtful lines again"
