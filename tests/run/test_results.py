from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from voxcli.errors import OutputError
from voxcli.jobs.history import History
from voxcli.jobs.result import Cue, Result
from voxcli.run.results import ResultLog, read_history, read_results

FIELDS = ["id", "out", "text", "status", "duration_s", "wall_s", "rtf", "patches", "stop_reason", "seed", "attempts"]
FIELDS += [
    "sample_rate",
    "description",
    "voice_notes",
    "voice",
    "warnings",
    "sha256",
    "exact",
    "fingerprint",
    "finished",
    "cues",
    "reason",
    "check",
    "words",
    "error",
    "extra",
]
OK = Result("a", "a.wav", "Say a.", "ok", 1.6, 0.8, 0.5, 10, "stop", 7, 1, 48_000)


def written(*results: Result) -> str:
    return "".join(json.dumps(result.recorded(), ensure_ascii=False) + "\n" for result in results)


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


@pytest.mark.parametrize("torn", ['{"id": "to', "\0\0\0\0", '{"id": "a", "out": "a.w'])
def test_a_second_run_appends_and_drops_what_a_crash_tore(tmp_path: Path, torn: str) -> None:
    (tmp_path / "results.jsonl").write_text(written(OK) + torn)
    with ResultLog(tmp_path) as log:
        log.append(replace(OK, id="new"))
        assert (tmp_path / "results.jsonl").read_text() == written(OK, replace(OK, id="new"))


def test_a_file_of_nothing_but_a_torn_line_is_written_on(tmp_path: Path) -> None:
    (tmp_path / "results.jsonl").write_text('{"id')
    with ResultLog(tmp_path) as log:
        log.append(OK)
    assert (tmp_path / "results.jsonl").read_text() == written(OK)


@pytest.mark.parametrize("end", ["\r\n", "\n", " \n"])
def test_results_that_an_editor_left_without_a_last_end_are_written_on(tmp_path: Path, end: str) -> None:
    """The edited files have carriage returns or a space, but the size of two lines as this program writes them."""
    other = replace(OK, id="b")
    edited = written(OK, other).replace("\n", end)
    for content in (edited, edited[:-1], edited.rstrip(), edited.rstrip() + " "):
        (tmp_path / "results.jsonl").write_bytes(content.encode())
        with ResultLog(tmp_path) as log:
            log.append(replace(OK, id="c"))
        assert (tmp_path / "results.jsonl").read_text() == written(OK, other, replace(OK, id="c"))


def test_a_whole_file_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "results.jsonl").write_text(written(OK))
    before = (tmp_path / "results.jsonl").stat()
    with ResultLog(tmp_path):
        pass
    assert os.path.samestat((tmp_path / "results.jsonl").stat(), before)


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


OTHERS = {
    "a manifest": '{"text": "Line 1."}\n{"text": "Line 2."}\n',
    "a manifest with ids": '{"id": "a", "text": "Line 1."}\n{"id": "b", "text": "Line 2."}\n',
    "one line of a manifest": '{"id": "a", "text": "Line 1."}',
    "a training run": "".join(f'{{"epoch": {n}, "loss": 0.1}}\n' for n in range(100)) + "done\n",
    "text": "done\n",
    "a number": "7",
    "another version": '{"id": "old", "path": "a.wav"}\n',
    "results as an editor of another encoding saved them": '\ufeff{"id": "a"}\n',
}


@pytest.mark.parametrize("other", OTHERS)
def test_the_file_of_another_program_is_refused_and_stays(tmp_path: Path, other: str) -> None:
    path = tmp_path / "results.jsonl"
    content = OTHERS[other].encode("utf-16-le" if other.startswith("results") else "utf-8")
    path.write_bytes(content)
    message = f"{path} contains no results of voxcpm2: move it away, or choose another folder"
    with pytest.raises(OutputError) as caught, ResultLog(tmp_path):
        pass
    assert str(caught.value) == message
    with pytest.raises(OutputError, match="contains no results of voxcpm2"):
        read_results(tmp_path)
    assert path.read_bytes() == content


