from __future__ import annotations

import json
from pathlib import Path

import pytest

from voxcli.errors import AudioError, OutputError
from voxcli.run.job import Job
from voxcli.run.results import Result, ResultLog, failure, shown_path

FIELDS = ["id", "out", "text", "status", "duration_s", "wall_s", "rtf", "patches", "stop_reason", "seed", "attempts"]
FIELDS += ["sample_rate", "error"]


def test_a_line_has_all_fields_in_order(tmp_path: Path) -> None:
    with ResultLog(tmp_path) as log:
        log.append(Result("a", "a.wav", 'Say "é".', "ok", 1.6, 0.8, 0.5, 10, "stop", 7, 1, 48_000))
    (line,) = (tmp_path / "results.jsonl").read_text(encoding="utf-8").splitlines()
    assert list(json.loads(line)) == FIELDS
    assert json.loads(line)["text"] == 'Say "é".'
    assert "é" in line


def test_each_line_is_on_the_disk_before_the_next(tmp_path: Path) -> None:
    with ResultLog(tmp_path) as log:
        for count in range(1, 4):
            log.append(Result(str(count), "a.wav", "a", "failed", error="x"))
            assert len((tmp_path / "results.jsonl").read_text().splitlines()) == count


def test_a_second_run_appends_and_a_torn_line_spoils_no_other(tmp_path: Path) -> None:
    (tmp_path / "results.jsonl").write_text('{"id": "whole"}\n{"id": "to')
    with ResultLog(tmp_path) as log:
        log.append(Result("new", "a.wav", "a", "failed", error="x"))
    lines = (tmp_path / "results.jsonl").read_text().splitlines()
    assert lines[:2] == ['{"id": "whole"}', '{"id": "to']
    assert json.loads(lines[2])["id"] == "new"


def test_a_log_that_can_not_be_written_is_an_output_error(tmp_path: Path) -> None:
    (tmp_path / "results.jsonl").mkdir()
    with pytest.raises(OutputError, match=r"can't write .*results\.jsonl: Is a directory"), ResultLog(tmp_path):
        pass


def test_a_failure_keeps_the_error_and_its_exit_code(tmp_path: Path) -> None:
    outcome = failure(Job("a", "Hello.", tmp_path / "a.wav"), AudioError("voice.wav: empty"), tmp_path)
    assert outcome.result == Result("a", "a.wav", "Hello.", "failed", error="voice.wav: empty")
    assert not outcome.result.ok
    assert outcome.error is not None
    assert outcome.error.exit_code == 2


def test_paths_are_told_from_the_folder_of_the_results() -> None:
    assert shown_path(Path("out/sub/a.wav"), Path("out")) == "sub/a.wav"
    assert shown_path(Path("elsewhere/a.wav"), Path("out")) == str(Path("elsewhere/a.wav"))
