"""Chats, logs and transcripts are refused, with or without a name that tells; prose with times is prose."""

from __future__ import annotations

import pytest

from tests.inputs.test_detect import kind

TIMES = "a chat, a log or a transcript, with times in its lines"


@pytest.mark.parametrize("suffix", ["", ".txt", ".log"])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[12/03/24, 18:22:01] Anna: Hello.\n[12/03/24, 18:22:31] Bob: Yes?\nNo.\n", TIMES),
        ("12.03.2024, 18:22 - Anna: Hello.\n12.03.2024, 18:23 - Bob: Yes?\n", TIMES),
        ("2024-03-12T18:22:01 INFO begun\n2024-03-12T18:22:02 INFO done\n", TIMES),
        ("Nov 28 18:22:01 host cron[12]: begun\nNov  8 18:22:02 host cron[12]: done\n", TIMES),
        ("11-28 18:22:01.123  12  34 I Tag: begun\n11-28 18:22:01.124  12  34 I Tag: done\n", TIMES),
        ("<anna> are you there?\n<bob> yes\n* anna waves\n[18:22] <bob> bye\n", TIMES),
        ("18:22 <@anna> are you there?\n18:23 <bob> yes\n", TIMES),
        ("18:22 - Anna: are you there?\n18:23 - Bob: yes\n", TIMES),
        ("18:22:05 From Anna to Everyone: hello\n18:22:09 From Bob to Everyone: hi\n", TIMES),
        ("00:00:01 Anna: Hello there.\n00:00:05 Bob: Good night.\n", TIMES),
        ("00:00:01 He wakes up.\n00:00:04 He leaves.\n", TIMES),
        ("00:00:01,250 Hello there.\n00:00:04,500 Good night.\n", TIMES),
        ("00:00:01:12 Hello there.\n00:00:04:07 Good night.\n", TIMES),
        ("[00:01] Hello there.\n[00:04] Good night.\n", TIMES),
        ("(0:01) Hello there.\n(0:04) Good night.\n", TIMES),
        ("0:00\nHello there.\n0:05\nGood night.\n1:10\nThe end.\n", TIMES),
        ("0:00 Hello there.\n0:05 Good night.\n", TIMES),
        ("Speaker 1  0:05\nHello there.\n\nSpeaker 2  0:09\nGood night.\n", TIMES),
        ("anna \u2014 Today at 6:22 PM\nhello\nbob \u2014 Today at 6:23 PM\nhi\nhow are you?\n", TIMES),
        ("INFO: begun\nWARNING: slow\nINFO: done\n", "a log"),
        ("[ 0.000000] Linux version 6\n[    1.250000] done\n", "a log"),
        ('1.2.3.4 - - [28/Nov/2026:18:22:01 +0000] "GET /"\n' * 2, "a log"),
        ("12/03/24, 18:22 was the time.\nNobody knew.\nIt was late.\n", "text"),
        ("At 18:22 he came.\nAt 18:23 she left.\n", "text"),
        ("18:22 was the time.\n18:23 was too late.\n", "text"),
        ("<b>Hello</b> there.\n<i>Good</i> night.\n", "text"),
        ("[18:22] It was late.\nNobody knew.\nIt rained.\n", "text"),
        ("Doors open 7:00 PM\nDinner at 8:00 PM\n", "text"),
        ("Half past nine: tea.\nINFO about trains: none.\n", "text"),
    ],
)
def test_times_in_lines(suffix: str, text: str, expected: str) -> None:
    assert kind(text, suffix) == expected
