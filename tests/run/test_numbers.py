"""Lines without an id are matched by content: they keep their files and results wherever they move."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.run.fakes import FakeEngine
from voxcli.cli.main import run as command
from voxcli.errors import InputError
from voxcli.inputs.manifest import Manifest, read_manifest
from voxcli.jobs.history import Earlier, History
from voxcli.jobs.plan import make_plan
from voxcli.jobs.result import Result
from voxcli.run.numbers import keep_numbers
from voxcli.run.results import ResultLog, read_earlier, read_results
from voxcli.run.resume import make_resume_plan
from voxcli.run.session import Session

Line = str | dict[str, Any]


def nothing(path: Path) -> None:
    pass


def read(folder: Path, lines: Sequence[Line]) -> Manifest:
    path = folder / "lines.jsonl"
    path.write_text("".join(json.dumps({"text": line} if isinstance(line, str) else line) + "\n" for line in lines))
    return read_manifest(str(path), folder / "out")


def speak(folder: Path, *lines: Line) -> list[str]:
    """Run a manifest and return the ids of its lines, with an asterisk for those that were spoken."""
    out = folder / "out"
    out.mkdir(exist_ok=True)
    jobs = keep_numbers(read(folder, lines), read_earlier(out), nothing).jobs
    before = {path.name: path.read_bytes() for path in out.glob("*.wav")}
    resume_plan = make_resume_plan(make_plan(jobs), read_earlier(out), "model")
    with ResultLog(out) as log:
        list(Session(FakeEngine(), resume_plan.todo, out, log=log, notify=print).run())  # type: ignore[arg-type]
        log.append(*resume_plan.mended)
    spoken = {utterance.job.id for utterance in resume_plan.todo}
    assert all((out / name).exists() for name in before), "no file is removed"
    kept = [outcome.job.out for outcome in resume_plan.kept]
    assert all(path.read_bytes() == before[path.name] for path in kept)
    assert len({job.out for job in jobs}) == len({job.id for job in jobs}) == len(jobs)
    for job in jobs:
        assert read_results(out)[job.id].text == job.text
    return [job.id + "*" * (job.id in spoken) for job in jobs]


def test_a_line_put_in_front_is_the_only_one_spoken(tmp_path: Path) -> None:
    assert speak(tmp_path, "One.", "Two.", "Three.") == ["00001*", "00002*", "00003*"]
    assert speak(tmp_path, "One.", "Two.", "Three.") == ["00001", "00002", "00003"]
    assert speak(tmp_path, "New.", "One.", "Two.", "Three.") == ["00005*", "00001", "00002", "00003"]
    assert speak(tmp_path, "New.", "One.", "Two.", "Three.") == ["00005", "00001", "00002", "00003"]


def test_lines_taken_out_moved_and_put_at_the_end(tmp_path: Path) -> None:
    speak(tmp_path, "One.", "Two.", "Three.")
    assert speak(tmp_path, "Two.", "Three.") == ["00002", "00003"]
    assert speak(tmp_path, "Three.", "One.", "Two.") == ["00003", "00001", "00002"]
    assert speak(tmp_path, "One.", "Two.", "Three.", "Four.") == ["00001", "00002", "00003", "00004*"]


def test_an_edited_line_replaces_its_file_and_keeps_its_number(tmp_path: Path) -> None:
    speak(tmp_path, "One.", "Two.", "Three.")
    assert speak(tmp_path, "One.", "Two, edited.", "Three.") == ["00001", "00002*", "00003"]


def test_what_was_taken_out_is_never_written_over_by_what_moved_up(tmp_path: Path) -> None:
    speak(tmp_path, "One.", "Two.", "Three.")
    assert speak(tmp_path, "New.", "One.", "Two.") == ["00004*", "00001", "00002"]
    assert speak(tmp_path, "One.", "Two.", "Three.") == ["00001", "00002", "00003"]


def test_lines_of_one_text_are_counted(tmp_path: Path) -> None:
    speak(tmp_path, "Yes.", "One.", "Yes.")
    assert speak(tmp_path, "New.", "Yes.", "One.", "Yes.", "Yes.") == ["00006*", "00001", "00002", "00003", "00005*"]


def test_lines_of_one_text_are_told_apart_by_voice_and_settings(tmp_path: Path) -> None:
    fast, slow = {"text": "Yes.", "steps": 4}, {"text": "Yes.", "steps": 8}
    assert speak(tmp_path, fast, slow) == ["00001*", "00002*"]
    assert speak(tmp_path, slow, fast) == ["00002", "00001"]
    assert speak(tmp_path, slow) == ["00002"]


def test_new_settings_of_all_lines_leave_each_its_number(tmp_path: Path) -> None:
    speak(tmp_path, "One.", "Yes.", "Yes.")
    lines = [{"text": text, "steps": 5} for text in ("New.", "One.", "Yes.", "Yes.")]
    assert speak(tmp_path, *lines) == ["00005*", "00001*", "00002*", "00003*"]


def test_ids_and_files_that_lines_name_stay_theirs(tmp_path: Path) -> None:
    assert speak(tmp_path, "One.", {"text": "Two.", "id": "b"}, {"text": "Three.", "out": "c.wav"}) == [
        "00001*",
        "b*",
        "00003*",
    ]
    moved = ["New.", "One.", {"text": "Three, edited.", "out": "c.wav"}, {"text": "Two.", "id": "b"}]
    assert speak(tmp_path, *moved) == ["00005*", "00001", "00003*", "b"]
    # a line now has the id that was a number before
    named = [{"text": "Other.", "id": "00001"}, "One.", "New."]
    assert speak(tmp_path, *named) == ["00001*", "00002*", "00005"]
    assert speak(tmp_path, {"text": "Other.", "out": "00005.wav"}, "x", "New.")[2] != "00005"


def test_a_new_number_is_never_the_name_of_a_file_that_is_there(tmp_path: Path) -> None:
    speak(tmp_path, "One.")
    (tmp_path / "out" / "00003.txt").write_text("mine")
    (tmp_path / "out" / "00004.wav").write_text("mine")
    assert speak(tmp_path, "New.", "One.") == ["00005*", "00001"]


def test_a_number_that_leads_to_an_input_is_refused(tmp_path: Path) -> None:
    speak(tmp_path, "One.", "Two.")
    out = tmp_path / "out"

    def refuse(path: Path) -> None:
        raise InputError(path.name)

    with pytest.raises(InputError, match=r"00002\.wav"):
        keep_numbers(read(tmp_path, ["Two."]), read_earlier(out), refuse)


def test_the_extra_columns_of_a_kept_line_are_those_it_has_now(tmp_path: Path) -> None:
    speak(tmp_path, {"text": "One.", "Mood": "glad"}, "Two.")
    assert read_results(tmp_path / "out")["00001"].extra == {"Mood": "glad"}
    assert speak(tmp_path, {"text": "One.", "Mood": ["sad", 1]}, "Two.") == ["00001", "00002"]
    assert read_results(tmp_path / "out")["00001"].extra == {"Mood": ["sad", 1]}
    assert read_results(tmp_path / "out")["00002"].extra is None


def test_many_lines_moved_by_one(tmp_path: Path) -> None:
    lines = [f"Line {n % 4_500}." for n in range(5_000)]
    results = (Result(f"{n:05d}", f"{n:05d}.wav", text, "ok") for n, text in enumerate(lines, 1))
    before = {result.id: History(result, result) for result in results}
    kept = keep_numbers(read(tmp_path, ["New.", *lines]), Earlier(tmp_path / "out", before), nothing)
    assert [job.id for job in kept.jobs] == ["05002", *before]
    assert kept.notes == ("5001 lines numbered other than by place: what was made before keeps its name",)


def test_the_command_reports_kept_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    speak(tmp_path, "One.", "Two.")
    monkeypatch.chdir(tmp_path)
    Path("lines.txt").write_text("New.\nOne.\nTwo.\n")
    assert command(["batch", "lines.txt", "-o", "out", "--dry-run"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == [
        "lines.txt: plain text of 3 lines",
        "3 lines numbered other than by place: what was made before keeps its name",
    ]
    assert "2 lines done before and unchanged, 1 to speak (1 new)" in lines
