"""Finished files and files of others stay, whatever fails, is misspelt, lost or edited between two runs.

Lines have no seed, so a file that is spoken again needlessly differs.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from voxcli import faults
from voxcli.cli.main import run
from voxcli.files.names import LOCK_NAME

COMMAND = ["batch", "lines.jsonl", "-o", "out", "--steps", "2", "--max-seconds", "0.8", "--allow-truncated"]
RESULTS = Path("out/results.jsonl")
NAMES = ("a", "b", "c")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tiny_checkpoint: Path, repository: Path) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VOXCPM2_MODEL", str(tiny_checkpoint))
    monkeypatch.setenv("PYTHONPATH", str(repository))
    Path("voices").mkdir()
    tone = 0.3 * np.sin(np.arange(16_000 * 2) / 20).astype(np.float32)
    soundfile.write("voices/anna.wav", tone, 16_000)
    write_lines()
    yield
    faults.arm("")


def write_lines(**changes: dict[str, Any]) -> None:
    rows = [{"id": name, "text": f"A line {name}."} | changes.get(name, {}) for name in NAMES]
    Path("lines.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def sounds() -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in Path("out").glob("*.wav")}


def states() -> dict[str, str]:
    """Read results as a simple tool does: the last line of an id."""
    return {line["id"]: line["status"] for line in map(json.loads, RESULTS.read_text().splitlines())}


def stderr_of(capsys: pytest.CaptureFixture[str], code: int, *options: str, command: list[str] = COMMAND) -> str:
    capsys.readouterr()
    assert run([*command, *options]) == code
    shown = capsys.readouterr()
    assert "Traceback" not in shown.err and "unexpected" not in shown.err
    return shown.err + shown.out


def check_kept(capsys: pytest.CaptureFixture[str], before: dict[str, bytes], *options: str) -> None:
    """Rerun the correct command: nothing is spoken, and the results are those of finished lines."""
    assert f"voxcpm2: {len(before)} lines done before and unchanged, 0 to speak\n" in stderr_of(capsys, 0, *options)
    assert sounds() == before
    assert len(RESULTS.read_text().splitlines()) == len(before) and set(states().values()) == {"ok"}


ANNA = ["--ref", "voices/anna.wav"]
MISSPELT = {
    "a recording": ["--ref", "voices/ana.wav"],
    "no sound": ["--ref", "lines.jsonl"],
    "a named voice": ["--voice", "ana"],
    "a recording in the defaults": ["--defaults", "ref.yaml"],
    "a recording to go on from in the defaults": ["--defaults", "prompt.yaml"],
    "a named voice in the defaults": ["--defaults", "voice.yaml"],
    "the defaults": ["--defaults", "default.yaml"],
    "a preset": ["--preset", "fastt"],
}


@pytest.mark.parametrize("what", MISSPELT)
def test_what_is_misspelt_in_the_command_is_its_fault_and_no_line_s(
    what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("ref.yaml").write_text("ref: voices/ana.wav")
    Path("prompt.yaml").write_text("prompt_audio: voices/ana.wav\nprompt_text: What it says.")
    Path("voice.yaml").write_text("voice: ana")
    assert run([*COMMAND, *ANNA]) == 0
    before, log = sounds(), RESULTS.read_bytes()
    for options in (MISSPELT[what], [*MISSPELT[what], "--dry-run"]):
        assert len(stderr_of(capsys, 2, *options).splitlines()) == 1
    assert (sounds(), RESULTS.read_bytes()) == (before, log)
    check_kept(capsys, before, *ANNA)


def test_a_voice_that_is_out_of_reach_for_a_while(capsys: pytest.CaptureFixture[str]) -> None:
    write_lines(a={"ref": "voices/anna.wav"}, b={"ref": "voices/anna.wav"})
    assert run(COMMAND) == 0
    before = sounds()
    Path("voices").rename("unmounted")
    assert "1 of 3 lines done (1 before), 2 failed" in stderr_of(capsys, 1)
    assert states() == {"a": "failed", "b": "failed", "c": "ok"}
    assert "1 of 3 lines done (1 before), 2 failed" in stderr_of(capsys, 1, "--retry-failed")
    Path("unmounted").rename("voices")
    check_kept(capsys, before)


def test_a_run_that_is_interrupted_while_it_plans_notes_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_lines(a={"ref": "voices/anna.wav"})
    assert run(COMMAND) == 0
    before, log = sounds(), RESULTS.read_bytes()

    def interrupted(path: Path) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("voxcli.jobs.plan.check_voice", interrupted)
        stderr_of(capsys, 130, "--force")
    assert (sounds(), RESULTS.read_bytes()) == (before, log)
    check_kept(capsys, before)


@pytest.mark.parametrize("options", [["--model", "nowhere"], ["--lora", "nowhere"], ["--device", "cuda:9"]])
def test_a_model_that_can_not_be_had_changes_nothing(options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(COMMAND) == 0
    before = sounds()
    write_lines(a={"text": ""})
    assert run([*COMMAND, "--force", *options]) in (1, 3)
    write_lines()
    check_kept(capsys, before)


def test_many_lines_that_fail_share_a_sync(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"id": str(n), "text": "A line.", "ref": "nowhere.wav"} for n in range(300)]
    Path("lines.jsonl").write_text("\n".join(map(json.dumps, rows)))
    synced: list[object] = []
    monkeypatch.setattr("voxcli.run.results.sync_file", synced.append)
    stderr_of(capsys, 1)
    assert (len(states()), len(synced)) == (300, 1)


def test_a_named_voice_that_was_removed_and_made_again(capsys: pytest.CaptureFixture[str]) -> None:
    write_lines(a={"voice": "anna"})
    add = ["voices", "add", "anna", "--ref", "voices/anna.wav"]
    assert run(add) == 0
    assert run(COMMAND) == 0
    before = sounds()
    assert run(["voices", "remove", "anna"]) == 0
    stderr_of(capsys, 1)
    assert run(add) == 0
    check_kept(capsys, before)


def test_a_text_that_was_emptied_and_restored(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(COMMAND) == 0
    before = sounds()
    write_lines(a={"text": ""})
    stderr_of(capsys, 1)
    write_lines()
    check_kept(capsys, before, "--retry-failed")


@pytest.mark.parametrize("fault", ["write:enospc", "fsync:eacces", "rename:enospc", "prefill:nan", "decode:nan"])
def test_a_lost_file_comes_back_as_it_was_though_the_first_try_fails(
    fault: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(COMMAND) == 0
    before = sounds()
    Path("out/b.wav").unlink()
    faults.arm(fault)
    stderr_of(capsys, 1)
    assert states() == {"a": "ok", "b": "failed", "c": "ok"}
    faults.arm("")
    assert "2 lines done before and unchanged, 1 to speak (1 failed before)" in stderr_of(capsys, 0)
    assert sounds() == before
    check_kept(capsys, before)


def test_a_first_file_that_could_not_be_written_is_spoken_with_the_seed_drawn_for_it() -> None:
    faults.arm("write:enospc")
    assert run(COMMAND) == 1
    (failed,) = [line for line in map(json.loads, RESULTS.read_text().splitlines()) if line["status"] == "failed"]
    faults.arm("")
    assert run(COMMAND) == 0
    done = {line["id"]: line for line in map(json.loads, RESULTS.read_text().splitlines())}
    assert type(failed["seed"]) is int and done[failed["id"]]["seed"] == failed["seed"]


def test_what_is_made_of_finished_files_is_not_made_of_failed_ones(capsys: pytest.CaptureFixture[str]) -> None:
    """The failed lines have older files, but not of the current text."""
    artifacts = ["--join", "book.wav", "--subtitles", "srt", "--report", "page.html"]
    assert run([*COMMAND, *artifacts]) == 0
    before, book = sounds(), Path("book.wav").read_bytes()
    write_lines(a={"text": ""})
    Path("book.wav").unlink()
    assert "book.wav is not written: 1 line is missing, the first is line 1 (a)" in stderr_of(capsys, 1, *artifacts)
    assert "nothing to speak" in Path("page.html").read_text()
    assert not Path("book.wav").exists()
    write_lines()
    check_kept(capsys, before, *artifacts)
    assert Path("book.wav").read_bytes() == book
    assert "nothing to speak" not in Path("page.html").read_text()


MANIFEST = "".join(json.dumps({"text": f"Line {n}."}) + "\n" for n in range(3))
FOREIGN = {
    "a manifest": MANIFEST,
    "a manifest with ids": '{"id": "a", "text": "One."}\n{"id": "b", "text": "Two."}\n',
    "a training run": "".join(f'{{"epoch": {n}, "loss": 0.5}}\n' for n in range(100)) + "done\n",
}


@pytest.mark.parametrize("options", [[], ["--force"], ["--retry-failed"], ["--dry-run"]])
@pytest.mark.parametrize("foreign", FOREIGN)
def test_the_results_of_another_program_stay(
    foreign: str, options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    Path("out").mkdir()
    RESULTS.write_text(FOREIGN[foreign])
    *_, line = stderr_of(capsys, 1, *options).splitlines()
    assert line.startswith("voxcpm2: out/results.jsonl contains no results of voxcpm2: ")
    assert RESULTS.read_text() == FOREIGN[foreign]
    assert os.listdir("out") == ["results.jsonl"]


@pytest.mark.parametrize("named", ["results.jsonl", "link.jsonl", "hard.jsonl", "../here/results.jsonl"])
def test_a_manifest_that_is_the_file_of_results_stays(
    named: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("here").mkdir()
    monkeypatch.chdir("here")
    Path("results.jsonl").write_text(MANIFEST)
    Path("link.jsonl").symlink_to("results.jsonl")
    os.link("results.jsonl", "hard.jsonl")
    for options in ([], ["--dry-run"]):
        (line,) = stderr_of(capsys, 2, *options, command=["batch", named, "-o", "."]).splitlines()
        assert line == f"voxcpm2: {named}: results.jsonl of the output folder is the manifest {named!r}"
    assert Path("results.jsonl").read_text() == MANIFEST


def test_a_manifest_beside_the_files_is_no_matter() -> None:
    assert run([*COMMAND[:2], "-o", ".", *COMMAND[4:]]) == 0
    assert Path("a.wav").is_file()


@pytest.mark.parametrize("kind", ["a link", "a link to nothing", "a hard link"])
def test_a_lock_that_leads_elsewhere_changes_nothing_there(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("out").mkdir()
    if kind != "a link to nothing":
        Path("keep.txt").write_text("precious\n")
    if kind == "a hard link":
        os.link("keep.txt", Path("out", LOCK_NAME))
    else:
        Path("out", LOCK_NAME).symlink_to("../keep.txt")
    *_, line = stderr_of(capsys, 1).splitlines()
    assert line.startswith("voxcpm2: can't lock out: out/.voxcpm2.lock is ")
    assert line.endswith("; remove it, or choose another folder")
    assert Path("keep.txt").exists() == (kind != "a link to nothing")
    assert kind == "a link to nothing" or Path("keep.txt").read_text() == "precious\n"


@pytest.mark.parametrize("last", ["", "\r\n"])
def test_results_edited_on_windows_lose_nothing(last: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("two.jsonl").write_text("".join(Path("lines.jsonl").read_text().splitlines(keepends=True)[:2]))
    assert run([COMMAND[0], "two.jsonl", *COMMAND[2:]]) == 0
    before = sounds()
    RESULTS.write_bytes(("\r\n".join(RESULTS.read_text().splitlines()) + last).encode())
    assert "2 lines done before and unchanged, 1 to speak (1 new)" in stderr_of(capsys, 0)
    assert sounds().items() >= before.items()
    check_kept(capsys, sounds())


def test_retrying_where_no_run_was_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    line = "voxcpm2: --retry-failed: there are no results in out; omit it to speak all lines"
    for options in ([], ["--dry-run"]):
        assert stderr_of(capsys, 2, "--retry-failed", *options).splitlines() == [line]
        assert not Path("out").exists()


def test_files_whose_results_are_lost_are_not_spoken_over(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(COMMAND) == 0
    before = sounds()
    RESULTS.unlink()
    for options in ([], ["--dry-run"]):
        *_, line = stderr_of(capsys, 1, *options).splitlines()
        assert line == (
            "voxcpm2: out/a.wav (and 2 other files) exists but is not in results.jsonl: "
            "move it away, choose another folder, or use --force to replace it"
        )
        assert sounds() == before
    stderr_of(capsys, 0, "--force")
    assert sounds() != before
    check_kept(capsys, sounds())


@pytest.mark.parametrize("state", ["new", "failed", "given another name"])
def test_a_file_made_by_hand_is_not_spoken_over(state: str, capsys: pytest.CaptureFixture[str]) -> None:
    changes = {"new": {}, "failed": {"text": ""}, "given another name": {"out": "other.wav"}}
    write_lines(b=changes[state])
    if state == "new":
        Path("lines.jsonl").write_text(Path("lines.jsonl").read_text().replace('"b"', '"d"'))
    run(COMMAND)
    Path("out/b.wav").write_bytes(b"made by hand")
    write_lines()
    before, log = sounds(), RESULTS.read_bytes()
    *_, line = stderr_of(capsys, 1).splitlines()
    assert line.startswith("voxcpm2: out/b.wav exists but is not in results.jsonl: move it away, ")
    assert (sounds(), RESULTS.read_bytes()) == (before, log)


@pytest.mark.parametrize("name", ["out/b.srt", "book.srt"])
def test_subtitles_made_by_hand_are_not_written_over(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = Path(name)
    path.parent.mkdir(exist_ok=True)
    path.write_text("made by hand")
    wanted = ["--subtitles", "srt", "--join", "book.wav"]
    for options in ([], ["--dry-run"]):
        *_, line = stderr_of(capsys, 1, *wanted, *options).splitlines()
        assert line.startswith(f"voxcpm2: {name} exists but is not in results.jsonl: move it away, ")
        assert path.read_text() == "made by hand" and not sounds()
    path.rename("kept.srt")
    stderr_of(capsys, 0, *wanted)
    assert path.is_file()
    stderr_of(capsys, 0, *wanted)  # the run may overwrite its own files
    stderr_of(capsys, 0, "--subtitles", "srt", "--join", "book.flac")  # another joined file with the same stem
    stderr_of(capsys, 0, *wanted, "--force")


@pytest.mark.parametrize("kind", ["srt", "vtt"])
@pytest.mark.parametrize("options", [[], ["--force"]])
def test_subtitles_that_no_longer_fit_are_reported(
    options: list[str], kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    note = "subtitle file shows earlier speech, the first is"
    assert note not in stderr_of(capsys, 0, "--seed", "1", "--subtitles", kind)
    before = {name: Path(f"out/{name}.{kind}").read_bytes() for name in NAMES}
    Path(f"out/c.{kind}").write_text("made by hand")
    write_lines(a={"text": "Another line, the first."}, c={"text": "Another line, the last."})
    text = stderr_of(capsys, 0, "--seed", "1", *options)
    assert f"1 {note} out/a.{kind}: add --subtitles {kind} to write it again" in text
    assert {name: Path(f"out/{name}.{kind}").read_bytes() for name in NAMES} == before | {"c": b"made by hand"}
    assert note not in stderr_of(capsys, 0, "--seed", "1"), "nothing was spoken"
    assert note not in stderr_of(capsys, 0, "--seed", "1", "--subtitles", kind)
    assert "Another line, the first." in Path(f"out/a.{kind}").read_text()


def test_subtitles_of_another_kind_are_reported(capsys: pytest.CaptureFixture[str]) -> None:
    takes = ("--seed", "1", "--takes", "2")
    stderr_of(capsys, 0, *takes, "--subtitles", "srt")
    write_lines(a={"text": "Another line, the first."}, b={"text": "Another line, the second."})
    text = stderr_of(capsys, 0, *takes, "--subtitles", "vtt")
    assert "4 subtitle files show earlier speech, the first is out/" in text
    assert "add --subtitles srt to write it again" in text
    assert "shows earlier speech" not in stderr_of(capsys, 0, *takes, "--force", "--subtitles", "vtt")


@pytest.mark.skipif(os.name == "nt", reason="sends a POSIX signal")
def test_files_that_landed_as_a_run_was_killed_are_spoken_over(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(faults.VARIABLE, "note:sigkill:2")
    killed = subprocess.run([sys.executable, "-m", "voxcli", *COMMAND], stderr=subprocess.DEVNULL, check=False)
    monkeypatch.delenv(faults.VARIABLE)
    assert killed.returncode == -signal.SIGKILL
    assert len(sounds()) == 2 and len(RESULTS.read_text().splitlines()) == 1
    assert "1 line done before and unchanged, 2 to speak (2 new)" in stderr_of(capsys, 0, "--dry-run") + stderr_of(
        capsys, 0
    )
    check_kept(capsys, sounds())


def test_files_that_landed_as_the_disk_was_full_are_spoken_over(capsys: pytest.CaptureFixture[str]) -> None:
    faults.arm("note:enospc")
    stderr_of(capsys, 1)
    faults.arm("")
    assert len(sounds()) == len(RESULTS.read_text().splitlines()) + 1
    stderr_of(capsys, 0)
    check_kept(capsys, sounds())


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX rights")
def test_a_file_that_can_not_be_read_is_not_spoken_over(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(COMMAND) == 0
    before, log = sounds(), RESULTS.read_bytes()

    def denied(path: Path) -> str:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr("voxcli.run.resume.content_digest", denied)
        *_, line = stderr_of(capsys, 1).splitlines()
    assert line.startswith("voxcpm2: can't read the existing file out/") and "Permission denied" in line
    assert (sounds(), RESULTS.read_bytes()) == (before, log)
    check_kept(capsys, before)
