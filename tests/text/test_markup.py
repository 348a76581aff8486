from __future__ import annotations

import pytest

from voxcli.text.clean import clean, read_text
from voxcli.text.markup import TextNotes, left_over_tags, pause_mark


@pytest.mark.parametrize(
    ("raw", "seconds"),
    [
        ("[pause]", "0.5"),
        ("[Pause 2]", "2"),
        ("[pause 1.5s]", "1.5"),
        ("[pause 1,5 s]", "1.5"),
        ("[pause: 250ms]", "0.25"),
        ("[pause=3sec]", "3"),
        ('<break time="700ms"/>', "0.7"),
        ("<break time='1.2s' />", "1.2"),
        ('<break time="2"></break>', "2"),
        ("<BREAK TIME=.5s>", "0.5"),
        ("<break/>", "0.5"),
        ('<break strength="strong"/>', "1"),
        ('<break strength="none"/>', "0"),
        ("[pause 99999999999999999999s]", "100000000"),
    ],
)
def test_pauses_take_one_form(raw: str, seconds: str) -> None:
    assert clean(f"a {raw} b") == f"a [pause {seconds}s] b"


def test_a_pause_mark_has_the_fewest_digits() -> None:
    assert [pause_mark(seconds) for seconds in (0.7, 2.0, 1 / 3)] == ["[pause 0.7s]", "[pause 2s]", "[pause 0.333333s]"]


@pytest.mark.parametrize(
    ("raw", "expected", "dropped"),
    [
        ('<speak>Now <emphasis level="strong">run</emphasis>!</speak>', "Now run!", ["emphasis"]),
        ('<prosody rate="slow">slow</prosody> and <voice name="x">her</voice>', "slow and her", ["prosody", "voice"]),
        ('<sub alias="World Wide Web">WWW</sub>', "World Wide Web", []),
        ('<say-as interpret-as="date">1 May</say-as>', "1 May", ["say-as"]),
        ('<mstts:express-as style="sad">Oh.</mstts:express-as>', "Oh.", ["mstts:express-as"]),
        ("<foo>bar</foo>", "bar", ["foo"]),
        ('<img src="a.png"/>a <widget id="3"/> b', "a b", ["widget"]),
        ('<?xml version="1.0"?><speak version="1.1">Hi</speak>', "Hi", []),
        ('a <break time="soon"/> b', "a b", ["break"]),
        ("<speak><s>One</s><s>Two</s></speak>", "One Two", []),
    ],
)
def test_tags_are_dropped_and_counted(raw: str, expected: str, dropped: list[str]) -> None:
    notes = TextNotes()
    assert read_text(raw, notes).replace("\ue002", "") == expected
    assert list(notes.tags) == dropped


@pytest.mark.parametrize(
    "text", ["a < b", "x <y> z", "if a <b and c> d", "List<String> of Map<Key, Value>", "1 < 2 > 0", "<3 you", "a<b>c"]
)
def test_text_without_markup_stays(text: str) -> None:
    assert clean(text) == text


def test_left_over_tags_are_listed_once() -> None:
    assert left_over_tags("x <y> z <y> < a") == ["<y>"]


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("Tom &amp; Jerry", "Tom & Jerry"),
        ("&quot;No&quot;&nbsp;she said&hellip;", '"No" she said...'),
        ("caf&eacute; &#233; &#xE9;", "caf\u00e9 \u00e9 \u00e9"),
        ("3 &lt; 4", "3 < 4"),
        ("AT&T; R&D; &notareal; &", "AT&T; R&D; &notareal; &"),
        ("a&#xE003;b &#0; &#xD800; &#1114112;", "ab"),
    ],
)
def test_entities_are_decoded(raw: str, expected: str) -> None:
    assert clean(raw) == expected
