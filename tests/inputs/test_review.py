"""review.json, as the report page saves it and as people edit it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from voxcli.errors import InputError
from voxcli.inputs.review import read_review
from voxcli.jobs.job import Job
from voxcli.jobs.verdicts import LineVerdict

JOBS = [Job(name, "Hello.", Path("a.wav")) for name in ("fog", "Welcome")]


def write(folder: Path, content: object) -> Path:
    path = folder / "review.json"
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return path


def lines(**verdicts: Any) -> dict[str, Any]:
    return {"version": 1, "lines": verdicts}


def test_verdicts_are_found_by_id_in_any_case(tmp_path: Path) -> None:
    rejected = {"verdict": "rejected", "take": 2, "seeds": [7, 2**62], "note": "too fast\n"}
    path = write(tmp_path, lines(FOG=rejected, Welcome={"verdict": "approved", "take": 1, "text": "of the page"}))
    verdicts, notes = read_review(path, JOBS)
    assert verdicts == {
        "fog": LineVerdict("rejected", 2, (7, 2**62), "too fast\n"),
        "welcome": LineVerdict("approved", 1),
    }
    assert notes == []
    assert read_review(write(tmp_path, b"\xef\xbb\xbf" + path.read_bytes()), JOBS) == (verdicts, notes)
    assert read_review(write(tmp_path, lines()), JOBS) == ({}, [])
    only_a_note = write(tmp_path, lines(fog={"verdict": None, "note": "hm"}))
    assert read_review(only_a_note, JOBS) == ({"fog": LineVerdict(note="hm")}, [])


FOREIGN = {
    "nothing": (b"", "Invalid JSON"),
    "no JSON": (b"verdict: approved", "Invalid JSON"),
    "a part": (json.dumps(lines(fog={"verdict": "approved"})).encode()[:-9], "Invalid JSON"),
    "half of a surrogate pair": (b'{"version": 1, "lines": {"fog": {"note": "\\ud800"}}}', "Invalid JSON"),
    "nested too deeply": (b"[" * 100_000, "Invalid JSON"),
    "a list": ([1], "Input should be an object"),
    "of another version": ({"version": 2, "lines": {}}, "version: Input should be 1"),
    "results": ({"id": "fog", "out": "fog.wav"}, "version: Field required"),
    "another verdict": (lines(fog={"verdict": "good"}), "lines.fog.verdict: Input should be 'approved' or 'rejected'"),
    "a verdict alone": (lines(fog="approved"), "lines.fog: Input should be an object"),
    "take -1": (lines(fog={"take": -1}), "lines.fog.take: Input should be greater than or equal to 1"),
    "take 0": (
        lines(fog={"verdict": "approved", "take": 0}),
        "lines.fog.take: Input should be greater than or equal to 1",
    ),
    "no digest": (lines(fog={"sha256": ["xyz"]}), "lines.fog.sha256.0: String should match pattern"),
    "seeds in words": (lines(fog={"seeds": ["7"]}), "lines.fog.seeds.0: Input should be a valid integer"),
    "a seed below 0": (lines(fog={"seeds": [-1]}), "lines.fog.seeds.0: Input should be greater than or equal to 0"),
    "a seed too large": (lines(fog={"seeds": [2**63]}), "lines.fog.seeds.0: Input should be less than"),
    "a note of numbers": (lines(fog={"note": 7}), "lines.fog.note: Input should be a valid string"),
}


@pytest.mark.parametrize("what", FOREIGN)
def test_a_file_that_is_no_review_is_refused_in_one_line(what: str, tmp_path: Path) -> None:
    content, reason = FOREIGN[what]
    path = write(tmp_path, content)
    with pytest.raises(InputError) as caught:
        read_review(path, JOBS)
    message = str(caught.value)
    assert message.startswith(f"{path} is no review that can be used: {reason}"), message
    assert message.endswith("; save it again from the report") and "\n" not in message


def test_a_file_that_can_not_be_read_is_refused(tmp_path: Path) -> None:
    for path, reason in ((tmp_path / "no.json", "No such file or directory"), (tmp_path, "Is a directory")):
        with pytest.raises(InputError) as caught:
            read_review(path, JOBS)
        assert str(caught.value) == f"can't read the review {path}: {reason}"


def test_lines_that_the_manifest_lacks_are_reported_once(tmp_path: Path) -> None:
    approved = {"verdict": "approved", "take": 1}
    path = write(tmp_path, lines(fog=approved, welcom=approved))
    verdicts, notes = read_review(path, JOBS)
    assert verdicts == {"fog": LineVerdict("approved", 1)}
    assert notes == [f"{path}: 1 line not in the manifest: no line has the id 'welcom'; did you mean 'Welcome'?"]
    path = write(tmp_path, lines(**{f"x{n}": approved for n in range(5)}))
    with pytest.raises(InputError) as caught:
        read_review(path, JOBS)
    assert str(caught.value) == f"{path} is a review of other lines: no line has the id 'x0', 'x1', 'x2' and 2 others"


TWICE = {
    "id": (b'{"version": 1, "lines": {"fog": {"verdict": "approved"}, "fog": {"verdict": "rejected"}}}', "'fog'"),
    "id in other case": (b'{"version": 1, "lines": {"fog": {"take": 1}, "FOG": {"take": 2}}}', "'FOG'"),
    "verdict": (b'{"version": 1, "lines": {"fog": {"verdict": "approved", "verdict": null}}}', "'verdict'"),
    "lines": (b'{"version": 1, "lines": {"fog": {"take": 1}}, "lines": {}}', "'lines'"),
}


@pytest.mark.parametrize("what", TWICE)
def test_a_name_that_occurs_twice_is_refused(what: str, tmp_path: Path) -> None:
    content, name = TWICE[what]
    path = write(tmp_path, content)
    with pytest.raises(InputError) as caught:
        read_review(path, JOBS)
    assert str(caught.value) == f"{path} contains {name} twice: keep one of them"


def test_digests_of_the_files_that_were_heard_are_read(tmp_path: Path) -> None:
    path = write(tmp_path, lines(fog={"verdict": "approved", "take": 2, "sha256": ["0123456789abcdef"]}))
    assert read_review(path, JOBS)[0] == {"fog": LineVerdict("approved", 2, sha256=("0123456789abcdef",))}


def test_a_rejection_without_take_or_seeds_rejects_nothing_and_is_reported(tmp_path: Path) -> None:
    path = write(tmp_path, lines(fog={"verdict": "rejected"}))
    assert read_review(path, JOBS) == (
        {"fog": LineVerdict("rejected")},
        [
            f"{path}: 1 line rejected without `take` or `seeds`, the first is fog: "
            "name the rejected take, so that it is spoken again"
        ],
    )
