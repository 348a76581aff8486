import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from voxcli.text.characters import is_plain
from voxcli.text.clean import clean, finish, is_speakable
from voxcli.text.markup import TextNotes
from voxcli.text.scripts import unknown_scripts

# Characters that break text tools, and that are rare in random Unicode.
TRICKY = st.text(
    st.one_of(
        st.sampled_from(
            list(" \t\n\r*_`~#>-+|<>[](){}!.,:/'\"aB1")
            + list("\u2014\u2013\u2026\u200b\u200d\u00ad\ufeff\u0301e\u4f60\u3002\uff08\uff09")
        ),
        st.characters(),
    ),
    max_size=60,
)


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("\u201cHello\u201d it\u2019s \u2018me\u2019", "\"Hello\" it's 'me'"),
        ("10\u201312 Paris\u2013London", "10-12 Paris-London"),
        ("Wait\u2014what", "Wait - what"),
        ("a \u2212 b, well\u2011known", "a - b, well-known"),
        ("And then\u2026", "And then..."),
        ("one\u00a0two\u3000three\u2009four", "one two three four"),
        ("zero\u200bwidth soft\u00adhyphen \ufeffBOM w\u2060j", "zerowidth softhyphen BOM wj"),
        ("tab\there\r\nand\rthere\vend", "tab here and there end"),
        ("bell\x07 nul\x00 esc\x1b[31mred\x1b[0m", "bell nul esc" + "red"),
        ("  many   spaces  ", "many spaces"),
        ("cafe\u0301", "caf\u00e9"),
        ("\ufb01ne \ufb02oor", "fine floor"),
        ("\uff21\uff22\uff23\uff11\uff12\uff13", "ABC123"),
        ("\uff76\uff9e", "\u30ac"),
        ("half \ud800 a pair", "half a pair"),
        ("private \ue000 use \ufffd", "private use"),
        ("don\u00b4t don`t", "don't don't"),
        ("Great \U0001f600\U0001f44d\U0001f3fd job \u2764\ufe0f", "Great job"),
        ("family \U0001f468\u200d\U0001f469\u200d\U0001f467 here", "family here"),
        ("1\ufe0f\u20e3 first", "1 first"),
        ("\u4f60\u597d\u2014\u2014\u4e16\u754c\u2026\u2026", "\u4f60\u597d\u2014\u2014\u4e16\u754c\u2026\u2026"),
        ("\u4ed6\u8bf4\u2026\u597d", "\u4ed6\u8bf4\u2026\u2026\u597d"),
        ("\u4e2d\u6587\n\u6362\u884c", "\u4e2d\u6587\u6362\u884c"),
        ("\u4f60\u597d\uff0c\u4e16\u754c\uff01", "\u4f60\u597d\uff0c\u4e16\u754c\uff01"),
        # Persian and Hindi need the joiners that are noise in English.
        (
            "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 he\u200cllo",
            "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 hello",
        ),
    ],
)
def test_characters(raw: str, expected: str) -> None:
    assert clean(raw) == expected


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("# Title\n\n- one\n* two\n+ three", "Title one two three"),
        ("**bold** and *slanted*, __both__ _ways_, ~~gone~~", "bold and slanted, both ways, gone"),
        ("\u8fd9\u662f**\u91cd\u70b9**\u5185\u5bb9", "\u8fd9\u662f\u91cd\u70b9\u5185\u5bb9"),
        ("Run `make` now", "Run make now"),
        ("```python\nx = 1\n```", "x = 1"),
        ("See [the docs](https://example.com/a_b) or ![a map](map.png).", "See the docs or a map."),
        ("<https://example.com> is up", "https://example.com is up"),
        ("> quoted\n---\ntext", "quoted text"),
        ("| a | b |\n|---|---|\n| 1 | 2 |", "a, b 1, 2"),
        ("<p>One<br/>two <b>three</b></p><!-- no -->", "One two three"),
        ('<a href="https://example.com">link</a>', "link"),
    ],
)
def test_markup_is_removed_and_words_stay(raw: str, expected: str) -> None:
    assert clean(raw) == expected


@pytest.mark.parametrize(
    "text",
    [
        "if a < b and c > d",
        "if a <b and c> d, then a <b> c",
        "2 * 3 * 4 = 24, 2**3**4",
        "snake_case_name and __init__.py",
        "{HH AH0 L OW1} and {ni3}{hao3}",
        "[laughing] Well, [sigh](softly) no.",
        "100% of $5 & 50\u00b0, \u00a9 2024, 5 > 3",
        "https://example.com/a_b?c=d#e and a.b@example.com",
        "\u00abBonjour\u00bb, \u00bfqu\u00e9? C:\\temp #5",
        "1. First. 2. Second.",
        "~5 minutes, a|b, x^2",
    ],
)
def test_plain_text_that_looks_like_markup_is_unchanged(text: str) -> None:
    assert clean(text) == text


