"""Files that were made before are checked, with a stub for the recognizer."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import soundfile

from tests.check.stub import spelled, use_stub
from voxcli.audio.flac import flac_of
from voxcli.check.heard import RATE
from voxcli.cli.main import run
from voxcli.jobs.result import Cue, Result, Review
from voxcli.run.results import ResultLog, read_results
from voxcli.voices.store import VoiceInfo, write_voice


@pytest.fixture(autouse=True)
def stub(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The stub hears; quiet codes in silence are neither too silent nor too fast for it."""
    use_stub(monkeypatch)
    monkeypatch.setattr("voxcli.check.verdict._of_signals", lambda signals: iter(()))
    monkeypatch.setattr("voxcli.check.verdict._of_rate", lambda comparison, signals: iter(()))
    yield


def write(path: Path, words: str, subtype: str = "FLOAT") -> None:
    soundfile.write(path, spelled(words), RATE, subtype=subtype)


def test_results_get_their_check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path / "a.wav", "the old clock stopped")
    write(tmp_path / "b.wav", "the stopped")
    with ResultLog(tmp_path) as log:
        for identity in "ab":
            cues = (Cue(0.0, 0.4, "The old clock stopped."),)
            log.append(Result(identity, f"{identity}.wav", "The old clock stopped.", "ok", cues=cues))
        log.append(Result("c", "c.wav", "Never made.", "failed", error="no"))
    assert run(["check", str(tmp_path)]) == 1
    captured = capsys.readouterr()
    assert captured.out == f"{tmp_path / 'b.wav'}: words are missing: old clock\n"
    assert captured.err == "2 files checked, 1 doubtful, 0 failed\n"
    found = read_results(tmp_path)
    assert (found["a"].status, found["a"].reason) == ("ok", None)
    assert (found["b"].status, found["b"].reason) == ("doubtful", "words are missing: old clock")
    assert found["b"].check is not None
    assert found["b"].check["missing"] == [[4, "old"], [8, "clock"]]
    assert found["b"].check["wer"] == 0.5
    assert found["a"].words == ((0.0, 0.1, "The"), (0.1, 0.2, "old"), (0.2, 0.3, "clock"), (0.3, 0.4, "stopped."))
    assert run(["check", str(tmp_path), "--allow-doubtful"]) == 0
    assert run(["check", str(tmp_path), "--max-wer", "0.5"]) == 0


def test_each_take_gets_its_own_check(tmp_path: Path) -> None:
    write(tmp_path / "a.wav", "good luck")
    write(tmp_path / "a.take2.wav", "good")
    write(tmp_path / "a.take3.wav", "good")
    approved = Review("approved")
    with ResultLog(tmp_path) as log:
        log.append(Result("a", "a.wav", "Good luck.", "ok", take=1))
        log.append(Result("a", "a.take2.wav", "Good luck.", "ok", take=2))
        log.append(Result("a", "a.take3.wav", "Good luck.", "ok", take=3, review=approved))
    assert run(["check", str(tmp_path)]) == 1
    with ResultLog(tmp_path) as log:
        good = [history.good for history in log.history.values()]
    assert all(result is not None and result.check is not None for result in good)
    # who has listened overrides the check
    assert [(one.take, one.status, one.reason) for one in good if one is not None] == [
        (1, "ok", None),
        (2, "doubtful", "words are missing: luck"),
        (3, "ok", None),
    ]


@pytest.mark.parametrize("name", ["a.wav", "lines.jsonl", "results.jsonl", "voice.wav", "notes.txt"])
def test_nothing_of_the_user_is_overwritten(tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path / "a.wav", "good luck")
    write(tmp_path / "voice.wav", "good luck " * 7)  # 1.4 s
    (tmp_path / "lines.jsonl").write_text('{"id": "a", "text": "Good luck."}\n')
    (tmp_path / "notes.txt").write_text("mine")
    with ResultLog(tmp_path) as log:
        log.append(Result("a", "a.wav", "Good luck.", "ok"))
    before = (tmp_path / name).read_bytes()
    command = [
        "check",
        str(tmp_path),
        "--manifest",
        str(tmp_path / "lines.jsonl"),
        "--ref",
        str(tmp_path / "voice.wav"),
    ]
    assert run([*command, "-o", str(tmp_path / name)]) == 2
    assert (tmp_path / name).read_bytes() == before
    assert "name another file" in capsys.readouterr().err


