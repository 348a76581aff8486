from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from voxcli.errors import InputError, ManifestError
from voxcli.files.write import TEMPORARY
from voxcli.inputs.document import InputOptions
from voxcli.inputs.manifest import LineDefaults, Manifest, read_manifest
from voxcli.inputs.schema import SettingFields
from voxcli.jobs.job import Job
from voxcli.jobs.protected import ProtectedInputs
from voxcli.jobs.settings import DECLARED, Settings


def read_jobs(source: str, out: Path, *more: Any) -> list[Job]:
    return read_manifest(source, out, *more).jobs


def write(folder: Path, *lines: dict[str, Any] | str, name: str = "lines.jsonl") -> str:
    path = folder / name
    path.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines), encoding="utf-8")
    return str(path)


def problems(source: str, out: Path) -> list[str]:
    with pytest.raises(ManifestError) as caught:
        read_jobs(source, out)
    return [str(problem) for problem in caught.value.problems]


def test_every_field_reaches_the_job(tmp_path: Path) -> None:
    row = {
        "id": "a",
        "text": "Hello.",
        "out": "sub/a.opus",
        "ref": "voices/anna.wav",
        "control": "warm",
        "seed": 3,
        "cfg": 1.5,
        "steps": 6,
        "solver": "ab2",
        "min_seconds": 1,
        "max_seconds": 2.5,
        "max_chars": 100,
        "normalize": True,
        "language": "de",
        "descriptions": False,
        "format": "opus",
        "bitrate": 64,
        "sample_rate": 24000,
        "level": -20,
    }
    (job,) = read_jobs(write(tmp_path, row), tmp_path / "out")
    assert job.id == "a"
    assert job.text == "Hello."
    assert job.out == tmp_path / "out" / "sub" / "a.opus"
    assert job.format == "opus"
    assert job.ref == tmp_path / "voices" / "anna.wav"
    assert job.control == "warm"
    assert job.line == 1
    given = {name: row[name] for name in DECLARED if name in row}
    assert given.keys() | {"loudness"} == DECLARED.keys(), "a new setting belongs in the row above"
    assert job.settings == Settings(**given)
    (job,) = read_jobs(write(tmp_path, {"text": "b", "loudness": -23}), tmp_path / "out")  # instead of level
    assert job.settings == Settings(loudness=-23.0)


def test_a_continuation_has_its_audio_and_its_words(tmp_path: Path) -> None:
    (job,) = read_jobs(write(tmp_path, {"text": "b", "prompt_audio": "p.wav", "prompt_text": "a"}), tmp_path)
    assert (job.prompt_audio, job.prompt_text) == (tmp_path / "p.wav", "a")


def test_the_line_goes_before_the_command(tmp_path: Path) -> None:
    common = LineDefaults(Settings(seed=1, steps=4), ref=Path("common.wav"), control="slow")
    source = write(tmp_path, {"text": "a"}, {"text": "b", "ref": "own.wav", "control": "fast", "seed": 2})
    first, second = read_jobs(source, tmp_path / "out", common)
    assert (first.ref, first.control, first.settings) == (Path("common.wav"), "slow", Settings(seed=1, steps=4))
    assert (second.ref, second.control) == (tmp_path / "own.wav", "fast")
    assert second.settings == Settings(seed=2, steps=4)


def test_a_line_that_continues_leaves_the_description_of_the_command_aside(tmp_path: Path) -> None:
    source = write(tmp_path, {"text": "b", "prompt_audio": "p.wav", "prompt_text": "a"})
    (job,) = read_jobs(source, tmp_path, LineDefaults(control="slow"))
    assert job.control is None


