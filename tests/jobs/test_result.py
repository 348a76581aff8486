from __future__ import annotations

from pathlib import Path

from voxcli.errors import AudioError
from voxcli.jobs.job import Job
from voxcli.jobs.result import Result, failure, shown_path


def test_a_failure_keeps_the_error_and_its_exit_code(tmp_path: Path) -> None:
    outcome = failure(Job("a", "Hello.", tmp_path / "a.wav"), AudioError("voice.wav: empty"), tmp_path)
    assert outcome.result == Result("a", "a.wav", "Hello.", "failed", error="voice.wav: empty")
    assert not outcome.result.ok
    assert outcome.error is not None
    assert outcome.error.exit_code == 2


def test_paths_are_relative_to_the_folder_of_the_results() -> None:
    assert shown_path(Path("out/sub/a.wav"), Path("out")) == "sub/a.wav"
    assert shown_path(Path("elsewhere/a.wav"), Path("out")) == str(Path("elsewhere/a.wav"))
