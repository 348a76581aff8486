"""Kinds of input that users of such tools reported as going wrong: a test for each row of the list of 23 kinds."""

from __future__ import annotations

import errno
import io
import json
import os
import struct
import subprocess
import sys
import unicodedata
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
import soundfile

from tests.files.test_sync import refuse
from tests.run.test_numbers import speak
from voxcli.audio.read import check_voice, read_voice
from voxcli.audio.wavstream import WavStream
from voxcli.errors import AudioError, InputError, ManifestError
from voxcli.files.write import write_atomic
from voxcli.inputs.manifest import LineDefaults, Manifest, read_manifest
from voxcli.jobs.cues import make_cues
from voxcli.jobs.plan import Plan, make_plan
from voxcli.jobs.settings import DEFAULTS, Settings
from voxcli.jobs.speaker import Speaker
from voxcli.run.progress import is_terminal
from voxcli.text.script import ScriptOptions, read_script

DEMO = Speaker("the demo voice", frozenset({"en"}))


def read(folder: Path, name: str, content: str | bytes, settings: Settings = DEFAULTS) -> Manifest:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_manifest(str(path), folder / "out", LineDefaults(settings))


def plan(folder: Path, name: str, content: str | bytes, settings: Settings = DEFAULTS) -> Plan:
    return make_plan(read(folder, name, content, settings).jobs, DEMO)


def spoken(planned: Plan) -> dict[str, list[str]]:
    """Return the segments of the lines, by id, in the order of the file."""
    lines = sorted(planned.utterances, key=lambda utterance: utterance.job.line)
    return {line.job.id: [segment.text for segment in line.segments] for line in lines}


def whole(text: str) -> list[str]:
    """Return the segments of a text, as `synth --file` speaks them."""
    return [segment.text for segment in read_script(text).segments]


def problems(folder: Path, name: str, content: str) -> list[str]:
    with pytest.raises(ManifestError) as caught:
        read(folder, name, content)
    return [str(problem) for problem in caught.value.problems]


def test_row_01_quotes_in_tab_separated_cells(tmp_path: Path) -> None:
    merged = plan(tmp_path, "a.tsv", 'id\ttext\nd1\t"Yes\nd2\tNobody moved.\nd3\tNo"\nd4\tGood night.\n')
    assert spoken(merged) == {"d1": ['"Yes.'], "d2": ["Nobody moved."], "d3": ['No".'], "d4": ["Good night."]}
    refused = plan(tmp_path, "b.tsv", 'id\ttext\nd1\t"Stop," he said.\nd2\tNobody moved.\n')
    assert spoken(refused) == {"d1": ['"Stop," he said.'], "d2": ["Nobody moved."]}


def test_row_02_asides_in_brackets_are_spoken(tmp_path: Path) -> None:
    asides = "(She never came back.) The door stayed open.\n(It had rained for three days.)\n"
    found = plan(tmp_path, "a.txt", asides)
    assert spoken(found) == {
        "00001": ["She never came back. The door stayed open."],
        "00002": ["It had rained for three days."],
    }
    assert not any(utterance.description for utterance in found.utterances)
    first = read_script("(All persons in this story are invented.)\n\nThe lamp went out.\n")
    assert [segment.text for segment in first.segments] == [
        "All persons in this story are invented.",
        "The lamp went out.",
    ]
    assert first.description == ""


def test_row_02_descriptions_are_reported_and_can_be_switched_off(tmp_path: Path) -> None:
    found = plan(tmp_path, "a.txt", "(a warm, slow voice)Good night.\n")
    assert found.notes == [
        "1 line begins with a description of the voice, which is not spoken: line 1 (00001), (a warm, slow voice)"
    ]
    off = plan(tmp_path, "a.txt", "(a warm, slow voice)Good night.\n", Settings(descriptions=False))
    assert spoken(off) == {"00001": ["a warm, slow voice. Good night."]}


def test_row_03_a_scene_break_is_a_pause(tmp_path: Path) -> None:
    found = plan(tmp_path, "a.txt", "The lamp went out.\n\n* * *\n\nIn the morning the fog was gone.\n")
    assert [(job.id, seconds) for job, seconds in found.skipped] == [("00002", 1.0)]
    assert not found.refused
    assert found.notes == ["1 line without words is a pause: line 3 (00002), 1 s"]