@pytest.mark.parametrize("other", OTHERS)
def test_lines_of_others_among_results_stay(tmp_path: Path, other: str) -> None:
    path = tmp_path / "results.jsonl"
    path.write_text(OTHERS[other].rstrip("\n") + "\n" + written(OK, OK))
    with ResultLog(tmp_path) as log:
        log.append(replace(OK, id="new"))
    assert path.read_text() == OTHERS[other].rstrip("\n") + "\n" + written(OK, replace(OK, id="new"))
    assert list(read_results(tmp_path)) == ["a", "new"]


def test_the_history_of_a_line_is_its_last_result_and_the_last_that_was_ok(tmp_path: Path) -> None:
    failed = Result("a", "a.wav", "Say a.", "failed", error="x")
    with ResultLog(tmp_path) as log:
        assert log.history == {}
        log.append(replace(OK, seed=1), OK, replace(failed, id="b"), failed, replace(failed, error="y"))
    history = {"b": History(replace(failed, id="b"), None), "a": History(replace(failed, error="y"), OK)}
    assert read_history(tmp_path) == history
    assert {name: result.ok for name, result in read_results(tmp_path).items()} == {"b": False, "a": False}
    with ResultLog(tmp_path) as log:
        assert log.history == history
        log.append(replace(OK, seed=9))
    assert read_history(tmp_path)["a"] == History(replace(OK, seed=9), replace(OK, seed=9))
    assert (tmp_path / "results.jsonl").read_text() == written(replace(failed, id="b"), replace(OK, seed=9))


def test_where_no_run_has_been_there_are_no_results(tmp_path: Path) -> None:
    assert read_results(tmp_path) == {}


def test_a_log_that_can_not_be_written_is_an_output_error(tmp_path: Path) -> None:
    (tmp_path / "results.jsonl").mkdir()
    with pytest.raises(OutputError, match=r"can't read .*results\.jsonl: Is a directory"), ResultLog(tmp_path):
        pass


@pytest.mark.parametrize("how", ["removed", "replaced", "its folder moved"])
def test_results_that_nobody_will_find_are_an_error(tmp_path: Path, how: str) -> None:
    """For example a file system is unmounted during a run, which must not exit 0 and leave nothing."""
    folder = tmp_path / "out"
    folder.mkdir()
    path = folder / "results.jsonl"
    with pytest.raises(OutputError, match=r"results\.jsonl was removed or replaced while"), ResultLog(folder) as log:
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


@pytest.mark.skipif(os.name == "nt", reason="links need rights of their own there")
def test_results_with_a_name_elsewhere_are_changed_in_their_folder_alone(tmp_path: Path) -> None:
    """For example copies made with hard links."""
    twin, folder = tmp_path / "twin.jsonl", tmp_path / "out"
    twin.write_text(written(OK))
    folder.mkdir()
    os.link(twin, folder / "results.jsonl")
    with ResultLog(folder) as log:
        log.append(replace(OK, id="b"))
    assert twin.read_text() == written(OK)
    assert (folder / "results.jsonl").read_text() == written(OK, replace(OK, id="b"))


@pytest.mark.skipif(os.name == "nt", reason="a file that is open can't be replaced there")
def test_results_that_become_a_link_in_mid_run_are_an_error(tmp_path: Path) -> None:
    path, moved = tmp_path / "results.jsonl", tmp_path / "moved.jsonl"
    with pytest.raises(OutputError, match="was removed or replaced"), ResultLog(tmp_path) as log:
        path.rename(moved)
        path.symlink_to(moved)
        log.append(OK)


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
        {"words": [[0, -1, "a"]]},
        {"check": "fine"},
        {"reason": 7},
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
    lines = [json.dumps(line) + "\n" for line in (right, right | {"id": "b"}, right | wrong)]
    (tmp_path / "results.jsonl").write_text("".join(lines))
    kept = Result("a", "a.wav", "a", "ok", 1, seed=2, cues=(Cue(0, 1.5, "a"),))
    assert read_results(tmp_path) == {"a": kept, "b": replace(kept, id="b")}
    with ResultLog(tmp_path):
        pass
    assert (tmp_path / "results.jsonl").read_text() == "".join(lines), "the line is still in the file"
