"""The writing systems of texts and of languages."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from functools import lru_cache

from voxcli.text.languages import VOXCPM2

__all__ = ["CJK", "UNSPACED", "unknown_scripts"]

# Contents of regular expression classes. Han, kana and their punctuation, which is full-width; there are no spaces.
CJK = "\u2e80-\u2fdf\u3000-\u30ff\u31f0-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff"
# These, and the other scripts without spaces between words: Thai, Lao, Myanmar, Khmer.
UNSPACED = CJK + "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"

# The beginnings of the Unicode names of a language's letters, if they are not LATIN.
_LETTERS_OF: Mapping[str, tuple[str, ...]] = {
    "am": ("ETHIOPIC",),
    "ar": ("ARABIC",),
    "be": ("CYRILLIC",),
    "bg": ("CYRILLIC",),
    "bn": ("BENGALI",),
    "el": ("GREEK",),
    "fa": ("ARABIC",),
    "gu": ("GUJARATI",),
    "he": ("HEBREW",),
    "hi": ("DEVANAGARI",),
    "hy": ("ARMENIAN",),
    "ja": ("CJK", "HIRAGANA", "KATAKANA"),
    "ka": ("GEORGIAN",),
    "kk": ("CYRILLIC",),
    "km": ("KHMER",),
    "kn": ("KANNADA",),
    "ko": ("HANGUL", "CJK"),
    "lo": ("LAO",),
    "mk": ("CYRILLIC",),
    "ml": ("MALAYALAM",),
    "mn": ("CYRILLIC",),
    "mr": ("DEVANAGARI",),
    "my": ("MYANMAR",),
    "ne": ("DEVANAGARI",),
    "pa": ("GURMUKHI",),
    "ru": ("CYRILLIC",),
    "si": ("SINHALA",),
    "sr": ("CYRILLIC", "LATIN"),
    "ta": ("TAMIL",),
    "te": ("TELUGU",),
    "th": ("THAI",),
    "uk": ("CYRILLIC",),
    "ur": ("ARABIC",),
    "zh": ("CJK",),
}
_SCRIPT = re.compile(
    r"(.+?) (?:CAPITAL|SMALL|LETTER|SYLLABLES?|SYLLABICS|VOWEL|INDEPENDENT|CHARACTER|IDEOGRAPH|HIEROGLYPH|SIGN|PHASE)\b"
)


def unknown_scripts(text: str, languages: frozenset[str] = VOXCPM2) -> list[str]:
    """Return the names of the scripts in `text` that none of `languages` is written in, in order of appearance.

    Latin letters count as known in all languages.

    >>> unknown_scripts("Hello, გამარჯობა!")
    ['Georgian']
    """
    if text.isascii():
        return []
    spoken = _letters_of(languages)
    found: dict[str, None] = {}
    for char in dict.fromkeys(text):
        if unicodedata.category(char) in ("Lu", "Ll", "Lt", "Lo") and (script := _script(char, spoken)):
            found.setdefault(script)
    return list(found)


@lru_cache(maxsize=64)
def _letters_of(languages: frozenset[str]) -> tuple[str, ...]:
    return ("LATIN", *{name for language in languages for name in _LETTERS_OF.get(language, ())})


@lru_cache(maxsize=4096)
def _script(char: str, spoken: tuple[str, ...]) -> str:
    """Return the script of a letter; empty if it is a spoken one, or none (a masculine ordinal sign)."""
    # The compatibility form first: a mathematical bold A is an A.
    name = unicodedata.name(unicodedata.normalize("NFKC", char)[0], "")
    if name.startswith(spoken) or not (match := _SCRIPT.match(name)):
        return ""
    return "Chinese characters" if name.startswith("CJK") else match[1].title()