HELLO = [["Hello there."], ["Good night."]]


@pytest.mark.parametrize(
    ("name", "content", "ids"),
    [
        ("stdin", "id,text\ngreet,Hello there.\nbye,Good night.\n", ["greet", "bye"]),
        ("a.txt", "wavs/a.wav|0|Hello there.\nwavs/b.wav|1|Good night.\n", ["a", "b"]),
        ("a.txt", "id\ttext\na1\tHello there.\na2\tGood night.\n".encode("utf-16"), ["a1", "a2"]),
        (
            "a.txt",
            "1\n00:00:01,000 --> 00:00:03,000\nHello there.\n\n2\n00:00:04,000 --> 00:00:06,500\nGood night.\n",
            ["1", "2"],
        ),
        ("a.txt", '{"id":"a","text":"Hello there."}\n{"id":"b","text":"Good night."}\n', ["a", "b"]),
    ],
)
def test_row_04_files_are_read_by_their_content(
    name: str, content: str | bytes, ids: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if name != "stdin":
        assert spoken(plan(tmp_path, name, content)) == dict(zip(ids, HELLO, strict=True))
        return
    data = content.encode() if isinstance(content, str) else content
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
    assert spoken(make_plan(read_manifest("-", tmp_path).jobs)) == dict(zip(ids, HELLO, strict=True))


def test_row_04_an_html_page_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"a.txt is an HTML page: save its text as .txt or .md"):
        read(tmp_path, "a.txt", "<!DOCTYPE html>\n<html><body>Hello.</body></html>\n")


def test_row_05_languages_that_the_model_does_not_speak_are_reported(tmp_path: Path) -> None:
    texts = {"Chinese": "今天天气很好，我们去公园散步吧。", "Russian": "Доброе утро, как ваши дела?"}
    texts |= {"Arabic": "صباح الخير، كيف حالك اليوم؟", "German": "Guten Morgen, wie geht es Ihnen heute?"}
    lines = "".join(json.dumps({"id": name, "text": text}) + "\n" for name, text in texts.items())
    for utterance in plan(tmp_path, "a.jsonl", lines).utterances:
        assert utterance.warnings == (
            f"the demo voice does not speak {utterance.job.id}, the language of this text (it speaks English)",
        )


@pytest.mark.skipif(os.name == "nt", reason="a folder can't be opened there")
def test_row_06_folders_that_can_not_be_synced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refuse(monkeypatch, errno.EINVAL, folders=True, files=False)
    write_atomic(tmp_path / "a.wav", b"whole")
    assert (tmp_path / "a.wav").read_bytes() == b"whole"


NUMBERS = {
    "en": ("It costs $5.20 at 10:30.", "It costs five dollars and twenty cents at ten thirty."),
    "de": (
        "Er hatte 3 Hunde und zahlte 27,50 € um 14:30 Uhr.",
        "Er hatte drei Hunde und zahlte siebenundzwanzig Euro fünfzig um vierzehn Uhr dreißig.",
    ),
    "fr": ("J’ai 25 chats et 80% de chance.", "J'ai vingt-cinq chats et quatre-vingts pour cent de chance."),
    "units": (
        "The wind blew at 5 m/s, open 24/7, from US$5 to $3.75bn.",
        "The wind blew at five meters per second, open twenty four seven, from five US dollars to three point seven "
        "five billion dollars.",
    ),
    "kings": ("Louis XIV met Henry VIII.", "Louis the fourteenth met Henry the eighth."),
}


@pytest.mark.parametrize(("written", "words"), NUMBERS.values(), ids=NUMBERS)
def test_row_07_numbers_in_the_language_of_the_text(written: str, words: str, tmp_path: Path) -> None:
    for package in ("wetext", "inflect", "unicode_rbnf"):
        pytest.importorskip(package)
    line = json.dumps({"id": "a", "text": written, "normalize": True})
    assert spoken(plan(tmp_path, "a.jsonl", line)) == {"a": [words]}


