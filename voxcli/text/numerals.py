"""Spell whole numbers by CLDR's rules, with unicode-rbnf (MIT) from the extra `normalize`."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from importlib import import_module
from typing import Any

from voxcli.errors import MissingExtra
from voxcli.extras import install_hint

__all__ = ["GENDERS", "MAX_NUMBER", "join_groups", "package", "rulesets", "spell", "spell_year"]

MAX_NUMBER = 10**15  # CLDR has no words beyond this
GENDERS = {"m": "masculine", "f": "feminine", "n": "neuter", "r": "reale", "c": "common"}
# Spaces inside a number. Other groups of three may be numbers of their own: "on May 5 100 people came".
_SPACED = re.compile(
    r"(?<![\w.,:/+-])(?<!\d )(?:[1-9]\d{0,2} 000(?: 000){0,2}|[1-9]\d?(?: \d{3}){2,3})(?![\w:/-]|[.,]?\d| \d)"
)
_CODES = {"tl": "fil"}


def join_groups(text: str, mark: str) -> str:
    """Return `text` with `mark` in place of the spaces inside a number: "1 000" becomes "1,000"."""
    return _SPACED.sub(lambda m: m[0].replace(" ", mark), text)


def package(name: str) -> Any:
    """Import a package of the extra when it is first needed. Raises MissingExtra."""
    try:
        return import_module(name)
    except ImportError as error:
        raise MissingExtra(f"normalizing needs more packages: {install_hint('normalize')}") from error


@cache
def _engine(language: str) -> Any:
    return package("unicode_rbnf").RbnfEngine.for_language(_CODES.get(language, language))


@lru_cache(maxsize=10_000)
def spell(language: str, number: int, ruleset: str = "numbering") -> str:
    """Return a number from 0 to MAX_NUMBER in words. ruleset: CLDR's name without "spellout-"."""
    result = _engine(language).format_number(number, ruleset_names=[f"spellout-{ruleset}"])
    words: str = result.text
    # "21." is "enogtyvende", but CLDR has the neuter "etog..."
    return words.replace("etog", "enog") if language == "da" and ruleset.startswith("ordinal") else words


@cache
def rulesets(language: str) -> frozenset[str]:
    """Return the names of the rulesets of a language."""
    return frozenset(name.removeprefix("spellout-") for name in _engine(language).rulesets)


def spell_year(language: str, year: int, hundreds: bool) -> str:
    """Return a year in words. hundreds: 1984 is "nineteen hundred eighty-four"."""
    in_hundreds = hundreds and 1100 <= year <= 1999 and not (language == "nl" and 0 < year % 100 < 10)
    return spell(language, year, "numbering-year" if in_hundreds else "numbering")
