"""What a file is: by its content first, then by its name; prose stays prose whatever it looks like."""

from __future__ import annotations

import pytest

from tests.inputs.prose import PROSE
from voxcli.inputs.columns import Columns
from voxcli.inputs.detect import detect
from voxcli.inputs.signatures import Refusal


def kind(text: str, suffix: str = "") -> str:
    found = detect(text, suffix, Columns())
    return found.what if isinstance(found, Refusal) else found


@pytest.mark.parametrize(
    ("suffix", "text", "expected"),
    [
        ("", '{"text": "a"}', "jsonl"),
        ("", '# made by a script\n\n{"text": "a"}', "jsonl"),
        ("", "{'text': 'a'}", "jsonl"),
        ("", ' [\n {"text": "a"}]', "json"),
        ("", '{\n  "text": "a"\n}\n{\n  "text": "b"\n}', "json"),
        ("", "[laughs] Hello.", "text"),
        (".jsonl", '[{"text": "a"}]', "json"),
        (".json", '{"text": "a"}\n{"text": "b"}', "jsonl"),
        (".csv", "text", "csv"),
        (".csv", '{"text": "a"}', "jsonl"),
        (".csv", "LJ001-0001|Printing.\nLJ001-0002|In.", "filelist"),
        (".txt", '{"text": "a"}\n{"text": "b"}', "jsonl"),
        (".txt", '[\n{"text": "a"}]', "json"),
        (".txt", "{HH AH0 L OW1} there.", "text"),
        (".json", '[1, null, "x"]', "json"),
        (".json", "[laughs] Hello.", "json"),
        (".json", "Hello.", "jsonl"),
        ("", '[1, null, "x"]', "json"),
        ("", "[null]", "json"),
        ("", '["one"]', "json"),
        ("", "[" * 100_000, "json"),
        ("", "[1] A footnote, and [2] another.", "text"),
        ("", "[null and void] It is.", "text"),
        ("", "[[The sea]] was calm.", "text"),
        ("", "[ ] buy milk\n[x] sing", "text"),
        ("", "[] buy milk", "text"),
        (".tsv", "a\tb", "tsv"),
        ("", "id,text\na,Hello.", "csv"),
        (".txt", "id\ttext\na\tHello.", "csv"),
        (".txt", "wavs/a.wav|0|Hello there.\nwavs/b.wav|1|Good night.", "filelist"),
        (".md", "id,text\na,Hello.", "markdown"),
        (".md", "| id | text |\n|---|---|\n| a | Hello. |", "markdown"),
        ("", "# One\n\nTwo.", "text"),
        ("", "1\n00:00:01,000 --> 00:00:03,000\nHello.", "srt"),
        (".txt", "\n00:01.000 --> 00:03.000\nHello.", "srt"),
        ("", "WEBVTT\n\n00:01.000 --> 00:03.000\nHello.", "vtt"),
        ("", "WEBVTT is a format.", "vtt"),
        (".srt", "Hello.", "text"),
        (".txt", "<!DOCTYPE html>\n<html><body>Hello.", "an HTML page"),
        ("", "<?xml version='1.0'?>\n<!-- a --><html xmlns='x'>", "an HTML page"),
        (".html", "Hello.", "an HTML page"),
        ("", "<?xml version='1.0'?><rss>", "an XML document"),
        ("", "<?xml version='1.0'?><speak>Hello.</speak>", "text"),
        ("", "<speak>Hello.</speak>", "text"),
        ("", "<p>Hello.</p>", "text"),
        (".yaml", "- text: Hello.", "a settings file"),
        ("", "[Script Info]\nTitle: a", "subtitles of another kind than .srt and .vtt"),
        ("", "{1}{50}Hello.", "subtitles of another kind than .srt and .vtt"),
        ("", "", "text"),
        (".xml", '<?xml version="1.0"?>\n<speak>Hello.</speak>', "an XML document"),
        ("", "[00:00.000 --> 00:03.000]  Hello.\n", "subtitles of another kind than .srt and .vtt"),
        ("", 'File type = "ooTextFile"\n', "subtitles of another kind than .srt and .vtt"),
        (".rst", "Title\n=====\n", "a document with markup"),
        (".properties", "bye=Good night.\n", "a file of translations"),
        (".py", "print('Hello.')\n", "program code"),
        ("", "#!/bin/sh\necho Hello.\n", "program code"),
        ("", '[lines]\ntext = "Hello."\n', "a settings file"),
        ("", "\\documentclass{article}\n", "a LaTeX document"),
        ("", "- text: Hello.\n- text: Bye.\n", "a settings file"),
        ("", '# German\nmsgid ""\nmsgstr ""\n', "a file of translations"),
        ("", "INSERT INTO lines VALUES (1, 'Hello.');\n", "a database script"),
        ("", "Select the words.\nInsert into the box.\n", "text"),
    ],
)
def test_what_it_is(suffix: str, text: str, expected: str) -> None:
    assert kind(text, suffix) == expected