def test_ids_and_files_without_names_are_numbered_in_order(tmp_path: Path) -> None:
    jobs = read_jobs(write(tmp_path, "One.", "# no", "", "Two.", name="a.txt"), tmp_path / "out")
    assert [(job.id, job.out.name, job.line) for job in jobs] == [("00001", "00001.wav", 1), ("00002", "00002.wav", 4)]


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({}, "line 1: field 'text' is missing"),
        ({"text": 5}, "line 1: text: input should be a valid string, not 5"),
        ({"text": "a", "id": ""}, "line 1: id: string should have at least 1 character, not ''"),
        (
            {"text": "a", "id": "x" * 201},
            f"line 1: id: string should have at most 200 characters, not '{'x' * 38}...{'x' * 37}'",
        ),
        ({"text": "a", "steps": "ten"}, "line 1: steps: input should be a valid integer, not 'ten'"),
        ({"text": "a", "steps": True}, "line 1: steps: input should be a valid integer, not True"),
        ({"text": "a", "steps": 1}, "line 1: steps must be from 2 to 1000, not 1"),
        ({"text": "a", "cfg": -1}, "line 1: cfg must be a number of at least 0, not -1.0"),
        ({"text": "a", "seed": -1}, "line 1: seed must be a whole number from 0 to 2^63 - 1, not -1"),
        ({"text": "a", "takes": 0}, "line 1: takes must be from 1 to 99, not 0"),
        ({"text": "a", "max_seconds": 0}, "line 1: max_seconds must be from 0.001 to 86400, not 0.0"),
        (
            {"text": "a", "min_seconds": 3, "max_seconds": 2},
            "line 1: max_seconds (2.0) must be greater than min_seconds (3.0)",
        ),
        ({"text": "a", "max_chars": 3}, "line 1: max_chars must be at least 20, not 3"),
        (
            {"text": "a", "format": "aac"},
            "line 1: format must be one of wav, wav24, wavf, ulaw, alaw, flac, ogg, opus, mp3, not 'aac'",
        ),
        ({"text": "a", "out": "a.flac", "format": "mp3"}, "line 1: 'a.flac' can't hold format 'mp3'"),
        ({"text": "a", "out": "../a.wav"}, "line 1: out must be a path inside the output folder, not '../a.wav'"),
        ({"text": "a", "prompt_audio": "p.wav"}, "line 1: prompt_audio needs prompt_text, the words spoken in it"),
        ({"text": "a", "prompt_text": "p"}, "line 1: prompt_text needs prompt_audio, the recording it is spoken in"),
    ],
)
def test_a_wrong_line_is_told_by_name(tmp_path: Path, row: dict[str, Any], problem: str) -> None:
    assert problems(write(tmp_path, row), tmp_path / "out") == [problem]


def read(folder: Path, *lines: dict[str, Any] | str, name: str = "lines.jsonl", **options: Any) -> Manifest:
    return read_manifest(write(folder, *lines, name=name), folder / "out", options=InputOptions(**options))


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ({"seed": 42.0, "steps": 10.0, "cfg": 2}, Settings(seed=42, steps=10, cfg=2.0)),
        ({"seed": "42", "steps": " 10 ", "cfg": "1.5", "max_chars": "90.0"}, Settings(42, 1.5, 10, max_chars=90)),
        ({"seed": None, "steps": float("nan"), "cfg": 3.0}, Settings(cfg=3.0)),
        ({"normalize": 1.0, "level": "-20"}, Settings(normalize=True, level=-20.0)),
        ({"normalize": "false", "level": -2e1}, Settings(level=-20.0)),
    ],
)
def test_numbers_as_programs_write_them_are_numbers(tmp_path: Path, given: dict[str, Any], meant: Settings) -> None:
    (job,) = read(tmp_path, {"text": "a"} | given).jobs
    assert job.settings == meant
    assert all(type(value) is type(getattr(meant, name)) for name, value in vars(job.settings).items())


def test_a_whole_number_is_an_id_with_and_without_a_point(tmp_path: Path) -> None:
    assert [job.id for job in read(tmp_path, {"id": 42.0, "text": "a"}, {"id": 7, "text": "b"}).jobs] == ["42", "7"]


