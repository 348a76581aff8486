from __future__ import annotations

import time

import pytest

from voxcli.errors import InputError
from voxcli.text.lexicon import MAX_SPOKEN, MAX_WORDS, Lexicon
from voxcli.text.words import tokens


@pytest.mark.parametrize(
    ("entries", "text", "spoken"),
    [
        # whole words
        ({"anna": "ah-na"}, "anna annabel joanna anna.", "ah-na annabel joanna ah-na."),
        ({"don": "dawn"}, "don don't Don's", "dawn don't dawn's"),
        ({"gpt": "G P T"}, "gpt-4 gpt4 (gpt) chatgpt", "G P T-4 gpt4 (G P T) chatgpt"),
        ({"3": "drei"}, "3 3.5 3,000 3. 13", "drei 3.5 3,000 drei. 13"),
        ({"example": "X"}, "www.example.com example.", "www.example.com X."),
        ({"über": "oo-ber"}, "über Über ÜBER überall u\u0308ber", "oo-ber oo-ber oo-ber überall u\u0308ber"),
        ({"eau": "oh"}, "l'eau d'eau beau", "l'oh d'oh beau"),
        # scripts without spaces, and neighbouring scripts
        ({"重庆": "chóng qìng"}, "我在重庆住。", "我在chóng qìng住。"),
        ({"GPT": "ジーピーティー"}, "これはGPTです", "これはジーピーティーです"),
        ({"アプリ": "app"}, "アプリ、アプリケーション", "app、アプリケーション"),
        ({"नमस्ते": "X"}, "नमस्ते नमस्तेजी", "X नमस्तेजी"),
        # case
        ({"nginx": "engine x"}, "nginx Nginx NGINX nGinx", "engine x engine x engine x nGinx"),
        ({"NASA": "nassa"}, "NASA nasa Nasa", "nassa nasa Nasa"),
        ({"Polish": "Poh-lish", "polish": "pah-lish"}, "Polish polish POLISH", "Poh-lish pah-lish pah-lish"),
        ({"straße": "X", "masse": "Y"}, "Straße STRASSE strasse Masse Maße", "X X strasse Y Maße"),
        ({"москва": "X"}, "Москва МОСКВА москвА", "X X москвА"),
        # the longest first
        ({"new": "1", "new york": "2", "new york city": "3"}, "New York City, new york, New Yorker", "3, 2, 1 Yorker"),
        ({"a b": "1", "b c d": "2"}, "a b c d", "1 c d"),
        ({"new york": "2"}, "new\n\nyork", "new\n\nyork"),
        # marks
        ({"c++": "see plus plus", "c": "see"}, "C++ c C+", "see plus plus see see+"),
        ({".NET": "dot net"}, ".NET ASP.NET", "dot net ASP.NET"),
        ({"U.S.": "you ess"}, "the U.S. army", "the you ess army"),
        ({"&": "and"}, "R & D", "R and D"),
        # spoken forms are not searched again; markup is skipped
        ({"a": "b", "b": "a"}, "a b", "b a"),
        ({"laughing": "X", "hh": "Y"}, "[laughing] {hh ah} laughing [Laughing]", "[laughing] {hh ah} X [X]"),
        ({"anna": "{AE1 N AH0}"}, "Anna!", "{AE1 N AH0}!"),
    ],
)
def test_words_are_replaced_by_their_spoken_forms(entries: dict[str, str], text: str, spoken: str) -> None:
    found = Lexicon(entries).apply(text)
    assert found.text == spoken
    assert found.written == text


@pytest.mark.parametrize(
    ("entries", "part"),
    [
        ({"": "x"}, "the word before the spoken form is missing"),
        ({"x": " "}, "the spoken form of 'x' is missing"),
        ({"\U0001f600": "x"}, "never matches, because emoji"),
        ({"x": "y" * (MAX_SPOKEN + 1)}, f"has {MAX_SPOKEN + 1} characters; the maximum is {MAX_SPOKEN}"),
        ({"x " * MAX_WORDS: "y"}, f"has {2 * MAX_WORDS - 1} words and punctuation marks; the maximum is {MAX_WORDS}"),
        ({"x": "y", " x": "z"}, "' x' has two spoken forms: 'y' and 'z'"),
    ],
)
def test_unusable_entries_are_rejected(entries: dict[str, str], part: str) -> None:
    with pytest.raises(InputError, match=part.replace("(", r"\(")):
        Lexicon(entries)


def test_an_identical_entry_is_accepted() -> None:
    assert Lexicon({"x": "y", "x ": "y"}).apply("x").text == "y"


def test_parts_of_the_spoken_form_have_a_written_form() -> None:
    found = Lexicon({"nginx": "engine x", "new york": "noo yawk"}).apply("Nginx runs. In New York, it runs nginx")
    assert found.text == "engine x runs. In noo yawk, it runs engine x"
    parts = ["engine x runs.", "In noo", "yawk, it runs", "engine x"]
    assert found.written_parts(parts) == ["Nginx runs.", "In New York", ", it runs", "nginx"]
    assert found.written_parts(["other"]) == [None]


@pytest.mark.parametrize(
    "text", ["Anna's don't, 3.5", "重庆 GPT-4 हिन्दी", " \n\n a.b.c '", "l'été\u200d n'", "e\u0301x_1"]
)
def test_tokens_are_the_whole_text(text: str) -> None:
    assert "".join(token.text for token in tokens(text)) == text


def test_steps_do_not_depend_on_the_number_of_entries() -> None:
    """All entries have the same beginning, which the text repeats."""
    looked_at = 0

    class Counted(dict):  # type: ignore[type-arg]
        def get(self, *key: object) -> object:
            nonlocal looked_at
            looked_at += 1
            return super().get(*key)  # type: ignore[arg-type]

    def counted(node: dict) -> dict:  # type: ignore[type-arg]
        return Counted({key: counted(value) if isinstance(value, dict) else value for key, value in node.items()})

    counts = []
    for entries in (10, 1_000):
        lexicon = Lexicon({f"a a a a b{number}": "x" for number in range(entries)})
        lexicon.folded = counted(lexicon.folded)
        looked_at = 0
        lexicon.apply("a " * 1_000)
        counts.append(looked_at)
    assert counts[0] == counts[1] < 1_000 * 2 * MAX_WORDS


@pytest.mark.slow
def test_a_hundred_thousand_entries_and_a_megabyte_take_seconds() -> None:
    began = time.process_time()
    lexicon = Lexicon({f"name{number} of{number}": f"said {number}" for number in range(100_000)})
    text = lexicon.apply("name7 of7 and name8 of9. " * 40_000).text
    assert text.startswith("said 7 and name8 of9. ")
    assert time.process_time() - began < 120  # takes 3 s; quadratic time would take hours
