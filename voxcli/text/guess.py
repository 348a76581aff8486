"""Guess which languages a text can be in, by its script and, if languages share one, by its most frequent words.

Only certain guesses are returned. The worst error is to take English for another language, so English needs little
evidence and every other language much. When in doubt, the guess is empty.
"""

from __future__ import annotations

import re
from collections import Counter

from voxcli.text.wordlists import cyrillic_languages, latin_languages

__all__ = ["NOTHING_SURE", "NOT_LATIN", "possible_languages"]

NOTHING_SURE: frozenset[str] = frozenset()

SAMPLE = 4_000  # characters; the beginning of a long text is enough

_SCRIPTS: tuple[tuple[str, str, str], ...] = (
    ("latin", "A-Za-z\u00aa\u00ba\u00c0-\u024f\u1e00-\u1eff", ""),
    ("cyrillic", "\u0400-\u052f", "ru uk be bg sr mk kk mn"),
    ("arabic", "\u0620-\u06d3\u0750-\u077f", "ar fa ur"),
    ("devanagari", "\u0904-\u0963", "hi mr ne"),
    ("kana", "\u3041-\u30ff", "ja"),
    ("han", "\u3400-\u4dbf\u4e00-\u9fff", "zh ja"),
    ("hangul", "\u1100-\u11ff\u3131-\u318e\uac00-\ud7a3", "ko"),
    ("greek", "\u0370-\u03ff\u1f00-\u1fff", "el"),
    ("hebrew", "\u05d0-\u05ea", "he"),
    ("thai", "\u0e01-\u0e4e", "th"),
    ("lao", "\u0e81-\u0ede", "lo"),
    ("khmer", "\u1780-\u17d3", "km"),
    ("myanmar", "\u1000-\u109f", "my"),
    ("georgian", "\u10a0-\u10ff", "ka"),
    ("armenian", "\u0531-\u0587", "hy"),
    ("bengali", "\u0980-\u09e3", "bn"),
    ("gurmukhi", "\u0a01-\u0a75", "pa"),
    ("gujarati", "\u0a81-\u0ae3", "gu"),
    ("tamil", "\u0b82-\u0bd7", "ta"),
    ("telugu", "\u0c00-\u0c63", "te"),
    ("kannada", "\u0c80-\u0ce3", "kn"),
    ("malayalam", "\u0d00-\u0d63", "ml"),
    ("sinhala", "\u0d81-\u0df3", "si"),
    ("ethiopic", "\u1200-\u137f", "am"),
)
_LANGUAGES = {name: frozenset(tags.split()) for name, _, tags in _SCRIPTS}
NOT_LATIN = frozenset[str]().union(*_LANGUAGES.values())
_RUNS = re.compile("|".join(f"(?P<{name}>[{letters}]+)" for name, letters, _ in _SCRIPTS))


def possible_languages(text: str) -> frozenset[str]:
    """Return the tags of the languages that `text` can be in; empty if unsure, or if there is no letter.

    >>> sorted(possible_languages("Er hatte drei Hunde und zahlte um acht Uhr."))
    ['de']
    >>> possible_languages("Los Angeles")
    frozenset()
    """
    sample = text[:SAMPLE]
    if sample.isascii():
        return latin_languages(sample)
    letters = Counter[str]()
    for run in _RUNS.finditer(sample):
        script = run.lastgroup or ""
        # In these scripts a character is about a syllable or a word.
        letters[script] += (run.end() - run.start()) * (3 if script in ("han", "kana", "hangul") else 1)
    if letters["kana"] * 8 > letters["han"]:
        letters["kana"] += letters.pop("han", 0)
    if not letters:
        return NOTHING_SURE
    script, count = letters.most_common(1)[0]
    if count < 0.6 * letters.total():
        return NOTHING_SURE
    return _of_script(sample, script, count)


def _of_script(text: str, script: str, count: int) -> frozenset[str]:
    if script == "latin":
        return latin_languages(text)
    if script == "cyrillic":
        return _of_cyrillic(text)
    if script == "han" and count > 3 * 12:  # Japanese of this length has kana
        return frozenset({"zh"})
    if script == "arabic":
        if re.search("[\u0679\u0688\u06ba\u06d2]", text):
            return frozenset({"ur"})
        if re.search("[\u067e\u0686\u0698\u06af\u06a9\u06cc]", text):
            return frozenset({"fa", "ur"})
        return frozenset({"ar"}) if re.search("[\u0629\u0643\u0649\u064a]", text) else _LANGUAGES[script]
    if script == "devanagari" and re.search(
        "(?<!\\S)(?:\u0939\u0948|\u0939\u0948\u0902|\u0939\u0942\u0901|\u092e\u0947\u0902|\u0914\u0930|\u0928\u0939\u0940\u0902|\u0915\u094d\u092f\u093e|\u0906\u092a|\u0915\u093e|\u0915\u0940|\u0915\u0947)(?!\\S)",
        text,
    ):
        return frozenset({"hi"})
    return _LANGUAGES[script]


def _of_cyrillic(text: str) -> frozenset[str]:
    """Decide by letters that only some of the languages have, then by words."""
    letters = set(text.lower())
    if letters & set("\u0458\u0459\u045a\u0452\u045b\u045f\u0453\u045c\u0455"):
        return frozenset({"sr", "mk"})
    if letters & set("\u04d9\u0493\u049b\u04a3\u04e9\u04b1\u04af\u04bb"):
        return frozenset({"kk", "mn"})
    if "\u0456" in letters:
        return frozenset(
            {"be"} if letters & set("\u045e\u044b\u044d") else {"uk"} if "\u0438" in letters else {"uk", "be"}
        )
    if letters & set("\u0457\u0454\u0491"):
        return frozenset({"uk"})
    if letters & set("\u044b\u044d\u0451"):
        return frozenset({"ru"})
    count = sum("\u0430" <= letter <= "\u044f" for letter in text.lower())
    if count < 20:
        return _LANGUAGES["cyrillic"]
    # In every language with one of the letters above, except Russian, a text of this length contains it.
    return cyrillic_languages(text, frozenset({"ru", "bg", "uk"} if count < 60 else {"ru", "bg"}))