@pytest.mark.parametrize(
    ("name", "wrong"), [("seed", 4.5), ("steps", "1e1"), ("steps", "ten"), ("cfg", "1,5"), ("seed", True)]
)
def test_what_is_no_number_is_still_none(tmp_path: Path, name: str, wrong: object) -> None:
    with pytest.raises(ManifestError, match=f"line 1: {name}: input should be a valid"):
        read(tmp_path, {"text": "a", name: wrong})


def test_unknown_fields_are_kept_and_reported(tmp_path: Path) -> None:
    found = read(tmp_path, {"Text": "a", "stepz": 3, "Speaker": {"name": "Anna"}}, {"text": "b", "stepz": None})
    assert [dict(job.extra) for job in found.jobs] == [{"stepz": 3, "Speaker": {"name": "Anna"}}, {"stepz": None}]
    assert [job.text for job in found.jobs] == ["a", "b"]
    assert found.notes == ("unknown fields kept as extra: stepz (did you mean steps?), Speaker",)
    with pytest.raises(ManifestError) as caught:
        read(tmp_path, {"text": "a", "stepz": 3}, strict=True)
    assert str(caught.value.problems[0]) == "line 1: unknown field 'stepz': did you mean 'steps'?"


def test_fields_by_other_names(tmp_path: Path) -> None:
    found = read(tmp_path, {"Line": "a", "text": "b", "Nr": 5}, mapping={"text": "line", "id": "nr"})
    assert [(job.id, job.text, dict(job.extra)) for job in found.jobs] == [("5", "a", {"text": "b"})]
    with pytest.raises(ManifestError, match="line 1: two names of the field 'seed' in one line, one of them 'Seed'"):
        read(tmp_path, {"text": "a", "seed": 1, "Seed": 2})


@pytest.mark.parametrize("nothing", ["", None])
def test_a_text_that_is_empty_is_a_line_of_its_own(tmp_path: Path, nothing: str | None) -> None:
    assert [job.text for job in read(tmp_path, {"text": "a"}, {"text": nothing}, {"text": "c"}).jobs] == ["a", "", "c"]


def test_a_mistake_of_every_line_is_one_problem(tmp_path: Path) -> None:
    with pytest.raises(ManifestError) as caught:
        read(
            tmp_path,
            *({"id": str(n), "text": "a", "steps": f"{n} steps"} for n in range(300)),
            {"text": "b", "cfg": "x"},
        )
    assert [str(problem) for problem in caught.value.problems] == [
        "line 1: steps: input should be a valid integer, not '0 steps'; likewise 299 more lines, the last is 300",
        "line 301: cfg: input should be a valid number, not 'x'",
    ]


@pytest.mark.parametrize(
    ("name", "lines", "description", "notes"),
    [
        ("a.csv", ("id,text,Mood", "1,a,glad", "2,b,sad"), "a table of 2 rows, columns id, text, Mood", 1),
        ("a.jsonl", ("# one", '{"text": "a"}'), "JSON Lines of 1 line", 1),
        ("a.json", ('[{"text": "a"},', '{"text": "b"}]'), "JSON of 2 objects", 0),
        ("a.txt", ("# one", "# two", "Hello."), "plain text of 1 line", 1),
        ("a.md", ("# One", "", "Two."), "Markdown of 2 paragraphs", 0),
        ("a.srt", ("1", "00:00:01,000 --> 00:00:02,000", "Hello."), "SubRip subtitles of 1 cue", 0),
    ],
)
def test_what_it_was_taken_for(tmp_path: Path, name: str, lines: tuple[str, ...], description: str, notes: int) -> None:
    found = read(tmp_path, *lines, name=name)
    assert (found.description, len(found.notes)) == (description, notes)
    assert found.lines()[0] == f"{tmp_path / name}: {description}"


def test_comments_are_counted(tmp_path: Path) -> None:
    found = read(tmp_path, "# one", "#two", "# three", name="a.txt")
    assert ([job.text for job in found.jobs], found.notes) == (["#two"], ("2 comment lines left out",))


