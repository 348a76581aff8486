"""`--check` from the command line to results.jsonl, with a stub for the recognizer, which hears random letters."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.check.stub import use_stub
from voxcli.check.models import CheckModel, resolve_check_model
from voxcli.cli.main import run
from voxcli.run.results import read_history, read_results

LIMITS = ["--allow-truncated", "--max-seconds", "1"]
TEXTS = {"a": "Good luck.", "b": "The sun is rising."}


@pytest.fixture(autouse=True)
def stub(monkeypatch: pytest.MonkeyPatch, brief_checkpoint: Path, tmp_path: Path) -> None:
    use_stub(monkeypatch)
    monkeypatch.setenv("VOXCPM2_MODEL", str(brief_checkpoint))
    rows = [{"id": identity, "text": text} for identity, text in TEXTS.items()]
    (tmp_path / "lines.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def batch(tmp_path: Path, *options: str) -> int:
    return run(["batch", str(tmp_path / "lines.jsonl"), "-o", str(tmp_path / "out"), *LIMITS, *options])


def results(tmp_path: Path) -> dict[str, Any]:
    return read_results(tmp_path / "out")


def kept_takes(tmp_path: Path) -> dict[tuple[str, int], Any]:
    history = read_history(tmp_path / "out").values()
    return {(good.id, good.take or 1): good for each in history if (good := each.good) is not None}


def test_doubtful_lines_are_spoken_again_recorded_and_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert batch(tmp_path, "--check", "--check-retries", "1") == 1
    assert "2 doubtful (see `reason` in results.jsonl)" in capsys.readouterr().err
    found = results(tmp_path)
    for identity, result in found.items():
        assert result.status == "doubtful"
        assert "words are " in result.reason
        assert (result.check["takes"], result.attempts) == (2, 2)
        assert result.check["next_seed"] == result.check["first_seed"] + 2
        assert (tmp_path / "out" / f"{identity}.wav").exists()
    assert batch(tmp_path, "--check", "--check-retries", "1", "--allow-doubtful") == 0
    assert "2 lines done before and unchanged, 0 to speak" in capsys.readouterr().err
    assert results(tmp_path) == found


def test_a_lost_file_comes_back_by_the_same_takes(tmp_path: Path) -> None:
    batch(tmp_path, "--check")
    before = results(tmp_path)["a"]
    (tmp_path / "out" / "a.wav").unlink()
    batch(tmp_path, "--check")
    after = results(tmp_path)["a"]
    assert (after.sha256, after.seed, after.check) == (before.sha256, before.seed, before.check)


def test_files_made_without_a_check_are_heard_and_doubtful_ones_spoken_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert batch(tmp_path) == 0
    first = results(tmp_path)
    assert batch(tmp_path, "--check") == 1
    error = capsys.readouterr().err
    assert "listening to 2 files made before" in error
    assert "2 doubtful lines to speak again" in error
    for identity, result in results(tmp_path).items():
        assert result.check["takes"] == 3
        assert result.check["first_seed"] == first[identity].seed


def test_without_retries_files_made_before_are_only_heard(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    batch(tmp_path)
    before = results(tmp_path)
    capsys.readouterr()
    assert batch(tmp_path, "--check", "--check-retries", "0", "--allow-doubtful") == 0
    assert "to speak again" not in capsys.readouterr().err
    after = results(tmp_path)
    assert {name: result.finished for name, result in after.items()} == {
        name: result.finished for name, result in before.items()
    }
    assert all(result.doubtful and result.check["model"] == "stub" for result in after.values())


def test_other_limits_are_heard_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert batch(tmp_path, "--check", "--check-retries", "0") == 1
    capsys.readouterr()
    batch(tmp_path, "--check", "--check-retries", "0", "--max-wer", "1")
    assert "listening to 2 files made before" in capsys.readouterr().err
    assert all("words are " not in (result.reason or "") for result in results(tmp_path).values())


def test_retry_failed_goes_on_with_seeds_that_were_not_tried(tmp_path: Path) -> None:
    batch(tmp_path, "--check", "--check-retries", "1")
    before = results(tmp_path)
    batch(tmp_path, "--check", "--check-retries", "1", "--retry-failed")
    for identity, result in results(tmp_path).items():
        assert result.check["first_seed"] == before[identity].check["next_seed"]


@pytest.mark.parametrize("options", [["--seed", "1"], ["--seed", "1", "--takes", "2"]])
def test_retry_failed_goes_on_from_a_given_seed(
    options: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = [*options, "--check", "--check-retries", "1"]
    batch(tmp_path, *options)
    first = kept_takes(tmp_path)
    assert first["a", 1].check["first_seed"] == 1
    batch(tmp_path, *options, "--retry-failed")
    second = kept_takes(tmp_path)
    assert second.keys() == first.keys()
    for key, result in second.items():
        assert result.check["first_seed"] == first[key].check["next_seed"]
        assert result.fingerprint["seed"] == first[key].fingerprint["seed"]
    batch(tmp_path, *options, "--retry-failed")
    third = kept_takes(tmp_path)
    for key, result in third.items():
        assert result.check["first_seed"] == second[key].check["next_seed"]
    capsys.readouterr()
    (tmp_path / "out" / "a.wav").unlink()
    batch(tmp_path, *options)
    assert ", 1 to speak (1 file missing)" in capsys.readouterr().err
    lost = kept_takes(tmp_path)["a", 1]
    assert (lost.sha256, lost.check) == (third["a", 1].sha256, third["a", 1].check), "the same file comes back"
    batch(tmp_path, *options, "--force")
    assert {key: line.sha256 for key, line in kept_takes(tmp_path).items()} == {
        key: line.sha256 for key, line in first.items()
    }, "the search starts at the given seed"


def test_retry_failed_goes_on_from_a_seed_in_the_manifest_and_an_edited_text_begins_with_it(tmp_path: Path) -> None:
    lines = tmp_path / "lines.jsonl"
    lines.write_text(json.dumps({"id": "a", "text": "Good luck.", "seed": 5}) + "\n")
    options = ("--check", "--check-retries", "0")
    batch(tmp_path, *options)
    batch(tmp_path, *options, "--retry-failed")
    assert results(tmp_path)["a"].check["first_seed"] == 6
    lines.write_text(json.dumps({"id": "a", "text": "Good night.", "seed": 5}) + "\n")
    batch(tmp_path, *options)
    assert results(tmp_path)["a"].check["first_seed"] == 5


@pytest.mark.parametrize("options", [[], ["--seed", "1"]])
def test_retry_failed_does_not_repeat_the_seed_of_a_file_that_was_heard_later(
    options: list[str], tmp_path: Path
) -> None:
    batch(tmp_path, *options)
    batch(tmp_path, *options, "--check", "--check-retries", "0")
    before = results(tmp_path)
    batch(tmp_path, *options, "--check", "--check-retries", "0", "--retry-failed")
    for identity, result in results(tmp_path).items():
        assert result.seed == before[identity].seed + before[identity].attempts


def test_after_the_last_seed_there_is_no_next_one(tmp_path: Path) -> None:
    batch(tmp_path, "--seed", str(2**63 - 1), "--check", "--check-retries", "1")
    for result in results(tmp_path).values():
        assert (result.status, result.seed, result.check["takes"]) == ("doubtful", 2**63 - 1, 1)


def test_one_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["synth", "Good luck.", "-o", str(tmp_path / "a.wav"), *LIMITS, "--check", "--check-retries", "0"]
    assert run(command) == 1
    assert "voxcpm2: doubtful: words are " in capsys.readouterr().err
    assert run([*command, "--allow-doubtful"]) == 0
    assert run([*command, "--allow-doubtful", "--subtitles", "words"]) == 0
    assert (tmp_path / "a.vtt").read_text(encoding="utf-8").endswith("<c>luck.</c>\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("-o", "a.wav", "--max-wer", "0.1"), "--max-wer needs --check"),
        (("-o", "a.wav", "--check-device", "cuda"), "--check-device needs --check"),
        (("-o", "a.wav", "--subtitles", "karaoke"), "--subtitles karaoke needs --check, which hears when"),
        (("-o", "-", "--check"), "--check needs the whole audio: name a file with -o"),
        (("--play", "--check"), "--check needs the whole audio: name a file with -o"),
        (
            ("-o", "a.wav", "--check", "--server", "http://x:1"),
            "--check needs a model that is loaded here: it can't be used with the server 'http://x:1'",
        ),
        (("-o", "a.wav", "--check", "--check-retries", "21"), "--check-retries must be a whole number from 0 to 20"),
    ],
)
def test_wrong_use(arguments: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["synth", "Good luck.", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_a_dry_run_refuses_a_recognizer_as_the_run_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("voxcli.check.models.missing", lambda extra: [])
    (tmp_path / "empty").mkdir()
    options = ("--check", "--check-model", str(tmp_path / "empty"))
    monkeypatch.setattr("voxcli.check.checker.resolve_check_model", resolve_check_model)
    shown = []
    for more in ((), ("--dry-run",)):
        assert batch(tmp_path, *options, *more) == 3
        shown.append(capsys.readouterr().err.splitlines()[-1])
    assert shown == [f"voxcpm2: {tmp_path / 'empty'} is no model of faster-whisper: it has no model.bin"] * 2


def test_a_recognizer_that_can_not_be_loaded_ends_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("voxcli.check.checker.resolve_check_model", lambda *_: CheckModel(Path("broken"), "broken"))
    assert batch(tmp_path, "--check") == 3
    assert "the recognizer can't be loaded: RuntimeError: no weights" in capsys.readouterr().err