def test_row_08_headings_are_spoken(tmp_path: Path) -> None:
    text = "# Chapter One\n\nIt was *dark*.\n\n## Part two\n\n- one\n- two\n"
    found = list(spoken(plan(tmp_path, "a.md", text)).values())
    assert found == [["Chapter One."], ["It was dark."], ["Part two."], ["one."], ["two."]]
    assert read(tmp_path, "a.txt", text).notes == ("1 comment line left out",)


def test_row_09_ssml_and_entities(tmp_path: Path) -> None:
    text = '<speak>Wait here.<break time="700ms"/>Now <emphasis level="strong">run</emphasis> &amp; hide!</speak>'
    (utterance,) = plan(tmp_path, "a.txt", text).utterances
    segments = [(segment.text, segment.pause_s) for segment in utterance.segments]
    assert segments == [("Wait here.", 0.7), ("Now run & hide!", 0.0)]
    assert utterance.warnings == ("tags left out: emphasis",)


def test_row_10_stdout_takes_every_letter(tmp_path: Path, repository: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"id":"caf\\u00e9-\\u4f60\\u597d","text":"* * *"}\n{"id":"b","text":"Hello."}\n')
    command = [sys.executable, "-m", "voxcli", "batch", "a.jsonl", "-o", "o", "--dry-run"]
    env = os.environ | {"PYTHONIOENCODING": "cp1252", "PYTHONPATH": str(repository)}
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"(caf\xe9-\\u4f60\\u597d), 1 s" in done.stdout


def test_row_11_a_line_put_in_front_is_the_only_one_spoken(tmp_path: Path) -> None:
    before = ["The lamp went out.", "Nobody spoke.", "The sea was calm."]
    assert speak(tmp_path, *before) == ["00001*", "00002*", "00003*"]
    assert speak(tmp_path, "A new first line.", *before) == ["00005*", "00001", "00002", "00003"]


def test_row_12_note_marks_are_left_out_and_close_a_sentence(tmp_path: Path) -> None:
    text = "It stood for nearly three hundred years.[1] In the flood it fell.[2][3] Nobody answered.[4]"
    found = plan(tmp_path, "a.txt", text)
    assert spoken(found) == {
        "00001": ["It stood for nearly three hundred years. In the flood it fell. Nobody answered."]
    }
    assert found.notes == ["4 note marks left out"]


def test_row_13_items_and_headings_end_with_a_mark() -> None:
    text = "You need:\n- two eggs\n- milk\n- a pan\n\n# Chapter One\nIt was dark.\n"
    assert whole(text) == ["You need: two eggs; milk; a pan.", "Chapter One.", "It was dark."]


def test_row_14_words_that_a_line_end_broke_are_joined(tmp_path: Path) -> None:
    text = "The keeper was an exam-\nple to all who re-\nmembered the light-\nhouse.\n"
    assert whole(text) == ["The keeper was an example to all who remembered the lighthouse."]
    assert read(tmp_path, "a.txt", text).notes == (
        "3 lines end inside a word: `voxcpm2 synth --file` joins the lines of a wrapped text",
    )


def test_row_15_decimal_commas_and_empty_cells(tmp_path: Path) -> None:
    german = "id;text;cfg;pause_after\na;Hello, my friend.;2,5;0,75\nb;Good night.;2,0;1\n"
    jobs = read(tmp_path, "a.csv", german).jobs
    assert [(job.text, job.settings.cfg, job.pause_after) for job in jobs] == [
        ("Hello, my friend.", 2.5, 0.75),
        ("Good night.", 2.0, 1.0),
    ]
    assert [job.text for job in read(tmp_path, "b.csv", "sep=;\nid;text\na;One, two.\n").jobs] == ["One, two."]
    empty = plan(tmp_path, "c.csv", "id,text\na,Hello there.\nb,\nc,Good night.\n")
    assert spoken(empty) == {"a": ["Hello there."], "c": ["Good night."]}
    assert [str(job) for job, _ in empty.refused] == ["line 3 (b)"]