def test_a_lone_surrogate_is_refused(tmp_path: Path) -> None:
    assert "half of a surrogate pair" in problems(write(tmp_path, r'{"text": "a\ud800"}'), tmp_path)[0]
    (job,) = read_jobs(write(tmp_path, r'{"text": "\ud83d\ude00 a"}'), tmp_path)
    assert job.text == "\U0001f600 a"


def test_a_described_continuation_names_both(tmp_path: Path) -> None:
    row = {"text": "a", "control": "warm", "prompt_audio": "p.wav", "prompt_text": "p"}
    (problem,) = problems(write(tmp_path, row), tmp_path)
    assert "control" in problem
    assert "prompt_audio" in problem


def test_all_problems_are_told_at_once(tmp_path: Path) -> None:
    source = write(tmp_path, {"text": "a"}, "{", {"text": "b", "seed": "x", "cfg": "y"}, {"out": 3})
    found = problems(source, tmp_path / "out")
    assert [problem.split(":")[0] for problem in found] == ["line 2", "line 3", "line 3", "line 4", "line 4"]


def test_doubles_on_one_line_of_an_array_are_doubles_too(tmp_path: Path) -> None:
    source = write(tmp_path, '[{"id": "a", "text": "a"}, {"id": "a", "text": "b"}]', name="lines.json")
    assert problems(source, tmp_path / "out")[0] == "line 1: id 'a' is already that of line 1"


def test_the_format_of_the_command_holds_for_names_that_can_have_it(tmp_path: Path) -> None:
    source = write(tmp_path, {"text": "a", "out": "a.wav"}, {"text": "b", "out": "b.flac"}, {"text": "c", "out": "c"})
    jobs = read_jobs(source, tmp_path / "out", LineDefaults(Settings(format="wav24")))
    assert [(job.out.name, job.format) for job in jobs] == [("a.wav", "wav24"), ("b.flac", "flac"), ("c.wav", "wav24")]


@pytest.mark.parametrize("second", ["Take", "take", "TAKE"])
def test_ids_that_differ_at_most_in_case_are_doubles(tmp_path: Path, second: str) -> None:
    found = problems(write(tmp_path, {"id": "Take", "text": "a"}, {"id": second, "text": "b"}), tmp_path / "out")
    assert found[0] == f"line 2: id {second!r} is already that of line 1"


def test_one_cause_is_one_problem(tmp_path: Path) -> None:
    rows = [{"id": "a", "text": "One."}, {"id": "a", "text": "Two."}, {"id": "A", "text": "Three.", "out": "a.wav"}]
    assert problems(write(tmp_path, *rows), tmp_path / "out") == [
        "line 2: id 'a' is already that of line 1",
        "line 3: id 'A' is already that of line 1",
        "line 3: output 'a.wav' is already that of line 1",  # reported by itself: another cause
    ]


def test_outputs_that_differ_at_most_in_case_or_accent_coding_are_doubles(tmp_path: Path) -> None:
    rows = [{"text": "a", "out": "caf\u00e9.wav"}, {"text": "b", "out": "CAFE\u0301.wav"}]
    assert problems(write(tmp_path, *rows), tmp_path / "out") == [
        "line 2: output 'CAFE\u0301.wav' is already that of line 1"
    ]


def test_numbers_as_ids_and_tables_of_text(tmp_path: Path) -> None:
    (job,) = read_jobs(write(tmp_path, {"id": 7, "text": "a"}), tmp_path)
    assert job.id == "7"
    (job,) = read_jobs(write(tmp_path, "id,text,steps,cfg", "x,a,6,1.5", name="t.csv"), tmp_path)
    assert (job.settings.steps, job.settings.cfg) == (6, 1.5)


def test_windows_paths_are_understood(tmp_path: Path) -> None:
    (tmp_path / "voices").mkdir()
    (tmp_path / "voices" / "a.wav").touch()
    (job,) = read_jobs(write(tmp_path, {"text": "a", "ref": "voices\\a.wav", "out": "x\\y.wav"}), tmp_path / "out")
    assert job.ref == tmp_path / "voices" / "a.wav"
    assert job.out == tmp_path / "out" / "x" / "y.wav"


