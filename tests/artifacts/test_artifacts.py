from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from tests.artifacts.lines import data_of
from voxcli.artifacts.artifacts import Artifacts
from voxcli.errors import InputError, OutputError
from voxcli.jobs.job import Job
from voxcli.jobs.result import Cue, Outcome, Result, skipped

RATE = 16_000


def job(folder: Path, identity: str, **values: Any) -> Job:
    return Job(identity, f"Text {identity}.", folder / f"{identity}.wav", **values)


def done(job: Job, seconds: float = 1.0) -> Outcome:
    soundfile.write(job.out, np.full(round(seconds * RATE), 0.5), RATE)
    cues = (Cue(0.0, seconds, job.text),)
    return Outcome(job, Result(job.id, job.out.name, job.text, "ok", seconds, cues=cues, seed=1))


def failed(job: Job) -> Outcome:
    return Outcome(job, Result(job.id, job.out.name, job.text, "failed", error="no voice"))


def made(artifacts: Artifacts, outcomes: list[Outcome]) -> list[str]:
    remarks: list[str] = []
    artifacts.prepare(RATE)
    for outcome in outcomes:
        artifacts.add(outcome)
    artifacts.make(remarks.append)
    return remarks


def test_all_artifacts_in_manifest_order(tmp_path: Path) -> None:
    jobs = [job(tmp_path, "b", pause_after=1.0), job(tmp_path, "a", pause_after=2.0), job(tmp_path, "c")]
    whole = tmp_path / "new" / "book.wav"
    artifacts = Artifacts(jobs, subtitles="srt", join=whole, report=tmp_path / "report.html")
    remarks = made(artifacts, [done(jobs[2], 3.0), done(jobs[0]), done(jobs[1], 2.0)])  # in the order they finished
    assert remarks == [f"{whole}: 9.0 s of audio, 3 files joined", f"{tmp_path / 'report.html'} shows all lines"]
    assert soundfile.info(whole).duration == 9.0
    assert (tmp_path / "a.srt").read_text() == "1\n00:00:00,000 --> 00:00:02,000\nText a.\n"
    assert whole.with_suffix(".srt").read_text() == (
        "1\n00:00:00,000 --> 00:00:01,000\nText b.\n\n"
        "2\n00:00:02,000 --> 00:00:04,000\nText a.\n\n"
        "3\n00:00:06,000 --> 00:00:09,000\nText c.\n"
    )
    page = (tmp_path / "report.html").read_text()
    assert page.index("Text b.") < page.index("Text a.") < page.index("Text c.")


def test_a_line_without_words_is_silence_in_the_joined_file(tmp_path: Path) -> None:
    jobs = [job(tmp_path, name, pause_after=0.5) for name in ("a", "scene", "b")]
    products = Artifacts(jobs, subtitles="srt", join=tmp_path / "book.wav", report=tmp_path / "report.html")
    remarks = made(products, [done(jobs[0]), skipped(jobs[1], 3.0, tmp_path), done(jobs[2])])
    assert remarks[0] == f"{tmp_path / 'book.wav'}: 5.0 s of audio, 2 files joined"
    samples, _ = soundfile.read(tmp_path / "book.wav")
    assert not samples[RATE : 4 * RATE].any() and samples[RATE - RATE // 2] and samples[4 * RATE + RATE // 2]
    assert "00:00:04,000 --> 00:00:05,000\nText b." in (tmp_path / "book.srt").read_text()
    assert not (tmp_path / "scene.srt").exists()
    data = data_of((tmp_path / "report.html").read_text())
    assert [data["states"][made[2]] for made in data["lines"]] == ["fine", "pause", "fine"]


def test_without_words_nothing_is_joined(tmp_path: Path) -> None:
    scene = job(tmp_path, "scene")
    remarks = made(Artifacts([scene], join=tmp_path / "book.wav"), [skipped(scene, 1.0, tmp_path)])
    assert remarks == [f"{tmp_path / 'book.wav'} is not written: no line has words"]


def test_a_joined_file_is_not_written_with_a_line_missing(tmp_path: Path) -> None:
    jobs = [job(tmp_path, name) for name in ("a", "b", "c")]
    artifacts = Artifacts(jobs, subtitles="vtt", join=tmp_path / "book.wav", report=tmp_path / "report.html")
    remarks = made(artifacts, [done(jobs[0]), failed(jobs[1])])  # c has no outcome: it was left for another run
    assert remarks[0] == f"{tmp_path / 'book.wav'} is not written: 2 lines are missing, the first is b"
    names = {"a.wav", "a.vtt", "report.html"}
    assert {path.name for path in tmp_path.iterdir()} == names
    page = (tmp_path / "report.html").read_text()
    assert "no voice" in page and "not spoken in this run" in page


def test_the_joined_file_takes_the_format_of_the_files_if_its_name_allows(tmp_path: Path) -> None:
    jobs = [job(tmp_path, "a", format="wav24")]
    for name, subtype in (("book.wav", "PCM_24"), ("book.flac", "PCM_16"), ("book.mp3", "MPEG_LAYER_III")):
        made(Artifacts(jobs, join=tmp_path / name), [done(jobs[0])])
        assert soundfile.info(tmp_path / name).subtype == subtype


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ({"join": "a.WAV"}, r"the joined file and the file of a would be the same file, .*a\.WAV: choose another"),
        ({"join": "book.xyz"}, "can't tell the format of"),
        ({"report": "report.txt"}, r"its name must end with \.html, not 'report\.txt'"),
        (
            {"subtitles": "srt", "join": "a.flac"},
            r"the subtitles of a\.flac and the subtitles of a\.wav would be the same file",
        ),
    ],
)
def test_impossible_artifacts_are_rejected_before_the_work(
    tmp_path: Path, wanted: dict[str, str], message: str
) -> None:
    paths: dict[str, Any] = {name: value if value == "srt" else tmp_path / value for name, value in wanted.items()}
    with pytest.raises(InputError, match=message):
        Artifacts([job(tmp_path, "a"), job(tmp_path, "b")], **paths)
    assert not list(tmp_path.iterdir())


def test_unwritable_artifacts_are_rejected_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="is a file, not a folder"):
        Artifacts([job(tmp_path, "a")], report=tmp_path / "file" / "report.html").prepare(RATE)
    with pytest.raises(OutputError, match=r"ogg can't hold 44\.1 kHz"):
        Artifacts([job(tmp_path, "a")], join=tmp_path / "book.ogg").prepare(44_100)


@pytest.mark.parametrize(
    ("recording", "wanted"),
    [
        ("voice.wav", {"join": "voice.wav"}),
        ("voice.html", {"report": "voice.html"}),
        ("a.srt", {"subtitles": "srt"}),
        ("whole.vtt", {"subtitles": "vtt", "join": "whole.wav"}),
    ],
)
def test_an_artifact_never_replaces_a_recording(tmp_path: Path, recording: str, wanted: dict[str, Any]) -> None:
    (tmp_path / recording).touch()
    (tmp_path / "linked").symlink_to(tmp_path, target_is_directory=True)
    jobs = [job(tmp_path, "a", ref=tmp_path / "linked" / recording)]
    named = {name: tmp_path / value if name != "subtitles" else value for name, value in wanted.items()}
    with pytest.raises(InputError, match=rf"would overwrite the recording '.*{recording}': choose another name"):
        Artifacts(jobs, **named)
