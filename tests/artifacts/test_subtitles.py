from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voxcli.artifacts.screens import COLUMNS, LINES, width, wrap
from voxcli.artifacts.subtitles import srt, subtitles_path, vtt, write_subtitles
from voxcli.jobs.cues import make_cues
from voxcli.jobs.result import Cue
from voxcli.text.script import SpokenSegment

CUES = [
    Cue(0.0, 1.92, "The sun is rising."),
    Cue(
        2.22,
        3661.0004,
        "It went on for an hour, and nobody said a word; then the rain came, and with it the wind & the night.",
    ),
]


def test_srt_is_golden() -> None:
    # the second text is shown in two parts, of 47 and 53 characters: 2.22 s + 0.47 x 3658.78 s = 28 min 41.847 s
    assert srt(CUES) == (
        "1\n00:00:00,000 --> 00:00:01,920\nThe sun is rising.\n\n"
        "2\n00:00:02,220 --> 00:28:41,847\nIt went on for an hour,\nand nobody said a word;\n\n"
        "3\n00:28:41,847 --> 01:01:01,000\nthen the rain came, and with\nit the wind & the night.\n"
    )


def test_vtt_is_golden() -> None:
    assert vtt(CUES) == (
        "WEBVTT\n\n"
        "00:00:00.000 --> 00:00:01.920\nThe sun is rising.\n\n"
        "00:00:02.220 --> 00:28:41.847\nIt went on for an hour,\nand nobody said a word;\n\n"
        "00:28:41.847 --> 01:01:01.000\nthen the rain came, and with\nit the wind &amp; the night.\n"
    )


def test_texts_are_escaped() -> None:
    hostile = [Cue(0, 1, "a <b>bold</b> move\n\n2\n00:00:09,000 --> 00:00:10,000\nif x < 3 {\\an8}top")]
    blocks = [block.split("\n") for block in srt(hostile).rstrip("\n").split("\n\n")]
    assert [block[0] for block in blocks] == [str(number) for number in range(1, len(blocks) + 1)]
    assert blocks[0][1].startswith("00:00:00,000 --> ") and blocks[-1][1].endswith(" --> 00:00:01,000")
    text = "\n".join("\n".join(block[2:]) for block in blocks)
    assert "-->" not in text
    assert "<b>" not in text and "{\\" not in text
    assert "if x < 3" in text.replace("\n", " ")
    assert text.replace("\u2060", "").split() == hostile[0].text.split()
    cues = vtt(hostile).split("\n\n")[1:]
    assert all("<" not in cue and cue.count("-->") == 1 for cue in cues)
    assert "a &lt;b&gt;bold&lt;/b&gt; move" in cues[0]


def test_no_cues_make_a_valid_file() -> None:
    assert srt([]) == ""
    assert vtt([]) == "WEBVTT\n"


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("Short.", ["Short."]),
        ("The quick brown fox jumps over the lazy dog.", ["The quick brown fox", "jumps over the lazy dog."]),
        ("\u592a\u9633\u5347\u8d77\u6765\u4e86\uff0c" * 4, ["\u592a\u9633\u5347\u8d77\u6765\u4e86\uff0c" * 2] * 2),
        ("x" * 50, ["x" * 25] * 2),
    ],
)
def test_lines_are_few_and_even(text: str, lines: list[str]) -> None:
    assert wrap(text) == lines


@given(st.text(max_size=400), st.floats(0, 1e5), st.floats(0.1, 100))
def test_any_text_fits_the_screen_and_keeps_letters_and_time(text: str, start: float, length: float) -> None:
    blocks = [
        block.split("\n") for block in srt([Cue(start, start + length, text)]).rstrip("\n").split("\n\n") if block
    ]
    for _, _, *lines in blocks:
        assert 1 <= len(lines) <= LINES
        assert all(width(line) <= COLUMNS for line in lines)
    shown = "".join(line for _, _, *lines in blocks for line in lines)
    assert "".join(shown.replace("\u2060", "").split()) == "".join(text.replace("\u2060", "").split())
    times = [time for _, times, *_ in blocks for time in times.split(" --> ")]
    assert times == sorted(times)


def test_cues_follow_the_clips_and_their_pauses() -> None:
    segments = [
        SpokenSegment("(a warm voice)One.", 0.3, "One."),
        SpokenSegment("Two,", 0.15, "Two"),
        SpokenSegment("Three.", 0.0, "Three."),
    ]
    assert make_cues(segments, [16_000, 8_000, 8_000], 16_000, 10**9) == (
        Cue(0.0, 1.0, "One."),
        Cue(1.3, 1.8, "Two"),
        Cue(1.95, 2.45, "Three."),
    )
    assert make_cues(segments, [16_000, 8_000, 8_000], 16_000, 24_000) == (Cue(0.0, 1.0, "One."), Cue(1.3, 1.5, "Two"))
    assert make_cues(segments[:1], [16_000], 16_000, 10**9, 2.0) == (Cue(2.0, 3.0, "One."),)
    assert Cue(1.0, 2.0, "One.").later(10.0) == Cue(11.0, 12.0, "One.")


def test_the_file_is_next_to_the_audio(tmp_path: Path) -> None:
    path = subtitles_path(tmp_path / "chapter.1.flac", "vtt")
    assert path == tmp_path / "chapter.1.vtt"
    write_subtitles(path, [Cue(0.0, 1.0, "\u597d\u3002")], "vtt")
    assert path.read_bytes() == "WEBVTT\n\n00:00:00.000 --> 00:00:01.000\n\u597d\u3002\n".encode()


def test_lines_of_a_cue_are_lines_on_the_screen() -> None:
    assert srt([Cue(0.0, 3.0, "two eggs\nmilk\na pan")]).split("\n\n")[0] == (
        "1\n00:00:00,000 --> 00:00:02,167\ntwo eggs\nmilk"
    )
    assert srt([Cue(0.0, 3.0, "two eggs\nmilk\na pan")]).endswith("\na pan\n")
