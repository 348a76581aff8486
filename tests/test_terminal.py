from __future__ import annotations

import pytest

from voxcli.terminal import clock, counted, format_duration, nearest, one_line, printable, wrapped


@pytest.mark.parametrize(
    ("name", "seen"),
    [
        ("plain  name \u00e9\u4e2d\u3000\U0001f600", "plain  name \u00e9\u4e2d\u3000\U0001f600"),
        ("a\nb\r\tc", r"a\nb\r\tc"),
        ("\x1b[2J\x07\x9b", r"\x1b[2J\x07\x9b"),
        ("\u2028\u202e\udc80", r"\u2028\u202e\udc80"),
    ],
)
def test_what_a_terminal_would_obey_is_escaped(name: str, seen: str) -> None:
    assert printable(name) == seen


def test_a_message_is_one_line_and_keeps_its_spaces() -> None:
    assert one_line("two  spaces.wav: the disk \n  is\r\nfull\x1b\n") == r"two  spaces.wav: the disk is full\x1b"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0.0 s"), (2.44, "2.4 s"), (59.9, "59.9 s"), (59.96, "1 min 00 s"), (200, "3 min 20 s"), (3720, "1 h 02 min")],
)
def test_a_duration_has_the_units_of_its_size(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


def test_a_noun_agrees_with_its_number() -> None:
    assert [counted(count, "line") for count in (0, 1, 2)] == ["0 lines", "1 line", "2 lines"]
    assert [counted(count, "patch", "patches") for count in (1, 2)] == ["1 patch", "2 patches"]


OPTIONS = ["--cfg", "--out", "--file", "--steps", "--max-chars", "--max-seconds", "--sample-rate", "--ref"]


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("--step", "--steps"),  # one character missing
        ("--setps", "--steps"),  # two characters swapped
        ("--Steps", "--steps"),
        ("--sampling-rate", "--sample-rate"),  # three typos in thirteen characters
        ("--output", "--out"),  # the same beginning
        ("--max-sec", "--max-seconds"),
        ("--max", None),  # the beginning of two options
        ("--gpu", None),
        ("--quiet", None),
        ("--verbose", None),
        ("--c", None),
        ("--" + "x" * 100_000, None),
    ],
)
def test_only_a_near_name_is_a_guess(name: str, meant: str | None) -> None:
    assert nearest(name, OPTIONS) == meant


def test_no_guess_among_nothing() -> None:
    assert nearest("anna", []) is None


@pytest.mark.parametrize(("seconds", "shown"), [(0, "0:00"), (11.9, "0:11"), (725, "12:05"), (3723, "1:02:03")])
def test_clocks_show_minutes_and_seconds(seconds: float, shown: str) -> None:
    assert clock(seconds) == shown


def test_lines_break_at_spaces_and_paths_stay_whole() -> None:
    line = "1 min 30 s of audio in 20.0 s: 4.50x real time (demo voice on cpu, float32)"
    assert wrapped(line, 60) == ["1 min 30 s of audio in 20.0 s: 4.50x real time (demo voice", "  on cpu, float32)"]
    assert wrapped(line, 80) == [line]
    path = "next: " + "a" * 70 + "-b.html"
    assert wrapped(path, 60) == ["next:", f"  {'a' * 70}-b.html"]
    assert wrapped("", 60) == [""]