def test_paragraphs_are_kept_on_request() -> None:
    text = "# One\n\nfirst line\nsecond line\n \n\n\nlast"
    assert clean(text, paragraphs=True) == "One\n\nfirst line second line\n\nlast"
    assert clean(text) == "One first line second line last"


@given(TRICKY)
@example("- - - a")
@example("[[a](b/c)](d/e)")
@example("e\u200b\u0301")
@example("\x1b\x00[31m")
@example("<b><b></b></b>")
@example("*\u200b*a**")
def test_cleaning_twice_changes_nothing(text: str) -> None:
    once = clean(text)
    assert clean(once) == once
    assert once == unicodedata.normalize("NFC", once).strip()
    assert "  " not in once and "\n" not in once
    assert not [char for char in once if unicodedata.category(char) in ("Cc", "Cs", "Co", "Cn")]
    with_paragraphs = clean(text, paragraphs=True)
    assert clean(with_paragraphs, paragraphs=True) == with_paragraphs


RAISED = "\u00b9\u00b2\u00b3\u2070\u2074\u2075\u2076\u2077\u2078\u2079"  # note marks, if they follow a word


@given(st.text(st.characters(codec="utf-8", categories=["L", "N"], exclude_characters=RAISED), max_size=20))
@example("\u2776\U0001f100\u2460")
def test_letters_survive(text: str) -> None:
    """Compared in NFKC, because cleaning replaces compatibility forms on purpose."""
    assert unicodedata.normalize("NFKC", clean(text)) == unicodedata.normalize("NFKC", text)


@given(TRICKY)
def test_cleaning_leaves_plain_text_unchanged(text: str) -> None:
    from voxcli.text.clean import _clean_once

    if is_plain(text):
        assert _clean_once(text, TextNotes()) == text


@pytest.mark.parametrize(
    "text", ["a", "7", "\u597d", "\u0e01", "\u00b2", "(warm) Hi", "(2)", "{HH AH0}", "\uff08\u6e29\u67d4\uff09\u597d"]
)
def test_speakable(text: str) -> None:
    assert is_speakable(text)


@pytest.mark.parametrize("text", ["", " ", "...", "?!", "\U0001f600", "(((", "\u2014"])
def test_not_speakable(text: str) -> None:
    assert not is_speakable(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hello", "Hello."),
        ("Hello!", "Hello!"),
        ('He said "no"', 'He said "no".'),
        ('He said "no."', 'He said "no."'),
        ("Well,", "Well,"),
        ("Then - ", "Then -"),
        ("\u4f60\u597d", "\u4f60\u597d\u3002"),
        ("\u4f60\u597d\uff1f\u201d", "\u4f60\u597d\uff1f\u201d"),
        ("\u3053\u3093\u306b\u3061\u306f", "\u3053\u3093\u306b\u3061\u306f\u3002"),
        ("\uc548\ub155", "\uc548\ub155."),
        ("\u0928\u092e\u0938\u094d\u0924\u0947", "\u0928\u092e\u0938\u094d\u0924\u0947\u0964"),
        ("\u5171 15", "\u5171 15\u3002"),
        ("{HH AH0}", "{HH AH0}."),
        ("", ""),
    ],
)
def test_finish(text: str, expected: str) -> None:
    assert finish(text) == expected
    assert finish(expected) == expected


def test_unknown_scripts() -> None:
    spoken = (
        "English \u4e2d\u6587 \u3072\u3089 \u30ab\u30ca \ud55c \u0645 \u05d0 \u0416 \u03a9 \u0905 \u0e01 "
        "\u0e81 \u1780 \u1000 \u1ec7 5 ! \U0001d400 \u00aa \u00b5"
    )
    assert unknown_scripts(spoken) == []
    assert unknown_scripts("a \u10d2\u10d0 \u12a0 \u0b95 \u10d0") == ["Georgian", "Ethiopic", "Tamil"]


@pytest.mark.parametrize("sign", ["===", "==", "---", "~~~", "***", "====="])
def test_signs_around_a_heading_are_not_spoken(sign: str) -> None:
    assert clean(f"{sign} Part One {sign}") == "Part One"
    assert clean(f"It was late.\n\n{sign}Part Two{sign}\n\nIt rained.") == "It was late. Part Two It rained."
    assert clean(f"a {sign} b") == f"a {sign} b"