@pytest.mark.parametrize("text", ["", "\n\n", "# only a comment\n"])
def test_an_empty_manifest_is_refused(tmp_path: Path, text: str) -> None:
    assert problems(write(tmp_path, text), tmp_path)[0].startswith("no lines to speak")


def test_a_manifest_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"can't read the manifest .*: No such file"):
        read_jobs(str(tmp_path / "no.jsonl"), tmp_path)


def test_settings_and_their_textual_form_have_the_same_fields_and_defaults_that_say_nothing() -> None:
    assert tuple(SettingFields.model_fields) == tuple(field.name for field in fields(Settings))
    assert all(field.default is None for field in SettingFields.model_fields.values())


def test_time_grows_with_the_lines_and_no_faster(tmp_path: Path) -> None:
    def cost(lines: int) -> float:
        source = write(tmp_path, *({"id": f"line-{n}", "text": f"Line {n}.", "seed": n} for n in range(lines)))
        began = time.process_time()
        assert len(read_jobs(source, tmp_path / "out")) == lines
        return time.process_time() - began

    cost(100)
    assert cost(20_000) < 30 * cost(2_000)


@pytest.mark.slow
def test_each_of_many_lines_is_checked_and_counted(tmp_path: Path) -> None:
    rows = [{"id": f"line-{n}", "text": f"Line {n}."} for n in range(20_000)]
    rows[7_000]["steps"] = 1
    rows[19_999]["id"] = "LINE-0"
    found = problems(write(tmp_path, *rows), tmp_path / "out")
    assert found[0] == "line 7001: steps must be from 2 to 1000, not 1"
    assert found[1] == "line 20000: id 'LINE-0' is already that of line 1"
    assert len(found) == 2  # its file, which is a double too, is not reported
    del rows[7_000], rows[-1]
    assert len(read_jobs(write(tmp_path, *rows), tmp_path / "out")) == 19_998


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads the peak of memory there")
def test_a_hundred_thousand_lines_take_less_than_300_mb(tmp_path: Path, repository: Path) -> None:
    words = "The wind came over the hill and nobody on the bridge could remember its name."
    source = write(tmp_path, *({"id": f"line-{n}", "text": f"{n}: {words}", "seed": n} for n in range(100_000)))
    code = (
        "import sys; from voxcli.cli.main import run; run(sys.argv[1:]);"
        "print([line for line in open('/proc/self/status') if line.startswith('VmHWM')][0])"
    )
    command = [sys.executable, "-c", code, "batch", source, "-o", "out", "--dry-run"]
    found = subprocess.run(command, cwd=repository, capture_output=True, text=True, check=True).stdout.split()
    assert found[1:9] == ["JSON", "Lines", "of", "100000", "lines", "100000", "lines", "to"]
    assert found[-3] == "VmHWM:" and int(found[-2]) < 300_000


@pytest.mark.parametrize("field", ["ref", "prompt_audio"])
def test_no_line_may_write_over_a_recording_of_any_line(tmp_path: Path, field: str) -> None:
    words = {"prompt_text": "Hum."} if field == "prompt_audio" else {}
    out = tmp_path / "out"
    out.mkdir()
    (out / "there.wav").touch()
    (tmp_path / "linked.wav").symlink_to(out / "there.wav")
    lines = [
        {"text": "a", "out": "new.wav", field: "linked.wav", **words},
        {"text": "b", "out": "there.wav"},
        {"text": "c", "out": "other.wav", field: "out/../out/new.wav", **words},
    ]
    assert problems(write(tmp_path, *lines), out) == [
        f"line 1: output 'new.wav' is the recording '{tmp_path}/out/../out/new.wav'",
        f"line 2: output 'there.wav' is the recording '{tmp_path}/linked.wav'",
    ]


