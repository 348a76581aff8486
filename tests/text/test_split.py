import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voxcli.text.boundaries import Strength
from voxcli.text.split import CLAUSE_PAUSE_S, PARAGRAPH_PAUSE_S, SENTENCE_PAUSE_S, WORD_PAUSE_S, Segment, split


def texts(text: str, max_chars: int) -> list[str]:
    return [segment.text for segment in split(text, max_chars)]


def squeezed(text: str) -> str:
    return re.sub(r"\s", "", text)


MIXED = st.text(
    st.one_of(
        st.sampled_from(list("aaab A.,!?;:'\"()1 \n-{}[]\u4f60\u597d\u3002\uff0c\u3042\u30a2\u0e01\u0e32\u0301")),
        st.characters(),
    ),
    max_size=120,
)


@given(MIXED, st.integers(1, 40))
def test_segments_keep_the_limit_and_are_the_whole_text(text: str, max_chars: int) -> None:
    segments = split(text, max_chars)
    assert squeezed("".join(segment.text for segment in segments)) == squeezed(text)
    for segment in segments:
        assert 0 < len(segment.text) <= max_chars
        assert segment.text == segment.text.strip()
    assert [segment.pause_s for segment in segments[-1:]] in ([], [0.0])
    assert all(segment.pause_s > 0 for segment in segments[:-1])


def test_short_text_is_one_segment() -> None:
    assert split("Hello there. How are you?", 100) == [Segment("Hello there. How are you?", 0.0)]
    assert split("  ", 10) == []


def test_sentences_then_clauses_then_spaces() -> None:
    assert texts("One two. Three four! Five six?", 22) == ["One two. Three four!", "Five six?"]
    assert texts("One two, three four; five six.", 22) == ["One two, three four;", "five six."]
    assert texts("one two three four five six", 15) == ["one two three", "four five six"]
    assert texts("abcdefghij", 4) == ["abcd", "efgh", "ij"]


def test_a_broken_sentence_leaves_no_single_word() -> None:
    assert texts("aaaa bbbb cccc dddd eeee ffff g", 29) == ["aaaa bbbb cccc", "dddd eeee ffff g"]


def test_pauses_follow_the_punctuation() -> None:
    segments = split("One two three.\n\nFour five six. Seven eight, nine ten eleven twelve", 16)
    assert segments == [
        Segment("One two three.", PARAGRAPH_PAUSE_S),
        Segment("Four five six.", SENTENCE_PAUSE_S),
        Segment("Seven eight,", CLAUSE_PAUSE_S, Strength.CLAUSE),
        Segment("nine ten", WORD_PAUSE_S, Strength.SPACE),
        Segment("eleven twelve", 0.0),
    ]


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("He paid 3.50 dollars. Then he left.", "He paid 3.50 dollars."),
        ("Mr. Smith met Dr. J. R. Jones. They talked.", "Mr. Smith met Dr. J. R. Jones."),
        ("See fig. 3 and No. 5 of vol. 2. It helps.", "See fig. 3 and No. 5 of vol. 2."),
        ("She came at 3 p.m. Everyone was there already.", "She came at 3 p.m."),
        ("Fruit, e.g. apples, is fine. So is bread.", "Fruit, e.g. apples, is fine."),
        ("Go to https://example.com/a.b?c=1,d now. Then come back.", "Go to https://example.com/a.b?c=1,d now."),
        ("Mail jane.doe@example.com today. Thanks a lot.", "Mail jane.doe@example.com today."),
        ("So am I. You are not so sure.", "So am I."),
        ('"Stop!" he said. Nobody moved at all.', '"Stop!" he said.'),
        ("Really?! Yes, really and truly.", "Really?!"),
        ("Wait... what was that. Nothing.", "Wait... what was that."),
        ("No. I will not do that at all.", "No."),
        ('He said "no." She nodded slowly.', 'He said "no."'),
        ("Version 2.0.3 is out. Get it.", "Version 2.0.3 is out."),
    ],
)
def test_sentence_ends(text: str, first: str) -> None:
    assert texts(text, len(text) - 1)[0] == first


@pytest.mark.parametrize(
    "atom",
    [
        "1,234,567.89",
        "1 000 000",
        "Mr. Smith",
        "2.0.3",
        "{HH AH0 L OW1}",
        "[very loud]",
        "a.b@example.com",
        "10:30",
        "10 %",
        "https://a.com/x,y",
    ],
)
@pytest.mark.parametrize("before", ["a", "aa", "aaa aaa", "aaaa, aaa", "a. A"])
def test_numbers_names_and_addresses_are_not_cut(atom: str, before: str) -> None:
    for bound in range(len(atom), len(atom) + 12):
        assert any(atom in segment for segment in texts(f"{before} {atom} bbb bbb bbb", bound)), bound


def test_chinese_and_japanese() -> None:
    text = (
        "\u4eca\u5929\u5929\u6c14\u771f\u597d\uff01\u6211\u4eec\u53bb\u516c\u56ed\u73a9\uff0c\u597d\u4e0d\u597d\uff1f"
        "\u4ed6\u8bf4\uff1a\u201c\u5f53\u7136\u53ef\u4ee5\u3002\u201d"
    )
    assert texts(text, 13) == [
        "\u4eca\u5929\u5929\u6c14\u771f\u597d\uff01",
        "\u6211\u4eec\u53bb\u516c\u56ed\u73a9\uff0c\u597d\u4e0d\u597d\uff1f",
        "\u4ed6\u8bf4\uff1a\u201c\u5f53\u7136\u53ef\u4ee5\u3002\u201d",
    ]
    # Never inside a number, a Latin word or a run of katakana; small kana and length marks never come first.
    assert texts("\u5728\u4e24\u5343\u5e74\u7528iPhone15\u624b\u673a", 10) == [
        "\u5728\u4e24\u5343\u5e74\u7528",
        "iPhone15\u624b\u673a",
    ]
    assert texts("\u6771\u4eac\u306e\u30b3\u30f3\u30d4\u30e5\u30fc\u30bf\u30fc", 9) == [
        "\u6771\u4eac\u306e",
        "\u30b3\u30f3\u30d4\u30e5\u30fc\u30bf\u30fc",
    ]


def test_accents_stay_with_their_letters() -> None:
    assert texts("e\u0301" * 6, 5) == ["e\u0301" * 2] * 3


def test_the_limit_must_be_positive() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        split("text", 0)
