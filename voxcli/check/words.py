"""One normalizer for both sides of a comparison: the words of a text and those that a recognizer has heard.

Numbers, dates, money and units become words (`voxcli.text.normalize`). Case, punctuation, apostrophes and the accents
of alphabets are ignored. In scripts without spaces between words each character counts as a word.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import NamedTuple

from voxcli.text.normalize import normalize
from voxcli.text.scripts import UNSPACED

__all__ = ["Word", "words_of"]

_UNSPACED = re.compile(f"[{UNSPACED}]")
_APOSTROPHES = "'\u2019\u02bc\uff07"
_FIRST_SYLLABIC = "\u0900"  # from here on, combining marks are vowels
# A recognizer writes these in one way or the other.
_ENGLISH = {
    "ok": "okay",
    "mr": "mister",
    "mrs": "missus",
    "dr": "doctor",
    "st": "saint",
    "vs": "versus",
    "alright": "allright",
}
_SIGNS = {"&": " and ", "%": " percent "}


class Word(NamedTuple):
    """A word to compare.

    key:   its normalized form.
    place: index of its first character in the text. Words of one number have the same place.
    text:  as written there.
    """

    key: str
    place: int
    text: str


def words_of(text: str, languages: frozenset[str] = frozenset(), spoken: str | None = None) -> list[Word]:
    """Return the words of `text` in order.

    languages: those that it can be in; they decide how numbers are read.
    spoken:    the text as it was spoken, whose words get the places of those in `text`; None: the same.

    Raises MissingExtra if a package for reading numbers is needed and not installed.

    >>> [word.key for word in words_of("It's 7 o'clock: Go!")]
    ['its', 'seven', 'oclock', 'go']
    >>> words_of("A 20-year-old")[1]
    Word(key='twenty', place=2, text='20')
    """
    written = list(_words(text))
    english = languages <= {"en"}
    read = normalize(text if spoken is None else spoken, languages)
    if english:
        for sign, name in _SIGNS.items():
            read = read.replace(sign, name)
    words = written if read == text else list(_placed(list(_words(read)), written))
    return [Word(_ENGLISH.get(word.key, word.key), *word[1:]) for word in words] if english else words


def _words(text: str) -> Iterator[Word]:
    start = 0
    for end in range(len(text) + 1):
        char = text[end] if end < len(text) else " "
        alone = _UNSPACED.match(char) is not None
        if not alone and _is_letter(char):
            continue
        if key := _folded(text[start:end]):
            skipped = next(place for place in range(start, end) if text[place].isalnum())
            yield Word(key, skipped, text[skipped:end].rstrip(_APOSTROPHES))
        start = end + 1
        if alone and (key := _folded(char)):
            yield Word(key, end, char)


def _is_letter(char: str) -> bool:
    return char.isalnum() or char in _APOSTROPHES or unicodedata.category(char)[0] == "M"


def _folded(word: str) -> str:
    """Return the form of a word to compare; empty if it has neither a letter nor a digit."""
    if word.isascii():
        return "".join(filter(str.isalnum, word)).lower()
    letters: list[str] = []
    for char in unicodedata.normalize("NFD", unicodedata.normalize("NFKC", word).casefold()):
        if unicodedata.category(char) == "Mn" and letters and letters[-1] < _FIRST_SYLLABIC:
            continue
        if char.isalnum() or unicodedata.category(char)[0] == "M":
            letters.append(char)
    folded = unicodedata.normalize("NFC", "".join(letters))
    return folded if any(map(str.isalnum, folded)) else ""


def _placed(spoken: list[Word], written: list[Word]) -> Iterator[Word]:
    """Yield the words of a spoken form with the places of the written words that they are the reading of."""
    matcher = SequenceMatcher(None, [word.key for word in written], [word.key for word in spoken], autojunk=False)
    for kind, first, last, begin, end in matcher.get_opcodes():
        for number in range(begin, end):
            if kind == "insert":
                source = min(first, len(written) - 1)
            else:
                source = first + (number - begin) * (last - first) // (end - begin)
            place, text = written[source][1:] if written else (0, "")
            yield Word(spoken[number].key, place, text)