def test_no_line_may_write_over_the_recording_of_the_command(tmp_path: Path) -> None:
    source = write(tmp_path, {"text": "a", "id": "voice"}, {"text": "b", "id": "b"})
    with pytest.raises(ManifestError, match=r"line 1: output 'voice\.wav' is the recording"):
        read_jobs(source, tmp_path, LineDefaults(ref=tmp_path / "voice.wav"))


def test_one_file_under_two_names_is_a_double(tmp_path: Path) -> None:
    out = tmp_path / "out"
    (out / "sub").mkdir(parents=True)
    (out / "linked").symlink_to("sub")
    (out / "name.wav").symlink_to("sub/y.wav")
    outs = ("sub/x.wav", "linked/x.wav", "name.wav", "linked/y.wav", "linked/z.wav")
    assert problems(write(tmp_path, *({"text": "a", "out": out} for out in outs)), out) == [
        "line 2: output 'x.wav' is already that of line 1",
        "line 4: output 'y.wav' is already that of line 3",
    ]


def test_no_line_may_write_over_the_manifest_or_what_else_the_command_reads(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text("settings: {steps: 5}\n")
    (tmp_path / "preset.wav").symlink_to("own.yaml")
    (tmp_path / "defaults.wav").touch()
    (tmp_path / "anna.safetensors").touch()
    (tmp_path / "voice.wav").symlink_to("anna.safetensors")
    rows = [
        {"id": "m", "text": "a"},
        {"id": "preset", "text": "b", "preset": "own.yaml"},
        {"id": "defaults", "text": "c"},
        {"id": "voice", "text": "d", "voice": "anna.safetensors"},
    ]
    inputs = ProtectedInputs()
    inputs.add(tmp_path / "defaults.wav", "the defaults file")
    with pytest.raises(ManifestError) as caught:
        read_manifest(write(tmp_path, *rows, name="m.wav"), tmp_path, inputs=inputs)
    assert [str(problem).replace(str(tmp_path), ".") for problem in caught.value.problems] == [
        "line 1: output 'm.wav' is the manifest './m.wav'",
        "line 2: output 'preset.wav' is the preset './own.yaml'",
        "line 3: output 'defaults.wav' is the defaults file './defaults.wav'",
        "line 4: output 'voice.wav' is the voice './anna.safetensors'",
    ]


@pytest.mark.parametrize("name", ["results.jsonl", ".voxcpm2.lock"])
def test_a_manifest_that_the_run_would_write_itself_is_refused(tmp_path: Path, name: str) -> None:
    source = write(tmp_path, {"text": "a"}, name=name)
    expected = f"{name} of the output folder is the manifest '{tmp_path}/{name}'"
    assert problems(source, tmp_path) == [expected]
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / name).hardlink_to(source)
    assert problems(source, tmp_path / "out") == [expected]


def test_an_input_that_the_run_would_sweep_away_is_refused(tmp_path: Path) -> None:
    swept = TEMPORARY.replace("*", "0123456789abcdef" * 2)
    (tmp_path / "voice.wav").symlink_to(swept)
    why = "has a name of temporary files, which the run removes: rename it"
    source = write(tmp_path, {"text": "a", "ref": "voice.wav"})
    assert problems(source, tmp_path / "out") == [f"the recording '{tmp_path}/voice.wav' {why}"]
    source = write(tmp_path, {"text": "a"}, name=swept)
    assert problems(source, tmp_path / "out") == [f"the manifest '{tmp_path}/{swept}' {why}"]
    read_manifest(write(tmp_path, {"text": "a"}, name=".voxcpm2-mine.part"), tmp_path / "out")


def test_a_file_can_not_be_a_folder_too(tmp_path: Path) -> None:
    outs = ("x.wav/a.wav", "y/b.wav", "X.wav", "y/b.wav/deep/c.wav", "y/d.wav")
    assert problems(write(tmp_path, *({"text": "a", "out": out} for out in outs)), tmp_path / "out") == [
        "line 1: output 'a.wav' is in the folder 'x.wav', a file of line 3",
        "line 4: output 'c.wav' is in the folder 'b.wav', a file of line 2",
    ]


