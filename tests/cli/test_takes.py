"""Takes and reviews from the command line: a director's day, killed and resumed, alone and with workers."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import soundfile

from tests import children
from voxcli import faults
from voxcli.cli.main import run

pytestmark = pytest.mark.skipif(os.name == "nt", reason="sends a POSIX signal")

LINES = ("a", "b", "c", "d", "e", "f", "g", "h")
TAKES = 3
COMMAND = ["batch", "lines.jsonl", "-o", "out", "--takes", "3", "--allow-truncated", "--steps", "2"]
COMMAND += ["--max-seconds", "0.6"]
APPROVED = {"a": 1, "b": 2, "c": 3, "d": 1, "e": 1}
REJECTED = {"f": 2, "g": 1}
NOTE = "too fast,\nand the name is wrong"
Results = dict[tuple[str, int], dict[str, Any]]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tiny_checkpoint: Path, repository: Path) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VOXCPM2_MODEL", str(tiny_checkpoint))
    monkeypatch.setenv("PYTHONPATH", str(repository))
    write_lines()
    yield
    faults.arm("")


def write_lines(**changes: dict[str, Any]) -> None:
    rows = [{"id": name, "text": f"This is line {name}."} | changes.get(name, {}) for name in LINES]
    Path("lines.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def results() -> Results:
    """Read results as a simple tool does: the last line of each take."""
    lines = map(json.loads, Path("out/results.jsonl").read_text().splitlines())
    return {(line["id"], line.get("take", 1)): line for line in lines}


def sounds() -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in Path("out").glob("*.wav")}


def file_of(name: str, take: int) -> str:
    return f"{name}.wav" if take == 1 else f"{name}.take{take}.wav"


def write_review(found: Results, **more: dict[str, Any]) -> None:
    lines: dict[str, Any] = {name: {"verdict": "approved", "take": take} for name, take in APPROVED.items()}
    for name, take in REJECTED.items():
        seeds = [found[name, take]["seed"]]
        lines[name] = {"verdict": "rejected", "take": take, "seeds": seeds, "note": NOTE}
    Path("review.json").write_text(json.dumps({"version": 1, "lines": lines | more}))


def changed(before: dict[str, str]) -> set[str]:
    return {name for name, digest in sounds().items() if before.get(name) != digest}


def ok(capsys: pytest.CaptureFixture[str], *options: str, command: Sequence[str] = COMMAND, code: int = 0) -> str:
    capsys.readouterr()
    assert run([*command, *options]) == code
    err = capsys.readouterr().err
    assert "Traceback" not in err and "unexpected" not in err
    return err


def killed(fault: str, *options: str) -> None:
    """Run the command in a process of its own that a fault kills."""
    environment = os.environ | {faults.VARIABLE: fault}
    ended = children.finished([*children.VOXCPM2, *COMMAND, *options], env=environment, stderr=subprocess.PIPE)
    assert ended.returncode == -signal.SIGKILL, ended.stderr


def check_day(before: dict[str, str], first: Results) -> None:
    """Exactly the rejected takes were spoken again, with other seeds; notes and seeds are recorded."""
    now = results()
    assert changed(before) == {file_of(name, take) for name, take in REJECTED.items()}
    assert sounds().keys() == before.keys() and now.keys() == first.keys()
    for (name, take), result in now.items():
        old = first[name, take]["seed"]
        if REJECTED.get(name) == take:
            assert result["seed"] != old and "verdict" not in result["review"]
        else:
            assert result["seed"] == old
        if name in REJECTED:
            assert result["review"]["seeds"] == [first[name, REJECTED[name]]["seed"]]
            assert result["review"]["note"] == NOTE
        elif name in APPROVED:
            assert result.get("review") == ({"verdict": "approved"} if APPROVED[name] == take else None)
        else:
            assert "review" not in result


def test_takes_have_their_own_files_and_seeds(capsys: pytest.CaptureFixture[str]) -> None:
    assert "24 of 24 takes done, 0 failed" in ok(capsys)
    found = results()
    assert found.keys() == {(name, take) for name in LINES for take in (1, 2, 3)}
    assert {result["out"] for result in found.values()} == sounds().keys()
    assert all(found[name, take]["out"] == file_of(name, take) for name, take in found)
    assert len({result["seed"] for result in found.values()}) == len(set(sounds().values())) == 24
    before = sounds()
    assert "voxcpm2: 24 takes done before and unchanged, 0 to speak\n" in ok(capsys)
    assert sounds() == before


def test_a_director_s_day(capsys: pytest.CaptureFixture[str]) -> None:
    ok(capsys)
    before, first = sounds(), results()
    write_review(first)
    err = ok(capsys, "--review", "review.json")
    assert "22 takes done before and unchanged, 2 to speak (2 rejected)" in err
    check_day(before, first)
    after = sounds()
    assert "24 takes done before and unchanged, 0 to speak\n" in ok(capsys, "--review", "review.json")
    assert "24 takes done before and unchanged, 0 to speak\n" in ok(capsys)
    assert sounds() == after


@pytest.mark.parametrize("options", [["--review", "review.json"], []], ids=["with the review", "without it"])
@pytest.mark.parametrize("fault", ["write:sigkill:1", "write:sigkill:2", "load:sigkill"])
def test_a_director_s_day_that_is_killed(fault: str, options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """The verdicts are recorded before the first line is spoken, so the command goes on without the review as well."""
    ok(capsys)
    before, first = sounds(), results()
    write_review(first)
    Path("alone.yaml").write_text("engine: {max_batch: 1}")
    killed(fault, "--review", "review.json", "--preset", "alone.yaml")
    done = int(fault.rpartition(":")[2]) - 1 if fault[-1].isdigit() else 0
    assert len(changed(before)) == done
    assert f"{22 + done} takes done before and unchanged, {2 - done} to speak" in ok(capsys, *options)
    check_day(before, first)


def test_a_deleted_file_of_a_rejected_take_does_not_come_back(capsys: pytest.CaptureFixture[str]) -> None:
    ok(capsys)
    before, first = sounds(), results()
    write_review(first)
    for name, take in {**REJECTED, "h": 3}.items():
        Path("out", file_of(name, take)).unlink()
    assert "(2 rejected, 1 file missing)" in ok(capsys, "--review", "review.json")
    check_day(before, first)  # the undecided take h came back as it was

    second = results()
    Path("out", file_of("f", 2)).unlink()
    assert "(1 file missing)" in ok(capsys)
    assert results()["f", 2]["seed"] == second["f", 2]["seed"] != first["f", 2]["seed"]


def test_a_second_round_avoids_the_seeds_of_both(capsys: pytest.CaptureFixture[str]) -> None:
    """The page of the second round does not know the seeds of the first."""
    ok(capsys)
    first = results()
    write_review(first)
    ok(capsys, "--review", "review.json")
    second = results()
    write_review(second)
    ok(capsys, "--review", "review.json")
    third = results()
    for name, take in REJECTED.items():
        seeds = [found[name, take]["seed"] for found in (first, second, third)]
        assert len(set(seeds)) == 3
        assert sorted(third[name, 3]["review"]["seeds"]) == sorted(seeds[:2]), "all takes of the line know them"


def test_approved_lines_stay_whatever_changes(capsys: pytest.CaptureFixture[str]) -> None:
    ok(capsys)
    before, first = sounds(), results()
    write_review(first)
    write_lines(
        a={"text": "Other words."}, b={"text": ""}, c={"out": "other.wav"}, d={"text": "***"}, h={"text": "Hm."}
    )
    err = ok(capsys, "--review", "review.json", "--force", "--steps", "3", "--join", "book.wav")
    assert (
        "voxcpm2: 2 approved lines kept unchanged: "
        "line 2 (b, take 1) (can't be spoken any more), line 4 (d, take 1) (has no words any more)\n"
    ) in err
    (kept,) = [line for line in err.splitlines() if "3 approved lines kept" in line]
    assert all(
        f"line {what}" in kept for what in ("1 (a, take 1) (text", "3 (c, take 3) (settings", "5 (e, take 1) (settings")
    )
    assert changed(before) == {file_of(name, take) for name in "fgh" for take in (1, 2, 3)}
    now = results()
    assert all(now[key] == first[key] | reviewed(key) for key in first if key[0] in APPROVED)
    lengths = [soundfile.info(Path("out", file_of(name, APPROVED.get(name, 1)))).duration for name in LINES]
    assert soundfile.info("book.wav").duration == pytest.approx(sum(lengths) + 0.5 * 7, abs=0.01)

    write_lines()
    text = ok(capsys, "--retry-failed", "--review", "review.json")
    assert "0 to speak" in text and results() == now


def reviewed(key: tuple[str, int]) -> dict[str, Any]:
    return {"review": {"verdict": "approved"}} if APPROVED.get(key[0]) == key[1] else {}


def test_an_approved_file_is_not_that_of_another_line(capsys: pytest.CaptureFixture[str]) -> None:
    ok(capsys)
    before = sounds()
    write_review(results())
    write_lines(a={"out": "h.wav"}, h={"out": "a.wav"})
    for options in ([], ["--dry-run"]):
        *_, line = ok(capsys, "--review", "review.json", *options, code=1).splitlines()
        assert line == (
            "voxcpm2: out/a.wav, the output of line 8 (h, take 1), is the approved take of line 1 (a, take 1): "
            "name another file"
        )
    assert sounds() == before


def test_an_approved_file_that_is_lost_comes_back_or_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    ok(capsys)
    before, first = sounds(), results()
    write_review(first)
    for name in ("b", "a"):
        Path("out", file_of(name, APPROVED[name])).unlink()
    Path("out/c.wav").unlink()  # another take than the approved one
    write_lines(a={"text": "Other words."})
    err = ok(capsys, "--review", "review.json", code=1)
    assert (
        "voxcpm2: line 1 (a, take 1): it is approved, its file is missing and its text changed: "
        "put the file back, or reject the take\n"
    ) in err
    assert "to speak (2 rejected, 1 file missing)" in err
    there = sounds()
    assert there[file_of("b", 2)] == before[file_of("b", 2)]
    assert results()["b", 2]["review"] == {"verdict": "approved"}
    assert {"c.wav", "a.wav"} & there.keys() == set()


def test_the_approved_take_is_joined(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["batch", "two.txt", "-o", "out", "--takes", "2", "--allow-truncated", "--steps", "2"]
    Path("two.txt").write_text("A short one.\nAnd another.\n")
    products = ["--join", "book.wav", "--subtitles", "srt", "--report", "page.html"]
    ok(capsys, "--max-seconds", "0.6", command=command)
    write = {"00001": {"verdict": "approved", "take": 2}, "00002": {"verdict": "rejected", "take": 1, "seeds": []}}
    write["00002"]["seeds"] = [results()["00002", 1]["seed"]]
    Path("review.json").write_text(json.dumps({"version": 1, "lines": write}))
    Path("out/00001.take2.wav").write_bytes(b"")
    soundfile.write("out/00001.take2.wav", [0.1] * 32_000, 16_000)  # edited by hand: two seconds
    options = [*products, "--max-seconds", "0.6", "--review", "review.json", "--except", "00002"]
    err = ok(capsys, *options, command=command)
    assert "1 approved line kept unchanged: line 1 (00001, take 2) (file changed)" in err
    assert "contains" not in err, "the other take of line 2 is used"
    second = soundfile.info("out/00002.take2.wav").duration
    assert soundfile.info("book.wav").duration == pytest.approx(2 + 0.5 + second, abs=0.01)
    assert {path.name for path in Path("out").glob("*.srt")} == {
        "00001.srt",
        "00001.take2.srt",
        "00002.srt",
        "00002.take2.srt",
    }
    page = Path("page.html").read_text()
    assert all(f"out/{name}" in page for name in sounds())


def test_the_number_of_takes_may_change(capsys: pytest.CaptureFixture[str]) -> None:
    def takes(count: int, *options: str) -> str:
        command = [*COMMAND[: COMMAND.index("--takes")], *COMMAND[COMMAND.index("--takes") + 2 :]]
        return ok(capsys, *(["--takes", str(count)] if count else []), *options, command=command)

    takes(0)
    one = sounds()
    assert one.keys() == {f"{name}.wav" for name in LINES}
    assert all("take" not in result for result in results().values())
    assert "8 takes done before and unchanged, 8 to speak (8 new)" in takes(2)
    assert "16 takes done before and unchanged, 8 to speak (8 new)" in takes(3)
    three = sounds()
    assert one.items() <= three.items()
    log = results()
    assert "8 lines done before and unchanged, 0 to speak" in takes(1)
    assert sounds() == three and results() == log, "further takes and their results stay"
    review = {"version": 1, "lines": {"a": {"verdict": "approved", "take": 3}}}
    Path("review.json").write_text(json.dumps(review))
    takes(1, "--review", "review.json")
    Path("out/a.take3.wav").write_bytes(Path("out/a.wav").read_bytes() + b"\0\0")
    assert "kept unchanged: line 1 (a, take 3) (file changed)" in takes(1, "--review", "review.json")


def test_takes_of_a_line_with_a_seed_have_derived_ones(capsys: pytest.CaptureFixture[str]) -> None:
    write_lines(**{name: {"seed": 7} for name in LINES})
    ok(capsys)
    first, before = results(), sounds()
    assert {found["seed"] for (_, take), found in first.items() if take == 1} == {7}
    assert len({found["seed"] for found in first.values()}) == 3, "the same of each take"
    write_review(first)
    ok(capsys, "--review", "review.json")
    check_day(before, first)
    again = {key: found["seed"] for key, found in results().items()}
    for path in Path("out").iterdir():
        path.unlink()
    ok(capsys)
    write_review(results())
    ok(capsys, "--review", "review.json")
    assert {key: found["seed"] for key, found in results().items()} == again, "no chance is involved"


def test_lines_are_selected_by_id(capsys: pytest.CaptureFixture[str]) -> None:
    assert "3 takes done" not in ok(capsys, "--only", "a,H")
    assert {name for name, _ in results()} == {"a", "h"}
    before = sounds()
    assert "6 takes done before and unchanged, 3 to speak (3 new), 15 left for a run without --only" in ok(
        capsys, "--only", "a", "--only", "b"
    )
    assert "9 takes done before and unchanged, 3 to speak (3 --force), 12 left" not in ok(
        capsys, "--except", ",".join("bcdefgh"), "--force"
    )
    assert changed(before) == {file_of(name, take) for name in "ab" for take in (1, 2, 3)}


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--only", "aa", "--only: no line has the id 'aa'; did you mean 'a'?"),
        ("--only", "x1,x2,x3,x4,x5,a", "--only: no line has the id 'x1', 'x2', 'x3' and 2 others"),
        ("--except", "x1,9", "--except: no line has the id 'x1', '9'"),
        ("--only", ",", "--only names no line: give ids, separated by commas"),
        ("--takes", "0", "--takes must be a whole number from 1 to 99, not '0'"),
    ],
)
def test_what_does_not_exist_is_one_message(
    option: str, value: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ok(capsys, option, value, code=2).splitlines()[-1] == f"voxcpm2: {message}"
    assert not Path("out").exists()


def test_a_failed_take_leaves_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    faults.arm("write:enospc:2")
    err = ok(capsys, "--join", "book.wav", code=1)
    faults.arm("")
    (failed,) = [key for key, result in results().items() if result["status"] == "failed"]
    assert f"take {failed[1]})" in err and "23 of 24 takes done, 1 failed" in err
    assert Path("book.wav").exists(), "its line has other takes"
    assert "23 takes done before and unchanged, 1 to speak (1 failed before)" in ok(capsys, "--retry-failed")
    assert len(sounds()) == 24


def test_takes_never_share_a_file_with_another_line(capsys: pytest.CaptureFixture[str]) -> None:
    write_lines(b={"out": "a.take2.wav"}, c={"id": "A.take3"})
    capsys.readouterr()
    assert run(COMMAND) == 2
    lines = capsys.readouterr().err.splitlines()
    assert lines[1:] == [
        "  line 2: output 'a.take2.wav' is already that of line 1",
        "  line 3: output 'A.take3.wav' is already that of line 1",
    ]
    write_lines()
    Path("out/b.take3.wav").mkdir(parents=True)
    assert "line 2: output 'b.take3.wav' is an existing folder: name a file" in ok(capsys, code=2)


@pytest.mark.slow
def test_two_workers_make_a_director_s_day(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("ray", reason="needs the extra `ray`")
    workers = ["--workers", "2", "--max-batch", "2"]
    finished = children.finished([*children.VOXCPM2, *COMMAND, *workers], stderr=subprocess.PIPE, timeout=300)
    assert finished.returncode == 0 and "24 of 24 takes done, 0 failed" in finished.stderr, finished.stderr
    before, first = sounds(), results()
    assert len({result["seed"] for result in first.values()}) == 24
    write_review(first)
    killed("note:sigkill:10", *workers, "--review", "review.json")
    done = len(changed(before))
    finished = children.finished(
        [*children.VOXCPM2, *COMMAND, *workers, "--review", "review.json"], stderr=subprocess.PIPE, timeout=300
    )
    assert f"{22 + done} takes done before and unchanged, {2 - done} to speak" in finished.stderr, finished.stderr
    check_day(before, first)
