"""Subtitles by word are golden, and every word is shown at its time."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from voxcli.artifacts.karaoke import ass, vtt_by_word
from voxcli.artifacts.subtitles import check_subtitles, subtitles_path, write_subtitles
from voxcli.errors import InputError
from voxcli.jobs.result import Cue

CUES = [Cue(0.0, 1.92, "The sun \u2013 is rising."), Cue(2.2, 3.0, "Good {luck} & <joy>!")]
WORDS = [
    Cue(0.1, 0.3, "The"),
    Cue(0.35, 0.8, "sun"),
    Cue(0.9, 1.1, "is"),
    Cue(1.1, 1.7, "rising."),
    Cue(2.2, 2.4, "Good"),
    Cue(2.4, 2.6, "{luck}"),
    Cue(2.6, 2.9, "<joy>!"),
]


def test_vtt_by_word_is_golden() -> None:
    assert vtt_by_word(CUES, WORDS) == (
        "WEBVTT\n\n"
        "00:00:00.000 --> 00:00:01.920\n"
        "<00:00:00.100><c>The</c> <00:00:00.350><c>sun</c> \u2013 <00:00:00.900><c>is</c> "
        "<00:00:01.100><c>rising.</c>\n\n"
        "00:00:02.200 --> 00:00:03.000\n"
        "<c>Good</c> <00:00:02.400><c>{luck}</c> &amp; <00:00:02.600><c>&lt;joy&gt;!</c>\n"
    )


def test_karaoke_is_golden() -> None:
    """The tags of a line last as long as the line, in hundredths of a second."""
    lines = ass(CUES, WORDS).splitlines()
    assert lines[0] == "[Script Info]"
    assert lines[-2:] == [
        "Dialogue: 0,0:00:00.00,0:00:01.92,Default,,0,0,0,,"
        "{\\k10}{\\k25}The {\\k55}sun \u2013 {\\k20}is {\\k82}rising.",
        "Dialogue: 0,0:00:02.20,0:00:03.00,Default,,0,0,0,,{\\k20}Good {\\k20}(luck) & {\\k40}<joy>!",
    ]
    assert sum(map(int, re.findall(r"\\k(\d+)", lines[-2]))) == 192


def test_a_long_cue_is_shown_on_several_screens_by_its_words() -> None:
    text = "It went on for an hour, and nobody said a word; then the rain came, and with it the wind and the night."
    words = [Cue(0.5 * n, 0.5 * n + 0.4, word) for n, word in enumerate(text.split())]
    shown = vtt_by_word([Cue(0.0, 12.0, text)], words)
    assert re.findall(r"(\S+) --> (\S+)", shown) == [
        ("00:00:00.000", "00:00:05.500"),
        ("00:00:05.500", "00:00:12.000"),
    ]
    assert re.findall(r"<c>([^<]*)</c>", shown) == text.split()
    assert len(re.findall(r"<00:", shown)) == len(words) - 2, "the first word of a screen needs no time"


def test_a_cue_without_words_is_shown_whole() -> None:
    assert vtt_by_word(CUES[:1], []) == ("WEBVTT\n\n00:00:00.000 --> 00:00:01.920\nThe sun \u2013 is rising.\n")
    assert ass(CUES[:1], []).splitlines()[-1].endswith(",,The sun \u2013 is rising.")


def test_words_of_chinese_have_no_spaces() -> None:
    words = [Cue(0.0, 0.3, "\u4eca"), Cue(0.3, 0.6, "\u5929"), Cue(0.6, 1.0, "\u597d\u3002")]
    shown = vtt_by_word([Cue(0.0, 1.0, "\u4eca\u5929\u597d\u3002")], words)
    assert shown.endswith("<c>\u4eca</c><00:00:00.300><c>\u5929</c><00:00:00.600><c>\u597d\u3002</c>\n")


def test_files(tmp_path: Path) -> None:
    audio = tmp_path / "a.wav"
    assert subtitles_path(audio, "words").name == "a.vtt"
    assert subtitles_path(audio, "karaoke").name == "a.ass"
    write_subtitles(tmp_path / "a.ass", CUES, "karaoke", WORDS)
    assert (tmp_path / "a.ass").read_text(encoding="utf-8") == ass(CUES, WORDS)


def test_words_need_the_check() -> None:
    check_subtitles("vtt", checked=False)
    check_subtitles("karaoke", checked=True)
    with pytest.raises(InputError, match="--subtitles words needs --check, which hears when each word is spoken"):
        check_subtitles("words", checked=False)
