"""Spell Roman numerals in English: rulers ("Louis the fourteenth"), wars, chapters and sequels ("Part three")."""

from __future__ import annotations

import re
from collections.abc import Callable

__all__ = ["from_roman", "rewrite_roman"]

Spell = Callable[[int], str]

# Names of rulers with a number, and their titles.
_RULERS = frozenset(
    {
        "Abdul", "Alexander", "Alexios", "Alfonso", "Amenhotep", "Artaxerxes", "August", "Baldwin",
        "Basil", "Benedict", "Boniface", "Carl", "Carlos", "Casimir", "Catherine", "Celestine",
        "Charles", "Christian", "Clement", "Constantine", "Darius", "Edward", "Elizabeth",
        "Emmanuel", "Eric", "Felipe", "Ferdinand", "Francis", "Franz", "Frederick", "Friedrich",
        "George", "Gregory", "Gustav", "Gustavus", "Haakon", "Harald", "Henri", "Henry", "Innocent",
        "Isabella", "Ivan", "James", "Jean", "John", "Joseph", "Juan", "Julius", "King", "Leo",
        "Leopold", "Louis", "Ludwig", "Malcolm", "Manuel", "Margaret", "Mary", "Maximilian",
        "Mehmed", "Mohammed", "Murad", "Napoleon", "Nicholas", "Olav", "Otto", "Paul", "Pedro",
        "Peter", "Philip", "Philippe", "Pius", "Pope", "Ptolemy", "Queen", "Rameses", "Ramesses",
        "Ramses", "Richard", "Robert", "Rudolf", "Selim", "Sigismund", "Sixtus", "Stephen",
        "Suleiman", "Thutmose", "Tutankhamun", "Umberto", "Urban", "Victor", "Wilhelm",
        "Wilhelmina", "William", "Xerxes",
    }
)  # fmt: skip
_COUNTED = (
    "Chapter|Part|Book|Act|Scene|Volume|Vol\\.|War|Type|Phase|Section|Article|Title|Appendix|Figure|Fig\\.|Table|Stage|Level"
    "|Class|Bowl|Mark|Grade|Group|Episode|Season|Round|Schedule|Canto|Psalm|Lesson|Unit|Annex|Exhibit|Division|Tier"
)
_ROMAN = r"(?P<roman>[IVXLC]+)(?!\w|\.\w|-\w)"
_AFTER_WORD = re.compile(rf"\b(?P<word>{_COUNTED}) {_ROMAN}")
_AFTER_NAME = re.compile(rf"\b(?P<word>[A-Z][a-z]+) {_ROMAN}")
_CANONICAL = re.compile(r"(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})")
_NO_PRONOUN = re.compile(r"[,.;:)]|\s+of\b|'s\b|$")
_VALUES = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100}


def rewrite_roman(text: str, spell: Spell) -> str:
    """Return `text` with Roman numerals in words or ordinals. spell: whole number -> words."""
    text = _AFTER_WORD.sub(lambda m: _counted(m, spell), text)
    return _AFTER_NAME.sub(lambda m: _named(m, spell), text)


def from_roman(numeral: str) -> int:
    """Return the value of a Roman numeral below 100 in its usual form; 0 for anything else."""
    if not numeral or not _CANONICAL.fullmatch(numeral):
        return 0
    values = [_VALUES[letter] for letter in numeral]
    return sum(-a if a < b else a for a, b in zip(values, [*values[1:], 0], strict=True))


def _counted(match: re.Match[str], spell: Spell) -> str:
    number = from_roman(match["roman"])
    return f"{match['word']} {spell(number)}" if number else match[0]


def _named(match: re.Match[str], spell: Spell) -> str:
    numeral = match["roman"]
    number = from_roman(numeral)
    ruler = match["word"] in _RULERS
    if not number or (len(numeral) == 1 and not ruler) or numeral in ("XX", "XXX", "L", "C"):
        return match[0]
    if numeral == "I" and not _NO_PRONOUN.match(match.string, match.end()):
        return match[0]  # the pronoun
    return f"{match['word']} the {_ordinal(number)}" if ruler else f"{match['word']} {spell(number)}"


def _ordinal(number: int) -> str:
    """Return an ordinal in figures, which the grammar spells."""
    ending = "th" if 10 < number % 100 < 14 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"
