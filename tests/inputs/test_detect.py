"""The format is detected from the content, then from the name; prose is never anything else."""

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
        ("", "<?xml version='1.0'?><speak>Hello.</speak>", "ssml"),
        ("", "<speak>Hello.</speak>", "ssml"),
        (".ssml", "Hello.", "ssml"),
        ("", "<speak>Hello.</speak>\nGood night.", "text"),
        ("", "<!DOCTYPE chapter>\n<chapter>Hello.</chapter>", "an XML document"),
        ("", "---\ntitle: A story\n---\n\nIt was late.\n", "markdown"),
        ("", "It was late.\n\n```\nprint(1)\n```\n", "markdown"),
        ("", "---\n\nIt was late.\n\n---\n", "text"),
        ("", "<p>Hello.</p>", "text"),
        (".yaml", "- text: Hello.", "a settings file"),
        ("", "[Script Info]\nTitle: a", "subtitles of another kind than .srt and .vtt"),
        ("", "{1}{50}Hello.", "subtitles of another kind than .srt and .vtt"),
        ("", "", "text"),
        (".xml", '<?xml version="1.0"?>\n<speak>Hello.</speak>', "ssml"),
        ("", "[ti:A song]\n[ar:Anna]\n[00:12.00]One line\n", "subtitles of another kind than .srt and .vtt"),
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