def test_earlier_checks_are_replaced(tmp_path: Path) -> None:
    write(tmp_path / "a.wav", "good luck")
    (tmp_path / "lines.jsonl").write_text('{"id": "a", "text": "Good luck."}\n')
    for _ in range(2):
        assert run(["check", str(tmp_path), "--manifest", str(tmp_path / "lines.jsonl")]) == 0


def test_a_failure_stays_the_last_result(tmp_path: Path) -> None:
    write(tmp_path / "a.wav", "good luck")
    with ResultLog(tmp_path) as log:
        log.append(Result("a", "a.wav", "Good luck.", "ok"), Result("a", "a.wav", "Good luck!", "failed", error="no"))
    assert run(["check", str(tmp_path)]) == 0
    with ResultLog(tmp_path) as log:
        history = log.history["a"]
    assert history.last.failed
    assert history.good is not None and history.good.check is not None


def test_places_are_those_in_the_text_of_the_line(tmp_path: Path) -> None:
    """Parts of a text are spoken one by one, without its marks."""
    write(tmp_path / "a.wav", "one two now end")
    text = "(a calm voice)One two three. [pause 1s] Now the end."
    cues = (Cue(0.0, 0.2, "One two three."), Cue(0.2, 0.4, "Now the end."))
    with ResultLog(tmp_path) as log:
        log.append(Result("a", "a.wav", text, "ok", cues=cues))
    run(["check", str(tmp_path)])
    check = read_results(tmp_path)["a"].check
    assert check is not None
    assert [text[place : place + len(word)] for place, word in check["missing"]] == ["three", "the"]
    assert check["missing"] == [[22, "three"], [text.index("the end"), "the"]]


def test_files_of_other_programs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "wavs"
    folder.mkdir()
    write(folder / "one.wav", "good luck")
    write(folder / "two.flac", "go", subtype="PCM_24")
    with (tmp_path / "lines.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("File", "text"), ("one.wav", "Good luck."), ("two.flac", "Go home now.")])
    assert run(["check", str(folder), "--manifest", str(tmp_path / "lines.csv")]) == 1
    assert "two.flac: words are missing: home now" in capsys.readouterr().out
    lines = [json.loads(line) for line in (folder / "check.jsonl").read_text().splitlines()]
    assert [(line["id"], line["status"]) for line in lines] == [("one", "ok"), ("two", "doubtful")]
    assert lines[0]["words"] == [[0.0, 0.1, "Good"], [0.1, 0.2, "luck."]]


def test_a_manifest_with_ids_and_another_text_column(tmp_path: Path) -> None:
    write(tmp_path / "a.wav", "good luck")
    (tmp_path / "lines.jsonl").write_text('{"id": "a", "Line": "Good luck."}\n')
    out = tmp_path / "found.jsonl"
    command = ["check", str(tmp_path), "--manifest", str(tmp_path / "lines.jsonl"), "--map", "text=Line"]
    assert run([*command, "-o", str(out)]) == 0
    assert json.loads(out.read_text())["status"] == "ok"
    assert not (tmp_path / "check.jsonl").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "there are no results in {}: name the texts of its files with --manifest FILE"),
        (("--map", "text=Line"), "--input-format, --encoding and --map are for a --manifest"),
        (("--max-wer", "2"), "--max-wer must be a number from 0 to 1, not '2'"),
        (("--check-device", "tpu"), "--check-device must be one of cpu, cuda, not 'tpu'"),
        (("--language", "xx"), "language must be a language tag such as en, de or zh, not 'xx'"),
    ],
)
def test_wrong_use_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], message: str
) -> None:
    assert run(["check", str(tmp_path), *arguments]) == 2
    assert message.format(tmp_path) in capsys.readouterr().err


