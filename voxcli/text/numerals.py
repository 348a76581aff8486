"""Whole numbers -> words by CLDR's rules, with unicode-rbnf (MIT) from the extra `normalize`."""

from __future__ import annotations

from functools import cache, lru_cache
from importlib import import_module
from typing import Any

from voxcli.errors import MissingExtra
from voxcli.extras import install_hint

__all__ = ["GENDERS", "MAX_NUMBER", "package", "rulesets", "spell", "spell_year"]

MAX_NUMBER = 10**15  # CLDR has no words beyond
GENDERS = {"m": "masculine", "f": "feminine", "n": "neuter", "r": "reale", "c": "common"}
_CODES = {"tl": "fil"}


def package(name: str) -> Any:
    """A package of the extra, imported when it is first needed. Raises MissingExtra."""
    try:
        return import_module(name)
    except ImportError as error:
        raise MissingExtra(f"normalizing needs more packages: {install_hint('normalize')}") from error


@cache
def _engine(language: str) -> Any:
    return package("unicode_rbnf").RbnfEngine.for_language(_CODES.get(language, language))


@lru_cache(maxsize=10_000)
def spell(language: str, number: int, ruleset: str = "numbering") -> str:
    """The words of a number from 0 to MAX_NUMBER. ruleset: CLDR's name without "spellout-"."""
    result = _engine(language).format_number(number, ruleset_names=[f"spellout-{ruleset}"])
    words: str = result.text
    # "21." is "enogtyvende": CLDR puts the neuter into it
    return words.replace("etog", "enog") if language == "da" and ruleset.startswith("ordinal") else words


@cache
def rulesets(language: str) -> frozenset[str]:
    """The names of the rulesets that there are."""
    return frozenset(name.removeprefix("spellout-") for name in _engine(language).rulesets)


def spell_year(language: str, year: int, hundreds: bool) -> str:
    """hundreds: 1984 is "nineteen hundred eighty-four", and the like."""
    said_so = hundreds and 1100 <= year <= 1999 and not (language == "nl" and 0 < year % 100 < 10)
    return spell(language, year, "numbering-year" if said_so else "numbering")
