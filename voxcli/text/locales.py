"""How each language writes and speaks numbers, money, units, times and dates: the contents of locales.yaml."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["Locale", "Noun", "locale_of", "localized"]


@dataclass(frozen=True)
class Noun:
    """A noun that is counted.

    forms: singular and plural; in Slavic languages for one, two to four, more, and fractions.
    """

    gender: str
    forms: tuple[str, ...]

    def form(self, number: int, *, parts: bool = False) -> str:
        """Return the form for a number. parts: the number is a decimal fraction."""
        if len(self.forms) == 2:
            return self.forms[number != 1 or parts]
        return self.forms[3] if parts else self.forms[_slavic(number)]

    @property
    def many(self) -> str:
        return self.forms[min(2, len(self.forms) - 1)]

    def polish(self, number: int) -> str:
        """Return the form in Polish, where 21, 31 and so on take the form for "more"."""
        return self.forms[2] if number != 1 and number % 10 == 1 else self.form(number)


def _slavic(number: int) -> int:
    last = number % 10 if number % 100 not in range(11, 15) else 0
    return 0 if last == 1 else 1 if last in (2, 3, 4) else 2


@dataclass(frozen=True)
class Money:
    unit: Noun
    part: Noun
    joint: str


@dataclass(frozen=True)
class Dates:
    """mark: separator of numeric dates, day first; empty if only ISO dates are used."""

    months: tuple[str, ...]
    mark: str = ""
    day: str = ""
    after: Mapping[str, str] = field(default_factory=dict)
    of: str = " "
    first: str = ""
    year: str = ""


@dataclass(frozen=True)
class Locale:
    """Data of one language; locales.yaml explains each field."""

    language: str
    groups: str
    point: str
    minus: str
    years: str
    nouns: Mapping[str, Noun]
    money: Mapping[str, Money]
    clock: tuple[str, str, str]
    digits: bool = False
    to: str = ""
    clock_one: tuple[str, str] | None = None
    clock_word: str = ""
    clock_letter: str = ""
    clock_zero: str = ""
    date: Dates | None = None
    before: frozenset[str] = frozenset()
    ending: tuple[str, ...] = ()
    feminine: tuple[str, ...] = ()
    masculine: tuple[str, ...] = ()
    large: tuple[str, ...] = ()
    ordinals: Mapping[str, str] = field(default_factory=dict)

    def noun_form(self, noun: Noun, number: int, *, parts: bool = False) -> str:
        if self.language == "pl" and not parts:
            return noun.polish(number)
        if self.language == "fr" and parts and number < 2:  # "1,5 euro"
            return noun.forms[0]
        return noun.form(number, parts=parts)


def localized() -> frozenset[str]:
    """Return the languages with data."""
    return frozenset(_data())


@cache
def locale_of(language: str) -> Locale:
    """Return the data of a language. Raises KeyError if there is none."""
    data = dict(_data()[language])
    oblique = data.pop("oblique", {})
    date = data.pop("date", None)
    return Locale(
        language=language,
        nouns={sign: _noun(words) for sign, words in data.pop("nouns").items()},
        money=_money(data.pop("money")),
        clock=tuple(data.pop("clock", ("", "", ""))),
        clock_one=tuple(data.pop("clock_one", ())) or None,
        date=_dates(date) if date else None,
        before=frozenset(oblique.get("before", "").split()),
        ending=tuple(oblique.get("ending", "").split()),
        feminine=tuple(data.pop("feminine", "").split()),
        masculine=tuple(data.pop("masculine", "").split()),
        large=tuple(data.pop("large", "").split()),
        **data,
    )


def _noun(words: Sequence[str]) -> Noun:
    return Noun(words[0], tuple(words[1:]))


def _money(data: Mapping[str, Any]) -> Mapping[str, Money]:
    found = {sign: Money(_noun(unit), _noun(part), joint) for sign, (unit, part, joint) in data.items()}
    return found | {f"US{sign}": money for sign, money in found.items() if sign == "$"}


def _dates(data: Mapping[str, Any]) -> Dates:
    after = {word: ruleset for ruleset, words in data.get("after", {}).items() for word in words.split()}
    return Dates(**{**data, "after": after, "months": tuple(data["months"].split())})


@cache
def _data() -> Mapping[str, Any]:
    import yaml

    found: Mapping[str, Any] = yaml.safe_load(Path(__file__).with_name("locales.yaml").read_text(encoding="utf-8"))
    return found