def test_rows_without_a_file_are_all_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "lines.jsonl").write_text('{"id": "a", "text": "x"}\n{"file": "b.wav", "text": "x"}\n{"id": "c"}\n')
    assert run(["check", str(tmp_path), "--manifest", str(tmp_path / "lines.jsonl")]) == 2
    error = capsys.readouterr().err
    assert "line 1: there is no file 'a'" in error
    assert "line 2: there is no file 'b.wav'" in error
    assert "line 3: no text" in error


def test_a_file_that_can_not_be_read_fails_and_the_others_are_checked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "a.wav", "good luck")
    (tmp_path / "b.wav").write_bytes(b"no sound")
    with ResultLog(tmp_path) as log:
        log.append(Result("a", "a.wav", "Good luck.", "ok"), Result("b", "b.wav", "Good luck.", "ok"))
    assert run(["check", str(tmp_path)]) == 1
    error = capsys.readouterr().err
    assert "b: " in error and "it can't be read" in error
    assert "2 files checked, 0 doubtful, 1 failed" in error
    assert read_results(tmp_path)["a"].check is not None


def test_a_file_that_was_removed_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with ResultLog(tmp_path) as log:
        log.append(Result("a", "a.wav", "Good luck.", "ok"), Result("b", "b.wav", "Good luck.", "ok"))
    (tmp_path / "b.wav").mkdir()
    assert run(["check", str(tmp_path)]) == 1
    lines = capsys.readouterr().err.splitlines()
    assert f"a: {tmp_path / 'a.wav'}: the file is missing" in lines[0]
    assert f"b: {tmp_path / 'b.wav'}: it can't be read (Is a directory)" in lines[1]


def test_the_folder_of_the_checks_is_created(tmp_path: Path) -> None:
    write(tmp_path / "a.wav", "good luck")
    with ResultLog(tmp_path) as log:
        log.append(Result("a", "a.wav", "Good luck.", "ok"))
    out = tmp_path / "new" / "folder" / "found.jsonl"
    assert run(["check", str(tmp_path), "-o", str(out)]) == 0
    assert json.loads(out.read_text())["status"] == "ok"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("a.wav/found.jsonl", "a.wav is a file, not a folder"),
        ("b" * 300, "can't be written"),
        ("sub", "exists and holds no checks"),
    ],
)
def test_a_place_where_checks_can_not_be_written_is_refused_before_anything_is_heard(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    message: str,
) -> None:
    write(tmp_path / "a.wav", "good luck")
    (tmp_path / "sub").mkdir()
    with ResultLog(tmp_path) as log:
        log.append(Result("a", "a.wav", "Good luck.", "ok"))
    monkeypatch.setattr("voxcli.check.folder.check_file", lambda *_: pytest.fail("a file was heard"))
    assert run(["check", str(tmp_path), "-o", str(tmp_path / name)]) in (1, 2)
    captured = capsys.readouterr()
    assert message in captured.err
    assert len(captured.err.splitlines()) == 1


def test_results_of_another_program_are_invalid_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "results.jsonl").write_text('{"a": 1}\n')
    assert run(["check", str(tmp_path)]) == 2
    assert "results.jsonl contains no results of voxcpm2" in capsys.readouterr().err


def test_channels_are_averaged(tmp_path: Path) -> None:
    both = np.stack([spelled("good luck"), spelled("good luck")], axis=1)
    soundfile.write(tmp_path / "a.wav", both, RATE, subtype="FLOAT")
    (tmp_path / "lines.jsonl").write_text('{"id": "a", "text": "Good luck."}\n')
    assert run(["check", str(tmp_path), "--manifest", str(tmp_path / "lines.jsonl")]) == 0


SENTENCE = "we walked along the beach until the tide came in again slowly"
TONE = np.sin(np.arange(2 * RATE) / 20).astype(np.float32)
OTHER_VOICE = "another voice: similarity 0.00 to the recording, at least 0.75"


