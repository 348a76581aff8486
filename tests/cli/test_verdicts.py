"""Verdicts hold for the audio that was heard; what does not count is reported."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.check.stub import use_stub
from voxcli import faults
from voxcli.cli.main import run

COMMAND = ["batch", "lines.jsonl", "-o", "out", "--takes", "2", "--allow-truncated", "--steps", "2"]
COMMAND += ["--max-seconds", "0.6"]
APPROVED = {"verdict": "approved", "take": 2}
Results = dict[int, dict[str, Any]]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tiny_checkpoint: Path) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VOXCPM2_MODEL", str(tiny_checkpoint))
    use_stub(monkeypatch)
    write("Good night.")
    yield
    faults.arm("")


def write(text: str) -> None:
    Path("lines.jsonl").write_text(json.dumps({"id": "b", "text": text}) + "\n")


def batch(capsys: pytest.CaptureFixture[str], *options: str, code: int = 0, **verdict: Any) -> str:
    if verdict:
        Path("review.json").write_text(json.dumps({"version": 1, "lines": {"b": verdict}}))
        options = (*options, "--review", "review.json")
    capsys.readouterr()
    assert run([*COMMAND, *options]) == code
    return capsys.readouterr().err


def results() -> Results:
    """The last result of each take that has a file."""
    lines = map(json.loads, Path("out/results.jsonl").read_text().splitlines())
    return {line["take"]: line for line in lines if line["status"] != "failed"}


def verdict_of(take: int) -> str | None:
    found: str | None = results()[take].get("review", {}).get("verdict")
    return found


STALE = (
    "voxcpm2: verdicts on takes that were spoken again since do not count: line 1 (b, take 2); "
    "listen to them and save the review again from the report\n"
)
REPLACED = (
    "voxcpm2: 1 approved take spoken again, to be judged again: line 1 (b, take 2) ({}); "
    "with --review, approved takes stay\n"
)


def test_an_old_review_does_not_approve_other_words(capsys: pytest.CaptureFixture[str]) -> None:
    batch(capsys)
    heard = results()[2]
    assert STALE not in batch(capsys, **APPROVED)
    assert verdict_of(2) == "approved"
    write("Buy cheap shoes.")
    assert REPLACED.format("text changed") in batch(capsys)
    assert results()[2]["seed"] == heard["seed"] and verdict_of(2) is None
    for _ in range(2):
        assert STALE in batch(capsys, **APPROVED)
        assert verdict_of(2) is None
    now = results()[2]["sha256"]
    assert STALE in batch(capsys, **APPROVED, sha256=[heard["sha256"][:16]])
    assert verdict_of(2) is None
    assert STALE not in batch(capsys, **APPROVED, sha256=[now[:16]])
    assert verdict_of(2) == "approved"
    write("Good night.")
    batch(capsys)
    assert results()[2]["sha256"] == heard["sha256"], "the audio that was heard is there again"
    assert STALE not in batch(capsys, **APPROVED, sha256=[heard["sha256"]])
    assert verdict_of(2) == "approved"


def test_a_review_with_digests_that_was_never_applied_judges_only_what_was_heard(
    capsys: pytest.CaptureFixture[str],
) -> None:
    batch(capsys)
    heard = results()[2]
    write("Buy cheap shoes.")
    batch(capsys)
    assert STALE in batch(capsys, **APPROVED, sha256=[heard["sha256"]])
    rejected = {"verdict": "rejected", "take": 2, "seeds": [heard["seed"]], "sha256": [heard["sha256"]]}
    error = batch(capsys, **rejected)
    assert STALE in error and "2 takes done before and unchanged, 0 to speak" in error


@pytest.mark.parametrize("option", ["--force", "--retry-failed"])
def test_an_approved_take_is_never_replaced_silently(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    batch(capsys)
    batch(capsys, **APPROVED)
    reason = "--force"
    if option == "--retry-failed":
        reason = "failed before"
        Path("out/b.take2.wav").unlink()
        write("Other words.")
        error = batch(capsys, code=1, **APPROVED)
        assert "put the file back, or reject the take" in error
        assert "next:" not in error, "speaking it again can't help"
    assert REPLACED.format(reason) in batch(capsys, option)
    assert STALE in batch(capsys, **APPROVED)


def test_a_lost_file_that_comes_back_the_same_stays_approved(capsys: pytest.CaptureFixture[str]) -> None:
    batch(capsys)
    batch(capsys, **APPROVED)
    before = results()[2]["sha256"]
    Path("out/b.take2.wav").unlink()
    assert "judged again" not in batch(capsys)
    assert (results()[2]["sha256"], verdict_of(2)) == (before, "approved")


def test_a_verdict_on_a_take_that_does_not_exist_leaves_the_earlier_one(capsys: pytest.CaptureFixture[str]) -> None:
    batch(capsys)
    batch(capsys, **APPROVED)
    for verdict in ("approved", "rejected"):
        error = batch(capsys, verdict=verdict, take=9)
        assert "voxcpm2: verdicts on takes that out does not contain do not count: line 1 (b, take 9)\n" in error
        assert verdict_of(2) == "approved"


def test_a_take_is_rejected_by_its_number_once(capsys: pytest.CaptureFixture[str]) -> None:
    batch(capsys)
    first = results()
    rejected = {"verdict": "rejected", "take": 2}
    assert "1 to speak (1 rejected)" in batch(capsys, **rejected)
    second = results()
    assert second[1]["seed"] == first[1]["seed"] and second[2]["seed"] != first[2]["seed"]
    assert second[2]["review"]["seeds"] == [first[2]["seed"]]
    error = batch(capsys, **rejected)
    assert STALE in error and "0 to speak" in error
    batch(capsys, **APPROVED)
    assert verdict_of(2) == "approved", "another verdict is about what is there now"


def test_an_old_rejection_does_not_take_back_the_approval_of_what_came_after_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    batch(capsys)
    rejected = {"verdict": "rejected", "take": 2, "seeds": [results()[2]["seed"]]}
    batch(capsys, **rejected)
    assert STALE not in batch(capsys, **rejected), "the same command again"
    batch(capsys, **APPROVED)
    assert STALE in batch(capsys, **rejected)
    assert verdict_of(2) == "approved"


def test_a_line_with_an_approved_take_is_done(capsys: pytest.CaptureFixture[str]) -> None:
    checked = ["--check", "--check-retries", "0", "--max-wer", "0"]
    assert "add --retry-failed to speak 2 doubtful takes again" in batch(capsys, *checked, code=1)
    for options in ([], ["--retry-failed"]):
        error = batch(capsys, *checked, *options, **APPROVED)
        assert "2 takes done before and unchanged, 0 to speak" in error
        assert "doubtful" not in error and "next:" not in error
    for options in ([], ["--retry-failed"]):
        error = batch(capsys, *checked, *options)
        assert "0 to speak" in error and "next:" not in error, "also in later runs without the review"


def test_no_retry_is_recommended_for_a_line_that_can_not_be_spoken(capsys: pytest.CaptureFixture[str]) -> None:
    write("")
    assert "next:" not in batch(capsys, code=1)
