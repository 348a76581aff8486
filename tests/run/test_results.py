from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from voxcli.errors import AudioError, OutputError
from voxcli.jobs.job import Job
from voxcli.jobs.result import Cue, Result, failure, shown_path
from voxcli.run.results import ResultLog, read_results

FIELDS = ["id", "out", "text", "status", "duration_s", "wall_s", "rtf", "patches", "stop_reason", "seed", "attempts"]
FIELDS += ["sample_rate", "voice_notes", "warnings", "sha256", "fingerprint", "finished", "cues", "error"]


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


@pytest.mark.parametrize("torn", ['{"id": "to', "\0\0\0\0", '{"id": "a"', "7", "\x80"])
def test_a_second_run_appends_and_drops_what_a_crash_tore(tmp_path: Path, torn: str) -> None:
    (tmp_path / "results.jsonl").write_bytes(b'{"id": "whole"}\n' + torn.encode("latin-1"))
    with ResultLog(tmp_path) as log:
        log.append(Result("new", "a.wav", "a", "failed", error="x"))
        lines = (tmp_path / "results.jsonl").read_text().splitlines()
        assert [json.loads(line)["id"] for line in lines] == ["whole", "new"]


def test_a_file_of_nothing_but_a_torn_line_is_written_on(tmp_path: Path) -> None:
    (tmp_path / "results.jsonl").write_text('{"id')
    with ResultLog(tmp_path) as log:
        log.append(Result("new", "a.wav", "a", "failed", error="x"))
    assert list(read_results(tmp_path)) == ["new"]


def test_lines_overtaken_by_later_ones_are_dropped_at_the_end_and_seen_until_then(tmp_path: Path) -> None:
    with ResultLog(tmp_path) as log:
        log.append(Result("a", "a.wav", "a", "failed", error="x"))
        log.append(Result("b", "b.wav", "b", "ok"))
        log.append(Result("a", "a.wav", "a", "ok"))
        assert len((tmp_path / "results.jsonl").read_text().splitlines()) == 3
        assert {name: result.ok for name, result in read_results(tmp_path).items()} == {"a": True, "b": True}
    lines = [json.loads(line) for line in (tmp_path / "results.jsonl").read_text().splitlines()]
    assert [(line["id"], line["status"]) for line in lines] == [("b", "ok"), ("a", "ok")]


def test_a_result_is_read_as_it_was_written(tmp_path: Path) -> None:
    result = Result("a", "a.wav", "a", "ok", 1.6, 0.8, 0.5, 10, "stop", 7, 1, 48_000)
    result = replace(result, warnings=("cut off",), sha256="ab", fingerprint={"seed": None}, cues=(Cue(0.0, 1.6, "a"),))
    with ResultLog(tmp_path) as log:
        log.append(result)
    assert read_results(tmp_path) == {"a": result}


def test_what_another_version_wrote_is_no_result_but_stays(tmp_path: Path) -> None:
    (tmp_path / "results.jsonl").write_text('{"id": "old", "path": "a.wav"}\n{"name": "other"}\n[]\n')
    assert read_results(tmp_path) == {}
    with ResultLog(tmp_path):
        pass
    assert (tmp_path / "results.jsonl").read_text() == '{"id": "old", "path": "a.wav"}\n{"name": "other"}\n'


def test_where_no_run_has_been_there_are_no_results(tmp_path: Path) -> None:
    assert read_results(tmp_path) == {}


def test_a_log_that_can_not_be_written_is_an_output_error(tmp_path: Path) -> None:
    (tmp_path / "results.jsonl").mkdir()
    with pytest.raises(OutputError, match=r"can't read .*results\.jsonl: Is a directory"), ResultLog(tmp_path):
        pass


@pytest.mark.parametrize("how", ["removed", "replaced", "its folder moved"])
def test_results_that_nobody_will_find_are_an_error(tmp_path: Path, how: str) -> None:
    """As when a file system is unmounted in mid-run: else a run would end well, and leave nothing."""
    folder = tmp_path / "out"
    folder.mkdir()
    path = folder / "results.jsonl"
    with pytest.raises(OutputError, match=r"results\.jsonl was taken away or replaced while"), ResultLog(folder) as log:
        log.append(Result("a", "a.wav", "a", "ok"))
        if how == "its folder moved":
            folder.rename(tmp_path / "elsewhere")
        else:
            path.unlink()
        if how == "replaced":
            path.touch()
        log.append(Result("b", "b.wav", "b", "ok"))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
def test_results_that_are_a_pipe_are_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "results.jsonl")
    with pytest.raises(OutputError, match=r"can't read .*results\.jsonl: not a regular file"), ResultLog(tmp_path):
        pass


def test_results_are_written_through_no_link(tmp_path: Path) -> None:
    outside, folder = tmp_path / "outside.jsonl", tmp_path / "out"
    outside.write_text("mine\n")
    folder.mkdir()
    (folder / "results.jsonl").symlink_to(outside)
    with pytest.raises(OutputError, match="is a link"), ResultLog(folder):
        pass
    assert outside.read_text() == "mine\n"


def test_a_failure_keeps_the_error_and_its_exit_code(tmp_path: Path) -> None:
    outcome = failure(Job("a", "Hello.", tmp_path / "a.wav"), AudioError("voice.wav: empty"), tmp_path)
    assert outcome.result == Result("a", "a.wav", "Hello.", "failed", error="voice.wav: empty")
    assert not outcome.result.ok
    assert outcome.error is not None
    assert outcome.error.exit_code == 2


def test_paths_are_told_from_the_folder_of_the_results() -> None:
    assert shown_path(Path("out/sub/a.wav"), Path("out")) == "sub/a.wav"
    assert shown_path(Path("elsewhere/a.wav"), Path("out")) == str(Path("elsewhere/a.wav"))


@pytest.mark.parametrize(
    "wrong",
    [
        {"duration_s": "x"},
        {"duration_s": float("inf")},
        {"wall_s": float("nan")},
        {"rtf": True},
        {"seed": 1.5},
        {"seed": -1},
        {"seed": "abc"},
        {"seed": 2**63},
        {"patches": 1.5},
        {"cues": [["0", "1", "a"]]},
        {"cues": [[0, float("inf"), "a"]]},
        {"cues": [[0, 1, 2]]},
        {"cues": [[0, 1, "half a \ud83d"]]},
        {"cues": 7},
        {"id": 7},
        {"text": "\udc00"},
        {"id": []},
        {"out": None},
        {"status": "done"},
        {"status": []},
        {"fingerprint": "ab"},
        {"warnings": [1]},
        {"finished": "yesterday"},
        {"finished": 7},
    ],
)
def test_a_line_with_fields_of_another_kind_is_as_if_it_had_not_been(tmp_path: Path, wrong: dict[str, Any]) -> None:
    right = {
        "id": "a",
        "out": "a.wav",
        "text": "a",
        "status": "ok",
        "duration_s": 1,
        "seed": 2,
        "cues": [[0, 1.5, "a"]],
    }
    lines = [right, right | {"id": "b"}, right | wrong]
    (tmp_path / "results.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    kept = Result("a", "a.wav", "a", "ok", 1, seed=2, cues=(Cue(0, 1.5, "a"),))
    assert read_results(tmp_path) == {"a": kept, "b": replace(kept, id="b")}
