from __future__ import annotations

import pytest

from voxcli.terminal import one_line, shown


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
    assert shown(name) == seen


def test_a_message_is_one_line_and_keeps_its_spaces() -> None:
    assert one_line("two  spaces.wav: the disk \n  is\r\nfull\x1b\n") == r"two  spaces.wav: the disk is full\x1b"
