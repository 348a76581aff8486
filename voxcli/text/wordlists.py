"""Distinguish languages of one script by their most frequent words (function_words.txt) and by special letters."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

__all__ = ["cyrillic_languages", "latin_languages", "small_words"]

ENOUGH = 1.5  # minimum evidence of another language than English; a word that English never has counts 1
AHEAD = 2.5  # minimum ratio of that evidence to words of English
DENSITY = 0.15  # minimum ratio of that evidence to all words
RIVAL = 0.7  # minimum ratio to the best language's score; languages below it are excluded

ENGLISH = frozenset({"en"})
CYRILLIC = ("ru", "uk", "be", "bg", "sr")
_WORD = re.compile(
    r"(?:^|(?P<start>[.!?:]\s+[\"'\u00bf\u00a1(]*)|(?<![^\W_]))(?P<word>[^\W\d_]+(?:['\u2019][^\W\d_]+)*)"
)
# Letters of a few languages and not of English. English borrows words with the first three.
_LETTER = re.compile(
    "(?P<de_sv_fi>\u00e4)|(?P<de_sv_fi_tr_hu>\u00f6)|(?P<es>[\u00f1\u00bf\u00a1])"
    "|(?P<de>\u00df)|(?P<pt>[\u00e3\u00f5])|(?P<pl>[\u0142\u017c\u015b\u0107\u017a\u0144\u0119\u0105])|(?P<sv_da_no>\u00e5)|(?P<da_no>[\u00f8\u00e6])"
    "|(?P<tr>[\u011f\u0131])|(?P<tr_ro>\u015f)|(?P<hu>[\u0151\u0171])|(?P<cs>[\u0159\u011b\u016f])|(?P<ro>[\u021b\u0219\u0163])"
    "|(?P<vi>[\u01a1\u01b0\u0111\u1ea0-\u1ef9])"
)
_BORROWED = frozenset("\u00e4\u00f6\u00f1")
_ENDING = re.compile(
    "\\w{3}(?:(?P<fi>ss[a\u00e4]|ll\u00e4|st\u00e4|lt\u00e4|oon|uun|aan|iin|mme)|(?P<tr>[i\u0131]yor(?:um)?|[ae]c[ae]k|m[ae]k|s\u0131n\u0131z|siniz))$"
)


@dataclass(frozen=True)
class Entry:
    """A word of the lists. sign: its evidence against English. weight: what it adds to the scores of `languages`."""

    sign: float
    weight: float
    languages: tuple[str, ...]


def latin_languages(text: str) -> frozenset[str]:
    """Return the languages in Latin letters that a text can be in; empty if unsure."""
    lists = _lists()
    if _is_english(set(text.split())):
        return ENGLISH  # decides most English texts without the slower steps below
    words = _words_of(text)
    english = words & lists["english"]
    if _is_english(words):
        return ENGLISH
    entries = _entries(latin=True)
    met = [entries[word] for word in words if word in entries]
    signs, scores = Counter[float](entry.sign for entry in met), _scores(met)
    for languages, sign in _looks(words):
        signs[sign] += 1
        for language in languages:
            scores[language] += sign  # type: ignore[assignment]
    if not scores or not signs[1.0]:
        return frozenset()
    best, score = scores.most_common(1)[0]
    against = len(english - lists[best])
    evidence = signs[1.0] + 0.5 * min(signs[0.5], 3)
    enough = 2 * ENOUGH if text.isupper() else ENOUGH  # names can't be recognized in upper case
    if evidence < max(enough, AHEAD * against, DENSITY * len(words)):
        return frozenset()
    return _near(scores, score)


def _is_english(words: set[str]) -> bool:
    """Return whether a quarter of the words are frequent in English, and one of them is in no other language here."""
    found = words & _lists()["english"]
    return len(found) >= 2 and 4 * len(found) >= len(words) and not found.isdisjoint(_only_english())


def cyrillic_languages(text: str, possible: frozenset[str]) -> frozenset[str]:
    """Return those of the `possible` languages in Cyrillic letters that a text can be in."""
    entries = _entries(latin=False)
    scores = _scores([entries[word] for word in _words_of(text) if word in entries])
    best = max((scores[language] for language in possible), default=0.0)
    return frozenset(language for language in possible if scores[language] >= RIVAL * best)  # all, if no word is known


def _scores(met: list[Entry]) -> Counter[str]:
    scores = Counter[str]()
    for entry in met:
        for language in entry.languages:
            scores[language] += entry.weight  # type: ignore[assignment]
    return scores


def _near(scores: Mapping[str, float], best: float) -> frozenset[str]:
    return frozenset(language for language, score in scores.items() if score >= RIVAL * best)


def _words_of(text: str) -> set[str]:
    """Return the lower-case words and the first word of each sentence, in lower case.

    Other capitalized words are names, which may be of any language. In a text in upper case all words count.
    """
    if text.isupper():
        text = text.lower()
    found: set[str] = set()
    for match in _WORD.finditer(text):
        word = match["word"]
        if word.islower() or match["start"] is not None or not match.start():
            found.add(word.lower().replace("\u2019", "'"))
    return found


@cache
def _lists() -> Mapping[str, frozenset[str]]:
    text = Path(__file__).with_name("function_words.txt").read_text(encoding="utf-8")
    sections = re.findall(r"^\[([\w-]+)\]\n([^\[#]+)", text, re.MULTILINE)
    return {name: frozenset(words.split()) for name, words in sections}


def small_words(language: str) -> frozenset[str]:
    """Return the most frequent words of a language, none of them a countable noun; empty if there is no list."""
    return _lists().get("english" if language == "en" else language, frozenset())


@cache
def _entries(*, latin: bool) -> Mapping[str, Entry]:
    lists = _lists()
    by_word: dict[str, list[str]] = {}
    for language, words in lists.items():
        if len(language) == 2 and (language in CYRILLIC) != latin:
            for word in words:
                by_word.setdefault(word, []).append(language)
    return {word: Entry(_sign(word), len(found) ** -0.5, tuple(found)) for word, found in by_word.items()}


def _sign(word: str) -> float:
    lists = _lists()
    if word in lists["english"] or word in lists["also-english"]:
        return 0.0
    return 0.5 if word in lists["in-names"] or len(word) == 1 else 1.0


@cache
def _only_english() -> frozenset[str]:
    return _lists()["english"] - _entries(latin=True).keys()


def _looks(words: set[str]) -> Iterator[tuple[list[str], float]]:
    """Yield, for each word that looks foreign, the languages it may be of and the weight of that evidence."""
    for word in sorted(word for word in words if not word.isascii() or len(word) > 5):
        if match := _ENDING.search(word):
            yield [match.lastgroup or ""], 1.0
        elif not word.isascii():
            match = _LETTER.search(word)
            plain = match is None or match[0] in _BORROWED
            yield (match.lastgroup or "").split("_") if match else [], 0.5 if plain else 1.0
