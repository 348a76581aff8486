"""Which writing systems text uses, and which of them VoxCPM2 speaks."""

from __future__ import annotations

import re
import unicodedata

__all__ = ["CJK", "UNSPACED", "unknown_scripts"]

# Insides of regular expression classes. Han, kana and their marks: written without spaces and with full-width marks.
CJK = "\u2e80-\u2fdf\u3000-\u30ff\u31f0-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff"
# ... and the other scripts that put no spaces between words: Thai, Lao, Myanmar, Khmer.
UNSPACED = CJK + "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"

# Of the 30 languages in the model card of openbmb/VoxCPM2, as the Unicode names of their letters begin.
_SPOKEN = (
    "ARABIC",
    "CJK",
    "CYRILLIC",
    "DEVANAGARI",
    "GREEK",
    "HANGUL",
    "HEBREW",
    "HIRAGANA",
    "KATAKANA",
    "KHMER",
    "LAO",
    "LATIN",
    "MYANMAR",
    "THAI",
)
_SCRIPT = re.compile(
    r"(.+?) (?:CAPITAL|SMALL|LETTER|SYLLABLES?|SYLLABICS|VOWEL|INDEPENDENT|CHARACTER|IDEOGRAPH|HIEROGLYPH|SIGN|PHASE)\b"
)


def unknown_scripts(text: str) -> list[str]:
    """Names of the scripts in `text` that none of VoxCPM2's languages is written in, in order of appearance.

    >>> unknown_scripts("Hello, გამარჯობა!")
    ['Georgian']
    """
    if text.isascii():
        return []
    found: dict[str, None] = {}
    for char in dict.fromkeys(text):
        if unicodedata.category(char) in ("Lu", "Ll", "Lt", "Lo") and (script := _script(char)):
            found.setdefault(script)
    return list(found)


def _script(char: str) -> str:
    """The script of a letter, empty when the model speaks it or it belongs to none (a masculine ordinal sign)."""
    # The compatibility form first: a mathematical bold A is an A.
    name = unicodedata.name(unicodedata.normalize("NFKC", char)[0], "")
    if name.startswith(_SPOKEN) or not (match := _SCRIPT.match(name)):
        return ""
    return match[1].title()