def write_voice_file(path: Path, loudness: float, *, recorded: bool = True) -> Path:
    """Write the file of a named voice. The stub hears another speaker in what is louder than 0.7."""
    info = VoiceInfo(encoder="e", recording="joe.wav", sha256="0", seconds=2.0)
    recording = flac_of(np.float32(loudness) * TONE, RATE) if recorded else None
    write_voice(path, info, {"reference": np.ones((1, 1, 1), np.float32)}, recording)
    return path


@pytest.fixture
def speakers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("voxcli.check.checker.encoder_weights", lambda: Path("stub"))


@pytest.mark.usefixtures("speakers")
def test_files_are_compared_with_the_recording_of_a_named_voice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("voxcli.voices.store.voices_folder", lambda: tmp_path / "voices")
    write_voice_file(tmp_path / "voices" / "joe.safetensors", 0.9)
    write_voice_file(tmp_path / "voices" / "anna.safetensors", 0.3)
    write_voice_file(tmp_path / "voices" / "old.safetensors", 0.9, recorded=False)
    write(tmp_path / "a.wav", SENTENCE)
    with ResultLog(tmp_path) as log:
        log.append(Result("a", "a.wav", SENTENCE, "ok"))
    found = {}
    for name in ("joe", "anna", "old"):
        run(["check", str(tmp_path), "--voice", name])
        result = read_results(tmp_path)["a"]
        assert result.check is not None
        found[name] = result.reason, result.check["similarity"]
    assert found == {"joe": (OTHER_VOICE, 0.0), "anna": (None, 1.0), "old": (None, None)}
    capsys.readouterr()
    assert run(["check", str(tmp_path), "--voice", "jo"]) == 2
    assert "did you mean 'joe'?" in capsys.readouterr().err
    assert run(["check", str(tmp_path), "--voice", "joe", "--ref", str(tmp_path / "a.wav")]) == 2
    assert "--voice and --ref exclude each other" in capsys.readouterr().err


@pytest.mark.usefixtures("speakers")
def test_files_are_compared_with_the_voice_that_they_were_spoken_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The voice that lines of a batch share is beside them; a manifest may name a stored voice."""
    monkeypatch.setattr("voxcli.voices.store.voices_folder", lambda: tmp_path / "voices")
    write_voice_file(tmp_path / "voice.safetensors", 0.9)
    write_voice_file(tmp_path / "voices" / "joe.safetensors", 0.9)
    for name in "abc":
        write(tmp_path / f"{name}.wav", SENTENCE)
    with ResultLog(tmp_path) as log:
        log.append(Result("a", "a.wav", SENTENCE, "ok", voice="voice.safetensors"))
    assert run(["check", str(tmp_path)]) == 1
    assert read_results(tmp_path)["a"].reason == OTHER_VOICE
    rows = [("id", "text", "voice"), *zip("abc", [SENTENCE] * 3, ("joe", "en-US Amy", ""), strict=True)]
    with (tmp_path / "lines.csv").open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    assert run(["check", str(tmp_path), "--manifest", str(tmp_path / "lines.csv")]) == 1
    lines = [json.loads(line) for line in (tmp_path / "check.jsonl").read_text().splitlines()]
    assert [line["check"]["similarity"] for line in lines] == [0.0, None, None], "other programs name other voices"


def test_a_dash_is_stdout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path / "a.wav", "good luck")
    write(tmp_path / "b.wav", "good")
    with ResultLog(tmp_path) as log:
        for name in "ab":
            log.append(Result(name, f"{name}.wav", "Good luck.", "ok"))
    before = (tmp_path / "results.jsonl").read_bytes()
    monkeypatch.chdir(tmp_path)
    assert run(["check", ".", "-o", "-"]) == 1
    captured = capsys.readouterr()
    lines = [json.loads(line) for line in captured.out.splitlines()]
    assert [(line["id"], line["status"]) for line in lines] == [("a", "ok"), ("b", "doubtful")]
    assert captured.err == "b.wav: words are missing: luck\n2 files checked, 1 doubtful, 0 failed\n"
    assert not (tmp_path / "-").exists()
    assert (tmp_path / "results.jsonl").read_bytes() == before
