"""A file, stdin or a pipe is read in its detected format, or refused by name."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.inputs import sheets
from voxcli.cli.main import run
from voxcli.cli.text_options import TextOptions
from voxcli.errors import InputError
from voxcli.inputs.columns import parse_map
from voxcli.inputs.document import InputOptions, format_named
from voxcli.inputs.manifest import Manifest, read_manifest

CSV = b"id,text\ngreet,Hello there.\nbye,Good night.\n"
SRT = b"1\n00:00:01,000 --> 00:00:03,000\nHello there.\n\n2\n00:00:04,000 --> 00:00:06,500\n<i>Good night.</i>\n"


def batch(folder: Path, name: str, data: bytes, **options: object) -> Manifest:
    (folder / name).write_bytes(data)
    read = InputOptions(**options)  # type: ignore[arg-type]
    return read_manifest(str(folder / name), folder / "out", options=read)


@pytest.fixture
def stdin(monkeypatch: pytest.MonkeyPatch) -> Callable[[bytes], None]:
    def feed(data: bytes) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))

    return feed


KINDS = {
    "a table": (CSV, ["Hello there.", "Good night."]),
    "semicolons": (CSV.replace(b",", b";"), ["Hello there.", "Good night."]),
    "UTF-16": (CSV.decode().replace(",", "\t").encode("utf-16"), ["Hello there.", "Good night."]),
    "UTF-16 without a mark": (CSV.decode().replace(",", "\t").encode("utf-16-le"), ["Hello there.", "Good night."]),
    "JSON Lines": (b'{"text": "Hello."}\n', ["Hello."]),
    "a JSON array": (b'[{"text": "Hello."}]', ["Hello."]),
    "a list": (b"wavs/a.wav|0|Hello there.\nwavs/b.wav|1|Good night.\n", ["Hello there.", "Good night."]),
    "subtitles": (SRT, ["Hello there.", "Good night."]),
    "text": (b"Hello, there.\nGood, night.\n", ["Hello, there.", "Good, night."]),
    "Windows-1252": (b"Caf\xe9 \x96 closed.\n", ["Caf\u00e9 \u2013 closed."]),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["a.txt", "a", "-"])
def test_the_content_tells_what_it_is_wherever_it_comes_from(
    kind: str, name: str, tmp_path: Path, stdin: Callable[[bytes], None]
) -> None:
    data, texts = KINDS[kind]
    stdin(data)
    found = batch(tmp_path, name, data) if name != "-" else read_manifest("-", tmp_path)
    assert [job.text for job in found.jobs] == texts


REFUSED = {
    "a.docx": (b"PK\x03\x04\xff\xfe", "is a Word document: save it as plain text"),
    "a.pdf": (b"%PDF-1.4\n\x00\x01", "is a PDF document: extract its text first: `pdftotext {path} a.txt`"),
    "b.txt": (
        b"%PDF-1.4\n\x00\x01",
        "is a PDF document: extract its text first: `pdftotext {path} b-text.txt`",
    ),
    "a.epub": (
        sheets.zipped({"mimetype": "application/epub+zip"}, 0),
        "is an EPUB book: convert it to plain text first: `pandoc {path} -t plain --wrap=none -o a.txt`",
    ),
    "a.html": (b"<html><p>Hello.</p>", "is an HTML page: save its text as .txt or .md"),
    "a.wav": (b"RIFF\x24\x00\x00\x00WAVEfmt ", "is a recording, not text: a voice is named with --ref"),
    "a.bin": (bytes(range(256)), "is binary data, not text"),
    "a.yaml": (
        b"- text: Hello.",
        "is a settings file: use JSON Lines or a table; --input-format text",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_read_is_refused_by_name_with_a_way_out(name: str, tmp_path: Path) -> None:
    data, reason = REFUSED[name]
    (tmp_path / name).write_bytes(data)
    expected = f"{tmp_path / name} {reason.format(path=tmp_path / name)}"
    for read in (lambda: batch(tmp_path, name, data), lambda: TextOptions(None, tmp_path / name).read()):
        with pytest.raises(InputError) as caught:
            read()
        assert str(caught.value).startswith(expected)
        assert caught.value.exit_code == 2


def test_what_is_said_of_the_input_overrides_what_it_looks_like(tmp_path: Path) -> None:
    assert [job.text for job in batch(tmp_path, "a", CSV, format="text").jobs] == CSV.decode().splitlines()
    assert batch(tmp_path, "a", b"# One\n\n- two\n", format="markdown").jobs[1].text == "two"
    assert batch(tmp_path, "a.html", b"<p>Hello.</p>", format="text").jobs[0].text == "<p>Hello.</p>"
    russian = "\u041f\u0440\u0438\u0432\u0435\u0442."
    assert batch(tmp_path, "a", russian.encode("cp1251"), encoding="windows-1251").jobs[0].text == russian
    with pytest.raises(InputError, match="a is no spreadsheet: leave out --input-format xlsx"):
        batch(tmp_path, "a", CSV, format="xlsx")
    with pytest.raises(InputError, match=r"--input-format is one of jsonl, json, .*, not 'doc'"):
        format_named("doc")


def test_the_map_of_columns_is_checked() -> None:
    assert parse_map(["text=Line,voice=Character", "id = No., old"]) == {
        "text": "Line",
        "voice": "Character",
        "id": "No., old",
    }
    for wrong, reason in (
        ("Line", "--map takes FIELD=COLUMN, such as text=Line,voice=Character, not 'Line'"),
        ("txt=Line", "there is no field 'txt': did you mean 'text'?"),
        ("text=a,text=b", "--map names two columns for 'text': 'a' and 'b'"),
    ):
        with pytest.raises(InputError) as caught:
            parse_map([wrong])
        assert reason in str(caught.value)


def test_one_text_of_a_file_is_the_words_of_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, data, text, reported in (
        ("a.txt", b"# One\n\nTwo.", "# One\n\nTwo.", ""),
        (
            "a.md",
            b"# One\n\n- two\n- *three*\n\n```\nx\n```\n",
            "One\n\n- two\n- three",
            "Markdown\n1 code block left out",
        ),
        ("film.srt", SRT, "Hello there.\nGood night.", "SubRip subtitles"),
        ("a.txt", b"Caf\xe9.", "Caf\u00e9.", "plain text, read as Windows-1252"),
    ):
        path = tmp_path / name
        path.write_bytes(data)
        assert TextOptions(None, path).read() == text
        assert capsys.readouterr().err == "".join(f"voxcpm2: {path}: {line}\n" for line in reported.splitlines())


@pytest.mark.parametrize(
    ("name", "data", "what"),
    [
        ("a.csv", CSV, "a table"),
        ("a.txt", CSV, "a table"),
        ("a.jsonl", b'{"text": "Hello."}', "JSON Lines"),
        ("a.txt", b'[{"text": "Hello."}]', "JSON"),
        ("a.txt", b"wavs/a.wav|Hello.\nwavs/b.wav|Bye.", "a list of recordings and texts"),
    ],
)
def test_rows_are_no_text_of_one_file(name: str, data: bytes, what: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(InputError) as caught:
        TextOptions(None, path).read()
    assert str(caught.value) == (
        f"{path} is {what}, not one text: speak its lines with `voxcpm2 batch {path} -o FOLDER`, "
        "or take it as it is with --input-format text"
    )
    assert TextOptions(None, path, "text").read() == data.decode()


def test_the_name_of_a_file_is_not_spoken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert TextOptions("chapter.txt", None).read() == "chapter.txt"
    Path("chapter.txt").write_text("Hello.")
    with pytest.raises(InputError, match=r"'chapter\.txt' is a file: speak its text with --file"):
        TextOptions("chapter.txt", None).read()


def test_the_plan_says_what_the_file_was_taken_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text("Line;Character;Mood\nHello.;;glad\nBye.;;sad\n")
    assert run(["batch", "a.txt", "-o", "out", "--dry-run", "--map", "text=line"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == [
        "a.txt: a table of 2 rows, columns Line, Character, Mood",
        "unknown fields kept as extra: Character, Mood",
    ]
    assert run(["batch", "a.txt", "-o", "out", "--dry-run", "--map", "text=line", "--strict"]) == 2
    assert "unknown column 'Character'" in capsys.readouterr().err
    Path("b.txt").write_text("# one\nHello.\n# two\n")
    assert run(["batch", "b.txt", "-o", "out", "--dry-run"]) == 0
    assert capsys.readouterr().out.splitlines()[:2] == ["b.txt: plain text of 1 line", "2 comment lines left out"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.txt", "Hello.\nGr\ufffd\ufffde.\n"),
        ("a.md", "Hello.\nGr\ufffd\ufffde.\n"),
        ("a.csv", "text\nGr\ufffd\ufffde.\n"),
        ("a.jsonl", '\n{"text": "Gr\ufffd\ufffde."}\n'),
    ],
)
def test_lost_letters_are_reported(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    found = read_manifest(str(tmp_path / name), tmp_path / "out")
    assert found.notes == ("2 letters lost before the file was saved (U+FFFD), the first in line 2",)