MAIL = "From: anna@example.com\nTo: bob@example.com\n  (Bob)\nSubject: Tomorrow\n\nSee you =E2=80=93 at nine.\n"


@pytest.mark.parametrize("suffix", ["", ".txt", ".eml", ".log"])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (MAIL, "an e-mail message"),
        ("From anna@example.com Mon Jan  1 10:00:00 2024\n" + MAIL, "an e-mail message"),
        ("Received: from a\n\tby b\nMIME-Version: 1.0\n\nHello.\n", "an e-mail message"),
        ("From: Anna\n\nI am well. To: be sure.\n", "text"),
        ("[12/03/24, 18:22:01] Anna: Hello.\n[12/03/24, 18:22:31] Bob: Yes?\nNo.\n", "a chat or a log"),
        ("12.03.2024, 18:22 - Anna: Hello.\n12.03.2024, 18:23 - Bob: Yes?\n", "a chat or a log"),
        ("2024-03-12T18:22:01 INFO begun\n2024-03-12T18:22:02 INFO done\n", "a chat or a log"),
        ("12/03/24, 18:22 was the time.\nNobody knew.\nIt was late.\n", "text"),
        ("| id | text |\n|----|------|\n| a | Hello. |\n", "a table drawn"),
        ("+----+--------+\n| id | text   |\n+----+--------+\n|  1 | Hello. |\n+----+--------+\n", "a table drawn"),
        (" id |  text  \n----+--------\n  1 | Hello.\n", "a table drawn"),
        ("---\nHello.\n--\n- - -\n", "text"),
        ("Anna\tHello there.\nBob\tGood night.\n", "a table without"),
        ("0.000\t3.000\tHello there.\n3.000\t5.000\tGood night.\n", "a table without"),
        ("Character,Line,Notes\nAnna,Hello.,\nBob,Bye.,loud\n", "a table without"),
        ("1;Hello there.\n2;Good night.\n", "a table without"),
        ("Hello,world\n", "text"),
        ("One\ttwo\nthree\n", "text"),
    ],
)
def test_what_looks_like_something_else_in_its_lines(suffix: str, text: str, expected: str) -> None:
    assert kind(text, suffix).startswith(expected)


@pytest.mark.parametrize("name", PROSE)
@pytest.mark.parametrize("suffix", ["", ".txt"])
def test_prose_is_prose(name: str, suffix: str) -> None:
    assert kind(PROSE[name], suffix) == "text"


@pytest.mark.parametrize(
    "text",
    [
        "<!--" + "-" * 50_000,
        "[" + " " * 50_000,
        "{" + " " * 50_000,
        '{"' + "\\" * 50_001,
        "#\n" * 50_000,
        "{'" * 20_000,
        "<?xml" + " " * 50_000,
        "\n" * 100_000 + "a|b",
    ],
)
def test_what_is_made_to_take_long_does_not(text: str) -> None:
    assert kind(text) in ("text", "an XML document")