@pytest.mark.parametrize("out", ["a" * 252 + ".wav", "é" * 126 + ".wav", "a" * 252, "b" * 256 + "/a.wav"])
def test_a_name_that_no_file_can_have_is_refused(tmp_path: Path, out: str) -> None:
    (found,) = problems(write(tmp_path, {"text": "a", "out": out}), tmp_path / "out")
    assert found.startswith("line 1: out has a name of more than 255 bytes")
    longest = {"text": "a", "out": "a" * 251 + ".wav"}
    assert read_jobs(write(tmp_path, longest), tmp_path / "out")[0].out.name == longest["out"]


@pytest.mark.parametrize(
    ("row", "found"),
    [
        ({"out": "a/" * 3000 + "x.wav"}, "its file can't have the path '{out}"),
        ({"ref": "a\\" + "x" * 300}, "ref 'a\\\\xxx"),
        ({"ref": "x" * 300 + ".wav"}, "ref 'xxxx"),
        ({"ref": "a\0.wav"}, "ref 'a\\x00.wav' is no name that a file can have: it has a character"),
        ({"prompt_audio": "deep/" * 2000 + "a.wav", "prompt_text": "A."}, "prompt_audio 'deep/deep/"),
        ({"voice": "y" * 300 + ".safetensors"}, "voice 'yyyy"),
        ({"preset": "y" * 300 + ".yaml"}, "can't read the preset "),
        ({"preset": "y" * 300}, "no preset 'yyyy"),
    ],
)
def test_a_name_too_long_for_the_system_is_a_problem_of_its_line(
    tmp_path: Path, row: dict[str, Any], found: str
) -> None:
    source = write(tmp_path, {"text": "a"}, {"text": "b"} | row, {"text": "c", "steps": 1})
    first, second = problems(source, tmp_path / "out")
    assert first.startswith(f"line 2: {found.format(out=str(tmp_path / 'out')[:20])}")
    assert first.endswith(": File name too long") or "character" in found or "preset" in row
    assert second.startswith("line 3: ")


@pytest.mark.parametrize("preset", ["a\0b.yaml", "a\0b"])
def test_a_preset_with_a_nul_is_a_problem_of_its_line(tmp_path: Path, preset: str) -> None:
    (found,) = problems(write(tmp_path, {"text": "a", "preset": preset}), tmp_path / "out")
    assert found.startswith("line 1: no preset ")


@pytest.mark.parametrize(
    ("out", "found"),
    [
        ("results.jsonl/a.wav", "out can't be inside results.jsonl: the run itself writes that file"),
        ("Results.JSONL/deep/a.wav", "out can't be inside Results.JSONL: the run itself writes that file"),
        (".voxcpm2.lock/a.wav", "out can't be inside .voxcpm2.lock: the run itself writes that file"),
        ("there.wav", "output 'there.wav' is an existing folder: name a file"),
        ("deep/there", "output 'there.wav' is an existing folder: name a file"),
        ("file.wav/deep/a.wav", "out can't be inside {out}/file.wav: that is a file"),
    ],
)
def test_a_place_where_no_file_can_be_written_is_refused(tmp_path: Path, out: str, found: str) -> None:
    folder = tmp_path / "out"
    (folder / "there.wav").mkdir(parents=True)
    (folder / "deep" / "there.wav").mkdir(parents=True)
    (folder / "file.wav").touch()
    lines = {"text": "a", "out": out}, {"text": "b", "out": "file.wav"}
    assert problems(write(tmp_path, *lines), folder) == [f"line 1: {found.format(out=folder)}"]


def test_an_id_whose_file_would_be_a_folder_that_is_there_is_refused(tmp_path: Path) -> None:
    (tmp_path / "out" / "a.wav").mkdir(parents=True)
    source = write(tmp_path, {"text": "a", "id": "a"})
    assert problems(source, tmp_path / "out") == ["line 1: output 'a.wav' is an existing folder: name a file"]