def test_row_16_whole_floats_and_quoted_numbers_are_numbers(tmp_path: Path) -> None:
    lines = '{"id":"a","text":"Hello.","seed":42.0,"steps":10.0}\n{"id":"b","text":"Hello.","seed":"42"}\n'
    jobs = read(tmp_path, "a.jsonl", lines).jobs
    assert [(job.settings.seed, job.settings.steps) for job in jobs] == [(42, 10), (42, 10)]


def test_row_17_a_missing_header_is_one_problem(tmp_path: Path) -> None:
    assert problems(tmp_path, "a.csv", "Hello there.\n" * 300) == [
        "line 1: no column 'text'; the first line is 'Hello there.': is the header row missing? "
        "Name the columns in the first line, or the one to speak with --map text=COLUMN"
    ]
    jobs = read(tmp_path, "b.csv", "ID,Text\na,Hello there.\n").jobs
    assert [(job.id, job.text) for job in jobs] == [("a", "Hello there.")]


def test_row_18_a_wav_file_as_stdout_has_its_sizes(tmp_path: Path) -> None:
    path = tmp_path / "a.wav"
    with open(path, "wb") as sink:
        stream = WavStream(sink, 16_000)
        stream.write(bytes(32_000))
        stream.put_sizes()
    content = path.read_bytes()
    assert struct.unpack_from("<I", content, 4) == (len(content) - 8,)
    assert struct.unpack_from("<I", content, 40) == (32_000,)


def test_row_19_a_tilde_and_a_decomposed_name_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    (tmp_path / "voice.wav").touch()
    (tmp_path / unicodedata.normalize("NFD", "Zoé.wav")).touch()
    lines = [
        json.dumps({"text": "Hello.", "ref": ref}) for ref in ("~/voice.wav", unicodedata.normalize("NFC", "Zoé.wav"))
    ]
    for job in read(tmp_path, "a.jsonl", "\n".join(lines)).jobs:
        assert job.ref is not None and job.ref.exists()


def test_row_20_other_formats_are_named_and_channels_that_cancel_are_not_mixed(tmp_path: Path) -> None:
    (tmp_path / "a.m4a").write_bytes(b"\x00\x00\x00\x20ftypM4A " + bytes(100))
    with pytest.raises(AudioError, match=r"an MPEG-4 audio file \(AAC\), .*: ffmpeg -i .*a\.m4a .*a\.wav"):
        check_voice(tmp_path / "a.m4a")
    tone = np.sin(np.arange(32_000) / 20).astype(np.float32)
    soundfile.write(tmp_path / "b.wav", np.stack([tone, -tone], 1), 16_000, subtype="FLOAT")
    voice = read_voice(tmp_path / "b.wav", 16_000)
    np.testing.assert_allclose(voice.samples, tone, atol=1e-6)
    assert "channel 1 of 2 used: mixed they are silent" in voice.notes


@pytest.mark.parametrize("variables", [{}, {"FORCE_COLOR": "1"}], ids=["plain", "colors"])
def test_row_21_no_bar_is_drawn_into_a_log(variables: Mapping[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """What is printed instead: tests/run/test_progress.py."""
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.stderr", io.StringIO())
    assert not is_terminal()


def test_row_22_windows_1252_is_read_and_word_is_refused(tmp_path: Path) -> None:
    assert spoken(plan(tmp_path, "a.txt", "Caf\u00e9 \u2013 closed.\n".encode("cp1252"))) == {
        "00001": ["Caf\u00e9 - closed."]
    }
    with pytest.raises(InputError, match=r"b.docx is a Word document: save it as plain text \(.txt, UTF-8\)"):
        read(tmp_path, "b.docx", b"PK\x03\x04")


def test_row_23_cues_keep_the_written_text() -> None:
    for package in ("wetext", "inflect"):
        pytest.importorskip(package)
    script = read_script("It costs $5.20 at 10:30.", None, ScriptOptions(normalize=True))
    assert [segment.text for segment in script.segments] == ["It costs five dollars and twenty cents at ten thirty."]
    assert [cue.text for cue in make_cues(script.segments, [16_000], 16_000, 16_000)] == ["It costs $5.20 at 10:30."]
